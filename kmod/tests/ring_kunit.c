// SPDX-License-Identifier: GPL-2.0
/*
 * The arithmetic of ring indices, and the submission ring with a process that
 * publishes what it likes.
 */
#include <linux/limits.h>

#include "../ring.h"
#include "../ring_index.h"
#include "fixture.h"

/* Where counters are about to wrap, and where signed ones would. */
static const u32 starts[] = { 0, 1, 7, S32_MAX - 3, S32_MAX, 0x80000000U,
			      U32_MAX - 8, U32_MAX - 1, U32_MAX };

/* What the four functions say of a pair of indices. */
static void expect_pair(struct kunit *test, u32 head, u32 tail, u32 entries,
			bool valid)
{
	u32 used = valid ? tail - head : entries;
	u32 ready = valid ? tail - head : 0;

	KUNIT_EXPECT_EQ(test, roost_ring_index_valid(head, tail, entries),
			valid);
	KUNIT_EXPECT_EQ(test, roost_ring_used(head, tail, entries), used);
	KUNIT_EXPECT_EQ(test, roost_ring_free(head, tail, entries),
			entries - used);
	KUNIT_EXPECT_EQ(test, roost_ring_ready(head, tail, entries), ready);
	KUNIT_EXPECT_EQ(test, roost_ring_slot(tail, entries), tail % entries);
	if (fixture_failed(test))
		kunit_err(test, "head 0x%x tail 0x%x of %u", head, tail,
			  entries);
}

/* Two indices that can be: what simple counting gives, also across 2^32. */
static void arithmetic(struct kunit *test)
{
	u32 entries, used, i;

	for (entries = 1; entries <= 256; entries *= 2)
		for (i = 0; i < ARRAY_SIZE(starts); i++)
			for (used = 0; used <= entries &&
			     !fixture_failed(test); used++)
				expect_pair(test, starts[i], starts[i] + used,
					    entries, true);
}

/* Two that cannot be: full for who produces, empty for who consumes. */
static void forged_indices(struct kunit *test)
{
	/* By how much the tail is beyond a full ring. */
	static const u32 beyond[] = { 1, 2, 1000, S32_MAX, 0x80000000U,
				      U32_MAX - 512, U32_MAX - 256 };
	u32 entries, i, k;

	for (entries = 1; entries <= 256; entries *= 2)
		for (i = 0; i < ARRAY_SIZE(starts); i++)
			for (k = 0; k < ARRAY_SIZE(beyond) &&
			     !fixture_failed(test); k++)
				expect_pair(test, starts[i],
					    starts[i] + entries + beyond[k],
					    entries, false);
}

static void sizes(struct kunit *test)
{
	u32 bit, n;

	KUNIT_EXPECT_FALSE(test, roost_ring_entries_valid(0, 1, U32_MAX));
	for (bit = 0; bit < 32; bit++) {
		n = 1U << bit;
		KUNIT_EXPECT_TRUE(test, roost_ring_entries_valid(n, 1, U32_MAX));
		KUNIT_EXPECT_TRUE(test, roost_ring_entries_valid(n, n, n));
		KUNIT_EXPECT_FALSE(test, roost_ring_entries_valid(n, n + 1,
								  U32_MAX));
		KUNIT_EXPECT_FALSE(test, roost_ring_entries_valid(n, 0, n - 1));
		/* 2^0 and 2^1 have powers of two below them. */
		KUNIT_EXPECT_EQ(test, roost_ring_entries_valid(n - 1, 1, n),
				bit == 1);
	}
}

/* The submission ring.  Each entry carries its own number. */

/* As if the ring had been used for long. */
static void start_at(struct roost_worker *worker, u32 index)
{
	worker->sq_head = index;
	worker->page->sq_head = index;
	worker->page->sq_tail = index;
}

