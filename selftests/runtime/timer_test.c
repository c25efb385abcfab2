// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * timer_test.c - sleeping and deadlines: never early, never lost, on time when
 * everybody is busy or asleep (T1, S1-12 to S1-19).
 */
#include "run.h"

#define SLEEPERS	10000

/* What a loaded machine may add to a deadline before we call it lost. */
static uint64_t patience(void)
{
	return ROOST_MSEC(500) * slow();
}

struct sleeper {
	uint64_t ns;
	uint64_t late;
	bool early;
	int result;
};

static void sleeper_main(void *arg)
{
	struct sleeper *s = arg;
	uint64_t until = roost_after(s->ns);
	uint64_t now;

	s->result = roost_sleep_until(until);
	now = roost_now();
	s->early = now < until;
	s->late = now - until;
}

static int by_lateness(const void *a, const void *b)
{
	const struct sleeper *x = a, *y = b;

	return x->late < y->late ? -1 : x->late > y->late;
}

static void sleep_all(unsigned long n)
{
	struct sleeper *s = calloc(n, sizeof(*s));
	roost_pid *pid = calloc(n, sizeof(*pid));
	unsigned long i, bad = 0;
	uint64_t r = tap_seed(1);

	for (i = 0; i < n; i++) {
		s[i].ns = ROOST_MSEC(1) + random_below(&r, ROOST_MSEC(99));
		pid[i] = spawn(sleeper_main, &s[i]);
	}
	for (i = 0; i < n; i++)
		join(pid[i]);
	for (i = 0; i < n; i++)
		if (s[i].early || s[i].result)
			bad++;
	CHECK_EQ(bad, 0);
	qsort(s, n, sizeof(*s), by_lateness);
	printf("# late by p50 %lu us, p99 %lu us, max %lu us\n",
	       (unsigned long)s[n / 2].late / 1000,
	       (unsigned long)s[n * 99 / 100].late / 1000,
	       (unsigned long)s[n - 1].late / 1000);
	free(s);
	free(pid);
}

/* S0-67 */
ACTOR_TEST(ten_thousand_sleepers_none_early, usually(2))
{
	sleep_all(SLEEPERS / (slow() >= 10 ? 10 : 1));
}

ACTOR_TEST(ten_thousand_sleepers_one_worker, 1)
{
	sleep_all(SLEEPERS / (slow() >= 10 ? 10 : 1));
}

ACTOR_TEST(s1_17_short_sleeps_are_short, usually(1))
{
	uint64_t start = roost_now(), until;
	int i;

	for (i = 0; i < 200; i++) {
		until = roost_after(ROOST_USEC(50));
		CHECK_EQ(roost_sleep_until(until), 0);
		CHECK(roost_now() >= until);
	}
	/* Whole milliseconds each would make 200 ms. */
	printf("# 200 sleeps of 50 us took %lu us\n",
	       (unsigned long)(roost_now() - start) / 1000);
	CHECK(roost_now() - start < ROOST_MSEC(150) * slow());
}

#define SPREAD	100

struct spread {
	struct sleeper s[SPREAD];
	uint64_t parks;
};

/* Deadlines 2 ms apart, armed before the first of them. */
static void sleep_spread(void *arg)
{
	struct spread *p = arg;
	struct roost_stats before, after;
	roost_pid pid[SPREAD];
	unsigned int i;

	for (i = 0; i < SPREAD; i++) {
		p->s[i].ns = ROOST_MSEC(50 + 2 * i);
		pid[i] = spawn(sleeper_main, &p->s[i]);
	}
	roost_yield();
	CHECK_EQ(roost_stats(&before), 0);
	for (i = 0; i < SPREAD; i++)
		join(pid[i]);
	CHECK_EQ(roost_stats(&after), 0);
	p->parks = after.parks - before.parks;
}

/* What falls within the slack shares a wake-up: by count, not by time. */
ROOST_TEST(slack_saves_wakeups_and_nobody_is_early)
{
	static struct spread without, with;
	struct roost_config config = { .workers = 1 };
	unsigned int i, bad = 0;

	run_with(&config, sleep_spread, &without);
	config.slack_ns = ROOST_MSEC(400);
	run_with(&config, sleep_spread, &with);
	printf("# parks: %lu, with slack %lu\n", (unsigned long)without.parks,
	       (unsigned long)with.parks);
	CHECK(with.parks < without.parks);
	CHECK(with.parks <= SPREAD / 2);
	for (i = 0; i < SPREAD; i++)
		bad += with.s[i].early || with.s[i].result ||
		       with.s[i].late > config.slack_ns + patience();
	CHECK_EQ(bad, 0);
}

