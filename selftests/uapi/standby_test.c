// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * standby_test.c - a standby takes the worker of a carrier that is stuck.
 */
#include "kselftest_harness.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/userfaultfd.h>

#include "standby_help.h"

static void nothing(int sig)
{
}

TEST(without_the_feature)
{
	struct roost_standby s;
	struct dom d;

	want_carriers(false);
	ASSERT_EQ(dom_make(&d, 4, 4), 0);
	EXPECT_FALSE(has_standby(&d));
	EXPECT_EQ(stand_by(&d, &s), -EOPNOTSUPP);
	EXPECT_EQ(wake(&d, ROOST_WAKE_DISMISS, 0), -EOPNOTSUPP);
	/* it is that of the domain, not that of now */
	want_carriers(true);
	EXPECT_EQ(stand_by(&d, &s), -EOPNOTSUPP);
	EXPECT_EQ(wake(&d, ROOST_WAKE_DISMISS, 0), -EOPNOTSUPP);
	want_carriers(false);
}

/* What is out of their range is refused, and leaves them as they were. */
TEST(parameters)
{
	static const struct {
		const char *name;
		const char *value;
		int expected;
	} rows[] = {
		{ "grace_us", "1000001", -EINVAL },
		{ "grace_us", "-1", -EINVAL },
		{ "grace_us", "x", -EINVAL },
		{ "grace_us", "1000000", 0 },
		{ "grace_us", "0", 0 },
		{ "grace_us", "200", 0 },
		{ "spin_us", "1", -EINVAL },
		{ "spin_us", "999", -EINVAL },
		{ "spin_us", "10000001", -EINVAL },
		{ "spin_us", "99999999999", -ERANGE },
		{ "spin_us", "", -EINVAL },
		{ "spin_us", "0", 0 },
		{ "spin_us", "1000", 0 },
		{ "spin_us", "10000000", 0 },
		{ "spin_us", "10000", 0 },
	};
	unsigned int i;
	char is[16];

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		EXPECT_EQ(try_parameter(rows[i].name, rows[i].value, is),
			  rows[i].expected);
		EXPECT_EQ(!strcmp(is, rows[i].value), !rows[i].expected) {
			TH_LOG("%s=%s", rows[i].name, rows[i].value);
		}
	}
}

/* A carrier that blocks in read(2) until it is told to go on. */
struct stuck {
	struct dom *d;
	struct wrk *w;
	int in[2];
	pthread_t id;
	uint64_t lease;
	bool library;
	volatile int attached;
	/* after the read */
	bool lost;
	int parked, detached;
};

static void *get_stuck(void *arg)
{
	struct stuck *t = arg;
	struct roost_attach a = { 0 };
	struct roost_enter e = { .flags = ROOST_ENTER_PARK };
	char byte;

	check(call(t->w->fd, ROOST_IOC_ATTACH, &a) == 0);
	t->lease = a.lease;
	if (t->library)
		check(go_inside(t->w, a.lease));
	t->attached = 1;
	check(read(t->in[0], &byte, 1) == 1);
	t->lost = lease_of(t->w) != t->lease;
	/* a deadline that has passed */
	e.deadline = 1;
	t->parked = enter(t->w, &e);
	t->detached = detach(t->w);
	return NULL;
}

static void stuck_start(struct stuck *t, struct dom *d, struct wrk *w,
			bool library)
{
	*t = (struct stuck){ .d = d, .w = w, .library = library };
	check(pipe(t->in) == 0);
	check(pthread_create(&t->id, NULL, get_stuck, t) == 0);
	while (!t->attached)
		sleep_ns(MSEC / 10);
}

static void stuck_finish(struct stuck *t)
{
	check(write(t->in[1], "x", 1) == 1);
	check(pthread_join(t->id, NULL) == 0);
	close(t->in[0]);
	close(t->in[1]);
}

FIXTURE(standby) {
	struct dom d;
	struct wrk w;
	struct stuck t;
	struct spare s;
};

