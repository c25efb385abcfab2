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
struct carrier *worker_suspend_cxx(struct carrier *c, enum intent intent);

/* Return: the carrier that it is resumed on.  So for all that follow. */
static inline __attribute__((always_inline)) struct carrier *
worker_suspend_here(struct carrier *c, struct slot *s, enum intent intent)
{
	if (unlikely(cxx_globals_exist()))
		return worker_suspend_cxx(c, intent);
	c->intent = intent;
	c = ctx_to_thread(&s->ctx, &c->ctx);
	carrier_resumed(c);
	return c;
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
 * @w->own is empty but with one worker alone.  Then only who has its lease can come
 * back to @s, or stop it.  That is this thread until the switch is made, since it is
 * in the library, and the next actor tells that it is not any more.  So @s is parked
 * while its stack is still in use, and the next one is resumed from here.
 */
static inline __attribute__((always_inline)) struct carrier *
worker_park_and_hand(struct carrier *c, struct worker *w, struct slot *s)
{
	struct slot *next = worker_next_own(w, s);

	if (!next)
		return worker_suspend_here(c, s, INTENT_PARK_AND_HAND);
	slot_park_wait(s);
	worker_hand(w);
	w->spare--;
	stat_add(&w->stats.resumes, 1);
	c->current = next;
	c->intent = INTENT_YIELD;
	s->error = *c->error;
	*c->error = next->error;
	c = ctx_switch_here(&s->ctx, &next->ctx, c);
	carrier_resumed(c);
	return c;
}

#endif /* ROOST_LIB_SUSPEND_H */
