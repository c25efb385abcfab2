// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * io.c - reading and writing from actors.
 *
 * MANAGED descriptors do not block, and their struct fd remembers what events
 * have said.  A request on a kept-alive connection costs one read and one write:
 * the read is tried because an event came, a count shorter than the buffer says
 * that the socket is empty now, and the next read waits for the next event
 * without trying.  What is not known is tried: a new descriptor has both
 * directions set, and is armed when it is first found empty or full.
 *
 * A short count is proof only where it is (FD_STREAM): for TCP, no MSG_PEEK,
 * and no hang-up, error or urgent data announced, for these end a read early
 * or follow it without a further event.  AF_UNIX ends a read at passed
 * descriptors, pipes at packets; there, and for everything else, only EAGAIN
 * proves it.  See fd.c for why no event is lost.
 *
 * Urgent data leaves a mark in the stream at which reads end.  epoll tells of
 * it as it is; in the module's events all data looks urgent, so with that
 * backend the actor must have shown that it knows of urgent data, by asking for
 * POLLPRI or MSG_OOB once, or what follows a mark may wait for what comes next.
 *
 * EAGAIN takes back hang-up and error bits as well: with one of these in force
 * the call would not have said EAGAIN.  Else they stay, so what is hung up is
 * always tried and never waited for.
 *
 * Where the backend has I/O in the ring, sockets are used through that if it
 * suits: see io_ring.c.
 *
 * ALL OTHERS are tried in the way that cannot block: as a socket; as a file
 * with RWF_NOWAIT; or, where the file knows no such thing, after poll(2) has
 * said that it is ready, and then no more than PIPE_BUF is written, which a
 * pipe takes whole.  Somebody else may be faster between that poll(2) and the
 * call, and then a blocking file blocks.  What cannot be polled is read and written
 * plainly.  Both are done outside of the library, as if the actor had made the call:
 * the number may mean another file afterwards, as after any wait.
 */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>

#include <roost/actor.h>
#include <roost/io.h>

#include "actor.h"
#include "compiler.h"
#include "fd.h"
#include "io_core.h"
#include "io_sys.h"
#include "runtime.h"

#define STREAK_MAX	128

/* How long to leave alone a file that is ready and gives nothing. */
#define PAUSE_NS	ROOST_MSEC(5)

void io_done(struct fd *f)
{
	/* Only a measure: actors that share the file may miscount. */
	unsigned int streak = atomic_load_explicit(&f->streak,
						   memory_order_relaxed) + 1U;

	atomic_store_explicit(&f->streak, (uint16_t)(streak % STREAK_MAX),
			      memory_order_relaxed);
	if (unlikely(streak == STREAK_MAX))
		actor_yield();
}

static int wait_io(struct fd *f, bool out, uint64_t before, uint64_t deadline)
{
	atomic_store_explicit(&f->streak, 0, memory_order_relaxed);
	if (out)
		return fd_wait_ready(f, IO_TRY_OUT, 0, before, deadline);
	/* Urgent data is no reason to read, but one to distrust short counts. */
	return fd_wait_ready(f, IO_TRY_IN,
			     runtime_self()->backend == &backend_futex ?
			     POLLPRI : 0, before, deadline);
}

/* Managed */

static bool drained(uint32_t kind, const struct io *io, uint64_t before,
		    ssize_t n)
{
	if (!(kind & FD_STREAM) || n <= 0 || (size_t)n >= io->len)
		return false;
	if (io->out)
		return true;
	return !(io->flags & MSG_PEEK) &&
	       !(before & (POLLHUP | POLLERR | POLLRDHUP | POLLPRI));
}

ssize_t io_attempt(int number, uint32_t kind, const struct io *io)
{
	if (kind & FD_SOCKET)
		return io->out ?
		       sys_sock_send(number, io->iov, io->n, io->flags) :
		       sys_sock_recv(number, io->iov, io->n, io->flags);
	if (io->socket)
		return -ENOTSOCK;
	return io->out ? sys_file_write(number, io->iov, io->n) :
			 sys_file_read(number, io->iov, io->n);
}

/*
 * The deadline ends the waiting, then the file is tried for the last time:
 * what has passed already still gets its one try.
 */
