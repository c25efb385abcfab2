// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * cpus.c - how many CPUs this process may use.
 *
 * A quota gives a control group so much CPU time a period; two threads that share one
 * CPU's worth are throttled together, with whatever locks they have.  So there are no more
 * workers by default than the quota is CPUs, rounded up.  A group's own quota
 * counts, and each of the groups that it is in.  Both hierarchies are looked at, for a
 * machine may have both:
 *
 *	version 2	cpu.max: "QUOTA PERIOD", or "max PERIOD"
 *	version 1	cpu.cfs_quota_us, -1 if there is none, and cpu.cfs_period_us
 *
 * See the kernel's admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst, and proc(5) for
 * mountinfo.  /proc/self/cgroup names the group as seen from the root of the control
 * group namespace; what of the hierarchy is mounted, mountinfo tells.
 */
#define _GNU_SOURCE
#include "cpus.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More than any kernel knows. */
#define MOST_CPUS	(1 << 20)

static unsigned int cpus_of_affinity(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t *set;
	int n, count = 0;

	/* The kernel refuses a set that is smaller than its own. */
	for (n = CPU_SETSIZE; !count && n <= MOST_CPUS; n *= 2) {
		set = CPU_ALLOC(n);
		if (!set)
			break;
		if (!sched_getaffinity(0, CPU_ALLOC_SIZE(n), set))
			count = CPU_COUNT_S(CPU_ALLOC_SIZE(n), set);
		CPU_FREE(set);
	}
	if (count > 0)
		return (unsigned int)count;
	return online > 0 ? (unsigned int)online : 1;
}

/* Is @word one of those that commas part in @list? */
static bool lists(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (!strncmp(list, word, n) && (!list[n] || list[n] == ','))
			return true;
	}
	return false;
}

static FILE *open_below(const char *top, const char *path)
{
	char name[PATH_MAX];

	if (snprintf(name, sizeof(name), "%s%s", top, path) >= (int)sizeof(name))
		return NULL;
	return fopen(name, "re");
}

/* mountinfo writes space, tab, newline and backslash as three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' &&
		    text[2] >= '0' && text[2] <= '7' &&
		    text[3] >= '0' && text[3] <= '7') {
			*to++ = (char)((text[1] - '0') << 6 |
				       (text[2] - '0') << 3 | (text[3] - '0'));
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* The path of the process's group in a hierarchy; to be freed, NULL: none. */
static char *group_path(const char *top, bool v2)
{
	FILE *f = open_below(top, "/proc/self/cgroup");
	char *line = NULL, *found = NULL;
	size_t size = 0;

	if (!f)
		return NULL;
	while (!found && getline(&line, &size, f) > 0) {
		char *rest = line, *number = strsep(&rest, ":");
		char *controllers = strsep(&rest, ":");

		if (!rest)
			continue;
		rest[strcspn(rest, "\n")] = '\0';
		if (v2 ? !strcmp(number, "0") && !*controllers :
			 lists(controllers, "cpu"))
			found = strdup(rest);
	}
	free(line);
	fclose(f);
	return found;
}

/*
 * One line of mountinfo: is it of the hierarchy?  Then @root is which part of that is
 * mounted, @point where.
 */
static bool is_mount(char *line, bool v2, char **root, char **point)
{
	char *rest = strstr(line, " - "), *type, *options;
	int field;

	if (!rest)
		return false;
	*rest = '\0';
	rest += 3;
	type = strsep(&rest, " ");
	strsep(&rest, " ");
	options = rest;
	if (!options)
		return false;
	options[strcspn(options, "\n")] = '\0';
	if (v2 ? strcmp(type, "cgroup2") :
		 strcmp(type, "cgroup") || !lists(options, "cpu"))
		return false;
	for (field = 0; field < 3; field++)
		strsep(&line, " ");
	*root = strsep(&line, " ");
	*point = strsep(&line, " ");
	if (!*root || !*point)
		return false;
	unescape(*root);
	unescape(*point);
	return true;
}

/* Of @path what lies below @root; "" if that is not above it. */
static const char *below(const char *path, const char *root)
{
	size_t n = strcmp(root, "/") ? strlen(root) : 0;

	/* Outside of the namespace: what is mounted is the most we can see. */
	if (strstr(path, "/..") || strncmp(path, root, n) ||
	    (path[n] && path[n] != '/'))
		return "";
	return strcmp(path + n, "/") ? path + n : "";
}

/* Where the group lies: into @dir, of PATH_MAX; its part up to where it is mounted. */
static size_t find_group(const char *top, bool v2, const char *path, char *dir)
{
	FILE *f = open_below(top, "/proc/self/mountinfo");
	char *line = NULL, *root, *point;
	size_t size = 0, found = 0;

	if (!f)
		return 0;
	while (!found && getline(&line, &size, f) > 0) {
		if (!is_mount(line, v2, &root, &point))
			continue;
		found = strlen(top) + strlen(point);
		if (snprintf(dir, PATH_MAX, "%s%s%s", top, point,
			     below(path, root)) >= PATH_MAX)
			found = 0;
	}
	free(line);
	fclose(f);
	return found;
}

/* A number of @dir's file @name; @fallback if it has none. */
static long long number_in(const char *dir, const char *name,
			   long long fallback)
{
	FILE *f;

	f = open_below(dir, name);
	if (!f)
		return fallback;
	if (fscanf(f, "%lld", &fallback) != 1)
		clearerr(f);
	fclose(f);
	return fallback;
}

static unsigned int round_up(long long quota, long long period)
{
	if (quota <= 0 || period <= 0)
		return 0;
	quota = (quota - 1) / period + 1;
	return quota < MOST_CPUS ? (unsigned int)quota : 0;
}

/* The quota of one group; 0: none. */
static unsigned int quota_of(const char *dir, bool v2)
{
	long long quota = 0, period = 0;
	FILE *f;

	if (!v2)
		return round_up(number_in(dir, "/cpu.cfs_quota_us", -1),
				number_in(dir, "/cpu.cfs_period_us", 0));
	f = open_below(dir, "/cpu.max");
	if (!f)
		return 0;
	/* "max" is no number */
	if (fscanf(f, "%lld %lld", &quota, &period) != 2)
		quota = 0;
	fclose(f);
	return round_up(quota, period);
}

static unsigned int lower_of(unsigned int a, unsigned int b)
{
	return !a || (b && b < a) ? b : a;
}

static unsigned int quota_of_hierarchy(const char *top, bool v2)
{
	char *path = group_path(top, v2), dir[PATH_MAX];
	unsigned int lowest = 0;
	size_t mounted;

	if (!path)
		return 0;
	mounted = find_group(top, v2, path, dir);
	free(path);
	if (!mounted)
		return 0;
	for (;;) {
		lowest = lower_of(lowest, quota_of(dir, v2));
		if (strlen(dir) <= mounted)
			return lowest;
		*strrchr(dir, '/') = '\0';
	}
}

unsigned int cpus_quota(const char *top)
{
	return lower_of(quota_of_hierarchy(top, true),
			quota_of_hierarchy(top, false));
}

unsigned int cpus_available(void)
{
	return lower_of(cpus_of_affinity(), cpus_quota(""));
}
