// SPDX-License-Identifier: GPL-2.0
/*
 * One park at a time, step by step: the test's thread is the carrier, and does
 * what a waker would do where it likes between the steps.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>

#include "../park.c"

#include "fixture.h"

static struct roost_worker *make_worker(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 4, 4);

	fixture_attach(worker, current);
	return worker;
}

static unsigned long *idle_mask(struct roost_worker *worker)
{
	return (unsigned long *)worker->domain->control->idle;
}

static bool in_mask(struct roost_worker *worker)
{
	return test_bit(worker->index, worker->domain->parked);
}

/* The carrier's first half; the thread goes on instead of sleeping. */
static bool begin(struct roost_worker *worker, u32 event)
{
	bool sleep;

	set_bit(worker->index, idle_mask(worker));
	sleep = go_to_sleep(worker, event);
	__set_current_state(TASK_RUNNING);
	return sleep;
}

/* Nothing of a park is left behind, however it ended. */
static void expect_awake(struct kunit *test, struct roost_worker *worker)
{
	KUNIT_EXPECT_FALSE(test, in_mask(worker));
	KUNIT_EXPECT_FALSE(test, worker->asleep);
	KUNIT_EXPECT_EQ(test, worker->page->parked, 0);
	KUNIT_EXPECT_FALSE(test, test_bit(worker->index, idle_mask(worker)));
}

/* What may come between the two halves of a park. */
enum action {
	NOTHING,
	WAKE_INDEX,		/* ROOST_IOC_WAKE */
	WAKE_ONE,
	EVENT,			/* a completion of this worker's */
	TIMEOUT,
	CLEAR_IDLE,		/* a thread of the process takes the bit */
	TAKE_PARKED,		/* and the 1 of page->parked: a call follows */
};

/* What the process's waker does; true if it has to call. */
static bool user_wake(struct roost_worker *worker, bool exchange)
{
	clear_bit(worker->index, idle_mask(worker));
	return exchange && xchg(&worker->page->parked, 0) == 1;
}

static void act(struct kunit *test, struct roost_worker *worker,
		enum action action)
{
	struct roost_domain *domain = worker->domain;

	switch (action) {
	case NOTHING:
		break;
	case WAKE_INDEX:
		roost_wake_index(domain, worker->index, false);
		break;
	case WAKE_ONE:
		roost_wake(domain, ROOST_WAKE_ONE, 0);
		break;
	case EVENT:
		roost_domain_event(domain);
		roost_wake_for(worker);
		break;
	case TIMEOUT:
		raw_spin_lock_irq(&worker->wheel_lock);
		roost_park_expire(worker);
		raw_spin_unlock_irq(&worker->wheel_lock);
		break;
	case CLEAR_IDLE:
		user_wake(worker, false);
		break;
	case TAKE_PARKED:
		if (user_wake(worker, true))
			roost_wake_index(domain, worker->index, false);
		break;
	}
}

/*
 * Any two actions in a row during one park.  The first that ends the park says
 * why; a wake that comes when it is over stays as a permit, one that comes
 * together with another reason is reported with it.
 */