/* S3-33, C07 */
ACTOR_TEST(deadlines_that_have_passed, usually(1))
{
	uint64_t past = roost_now() - ROOST_SEC(1);
	uint64_t start = roost_now();

	CHECK_EQ(roost_sleep_until(0), 0);
	CHECK_EQ(roost_sleep_until(1), 0);
	CHECK_EQ(roost_sleep_until(past), 0);
	CHECK_EQ(roost_sleep(0), 0);
	CHECK_EQ(roost_park(0), -ETIMEDOUT);
	CHECK_EQ(roost_park(1), -ETIMEDOUT);
	CHECK_EQ(roost_park(past), -ETIMEDOUT);
	CHECK(roost_now() - start < patience());
}

static void sleeps_until(void *arg)
{
	CHECK_EQ(roost_sleep_until(*(uint64_t *)arg), -ECANCELED);
}

/* S3-13, C07 */
ACTOR_TEST(deadlines_that_never_come, usually(2))
{
	uint64_t at[] = {
		ROOST_FOREVER, ROOST_FOREVER - 1, 1ULL << 63,
		(1ULL << 63) - 1, (1ULL << 63) - 2, roost_after(ROOST_SEC(3600)),
	};
	roost_pid pid[sizeof(at) / sizeof(at[0])];
	size_t i;

	CHECK_EQ(roost_after(ROOST_FOREVER), ROOST_FOREVER);
	CHECK_EQ(roost_after(ROOST_FOREVER - 1), ROOST_FOREVER);
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		pid[i] = spawn(sleeps_until, &at[i]);
	/* They disturb nobody. */
	for (i = 0; i < 20; i++)
		CHECK_EQ(roost_sleep(ROOST_MSEC(1)), 0);
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		CHECK_EQ(roost_join(pid[i], 0), -ETIMEDOUT);
		CHECK_EQ(roost_stop(pid[i]), 0);
		join(pid[i]);
	}
}

static void parks_with_far_deadline(void *arg)
{
	unsigned long i, n = *(unsigned long *)arg;

	for (i = 0; i < n; i++)
		CHECK_EQ(roost_park(roost_after(ROOST_SEC(10))), 0);
}

ACTOR_TEST(a_deadline_that_moves_later_is_not_armed_again, 1)
{
	unsigned long n = rounds(10000), i;
	struct roost_stats before, after;
	roost_pid pid;

	roost_stats(&before);
	pid = spawn(parks_with_far_deadline, &n);
	for (i = 0; i < n; i++) {
		roost_yield();
		CHECK_EQ(roost_unpark(pid), 0);
		roost_yield();
	}
	join(pid);
	roost_stats(&after);
	CHECK(after.timers_armed - before.timers_armed < 10);
	CHECK_EQ(after.timers_fired, before.timers_fired);
}

/*
 * What is armed for a wait that is over fires in the middle of a later one: it
 * must not end that, and the later deadline must be armed instead.
 */
static _Atomic unsigned int left_over;

static void left_over_timer(void *arg unused_arg)
{
	uint64_t until;

	/* On a busy machine the wake may be late: that leaves nothing over. */
	if (roost_park(roost_after(ROOST_MSEC(3))) == -ETIMEDOUT) {
		CHECK_EQ(roost_park(ROOST_FOREVER), 0);
		return;
	}
	atomic_fetch_add(&left_over, 1);
	until = roost_after(ROOST_MSEC(9));
	CHECK_EQ(roost_park(until), -ETIMEDOUT);
	CHECK(roost_now() >= until);
}

static void left_over_timers(void *arg unused_arg)
{
	int i;

	atomic_store(&left_over, 0);
	for (i = 0; i < 30 || (!atomic_load(&left_over) && i < 3000); i++) {
		roost_pid pid = spawn(left_over_timer, NULL);

		roost_yield();
		roost_sleep(ROOST_USEC(200));
		CHECK_EQ(roost_unpark(pid), 0);
		join(pid);
	}
	CHECK(atomic_load(&left_over) > 0);
}

/* S0-91, S3-17 */
ROOST_TEST(s0_23_a_left_over_timer_is_armed_again)
{
	run_actors(1, left_over_timers, NULL);
	run_actors(3, left_over_timers, NULL);
}

static _Atomic unsigned int waiting;

