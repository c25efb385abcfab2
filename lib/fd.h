/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * fd.h - what the runtime knows of a file descriptor number.
 *
 * One struct fd a number, in a table of chunks that are made when first
 * touched and stay.  Watching is edge-triggered: the backend reports events
 * with the sequence of the arm they belong to, stale ones are dropped, the rest
 * is ORed into @ready and handed to the waiters whose events came.
 *
 * Managed descriptors stay armed and trust @ready: an I/O call that was short
 * or got EAGAIN has drained the file, and nothing is tried again before an
 * event says so.  All others arm afresh for each wait, so that a number that
 * was closed and reused behind our back is looked up anew.
 *
 * Who writes what: fd.c alone raises @sequence (just before each fd_arm() and
 * fd_disarm() of the backend) and sets @armed, @events and @managed; backends
 * read them under @lock, and write @worker only.
 */
#ifndef ROOST_LIB_FD_H
#define ROOST_LIB_FD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"
#include "list.h"
#include "spin.h"
#include "wait.h"

struct fd_chunk;
struct runtime;

/* struct fd.kind, besides 0 for what is not managed */
#define FD_MANAGED	(1U << 0)	/* as @managed */
#define FD_SOCKET	(1U << 1)	/* managed, and a socket */
#define FD_STREAM	(1U << 2)	/* ... of TCP: a short count means drained */

/*
 * struct fd.ready: POLL* bits in the low half word, above them a tick that
 * counts events.  Who wants to take bits away does so only if no event came
 * since the attempt that proved them wrong (the proof is in fd.c).
 */
#define FD_READY_BITS	0xffffU
#define FD_READY_TICK	0x10000U

/*
 * struct fd.ring: the file's number among those that this descriptor number has
 * meant, in the high half word; below it, what I/O in the ring knows of it.
 */
#define FD_RING_ON	(1U << 0)	/* the backend may hold it under this number */
#define FD_RING_OFF	(1U << 1)	/* the backend does not take this file */
/* Above: so many numbers back it was perhaps the same file, managed anew. */
#define FD_RING_SAME	(1U << 8)

/* In fd_waiter.got only: woken without a reason, look. */
#define FD_HINT		(1 << 30)

/**
 * struct fd - a descriptor number
 * @lock:	guards all fields but the atomic ones
 * @accepting:	one at a time tries a listening socket that may block
 * @number:	constant
 * @sequence:	of the newest arm or disarm, starts at 0
 * @events:	POLL* bits that the backend is to watch for
 * @worker:	kernel backend: index of the worker whose ring has the poll;
 *		futex backend: 1 if the number should be in the epoll set
 * @armed:	the backend watches
 * @managed:	see above
 * @kind:	FD_* bits; written under @lock, read without
 * @streak:	I/O calls since one had to wait
 * @filled:	the last receive through the ring filled its buffer
 * @ready:	events seen and not yet used up
 * @waiters:	struct fd_waiter list
 * @ring:	see above; written under @lock, read without
 */
struct fd {
	struct spin lock;
	struct spin accepting;
	int number;
	uint32_t sequence;
	uint32_t events;
	uint16_t worker;
	bool armed;
	bool managed;
	_Atomic uint32_t kind;
	_Atomic uint16_t streak;
	_Atomic bool filled;
	_Atomic uint64_t ready;
	struct list_head waiters;
	_Atomic uint64_t ring;
} __attribute__((aligned(64)));

/**
 * struct fd_waiter - one waiting actor, on its stack
 * @node:	in fd->waiters while it waits; under the fd's lock
 * @queued:	it is in the list; under the fd's lock
 * @ref:	its wait
 * @events:	what it wants, with POLLERR | POLLHUP
 * @since:	fd->ready as it was when the waiter was queued: only later events
 *		are for it
 * @got:	events delivered, or 0; under the fd's lock
 * @error:	-errno delivered, or 0; under the fd's lock
 */
struct fd_waiter {
	struct list_head node;
	bool queued;
	struct wait_ref ref;
	uint32_t events;
	uint64_t since;
	uint32_t got;
	int error;
};

/**
 * struct fd_table - the descriptor numbers of a runtime (rt->fds points to it)
 * @chunks:	made on first touch, installed by compare-and-swap
 * @nr_chunks:	how many there can be
 * @max_fds:	numbers below this can be waited on
 * @scratch:	an empty epoll descriptor, to ask what can be polled
 */
struct fd_table {
	_Atomic(struct fd_chunk *) *chunks;
	unsigned int nr_chunks;
	unsigned int max_fds;
	int scratch;
};

/**
 * fd_event() - a backend reports events
 * @rt:		the runtime
 * @number:	which descriptor
 * @sequence:	of the arm that reported
 * @events:	POLL* bits; 0: woken without a reason, look
 *
 * Any thread, no lock held.  Return: false if it was stale and was dropped.
 */
bool fd_event(struct runtime *rt, unsigned int number, uint32_t sequence,
	      uint32_t events);

/*
 * fd_error() - a backend reports that an arm has failed or was ended
 *
 * As fd_event(), with a -errno: the waiters get it.
 */
void fd_error(struct runtime *rt, unsigned int number, uint32_t sequence,
	      int error);

/**
 * fd_table_init() - make rt->fds for rt->config.max_fds numbers
 * @rt:		the runtime, whose backend has not started yet
 *
 * Return: 0, -ENOMEM, -EMFILE or -ENFILE.
 */
int fd_table_init(struct runtime *rt);

/** fd_table_fini() - undo it, after the backend has ended */
void fd_table_fini(struct runtime *rt);

