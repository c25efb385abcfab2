// SPDX-License-Identifier: GPL-2.0
/*
 * The timing wheel: its edges one by one, then random operations against an
 * array that is searched from end to end.
 */
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/time64.h>

#include "../wheel.h"
#include "fixture.h"

#define LEVEL_TICKS(level)	BIT_ULL(6 * (level))
#define UNLIMITED		UINT_MAX
#define TICK			BIT_ULL(16)

/* The slow arithmetic: by division, where the wheel shifts. */

static u64 model_now(unsigned int shift, u64 ns)
{
	return div64_u64(ns, BIT_ULL(shift));
}

/* The tick at which a deadline that is handed over at @now must expire. */
static u64 model_due(unsigned int shift, u64 expires, u64 now)
{
	u64 rest, due = div64_u64_rem(expires, BIT_ULL(shift), &rest);

	return max(due + !!rest, model_now(shift, now) + 1);
}

/* When a tick begins; U64_MAX if 64 bits do not reach that far. */
static u64 model_ns(unsigned int shift, u64 tick)
{
	return tick > U64_MAX >> shift ? U64_MAX : tick * BIT_ULL(shift);
}

static u64 add_ns(u64 a, u64 b)
{
	return a > U64_MAX - b ? U64_MAX : a + b;
}

static struct roost_wheel *make_wheel(struct kunit *test)
{
	struct roost_wheel *wheel = kunit_kzalloc(test, sizeof(*wheel),
						  GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wheel);
	return wheel;
}

static void arm(struct kunit *test, struct roost_wheel *wheel,
		struct roost_wheel_entry *entry, u64 expires, u64 now)
{
	roost_wheel_entry_init(entry);
	roost_wheel_add(wheel, entry, expires, now);
	KUNIT_EXPECT_TRUE(test, roost_wheel_check(wheel));
}

/* Advance, and take what expired; returns how many that were. */
static unsigned int take(struct kunit *test, struct roost_wheel *wheel,
			 u64 now, unsigned int budget, unsigned int *looked)
{
	unsigned int n = 0, done;
	LIST_HEAD(expired);

	done = roost_wheel_advance(wheel, now, budget, &expired);
	for (; !list_empty(&expired); n++)
		list_del_init(expired.next);
	KUNIT_EXPECT_TRUE(test, roost_wheel_check(wheel));
	if (looked)
		*looked += done;
	return n;
}

static unsigned int level_for(u64 ticks)
{
	unsigned int level = 0;

	while (level < ROOST_WHEEL_LEVELS - 1 &&
	       ticks >= LEVEL_TICKS(level + 1))
		level++;
	return level;
}

/* One deadline: where it is put, when it expires, how often it is moved. */
static void place_one(struct kunit *test, struct roost_wheel *wheel,
		      unsigned int shift, u64 cursor, u64 expires)
{
	u64 now = model_ns(shift, cursor), due = model_due(shift, expires, now);
	unsigned int level = level_for(due - cursor), looked = 0, steps = 0;
	struct roost_wheel_entry entry;
	u64 at = now;

	roost_wheel_init(wheel, shift, now);
	arm(test, wheel, &entry, expires, now);
	KUNIT_EXPECT_EQ(test, entry.level, level);
	KUNIT_EXPECT_GT(test, roost_wheel_next(wheel), now);
	if (!level)
		KUNIT_EXPECT_EQ(test, roost_wheel_next(wheel),
				model_ns(shift, due));
	/* The farthest here is 64 turns of the last level away. */
	while (roost_wheel_queued(&entry) && steps++ < 100) {
		at = roost_wheel_next(wheel);
		KUNIT_EXPECT_LE(test, at, model_ns(shift, due));
		take(test, wheel, at, UNLIMITED, &looked);
	}
	KUNIT_EXPECT_EQ(test, at, model_ns(shift, due));
	/* One move a level; one more for each stay in the farthest slot. */
	KUNIT_EXPECT_LE(test, (u64)looked - 1,
			level + (due - cursor) / (LEVEL_TICKS(6) -
						  LEVEL_TICKS(5)));
	KUNIT_EXPECT_EQ(test, roost_wheel_next(wheel), U64_MAX);
	KUNIT_EXPECT_EQ(test, roost_wheel_count(wheel), 0U);
	if (fixture_failed(test))
		kunit_err(test, "shift %u cursor %llu expires %llu", shift,
			  cursor, expires);
}

