// SPDX-License-Identifier: GPL-2.0
/*
 * Submission and completion rings.
 *
 * Both rings have free-running 32-bit indices; a place is the index modulo the
 * size.  We keep private copies of the indices that we own (sq_head, cq_tail)
 * and only ever write the shared ones.  The two that the process owns (sq_tail,
 * cq_head) are read once per decision; a value that cannot be means that there
 * is nothing to consume, or no place.
 *
 *	process				kernel
 *
 *	write entry			load sq_tail (acquire)
 *	store sq_tail (release)		copy entry
 *					store sq_head (release)
 *	load sq_head (acquire)
 *	reuse the place
 *
 *	load cq_tail (acquire)		load cq_head (acquire)
 *	copy entry			write entry
 *	store cq_head (release)		store cq_tail (release)
 *
 * A completion that finds no place waits on a list, in the memory of the op
 * that it belongs to, and is moved by a later ENTER.  Completions of calls
 * that failed or found nothing have no such memory: a place in the ring is
 * reserved before their entry is consumed.
 */
#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/sched.h>

#include "domain.h"
#include "ring.h"
#include "ring_index.h"
#include "trace.h"
#include "worker.h"

/* So many completions are moved with interrupts off at a time. */
#define FLUSH_BATCH	64

/**
 * roost_completion_init() - set up, with one reference
 * @completion:	the completion
 * @release:	frees the memory around it, or NULL if that stays
 */
void roost_completion_init(struct roost_completion *completion,
			   void (*release)(struct roost_completion *completion))
{
	INIT_LIST_HEAD(&completion->node);
	completion->queued = false;
	refcount_set(&completion->ref, 1);
	completion->release = release;
}

/**
 * roost_completion_put() - drop a reference
 * @completion:	one with a release function
 *
 * Context: task, no lock held.
 */
void roost_completion_put(struct roost_completion *completion)
{
	if (refcount_dec_and_test(&completion->ref))
		completion->release(completion);
}

/* Places that nobody has, under cq_lock. */
static u32 cq_free(struct roost_worker *worker)
{
	/* Pairs with the release of who drains: it has read the entries. */
	u32 head = smp_load_acquire(&worker->page->cq_head);

	return roost_ring_free(head, worker->cq_tail, worker->cq_entries);
}

/* A place is free, under cq_lock. */
static void cq_write(struct roost_worker *worker, u64 user_data, s32 res,
		     u32 flags)
{
	u32 place = roost_ring_slot(worker->cq_tail, worker->cq_entries);
	struct roost_cqe *cqe = &worker->cqes[place];

	WRITE_ONCE(cqe->user_data, user_data);
	WRITE_ONCE(cqe->res, res);
	WRITE_ONCE(cqe->flags, flags);
	WRITE_ONCE(worker->cq_tail, worker->cq_tail + 1);
	/* Publishes the entry; pairs with the acquire of who drains. */
	smp_store_release(&worker->page->cq_tail, worker->cq_tail);
	roost_count(&worker->completed);
}

/* Tell everybody which ring to look at; after cq_tail was stored. */
static void cq_mark_ready(struct roost_worker *worker)
{
	unsigned long *mask = (unsigned long *)worker->domain->control->cq_ready;

	/*
	 * The bit after the entry; pairs with the fetch-and of who drains,
	 * who looks at the ring after it has cleared the bit.
	 */
	smp_mb__before_atomic();
	set_bit(worker->index, mask);
}

static void overflow_add(struct roost_worker *worker,
			 struct roost_completion *completion)
{
	if (completion->release)
		refcount_inc(&completion->ref);
	list_add_tail(&completion->node, &worker->overflow);
	WRITE_ONCE(completion->queued, true);
	WRITE_ONCE(worker->nr_overflow, worker->nr_overflow + 1);
	WRITE_ONCE(worker->page->cq_overflow, worker->nr_overflow);
	roost_count(&worker->overflowed);
	trace_roost_overflow(worker, completion->user_data, completion->res,
			     completion->flags);
}

/*
 * With the last reference gone nobody can queue it again, so the node is free
 * to collect it on @dead.
 */
static void overflow_del(struct roost_worker *worker,
			 struct roost_completion *completion,
			 struct list_head *dead)
{
	list_del_init(&completion->node);
	/* Unlinked before; pairs with roost_completion_queued(). */
	smp_store_release(&completion->queued, false);
	WRITE_ONCE(worker->nr_overflow, worker->nr_overflow - 1);
	WRITE_ONCE(worker->page->cq_overflow, worker->nr_overflow);
	if (completion->release && refcount_dec_and_test(&completion->ref))
		list_add_tail(&completion->node, dead);
}

static void release_all(struct list_head *dead)
{
	struct roost_completion *completion;

	while (!list_empty(dead)) {
		completion = list_first_entry(dead, struct roost_completion,
					      node);
		list_del(&completion->node);
		completion->release(completion);
		cond_resched();
	}
}

