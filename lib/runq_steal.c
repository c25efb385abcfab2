// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * runq_steal.c - a run queue of rings, one for each worker, from which others steal,
 * and a list for all.  Rings, halves and the list for all after D. Vyukov, "Scalable
 * Go Scheduler Design Doc" (2012).
 *
 *			push by owner	pop, steal		length
 *	push by owner	(one thread)	store / CAS of @head	-
 *	pop, steal	-		CAS of @head		-
 *	list		lock		lock			relaxed load
 *
 * A ring is first in, first out: its worker adds at @tail, and takes at @head like
 * everybody else.  Threads outside push to the list.
 *
 * WHAT FINDS NO PLACE in the ring goes to the list, where every worker looks; and so
 * does all that its worker pushes from then on, until it has found the list empty.
 * The same if it finds more there than it takes when it looks elsewhere.  So the ring
 * runs empty and is filled anew from the list, and who is in there does not wait while
 * those in the ring take turns.
 *
 * WHO HAS NOTHING takes from the list a share of what is there, at most half a ring,
 * or steals half of another's ring.  Victims come in random order: from a random
 * worker on in random steps, none twice.  What is on its way then is in no ring for a
 * moment, and a sum of lengths can miss it: but its worker is not idle, and has a full
 * barrier after it is in the ring and before it looks for idle siblings.
 *
 *	thief				who goes idle
 *	put into own ring		set the idle bit
 *	full barrier		(T)	full barrier
 *	look at the idle mask		look at all rings
 *
 * A push takes effect by the release of @tail; a pop by its exchange of @head, which
 * is the release of the places, too: the owner's acquire of @head comes before it
 * writes there again.  A thief that was slow has read nonsense and fails.
 */
#include "runq.h"

#include <stdlib.h>

#include "compiler.h"
#include "inject.h"
#include "runq_list.h"

#define RING	256U

/**
 * struct ring - one worker's
 * @head:	number of the first; whoever takes
 * @tail:	one more than that of the last; the worker
 * @spilling:	it pushes to the list; the worker
 * @others_first: who looks elsewhere looks at the others before the list; the worker
 * @random:	state of random_bits(); the worker
 * @index:	of the slots
 */
struct ring {
	_Atomic uint32_t head;
	_Atomic uint32_t tail __attribute__((aligned(64)));
	bool spilling;
	bool others_first;
	uint32_t random;
	_Atomic uint32_t index[RING] __attribute__((aligned(64)));
} __attribute__((aligned(128)));

/**
 * struct steal - the queue
 * @base:	what each kind begins with
 * @list:	for all
 * @rings:	one for each worker
 */
struct steal {
	struct runq base;
	struct runq_list list;
	struct ring rings[];
};

static struct steal *queue_of(struct runq *q)
{
	return container_of(q, struct steal, base);
}

static struct runq *create(uint32_t nr_slots, unsigned int nr_workers)
{
	struct steal *st;
	unsigned int i;

	(void)nr_slots;
	st = aligned_alloc(_Alignof(struct steal),
			   sizeof(*st) + nr_workers * sizeof(st->rings[0]));
	if (!st)
		return NULL;
	runq_list_init(&st->list);
	for (i = 0; i < nr_workers; i++) {
		atomic_init(&st->rings[i].head, 0);
		atomic_init(&st->rings[i].tail, 0);
		st->rings[i].spilling = false;
		st->rings[i].others_first = false;
		st->rings[i].random = (i + 1) * 0x9e3779b9;
	}
	return &st->base;
}

static void destroy(struct runq *q)
{
	free(queue_of(q));
}

/* After G. Marsaglia, "Xorshift RNGs" (2003). */
static uint32_t random_bits(struct ring *r)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 17;
	r->random ^= r->random << 5;
	return r->random;
}

static uint32_t read_place(const struct ring *r, uint32_t number)
{
	return atomic_load_explicit(&r->index[number % RING],
				    memory_order_relaxed);
}

static void write_place(struct ring *r, uint32_t number, uint32_t index)
{
	atomic_store_explicit(&r->index[number % RING], index,
			      memory_order_relaxed);
}

static uint32_t own_tail(const struct ring *r)
{
	return atomic_load_explicit(&r->tail, memory_order_relaxed);
}

static uint32_t ring_length(const struct ring *r)
{
	/* This one first, so that it is never more than the other. */
	uint32_t head = atomic_load_explicit(&r->head, memory_order_acquire);

	return atomic_load_explicit(&r->tail, memory_order_relaxed) - head;
}

static void push(struct runq *q, struct slot *s, unsigned int at)
{
	struct steal *st = queue_of(q);
	struct ring *r;
	uint32_t tail;

	if (unlikely(at == RUNQ_OUTSIDE)) {
		runq_list_push(&st->list, q->slots, s);
		return;
	}
	r = &st->rings[at];
	tail = own_tail(r);
	/* Acquire: who has taken the place has read it. */
	if (unlikely(r->spilling) ||
	    unlikely(tail - atomic_load_explicit(&r->head, memory_order_acquire) >=
		     RING)) {
		r->spilling = true;
		runq_list_push(&st->list, q->slots, s);
		return;
	}
	write_place(r, tail, s->index);
	inject_delay();
	/* Release: what the pusher did before; pairs with the acquire in
	 * ring_pop(). */
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
}

