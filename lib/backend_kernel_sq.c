// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * backend_kernel_sq.c - staging operations and handing them over.
 *
 * An entry is handed over by the next ENTER, whatever that is for: a park most
 * of the time, so that a batch costs no call of its own.  A worker that never
 * parks enters for the sake of what is staged only when
 *
 *  - the earliest deadline staged falls within the coming slice (T2);
 *  - a file is to be watched since POLL_AGE resumes, or anything else since
 *    STAGED_AGE (an entry must not be older than that: its actor may have moved
 *    to another worker and rely on this one);
 *  - the ring is half full;
 *  - somebody is idle and this worker is about to take the last thing queued:
 *    an actor that does not come back for long must not keep what others have
 *    staged from a machine that has nothing else to do.  (If more is queued, the
 *    chain rule P4 wakes a sibling, which will go idle later.)
 *
 * For that, and for workers that are all busy while one of them is lost to a
 * long-running actor, others hand over its ring: each of them before it parks,
 * and, for deadlines that have come, every now and then.  Going idle is: set the
 * idle bit, full barrier, look at the rings; staging is: publish, full barrier
 * (S), look at the idle mask.  One of the two sees the other.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <roost/actor.h>

#include "backend_kernel.h"
#include "idle.h"

#define POLL_AGE	16
#define STAGED_AGE	256

/* The slice that a resume may take before we look again, in ns. */
#define SLICE_NS	100000

/* After a hand-over: forget what is not staged any more. */
static void settle(struct kring *r)
{
	if (kring_staged(r))
		return;
	r->polls_staged = false;
	r->age = 0;
	if (r->pending_min == ROOST_NO_DEADLINE)
		return;
	r->pending_min = ROOST_NO_DEADLINE;
	atomic_store_explicit((_Atomic uint64_t *)&r->k.page->pending_min,
			      ROOST_NO_DEADLINE, memory_order_relaxed);
}

int kring_enter(struct worker *w, uint32_t flags, uint32_t event,
		uint32_t *outcome)
{
	struct kring *r = ring_of(w);
	bool park = flags & ROOST_ENTER_PARK;
	struct roost_enter e = {
		.flags = flags,
		.to_submit = kring_staged(r),
		.deadline = park ? ROOST_NO_DEADLINE : 0,
		.event = park ? event : 0,
	};
	int err;

	stat_add(&w->stats.enters, 1);
	err = kapi_enter(&r->k, &e);
	*outcome = e.outcome;
	settle(r);
	return err < 0 ? err : 0;
}

static bool make_room(struct worker *w)
{
	struct kring *r = ring_of(w);
	uint32_t outcome;
	int err;

	while (kring_staged(r) > r->k.sq_mask) {
		err = kring_enter(w, 0, 0, &outcome);
		if (err < 0 && err != -EINTR)
			return false;
		if (outcome & ROOST_OUT_CQ_FULL)
			kring_stash(w);
	}
	return true;
}

struct roost_sqe *kring_stage(struct worker *w)
{
	struct kring *r = ring_of(w);
	struct roost_sqe *sqe;

	if (unlikely(kring_staged(r) > r->k.sq_mask) && !make_room(w))
		return NULL;
	sqe = &r->k.sq[r->sq_tail & r->k.sq_mask];
	memset(sqe, 0, sizeof(*sqe));
	return sqe;
}

void kring_publish(struct kring *r)
{
	/* Release: the entry and pending_min before the tail; pairs with the
	 * kernel's acquire of sq_tail. */
	shared_release(&r->k.page->sq_tail, ++r->sq_tail);
}

void kring_note_deadline(struct kring *r, uint64_t deadline)
{
	if (deadline >= r->pending_min)
		return;
	r->pending_min = deadline;
	/* Relaxed: published by the release of sq_tail that follows. */
	atomic_store_explicit((_Atomic uint64_t *)&r->k.page->pending_min,
			      deadline, memory_order_relaxed);
}

void kring_flush(struct worker *w)
{
	struct kring *r = ring_of(w);
	uint32_t outcome;

	/* A call does a bounded amount of work; what one call leaves the next
	 * takes, as long as the CQ has room. */
	while (kring_staged(r)) {
		if (kring_enter(w, 0, 0, &outcome) < 0)
			return;
		if (outcome & ROOST_OUT_CQ_FULL)
			kring_stash(w);
	}
}

void kring_flush_due(struct worker *w)
{
	struct kring *r = ring_of(w);
	uint32_t staged = kring_staged(r);

	if (likely(!staged)) {
		/* A sibling may have handed over what it was set for. */
		if (unlikely(r->pending_min != ROOST_NO_DEADLINE))
			settle(r);
		return;
	}
	r->age++;
	atomic_thread_fence(memory_order_seq_cst); /* (S) */
	if ((r->polls_staged && r->age >= POLL_AGE) || r->age >= STAGED_AGE ||
	    staged > KRING_SQ_ENTRIES / 2 ||
	    (w->rt->nr_workers > 1 && runq_length(w->rt->runq) <= 1 &&
	     idle_any(w->rt)) ||
	    (r->pending_min != ROOST_NO_DEADLINE &&
	     r->pending_min <= roost_now() + SLICE_NS))
		kring_flush(w);
}

/* Hand over a sibling's ring, as far as its CQ allows. */
static void hand_over(struct worker *w, struct kring *r)
{
	uint32_t tail = shared_acquire(&r->k.page->sq_tail);
	struct roost_enter e = {
		.to_submit = tail - shared_relaxed(&r->k.page->sq_head),
	};

	if (!e.to_submit || e.to_submit > r->k.sq_mask + 1)
		return;
	stat_add(&w->stats.enters, 1);
	kapi_enter(&r->k, &e);
}

void kring_hand_over_for(struct worker *w, bool all)
{
	struct runtime *rt = w->rt;
	uint64_t pending, now = 0;
	struct kring *r;
	unsigned int i;

	for (i = 0; i < rt->nr_workers; i++) {
		r = ring_of(&rt->workers[i]);
		if (i == w->index)
			continue;
		if (!all) {
			pending = atomic_load_explicit(
				(_Atomic uint64_t *)&r->k.page->pending_min,
				memory_order_relaxed);
			if (pending == ROOST_NO_DEADLINE)
				continue;
			if (!now)
				now = roost_now();
			if (pending > now)
				continue;
		}
		hand_over(w, r);
	}
}