static void publish(struct roost_worker *worker, u32 n)
{
	u32 tail = worker->page->sq_tail;

	for (; n; n--, tail++)
		worker->sqes[tail % worker->sq_entries].op_id = tail;
	/* Pairs with the acquire in roost_sq_fetch(). */
	smp_store_release(&worker->page->sq_tail, tail);
}

/* Fetch up to @max; each must be the next, and has a place in the CQ. */
static u32 fetch(struct kunit *test, struct roost_worker *worker, u32 max)
{
	u32 next = worker->sq_head, reserved, n, i;
	struct roost_sqe sqes[16];

	n = roost_sq_fetch(worker, sqes, max, &reserved);
	KUNIT_EXPECT_LE(test, n, max);
	KUNIT_EXPECT_EQ(test, reserved, n);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(test, sqes[i].op_id, (u64)(u32)(next + i));
	KUNIT_EXPECT_EQ(test, worker->sq_head, next + n);
	KUNIT_EXPECT_EQ(test, worker->page->sq_head, next + n);
	roost_cq_unreserve(worker, reserved);
	return n;
}

/* C49: In order and none twice, from any start, also across 2^32. */
static void submissions_wrap(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 8, 16);
	u32 i, n, first;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		start_at(worker, starts[i]);
		KUNIT_EXPECT_FALSE(test, roost_sq_pending(worker));
		KUNIT_EXPECT_EQ(test, fetch(test, worker, 8), 0);
		for (n = 1; n <= 8; n++) {
			first = min(n, 3U);
			publish(worker, n);
			KUNIT_EXPECT_TRUE(test, roost_sq_pending(worker));
			KUNIT_EXPECT_EQ(test, fetch(test, worker, 3), first);
			KUNIT_EXPECT_EQ(test, fetch(test, worker, 16),
					n - first);
			KUNIT_EXPECT_FALSE(test, roost_sq_pending(worker));
		}
		if (fixture_failed(test))
			return;
	}
}

/* A tail that cannot be: nothing is there, until one comes that can. */
static void forged_tails(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 8, 16);
	static const u32 off[] = { 9, 10, 1000, S32_MAX, 0x80000000U,
				   U32_MAX - 8, U32_MAX - 1, U32_MAX };
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		start_at(worker, starts[i]);
		publish(worker, 8);
		for (k = 0; k < ARRAY_SIZE(off); k++) {
			worker->page->sq_tail = starts[i] + off[k];
			KUNIT_EXPECT_FALSE(test, roost_sq_pending(worker));
			KUNIT_EXPECT_EQ(test, fetch(test, worker, 16), 0);
		}
		/* What the process writes to the shared head means nothing. */
		worker->page->sq_head = starts[i] + 12345;
		worker->page->sq_tail = starts[i] + 8;
		KUNIT_EXPECT_EQ(test, fetch(test, worker, 16), 8);
		if (fixture_failed(test))
			return;
	}
}

/* No entry is consumed that could not complete. */
static void submissions_wait_for_places(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 8, 4);
	struct roost_sqe sqes[8];
	struct roost_cqe cqe;
	u32 reserved;

	publish(worker, 8);
	KUNIT_EXPECT_EQ(test, roost_sq_fetch(worker, sqes, 8, &reserved), 4);
	KUNIT_EXPECT_EQ(test, reserved, 4);
	KUNIT_EXPECT_EQ(test, roost_sq_fetch(worker, sqes, 8, &reserved), 0);
	KUNIT_EXPECT_EQ(test, reserved, 0);
	KUNIT_EXPECT_TRUE(test, roost_sq_pending(worker));
	roost_cq_post_reserved(worker, 1, 0, 0);
	KUNIT_EXPECT_EQ(test, roost_sq_fetch(worker, sqes, 8, &reserved), 0);
	KUNIT_EXPECT_TRUE(test, fixture_take(worker, &cqe));
	KUNIT_EXPECT_EQ(test, roost_sq_fetch(worker, sqes, 8, &reserved), 1);
	KUNIT_EXPECT_EQ(test, sqes[0].op_id, 4);
	roost_cq_unreserve(worker, 4);
	KUNIT_EXPECT_EQ(test, roost_sq_fetch(worker, sqes, 8, &reserved), 3);
	roost_cq_unreserve(worker, 3);
	KUNIT_EXPECT_EQ(test, worker->cq_reserved, 0);
}

