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

static bool one_will_do(struct fd *f, size_t out_len, size_t in_len, int flags,
			uint64_t deadline)
{
	uint32_t kind = atomic_load_explicit(&f->kind, memory_order_relaxed);

	return io_ring_suits(runtime_self(), kind) && out_len && in_len &&
	       deadline && !(flags & MSG_DONTWAIT) &&
	       !(fd_ring_load(f) & FD_RING_OFF);
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
	size_t done = 0;
	struct fd *f;
	ssize_t n = io_enter(fd, &f);
	uint64_t ring;

	if (!n && flags & ~(IO_SENDING | MSG_DONTWAIT))
		n = -EINVAL;
	if (n)
		goto out;
	ring = fd_ring_load(f);
	n = -EAGAIN;
	if (one_will_do(f, out_len, in_len, flags, deadline))
		n = io_ring_send_recv(f, ring, out, out_len, &done, in, in_len,
				      flags, &deadline);
	if (n == -EAGAIN)
		n = in_steps(f, ring, out, out_len, &done, in, in_len, flags,
			     deadline);
out:
	if (sent)
		*sent = done;
	return n;
}