FIXTURE_SETUP(standby)
{
	struct sigaction sa = { .sa_handler = nothing };

	ASSERT_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	want_carriers(true);
	ASSERT_EQ(dom_make_io(&self->d, 16, 16), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 8, 8), 0);
}

FIXTURE_TEARDOWN(standby)
{
	if (has_standby(&self->d))
		set_parameter("grace_us", 200);
	want_carriers(false);
	close(self->d.fd);
}

#define TEST_STANDBY(name)	TEST_WITH_STANDBY(standby, name)

TEST_STANDBY(rejections)
{
	static const struct roost_standby rows[] = {
		{ .flags = 1 }, { .worker = 1 }, { .lease = 1 },
		{ .reserved = { 1 } }, { .reserved = { 0, 1 } },
	};
	struct roost_standby s;
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		s = rows[i];
		EXPECT_EQ(call(self->d.fd, ROOST_IOC_STANDBY, &s), -EINVAL);
	}
	ASSERT_EQ(attach(&self->w), 0);
	EXPECT_EQ(stand_by(&self->d, &s), -EBUSY);
	EXPECT_EQ(detach(&self->w), 0);
}

/* All of them, also who comes later; their signals may all be blocked. */
TEST_STANDBY(dismissed)
{
	struct roost_standby s;
	struct spare other;
	int n;

	spare_start(&self->s, &self->d, &self->w);
	spare_start(&other, &self->d, &self->w);
	n = wake(&self->d, ROOST_WAKE_DISMISS, 0);
	EXPECT_GE(n, 0);
	EXPECT_LE(n, 2);
	EXPECT_TRUE(spare_returns(&self->s));
	EXPECT_TRUE(spare_returns(&other));
	EXPECT_EQ(pthread_join(self->s.id, NULL), 0);
	EXPECT_EQ(pthread_join(other.id, NULL), 0);
	EXPECT_EQ(self->s.ret, -ECANCELED);
	EXPECT_EQ(other.ret, -ECANCELED);
	EXPECT_EQ(stand_by(&self->d, &s), -ECANCELED);
	EXPECT_EQ(wake(&self->d, ROOST_WAKE_DISMISS, 0), 0);
	/* nobody was given anything */
	EXPECT_EQ(attach(&self->w), 0);
	EXPECT_EQ(detach(&self->w), 0);
}

TEST_STANDBY(takes_a_blocked_worker)
{
	unsigned int i;

	for (i = 0; i < 20; i++) {
		stuck_start(&self->t, &self->d, &self->w, false);
		spare_start(&self->s, &self->d, &self->w);
		ASSERT_TRUE(spare_returns(&self->s));
		ASSERT_EQ(pthread_join(self->s.id, NULL), 0);
		EXPECT_EQ(self->s.ret, 0);
		EXPECT_EQ(self->s.s.worker, self->w.params.index);
		EXPECT_EQ(self->s.s.lease, self->t.lease + 1);
		EXPECT_TRUE(self->s.saw_itself);
		EXPECT_TRUE(self->s.lease_shown);
		EXPECT_EQ(self->s.detached, 0);
		EXPECT_EQ(stat_of(&self->d).taken, i + 1);
		/* the displaced one has nothing to say any more */
		EXPECT_FALSE(on_cpu(&self->d, &self->w));
		EXPECT_FALSE(blocked(&self->d, &self->w));
		stuck_finish(&self->t);
		EXPECT_TRUE(self->t.lost);
		EXPECT_EQ(self->t.parked, -EPERM);
		EXPECT_EQ(self->t.detached, -EPERM);
	}
}

/* One that waits in STANDBY, with a structure of its own. */
struct waiting {
	const struct dom *d;
	struct roost_standby *s;
	pthread_t id;
	volatile pid_t tid;
	int ret;
};

static void *wait_for_worker(void *arg)
{
	struct waiting *t = arg;

	t->tid = (pid_t)syscall(SYS_gettid);
	t->ret = call(t->d->fd, ROOST_IOC_STANDBY, t->s);
	return NULL;
}

