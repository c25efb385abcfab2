// SPDX-License-Identifier: GPL-2.0
/*
 * The completion ring: none is lost, whatever the process says that it has
 * taken.
 */
#include <linux/limits.h>

#include "../ring.h"
#include "fixture.h"

enum { N = 24 };

/* An op's memory, and whether it was freed. */
struct test_node {
	struct roost_completion completion;
	unsigned int released;
};

static void release_node(struct roost_completion *completion)
{
	container_of(completion, struct test_node, completion)->released++;
}

static struct test_node *make_nodes(struct kunit *test)
{
	struct test_node *nodes = kunit_kcalloc(test, N, sizeof(*nodes), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, nodes);
	for (i = 0; i < N; i++)
		roost_completion_init(&nodes[i].completion, release_node);
	return nodes;
}

static void start_at(struct roost_worker *worker, u32 index)
{
	worker->cq_tail = index;
	worker->page->cq_tail = index;
	worker->page->cq_head = index;
}

static bool post(struct roost_worker *worker, struct test_node *node, u64 id)
{
	return roost_cq_post(worker, &node->completion, id, (s32)id + 1,
			     (u32)id + 2);
}

static void expect_next(struct kunit *test, struct roost_worker *worker, u64 id)
{
	struct roost_cqe cqe = { };

	KUNIT_EXPECT_TRUE(test, fixture_take(worker, &cqe));
	KUNIT_EXPECT_EQ(test, cqe.user_data, id);
	KUNIT_EXPECT_EQ(test, cqe.res, (s32)id + 1);
	KUNIT_EXPECT_EQ(test, cqe.flags, (u32)id + 2);
}

static void expect_empty(struct kunit *test, struct roost_worker *worker)
{
	struct roost_cqe cqe;

	KUNIT_EXPECT_FALSE(test, fixture_take(worker, &cqe));
	KUNIT_EXPECT_EQ(test, worker->nr_overflow, 0);
	KUNIT_EXPECT_EQ(test, worker->page->cq_overflow, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&worker->overflow));
}

/* C49: A full ring and more, from starts before, at and after 2^32. */
static void completions_wrap(struct kunit *test)
{
	static const u32 starts[] = { 0, 5, S32_MAX - 2, U32_MAX - 9,
				      U32_MAX - 8, U32_MAX - 4, U32_MAX };
	struct roost_worker *worker = fixture_worker(test, 1, 8);
	struct test_node *nodes = make_nodes(test);
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		start_at(worker, starts[i]);
		for (k = 0; k < 8; k++)
			KUNIT_EXPECT_FALSE(test, post(worker, &nodes[k], k));
		for (; k < 20; k++)
			KUNIT_EXPECT_TRUE(test, post(worker, &nodes[k], k));
		KUNIT_EXPECT_EQ(test, worker->page->cq_tail, starts[i] + 8);
		KUNIT_EXPECT_EQ(test, worker->page->cq_overflow, 12);
		KUNIT_EXPECT_TRUE(test, test_bit(0, (unsigned long *)
			fixture_domain(test)->control->cq_ready));
		for (k = 0; k < 8; k++)
			expect_next(test, worker, k);
		KUNIT_EXPECT_TRUE(test, roost_cq_flush(worker));
		for (; k < 16; k++)
			expect_next(test, worker, k);
		KUNIT_EXPECT_FALSE(test, roost_cq_flush(worker));
		for (; k < 20; k++)
			expect_next(test, worker, k);
		expect_empty(test, worker);
		if (fixture_failed(test))
			return;
	}
	for (k = 0; k < N; k++)
		KUNIT_EXPECT_EQ(test, nodes[k].released, 0);
}

