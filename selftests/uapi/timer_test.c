// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * timer_test.c - timers on the device.
 *
 * Rules T1 to T3, R3; cases C07, C09, C44.
 */
#include "kselftest_harness.h"

#include "roost_test.h"

#define TIMERS	4096

FIXTURE(timer) {
	struct dom d;
	struct wrk w;
	uint64_t limit;
};

FIXTURE_SETUP(timer)
{
	ASSERT_EQ(dom_make(&self->d, TIMERS, 16), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 256, 512), 0);
	ASSERT_EQ(attach(&self->w), 0);
	self->limit = now_ns() + wide(20 * SEC);
}

FIXTURE_TEARDOWN(timer)
{
	close(self->w.fd);
	close(self->d.fd);
}

TEST_F(timer, fires_once_and_not_early)
{
	uint64_t deadline = now_ns() + 20 * MSEC;
	struct roost_cqe cqe;

	ASSERT_EQ(submit_one(&self->w, sqe_timer(7, 1, deadline)), 1);
	EXPECT_EQ(stat_of(&self->d).timers_pending, 1);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_GE(now_ns(), deadline);
	EXPECT_LT(now_ns(), deadline + wide(20 * MSEC));
	EXPECT_EQ(cqe.user_data, roost_op_id(7, 1));
	EXPECT_EQ(cqe.res, 0);
	EXPECT_EQ(cqe.flags, ROOST_CQE_TIMER);
	EXPECT_EQ(stat_of(&self->d).timers_pending, 0);
	EXPECT_EQ(wait_pop(&self->d, &self->w, &cqe, now_ns() + 50 * MSEC),
		  -ETIMEDOUT);
}

TEST_F(timer, cancel)
{
	struct roost_cqe cqe;

	ASSERT_EQ(submit_one(&self->w, sqe_timer(0, 1, now_ns() + 60 * SEC)), 1);
	ASSERT_EQ(submit_one(&self->w, sqe_timer_cancel(0, 2, 0)), 1);
	/* the target's own completion is the only one */
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.user_data, roost_op_id(0, 1));
	EXPECT_EQ(cqe.res, -ECANCELED);
	EXPECT_EQ(cqe.flags & ROOST_CQE_KIND, ROOST_CQE_TIMER);
	EXPECT_FALSE(pop(&self->w, &cqe));
	/* nothing is armed any more */
	ASSERT_EQ(submit_one(&self->w, sqe_timer_cancel(0, 2, 0)), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.user_data, roost_op_id(0, 2));
	EXPECT_EQ(cqe.res, -ENOENT);
	EXPECT_EQ(cqe.flags & ROOST_CQE_KIND, ROOST_CQE_CANCEL);
	/* quietly: neither of both */
	ASSERT_EQ(submit_one(&self->w, sqe_timer(0, 3, now_ns() + 60 * SEC)), 1);
	ASSERT_EQ(submit_one(&self->w,
			     sqe_timer_cancel(0, 3, ROOST_SQE_QUIET)), 1);
	ASSERT_EQ(submit_one(&self->w,
			     sqe_timer_cancel(0, 4, ROOST_SQE_QUIET)), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	EXPECT_EQ(stat_of(&self->d).timers_pending, 0);
	EXPECT_EQ(stat_of(&self->d).timers_cancelled, 2);
}

TEST_F(timer, move)
{
	uint64_t early = now_ns() + 30 * MSEC, later = early + 100 * MSEC;
	struct roost_cqe cqe;

	/* later, earlier, and later again: one completion, the newest */
	ASSERT_EQ(submit_one(&self->w, sqe_timer(1, 1, early)), 1);
	ASSERT_EQ(submit_one(&self->w, sqe_timer(1, 2, later + SEC)), 1);
	ASSERT_EQ(submit_one(&self->w, sqe_timer(1, 3, early)), 1);
	ASSERT_EQ(submit_one(&self->w, sqe_timer(1, 4, later)), 1);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_GE(now_ns(), later);
	EXPECT_EQ(cqe.user_data, roost_op_id(1, 4));
	EXPECT_EQ(wait_pop(&self->d, &self->w, &cqe, now_ns() + 50 * MSEC),
		  -ETIMEDOUT);
	EXPECT_EQ(stat_of(&self->d).timers_moved, 3);
	EXPECT_EQ(stat_of(&self->d).timers_set, 1);
}