static const struct {
	enum action first, second;
	u32 reason;
	bool permit;
} pairs[] = {
	{ NOTHING, NOTHING, 0, false },
	{ WAKE_INDEX, NOTHING, ROOST_OUT_WAKE, false },
	{ WAKE_ONE, NOTHING, ROOST_OUT_WAKE, false },
	{ EVENT, NOTHING, ROOST_OUT_EVENT, false },
	{ TIMEOUT, NOTHING, ROOST_OUT_TIMEOUT, false },
	{ TAKE_PARKED, NOTHING, ROOST_OUT_WAKE, false },
	/* The bit alone is a wake, which settling finds. */
	{ CLEAR_IDLE, NOTHING, ROOST_OUT_WAKE, false },
	{ CLEAR_IDLE, TIMEOUT, ROOST_OUT_WAKE | ROOST_OUT_TIMEOUT, false },
	{ CLEAR_IDLE, EVENT, ROOST_OUT_WAKE | ROOST_OUT_EVENT, false },
	/* Settled already: the bit is found clear by nobody. */
	{ TIMEOUT, CLEAR_IDLE, ROOST_OUT_TIMEOUT, false },
	{ EVENT, TAKE_PARKED, ROOST_OUT_EVENT, false },
	/* Two wakes, of which one is for the next park. */
	{ WAKE_INDEX, WAKE_INDEX, ROOST_OUT_WAKE, true },
	{ WAKE_ONE, WAKE_INDEX, ROOST_OUT_WAKE, true },
	{ EVENT, WAKE_INDEX, ROOST_OUT_EVENT, true },
	{ TIMEOUT, WAKE_INDEX, ROOST_OUT_TIMEOUT, true },
	{ TAKE_PARKED, WAKE_INDEX, ROOST_OUT_WAKE, true },
	/* One that wakes whoever sleeps finds nobody. */
	{ WAKE_INDEX, WAKE_ONE, ROOST_OUT_WAKE, false },
	{ WAKE_INDEX, EVENT, ROOST_OUT_WAKE, false },
	{ WAKE_INDEX, TIMEOUT, ROOST_OUT_WAKE, false },
	{ EVENT, TIMEOUT, ROOST_OUT_EVENT, false },
	{ TIMEOUT, EVENT, ROOST_OUT_TIMEOUT, false },
};

/* S2-16, S2-19 */
static void two_actions(struct kunit *test)
{
	struct roost_worker *worker = make_worker(test);
	struct roost_control *control = worker->domain->control;
	u64 wakes = 0, received = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		KUNIT_EXPECT_TRUE(test, begin(worker, control->event));
		KUNIT_EXPECT_TRUE(test, in_mask(worker));
		KUNIT_EXPECT_EQ(test, worker->page->parked, 1);
		act(test, worker, pairs[i].first);
		act(test, worker, pairs[i].second);
		KUNIT_EXPECT_EQ(test, wake_from_sleep(worker, true),
				pairs[i].reason | ROOST_OUT_SLEPT);
		expect_awake(test, worker);
		KUNIT_EXPECT_EQ(test, worker->permit, pairs[i].permit);
		received += !!(pairs[i].reason & ROOST_OUT_WAKE);
		wakes += !!(pairs[i].reason & ROOST_OUT_WAKE) + pairs[i].permit;
		/* Each wake is counted once, where given and where received. */
		KUNIT_EXPECT_EQ(test, worker->wakes, wakes);
		KUNIT_EXPECT_EQ(test, worker->wakes_received, received);
		worker->permit = false;
		if (fixture_failed(test)) {
			kunit_err(test, "pair %u", i);
			return;
		}
	}
	KUNIT_EXPECT_EQ(test, worker->parks, (u64)ARRAY_SIZE(pairs));
}

/* S2-20, S2-21: Before the park: it is refused, and says why. */
static void refusals(struct kunit *test)
{
	struct roost_worker *worker = make_worker(test);
	struct roost_control *control = worker->domain->control;
	u32 event;

	/* A permit, of which there is one however many wakes came. */
	KUNIT_EXPECT_EQ(test, roost_wake_index(worker->domain, 0, false), 1);
	KUNIT_EXPECT_EQ(test, roost_wake_index(worker->domain, 0, false), 0);
	KUNIT_EXPECT_FALSE(test, begin(worker, control->event));
	KUNIT_EXPECT_EQ(test, wake_from_sleep(worker, false), ROOST_OUT_WAKE);
	KUNIT_EXPECT_FALSE(test, worker->permit);
	expect_awake(test, worker);

	/* An event since the sample was taken. */
	event = control->event;
	roost_domain_event(worker->domain);
	KUNIT_EXPECT_FALSE(test, begin(worker, event));
	KUNIT_EXPECT_EQ(test, wake_from_sleep(worker, false), ROOST_OUT_EVENT);
	expect_awake(test, worker);

	/* Somebody has cleared the idle bit. */
	KUNIT_EXPECT_FALSE(test, go_to_sleep(worker, control->event));
	__set_current_state(TASK_RUNNING);
	KUNIT_EXPECT_EQ(test, wake_from_sleep(worker, false), ROOST_OUT_WAKE);
	expect_awake(test, worker);

	/* A permit left by a wake is no event, and an event is no permit. */
	roost_domain_event(worker->domain);
	KUNIT_EXPECT_TRUE(test, begin(worker, control->event));
	KUNIT_EXPECT_EQ(test, wake_from_sleep(worker, true), ROOST_OUT_SLEPT);
	KUNIT_EXPECT_EQ(test, worker->parks, 1);
	KUNIT_EXPECT_EQ(test, worker->parks_refused, 3);
}

