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
 * With one worker alone there is no other: it takes the whole run queue at a time
 * (@own), and an actor that waits for I/O parks itself and goes on at the next one
 * (suspend.h).  Every few resumes it comes by here, for completions.
 *
 * What the scheduler itself pushes (a yield, wakes by expiries and by deaths)
 * wakes nobody directly: its next step is a pop, and who pops while more is
 * queued wakes a sibling (P4).  Everybody else who pushes wakes (S1-07).
 */
#include "worker.h"

#include "actor.h"
#include "cxx_globals.h"
#include "errno_cell.h"
#include "idle.h"
#include "inject.h"
#include "log.h"
#include "runtime.h"
#include "suspend.h"
#include "sweep.h"
#include "threads.h"

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

static bool in_scheduler_of(struct runtime *rt)
{
	const struct carrier *c = carrier_self();

	return c->worker && c->rt == rt && !c->current;
}

void worker_ready(struct runtime *rt, struct slot *s, uint32_t generation)
{
	runq_push(rt->runq, runtime_pid(rt, s, generation));
	runtime_tell_queued(rt);
	inject_delay();
	if (!in_scheduler_of(rt))
		worker_wake_one(rt);
}

static void requeue(struct runtime *rt, struct slot *s)
{
	uint32_t generation = slot_word_generation(slot_load(s));

	runq_push(rt->runq, runtime_pid(rt, s, generation));
	runtime_tell_queued(rt);
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
		requeue(w->rt, s);
}

/*
 * @s has called the library and found that @c was displaced.  It is for any worker
 * now, and this thread has none: whoever is idle is to take it.
 */
static noinline void displaced(struct carrier *c, struct slot *s)
{
	struct runtime *rt = c->rt;

	c->worker = NULL;
	carrier_unshare(c);
	slot_yield(s);
	inject_delay();
	requeue(rt, s);
	stat_count(rt, STAT(displaced), 1);
	worker_wake_one(rt);
}

/* Scheduler context: what @s asked for when it left. */
static inline void carry_out(struct carrier *c, struct slot *s)
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
		requeue(c->rt, s);
		break;
	case INTENT_PARK:
	case INTENT_PARK_ENDLESS:
		if (!slot_park(s, intent == INTENT_PARK_ENDLESS))
			requeue(c->rt, s);
		break;
	case INTENT_EXIT:
		actor_bury(c->worker, s);
		break;
	case INTENT_DISPLACED:
		displaced(c, s);
		break;
	case INTENT_PARK_AND_HAND:
		break;
	}
}

/* Its errno goes where it goes, like all that it leaves on its stack. */
static inline struct slot *run(struct carrier *c, struct slot *s)
{
	*c->error = s->error;
	ctx_to_actor(&c->ctx, &s->ctx, c->modes, c);
	/* Others may have run since, each after the one before. */
	s = c->current;
	c->modes = s->ctx.modes;
	s->error = *c->error;
#ifdef ROOST_DEBUG
	if (c->intent != INTENT_DISPLACED && !carrier_is_inside(c))
		log_fatal("an actor was suspended outside of the library");
#endif
	return s;
}

/* @c->worker may be NULL afterwards. */
static inline void resume(struct carrier *c, struct worker *w, struct slot *s)
{
	stat_add(&w->stats.resumes, 1);
	c->current = s;
	c->intent = INTENT_YIELD;
	if (actor_stillborn(s))
		c->intent = INTENT_EXIT;
	else
		s = run(c, s);
	c->current = NULL;
	carry_out(c, s);
}

/*
 * The same with one worker alone, where nobody else takes anything: the whole
 * queue at a time, without its lock for each.
 */
static inline struct slot *take_own(struct worker *w)
{
	struct runtime *rt = w->rt;
	struct slot *s;

	do {
		if (!w->own.count) {
			if (!runq_length(rt->runq))
				return NULL;
			runq_pop_all(rt->runq, &w->own);
			if (!w->own.count)
				return NULL;
		}
		s = worker_pop_own(w);
	} while (!slot_claim_queued(s));
	return s;
}

/* The next actor to run, claimed, or NULL. */
static inline struct slot *take(struct worker *w)
{
	struct runtime *rt = w->rt;
	struct slot *s;
	roost_pid pid;

	if (rt->nr_workers == 1)
		return take_own(w);
	for (;;) {
		pid = runq_pop(rt->runq);
		if (pid == ROOST_PID_NONE)
			return NULL;
		s = runtime_slot(rt, pid);
		/* A stale pid is dropped and the next one taken at once (S0-27). */
		if (slot_claim(s, pid_generation(pid)))
			break;
	}
	/* The chain rule, P4 and S1-18. */
	if (runq_length(rt->runq) && idle_any(rt))
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

	return runq_length(rt->runq) || rt->backend->collect(w, true) ||
	       runq_length(rt->runq) || run_over(rt) || sweep_remainder(rt);
}

static void go_idle(struct worker *w)
{
	struct runtime *rt = w->rt;
	uint32_t event = atomic_load_explicit(control_event(rt),
					      memory_order_acquire);

	inject_delay();
	idle_set(w);
	inject_delay();
	if (something_to_do(w))
		idle_clear(w);
	else
		rt->backend->park(w, event);
}

/* An actor was taken, perhaps the last one: is nobody kept waiting by it? */
static noinline void tell_empty(struct worker *w)
{
	if (worker_queued(w) || !runtime_told_queued(w->rt))
		return;
	runtime_set_queued(w->rt, 0);
	/* Who queues meanwhile: pairs with the fence in runtime_tell_queued(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (worker_queued(w))
		runtime_set_queued(w->rt, 1);
}

/* Return: true if the worker was lost, false at the end of the run. */
static bool carry(struct carrier *c)
{
	struct worker *w = c->worker;
	struct runtime *rt = c->rt;
	struct slot *s = NULL;

	for (;;) {
		/*
		 * Not so often while there is a queue anyway.  Alone with an empty
		 * one after a resume: go_idle() looks.
		 */
		if (w->spare && worker_queued(w) > 1)
			w->spare--;
		else if (!s || rt->nr_workers > 1 || worker_queued(w))
			rt->backend->collect(w, false);
		s = take(w);
		if (s) {
			if (rt->backend->busy)
				rt->backend->busy(w);
			if (unlikely(rt->takeover))
				tell_empty(w);
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
		c->worker = NULL;
		break;
	}
	carrier_end(c);
}
