// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * takeover_test.c - carriers as the scheduler sees them: who is on a CPU, who is
 * blocked, and that the ends of threads leave nothing of that behind (that the
 * module can be removed afterwards is seen by whoever runs this).
 */
#include "kselftest_harness.h"

#include <sys/ptrace.h>

#include "carrier_help.h"
#include "cgroup_help.h"
#include "roost_test.h"

/* Looks at something that must not change. */
#define LOOKS	20

#define RAN_AGAIN	42
#define ENV_AGAIN	"ROOST_TAKEOVER_AGAIN"

/* This program, executed by a carrier: switches a few times, and is done. */
static void __attribute__((constructor)) run_again(void)
{
	int i;

	if (!getenv(ENV_AGAIN))
		return;
	for (i = 0; i < 10; i++)
		sleep_ns(MSEC / 10);
	_exit(RAN_AGAIN);
}

/* How often, of LOOKS, is what the two bits say not this? */
static int differs(const struct dom *d, const struct wrk *w, bool runs,
		   bool blocks)
{
	int i, n = 0;

	for (i = 0; i < LOOKS; i++) {
		n += on_cpu(d, w) != runs || blocked(d, w) != blocks;
		sleep_ns(MSEC / 5);
	}
	return n;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check(sched_setaffinity(0, sizeof(set), &set) == 0);
}

/* Not watched: nothing is ever set. */
TEST(without_the_feature)
{
	struct dom d;
	struct wrk w;

	want_carriers(false);
	ASSERT_EQ(dom_make(&d, 4, 4), 0);
	EXPECT_FALSE(has_carriers(&d));
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	ASSERT_EQ(attach(&w), 0);
	EXPECT_EQ(differs(&d, &w, false, false), 0);
	EXPECT_EQ(stat_of(&d).blocked, 0);
	EXPECT_EQ(stat_of(&d).preempted, 0);
	EXPECT_EQ(detach(&w), 0);
}

/* A thread that does as it is told, by what it reads from its pipe. */
struct thread {
	struct dom *d;
	struct wrk *w;
	int in[2];
	pthread_t id;
	int cpu;		/* to be pinned to, or -1 */
	volatile pid_t tid;
	volatile int spins;	/* 1: runs; 2: told to stop */
	int attached;
	int wrong;		/* looks at itself that were wrong */
};

static void spin(struct thread *t)
{
	t->spins = 1;
	while (t->spins == 1)
		t->wrong += !on_cpu(t->d, t->w) || blocked(t->d, t->w);
}

static void *obey(void *arg)
{
	struct thread *t = arg;
	uint32_t outcome;
	char order;

	if (t->cpu >= 0)
		pin(t->cpu);
	t->attached = attach(t->w);
	t->tid = (pid_t)syscall(SYS_gettid);
	while (read(t->in[0], &order, 1) == 1) {
		if (order == 's')
			spin(t);
		else if (order == 'p')
			park(t->d, t->w, ROOST_NO_DEADLINE, &outcome);
		else if (order == 'd')
			check(detach(t->w) == 0);
		else if (order == 'a')
			t->attached = attach(t->w);
		else
			break;
	}
	return NULL;
}

static void start(struct thread *t, struct dom *d, struct wrk *w, int cpu)
{
	*t = (struct thread){ .d = d, .w = w, .cpu = cpu, .attached = 1 };
	check(pipe(t->in) == 0);
	check(pthread_create(&t->id, NULL, obey, t) == 0);
	while (!t->tid)
		sleep_ns(MSEC / 10);
	check(t->attached == 0);
}

static void tell(struct thread *t, char order)
{
	check(write(t->in[1], &order, 1) == 1);
}

static void start_spinning(struct thread *t)
{
	t->spins = 0;
	tell(t, 's');
	while (t->spins != 1)
		sleep_ns(MSEC / 10);
}

static void stop_spinning(struct thread *t)
{
	t->spins = 2;
}

