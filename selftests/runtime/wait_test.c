// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * wait_test.c - the suspension primitive, from the inside, and roost_park().
 */
#include <pthread.h>
#include <sched.h>

#include "actor.h"
#include "runtime.h"
#include "wait.h"

#include "inside.h"
#include "run.h"

/* A wait is over before its actor leaves the library: so it is here, all in one. */

static unsigned long wake_early(struct runtime *rt)
{
	struct wait_ref ref = wait_begin();
	unsigned long lost = !wait_wake(rt, ref);

	return lost + (wait_park(ROOST_FOREVER, false) != 0);
}

ACTOR_TEST(s0_19_wake_between_begin_and_park_a_million_times, usually(2))
{
	unsigned long n = rounds(1000000), i, lost = 0;
	struct runtime *rt = runtime_self();

	for (i = 0; i < n; i++)
		lost += INSIDE(wake_early(rt));
	CHECK_EQ(lost, 0);
}

static int wait_shortly(uint64_t ns)
{
	wait_begin();
	return wait_park(roost_after(ns), false);
}

static void wake_older(struct runtime *rt)
{
	struct wait_ref old = wait_begin();

	CHECK(wait_wake(rt, old));
	CHECK_EQ(wait_park(ROOST_FOREVER, false), 0);
	wait_begin();
	CHECK(!wait_wake(rt, old));
	CHECK_EQ(wait_park(roost_after(ROOST_MSEC(2)), false), -ETIMEDOUT);
}

/* S0-91, S3-19 */
ACTOR_TEST(s0_23_an_older_waits_wake_does_nothing, usually(2))
{
	INSIDE(wake_older(runtime_self()));
}

static void wake_retired(struct runtime *rt)
{
	struct wait_ref ref = wait_begin();

	CHECK(wait_wake(rt, ref));
	wait_retire();
	CHECK_EQ(wait_shortly(ROOST_MSEC(2)), -ETIMEDOUT);
	/* And without the new wait being told before. */
	ref = wait_begin();
	wait_retire();
	CHECK(!wait_wake(rt, ref));
}

ACTOR_TEST(s0_25_a_retired_waits_wake_does_not_leak, usually(2))
{
	INSIDE(wake_retired(runtime_self()));
}

/* A thread outside ends the waits that an actor publishes. */
struct published {
	struct runtime *rt;
	_Atomic uint64_t pid;
	_Atomic uint32_t epoch;
	_Atomic uint64_t not_before;
	_Atomic uint32_t turn;		/* raised after the others */
	_Atomic uint32_t answered;	/* the turn that was handled */
	_Atomic bool landed;
	_Atomic bool quit;
};

static void *outside_waker(void *arg)
{
	struct published *p = arg;
	unsigned int idle = 0;
	uint32_t last = 0;

	while (!atomic_load(&p->quit)) {
		uint32_t turn = atomic_load(&p->turn);
		struct wait_ref ref;

		if (turn == last) {
			if (!(++idle % 256))
				sched_yield();
			continue;
		}
		last = turn;
		ref.pid = atomic_load(&p->pid);
		ref.epoch = atomic_load(&p->epoch);
		while (roost_now() < atomic_load(&p->not_before))
			sched_yield();
		atomic_store(&p->landed, INSIDE(wait_wake(p->rt, ref)));
		atomic_store(&p->answered, turn);
	}
	return NULL;
}

static void publish(struct published *p, struct wait_ref ref)
{
	atomic_store(&p->pid, ref.pid);
	atomic_store(&p->epoch, ref.epoch);
	atomic_fetch_add(&p->turn, 1);
}

static bool answer(struct published *p)
{
	while (atomic_load(&p->answered) != atomic_load(&p->turn))
		roost_yield();
	return atomic_load(&p->landed);
}

static void with_outside_waker(void (*body)(struct published *p))
{
	struct published p = { .rt = runtime_self() };
	pthread_t t;

	CHECK_EQ(pthread_create(&t, NULL, outside_waker, &p), 0);
	body(&p);
	atomic_store(&p.quit, true);
	pthread_join(t, NULL);
}

static int publish_and_park(struct published *p, uint64_t deadline)
{
	publish(p, wait_begin());
	return wait_park(deadline, false);
}

static void race_with_park(struct published *p)
{
	unsigned long n = rounds(5000), i, bad = 0;

	for (i = 0; i < n; i++) {
		if (INSIDE(publish_and_park(p, ROOST_FOREVER)))
			bad++;
		if (!answer(p))
			bad++;
	}
	CHECK_EQ(bad, 0);
}

ACTOR_TEST(s0_19_wake_from_a_thread_races_with_park, usually(2))
{
	with_outside_waker(race_with_park);
}

