// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* runq.c - what all kinds of run queues share. */
#include "runq.h"

#include <string.h>

#include "compiler.h"
#include "log.h"

static const struct runq_kind *const kinds[] = {
	[ROOST_RUNQ_MUTEX] = &runq_mutex,
	[ROOST_RUNQ_MPMC] = &runq_mpmc,
	[ROOST_RUNQ_STRIPED] = &runq_striped,
	[ROOST_RUNQ_STEAL] = &runq_steal,
};

const struct runq_kind *runq_kind_of(enum roost_runq number)
{
	return (unsigned int)number < ARRAY_SIZE(kinds) ? kinds[number] : NULL;
}

enum roost_runq runq_number_of(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i] && !strcmp(kinds[i]->name, name))
			return (enum roost_runq)i;
	return ROOST_RUNQ_DEFAULT;
}

struct runq *runq_create(const struct runq_kind *kind, struct slot *slots,
			 uint32_t nr_slots, unsigned int nr_workers)
{
	struct runq *q = kind->create(nr_slots, nr_workers);

	if (!q)
		return NULL;
	q->kind = kind;
	q->slots = slots;
	q->nr_workers = nr_workers;
	return q;
}

void runq_destroy(struct runq *q)
{
	q->kind->destroy(q);
}

#ifdef ROOST_DEBUG
void runq_twice(const struct slot *s);

void runq_twice(const struct slot *s)
{
	log_fatal("slot %u is in the run queue twice", s->index);
}

static void mark_all(struct slot *slots, const struct runq_batch *batch)
{
	uint32_t i, at = batch->first;

	for (i = 0; i < batch->count; i++, at = slots[at].next)
		runq_mark(&slots[at]);
}
#else
static void mark_all(struct slot *slots, const struct runq_batch *batch)
{
	(void)slots;
	(void)batch;
}
#endif

void runq_batch_move(struct slot *slots, struct runq_batch *to,
		     struct runq_batch *from)
{
	if (!from->count)
		return;
	mark_all(slots, from);
	if (to->count)
		slots[to->last].next = from->first;
	else
		to->first = from->first;
	to->last = from->last;
	to->count += from->count;
	from->count = 0;
}

void runq_push_batch(struct runq *q, struct runq_batch *batch, unsigned int at)
{
	if (!batch->count)
		return;
	mark_all(q->slots, batch);
	if (q->kind->push_batch) {
		q->kind->push_batch(q, batch, at);
		batch->count = 0;
		return;
	}
	/* Taken out first: whoever pops it uses its link. */
	while (batch->count)
		q->kind->push(q, runq_batch_take(q->slots, batch), at);
}

void runq_pop_all(struct runq *q, struct runq_batch *batch)
{
	struct slot *s;

	if (q->kind->pop_all) {
		q->kind->pop_all(q, batch);
		return;
	}
	while ((s = q->kind->pop(q, 0, false)))
		runq_batch_add(q->slots, batch, s);
}
