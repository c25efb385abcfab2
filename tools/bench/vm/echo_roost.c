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

/* One request: 0 when the client has gone. */
static ssize_t echo(int fd, char *buf)
{
	ssize_t n = roost_recv(fd, buf, SERVER_BUFFER, 0, ROOST_FOREVER);

	if (n > 0)
		n = roost_write_all(fd, buf, n, ROOST_FOREVER);
	if (n < 0) {
		errno = -n;
		die("echo");
	}
	return n;
}

static void connection(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[SERVER_BUFFER];

	while (echo(fd, buf) > 0)
		;
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
