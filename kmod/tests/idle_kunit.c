// SPDX-License-Identifier: GPL-2.0
/*
 * Who is woken: the mask of parked workers, and the idle mask that the process
 * shares, which decides nothing.
 *
 * The carrier of every worker is the test's own thread, which is awake: that a
 * worker is parked is said here, not brought about.
 */
#include <linux/bitmap.h>
#include <linux/cpumask.h>

#include "../choose.h"
#include "../park.h"
#include "fixture.h"

#define ALL	ROOST_MAX_WORKERS

/* At the edges of the mask's words. */
static const u32 edges[] = { 0, 1, 62, 63, 64, 65, 127, 128, 191, 192, 254,
			     255 };

static struct roost_worker *worker_of(struct kunit *test, u32 index)
{
	return fixture_domain(test)->workers[index];
}

static unsigned long *idle_mask(struct kunit *test)
{
	return (unsigned long *)fixture_domain(test)->control->idle;
}

static int idle_init(struct kunit *test)
{
	int ret = fixture_init(test);
	u32 i;

	if (ret)
		return ret;
	for (i = 0; i < ALL; i++)
		fixture_attach(fixture_worker(test, 1, 2), current);
	return 0;
}

/* As go_to_sleep() leaves it. */
static void park(struct kunit *test, u32 index)
{
	struct roost_worker *worker = worker_of(test, index);

	worker->reason = 0;
	worker->asleep = true;
	worker->page->parked = 1;
	set_bit(index, idle_mask(test));
	set_bit(index, fixture_domain(test)->parked);
}

static void expect_parked(struct kunit *test, u32 index, bool parked)
{
	struct roost_worker *worker = worker_of(test, index);

	KUNIT_EXPECT_EQ(test, test_bit(index, fixture_domain(test)->parked),
			parked);
	KUNIT_EXPECT_EQ(test, test_bit(index, idle_mask(test)), parked);
	KUNIT_EXPECT_EQ(test, worker->page->parked, parked);
	KUNIT_EXPECT_EQ(test, worker->asleep, parked);
	if (fixture_failed(test))
		kunit_err(test, "worker %u", index);
}

/* Waking one takes the highest, at each index, and leaves its neighbours. */
static void one_takes_the_highest(struct kunit *test)
{
	struct roost_domain *domain = fixture_domain(test);
	u32 i;

	KUNIT_EXPECT_FALSE(test, roost_domain_parked(domain));
	KUNIT_EXPECT_EQ(test, roost_wake(domain, ROOST_WAKE_ONE, 0), 0);
	for (i = 0; i < ALL; i++)
		park(test, i);
	for (i = ALL; i-- && !fixture_failed(test);) {
		KUNIT_EXPECT_TRUE(test, roost_domain_parked(domain));
		KUNIT_EXPECT_EQ(test, roost_wake(domain, ROOST_WAKE_ONE, 0), 1);
		expect_parked(test, i, false);
		KUNIT_EXPECT_EQ(test, worker_of(test, i)->reason,
				ROOST_OUT_WAKE);
		KUNIT_EXPECT_EQ(test, bitmap_weight(domain->parked, ALL), i);
	}
	KUNIT_EXPECT_FALSE(test, roost_domain_parked(domain));
	KUNIT_EXPECT_EQ(test, roost_wake(domain, ROOST_WAKE_ONE, 0), 0);
}

/* A completion wakes its own worker; if that is awake, the highest parked. */
static void completion_prefers_home(struct kunit *test)
{
	struct roost_domain *domain = fixture_domain(test);
	u32 home, other, i, k;

	for (i = 0; i < ARRAY_SIZE(edges); i++) {
		for (k = 0; k < ARRAY_SIZE(edges); k++) {
			home = edges[i];
			other = edges[k];
			park(test, home);
			park(test, other);
			roost_wake_for(worker_of(test, home));
			expect_parked(test, home, false);
			KUNIT_EXPECT_EQ(test, worker_of(test, home)->reason,
					ROOST_OUT_EVENT);
			if (other == home)
				continue;
			expect_parked(test, other, true);
			roost_wake_for(worker_of(test, home));
			expect_parked(test, other, false);
			KUNIT_EXPECT_FALSE(test, roost_domain_parked(domain));
			if (fixture_failed(test))
				return;
		}
	}
	/* Nobody is parked: nothing happens. */
	roost_wake_for(worker_of(test, 7));
	KUNIT_EXPECT_EQ(test, worker_of(test, 7)->permit, false);
}

