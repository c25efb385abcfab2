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
#include "slice.h"
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
	struct slot *s = runq_batch_take(w->rt->slots, &w->own);

	runq_unmark(s);
	return s;
}

/*
 * Can another actor run after the calling one without a look at anything else?  Who was
 * stopped may have to be buried, or not to sleep, which is the scheduler's.
 * @slots:	the slot table
 * @least:	so many must be ready: collect() is called if only one is left, as in
 *		worker_loop()
 * @extra:	runtime_extra()
 * @next:	out: that one, claimed and still the first of @w->own
 */
static inline __attribute__((always_inline)) bool
worker_next_own(struct worker *w, struct slot *slots, uint32_t least, uint32_t extra,
		struct slot **next)
{
	struct slot *s;
	uint64_t word;

	if (unlikely(w->own.count < least) || unlikely(!w->spare) ||
	    unlikely(worker_has_next(w)) || unlikely(extra & EXTRA_WATCH) ||
	    unlikely(cxx_globals_exist()))
		return false;
	s = &slots[w->own.first];
	word = slot_load(s);
	*next = s;
	return likely(!(word & SLOT_STOP)) &&
	       (likely(slot_word_state(word) == SLOT_RUNNING) || slot_claim_queued(s));
}

/*
 * From @s to @next, which is claimed, without the scheduler.  The intent is that of
 * let_run() still: nobody sets another and stays.
 */
static inline __attribute__((always_inline)) struct carrier *
worker_switch_here(struct carrier *c, struct worker *w, struct slot *s,
		   struct slot *next)
{
	w->spare--;
	w->takes++;
	slice_begin(w);
	stat_add(&w->stats.resumes, 1);
	carrier_set_current(c, next);
	c = ctx_switch_here(&s->ctx, &next->ctx, c);
	carrier_resumed(c);
	return c;
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
	struct runtime *rt = w->rt;
	struct slot *next;

	if (unlikely(slot_load(s) & SLOT_STOP) ||
	    !worker_next_own(w, rt->slots, 2, runtime_extra(rt), &next))
		return worker_suspend_here(c, s, INTENT_PARK_AND_HAND);
	worker_pop_own(w);
	slot_park_wait(s);
	worker_hand(w);
	return worker_switch_here(c, w, s, next);
}

/*
 * worker_yield_here() - what INTENT_YIELD says, for who is not in a wait
 *
 * As above: @s may be in the list while its stack is still in use.
 */
static inline __attribute__((always_inline)) struct carrier *
worker_yield_here(struct carrier *c, struct worker *w, struct slot *s)
{
	struct runtime *rt = w->rt;
	uint32_t extra = runtime_extra(rt);
	struct slot *slots = rt->slots;
	struct slot *next;

	if (unlikely(!slot_stays_running(s)) ||
	    unlikely(!worker_next_own(w, slots, 1, extra, &next)))
		return worker_suspend_on(c, INTENT_YIELD);
	/* One worker alone, and nothing is recorded. */
	runq_mark(s);
	runq_batch_turn(slots, &w->own, next, s);
	runq_unmark(next);
	if (unlikely(extra & EXTRA_TAKEOVER))
		runtime_tell_queued(rt);
	return worker_switch_here(c, w, s, next);
}

#endif /* ROOST_LIB_SUSPEND_H */
