// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* server_stat.c - what the kernel knows of the server's threads. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "server_stat.h"

static FILE *open_of(int pid, const char *task, const char *name)
{
	char path[320];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", pid, task, name);
	f = fopen(path, "re");
	if (!f)
		die("%s", path);
	return f;
}

static void add_switches(struct server_stat *s, int pid, const char *task)
{
	FILE *f = open_of(pid, task, "status");
	char line[256];
	uint64_t n;

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %" SCNu64, &n) == 1)
			s->switches += n;
	fclose(f);
}

static void add_cpu(struct server_stat *s, int pid, const char *task)
{
	FILE *f = open_of(pid, task, "schedstat");
	uint64_t ns;

	if (fscanf(f, "%" SCNu64, &ns) != 1)
		die("schedstat of the server cannot be read");
	s->cpu_ns += ns;
	fclose(f);
}

struct server_stat server_stat(int pid)
{
	struct server_stat s = { 0 };
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		die("the server has died");
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		add_switches(&s, pid, entry->d_name);
		add_cpu(&s, pid, entry->d_name);
	}
	closedir(dir);
	return s;
}
