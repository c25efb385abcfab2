/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * runq.h - the run queue: actors that are ready.
 *
 * There are several kinds, each in a file of its own; all are in the library, and a
 * run has one of them (struct roost_config.runq).  One contract:
 *
 *  - any thread may push, any worker may pop, also at the same time; who names a
 *    worker has its lease, and is inside of the library;
 *  - a push never fails: a queue holds as many actors as there are slots, and a
 *    slot is in it at most once, which its state Queued guarantees;
 *  - what is in it can be had by any worker, whoever has pushed it;
 *  - first in, first out, as far as the kind says so; and whoever is pushed is
 *    popped some time, if each worker pops with @elsewhere now and then;
 *  - who pushed may take it that a later runq_length() of any thread that is
 *    ordered after the push by a full barrier on both sides sees it or a pop; and
 *    who got more by a pop than it returns has a full barrier after that;
 *  - an empty pop and the length are snapshots.
 */
#ifndef ROOST_LIB_RUNQ_H
#define ROOST_LIB_RUNQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <roost/runtime.h>

#include "slot.h"

struct runq;

/* In the place of a worker's index: a thread that has no worker. */
#define RUNQ_OUTSIDE	(~0U)

/* In slot->next: the last one of a list. */
#define RUNQ_NOBODY	(~(uint32_t)0)

/**
 * struct runq_batch - slots to be pushed, or taken out, together, in this order:
 * chained by their index in slot->next
 * @first:	index of the first
 * @count:	how many; 0: the others mean nothing
 * @last:	index of the last; not beside @first, lest a compiler puts both together in
 *		a vector to store them, which takes longer
 *
 * Of one thread.
 */
struct runq_batch {
	uint32_t first;
	uint32_t count;
	uint32_t last;
};

/**
 * struct runq_kind - what a kind of queue does; the functions below say how
 * @name:	as in ROOST_RUNQ
 * @create:	may use @nr_slots and @nr_workers; sets no member of struct runq
 * @destroy:	undo it
 * @push:	see runq_push()
 * @push_batch:	NULL: one by one
 * @pop:	see runq_pop()
 * @pop_all:	NULL: one by one
 * @length:	see runq_length()
 * @near:	see runq_near()
 */
struct runq_kind {
	const char *name;
	struct runq *(*create)(uint32_t nr_slots, unsigned int nr_workers);
	void (*destroy)(struct runq *q);
	void (*push)(struct runq *q, struct slot *s, unsigned int at);
	void (*push_batch)(struct runq *q, struct runq_batch *batch,
			   unsigned int at);
	struct slot *(*pop)(struct runq *q, unsigned int at, bool elsewhere);
	void (*pop_all)(struct runq *q, struct runq_batch *batch);
	uint32_t (*length)(const struct runq *q);
	uint32_t (*near)(const struct runq *q, unsigned int at);
};

/**
 * struct runq - what each kind begins with; constant
 * @kind:	which it is
 * @slots:	the slot table
 * @nr_workers:	workers that there may be
 */
struct runq {
	const struct runq_kind *kind;
	struct slot *slots;
	unsigned int nr_workers;
};

extern const struct runq_kind runq_mutex;
extern const struct runq_kind runq_mpmc;
extern const struct runq_kind runq_striped;
extern const struct runq_kind runq_steal;

/** runq_kind_of() - that with the number.  Return: NULL for none */
const struct runq_kind *runq_kind_of(enum roost_runq number);

/** runq_number_of() - that with the name.  Return: ROOST_RUNQ_DEFAULT for none */
enum roost_runq runq_number_of(const char *name);

/**
 * runq_create() - make a queue
 * @kind:	which kind
 * @slots:	the slot table; they know their index
 * @nr_slots:	how many there are
 * @nr_workers:	so many may push and pop as workers
 *
 * Return: NULL without memory.
 */
struct runq *runq_create(const struct runq_kind *kind, struct slot *slots,
			 uint32_t nr_slots, unsigned int nr_workers);
void runq_destroy(struct runq *q);

/* ROOST_DEBUG: @s is in some queue now, and was in none. */
static inline void runq_mark(struct slot *s)
{
#ifdef ROOST_DEBUG
	void runq_twice(const struct slot *s);

	if (atomic_exchange_explicit(&s->queued, 1, memory_order_relaxed))
		runq_twice(s);
#else
	(void)s;
#endif
}

static inline void runq_unmark(struct slot *s)
{
#ifdef ROOST_DEBUG
	atomic_store_explicit(&s->queued, 0, memory_order_relaxed);
#else
	(void)s;
#endif
}

/**
 * runq_push() - append
 * @q:		the queue
 * @s:		in state Queued
 * @at:		index of the worker that the caller carries, or RUNQ_OUTSIDE
 */
static inline void runq_push(struct runq *q, struct slot *s, unsigned int at)
{
	runq_mark(s);
	q->kind->push(q, s, at);
}

/** runq_push_batch() - runq_push() for each of them; @batch is empty then */
void runq_push_batch(struct runq *q, struct runq_batch *batch, unsigned int at);

/**
 * runq_pop() - take one
 * @q:		the queue
 * @at:		index of the worker that the caller carries
 * @elsewhere:	look first where this worker does not look as long as it has
 *		something of its own
 *
 * Return: NULL if nothing was found.
 */
static inline struct slot *runq_pop(struct runq *q, unsigned int at,
				    bool elsewhere)
{
	struct slot *s = q->kind->pop(q, at, elsewhere);

	if (s)
		runq_unmark(s);
	return s;
}

/*
 * runq_pop_all() - append all there is to @batch, as worker 0
 *
 * For a run with one worker.  They count as queued still.
 */
void runq_pop_all(struct runq *q, struct runq_batch *batch);

/** runq_length() - how many, about; looks everywhere */
static inline uint32_t runq_length(const struct runq *q)
{
	return q->kind->length(q);
}

/** runq_near() - how many a worker gets without asking others, about */
static inline uint32_t runq_near(const struct runq *q, unsigned int at)
{
	return q->kind->near(q, at);
}

/** runq_any() - is there anything?  Looks near @at first */
static inline bool runq_any(const struct runq *q, unsigned int at)
{
	return runq_near(q, at) || runq_length(q);
}

/** runq_batch_add() - append a slot, which is in state Queued */
static inline void runq_batch_add(struct slot *slots, struct runq_batch *batch,
				  struct slot *s)
{
	if (batch->count++)
		slots[batch->last].next = s->index;
	else
		batch->first = s->index;
	batch->last = s->index;
}

/**
 * runq_batch_move() - append all of one to another, which takes no longer for many
 * @slots:	the slot table
 * @to:		they count as queued there
 * @from:	is empty then
 */
void runq_batch_move(struct slot *slots, struct runq_batch *to,
		     struct runq_batch *from);

/** runq_batch_take() - take out the first; it is not empty */
static inline struct slot *runq_batch_take(struct slot *slots,
					   struct runq_batch *batch)
{
	struct slot *s = &slots[batch->first];

	batch->first = s->next;
	batch->count--;
	return s;
}

/*
 * runq_batch_turn() - append a slot and take out the first, in this order
 * @first:	the first
 * @s:		is appended
 *
 * One alone is told apart, lest the next turn waits for what was stored to it just now.
 */
static inline void runq_batch_turn(struct slot *slots, struct runq_batch *batch,
				   const struct slot *first, struct slot *s)
{
	if (batch->count > 1) {
		slots[batch->last].next = s->index;
		batch->first = first->next;
	} else {
		batch->first = s->index;
	}
	batch->last = s->index;
}

#endif /* ROOST_LIB_RUNQ_H */
