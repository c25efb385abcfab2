/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * slot.h - where an actor lives, and the word that says what it is doing.
 *
 * The state word holds, from the high bits down:
 *
 *	generation 32	which tenant of the slot; changed by reclaim
 *	epoch 24	which wait of the tenant; opened by slot_wait_begin(),
 *			consumed by the wake that ends the wait
 *	flags 5		SLOT_STOP, ...
 *	state 3		enum slot_state
 *
 * Every transition is one compare-and-swap of the whole word, so all of them
 * check the generation and a stale pid can do nothing (S0-16, S0-18):
 *
 *	Vacant  -slot_install->	Queued			spawn
 *	Queued  -slot_claim->	Running			a worker took it
 *	Running, RunningNotified -slot_yield-> Queued
 *	Running -slot_park->	Parked
 *	RunningNotified -slot_park-> Queued		at once, S0-19
 *	Parked  -slot_wake, slot_unpark, slot_stop-> Queued
 *	Running -slot_wake, slot_unpark, slot_stop-> RunningNotified
 *	RunningNotified -slot_wait_begin, slot_wait_retire-> Running
 *	Running, RunningNotified, Queued -slot_finish-> Done
 *	Done    -slot_reclaim->	Vacant			generation + 1
 *
 * Queued to Done is the end of what was stopped before it ever ran.  Any other
 * edge is a bug and ends a ROOST_DEBUG build with a message.
 *
 * How a wait ended is told by how far its epoch has moved: see enum
 * slot_outcome.
 */
#ifndef ROOST_LIB_SLOT_H
#define ROOST_LIB_SLOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <roost/types.h>

#include "compiler.h"
#include "ctx.h"
#include "list.h"
#include "spin.h"
#include "stack.h"
#include "timer.h"

struct runtime;

enum slot_state {
	SLOT_VACANT,
	SLOT_QUEUED,
	SLOT_RUNNING,
	SLOT_NOTIFIED,		/* running, and a wake has come */
	SLOT_PARKED,
	SLOT_DONE,
};

#define SLOT_STATE_MASK		0x07U
#define SLOT_PERMIT		0x08U	/* an unpark is remembered */
#define SLOT_PARKING		0x10U	/* the wait is one that unpark ends */
#define SLOT_STOP		0x20U	/* asked to end, sticky */
#define SLOT_ENDLESS		0x40U	/* parked, only an actor can end it */

#define SLOT_EPOCH_SHIFT	8
#define SLOT_EPOCH_BITS		24
#define SLOT_EPOCH_MASK		((1U << SLOT_EPOCH_BITS) - 1)
#define SLOT_GENERATION_SHIFT	32

/* How far the epoch moved since slot_wait_begin(). */
enum slot_outcome {
	SLOT_NOT_ENDED	= 0,
	SLOT_WOKEN	= 1,
	SLOT_TIMED_OUT	= 2,
	SLOT_STOPPED	= 3,
};

/* What a wake did. */
enum slot_effect {
	SLOT_NO_EFFECT,		/* that wait, or that actor, is over */
	SLOT_MARKED,		/* noted; the actor runs or is queued already */
	SLOT_MADE_READY,	/* now Queued: the caller must push it */
};

/**
 * struct slot - one actor's place; never moves
 * @word:	the state word
 * @next:	run queue: index of the next slot in it
 * @queued:	ROOST_DEBUG: it is in a run queue
 * @index:	its number in the runtime, constant
 * @ctx:	saved context; the worker that runs it
 * @epoch:	of the wait it is in; the actor
 * @fn:		what it runs, NULL once started
 * @arg:	for @fn
 * @stack:	its stack, from spawn to its end
 * @lock:	lifecycle lock: guards @handles, @joiners and Done
 * @handles:	how many may still ask for its end
 * @joiners:	struct joiner list
 * @free_next:	free list: index + 1 of the next vacant slot
 * @timer:	the deadline of its wait
 */
struct slot {
	/* What switching and waking touch. */
	_Atomic uint64_t word;
	uint32_t next;
	_Atomic uint32_t queued;
	uint32_t index;
	uint32_t epoch;
	struct ctx ctx;
	roost_fn fn;
	void *arg;

	/* What its birth and its end touch, and timers. */
	struct stack stack _Alignas(CACHELINE);
	struct spin lock;
	uint32_t handles;
	struct list_head joiners;
	uint32_t free_next;
	struct wtimer timer;
} __attribute__((aligned(128)));

static inline enum slot_state slot_word_state(uint64_t word)
{
	return (enum slot_state)(word & SLOT_STATE_MASK);
}

static inline uint32_t slot_word_generation(uint64_t word)
{
	return (uint32_t)(word >> SLOT_GENERATION_SHIFT);
}

static inline uint32_t slot_word_epoch(uint64_t word)
{
	return (uint32_t)(word >> SLOT_EPOCH_SHIFT) & SLOT_EPOCH_MASK;
}

static inline uint32_t slot_word_flags(uint64_t word)
{
	return (uint32_t)word & 0xf8U;
}

/* A pid's halves.  The index is that of the process, see runtime.h. */
static inline uint32_t pid_index(roost_pid pid)
{
	return (uint32_t)pid;
}

static inline uint32_t pid_generation(roost_pid pid)
{
	return (uint32_t)(pid >> 32);
}

/* Transitions; @generation is checked by each.  See the table above. */
void slot_install(struct slot *s);
bool slot_claim(struct slot *s, uint32_t generation);
void slot_yield(struct slot *s);
bool slot_park(struct slot *s, bool endless);
void slot_finish(struct slot *s);
void slot_reclaim(struct slot *s);

uint32_t slot_wait_begin(struct slot *s, bool parking);
enum slot_outcome slot_wait_retire(struct slot *s);
enum slot_outcome slot_wait_outcome(const struct slot *s);

enum slot_effect slot_wake(struct slot *s, uint32_t generation, uint32_t epoch);
enum slot_effect slot_timeout(struct slot *s, uint64_t *word);
enum slot_effect slot_unpark(struct slot *s, uint32_t generation);
enum slot_effect slot_stop(struct slot *s, uint32_t generation);
enum slot_effect slot_stop_endless(struct slot *s);
bool slot_take_permit(struct slot *s);

/* The table: reserved as a whole, touched as used, low indices first. */
int slot_table_init(struct runtime *rt, uint32_t count);
void slot_table_fini(struct runtime *rt);
struct slot *slot_alloc(struct runtime *rt);
void slot_free(struct runtime *rt, struct slot *s);

#endif /* ROOST_LIB_SLOT_H */
