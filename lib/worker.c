// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * worker.c - the scheduler loop, and the way into and out of an actor.  Who runs it
 * has the lease of the worker; see carrier.h.
 *
 * An actor gives up its worker by switching to the scheduler's context with an
 * intent; the scheduler carries it out when it is off the actor's stack.  Only
 * then, and by the release in the state word's transition, does the actor
 * become visible as Queued or Parked, so no other worker can run on a stack
 * that is still in use (S0-26).
 *
 * With one worker alone there is no other: what it pushes itself it keeps in a list
 * without a lock (@own), the run queue is for threads outside, and an actor that waits
 * for I/O parks itself and goes on at the next one (suspend.h).  Every few resumes it
 * comes by here, for completions and for what others have pushed.
 *
 * Whom an actor wakes it runs next, if there are wake slots: see wakeslot.h.
 *
 * What the scheduler itself pushes (a yield, wakes by expiries and by deaths)
 * wakes nobody directly: its next step is a pop, and who pops while more is
 * queued wakes a sibling (P4).  Everybody else who pushes wakes (S1-07).
 */
#include "worker.h"

#include "account.h"
#include "actor.h"
#include "arch/arch.h"
#include ARCH_HEADER(cycles.h)
#include "cxx_globals.h"
#include "errno_cell.h"
#include "idle.h"
#include "inject.h"
#include "log.h"
#include "runtime.h"
#include "slice.h"
#include "suspend.h"
#include "sweep.h"
#include "threads.h"
#include "wakeslot.h"

noinline struct carrier *worker_suspend_cxx(struct carrier *c, enum intent intent)
{
	struct slot *s = c->current;
	struct cxx_globals exceptions;

	c->intent = intent;
	cxx_globals_take(&exceptions);
	/* Perhaps another thread from here on. */
	c = ctx_to_thread(&s->ctx, &c->ctx);
	carrier_resumed(c);
	cxx_globals_give(&exceptions);
	return c;
}

noinline struct carrier *worker_suspend_on(struct carrier *c, enum intent intent)
{
	return worker_suspend_here(c, c->current, intent);
}

struct carrier *worker_suspend(enum intent intent)
{
	return worker_suspend_on(carrier_self(), intent);
}

void worker_exit_actor(void)
{
	struct carrier *c = carrier_self();
	struct cxx_globals exceptions;

	/* roost_exit() out of a catch block: what it holds ends with it. */
	cxx_globals_take(&exceptions);
	c->intent = INTENT_EXIT;
	ctx_leave(&c->current->ctx, &c->ctx);
}

void worker_crash_actor(void)
{
	struct carrier *c = carrier_self();

	c->intent = INTENT_CRASHED;
	ctx_leave(&c->current->ctx, &c->ctx);
}

void runtime_queue_traced(struct runtime *rt, struct worker *w, struct slot *s)
{
	trace_put(rt, ROOST_TRACE_ENQUEUE, s, 0, 0);
	runtime_push(rt, w, s);
}

static inline __attribute__((always_inline)) void
ready(struct runtime *rt, struct slot *s)
{
	struct carrier *c = carrier_self();
	struct worker *w = c->rt == rt ? c->worker : NULL;

	runtime_push(rt, w, s);
	inject_delay();
	/* In the scheduler its next step is a pop; and who is alone is awake. */
	if (!w || (c->current && rt->nr_workers > 1))
		worker_wake_one(rt);
}

static noinline void ready_traced(struct runtime *rt, struct slot *s)
{
	trace_put(rt, ROOST_TRACE_ENQUEUE, s, 0, 0);
	ready(rt, s);
}

void worker_ready(struct runtime *rt, struct slot *s)
{
	if (unlikely(runtime_traces(rt)))
		ready_traced(rt, s);
	else
		ready(rt, s);
}

void worker_ready_next(struct runtime *rt, struct slot *s)
{
	struct carrier *c = carrier_self();
	struct slot *displaced;

	if (!rt->wake_slot || c->rt != rt || !c->current || !c->worker) {
		worker_ready(rt, s);
		return;
	}
	trace(rt, ROOST_TRACE_SLOT_PUSH, s, 0, 0);
	displaced = wakeslot_put(c->worker, s);
	runtime_tell_queued(rt);
	inject_delay();
	if (displaced)
		worker_ready(rt, displaced);
}