#define FD_CHUNK_SHIFT	10
#define FD_CHUNK_SIZE	(1U << FD_CHUNK_SHIFT)

struct fd_chunk {
	struct fd fds[FD_CHUNK_SIZE];
};

/*
 * fd_find() - the state of a number that was used before
 *
 * Any thread.  Return: NULL if no actor ever touched it.
 */
static inline struct fd *fd_find(struct fd_table *table, unsigned int number)
{
	struct fd_chunk *chunk;

	if (number >= table->max_fds)
		return NULL;
	/* Acquire, pairs with the release of the one who made it. */
	chunk = atomic_load_explicit(&table->chunks[number >> FD_CHUNK_SHIFT],
				     memory_order_acquire);
	return chunk ? &chunk->fds[number & (FD_CHUNK_SIZE - 1)] : NULL;
}

/* fd_get() for what fd_find() does not find. */
int fd_get_slow(struct fd_table *table, int number, struct fd **fd);

/*
 * fd_get() - the state of a number, made if need be
 * @fd:		where it goes
 *
 * Return: 0; -EBADF if negative; -EMFILE if not below max_fds; -ENOMEM.
 */
static inline int fd_get(struct fd_table *table, int number, struct fd **fd)
{
	*fd = fd_find(table, (unsigned int)number);
	return likely(*fd) ? 0 : fd_get_slow(table, number, fd);
}

/**
 * fd_manage() - start over with a number that has just come from the kernel
 * @f:		its state, perhaps of an older file
 * @kind:	FD_* bits, with FD_MANAGED
 *
 * Whoever still waits for the older file gets -ECANCELED.
 */
void fd_manage(struct fd *f, uint32_t kind);

/*
 * fd_adopt() - the same for a file that actors may wait on already
 *
 * Return: 0 or -errno; unchanged then.
 */
int fd_adopt(struct fd *f, uint32_t kind);

/*
 * fd_forget() - stop watching, and it is managed no more
 *
 * Before its close(2).  Whoever waits gets -ECANCELED.
 */
void fd_forget(struct fd *f);

/*
 * fd_distrust_short() - a short count proves nothing here, from now on
 */
static inline void fd_distrust_short(struct fd *f)
{
	atomic_fetch_and_explicit(&f->kind, ~FD_STREAM, memory_order_relaxed);
}

static inline uint64_t fd_ring_load(struct fd *f)
{
	/* An older file's number is refused by the backend, so relaxed will do. */
	return atomic_load_explicit(&f->ring, memory_order_relaxed);
}

static inline uint32_t fd_ring_file(uint64_t ring)
{
	return (uint32_t)(ring >> 32);
}

/* May I/O go through the ring, with fd_ring_file(@ring)? */
static inline bool fd_ring_is_on(uint64_t ring)
{
	return (ring & (FD_RING_ON | FD_RING_OFF)) == FD_RING_ON;
}

/*
 * fd_ring_begin() - I/O through the ring is about to begin on a socket
 *
 * From here on the file is let go by fd_forget() and the like.  Return: the new
 * @f->ring; not fd_ring_is_on() if it cannot be.
 */
uint64_t fd_ring_begin(struct fd *f);

/** fd_ring_refused() - the backend has refused the file of @ring */
void fd_ring_refused(struct fd *f, uint64_t ring);

/*
 * Does @f still mean the file that it meant when its ring word was @ring?  For
 * whoever has waited and goes on with the number, in the ring or not.
 */
static inline bool fd_ring_same_file(struct fd *f, uint64_t ring)
{
	uint64_t now = fd_ring_load(f);
	uint32_t steps = fd_ring_file(now) - fd_ring_file(ring);

	return steps <= (uint32_t)now / FD_RING_SAME;
}

/*
 * fd_kick() - make whoever waits look again
 */
void fd_kick(struct fd *f);

/**
 * fd_wait_ready() - wait until something happens to a descriptor
 * @f:		its state
 * @want:	POLL* bits that end the wait
 * @watch:	more to watch for, if it must be armed
 * @before:	fd_ready_load() before the attempt or the look that found nothing:
 *		what has come since then ends the wait at once
 * @deadline:	absolute
 *
 * Return: the events that came, FD_HINT if they are to be looked for;
 * -ETIMEDOUT; -ECANCELED; or what the backend says of the descriptor.
 */
int fd_wait_ready(struct fd *f, uint32_t want, uint32_t watch, uint64_t before,
		  uint64_t deadline);

/*
 * fd_probe() - what is ready now
 *
 * Return: poll(2)'s events, 0 for none; -EBADF, also for O_PATH.
 */
int fd_probe(int number, uint32_t events);

/*
 * fd_wait() - roost_fd_wait(), of an actor in the library
 */
int fd_wait(int fd, unsigned int events, uint64_t deadline);

/*
 * fd_pollable() - can it be polled at all?
 *
 * Return: 0; -EPERM if not; -EBADF.
 */
int fd_pollable(const struct fd_table *table, int number);

/*
 * fd_ready_load() - what is known before an attempt, for fd_ready_take()
 */
static inline uint64_t fd_ready_load(struct fd *f)
{
	/* Acquire, pairs with the release in add_events(). */
	return atomic_load_explicit(&f->ready, memory_order_acquire);
}

/*
 * fd_ready_take() - an attempt has proved that @events are not there
 * @before:	fd_ready_load() before that attempt
 */
void fd_ready_take(struct fd *f, uint64_t before, uint32_t events);

/*
 * fd_ready_reset() - forget everything: any direction is worth a try
 */
void fd_ready_reset(struct fd *f);

#endif /* ROOST_LIB_FD_H */