/**
 * roost_cq_post() - complete something that has its own memory
 * @worker:	whose ring
 * @completion:	the memory, not freed while it is queued
 * @user_data:	of the entry
 * @res:	of the entry
 * @flags:	of the entry
 *
 * If @completion still waits from before, the two become one: flags and events
 * are ORed (but MORE, which both must have), and the newer user_data counts.
 * The caller raises the event counter and looks for a worker to wake.
 *
 * Context: any, also hard irq.  Return: true if @completion now waits where it
 * did not before.
 */
bool roost_cq_post(struct roost_worker *worker,
		   struct roost_completion *completion,
		   u64 user_data, s32 res, u32 flags)
{
	bool queued = false;
	unsigned long irq;
	u32 more;

	raw_spin_lock_irqsave(&worker->cq_lock, irq);
	if (unlikely(worker->closed)) {
		/* For nobody. */
	} else if (completion->queued) {
		/* There is more only if neither of the two is the last. */
		more = completion->flags & flags & ROOST_CQE_MORE;
		completion->user_data = user_data;
		completion->res |= res;
		completion->flags |= flags;
		completion->flags &= ~ROOST_CQE_MORE | more;
	} else if (list_empty(&worker->overflow) &&
		   cq_free(worker) > worker->cq_reserved) {
		cq_write(worker, user_data, res, flags);
	} else {
		completion->user_data = user_data;
		completion->res = res;
		completion->flags = flags;
		overflow_add(worker, completion);
		queued = true;
	}
	raw_spin_unlock_irqrestore(&worker->cq_lock, irq);
	cq_mark_ready(worker);
	return queued;
}

/**
 * roost_cq_post_last() - complete something whose memory is free then
 * @worker:	whose ring
 * @completion:	as for roost_cq_post(); it does not wait from before
 * @user_data:	of the entry
 * @res:	of the entry
 * @flags:	of the entry
 * @word:	the state of what has completed
 * @free:	what that becomes, with release
 *
 * Who has seen the completion finds @free.  It may also be seen before; then
 * @completion is not in use any more, or roost_completion_queued().
 *
 * Context: any, also hard irq.
 */
void roost_cq_post_last(struct roost_worker *worker,
			struct roost_completion *completion, u64 user_data,
			s32 res, u32 flags, atomic64_t *word, u64 free)
{
	unsigned long irq;

	/* What raw_spin_lock_irqsave() does; this half of it is inline. */
	local_irq_save(irq);
	raw_spin_lock(&worker->cq_lock);
	if (likely(list_empty(&worker->overflow) &&
		   cq_free(worker) > worker->cq_reserved)) {
		/* Before the entry is published, and with it the index. */
		atomic64_set_release(word, free);
		cq_write(worker, user_data, res, flags);
	} else {
		completion->user_data = user_data;
		completion->res = res;
		completion->flags = flags;
		if (likely(!worker->closed))
			overflow_add(worker, completion);
		/* After @completion says that it waits; see begin(). */
		atomic64_set_release(word, free);
	}
	raw_spin_unlock(&worker->cq_lock);
	local_irq_restore(irq);
	cq_mark_ready(worker);
}

/**
 * roost_cq_take_back() - drop a completion that was not delivered yet
 * @worker:	whose ring
 * @completion:	may or may not wait
 *
 * The caller has a reference of its own.
 *
 * Context: any.  Return: true if it waited.
 */
bool roost_cq_take_back(struct roost_worker *worker,
			struct roost_completion *completion)
{
	unsigned long irq;
	LIST_HEAD(dead);
	bool queued;

	raw_spin_lock_irqsave(&worker->cq_lock, irq);
	queued = completion->queued;
	if (queued)
		overflow_del(worker, completion, &dead);
	raw_spin_unlock_irqrestore(&worker->cq_lock, irq);
	WARN_ON_ONCE(!list_empty(&dead));
	return queued;
}

/**
 * roost_cq_reserve() - keep places for completions that have no memory
 * @worker:	whose ring
 * @want:	how many
 *
 * Return: how many were kept, 0 to @want; each is used up by
 * roost_cq_post_reserved() or given back by roost_cq_unreserve().
 */
u32 roost_cq_reserve(struct roost_worker *worker, u32 want)
{
	u32 places, got = 0;

	raw_spin_lock_irq(&worker->cq_lock);
	places = cq_free(worker);
	/* Who waits already comes first. */
	if (list_empty(&worker->overflow) && places > worker->cq_reserved)
		got = min(want, places - worker->cq_reserved);
	worker->cq_reserved += got;
	raw_spin_unlock_irq(&worker->cq_lock);
	return got;
}

/**
 * roost_cq_unreserve() - give places back
 * @worker:	whose ring
 * @n:		how many
 */
void roost_cq_unreserve(struct roost_worker *worker, u32 n)
{
	raw_spin_lock_irq(&worker->cq_lock);
	worker->cq_reserved -= n;
	raw_spin_unlock_irq(&worker->cq_lock);
}

/**
 * roost_cq_post_reserved() - complete something, using a reserved place
 * @worker:	whose ring
 * @user_data:	of the entry
 * @res:	of the entry
 * @flags:	of the entry
 *
 * The place can be gone only if the process has moved cq_head back, and then
 * the entry falls: it has harmed nobody but itself.
 *
 * Context: task.
 */
