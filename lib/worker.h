/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * worker.h - a scheduling place and the thread that runs it.
 */
#ifndef ROOST_LIB_WORKER_H
#define ROOST_LIB_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <roost/types.h>

#include "compiler.h"
#include "ctx.h"
#include "runq.h"

struct runtime;
struct slot;

/* What an actor wants when it gives up its worker. */
enum intent {
	INTENT_YIELD,		/* the default of each resume (S0-45) */
	INTENT_PARK,
	INTENT_PARK_ENDLESS,
	INTENT_PARK_AND_HAND,	/* open a wait, park, then publish @hand */
	INTENT_EXIT,
};

/*
 * Counters of one worker.  Written by its own thread only (stat_add()), read by
 * anybody.  Backends count what is marked so.
 */
struct worker_stats {
	_Atomic uint64_t spawned;
	_Atomic uint64_t resumes;
	_Atomic uint64_t parks;			/* backend, in park() */
	_Atomic uint64_t parks_refused;		/* backend, in park() */
	_Atomic uint64_t wakes_sent;
	_Atomic uint64_t wakes_received;	/* backend in park(), worker.c */
	_Atomic uint64_t wake_calls;
	_Atomic uint64_t enters;		/* backend */
	_Atomic uint64_t timers_armed;		/* backend */
	_Atomic uint64_t timers_fired;
	_Atomic uint64_t fd_arms;		/* fd.c */
	_Atomic uint64_t fd_events;		/* fd.c */
	_Atomic uint64_t ring_ios;		/* io_ring.c */
};

static inline void stat_add(_Atomic uint64_t *counter, uint64_t n)
{
	uint64_t v = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, v + n, memory_order_relaxed);
}

/**
 * struct worker - one worker
 * @rt:		its runtime, constant
 * @index:	its number, its bit in the idle mask, constant
 * @backend:	the backend's own, from worker_init() to worker_fini()
 * @thread:	its thread; not for worker 0
 * @clock:	CPU time clock of its thread
 * @clock_start: what that showed when the thread became a worker
 * @current:	the actor that runs, NULL in scheduler context
 * @intent:	what @current asked for
 * @error:	where its thread has errno
 * @hand:	for INTENT_PARK_AND_HAND: stored to @hand_to once the actor is parked
 * @hand_to:	constant, the backend's
 * @own:	with one worker alone: taken from the run queue, to run next
 * @spare:	resumes before which collect() need not be called, as long as more
 *		than one actor is ready; the backend's
 * @ctx:	the scheduler's context while an actor runs
 * @modes:	floating point modes of the thread while it is in there
 * @stats:	counters
 */
struct worker {
	struct runtime *rt;
	unsigned int index;
	void *backend;
	pthread_t thread;
	clockid_t clock;
	uint64_t clock_start;

	struct slot *current ____cacheline_aligned;
	enum intent intent;
	int *error;
	uint32_t hand;
	uint32_t spare;
	_Atomic uint32_t *hand_to;
	struct runq_batch own;
	struct ctx ctx;
	ctx_modes modes;

	struct worker_stats stats ____cacheline_aligned;
} __attribute__((aligned(128)));

/**
 * worker_self() - the worker that the calling thread runs, or NULL
 *
 * Not inlined, so that no compiler keeps the address of a thread's variable
 * over a switch; ask again after anything that may switch.
 */
struct worker *worker_self(void);

/** worker_actor() - the calling actor's slot, NULL outside of an actor */
struct slot *worker_actor(void);

/** worker_suspend() - leave the calling actor with @intent, until resumed */
void worker_suspend(enum intent intent);

/** worker_suspend_on() - the same where @w is known to be worker_self() */
void worker_suspend_on(struct worker *w, enum intent intent);

/** worker_hand() - publish what is staged with @w->hand */
static inline void worker_hand(struct worker *w)
{
	/* Release: the operation, its wait, and the actor's saved context; pairs
	 * with the kernel's acquire. */
	atomic_store_explicit(w->hand_to, w->hand, memory_order_release);
}

/** worker_exit_actor() - the calling actor is over; never returns */
void worker_exit_actor(void) __attribute__((noreturn));

/** worker_ready() - push what has become Queued and see that it gets run */
void worker_ready(struct runtime *rt, struct slot *s, uint32_t generation);

/** worker_wake_one() - wake an idle worker, if there is one (P2) */
void worker_wake_one(struct runtime *rt);

/** worker_wake_all() - wake all that are idle: the end of a run only (P4) */
void worker_wake_all(struct runtime *rt);

/*
 * worker_claim_idle() - take one worker out of the idle mask
 *
 * Return: it; the caller must wake it.  NULL if nobody is idle.
 */
struct worker *worker_claim_idle(struct runtime *rt);

/** worker_wake_claimed() - wake what worker_claim_idle() gave */
void worker_wake_claimed(struct runtime *rt, struct worker *target);

/** worker_loop() - be worker @w until the run is over */
void worker_loop(struct worker *w);

#endif /* ROOST_LIB_WORKER_H */
