// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* io_sys.c - system calls as the I/O code wants them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "compiler.h"
#include "io_sys.h"

/* The value of @call with errors as -errno, repeated for as long as EINTR. */
#define result_of(call) ({						\
	__typeof__(call) r_;						\
									\
	do {								\
		r_ = (call);						\
	} while (r_ < 0 && errno == EINTR);				\
	r_ < 0 ? (__typeof__(r_))-errno : r_;				\
})

/* Sockets */

noinline ssize_t sys_sock_recv(int fd, const struct iovec *iov, int n,
			       int flags)
{
	struct msghdr msg;

	flags |= MSG_DONTWAIT | MSG_NOSIGNAL;
	if (likely(n == 1))
		return result_of(recv(fd, iov->iov_base, iov->iov_len, flags));
	msg = (struct msghdr){
		.msg_iov = (struct iovec *)iov,
		.msg_iovlen = (size_t)n,
	};
	return result_of(recvmsg(fd, &msg, flags));
}

noinline ssize_t sys_sock_send(int fd, const struct iovec *iov, int n,
			       int flags)
{
	struct msghdr msg;

	flags |= MSG_DONTWAIT | MSG_NOSIGNAL;
	if (likely(n == 1))
		return result_of(send(fd, iov->iov_base, iov->iov_len, flags));
	msg = (struct msghdr){
		.msg_iov = (struct iovec *)iov,
		.msg_iovlen = (size_t)n,
	};
	return result_of(sendmsg(fd, &msg, flags));
}

noinline int sys_sock_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	return result_of(accept4(fd, addr, len, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

/* Not repeated: an interrupted connect goes on by itself. */
noinline int sys_sock_connect(int fd, const struct sockaddr *addr,
			      socklen_t len)
{
	return connect(fd, addr, len) < 0 ? -errno : 0;
}

noinline int sys_sock_make(int domain, int type, int protocol)
{
	return result_of(socket(domain, type, protocol));
}

noinline int sys_sock_option(int fd, int name)
{
	socklen_t len = sizeof(int);
	int value = 0;

	if (getsockopt(fd, SOL_SOCKET, name, &value, &len) < 0)
		return -errno;
	return value;
}

/*
 * Files
 *
 * A file may be closed while others wait for it, or are about to: what they do by its
 * number then fails, or finds another file, and they hear of that.  ThreadSanitizer calls
 * it a race of close(2) with each call that was not ordered before it, and with the
 * making of the next file of that number; so it is not to see closes by the library, nor
 * what is said to epoll of a number.
 */

noinline ssize_t sys_file_read(int fd, const struct iovec *iov, int n)
{
	return result_of(readv(fd, iov, n));
}

noinline ssize_t sys_file_read_nowait(int fd, const struct iovec *iov, int n)
{
	return result_of(preadv2(fd, iov, n, -1, RWF_NOWAIT));
}

/*
 * Writing to what is no socket raises SIGPIPE in the calling thread when it
 * fails with EPIPE.  It is blocked meanwhile and taken away again, but only if
 * it is ours: one that was pending before stays.  Only a signal that was blocked
 * before can have been.
 */
static ssize_t write_quietly(int fd, const struct iovec *iov, int n, int flags)
{
	const struct timespec now = { 0 };
	sigset_t sigpipe, old, pending;
	bool blocked, ours = true;
	ssize_t r;

	sigemptyset(&sigpipe);
	sigaddset(&sigpipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &sigpipe, &old);
	blocked = sigismember(&old, SIGPIPE);
	if (blocked) {
		sigpending(&pending);
		ours = !sigismember(&pending, SIGPIPE);
	}

	if (flags)
		r = result_of(pwritev2(fd, iov, n, -1, flags));
	else
		r = result_of(writev(fd, iov, n));

	if (r == -EPIPE && ours) {
		while (sigtimedwait(&sigpipe, NULL, &now) < 0 && errno == EINTR)
			;
	}
	if (!blocked)
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

noinline ssize_t sys_file_write(int fd, const struct iovec *iov, int n)
{
	return write_quietly(fd, iov, n, 0);
}

noinline ssize_t sys_file_write_nowait(int fd, const struct iovec *iov, int n)
{
	return write_quietly(fd, iov, n, RWF_NOWAIT);
}

noinline int sys_file_flags(int fd)
{
	return result_of(fcntl(fd, F_GETFL));
}

noinline int sys_file_set_nonblock(int fd, int flags)
{
	return result_of(fcntl(fd, F_SETFL, flags | O_NONBLOCK));
}

noinline int sys_file_type(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? -errno : (int)(st.st_mode & S_IFMT);
}

/* Not repeated: the number is free again even after EINTR, and no error. */
noinline int sys_file_close(int fd)
{
	return syscall(SYS_close, fd) < 0 && errno != EINTR ? -errno : 0;
}

noinline int sys_pipe_make(int fd[2])
{
	return pipe2(fd, O_NONBLOCK | O_CLOEXEC) < 0 ? -errno : 0;
}

/* Readiness */

noinline int sys_poll_now(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };
	int n = result_of(poll(&p, 1, 0));

	return n > 0 ? (unsigned short)p.revents : n;
}

noinline int sys_epoll_change(int set, int op, int fd, struct epoll_event *ev)
{
	return syscall(SYS_epoll_ctl, set, op, fd, ev) < 0 ? -errno : 0;
}

/* Changing what is not in the set checks the file first: -ENOENT if it can be. */
noinline int sys_epoll_known(int set, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return sys_epoll_change(set, EPOLL_CTL_MOD, fd, &ev);
}