/* Until the kernel says that the thread sleeps, and nothing else does it. */
static bool falls_asleep(struct waiting *t)
{
	uint64_t limit = now_ns() + wide(20 * SEC);
	char path[64], line[256];
	bool asleep = false;
	const char *state;
	FILE *f;

	while (!asleep && now_ns() < limit) {
		sleep_ns(MSEC);
		if (!t->tid)
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", t->tid);
		f = fopen(path, "re");
		check(f);
		state = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
		asleep = state && state[2] == 'S';
		fclose(f);
	}
	return asleep;
}

/* It cannot be told which worker it has: then it has none. */
TEST_STANDBY(memory_goes_while_it_waits)
{
	struct waiting t = { .d = &self->d };
	uint64_t lease;

	t.s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	ASSERT_TRUE(t.s != MAP_FAILED);
	ASSERT_EQ(pthread_create(&t.id, NULL, wait_for_worker, &t), 0);
	ASSERT_TRUE(falls_asleep(&t));
	ASSERT_EQ(mprotect(t.s, 4096, PROT_READ), 0);
	stuck_start(&self->t, &self->d, &self->w, false);
	ASSERT_EQ(pthread_join(t.id, NULL), 0);
	EXPECT_EQ(t.ret, -EFAULT);
	EXPECT_EQ(stat_of(&self->d).taken, 1);
	EXPECT_EQ(lease_of(&self->w), 0);
	EXPECT_FALSE(on_cpu(&self->d, &self->w));
	ASSERT_EQ(attach(&self->w), 0);
	lease = lease_of(&self->w);
	EXPECT_EQ(lease, self->t.lease + 2);
	stuck_finish(&self->t);
	EXPECT_TRUE(self->t.lost);
	EXPECT_EQ(lease_of(&self->w), lease);
	EXPECT_EQ(detach(&self->w), 0);
	munmap(t.s, 4096);
}

/* While the new one runs, the old one comes back: it has no bits of the worker. */
TEST_STANDBY(displaced_leaves_the_bits_alone)
{
	stuck_start(&self->t, &self->d, &self->w, false);
	self->s = (struct spare){ .d = &self->d, .w = &self->w, .keep = 1 };
	ASSERT_EQ(pthread_create(&self->s.id, NULL, be_spare, &self->s), 0);
	ASSERT_TRUE(spare_returns(&self->s));
	stuck_finish(&self->t);
	EXPECT_TRUE(self->t.lost);
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		EXPECT_TRUE(wait_for(self->d.control->on_cpu, &self->w, true));
	EXPECT_FALSE(blocked(&self->d, &self->w));
	EXPECT_EQ(lease_of(&self->w), self->s.s.lease);
	self->s.keep = 0;
	ASSERT_EQ(pthread_join(self->s.id, NULL), 0);
	EXPECT_EQ(self->s.detached, 0);
}

/* S0-43 */
TEST_STANDBY(not_inside_the_library)
{
	stuck_start(&self->t, &self->d, &self->w, true);
	spare_start(&self->s, &self->d, &self->w);
	EXPECT_TRUE(wait_for(self->d.control->blocked, &self->w, true));
	sleep_ns(50 * MSEC);
	EXPECT_TRUE(blocked(&self->d, &self->w));
	stuck_finish(&self->t);
	EXPECT_FALSE(self->t.lost);
	/* -EINTR is not for a deadline */
	EXPECT_EQ(self->t.parked, 0);
	EXPECT_EQ(self->t.detached, 0);
	EXPECT_EQ(stat_of(&self->d).taken, 0);
	EXPECT_EQ(stat_of(&self->d).starved, 0);
	spare_interrupt(&self->s);
	EXPECT_EQ(self->s.ret, -EINTR);
}

