// SPDX-License-Identifier: GPL-2.0
/*
 * Timer ops: sequences, moves from one worker's wheel to another's, also by
 * several threads at once, and that they fire when they should.
 */
#include <linux/delay.h>
#include <linux/ktime.h>

#include "../timeout.c"

#include "fixture.h"

#define FAR	BIT_ULL(62)

static int set(struct roost_worker *worker, u32 index, u32 sequence,
	       u64 deadline)
{
	struct roost_sqe sqe = {
		.opcode		= ROOST_OP_TIMER_SET,
		.op_id		= roost_op_id(index, sequence),
		.deadline	= deadline,
	};

	return roost_timer_set(worker, &sqe);
}

static int cancel(struct roost_worker *worker, u32 index, u32 sequence,
		  u64 *target)
{
	struct roost_sqe sqe = {
		.opcode	= ROOST_OP_TIMER_CANCEL,
		.op_id	= roost_op_id(index, sequence),
	};

	return roost_timer_cancel(worker, &sqe, target);
}

static struct roost_timer_op *op_of(struct kunit *test, u32 index)
{
	struct roost_timer_op *op;

	op = roost_table_get(&fixture_domain(test)->timers, index);
	KUNIT_ASSERT_FALSE(test, IS_ERR(op));
	return op;
}

static void expect_none(struct kunit *test, struct roost_worker *worker)
{
	struct roost_cqe cqe;

	KUNIT_EXPECT_FALSE(test, fixture_take(worker, &cqe));
}

/* A wheel is in order, and holds as many as are counted. */
static void expect_armed(struct kunit *test, struct roost_worker *worker, u32 n)
{
	bool good;
	u32 count;

	raw_spin_lock_irq(&worker->wheel_lock);
	good = roost_wheel_check(&worker->wheel);
	count = roost_wheel_count(&worker->wheel);
	raw_spin_unlock_irq(&worker->wheel_lock);
	KUNIT_EXPECT_TRUE(test, good);
	KUNIT_EXPECT_EQ(test, count, n);
	KUNIT_EXPECT_EQ(test, worker->timers_pending, n);
}

/* Later: it stays where it is.  Earlier: it goes to who asks. */
static void moves(struct kunit *test)
{
	struct roost_worker *a = fixture_worker(test, 4, 8);
	struct roost_worker *b = fixture_worker(test, 4, 8);
	struct roost_timer_op *op = op_of(test, 0);
	u64 target = 0;

	KUNIT_EXPECT_EQ(test, set(b, 0, 1, FAR), 0);
	KUNIT_EXPECT_PTR_EQ(test, op->home, b);
	KUNIT_EXPECT_EQ(test, set(a, 0, 2, FAR + 5), 0);
	KUNIT_EXPECT_PTR_EQ(test, op->home, b);
	KUNIT_EXPECT_EQ(test, op->entry.expires, FAR + 5);
	expect_armed(test, a, 0);
	expect_armed(test, b, 1);
	KUNIT_EXPECT_EQ(test, set(a, 0, 3, FAR - 5), 0);
	KUNIT_EXPECT_PTR_EQ(test, op->home, a);
	KUNIT_EXPECT_EQ(test, op->entry.expires, FAR - 5);
	expect_armed(test, a, 1);
	expect_armed(test, b, 0);
	/* The same deadline is not an earlier one. */
	KUNIT_EXPECT_EQ(test, set(b, 0, 4, FAR - 5), 0);
	KUNIT_EXPECT_PTR_EQ(test, op->home, a);
	KUNIT_EXPECT_EQ(test, cancel(b, 0, 4, &target), 0);
	KUNIT_EXPECT_EQ(test, target, roost_op_id(0, 4));
	expect_armed(test, a, 0);
	expect_armed(test, b, 0);
	/* Disarmed: set anew it goes to who sets it. */
	KUNIT_EXPECT_EQ(test, set(b, 0, 5, FAR * 2 - 1), 0);
	KUNIT_EXPECT_PTR_EQ(test, op->home, b);
	expect_armed(test, b, 1);
	expect_none(test, a);
	expect_none(test, b);
}

