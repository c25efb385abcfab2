/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * io_help.h - what the tests of descriptors share, on top of run.h.
 */
#ifndef ROOST_SELFTESTS_RUNTIME_IO_HELP_H
#define ROOST_SELFTESTS_RUNTIME_IO_HELP_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "run.h"

/* Long enough for an actor on another worker to have parked. */
#define SETTLE_NS	ROOST_MSEC(20)
/* A wait that should have ended is given up after this. */
#define GIVE_UP_NS	ROOST_SEC(5)

static inline void settle(void)
{
	CHECK_EQ(roost_sleep(SETTLE_NS), 0);
}

static inline uint64_t soon(void)
{
	return roost_after(GIVE_UP_NS);
}

/*
 * Gives @pair[0] that @number, where nothing is open, or the other end. A thread that has
 * something open for a moment makes either come.
 */
static inline void move_to(int number, int pair[2])
{
	if (pair[1] == number)
		pair[1] = dup(number);
	if (pair[0] != number) {
		CHECK_EQ(dup2(pair[0], number), number);
		close(pair[0]);
	}
	pair[0] = number;
}

/* The result of a waiter that was stopped before it ran. */
#define NEVER_RAN	(-ESRCH)

/* An actor that waits for a descriptor once and says how it went. */
struct waiter {
	int fd;
	unsigned int events;
	uint64_t deadline;
	roost_pid pid;
	int result;
	uint64_t ended;
	_Atomic bool done;
};

static inline void waiter_main(void *arg)
{
	struct waiter *w = arg;

	w->result = roost_fd_wait(w->fd, w->events, w->deadline);
	w->ended = roost_now();
	atomic_store(&w->done, true);
}

static inline void waiter_start(struct waiter *w, int fd, unsigned int events,
				uint64_t deadline)
{
	*w = (struct waiter){
		.fd = fd, .events = events, .deadline = deadline,
		.result = NEVER_RAN,
	};
	CHECK_EQ(roost_spawn(waiter_main, w, &w->pid), 0);
}

static inline int waiter_join(struct waiter *w)
{
	CHECK_EQ(roost_join(w->pid, ROOST_FOREVER), 0);
	return w->result;
}

/* A pair of connected TCP sockets made by plain calls; they block. */
static inline void tcp_pair(int fd[2])
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int one = 1;

	CHECK(listener >= 0);
	CHECK_EQ(bind(listener, (struct sockaddr *)&addr, len), 0);
	CHECK_EQ(listen(listener, 1), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(connect(fd[0], (struct sockaddr *)&addr, len), 0);
	fd[1] = accept(listener, NULL, NULL);
	CHECK(fd[1] >= 0);
	setsockopt(fd[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	close(listener);
}

static inline void tcp_pair_managed(int fd[2])
{
	tcp_pair(fd);
	CHECK_EQ(roost_fd_adopt(fd[0]), 0);
	CHECK_EQ(roost_fd_adopt(fd[1]), 0);
}

/* A close that sends a reset. */
static inline void close_with_reset(int fd)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };

	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)),
		 0);
	CHECK_EQ(close(fd), 0);
}

/* Write until the file is full, without blocking. */
static inline size_t fill(int fd)
{
	static char zeros[65536];
	int flags = fcntl(fd, F_GETFL);
	size_t total = 0;
	ssize_t n;

	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	/* A socket's peer takes a moment to say that it is full. */
	for (int quiet = 0; quiet < 20; quiet++) {
		while ((n = write(fd, zeros, sizeof(zeros))) > 0 ||
		       (n = write(fd, zeros, 1)) > 0) {
			total += (size_t)n;
			quiet = 0;
		}
		CHECK(errno == EAGAIN);
		usleep(1000);
	}
	fcntl(fd, F_SETFL, flags);
	return total;
}

/* Read until the file is empty, without blocking. */
static inline size_t drain(int fd)
{
	static char sink[65536];
	int flags = fcntl(fd, F_GETFL);
	size_t total = 0;
	ssize_t n;

	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	for (int quiet = 0; quiet < 20; quiet++) {
		while ((n = read(fd, sink, sizeof(sink))) > 0) {
			total += (size_t)n;
			quiet = 0;
		}
		usleep(1000);
	}
	fcntl(fd, F_SETFL, flags);
	return total;
}

#endif /* ROOST_SELFTESTS_RUNTIME_IO_HELP_H */