/* Around each multiple at which a level begins, ends, or turns. */
static void place_around(struct kunit *test, struct roost_wheel *wheel,
			 unsigned int shift, u64 cursor)
{
	static const u64 times[] = { 1, 2, 63, 64 };
	unsigned int level, i;
	s64 near, ns;
	u64 tick;

	for (level = 0; level <= ROOST_WHEEL_LEVELS; level++) {
		for (i = 0; i < ARRAY_SIZE(times); i++) {
			for (near = -1; near <= 1; near++) {
				tick = cursor + LEVEL_TICKS(level) * times[i];
				for (ns = -1; ns <= 1; ns++)
					place_one(test, wheel, shift, cursor,
						  model_ns(shift, tick + near) +
						  ns);
				if (fixture_failed(test))
					return;
			}
		}
	}
}

static void level_boundaries(struct kunit *test)
{
	static const unsigned int shifts[] = { 10, 16, 20 };
	struct roost_wheel *wheel = make_wheel(test);
	unsigned int i, level;

	for (i = 0; i < ARRAY_SIZE(shifts); i++) {
		place_around(test, wheel, shifts[i], 1);
		for (level = 1; level < ROOST_WHEEL_LEVELS; level++) {
			/* The last tick before a level turns, and the first. */
			place_around(test, wheel, shifts[i],
				     5 * LEVEL_TICKS(level) - 1);
			place_around(test, wheel, shifts[i],
				     LEVEL_TICKS(level));
			/* Tests run on kernels without preemption, too. */
			cond_resched();
			if (fixture_failed(test))
				return;
		}
	}
}

static void extreme_deadlines(struct kunit *test)
{
	static const u64 half = 1ULL << 63;
	u64 now = 3600 * NSEC_PER_SEC + 12345;
	u64 expires[] = { 0, 1, now - 1, now, half - 1, half, U64_MAX - 1,
			  U64_MAX, now + 10 * NSEC_PER_MSEC };
	struct roost_wheel_entry entry[ARRAY_SIZE(expires)];
	struct roost_wheel *wheel = make_wheel(test);
	unsigned int i, steps = 0;
	u64 next = 0;

	roost_wheel_init(wheel, 16, now);
	for (i = 0; i < ARRAY_SIZE(expires); i++)
		arm(test, wheel, &entry[i], expires[i], now);
	/* What has passed expires at the next tick, not before. */
	KUNIT_EXPECT_EQ(test, take(test, wheel, now, UNLIMITED, NULL), 0U);
	KUNIT_EXPECT_EQ(test, take(test, wheel, now + TICK, UNLIMITED, NULL),
			4U);
	while (roost_wheel_queued(&entry[8]) && steps++ < 10) {
		next = roost_wheel_next(wheel);
		take(test, wheel, next, UNLIMITED, NULL);
	}
	KUNIT_EXPECT_EQ(test, next,
			model_ns(16, model_due(16, expires[8], now)));
	KUNIT_EXPECT_EQ(test, take(test, wheel, half - 1, UNLIMITED, NULL), 0U);
	KUNIT_EXPECT_EQ(test, take(test, wheel, half, UNLIMITED, NULL), 2U);
	/* Those of the last tick, which never ends, never expire. */
	KUNIT_EXPECT_EQ(test, take(test, wheel, U64_MAX, UNLIMITED, NULL), 0U);
	KUNIT_EXPECT_EQ(test, roost_wheel_next(wheel), U64_MAX);
	KUNIT_EXPECT_EQ(test, roost_wheel_count(wheel), 2U);
	KUNIT_EXPECT_TRUE(test, roost_wheel_del(wheel, &entry[6]));
	KUNIT_EXPECT_TRUE(test, roost_wheel_del(wheel, &entry[7]));
	KUNIT_EXPECT_TRUE(test, roost_wheel_check(wheel));
}

