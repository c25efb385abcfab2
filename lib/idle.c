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

/* Who goes idle says where, for choose(); mostly the same as the last time. */
static void note_cache(struct worker *w)
{
	uint32_t here = caches_here(&w->rt->caches);

	if (atomic_load_explicit(&w->cache, memory_order_relaxed) != here)
		atomic_store_explicit(&w->cache, here, memory_order_relaxed);
}

void idle_set(struct worker *w)
{
	note_cache(w);
	/* Barrier A: pairs with the fence in worker_wake_one(). */
	atomic_fetch_or_explicit(control_idle(w->rt, w->index / 64),
				 1ULL << (w->index % 64), memory_order_seq_cst);
	atomic_thread_fence(memory_order_seq_cst);
}

/* The highest bit of the mask's words below word @end; clear it.  Or -1. */
static int highest(uint64_t mask[], int *end)
{
	int i;

	for (; *end > 0; --*end) {
		if (!mask[*end - 1])
			continue;
		i = 63 - __builtin_clzll(mask[*end - 1]);
		mask[*end - 1] &= ~(1ULL << i);
		return (*end - 1) * 64 + i;
	}
	return -1;
}

/*
 * One that went idle on a CPU whose last level of cache is @here, the caller's; else,
 * and if all do, the highest bit, so that few workers stay warm and the rest sleep
 * long.  The reluctant one only if there is no other.  Return: an index, or -1.
 */
static int choose(struct runtime *rt, uint32_t here)
{
	int reluctant = (int)atomic_load_explicit(&rt->reluctant,
						  memory_order_relaxed) - 1;
	uint64_t mask[ROOST_MASK_WORDS];
	int end = (int)mask_words(rt);
	int i, far = -1, last = -1;

	for (i = 0; i < end; i++)
		mask[i] = atomic_load_explicit(control_idle(rt, (unsigned int)i),
					       memory_order_relaxed);
	while ((i = highest(mask, &end)) >= 0) {
		if (i == reluctant)
			last = i;
		else if (here == CACHE_NONE ||
			 atomic_load_explicit(&rt->workers[i].cache,
					      memory_order_relaxed) == here)
			return i;
		else if (far < 0)
			far = i;
	}
	return far >= 0 ? far : last;
}

struct worker *worker_claim_idle_near(struct runtime *rt, uint32_t here)
{
	int target;

	for (;;) {
		target = choose(rt, here);
		if (target < 0)
			return NULL;
		inject_delay();
		if (idle_take(rt, (unsigned int)target))
			return &rt->workers[target];
	}
}

struct worker *worker_choose_idle(struct runtime *rt)
{
	int target = choose(rt, caches_here(&rt->caches));

	return target < 0 ? NULL : &rt->workers[target];
}

struct worker *worker_claim_idle(struct runtime *rt)
{
	return worker_claim_idle_near(rt, caches_here(&rt->caches));
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
