// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* busy_test.c - who parks looks for the end first, for as long as busy_us says. */
#include "kselftest_harness.h"

#include <sched.h>

#include "carrier_help.h"

#define ROUNDS	2000

FIXTURE(busy) {
	struct dom d;
	struct wrk w[2];
};

FIXTURE_SETUP(busy)
{
	ASSERT_EQ(dom_make(&self->d, 4, 4), 0);
	ASSERT_EQ(wrk_make(&self->w[0], &self->d, 8, 8), 0);
	ASSERT_EQ(wrk_make(&self->w[1], &self->d, 8, 8), 0);
}

FIXTURE_TEARDOWN(busy)
{
	set_parameter("busy_us", 200);
	close(self->w[0].fd);
	close(self->w[1].fd);
	close(self->d.fd);
}

struct half {
	struct dom *d;
	struct wrk *w;
	unsigned int cpu;
	unsigned int other;
	unsigned int rounds;
};

static void sit_on(unsigned int nth)
{
	cpu_set_t all, one;
	unsigned int cpu;

	check(sched_getaffinity(0, sizeof(all), &all) == 0);
	CPU_ZERO(&one);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &all) && !nth--)
			break;
	}
	CPU_SET(cpu, &one);
	check(sched_setaffinity(0, sizeof(one), &one) == 0);
}

/* Wake the other one, wait for its wake, and so on. */
static void *half_main(void *arg)
{
	const struct half *h = arg;
	uint32_t outcome;
	unsigned int i;

	sit_on(h->cpu);
	check(attach(h->w) == 0);
	for (i = 0; i < h->rounds; i++) {
		check(wake(h->d, ROOST_WAKE_INDEX, h->other) >= -ESRCH);
		/* the other one may have played its last */
		check(park(h->d, h->w, now_ns() + 10 * MSEC, &outcome) == 0);
	}
	check(detach(h->w) == 0);
	return NULL;
}

static void play(FIXTURE_DATA(busy) *self)
{
	struct half h[2];
	pthread_t thread;
	unsigned int i;

	for (i = 0; i < 2; i++)
		h[i] = (struct half){ .d = &self->d, .w = &self->w[i], .cpu = i,
				      .other = !i, .rounds = ROUNDS };
	check(pthread_create(&thread, NULL, half_main, &h[1]) == 0);
	half_main(&h[0]);
	check(pthread_join(thread, NULL) == 0);
}

static bool one_cpu(void)
{
	cpu_set_t all;

	check(sched_getaffinity(0, sizeof(all), &all) == 0);
	return CPU_COUNT(&all) < 2;
}

#define ALONE	"one CPU: nobody looks, for nobody could end it"

TEST_F(busy, soon_woken_has_not_slept)
{
	struct roost_domain_stat s;

	if (one_cpu())
		SKIP(return, ALONE);
	set_parameter("busy_us", 1000);
	do {
		play(self);
		s = stat_of(&self->d);
	} while (!s.parks_busy);
	EXPECT_LE(s.parks_busy, s.parks);
	TH_LOG("%llu of %llu parks", (unsigned long long)s.parks_busy,
	       (unsigned long long)s.parks);
}

TEST_F(busy, off)
{
	if (one_cpu())
		SKIP(return, ALONE);
	set_parameter("busy_us", 0);
	play(self);
	EXPECT_GT(stat_of(&self->d).parks, 0);
	EXPECT_EQ(stat_of(&self->d).parks_busy, 0);
}

/* What is looked for is never overslept: each park has its own deadline. */
TEST_F(busy, deadlines_hold)
{
	static const uint64_t spans[] = { 1, 1000, 20000, 150000, 2 * MSEC };
	uint64_t deadline;
	uint32_t outcome;
	unsigned int i;

	set_parameter("busy_us", 1000);
	ASSERT_EQ(attach(&self->w[0]), 0);
	for (i = 0; i < ROUNDS; i++) {
		deadline = now_ns() + spans[i % 5];
		ASSERT_EQ(park(&self->d, &self->w[0], deadline, &outcome), 0);
		ASSERT_TRUE(outcome & ROOST_OUT_TIMEOUT);
		ASSERT_GE(now_ns(), deadline);
	}
	EXPECT_EQ(stat_of(&self->d).timeouts, ROUNDS);
	/* nobody but the deadline ended them, which is set after the look */
	EXPECT_EQ(stat_of(&self->d).parks_busy, 0);
}

static void *signal_soon(void *arg)
{
	const pthread_t *to = arg;
	unsigned int i;

	for (i = 0; i < 200; i++) {
		sleep_ns(MSEC / 2);
		check(pthread_kill(*to, SIGUSR1) == 0);
	}
	return NULL;
}

static void nothing(int signal_number)
{
}

TEST_F(busy, signals_end_it)
{
	struct sigaction action = { .sa_handler = nothing };
	pthread_t thread, me = pthread_self();
	unsigned int interrupted = 0;
	uint32_t outcome;
	int ret;

	set_parameter("busy_us", 1000);
	ASSERT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	ASSERT_EQ(attach(&self->w[0]), 0);
	ASSERT_EQ(pthread_create(&thread, NULL, signal_soon, &me), 0);
	while (interrupted < 20) {
		ret = park(&self->d, &self->w[0], ROOST_NO_DEADLINE, &outcome);
		ASSERT_EQ(ret, -EINTR);
		ASSERT_FALSE(idle_bit(&self->d, &self->w[0]));
		interrupted++;
	}
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(stat_of(&self->d).parks_busy, 0);
}

TEST_F(busy, bounds_of_the_parameter)
{
	static const struct {
		const char *value;
		int expected;
		const char *is;
	} rows[] = {
		{ "0", 0, "0" },
		{ "1000", 0, "1000" },
		{ "1001", -EINVAL, "1000" },
		{ "-1", -EINVAL, "1000" },
		{ "4294967296", -EINVAL, "1000" },
		{ "x", -EINVAL, "1000" },
		{ "", -EINVAL, "1000" },
	};
	char is[16];
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ret = try_parameter("busy_us", rows[i].value, is);
		/* too large for the type: the kernels do not agree */
		if (ret == -ERANGE)
			ret = -EINVAL;
		EXPECT_EQ(ret, rows[i].expected)
			TH_LOG("row: '%s'", rows[i].value);
		EXPECT_EQ(strcmp(is, rows[i].is), 0);
	}
}

TEST_HARNESS_MAIN