/* Cascaded entries cost as much as expired ones, and none is lost. */
static void budget_is_kept(struct kunit *test)
{
	enum { N = 100 };
	struct roost_wheel *wheel = make_wheel(test);
	struct roost_wheel_entry *entry;
	unsigned int i, looked = 0, n;

	entry = kunit_kcalloc(test, N, sizeof(*entry), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, entry);
	roost_wheel_init(wheel, 16, 0);
	/* All in one slot of level 1; every other one is due when it begins. */
	for (i = 0; i < N; i++)
		arm(test, wheel, &entry[i], (64 + i % 2 * 5) * TICK, 0);
	KUNIT_EXPECT_EQ(test, take(test, wheel, 64 * TICK, 7, &looked), 4U);
	KUNIT_EXPECT_EQ(test, looked, 7U);
	KUNIT_EXPECT_EQ(test, roost_wheel_next(wheel), 64 * TICK);
	for (n = 4; roost_wheel_next(wheel) == 64 * TICK && n < N;)
		n += take(test, wheel, 64 * TICK, 7, &looked);
	KUNIT_EXPECT_EQ(test, n, N / 2U);
	KUNIT_EXPECT_EQ(test, looked, (unsigned int)N);
	KUNIT_EXPECT_EQ(test, take(test, wheel, 69 * TICK, UNLIMITED, NULL),
			N / 2U);
}

/* Random operations, on entries that move between two wheels. */

enum { ITEMS = 48, WHEELS = 2 };

/**
 * struct item - an entry and what it should be
 * @entry:	on the wheel, or on none
 * @wheel:	on which wheel, -1 for none
 * @due:	tick at which it must expire
 */
struct item {
	struct roost_wheel_entry entry;
	int wheel;
	u64 due;
};

struct model {
	struct kunit *test;
	struct roost_wheel *wheels[WHEELS];
	struct item items[ITEMS];
	unsigned int shift;
	unsigned int bits;
	unsigned int budget;
	u64 state;
	u64 now;
};

/* Small and huge ones alike, and some that have passed. */
static u64 random_deadline(struct model *m)
{
	u64 delta = fixture_random(&m->state) >>
		    (63 - fixture_below(&m->state, m->bits));

	if (!fixture_below(&m->state, 8))
		return m->now > delta ? m->now - delta : 0;
	return add_ns(m->now, delta);
}

static void operate(struct model *m)
{
	struct item *item = &m->items[fixture_below(&m->state, ITEMS)];
	int from = item->wheel, to = fixture_below(&m->state, WHEELS + 1) - 1;
	struct roost_wheel_entry *entry = &item->entry;
	u64 expires = random_deadline(m);
	bool queued = true;

	if (from >= 0 && from == to) {
		queued = roost_wheel_mod(m->wheels[to], entry, expires, m->now);
	} else {
		if (from >= 0)
			queued = roost_wheel_del(m->wheels[from], entry);
		if (to >= 0)
			roost_wheel_add(m->wheels[to], entry, expires, m->now);
	}
	KUNIT_EXPECT_TRUE(m->test, queued);
	item->wheel = to;
	item->due = model_due(m->shift, expires, m->now);
}

/* What holds at any moment. */
static void compare(struct model *m, int w)
{
	struct roost_wheel *wheel = m->wheels[w];
	u64 first = U64_MAX, next;
	unsigned int i, n = 0;

	for (i = 0; i < ITEMS; i++) {
		KUNIT_EXPECT_EQ(m->test, roost_wheel_queued(&m->items[i].entry),
				m->items[i].wheel >= 0);
		if (m->items[i].wheel != w)
			continue;
		n++;
		first = min(first, m->items[i].due);
	}
	next = model_ns(m->shift, first);
	if (m->budget != UNLIMITED)
		next = max(next, m->now);
	KUNIT_EXPECT_EQ(m->test, roost_wheel_count(wheel), n);
	KUNIT_EXPECT_LE(m->test, roost_wheel_next(wheel), next);
	if (!n)
		KUNIT_EXPECT_EQ(m->test, roost_wheel_next(wheel), U64_MAX);
	KUNIT_EXPECT_TRUE(m->test, roost_wheel_check(wheel));
}

