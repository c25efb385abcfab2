// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * io_socket.c - making, adopting and closing descriptors; what only sockets do.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include <roost/actor.h>
#include <roost/io.h>

#include "actor.h"
#include "fd.h"
#include "io_core.h"
#include "io_sys.h"
#include "runtime.h"

/* Connections that ended before they were accepted, between two yields. */
#define SKIP_MAX	16

/* How often to look whether an AF_UNIX listener has room again. */
#define UNIX_RETRY_NS	ROOST_MSEC(1)

static uint32_t kind_of(struct fd *f)
{
	return atomic_load_explicit(&f->kind, memory_order_relaxed);
}

/* Making and closing */

/*
 * Outside of the library meanwhile: it may block, for what the socket has still to
 * send, or on a file system's server.
 */
static int close_plainly(int number)
{
	int err;

	library_step_out();
	err = sys_file_close(number);
	library_step_in();
	return err;
}

/* Take over a descriptor that is ours and does not block, or close it. */
static int take_over(int number, uint32_t kind)
{
	struct fd *f;
	int err = fd_get(runtime_self()->fds, number, &f);

	if (err) {
		close_plainly(number);
		return err;
	}
	fd_manage(f, kind);
	return number;
}

static uint32_t kind_made(int domain, int type, int protocol)
{
	uint32_t kind = FD_MANAGED | FD_SOCKET;

	if ((domain == AF_INET || domain == AF_INET6) && type == SOCK_STREAM &&
	    (protocol == 0 || protocol == IPPROTO_TCP))
		kind |= FD_STREAM;
	return kind;
}

static uint32_t kind_asked(int number)
{
	int domain = sys_sock_option(number, SO_DOMAIN);
	int type = sys_sock_option(number, SO_TYPE);
	int protocol = sys_sock_option(number, SO_PROTOCOL);

	/* Not made by us: 0 is not TCP by default here. */
	if (protocol != IPPROTO_TCP)
		return FD_MANAGED | FD_SOCKET;
	return kind_made(domain, type, protocol);
}

static int make_socket(int domain, int type, int protocol)
{
	const int modes = SOCK_NONBLOCK | SOCK_CLOEXEC;
	int number;

	number = sys_sock_make(domain, type | modes, protocol);
	if (number < 0)
		return number;
	return take_over(number, kind_made(domain, type & ~modes, protocol));
}

int roost_socket(int domain, int type, int protocol)
{
	if (!library_enter())
		return -EPERM;
	return (int)library_return(make_socket(domain, type, protocol));
}

static int close_file(int fd);

static int make_pipe(int fd[2])
{
	int err = sys_pipe_make(fd);

	if (err)
		return err;
	err = take_over(fd[0], FD_MANAGED);
	if (err < 0) {
		close_plainly(fd[1]);
		return err;
	}
	err = take_over(fd[1], FD_MANAGED);
	if (err < 0) {
		close_file(fd[0]);
		return err;
	}
	return 0;
}

int roost_pipe(int fd[2])
{
	if (!library_enter())
		return -EPERM;
	return (int)library_return(make_pipe(fd));
}

static int adopt(int fd)
{
	struct fd *f;
	uint32_t kind = FD_MANAGED;
	int flags, type, err;

	err = fd_get(runtime_self()->fds, fd, &f);
	if (err)
		return err;
	flags = sys_file_flags(fd);
	if (flags < 0)
		return flags;
	if (flags & O_PATH)
		return -EBADF;
	type = sys_file_type(fd);
	if (type < 0)
		return type;

	if (type == S_IFSOCK) {
		kind = kind_asked(fd);
	} else if (type != S_IFIFO) {
		err = fd_pollable(runtime_self()->fds, fd);
		return err ? err : -EINVAL;
	}
	if (!(flags & O_NONBLOCK)) {
		err = sys_file_set_nonblock(fd, flags);
		if (err)
			return err;
	}
	return fd_adopt(f, kind);
}

int roost_fd_adopt(int fd)
{
	if (!library_enter())
		return -EPERM;
	return (int)library_return(adopt(fd));
}

/*
 * Not refused to an actor that was stopped: it has to clean up.
 *
 * Who becomes a waiter between fd_forget() and close(2) waits for a file that
 * is about to go and would never be told; fd_kick() makes it look again.  If the
 * number has its next file by then, whoever waits for that one looks once in vain.  An
 * actor on another worker that has looked already and is about to make its call
 * may hit the number's next file, as with close(2) under any threads.
 */
static int close_file(int fd)
{
	struct fd *f = NULL;
	int err;

	if (fd < 0)
		return -EBADF;
	f = fd_find(runtime_self()->fds, (unsigned int)fd);
	if (f)
		fd_forget(f);
	err = close_plainly(fd);
	if (f)
		fd_kick(f);
	return err;
}

