/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * runq_list.h - one list of slots under one lock, strictly first in, first out: a
 * run queue, or a part of one.
 *
 *		push		pop		length
 *	push	lock		lock		-
 *	pop	lock		lock		-
 *	length	-		-		-	relaxed load
 *
 * Push and pop take effect in the locked section.  The links are slot indices
 * in the slots themselves, so a list of any length costs no memory, and a slot
 * can be in it once only.
 */
#ifndef ROOST_LIB_RUNQ_LIST_H
#define ROOST_LIB_RUNQ_LIST_H

#include "runq.h"
#include "spin.h"

/**
 * struct runq_list - the list
 * @length:	written under @lock, read by anybody
 * @lock:	guards the rest and the slots' next
 * @first:	index of the first slot, if @length is not 0
 * @last:	index of the last one, the same
 */
struct runq_list {
	_Atomic uint32_t length;
	struct spin lock;
	uint32_t first;
	uint32_t last;
} __attribute__((aligned(128)));

static inline void runq_list_init(struct runq_list *l)
{
	atomic_init(&l->length, 0);
	spin_init(&l->lock);
}

/** runq_list_length() - how many, relaxed */
static inline uint32_t runq_list_length(const struct runq_list *l)
{
	return atomic_load_explicit(&l->length, memory_order_relaxed);
}

/* Lock held. */
static inline void runq_list_set_length(struct runq_list *l, uint32_t n)
{
	atomic_store_explicit(&l->length, n, memory_order_relaxed);
}

static inline void runq_list_push_batch(struct runq_list *l, struct slot *slots,
					const struct runq_batch *batch)
{
	uint32_t n;

	spin_lock(&l->lock);
	n = runq_list_length(l);
	if (n)
		slots[l->last].next = batch->first;
	else
		l->first = batch->first;
	l->last = batch->last;
	runq_list_set_length(l, n + batch->count);
	spin_unlock(&l->lock);
}

static inline void runq_list_push(struct runq_list *l, struct slot *slots,
				  struct slot *s)
{
	struct runq_batch one = { .first = s->index, .last = s->index, .count = 1 };

	runq_list_push_batch(l, slots, &one);
}

/* runq_list_pop() - the first.  Return: NULL if it is empty */
static inline struct slot *runq_list_pop(struct runq_list *l, struct slot *slots)
{
	struct slot *s = NULL;
	uint32_t n;

	if (!runq_list_length(l))
		return NULL;
	spin_lock(&l->lock);
	n = runq_list_length(l);
	if (n) {
		s = &slots[l->first];
		l->first = s->next;
		runq_list_set_length(l, n - 1);
	}
	spin_unlock(&l->lock);
	return s;
}

/*
 * runq_list_pop_some() - the first @n, or fewer
 * @to:		out: where they go, as they are numbered
 *
 * Return: how many.
 */
static inline uint32_t runq_list_pop_some(struct runq_list *l, struct slot *slots,
					  uint32_t to[], uint32_t n)
{
	uint32_t i, length;

	spin_lock(&l->lock);
	length = runq_list_length(l);
	n = n < length ? n : length;
	for (i = 0; i < n; i++) {
		to[i] = l->first;
		l->first = slots[l->first].next;
	}
	runq_list_set_length(l, length - n);
	spin_unlock(&l->lock);
	return n;
}

/* runq_list_pop_all() - append all to @batch */
static inline void runq_list_pop_all(struct runq_list *l, struct slot *slots,
				     struct runq_batch *batch)
{
	uint32_t n;

	spin_lock(&l->lock);
	n = runq_list_length(l);
	if (n) {
		if (batch->count)
			slots[batch->last].next = l->first;
		else
			batch->first = l->first;
		batch->last = l->last;
		batch->count += n;
		runq_list_set_length(l, 0);
	}
	spin_unlock(&l->lock);
}

#endif /* ROOST_LIB_RUNQ_LIST_H */
