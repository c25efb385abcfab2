// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * storm_test.c - what is done to a machine, or to a process as a whole, while its
 * workers park, wake, arm and complete: nothing is lost, nothing comes early, and
 * afterwards all goes on.
 *
 * C32; C27 and C48 while all is in motion.  Runs as root: it takes CPUs away,
 * freezes, suspends.  ROOST_SECONDS: how long each storm blows (2).
 */
#include "kselftest_harness.h"

#include <glob.h>

#include "cgroup_help.h"
#include "storm_load.h"

#define GROUP	"/sys/fs/cgroup/roost_storm_test"

static uint64_t storm_ends(void)
{
	return now_ns() + env_number("ROOST_SECONDS", 2) * SEC;
}

/* The first line of a file; empty if there is none. */
static void read_line(const char *path, char *line, int size)
{
	FILE *f = fopen(path, "re");

	if (!f || !fgets(line, size, f))
		line[0] = '\0';
	if (f)
		fclose(f);
}

/* Take the CPUs from 1 on away, or give them back: how many did it. */
static int cpus_online(bool online)
{
	glob_t found;
	size_t i;
	int n = 0;

	if (glob("/sys/devices/system/cpu/cpu[1-9]*/online", 0, NULL, &found))
		return 0;
	for (i = 0; i < found.gl_pathc; i++)
		n += write_text(found.gl_pathv[i], online ? "1" : "0") == 0;
	globfree(&found);
	return n;
}

/*
 * The scheduler's code for limits of CPU time is switched on by patching it, with the
 * first group that has one, and off with the last.  That is safe on processors; one that
 * QEMU emulates with several threads may meet the breakpoint of a patch that is over, and
 * panics.  So it is switched once, before anything runs, by a group that stays.
 */
static void keep_limits_switched_on(void)
{
	write_text("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
	mkdir(GROUP "_keep", 0755);
	write_text(GROUP "_keep/cpu.max", "100000 100000");
}

FIXTURE(storm) {
	struct storm_tally *tally;
	pid_t pid;
};

FIXTURE_SETUP(storm)
{
	keep_limits_switched_on();
	self->pid = storm_begin(&self->tally);
	ASSERT_GT(self->pid, 0);
	ASSERT_TRUE(storm_goes_on(self->tally, 3));
}

FIXTURE_TEARDOWN(storm)
{
	struct storm_tally *t = self->tally;
	int status;

	/* what comes after a test that failed needs them */
	cpus_online(true);
	if (self->pid > 0) {
		EXPECT_TRUE(storm_goes_on(t, 3));
		t->stop = true;
		ASSERT_EQ(waitpid(self->pid, &status, 0), self->pid);
		EXPECT_EQ(status, 0);
		EXPECT_GT(atomic_load(&t->timeouts), 0);
	}
	EXPECT_EQ(atomic_load(&t->early), 0);
	EXPECT_EQ(atomic_load(&t->lost), 0);
	EXPECT_EQ(atomic_load(&t->strange), 0);
	TH_LOG("%lu rounds, %lu naps", storm_rounds(t),
	       (unsigned long)t->timeouts);
	munmap(t, sizeof(*t));
}

/* ---- CPUs ---- */

/* All of its threads on the CPUs of @mask. */
static void bind_all(pid_t pid, unsigned long mask)
{
	char path[64];
	glob_t found;
	size_t i;

	snprintf(path, sizeof(path), "/proc/%d/task/*", pid);
	check(glob(path, 0, NULL, &found) == 0);
	for (i = 0; i < found.gl_pathc; i++)
		check(syscall(SYS_sched_setaffinity,
			      atoi(strrchr(found.gl_pathv[i], '/') + 1),
			      sizeof(mask), &mask) == 0 || errno == ESRCH);
	globfree(&found);
}

/* C32: CPUs go and come, with workers on them that are not allowed anywhere else. */
TEST_F_TIMEOUT(storm, cpus_go_and_come, 300)
{
	uint64_t end = storm_ends();
	unsigned int times = 0;

	if (!cpus_online(true))
		SKIP(return, "there is no second CPU that can be taken away");
	while (now_ns() < end || times < 3) {
		bind_all(self->pid, 2);
		ASSERT_TRUE(storm_goes_on(self->tally, 1));
		ASSERT_GT(cpus_online(false), 0);
		EXPECT_TRUE(storm_goes_on(self->tally, 2));
		ASSERT_GT(cpus_online(true), 0);
		EXPECT_TRUE(storm_goes_on(self->tally, 2));
		times++;
	}
	bind_all(self->pid, ~0UL);
	TH_LOG("%u times", times);
}

/* C32: the process is sent from one CPU to another, and back to all. */
TEST_F_TIMEOUT(storm, affinity_narrows_and_widens, 300)
{
	static const unsigned long mask[] = { 1, 2, ~0UL };
	uint64_t end = storm_ends();
	unsigned int i;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "there is one CPU");
	for (i = 0; now_ns() < end || i < 6; i++) {
		bind_all(self->pid, mask[i % 3]);
		EXPECT_TRUE(storm_goes_on(self->tally, 2));
	}
}

