// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * io_send_recv.c - send all of one buffer, then receive into another.
 *
 * A server's step from one request to the next, as one call, so that a backend
 * can make one operation of it.  (The L4 kernels have had such a call for long.)
 */
#include <errno.h>

#include <roost/io.h>

#include "fd.h"
#include "io_core.h"
#include "runtime.h"

static noinline uint64_t begin_ring(const struct runtime *rt, struct fd *f,
				    uint64_t ring)
{
	uint32_t kind = atomic_load_explicit(&f->kind, memory_order_relaxed);

	if (ring & FD_RING_OFF || !io_ring_suits(rt, kind))
		return ring;
	return fd_ring_begin(f);
}

/* Into the ring with it, if that is possible as it is. */
static ssize_t in_one(struct worker *w, struct fd *f, uint64_t ring,
		      const char *out, size_t out_len, size_t *done, void *in,
		      size_t in_len, int flags, uint64_t *deadline)
{
	struct io_op op = {
		.kind = IO_SEND_RECV,
		.fd = f->number,
		.file = fd_ring_file(ring),
		.flags = flags,
		.buf = out,
		.in = in,
		.len = (uint32_t)out_len,
		.in_len = (uint32_t)in_len,
		.deadline = *deadline,
	};
	ssize_t n;

	/* Also: neither of them is 0. */
	if (out_len - 1 >= IO_MAX_BYTES || in_len - 1 >= IO_MAX_BYTES ||
	    !*deadline || flags & MSG_DONTWAIT)
		return -EAGAIN;
	n = io_ring_op(w, &op);
	if (likely(n > 0 && !op.sending)) {
		*done = out_len;
		io_ring_note(f, n, in_len);
		return n;
	}
	return io_ring_send_recv(f, ring, &op, n, done, deadline);
}

/*
 * One after the other.  *@done of @out_len bytes are sent already, and more with
 * each step.
 */
static ssize_t in_steps(struct fd *f, uint64_t ring, const char *out,
			size_t out_len, size_t *done, void *in, size_t in_len,
			int flags, uint64_t deadline)
{
	ssize_t n;

	while (*done < out_len) {
		/* What is left is not for the number's next file. */
		if (!fd_ring_same_file(f, ring))
			return -ECANCELED;
		n = io_flags(f, (void *)(out + *done), out_len - *done, flags,
			     true, deadline);
		if (n < 0)
			return n;
		*done += (size_t)n;
	}
	return io_flags(f, in, in_len, flags & MSG_DONTWAIT, false, deadline);
}

ssize_t roost_send_recv(int fd, const void *out, size_t out_len, void *in,
			size_t in_len, int flags, uint64_t deadline,
			size_t *sent)
{
	struct worker *w = worker_self();
	size_t done = 0;
	struct fd *f;
	ssize_t n = io_enter_on(w, fd, &f);
	uint64_t ring;

	if (!n && flags & ~(IO_SENDING | MSG_DONTWAIT))
		n = -EINVAL;
	if (n)
		goto out;
	ring = fd_ring_load(f);
	n = -EAGAIN;
	if (unlikely(!fd_ring_is_on(ring)))
		ring = begin_ring(w->rt, f, ring);
	if (likely(fd_ring_is_on(ring)))
		n = in_one(w, f, ring, out, out_len, &done, in, in_len, flags,
			   &deadline);
	if (n == -EAGAIN)
		n = in_steps(f, ring, out, out_len, &done, in, in_len, flags,
			     deadline);
out:
	if (sent)
		*sent = done;
	return n;
}