/* A park that does not come: the bit is cleared, and its absence is a wake. */
static void skipped_parks(struct kunit *test)
{
	struct roost_worker *worker = make_worker(test);

	set_bit(worker->index, idle_mask(worker));
	KUNIT_EXPECT_EQ(test, roost_park_skip(worker), 0);
	expect_awake(test, worker);
	KUNIT_EXPECT_EQ(test, roost_park_skip(worker), ROOST_OUT_WAKE);
	KUNIT_EXPECT_EQ(test, worker->wakes, 1);
	KUNIT_EXPECT_EQ(test, worker->wakes_received, 1);
	KUNIT_EXPECT_EQ(test, worker->parks_refused, 2);
}

/* Words that the process has forged: a park ends too early, or goes on. */
static void forged_words(struct kunit *test)
{
	struct roost_worker *worker = make_worker(test);
	struct roost_control *control = worker->domain->control;

	/* The 1 is gone: some waker has it, who does not call. */
	KUNIT_EXPECT_TRUE(test, begin(worker, control->event));
	worker->page->parked = 0;
	control->idle[0] = 0;
	KUNIT_EXPECT_EQ(test, wake_from_sleep(worker, true), ROOST_OUT_SLEPT);
	expect_awake(test, worker);

	KUNIT_EXPECT_TRUE(test, begin(worker, control->event));
	worker->page->parked = 0xdeadbeef;
	control->idle[0] = 0;
	control->event += 12345;
	KUNIT_EXPECT_EQ(test, wake_from_sleep(worker, true),
			ROOST_OUT_SLEPT | ROOST_OUT_WAKE);
	expect_awake(test, worker);
	KUNIT_EXPECT_FALSE(test, worker->permit);
}

/* Displaced on its way into the call: it does not sleep in another one's place. */
static void parks_without_a_lease(struct kunit *test)
{
	struct roost_worker *worker = make_worker(test);
	struct task_struct *next = fixture_spawn(test);
	int ret;

	fixture_attach(worker, next);
	/* what is the next one's */
	set_bit(worker->index, idle_mask(worker));
	worker->permit = true;
	ret = roost_park(worker, 1, worker->domain->control->event);
	KUNIT_EXPECT_EQ(test, ret, -ESTALE);
	KUNIT_EXPECT_EQ(test, roost_park_skip(worker), -ESTALE);
	KUNIT_EXPECT_TRUE(test, test_bit(worker->index, idle_mask(worker)));
	KUNIT_EXPECT_TRUE(test, worker->permit);
	KUNIT_EXPECT_FALSE(test, in_mask(worker));
	KUNIT_EXPECT_FALSE(test, worker->asleep);
	KUNIT_EXPECT_FALSE(test, worker->pinned);
	KUNIT_EXPECT_EQ(test, worker->page->parked, 0);
	KUNIT_EXPECT_EQ(test, worker->parks + worker->parks_refused, 0);
	fixture_attach(worker, NULL);
	kthread_stop(next);
}

/* Asleep for real */