/* R3: what is older than the newest seen has no effect. */
TEST_F(timer, stale_sequences)
{
	const struct {
		const char *what;
		uint32_t newest;
		struct roost_sqe sqe;
		int expected;		/* 1: armed or cancelled, no completion */
	} rows[] = {
		{ "set, same", 5, sqe_timer(0, 5, 60 * SEC), -ESTALE },
		{ "set, one less", 5, sqe_timer(0, 4, 60 * SEC), -ESTALE },
		{ "set, far less", 5, sqe_timer(0, 5 - 0x7fffffff, 60 * SEC),
		  -ESTALE },
		{ "cancel, one less", 5, sqe_timer_cancel(0, 4, 0), -ESTALE },
		{ "set, over the wrap", ~0U, sqe_timer(0, 1, 60 * SEC), 1 },
		{ "cancel, same", ~0U, sqe_timer_cancel(0, ~0U, 0),
		  -ECANCELED },
		{ "set, before the wrap", 2, sqe_timer(0, ~0U, 60 * SEC),
		  -ESTALE },
	};
	struct roost_sqe sqe;
	struct roost_cqe cqe;
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dom d;
		struct wrk w;

		ASSERT_EQ(dom_make(&d, 1, 0), 0);
		ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
		/* in steps: each wrapping difference must be positive */
		if (rows[i].newest > 0x7fffffff) {
			ASSERT_EQ(submit_one(&w, sqe_timer(0, 0x60000000,
					     now_ns() + 60 * SEC)), 1);
			ASSERT_EQ(submit_one(&w, sqe_timer(0, 0xc0000000,
					     now_ns() + 60 * SEC)), 1);
		}
		ASSERT_EQ(submit_one(&w, sqe_timer(0, rows[i].newest,
						   now_ns() + 60 * SEC)), 1);
		ASSERT_FALSE(pop(&w, &cqe));
		sqe = rows[i].sqe;
		if (sqe.opcode == ROOST_OP_TIMER_SET)
			sqe.deadline += now_ns();
		ASSERT_EQ(submit_one(&w, sqe), 1);
		if (rows[i].expected == 1) {
			EXPECT_FALSE(pop(&w, &cqe))
				TH_LOG("row: %s", rows[i].what);
		} else {
			ASSERT_TRUE(pop(&w, &cqe))
				TH_LOG("row: %s", rows[i].what);
			EXPECT_EQ(cqe.res, rows[i].expected)
				TH_LOG("row: %s", rows[i].what);
		}
		close(w.fd);
		close(d.fd);
	}
}

/* The same entries by way of two rings: the order of sequences counts. */
TEST_F(timer, two_rings_do_not_reorder)
{
	uint64_t deadline = now_ns() + 40 * MSEC;
	struct roost_cqe cqe;
	struct wrk other;

	ASSERT_EQ(wrk_make(&other, &self->d, 8, 8), 0);
	ASSERT_EQ(submit_one(&other, sqe_timer(9, 3, deadline)), 1);
	/* the older two come late */
	ASSERT_EQ(submit_one(&self->w, sqe_timer(9, 1, now_ns() + 60 * SEC)), 1);
	ASSERT_EQ(submit_one(&self->w, sqe_timer_cancel(9, 2, 0)), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.res, -ESTALE);
	EXPECT_EQ(cqe.user_data, roost_op_id(9, 1));
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.res, -ESTALE);
	EXPECT_EQ(cqe.user_data, roost_op_id(9, 2));
	while (!pop(&other, &cqe)) {
		ASSERT_LT(now_ns(), self->limit);
		sleep_ns(MSEC);
	}
	EXPECT_GE(now_ns(), deadline);
	EXPECT_EQ(cqe.user_data, roost_op_id(9, 3));
	EXPECT_EQ(cqe.res, 0);
	/* moved from one wheel to the other, and cancelled from a third side */
	ASSERT_EQ(submit_one(&other, sqe_timer(9, 4, now_ns() + 50 * SEC)), 1);
	deadline = now_ns() + 20 * MSEC;
	ASSERT_EQ(submit_one(&self->w, sqe_timer(9, 5, deadline)), 1);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.user_data, roost_op_id(9, 5));
	EXPECT_GE(now_ns(), deadline);
	EXPECT_FALSE(pop(&other, &cqe));
}

