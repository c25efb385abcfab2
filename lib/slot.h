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
 *	Running, RunningNotified -slot_park_wait-> Parked; Queued if stopped
 *	Parked  -slot_wake, slot_unpark, slot_stop-> Queued
 *	Running -slot_wake, slot_unpark, slot_stop-> RunningNotified	while a
 *							wait is open
 *	RunningNotified -slot_wait_begin, slot_wait_retire-> Running
 *	Running, RunningNotified -slot_finish-> Done
 *	Done    -slot_reclaim->	Vacant			generation + 1
 *
 * With one worker alone, who yields mostly stays Running while it is in that worker's list
 * (slot_stays_running()): nobody but that worker takes it out, and for wakers it is the
 * same as Queued.  That saves two of these exchanges, half of what a yield costs.
 *
 * What was stopped before it ever ran is claimed and finished without being
 * switched to.  Any other edge is a bug and ends the process with a message.
 *
 * How a wait ended is told by how far its epoch has moved: see enum
 * slot_outcome.
 */
#ifndef ROOST_LIB_SLOT_H
#define ROOST_LIB_SLOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <roost/inspect.h>
#include <roost/types.h>

#include "compiler.h"
#include "ctx.h"
#include "fault.h"
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
#define SLOT_WAITING		0x80U	/* a wait is open */

#define SLOT_EPOCH_SHIFT	8
#define SLOT_EPOCH_BITS		24
#define SLOT_EPOCH_MASK		((1U << SLOT_EPOCH_BITS) - 1)
#define SLOT_GENERATION_SHIFT	32

#define SLOT_NAME_WORDS		(ROOST_NAME_SIZE / sizeof(uint64_t))

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
 * @error:	its errno while it is inside of the library
 * @io:		see backend_kernel_io.c
 * @io_epoch:	the wait for the operation in @io
 * @ctx:	saved context; the worker that runs it
 * @epoch:	of the wait it is in; the actor
 * @stack:	its stack, from spawn to its end
 * @fn:		what it runs, NULL once started
 * @arg:	for @fn
 * @crash:	how it has ended; under @lock once it has
 * @lock:	lifecycle lock: guards @handles, @joiners, Done
 * @handles:	how many may still ask for its end; the last reclaims the slot
 * @no_preempt:	sections without preemption that the actor is in
 * @overruns:	times that its slice was over before it gave way; whoever runs it
 *		writes, anybody reads
 * @waits_for:	enum roost_waits_for, but for what @word or @io tell; the actor writes,
 *		anybody reads; so it is with @name
 * @free_next:	free list: index + 1 of the next vacant slot
 * @name:	see inspect.h, as words
 * @joiners:	struct joiner list
 * @timer:	the deadline of its wait
 */
struct slot {
	/* What switching and waking touch. */
	_Atomic uint64_t word;
	uint32_t next;
	_Atomic uint32_t queued;
	uint32_t index;
	uint32_t epoch;
	_Atomic uint64_t io;
	_Atomic uint32_t io_epoch;
	int error;
	struct ctx ctx;

