// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * backend_kernel_sq.c - staging operations and handing them over.
 *
 * An entry is handed over by the next ENTER, whatever that is for: a park most
 * of the time, so that a batch costs no call of its own.  A worker that never
 * parks enters for the sake of what is staged only when
 *
 *  - the earliest deadline staged falls within the coming slice (T2);
 *  - a file is to be watched since POLL_AGE resumes, I/O is to be done since
 *    IO_AGE, or anything else since STAGED_AGE (an entry must not be older than
 *    that: its actor may have moved to another worker and rely on this one);
 *    I/O that became possible in the kernel, and that the call would carry out,
 *    counts like what is staged;
 *  - the ring is half full;
 *  - somebody is idle and this worker is about to take the last thing queued:
 *    an actor that does not come back for long must not keep what others have
 *    staged from a machine that has nothing else to do.  (If more is queued, the
 *    chain rule P4 wakes a sibling, which will go idle later.)
 *
 * With nothing queued the worker goes idle next, and the park hands over.  That
 * is decided after completions were taken: they queue actors.  What others push
 * after that comes with a wake of somebody idle.
 *
 * For that, and for workers that are all busy while one of them is lost to a
 * long-running actor, others hand over its ring: each of them before it parks,
 * and every now and then for deadlines that have come, and if it has not been
 * handed over since the last such look.  Going idle is: set the
 * idle bit, full barrier, look at the rings; staging is: publish, full barrier
 * (S), look at the idle mask.  One of the two sees the other.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <roost/actor.h>

#include "backend_kernel.h"
#include "idle.h"

#define POLL_AGE	16
#define IO_AGE		64
#define STAGED_AGE	256

/* How long to wait for a sibling: by yields, then by pauses. */
#define AWAIT_NS	ROOST_MSEC(10)
#define YIELDS		100
#define PAUSE_NS	100000

/* The slice that a resume may take before we look again, in ns. */
#define SLICE_NS	100000

/* After a hand-over: forget what is not staged any more. */
static void forget_handed_over(struct kring *r)
{
	if (kring_staged(r))
		return;
	r->polls_staged = false;
	r->ios_staged = false;
	r->idle_at = r->looks;
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
		.deadline = park ? kernel_retry_at(w->rt) : 0,
		.event = park ? event : 0,
	};
	int err;

	stat_add(&w->stats.enters, 1);
	err = kapi_enter(&r->k, &e);
	*outcome = e.outcome;
	forget_handed_over(r);
	/* The scheduler looks at the ring itself, and soon. */
	if (worker_actor())
		kring_announce(w);
	else
		w->spare = 0;
	return err < 0 ? err : 0;
}

bool kring_make_room(struct worker *w)
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
	struct roost_sqe *sqe = kring_place(w);

	if (sqe)
		memset(sqe, 0, sizeof(*sqe));
	return sqe;
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

/*
 * Who has fetched entries of ours has raised @handing before, and lowers it when
 * they are carried out.  Mostly a few instructions; but it may have lost its CPU.
 */
static noinline void await_siblings(struct kring *r)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	const uint64_t until = roost_after(AWAIT_NS);
	int saved = errno;
	unsigned int tries = 0;

	/* Acquire, pairs with the release in kring_hand_over(). */
	while (atomic_load_explicit(&r->handing, memory_order_acquire) &&
	       roost_now() < until) {
		if (++tries < YIELDS)
			sched_yield();
		else
			nanosleep(&pause, NULL);
	}
	errno = saved;
}

void kring_settle(struct worker *w)
{
	struct kring *r = ring_of(w);

	kring_flush(w);
	if (unlikely(atomic_load_explicit(&r->handing, memory_order_acquire)))
		await_siblings(r);
}

/* Is the oldest staged entry too old?  @io: there is I/O to be carried out. */
static bool too_old(const struct kring *r, bool io)
{
	uint32_t age = r->looks - r->idle_at;

	return age >= POLL_AGE && (r->polls_staged || age >= STAGED_AGE ||
				   (io && age >= IO_AGE));
}