static void sequences(struct kunit *test)
{
	static const u32 starts[] = { 1, 5, S32_MAX, 0x80000000U, U32_MAX };
	struct roost_worker *a = fixture_worker(test, 4, 8);
	struct roost_worker *b = fixture_worker(test, 4, 8);
	struct roost_timer_op *op = op_of(test, 9);
	u64 target;
	u32 i, s;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		s = starts[i];
		op->sequence = s - 1;
		KUNIT_EXPECT_EQ(test, set(a, 9, s - 1, FAR), -ESTALE);
		KUNIT_EXPECT_EQ(test, set(a, 9, s, FAR), 0);
		KUNIT_EXPECT_EQ(test, set(b, 9, s, FAR), -ESTALE);
		KUNIT_EXPECT_EQ(test, set(b, 9, s - 2, FAR), -ESTALE);
		KUNIT_EXPECT_EQ(test, set(b, 9, s + 0x80000000U, FAR),
				-ESTALE);
		KUNIT_EXPECT_EQ(test, cancel(b, 9, s - 1, &target), -ESTALE);
		/* With a newer one, so that what comes late is stale. */
		KUNIT_EXPECT_EQ(test, cancel(b, 9, s + 3, &target), 0);
		KUNIT_EXPECT_EQ(test, target, roost_op_id(9, s));
		KUNIT_EXPECT_EQ(test, set(a, 9, s + 3, FAR), -ESTALE);
		KUNIT_EXPECT_EQ(test, cancel(b, 9, s + 3, &target), -ENOENT);
		KUNIT_EXPECT_EQ(test, cancel(b, 9, s + 4, &target), -ENOENT);
		KUNIT_EXPECT_EQ(test, set(a, 9, s + 4, FAR), -ESTALE);
		expect_armed(test, a, 0);
	}
	KUNIT_EXPECT_EQ(test, set(a, FIXTURE_OPS, 1, FAR), -EINVAL);
	KUNIT_EXPECT_EQ(test, set(a, U32_MAX, 1, FAR), -EINVAL);
	KUNIT_EXPECT_EQ(test, set(a, 1, 1, ROOST_MAX_DEADLINE + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, set(a, 1, 1, U64_MAX), -EINVAL);
	KUNIT_EXPECT_EQ(test, set(a, 1, 1, ROOST_MAX_DEADLINE), 0);
	expect_armed(test, a, 1);
}

/* S3-15: The batch does what is usual, and leaves the first that is not. */
static void batches(struct kunit *test)
{
	struct roost_worker *a = fixture_worker(test, 8, 8);
	struct roost_worker *b = fixture_worker(test, 8, 8);
	struct roost_sqe sqes[6] = { };
	static const u32 offsets[] = {
		offsetof(struct roost_sqe, flags),
		offsetof(struct roost_sqe, reserved0),
		offsetof(struct roost_sqe, fd),
		offsetof(struct roost_sqe, events),
		offsetof(struct roost_sqe, worker),
		offsetof(struct roost_sqe, addr),
		offsetof(struct roost_sqe, addr2),
		offsetof(struct roost_sqe, len),
		offsetof(struct roost_sqe, len2),
		offsetof(struct roost_sqe, msg_flags),
		offsetof(struct roost_sqe, file_seq),
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sqes); i++)
		sqes[i] = (struct roost_sqe){
			.opcode = ROOST_OP_TIMER_SET,
			.op_id = roost_op_id(i, 1), .deadline = FAR + i,
		};
	/* Never used: their memory has to be made first. */
	KUNIT_EXPECT_EQ(test, roost_timer_set_batch(a, sqes, 6), 0);
	op_of(test, 0);
	KUNIT_EXPECT_EQ(test, roost_timer_set_batch(a, sqes, 6), 6);
	expect_armed(test, a, 6);
	/* Stale, all of them. */
	KUNIT_EXPECT_EQ(test, roost_timer_set_batch(a, sqes, 6), 0);
	for (i = 0; i < 6; i++)
		sqes[i].op_id = roost_op_id(i, 2);
	/* At home elsewhere. */
	KUNIT_EXPECT_EQ(test, roost_timer_set_batch(b, sqes, 6), 0);
	KUNIT_EXPECT_EQ(test, set(b, 3, 2, 1), 0);
	roost_timeout_program(b);
	KUNIT_EXPECT_EQ(test, roost_timer_set_batch(a, sqes, 6), 3);
	sqes[4].deadline = ROOST_MAX_DEADLINE + 1;
	KUNIT_EXPECT_EQ(test, roost_timer_set_batch(a, sqes + 4, 1), 0);
	/* A field that is not zero, each of those there are. */
	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		((u8 *)&sqes[5])[offsets[i]] = 1;
		KUNIT_EXPECT_EQ_MSG(test,
				    roost_timer_set_batch(a, sqes + 5, 1), 0,
				    "offset %u", offsets[i]);
		((u8 *)&sqes[5])[offsets[i]] = 0;
	}
	sqes[5].opcode = ROOST_OP_NOP;
	KUNIT_EXPECT_EQ(test, roost_timer_set_batch(a, sqes + 5, 1), 0);
	sqes[5].opcode = ROOST_OP_TIMER_SET;
	KUNIT_EXPECT_EQ(test, roost_timer_set_batch(a, sqes + 5, 1), 1);
}