/* Shorter than the grace time: never; longer: always. */
TEST_STANDBY(not_before_the_grace_time)
{
	uint64_t began, longest = 0, took;
	int i;

	set_parameter("grace_us", 500000);
	spare_start(&self->s, &self->d, &self->w);
	ASSERT_EQ(attach(&self->w), 0);
	for (i = 0; i < 100; i++) {
		began = now_ns();
		sleep_ns(MSEC / 2);
		took = now_ns() - began;
		longest = took > longest ? took : longest;
	}
	/* not if the machine stood still */
	if (longest < 400 * MSEC)
		EXPECT_EQ(stat_of(&self->d).taken, 0);
	began = now_ns();
	sleep_ns(600 * MSEC);
	EXPECT_EQ(stat_of(&self->d).taken, 1);
	ASSERT_TRUE(spare_returns(&self->s));
	ASSERT_EQ(pthread_join(self->s.id, NULL), 0);
	EXPECT_EQ(self->s.ret, 0);
	EXPECT_EQ(detach(&self->w), -EPERM);
	EXPECT_EQ(self->s.s.lease, 2);
}

/* Stuck before there was a standby: the next one has it at once. */
TEST_STANDBY(starved)
{
	/* nobody is looked for before the first standby of a domain */
	stuck_start(&self->t, &self->d, &self->w, false);
	sleep_ns(5 * MSEC);
	stuck_finish(&self->t);
	EXPECT_EQ(stat_of(&self->d).starved, 0);
	spare_start(&self->s, &self->d, &self->w);
	spare_interrupt(&self->s);
	EXPECT_EQ(self->s.ret, -EINTR);
	EXPECT_EQ(stat_of(&self->d).starved, 0);

	stuck_start(&self->t, &self->d, &self->w, false);
	while (!stat_of(&self->d).starved)
		sleep_ns(MSEC);
	EXPECT_EQ(stat_of(&self->d).taken, 0);
	EXPECT_EQ(lease_of(&self->w), self->t.lease);
	spare_start(&self->s, &self->d, &self->w);
	ASSERT_TRUE(spare_returns(&self->s));
	ASSERT_EQ(pthread_join(self->s.id, NULL), 0);
	EXPECT_EQ(self->s.ret, 0);
	stuck_finish(&self->t);
	EXPECT_TRUE(self->t.lost);
	EXPECT_EQ(stat_of(&self->d).starved, 1);
	EXPECT_EQ(stat_of(&self->d).taken, 1);
}

/* A hint that is out of date does no harm. */
TEST_STANDBY(not_starved_any_more)
{
	spare_start(&self->s, &self->d, &self->w);
	spare_interrupt(&self->s);
	stuck_start(&self->t, &self->d, &self->w, false);
	while (!stat_of(&self->d).starved)
		sleep_ns(MSEC);
	stuck_finish(&self->t);
	EXPECT_FALSE(self->t.lost);
	spare_start(&self->s, &self->d, &self->w);
	sleep_ns(20 * MSEC);
	EXPECT_FALSE(self->s.returned);
	spare_interrupt(&self->s);
	EXPECT_EQ(stat_of(&self->d).taken, 0);
}

static void *park_long(void *arg)
{
	struct stuck *t = arg;
	uint32_t outcome;

	check(attach(t->w) == 0);
	t->attached = 1;
	t->parked = park(t->d, t->w, ROOST_NO_DEADLINE, &outcome);
	t->detached = detach(t->w);
	return NULL;
}

TEST_STANDBY(parked_is_not_stuck)
{
	struct stuck *t = &self->t;

	spare_start(&self->s, &self->d, &self->w);
	set_parameter("grace_us", 1000);
	*t = (struct stuck){ .d = &self->d, .w = &self->w };
	ASSERT_EQ(pthread_create(&t->id, NULL, park_long, t), 0);
	ASSERT_TRUE(wait_parked(&self->d, 0, now_ns() + wide(10 * SEC)));
	sleep_ns(50 * MSEC);
	EXPECT_EQ(stat_of(&self->d).taken, 0);
	EXPECT_EQ(wake(&self->d, ROOST_WAKE_INDEX, 0), 1);
	ASSERT_EQ(pthread_join(t->id, NULL), 0);
	EXPECT_EQ(t->parked, 0);
	EXPECT_EQ(t->detached, 0);
	spare_interrupt(&self->s);
}

