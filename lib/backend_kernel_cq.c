// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * backend_kernel_cq.c - taking completions out of the rings (R4).
 *
 * A drainer takes the ring's flag or leaves it: a failed try counts as taken
 * by somebody else.  That is sound because who holds the flag looks at the
 * tail again after it has let go, with a full barrier in between (D): either
 * the one who failed read a tail that the holder has drained, or the holder's
 * second look sees what the other one saw.
 *
 * The own ring is looked at before a resume, for one load of a line that only
 * the kernel writes, but only each COLLECT_EVERY resumes if several actors wait
 * for theirs.  Those of the others are looked at through the mask in the control
 * page every LOOK_EVERY resumes, and one by one before a park.
 *
 * The kernel wakes somebody for a completion unless the carrier of that very ring
 * is in the kernel just then: it is about to look.  So after a call we do look,
 * and where we cannot, in the middle of an actor that may go on for long, or do
 * not go on to the end, somebody idle is woken for the rest.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <roost/actor.h>

#include "backend_kernel.h"
#include "backend_kernel_io.h"
#include "fd.h"
#include "idle.h"
#include "inject.h"
#include "log.h"

#define BATCH		64
/* In resumes. */
#define COLLECT_EVERY	8
#define LOOK_EVERY	8
#define HAND_OVER_EVERY	64

static bool try_claim(struct kring *r)
{
	return !atomic_load_explicit(&r->draining, memory_order_relaxed) &&
	       !atomic_exchange_explicit(&r->draining, true,
					 memory_order_acquire);
}

static void release_claim(struct kring *r)
{
	atomic_store_explicit(&r->draining, false, memory_order_release);
	/* (D): the flag is seen free before the tail is looked at again; pairs
	 * with the exchange in try_claim(). */
	atomic_thread_fence(memory_order_seq_cst);
}

static uint32_t stashed(const struct kring *r)
{
	return atomic_load_explicit(&r->stash_count, memory_order_relaxed);
}

static bool has_completions(const struct kring *r)
{
	/* Acquire: entries before the tail; pairs with the kernel's release. */
	return shared_acquire(&r->k.page->cq_tail) !=
		       shared_relaxed(&r->k.page->cq_head) ||
	       unlikely(stashed(r));
}

/* Copy at most @room entries of the ring.  The caller holds the claim. */
static unsigned int take_from_ring(struct kring *r, struct roost_cqe *to,
				   unsigned int room)
{
	struct roost_worker_page *page = r->k.page;
	uint32_t head = shared_relaxed(&page->cq_head);
	uint32_t tail = shared_acquire(&page->cq_tail);
	unsigned int n = 0;

	for (; head != tail && n < room; head++)
		to[n++] = r->k.cq[head & r->k.cq_mask];
	/* Release: the copies before the places are given back; pairs with the
	 * kernel's acquire of cq_head. */
	if (n)
		shared_release(&page->cq_head, head);
	return n;
}

/* Copy at most @room of the entries that were moved out of the ring. */
static noinline unsigned int take_from_stash(struct kring *r,
					     struct roost_cqe *to,
					     unsigned int room)
{
	uint32_t count = stashed(r);
	unsigned int n = count < room ? count : room;

	memcpy(to, r->stash + r->stash_first, n * sizeof(*to));
	r->stash_first = n < count ? r->stash_first + n : 0;
	atomic_store_explicit(&r->stash_count, count - n, memory_order_relaxed);
	return n;
}

/* The oldest first.  The caller holds the claim. */
static unsigned int take(struct kring *r, struct roost_cqe *to,
			 unsigned int room)
{
	if (unlikely(stashed(r)))
		return take_from_stash(r, to, room);
	return take_from_ring(r, to, room);
}

/* Clear a ring's bit in the mask of non-empty rings, before it is drained. */
static void clear_ready(struct runtime *rt, uint32_t index)
{
	_Atomic uint64_t *word =
		(_Atomic uint64_t *)&rt->control->cq_ready[index / 64];
	uint64_t bit = 1ULL << (index % 64);

	/* Acquire, pairs with the kernel setting it after the tail. */
	if (atomic_load_explicit(word, memory_order_relaxed) & bit)
		atomic_fetch_and_explicit(word, ~bit, memory_order_acq_rel);
}

/*
 * What the own ring has is for the others too: those who have looked while the
 * bit was clear or had to leave it to us, who had the claim, and are busy or asleep.
 */
void kring_announce(struct worker *w)
{
	struct kring *r = ring_of(w);

	if (!has_completions(r))
		return;
	atomic_fetch_or_explicit((_Atomic uint64_t *)
					 &w->rt->control->cq_ready[r->k.index / 64],
				 1ULL << (r->k.index % 64), memory_order_release);
	worker_wake_one(w->rt);
}

/* @now: the clock, if it was read already. */
static noinline bool handle_other(struct worker *w, const struct roost_cqe *cqe,
				  uint64_t *now)
{
	switch (cqe->flags & ROOST_CQE_KIND) {
	case ROOST_CQE_TIMER:
		/* T1: the clock is read only if there is a timer. */
		if (!*now)
			*now = roost_now();
		return kernel_timer_complete(w, cqe, *now);
	case ROOST_CQE_POLL:
		return kernel_fd_complete(w, cqe);
	default:
		return false;
	}
}