/* Threads that set and cancel the same timers on wheels of their own. */
enum { THREADS = 3, SHARED = 4, STEPS = 1200 };

/**
 * struct shared - what all threads know of one timer
 * @sequence:	the newest given out
 */
struct shared {
	atomic_t sequence;
};

struct newest {
	u32 sequence;
	u64 deadline;
	bool armed;
};

struct setter {
	struct roost_worker *worker;
	struct shared *shared;
	struct newest newest[SHARED];
	u64 state;
};

static int set_and_cancel(void *arg)
{
	struct setter *me = arg;
	u32 step, index, sequence;
	u64 deadline, target;
	bool armed;
	int ret;

	for (step = 0; step < STEPS; step++) {
		index = fixture_below(&me->state, SHARED);
		deadline = FAR + fixture_below(&me->state, 1000) * BIT_ULL(30);
		armed = fixture_below(&me->state, 8);
		sequence = atomic_inc_return(&me->shared[index].sequence);
		if (armed)
			ret = set(me->worker, index, sequence, deadline);
		else
			ret = cancel(me->worker, index, sequence, &target);
		/* Overtaken by another thread; or nothing to cancel. */
		if (ret == -ESTALE)
			continue;
		me->newest[index] = (struct newest){ sequence, deadline,
						     armed };
		cond_resched();
	}
	return 0;
}

/* S3-26 */
static void moves_in_a_race(struct kunit *test)
{
	struct shared shared[SHARED] = { };
	struct newest newest, *n;
	struct setter *setters;
	u32 armed = 0, total = 0, i, t;
	u64 seed = fixture_seed(test);
	void *args[THREADS];

	setters = kunit_kcalloc(test, THREADS, sizeof(*setters), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, setters);
	for (t = 0; t < THREADS; t++) {
		setters[t].worker = fixture_worker(test, 4, 8);
		setters[t].shared = shared;
		setters[t].state = seed + t;
		args[t] = &setters[t];
	}
	fixture_race(test, set_and_cancel, args, THREADS);
	/* Of each timer the call with the highest sequence counts. */
	for (i = 0; i < SHARED; i++) {
		newest = (struct newest){ };
		for (t = 0; t < THREADS; t++) {
			n = &setters[t].newest[i];
			if (n->sequence > newest.sequence)
				newest = *n;
		}
		KUNIT_EXPECT_EQ(test, op_of(test, i)->sequence,
				newest.sequence);
		KUNIT_EXPECT_EQ(test, op_of(test, i)->armed, newest.armed);
		if (newest.armed)
			KUNIT_EXPECT_EQ(test, op_of(test, i)->entry.expires,
					newest.deadline);
		armed += newest.armed;
	}
	for (t = 0; t < THREADS; t++) {
		expect_armed(test, setters[t].worker,
			     setters[t].worker->timers_pending);
		total += setters[t].worker->timers_pending;
		expect_none(test, setters[t].worker);
	}
	KUNIT_EXPECT_EQ(test, total, armed);
}

