/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * roost/io.h - wait for files and use them from actors.
 *
 * Every call takes an absolute deadline, ROOST_FOREVER for none, and parks the
 * calling actor only.  Common results: -ETIMEDOUT, the deadline passed;
 * -ECANCELED, the actor was stopped or the descriptor was closed by
 * roost_close() meanwhile; -EBADF, not an open descriptor; -EMFILE, one that is not
 * below the max_fds knob; -ENOMEM, or on the kernel backend -EDQUOT for a limit of
 * the module, if it cannot be watched; -EPERM outside of an actor.  EINTR and
 * EAGAIN are never seen but where it is said, SIGPIPE is never raised.
 *
 * A descriptor that came from roost_socket(), roost_accept(), roost_pipe() or
 * was handed over with roost_fd_adopt() is *managed*: it does not block, its
 * readiness is remembered between calls, and it must be closed by
 * roost_close().  Any other descriptor works with all calls too, at the price
 * of a fresh registration for each wait; its O_NONBLOCK state is never changed.
 * A plain close(2) of it by somebody else while an actor waits on it leaves
 * the wait as it is, until the old file says something, the deadline passes,
 * or the actor is stopped; whoever then waits on the reused number waits on
 * the new file, and from then on so do the others.
 *
 * roost_close() while another actor uses the descriptor is as safe as close(2)
 * among threads: a wait ends with -ECANCELED, also one that something else has
 * ended if its actor has not run since, a call that begins later gets -EBADF, and
 * one that is just being made may meet the number's next file.  The file itself
 * may stay open for the moment that a call of another worker takes that is just
 * looking at it.
 *
 * Files that cannot be polled (regular files, directories, /dev/null) are read
 * and written at once, blocking the worker for as long as that takes.  A file
 * that is neither a socket nor managed and neither has O_NONBLOCK set nor knows
 * RWF_NOWAIT (a terminal, a pipe before Linux 6.4) is used when poll(2) says
 * that it is ready; should another process be faster, the worker blocks.  What of
 * that holds up others is in Documentation/blocking.rst.
 */
#ifndef ROOST_IO_H
#define ROOST_IO_H

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <roost/types.h>

ROOST_BEGIN_DECLS

/**
 * roost_fd_wait() - wait until a file is ready
 * @fd:		any descriptor that can be polled
 * @events:	POLLIN, POLLOUT, POLLPRI, POLLRDHUP; POLLERR and POLLHUP always
 *		count
 * @deadline:	absolute
 *
 * Several actors may wait on one file, for the same or for other events; all
 * whose events came are woken.
 *
 * Return: the events that are there, as poll(2) gives them; 0 if the deadline
 * passed; -EPERM for what cannot be polled (a regular file, a directory,
 * /dev/null); -EBADF (also for O_PATH); -EMFILE if @fd is not below the max_fds
 * knob; -ECANCELED; -EINVAL for other bits in @events, or none; -ELOOP on the
 * kernel backend for an epoll, io_uring or roost descriptor that is not ready
 * yet: it cannot watch these.
 *
 * Who waits for POLLIN is also woken by POLLPRI and POLLRDHUP, and then finds
 * them in the result.
 */
int roost_fd_wait(int fd, unsigned int events, uint64_t deadline);

/**
 * roost_fd_adopt() - make a descriptor managed
 * @fd:		a socket or pipe; O_NONBLOCK is set on its open file description
 *
 * Return: 0 or -errno.
 */
int roost_fd_adopt(int fd);

/* socket(2), managed, close-on-exec.  Returns the descriptor or -errno. */
int roost_socket(int domain, int type, int protocol);

/* pipe2(2), close-on-exec, both ends managed.  Returns 0 or -errno. */
int roost_pipe(int fd[2]);

/**
 * roost_close() - close a descriptor
 * @fd:		any descriptor
 *
 * Actors that wait on it get -ECANCELED.  Where close(2) blocks (SO_LINGER, a file
 * system that writes back), so does this: see Documentation/blocking.rst.
 *
 * Return: 0 or -errno of close(2).
 */
int roost_close(int fd);

