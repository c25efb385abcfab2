// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * runq_striped.c - a run queue of several lists, each under a lock of its own, one
 * for each worker.
 *
 * A worker pushes to its own list and pops from it; if that is empty, or it is to look
 * elsewhere first, it goes on with the next ones.  Threads outside push to each in
 * turn.  First in, first out within a list; see runq_list.h for the exclusion.
 *
 * Nothing is ever moved from list to list, so a sum of lengths misses nothing.
 */
#include "runq.h"

#include <stdlib.h>

#include "compiler.h"
#include "runq_list.h"

/**
 * struct stripe - one list
 * @list:	the list
 * @turn:	where its worker has looked first, for the last time that it was to
 *		look elsewhere; the worker's own
 */
struct stripe {
	struct runq_list list;
	unsigned int turn;
};

/**
 * struct striped - the queue
 * @base:	what each kind begins with
 * @outside:	pushes by threads outside; they only spread by it
 * @stripes:	one for each worker
 */
struct striped {
	struct runq base;
	_Atomic uint32_t outside;
	struct stripe stripes[];
};

static struct striped *queue_of(struct runq *q)
{
	return container_of(q, struct striped, base);
}

static struct runq *create(uint32_t nr_slots, unsigned int nr_workers)
{
	struct striped *st;
	unsigned int i;

	(void)nr_slots;
	st = aligned_alloc(_Alignof(struct striped), sizeof(*st) +
					  nr_workers * sizeof(st->stripes[0]));
	if (!st)
		return NULL;
	atomic_init(&st->outside, 0);
	for (i = 0; i < nr_workers; i++) {
		runq_list_init(&st->stripes[i].list);
		st->stripes[i].turn = i;
	}
	return &st->base;
}

static void destroy(struct runq *q)
{
	free(queue_of(q));
}

static struct runq_list *list_for(struct runq *q, unsigned int at)
{
	struct striped *st = queue_of(q);

	if (unlikely(at == RUNQ_OUTSIDE))
		at = atomic_fetch_add_explicit(&st->outside, 1,
					       memory_order_relaxed) %
		     q->nr_workers;
	return &st->stripes[at].list;
}

static void push(struct runq *q, struct slot *s, unsigned int at)
{
	runq_list_push(list_for(q, at), q->slots, s);
}

static void push_batch(struct runq *q, struct runq_batch *batch, unsigned int at)
{
	runq_list_push_batch(list_for(q, at), q->slots, batch);
}

static struct slot *pop(struct runq *q, unsigned int at, bool elsewhere)
{
	struct striped *st = queue_of(q);
	unsigned int i, from = at;
	struct slot *s = NULL;

	if (elsewhere) {
		if (++st->stripes[at].turn >= q->nr_workers)
			st->stripes[at].turn = 0;
		from = st->stripes[at].turn;
	}
	for (i = 0; i < q->nr_workers && !s; i++) {
		s = runq_list_pop(&st->stripes[from].list, q->slots);
		if (++from == q->nr_workers)
			from = 0;
	}
	return s;
}

static uint32_t length(const struct runq *q)
{
	const struct striped *st = container_of(q, const struct striped, base);
	uint32_t sum = 0;
	unsigned int i;

	for (i = 0; i < q->nr_workers; i++)
		sum += runq_list_length(&st->stripes[i].list);
	return sum;
}

static uint32_t near(const struct runq *q, unsigned int at)
{
	const struct striped *st = container_of(q, const struct striped, base);

	return runq_list_length(&st->stripes[at].list);
}

const struct runq_kind runq_striped = {
	.name = "striped",
	.create = create,
	.destroy = destroy,
	.push = push,
	.push_batch = push_batch,
	.pop = pop,
	.length = length,
	.near = near,
};
