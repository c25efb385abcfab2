// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * timer.c - deadlines of waits, the clock, and sleeping.
 *
 * The actor and the one who handles an expiry meet in two words:
 *
 *	actor (timer_want)		backend, timer_expired()
 *	store deadline			store armed = FOREVER
 *	full barrier			full barrier
 *	load armed: arm if later	load deadline: end the wait, or arm
 *
 * At least one of them sees the other, so a wanted deadline is always armed or
 * being handled; if both arm, the backend's lock makes it one.
 */
#define _GNU_SOURCE
#include "timer.h"

#include <errno.h>
#include <time.h>

#include <roost/actor.h>

#include "actor.h"
#include "inject.h"
#include "runtime.h"
#include "timer_want.h"
#include "wait.h"
#include "worker.h"

uint64_t roost_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

uint64_t roost_after(uint64_t ns)
{
	uint64_t now = roost_now();

	return ns > ROOST_FOREVER - now ? ROOST_FOREVER : now + ns;
}

void timer_want(struct worker *w, struct slot *s, uint64_t deadline)
{
	struct wtimer *t = &s->timer;

	atomic_store_explicit(&t->epoch, s->epoch, memory_order_relaxed);
	inject_delay();
	/* Release: after the epoch. */
	atomic_store_explicit(&t->deadline, deadline, memory_order_release);
	/* Full barrier: pairs with the fence in timer_expired(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&t->armed, memory_order_relaxed) > deadline)
		w->rt->backend->timer_arm(w, t);
}

void timer_unwant(struct slot *s)
{
	atomic_store_explicit(&s->timer.deadline, ROOST_FOREVER,
			      memory_order_release);
}

/*
 * The state word is read before the timer's words and must still be the same
 * when it is replaced; so the epoch that was compared is that of the wait that
 * is ended, in this life of the slot.
 */
uint64_t timer_expired(struct runtime *rt, struct wtimer *t, uint64_t now)
{
	struct slot *s = &rt->slots[t->slot];
	enum slot_effect effect;
	uint64_t deadline;
	uint64_t again;
	uint64_t word;

	/* Pairs with the barrier in timer_want(). */
	atomic_thread_fence(memory_order_seq_cst);
	word = slot_load(s);
	for (;;) {
		inject_delay();
		deadline = atomic_load_explicit(&t->deadline,
						memory_order_acquire);
		if (deadline > now)
			return deadline;
		if (atomic_load_explicit(&t->epoch, memory_order_relaxed) !=
		    slot_word_epoch(word)) {
			again = slot_load(s);
			/* Unchanged: the wait of this deadline is over. */
			if (again == word)
				return ROOST_FOREVER;
			word = again;
			continue;
		}
		if (slot_timeout(s, &word, &effect))
			break;
	}
	if (effect != SLOT_NO_EFFECT)
		stat_count(rt, STAT(timers_fired), 1);
	trace_wake(rt, runtime_pid(rt, s, slot_word_generation(word)),
		   ROOST_WAITS_TIME, effect);
	if (effect == SLOT_MADE_READY)
		worker_ready(rt, s);
	return ROOST_FOREVER;
}

static int sleep_until(uint64_t deadline)
{
	int err;

	/* Timed out: whoever has said so has looked at the clock. */
	do {
		err = wait_sleep(deadline);
	} while (!err && roost_now() < deadline);
	return err == -ECANCELED ? err : 0;
}

/* Also a sleep of no time lets others run. */
static int sleep_not(void)
{
	actor_yield();
	return roost_stopped() ? -ECANCELED : 0;
}

int timer_sleep_until(uint64_t deadline)
{
	return deadline <= roost_now() ? sleep_not() : sleep_until(deadline);
}

int roost_sleep_until(uint64_t deadline)
{
	if (!library_enter())
		return -EPERM;
	return (int)library_return(timer_sleep_until(deadline));
}

int roost_sleep(uint64_t ns)
{
	if (!library_enter())
		return -EPERM;
	return (int)library_return(ns ? sleep_until(roost_after(ns)) : sleep_not());
}