/* Exactly those that are due must come out. */
static void advance(struct model *m, int w)
{
	u64 tick = model_now(m->shift, m->now);
	struct roost_wheel *wheel = m->wheels[w];
	unsigned int looked, i, left = 0;
	struct item *item;
	LIST_HEAD(expired);

	looked = roost_wheel_advance(wheel, m->now, m->budget, &expired);
	KUNIT_EXPECT_LE(m->test, looked, m->budget);
	while (!list_empty(&expired)) {
		item = list_first_entry(&expired, struct item, entry.node);
		list_del_init(&item->entry.node);
		KUNIT_EXPECT_EQ(m->test, item->wheel, w);
		KUNIT_EXPECT_LE(m->test, item->due, tick);
		KUNIT_EXPECT_LE(m->test, item->entry.expires, m->now);
		item->wheel = -1;
	}
	for (i = 0; i < ITEMS; i++)
		left += m->items[i].wheel == w && m->items[i].due <= tick;
	if (looked < m->budget)
		KUNIT_EXPECT_EQ(m->test, left, 0U);
	else if (left)
		KUNIT_EXPECT_LE(m->test, roost_wheel_next(wheel), m->now);
}

static void pass_time(struct model *m)
{
	u64 next = roost_wheel_next(m->wheels[0]);

	switch (fixture_below(&m->state, 4)) {
	case 0:
		m->now = max(m->now, random_deadline(m));
		break;
	case 1:
		m->now = max(m->now, next);
		break;
	default:
		m->now = add_ns(m->now, fixture_below(&m->state,
						      64U << m->shift));
	}
}

static void random_run(struct model *m)
{
	unsigned int i, step;
	int w;

	for (w = 0; w < WHEELS; w++)
		roost_wheel_init(m->wheels[w], m->shift, m->now);
	for (i = 0; i < ITEMS; i++) {
		roost_wheel_entry_init(&m->items[i].entry);
		m->items[i].wheel = -1;
	}
	for (step = 0; step < 250 && !fixture_failed(m->test); step++) {
		for (i = fixture_below(&m->state, 8); i; i--)
			operate(m);
		pass_time(m);
		for (w = 0; w < WHEELS; w++) {
			advance(m, w);
			compare(m, w);
		}
		cond_resched();
	}
	if (fixture_failed(m->test))
		kunit_err(m->test, "shift %u bits %u budget %u step %u",
			  m->shift, m->bits, m->budget, step);
}

static void random_against_array(struct kunit *test)
{
	static const unsigned int budgets[] = { 1, 7, UNLIMITED };
	static const unsigned int bits[] = { 24, 36, 48, 63 };
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	unsigned int b, i;
	int w;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, m);
	m->test = test;
	m->state = fixture_seed(test);
	for (w = 0; w < WHEELS; w++)
		m->wheels[w] = make_wheel(test);
	for (b = 0; b < ARRAY_SIZE(budgets); b++) {
		for (i = 0; i < ARRAY_SIZE(bits); i++) {
			m->budget = budgets[b];
			m->bits = bits[i];
			m->shift = 10 + fixture_below(&m->state, 11);
			m->now = fixture_random(&m->state) >>
				 fixture_below(&m->state, 64);
			random_run(m);
		}
	}
}

static struct kunit_case wheel_cases[] = {
	KUNIT_CASE(level_boundaries),
	KUNIT_CASE(extreme_deadlines),
	KUNIT_CASE(budget_is_kept),
	KUNIT_CASE(random_against_array),
	{}
};

FIXTURE_SUITE(wheel, wheel_cases);
