// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * idle.c - the idle mask, and how a worker is woken (P2, S1-02 to S1-06).
 *
 * Two sides, one store-buffering pattern:
 *
 *	waker				worker
 *	publish the work		set own bit	(full barrier, A)
 *	full barrier		(B)	look for work
 *	read the mask			nothing: park
 *
 * A in idle_set() pairs with B in worker_wake_one(): either the waker sees the
 * bit, or the worker sees the work.  A bit is cleared by one atomic fetch-and;
 * whoever found it set owes the worker the wake, exactly once.
 */
#include "idle.h"

#include "inject.h"
#include "runtime.h"
#include "worker.h"

static unsigned int mask_words(const struct runtime *rt)
{
	return (rt->nr_workers + 63) / 64;
}

void idle_set(struct worker *w)
{
	/* Barrier A: pairs with the fence in worker_wake_one(). */
	atomic_fetch_or_explicit(control_idle(w->rt, w->index / 64),
				 1ULL << (w->index % 64), memory_order_seq_cst);
	atomic_thread_fence(memory_order_seq_cst);
}

static bool mask_take(struct runtime *rt, unsigned int index)
{
	uint64_t bit = 1ULL << (index % 64);

	return atomic_fetch_and_explicit(control_idle(rt, index / 64), ~bit,
					 memory_order_seq_cst) & bit;
}

void idle_clear(struct worker *w)
{
	if (!mask_take(w->rt, w->index))
		stat_add(&w->stats.wakes_received, 1);
}

bool idle_take(struct runtime *rt, unsigned int index)
{
	if (!mask_take(rt, index))
		return false;
	stat_count(rt, STAT(wakes_sent), 1);
	return true;
}

bool idle_any_beyond(struct runtime *rt)
{
	unsigned int i;

	for (i = 1; i < mask_words(rt); i++)
		if (atomic_load_explicit(control_idle(rt, i),
					 memory_order_relaxed))
			return true;
	return false;
}

bool idle_all(struct runtime *rt)
{
	unsigned int left = rt->nr_workers;
	unsigned int i;
	uint64_t full;

	for (i = 0; i < mask_words(rt); i++) {
		full = left >= 64 ? ~0ULL : (1ULL << left) - 1;
		if (atomic_load_explicit(control_idle(rt, i),
					 memory_order_seq_cst) != full)
			return false;
		left -= left >= 64 ? 64 : left;
	}
	return true;
}

/*
 * The highest bit, so that few workers stay warm and the rest sleep long; but
 * the reluctant one only if there is no other.  Return: an index, or -1.
 */
static int choose(struct runtime *rt)
{
	uint32_t reluctant = atomic_load_explicit(&rt->reluctant,
						  memory_order_relaxed);
	int last = -1;
	int i;

	for (i = (int)mask_words(rt) - 1; i >= 0; i--) {
		uint64_t mask = atomic_load_explicit(control_idle(rt, i),
						     memory_order_relaxed);

		if (reluctant && (int)(reluctant - 1) / 64 == i) {
			uint64_t bit = 1ULL << ((reluctant - 1) % 64);

			if (mask & bit)
				last = (int)reluctant - 1;
			mask &= ~bit;
		}
		if (mask)
			return i * 64 + 63 - __builtin_clzll(mask);
	}
	return last;
}

struct worker *worker_claim_idle(struct runtime *rt)
{
	int target;

	for (;;) {
		target = choose(rt);
		if (target < 0)
			return NULL;
		if (idle_take(rt, (unsigned int)target))
			return &rt->workers[target];
	}
}

void worker_wake_claimed(struct runtime *rt, struct worker *target)
{
	inject_delay();
	if (rt->backend->wake(target, false))
		stat_count(rt, STAT(wake_calls), 1);
}

static noinline void wake_some(struct runtime *rt)
{
	struct worker *target = worker_claim_idle(rt);

	if (target)
		worker_wake_claimed(rt, target);
}

void worker_wake_one(struct runtime *rt)
{
	/* Barrier B: pairs with the one in idle_set(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (unlikely(idle_any(rt)))
		wake_some(rt);
}

void worker_wake_all(struct runtime *rt)
{
	unsigned int i;

	/* Barrier B, for the verdict that the run is over. */
	atomic_thread_fence(memory_order_seq_cst);
	for (i = 0; i < rt->nr_workers; i++) {
		if (idle_take(rt, i))
			worker_wake_claimed(rt, &rt->workers[i]);
	}
}