static void finish(struct thread *t)
{
	tell(t, 'q');
	check(pthread_join(t->id, NULL) == 0);
	close(t->in[0]);
	close(t->in[1]);
}

FIXTURE(carriers) {
	struct dom d;
	struct wrk w;
	struct thread t;
};

FIXTURE_SETUP(carriers)
{
	want_carriers(true);
	ASSERT_EQ(dom_make(&self->d, 16, 16), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 8, 8), 0);
}

FIXTURE_TEARDOWN(carriers)
{
	want_carriers(false);
	close(self->d.fd);
}

/* A test of what not every module can do. */
#define TEST_CARRIERS(name) \
	static void name(struct __test_metadata *_metadata, \
			 FIXTURE_DATA(carriers) *self); \
	TEST_F(carriers, name) \
	{ \
		if (!has_carriers(&self->d)) \
			SKIP(return, LACKING); \
		name(_metadata, self); \
	} \
	static void name(struct __test_metadata *_metadata, \
			 FIXTURE_DATA(carriers) *self)

/* Whoever looks runs, so sees its own bit, whatever came before. */
TEST_CARRIERS(sees_itself)
{
	uint64_t before;
	int i, wrong = 0;

	EXPECT_EQ(differs(&self->d, &self->w, false, false), 0);
	ASSERT_EQ(attach(&self->w), 0);
	before = stat_of(&self->d).blocked;
	for (i = 0; i < 200; i++) {
		wrong += !on_cpu(&self->d, &self->w) ||
			 blocked(&self->d, &self->w);
		sleep_ns(10000);
	}
	EXPECT_EQ(wrong, 0);
	/* not each time: what sleeps that briefly may find its time passed */
	EXPECT_GT(stat_of(&self->d).blocked, before);
	ASSERT_EQ(detach(&self->w), 0);
	before = stat_of(&self->d).blocked;
	EXPECT_EQ(differs(&self->d, &self->w, false, false), 0);
	EXPECT_EQ(stat_of(&self->d).blocked, before);
}

/* In nanosleep(2) it is the same. */
static void *attach_and_sleep(void *arg)
{
	struct thread *t = arg;
	struct timespec ts = { 3600, 0 };

	t->attached = attach(t->w);
	t->tid = (pid_t)syscall(SYS_gettid);
	t->wrong = nanosleep(&ts, NULL);
	t->wrong -= on_cpu(t->d, t->w);
	return NULL;
}

static void nothing(int sig)
{
}

TEST_CARRIERS(blocked_in_nanosleep)
{
	struct sigaction sa = { .sa_handler = nothing };
	struct thread *t = &self->t;

	ASSERT_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	*t = (struct thread){ .d = &self->d, .w = &self->w };
	ASSERT_EQ(pthread_create(&t->id, NULL, attach_and_sleep, t), 0);
	EXPECT_TRUE(wait_for(self->d.control->blocked, &self->w, true));
	EXPECT_EQ(t->attached, 0);
	EXPECT_EQ(differs(&self->d, &self->w, false, true), 0);
	EXPECT_EQ(pthread_kill(t->id, SIGUSR1), 0);
	EXPECT_EQ(pthread_join(t->id, NULL), 0);
	/* EINTR, and on a CPU */
	EXPECT_EQ(t->wrong, -2);
}

TEST_CARRIERS(blocked_and_running)
{
	struct thread *t = &self->t;
	int i;

	start(t, &self->d, &self->w, -1);
	for (i = 0; i < 5; i++) {
		EXPECT_TRUE(wait_for(self->d.control->blocked, &self->w, true));
		EXPECT_EQ(differs(&self->d, &self->w, false, true), 0);
		start_spinning(t);
		EXPECT_FALSE(blocked(&self->d, &self->w));
		/* from the only CPU nobody sees another run */
		if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
			EXPECT_TRUE(wait_for(self->d.control->on_cpu, &self->w,
					     true));
		EXPECT_FALSE(blocked(&self->d, &self->w));
		stop_spinning(t);
	}
	finish(t);
	EXPECT_EQ(t->wrong, 0);
}

