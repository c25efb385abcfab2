// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * io_send_recv.c - send all of one buffer, then receive into another.
 *
 * A server's step from one request to the next, as one call, so that a backend
 * can make one operation of it.  (The L4 kernels have had such a call for long.)
 */
#include <errno.h>

#include <roost/io.h>

#include "backend_kernel_io.h"
#include "fd.h"
#include "io_core.h"
#include "runtime.h"
#include "suspend.h"

static noinline uint64_t begin_ring(const struct runtime *rt, struct fd *f,
				    uint64_t ring)
{
	uint32_t kind = atomic_load_explicit(&f->kind, memory_order_relaxed);

	if (ring & FD_RING_OFF || !io_ring_suits(rt, kind))
		return ring;
	return fd_ring_begin(f);
}

/**
 * struct call - what is to be done
 * @f:		with which descriptor
 * @ring:	its ring word
 * @out:	what to send
 * @in:		where to receive
 * @out_len:	bytes there
 * @in_len:	room there
 * @flags:	MSG_* bits
 * @deadline:	absolute
 */
struct call {
	struct fd *f;
	uint64_t ring;
	const char *out;
	void *in;
	size_t out_len;
	size_t in_len;
	int flags;
	uint64_t deadline;
};

static inline struct io_op operation(const struct call *c)
{
	return (struct io_op){
		.kind = IO_SEND_RECV,
		.fd = c->f->number,
		.file = fd_ring_file(c->ring),
		.flags = c->flags,
		.buf = c->out,
		.in = c->in,
		.len = (uint32_t)c->out_len,
		.in_len = (uint32_t)c->in_len,
		.deadline = c->deadline,
		.sending = true,
	};
}

/* Both lengths may be done in one, and neither is 0. */
static inline bool lengths_fit(size_t out_len, size_t in_len)
{
	return out_len - 1 < IO_MAX_BYTES && in_len - 1 < IO_MAX_BYTES;
}

/* Into the ring with it, if that is possible as it is. */
static ssize_t in_one(struct worker *w, struct call *c, size_t *done)
{
	struct io_op op = operation(c);

	if (!lengths_fit(c->out_len, c->in_len) || !c->deadline || c->flags & MSG_DONTWAIT)
		return -EAGAIN;
	return io_ring_send_recv(c->f, c->ring, &op, io_ring_op(w, &op), done,
				 &c->deadline);
}

/*
 * One after the other.  *@done of the bytes are sent already, and more with each
 * step.
 */
static ssize_t in_steps(struct call *c, size_t *done)
{
	ssize_t n;

	while (*done < c->out_len) {
		/* What is left is not for the number's next file. */
		if (!fd_ring_same_file(c->f, c->ring))
			return -ECANCELED;
		n = io_flags(c->f, (void *)(c->out + *done), c->out_len - *done,
			     c->flags, true, c->deadline);
		if (n < 0)
			return n;
		*done += (size_t)n;
	}
	/* The sending may have waited: the number's next file has other bytes. */
	if (!fd_ring_same_file(c->f, c->ring))
		return -ECANCELED;
	return io_flags(c->f, c->in, c->in_len, c->flags & MSG_DONTWAIT, false,
			c->deadline);
}

/* All but the straight way. */
static noinline ssize_t send_recv(struct carrier *self, int fd, struct call *c,
				  size_t *sent)
{
	size_t done = 0;
	struct worker *w;
	ssize_t n;

	if (sent)
		*sent = 0;
	if (!self->current)
		return -EPERM;
	w = self->worker;
	n = io_begin(self, fd, &c->f);
	if (!n && c->flags & ~(IO_SENDING | MSG_DONTWAIT))
		n = -EINVAL;
	if (n)
		goto out;
	c->ring = fd_ring_load(c->f);
	n = -EAGAIN;
	if (!fd_ring_is_on(c->ring))
		c->ring = begin_ring(w->rt, c->f, c->ring);
	if (fd_ring_is_on(c->ring))
		n = in_one(w, c, &done);
	if (n == -EAGAIN)
		n = in_steps(c, &done);
out:
	if (sent)
		*sent = done;
	return library_return(n);
}

/* It went into the ring, and did not come back as it should. */
static noinline ssize_t not_straight(struct slot *s, struct call *c,
				     const struct ticket *ticket, size_t *sent)
{
	struct io_op op = operation(c);
	size_t done = 0;
	ssize_t n;

	library_enter();
	n = kernel_io_result(s, ticket, &op);
	n = io_ring_send_recv(c->f, c->ring, &op, n, &done, &c->deadline);
	if (n == -EAGAIN)
		n = in_steps(c, &done);
	if (sent)
		*sent = done;
	return library_return(n);
}

/* Does it go straight through, as far as can be seen before? */
static inline bool is_straight(uint64_t ring, size_t out_len, size_t in_len,
			       int flags, uint64_t deadline)
{
	return likely(fd_ring_is_on(ring)) &&
	       likely(lengths_fit(out_len, in_len)) &&
	       likely(deadline > ROOST_MAX_DEADLINE) &&
	       likely(!(flags & ~IO_SENDING));
}

/* What is made of the arguments, where it is needed: not on the straight way. */
#define CALL(its_f, its_ring) ((struct call){ \
	.f = its_f, .ring = its_ring, .out = out, .in = in, .out_len = out_len, \
	.in_len = in_len, .flags = flags, .deadline = deadline, \
})

/*
 * The straight way is what kernel_io() does, without calls and with nothing in
 * memory that is not needed after the switch: who has a ring is that backend.  What
 * is left after that uses nothing of the library's, so it is outside at once.
 */
ssize_t roost_send_recv(int fd, const void *out, size_t out_len, void *in,
			size_t in_len, int flags, uint64_t deadline,
			size_t *sent)
{
	struct carrier *self = carrier_self();
	struct ticket ticket;
	struct worker *w;
	struct io_op op;
	uint64_t result;
	struct slot *s;
	uint64_t ring;
	struct fd *f;

	if (unlikely(!self->current))
		goto other;
	/* No safepoint: mostly it gives way to others anyway. */
	self = library_enter_on(self);
	s = self->current;
	w = self->worker;
	f = fd_find(w->rt->fds, (unsigned int)fd);
	if (unlikely(!f) || unlikely(slot_load(s) & SLOT_STOP))
		goto other;
	/* Not computed again after the switch. */
	__asm__("" : "+r"(f));
	ring = fd_ring_load(f);
	if (!is_straight(ring, out_len, in_len, flags, deadline))
		goto other;
	op = operation(&CALL(f, ring));
	if (unlikely(!kernel_io_stage(w, s, &op, &ticket)))
		goto other;
	stat_add(&w->stats.ring_ios, 1);
	/* Perhaps another thread from here on, and other workers. */
	library_leave_on(worker_park_and_hand(self, w, s));

	result = kernel_io_load(s);
	if (unlikely(!kernel_io_went_well(result) || !(uint32_t)result))
		return not_straight(s, &CALL(f, ring), &ticket, sent);
	io_ring_note(f, (uint32_t)result, in_len);
	if (sent)
		*sent = out_len;
	return (uint32_t)result;

other:
	return send_recv(self, fd, &CALL(NULL, 0), sent);
}