static void sleeps_until_the_deadline(struct kunit *test)
{
	struct roost_worker *worker = make_worker(test);
	u64 deadline = ktime_get_ns() + 20 * NSEC_PER_MSEC;
	u32 reason;

	set_bit(worker->index, idle_mask(worker));
	reason = roost_park(worker, deadline, worker->domain->control->event);
	KUNIT_EXPECT_EQ(test, reason, ROOST_OUT_SLEPT | ROOST_OUT_TIMEOUT);
	KUNIT_EXPECT_GE(test, ktime_get_ns(), deadline);
	KUNIT_EXPECT_FALSE(test, roost_wheel_queued(&worker->park_entry));
	expect_awake(test, worker);
	/* One that has passed. */
	set_bit(worker->index, idle_mask(worker));
	reason = roost_park(worker, 1, worker->domain->control->event);
	KUNIT_EXPECT_EQ(test, reason, ROOST_OUT_SLEPT | ROOST_OUT_TIMEOUT);
	KUNIT_EXPECT_EQ(test, worker->timeouts, 2);
	expect_awake(test, worker);
}

static void a_signal_ends_it(struct kunit *test)
{
	struct roost_worker *worker = make_worker(test);
	u32 reason;

	allow_signal(SIGUSR1);
	send_sig(SIGUSR1, current, 1);
	set_bit(worker->index, idle_mask(worker));
	reason = roost_park(worker, ROOST_NO_DEADLINE,
			    worker->domain->control->event);
	KUNIT_EXPECT_EQ(test, reason, ROOST_OUT_SLEPT | ROOST_OUT_SIGNAL);
	KUNIT_EXPECT_EQ(test, worker->signals, 1);
	expect_awake(test, worker);
	/* A wake counts more; both are told. */
	roost_wake_index(worker->domain, worker->index, false);
	reason = roost_park(worker, ROOST_NO_DEADLINE,
			    worker->domain->control->event);
	KUNIT_EXPECT_EQ(test, reason, ROOST_OUT_WAKE | ROOST_OUT_SIGNAL);
	KUNIT_EXPECT_EQ(test, worker->signals, 1);
	flush_signals(current);
	disallow_signal(SIGUSR1);
}

/* Two threads that wake each other: each wake ends one park, none is lost. */
enum { ROUNDS = 500 };

struct pair {
	struct kunit *test;
	struct roost_worker *worker;
	struct roost_worker *peer;
	u32 index;
	bool sync;
};

static int ping_pong(void *arg)
{
	struct pair *me = arg;
	u32 i, reason;

	fixture_attach(me->worker, current);
	while (!READ_ONCE(me->peer->carrier))
		cond_resched();
	for (i = 0; i < ROUNDS && !fixture_failed(me->test); i++) {
		if (me->index)
			roost_wake_index(me->worker->domain, me->peer->index,
					 me->sync);
		set_bit(me->worker->index, idle_mask(me->worker));
		reason = roost_park(me->worker,
				    ktime_get_ns() + 20 * NSEC_PER_SEC,
				    me->worker->domain->control->event);
		KUNIT_EXPECT_EQ(me->test, reason & ~ROOST_OUT_SLEPT,
				ROOST_OUT_WAKE);
		if (!me->index)
			roost_wake_index(me->worker->domain, me->peer->index,
					 me->sync);
	}
	return 0;
}

/* S2-16 */
static void no_wake_is_lost(struct kunit *test)
{
	struct roost_worker *a = fixture_worker(test, 1, 2);
	struct roost_worker *b = fixture_worker(test, 1, 2);
	struct pair pair[2] = {
		{ test, a, b, 0, false },
		{ test, b, a, 1, true },
	};
	void *args[2] = { &pair[0], &pair[1] };

	fixture_race(test, ping_pong, args, 2);
	KUNIT_EXPECT_EQ(test, a->wakes, ROUNDS);
	KUNIT_EXPECT_EQ(test, b->wakes, ROUNDS);
	KUNIT_EXPECT_EQ(test, a->wakes_received, ROUNDS);
	KUNIT_EXPECT_EQ(test, b->wakes_received, ROUNDS);
	kunit_info(test, "slept %llu and %llu times", a->parks, b->parks);
}

