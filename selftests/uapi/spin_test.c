// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * spin_test.c - a standby takes the worker of a carrier that runs one actor for too
 * long while work waits.
 */
#include "kselftest_harness.h"

#include "standby_help.h"

static void nothing(int sig)
{
}

static void set_queued(const struct dom *d, uint32_t value)
{
	__atomic_store_n(&d->control->queued, value, __ATOMIC_RELAXED);
}

static uint32_t preempt_word(const struct wrk *w)
{
	return __atomic_load_n(&w->page->preempt, __ATOMIC_RELAXED);
}

static void resume(const struct wrk *w)
{
	__atomic_store_n(&w->page->preempt, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&w->page->resumes, w->page->resumes + 1,
			 __ATOMIC_RELAXED);
}

/* A carrier that runs until it is told to stop. */
struct spinner {
	struct dom *d;
	struct wrk *w;
	pthread_t id;
	int cpu;		/* to be pinned to, or -1 */
	uint64_t resume_ns;	/* another actor so often, 0: never */
	uint64_t lease;
	volatile int attached, inside, stop;
	uint64_t longest;	/* between two resumes */
	/* at the end */
	bool lost;
	int parked, detached;
};

static void spin(struct spinner *t)
{
	uint64_t last = now_ns(), now;
	bool inside = false;

	while (!t->stop) {
		now = now_ns();
		if (t->resume_ns && now - last >= t->resume_ns) {
			if (now - last > t->longest)
				t->longest = now - last;
			last = now;
			resume(t->w);
		}
		if (t->inside && !inside) {
			inside = go_inside(t->w, t->lease);
			t->inside = inside ? 2 : 0;
		} else if (!t->inside && inside) {
			go_outside(t->w, t->lease);
			inside = false;
		}
	}
}

static void *be_spinner(void *arg)
{
	struct spinner *t = arg;
	struct roost_attach a = { 0 };
	struct roost_enter e = { .flags = ROOST_ENTER_PARK, .deadline = 1 };
	cpu_set_t set;

	if (t->cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET(t->cpu, &set);
		check(sched_setaffinity(0, sizeof(set), &set) == 0);
	}
	check(call(t->w->fd, ROOST_IOC_ATTACH, &a) == 0);
	t->lease = a.lease;
	t->attached = 1;
	spin(t);
	t->lost = lease_of(t->w) != t->lease;
	check(t->lost == !go_inside(t->w, t->lease));
	t->parked = enter(t->w, &e);
	t->detached = detach(t->w);
	return NULL;
}

static void spinner_start(struct spinner *t)
{
	check(pthread_create(&t->id, NULL, be_spinner, t) == 0);
	while (!t->attached)
		sleep_ns(MSEC / 10);
}

static void spinner_finish(struct spinner *t)
{
	t->stop = 1;
	check(pthread_join(t->id, NULL) == 0);
}

FIXTURE(spin) {
	struct dom d;
	struct wrk w;
	struct spinner t;
	struct spare s;
};

FIXTURE_SETUP(spin)
{
	struct sigaction sa = { .sa_handler = nothing };

	ASSERT_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	want_carriers(true);
	ASSERT_EQ(dom_make(&self->d, 16, 16), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 8, 8), 0);
	self->t = (struct spinner){ .d = &self->d, .w = &self->w, .cpu = -1 };
}

FIXTURE_TEARDOWN(spin)
{
	if (has_standby(&self->d))
		set_parameter("spin_us", 10000);
	want_carriers(false);
	close(self->d.fd);
}

#define TEST_SPIN(name)	TEST_WITH_STANDBY(spin, name)

#define EXPECT_TAKEN(self) \
	do { \
		ASSERT_TRUE(spare_returns(&(self)->s)); \
		ASSERT_EQ(pthread_join((self)->s.id, NULL), 0); \
		EXPECT_EQ((self)->s.ret, 0); \
		EXPECT_EQ((self)->s.s.lease, (self)->t.lease + 1); \
		EXPECT_TRUE((self)->s.saw_itself); \
		EXPECT_TRUE((self)->s.lease_shown); \
		EXPECT_EQ((self)->s.detached, 0); \
	} while (0)