/* By index: the one that is meant and no other; awake, it gets a permit. */
static void index_is_taken_at_its_word(struct kunit *test)
{
	struct roost_domain *domain = fixture_domain(test);
	u32 i, at;

	for (i = 0; i < ALL; i++)
		park(test, i);
	for (i = 0; i < ARRAY_SIZE(edges); i++) {
		at = edges[i];
		KUNIT_EXPECT_EQ(test, roost_wake_index(domain, at, false), 1);
		expect_parked(test, at, false);
		KUNIT_EXPECT_EQ(test, bitmap_weight(domain->parked, ALL),
				ALL - i - 1);
		KUNIT_EXPECT_FALSE(test, worker_of(test, at)->permit);
		KUNIT_EXPECT_EQ(test, roost_wake_index(domain, at, false), 1);
		KUNIT_EXPECT_TRUE(test, worker_of(test, at)->permit);
		KUNIT_EXPECT_EQ(test, roost_wake_index(domain, at, true), 0);
	}
	KUNIT_EXPECT_EQ(test, roost_wake_index(domain, ALL, false), -ESRCH);
	KUNIT_EXPECT_EQ(test, roost_wake_index(domain, ALL + 1, false), -ESRCH);
	KUNIT_EXPECT_EQ(test, roost_wake_index(domain, 1U << 31, false),
			-ESRCH);
	KUNIT_EXPECT_EQ(test, roost_wake_index(domain, U32_MAX, false), -ESRCH);
	fixture_attach(worker_of(test, 64), NULL);
	KUNIT_EXPECT_EQ(test, roost_wake_index(domain, 64, false), -ESRCH);
}

static void all_wakes_all(struct kunit *test)
{
	struct roost_domain *domain = fixture_domain(test);
	u32 i;

	for (i = 0; i < ALL; i += 2)
		park(test, i);
	fixture_attach(worker_of(test, 8), NULL);
	KUNIT_EXPECT_EQ(test, roost_wake(domain, ROOST_WAKE_ALL, 0), ALL - 1);
	for (i = 0; i < ALL; i++) {
		KUNIT_EXPECT_EQ(test, worker_of(test, i)->permit, i % 2);
		if (i != 8)
			expect_parked(test, i, false);
	}
	clear_bit(8, domain->parked);
	/* Permits are not counted twice. */
	KUNIT_EXPECT_EQ(test, roost_wake(domain, ROOST_WAKE_ALL, 0),
			ALL / 2 - 1);
	KUNIT_EXPECT_EQ(test, roost_wake(domain, ROOST_WAKE_ALL, 0), 0);
}

static void flags_are_checked(struct kunit *test)
{
	struct roost_domain *domain = fixture_domain(test);
	static const struct {
		u32 flags, index;
		int ret;
	} rows[] = {
		{ ROOST_WAKE_ONE, 1, -EINVAL },
		{ ROOST_WAKE_ALL, 1, -EINVAL },
		{ ROOST_WAKE_ALL | ROOST_WAKE_SYNC, 0, -EINVAL },
		{ ROOST_WAKE_ONE | ROOST_WAKE_INDEX, 0, -EINVAL },
		{ ROOST_WAKE_ONE | ROOST_WAKE_ALL, 0, -EINVAL },
		{ ROOST_WAKE_INDEX | ROOST_WAKE_ALL, 0, -EINVAL },
		{ ROOST_WAKE_SYNC, 0, -EINVAL },
		{ 0, 0, -EINVAL },
		{ 1U << 31, 0, -EINVAL },
		{ ROOST_WAKE_ONE | ROOST_WAKE_SYNC, 0, 1 },
		{ ROOST_WAKE_INDEX | ROOST_WAKE_SYNC, 3, 1 },
	};
	u32 i;

	park(test, 3);
	park(test, 9);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, roost_wake(domain, rows[i].flags,
						     rows[i].index),
				    rows[i].ret, "row %u", i);
	KUNIT_EXPECT_FALSE(test, roost_domain_parked(domain));
}

/*
 * Against a model, with a process that writes whatever it likes to the words
 * that it shares.  That a worker is woken must depend on private state alone.
 */
struct model {
	DECLARE_BITMAP(parked, ALL);
	DECLARE_BITMAP(permit, ALL);
};

static void scribble(struct kunit *test, u64 *state)
{
	struct roost_domain *domain = fixture_domain(test);

	domain->control->idle[fixture_below(state, ROOST_MASK_WORDS)] =
		fixture_random(state);
	domain->control->event = fixture_random(state);
	worker_of(test, fixture_below(state, ALL))->page->parked =
		fixture_random(state);
}