/* Is this worker about to take the last actor while somebody is idle? */
static bool last_for_idle(struct runtime *rt)
{
	if (rt->nr_workers == 1)
		return false;
	atomic_thread_fence(memory_order_seq_cst); /* (S) */
	return idle_any(rt) && runq_length(rt->runq) <= 1;
}

/* A call even if nothing is staged: it carries out what is ready. */
static void enter_once(struct worker *w)
{
	uint32_t outcome;

	if (kring_enter(w, 0, 0, &outcome) >= 0 && outcome & ROOST_OUT_CQ_FULL)
		kring_stash(w);
	ring_of(w)->idle_at = ring_of(w)->looks;
}

bool kring_flush_due(struct worker *w)
{
	struct kring *r = ring_of(w);
	struct runtime *rt = w->rt;
	uint32_t staged = kring_staged(r);
	/* Relaxed: only a reason to call sooner. */
	bool ready = shared_relaxed(&rt->control->io_ready);

	if (likely(!staged)) {
		/* A sibling may have handed over what it was set for. */
		if (unlikely(r->pending_min != ROOST_NO_DEADLINE))
			forget_handed_over(r);
		if (likely(!ready)) {
			r->idle_at = r->looks;
			return false;
		}
	}
	if (!too_old(r, ready || r->ios_staged) &&
	    staged <= KRING_SQ_ENTRIES / 2 && !last_for_idle(rt) &&
	    (r->pending_min == ROOST_NO_DEADLINE ||
	     r->pending_min > roost_now() + SLICE_NS))
		return false;
	enter_once(w);
	kring_flush(w);
	return true;
}

int kring_hand_over(struct worker *w, struct kring *r)
{
	uint32_t tail = shared_acquire(&r->k.page->sq_tail);
	struct roost_enter e = {
		.to_submit = tail - shared_relaxed(&r->k.page->sq_head),
	};
	int err;

	if (!e.to_submit || e.to_submit > r->k.sq_mask + 1)
		return 0;
	stat_add(&w->stats.enters, 1);
	/* Pairs with the acquire in kring_settle(), by way of the ring's lock in the
	 * kernel: who finds its entries fetched by this call finds it raised. */
	atomic_fetch_add_explicit(&r->handing, 1, memory_order_seq_cst);
	err = kapi_enter(&r->k, &e);
	/* Release, pairs with the acquire in kring_settle() and await_siblings():
	 * who finds it lowered finds the entries carried out. */
	atomic_fetch_sub_explicit(&r->handing, 1, memory_order_release);
	return err;
}

/*
 * Has nobody handed over anything of @r since this was last asked?  Several
 * workers ask, and then it only means less: a surplus call.
 */
static bool stuck(struct kring *r)
{
	uint32_t head = shared_relaxed(&r->k.page->sq_head);
	uint32_t before = atomic_load_explicit(&r->looked_at,
					       memory_order_relaxed);

	atomic_store_explicit(&r->looked_at, head, memory_order_relaxed);
	return before == head && head != shared_relaxed(&r->k.page->sq_tail);
}

/* Is a deadline among what is staged in @r that has come? */
static bool overdue(struct kring *r, uint64_t *now)
{
	uint64_t pending = atomic_load_explicit(
		(_Atomic uint64_t *)&r->k.page->pending_min,
		memory_order_relaxed);

	if (pending == ROOST_NO_DEADLINE)
		return false;
	if (!*now)
		*now = roost_now();
	return pending <= *now;
}

void kring_hand_over_for(struct worker *w, bool all)
{
	struct runtime *rt = w->rt;
	struct kring *r;
	unsigned int i;
	uint64_t now = 0;

	for (i = 0; i < rt->nr_workers; i++) {
		r = ring_of(&rt->workers[i]);
		if (i == w->index)
			continue;
		if (all || stuck(r) || overdue(r, &now))
			kring_hand_over(w, r);
	}
}