/* A wake that the old one has not yet received is the new one's. */
TEST_STANDBY(permit_goes_along)
{
	struct spare *s = &self->s;
	uint32_t outcome;

	set_parameter("grace_us", 300000);
	stuck_start(&self->t, &self->d, &self->w, false);
	EXPECT_EQ(wake(&self->d, ROOST_WAKE_INDEX, 0), 1);
	s->d = &self->d;
	ASSERT_EQ(stand_by(&self->d, &s->s), 0);
	EXPECT_EQ(park(&self->d, &self->w, ROOST_NO_DEADLINE, &outcome), 0);
	EXPECT_TRUE(outcome & ROOST_OUT_WAKE);
	EXPECT_FALSE(outcome & ROOST_OUT_SLEPT);
	EXPECT_EQ(detach(&self->w), 0);
	stuck_finish(&self->t);
}

struct rower {
	struct dom *d;
	struct wrk *w;
	unsigned int rounds;
	int wrong;
};

/* Has the lease, blocks, has lost it or not; a standby then, and so on. */
static void *row(void *arg)
{
	struct rower *r = arg;
	struct roost_standby s;
	uint64_t lease;
	int ret;

	while (r->rounds) {
		ret = stand_by(r->d, &s);
		if (ret)
			break;
		lease = s.lease;
		while (r->rounds && lease_of(r->w) == lease) {
			r->rounds--;
			r->wrong += !on_cpu(r->d, r->w) &&
				    lease_of(r->w) == lease;
			sleep_ns(r->rounds % 3 * 100000);
		}
	}
	if (!ret)
		detach(r->w);
	return NULL;
}

TEST_STANDBY(take_turns)
{
	struct rower r[3];
	pthread_t id[3];
	unsigned int i;

	stuck_start(&self->t, &self->d, &self->w, false);
	for (i = 0; i < 3; i++) {
		r[i] = (struct rower){ .d = &self->d, .w = &self->w,
				       .rounds = 300 };
		ASSERT_EQ(pthread_create(&id[i], NULL, row, &r[i]), 0);
	}
	/* who is last waits for ever: there is nobody to take from */
	for (i = 0; i < 3; i++) {
		while (pthread_tryjoin_np(id[i], NULL)) {
			if (!r[0].rounds + !r[1].rounds + !r[2].rounds)
				pthread_kill(id[i], SIGUSR1);
			sleep_ns(MSEC);
		}
		EXPECT_EQ(r[i].wrong, 0);
	}
	stuck_finish(&self->t);
	EXPECT_GT(stat_of(&self->d).taken, 1);
	TH_LOG("%llu taken, %llu starved",
	       (unsigned long long)stat_of(&self->d).taken,
	       (unsigned long long)stat_of(&self->d).starved);
}

/* The lease is lost within ENTER: it does what it was asked for, but for the park. */
static void *enter_and_fault(void *arg)
{
	struct stuck *t = arg;
	struct roost_enter e = {
		.flags = ROOST_ENTER_PARK,
		.deadline = ROOST_NO_DEADLINE,
	};

	check(attach(t->w) == 0);
	e.to_submit = staged(t->w);
	e.event = sample(t->d);
	set_idle(t->d, t->w);
	t->parked = enter(t->w, &e);
	t->attached = (int)e.submitted;
	t->detached = detach(t->w);
	return NULL;
}