/*
 * As read(2) and its kin, but for what the head of this file says.  A write may
 * be short: use roost_write_all() if in doubt.  A read returns 0 at the end.
 */
ssize_t roost_read(int fd, void *buf, size_t len, uint64_t deadline);
ssize_t roost_write(int fd, const void *buf, size_t len, uint64_t deadline);
ssize_t roost_readv(int fd, const struct iovec *iov, int n, uint64_t deadline);
ssize_t roost_writev(int fd, const struct iovec *iov, int n, uint64_t deadline);

/**
 * roost_write_all() - write everything
 * @fd:		any descriptor
 * @buf:	what to write
 * @len:	bytes
 * @deadline:	absolute, for all of it
 *
 * Return: @len; or -errno, when an unknown part was written.
 */
ssize_t roost_write_all(int fd, const void *buf, size_t len, uint64_t deadline);

/*
 * As recv(2) and send(2); @flags as there.  MSG_DONTWAIT is the same as a
 * deadline of 0.  With MSG_OOB and MSG_ERRQUEUE they never wait, and if there is
 * nothing they give what the kernel gives, -EAGAIN or -EINVAL.
 *
 * Urgent data: on the kernel backend, what follows an urgent byte in the stream
 * may be noticed only when more comes, unless POLLPRI was waited for or MSG_OOB
 * was used on this descriptor before.
 */
ssize_t roost_recv(int fd, void *buf, size_t len, int flags, uint64_t deadline);
ssize_t roost_send(int fd, const void *buf, size_t len, int flags,
		   uint64_t deadline);

/**
 * roost_send_recv() - send all of one buffer, then receive into another
 * @fd:		a socket
 * @out:	what to send
 * @out_len:	bytes; 0: only receive
 * @in:		where to receive; may be @out, since all is sent before
 * @in_len:	room there
 * @flags:	MSG_* bits for the sending: MSG_MORE, MSG_NOSIGNAL, MSG_DONTROUTE,
 *		MSG_CONFIRM, MSG_EOR; and MSG_DONTWAIT, as a deadline of 0 for both
 * @deadline:	absolute, for both together
 * @sent:	NULL, or where to put how many bytes were sent
 *
 * The step of a server: send the reply, wait for the next request.  The same as
 * roost_send() until all is sent, and then one roost_recv(), but cheaper on the
 * kernel backend.  If *@sent is less than @out_len, the result is an error of
 * the sending, and nothing was received; if it is @out_len, the result is that
 * of the receiving: after -ETIMEDOUT it may be called again with @out_len 0.
 *
 * Return: bytes received, perhaps fewer than @in_len; 0 at the end; -errno of
 * either half; -EINVAL for other flags.
 */
ssize_t roost_send_recv(int fd, const void *out, size_t out_len, void *in,
			size_t in_len, int flags, uint64_t deadline,
			size_t *sent);

/**
 * roost_accept() - accept4(2); the new socket is managed and close-on-exec
 * @fd:		a listening socket
 * @addr:	filled in unless NULL
 * @len:	as for accept4(2)
 * @deadline:	absolute
 *
 * Return: the new descriptor; -EMFILE and -ENFILE as they come (wait and try
 * again); errors of the connection itself (ECONNABORTED, ...) are skipped.
 * Also -EMFILE, and the connection is closed, if the new descriptor would not
 * be below the max_fds knob.
 *
 * Any number of actors may accept from one socket.  One that is not managed and
 * is shared with other processes should have O_NONBLOCK set: if another process
 * is faster, the worker would block.
 */
int roost_accept(int fd, struct sockaddr *addr, socklen_t *len,
		 uint64_t deadline);

/**
 * roost_connect() - connect(2), waits for the outcome
 * @fd:		a managed or otherwise non-blocking socket
 * @addr:	the peer
 * @len:	of @addr
 * @deadline:	absolute
 *
 * When the deadline has passed the attempt goes on; roost_connect() again waits
 * for it.
 *
 * Return: 0 or -errno; -EINVAL for a socket that blocks.
 */
int roost_connect(int fd, const struct sockaddr *addr, socklen_t len,
		  uint64_t deadline);

ROOST_END_DECLS

#endif /* ROOST_IO_H */
