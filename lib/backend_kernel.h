/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * backend_kernel.h - what the parts of the kernel backend share.
 *
 *	backend_kernel.c	start, end, park, wake: the table of entry points
 *	backend_kernel_sq.c	staging and handing over
 *	backend_kernel_cq.c	taking completions
 *	backend_kernel_timer.c	the timer of an actor
 *	backend_kernel_fd.c	watching files
 *	backend_kernel_io.c	receiving and sending
 *
 * Who touches what: a worker's submission ring is filled by the thread that
 * carries the worker, and by nobody else; it is handed over by that thread, and
 * by others that go idle.  Its completion ring is drained by whoever gets
 * kring.draining.  Nothing here ever waits for
 * another thread but for a few instructions.
 */
#ifndef ROOST_LIB_BACKEND_KERNEL_H
#define ROOST_LIB_BACKEND_KERNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "kapi.h"
#include "runtime.h"

#define KRING_SQ_ENTRIES	256
#define KRING_CQ_ENTRIES	1024

/**
 * struct kbackend - a runtime's domain (rt->backend_data)
 * @domain:	the domain
 * @refused_lock: guards @refused; within a timer's own lock
 * @refused:	slot of a timer that the module has refused, plus one, or 0
 * @retry_at:	when to arm it again, ROOST_NO_DEADLINE if there is none; written
 *		under the lock, read by anybody
 */
struct kbackend {
	struct kdomain domain;

	struct spin refused_lock ____cacheline_aligned;
	uint32_t refused;
	_Atomic uint64_t retry_at;
};

/**
 * struct kring - a worker's rings (worker->backend)
 * @k:		the kernel's worker
 * @draining:	somebody takes completions out of the CQ
 * @looked_at:	sq_head when a sibling last looked at it; see stuck()
 * @handing:	so many siblings are handing over what is staged here
 * @sq_tail:	entries published; own thread
 * @pending_min: page->pending_min as last written; own thread
 * @polls_staged: a POLL_ADD is published and not handed over; own thread
 * @ios_staged:	the same of an I/O operation
 * @idle_at:	@looks when nothing was to be handed over for the last time
 * @looks:	resumes, as collect() has counted them; own thread
 * @next_look:	in @looks: when to look at the rings of the others
 * @next_hand_over: in @looks: when to see whether they are handed over
 * @stash_count: completions moved out of a full CQ; written with @draining held
 * @stash_first: where in @stash they begin; with @draining held
 * @stash_size:	room in @stash; own thread, with @draining held
 * @stash:	they themselves; with @draining held
 */
struct kring {
	struct kworker k;

	____cacheline_aligned _Atomic bool draining;
	_Atomic uint32_t looked_at;
	_Atomic uint32_t handing;

	____cacheline_aligned uint32_t sq_tail;
	uint64_t pending_min;
	bool polls_staged;
	bool ios_staged;
	uint32_t idle_at;
	uint32_t looks;
	uint32_t next_look;
	uint32_t next_hand_over;

	____cacheline_aligned _Atomic uint32_t stash_count;
	uint32_t stash_first;
	uint32_t stash_size;
	struct roost_cqe *stash;
} __attribute__((aligned(128)));

static inline struct kbackend *kernel_of(const struct runtime *rt)
{
	return rt->backend_data;
}

/** kernel_retry_at() - when something refused is to be tried again */
static inline uint64_t kernel_retry_at(const struct runtime *rt)
{
	return atomic_load_explicit(&kernel_of(rt)->retry_at,
				    memory_order_relaxed);
}

static inline struct kring *ring_of(const struct worker *w)
{
	return w->backend;
}

/* Shared words are plain in the interface and atomic here. */
static inline uint32_t shared_acquire(const uint32_t *p)
{
	return atomic_load_explicit((const _Atomic uint32_t *)p,
				    memory_order_acquire);
}

static inline uint32_t shared_relaxed(const uint32_t *p)
{
	return atomic_load_explicit((const _Atomic uint32_t *)p,
				    memory_order_relaxed);
}

static inline void shared_release(uint32_t *p, uint32_t v)
{
	atomic_store_explicit((_Atomic uint32_t *)p, v, memory_order_release);
}

/* backend_kernel_sq.c: own thread only. */

/**
 * kring_place() - a place for one entry, with what the last one there has left
 * @w:		the calling worker
 *
 * As kring_stage().
 */
static inline struct roost_sqe *kring_place(struct worker *w);

/**
 * kring_stage() - a zeroed place for one entry
 * @w:		the calling worker
 *
 * Makes room if need be, by a system call; never handles completions.
 * Followed by kring_publish() before anything else is staged.
 *
 * Return: the place; NULL if the kernel takes nothing any more (the domain is
 * dead or not ours: a fork).
 */
struct roost_sqe *kring_stage(struct worker *w);

/** kring_make_room() - the ring is full: hand over.  False as for kring_stage() */
bool kring_make_room(struct worker *w);

