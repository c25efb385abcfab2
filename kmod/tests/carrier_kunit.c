// SPDX-License-Identifier: GPL-2.0
/*
 * What the scheduler tells of a carrier as it leaves its CPU, and what is made of it:
 * blocked, and only then; not who was stopped from outside, or is just being woken.
 * The notifier is called by hand, for the test's own thread, which for that moment is
 * made look as the scheduler would have left it.
 */
#include "../carrier.c"

#include "fixture.h"

struct leaving {
	const char *name;
	unsigned int state;
	unsigned long jobctl;
	bool queued;		/* on the run queue still */
	bool pinned;		/* inside a park */
	bool inside;		/* the library */
	/* what comes of it */
	bool blocked;
	bool stuck;
	bool active;
	bool preempted;
};

static const struct leaving leavings[] = {
	{ .name = "asleep", .state = TASK_INTERRUPTIBLE,
	  .blocked = true, .stuck = true },
	{ .name = "asleep for good", .state = TASK_UNINTERRUPTIBLE,
	  .blocked = true, .stuck = true },
	{ .name = "asleep inside the library", .state = TASK_INTERRUPTIBLE,
	  .inside = true, .blocked = true },
	{ .name = "parked", .state = TASK_INTERRUPTIBLE, .pinned = true },
	{ .name = "preempted", .state = TASK_RUNNING, .queued = true,
	  .active = true, .preempted = true },
	{ .name = "preempted before it slept", .state = TASK_INTERRUPTIBLE,
	  .queued = true, .active = true, .preempted = true },
	{ .name = "woken as it left", .state = TASK_WAKING,
	  .active = true, .preempted = true },
	{ .name = "stopped", .state = __TASK_STOPPED },
	{ .name = "traced", .state = __TASK_TRACED },
	{ .name = "frozen", .state = TASK_FROZEN },
	{ .name = "frozen by its cgroup", .state = TASK_INTERRUPTIBLE,
	  .jobctl = JOBCTL_TRAP_FREEZE },
	{ .name = "dead", .state = TASK_DEAD },
};

static bool told(const struct roost_worker *worker, unsigned long *mask)
{
	return test_bit(worker->index, mask);
}

/* As if the scheduler had done with the current task what it is said to have. */
static void leave(struct roost_carrier *carrier, const struct leaving *l)
{
	unsigned long jobctl = current->jobctl;
	int on_rq = current->on_rq;

	current->jobctl |= l->jobctl;
	current->on_rq = l->queued ? on_rq : 0;
	raw_spin_lock(&carrier->lock);
	tell_off(carrier, l->state);
	raw_spin_unlock(&carrier->lock);
	current->on_rq = on_rq;
	current->jobctl = jobctl;
}

static void leave_once(struct kunit *test, struct roost_carrier *carrier,
		       const struct leaving *l)
{
	struct roost_worker *worker = carrier->worker;
	u64 preempted = worker->preempted, blocks = worker->blocked;
	bool on, off;

	worker->pinned = l->pinned;
	worker->page->in_library = l->inside ? roost_inside(carrier->lease) :
					       roost_outside(carrier->lease);
	/* Nothing may look at the task meanwhile. */
	local_irq_disable();
	raw_spin_lock(&carrier->lock);
	carrier->stuck = false;
	tell_running(carrier);
	on = told(worker, on_cpu(worker)) && !told(worker, blocked(worker));
	raw_spin_unlock(&carrier->lock);
	leave(carrier, l);
	off = !told(worker, on_cpu(worker));
	local_irq_enable();

	KUNIT_EXPECT_TRUE_MSG(test, on, "%s: not told to run", l->name);
	KUNIT_EXPECT_TRUE_MSG(test, off, "%s: told to run", l->name);
	KUNIT_EXPECT_EQ_MSG(test, carrier->blocked, l->blocked, "%s", l->name);
	KUNIT_EXPECT_EQ_MSG(test, told(worker, blocked(worker)), l->blocked,
			    "%s", l->name);
	KUNIT_EXPECT_EQ_MSG(test, worker->blocked - blocks, (u64)l->blocked,
			    "%s", l->name);
	KUNIT_EXPECT_EQ_MSG(test, carrier->stuck, l->stuck, "%s", l->name);
	KUNIT_EXPECT_EQ_MSG(test, carrier->active, l->active, "%s", l->name);
	KUNIT_EXPECT_EQ_MSG(test, worker->preempted - preempted,
			    (u64)l->preempted, "%s", l->name);
	KUNIT_EXPECT_EQ_MSG(test, carrier->cpu, -1, "%s", l->name);
	worker->pinned = false;
}

static void what_is_told_of_who_leaves(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 1, 2);
	struct roost_carrier *carrier = kzalloc(sizeof(*carrier), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, carrier);
	fixture_attach(worker, current);
	raw_spin_lock_init(&carrier->lock);
	roost_takeover_setup(carrier);
	carrier->worker = worker;
	carrier->lease = worker->lease;
	carrier->task = current;
	fixture_use_mm();
	for (i = 0; i < ARRAY_SIZE(leavings); i++)
		leave_once(test, carrier, &leavings[i]);
	fixture_unuse_mm();

	/* Another program: no longer the domain's to watch. */
	local_irq_disable();
	raw_spin_lock(&carrier->lock);
	carrier->active = true;
	carrier->blocked = true;
	tell_off(carrier, TASK_INTERRUPTIBLE);
	raw_spin_unlock(&carrier->lock);
	local_irq_enable();
	KUNIT_EXPECT_FALSE(test, carrier->active);
	KUNIT_EXPECT_FALSE(test, carrier->blocked);
	KUNIT_EXPECT_FALSE(test, told(worker, blocked(worker)));

	hrtimer_cancel(&carrier->grace);
	fixture_attach(worker, NULL);
	kfree(carrier);
}

static struct kunit_case carrier_cases[] = {
	KUNIT_CASE(what_is_told_of_who_leaves),
	{}
};

FIXTURE_SUITE(carrier, carrier_cases);
