// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * worker.c - the scheduler loop, and the way into and out of an actor.
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

static _Thread_local struct worker *current_worker;

noinline struct worker *worker_self(void)
{
	/* Keeps the compiler from taking this for a function without effect. */
	__asm__ volatile("");
	return current_worker;
}

static noinline void set_current_worker(struct worker *w)
{
	__asm__ volatile("");
	current_worker = w;
}

struct slot *worker_actor(void)
{
	struct worker *w = worker_self();

	return w ? w->current : NULL;
}

struct runtime *runtime_self(void)
{
	struct worker *w = worker_self();

	return w ? w->rt : NULL;
}

noinline void worker_suspend_cxx(struct worker *w, enum intent intent)
{
	struct slot *s = w->current;
	struct cxx_globals exceptions;

	w->intent = intent;
	cxx_globals_take(&exceptions);
	ctx_to_thread(&s->ctx, &w->ctx);
	/* Perhaps another thread from here on: @w is not ours any more. */
	cxx_globals_give(&exceptions);
}

noinline void worker_suspend_on(struct worker *w, enum intent intent)
{
	worker_suspend_here(w, w->current, intent);
}

void worker_suspend(enum intent intent)
{
	worker_suspend_on(worker_self(), intent);
}

void worker_exit_actor(void)
{
	struct worker *w = worker_self();
	struct cxx_globals exceptions;

	/* roost_exit() out of a catch block: what it holds ends with it. */
	cxx_globals_take(&exceptions);
	w->intent = INTENT_EXIT;
	ctx_leave(&w->current->ctx, &w->ctx);
}

static bool in_scheduler_of(struct runtime *rt)
{
	struct worker *w = worker_self();

	return w && w->rt == rt && !w->current;
}

void worker_ready(struct runtime *rt, struct slot *s, uint32_t generation)
{
	runq_push(rt->runq, runtime_pid(rt, s, generation));
	inject_delay();
	if (!in_scheduler_of(rt))
		worker_wake_one(rt);
}

static void requeue(struct worker *w, struct slot *s)
{
	uint32_t generation = slot_word_generation(slot_load(s));

	runq_push(w->rt->runq, runtime_pid(w->rt, s, generation));
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
		requeue(w, s);
}

/* Scheduler context: what @s asked for when it left. */
static inline void carry_out(struct worker *w, struct slot *s)
{
	enum intent intent = w->intent;

	inject_delay();
	if (likely(intent == INTENT_PARK_AND_HAND)) {
		park_and_hand(w, s);
		return;
	}
	switch (intent) {
	case INTENT_YIELD:
		slot_yield(s);
		requeue(w, s);
		break;
	case INTENT_PARK:
	case INTENT_PARK_ENDLESS:
		if (!slot_park(s, intent == INTENT_PARK_ENDLESS))
			requeue(w, s);
		break;
	case INTENT_EXIT:
		actor_bury(w, s);
		break;
	case INTENT_PARK_AND_HAND:
		break;
	}
}

/* Its errno goes where it goes, like all that it leaves on its stack. */
static inline struct slot *run(struct worker *w, struct slot *s)
{
	*w->error = s->error;
	ctx_to_actor(&w->ctx, &s->ctx, w->modes);
	/* Others may have run since, each after the one before. */
	s = w->current;
	w->modes = s->ctx.modes;
	s->error = *w->error;
	return s;
}

static inline void resume(struct worker *w, struct slot *s)
{
	stat_add(&w->stats.resumes, 1);
	w->current = s;
	w->intent = INTENT_YIELD;
	if (actor_stillborn(s))
		w->intent = INTENT_EXIT;
	else
		s = run(w, s);
	w->current = NULL;
	carry_out(w, s);
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

void worker_loop(struct worker *w)
{
	struct runtime *rt = w->rt;
	struct slot *s = NULL;

	set_current_worker(w);
	w->error = errno_place();
	ctx_init_thread(&w->ctx);
	w->modes = w->ctx.modes;
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
			resume(w, s);
		} else if (run_over(rt)) {
			break;
		} else {
			go_idle(w);
		}
	}
	if (ctx_modes_differ(w->modes, w->ctx.modes))
		ctx_modes_load(w->ctx.modes);
	set_current_worker(NULL);
}