	/* What its birth and its end touch, and timers. */
	struct stack stack ____cacheline_aligned;
	roost_fn fn;
	void *arg;
	struct spin lock;
	uint32_t handles;
	uint32_t no_preempt;
	_Atomic uint32_t overruns;
	_Atomic uint32_t waits_for;
	uint32_t free_next;
	_Atomic uint64_t name[SLOT_NAME_WORDS];
	struct list_head joiners;
	struct wtimer timer;
	struct crash crash;
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

static inline uint64_t slot_load(const struct slot *s)
{
	return atomic_load_explicit(&s->word, memory_order_acquire);
}

static inline bool slot_replace(struct slot *s, uint64_t *old, uint64_t new)
{
	return atomic_compare_exchange_weak_explicit(&s->word, old, new,
						     memory_order_acq_rel,
						     memory_order_acquire);
}

/* @word with another state, all else kept. */
static inline uint64_t slot_with_state(uint64_t word, enum slot_state state)
{
	return (word & ~(uint64_t)SLOT_STATE_MASK) | state;
}

/* @word with the epoch moved on by @steps; flags of the wait are cleared. */
static inline uint64_t slot_with_wait_over(uint64_t word, unsigned int steps)
{
	uint64_t epoch = (slot_word_epoch(word) + steps) & SLOT_EPOCH_MASK;

	word &= ~((uint64_t)SLOT_EPOCH_MASK << SLOT_EPOCH_SHIFT);
	word &= ~(uint64_t)(SLOT_PARKING | SLOT_ENDLESS | SLOT_WAITING);
	return word | epoch << SLOT_EPOCH_SHIFT;
}

/* An edge that the table above does not have: says so and aborts. */
void slot_illegal(const struct slot *s, uint64_t word, enum slot_state to)
	__attribute__((noreturn)) cold;

/** slot_install() - Vacant to Queued: a new tenant, before its first push */
void slot_install(struct slot *s);

/** slot_claim() - Queued to Running.  Return: false for a stale generation */
static inline bool slot_claim(struct slot *s, uint32_t generation)
{
	uint64_t word = slot_load(s);

	do {
		if (slot_word_generation(word) != generation ||
		    slot_word_state(word) != SLOT_QUEUED)
			return false;
	} while (!slot_replace(s, &word, slot_with_state(word, SLOT_RUNNING)));
	return true;
}

/** slot_claim_queued() - the same for who knows that it is the same tenant */
static inline bool slot_claim_queued(struct slot *s)
{
	uint64_t word = slot_load(s);

	do {
		if (slot_word_state(word) != SLOT_QUEUED)
			return false;
	} while (!slot_replace(s, &word, word + SLOT_RUNNING - SLOT_QUEUED));
	return true;
}

/*
 * slot_stays_running() - may the running actor be put into the list of its worker as
 *	it is?
 *
 * No wait is open that a waker could end, and it is not stopped: then a wake, an unpark
 * and a stop do to it in Running what they do in Queued.
 */
static inline bool slot_stays_running(const struct slot *s)
{
	return (slot_load(s) & (SLOT_STATE_MASK | SLOT_WAITING | SLOT_STOP)) ==
	       SLOT_RUNNING;
}

/** slot_claim_own() - slot_claim_queued() for what is in the list of its worker */
static inline bool slot_claim_own(struct slot *s)
{
	return slot_word_state(slot_load(s)) == SLOT_RUNNING ||
	       slot_claim_queued(s);
}

/*
 * slot_yield() - Running to Queued
 *
 * A wake that has come meanwhile coalesces with it (S0-20).
 */
static inline void slot_yield(struct slot *s)
{
	uint64_t word = slot_load(s);

	do {
		if (slot_word_state(word) != SLOT_RUNNING &&
		    slot_word_state(word) != SLOT_NOTIFIED)
			slot_illegal(s, word, SLOT_QUEUED);
	} while (!slot_replace(s, &word, slot_with_state(word, SLOT_QUEUED)));
}

/*
 * slot_park() - Running to Parked, or back to Queued if a wake has come
 * @endless:	nothing but an actor can end this wait
 *
 * The saved context must be complete: the release in here is what lets another
 * worker run it (S0-26).
 *
 * Return: true if it is parked; then @s belongs to its wakers.
 */
static inline bool slot_park(struct slot *s, bool endless)
{
	uint64_t word = slot_load(s);
	uint64_t new;

	do {
		switch (slot_word_state(word)) {
		case SLOT_RUNNING:
			new = slot_with_state(word, SLOT_PARKED);
			if (endless)
				new |= SLOT_ENDLESS;
			break;
		case SLOT_NOTIFIED:
			new = slot_with_state(word, SLOT_QUEUED);
			break;
		default:
			slot_illegal(s, word, SLOT_PARKED);
		}
	} while (!slot_replace(s, &word, new));
	return slot_word_state(new) == SLOT_PARKED;
}

/*
 * slot_park_wait() - slot_wait_begin() and slot_park() in one, for an actor that
 * has set @s->epoch to slot_next_epoch() and not yet told anybody of its wait
 *
 * Return: as slot_park(); false if it was stopped before: the wait is over then.
 */
static inline bool slot_park_wait(struct slot *s)
{
	uint64_t word = slot_load(s);
	uint64_t new;

	do {
		if (slot_word_state(word) != SLOT_RUNNING &&
		    slot_word_state(word) != SLOT_NOTIFIED)
			slot_illegal(s, word, SLOT_PARKED);
		if (unlikely(word & SLOT_STOP))
			new = slot_with_state(slot_with_wait_over(word, 1 + SLOT_STOPPED),
					      SLOT_QUEUED);
		else
			new = slot_with_state(slot_with_wait_over(word, 1),
					      SLOT_PARKED) | SLOT_WAITING;
	} while (!slot_replace(s, &word, new));
	return slot_word_state(new) == SLOT_PARKED;
}

/** slot_count_overrun() - of the running actor */
static inline void slot_count_overrun(struct slot *s)
{
	uint32_t n = atomic_load_explicit(&s->overruns, memory_order_relaxed);

	atomic_store_explicit(&s->overruns, n + 1, memory_order_relaxed);
}

/** slot_waits_for() - the running actor is about to wait, or has waited */
static inline void slot_waits_for(struct slot *s, enum roost_waits_for what)
{
	atomic_store_explicit(&s->waits_for, what, memory_order_relaxed);
}

/** slot_waits() - what slot_waits_for() has said, relaxed */
static inline enum roost_waits_for slot_waits(const struct slot *s)
{
	return (enum roost_waits_for)atomic_load_explicit(&s->waits_for,
							  memory_order_relaxed);
}

/*
 * The name is two words, and ends with a byte of the generation that it belongs to where
 * text ends with 0.  It is written from its end, and read from its beginning: whose the
 * end is, his is the beginning, too.  If one tenant changes its own, halves may be mixed.
 */
_Static_assert(SLOT_NAME_WORDS == 2, "a beginning and an end");

/** slot_set_name() - of the running actor, or of one that nobody sees yet */
static inline void slot_set_name(struct slot *s, const char *name)
{
	uint64_t words[SLOT_NAME_WORDS] = { 0 };
	char *text = (char *)words;

	if (name)
		memcpy(text, name, strnlen(name, ROOST_NAME_SIZE - 1));
	text[ROOST_NAME_SIZE - 1] = (char)slot_word_generation(slot_load(s));
	atomic_store_explicit(&s->name[1], words[1], memory_order_relaxed);
	/* The end before the beginning: pairs with the fence in slot_read_name(). */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&s->name[0], words[0], memory_order_relaxed);
}

