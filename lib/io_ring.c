// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * io_ring.c - when a socket is read and written through the backend's ring.
 *
 * An operation in the ring is tried, waits and is tried again in the kernel; the
 * actor is resumed with the result.  A batch of them costs one call, which is
 * also the one to sleep, so what is going to wait, or to be followed by others,
 * goes into the ring; what is done at once and alone is done by a plain call:
 *
 *  - receiving: through the ring, but tried before if the last receive has
 *    filled its buffer, for then more is probably there;
 *  - sending: tried before if no other actor is ready to run;
 *  - what must not wait, has flags that say more than how to send, or is in
 *    pieces: as in io.c.
 *
 * TWO MEMORIES.  The ready bits of struct fd (io.c) and what the kernel remembers
 * of a file registered for the ring are apart, and neither is told what the
 * other one does.  Both err to the safe side only:
 *
 *  - A ready bit is taken away by what io.c has tried itself, and only if no
 *    event came meanwhile.  Operations in the ring take none away: the bit costs
 *    io.c an attempt that finds nothing.
 *  - The kernel takes a file for drained when it has tried it itself, and every
 *    wake-up takes that back.  A plain call that drains the socket costs the next
 *    operation an attempt that finds nothing.
 *  - No poll is armed before io.c has to wait (fd_wait_ready()), and here nothing
 *    waits in that way: also after a plain call said EAGAIN, the ring does the
 *    waiting.  So a connection that keeps to the calls above has no poll, and
 *    is woken once for each thing that happens.
 *
 * What the kernel cannot do with a file it refuses before anything is done;
 * that is remembered, and io.c does it.
 */
#include <errno.h>
#include <stdatomic.h>

#include "fd.h"
#include "io_core.h"
#include "runtime.h"

/* More at a time than the kernel moves; a result is never above it. */
#define RING_MAX	0x7ffff000U

static uint32_t length(size_t len)
{
	return len < RING_MAX ? (uint32_t)len : RING_MAX;
}

/*
 * The kernel has done nothing.  Remembered for the file, so that a connection
 * asks once; a lack of memory and the like may pass.
 */
static bool is_refusal(int err)
{
	switch (-err) {
	case EACCES:
	case EINVAL:
	case ELOOP:
	case EOPNOTSUPP:
		return true;
	default:
		return false;
	}
}

/*
 * A result below 0.  Return: what the caller is to get, -EAGAIN to do it without
 * the ring; *@again is set to try once more.
 */
static ssize_t failed(struct fd *f, uint64_t ring, struct io_op *op, ssize_t n,
		      bool *again)
{
	bool sent_all = op->kind == IO_SEND_RECV && !op->sending;

	if (op->ended)
		return n;
	switch (-n) {
	case ENOSYS:
	case EBUSY:
		return -EAGAIN;
	case ESTALE:
	case ECANCELED:
		/* Closed; or adopted once more, and the file is the same. */
		*again = fd_ring_file(fd_ring_load(f)) != fd_ring_file(ring) &&
			 fd_ring_same_file(f, ring);
		if (*again && sent_all)
			op->kind = IO_RECV;
		return -ECANCELED;
	}
	if (sent_all || !is_refusal((int)n))
		return n;
	fd_ring_refused(f, ring);
	return -EAGAIN;
}

/* Carry out @op.  Return: -EAGAIN if the ring is not for this file. */
static ssize_t carry_out(struct fd *f, struct io_op *op)
{
	struct worker *w;
	uint64_t ring;
	bool again;
	ssize_t n;

	do {
		ring = fd_ring_load(f);
		if (unlikely(!fd_ring_is_on(ring))) {
			ring = fd_ring_begin(f);
			if (!fd_ring_is_on(ring))
				return -EAGAIN;
		}
		op->fd = f->number;
		op->file = fd_ring_file(ring);
		w = worker_self();
		stat_add(&w->stats.ring_ios, 1);
		n = w->rt->backend->io(w, op);
		if (likely(n >= 0))
			return n;
		again = false;
		n = failed(f, ring, op, n, &again);
	} while (again);
	return n;
}

/* As in io.c, the deadline ends the waiting and a last try follows. */
static ssize_t last_try(struct fd *f, uint32_t kind, const struct io *io)
{
	ssize_t n = io_attempt(f->number, kind, io);

	return n == -EAGAIN ? -ETIMEDOUT : n;
}

static void note_filled(struct fd *f, ssize_t n, size_t len)
{
	bool filled = n > 0 && (size_t)n == len;

	if (atomic_load_explicit(&f->filled, memory_order_relaxed) != filled)
		atomic_store_explicit(&f->filled, filled, memory_order_relaxed);
}

static bool try_first(struct fd *f, const struct io *io)
{
	if (io->out)
		return !runq_length(runtime_self()->runq);
	return atomic_load_explicit(&f->filled, memory_order_relaxed);
}

ssize_t io_ring_transfer(struct fd *f, uint32_t kind, const struct io *io,
			 uint64_t deadline)
{
	struct io_op op = {
		.kind = io->out ? IO_SEND : IO_RECV,
		.flags = io->flags,
		.deadline = deadline,
	};
	ssize_t n = -EAGAIN;

	if (io->n != 1 || !io->len || !deadline ||
	    io->flags & ~(io->out ? IO_SENDING : MSG_NOSIGNAL))
		return -EAGAIN;
	if (fd_ring_load(f) & FD_RING_OFF)
		return -EAGAIN;

	if (try_first(f, io)) {
		n = io_attempt(f->number, kind, io);
		if (n > 0)
			io_done(f);
	}
	if (n == -EAGAIN) {
		if (io->out) {
			op.out = io->iov->iov_base;
			op.out_len = length(io->len);
		} else {
			op.in = io->iov->iov_base;
			op.in_len = length(io->len);
		}
		n = carry_out(f, &op);
		if (unlikely(n == -ETIMEDOUT && op.ended))
			n = last_try(f, kind, io);
	}
	if (!io->out)
		note_filled(f, n, io->len);
	return n;
}

ssize_t io_ring_send_recv(struct fd *f, uint64_t ring, const char *out,
			  size_t out_len, size_t *done, void *in, size_t in_len,
			  int flags, uint64_t *deadline)
{
	struct io_op op = {
		.kind = IO_SEND_RECV,
		.flags = flags,
		.in = in,
		.in_len = length(in_len),
		.deadline = *deadline,
	};
	ssize_t n = 0;

	/* Anything longer is sent in pieces before. */
	while (out_len - *done <= RING_MAX) {
		/* What is left is not for the number's next file. */
		if (!fd_ring_same_file(f, ring))
			return -ECANCELED;
		op.out = out + *done;
		op.out_len = (uint32_t)(out_len - *done);
		op.sending = true;
		n = carry_out(f, &op);
		if (op.kind == IO_RECV || !op.sending) {
			*done = out_len;
			note_filled(f, n, in_len);
			break;
		}
		/* A part; the socket was full. */
		if (n <= 0)
			break;
		*done += (size_t)n;
	}
	if (unlikely(n == -ETIMEDOUT && op.ended)) {
		*deadline = 0;
		return -EAGAIN;
	}
	return n;
}
