// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * fd.c - descriptor numbers: table, watching, delivery.
 *
 * LOCKING
 *
 * fd->lock is taken for each number on its own, never two at once, and no lock
 * is taken inside it but those of the backend's fd_arm(), fd_disarm() and settle(),
 * of which the last two may wait for a sibling in the middle of a call, for some
 * milliseconds at most; whom they wait for takes no descriptor's lock; and, where events
 * are recorded, that of the trace's ring for threads without a worker.
 * Waiters are woken after it is dropped, in batches of FD_BATCH (S3-38): all
 * that is needed of a waiter is copied first, since its stack frame is gone as
 * soon as it can take the lock and find itself out of the list.
 *
 * NO EDGE IS LOST
 *
 * fd->ready is one word: a tick that grows with each event, and event bits.
 *
 *   event    (add_events)      one atomic step: tick + 1, bits |= events
 *   attempt  (fd_ready_load)   R0: before = ready		[acquire]
 *                              R1: read(2), recv(2), poll(2), ...
 *   drained  (fd_ready_take)   R2: if tick is still that of before, bits &= ~x
 *   sleep    (fd_wait_ready)   R3: under the lock, if tick is still that of
 *                                  before: become a waiter, arm if need be
 *
 * Let data arrive that R1 did not see.  It came to the file after R1, so its
 * edge, and the event made of it, come after R1 and hence after R0 (the acquire
 * keeps R1 behind R0): in the order of changes of ready the event stands after
 * the value R0 read.  If it stands before R2's change, R2 sees another tick and
 * takes nothing away; if after, it sets the bits again.  Likewise for R3: if
 * it stands before, R3 sees another tick and nobody sleeps; if after, then the
 * event, which is delivered under the same lock, finds the waiter.  This holds
 * for an armed descriptor.  One that is not is armed by R3, and a fresh arm
 * looks at the file itself.
 *
 * An event made of data that R1 did see may come late and set a bit that is
 * not true.  It costs one attempt that finds nothing.
 *
 * Other readers of the same file are not misled either: the bit is there until
 * somebody has really found the file empty.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <roost/types.h>

#include "fd.h"
#include "inject.h"
#include "runtime.h"
#include "worker.h"

#define FD_BATCH	16

/*
 * What is set when something happened and nobody says what: both directions are
 * worth a try, and so that no short count hides the end of the file, reading is
 * until EAGAIN.
 */
#define ANYTHING	(POLLIN | POLLOUT | POLLRDHUP)

/* Table */

int fd_table_init(struct runtime *rt)
{
	struct fd_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;

	table->max_fds = rt->config.max_fds;
	table->nr_chunks = (table->max_fds + FD_CHUNK_SIZE - 1) >> FD_CHUNK_SHIFT;
	table->chunks = calloc(table->nr_chunks, sizeof(*table->chunks));
	if (!table->chunks) {
		free(table);
		return -ENOMEM;
	}

	table->scratch = epoll_create1(EPOLL_CLOEXEC);
	if (table->scratch < 0) {
		int err = -errno;

		free(table->chunks);
		free(table);
		return err;
	}
	rt->fds = table;
	return 0;
}

void fd_table_fini(struct runtime *rt)
{
	struct fd_table *table = rt->fds;
	unsigned int i;

	if (!table)
		return;
	rt->fds = NULL;
	for (i = 0; i < table->nr_chunks; i++)
		free(atomic_load_explicit(&table->chunks[i],
					  memory_order_relaxed));
	close(table->scratch);
	free(table->chunks);
	free(table);
}

/* First touch of a chunk; who loses the race frees its own (S3-44). */
static struct fd_chunk *chunk_make(struct fd_table *table, unsigned int index)
{
	struct fd_chunk *chunk = aligned_alloc(_Alignof(struct fd_chunk),
					       sizeof(*chunk));
	struct fd_chunk *other = NULL;
	unsigned int i;