/* C07: what is past fires, what is far does not, and nobody is disturbed. */
TEST_F(timer, extreme_deadlines)
{
	const uint64_t now = now_ns();
	const struct {
		const char *what;
		uint64_t deadline;
		int expected;	/* 0: fires; 1: stays; -EINVAL */
	} rows[] = {
		{ "0", 0, 0 },
		{ "1", 1, 0 },
		{ "now - 1 s", now - SEC, 0 },
		{ "now", now, 0 },
		{ "relative -1", now - 1, 0 },
		{ "now + 2^31 ms", now + (1ULL << 31) * MSEC, 1 },
		{ "now + 2^32 ms", now + (1ULL << 32) * MSEC, 1 },
		{ "2^62", 1ULL << 62, 1 },
		{ "2^63 - 2", ROOST_MAX_DEADLINE - 1, 1 },
		{ "2^63 - 1", ROOST_MAX_DEADLINE, 1 },
		{ "now + 2^63 - 1", now + ROOST_MAX_DEADLINE, -EINVAL },
		{ "2^63", 1ULL << 63, -EINVAL },
		{ "2^64 - 2", ~0ULL - 1, -EINVAL },
		{ "2^64 - 1", ~0ULL, -EINVAL },
	};
	const unsigned int n = sizeof(rows) / sizeof(rows[0]);
	uint64_t deadline, start;
	struct roost_cqe cqe;
	unsigned int i;
	unsigned int stays = 0, on_time = 0;

	for (i = 0; i < n; i++) {
		start = now_ns();
		ASSERT_EQ(submit_one(&self->w, sqe_timer(i, 1,
							 rows[i].deadline)), 1);
		if (rows[i].expected == 1) {
			stays++;
			continue;
		}
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe,
				   now_ns() + wide(SEC)), 0)
			TH_LOG("row: %s", rows[i].what);
		EXPECT_EQ(cqe.user_data, roost_op_id(i, 1));
		EXPECT_EQ(cqe.res, rows[i].expected)
			TH_LOG("row: %s", rows[i].what);
		EXPECT_LE(now_ns() - start, wide(5 * MSEC))
			TH_LOG("row: %s", rows[i].what);
	}
	EXPECT_EQ(stat_of(&self->d).timers_pending, stays);
	/* ordinary ones next to them are on time, but for when the machine stands still */
	for (i = 0; i < 100; i++) {
		deadline = now_ns() + 10 * MSEC;
		ASSERT_EQ(submit_one(&self->w, sqe_timer(100, 1 + i, deadline)),
			  1);
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		EXPECT_EQ(cqe.user_data, roost_op_id(100, 1 + i));
		EXPECT_GE(now_ns(), deadline);
		on_time += now_ns() < deadline + wide(20 * MSEC);
	}
	EXPECT_GT(on_time, 50);
	EXPECT_EQ(wait_pop(&self->d, &self->w, &cqe, now_ns() + 2 * SEC),
		  -ETIMEDOUT);
	for (i = 0; i < n; i++) {
		ASSERT_EQ(submit_one(&self->w, sqe_timer_cancel(i, 1, 0)), 1);
		ASSERT_TRUE(pop(&self->w, &cqe));
		EXPECT_EQ(cqe.res, rows[i].expected == 1 ? -ECANCELED : -ENOENT)
			TH_LOG("row: %s", rows[i].what);
	}
	EXPECT_EQ(stat_of(&self->d).timers_pending, 0);
}

/* Moving between extremes: each old place must really be left. */
TEST_F(timer, move_between_extremes)
{
	static const uint64_t places[] = { 1ULL << 62, 60 * SEC, 3600 * SEC,
					   1ULL << 52, 10 * SEC,
					   ROOST_MAX_DEADLINE };
	uint64_t base = now_ns();
	uint32_t sequence = 1;
	struct roost_cqe cqe;
	unsigned int i, k;

	for (i = 0; i < 6; i++)
		for (k = 0; k < 6; k++) {
			ASSERT_EQ(submit_one(&self->w, sqe_timer(0, sequence++,
				places[i] == ROOST_MAX_DEADLINE ? places[i] :
				base + places[i])), 1);
			ASSERT_EQ(submit_one(&self->w, sqe_timer(0, sequence++,
				places[k] == ROOST_MAX_DEADLINE ? places[k] :
				base + places[k])), 1);
		}
	EXPECT_EQ(stat_of(&self->d).timers_pending, 1);
	base = now_ns() + 20 * MSEC;
	ASSERT_EQ(submit_one(&self->w, sqe_timer(0, sequence, base)), 1);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.user_data, roost_op_id(0, sequence));
	EXPECT_GE(now_ns(), base);
}