void roost_cq_post_reserved(struct roost_worker *worker, u64 user_data,
			    s32 res, u32 flags)
{
	raw_spin_lock_irq(&worker->cq_lock);
	worker->cq_reserved--;
	if (cq_free(worker))
		cq_write(worker, user_data, res, flags);
	raw_spin_unlock_irq(&worker->cq_lock);
	cq_mark_ready(worker);
}

/* Move up to @max. */
static u32 flush_batch(struct roost_worker *worker, u32 max,
		       struct list_head *dead)
{
	struct roost_completion *completion;
	u32 n = 0;

	raw_spin_lock_irq(&worker->cq_lock);
	while (n < max && !list_empty(&worker->overflow) &&
	       cq_free(worker) > worker->cq_reserved) {
		completion = list_first_entry(&worker->overflow,
					      struct roost_completion, node);
		cq_write(worker, completion->user_data, completion->res,
			 completion->flags);
		overflow_del(worker, completion, dead);
		n++;
	}
	raw_spin_unlock_irq(&worker->cq_lock);
	return n;
}

/**
 * roost_cq_flush() - move waiting completions to the ring
 * @worker:	whose
 *
 * No more than waited when it began: others may drain the ring and add to the
 * list all the time.
 *
 * Context: task, may sleep.  Return: true if some still wait.
 */
bool roost_cq_flush(struct roost_worker *worker)
{
	u32 todo = READ_ONCE(worker->nr_overflow);
	LIST_HEAD(dead);
	bool any = false;
	u32 n;

	while (todo) {
		n = flush_batch(worker, min_t(u32, todo, FLUSH_BATCH), &dead);
		if (!n)
			break;
		any = true;
		todo -= n;
		release_all(&dead);
		cond_resched();
	}
	if (any) {
		cq_mark_ready(worker);
		roost_domain_event(worker->domain);
	}
	return READ_ONCE(worker->nr_overflow);
}

/* Drop up to FLUSH_BATCH.  Returns true if there may be more. */
static bool discard_batch(struct roost_worker *worker, struct list_head *dead)
{
	struct roost_completion *completion;
	u32 n = 0;

	raw_spin_lock_irq(&worker->cq_lock);
	WRITE_ONCE(worker->closed, true);
	while (n++ < FLUSH_BATCH && !list_empty(&worker->overflow)) {
		completion = list_first_entry(&worker->overflow,
					      struct roost_completion, node);
		overflow_del(worker, completion, dead);
	}
	raw_spin_unlock_irq(&worker->cq_lock);
	return n > FLUSH_BATCH;
}

/**
 * roost_cq_close() - nobody will look into the ring any more
 * @worker:	whose
 *
 * Drops what waits for a place, so that the ops it belongs to can be used
 * again, and what comes later.
 *
 * Context: task, may sleep.
 */
void roost_cq_close(struct roost_worker *worker)
{
	LIST_HEAD(dead);
	bool more;

	do {
		more = discard_batch(worker, &dead);
		release_all(&dead);
		cond_resched();
	} while (more);
}

/**
 * roost_sq_fetch() - consume submissions
 * @worker:	whose ring
 * @sqes:	private copies go here
 * @max:	room in @sqes
 * @reserved:	set to the places kept in the CQ, one an entry
 *
 * Entries are copied one by one with the private head; by the time anything is
 * executed the lock is dropped and the process may reuse the places (E1).
 *
 * Context: task, may sleep.  Return: how many were consumed; less than @max if
 * there are no more, or if the CQ has no place: *@reserved is then smaller than
 * what there is to consume, and the caller sees 0 at its next call.
 */
u32 roost_sq_fetch(struct roost_worker *worker, struct roost_sqe *sqes,
		   u32 max, u32 *reserved)
{
	const struct roost_sqe *ring = worker->sqes;
	u32 entries = worker->sq_entries;
	u32 head, tail, n, i;

	mutex_lock(&worker->sq_mutex);
	head = worker->sq_head;
	/* Pairs with the carrier's release: entries before the tail. */
	tail = smp_load_acquire(&worker->page->sq_tail);
	n = min(max, roost_ring_ready(head, tail, entries));
	*reserved = n ? roost_cq_reserve(worker, n) : 0;
	n = min(n, *reserved);
	for (i = 0; i < n; i++)
		sqes[i] = ring[roost_ring_slot(head + i, entries)];
	worker->sq_head += n;
	WRITE_ONCE(worker->submitted, worker->submitted + n);
	if (n)
		/* Copies before head; pairs with the carrier's acquire. */
		smp_store_release(&worker->page->sq_head, worker->sq_head);
	mutex_unlock(&worker->sq_mutex);
	return n;
}

/**
 * roost_sq_pending() - is there something to consume?
 * @worker:	whose ring
 *
 * Context: task, may sleep.
 */
bool roost_sq_pending(struct roost_worker *worker)
{
	u32 n;

	mutex_lock(&worker->sq_mutex);
	n = roost_ring_ready(worker->sq_head, READ_ONCE(worker->page->sq_tail),
			     worker->sq_entries);
	mutex_unlock(&worker->sq_mutex);
	return n;
}
