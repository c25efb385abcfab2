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

noinline ssize_t io_ring_op_traced(struct worker *w, struct io_op *op)
{
	struct runtime *rt = w->rt;
	const struct slot *s = worker_actor();
	unsigned int fd = (unsigned int)op->fd;
	ssize_t n;

	trace_put(rt, ROOST_TRACE_IO_BEGIN, s, fd, (uint64_t)op->len + op->in_len);
	n = rt->backend->io(w, op);
	/* Perhaps on another worker, and it may have been turned off. */
	trace(rt, ROOST_TRACE_IO_END, s, fd, (uint64_t)n);
	return n;
}

static uint32_t length(size_t len)
{
	return len < IO_MAX_BYTES ? (uint32_t)len : IO_MAX_BYTES;
}

/* Remembered for the file, so that a connection asks once. */
static bool will_be_refused(int err)
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

/* The kernel has done nothing: full rings, a lack of memory and the like may pass. */
static bool was_refused(int err)
{
	switch (-err) {
	case EBUSY:
	case EDQUOT:
	case ENOMEM:
	case ENOSYS:
		return true;
	default:
		return will_be_refused(err);
	}
}

static void only_receive(struct io_op *op)
{
	op->kind = IO_RECV;
	op->flags = 0;
	op->buf = op->in;
	op->len = op->in_len;
	op->in = NULL;
	op->in_len = 0;
}

/*
 * A result below 0.  Return: what the caller is to get, -EAGAIN to do it without
 * the ring; *@again is set to try once more.
 */
static ssize_t failed(struct fd *f, uint64_t ring, struct io_op *op, ssize_t n,
		      bool *again)
{
	bool sent_all = op->kind == IO_SEND_RECV && !op->sending;
	/* Closed meanwhile: what follows would meet the number's next file. */
	bool gone = !fd_ring_same_file(f, ring);

	if (op->ended)
		return gone ? -ECANCELED : n;
	switch (-n) {
	case ESTALE:
	case ECANCELED:
		/* Closed; or adopted once more, and the file is the same. */
		*again = fd_ring_file(fd_ring_load(f)) != fd_ring_file(ring) &&
			 !gone;
		if (*again && sent_all)
			only_receive(op);
		return -ECANCELED;
	}
	if (sent_all || !was_refused((int)n))
		return n;
	if (will_be_refused((int)n))
		fd_ring_refused(f, ring);
	return gone ? -ECANCELED : -EAGAIN;
}

/* Let @op mean @f as it is now.  Return: false if the ring is not for it. */
static bool name_file(struct fd *f, struct io_op *op, uint64_t *ring)
{
	*ring = fd_ring_load(f);
	if (unlikely(!fd_ring_is_on(*ring)))
		*ring = fd_ring_begin(f);
	op->fd = f->number;
	op->file = fd_ring_file(*ring);
	return fd_ring_is_on(*ring);
}

/*
 * @op has come to @n with @ring.  Return: the result, perhaps after further
 * tries; -EAGAIN to do it without the ring.
 */
static ssize_t carry_on(struct fd *f, uint64_t ring, struct io_op *op, ssize_t n)
{
	bool again;

	while (unlikely(n < 0)) {
		again = false;
		n = failed(f, ring, op, n, &again);
		if (!again)
			break;
		if (!name_file(f, op, &ring))
			return -EAGAIN;
		n = io_ring_op(worker_self(), op);
	}
	return n;
}

static ssize_t carry_out(struct fd *f, struct io_op *op)
{
	uint64_t ring;

	if (!name_file(f, op, &ring))
		return -EAGAIN;
	return carry_on(f, ring, op, io_ring_op(worker_self(), op));
}

/* As in io.c, the deadline ends the waiting and a last try follows. */
static ssize_t last_try(struct fd *f, uint32_t kind, const struct io *io)
{
	ssize_t n = io_attempt(f->number, kind, io);

	return n == -EAGAIN ? -ETIMEDOUT : n;
}

static bool try_first(struct worker *w, struct fd *f, const struct io *io)
{
	if (io->out)
		return !worker_near(w);
	return atomic_load_explicit(&f->filled, memory_order_relaxed);
}

ssize_t io_ring_transfer(struct worker *w, struct fd *f, uint32_t kind,
			 const struct io *io, uint64_t deadline)
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

	if (try_first(w, f, io)) {
		n = io_attempt(f->number, kind, io);
		if (n > 0)
			io_done(f);
	}
	if (n == -EAGAIN) {
		op.buf = io->iov->iov_base;
		op.len = length(io->len);
		n = carry_out(f, &op);
		if (unlikely(n == -ETIMEDOUT && op.ended))
			n = last_try(f, kind, io);
	}
	if (!io->out)
		io_ring_note(f, n, io->len);
	return n;
}

ssize_t io_ring_send_recv(struct fd *f, uint64_t ring, struct io_op *op,
			  ssize_t n, size_t *done, uint64_t *deadline)
{
	const uint64_t first = ring;
	const size_t out_len = op->len, in_len = op->in_len;

	for (;;) {
		n = carry_on(f, ring, op, n);
		if (op->kind == IO_RECV || !op->sending) {
			*done = out_len;
			io_ring_note(f, n, in_len);
			break;
		}
		if (n <= 0)
			break;
		/* A part; the socket was full.  Not for the next file. */
		*done += (size_t)n;
		if (!fd_ring_same_file(f, first))
			return -ECANCELED;
		op->buf = (const char *)op->buf + n;
		op->len -= (uint32_t)n;
		if (!name_file(f, op, &ring))
			return -EAGAIN;
		n = io_ring_op(worker_self(), op);
	}
	if (n == -ETIMEDOUT && op->ended) {
		*deadline = 0;
		return -EAGAIN;
	}
	return n;
}