/* While we run on its CPU it does not, and it is not blocked. */
TEST_CARRIERS(preempted_is_not_blocked)
{
	struct thread *t = &self->t;
	uint64_t before;

	pin(0);
	start(t, &self->d, &self->w, 0);
	start_spinning(t);
	before = stat_of(&self->d).preempted;
	EXPECT_EQ(differs(&self->d, &self->w, false, false), 0);
	EXPECT_GT(stat_of(&self->d).preempted, before);
	stop_spinning(t);
	finish(t);
	EXPECT_EQ(t->wrong, 0);
}

TEST_CARRIERS(parked_is_not_blocked)
{
	struct thread *t = &self->t;
	uint32_t index = self->w.params.index;
	int i;

	start(t, &self->d, &self->w, -1);
	for (i = 0; i < 3; i++) {
		tell(t, 'p');
		ASSERT_TRUE(wait_parked(&self->d, index,
					now_ns() + wide(10 * SEC)));
		/* may have been looked at just before it was off the CPU */
		EXPECT_TRUE(wait_for(self->d.control->on_cpu, &self->w, false));
		EXPECT_EQ(differs(&self->d, &self->w, false, false), 0);
		EXPECT_EQ(wake(&self->d, ROOST_WAKE_INDEX, index), 1);
		EXPECT_TRUE(wait_for(self->d.control->blocked, &self->w, true));
	}
	finish(t);
}

/* A child whose carrier the parent stops; tells by its exit code. */
static void child_is_traced(const int to_parent[2], const int from_parent[2])
{
	struct thread t;
	struct dom d;
	struct wrk w;
	char byte;

	check(dom_make(&d, 4, 4) == 0);
	check(wrk_make(&w, &d, 8, 8) == 0);
	start(&t, &d, &w, -1);
	check(write(to_parent[1], (const void *)&t.tid, sizeof(t.tid)) ==
	      sizeof(t.tid));
	check(read(from_parent[0], &byte, 1) == 1);
	/* told before it is off its CPU */
	check(wait_for(d.control->on_cpu, &w, false));
	check(differs(&d, &w, false, false) == 0);
	check(write(to_parent[1], "x", 1) == 1);
	check(wait_for(d.control->blocked, &w, true));
	_exit(0);
}

TEST_CARRIERS(traced_is_not_blocked)
{
	int up[2], down[2], status;
	pid_t pid, tid;
	char byte;

	ASSERT_EQ(pipe(up), 0);
	ASSERT_EQ(pipe(down), 0);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		child_is_traced(up, down);
	ASSERT_EQ(read(up[0], &tid, sizeof(tid)), sizeof(tid));
	ASSERT_EQ(ptrace(PTRACE_SEIZE, tid, NULL, NULL), 0);
	ASSERT_EQ(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL), 0);
	ASSERT_EQ(waitpid(tid, &status, __WALL), tid);
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_EQ(write(down[1], "x", 1), 1);
	ASSERT_EQ(read(up[0], &byte, 1), 1);
	ASSERT_EQ(ptrace(PTRACE_DETACH, tid, NULL, NULL), 0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
}

/* The lease lasts longer than the thread; its bits do not. */
TEST_CARRIERS(dead_is_not_blocked)
{
	struct thread *t = &self->t;
	int i;

	for (i = 0; i < 20; i++) {
		start(t, &self->d, &self->w, -1);
		finish(t);
		/* joined is not yet dead */
		EXPECT_TRUE(wait_for(self->d.control->on_cpu, &self->w, false));
		EXPECT_FALSE(blocked(&self->d, &self->w));
		ASSERT_EQ(attach(&self->w), 0);
		EXPECT_TRUE(on_cpu(&self->d, &self->w));
		ASSERT_EQ(detach(&self->w), 0);
	}
}

