/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * worker.h - a scheduling place.  The thread that runs it is in carrier.h.
 */
#ifndef ROOST_LIB_WORKER_H
#define ROOST_LIB_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <roost/types.h>

#include "carrier.h"
#include "compiler.h"
#include "runq.h"

struct runtime;
struct slot;

/*
 * Counters of one worker.  Written by its carrier only (stat_add()), read by
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
	_Atomic uint64_t displaced;
	_Atomic uint64_t crashed;		/* fault.c */
	_Atomic uint64_t slot_hits;
	_Atomic uint64_t slot_displaced;
	_Atomic uint64_t overruns;
};

static inline void stat_add(_Atomic uint64_t *counter, uint64_t n)
{
	uint64_t v = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, v + n, memory_order_relaxed);
}

/**
 * struct worker - one worker; all that is not constant is its carrier's
 * @rt:		its runtime, constant
 * @index:	its number, its bit in the idle mask, constant
 * @backend:	the backend's own, from worker_init() to worker_fini()
 * @cache:	of the CPU on which it last went idle; read by anybody
 * @hand:	for INTENT_PARK_AND_HAND: stored to @hand_to once the actor is parked
 * @hand_to:	constant, the backend's
 * @own:	with one worker alone: what it has to run.  Its own thread pushes here; what
 *		others push comes from the run queue
 * @takes:	actors taken to run, see take()
 * @next_up:	the wake slot: index + 1 of who runs next, or 0; see wakeslot.h
 * @slot_puts:	how often it was filled
 * @slice_start: when the time slice began; in cycles, see slice.h
 * @slice_hits:	actors taken from the wake slot in this slice
 * @slot_seen:	@slot_puts as slot_watch.c has seen it, whose it is
 * @popped:	@takes when the last one was taken from a wake slot to run, and that was
 *		recorded
 * @spare:	resumes before which collect() need not be called, as long as more
 *		than one actor is ready; the backend's
 * @stats:	counters
 */
struct worker {
	struct runtime *rt;
	unsigned int index;
	void *backend;
	_Atomic uint32_t *hand_to;
	_Atomic uint32_t cache;

	uint32_t hand ____cacheline_aligned;
	uint32_t spare;
	struct runq_batch own;
	uint32_t takes;
	uint32_t slice_hits;
	_Atomic uint32_t next_up;
	uint64_t slice_start;
	_Atomic uint64_t slot_puts;
	uint32_t popped;

	struct worker_stats stats ____cacheline_aligned;
	uint64_t slot_seen;
} __attribute__((aligned(128)));

/**
 * worker_self() - the worker that the calling thread carries, or NULL
 *
 * In the library; as carrier_self().
 */
static inline struct worker *worker_self(void)
{
	return carrier_self()->worker;
}

/** worker_actor() - the calling actor's slot, NULL outside of an actor */
static inline struct slot *worker_actor(void)
{
	return carrier_self()->current;
}

/*
 * worker_suspend() - leave the calling actor with @intent, until resumed
 *
 * Return: its carrier then.
 */
struct carrier *worker_suspend(enum intent intent);

/** worker_suspend_on() - the same where @c is known to be carrier_self() */
struct carrier *worker_suspend_on(struct carrier *c, enum intent intent);

/** worker_hand() - publish what is staged with @w->hand */
static inline void worker_hand(struct worker *w)
{
	/* Release: the operation, its wait, and the actor's saved context; pairs
	 * with the kernel's acquire. */
	atomic_store_explicit(w->hand_to, w->hand, memory_order_release);
}

/** worker_exit_actor() - the calling actor is over; never returns */
void worker_exit_actor(void) __attribute__((noreturn));

/** worker_crash_actor() - the same for one that has crashed, on a new frame */
void worker_crash_actor(void) __attribute__((noreturn));

/** worker_ready() - push what has become Queued and see that it gets run */
void worker_ready(struct runtime *rt, struct slot *s);

/*
 * worker_ready_next() - worker_ready() for who was woken, perhaps by an actor: then it
 *	is the next to run on that actor's worker, if there are wake slots
 */
void worker_ready_next(struct runtime *rt, struct slot *s);

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

/** worker_choose_idle() - whom that would take, which stays in the mask */
struct worker *worker_choose_idle(struct runtime *rt);

/** worker_claim_idle_near() - the same for who runs on a CPU with cache @here */
struct worker *worker_claim_idle_near(struct runtime *rt, uint32_t here);

/** worker_wake_claimed() - wake what worker_claim_idle() gave */
void worker_wake_claimed(struct runtime *rt, struct worker *target);

/*
 * worker_loop() - carry whatever worker @c has a lease of
 *
 * Until the run is over, or the thread is not needed; then @c->worker is NULL.
 */
void worker_loop(struct carrier *c);

#endif /* ROOST_LIB_WORKER_H */
