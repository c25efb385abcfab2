// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* main.c - httpd: serve the files of a folder, one actor a connection. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server.h"

#define BACKLOG		4096
#define SPARE_ACTORS	128	/* root, acceptor, refusals */

/* A listening socket; or -1, having said why. */
static int listen_on(const struct options *o)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_port = htons(o->port),
	};
	int fd, one = 1;

	if (inet_pton(AF_INET, o->addr, &sa.sin_addr) != 1) {
		fprintf(stderr, "httpd: not an IPv4 address: %s\n", o->addr);
		return -1;
	}
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		perror("httpd: socket");
		return -1;
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* Inherited by what is accepted: answers leave in one write anyway. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) ||
	    listen(fd, BACKLOG)) {
		perror("httpd: listen");
		close(fd);
		return -1;
	}
	return fd;
}

/* A connection is a descriptor: allow as many as the system lets us. */
static void raise_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur == r.rlim_max)
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

int main(int argc, char **argv)
{
	static struct server server = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct roost_config config = { 0 };
	int err;

	options_parse(&server.options, argc, argv);
	raise_limit();
	control_block_signals();
	server.files = files_open_root(server.options.root,
				       server.options.cache_bytes,
				       server.options.walk);
	if (!server.files) {
		fprintf(stderr, "httpd: %s: %s\n", server.options.root,
			strerror(errno));
		return 1;
	}
	server.listener = listen_on(&server.options);
	if (server.listener < 0)
		return 1;
	config.workers = server.options.workers;
	config.backend = server.options.backend;
	config.max_actors = server.options.max_connections + SPARE_ACTORS;
	err = roost_run(&config, control_main, &server);
	if (err)
		fprintf(stderr, "httpd: cannot run: %s\n", strerror(-err));
	files_close_root(server.files);
	return err ? 1 : 0;
}
