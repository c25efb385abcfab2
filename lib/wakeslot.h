/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * wakeslot.h - a worker's place for the one actor that runs next.
 *
 * An actor that wakes another and then waits itself hands over the worker: the woken
 * one runs at once, where its data is, and no other worker is woken for it.  So a wake
 * made by an actor goes to its worker's wake slot; the newer displaces the older, which
 * is queued as if there were no slot.  What is not made by an actor (expiries, files,
 * deaths, threads outside), spawns and yields never go there.
 *
 * FAIRNESS.  Who is taken from the slot goes on with what is left of the time slice.
 * When that is over, it is queued instead.  Each ELSEWHERE_EVERY actors the queue comes
 * first anyway (worker.c), and the scheduler looks at completions as often as if all
 * came from the queue.
 *
 * NOBODY IS STRANDED.  A waker may go on for long instead of waiting.  Its slot can be
 * taken by each worker that finds nothing else; it belongs to the worker and not to its
 * thread, so it goes with the lease; and if all others sleep, slot_watch.c comes.
 */
#ifndef ROOST_LIB_WAKESLOT_H
#define ROOST_LIB_WAKESLOT_H

#include "inject.h"
#include "runtime.h"
#include "slot_watch.h"
#include "worker.h"

static inline struct slot *wakeslot_exchange(struct worker *w, uint32_t value)
{
	/* Release: what the waker did before, for who takes it.  Acquire: the same
	 * of whoever has put in what is taken. */
	uint32_t old = atomic_exchange_explicit(&w->next_up, value,
						memory_order_acq_rel);
	struct slot *s = old ? &w->rt->slots[old - 1] : NULL;

	if (s)
		runq_unmark(s);
	return s;
}

/** wakeslot_take() - empty @w's; any thread.  Return: who was there, or NULL */
static inline struct slot *wakeslot_take(struct worker *w)
{
	return worker_has_next(w) ? wakeslot_exchange(w, 0) : NULL;
}

/* A slot was filled: is there somebody to look at it? */
static inline void slot_watch_tell(struct runtime *rt)
{
	/* The count before the look; pairs with (W) in slot_watch.c. */
	barrier_after_exchange();
	if (unlikely(atomic_load_explicit(&rt->watch.word, memory_order_relaxed) ==
		     WATCH_ASLEEP))
		slot_watch_wake(rt);
}

/**
 * wakeslot_put() - @s, in state Queued, is to run next on @w
 * @w:		whose carrier the calling thread is
 * @s:		who was woken by the actor that runs there
 *
 * Return: who was to run next before, and is to be queued; or NULL.
 */
static inline struct slot *wakeslot_put(struct worker *w, struct slot *s)
{
	struct slot *displaced;

	runq_mark(s);
	stat_add(&w->slot_puts, 1);
	inject_delay();
	displaced = wakeslot_exchange(w, s->index + 1);
	if (displaced)
		stat_add(&w->stats.slot_displaced, 1);
	inject_delay();
	slot_watch_tell(w->rt);
	return displaced;
}

/** wakeslot_any() - is one of any worker full?  Relaxed. */
bool wakeslot_any(const struct runtime *rt);

/** wakeslot_steal() - take one of a sibling of @w.  Return: NULL if there is none */
struct slot *wakeslot_steal(struct worker *w);

#endif /* ROOST_LIB_WAKESLOT_H */
