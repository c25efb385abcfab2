/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * io_sys.h - system calls as the I/O code wants them: -errno for an error, and
 * never EINTR.
 *
 * Never inlined: errno lies in the thread, and a caller that has been inlined
 * into could keep its address over a switch.  None of them switches.
 */
#ifndef ROOST_LIB_IO_SYS_H
#define ROOST_LIB_IO_SYS_H

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

struct epoll_event;

/* Sockets: never block, never raise SIGPIPE. */
ssize_t sys_sock_recv(int fd, const struct iovec *iov, int n, int flags);
ssize_t sys_sock_send(int fd, const struct iovec *iov, int n, int flags);
int sys_sock_accept(int fd, struct sockaddr *addr, socklen_t *len);
int sys_sock_connect(int fd, const struct sockaddr *addr, socklen_t len);
int sys_sock_make(int domain, int type, int protocol);
int sys_sock_option(int fd, int name);

/* Any file; these block if the file does.  Writing never raises SIGPIPE. */
ssize_t sys_file_read(int fd, const struct iovec *iov, int n);
ssize_t sys_file_write(int fd, const struct iovec *iov, int n);

/* Any file; -EOPNOTSUPP where the file cannot promise not to block. */
ssize_t sys_file_read_nowait(int fd, const struct iovec *iov, int n);
ssize_t sys_file_write_nowait(int fd, const struct iovec *iov, int n);

int sys_file_flags(int fd);
int sys_file_set_nonblock(int fd, int flags);
/* Return: S_IFMT bits of its mode, or -errno. */
int sys_file_type(int fd);
int sys_file_close(int fd);
int sys_pipe_make(int fd[2]);
int sys_poll_now(int fd, short events);
int sys_epoll_change(int set, int op, int fd, struct epoll_event *ev);
int sys_epoll_known(int set, int fd);

#endif /* ROOST_LIB_IO_SYS_H */
