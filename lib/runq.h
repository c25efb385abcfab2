/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * runq.h - the run queue: pids that are ready.
 *
 * The kind is chosen at build time (RUNQ in the Makefile); one contract:
 *
 *  - any thread may push, any worker may pop, also at the same time;
 *  - a push never fails: a queue holds as many pids as there are slots, and a
 *    slot is in it at most once, which its state Queued guarantees;
 *  - first in, first out, as far as the kind says so;
 *  - who pushed may take it that a later runq_length() of any thread that is
 *    ordered after the push by a full barrier on both sides sees it or a pop;
 *  - an empty pop and the length are snapshots.
 */
#ifndef ROOST_LIB_RUNQ_H
#define ROOST_LIB_RUNQ_H

#include <stdatomic.h>
#include <stdint.h>

#include <roost/types.h>

struct runq;
struct runtime;
struct slot;

/** runq_create() - a queue for the slots of @rt.  Return: NULL without memory */
struct runq *runq_create(struct runtime *rt);
void runq_destroy(struct runq *q);

/** runq_push() - append; the slot is in state Queued */
void runq_push(struct runq *q, roost_pid pid);

/**
 * struct runq_batch - slots to be pushed, or taken out, together, in this order:
 * chained by their index in slot->next
 * @first:	index of the first
 * @last:	index of the last
 * @count:	how many; 0: the others mean nothing
 *
 * On the stack of one thread.
 */
struct runq_batch {
	uint32_t first;
	uint32_t last;
	uint32_t count;
};

/** runq_push_batch() - runq_push() for each of them; @batch is empty then */
void runq_push_batch(struct runq *q, struct runq_batch *batch);

/** runq_pop_all() - take all, in this order; @batch may be empty then */
void runq_pop_all(struct runq *q, struct runq_batch *batch);

/** runq_pop() - take the first.  Return: ROOST_PID_NONE if it is empty */
roost_pid runq_pop(struct runq *q);

/* What each kind begins with. */
struct runq_head {
	_Atomic uint32_t length;
};

/** runq_length() - how many, relaxed */
static inline uint32_t runq_length(const struct runq *q)
{
	return atomic_load_explicit(&((const struct runq_head *)q)->length,
				    memory_order_relaxed);
}

#endif /* ROOST_LIB_RUNQ_H */