/* At once, while the old one may still be on its way out. */
TEST_CARRIERS(successor_has_the_bits)
{
	struct thread *t = &self->t;
	int i, k, wrong = 0;

	for (i = 0; i < 200; i++) {
		start(t, &self->d, &self->w, -1);
		finish(t);
		ASSERT_EQ(attach(&self->w), 0);
		for (k = 0; k < 1000; k++)
			wrong += !on_cpu(&self->d, &self->w) ||
				 blocked(&self->d, &self->w);
		ASSERT_EQ(detach(&self->w), 0);
	}
	EXPECT_EQ(wrong, 0);
}

/* Closed by another while its carrier sleeps: the hook stays, and says nothing. */
TEST_CARRIERS(closed_by_another)
{
	struct thread *t = &self->t;
	struct wrk *w = &self->w;
	struct wrk next;
	int i;

	start(t, &self->d, w, -1);
	for (i = 0; i < 20; i++) {
		ASSERT_TRUE(wait_for(self->d.control->blocked, w, true));
		ASSERT_EQ(wrk_make(&next, &self->d, 8, 8), 0);
		munmap(w->page, w->params.map_size);
		ASSERT_EQ(close(w->fd), 0);
		EXPECT_EQ(differs(&self->d, w, false, false), 0);
		/* the thread runs again, and takes the next one */
		t->attached = 1;
		t->w = &next;
		tell(t, 'a');
		EXPECT_TRUE(wait_for(self->d.control->blocked, &next, true));
		EXPECT_EQ(t->attached, 0);
		EXPECT_FALSE(on_cpu(&self->d, w) || blocked(&self->d, w));
		self->w = next;
		t->w = w;
	}
	start_spinning(t);
	stop_spinning(t);
	finish(t);
	EXPECT_EQ(t->wrong, 0);
}

/* A thread may carry workers of several domains: each has its own notifier. */
TEST_CARRIERS(two_domains)
{
	struct dom other;
	struct wrk w;

	ASSERT_EQ(dom_make(&other, 4, 4), 0);
	ASSERT_EQ(wrk_make(&w, &other, 8, 8), 0);
	ASSERT_EQ(attach(&self->w), 0);
	ASSERT_EQ(attach(&w), 0);
	sleep_ns(MSEC);
	EXPECT_TRUE(on_cpu(&self->d, &self->w) && on_cpu(&other, &w));
	ASSERT_EQ(detach(&self->w), 0);
	sleep_ns(MSEC);
	EXPECT_FALSE(on_cpu(&self->d, &self->w));
	EXPECT_TRUE(on_cpu(&other, &w));
	EXPECT_EQ(detach(&w), 0);
	close(other.fd);
}

/* Of more than a few: each makes its context switches dearer. */
TEST_CARRIERS(too_many_domains)
{
	enum { MOST = 16 };
	struct roost_standby s = { 0 };
	struct dom d[MOST];
	struct wrk w[MOST];
	int i;

	for (i = 0; i < MOST; i++) {
		ASSERT_EQ(dom_make(&d[i], 4, 4), 0);
		ASSERT_EQ(wrk_make(&w[i], &d[i], 8, 8), 0);
		ASSERT_EQ(attach(&w[i]), 0);
	}
	EXPECT_EQ(attach(&self->w), -EBUSY);
	EXPECT_EQ(call(self->d.fd, ROOST_IOC_STANDBY, &s), -EBUSY);
	EXPECT_EQ(detach(&w[3]), 0);
	EXPECT_EQ(attach(&self->w), 0);
	EXPECT_EQ(attach(&w[3]), -EBUSY);
	for (i = 0; i < MOST; i++)
		close(d[i].fd);
}

#define GROUP	"/sys/fs/cgroup/roost_takeover_test"

