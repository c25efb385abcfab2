// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* echo_epoll.c - the yardstick: one thread, one level-triggered epoll. */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "server.h"

#define BATCH	256

static void watch(int ep, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev))
		die("epoll_ctl");
}

static void handle(int ep, int listener, int fd)
{
	if (fd == listener) {
		while ((fd = server_accept(listener)) >= 0)
			watch(ep, fd);
	} else if (server_echo(fd, false) == SERVER_CLOSED) {
		close(fd);
	}
}

int main(int argc, char **argv)
{
	int listener = server_start(argc, argv);
	int ep = epoll_create1(EPOLL_CLOEXEC), n, i;
	struct epoll_event ev[BATCH];

	if (ep < 0)
		die("epoll_create1");
	watch(ep, listener);
	for (;;) {
		n = epoll_wait(ep, ev, BATCH, -1);
		if (n < 0 && errno != EINTR)
			die("epoll_wait");
		for (i = 0; i < n; i++)
			handle(ep, listener, ev[i].data.fd);
	}
}
