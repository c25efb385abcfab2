// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * park_test.c - sleeping and being woken, one step at a time.
 *
 * Rules P1 to P5, case C11 (a).  The many-round races stand in
 * ../stress/dev_parkwake_test.c.
 */
#include "kselftest_harness.h"

#include <sys/time.h>

#include "roost_test.h"

#define N	4

/* A thread that carries a worker and parks when told to. */
struct carrier {
	struct dom *d;
	struct wrk *w;
	pthread_t thread;
	uint64_t deadline;
	int ret;
	uint32_t outcome;
	bool idle_after;
};

FIXTURE(park) {
	struct dom d;
	struct wrk w[N];
	struct carrier c[N];
	uint64_t limit;
};

FIXTURE_SETUP(park)
{
	unsigned int i;

	ASSERT_EQ(dom_make(&self->d, 16, 16), 0);
	for (i = 0; i < N; i++)
		ASSERT_EQ(wrk_make(&self->w[i], &self->d, 8, 16), 0);
	self->limit = wide(10 * SEC);
}

FIXTURE_TEARDOWN(park)
{
	unsigned int i;

	for (i = 0; i < N; i++)
		close(self->w[i].fd);
	close(self->d.fd);
}

static void *carrier_main(void *arg)
{
	struct carrier *c = arg;

	check(attach(c->w) == 0);
	c->ret = park(c->d, c->w, c->deadline, &c->outcome);
	c->idle_after = idle_bit(c->d, c->w);
	check(detach(c->w) == 0);
	return NULL;
}

static void start(struct carrier *c, struct dom *d, struct wrk *w,
		  uint64_t deadline)
{
	*c = (struct carrier){ .d = d, .w = w, .deadline = deadline };
	check(pthread_create(&c->thread, NULL, carrier_main, c) == 0);
}

static void start_parked(struct carrier *c, struct dom *d, struct wrk *w)
{
	start(c, d, w, ROOST_NO_DEADLINE);
	check(wait_parked(d, w->params.index, now_ns() + wide(10 * SEC)));
}

static bool over(struct carrier *c)
{
	void *ret;

	return pthread_tryjoin_np(c->thread, &ret) == 0;
}

/* S1-01 */
TEST_F(park, wake_before_park_is_a_permit)
{
	uint32_t outcome;

	ASSERT_EQ(attach(&self->w[0]), 0);
	EXPECT_EQ(wake(&self->d, ROOST_WAKE_INDEX, 0), 1);
	/* a second one adds nothing */
	EXPECT_EQ(wake(&self->d, ROOST_WAKE_INDEX, 0), 0);
	EXPECT_EQ(park(&self->d, &self->w[0], ROOST_NO_DEADLINE, &outcome), 0);
	EXPECT_EQ(outcome, ROOST_OUT_WAKE);
	EXPECT_FALSE(idle_bit(&self->d, &self->w[0]));
	/* and it is used up */
	EXPECT_EQ(park(&self->d, &self->w[0], now_ns() + 20 * MSEC, &outcome),
		  0);
	EXPECT_EQ(outcome, ROOST_OUT_TIMEOUT | ROOST_OUT_SLEPT);
	EXPECT_EQ(stat_of(&self->d).wakes, 1);
	EXPECT_EQ(stat_of(&self->d).wakes_received, 1);
	EXPECT_EQ(stat_of(&self->d).timeouts, 1);
}

TEST_F(park, not_early_and_not_forever)
{
	static const uint64_t spans[] = { 1000, 100000, MSEC, 20 * MSEC,
					  300 * MSEC };
	uint64_t deadline, late, most = 0;
	uint32_t outcome;
	unsigned int i, k;

	ASSERT_EQ(attach(&self->w[0]), 0);
	for (k = 0; k < 20; k++) {
		for (i = 0; i < (k ? 4 : 5); i++) {
			deadline = now_ns() + spans[i];
			ASSERT_EQ(park(&self->d, &self->w[0], deadline,
				       &outcome), 0);
			ASSERT_TRUE(outcome & ROOST_OUT_TIMEOUT);
			ASSERT_FALSE(idle_bit(&self->d, &self->w[0]));
			late = now_ns();
			ASSERT_GE(late, deadline);
			if (late - deadline > most)
				most = late - deadline;
		}
	}
	TH_LOG("at most %llu us late", (unsigned long long)most / 1000);
	EXPECT_LT(most, wide(20 * MSEC));
}