static unsigned int handle(struct worker *w, const struct roost_cqe *cqe,
			   unsigned int n)
{
	/* Pushed by the scheduler, which wakes nobody for that: see worker.c. */
	struct runq_batch ready = { 0 };
	unsigned int i, done = 0;
	uint64_t now = 0;

	for (i = 0; i < n; i++) {
		if (likely((cqe[i].flags & ROOST_CQE_KIND) == ROOST_CQE_IO))
			done += kernel_io_complete(w, &cqe[i], &ready);
		else
			done += handle_other(w, &cqe[i], &now);
	}
	if (ready.count)
		runtime_queue_batch(w->rt, w, &ready);
	return done;
}

/* All there is; but @once, from the own ring, a batch: actors wait to run. */
static unsigned int drain(struct worker *w, struct kring *r, bool once)
{
	struct roost_cqe batch[BATCH];
	unsigned int n, taken = 0;

	clear_ready(w->rt, r->k.index);
	while (has_completions(r) && try_claim(r)) {
		n = take(r, batch, BATCH);
		inject_delay();
		release_claim(r);
		handle(w, batch, n);
		taken += n;
		if (once) {
			kring_announce(w);
			break;
		}
	}
	return taken;
}

/* Room for a whole ring behind what is there.  The caller holds the claim. */
static bool stash_grow(struct kring *r)
{
	uint32_t size = stashed(r) + KRING_CQ_ENTRIES;
	struct roost_cqe *p;

	if (r->stash_first)
		memmove(r->stash, r->stash + r->stash_first,
			stashed(r) * sizeof(*p));
	r->stash_first = 0;
	if (size <= r->stash_size)
		return true;
	size += size / 2;
	p = realloc(r->stash, size * sizeof(*p));

	if (!p)
		return false;
	r->stash = p;
	r->stash_size = size;
	return true;
}

void kring_stash(struct worker *w)
{
	struct kring *r = ring_of(w);
	uint32_t count;

	if (!try_claim(r)) {
		/* Whoever has it makes room just now. */
		sched_yield();
		return;
	}
	if (!stash_grow(r))
		log_fatal("no memory for %u completions", stashed(r));
	count = stashed(r);
	count += take_from_ring(r, r->stash + count, KRING_CQ_ENTRIES);
	atomic_store_explicit(&r->stash_count, count, memory_order_relaxed);
	release_claim(r);
	kring_announce(w);
}

/* Move what waits for a place in @r's CQ there; any thread may. */
static void flush_overflow(struct worker *w, struct kring *r)
{
	struct roost_enter e = { 0 };

	stat_add(&w->stats.enters, 1);
	kapi_enter(&r->k, &e);
}

static unsigned int look_at(struct worker *w, struct kring *r, bool once)
{
	unsigned int n = 0;

	if (has_completions(r))
		n = drain(w, r, once);
	if (unlikely(shared_relaxed(&r->k.page->cq_overflow))) {
		flush_overflow(w, r);
		n += drain(w, r, once);
	}
	return n;
}

static unsigned int look_at_all(struct worker *w)
{
	struct runtime *rt = w->rt;
	unsigned int i, n = 0;

	for (i = 0; i < rt->nr_workers; i++)
		if (i != w->index)
			n += look_at(w, ring_of(&rt->workers[i]), false);
	return n;
}

static unsigned int look_at_ready(struct worker *w)
{
	struct runtime *rt = w->rt;
	unsigned int word, i, n = 0;
	uint64_t ready;

	for (word = 0; word * 64 < rt->nr_workers; word++) {
		ready = atomic_load_explicit(
			(_Atomic uint64_t *)&rt->control->cq_ready[word],
			memory_order_relaxed);
		if (word == w->index / 64)
			ready &= ~(1ULL << (w->index % 64));
		for (; ready; ready &= ready - 1) {
			i = word * 64 + (unsigned int)__builtin_ctzll(ready);
			/* The word is shared memory: the bit may be nobody's. */
			if (i >= rt->nr_workers)
				continue;
			clear_ready(rt, i);
			n += look_at(w, ring_of(&rt->workers[i]), false);
		}
	}
	return n;
}

/* Has @looks come to @next?  Then that is @every later. */
static bool due(const struct kring *r, uint32_t *next, uint32_t every)
{
	if ((int32_t)(r->looks - *next) < 0)
		return false;
	*next = r->looks + every;
	return true;
}

/* What the others have that is for everybody. */
static noinline unsigned int look_around(struct worker *w, bool idle)
{
	struct kring *r = ring_of(w);

	if (idle) {
		kring_hand_over_for(w, true);
		return look_at_all(w);
	}
	if (!due(r, &r->next_look, LOOK_EVERY))
		return 0;
	if (due(r, &r->next_hand_over, HAND_OVER_EVERY))
		kring_hand_over_for(w, false);
	return look_at_ready(w);
}

void kring_look_soon(struct worker *w)
{
	struct kring *r = ring_of(w);

	w->spare = 0;
	r->next_look = r->looks;
}

unsigned int kernel_collect(struct worker *w, bool idle)
{
	struct kring *r = ring_of(w);
	unsigned int n, others = 0;
	bool called = false;

	if (!idle) {
		r->looks += COLLECT_EVERY - w->spare;
		w->spare = COLLECT_EVERY - 1;
	}
	if (unlikely(kernel_retry_at(w->rt) != ROOST_NO_DEADLINE))
		kernel_timer_retry(w);
	n = look_at(w, r, !idle);
	if (w->rt->nr_workers > 1)
		others = look_around(w, idle);
	/* With nothing queued it goes idle next, and the park hands over. */
	if (!idle && worker_queued(w))
		called = kring_flush_due(w);
	/* What others had may have needed room in our ring: a call as well. */
	if (unlikely(called || others))
		n += others + look_at(w, r, !idle);
	return n;
}