/* C09 */
TEST_F_TIMEOUT(timer, arm_and_cancel_leave_nothing, 600)
{
	const unsigned long rounds = rounds_of("ROOST_ARM_ROUNDS", 1000000);
	struct roost_sqe set, cancel;
	struct roost_domain_stat s;
	struct roost_cqe cqe;
	unsigned long i;

	for (i = 0; i < rounds; i++) {
		set = sqe_timer(i % TIMERS, 2 * (i / TIMERS) + 1,
				now_ns() + 3600 * SEC);
		cancel = sqe_timer_cancel(i % TIMERS, 2 * (i / TIMERS) + 2,
					  ROOST_SQE_QUIET);
		push(&self->w, &set);
		push(&self->w, &cancel);
		if (staged(&self->w) >= 256) {
			while (staged(&self->w))
				ASSERT_GT(submit(&self->w), 0);
		}
	}
	while (staged(&self->w))
		ASSERT_GT(submit(&self->w), 0);
	s = stat_of(&self->d);
	EXPECT_EQ(s.timers_pending, 0);
	EXPECT_EQ(s.timers_set, rounds);
	EXPECT_EQ(s.timers_cancelled, rounds);
	EXPECT_FALSE(pop(&self->w, &cqe));
}

/* C44, S3-33: "cancelled" if and only if the event never comes. */
TEST_F_TIMEOUT(timer, truth_of_cancel, 600)
{
	const unsigned long rounds = rounds_of("ROOST_CANCEL_ROUNDS", 5000);
	unsigned long i, cancelled = 0, fired = 0;
	uint64_t seed = 0x9e3779b97f4a7c15ULL, deadline, at;
	uint32_t sequence = 1;
	struct roost_cqe cqe;

	for (i = 0; i < rounds; i++, sequence += 2) {
		deadline = now_ns() + 1 * MSEC;
		ASSERT_EQ(submit_one(&self->w, sqe_timer(0, sequence, deadline)),
			  1);
		at = deadline + random_next(&seed) % 160000 - 20000;
		while (now_ns() < at)
			;
		ASSERT_EQ(submit_one(&self->w, sqe_timer_cancel(0, sequence, 0)),
			  1);
		ASSERT_TRUE(pop(&self->w, &cqe));
		ASSERT_EQ(cqe.user_data, roost_op_id(0, sequence));
		if (cqe.res == -ECANCELED) {
			cancelled++;
		} else {
			/* it fired: then the cancel has its own say */
			ASSERT_EQ(cqe.res, 0);
			ASSERT_EQ(cqe.flags & ROOST_CQE_KIND, ROOST_CQE_TIMER);
			ASSERT_TRUE(pop(&self->w, &cqe));
			ASSERT_EQ(cqe.res, -ENOENT);
			ASSERT_EQ(cqe.flags & ROOST_CQE_KIND, ROOST_CQE_CANCEL);
			fired++;
		}
		if (i % 2) {
			/* re-armed at once: fires once, for the new deadline */
			sequence++;
			deadline = now_ns() + 300000;
			ASSERT_EQ(submit_one(&self->w, sqe_timer(0, sequence,
								 deadline)), 1);
			ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe,
					   now_ns() + wide(SEC)), 0);
			ASSERT_GE(now_ns(), deadline);
			ASSERT_EQ(cqe.user_data, roost_op_id(0, sequence));
			ASSERT_EQ(cqe.res, 0);
		}
		ASSERT_FALSE(pop(&self->w, &cqe));
	}
	TH_LOG("%lu cancelled, %lu fired", cancelled, fired);
	EXPECT_GT(cancelled, 0);
	EXPECT_GT(fired, 0);
	EXPECT_EQ(stat_of(&self->d).timers_pending, 0);
}