static void woken_early(void *arg unused_arg)
{
	/* Leaves a timer armed at one second, then wants an earlier one. */
	atomic_fetch_add(&waiting, 1);
	CHECK_EQ(roost_park(roost_after(ROOST_SEC(30))), 0);
	CHECK_EQ(roost_sleep(ROOST_MSEC(5)), 0);
}

/* S3-26 */
ACTOR_TEST(a_deadline_that_moves_earlier_is_met, usually(2))
{
	enum { N = 100 };
	uint64_t start = roost_now();
	roost_pid pid[N];
	int i;

	atomic_store(&waiting, 0);
	for (i = 0; i < N; i++)
		pid[i] = spawn(woken_early, NULL);
	while (atomic_load(&waiting) < N)
		roost_yield();
	for (i = 0; i < N; i++)
		CHECK_EQ(roost_unpark(pid[i]), 0);
	for (i = 0; i < N; i++)
		join(pid[i]);
	CHECK(roost_now() - start < ROOST_SEC(10));
}

static void sleeps_two_minutes(void *arg unused_arg)
{
	roost_sleep(ROOST_SEC(120));
}

/* S3-14: Whoever keeps time sleeps for long when the short sleeps begin. */
ACTOR_TEST(s1_14_an_earlier_timer_rearms_the_timekeeper, usually(3))
{
	roost_pid pid = spawn(sleeps_two_minutes, NULL);
	uint64_t start = roost_now();
	int i;

	for (i = 0; i < 50; i++)
		CHECK_EQ(roost_sleep(ROOST_MSEC(2)), 0);
	CHECK(roost_now() - start < ROOST_MSEC(100) + 4 * patience());
	CHECK_EQ(roost_stop(pid), 0);
	join(pid);
}

static _Atomic bool quit;

static void spins_and_yields(void *arg unused_arg)
{
	while (!atomic_load(&quit))
		roost_yield();
}

ACTOR_TEST(s1_16_timers_fire_when_nobody_is_idle, 2)
{
	roost_pid pid[4];
	uint64_t start;
	int i;

	atomic_store(&quit, false);
	for (i = 0; i < 4; i++)
		pid[i] = spawn(spins_and_yields, NULL);
	start = roost_now();
	for (i = 0; i < 20; i++)
		CHECK_EQ(roost_sleep(ROOST_MSEC(1)), 0);
	CHECK(roost_now() - start < ROOST_MSEC(20) + patience());
	atomic_store(&quit, true);
	for (i = 0; i < 4; i++)
		join(pid[i]);
}

static _Atomic bool slept;

static void short_sleep(void *arg unused_arg)
{
	roost_sleep(ROOST_MSEC(20));
	atomic_store(&slept, true);
}

/*
 * The worker whose wheel has the timer, perhaps the timekeeper, is lost to an
 * actor that does not come back; a sibling must see to it.
 */
static void hog(void *arg unused_arg)
{
	uint64_t limit = roost_after(ROOST_SEC(20));

	while (!atomic_load(&slept) && roost_now() < limit)
		;
	CHECK(atomic_load(&slept));
}

ACTOR_TEST(s1_19_a_timer_is_not_lost_with_its_worker, several(2))
{
	int i;

	for (i = 0; i < 10; i++) {
		roost_pid a, b;

		atomic_store(&slept, false);
		a = spawn(short_sleep, NULL);
		CHECK_EQ(roost_sleep(ROOST_MSEC(3)), 0);
		b = spawn(hog, NULL);
		join(b);
		join(a);
	}
}

static void hog_after_own_timer(void *arg)
{
	hog(arg);
}

/* Same, but the hog follows directly on the actor that arms. */
ACTOR_TEST(s1_19_the_role_is_given_on_before_a_resume, several(2))
{
	int i;

	for (i = 0; i < 10; i++) {
		roost_pid a, b;

		atomic_store(&slept, false);
		a = spawn(short_sleep, NULL);
		b = spawn(hog_after_own_timer, NULL);
		join(b);
		join(a);
	}
}

/*
 * A worker takes the timekeeper's role and looks what there is to watch, while
 * the other one arms the only timer and goes to sleep without a deadline.
 */
static _Atomic bool sleeper_done;

static void parks_again(void *arg unused_arg)
{
	while (!atomic_load(&sleeper_done))
		roost_park(ROOST_FOREVER);
}

