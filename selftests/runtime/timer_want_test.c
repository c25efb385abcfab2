// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * timer_want_test.c - an actor wants a deadline while an older one of its expires: either
 * it sees that nothing is armed, or who handles the expiry sees what it wants (timer.c).
 */
#include "run.h"

#include "runtime.h"
#include "timer.h"
#include "timer_want.h"

#include "meet.h"

static struct runtime rt;
static struct worker worker __attribute__((aligned(128)));
static struct slot slot;
static bool armed_by_actor;

static void notes_that_it_is_armed(struct worker *w unused_arg, struct wtimer *t unused_arg)
{
	armed_by_actor = true;
}

static const struct backend notes = { .timer_arm = notes_that_it_is_armed };

/* What was armed for the last wait, which is over, is earlier than what will be wanted. */
static void an_older_one_is_armed(void *arg unused_arg)
{
	armed_by_actor = false;
	atomic_store(&slot.timer.deadline, ROOST_FOREVER);
	atomic_store(&slot.timer.armed, 1);
}

static bool actor_arms(void *arg unused_arg)
{
	timer_want(&worker, &slot, 1000);
	return armed_by_actor;
}

/* As a backend does it, at a time before what is wanted. */
static bool expiry_arms(void *arg unused_arg)
{
	atomic_store_explicit(&slot.timer.armed, ROOST_FOREVER, memory_order_relaxed);
	return timer_expired(&rt, &slot.timer, 1) == 1000;
}

ROOST_TEST(a_deadline_is_seen_by_the_expiry_or_armed_by_the_actor)
{
	struct meeting m = {
		.begin = an_older_one_is_armed, .slow = actor_arms, .fast = expiry_arms,
		.rounds = rounds(100000),
	};

	if (!meet_possible())
		SKIP("two threads on one CPU never do anything at the same time");
	rt.slots = &slot;
	rt.backend = &notes;
	worker.rt = &rt;
	meet(&m);
}

/* The other way round: the expiry's store is the late one. */
ROOST_TEST(an_expiry_sees_the_deadline_or_the_actor_sees_it)
{
	struct meeting m = {
		.begin = an_older_one_is_armed, .slow = expiry_arms, .fast = actor_arms,
		.rounds = rounds(100000),
	};

	if (!meet_possible())
		SKIP("two threads on one CPU never do anything at the same time");
	rt.slots = &slot;
	rt.backend = &notes;
	worker.rt = &rt;
	meet(&m);
}