/* Each expiry in its own time has an interrupt of its own; all are counted. */
TEST_F(timer, hrtimer_fires_add_up)
{
	const unsigned int rounds = 50;
	struct roost_domain_stat s;
	struct roost_cqe cqe;
	struct wrk other;
	unsigned int i;

	ASSERT_EQ(wrk_make(&other, &self->d, 8, 128), 0);
	EXPECT_EQ(stat_of(&self->d).hrtimer_fires, 0);
	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(submit_one(&self->w, sqe_timer(0, i + 1,
					now_ns() + MSEC / 2)), 1);
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		/* on another worker's hrtimer */
		ASSERT_EQ(submit_one(&other, sqe_timer(1, i + 1,
					now_ns() + MSEC / 2)), 1);
		while (!pop(&other, &cqe)) {
			ASSERT_LT(now_ns(), self->limit);
			sleep_ns(MSEC / 5);
		}
	}
	s = stat_of(&self->d);
	EXPECT_GE(s.hrtimer_fires, 2 * rounds);
	EXPECT_LE(s.hrtimer_fires, s.hrtimer_starts);
	EXPECT_EQ(s.timers_fired, 2 * rounds);
}

/*
 * S1-12: E2: the hrtimer runs for the timer, and covers the park.  It may be
 * started once each time that it has gone off, and not for the park.
 */
TEST_F(timer, a_covered_park_starts_no_hrtimer)
{
	struct roost_domain_stat before, after;
	uint64_t first = now_ns() + 300 * MSEC;
	struct roost_cqe cqe;
	uint32_t outcome;

	ASSERT_EQ(submit_one(&self->w, sqe_timer(0, 1, first)), 1);
	before = stat_of(&self->d);
	EXPECT_EQ(before.hrtimer_starts, 1);
	ASSERT_EQ(park(&self->d, &self->w, first + 300 * MSEC, &outcome), 0);
	EXPECT_EQ(outcome, ROOST_OUT_SLEPT | ROOST_OUT_EVENT);
	ASSERT_TRUE(pop(&self->w, &cqe));
	after = stat_of(&self->d);
	EXPECT_GE(after.hrtimer_fires, 1);
	EXPECT_LE(after.hrtimer_starts - before.hrtimer_starts,
		  after.hrtimer_fires - before.hrtimer_fires);
}

#define SLACK_TIMERS	200

FIXTURE(slack) {
	struct dom d;
	struct wrk w;
	uint64_t limit;
};

FIXTURE_VARIANT(slack) {
	uint64_t slack_ns;
};

FIXTURE_VARIANT_ADD(slack, none) { .slack_ns = 0 };
FIXTURE_VARIANT_ADD(slack, less_than_a_tick) { .slack_ns = 20000 };
FIXTURE_VARIANT_ADD(slack, some) { .slack_ns = 5 * MSEC };
FIXTURE_VARIANT_ADD(slack, most) { .slack_ns = ROOST_MAX_SLACK_NS };

FIXTURE_SETUP(slack)
{
	const struct roost_domain_params params = {
		.nr_timers = SLACK_TIMERS,
		.slack_ns = variant->slack_ns,
	};

	ASSERT_EQ(dom_make_params(&self->d, &params), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 256, 512), 0);
	ASSERT_EQ(attach(&self->w), 0);
	self->limit = now_ns() + wide(20 * SEC);
}

FIXTURE_TEARDOWN(slack)
{
	close(self->w.fd);
	close(self->d.fd);
}

/* Deadlines 1 ms apart, all of them handed over before the first. */
static void set_apart(struct wrk *w, uint64_t *deadline)
{
	uint64_t base = now_ns() + 50 * MSEC;
	struct roost_sqe sqe;
	unsigned int i;

	for (i = 0; i < SLACK_TIMERS; i++) {
		deadline[i] = base + i * MSEC;
		sqe = sqe_timer(i, 1, deadline[i]);
		push(w, &sqe);
	}
	check(submit(w) == SLACK_TIMERS);
}

TEST_F(slack, never_early_and_not_later_than_that)
{
	const uint64_t most = variant->slack_ns + 65536 + wide(20 * MSEC);
	uint64_t deadline[SLACK_TIMERS], now, late = 0;
	struct roost_cqe cqe;
	unsigned int i, k;

	set_apart(&self->w, deadline);
	for (i = 0; i < SLACK_TIMERS; i++) {
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		now = now_ns();
		k = roost_op_index(cqe.user_data);
		ASSERT_LT(k, SLACK_TIMERS);
		ASSERT_EQ(cqe.res, 0);
		ASSERT_GE(now, deadline[k]);
		if (now - deadline[k] > late)
			late = now - deadline[k];
	}
	TH_LOG("slack %llu us, late by at most %llu us",
	       (unsigned long long)variant->slack_ns / 1000,
	       (unsigned long long)late / 1000);
	EXPECT_LE(late, most);
}

