// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * fault.c - allocations and copies that fail, where the kernel can do that.
 *
 * Only for tasks that ask for it (faults_here()), so that the clean domain and
 * this program's supervisor are spared.
 */
#include "fuzz.h"

#define DEBUGFS		"/sys/kernel/debug/"

static const char *const kinds[] = {
	"failslab", "fail_page_alloc", "fail_usercopy",
};

static bool write_to(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good;

	if (fd < 0)
		return false;
	good = write(fd, value, strlen(value)) > 0;
	close(fd);
	return good;
}

static bool set(const char *kind, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", kind, name);
	return write_to(path, value);
}

static bool begin(const char *kind)
{
	/* not every kind has these */
	set(kind, "ignore-gfp-wait", "N");
	set(kind, "min-order", "0");
	return set(kind, "task-filter", "Y") && set(kind, "verbose", "0") &&
	       set(kind, "interval", "1") && set(kind, "times", "-1") &&
	       set(kind, "probability", "2");
}

/* Returns false if the kernel has none of it. */
bool faults_begin(uint64_t *mask)
{
	unsigned int i;

	*mask = 0;
	for (i = 0; i < 3; i++)
		if (begin(kinds[i]))
			*mask |= 1U << i;
	printf("# fault injection:%s%s%s%s\n", *mask & 1 ? " failslab" : "",
	       *mask & 2 ? " fail_page_alloc" : "",
	       *mask & 4 ? " fail_usercopy" : "", *mask ? "" : " none");
	return *mask;
}

void faults_end(void)
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		set(kinds[i], "probability", "0");
}

/* From now on for the calling thread, and for who is born of it. */
void faults_here(void)
{
	write_to("/proc/thread-self/make-it-fail", "1");
}
