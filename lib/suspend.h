/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * suspend.h - worker_suspend_on(), inlined; and from one actor to the next.
 *
 * As for ctx_to_thread(): the caller keeps nothing of its thread over it.
 */
#ifndef ROOST_LIB_SUSPEND_H
#define ROOST_LIB_SUSPEND_H

#include "compiler.h"
#include "cxx_globals.h"
#include "runtime.h"
#include "slot.h"
#include "worker.h"

/* With a C++ run-time in the program. */
void worker_suspend_cxx(struct worker *w, enum intent intent);

static inline __attribute__((always_inline)) void
worker_suspend_here(struct worker *w, struct slot *s, enum intent intent)
{
	if (unlikely(cxx_globals_exist())) {
		worker_suspend_cxx(w, intent);
		return;
	}
	w->intent = intent;
	ctx_to_thread(&s->ctx, &w->ctx);
}

/** worker_pop_own() - the first of @w->own, which is not empty */
static inline struct slot *worker_pop_own(struct worker *w)
{
	struct slot *s = &w->rt->slots[w->own.first];

	w->own.first = s->next;
	w->own.count--;
	return s;
}

/*
 * Who is to run after @s, claimed, without a look at anything else; or NULL.  Who
 * was stopped may have to be buried, or not to sleep, which is the scheduler's.
 */
static inline struct slot *worker_next_own(struct worker *w, const struct slot *s)
{
	struct slot *next;

	/* As in worker_loop(): collect() is called if only one is left. */
	if (w->own.count < 2 || !w->spare || unlikely(cxx_globals_exist()))
		return NULL;
	next = &w->rt->slots[w->own.first];
	if (unlikely((slot_load(s) | slot_load(next)) & SLOT_STOP) ||
	    unlikely(!slot_claim_queued(next)))
		return NULL;
	worker_pop_own(w);
	return next;
}

/*
 * worker_park_and_hand() - what INTENT_PARK_AND_HAND says
 *
 * @w->own is empty but with one worker alone.  Then only this thread can come back
 * to @s, or stop it, so it is parked while its stack is still in use, and the next
 * one is resumed from here.
 */
static inline __attribute__((always_inline)) void
worker_park_and_hand(struct worker *w, struct slot *s)
{
	struct slot *next = worker_next_own(w, s);

	if (!next) {
		worker_suspend_here(w, s, INTENT_PARK_AND_HAND);
		return;
	}
	slot_park_wait(s);
	worker_hand(w);
	w->spare--;
	stat_add(&w->stats.resumes, 1);
	w->current = next;
	w->intent = INTENT_YIELD;
	s->error = *w->error;
	*w->error = next->error;
	ctx_switch_here(&s->ctx, &next->ctx);
}

#endif /* ROOST_LIB_SUSPEND_H */