/* The result must be the one of whoever ended the wait. */
static void race_with_deadline(struct published *p)
{
	unsigned long n = rounds(2000), i, woken = 0, late = 0, bad = 0;
	uint64_t r;

	r = tap_seed(1);
	for (i = 0; i < n; i++) {
		uint64_t in = random_below(&r, 300000);
		int err;

		atomic_store(&p->not_before,
			     roost_after(random_below(&r, 300000)));
		err = INSIDE(publish_and_park(p, roost_after(in)));
		if (answer(p) != (err == 0) || (err && err != -ETIMEDOUT))
			bad++;
		if (err)
			late++;
		else
			woken++;
	}
	CHECK_EQ(bad, 0);
	CHECK(woken && late);
	printf("# %lu woken, %lu timed out\n", woken, late);
}

/* S0-67, S3-24, C44 */
ACTOR_TEST(a_wake_and_the_deadline_one_of_them_wins, usually(2))
{
	with_outside_waker(race_with_deadline);
}

static void publish_and_retire(struct published *p)
{
	publish(p, wait_begin());
	wait_retire();
}

static void race_with_retire(struct published *p)
{
	unsigned long n = rounds(5000), i, bad = 0;

	for (i = 0; i < n; i++) {
		INSIDE(publish_and_retire(p));
		/* What was retired must not end this one. */
		if (INSIDE(wait_shortly(1000)) != -ETIMEDOUT)
			bad++;
		answer(p);
	}
	CHECK_EQ(bad, 0);
}

ACTOR_TEST(s0_25_retire_races_with_a_wake, usually(2))
{
	with_outside_waker(race_with_retire);
}

static void begin_and_retire(void)
{
	wait_begin();
	if (roost_self() & 1)
		actor_yield();
	wait_retire();
}

static int wait_for_ever(void)
{
	wait_begin();
	return wait_park(ROOST_FOREVER, true);
}

static void stopped_in_waits(void *arg)
{
	_Atomic int *phase = arg;

	atomic_store(phase, 1);
	do {
		INSIDE(begin_and_retire());
	} while (INSIDE(wait_shortly(2000)) != -ECANCELED);
	CHECK_EQ(INSIDE(wait_for_ever()), -ECANCELED);
	atomic_store(phase, 2);
}

ACTOR_TEST(s0_25_retire_never_loses_a_stop, usually(2))
{
	unsigned long n = rounds(3000), i;
	uint64_t r;

	r = tap_seed(3);
	for (i = 0; i < n; i++) {
		_Atomic int phase = 0;
		roost_pid pid = spawn(stopped_in_waits, &phase);
		uint64_t spin = random_below(&r, 50);

		while (spin--)
			roost_yield();
		CHECK_EQ(roost_stop(pid), 0);
		join(pid);
		/* Stopped before it ran, or through to the end. */
		CHECK(atomic_load(&phase) != 1);
	}
}

/* An expiry that is handled late, at each point of the actor's way. */
static void expire_late(struct runtime *rt)
{
	struct slot *s = worker_actor();
	struct wtimer *t = &s->timer;
	struct wait_ref ref = wait_begin();
	uint64_t word;

	/* As timer_want() leaves it, with a deadline that has passed. */
	atomic_store(&t->epoch, ref.epoch);
	atomic_store(&t->deadline, 1);
	CHECK(wait_wake(rt, ref));
	wait_retire();
	/* Over, and the actor has not yet taken the deadline back. */
	word = slot_load(s);
	CHECK_EQ(timer_expired(rt, t, roost_now()), ROOST_FOREVER);
	CHECK_EQ(slot_load(s), word);
	/* The next wait has begun, and has stored nothing yet. */
	ref = wait_begin();
	word = slot_load(s);
	CHECK_EQ(timer_expired(rt, t, roost_now()), ROOST_FOREVER);
	CHECK_EQ(slot_load(s), word);
	/* Wanted later: this is what must be armed. */
	atomic_store(&t->epoch, ref.epoch);
	atomic_store(&t->deadline, 1ULL << 62);
	CHECK_EQ(timer_expired(rt, t, roost_now()), 1ULL << 62);
	CHECK_EQ(slot_load(s), word);
	/* And its own, which ends it. */
	atomic_store(&t->deadline, 1);
	CHECK_EQ(timer_expired(rt, t, roost_now()), ROOST_FOREVER);
	CHECK_EQ(slot_wait_outcome(s), SLOT_TIMED_OUT);
	CHECK(!wait_wake(rt, ref));
	atomic_store(&t->deadline, ROOST_FOREVER);
	wait_retire();
}

/* S3-17 */
ACTOR_TEST(s0_23_a_late_expiry_ends_its_own_wait_only, 1)
{
	INSIDE(expire_late(runtime_self()));
}

static uint64_t resumes(struct runtime *rt)
{
	return atomic_load(&rt->workers[0].stats.resumes);
}