/* @s was woken before it could be parked, and is ready. */
static noinline void not_parked(struct runtime *rt, struct worker *w,
				struct slot *s)
{
	trace(rt, ROOST_TRACE_NOT_PARKED, s, 0, 0);
	runtime_queue(rt, w, s);
}

/*
 * What is handed over can only be completed after that, so the wait is opened and
 * slept on in one step.
 */
static inline void park_and_hand(struct worker *w, struct slot *s)
{
	bool parked = slot_park_wait(s);

	inject_delay();
	worker_hand(w);
	if (unlikely(!parked))
		not_parked(w->rt, w, s);
}

/*
 * @s has called the library and found that @c was displaced.  It is for any worker
 * now, and this thread has none: whoever is idle is to take it.
 */
static noinline void displaced(struct carrier *c, struct slot *s)
{
	struct runtime *rt = c->rt;

	carrier_set_worker(c, NULL);
	carrier_unshare(c);
	slot_yield(s);
	inject_delay();
	runtime_queue(rt, NULL, s);
	stat_count(rt, STAT(displaced), 1);
	worker_wake_one(rt);
}

/* Scheduler context.  What it had caught is the thread's still, and must not stay. */
static void drop_exceptions(void)
{
	struct cxx_globals exceptions;

	cxx_globals_take(&exceptions);
}

static noinline void crashed(struct carrier *c, struct slot *s)
{
	drop_exceptions();
	fault_bury(c->rt, s);
	actor_bury(c->worker, s);
}

/* Scheduler context: what @s asked for when it left. */
static inline __attribute__((always_inline)) void
carry_out(struct carrier *c, struct slot *s)
{
	enum intent intent = c->intent;

	inject_delay();
	if (likely(intent == INTENT_PARK_AND_HAND)) {
		park_and_hand(c->worker, s);
		return;
	}
	switch (intent) {
	case INTENT_YIELD:
		slot_yield(s);
		runtime_queue(c->rt, c->worker, s);
		break;
	case INTENT_PARK:
	case INTENT_PARK_ENDLESS:
		if (!slot_park(s, intent == INTENT_PARK_ENDLESS))
			not_parked(c->rt, c->worker, s);
		break;
	case INTENT_EXIT:
		actor_bury(c->worker, s);
		break;
	case INTENT_DISPLACED:
		displaced(c, s);
		break;
	case INTENT_CRASHED:
		crashed(c, s);
		break;
	case INTENT_CRASHED_DISPLACED:
		drop_exceptions();
		displaced(c, s);
		break;
	case INTENT_PARK_AND_HAND:
		break;
	}
}

static inline struct slot *run(struct carrier *c, struct slot *s)
{
	ctx_to_actor(&c->ctx, &s->ctx, c->modes, c);
	/* Others may have run since, each after the one before. */
	s = c->current;
	c->modes = s->ctx.modes;
#ifdef ROOST_DEBUG
	if (c->intent != INTENT_DISPLACED &&
	    c->intent != INTENT_CRASHED_DISPLACED && !carrier_is_inside(c))
		log_fatal("an actor was suspended outside of the library");
#endif
	return s;
}

/* Return: who has left. */
static inline __attribute__((always_inline)) struct slot *
let_run(struct carrier *c, struct worker *w, struct slot *s)
{
	stat_add(&w->stats.resumes, 1);
	carrier_set_current(c, s);
	c->intent = INTENT_YIELD;
	if (actor_stillborn(s))
		c->intent = INTENT_EXIT;
	else
		s = run(c, s);
	carrier_set_current(c, NULL);
	return s;
}

/* @c->worker may be NULL afterwards. */
static inline __attribute__((always_inline)) void
resume(struct carrier *c, struct worker *w, struct slot *s)
{
	carry_out(c, let_run(c, w, s));
}

static uint32_t overruns(const struct slot *s)
{
	return atomic_load_explicit(&s->overruns, memory_order_relaxed);
}