static void unparks_and_sleeps(void *arg)
{
	unsigned long i, n = rounds(5000);

	for (i = 0; i < n; i++) {
		CHECK_EQ(roost_unpark(*(roost_pid *)arg), 0);
		CHECK_EQ(roost_sleep(ROOST_USEC(100)), 0);
	}
	atomic_store(&sleeper_done, true);
	CHECK_EQ(roost_unpark(*(roost_pid *)arg), 0);
}

ACTOR_TEST(s1_15_arming_races_with_the_timekeepers_last_look, usually(2))
{
	roost_pid parker, sleeper;

	atomic_store(&sleeper_done, false);
	parker = spawn(parks_again, NULL);
	sleeper = spawn(unparks_and_sleeps, &parker);
	/* Without deadlines: no other timer may make good for a lost one. */
	CHECK_EQ(roost_join(sleeper, ROOST_FOREVER), 0);
	CHECK_EQ(roost_join(parker, ROOST_FOREVER), 0);
}

/*
 * Nobody is idle, so nobody keeps time: the worker that is left must see to the
 * timers of the one that is lost.
 */
static void yields_until_slept(void *arg unused_arg)
{
	uint64_t limit = roost_after(ROOST_SEC(25));

	while (!atomic_load(&slept) && roost_now() < limit)
		roost_yield();
}

ACTOR_TEST(s1_16_a_busy_sibling_fires_the_timers_of_a_lost_worker, 2)
{
	int i;

	for (i = 0; i < 20 && !tap_failed(); i++) {
		roost_pid pid[4];
		int k;

		atomic_store(&slept, false);
		pid[0] = spawn(yields_until_slept, NULL);
		pid[1] = spawn(short_sleep, NULL);
		pid[2] = spawn(hog, NULL);
		pid[3] = spawn(yields_until_slept, NULL);
		for (k = 0; k < 4; k++)
			join(pid[k]);
	}
}

/* S1-12: once those that have just begun sleep, too. */
ACTOR_TEST(s1_13_one_timer_wakes_one_worker, 8)
{
	struct roost_stats before, after;
	unsigned int i, quiet = 0;

	/* Some that wake up by themselves may come in between, but not most of the time. */
	for (i = 0; i < 30; i++) {
		CHECK_EQ(roost_sleep(ROOST_MSEC(20)), 0);
		roost_stats(&before);
		CHECK_EQ(roost_sleep(ROOST_MSEC(20)), 0);
		roost_stats(&after);
		quiet += after.wakes_sent - before.wakes_sent <= 1 &&
			 after.parks - before.parks <= 3;
	}
	CHECK_MSG(quiet >= 10, "only %u of 30 times", quiet);
}

/* C43 */
ACTOR_TEST(idle_workers_do_not_spin, usually(4))
{
	struct roost_stats before, after;

	CHECK_EQ(roost_sleep(ROOST_MSEC(20)), 0);
	roost_stats(&before);
	CHECK_EQ(roost_sleep(ROOST_MSEC(500)), 0);
	roost_stats(&after);
	CHECK(after.parks - before.parks < 20);
	CHECK(after.busy_ns - before.busy_ns < ROOST_MSEC(50) * slow());
	printf("# %lu parks, %lu us of CPU in 500 ms\n",
	       (unsigned long)(after.parks - before.parks),
	       (unsigned long)(after.busy_ns - before.busy_ns) / 1000);
}

static void storm_main(void *arg)
{
	uint64_t r = (uint64_t)(uintptr_t)arg;
	int i;

	for (i = 0; i < 50; i++) {
		uint64_t until = roost_after(random_below(&r, ROOST_MSEC(3)));

		if (random_percent(&r, 30))
			roost_unpark(roost_self());
		if (roost_park(until) == -ETIMEDOUT)
			CHECK(roost_now() >= until);
	}
}

/*
 * S3-21, S3-23: Slots are used again at once; left-over timers must not hurt
 * new tenants.
 */
ACTOR_TEST(timers_of_the_dead_do_not_hurt_the_living, usually(3))
{
	enum { N = 200 };
	roost_pid pid[N];
	uintptr_t seed = (uintptr_t)tap_seed(9);
	int round, i;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < N; i++)
			pid[i] = spawn(storm_main, (void *)(seed + (uintptr_t)i));
		for (i = 0; i < N; i++)
			join(pid[i]);
	}
}

/* Fewer each, the more there are. */
static unsigned long brief_sleeps;

static void sleeps_very_briefly(void *arg)
{
	uint64_t r = (uint64_t)(uintptr_t)arg;
	unsigned long i;

	for (i = 0; i < brief_sleeps; i++)
		CHECK_EQ(roost_sleep(random_below(&r, ROOST_USEC(20))), 0);
}

