// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * runq_mutex.c - the reference run queue: one list under one lock, strictly
 * first in, first out.  See runq_list.h.
 */
#include "runq.h"

#include <stdlib.h>

#include "compiler.h"
#include "runq_list.h"

/**
 * struct mutex_queue - the queue
 * @base:	what each kind begins with
 * @list:	all of it
 */
struct mutex_queue {
	struct runq base;
	struct runq_list list;
};

static struct mutex_queue *queue_of(struct runq *q)
{
	return container_of(q, struct mutex_queue, base);
}

static struct runq *create(uint32_t nr_slots, unsigned int nr_workers)
{
	struct mutex_queue *m = aligned_alloc(_Alignof(struct mutex_queue), sizeof(*m));

	(void)nr_slots;
	(void)nr_workers;
	if (!m)
		return NULL;
	runq_list_init(&m->list);
	return &m->base;
}

static void destroy(struct runq *q)
{
	free(queue_of(q));
}

static void push(struct runq *q, struct slot *s, unsigned int at)
{
	(void)at;
	runq_list_push(&queue_of(q)->list, q->slots, s);
}

static void push_batch(struct runq *q, struct runq_batch *batch, unsigned int at)
{
	(void)at;
	runq_list_push_batch(&queue_of(q)->list, q->slots, batch);
}

static struct slot *pop(struct runq *q, unsigned int at, bool elsewhere)
{
	(void)at;
	(void)elsewhere;
	return runq_list_pop(&queue_of(q)->list, q->slots);
}

static void pop_all(struct runq *q, struct runq_batch *batch)
{
	runq_list_pop_all(&queue_of(q)->list, q->slots, batch);
}

static uint32_t length(const struct runq *q)
{
	return runq_list_length(&container_of(q, const struct mutex_queue,
					      base)->list);
}

static uint32_t near(const struct runq *q, unsigned int at)
{
	(void)at;
	return length(q);
}

const struct runq_kind runq_mutex = {
	.name = "mutex",
	.create = create,
	.destroy = destroy,
	.push = push,
	.push_batch = push_batch,
	.pop = pop,
	.pop_all = pop_all,
	.length = length,
	.near = near,
};
