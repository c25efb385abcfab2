// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * The default number of workers: what the quotas of control groups come to, in trees of
 * files as machines and containers have them, and the range.
 */
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <sys/stat.h>

#include "cpus.h"
#include "run.h"

#define V2_MOUNT	"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNT	"35 25 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:14 - cgroup cgroup rw,cpu,cpuacct\n"
#define OTHER_MOUNTS							\
	"23 1 254:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n"	\
	"36 25 0:31 / /sys/fs/cgroup/cpuset rw shared:15 - cgroup cgroup rw,cpuset\n"

static char top[64];

static void put(const char *path, const char *text)
{
	char name[PATH_MAX], *slash;
	FILE *f;

	snprintf(name, sizeof(name), "%s%s", top, path);
	for (slash = name + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(name, 0755);
		*slash = '/';
	}
	f = fopen(name, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

static int drop(const char *path, const struct stat *st unused_arg,
		int type unused_arg, struct FTW *ftw unused_arg)
{
	return remove(path);
}

struct file {
	const char *path;
	const char *text;
};

/* What comes of a process in @group, with @mounts and up to three files. */
static unsigned int quota(const char *group, const char *mounts,
			  const struct file files[3])
{
	unsigned int n, i;

	strcpy(top, "/tmp/roost-cpus-XXXXXX");
	if (!mkdtemp(top))
		abort();
	put("/proc/self/cgroup", group);
	put("/proc/self/mountinfo", mounts);
	for (i = 0; i < 3 && files[i].path; i++)
		put(files[i].path, files[i].text);
	n = cpus_quota(top);
	nftw(top, drop, 8, FTW_DEPTH | FTW_PHYS);
	return n;
}

#define QUOTA(group, mounts, ...)					\
	quota(group, mounts, (const struct file[3]){ __VA_ARGS__ })

static unsigned int v2(const char *cpu_max)
{
	return QUOTA("0::/a\n", OTHER_MOUNTS V2_MOUNT,
		     { "/sys/fs/cgroup/a/cpu.max", cpu_max });
}

/* C34 */
ROOST_TEST(quotas_are_rounded_up)
{
	CHECK_EQ(v2("200000 100000\n"), 2);
	CHECK_EQ(v2("150000 100000\n"), 2);
	CHECK_EQ(v2("100000 100000\n"), 1);
	CHECK_EQ(v2("1000 100000\n"), 1);
	CHECK_EQ(v2("1000001 1000000\n"), 2);
	CHECK_EQ(v2("25600000 100000\n"), 256);
}

/* C34 */
ROOST_TEST(what_is_no_quota_is_no_limit)
{
	static const char * const texts[] = {
		"max 100000\n", "", "max", "\n", "100000", "100000 0\n", "0 100000\n",
		"-1 100000\n", "-100000 -100000\n", "rubbish\n",
		"9223372036854775807 1\n", "99999999999999999999999 100000\n",
	};
	unsigned int i;

	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		CHECK_MSG(v2(texts[i]) == 0, "\"%s\"", texts[i]);
	/* no files, of any kind */
	CHECK_EQ(cpus_quota("/nowhere/at/all"), 0);
	CHECK_EQ(QUOTA("", V2_MOUNT, { 0 }), 0);
	CHECK_EQ(QUOTA("0::/a\n", "", { 0 }), 0);
	CHECK_EQ(QUOTA("0::/a\n", V2_MOUNT, { 0 }), 0);
	CHECK_EQ(QUOTA("0:\n0\n\n::\n0::/a", "rubbish - \n - - -\n- cgroup2 x y\n",
		       { 0 }), 0);
	/* another hierarchy's */
	CHECK_EQ(QUOTA("0::/a\n", OTHER_MOUNTS V1_MOUNT,
		       { "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "100000" },
		       { "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000" }),
		 0);
}

ROOST_TEST(groups_above_count)
{
	CHECK_EQ(QUOTA("0::/a/b/c\n", V2_MOUNT,
		       { "/sys/fs/cgroup/a/cpu.max", "300000 100000\n" },
		       { "/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n" }), 3);
	CHECK_EQ(QUOTA("0::/a/b/c\n", V2_MOUNT,
		       { "/sys/fs/cgroup/a/cpu.max", "300000 100000\n" },
		       { "/sys/fs/cgroup/a/b/c/cpu.max", "50000 25000\n" }), 2);
	/* so does what is mounted, which in a container is the group itself */
	CHECK_EQ(QUOTA("0::/\n", V2_MOUNT,
		       { "/sys/fs/cgroup/cpu.max", "400000 100000\n" }), 4);
	CHECK_EQ(QUOTA("0::/a\n", V2_MOUNT,
		       { "/sys/fs/cgroup/b/cpu.max", "100000 100000\n" },
		       { "/sys/fs/cgroup/cpu.max", "400000 100000\n" }), 4);
}

ROOST_TEST(part_of_a_hierarchy_may_be_mounted)
{
	static const char part[] =
		"30 23 0:26 /docker/1\\0402 /sys/fs/c\\134g rw - cgroup2 none rw\n";

	CHECK_EQ(QUOTA("0::/docker/1 2/x\n", part,
		       { "/sys/fs/c\\g/x/cpu.max", "500000 100000\n" }), 5);
	CHECK_EQ(QUOTA("0::/docker/1 2\n", part,
		       { "/sys/fs/c\\g/cpu.max", "500000 100000\n" }), 5);
	/* a name that only begins like it */
	CHECK_EQ(QUOTA("0::/docker/1 23\n", part,
		       { "/sys/fs/c\\g/3/cpu.max", "100000 100000\n" },
		       { "/sys/fs/c\\g/cpu.max", "500000 100000\n" }), 5);
	/* outside of the namespace */
	CHECK_EQ(QUOTA("0::/../other\n", V2_MOUNT,
		       { "/sys/fs/other/cpu.max", "100000 100000\n" },
		       { "/sys/fs/cgroup/cpu.max", "500000 100000\n" }), 5);
}

ROOST_TEST(version_1_counts_as_well)
{
	static const char group[] = "12:cpuset:/x\n4:cpu,cpuacct:/a\n0::/b\n";
	static const char mounts[] = OTHER_MOUNTS V1_MOUNT V2_MOUNT;

	CHECK_EQ(QUOTA(group, mounts,
		       { "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "250000\n" },
		       { "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n" },
		       { "/sys/fs/cgroup/cpuset/x/cpu.max", "100000 100000\n" }), 3);
	CHECK_EQ(QUOTA(group, mounts,
		       { "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n" },
		       { "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n" }),
		 0);
	/* the lower of both */
	CHECK_EQ(QUOTA(group, mounts,
		       { "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "250000\n" },
		       { "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n" },
		       { "/sys/fs/cgroup/b/cpu.max", "200000 100000\n" }), 2);
	/* cpuacct alone is another controller */
	CHECK_EQ(QUOTA("4:cpuacct:/a\n", mounts,
		       { "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "250000\n" },
		       { "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n" }),
		 0);
}

static void count_workers(void *arg)
{
	struct roost_stats s;

	CHECK_EQ(roost_stats(&s), 0);
	*(unsigned int *)arg = s.workers;
}

static unsigned int workers_of(unsigned int min, unsigned int max)
{
	struct roost_config config = { .min_workers = min, .max_workers = max };
	unsigned int n = 0;

	run_with(&config, count_workers, &n);
	CHECK_EQ(roost_workers(&config), n);
	return n;
}

/* S0-02, S0-10 */
ROOST_TEST(the_default_lies_within_the_range)
{
	unsigned int n = cpus_available();

	CHECK(n >= 1);
	errno = 4711;
	CHECK_EQ(roost_workers(NULL), n);
	CHECK_EQ(errno, 4711);
	CHECK_EQ(workers_of(0, 0), n);
	CHECK_EQ(workers_of(n + 1, 0), n + 1);
	CHECK_EQ(workers_of(n + 1, n + 5), n + 1);
	CHECK_EQ(workers_of(0, 1), 1);
	CHECK_EQ(workers_of(1, n), n);
	CHECK_EQ(workers_of(n, n), n);
}

/* The range is checked whatever this machine has. */
ROOST_TEST(a_range_that_is_none_is_refused)
{
	static const struct roost_config bad[] = {
		{ .min_workers = 3, .max_workers = 2 },
		{ .min_workers = 257 },
		{ .max_workers = 257 },
		{ .workers = 2, .min_workers = 1 },
		{ .workers = 2, .max_workers = 2 },
	};
	unsigned int i, n = 0;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		CHECK_EQ(roost_run(&bad[i], count_workers, &n), -EINVAL);
		CHECK_EQ(roost_workers(&bad[i]), -EINVAL);
	}
	CHECK_EQ(n, 0);
}