int roost_close(int fd)
{
	if (!library_enter())
		return -EPERM;
	return (int)library_return(close_file(fd));
}

/* Sending and receiving */

/* What never waits is not for readiness to tell: urgent data, error queue. */
#define NEVER_WAITS	(MSG_OOB | MSG_ERRQUEUE)

static ssize_t never_waiting(struct fd *f, const struct io *io)
{
	/* After urgent data has been read, its mark still ends reads early. */
	fd_distrust_short(f);
	return io->out ? sys_sock_send(f->number, io->iov, io->n, io->flags) :
			 sys_sock_recv(f->number, io->iov, io->n, io->flags);
}

ssize_t io_flags(struct fd *f, void *buf, size_t len, int flags, bool out,
		 uint64_t deadline)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct io io = {
		.iov = &iov,
		.n = 1,
		.len = len,
		.flags = flags,
		.out = out,
		.socket = true,
	};

	if (flags & NEVER_WAITS)
		return never_waiting(f, &io);
	if (flags & MSG_DONTWAIT)
		deadline = 0;
	return io_transfer(f, &io, deadline);
}

/*
 * MSG_WAITALL is kept here, since the kernel cannot keep it without blocking.
 * What came before the deadline, an error or the end of the file is returned,
 * as recv(2) does.
 */