static ssize_t managed(struct fd *f, uint32_t kind, const struct io *io,
		       uint64_t deadline)
{
	const uint32_t try = io->out ? IO_TRY_OUT : IO_TRY_IN;
	const uint64_t ring = fd_ring_load(f);
	bool last = deadline == 0;
	uint64_t before;
	ssize_t n;
	int got;

	for (;;) {
		before = fd_ready_load(f);
		if (before & try || last) {
			n = io_attempt(f->number, kind, io);
			if (likely(n != -EAGAIN)) {
				if (drained(kind, io, before, n))
					fd_ready_take(f, before,
						      io->out ? POLLOUT : POLLIN);
				return n;
			}
			fd_ready_take(f, before, io->out ? try : try | POLLPRI);
			if (last)
				return -ETIMEDOUT;
		}

		got = wait_io(f, io->out, before, deadline);
		/* Closed when the wait was over, and before we ran. */
		if (unlikely(!fd_ring_same_file(f, ring)))
			return -ECANCELED;
		if (got == -ETIMEDOUT)
			last = true;
		else if (got < 0)
			return got;
	}
}

/* Not managed */

enum how {
	AS_SOCKET,
	AS_FILE,	/* with RWF_NOWAIT */
	AS_PROBED,	/* poll(2) first */
};

/* Outside of the library meanwhile: others run while it blocks. */
static ssize_t plainly(int number, const struct io *io)
{
	ssize_t n;

	library_step_out();
	n = io->out ? sys_file_write(number, io->iov, io->n) :
		      sys_file_read(number, io->iov, io->n);
	library_step_in();
	return n;
}

/* At most PIPE_BUF from the first of @io's pieces that is not empty. */
static ssize_t write_a_little(int number, const struct io *io)
{
	struct iovec piece;
	struct io little = { .iov = &piece, .n = 1, .out = true };
	int i = 0;

	while (i < io->n - 1 && io->iov[i].iov_len == 0)
		i++;
	piece = io->iov[i];
	if (piece.iov_len > PIPE_BUF)
		piece.iov_len = PIPE_BUF;
	little.len = piece.iov_len;
	return plainly(number, &little);
}

static ssize_t probed(int number, const struct io *io)
{
	int err = fd_pollable(runtime_self()->fds, number);
	int got;

	if (err == -EPERM)
		return plainly(number, io);
	if (err)
		return err;
	got = fd_probe(number, io->out ? POLLOUT : POLLIN);
	if (got < 0)
		return got;
	if (!got)
		return -EAGAIN;
	return io->out && io->len > PIPE_BUF ? write_a_little(number, io) :
					       plainly(number, io);
}

/* One attempt; finds out on the way what works with this file. */
static ssize_t attempt_as(enum how *how, int number, const struct io *io)
{
	ssize_t n;

	if (*how == AS_SOCKET) {
		n = io_attempt(number, FD_SOCKET, io);
		if (n != -ENOTSOCK || io->socket)
			return n;
		*how = AS_FILE;
	}
	if (*how == AS_FILE) {
		n = io->out ? sys_file_write_nowait(number, io->iov, io->n) :
			      sys_file_read_nowait(number, io->iov, io->n);
		if (n != -EOPNOTSUPP && n != -ENOSYS && n != -ESPIPE)
			return n;
		*how = AS_PROBED;
	}
	return probed(number, io);
}

/*
 * An error or hang-up that is in force and yet makes no call fail (a socket's
 * queue of extended errors does that) ends every wait at once: leave such a
 * file alone for a while.
 */
static int pause_before(uint64_t deadline)
{
	uint64_t until = roost_after(PAUSE_NS);

	return timer_sleep_until(until < deadline ? until : deadline);
}