/**
 * struct watched - what was there before an actor ran
 * @s:		the actor
 * @overruns:	its
 * @begun:	the CPU's counter
 */
struct watched {
	const struct slot *s;
	uint32_t overruns;
	uint64_t begun;
};

/* With EXTRA_WATCH: before let_run(). */
static noinline struct watched watch_begin(struct worker *w, const struct slot *s)
{
	struct watched before = { .s = s, .overruns = overruns(s) };

	if (runtime_traces(w->rt))
		trace_resumed(w, s, actor_stillborn(s));
	before.begun = cycles();
	return before;
}

/* And after it. */
static noinline void watch_end(const struct carrier *c, const struct slot *left,
			       const struct watched *before)
{
	uint64_t used = cycles() - before->begun;
	struct runtime *rt = c->rt;

	/* The counters of two CPUs may differ, and it may have gone back. */
	if (rt->cycles && (int64_t)used > 0)
		account_add(rt, before->s, used);
	/* Not who came after it, while nothing was recorded. */
	if (left == before->s && runtime_traces(rt))
		trace_left(c, left, overruns(left) != before->overruns);
}

/*
 * S0-38: who is taken from the wake slot has what is left of the slice.  If that is
 * over, it is queued behind the others, and a new one begins.
 */
static struct slot *take_woken(struct worker *w)
{
	struct slot *s = wakeslot_take(w);
	bool over;

	if (!s)
		return NULL;
	over = slice_is_over(w);
	if (unlikely(runtime_traces(w->rt)))
		trace_popped(w, s, !over);
	if (unlikely(over)) {
		runtime_queue(w->rt, w, s);
		return NULL;
	}
	stat_add(&w->stats.slot_hits, 1);
	/* Whoever is in there is in state Queued. */
	slot_claim_queued(s);
	return s;
}

/* With one worker alone: what threads outside have pushed comes after its own. */
static void take_over_pushed(struct worker *w)
{
	if (runq_length(w->rt->runq))
		runq_pop_all(w->rt->runq, &w->own);
}

static inline struct slot *take_own(struct worker *w)
{
	struct slot *s;

	do {
		if (!w->own.count)
			take_over_pushed(w);
		if (!w->own.count)
			return NULL;
		s = worker_pop_own(w);
	} while (!slot_claim_own(s));
	return s;
}

static inline struct slot *take_queued(struct worker *w, bool elsewhere)
{
	struct runtime *rt = w->rt;
	struct slot *s;

	if (rt->nr_workers == 1)
		return take_own(w);
	do {
		s = runq_pop(rt->runq, w->index, elsewhere);
		if (!s)
			return NULL;
		/* What is not Queued is dropped, and the next one taken (S0-27). */
	} while (!slot_claim_queued(s));
	return s;
}

/* Nothing is queued: the wake slot, if it was not asked before, and those of others. */
static noinline struct slot *take_last(struct worker *w)
{
	struct slot *s = wakeslot_take(w);

	if (!s)
		s = wakeslot_steal(w);
	if (!s)
		return NULL;
	if (unlikely(runtime_traces(w->rt)))
		trace_popped(w, s, true);
	slot_claim_queued(s);
	return s;
}

/*
 * In actors taken, from wherever: how often a worker looks first where the others have
 * theirs, and at the queue before the wake slot.
 */
#define ELSEWHERE_EVERY	61

/* The next actor to run, claimed, or NULL. */
static inline struct slot *take(struct worker *w)
{
	bool elsewhere = unlikely(++w->takes % ELSEWHERE_EVERY == 0);
	struct runtime *rt = w->rt;
	struct slot *s = NULL;

	if (worker_has_next(w) && !elsewhere)
		s = take_woken(w);
	if (!s) {
		s = take_queued(w, elsewhere);
		/* Not if it is the slot's turn again: its slice goes on. */
		if (s)
			slice_begin(w);
	}
	if (!s && rt->wake_slot)
		s = take_last(w);
	/* The chain rule, P4 and S1-18: also of who was in a wake slot. */
	if (s && rt->nr_workers > 1 && idle_any(rt) &&
	    runq_any(rt->runq, w->index))
		worker_wake_one(rt);
	return s;
}