static void learns_how_long_to_look(struct kunit *test)
{
	static const struct {
		const char *what;
		u32 busy_us, took_us, most_us, expected_us;
	} rows[] = {
		{ "the first time",		0,   20,  900, 10 },
		{ "twice as long",		10,  20,  900, 20 },
		{ "not more than the most",	500, 600, 900, 900 },
		{ "less than the first",	0,   3,   5,   5 },
		{ "seen while it looked",	900, 1,   900, 900 },
		{ "as it ended",		20,  20,  900, 20 },
		{ "longer than any look",	900, 901, 900, 0 },
		{ "as long as the longest",	40,  900, 900, 0 },
		{ "never worth it",		0,   5000, 900, 0 },
		{ "turned down meanwhile",	900, 5,   10,  10 },
		{ "turned off meanwhile",	900, 950, 0,   0 },
		{ "turned off, and seen",	900, 5,   0,   0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, roost_busy_next(rows[i].busy_us * 1000,
							  rows[i].took_us * 1000ULL,
							  rows[i].most_us * 1000),
				    rows[i].expected_us * 1000, "%s", rows[i].what);
}

/* For as long as was learnt, if that is allowed still, and not beyond the deadline. */
static void looks_until_the_end(struct kunit *test)
{
	struct roost_worker *worker = make_worker(test);
	static const int owner_is_ahead[] = { -1000, 1000 };
	const u64 begun = 5000 * (u64)NSEC_PER_SEC;
	const unsigned int was = roost_busy_us;
	unsigned int i;

	WRITE_ONCE(roost_busy_us, 0);
	KUNIT_EXPECT_EQ(test, roost_busy_begin(), 0);
	WRITE_ONCE(roost_busy_us, 100);
	/* with one CPU nobody could come */
	KUNIT_EXPECT_EQ(test, roost_busy_begin() != 0, num_online_cpus() > 1);
	worker->busy_ns = 70000;
	KUNIT_EXPECT_EQ(test, roost_busy_end(worker, begun, ROOST_NO_DEADLINE),
			begun + 70000);
	KUNIT_EXPECT_EQ(test, roost_busy_end(worker, begun, begun + 70001),
			begun + 70000);
	KUNIT_EXPECT_EQ(test, roost_busy_end(worker, begun, begun + 69999),
			begun + 69999);
	worker->busy_ns = 170000;
	KUNIT_EXPECT_EQ(test, roost_busy_end(worker, begun, ROOST_NO_DEADLINE),
			begun + 100000);
	/* a deadline is the owner's, who may have a clock of its own */
	for (i = 0; i < ARRAY_SIZE(owner_is_ahead); i++) {
		s64 ahead = owner_is_ahead[i] * (s64)NSEC_PER_SEC;

		worker->domain->time_offset = ahead;
		KUNIT_EXPECT_EQ(test, roost_busy_end(worker, begun,
						     begun + ahead + 5000),
				begun + 5000);
	}
	worker->domain->time_offset = 0;
	WRITE_ONCE(roost_busy_us, was);
}

/* Who was claimed meanwhile is done, and counted; who was not is not. */
static void looks_and_sees(struct kunit *test)
{
	struct roost_worker *worker = make_worker(test);

	worker->busy_ns = 1000000;
	worker->asleep = false;
	roost_busy_wait(worker, ktime_get_ns(), ROOST_NO_DEADLINE);
	KUNIT_EXPECT_EQ(test, worker->parks_busy, 1);
	worker->asleep = true;
	roost_busy_wait(worker, ktime_get_ns(), 1);
	roost_busy_wait(worker, ktime_get_ns(), ROOST_NO_DEADLINE);
	KUNIT_EXPECT_EQ(test, worker->parks_busy, 1);
	worker->asleep = false;
}

static struct kunit_case park_cases[] = {
	KUNIT_CASE(two_actions),
	KUNIT_CASE(refusals),
	KUNIT_CASE(skipped_parks),
	KUNIT_CASE(forged_words),
	KUNIT_CASE(parks_without_a_lease),
	KUNIT_CASE(sleeps_until_the_deadline),
	KUNIT_CASE(a_signal_ends_it),
	KUNIT_CASE(no_wake_is_lost),
	KUNIT_CASE(learns_how_long_to_look),
	KUNIT_CASE(looks_until_the_end),
	KUNIT_CASE(looks_and_sees),
	{}
};

FIXTURE_SUITE(park, park_cases);
