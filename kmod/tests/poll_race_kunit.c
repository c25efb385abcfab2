// SPDX-License-Identifier: GPL-2.0
/*
 * Poll ops in a race: callback, cancel, replacement and POLLFREE at the same
 * time, each in a thread of its own.  However it ends, one completion says so,
 * and the file is let go.
 */
#include <linux/fdtable.h>

#include "../poll.h"
#include "../ring.h"
#include "fake_file.h"
#include "fixture.h"

#define ROUNDS	150

enum role {
	WAKES,
	REMOVES,
	FREES,
	REPLACES,
	REAPS,
};

/* A round, and what its threads have found. */
struct round {
	struct kunit *test;
	struct roost_worker *worker;
	struct fake_file *fake;
	struct fake_file *other;
	u32 index;
	u32 sequence;
	int removed;	/* of POLL_REMOVE, 1 if it was not called */
	u64 target;
	bool final;
	s32 res;
	u32 finals;
};

struct runner {
	struct round *round;
	enum role role;
	u32 delay;
};

static bool add(struct round *r, struct fake_file *fake, u32 sequence, u8 flags,
		s32 *res)
{
	struct roost_sqe sqe = {
		.opcode	= ROOST_OP_POLL_ADD,
		.flags	= flags,
		.fd	= fake_file_fd(fake),
		.op_id	= roost_op_id(r->index, sequence),
		.events	= POLLIN,
	};
	u32 cqe;
	bool final = roost_poll_add(r->worker, &sqe, res, &cqe);

	if (sqe.fd >= 0)
		close_fd(sqe.fd);
	return final;
}

static int run_role(void *arg)
{
	struct runner *runner = arg;
	struct round *r = runner->round;
	struct roost_sqe sqe = {
		.opcode = ROOST_OP_POLL_REMOVE,
		.op_id = roost_op_id(r->index, r->sequence),
	};
	u32 i, flags;

	for (i = 0; i < runner->delay; i++)
		cpu_relax();
	switch (runner->role) {
	case WAKES:
		for (i = 0; i < 4; i++)
			fake_file_wake(r->fake, i & 1, EPOLLIN);
		break;
	case REMOVES:
		r->removed = roost_poll_remove(r->worker, &sqe, &r->target,
					       &flags);
		break;
	case FREES:
		fake_file_pollfree(r->fake);
		break;
	case REPLACES:
		r->final = add(r, r->other, r->sequence + 1, 0, &r->res);
		break;
	case REAPS:
		for (i = 0; i < 4; i++)
			roost_poll_reap(r->worker->domain);
		break;
	}
	return 0;
}

/* Take all completions: final ones of this sequence, and others. */
static u32 count_finals(struct round *r, u32 *others)
{
	u64 id = roost_op_id(r->index, r->sequence);
	struct roost_cqe cqe;
	u32 n = 0;

	*others = 0;
	while (fixture_take(r->worker, &cqe)) {
		if (cqe.user_data == id && !(cqe.flags & ROOST_CQE_MORE)) {
			KUNIT_EXPECT_EQ(r->test, cqe.flags & ROOST_CQE_KIND,
					ROOST_CQE_POLL);
			KUNIT_EXPECT_EQ(r->test, cqe.res &
					~(POLLIN | POLLHUP | POLLERR), 0);
			n++;
		} else if (cqe.user_data != id) {
			++*others;
		}
	}
	return n;
}

/* One op that is armed, and @roles at once. */
static void run_round(struct round *r, const enum role *roles, u32 n, u8 flags,
		      u64 *state)
{
	struct runner runners[4];
	void *args[4];
	u32 i, others;
	s32 res = 0;

	r->fake = fake_file_make(r->test, 1 + fixture_below(state, 2));
	r->removed = 1;
	r->sequence += 2;
	KUNIT_EXPECT_FALSE(r->test, add(r, r->fake, r->sequence, flags, &res));
	for (i = 0; i < n; i++) {
		runners[i] = (struct runner){ r, roles[i],
					    fixture_below(state, 800) };
		args[i] = &runners[i];
	}
	fixture_race(r->test, run_role, args, n);
	roost_poll_reap(r->worker->domain);
	r->finals = count_finals(r, &others);

	/* A REMOVE that has found it reports its end, nobody else. */
	if (!r->removed) {
		KUNIT_EXPECT_EQ(r->test, r->finals, 0);
		KUNIT_EXPECT_EQ(r->test, r->target,
				roost_op_id(r->index, r->sequence));
	}
	/* One that came too late has left the end to a callback. */
	if (r->removed == -ENOENT)
		KUNIT_EXPECT_EQ(r->test, r->finals, 1);
	KUNIT_EXPECT_LE(r->test, r->finals, 1);
	KUNIT_EXPECT_EQ(r->test, others, 0);
}