static bool run_over(struct runtime *rt)
{
	return !atomic_load_explicit(&rt->live, memory_order_acquire);
}

/* The last look before a park, own idle bit set. */
static bool something_to_do(struct worker *w)
{
	struct runtime *rt = w->rt;

	return worker_queued(w) || rt->backend->collect(w, true) ||
	       worker_queued(w) || run_over(rt) || sweep_remainder(rt);
}

static void sleep_until_woken(struct worker *w, uint32_t event)
{
	struct runtime *rt = w->rt;

	if (unlikely(runtime_traces(rt)))
		trace_put_none(rt, ROOST_TRACE_SLEEP, 0, 0);
	rt->backend->park(w, event);
	if (unlikely(runtime_traces(rt)))
		trace_put_none(rt, ROOST_TRACE_AWAKE, 0, 0);
}

static void go_idle(struct worker *w)
{
	struct runtime *rt = w->rt;
	uint32_t event = atomic_load_explicit(control_event(rt),
					      memory_order_acquire);

#ifdef ROOST_DEBUG
	/* S0-40 */
	if (worker_has_next(w))
		log_fatal("worker %u goes idle with its wake slot full", w->index);
#endif
	inject_delay();
	idle_set(w);
	inject_delay();
	if (something_to_do(w))
		idle_clear(w);
	else
		sleep_until_woken(w, event);
}

/* An actor was taken, perhaps the last one: is nobody kept waiting by it? */
static noinline void tell_empty(struct worker *w)
{
	struct runtime *rt = w->rt;

	/*
	 * What was taken along with it, out of another ring, was in none for a moment,
	 * and may have been missed by who told the last time.  Pairs as in
	 * runtime_tell_queued().
	 */
	if (worker_near(w)) {
		runtime_tell_queued(rt);
		return;
	}
	if (!runtime_told_queued(rt) || worker_queued(w) || wakeslot_any(rt))
		return;
	runtime_set_queued(rt, 0);
	/* Who queues meanwhile: pairs with the fence in runtime_tell_queued(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (worker_queued(w) || wakeslot_any(rt))
		runtime_set_queued(rt, 1);
}

/* For what has become ready without this worker's doing. */
static void look(struct worker *w)
{
	w->rt->backend->collect(w, false);
	if (w->rt->nr_workers == 1)
		take_over_pushed(w);
}

/* resume() if there is more to do than that. */
static noinline void resume_with_extra(struct carrier *c, struct worker *w,
				       struct slot *s, uint32_t extra)
{
	struct watched before;

	if (extra & EXTRA_TAKEOVER)
		tell_empty(w);
	if (extra & EXTRA_WATCH)
		before = watch_begin(w, s);
	s = let_run(c, w, s);
	if (extra & EXTRA_WATCH)
		watch_end(c, s, &before);
	carry_out(c, s);
}

/* Return: true if the worker was lost, false at the end of the run. */
static bool carry(struct carrier *c)
{
	struct worker *w = c->worker;
	struct runtime *rt = c->rt;
	struct slot *s = NULL;
	uint32_t extra;

	for (;;) {
		/*
		 * Not so often while there is a queue anyway.  Alone with an empty
		 * one after a resume: go_idle() looks.
		 */
		if (w->spare && (w->own.count > 1 || worker_near(w) > 1))
			w->spare--;
		else if (!s || rt->nr_workers > 1 || worker_queued(w))
			look(w);
		s = take(w);
		if (s) {
			if (rt->backend->busy)
				rt->backend->busy(w);
			extra = runtime_extra(rt);
			if (unlikely(extra))
				resume_with_extra(c, w, s, extra);
			else
				resume(c, w, s);
			if (unlikely(!c->worker))
				return true;
		} else if (run_over(rt)) {
			return false;
		} else {
			go_idle(w);
		}
	}
}

void worker_loop(struct carrier *c)
{
	carrier_begin(c);
	while (c->worker || threads_stand_by(c)) {
		if (carry(c))
			continue;
		c->rt->backend->worker_leave(c->worker);
		carrier_set_worker(c, NULL);
		break;
	}
	carrier_end(c);
}
