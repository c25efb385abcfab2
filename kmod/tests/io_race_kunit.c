// SPDX-License-Identifier: GPL-2.0
/*
 * I/O ops in a race: event and attempt, cancel, deadline, and a wait queue that
 * dies, at the same time.  One completion, whichever comes first.
 */
#include <linux/delay.h>
#include <linux/fdtable.h>
#include <linux/ktime.h>

#include "../file.h"
#include "../io.h"
#include "../timeout.h"
#include "fake_file.h"
#include "fixture.h"

#define ROUNDS	150

enum role {
	RUNS,
	CANCELS,
	FREES,
};

/* What all threads of a round share. */
struct round {
	struct kunit *test;
	struct roost_worker *home;
	struct roost_worker *other;
	struct fake_file *fake;
	u32 sequence;
};

struct runner {
	struct round *round;
	enum role role;
	u32 delay;
};

static int start(struct round *r, u64 deadline)
{
	struct roost_sqe sqe = {
		.opcode		= ROOST_OP_READ,
		.fd		= fake_file_fd(r->fake),
		.op_id		= roost_op_id(3, r->sequence),
		.deadline	= deadline,
		.offset		= ROOST_OFFSET_NONE,
		.len		= 16,
	};
	bool posted = false;
	int ret;

	fixture_use_mm();
	ret = roost_io_start(r->home, &sqe, &posted);
	fixture_unuse_mm();
	close_fd(sqe.fd);
	return ret;
}

static int run_role(void *arg)
{
	struct runner *runner = arg;
	struct round *r = runner->round;
	struct roost_sqe sqe = {
		.opcode	= ROOST_OP_CANCEL,
		.op_id	= roost_op_id(3, r->sequence),
	};
	u32 i;

	for (i = 0; i < runner->delay; i++)
		cpu_relax();
	switch (runner->role) {
	case RUNS:
		fake_file_wake(r->fake, 0, EPOLLIN);
		roost_io_run(r->other);
		break;
	case CANCELS:
		roost_io_cancel(r->home, &sqe);
		break;
	case FREES:
		fake_file_pollfree(r->fake);
		break;
	}
	return 0;
}

/* Completions of the round so far, in the rings of both workers. */
static u32 collect(struct round *r, s32 *res)
{
	struct roost_cqe cqe;
	u32 n = 0;

	while (fixture_take(r->home, &cqe) || fixture_take(r->other, &cqe)) {
		KUNIT_EXPECT_EQ(r->test, cqe.user_data,
				roost_op_id(3, r->sequence));
		KUNIT_EXPECT_EQ(r->test, cqe.flags, ROOST_CQE_IO);
		*res = cqe.res;
		n++;
	}
	return n;
}

/* An op that waits for a file, and @n of the roles at once.  Its result. */
static s32 run_round(struct round *r, u32 n, u64 *state)
{
	u64 now = ktime_get_ns(), limit = now + 20 * NSEC_PER_SEC;
	u32 i, done = 0, spread = 20 * NSEC_PER_MSEC;
	struct runner runners[3];
	void *args[3];
	s32 res = 0;

	r->sequence++;
	r->fake = fake_file_make(r->test, 1);
	KUNIT_EXPECT_EQ(r->test, start(r, now + fixture_below(state, spread)),
			0);
	roost_timeout_program(r->home);
	roost_io_run(r->home);
	if (fixture_below(state, 2))
		r->fake->result = 9;
	for (i = 0; i < n; i++) {
		runners[i] = (struct runner){ r, i, fixture_below(state, 800) };
		args[i] = &runners[i];
	}
	fixture_race(r->test, run_role, args, n);
	/* If nothing else, the deadline ends it, or an attempt after that. */
	while (!done && ktime_get_ns() < limit) {
		roost_io_run(r->other);
		done = collect(r, &res);
		if (!done)
			fsleep(100);
	}
	done += collect(r, &res);
	KUNIT_EXPECT_EQ(r->test, done, 1);
	return res;
}

/* The interrupt of an expiry lets the file go only behind the completion. */
static bool is_let_go(struct round *r)
{
	u64 limit = ktime_get_ns() + 20 * NSEC_PER_SEC;

	do {
		roost_file_reap(r->home->domain);
		if (fake_file_refs(r->fake) == 1)
			return true;
		fsleep(100);
	} while (ktime_get_ns() < limit);
	return false;
}

static void one_end_each(struct kunit *test)
{
	struct roost_domain *domain = fixture_domain(test);
	struct round r = {
		.test	= test,
		.home	= fixture_worker(test, 4, 16),
		.other	= fixture_worker(test, 4, 16),
	};
	u32 i, read = 0, cancelled = 0, expired = 0;
	u64 state = fixture_seed(test);
	s32 res;

	for (i = 0; i < ROUNDS && !fixture_failed(test); i++) {
		res = run_round(&r, 1 + i % 3, &state);
		read += res == 9;
		cancelled += res == -ECANCELED;
		expired += res == -ETIMEDOUT;
		KUNIT_EXPECT_EQ(test, domain->nr_ready, 0);
		KUNIT_EXPECT_TRUE(test, is_let_go(&r));
	}
	KUNIT_EXPECT_EQ(test, read + cancelled + expired, i);
	KUNIT_EXPECT_EQ(test, atomic64_read(&r.home->ios_done) +
			atomic64_read(&r.other->ios_done), i);
	kunit_info(test, "%u read, %u cancelled, %u expired", read, cancelled,
		   expired);
}

static struct kunit_case io_race_cases[] = {
	KUNIT_CASE(one_end_each),
	{}
};

FIXTURE_SUITE(io_race, io_race_cases);