#define EXPECT_LOST(self) \
	do { \
		EXPECT_TRUE((self)->t.lost); \
		EXPECT_EQ((self)->t.parked, -EPERM); \
		EXPECT_EQ((self)->t.detached, -EPERM); \
	} while (0)

/* S3-50 */
TEST_SPIN(loses_its_worker)
{
	unsigned int i;

	set_queued(&self->d, 1);
	for (i = 0; i < 10; i++) {
		self->t = (struct spinner){ .d = &self->d, .w = &self->w,
					    .cpu = -1 };
		spinner_start(&self->t);
		spare_start(&self->s, &self->d, &self->w);
		EXPECT_TAKEN(self);
		/* it still runs, but not for the worker */
		EXPECT_FALSE(on_cpu(&self->d, &self->w));
		spinner_finish(&self->t);
		EXPECT_LOST(self);
	}
	EXPECT_EQ(stat_of(&self->d).taken, 10);
	EXPECT_EQ(stat_of(&self->d).spun, 10);
}

/* It waits for the CPU that we have. */
TEST_SPIN(preempted)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
	set_queued(&self->d, 1);
	self->t.cpu = 0;
	spinner_start(&self->t);
	spare_start(&self->s, &self->d, &self->w);
	while (!self->s.returned)
		;
	EXPECT_TAKEN(self);
	spinner_finish(&self->t);
	EXPECT_LOST(self);
	EXPECT_EQ(stat_of(&self->d).spun, 1);
}

/* S3-54: Nobody is displaced for nothing; a completion that waits is something. */
TEST_SPIN(only_while_work_waits)
{
	struct roost_cqe cqe;

	spinner_start(&self->t);
	spare_start(&self->s, &self->d, &self->w);
	sleep_ns(100 * MSEC);
	EXPECT_EQ(stat_of(&self->d).taken, 0);
	EXPECT_EQ(preempt_word(&self->w), 0);
	push(&self->w, &(struct roost_sqe){ .opcode = ROOST_OP_NOP,
					    .op_id = 7 });
	ASSERT_EQ(submit(&self->w), 1);
	EXPECT_TAKEN(self);
	spinner_finish(&self->t);
	EXPECT_LOST(self);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.user_data, 7);
}

/* Nobody else will hand it over: the one who takes the worker does. */
TEST_SPIN(staged_work_waits)
{
	spinner_start(&self->t);
	spare_start(&self->s, &self->d, &self->w);
	sleep_ns(100 * MSEC);
	EXPECT_EQ(stat_of(&self->d).taken, 0);
	push(&self->w, &(struct roost_sqe){ .opcode = ROOST_OP_NOP });
	EXPECT_TAKEN(self);
	ASSERT_EQ(submit(&self->w), 1);
	spinner_finish(&self->t);
	EXPECT_LOST(self);
}

/* S0-43 */
TEST_SPIN(not_inside_the_library)
{
	set_queued(&self->d, 1);
	self->t.inside = 1;
	spinner_start(&self->t);
	while (self->t.inside != 2)
		sleep_ns(MSEC / 10);
	spare_start(&self->s, &self->d, &self->w);
	sleep_ns(100 * MSEC);
	EXPECT_EQ(stat_of(&self->d).taken, 0);
	EXPECT_EQ(lease_of(&self->w), self->t.lease);
	/* what is asked of it all the same */
	EXPECT_EQ(preempt_word(&self->w), 1);
	self->t.inside = 0;
	EXPECT_TAKEN(self);
	spinner_finish(&self->t);
	EXPECT_LOST(self);
}

TEST_SPIN(not_if_it_resumes_others)
{
	set_parameter("spin_us", 500000);
	set_queued(&self->d, 1);
	self->t.resume_ns = MSEC;
	spinner_start(&self->t);
	spare_start(&self->s, &self->d, &self->w);
	sleep_ns(2 * SEC);
	/* not if the machine stood still */
	TH_LOG("stood still for %llu ms at most",
	       (unsigned long long)(self->t.longest / MSEC));
	if (self->t.longest < 200 * MSEC)
		EXPECT_EQ(stat_of(&self->d).taken, 0);
	self->t.resume_ns = 0;
	EXPECT_TAKEN(self);
	spinner_finish(&self->t);
	EXPECT_LOST(self);
}