/**
 * slot_read_name() - anybody's
 * @s:		where the actor is, or was
 * @generation:	whose; to be compared with the slot's by the caller, with what comes in
 *		after this; it may be one less there
 * @name:	ROOST_NAME_SIZE; empty if it is another one's
 */
static inline void slot_read_name(const struct slot *s, uint32_t generation, char *name)
{
	uint64_t words[SLOT_NAME_WORDS];

	words[0] = atomic_load_explicit(&s->name[0], memory_order_relaxed);
	/* Pairs with the fence in slot_set_name(). */
	atomic_thread_fence(memory_order_acquire);
	words[1] = atomic_load_explicit(&s->name[1], memory_order_relaxed);
	memcpy(name, words, ROOST_NAME_SIZE);
	if (name[ROOST_NAME_SIZE - 1] != (char)generation)
		name[0] = '\0';
	name[ROOST_NAME_SIZE - 1] = '\0';
}

/** slot_next_epoch() - that of the running actor's next wait */
static inline uint32_t slot_next_epoch(const struct slot *s)
{
	return (slot_word_epoch(slot_load(s)) + 1) & SLOT_EPOCH_MASK;
}

/* The end: see the table.  Holding @s->lock. */
void slot_finish(struct slot *s);
void slot_reclaim(struct slot *s);

/*
 * slot_wait_begin() - open a wait of the running actor
 * @parking:	slot_unpark() ends it
 *
 * Return: its epoch, also in @s->epoch.
 */