/* The deadline of a park is no different. */
TEST_F(slack, of_a_park)
{
	const uint64_t most = variant->slack_ns + 65536 + wide(20 * MSEC);
	uint64_t deadline;
	uint32_t outcome;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		deadline = now_ns() + MSEC;
		ASSERT_EQ(park(&self->d, &self->w, deadline, &outcome), 0);
		EXPECT_TRUE(outcome & ROOST_OUT_TIMEOUT);
		EXPECT_GE(now_ns(), deadline);
		EXPECT_LE(now_ns(), deadline + most);
	}
}

/* What is set earlier than what is programmed, by more than the slack. */
TEST_F(slack, earlier_ones_are_not_kept_waiting)
{
	struct roost_cqe cqe;

	ASSERT_EQ(submit_one(&self->w, sqe_timer(0, 1, now_ns() + 7200 * SEC)),
		  1);
	ASSERT_EQ(submit_one(&self->w, sqe_timer(1, 1, now_ns() + 30 * MSEC)),
		  1);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.user_data, roost_op_id(1, 1));
	EXPECT_EQ(stat_of(&self->d).timers_pending, 1);
}

static uint64_t fires_for_all(uint64_t slack_ns)
{
	const struct roost_domain_params params = {
		.nr_timers = SLACK_TIMERS,
		.slack_ns = slack_ns,
	};
	uint64_t deadline[SLACK_TIMERS], limit = now_ns() + wide(20 * SEC);
	struct roost_domain_stat s;
	struct roost_cqe cqe;
	struct dom d;
	struct wrk w;
	unsigned int i;

	check(dom_make_params(&d, &params) == 0);
	check(wrk_make(&w, &d, 256, 512) == 0);
	check(attach(&w) == 0);
	set_apart(&w, deadline);
	for (i = 0; i < SLACK_TIMERS; i++)
		check(wait_pop(&d, &w, &cqe, limit) == 0);
	s = stat_of(&d);
	check(s.timers_fired == SLACK_TIMERS);
	check(s.hrtimer_fires <= s.hrtimer_starts);
	close(w.fd);
	close(d.fd);
	return s.hrtimer_fires;
}

/* Shown by the counters: time proves nothing on a loaded machine. */
TEST(slack_saves_interrupts)
{
	uint64_t without = fires_for_all(0);
	uint64_t with = fires_for_all(400 * MSEC);

	TH_LOG("%llu interrupts for %u timers, with slack %llu",
	       (unsigned long long)without, SLACK_TIMERS,
	       (unsigned long long)with);
	EXPECT_LT(with, without);
	EXPECT_LE(with, SLACK_TIMERS / 2);
}

/* One random timer: what is to become of it, and what has. */
struct random_timer {
	uint64_t deadline;
	uint32_t sequence;
	uint8_t fate;		/* 0: fires; 1: cancelled; 2: moved */
	uint8_t fired;		/* bit n: sequence n has */
};

FIXTURE(crowd) {
	struct dom d;
	struct wrk w;
	struct random_timer *t;
	unsigned long n;
};

FIXTURE_SETUP(crowd)
{
	struct roost_info info = { 0 };
	int dev = dev_open();

	ASSERT_EQ(call(dev, ROOST_IOC_INFO, &info), 0);
	self->n = rounds_of("ROOST_TIMERS", 200000);
	ASSERT_LE(self->n, info.max_timers);
	ASSERT_EQ(dom_make(&self->d, self->n, 0), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 256, 65536), 0);
	ASSERT_EQ(attach(&self->w), 0);
	self->t = calloc(self->n, sizeof(*self->t));
	ASSERT_NE(self->t, NULL);
}

FIXTURE_TEARDOWN(crowd)
{
	free(self->t);
	close(self->w.fd);
	close(self->d.fd);
}

struct tally {
	unsigned long early, twice, wrong, fired, lateness;
};

static void take_all(struct wrk *w, struct random_timer *all, unsigned long n,
		     struct tally *y)
{
	struct random_timer *t;
	struct roost_cqe cqe;
	uint32_t sequence;
	uint64_t now;