TEST_F(park, deadline_in_the_past)
{
	uint64_t deadlines[] = { 0, 1, now_ns() - SEC, now_ns() };
	uint64_t before = now_ns();
	uint32_t outcome;
	unsigned int i;

	ASSERT_EQ(attach(&self->w[0]), 0);
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(park(&self->d, &self->w[0], deadlines[i], &outcome),
			  0);
		EXPECT_TRUE(outcome & ROOST_OUT_TIMEOUT);
		EXPECT_FALSE(idle_bit(&self->d, &self->w[0]));
	}
	EXPECT_LT(now_ns() - before, wide(100 * MSEC));
}

/* S0-73, S2-15, S2-19: P1: something happened since the sample was taken. */
TEST_F(park, changed_event_counter)
{
	struct roost_cqe cqe;
	uint32_t outcome, old;

	ASSERT_EQ(attach(&self->w[0]), 0);
	old = sample(&self->d);
	ASSERT_EQ(submit_one(&self->w[0], sqe_nop(1)), 1);
	ASSERT_TRUE(pop(&self->w[0], &cqe));
	EXPECT_NE(sample(&self->d), old);
	EXPECT_EQ(park_with(&self->d, &self->w[0], old, ROOST_NO_DEADLINE,
			    &outcome), 0);
	EXPECT_EQ(outcome, ROOST_OUT_EVENT);
	EXPECT_FALSE(idle_bit(&self->d, &self->w[0]));
	EXPECT_EQ(stat_of(&self->d).parks, 0);
	EXPECT_EQ(stat_of(&self->d).parks_refused, 1);
}

/* A bit that is clear already is a wake (P3). */
TEST_F(park, idle_bit_cleared_before)
{
	struct roost_enter e = {
		.flags = ROOST_ENTER_PARK,
		.deadline = ROOST_NO_DEADLINE,
		.event = sample(&self->d),
	};

	ASSERT_EQ(attach(&self->w[0]), 0);
	EXPECT_EQ(enter(&self->w[0], &e), 0);
	EXPECT_EQ(e.outcome, ROOST_OUT_WAKE);
	EXPECT_EQ(stat_of(&self->d).wakes_received, 1);
}

/* S2-21 */
TEST_F(park, wake_by_index)
{
	struct carrier *c = self->c;

	start_parked(&c[1], &self->d, &self->w[1]);
	EXPECT_TRUE(idle_bit(&self->d, &self->w[1]));
	EXPECT_EQ(self->w[1].page->parked, 1);
	EXPECT_EQ(wake(&self->d, ROOST_WAKE_INDEX, 1), 1);
	pthread_join(c[1].thread, NULL);
	EXPECT_EQ(c[1].ret, 0);
	EXPECT_EQ(c[1].outcome, ROOST_OUT_WAKE | ROOST_OUT_SLEPT);
	EXPECT_FALSE(c[1].idle_after);
	EXPECT_EQ(self->w[1].page->parked, 0);
	EXPECT_EQ(wake(&self->d, ROOST_WAKE_INDEX, 1), -ESRCH);
}

/* S2-17, S2-27: The waker's half in user space: bit, then word, then the call. */
TEST_F(park, wake_as_a_library_does)
{
	struct carrier *c = self->c;

	start_parked(&c[0], &self->d, &self->w[0]);
	EXPECT_TRUE(clear_idle(&self->d, &self->w[0]));
	EXPECT_EQ(__atomic_exchange_n(&self->w[0].page->parked, 0,
				      __ATOMIC_SEQ_CST), 1);
	EXPECT_EQ(wake(&self->d, ROOST_WAKE_INDEX | ROOST_WAKE_SYNC, 0), 1);
	pthread_join(c[0].thread, NULL);
	EXPECT_EQ(c[0].outcome, ROOST_OUT_WAKE | ROOST_OUT_SLEPT);
	EXPECT_EQ(stat_of(&self->d).wakes, 1);
	EXPECT_EQ(stat_of(&self->d).wakes_received, 1);
}

/* The calling thread, and those that it starts from now on. */
static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check(sched_setaffinity(0, sizeof(set), &set) == 0);
}

/* -1 if there is no such CPU. */
static int package_of(int cpu)
{
	char path[96];
	int package = -1;
	FILE *f;

	snprintf(path, sizeof(path),
		 "/sys/devices/system/cpu/cpu%d/topology/physical_package_id",
		 cpu);
	f = fopen(path, "re");
	if (f) {
		check(fscanf(f, "%d", &package) == 1);
		fclose(f);
	}
	return package;
}