	if (!chunk)
		return NULL;
	for (i = 0; i < FD_CHUNK_SIZE; i++) {
		struct fd *f = &chunk->fds[i];

		*f = (struct fd){
			.number = (int)((index << FD_CHUNK_SHIFT) + i),
		};
		spin_init(&f->lock);
		spin_init(&f->accepting);
		INIT_LIST_HEAD(&f->waiters);
	}

	/* Release for fd_find(); acquire of what the winner made. */
	if (atomic_compare_exchange_strong_explicit(&table->chunks[index],
						    &other, chunk,
						    memory_order_acq_rel,
						    memory_order_acquire))
		return chunk;
	free(chunk);
	return other;
}

int fd_get_slow(struct fd_table *table, int number, struct fd **fd)
{
	if (number < 0)
		return -EBADF;
	if ((unsigned int)number >= table->max_fds)
		return -EMFILE;
	if (!chunk_make(table, (unsigned int)number >> FD_CHUNK_SHIFT))
		return -ENOMEM;
	*fd = fd_find(table, (unsigned int)number);
	return 0;
}

/* What is ready */

static inline uint64_t tick(uint64_t ready)
{
	return ready / FD_READY_TICK;
}

/* Under the lock, so that the tick stands still for whoever holds it. */
static uint64_t add_events(struct fd *f, uint32_t events)
{
	uint64_t old = atomic_load_explicit(&f->ready, memory_order_relaxed);
	uint64_t new;

	/* Release, pairs with the acquire in fd_ready_load(). */
	do {
		new = (old + FD_READY_TICK) | (events & FD_READY_BITS);
	} while (!atomic_compare_exchange_weak_explicit(&f->ready, &old, new,
							memory_order_release,
							memory_order_relaxed));
	return new;
}

void fd_ready_take(struct fd *f, uint64_t before, uint32_t events)
{
	uint64_t now = atomic_load_explicit(&f->ready, memory_order_relaxed);

	inject_delay();
	/*
	 * Release keeps the attempt that justifies this before it.  If only
	 * bits differ from @before, another direction was drained meanwhile.
	 */
	while (tick(now) == tick(before)) {
		if (atomic_compare_exchange_weak_explicit(&f->ready, &now,
							  now & ~(uint64_t)events,
							  memory_order_release,
							  memory_order_relaxed))
			return;
	}
}

/* Any direction is worth a try, nothing else is known.  Under the lock. */
static uint64_t start_over(struct fd *f)
{
	uint64_t old = atomic_load_explicit(&f->ready, memory_order_relaxed);
	uint64_t new;

	/* Release, pairs with the acquire in fd_ready_load(). */
	do {
		new = (tick(old) + 1) * FD_READY_TICK | POLLIN | POLLOUT;
	} while (!atomic_compare_exchange_weak_explicit(&f->ready, &old, new,
							memory_order_release,
							memory_order_relaxed));
	return new;
}

void fd_ready_reset(struct fd *f)
{
	spin_lock(&f->lock);
	start_over(f);
	spin_unlock(&f->lock);
}

/* Files that I/O in the ring has made known to the backend */

/* The number means another file from now on, or @same.  Under the lock. */
static void next_file(struct fd *f, bool same)
{
	uint64_t ring = fd_ring_load(f);
	uint64_t file = fd_ring_file(ring) + 1;
	uint32_t back = 0;

	if (same) {
		back = (uint32_t)ring & -FD_RING_SAME;
		if (back != -FD_RING_SAME)
			back += FD_RING_SAME;
	}
	atomic_store_explicit(&f->ring, file << 32 | back,
			      memory_order_relaxed);
	atomic_store_explicit(&f->filled, false, memory_order_relaxed);
}

/*
 * Under the lock, so that either fd_forget() finds the mark and lets the file
 * go, or this finds that it is not managed any more.
 */
uint64_t fd_ring_begin(struct fd *f)
{
	struct runtime *rt = runtime_self();
	uint64_t ring;

	spin_lock(&f->lock);
	ring = fd_ring_load(f);
	if (f->managed && !(ring & FD_RING_OFF) &&
	    (uint32_t)f->number < rt->ring_files) {
		ring |= FD_RING_ON;
		atomic_store_explicit(&f->ring, ring, memory_order_relaxed);
	}
	spin_unlock(&f->lock);
	return ring;
}

