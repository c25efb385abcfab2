// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * runq_mutex.c - the reference run queue: one list under one lock, strictly
 * first in, first out.
 *
 *		push		pop		length
 *	push	lock		lock		-
 *	pop	lock		lock		-
 *	length	-		-		-	relaxed load
 *
 * Push and pop take effect in the locked section.  The links are slot indices
 * in the slots themselves, so a queue of any length costs no memory, and a slot
 * can be in it once only.
 */
#include "runq.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "log.h"
#include "runtime.h"
#include "slot.h"
#include "spin.h"

#define NOBODY	(~(uint32_t)0)

/**
 * struct runq - the queue
 * @common:	its length is written under @lock, read by anybody
 * @lock:	guards @head, @tail and the slots' next
 * @head:	index of the first slot, NOBODY if empty
 * @tail:	index of the last slot, if not empty
 * @rt:		constant
 */
struct runq {
	struct runq_head common;
	struct spin lock;
	uint32_t head;
	uint32_t tail;
	struct runtime *rt;
} __attribute__((aligned(128)));

struct runq *runq_create(struct runtime *rt)
{
	struct runq *q = aligned_alloc(128, sizeof(*q));

	if (!q)
		return NULL;
	spin_init(&q->lock);
	atomic_init(&q->common.length, 0);
	q->head = NOBODY;
	q->rt = rt;
	return q;
}

void runq_destroy(struct runq *q)
{
	free(q);
}

static void length_add(struct runq *q, int n)
{
	atomic_store_explicit(&q->common.length, runq_length(q) + n,
			      memory_order_relaxed);
}

#ifdef ROOST_DEBUG
static void mark_queued(struct slot *s)
{
	if (atomic_exchange_explicit(&s->queued, 1, memory_order_relaxed))
		log_fatal("slot %u is in the run queue twice", s->index);
}
#endif

void runq_push(struct runq *q, roost_pid pid)
{
	struct slot *s = runtime_slot(q->rt, pid);

#ifdef ROOST_DEBUG
	mark_queued(s);
#endif
	spin_lock(&q->lock);
	s->next = NOBODY;
	if (q->head == NOBODY)
		q->head = s->index;
	else
		q->rt->slots[q->tail].next = s->index;
	q->tail = s->index;
	length_add(q, 1);
	spin_unlock(&q->lock);
}

void runq_push_batch(struct runq *q, struct runq_batch *batch)
{
	if (!batch->count)
		return;
#ifdef ROOST_DEBUG
	uint32_t i, at = batch->first;

	for (i = 0; i < batch->count; i++, at = q->rt->slots[at].next)
		mark_queued(&q->rt->slots[at]);
#endif
	spin_lock(&q->lock);
	q->rt->slots[batch->last].next = NOBODY;
	if (q->head == NOBODY)
		q->head = batch->first;
	else
		q->rt->slots[q->tail].next = batch->first;
	q->tail = batch->last;
	length_add(q, (int)batch->count);
	spin_unlock(&q->lock);
	batch->count = 0;
}

roost_pid runq_pop(struct runq *q)
{
	struct slot *s;

	if (!runq_length(q))
		return ROOST_PID_NONE;
	spin_lock(&q->lock);
	if (q->head == NOBODY) {
		spin_unlock(&q->lock);
		return ROOST_PID_NONE;
	}
	s = &q->rt->slots[q->head];
	q->head = s->next;
	length_add(q, -1);
	spin_unlock(&q->lock);
#ifdef ROOST_DEBUG
	atomic_store_explicit(&s->queued, 0, memory_order_relaxed);
#endif
	return runtime_pid(q->rt, s, slot_word_generation(slot_load(s)));
}

void runq_pop_all(struct runq *q, struct runq_batch *batch)
{
	spin_lock(&q->lock);
	batch->first = q->head;
	batch->last = q->tail;
	batch->count = runq_length(q);
	q->head = NOBODY;
	length_add(q, -(int)batch->count);
	spin_unlock(&q->lock);
#ifdef ROOST_DEBUG
	uint32_t i, at = batch->first;

	for (i = 0; i < batch->count; i++, at = q->rt->slots[at].next)
		atomic_store_explicit(&q->rt->slots[at].queued, 0,
				      memory_order_relaxed);
#endif
}
