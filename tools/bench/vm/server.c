// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* server.c - what the echo servers share; see server.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server.h"

int server_listen(int argc, char **argv)
{
	if (argc != 2)
		die("usage: %s tcp:PORT|unix:PATH", argv[0]);
	join_batch_class();
	return net_listen(argv[1]);
}

void server_ready(void)
{
	puts("listening");
	fflush(stdout);
}

int server_start(int argc, char **argv)
{
	int fd = server_listen(argc, argv);

	server_ready();
	return fd;
}

int server_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 && errno != EAGAIN)
		die("accept");
	if (fd >= BENCH_MAX_FDS)
		die("more than %d descriptors", BENCH_MAX_FDS);
	return fd;
}

/*
 * The client bounds what is under way far below a socket's buffer, so waiting
 * in the middle of it all is never needed in a measurement.
 */
static void send_all(int fd, const char *buf, size_t len)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	ssize_t n;

	while (len) {
		n = send(fd, buf, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN) {
			poll(&p, 1, -1);
			continue;
		}
		if (n < 0)
			die("send");
		buf += n;
		len -= n;
	}
}

static enum server_step echo_once(int fd)
{
	char buf[SERVER_BUFFER];
	ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (n == 0)
		return SERVER_CLOSED;
	if (n < 0 && errno == EAGAIN)
		return SERVER_DRAINED;
	if (n < 0)
		die("recv");
	send_all(fd, buf, n);
	/* A short read means that there was no more. */
	return n < SERVER_BUFFER ? SERVER_DRAINED : SERVER_MORE;
}

enum server_step server_echo(int fd, bool drain)
{
	enum server_step step;

	do {
		step = echo_once(fd);
	} while (drain && step == SERVER_MORE);
	return step;
}