static bool is_frozen(void)
{
	char text[64] = { 0 };
	int fd = open(GROUP "/cgroup.events", O_RDONLY | O_CLOEXEC);

	check(fd >= 0);
	check(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return strstr(text, "frozen 1");
}

/* One of its carriers runs, and is frozen with it; by its exit code. */
static void child_is_frozen(int up, int down)
{
	struct roost_domain_stat before, after;
	struct thread t;
	struct dom d;
	struct wrk w;
	char byte;

	check(write_text(GROUP "/cgroup.procs", "0") == 0);
	check(dom_make(&d, 4, 4) == 0);
	check(wrk_make(&w, &d, 8, 8) == 0);
	start(&t, &d, &w, -1);
	start_spinning(&t);
	before = stat_of(&d);
	check(write(up, "x", 1) == 1);
	check(read(down, &byte, 1) == 1);
	after = stat_of(&d);
	stop_spinning(&t);
	finish(&t);
	_exit(after.blocked != before.blocked || after.starved != before.starved);
}

TEST_CARRIERS(frozen_is_not_blocked)
{
	uint64_t limit = now_ns() + wide(10 * SEC);
	int up[2], down[2], status;
	pid_t pid;
	char byte;

	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK))
		SKIP(return, "no unified cgroup hierarchy at /sys/fs/cgroup");
	rmdir(GROUP);
	ASSERT_EQ(mkdir(GROUP, 0755), 0);
	ASSERT_EQ(pipe(up), 0);
	ASSERT_EQ(pipe(down), 0);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		child_is_frozen(up[1], down[0]);
	ASSERT_EQ(read(up[0], &byte, 1), 1);
	ASSERT_EQ(write_text(GROUP "/cgroup.freeze", "1"), 0);
	while (!is_frozen() && now_ns() < limit)
		sleep_ns(MSEC);
	EXPECT_TRUE(is_frozen());
	ASSERT_EQ(write_text(GROUP "/cgroup.freeze", "0"), 0);
	ASSERT_EQ(write(down[1], "x", 1), 1);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	while (rmdir(GROUP) && errno == EBUSY && now_ns() < limit)
		sleep_ns(MSEC);
}

#define CROWD	4

static void child_of_all_kinds(int ready)
{
	struct thread t[CROWD];
	struct wrk w[CROWD];
	struct dom d;
	int i;

	check(dom_make(&d, 4, 4) == 0);
	for (i = 0; i < CROWD; i++) {
		check(wrk_make(&w[i], &d, 8, 8) == 0);
		start(&t[i], &d, &w[i], -1);
	}
	/* two run, one parks, one is blocked */
	start_spinning(&t[0]);
	start_spinning(&t[1]);
	tell(&t[2], 'p');
	check(write(ready, "x", 1) == 1);
	for (;;)
		pause();
}

TEST_CARRIERS(killed)
{
	uint64_t seed = 1;
	int i, p[2], status;
	pid_t pid;
	char byte;

	ASSERT_EQ(pipe(p), 0);
	for (i = 0; i < 20; i++) {
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid)
			child_of_all_kinds(p[1]);
		ASSERT_EQ(read(p[0], &byte, 1), 1);
		sleep_ns(random_next(&seed) % (5 * MSEC));
		ASSERT_EQ(kill(pid, SIGKILL), 0);
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT_TRUE(WIFSIGNALED(status));
	}
}

/* @kept: somebody keeps the worker's descriptor over the exec. */
static void child_execs(bool kept)
{
	struct dom d;
	struct wrk w;
	pid_t pid;

	check(dom_make(&d, 4, 4) == 0);
	check(wrk_make(&w, &d, 8, 8) == 0);
	check(attach(&w) == 0);
	if (kept) {
		pid = fork();
		check(pid >= 0);
		if (!pid) {
			sleep_ns(100 * MSEC);
			_exit(0);
		}
	}
	setenv(ENV_AGAIN, "1", 1);
	execl("/proc/self/exe", "again", NULL);
	_exit(1);
}

TEST_CARRIERS(executes_another_program)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < 10; i++) {
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid)
			child_execs(i & 1);
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		ASSERT_TRUE(WIFEXITED(status));
		EXPECT_EQ(WEXITSTATUS(status), RAN_AGAIN);
	}
}

TEST_HARNESS_MAIN