static ssize_t recv_whole(struct fd *f, char *buf, size_t len, int flags,
			  uint64_t deadline)
{
	const uint64_t ring = fd_ring_load(f);
	size_t done = 0;
	ssize_t n = 0;

	flags &= ~MSG_WAITALL;
	while (done < len && (!done || fd_ring_same_file(f, ring))) {
		n = io_flags(f, buf + done, len - done, flags, false, deadline);
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done ? (ssize_t)done : n;
}

static ssize_t receive(const struct carrier *c, int fd, void *buf, size_t len,
		       int flags, uint64_t deadline)
{
	struct fd *f;
	int err = io_begin(c, fd, &f);

	if (err)
		return err;
	if (flags & MSG_WAITALL && !(flags & (MSG_PEEK | MSG_DONTWAIT)) &&
	    len && sys_sock_option(fd, SO_TYPE) == SOCK_STREAM)
		return recv_whole(f, buf, len, flags, deadline);
	return io_flags(f, buf, len, flags, false, deadline);
}

ssize_t roost_recv(int fd, void *buf, size_t len, int flags, uint64_t deadline)
{
	struct carrier *c = library_enter();

	if (!c)
		return -EPERM;
	return library_return(receive(c, fd, buf, len, flags, deadline));
}

ssize_t roost_send(int fd, const void *buf, size_t len, int flags,
		   uint64_t deadline)
{
	struct carrier *c = library_enter();
	struct fd *f;
	ssize_t n;

	if (!c)
		return -EPERM;
	n = io_begin(c, fd, &f);
	if (!n)
		n = io_flags(f, (void *)buf, len, flags, true, deadline);
	return library_return(n);
}

/* Accepting */

/*
 * What accept(2) may say of the connection it was about to hand out.  The last
 * two are also said of a socket that can accept nothing at all.
 */
static bool is_connection_error(int number, int err)
{
	switch (-err) {
	case ECONNABORTED:
	case EPROTO:
	case ENOPROTOOPT:
	case ENETDOWN:
	case ENETUNREACH:
	case EHOSTDOWN:
	case EHOSTUNREACH:
	case ENONET:
		return true;
	case EPERM:
	case EOPNOTSUPP:
		return sys_sock_option(number, SO_ACCEPTCONN) == 1;
	default:
		return false;
	}
}

/*
 * A listening socket that is not managed may block, and nothing asks accept(2)
 * not to.  So look first, and let one actor at a time do both; another process
 * that accepts from the same socket can still be faster, and then the worker
 * waits for the next connection.
 */
static int accept_unmanaged(struct fd *f, struct sockaddr *addr, socklen_t *len)
{
	int got;

	spin_lock(&f->accepting);
	got = fd_probe(f->number, POLLIN);
	/* What does not listen answers at once, and will never be ready. */
	if (got > 0 || (!got && sys_sock_option(f->number, SO_ACCEPTCONN) != 1))
		got = sys_sock_accept(f->number, addr, len);
	else if (!got)
		got = -EAGAIN;
	spin_unlock(&f->accepting);
	return got;
}

static int accept_once(struct fd *f, struct sockaddr *addr, socklen_t *len,
		       uint64_t before, bool last)
{
	if (!(kind_of(f) & FD_MANAGED))
		return accept_unmanaged(f, addr, len);
	if (!(before & IO_TRY_IN) && !last)
		return -EAGAIN;
	return sys_sock_accept(f->number, addr, len);
}

/* A new connection has the protocol of its listener. */
static int accepted(struct fd *listener, int number)
{
	uint32_t kind = kind_of(listener);

	if (!(kind & FD_MANAGED))
		kind = kind_asked(number);
	number = take_over(number, kind);
	if (number >= 0)
		io_done(listener);
	return number;
}

/*
 * Only EAGAIN says that nobody is waiting any more.  After EMFILE the queue is
 * as long as before, and the next call must try again.
 */
static int accept_wait(struct fd *f, struct sockaddr *addr, socklen_t *len,
		       uint64_t deadline)
{
	const uint64_t ring = fd_ring_load(f);
	bool last = deadline == 0;
	unsigned int skipped = 0;
	uint64_t before;
	int got;

	for (;;) {
		before = fd_ready_load(f);
		/* Closed when a wait was over, and before we ran. */
		if (unlikely(!fd_ring_same_file(f, ring)))
			return -ECANCELED;
		got = accept_once(f, addr, len, before, last);
		if (got >= 0)
			return accepted(f, got);

		if (got == -EAGAIN) {
			fd_ready_take(f, before, IO_TRY_IN);
			if (last)
				return -ETIMEDOUT;
			got = fd_wait_ready(f, IO_TRY_IN, 0, before, deadline);
			if (got == -ETIMEDOUT)
				last = true;
			else if (got < 0)
				return got;
		} else if (!is_connection_error(f->number, got)) {
			return got;
		} else if (++skipped % SKIP_MAX == 0) {
			actor_yield();
			if (roost_stopped())
				return -ECANCELED;
			last = deadline <= roost_now();
		}
	}
}

int roost_accept(int fd, struct sockaddr *addr, socklen_t *len,
		 uint64_t deadline)
{
	struct carrier *c = library_enter();
	struct fd *f;
	int err;

	if (!c)
		return -EPERM;
	err = io_begin(c, fd, &f);
	if (!err)
		err = accept_wait(f, addr, len, deadline);
	return (int)library_return(err);
}

/* Connecting */

/* A listener of AF_UNIX that is full says EAGAIN and never when it no longer is. */
static int connect_start(struct fd *f, const struct sockaddr *addr,
			 socklen_t len, uint64_t deadline)
{
	const uint64_t ring = fd_ring_load(f);
	uint64_t until;
	int err;

	for (;;) {
		err = sys_sock_connect(f->number, addr, len);
		if (err != -EAGAIN || addr->sa_family != AF_UNIX)
			return err;
		if (deadline <= roost_now())
			return -ETIMEDOUT;
		until = roost_after(UNIX_RETRY_NS);
		err = timer_sleep_until(until < deadline ? until : deadline);
		if (err)
			return err;
		if (!fd_ring_same_file(f, ring))
			return -ECANCELED;
	}
}

/*
 * Over TCP a second call tells the outcome, and after a failure it leaves a
 * socket that can try again; after SO_ERROR, the next attempt would only be told
 * that this one has failed.  Others might take it for a new attempt.
 */
static int connect_outcome(int fd, const struct sockaddr *addr, socklen_t len)
{
	int err;

	if (addr->sa_family == AF_INET || addr->sa_family == AF_INET6) {
		err = sys_sock_connect(fd, addr, len);
		return err == -EISCONN ? 0 : err;
	}
	err = sys_sock_option(fd, SO_ERROR);
	return err > 0 ? -err : err;
}

static int connect_wait(struct fd *f, const struct sockaddr *addr, socklen_t len,
			uint64_t deadline)
{
	int err = connect_start(f, addr, len, deadline);
	int got;

	while (err == -EINPROGRESS || err == -EINTR || err == -EALREADY) {
		got = fd_wait(f->number, POLLOUT, deadline);
		if (got <= 0)
			return got ? got : -ETIMEDOUT;
		err = connect_outcome(f->number, addr, len);
	}
	return err;
}

static int connect_socket(const struct carrier *c, int fd,
			  const struct sockaddr *addr, socklen_t len,
			  uint64_t deadline)
{
	struct fd *f;
	int err = io_begin(c, fd, &f);

	if (err)
		return err;
	if (!(kind_of(f) & FD_MANAGED)) {
		int flags = sys_file_flags(fd);

		if (flags < 0)
			return flags;
		if (!(flags & O_NONBLOCK))
			return -EINVAL;
	}

	err = connect_wait(f, addr, len, deadline);
	/* What events said of the unconnected socket is void. */
	if (!err && kind_of(f) & FD_MANAGED)
		fd_ready_reset(f);
	return err;
}

int roost_connect(int fd, const struct sockaddr *addr, socklen_t len,
		  uint64_t deadline)
{
	struct carrier *c = library_enter();

	if (!c)
		return -EPERM;
	return (int)library_return(connect_socket(c, fd, addr, len, deadline));
}