TEST_STANDBY(lost_during_enter)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP,
	};
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_WP };
	struct uffdio_writeprotect wp = { .mode = UFFDIO_WRITEPROTECT_MODE_WP };
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct stuck *t = &self->t;
	struct roost_cqe cqe;
	char *page;
	int uffd, s[2];

	page = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(page, MAP_FAILED);
	page[0] = 1;
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api))
		SKIP(return, "this kernel cannot hold a write to a page");
	reg.range.start = (uintptr_t)page;
	reg.range.len = size;
	ASSERT_EQ(ioctl(uffd, UFFDIO_REGISTER, &reg), 0);
	wp.range = reg.range;
	ASSERT_EQ(ioctl(uffd, UFFDIO_WRITEPROTECT, &wp), 0);
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	ASSERT_EQ(send(s[1], "abc", 3, 0), 3);
	push(&self->w, &(struct roost_sqe){
		.opcode = ROOST_OP_RECV,
		.op_id = roost_op_id(1, 1),
		.fd = s[0],
		.addr = (uintptr_t)page,
		.len = 8,
	});

	spare_start(&self->s, &self->d, &self->w);
	*t = (struct stuck){ .d = &self->d, .w = &self->w };
	ASSERT_EQ(pthread_create(&t->id, NULL, enter_and_fault, t), 0);
	ASSERT_TRUE(spare_returns(&self->s));
	ASSERT_EQ(pthread_join(self->s.id, NULL), 0);
	EXPECT_EQ(self->s.ret, 0);
	wp.mode = 0;
	ASSERT_EQ(ioctl(uffd, UFFDIO_WRITEPROTECT, &wp), 0);
	ASSERT_EQ(pthread_join(t->id, NULL), 0);
	EXPECT_EQ(t->parked, -ESTALE);
	EXPECT_EQ(t->attached, 1);
	EXPECT_EQ(t->detached, -EPERM);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.res, 3);
	close(uffd);
}

/* All is closed while the displaced one is still stuck. */
static void *stuck_for_good(void *arg)
{
	struct stuck *t = arg;
	char byte;
	int i;

	check(attach(t->w) == 0);
	t->attached = 1;
	check(read(t->in[0], &byte, 1) == 1);
	for (i = 0; i < 10; i++)
		sleep_ns(MSEC / 10);
	return NULL;
}

TEST_STANDBY(domain_ends_before_the_displaced)
{
	struct stuck t = { 0 };
	struct spare s;
	struct dom d;
	struct wrk w;
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(dom_make(&d, 4, 4), 0);
		ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
		t = (struct stuck){ .d = &d, .w = &w };
		ASSERT_EQ(pipe(t.in), 0);
		ASSERT_EQ(pthread_create(&t.id, NULL, stuck_for_good, &t), 0);
		while (!t.attached)
			sleep_ns(MSEC / 10);
		spare_start(&s, &d, &w);
		ASSERT_TRUE(spare_returns(&s));
		ASSERT_EQ(pthread_join(s.id, NULL), 0);
		dom_unmap(&d);
		munmap(w.page, w.params.map_size);
		ASSERT_EQ(close(w.fd), 0);
		ASSERT_EQ(close(d.fd), 0);
		stuck_finish(&t);
	}
}

static void child_rows(int ready)
{
	struct stuck t;
	struct rower r[3];
	pthread_t id;
	struct dom d;
	struct wrk w;
	int i;

	check(dom_make(&d, 4, 4) == 0);
	check(wrk_make(&w, &d, 8, 8) == 0);
	stuck_start(&t, &d, &w, false);
	for (i = 0; i < 3; i++) {
		r[i] = (struct rower){ .d = &d, .w = &w, .rounds = ~0U };
		check(pthread_create(&id, NULL, row, &r[i]) == 0);
	}
	check(write(ready, "x", 1) == 1);
	for (;;)
		pause();
}

TEST_STANDBY(killed)
{
	uint64_t seed = 3;
	int i, p[2], status;
	pid_t pid;
	char byte;

	ASSERT_EQ(pipe(p), 0);
	for (i = 0; i < 30; i++) {
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid)
			child_rows(p[1]);
		ASSERT_EQ(read(p[0], &byte, 1), 1);
		sleep_ns(random_next(&seed) % (10 * MSEC));
		ASSERT_EQ(kill(pid, SIGKILL), 0);
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT_TRUE(WIFSIGNALED(status));
	}
}

TEST_HARNESS_MAIN
