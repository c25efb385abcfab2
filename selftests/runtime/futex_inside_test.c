// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * futex_inside_test.c - steps of the futex backend, one by one and from the inside:
 * whose wheel is locked, who keeps time, and who sees whom (S1-01, S1-14, S1-15, S1-19).
 *
 * The library's file is compiled here, and what its delays call is this file's.
 */
#include "run.h"

#ifndef ROOST_INJECT
#define ROOST_INJECT
#endif
#include "backend_futex.c"

#include "meet.h"

static _Thread_local void (*at_the_next_delay)(void);

/* Also what other parts of the library call, if that has delays. */
void inject_delay(void)
{
	void (*fn)(void) = at_the_next_delay;

	if (unlikely(fn)) {
		at_the_next_delay = NULL;
		fn();
	}
}

/* A runtime with two workers and without threads. */
static struct runtime rt;
static struct worker workers[2] __attribute__((aligned(128)));
static struct wtimer timer;

static bool setup(void)
{
	unsigned int i;

	memset(&rt, 0, sizeof(rt));
	memset(workers, 0, sizeof(workers));
	memset(&timer, 0, sizeof(timer));
	rt.config.tick_ns = 1U << 16;
	rt.backend = &backend_futex;
	rt.workers = workers;
	rt.nr_workers = 2;
	if (!CHECK_EQ(backend_futex.start(&rt), 0))
		return false;
	for (i = 0; i < 2; i++) {
		workers[i].rt = &rt;
		workers[i].index = i;
		if (!CHECK_EQ(backend_futex.worker_init(&workers[i]), 0))
			return false;
	}
	atomic_init(&timer.deadline, ROOST_FOREVER);
	atomic_init(&timer.armed, ROOST_FOREVER);
	roost_wheel_entry_init(&timer.entry);
	return true;
}

static void teardown(void)
{
	backend_futex.worker_fini(&workers[1]);
	backend_futex.worker_fini(&workers[0]);
	backend_futex.end(&rt);
}

static uint32_t keeper(void)
{
	return atomic_load(&domain_of(&rt)->keeper);
}

static bool is_idle(unsigned int index)
{
	return atomic_load_explicit(control_idle(&rt, 0), memory_order_relaxed) >> index & 1;
}

static bool is_locked(unsigned int index)
{
	return atomic_load(&half_of(&workers[index])->lock.word);
}

/* As lock_wheel_for() does it, for a worker that arms the timer just then. */
static void moves_the_timer(void)
{
	spin_lock(&half_of(&workers[0])->lock);
	atomic_store(&timer.worker, 1);
	spin_unlock(&half_of(&workers[0])->lock);
}

ROOST_TEST(the_wheel_is_locked_that_the_timer_is_on_then)
{
	struct worker *home;

	REQUIRE(setup());
	at_the_next_delay = moves_the_timer;
	home = lock_home(&rt, &timer);
	CHECK(!at_the_next_delay);
	CHECK_EQ(home->index, 1);
	CHECK(is_locked(1));
	CHECK(!is_locked(0));
	spin_unlock(&half_of(home)->lock);
	teardown();
}

/* A sibling that sleeps, and is not the keeper. */
static void sibling_sleeps(void)
{
	idle_set(&workers[1]);
	atomic_store(&half_of(&workers[1])->parked, 1);
}

static bool sibling_was_woken(void)
{
	return !is_idle(1) && !atomic_load(&half_of(&workers[1])->parked);
}

ROOST_TEST(s1_19_a_keeper_that_gets_an_actor_gives_the_role_on)
{
	REQUIRE(setup());
	CHECK(keeper_become(&workers[0]));
	atomic_store(&timer.deadline, roost_after(ROOST_SEC(60)));
	backend_futex.timer_arm(&workers[0], &timer);
	sibling_sleeps();
	backend_futex.busy(&workers[0]);
	CHECK_EQ(keeper(), 2);
	CHECK_EQ(atomic_load(&rt.reluctant), 2);
	CHECK(sibling_was_woken());
	backend_futex.timer_end(&workers[0], &timer);
	teardown();
}

ROOST_TEST(s1_19_a_role_without_timers_is_left_to_who_parks_next)
{
	REQUIRE(setup());
	CHECK(keeper_become(&workers[0]));
	sibling_sleeps();
	backend_futex.busy(&workers[0]);
	CHECK_EQ(keeper(), 0);
	CHECK_EQ(atomic_load(&rt.reluctant), 0);
	CHECK(!sibling_was_woken());
	CHECK(keeper_become(&workers[1]));
	teardown();
}