/* ---- stopped, frozen, suspended ---- */

TEST_F_TIMEOUT(storm, stopped_and_continued, 300)
{
	uint64_t end = storm_ends(), seed = 5;
	unsigned long rounds;

	while (now_ns() < end) {
		ASSERT_EQ(kill(self->pid, SIGSTOP), 0);
		ASSERT_EQ(waitpid(self->pid, NULL, WUNTRACED), self->pid);
		rounds = storm_rounds(self->tally);
		sleep_ns(random_next(&seed) % (5 * MSEC));
		/* stopped it is */
		EXPECT_EQ(storm_rounds(self->tally), rounds);
		ASSERT_EQ(kill(self->pid, SIGCONT), 0);
		sleep_ns(random_next(&seed) % (5 * MSEC));
	}
}

/* Into a group of its own; false if there are no groups with @control. */
static bool enter_group(pid_t pid, const char *control)
{
	char text[64];

	write_text("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
	if (mkdir(GROUP, 0755) && errno != EEXIST)
		return false;
	snprintf(text, sizeof(text), GROUP "/%s", control);
	if (access(text, W_OK))
		return false;
	snprintf(text, sizeof(text), "%d", pid);
	return write_text(GROUP "/cgroup.procs", text) == 0;
}

static void leave_group(pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	check(write_text("/sys/fs/cgroup/cgroup.procs", text) == 0);
	check(rmdir(GROUP) == 0);
}

static bool frozen(void)
{
	char line[64];
	FILE *f = fopen(GROUP "/cgroup.events", "re");
	bool yes = false;

	while (f && fgets(line, sizeof(line), f))
		yes |= strcmp(line, "frozen 1\n") == 0;
	if (f)
		fclose(f);
	return yes;
}

TEST_F_TIMEOUT(storm, frozen_and_thawed, 300)
{
	uint64_t end = storm_ends(), limit;
	unsigned long rounds, times = 0;

	if (!enter_group(self->pid, "cgroup.freeze"))
		SKIP(return, "no control groups with a freezer");
	while (now_ns() < end || times < 3) {
		ASSERT_EQ(write_text(GROUP "/cgroup.freeze", "1"), 0);
		limit = now_ns() + wide(5 * SEC);
		/* who is parked freezes where it is, like who computes */
		while (!frozen() && now_ns() < limit)
			sleep_ns(MSEC);
		EXPECT_TRUE(frozen());
		rounds = storm_rounds(self->tally);
		sleep_ns(3 * MSEC);
		EXPECT_EQ(storm_rounds(self->tally), rounds);
		ASSERT_EQ(write_text(GROUP "/cgroup.freeze", "0"), 0);
		EXPECT_TRUE(storm_goes_on(self->tally, 1));
		times++;
	}
	leave_group(self->pid);
}

/* A hundredth of a CPU for all. */
TEST_F_TIMEOUT(storm, throttled, 300)
{
	char line[256] = "";
	unsigned long throttled = 0;
	FILE *f;

	if (!enter_group(self->pid, "cpu.max"))
		SKIP(return, "no control groups with a limit of CPU time");
	ASSERT_EQ(write_text(GROUP "/cpu.max", "1000 100000"), 0);
	EXPECT_TRUE(storm_goes_on(self->tally, 3));
	f = fopen(GROUP "/cpu.stat", "re");
	ASSERT_NE(f, NULL);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "nr_throttled %lu", &throttled);
	fclose(f);
	EXPECT_GT(throttled, 0);
	ASSERT_EQ(write_text(GROUP "/cpu.max", "max"), 0);
	EXPECT_TRUE(storm_goes_on(self->tally, 3));
	leave_group(self->pid);
}