/* A head that cannot be is a full ring: all wait, and come in order later. */
static void forged_heads(struct kunit *test)
{
	static const u32 off[] = { 1, 2, 100, S32_MAX, 0x80000000U,
				   U32_MAX - 8, U32_MAX - 20 };
	struct roost_worker *worker = fixture_worker(test, 1, 8);
	struct test_node *nodes = make_nodes(test);
	u32 i, k, start = U32_MAX - 3;

	for (i = 0; i < ARRAY_SIZE(off); i++) {
		start_at(worker, start);
		/* Ahead of the tail, or more than a ring behind it. */
		worker->page->cq_head = start + off[i];
		for (k = 0; k < 12; k++)
			KUNIT_EXPECT_TRUE(test, post(worker, &nodes[k], k));
		KUNIT_EXPECT_TRUE(test, roost_cq_flush(worker));
		KUNIT_EXPECT_EQ(test, roost_cq_reserve(worker, 4), 0);
		KUNIT_EXPECT_EQ(test, worker->cq_tail, start);
		worker->page->cq_head = start;
		/* The shared tail is never read back. */
		worker->page->cq_tail = start + 77;
		KUNIT_EXPECT_TRUE(test, roost_cq_flush(worker));
		for (k = 0; k < 8; k++)
			expect_next(test, worker, k);
		KUNIT_EXPECT_FALSE(test, roost_cq_flush(worker));
		for (; k < 12; k++)
			expect_next(test, worker, k);
		expect_empty(test, worker);
		if (fixture_failed(test))
			return;
	}
}

/* Reserved places are nobody else's; one that is gone lets its entry fall. */
static void reserved_places(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 1, 4);
	struct test_node *nodes = make_nodes(test);

	KUNIT_EXPECT_EQ(test, roost_cq_reserve(worker, 0), 0);
	KUNIT_EXPECT_EQ(test, roost_cq_reserve(worker, 3), 3);
	KUNIT_EXPECT_EQ(test, roost_cq_reserve(worker, 9), 1);
	KUNIT_EXPECT_EQ(test, roost_cq_reserve(worker, 1), 0);
	KUNIT_EXPECT_TRUE(test, post(worker, &nodes[0], 10));
	roost_cq_unreserve(worker, 1);
	/* Those who wait come first. */
	KUNIT_EXPECT_TRUE(test, post(worker, &nodes[1], 11));
	KUNIT_EXPECT_TRUE(test, roost_cq_flush(worker));
	expect_next(test, worker, 10);
	roost_cq_post_reserved(worker, 12, 13, 14);
	expect_next(test, worker, 12);
	KUNIT_EXPECT_FALSE(test, roost_cq_flush(worker));
	expect_next(test, worker, 11);
	/* The process takes back what it had said it has taken. */
	worker->page->cq_head = worker->cq_tail - 4;
	roost_cq_post_reserved(worker, 99, 99, 99);
	KUNIT_EXPECT_EQ(test, worker->cq_tail, 3);
	worker->page->cq_head = worker->cq_tail;
	roost_cq_post_reserved(worker, 15, 16, 17);
	expect_next(test, worker, 15);
	KUNIT_EXPECT_EQ(test, worker->cq_reserved, 0);
	expect_empty(test, worker);
}

/* S2-22: Two of one op that nobody has seen become one. */
static void waiting_ones_are_merged(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 1, 2);
	static const struct {
		u32 first, second, both;
	} rows[] = {
		{ 0, 0, 0 },
		{ ROOST_CQE_MORE, ROOST_CQE_MORE, ROOST_CQE_MORE },
		{ ROOST_CQE_MORE, 0, 0 },
		{ 0, ROOST_CQE_MORE, 0 },
		{ ROOST_CQE_HINT | ROOST_CQE_MORE, ROOST_CQE_MORE,
		  ROOST_CQE_HINT | ROOST_CQE_MORE },
		{ ROOST_CQE_MORE, ROOST_CQE_HINT, ROOST_CQE_HINT },
	};
	struct test_node *nodes = make_nodes(test);
	struct roost_completion *twice = &nodes[2].completion;
	struct roost_cqe cqe;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		post(worker, &nodes[0], 0);
		post(worker, &nodes[1], 1);
		KUNIT_EXPECT_TRUE(test, roost_cq_post(worker, twice, 7, 1,
						      rows[i].first));
		KUNIT_EXPECT_TRUE(test, roost_completion_queued(twice));
		KUNIT_EXPECT_FALSE(test, roost_cq_post(worker, twice, 8, 4,
						       rows[i].second));
		expect_next(test, worker, 0);
		expect_next(test, worker, 1);
		roost_cq_flush(worker);
		KUNIT_EXPECT_TRUE(test, fixture_take(worker, &cqe));
		KUNIT_EXPECT_EQ(test, cqe.user_data, 8);
		KUNIT_EXPECT_EQ(test, cqe.res, 5);
		KUNIT_EXPECT_EQ_MSG(test, cqe.flags, rows[i].both, "row %u", i);
		KUNIT_EXPECT_FALSE(test, roost_completion_queued(twice));
		expect_empty(test, worker);
	}
}