static void brief_sleepers(void *arg)
{
	unsigned long n = *(unsigned long *)arg;
	roost_pid pid[100];
	uintptr_t i;

	brief_sleeps = 20 + rounds(2000) / n;
	for (i = 0; i < n; i++)
		pid[i] = spawn(sleeps_very_briefly, (void *)(i + 1));
	/* Without a deadline: no other timer may make good for a lost one. */
	for (i = 0; i < n; i++)
		CHECK_EQ(roost_join(pid[i], ROOST_FOREVER), 0);
}

/* S1-24: it passes while it is armed, or handed over, or before the sleep. */
ROOST_TEST(deadlines_that_pass_before_the_park)
{
	static unsigned long numbers[] = { 1, 2, 100 };
	unsigned int w, i;

	for (w = 1; w <= 3; w++)
		for (i = 0; i < 3; i++)
			run_actors(w, brief_sleepers, &numbers[i]);
}

static long resident_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	long pages = -1;

	if (!f || fscanf(f, "%*d %ld", &pages) != 1)
		pages = -1;
	if (f)
		fclose(f);
	return pages;
}

static void parks_for_an_hour(void *arg unused_arg)
{
	CHECK_EQ(roost_park(roost_after(ROOST_SEC(3600))), 0);
}

static void arms_and_cancels(unsigned long n)
{
	unsigned long i;
	roost_pid pid;

	for (i = 0; i < n; i++) {
		pid = spawn(parks_for_an_hour, NULL);
		roost_yield();
		CHECK_EQ(roost_unpark(pid), 0);
		join(pid);
	}
}

static void arms_and_cancels_often(void *arg unused_arg)
{
	unsigned long n = rounds(100000);
	struct roost_stats s;
	long before;

	arms_and_cancels(n / 10);
	before = resident_pages();
	arms_and_cancels(n - n / 10);
	CHECK(before > 0);
	CHECK(resident_pages() - before < (2L << 20) / 4096);
	CHECK_EQ(roost_stats(&s), 0);
	CHECK(s.timers_armed > 0);
	CHECK_EQ(s.timers_fired, 0);
}

/* C09: what is armed far away and not waited for takes no memory. */
ROOST_TEST(cancelled_deadlines_leave_nothing)
{
	struct roost_config config = {
		.workers = 1, .standbys = ROOST_NO_STANDBYS,
	};

	if (SANITIZED)
		SKIP("sanitizers keep memory");
	run_with(&config, arms_and_cancels_often, NULL);
}

/* Once nobody but the caller has anything to do. */
static struct roost_stats when_quiet(void)
{
	struct roost_stats s;

	CHECK_EQ(roost_sleep(ROOST_MSEC(20)), 0);
	CHECK_EQ(roost_stats(&s), 0);
	return s;
}

/* C43: one that yields all the time is no reason for others to get up. */
ACTOR_TEST(one_that_yields_wakes_nobody, usually(8))
{
	struct roost_stats before = when_quiet(), after;
	uint64_t until = roost_after(ROOST_MSEC(500));

	while (roost_now() < until)
		roost_yield();
	CHECK_EQ(roost_stats(&after), 0);
	printf("# %lu resumes, %lu parks, %lu wakes\n",
	       (unsigned long)(after.resumes - before.resumes),
	       (unsigned long)(after.parks - before.parks),
	       (unsigned long)(after.wakes_sent - before.wakes_sent));
	CHECK(after.resumes - before.resumes > 100);
	CHECK(after.parks - before.parks < 20);
	CHECK(after.wakes_sent - before.wakes_sent < 20);
}

#define TICKS	20

/* C43: a tick is a sleep and what ends it, however many workers there are. */
ACTOR_TEST(a_ticker_costs_a_few_calls, usually(8))
{
	struct roost_stats before = when_quiet(), after;
	uint64_t calls, tick = roost_now();
	int i;

	for (i = 0; i < TICKS; i++) {
		tick += ROOST_MSEC(10);
		CHECK_EQ(roost_sleep_until(tick), 0);
	}
	CHECK_EQ(roost_stats(&after), 0);
	/* With the module a park is one of the enters. */
	calls = after.enters - before.enters;
	if (!calls)
		calls = after.parks - before.parks;
	calls += after.wake_calls - before.wake_calls;
	printf("# %lu calls for %d ticks\n", (unsigned long)calls, TICKS);
	CHECK(calls > 0);
	CHECK(calls <= 4 * TICKS);
}