/* SIGKILL does not wait for the next period. */
TEST_F_TIMEOUT(storm, killed_while_throttled, 300)
{
	uint64_t start;
	int status;

	if (!enter_group(self->pid, "cpu.max"))
		SKIP(return, "no control groups with a limit of CPU time");
	ASSERT_EQ(write_text(GROUP "/cpu.max", "1000 1000000"), 0);
	sleep_ns(200 * MSEC);
	start = now_ns();
	ASSERT_EQ(kill(self->pid, SIGKILL), 0);
	ASSERT_EQ(waitpid(self->pid, &status, 0), self->pid);
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_LT(now_ns() - start, wide(5 * SEC));
	ASSERT_EQ(rmdir(GROUP), 0);
	self->pid = 0;
}

/* The machine's freezer: all tasks, then on as if nothing had been. */
TEST_F_TIMEOUT(storm, all_tasks_frozen, 300)
{
	char before[64];

	if (access("/sys/power/pm_test", W_OK))
		SKIP(return, "the kernel has no /sys/power/pm_test");
	read_line("/sys/module/suspend/parameters/pm_test_delay", before,
		  sizeof(before));
	write_text("/sys/module/suspend/parameters/pm_test_delay", "1");
	ASSERT_EQ(write_text("/sys/power/pm_test", "freezer"), 0);
	EXPECT_EQ(write_text("/sys/power/state", "freeze"), 0);
	EXPECT_TRUE(storm_goes_on(self->tally, 2));
	EXPECT_EQ(write_text("/sys/power/state", "freeze"), 0);
	EXPECT_EQ(write_text("/sys/power/pm_test", "none"), 0);
	write_text("/sys/module/suspend/parameters/pm_test_delay", before);
}

/* Suspend to memory, until the clock's alarm. */
TEST_F_TIMEOUT(storm, suspended_and_resumed, 300)
{
	static const char alarm_file[] = "/sys/class/rtc/rtc0/wakealarm";
	char line[64];

	if (access(alarm_file, W_OK))
		SKIP(return, "there is no clock whose alarm ends a suspend");
	read_line("/sys/power/mem_sleep", line, sizeof(line));
	if (!strstr(line, "deep"))
		SKIP(return, "the machine has no suspend to memory");
	ASSERT_EQ(write_text("/sys/power/mem_sleep", "deep"), 0);
	write_text(alarm_file, "0");
	ASSERT_EQ(write_text(alarm_file, "+3"), 0);
	EXPECT_EQ(write_text("/sys/power/state", "mem"), 0);
	EXPECT_TRUE(storm_goes_on(self->tally, 5));
}

/* ---- the module, and what is seen of the parked ---- */

/* C27: who tries to remove the module is told that it is in use, each time. */
TEST_F_TIMEOUT(storm, nobody_removes_the_module, 300)
{
	uint64_t end = storm_ends();
	unsigned long tries = 0;

	while (now_ns() < end) {
		ASSERT_EQ(syscall(SYS_delete_module, "roost", O_NONBLOCK), -1);
		ASSERT_EQ(errno, EWOULDBLOCK);
		tries++;
	}
	TH_LOG("%lu tries", tries);
}