void fd_ring_refused(struct fd *f, uint64_t ring)
{
	spin_lock(&f->lock);
	if (fd_ring_file(fd_ring_load(f)) == fd_ring_file(ring))
		atomic_store_explicit(&f->ring, ring | FD_RING_OFF,
				      memory_order_relaxed);
	spin_unlock(&f->lock);
}

/* Delivery */

static void unqueue(struct fd_waiter *w)
{
	list_del_init(&w->node);
	w->queued = false;
}

/*
 * Give @got or @error to all it concerns who were queued before the tick of
 * @now.  Entered with the lock held, returns without.
 *
 * The tick, and not the sequence, tells who is still to be served after the
 * lock was dropped between two batches: a waiter that has come since saw the
 * file later than this event did.
 */
static void deliver(struct runtime *rt, struct fd *f, uint64_t now,
		    uint32_t got, int error)
{
	struct wait_ref refs[FD_BATCH];
	struct fd_waiter *w, *next;
	unsigned int i, n;

	for (;;) {
		n = 0;
		list_for_each_entry_safe(w, next, &f->waiters, node) {
			if (tick(w->since) >= tick(now))
				continue;
			if (!error && !(got & (w->events | FD_HINT)))
				continue;
			unqueue(w);
			w->got = got;
			w->error = error;
			refs[n++] = w->ref;
			if (n == FD_BATCH)
				break;
		}
		spin_unlock(&f->lock);

		inject_delay();
		for (i = 0; i < n; i++)
			wait_wake(rt, refs[i]);
		if (n < FD_BATCH)
			return;
		spin_lock(&f->lock);
	}
}

bool fd_event(struct runtime *rt, unsigned int number, uint32_t sequence,
	      uint32_t events)
{
	struct fd *f = fd_find(rt->fds, number);
	uint64_t now;

	if (!f)
		return false;

	spin_lock(&f->lock);
	if (!f->armed || f->sequence != sequence) {
		spin_unlock(&f->lock);
		return false;
	}
	stat_count(rt, STAT(fd_events), 1);
	if (unlikely(runtime_traces(rt)))
		trace_put_none(rt, ROOST_TRACE_FILE_READY, number, events);
	now = add_events(f, events ? events : ANYTHING);
	deliver(rt, f, now, events ? events : FD_HINT, 0);
	return true;
}

void fd_error(struct runtime *rt, unsigned int number, uint32_t sequence,
	      int error)
{
	struct fd *f = fd_find(rt->fds, number);

	if (!f)
		return;

	spin_lock(&f->lock);
	if (!f->armed || f->sequence != sequence) {
		spin_unlock(&f->lock);
		return;
	}
	f->armed = false;
	deliver(rt, f, add_events(f, ANYTHING), 0, error);
}

void fd_kick(struct fd *f)
{
	struct runtime *rt = runtime_self();

	spin_lock(&f->lock);
	if (list_empty(&f->waiters))
		spin_unlock(&f->lock);
	else
		deliver(rt, f, add_events(f, ANYTHING), FD_HINT, 0);
}

/* Watching */

static int arm(struct runtime *rt, struct fd *f, uint32_t events)
{
	int err;

	stat_count(rt, STAT(fd_arms), 1);
	f->sequence++;
	f->events = events;
	f->armed = true;
	err = rt->backend->fd_arm(worker_self(), f);
	if (err)
		f->armed = false;
	return err;
}

static void disarm(struct runtime *rt, struct fd *f)
{
	if (!f->armed)
		return;
	f->sequence++;
	rt->backend->fd_disarm(worker_self(), f);
	f->armed = false;
}

/*
 * The number means another file now.  What the backend has of the old one is
 * staged to be let go, and the caller sees that it is handed over.  Others may
 * do so at once, and end operations: these find the number moved on already.
 */