static void wake_often(struct runtime *rt)
{
	struct wait_ref ref = wait_begin();
	struct slot *s = worker_actor();
	uint64_t before;

	wait_wake(rt, ref);
	wait_wake(rt, ref);
	slot_unpark(s, pid_generation(ref.pid));
	slot_unpark(s, pid_generation(ref.pid));
	CHECK(!worker_queued(&rt->workers[0]));
	before = resumes(rt);
	actor_yield();
	CHECK_EQ(resumes(rt) - before, 1);
	CHECK(!worker_queued(&rt->workers[0]));
	wait_begin();
	wait_retire();
}

/* S0-21 */
ACTOR_TEST(s0_20_many_wakes_while_running_one_requeue, 1)
{
	INSIDE(wake_often(runtime_self()));
}

ACTOR_TEST(park_remembers_one_permit, usually(2))
{
	roost_pid self = roost_self();

	CHECK_EQ(roost_unpark(self), 0);
	CHECK_EQ(roost_unpark(self), 0);
	CHECK_EQ(roost_park(ROOST_FOREVER), 0);
	CHECK_EQ(roost_park(roost_after(ROOST_MSEC(2))), -ETIMEDOUT);
	CHECK_EQ(roost_park(0), -ETIMEDOUT);
	CHECK_EQ(roost_unpark(self), 0);
	CHECK_EQ(roost_park(0), 0);
}

static void unparks_sleeper(void *arg)
{
	CHECK_EQ(roost_unpark(*(roost_pid *)arg), 0);
}

ACTOR_TEST(unpark_does_not_end_a_sleep, usually(2))
{
	uint64_t until = roost_after(ROOST_MSEC(20));
	roost_pid self = roost_self();
	roost_pid other = spawn(unparks_sleeper, &self);

	CHECK_EQ(roost_sleep_until(until), 0);
	CHECK(roost_now() >= until);
	join(other);
	CHECK_EQ(roost_park(ROOST_FOREVER), 0);
}

/* Ping-pong: each round needs both wakes. */
struct pair {
	roost_pid pid[2];
	_Atomic unsigned long count;
	unsigned long n;
};

static void ping(void *arg)
{
	struct pair *p = arg;
	roost_pid other;

	while (!atomic_load(&p->count))
		roost_yield();
	other = p->pid[roost_self() == p->pid[0]];
	while (atomic_fetch_add(&p->count, 1) < p->n) {
		roost_unpark(other);
		if (!CHECK_EQ(roost_park(roost_after(ROOST_SEC(20))), 0))
			break;
	}
	roost_unpark(other);
}

static void ping_pong(unsigned long n)
{
	struct pair p = { .n = n };

	p.pid[0] = spawn(ping, &p);
	p.pid[1] = spawn(ping, &p);
	atomic_store(&p.count, 1);
	join(p.pid[0]);
	join(p.pid[1]);
	CHECK(atomic_load(&p.count) >= n);
}

ACTOR_TEST(park_and_unpark_ping_pong_one_worker, 1)
{
	ping_pong(rounds(100000));
}

ACTOR_TEST(park_and_unpark_ping_pong_two_workers, 2)
{
	ping_pong(rounds(100000));
}

ROOST_TEST(calls_outside_of_an_actor_are_refused)
{
	CHECK_EQ(roost_park(0), -EPERM);
	CHECK_EQ(roost_sleep(0), -EPERM);
	CHECK_EQ(roost_spawn(unparks_sleeper, NULL, NULL), -EPERM);
	CHECK_EQ(roost_join(0, 0), -EPERM);
	CHECK_EQ(roost_detach(0), -EPERM);
	CHECK_EQ(roost_stop(0), -EPERM);
	CHECK_EQ(roost_stopped(), 0);
	CHECK_EQ(roost_self(), ROOST_PID_NONE);
	CHECK_EQ(roost_unpark(0), -ESRCH);
	CHECK_EQ(roost_unpark(ROOST_PID_NONE), -ESRCH);
	roost_yield();
}

/* An actor that goes back to the scheduler and has not said what for. */
static noinline void leave_without_a_word(void)
{
	struct carrier *c = carrier_self();
	struct slot *s = c->current;

	c = ctx_to_thread(&s->ctx, &c->ctx);
	carrier_resumed(c);
}

static void says_nothing(void *arg)
{
	int i;

	for (i = 0; i < 10; i++) {
		/* The last word of this thread is a park. */
		if (!CHECK_EQ(roost_park(roost_after(ROOST_USEC(100))),
			      -ETIMEDOUT))
			break;
		INSIDE(leave_without_a_word());
		atomic_fetch_add((_Atomic int *)arg, 1);
	}
}

/* S0-45 */
ACTOR_TEST(who_says_nothing_has_yielded, 1)
{
	_Atomic int back = 0;
	roost_pid pid = spawn(says_nothing, &back);

	if (!CHECK_EQ(roost_join(pid, roost_after(ROOST_SEC(10))), 0)) {
		CHECK_EQ(roost_stop(pid), 0);
		join(pid);
	}
	CHECK_EQ(atomic_load(&back), 10);
}