/* S1-03: One that sleeps in the waker's package, though others have a higher index. */
TEST_F(park, wake_one_takes_one_nearby)
{
	int far = 1, here = package_of(0);
	struct carrier *c = self->c;
	unsigned int i;

	while (package_of(far) == here)
		far++;
	if (package_of(far) < 0)
		SKIP(return, "a machine of one package");
	for (i = 0; i < N; i++) {
		stay_on(i == 1 || i == 2 ? 0 : far);
		start_parked(&c[i], &self->d, &self->w[i]);
	}
	stay_on(0);
	for (i = 2; i; i--) {
		EXPECT_EQ(wake(&self->d, ROOST_WAKE_ONE, 0), 1);
		pthread_join(c[i].thread, NULL);
		EXPECT_TRUE(c[i].outcome & ROOST_OUT_WAKE);
	}
	EXPECT_EQ(stat_of(&self->d).parked[0], ((1U << N) - 1) & ~6U);
	EXPECT_EQ(wake(&self->d, ROOST_WAKE_ALL, 0), N - 2);
	for (i = 0; i < N; i++)
		if (i != 1 && i != 2)
			pthread_join(c[i].thread, NULL);
}

/* S1-03, S2-27: Of those that are alike, the highest bit first. */
TEST_F(park, wake_one_takes_the_highest)
{
	struct carrier *c = self->c;
	unsigned int i, flags;

	stay_on(sched_getcpu());
	for (i = 0; i < N; i++)
		start_parked(&c[i], &self->d, &self->w[i]);
	EXPECT_EQ(self->d.control->idle[0], (1 << N) - 1);
	EXPECT_EQ(stat_of(&self->d).parked[0], (1 << N) - 1);
	for (i = N; i-- > 0;) {
		flags = ROOST_WAKE_ONE | (i & 1 ? ROOST_WAKE_SYNC : 0);
		EXPECT_EQ(wake(&self->d, flags, 0), 1);
		pthread_join(c[i].thread, NULL);
		EXPECT_TRUE(c[i].outcome & ROOST_OUT_WAKE);
		EXPECT_EQ(self->d.control->idle[0], (1U << i) - 1);
		EXPECT_EQ(stat_of(&self->d).parked[0], (1U << i) - 1);
	}
	EXPECT_EQ(wake(&self->d, ROOST_WAKE_ONE, 0), 0);
}

TEST_F(park, wake_all)
{
	struct carrier *c = self->c;
	unsigned int i;

	for (i = 0; i < N - 1; i++)
		start_parked(&c[i], &self->d, &self->w[i]);
	/* one of them is awake: it gets a permit */
	ASSERT_EQ(attach(&self->w[N - 1]), 0);
	EXPECT_EQ(wake(&self->d, ROOST_WAKE_ALL, 0), N);
	for (i = 0; i < N - 1; i++) {
		pthread_join(c[i].thread, NULL);
		EXPECT_EQ(c[i].outcome, ROOST_OUT_WAKE | ROOST_OUT_SLEPT);
	}
	EXPECT_EQ(wake(&self->d, ROOST_WAKE_ALL, 0), 0);
	EXPECT_EQ(self->d.control->idle[0], 0);
}

TEST_F(park, enter_with_wake)
{
	struct carrier *c = self->c;
	struct roost_enter e = {
		.flags = ROOST_ENTER_WAKE | ROOST_ENTER_PARK,
		.wake = 2,
		.deadline = now_ns() + 50 * MSEC,
	};

	start_parked(&c[2], &self->d, &self->w[2]);
	ASSERT_EQ(attach(&self->w[0]), 0);
	set_idle(&self->d, &self->w[0]);
	/* its own wake does not keep the caller from sleeping */
	e.event = sample(&self->d);
	EXPECT_EQ(enter(&self->w[0], &e), 0);
	EXPECT_EQ(e.outcome, ROOST_OUT_SLEPT | ROOST_OUT_TIMEOUT);
	EXPECT_FALSE(idle_bit(&self->d, &self->w[0]));
	pthread_join(c[2].thread, NULL);
	EXPECT_TRUE(c[2].outcome & ROOST_OUT_WAKE);

	e = (struct roost_enter){ .flags = ROOST_ENTER_WAKE, .wake = 2 };
	EXPECT_EQ(enter(&self->w[0], &e), 0);
	EXPECT_TRUE(e.outcome & ROOST_OUT_NO_TARGET);
	e = (struct roost_enter){ .flags = ROOST_ENTER_WAKE, .wake = 999 };
	EXPECT_EQ(enter(&self->w[0], &e), 0);
	EXPECT_TRUE(e.outcome & ROOST_OUT_NO_TARGET);
}