static inline uint32_t slot_wait_begin(struct slot *s, bool parking)
{
	uint64_t word = slot_load(s);
	uint64_t new;

	do {
		if (slot_word_state(word) != SLOT_RUNNING &&
		    slot_word_state(word) != SLOT_NOTIFIED)
			slot_illegal(s, word, SLOT_RUNNING);
		new = slot_with_wait_over(word, 1);
		new = slot_with_state(new, SLOT_RUNNING) | SLOT_WAITING;
		if (parking)
			new |= SLOT_PARKING;
	} while (!slot_replace(s, &word, new));
	s->epoch = slot_word_epoch(new);
	return s->epoch;
}

/*
 * slot_wait_retire() - end the running actor's wait without parking
 *
 * Return: how it had ended before, SLOT_NOT_ENDED if this call did it (S0-25).
 */
enum slot_outcome slot_wait_retire(struct slot *s);

static inline enum slot_outcome slot_outcome_of(const struct slot *s, uint64_t word)
{
	return (enum slot_outcome)((slot_word_epoch(word) - s->epoch) &
				   SLOT_EPOCH_MASK);
}

/** slot_wait_outcome() - how the running actor's wait ended */
static inline enum slot_outcome slot_wait_outcome(const struct slot *s)
{
	return slot_outcome_of(s, slot_load(s));
}

/*
 * What an end of the wait in @word makes of it: *@new, and the effect.  A wait
 * is open in Parked, and in Running from its beginning to its end: who was
 * resumed has not yet read how its wait ended, and a stop that comes just then
 * must not move the epoch once more.
 */
static inline enum slot_effect slot_end_wait(uint64_t word,
					     enum slot_outcome outcome,
					     uint64_t *new)
{
	switch (slot_word_state(word)) {
	case SLOT_PARKED:
		*new = slot_with_state(slot_with_wait_over(word, outcome),
				       SLOT_QUEUED);
		return SLOT_MADE_READY;
	case SLOT_RUNNING:
		if (!(word & SLOT_WAITING))
			return SLOT_NO_EFFECT;
		*new = slot_with_state(slot_with_wait_over(word, outcome),
				       SLOT_NOTIFIED);
		return SLOT_MARKED;
	default:
		return SLOT_NO_EFFECT;
	}
}

/** slot_wake() - end the wait @epoch of the tenant @generation */
static inline enum slot_effect slot_wake(struct slot *s, uint32_t generation,
					 uint32_t epoch)
{
	uint64_t word = slot_load(s);
	enum slot_effect effect;
	uint64_t new;

	do {
		if (slot_word_generation(word) != generation ||
		    slot_word_epoch(word) != epoch)
			return SLOT_NO_EFFECT;
		effect = slot_end_wait(word, SLOT_WOKEN, &new);
		if (effect == SLOT_NO_EFFECT)
			return effect;
	} while (!slot_replace(s, &word, new));
	return effect;
}

/*
 * slot_timeout() - try once to end the wait of *@word by its deadline
 * @word:	the state word as the caller knows it; read again on failure
 *
 * Return: true if done; *@effect says what it did.
 */
bool slot_timeout(struct slot *s, uint64_t *word, enum slot_effect *effect);

/** slot_unpark() - leave a permit, end a parking wait */
enum slot_effect slot_unpark(struct slot *s, uint32_t generation);

/** slot_take_permit() - the running actor uses up its permit, if it has one */
bool slot_take_permit(struct slot *s);

/** slot_stop() - mark to end, end any wait: the unconditional wake (S0-24) */
enum slot_effect slot_stop(struct slot *s, uint32_t generation);

/** slot_stop_endless() - slot_stop() if it is parked with SLOT_ENDLESS */
enum slot_effect slot_stop_endless(struct slot *s);

/* The table: reserved as a whole, touched as used, low indices first. */
int slot_table_init(struct runtime *rt, uint32_t count);
void slot_table_fini(struct runtime *rt);
struct slot *slot_alloc(struct runtime *rt);
void slot_free(struct runtime *rt, struct slot *s);

#endif /* ROOST_LIB_SLOT_H */