	while (pop(w, &cqe)) {
		now = now_ns();
		check(roost_op_index(cqe.user_data) < n);
		t = &all[roost_op_index(cqe.user_data)];
		sequence = roost_op_sequence(cqe.user_data);
		if (cqe.res || (cqe.flags & ROOST_CQE_KIND) != ROOST_CQE_TIMER ||
		    sequence > t->sequence) {
			y->wrong++;
			continue;
		}
		y->early += now < t->deadline && sequence == t->sequence;
		y->twice += t->fired >> sequence & 1;
		t->fired |= 1U << sequence;
		if (now > t->deadline && now - t->deadline > y->lateness)
			y->lateness = now - t->deadline;
		y->fired++;
	}
}

static void hand_over(struct wrk *w, const struct roost_sqe *sqe,
		      struct random_timer *all, unsigned long n,
		      struct tally *y)
{
	push(w, sqe);
	while (staged(w) >= w->params.sq_entries) {
		check(submit(w) >= 0);
		take_all(w, all, n, y);
	}
}

/*
 * Deadlines from 0 to 300 ms; 30 % are cancelled and 20 % moved while all of
 * them run.  A cancel or a move that comes too late meets a timer that has
 * fired: that is seen by the counters and is fair only if it was due.
 */
TEST_F_TIMEOUT(crowd, random_deadlines, 900)
{
	struct random_timer *all = self->t, *t;
	uint64_t seed = env_number("ROOST_SEED", 1) * 0x9e3779b97f4a7c15ULL;
	struct tally y = { 0 };
	struct roost_domain_stat s;
	struct roost_sqe sqe;
	unsigned long i, cancels = 0, moves = 0, late_cancels = 0, late_moves = 0;
	uint64_t limit;

	TH_LOG("seed %lu", env_number("ROOST_SEED", 1));
	for (i = 0; i < self->n; i++) {
		t = &all[i];
		t->fate = "\1\1\1\2\2\0\0\0\0\0"[random_next(&seed) % 10];
		t->sequence = 1;
		t->deadline = now_ns() + random_next(&seed) % (300 * MSEC);
		sqe = sqe_timer(i, 1, t->deadline);
		hand_over(&self->w, &sqe, all, self->n, &y);
		/* each time somebody a little older may change his mind */
		if (i < 100)
			continue;
		t = &all[i - random_next(&seed) % 100];
		if (t->fate && t->sequence == 1 && !t->fired) {
			t->sequence = 2;
			if (t->fate == 1) {
				sqe = sqe_timer_cancel(t - all, 2,
						       ROOST_SQE_QUIET);
			} else {
				t->deadline = now_ns() +
					random_next(&seed) % (300 * MSEC);
				sqe = sqe_timer(t - all, 2, t->deadline);
			}
			hand_over(&self->w, &sqe, all, self->n, &y);
		}
	}
	while (staged(&self->w)) {
		ASSERT_GE(submit(&self->w), 0);
		take_all(&self->w, all, self->n, &y);
	}
	/* the rest of those who are to be changed, while others fire */
	for (i = 0; i < self->n; i++) {
		t = &all[i];
		if (!t->fate || t->sequence != 1)
			continue;
		t->sequence = 2;
		if (t->fate == 1) {
			sqe = sqe_timer_cancel(i, 2, ROOST_SQE_QUIET);
		} else {
			t->deadline = now_ns() + random_next(&seed) % (300 * MSEC);
			sqe = sqe_timer(i, 2, t->deadline);
		}
		hand_over(&self->w, &sqe, all, self->n, &y);
	}
	limit = now_ns() + wide(5 * SEC);
	do {
		struct roost_enter e = { .to_submit = staged(&self->w) };

		ASSERT_EQ(enter(&self->w, &e), 0);
		take_all(&self->w, all, self->n, &y);
		s = stat_of(&self->d);
		sleep_ns(MSEC);
	} while ((s.timers_pending || s.overflow_pending) && now_ns() < limit);
	take_all(&self->w, all, self->n, &y);

	for (i = 0; i < self->n; i++) {
		t = &all[i];
		cancels += t->fate == 1;
		moves += t->fate == 2;
		/* the change came after it had fired */
		late_cancels += t->fate == 1 && t->fired;
		late_moves += t->fate == 2 && t->fired == 6;
		if (t->fate == 1) {
			EXPECT_FALSE(t->fired & 4);
		} else {
			EXPECT_TRUE(t->fired >> t->sequence & 1)
				TH_LOG("timer %lu was lost", i);
		}
	}
	s = stat_of(&self->d);
	TH_LOG("%lu fired, %llu of %lu cancelled, %llu of %lu moved, at most %lu us late",
	       y.fired, (unsigned long long)s.timers_cancelled, cancels,
	       (unsigned long long)s.timers_moved, moves, y.lateness / 1000);
	EXPECT_EQ(s.timers_pending, 0);
	EXPECT_EQ(y.early, 0);
	EXPECT_EQ(y.wrong, 0);
	EXPECT_EQ(y.twice, 0);
	EXPECT_EQ(s.timers_fired, y.fired);
	EXPECT_EQ(s.timers_set, s.timers_fired + s.timers_cancelled);
	/* each has either been changed in time or fired before: never both */
	EXPECT_EQ(s.timers_cancelled + late_cancels, cancels);
	EXPECT_EQ(s.timers_moved + late_moves, moves);
}

