// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * echo_roost.c - the library: one actor a connection, one worker.
 *
 * ROOST_BACKEND must name the backend; another one is an error.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <roost/roost.h>

#include "server.h"

/* Send back what came, if anything, and wait for more. */
static ssize_t echo(int fd, char *buf, size_t len)
{
	return roost_send_recv(fd, buf, len, buf, SERVER_BUFFER, 0,
			       ROOST_FOREVER, NULL);
}

static void connection(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[SERVER_BUFFER];
	ssize_t n = 0;

	do {
		n = echo(fd, buf, n);
	} while (n > 0);
	if (n < 0) {
		errno = -n;
		die("roost_send_recv");
	}
	roost_close(fd);
}

static void check_backend(void)
{
	const char *wanted = getenv("ROOST_BACKEND");
	struct roost_stats stats;

	errno = 0;
	if (roost_stats(&stats))
		die("roost_stats");
	if (!wanted || strcmp(stats.backend, wanted))
		die("the backend is %s, ROOST_BACKEND is %s", stats.backend,
		    wanted ? wanted : "not set");
}

static void server(void *arg)
{
	int listener = *(int *)arg, fd;

	check_backend();
	errno = -roost_fd_adopt(listener);
	if (errno)
		die("roost_fd_adopt");
	server_ready();
	for (;;) {
		fd = roost_accept(listener, NULL, NULL, ROOST_FOREVER);
		if (fd < 0) {
			errno = -fd;
			die("roost_accept");
		}
		errno = -roost_spawn(connection, (void *)(intptr_t)fd, NULL);
		if (errno)
			die("roost_spawn");
	}
}

int main(int argc, char **argv)
{
	struct roost_config config = { .workers = 1, .max_fds = BENCH_MAX_FDS };
	int listener = server_listen(argc, argv);

	errno = -roost_run(&config, server, &listener);
	die("roost_run");
}