TEST_SPIN(never_if_turned_off)
{
	set_parameter("spin_us", 0);
	set_queued(&self->d, 1);
	spinner_start(&self->t);
	spare_start(&self->s, &self->d, &self->w);
	sleep_ns(100 * MSEC);
	EXPECT_EQ(stat_of(&self->d).taken, 0);
	EXPECT_EQ(preempt_word(&self->w), 0);
	spinner_finish(&self->t);
	EXPECT_FALSE(self->t.lost);
	EXPECT_EQ(self->t.parked, 0);
	EXPECT_EQ(self->t.detached, 0);
	spare_interrupt(&self->s);
}

static bool wait_preempt(const struct wrk *w)
{
	uint64_t limit = now_ns() + wide(10 * SEC);

	while (!preempt_word(w)) {
		if (now_ns() > limit)
			return false;
		sleep_ns(MSEC / 5);
	}
	return true;
}

/* Without a standby it is asked to yield, and once told to be in the way. */
TEST_SPIN(starved)
{
	uint64_t lease;

	spare_start(&self->s, &self->d, &self->w);
	spare_interrupt(&self->s);
	set_queued(&self->d, 1);
	spinner_start(&self->t);
	lease = self->t.lease;
	EXPECT_TRUE(wait_preempt(&self->w));
	while (!stat_of(&self->d).starved)
		sleep_ns(MSEC);
	sleep_ns(100 * MSEC);
	EXPECT_EQ(stat_of(&self->d).starved, 1);
	EXPECT_EQ(lease_of(&self->w), lease);
	/* another actor that does the same */
	resume(&self->w);
	EXPECT_TRUE(wait_preempt(&self->w));
	while (stat_of(&self->d).starved == 1)
		sleep_ns(MSEC);
	spare_start(&self->s, &self->d, &self->w);
	EXPECT_TAKEN(self);
	EXPECT_EQ(preempt_word(&self->w), 0);
	spinner_finish(&self->t);
	EXPECT_LOST(self);
	EXPECT_EQ(stat_of(&self->d).starved, 2);
	EXPECT_EQ(stat_of(&self->d).spun, 1);
}

struct rower {
	struct dom *d;
	struct wrk *w;
	unsigned int rounds;
	uint64_t seed;
	uint64_t lease;
	unsigned int parks, insides;
	int wrong;
};

/* Who is inside the library with a worker. */
static struct rower *insider[2];

/* Only one is, and it has the worker all the time.  -EPERM if displaced. */
static int be_inside(struct rower *r)
{
	struct rower **who = &insider[r->w->params.index];
	unsigned int i;

	if (!go_inside(r->w, r->lease))
		return -EPERM;
	r->wrong += !!__atomic_exchange_n(who, r, __ATOMIC_ACQUIRE);
	for (i = random_next(&r->seed) % 1000; i; i--)
		r->wrong += lease_of(r->w) != r->lease ||
			    __atomic_load_n(who, __ATOMIC_RELAXED) != r;
	r->wrong += __atomic_exchange_n(who, NULL, __ATOMIC_RELEASE) != r;
	go_outside(r->w, r->lease);
	r->insides++;
	return 0;
}

/* Free for a moment, and nobody else attaches. */
static int attach_again(struct rower *r)
{
	struct roost_attach a = { 0 };
	int ret = detach(r->w);

	if (ret)
		return ret;
	r->wrong += !!call(r->w->fd, ROOST_IOC_ATTACH, &a);
	r->lease = a.lease;
	return 0;
}

/* What a carrier may do at any time though it is outside the library. */
static int do_something(struct rower *r)
{
	uint64_t until = now_ns() + random_next(&r->seed) % 200000;
	uint32_t outcome;
	int ret = 0;

	switch (random_next(&r->seed) % 5) {
	case 0:
		while (now_ns() < until)
			;
		break;
	case 1:
		sleep_ns(random_next(&r->seed) % 50000);
		break;
	case 2:
		ret = attach_again(r);
		break;
	case 3:
		do {
			ret = be_inside(r);
		} while (!ret && now_ns() < until);
		break;
	default:
		ret = park(r->d, r->w, until, &outcome);
		r->parks += !ret;
		break;
	}
	return ret;
}