/* S2-06: The memory lives until its completion is delivered, or taken back. */
static void memory_outlives_its_owner(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 1, 2);
	struct test_node *nodes = make_nodes(test);
	struct roost_completion *third = &nodes[2].completion;
	u32 i;

	for (i = 0; i < 6; i++)
		post(worker, &nodes[i], i);
	KUNIT_EXPECT_TRUE(test, roost_cq_take_back(worker, third));
	KUNIT_EXPECT_FALSE(test, roost_cq_take_back(worker, third));
	for (i = 0; i < 6; i++)
		roost_completion_put(&nodes[i].completion);
	/* 0 and 1 are in the ring, 2 was taken back; the others wait. */
	for (i = 0; i < 6; i++)
		KUNIT_EXPECT_EQ(test, nodes[i].released, i < 3);
	expect_next(test, worker, 0);
	KUNIT_EXPECT_TRUE(test, roost_cq_flush(worker));
	KUNIT_EXPECT_EQ(test, nodes[3].released, 1);
	KUNIT_EXPECT_EQ(test, nodes[4].released, 0);
	roost_cq_close(worker);
	for (i = 0; i < 6; i++)
		KUNIT_EXPECT_EQ(test, nodes[i].released, 1);
	expect_next(test, worker, 1);
	expect_next(test, worker, 3);
	expect_empty(test, worker);
}

/* Random operations; each completion arrives once, in the order of posting. */
struct model {
	struct roost_worker *worker;
	struct test_node *nodes;
	u64 posted;
	u64 taken;
	u32 lies;
};

static bool post_next(struct model *m)
{
	struct test_node *node = &m->nodes[m->posted % N];

	return post(m->worker, node, m->posted++);
}

static void step(struct kunit *test, struct model *m, u64 *state)
{
	struct roost_worker_page *page = m->worker->page;
	bool room = m->posted - m->taken < N;
	u32 head = page->cq_head;
	struct roost_cqe cqe;

	switch (fixture_below(state, 4)) {
	case 0:
		if (room)
			post_next(m);
		break;
	case 1:
		if (!room)
			break;
		/* Lie for a moment; the truth comes back. */
		page->cq_head = m->worker->cq_tail + 1 +
				fixture_below(state, 1000);
		KUNIT_EXPECT_TRUE(test, post_next(m));
		page->cq_head = head;
		m->lies++;
		break;
	case 2:
		roost_cq_flush(m->worker);
		break;
	default:
		if (!fixture_take(m->worker, &cqe))
			break;
		KUNIT_EXPECT_EQ(test, cqe.user_data, m->taken);
		m->taken++;
	}
	KUNIT_EXPECT_EQ(test, (u32)(m->posted - m->taken),
			m->worker->nr_overflow + m->worker->cq_tail -
			page->cq_head);
}

static void random_order(struct kunit *test)
{
	struct model m = {
		.worker	= fixture_worker(test, 1, 8),
		.nodes	= make_nodes(test),
	};
	u64 state = fixture_seed(test);
	u32 i;

	start_at(m.worker, U32_MAX - 100);
	for (i = 0; i < 4000 && !fixture_failed(test); i++)
		step(test, &m, &state);
	KUNIT_EXPECT_GT(test, m.lies, 100);
	KUNIT_EXPECT_GT(test, m.taken, 500);
}

static struct kunit_case cq_cases[] = {
	KUNIT_CASE(completions_wrap),
	KUNIT_CASE(forged_heads),
	KUNIT_CASE(reserved_places),
	KUNIT_CASE(waiting_ones_are_merged),
	KUNIT_CASE(memory_outlives_its_owner),
	KUNIT_CASE(random_order),
	{}
};

FIXTURE_SUITE(cq, cq_cases);
