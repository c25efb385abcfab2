// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * runq_mpmc.c - a run queue without a lock: a ring with a place for each slot,
 * first in, first out.  After D. Vyukov, "Bounded MPMC queue" (1024cores.net, 2010).
 *
 *		push		pop		length
 *	push	CAS of @tail	-		-
 *	pop	-		CAS of @head	-
 *	length	-		-		-	two loads
 *
 * Both ends are counters that only grow.  A place says by @turn whose it is: in lap
 * n of the ring 2n for who pushes, then 2n + 1 for who pops, then 2(n + 1).  Thus a
 * ring of zeros is an empty one, and what was never used is never touched.
 *
 *	push				pop
 *	take a number off @tail		take a number off @head
 *	write the slot			turn is 2n + 1?		[acquire]
 *	turn = 2n + 1	[release]	read the slot
 *					turn = 2n + 2		[release]
 *
 * A push takes effect when it takes its number, but who pops finds it only after the
 * release: a thread that loses its CPU in between hides what was pushed after it.
 * The length counts numbers, so whoever wants to sleep sees that there is something,
 * and does not.  No place can be met that is still full: there are as many as slots,
 * and each of these is in the queue once; one that is being emptied is waited for.
 */
#include "runq.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "compiler.h"
#include "inject.h"

/**
 * struct place - one of the ring
 * @turn:	whose it is
 * @index:	the slot's
 */
struct place {
	_Atomic uint32_t turn;
	_Atomic uint32_t index;
};

/**
 * struct mpmc - the queue
 * @base:	what each kind begins with
 * @places:	the ring; constant
 * @shift:	log2 of how many; constant
 * @tail:	numbers taken by pushes
 * @head:	numbers taken by pops
 */
struct mpmc {
	struct runq base;
	struct place *places;
	unsigned int shift;
	_Atomic uint64_t tail __attribute__((aligned(128)));
	_Atomic uint64_t head __attribute__((aligned(128)));
};

static struct mpmc *queue_of(struct runq *q)
{
	return container_of(q, struct mpmc, base);
}

static size_t bytes(unsigned int shift)
{
	return ((size_t)1 << shift) * sizeof(struct place);
}

static struct runq *create(uint32_t nr_slots, unsigned int nr_workers)
{
	struct mpmc *m = aligned_alloc(_Alignof(struct mpmc), sizeof(*m));

	(void)nr_workers;
	if (!m)
		return NULL;
	m->shift = 0;
	while ((uint64_t)1 << m->shift < nr_slots)
		m->shift++;
	m->places = mmap(NULL, bytes(m->shift), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m->places == MAP_FAILED) {
		free(m);
		return NULL;
	}
	atomic_init(&m->tail, 0);
	atomic_init(&m->head, 0);
	return &m->base;
}

static void destroy(struct runq *q)
{
	struct mpmc *m = queue_of(q);

	munmap(m->places, bytes(m->shift));
	free(m);
}

static struct place *place_of(struct mpmc *m, uint64_t number)
{
	return &m->places[number & (((uint64_t)1 << m->shift) - 1)];
}

/* What says that it is for the push with that number. */
static uint32_t turn_of(const struct mpmc *m, uint64_t number)
{
	return (uint32_t)(number >> m->shift) * 2;
}

/* It is a few instructions away; but it may have lost its CPU. */
static noinline void await(unsigned int *tries)
{
	if (++*tries % 128)
		cpu_relax();
	else
		sched_yield();
}

static void push(struct runq *q, struct slot *s, unsigned int at)
{
	struct mpmc *m = queue_of(q);
	uint64_t number = atomic_fetch_add_explicit(&m->tail, 1,
						    memory_order_relaxed);
	struct place *p = place_of(m, number);
	uint32_t turn = turn_of(m, number);
	unsigned int tries = 0;

	(void)at;
	inject_delay();
	/* Acquire, pairs with the release in pop(). */
	while (unlikely(atomic_load_explicit(&p->turn, memory_order_acquire) !=
			turn))
		await(&tries);
	atomic_store_explicit(&p->index, s->index, memory_order_relaxed);
	/* Release: what the pusher did before; pairs with the acquire in pop(). */
	atomic_store_explicit(&p->turn, turn + 1, memory_order_release);
}

static struct slot *pop(struct runq *q, unsigned int at, bool elsewhere)
{
	struct mpmc *m = queue_of(q);
	uint64_t number = atomic_load_explicit(&m->head, memory_order_relaxed);
	struct place *p;
	uint32_t turn, index;
	int32_t ahead;

	(void)at;
	(void)elsewhere;
	for (;;) {
		p = place_of(m, number);
		turn = turn_of(m, number) + 1;
		/* Acquire, pairs with the release in push(). */
		ahead = (int32_t)(atomic_load_explicit(&p->turn,
						       memory_order_acquire) -
				  turn);
		if (ahead < 0)
			return NULL;
		if (ahead > 0)
			number = atomic_load_explicit(&m->head,
						      memory_order_relaxed);
		else if (atomic_compare_exchange_weak_explicit(&m->head, &number,
							       number + 1,
							       memory_order_relaxed,
							       memory_order_relaxed))
			break;
	}
	index = atomic_load_explicit(&p->index, memory_order_relaxed);
	inject_delay();
	/* Release: the look at it; pairs with the acquire in push(). */
	atomic_store_explicit(&p->turn, turn + 1, memory_order_release);
	return &q->slots[index];
}

static uint32_t length(const struct runq *q)
{
	const struct mpmc *m = container_of(q, const struct mpmc, base);
	/* This one first, so that it is never more than the other. */
	uint64_t head = atomic_load_explicit(&m->head, memory_order_acquire);

	return (uint32_t)(atomic_load_explicit(&m->tail, memory_order_relaxed) -
			  head);
}

static uint32_t near(const struct runq *q, unsigned int at)
{
	(void)at;
	return length(q);
}

const struct runq_kind runq_mpmc = {
	.name = "mpmc",
	.create = create,
	.destroy = destroy,
	.push = push,
	.pop = pop,
	.length = length,
	.near = near,
};
