/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * io_core.h - what io.c and io_socket.c share.
 */
#ifndef ROOST_LIB_IO_CORE_H
#define ROOST_LIB_IO_CORE_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "fd.h"
#include "runtime.h"

/* Any of these makes an attempt worth while. */
#define IO_TRY_IN	(POLLIN | POLLRDHUP | POLLHUP | POLLERR)
#define IO_TRY_OUT	(POLLOUT | POLLHUP | POLLERR)

/* Flags that say how to send, and nothing else. */
#define IO_SENDING	(MSG_MORE | MSG_NOSIGNAL | MSG_DONTROUTE | \
			 MSG_CONFIRM | MSG_EOR)

/**
 * struct io - one transfer
 * @iov:	where
 * @n:		how many of them
 * @len:	bytes in all of them
 * @flags:	MSG_* bits for a socket
 * @out:	from memory to the file
 * @socket:	the file must be a socket
 */
struct io {
	const struct iovec *iov;
	int n;
	size_t len;
	int flags;
	bool out;
	bool socket;
};

/**
 * io_begin() - what each call on a descriptor begins with, in the library
 * @c:		the calling actor's carrier
 * @number:	the descriptor
 * @fd:		its state goes here
 *
 * Return: 0; -ECANCELED if it was stopped; or what fd_get() says.
 */
static inline int io_begin(const struct carrier *c, int number, struct fd **fd)
{
	if (unlikely(slot_load(c->current) & SLOT_STOP))
		return -ECANCELED;
	return fd_get(c->rt->fds, number, fd);
}

/*
 * io_transfer() - try, wait, try again
 *
 * Return: bytes, 0 at the end of the file; or -errno.
 */
ssize_t io_transfer(struct fd *f, const struct io *io, uint64_t deadline);

/*
 * io_flags() - io_transfer() of one buffer through a socket
 * @flags:	MSG_* bits, of which MSG_DONTWAIT counts as a deadline of 0
 */
ssize_t io_flags(struct fd *f, void *buf, size_t len, int flags, bool out,
		 uint64_t deadline);

/*
 * io_attempt() - try once, as a socket or file of @kind, without waiting
 *
 * Return: bytes, 0 at the end; -EAGAIN or another -errno.
 */
ssize_t io_attempt(int number, uint32_t kind, const struct io *io);

/* Can there be I/O in the ring for a file of @kind? */
static inline bool io_ring_suits(const struct runtime *rt, uint32_t kind)
{
	return kind & FD_SOCKET && runtime_ring_ios(rt);
}

/*
 * io_ring_transfer() - io_transfer() through the ring
 * @w:		the calling worker
 * @f:		a socket, io_ring_suits()
 *
 * Return: as io_transfer(); -EAGAIN if it cannot be done in this way, and was
 * not begun.
 */
ssize_t io_ring_transfer(struct worker *w, struct fd *f, uint32_t kind,
			 const struct io *io, uint64_t deadline);

/* io_ring_op() with an event before and one after. */
ssize_t io_ring_op_traced(struct worker *w, struct io_op *op);

/* Carry out @op on the calling worker @w; see struct backend. */
static inline ssize_t io_ring_op(struct worker *w, struct io_op *op)
{
	stat_add(&w->stats.ring_ios, 1);
	if (unlikely(runtime_traces(w->rt)))
		return io_ring_op_traced(w, op);
	return w->rt->backend->io(w, op);
}

/* A receive through the ring had room for @len and has brought @n. */
static inline void io_ring_note(struct fd *f, ssize_t n, size_t len)
{
	bool filled = n > 0 && (size_t)n == len;

	if (atomic_load_explicit(&f->filled, memory_order_relaxed) != filled)
		atomic_store_explicit(&f->filled, filled, memory_order_relaxed);
}

/*
 * io_ring_send_recv() - an IO_SEND_RECV did not go straight through
 * @f:		as above
 * @ring:	with which it was begun
 * @op:		it
 * @n:		its result
 * @done:	0; raised by what was sent, and what is sent further
 * @deadline:	set to 0 if it has passed
 *
 * Return: bytes received, 0 at the end; -errno of either half; -EAGAIN: go on
 * without the ring, with what is left to be sent and @deadline.
 */
ssize_t io_ring_send_recv(struct fd *f, uint64_t ring, struct io_op *op,
			  ssize_t n, size_t *done, uint64_t *deadline);

/*
 * io_done() - an attempt has succeeded without a wait
 *
 * Now and then gives the worker to others: an actor whose file is always ready
 * would never let go of it (the peer decides that, so it must not).
 */
void io_done(struct fd *f);

#endif /* ROOST_LIB_IO_CORE_H */