static void step(struct kunit *test, struct model *m, u64 *state)
{
	struct roost_domain *domain = fixture_domain(test);
	u32 index = fixture_below(state, ALL);
	u32 last = find_last_bit(m->parked, ALL);
	bool was = test_bit(index, m->parked);

	switch (fixture_below(state, 5)) {
	case 0:
	case 1:
		if (was)
			break;
		/* Who has a permit uses it up instead. */
		if (test_and_clear_bit(index, m->permit)) {
			worker_of(test, index)->permit = false;
			break;
		}
		set_bit(index, m->parked);
		park(test, index);
		break;
	case 2:
		KUNIT_EXPECT_EQ(test, roost_wake(domain, ROOST_WAKE_ONE, 0),
				last < ALL);
		if (last < ALL)
			clear_bit(last, m->parked);
		break;
	case 3:
		KUNIT_EXPECT_EQ(test, roost_wake_index(domain, index, false),
				was || !test_bit(index, m->permit));
		if (!test_and_clear_bit(index, m->parked))
			set_bit(index, m->permit);
		break;
	default:
		roost_wake_for(worker_of(test, index));
		if (!test_and_clear_bit(index, m->parked) && last < ALL)
			clear_bit(last, m->parked);
	}
}

static void random_against_model(struct kunit *test)
{
	struct roost_domain *domain = fixture_domain(test);
	u64 state = fixture_seed(test);
	struct model m = { };
	u32 i, k;

	for (i = 0; i < 4000 && !fixture_failed(test); i++) {
		step(test, &m, &state);
		scribble(test, &state);
		KUNIT_EXPECT_TRUE(test, bitmap_equal(m.parked, domain->parked,
						     ALL));
		KUNIT_EXPECT_EQ(test, roost_domain_parked(domain),
				!bitmap_empty(m.parked, ALL));
		k = fixture_below(&state, ALL);
		KUNIT_EXPECT_EQ(test, worker_of(test, k)->permit,
				test_bit(k, m.permit));
	}
	if (fixture_failed(test))
		kunit_err(test, "step %u", i);
}

/* Who sleeps near the waker comes first, then the highest; CPUs as in a mask. */
static void near_comes_first(struct kunit *test)
{
	struct roost_domain *domain = fixture_domain(test);
	cpumask_var_t near;
	u32 i;

	KUNIT_ASSERT_TRUE(test, alloc_cpumask_var(&near, GFP_KERNEL));
	cpumask_clear(near);
	KUNIT_EXPECT_PTR_EQ(test, roost_choose_near(domain, near), NULL);
	for (i = 0; i < ALL; i++) {
		worker_of(test, i)->cpu = 0;
		park(test, i);
	}
	/* Nobody is near, be it that none ever ran there or that it is offline. */
	KUNIT_EXPECT_PTR_EQ(test, roost_choose_near(domain, near),
			    worker_of(test, ALL - 1));
	cpumask_set_cpu(0, near);
	KUNIT_EXPECT_PTR_EQ(test, roost_choose_near(domain, near),
			    worker_of(test, ALL - 1));
	cpumask_clear(near);
	cpumask_set_cpu(nr_cpu_ids - 1, near);
	for (i = 0; nr_cpu_ids > 1 && i < ARRAY_SIZE(edges); i++) {
		/* As many as there are by now: the highest of them. */
		worker_of(test, edges[i])->cpu = nr_cpu_ids - 1;
		KUNIT_EXPECT_PTR_EQ(test, roost_choose_near(domain, near),
				    worker_of(test, edges[i]));
		/* Not near if it is awake. */
		clear_bit(edges[i], domain->parked);
		KUNIT_EXPECT_PTR_EQ(test, roost_choose_near(domain, near),
				    i ? worker_of(test, edges[i - 1]) :
					worker_of(test, ALL - 1));
		set_bit(edges[i], domain->parked);
	}
	free_cpumask_var(near);
}

static struct kunit_case idle_cases[] = {
	KUNIT_CASE(one_takes_the_highest),
	KUNIT_CASE(near_comes_first),
	KUNIT_CASE(completion_prefers_home),
	KUNIT_CASE(index_is_taken_at_its_word),
	KUNIT_CASE(all_wakes_all),
	KUNIT_CASE(flags_are_checked),
	KUNIT_CASE(random_against_model),
	{}
};

FIXTURE_SUITE_INIT(idle, idle_cases, idle_init);