/** kring_publish() - the staged entry may be consumed from now on */
static inline void kring_publish(struct kring *r)
{
	/* Release: the entry and pending_min before the tail; pairs with the
	 * kernel's acquire of sq_tail. */
	shared_release(&r->k.page->sq_tail, ++r->sq_tail);
}

/** kring_staged() - entries published and not consumed */
static inline uint32_t kring_staged(const struct kring *r)
{
	/* Acquire: the place of a consumed entry may be written again. */
	return r->sq_tail - shared_acquire(&r->k.page->sq_head);
}

/** kring_place() - as kring_stage(), but not zeroed: for the fast path */
static inline struct roost_sqe *kring_place(struct worker *w)
{
	struct kring *r = ring_of(w);

	if (unlikely(kring_staged(r) > r->k.sq_mask) && !kring_make_room(w))
		return NULL;
	return &r->k.sq[r->sq_tail & r->k.sq_mask];
}

/*
 * kring_note_deadline() - a TIMER_SET for @deadline is being staged (T2)
 *
 * Before kring_publish().
 */
static inline void kring_note_deadline(struct kring *r, uint64_t deadline)
{
	if (deadline >= r->pending_min)
		return;
	r->pending_min = deadline;
	/* Relaxed: published by the release of sq_tail that follows. */
	atomic_store_explicit((_Atomic uint64_t *)&r->k.page->pending_min,
			      deadline, memory_order_relaxed);
}

/**
 * kring_enter() - hand over everything staged, perhaps park
 * @w:		the calling worker
 * @flags:	ROOST_ENTER_PARK or 0
 * @event:	sample of the event counter, with PARK
 * @outcome:	ROOST_OUT_* bits
 *
 * Return: 0 or -errno.
 */
int kring_enter(struct worker *w, uint32_t flags, uint32_t event,
		uint32_t *outcome);

/** kring_flush() - hand over everything staged, without sleeping */
void kring_flush(struct worker *w);

/*
 * kring_settle() - the same, and all that was staged is carried out
 *
 * Also what a sibling has fetched; but one that stays away, in a page fault of
 * somebody's buffer perhaps, is given up after 10 ms: whom that fault waits for may
 * be an actor of this worker.
 */
void kring_settle(struct worker *w);

/*
 * kring_flush_due() - before a resume: hand over what must not wait longer
 *
 * Return: true if that took a call: nobody was woken for what it has put into the
 * own ring.
 */
bool kring_flush_due(struct worker *w);

/**
 * kring_hand_over() - hand over what is staged in another worker's ring
 * @w:		the calling worker
 * @r:		the ring
 *
 * As far as that ring's CQ allows.  Return: 0 or -errno.
 */
int kring_hand_over(struct worker *w, struct kring *r);

/**
 * kring_hand_over_for() - hand over what is staged in the rings of others
 * @w:		the calling worker
 * @all:	everything; else only rings with a deadline that has come, and those
 *		that nobody has handed over since the last such call
 */
void kring_hand_over_for(struct worker *w, bool all);

/* backend_kernel_cq.c */

unsigned int kernel_collect(struct worker *w, bool idle);

/**
 * kring_look_soon() - the next collect() looks at every ring that has something
 * @w:		the calling worker, after a park
 */
void kring_look_soon(struct worker *w);

/** kring_announce() - what the own CQ has is for whoever looks, and wakes one */
void kring_announce(struct worker *w);

/**
 * kring_stash() - empty the own CQ without handling what is in it
 * @w:		the calling worker
 *
 * For places that cannot call into the scheduler.  Who drains the ring finds it
 * in the stash, before what comes later.
 */
void kring_stash(struct worker *w);

/* backend_kernel_timer.c */

void kernel_timer_arm(struct worker *w, struct wtimer *t);
void kernel_timer_end(struct worker *w, struct wtimer *t);

/**
 * kernel_timer_complete() - a timer's completion has come
 * @w:		the calling worker, any
 * @cqe:	a private copy
 * @now:	the clock, read after the completion was taken
 *
 * Return: true if it was not stale.
 */
bool kernel_timer_complete(struct worker *w, const struct roost_cqe *cqe,
			   uint64_t now);

/** kernel_timer_retry() - arm what was refused once more, if it is time */
void kernel_timer_retry(struct worker *w);

/* backend_kernel_fd.c */

int kernel_fd_arm(struct worker *w, struct fd *f);
void kernel_fd_disarm(struct worker *w, struct fd *f);

/** kernel_fd_complete() - as kernel_timer_complete(), for a poll */
bool kernel_fd_complete(struct worker *w, const struct roost_cqe *cqe);

/* backend_kernel_io.c */

ssize_t kernel_io(struct worker *w, struct io_op *op);
void kernel_file_remove(struct worker *w, uint32_t number, uint32_t file);

#endif /* ROOST_LIB_BACKEND_KERNEL_H */
