// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* busy_test.c - who parks looks for the end first, for as long as busy_us says. */
#include "kselftest_harness.h"

#include <sched.h>

#include "carrier_help.h"

#define ROUNDS	500
#define ALONE	"one CPU: nobody looks, for nobody could end it"

FIXTURE(busy) {
	struct dom d;
	struct wrk w[2];
	unsigned int cpus[2];
	unsigned int busy_us;
	bool alone;
};

/* The first two CPUs that this process may run on. */
static bool two_cpus(unsigned int cpus[2])
{
	unsigned int cpu, n = 0;
	cpu_set_t all;

	check(sched_getaffinity(0, sizeof(all), &all) == 0);
	for (cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++) {
		if (CPU_ISSET(cpu, &all))
			cpus[n++] = cpu;
	}
	return n == 2;
}

FIXTURE_SETUP(busy)
{
	self->alone = !two_cpus(self->cpus);
	self->busy_us = get_parameter("busy_us");
	ASSERT_EQ(dom_make(&self->d, 4, 4), 0);
	ASSERT_EQ(wrk_make(&self->w[0], &self->d, 8, 8), 0);
	ASSERT_EQ(wrk_make(&self->w[1], &self->d, 8, 8), 0);
}

FIXTURE_TEARDOWN(busy)
{
	set_parameter("busy_us", self->busy_us);
	close(self->w[0].fd);
	close(self->w[1].fd);
	close(self->d.fd);
}

struct half {
	struct dom *d;
	struct wrk *w;
	pthread_barrier_t *together;
	unsigned int number;
	unsigned int cpu;
	pthread_t thread;
};

static void sit_on(unsigned int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	check(sched_setaffinity(0, sizeof(one), &one) == 0);
}

/*
 * The first waits for the second's wake and wakes it in turn, and so on: each wake
 * comes to a park, or before it, and ends it.
 */
static void *half_main(void *arg)
{
	const struct half *h = arg;
	uint32_t outcome;
	unsigned int i;

	sit_on(h->cpu);
	check(attach(h->w) == 0);
	pthread_barrier_wait(h->together);
	for (i = 0; i < ROUNDS; i++) {
		if (h->number)
			check(wake(h->d, ROOST_WAKE_INDEX, 0) == 1);
		check(park(h->d, h->w, ROOST_NO_DEADLINE, &outcome) == 0);
		check(outcome & ROOST_OUT_WAKE);
		if (!h->number)
			check(wake(h->d, ROOST_WAKE_INDEX, 1) == 1);
	}
	pthread_barrier_wait(h->together);
	check(detach(h->w) == 0);
	return NULL;
}

static void play(FIXTURE_DATA(busy) *self)
{
	pthread_barrier_t together;
	struct half h[2];
	unsigned int i;

	check(pthread_barrier_init(&together, NULL, 2) == 0);
	for (i = 0; i < 2; i++) {
		h[i] = (struct half){ .d = &self->d, .w = &self->w[i],
				      .together = &together, .number = i,
				      .cpu = self->cpus[i] };
		check(pthread_create(&h[i].thread, NULL, half_main, &h[i]) == 0);
	}
	for (i = 0; i < 2; i++)
		check(pthread_join(h[i].thread, NULL) == 0);
	pthread_barrier_destroy(&together);
}

/* No wake is lost, whether it meets a look, a sleep or neither. */
TEST_F_TIMEOUT(busy, soon_woken_has_not_slept, 300)
{
	struct roost_domain_stat s;
	unsigned int games = 0;

	if (self->alone)
		SKIP(return, ALONE);
	set_parameter("busy_us", 1000);
	do {
		play(self);
		s = stat_of(&self->d);
	} while (!s.parks_busy && ++games < 100);
	EXPECT_GT(s.parks_busy, 0);
	EXPECT_LE(s.parks_busy, s.parks);
	TH_LOG("%llu of %llu parks", (unsigned long long)s.parks_busy,
	       (unsigned long long)s.parks);
}

TEST_F_TIMEOUT(busy, off, 300)
{
	if (self->alone)
		SKIP(return, ALONE);
	set_parameter("busy_us", 0);
	play(self);
	EXPECT_GT(stat_of(&self->d).parks, 0);
	EXPECT_EQ(stat_of(&self->d).parks_busy, 0);
}

/* The look is not the park's end, and the deadline, set after it, still is. */
TEST_F_TIMEOUT(busy, deadlines_hold, 300)
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
	EXPECT_EQ(stat_of(&self->d).parks_busy, 0);
}

struct sender {
	pthread_t to;
	_Atomic bool enough;
};

static void *send_signals(void *arg)
{
	struct sender *s = arg;

	while (!s->enough) {
		sleep_ns(MSEC / 4);
		check(pthread_kill(s->to, SIGUSR1) == 0);
	}
	return NULL;
}

static void nothing(int signal_number)
{
}

/* Soon enough after one another that the parks are looked through. */
TEST_F_TIMEOUT(busy, signals_end_it, 300)
{
	struct sigaction action = { .sa_handler = nothing };
	struct sender sender = { .to = pthread_self() };
	uint32_t outcome;
	pthread_t thread;
	unsigned int i;

	set_parameter("busy_us", 1000);
	ASSERT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	ASSERT_EQ(attach(&self->w[0]), 0);
	ASSERT_EQ(pthread_create(&thread, NULL, send_signals, &sender), 0);
	for (i = 0; i < 50; i++) {
		EXPECT_EQ(park(&self->d, &self->w[0], ROOST_NO_DEADLINE,
			       &outcome), -EINTR);
		EXPECT_TRUE(outcome & ROOST_OUT_SIGNAL);
		EXPECT_FALSE(idle_bit(&self->d, &self->w[0]));
	}
	sender.enough = true;
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	/* a signal is not what is looked for */
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