/* A completion wakes: the home worker if it sleeps, else one that does. */
TEST_F(park, completion_wakes_home_or_another)
{
	struct carrier *c = self->c;

	start(&c[0], &self->d, &self->w[0], ROOST_NO_DEADLINE);
	start(&c[3], &self->d, &self->w[3], ROOST_NO_DEADLINE);
	ASSERT_TRUE(wait_parked(&self->d, 0, now_ns() + self->limit));
	ASSERT_TRUE(wait_parked(&self->d, 3, now_ns() + self->limit));
	ASSERT_EQ(submit_one(&self->w[0], sqe_timer(0, 1, now_ns() +
						    30 * MSEC)), 1);
	pthread_join(c[0].thread, NULL);
	EXPECT_EQ(c[0].outcome, ROOST_OUT_EVENT | ROOST_OUT_SLEPT);
	EXPECT_FALSE(over(&c[3]));
	/* worker 1 has nobody who sleeps on it */
	ASSERT_EQ(submit_one(&self->w[1], sqe_timer(1, 1, now_ns() +
						    30 * MSEC)), 1);
	pthread_join(c[3].thread, NULL);
	EXPECT_EQ(c[3].outcome, ROOST_OUT_EVENT | ROOST_OUT_SLEPT);
	EXPECT_EQ(stat_of(&self->d).wakes_kernel, 2);
}

static unsigned int signals;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

/* S2-10 */
TEST_F(park, signal_ends_it)
{
	struct sigaction sa = { .sa_handler = on_signal,
				.sa_flags = SA_RESTART };
	struct itimerval once = { .it_value = { 0, 50000 } };
	uint32_t outcome;

	sigaction(SIGALRM, &sa, NULL);
	ASSERT_EQ(attach(&self->w[0]), 0);
	setitimer(ITIMER_REAL, &once, NULL);
	EXPECT_EQ(park(&self->d, &self->w[0], ROOST_NO_DEADLINE, &outcome),
		  -EINTR);
	EXPECT_EQ(outcome, ROOST_OUT_SIGNAL | ROOST_OUT_SLEPT);
	EXPECT_FALSE(idle_bit(&self->d, &self->w[0]));
	EXPECT_EQ(self->w[0].page->parked, 0);
	EXPECT_EQ(signals, 1);
	EXPECT_EQ(stat_of(&self->d).signals, 1);
}

/* C11 (a): 500 ms with a signal every 10 ms, to one absolute deadline. */
TEST_F(park, signals_do_not_stretch_a_timeout)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct itimerval every = { { 0, 10000 }, { 0, 10000 } };
	uint64_t start = now_ns(), took;
	uint32_t outcome = 0;
	unsigned int tries = 0;
	int ret;

	sigaction(SIGALRM, &sa, NULL);
	ASSERT_EQ(attach(&self->w[0]), 0);
	setitimer(ITIMER_REAL, &every, NULL);
	do {
		ret = park(&self->d, &self->w[0], start + 500 * MSEC, &outcome);
		tries++;
	} while (ret == -EINTR);
	took = now_ns() - start;
	every = (struct itimerval){ 0 };
	setitimer(ITIMER_REAL, &every, NULL);
	EXPECT_EQ(ret, 0);
	EXPECT_TRUE(outcome & ROOST_OUT_TIMEOUT);
	EXPECT_GE(took, 500 * MSEC);
	EXPECT_LE(took, 500 * MSEC + wide(20 * MSEC));
	EXPECT_GT(tries, 5);
	TH_LOG("%u tries, %llu us", tries, (unsigned long long)took / 1000);
}

/* Entries are taken before the sleep, whatever ends it. */
TEST_F(park, submits_before_it_sleeps)
{
	struct roost_cqe cqe;
	struct roost_sqe set = sqe_timer(3, 1, now_ns() + 30 * MSEC);
	uint32_t outcome;

	ASSERT_EQ(attach(&self->w[0]), 0);
	push(&self->w[0], &set);
	EXPECT_EQ(park(&self->d, &self->w[0], now_ns() + self->limit,
		       &outcome), 0);
	EXPECT_EQ(outcome, ROOST_OUT_EVENT | ROOST_OUT_SLEPT);
	ASSERT_TRUE(pop(&self->w[0], &cqe));
	EXPECT_EQ(cqe.user_data, roost_op_id(3, 1));
	EXPECT_GE(now_ns(), set.deadline);
}

/* A parked carrier is not in iowait, and can be killed. */
TEST_F(park, killed_while_parked)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct dom d;
		struct wrk w;
		uint32_t outcome;

		check(dom_make(&d, 1, 1) == 0);
		check(wrk_make(&w, &d, 8, 8) == 0);
		check(attach(&w) == 0);
		park(&d, &w, ROOST_NO_DEADLINE, &outcome);
		_exit(0);
	}
	sleep_ns(wide(20 * MSEC));
	EXPECT_EQ(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGKILL);
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_HARNESS_MAIN