/* Nothing is armed, and the file is only the test's. */
static void expect_gone(struct round *r)
{
	struct roost_domain *domain = r->worker->domain;

	KUNIT_EXPECT_EQ(r->test, atomic_read(&domain->polls_armed), 0);
	KUNIT_EXPECT_EQ(r->test, fake_file_refs(r->fake), 1);
	KUNIT_EXPECT_EQ(r->test, READ_ONCE(r->worker->nr_overflow), 0);
}

static struct round make_round(struct kunit *test)
{
	return (struct round){
		.test = test,
		.worker = fixture_worker(test, 4, 16),
		.index = 6,
	};
}

static void callback_against_remove(struct kunit *test)
{
	static const enum role roles[] = { WAKES, REMOVES, REAPS };
	struct round r = make_round(test);
	u32 i, removed = 0, late = 0;
	u64 state = fixture_seed(test);

	for (i = 0; i < ROUNDS && !fixture_failed(test); i++) {
		run_round(&r, roles, 3, 0, &state);
		expect_gone(&r);
		removed += !r.removed;
		late += r.removed == -ENOENT;
	}
	kunit_info(test, "%u removed, %u fired", removed, late);
	KUNIT_EXPECT_EQ(test, removed + late, i);
}

/* S2-07 */
static void callback_against_pollfree(struct kunit *test)
{
	static const enum role roles[] = { WAKES, FREES, REMOVES, REAPS };
	struct round r = make_round(test);
	u64 state = fixture_seed(test);
	u32 i;

	for (i = 0; i < ROUNDS && !fixture_failed(test); i++) {
		/* Without a REMOVE every other time: POLLFREE must end it. */
		run_round(&r, roles, i & 1 ? 4 : 2,
			  i & 2 ? ROOST_POLL_MULTISHOT : 0, &state);
		if (r.removed == 1)
			KUNIT_EXPECT_EQ(test, r.finals, 1);
		expect_gone(&r);
	}
}

static void multishot_against_remove(struct kunit *test)
{
	static const enum role roles[] = { WAKES, REMOVES, WAKES };
	struct round r = make_round(test);
	u64 state = fixture_seed(test);
	u32 i;

	for (i = 0; i < ROUNDS && !fixture_failed(test); i++) {
		run_round(&r, roles, 3, ROOST_POLL_MULTISHOT, &state);
		/* Wake-ups never end it. */
		KUNIT_EXPECT_EQ(test, r.removed, 0);
		expect_gone(&r);
	}
}

/* The new one stays whatever becomes of the old one, and REMOVE is stale. */
static void callback_against_replacement(struct kunit *test)
{
	static const enum role roles[] = { WAKES, REPLACES, FREES };
	struct round r = make_round(test);
	struct roost_domain *domain = r.worker->domain;
	u64 state = fixture_seed(test), target;
	struct roost_sqe sqe = { .opcode = ROOST_OP_POLL_REMOVE };
	u32 i, flags;

	r.other = fake_file_make(test, 1);
	for (i = 0; i < ROUNDS && !fixture_failed(test); i++) {
		run_round(&r, roles, 3, i & 1 ? ROOST_POLL_MULTISHOT : 0,
			  &state);
		KUNIT_EXPECT_FALSE(test, r.final);
		KUNIT_EXPECT_EQ(test, fake_file_refs(r.fake), 1);
		KUNIT_EXPECT_EQ(test, fake_file_refs(r.other), 2);
		KUNIT_EXPECT_EQ(test, atomic_read(&domain->polls_armed), 1);
		sqe.op_id = roost_op_id(r.index, r.sequence);
		KUNIT_EXPECT_EQ(test, roost_poll_remove(r.worker, &sqe, &target,
							&flags), -ESTALE);
		sqe.op_id = roost_op_id(r.index, r.sequence + 1);
		KUNIT_EXPECT_EQ(test, roost_poll_remove(r.worker, &sqe, &target,
							&flags), 0);
		KUNIT_EXPECT_EQ(test, target, sqe.op_id);
		expect_gone(&r);
	}
}

static struct kunit_case poll_race_cases[] = {
	KUNIT_CASE(callback_against_remove),
	KUNIT_CASE(callback_against_pollfree),
	KUNIT_CASE(multishot_against_remove),
	KUNIT_CASE(callback_against_replacement),
	{}
};

FIXTURE_SUITE(poll_race, poll_race_cases);