static struct slot *ring_pop(struct runq *q, struct ring *r)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_acquire);
	uint32_t index;

	do {
		/* Acquire, pairs with the release in push() and publish(). */
		if (head == atomic_load_explicit(&r->tail, memory_order_acquire))
			return NULL;
		index = read_place(r, head);
		inject_delay();
	} while (!atomic_compare_exchange_weak_explicit(&r->head, &head, head + 1,
							memory_order_acq_rel,
							memory_order_acquire));
	/* What the caller has pushed before is there, before it looks for idle
	 * siblings; pairs with the barrier in idle_set(). */
	barrier_after_exchange();
	return &q->slots[index];
}

/* @n places from the tail on have been written. */
static void publish(struct ring *r, uint32_t n)
{
	if (!n)
		return;
	inject_delay();
	atomic_store_explicit(&r->tail, own_tail(r) + n, memory_order_release);
	/* (T), pairs with the one in idle_set(). */
	atomic_thread_fence(memory_order_seq_cst);
}

/* The own ring is empty.  Half of @victim's, but for the first, goes there. */
static struct slot *steal_half(struct runq *q, struct ring *r,
			       struct ring *victim)
{
	uint32_t head, n, i, first;

	head = atomic_load_explicit(&victim->head, memory_order_acquire);
	for (;;) {
		/* Acquire, as in ring_pop(). */
		n = atomic_load_explicit(&victim->tail, memory_order_acquire) -
		    head;
		n -= n / 2;
		if (!n)
			return NULL;
		/* The head is an old one: read it again. */
		if (n > RING / 2) {
			head = atomic_load_explicit(&victim->head,
						    memory_order_acquire);
			continue;
		}
		first = read_place(victim, head);
		for (i = 1; i < n; i++)
			write_place(r, own_tail(r) + i - 1,
				    read_place(victim, head + i));
		inject_delay();
		if (atomic_compare_exchange_strong_explicit(&victim->head, &head,
							    head + n,
							    memory_order_acq_rel,
							    memory_order_acquire))
			break;
	}
	publish(r, n - 1);
	return &q->slots[first];
}

static unsigned int common_divisor(unsigned int a, unsigned int b)
{
	unsigned int rest;

	while (b) {
		rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* Call @take on each other ring in random order until it has something. */
static struct slot *ask_others(struct runq *q, unsigned int at,
			       struct slot *(*take)(struct runq *q, struct ring *r,
						    struct ring *victim))
{
	struct steal *st = queue_of(q);
	struct ring *r = &st->rings[at];
	unsigned int n = q->nr_workers;
	unsigned int i, victim, step;
	struct slot *s = NULL;

	if (n == 1)
		return NULL;
	victim = random_bits(r) % n;
	do {
		step = 1 + random_bits(r) % n;
	} while (common_divisor(step, n) != 1);
	for (i = 0; i < n && !s; i++) {
		if (victim != at)
			s = take(q, r, &st->rings[victim]);
		victim = (victim + step) % n;
	}
	return s;
}

static struct slot *take_one(struct runq *q, struct ring *r, struct ring *victim)
{
	(void)r;
	return ring_pop(q, victim);
}

/* The own ring is empty.  A share of the list, but for the first, goes there. */
static struct slot *refill(struct runq *q, struct ring *r)
{
	struct steal *st = queue_of(q);
	uint32_t n = runq_list_length(&st->list);
	uint32_t index[RING / 2];
	uint32_t i;

	if (!n) {
		r->spilling = false;
		return NULL;
	}
	n = n / q->nr_workers + 1;
	n = runq_list_pop_some(&st->list, q->slots, index,
			       n < RING / 2 ? n : RING / 2);
	if (!n)
		return NULL;
	for (i = 1; i < n; i++)
		write_place(r, own_tail(r) + i - 1, index[i]);
	publish(r, n - 1);
	return &q->slots[index[0]];
}

static struct slot *list_pop(struct runq *q, struct ring *r)
{
	struct steal *st = queue_of(q);
	struct slot *s = runq_list_pop(&st->list, q->slots);

	if (s)
		r->spilling = runq_list_length(&st->list);
	return s;
}

/*
 * The list and the others' rings come first in turn: neither is ever empty, perhaps, or
 * the worker of a ring does not come back to it for long.
 */
static struct slot *pop_elsewhere(struct runq *q, unsigned int at)
{
	struct ring *r = &queue_of(q)->rings[at];
	struct slot *s;

	r->others_first = !r->others_first;
	if (r->others_first) {
		s = ask_others(q, at, take_one);
		return s ? s : list_pop(q, r);
	}
	s = list_pop(q, r);
	return s ? s : ask_others(q, at, take_one);
}

static struct slot *pop(struct runq *q, unsigned int at, bool elsewhere)
{
	struct steal *st = queue_of(q);
	struct ring *r = &st->rings[at];
	struct slot *s;

	if (unlikely(elsewhere)) {
		s = pop_elsewhere(q, at);
		if (s)
			return s;
	}
	s = ring_pop(q, r);
	if (likely(s))
		return s;
	s = refill(q, r);
	return s ? s : ask_others(q, at, steal_half);
}

static uint32_t length(const struct runq *q)
{
	const struct steal *st = container_of(q, const struct steal, base);
	uint32_t sum = runq_list_length(&st->list);
	unsigned int i;

	for (i = 0; i < q->nr_workers; i++)
		sum += ring_length(&st->rings[i]);
	return sum;
}

static uint32_t near(const struct runq *q, unsigned int at)
{
	const struct steal *st = container_of(q, const struct steal, base);

	return runq_list_length(&st->list) + ring_length(&st->rings[at]);
}

const struct runq_kind runq_steal = {
	.name = "steal",
	.create = create,
	.destroy = destroy,
	.push = push,
	.pop = pop,
	.length = length,
	.near = near,
};
