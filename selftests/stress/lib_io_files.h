/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * lib_io_files.h - makes and closes the files of lib_io_test's connections.
 */
#ifndef ROOST_SELFTESTS_STRESS_LIB_IO_FILES_H
#define ROOST_SELFTESTS_STRESS_LIB_IO_FILES_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "lib_io_conn.h"

/*
 * Makers of files; -1 while none may be made.  An operation that is just being
 * made when its descriptor is closed may meet the number's next file, as
 * roost/io.h says; here there must be none, for it would disturb a stream.
 */
static _Atomic int makers;

static inline void makers_enter(void)
{
	int n = atomic_load(&makers);

	while (n < 0 || !atomic_compare_exchange_weak(&makers, &n, n + 1)) {
		if (n < 0)
			roost_sleep(ROOST_USEC(20));
		n = atomic_load(&makers);
	}
}

static inline void makers_leave(void)
{
	atomic_fetch_sub(&makers, 1);
}

static inline void makers_shut_out(void)
{
	int none = 0;

	while (!atomic_compare_exchange_weak(&makers, &none, -1)) {
		roost_sleep(ROOST_USEC(20));
		none = 0;
	}
}

static inline void makers_let_in(void)
{
	atomic_store(&makers, 0);
}

static inline void shrink(struct conn *c, int fd)
{
	static const int sizes[] = { 0, 4608, 4608, 8192 };
	int size = sizes[random_below(&c->random, 4)];
	int one = 1;

	if (size)
		CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size,
				    sizeof(size)), 0);
	if (c->tcp)
		CHECK_EQ(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one,
				    sizeof(one)), 0);
}

static inline int listen_somewhere(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int size = 8192, fd = roost_socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
	CHECK_EQ(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	CHECK_EQ(listen(fd, 1), 0);
	return fd;
}

static inline void make_tcp(struct conn *c, int fd[2])
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	bool plain = random_percent(&c->random, 25);

	CHECK_EQ(getsockname(c->listener, (struct sockaddr *)&addr, &len), 0);
	fd[0] = plain ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) :
			roost_socket(AF_INET, SOCK_STREAM, 0);
	CHECK(fd[0] >= 0);
	if (plain)
		CHECK_EQ(connect(fd[0], (struct sockaddr *)&addr, len), 0);
	else
		CHECK_EQ(roost_connect(fd[0], (struct sockaddr *)&addr, len,
				       ROOST_FOREVER), 0);
	fd[1] = roost_accept(c->listener, NULL, NULL, ROOST_FOREVER);
	CHECK(fd[1] >= 0);
	c->end[0].managed = !plain;
	c->end[1].managed = true;
}

static inline void make_unix(struct conn *c, int fd[2])
{
	unsigned int i;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	for (i = 0; i < 2; i++) {
		c->end[i].managed = random_percent(&c->random, 75);
		if (c->end[i].managed)
			CHECK_EQ(roost_fd_adopt(fd[i]), 0);
	}
}

static inline void make_files(struct conn *c)
{
	bool swap = random_percent(&c->random, 50), managed;
	int fd[2];

	makers_enter();
	if (c->tcp)
		make_tcp(c, fd);
	else
		make_unix(c, fd);
	makers_leave();
	shrink(c, fd[0]);
	shrink(c, fd[1]);
	c->end[0].fd = fd[swap];
	c->end[1].fd = fd[!swap];
	if (swap) {
		managed = c->end[0].managed;
		c->end[0].managed = c->end[1].managed;
		c->end[1].managed = managed;
	}
}

/* Closing @fd will send a reset, if it is TCP's. */
static inline void will_reset(int fd)
{
	struct linger linger = { .l_onoff = 1 };

	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)),
		 0);
}

static inline void close_end(struct conn *c, struct end *e)
{
	if (e->fd < 0)
		return;
	if (random_percent(&c->random, 50))
		will_reset(e->fd);
	/*
	 * What is not managed may be closed plainly.  To ThreadSanitizer this is
	 * a race with who looks whether it is still to be watched.
	 */
	if (e->managed || SANITIZED || random_percent(&c->random, 50))
		CHECK_EQ(roost_close(e->fd), 0);
	else
		CHECK_EQ(close(e->fd), 0);
	e->fd = -1;
}

#endif /* ROOST_SELFTESTS_STRESS_LIB_IO_FILES_H */