/* Armed on a sibling's wheel, by one that has become busy: it looks at all wheels. */
ROOST_TEST(s1_19_the_role_is_given_on_for_a_siblings_timer)
{
	REQUIRE(setup());
	CHECK(keeper_become(&workers[0]));
	timer.worker = 1;
	atomic_store(&timer.deadline, roost_after(ROOST_SEC(60)));
	backend_futex.timer_arm(&workers[1], &timer);
	sibling_sleeps();
	backend_futex.busy(&workers[0]);
	CHECK_EQ(keeper(), 2);
	CHECK(sibling_was_woken());
	backend_futex.timer_end(&workers[1], &timer);
	teardown();
}

/* The sibling that is to get the role wakes by itself, and is at an actor. */
static void sibling_runs_an_actor(void)
{
	idle_clear(&workers[1]);
	atomic_store(&half_of(&workers[1])->parked, 0);
	backend_futex.busy(&workers[1]);
}

static void sibling_runs_an_actor_next(void)
{
	at_the_next_delay = sibling_runs_an_actor;
}

/* It comes back, and keeps time. */
static void sibling_parks(void)
{
	CHECK(keeper_become(&workers[1]));
}

static void sibling_parks_next(void)
{
	at_the_next_delay = sibling_parks;
}

static void appoint_while(void (*fn)(void))
{
	atomic_store(&timer.deadline, roost_after(ROOST_SEC(60)));
	backend_futex.timer_arm(&workers[0], &timer);
	sibling_sleeps();
	at_the_next_delay = fn;
	backend_futex.busy(&workers[0]);
	CHECK(!at_the_next_delay);
	backend_futex.timer_end(&workers[0], &timer);
}

/* Who computes, and was to get the role, does not keep it from who parks. */
ROOST_TEST(s1_19_who_runs_an_actor_is_not_given_the_role)
{
	void (*const when[])(void) = { sibling_runs_an_actor, sibling_runs_an_actor_next };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		REQUIRE(setup());
		appoint_while(when[i]);
		CHECK_EQ(keeper(), 0);
		CHECK(keeper_become(&workers[0]));
		CHECK(!keeper_become(&workers[1]));
		teardown();
	}
}

/* Nor is it taken back from who parks. */
ROOST_TEST(s1_12_who_parks_while_it_is_given_the_role_has_it)
{
	void (*const when[])(void) = { sibling_parks, sibling_parks_next };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		REQUIRE(setup());
		appoint_while(when[i]);
		CHECK(!keeper_become(&workers[0]));
		CHECK(keeper_become(&workers[1]));
		teardown();
	}
}

#define ONE_CPU	"two threads on one CPU never do anything at the same time"

/* Worker 0 keeps time, and looks for the last time while worker 1 arms a timer. */
static void nothing_is_armed(void *deadline)
{
	backend_futex.timer_end(&workers[1], &timer);
	atomic_store(&domain_of(&rt)->keeper_until, 0);
	idle_set(&workers[0]);
	*(uint64_t *)deadline = roost_after(ROOST_SEC(60));
}

static bool keeper_sees_it(void *deadline)
{
	(void)deadline;
	return keeper_prepare(&workers[0]) != ROOST_FOREVER;
}

static bool keeper_is_told(void *deadline)
{
	timer.worker = 1;
	arm(&workers[1], &timer, *(uint64_t *)deadline);
	return !is_idle(0);
}

ROOST_TEST(s1_15_the_keeper_sees_a_timer_or_is_told_of_it)
{
	uint64_t deadline;
	struct meeting m = {
		.begin = nothing_is_armed, .slow = keeper_sees_it,
		.fast = keeper_is_told, .arg = &deadline, .rounds = rounds(100000),
	};

	if (!meet_possible())
		SKIP(ONE_CPU);
	REQUIRE(setup());
	CHECK(keeper_become(&workers[0]));
	meet(&m);
	nothing_is_armed(&deadline);
	teardown();
}

/* Worker 0 goes to sleep while it is claimed and woken. */
static void is_about_to_park(void *arg)
{
	(void)arg;
	atomic_store(&half_of(&workers[0])->parked, 0);
	idle_set(&workers[0]);
}

static bool sees_that_it_was_claimed(void *arg)
{
	(void)arg;
	return !parks(&workers[0], atomic_load_explicit(control_event(&rt),
							memory_order_relaxed));
}

static bool waker_sees_that_it_parks(void *arg)
{
	(void)arg;
	return !idle_take(&rt, 0) || backend_futex.wake(&workers[0], false);
}

ROOST_TEST(s1_01_who_parks_sees_the_claim_or_the_waker_sees_it_park)
{
	struct meeting m = {
		.begin = is_about_to_park, .slow = sees_that_it_was_claimed,
		.fast = waker_sees_that_it_parks, .rounds = rounds(100000),
	};

	if (!meet_possible())
		SKIP(ONE_CPU);
	REQUIRE(setup());
	meet(&m);
	teardown();
}