/* Carries a worker until it has lost it; then stands by for another. */
static void *row(void *arg)
{
	struct rower *r = arg;
	struct wrk *all = r->w;
	struct roost_standby s;
	int ret;

	while (r->rounds) {
		if (stand_by(r->d, &s))
			break;
		r->w = &all[s.worker];
		r->lease = s.lease;
		do {
			ret = do_something(r);
			if (ret && ret != -EPERM && ret != -ESTALE &&
			    ret != -EINTR)
				r->wrong++;
			r->rounds -= !!r->rounds;
		} while (r->rounds && ret != -EPERM && ret != -ESTALE);
		detach(r->w);
		if (ret != -EPERM && ret != -ESTALE)
			break;
	}
	r->rounds = 0;
	return NULL;
}

#define ROWERS	4

static void start_rowers(struct rower *r, pthread_t *id, struct dom *d,
			 struct wrk *w, unsigned int rounds)
{
	unsigned int i;

	for (i = 0; i < ROWERS; i++) {
		r[i] = (struct rower){ .d = d, .w = w, .rounds = rounds,
				       .seed = i + 1 };
		check(pthread_create(&id[i], NULL, row, &r[i]) == 0);
	}
}

/* Displaced in ENTER, in DETACH, while preempted; woken by others all the time. */
TEST_SPIN(at_any_time)
{
	uint64_t limit = now_ns() + wide(20 * SEC);
	struct wrk w[2];
	struct rower r[ROWERS];
	pthread_t id[ROWERS];
	struct spinner t[2];
	unsigned int i, parks = 0, insides = 0;
	uint32_t outcome;

	w[0] = self->w;
	ASSERT_EQ(wrk_make(&w[1], &self->d, 8, 8), 0);
	set_parameter("spin_us", 1000);
	set_queued(&self->d, 1);
	for (i = 0; i < 2; i++) {
		t[i] = (struct spinner){ .d = &self->d, .w = &w[i], .cpu = -1 };
		spinner_start(&t[i]);
	}
	start_rowers(r, id, &self->d, w, 1000);
	/* the first ones to lose theirs; then they are in nobody's way */
	for (i = 0; i < 2; i++) {
		while (now_ns() < limit && lease_of(&w[i]) == t[i].lease)
			sleep_ns(MSEC);
		spinner_finish(&t[i]);
		EXPECT_TRUE(t[i].lost);
	}
	for (i = 0; i < ROWERS; i++) {
		while (pthread_tryjoin_np(id[i], NULL)) {
			wake(&self->d, ROOST_WAKE_INDEX, i % 2);
			/* who stands by last has nobody to take from */
			if (!r[0].rounds + !r[1].rounds + !r[2].rounds +
			    !r[3].rounds >= 2)
				pthread_kill(id[i], SIGUSR1);
			sleep_ns(MSEC / 2);
		}
		EXPECT_EQ(r[i].wrong, 0);
		parks += r[i].parks;
		insides += r[i].insides;
	}
	EXPECT_GT(stat_of(&self->d).spun, 1);
	TH_LOG("%llu taken, %llu of them spun, %llu starved, %u parks, %u inside",
	       (unsigned long long)stat_of(&self->d).taken,
	       (unsigned long long)stat_of(&self->d).spun,
	       (unsigned long long)stat_of(&self->d).starved, parks, insides);
	/* they are as good as new */
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(attach(&w[i]), 0);
		EXPECT_EQ(park(&self->d, &w[i], now_ns() + MSEC, &outcome), 0);
		EXPECT_TRUE(outcome & ROOST_OUT_TIMEOUT);
		EXPECT_EQ(detach(&w[i]), 0);
	}
}

static void child_rows(int ready)
{
	struct spinner t;
	struct rower r[ROWERS];
	pthread_t id[ROWERS];
	struct dom d;
	struct wrk w[2];

	check(dom_make(&d, 4, 4) == 0);
	check(wrk_make(&w[0], &d, 8, 8) == 0);
	check(wrk_make(&w[1], &d, 8, 8) == 0);
	set_queued(&d, 1);
	t = (struct spinner){ .d = &d, .w = &w[0], .cpu = -1 };
	spinner_start(&t);
	start_rowers(r, id, &d, w, ~0U);
	check(write(ready, "x", 1) == 1);
	for (;;)
		pause();
}

TEST_SPIN(killed)
{
	uint64_t seed = 5;
	int i, p[2], status;
	pid_t pid;
	char byte;

	set_parameter("spin_us", 1000);
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
