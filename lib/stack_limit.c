// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* stack_limit.c - says, once in the process, which limit has refused a stack. */
#define _GNU_SOURCE
#include "stack_limit.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "log.h"

/* A stack is two mappings, and the list shows one that does not count. */
#define NEARLY	4L

static long read_number(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strtol(text, NULL, 10);
}

static long count_mappings(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char text[4096];
	long lines = 0;
	ssize_t n, i;

	if (fd < 0)
		return 0;
	while ((n = read(fd, text, sizeof(text))) > 0)
		for (i = 0; i < n; i++)
			lines += text[i] == '\n';
	close(fd);
	return lines;
}

static bool is_limited(int resource)
{
	struct rlimit limit;

	return !getrlimit(resource, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

static bool said_already(void)
{
	static _Atomic bool said;

	return atomic_exchange(&said, true);
}

static const char *why(bool space)
{
	if (space)
		return is_limited(RLIMIT_AS) ?
			       "the address space limit (RLIMIT_AS) is reached" :
			       "there is no address space, or no memory";
	return is_limited(RLIMIT_DATA) ?
		       "RLIMIT_DATA, or else the machine's memory, is used up" :
		       "the machine's memory is used up";
}

void stack_limit_say(size_t size, bool space)
{
	long limit;

	if (said_already())
		return;
	limit = read_number("/proc/sys/vm/max_map_count");
	if (limit > 0 && count_mappings() + NEARLY > limit)
		log_line("no memory for another stack of %zu bytes: vm.max_map_count (%ld) is reached",
			 size, limit);
	else
		log_line("no memory for another stack of %zu bytes: %s", size,
			 why(space));
}