static ssize_t unmanaged(struct fd *f, const struct io *io, uint64_t deadline)
{
	const int want = io->out ? POLLOUT : POLLIN | POLLRDHUP;
	const uint64_t ring = fd_ring_load(f);
	enum how how = AS_SOCKET;
	bool last = deadline == 0;
	uint64_t before;
	ssize_t n;
	int got;

	for (;;) {
		before = fd_ready_load(f);
		n = attempt_as(&how, f->number, io);
		if (n != -EAGAIN)
			return n;
		if (last) {
			/* A regular file that is not in memory, say. */
			if (how == AS_FILE &&
			    fd_pollable(runtime_self()->fds, f->number) == -EPERM)
				return plainly(f->number, io);
			return -ETIMEDOUT;
		}

		got = wait_io(f, io->out, before, deadline);
		if (got > 0 && !(got & (want | FD_HINT)))
			got = pause_before(deadline);
		if (unlikely(!fd_ring_same_file(f, ring)))
			return -ECANCELED;
		if (got == -EPERM)
			return plainly(f->number, io);
		if (got == -ETIMEDOUT)
			last = true;
		else if (got < 0)
			return got;
	}
}

ssize_t io_transfer(struct fd *f, const struct io *io, uint64_t deadline)
{
	uint32_t kind = atomic_load_explicit(&f->kind, memory_order_relaxed);
	struct worker *w = worker_self();
	ssize_t n = -EAGAIN;

	if (io_ring_suits(w->rt, kind))
		n = io_ring_transfer(w, f, kind, io, deadline);
	if (n != -EAGAIN)
		return n;
	n = kind & FD_MANAGED ? managed(f, kind, io, deadline) :
				unmanaged(f, io, deadline);
	if (n > 0)
		io_done(f);
	return n;
}

static ssize_t vector(const struct carrier *c, int fd, struct io *io,
		      uint64_t deadline)
{
	struct fd *f;
	int err, i;

	err = io_begin(c, fd, &f);
	if (err)
		return err;
	if (io->n < 0 || io->n > IOV_MAX)
		return -EINVAL;
	for (i = 0; i < io->n; i++)
		if (__builtin_add_overflow(io->len, io->iov[i].iov_len, &io->len))
			return -EINVAL;
	/* As read(2) does: nothing asked for is nothing waited for. */
	if (io->len == 0 && !io->out)
		return sys_file_read(fd, io->iov, io->n);
	return io_transfer(f, io, deadline);
}

/* Public */

static ssize_t transfer_vector(int fd, const struct iovec *iov, int n, bool out,
			       uint64_t deadline)
{
	struct io io = { .iov = iov, .n = n, .out = out };
	struct carrier *c = library_enter();

	if (!c)
		return -EPERM;
	return library_return(vector(c, fd, &io, deadline));
}

ssize_t roost_readv(int fd, const struct iovec *iov, int n, uint64_t deadline)
{
	return transfer_vector(fd, iov, n, false, deadline);
}

ssize_t roost_writev(int fd, const struct iovec *iov, int n, uint64_t deadline)
{
	return transfer_vector(fd, iov, n, true, deadline);
}

ssize_t roost_read(int fd, void *buf, size_t len, uint64_t deadline)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };

	return transfer_vector(fd, &iov, 1, false, deadline);
}

ssize_t roost_write(int fd, const void *buf, size_t len, uint64_t deadline)
{
	struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };

	return transfer_vector(fd, &iov, 1, true, deadline);
}

static ssize_t write_all(const struct carrier *c, int fd, const char *buf,
			 size_t len, uint64_t deadline)
{
	size_t done = 0;
	uint64_t ring;
	struct fd *f;
	ssize_t n = io_begin(c, fd, &f);

	if (n)
		return n;
	ring = fd_ring_load(f);
	do {
		struct iovec iov = { .iov_base = (void *)(buf + done),
				     .iov_len = len - done };
		struct io io = { .iov = &iov, .n = 1, .out = true };

		/* Perhaps on another thread by now. */
		n = vector(carrier_self(), fd, &io, deadline);
		if (n < 0)
			return n;
		done += (size_t)n;
		/* What is left is not for the number's next file. */
		if (done < len && !fd_ring_same_file(f, ring))
			return -ECANCELED;
	} while (done < len);
	return (ssize_t)len;
}

ssize_t roost_write_all(int fd, const void *buf, size_t len, uint64_t deadline)
{
	struct carrier *c = library_enter();

	if (!c)
		return -EPERM;
	return library_return(write_all(c, fd, buf, len, deadline));
}