/* Fires once, on the wheel where it was last, never early. */
static void fires(struct kunit *test)
{
	struct roost_worker *a = fixture_worker(test, 4, 64);
	struct roost_worker *b = fixture_worker(test, 4, 64);
	u64 state = fixture_seed(test), start = ktime_get_ns();
	u32 spread = 30 * NSEC_PER_MSEC;
	u64 deadlines[32], limit;
	struct roost_cqe cqe;
	u32 i, n = 0, seen = 0;

	for (i = 0; i < 32; i++) {
		deadlines[i] = start + fixture_below(&state, spread);
		KUNIT_EXPECT_EQ(test, set(a, i, 1, FAR), 0);
		/* All end up on b's. */
		KUNIT_EXPECT_EQ(test, set(b, i, 2, deadlines[i]), 0);
	}
	roost_timeout_program(a);
	roost_timeout_program(b);
	limit = start + 20 * NSEC_PER_SEC;
	while (n < 32 && ktime_get_ns() < limit) {
		if (!fixture_take(b, &cqe)) {
			fsleep(200);
			continue;
		}
		i = roost_op_index(cqe.user_data);
		KUNIT_ASSERT_LT(test, i, 32);
		KUNIT_EXPECT_GE(test, ktime_get_ns(), deadlines[i]);
		KUNIT_EXPECT_EQ(test, roost_op_sequence(cqe.user_data), 2);
		KUNIT_EXPECT_EQ(test, cqe.res, 0);
		KUNIT_EXPECT_EQ(test, cqe.flags, ROOST_CQE_TIMER);
		KUNIT_EXPECT_FALSE(test, seen & BIT(i));
		seen |= BIT(i);
		n++;
	}
	KUNIT_EXPECT_EQ(test, n, 32);
	expect_none(test, a);
	expect_armed(test, a, 0);
	expect_armed(test, b, 0);
	kunit_info(test, "%llu interrupts for 32 timers", b->hrtimer_fires);
}

/* An expiry that nobody has seen falls to a new SET, which says so. */
static void replaced_expiries(struct kunit *test)
{
	struct roost_worker *a = fixture_worker(test, 4, 2);
	u64 limit = ktime_get_ns() + 20 * NSEC_PER_SEC;
	struct roost_cqe cqe;
	u32 i;

	/* The process says that the ring is full. */
	a->page->cq_head = a->cq_tail - 2;
	KUNIT_EXPECT_EQ(test, set(a, 1, 1, 1), 0);
	roost_timeout_program(a);
	while (!READ_ONCE(a->nr_overflow) && ktime_get_ns() < limit)
		fsleep(200);
	KUNIT_EXPECT_EQ(test, a->nr_overflow, 1);
	KUNIT_EXPECT_EQ(test, set(a, 1, 2, 2), 0);
	KUNIT_EXPECT_EQ(test, a->nr_overflow, 0);
	roost_timeout_program(a);
	while (!READ_ONCE(a->nr_overflow) && ktime_get_ns() < limit)
		fsleep(200);
	a->page->cq_head = a->cq_tail;
	roost_cq_flush(a);
	for (i = 0; fixture_take(a, &cqe); i++) {
		KUNIT_EXPECT_EQ(test, cqe.user_data, roost_op_id(1, 2));
		KUNIT_EXPECT_EQ(test, cqe.flags,
				ROOST_CQE_TIMER | ROOST_CQE_REPLACED);
	}
	KUNIT_EXPECT_EQ(test, i, 1);
}

static struct kunit_case timeout_cases[] = {
	KUNIT_CASE(moves),
	KUNIT_CASE(sequences),
	KUNIT_CASE(batches),
	KUNIT_CASE(moves_in_a_race),
	KUNIT_CASE(fires),
	KUNIT_CASE(replaced_expiries),
	{}
};

FIXTURE_SUITE(timeout, timeout_cases);