static bool let_go(struct runtime *rt, struct fd *f, bool same)
{
	uint64_t ring = fd_ring_load(f);

	next_file(f, same);
	if (!(ring & FD_RING_ON))
		return false;
	rt->backend->file_remove(worker_self(), (uint32_t)f->number,
				 fd_ring_file(ring));
	return true;
}

/* All that the backend has of the file, in one hand-over. */
static void disarm_and_let_go(struct runtime *rt, struct fd *f)
{
	bool staged = let_go(rt, f, false);

	if (f->armed)
		disarm(rt, f);
	else if (staged)
		rt->backend->settle(worker_self());
}

static void set_kind(struct fd *f, uint32_t kind)
{
	f->managed = kind & FD_MANAGED;
	/* Read without the lock, and tells nothing about other words. */
	atomic_store_explicit(&f->kind, kind, memory_order_relaxed);
}

void fd_manage(struct fd *f, uint32_t kind)
{
	struct runtime *rt = runtime_self();

	spin_lock(&f->lock);
	disarm_and_let_go(rt, f);
	set_kind(f, kind);
	deliver(rt, f, start_over(f), 0, -ECANCELED);
}

int fd_adopt(struct fd *f, uint32_t kind)
{
	struct runtime *rt = runtime_self();
	int err = 0;

	spin_lock(&f->lock);
	if (f->armed)
		err = arm(rt, f, f->events);
	if (err) {
		deliver(rt, f, add_events(f, 0), 0, err);
		return err;
	}
	/* An operation that this ends finds the same file and begins anew. */
	if (let_go(rt, f, true))
		rt->backend->settle(worker_self());
	set_kind(f, kind);
	start_over(f);
	spin_unlock(&f->lock);
	return 0;
}

void fd_forget(struct fd *f)
{
	struct runtime *rt = runtime_self();

	spin_lock(&f->lock);
	disarm_and_let_go(rt, f);
	set_kind(f, 0);
	deliver(rt, f, add_events(f, 0), 0, -ECANCELED);
}

/*
 * See that what @w wants is watched for; the lock is held.  What is managed
 * stays armed; all else is looked up anew, for the sum of all wishes (S3-36).
 */
static int watch(struct runtime *rt, struct fd *f, const struct fd_waiter *w,
		 uint32_t more)
{
	uint32_t events = w->events | more;
	const struct fd_waiter *other;

	if (f->managed) {
		if (f->armed && !(events & ~f->events))
			return 0;
		return arm(rt, f, f->armed ? f->events | events : events);
	}
	list_for_each_entry(other, &f->waiters, node)
		events |= other->events;
	return arm(rt, f, events);
}

int fd_wait_ready(struct fd *f, uint32_t want, uint32_t more, uint64_t before,
		  uint64_t deadline)
{
	struct runtime *rt = runtime_self();
	struct fd_waiter w = {
		.events = want | POLLERR | POLLHUP,
		.queued = true,
		.ref = wait_begin(),
	};
	int err;

	inject_delay();
	spin_lock(&f->lock);
	w.since = atomic_load_explicit(&f->ready, memory_order_relaxed);
	if (tick(w.since) != tick(before)) {
		spin_unlock(&f->lock);
		wait_retire();
		return FD_HINT;
	}

	err = watch(rt, f, &w, more);
	if (err) {
		/* The others have lost their watch with this: tell them. */
		deliver(rt, f, add_events(f, 0), 0, err);
		wait_retire();
		return err;
	}
	list_add_tail(&w.node, &f->waiters);
	spin_unlock(&f->lock);

	trace(rt, ROOST_TRACE_FILE_WAIT, worker_actor(), (unsigned int)f->number, want);
	err = wait_park_for(ROOST_WAITS_FILE, deadline, false);

	spin_lock(&f->lock);
	if (w.queued)
		unqueue(&w);
	/* Nobody is left to be told: a file we do not own is let go (S3-37). */
	if (!f->managed && list_empty(&f->waiters))
		disarm(rt, f);
	spin_unlock(&f->lock);

	/* What was delivered has the last word, whatever ended the sleep. */
	if (w.error)
		return w.error;
	if (w.got)
		return (int)w.got;
	return err ? err : FD_HINT;
}