/* "blocked" of /proc/stat: tasks that wait for I/O. */
static int blocked_tasks(void)
{
	char line[1024];
	FILE *f = fopen("/proc/stat", "re");
	int n = -1;

	while (f && n < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "procs_blocked %d", &n);
	if (f)
		fclose(f);
	return n;
}

/* State letters of the process's threads, one each. */
static void states_of(pid_t pid, char *states, size_t size)
{
	char path[64], line[256], *paren;
	glob_t found;
	size_t i, n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/*/stat", pid);
	check(glob(path, 0, NULL, &found) == 0);
	for (i = 0; i < found.gl_pathc && n + 1 < size; i++) {
		read_line(found.gl_pathv[i], line, sizeof(line));
		paren = strrchr(line, ')');
		if (paren)
			states[n++] = paren[2];
	}
	states[n] = '\0';
	globfree(&found);
}

static void park_for_ever(int tell)
{
	struct dom d;
	struct wrk w;
	uint32_t outcome;

	check(dom_make(&d, 1, 1) == 0);
	check(wrk_make(&w, &d, 8, 8) == 0);
	check(attach(&w) == 0);
	check(write(tell, "x", 1) == 1);
	for (;;)
		park(&d, &w, ROOST_NO_DEADLINE, &outcome);
}

/*
 * A park is no wait for I/O, however long, and nothing for who looks for tasks that
 * hang: it is a sleep that signals end.  (What the detector says is in the kernel's log,
 * where whoever runs this has to look.)
 */
TEST(parked_is_neither_iowait_nor_hung)
{
	static const char timeout_file[] =
		"/proc/sys/kernel/hung_task_timeout_secs";
	char before[32], states[16], byte;
	int p[2], i, n;
	pid_t pid;

	ASSERT_EQ(pipe(p), 0);
	pid = fork();
	if (!pid)
		park_for_ever(p[1]);
	ASSERT_EQ(read(p[0], &byte, 1), 1);
	read_line(timeout_file, before, sizeof(before));
	if (before[0]) {
		EXPECT_EQ(write_text(timeout_file, "1"), 0);
	} else {
		TH_LOG("the kernel looks for no tasks that hang");
	}
	for (i = n = 0; i < 30; i++) {
		sleep_ns(100 * MSEC);
		states_of(pid, states, sizeof(states));
		EXPECT_STREQ(states, "S");
		n += blocked_tasks() > 0;
	}
	/* somebody else may wait for a disk now and then */
	EXPECT_LT(n, 30);
	if (before[0]) {
		EXPECT_EQ(write_text(timeout_file, before), 0);
	}
	kill(pid, SIGKILL);
	EXPECT_EQ(waitpid(pid, NULL, 0), pid);
}

/* C48: lives that end at any moment, while CPUs go and come. */
TEST_F_TIMEOUT(storm, lives_end_while_cpus_go_and_come, 300)
{
	uint64_t end = storm_ends(), seed = 8;
	struct storm_tally *tally;
	unsigned int times = 0;
	int status;
	pid_t pid;

	if (!cpus_online(true))
		SKIP(return, "there is no second CPU that can be taken away");
	for (; now_ns() < end || times < 4; times++) {
		pid = storm_begin(&tally);
		ASSERT_GT(pid, 0);
		cpus_online(times & 1);
		sleep_ns(random_next(&seed) % (20 * MSEC));
		ASSERT_EQ(kill(pid, SIGKILL), 0);
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT_TRUE(WIFSIGNALED(status) &&
			    WTERMSIG(status) == SIGKILL);
		munmap(tally, sizeof(*tally));
	}
	EXPECT_GT(cpus_online(true), 0);
	TH_LOG("%u lives", times);
}

TEST_HARNESS_MAIN