/*
 * While another thread writes nonsense to the words that the process owns:
 * no more than a ring full at a time, and never backwards.
 */
struct scribbler {
	struct roost_worker *worker;
	u64 state;
	bool stop;
	bool fetches;
	struct kunit *test;
	u64 fetched;
};

static void scribble(struct scribbler *s)
{
	struct roost_worker_page *page = s->worker->page;
	u32 tail, head;

	while (!READ_ONCE(s->stop)) {
		tail = fixture_random(&s->state);
		head = fixture_random(&s->state);
		/* Most of the time some that are nearly right. */
		if (fixture_below(&s->state, 4)) {
			tail = READ_ONCE(s->worker->sq_head) + tail % 12;
			head = READ_ONCE(s->worker->cq_tail) - head % 20;
		}
		WRITE_ONCE(page->sq_tail, tail);
		WRITE_ONCE(page->cq_head, head);
		WRITE_ONCE(page->sq_head, fixture_random(&s->state));
		WRITE_ONCE(page->cq_tail, fixture_random(&s->state));
		cond_resched();
	}
}

/* Until there was something: the other thread may be late, or without a CPU. */
static void fetch_all(struct scribbler *s)
{
	unsigned long limit = jiffies + 100 * HZ;
	struct roost_worker *worker = s->worker;
	u32 i, n, head, reserved;
	struct roost_sqe sqes[16];

	for (i = 0; i < 4000 || (!s->fetched && time_before(jiffies, limit)); i++) {
		head = worker->sq_head;
		n = roost_sq_fetch(worker, sqes, 16, &reserved);
		KUNIT_EXPECT_LE(s->test, n, worker->sq_entries);
		KUNIT_EXPECT_LE(s->test, n, reserved);
		KUNIT_EXPECT_LE(s->test, reserved, worker->cq_entries);
		KUNIT_EXPECT_EQ(s->test, worker->sq_head, head + n);
		roost_cq_unreserve(worker, reserved);
		roost_sq_pending(worker);
		s->fetched += n;
		if (fixture_failed(s->test))
			break;
		cond_resched();
	}
}

static int run_scribbler(void *arg)
{
	struct scribbler **pair = arg;

	if (pair[0]->fetches) {
		fetch_all(pair[0]);
		WRITE_ONCE(pair[1]->stop, true);
	} else {
		scribble(pair[0]);
	}
	return 0;
}

static void hostile_producer(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 8, 16);
	struct scribbler bad = { .worker = worker, .test = test };
	struct scribbler good = { .worker = worker, .test = test,
				  .fetches = true };
	struct scribbler *pairs[2][2] = { { &good, &bad }, { &bad, &good } };
	void *args[2] = { pairs[0], pairs[1] };

	bad.state = fixture_seed(test);
	fixture_race(test, run_scribbler, args, 2);
	kunit_info(test, "%llu entries", good.fetched);
	KUNIT_EXPECT_GT(test, good.fetched, 0);
	KUNIT_EXPECT_EQ(test, READ_ONCE(worker->submitted), good.fetched);
	KUNIT_EXPECT_EQ(test, worker->cq_reserved, 0);
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE(arithmetic),
	KUNIT_CASE(forged_indices),
	KUNIT_CASE(sizes),
	KUNIT_CASE(submissions_wrap),
	KUNIT_CASE(forged_tails),
	KUNIT_CASE(submissions_wait_for_places),
	KUNIT_CASE(hostile_producer),
	{}
};

FIXTURE_SUITE(ring, ring_cases);