/*
 * Cancelled ones never fire: everything is armed far out, so that each cancel
 * comes in time, while the others expire around them.
 */
TEST_F_TIMEOUT(crowd, cancelled_never_fire, 900)
{
	uint64_t start = now_ns(), limit;
	struct random_timer *all = self->t;
	struct tally y = { 0 };
	struct roost_sqe sqe;
	unsigned long i, cancelled = 0;

	/* time enough to arm and cancel them all */
	start += wide(SEC);
	for (i = 0; i < self->n; i++) {
		all[i].sequence = 1;
		all[i].deadline = start + i % 300 * MSEC;
		sqe = sqe_timer(i, 1, all[i].deadline);
		hand_over(&self->w, &sqe, all, self->n, &y);
	}
	for (i = 0; i < self->n; i += 3) {
		all[i].sequence = 2;
		sqe = sqe_timer_cancel(i, 2, ROOST_SQE_QUIET);
		hand_over(&self->w, &sqe, all, self->n, &y);
		cancelled++;
	}
	while (staged(&self->w))
		ASSERT_GE(submit(&self->w), 0);
	ASSERT_LT(now_ns(), start)
		TH_LOG("too slow a machine: raise ROOST_TIME_FACTOR");
	EXPECT_EQ(stat_of(&self->d).timers_pending, self->n - cancelled);
	limit = start + 300 * MSEC + wide(5 * SEC);
	while (y.fired < self->n - cancelled && now_ns() < limit) {
		struct roost_enter e = { 0 };

		take_all(&self->w, all, self->n, &y);
		ASSERT_EQ(enter(&self->w, &e), 0);
		sleep_ns(MSEC);
	}
	sleep_ns(50 * MSEC);
	take_all(&self->w, all, self->n, &y);
	EXPECT_EQ(y.fired, self->n - cancelled);
	EXPECT_EQ(y.early, 0);
	EXPECT_EQ(y.twice, 0);
	EXPECT_EQ(y.wrong, 0);
	for (i = 0; i < self->n; i++)
		ASSERT_EQ(all[i].fired, i % 3 ? 2 : 0);
}

/*
 * T5: when more is due than one interrupt handles, the next comes after a
 * pause, also if entries are made all the time meanwhile.
 */
TEST(crowd_comes_with_pauses)
{
	const unsigned int crowd = 2048;
	struct roost_domain_stat before, after;
	unsigned int i, starts, fires;
	uint64_t due, end;
	struct dom d;
	struct wrk w;

	ASSERT_EQ(dom_make(&d, crowd + 1, 0), 0);
	ASSERT_EQ(wrk_make(&w, &d, 256, 4096), 0);
	ASSERT_EQ(attach(&w), 0);
	due = now_ns() + wide(300 * MSEC);
	for (i = 0; i < crowd; i++)
		ASSERT_EQ(submit_one(&w, sqe_timer(i, 1, due)), 1);
	while (now_ns() + MSEC < due)
		sleep_ns(MSEC / 2);
	before = stat_of(&d);
	due = now_ns();
	for (i = 1; stat_of(&d).timers_fired < crowd; i++)
		ASSERT_EQ(submit_one(&w, sqe_timer(crowd, i, due + 3600 * SEC +
						   crowd - i)), 1);
	after = stat_of(&d);
	end = now_ns();
	fires = after.hrtimer_fires - before.hrtimer_fires;
	starts = after.hrtimer_starts - before.hrtimer_starts;
	/* each interrupt but the first has waited for 50 us at least */
	EXPECT_LE(fires, 2 + (end - due) / 50000);
	/* and no entry has made the hrtimer hurry */
	EXPECT_LE(starts, fires + 2);
	close(w.fd);
	close(d.fd);
}

TEST_HARNESS_MAIN
