// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* echo.c - a TCP server that sends back what it gets: echo [PORT] */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <roost/roost.h>

#define IDLE	ROOST_SEC(60)

static void client(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[4096];
	ssize_t n = roost_recv(fd, buf, sizeof(buf), 0, roost_after(IDLE));

	/* Send it back and wait for more, in one step. */
	while (n > 0)
		n = roost_send_recv(fd, buf, n, buf, sizeof(buf), 0,
				    roost_after(IDLE), NULL);
	roost_close(fd);
}

static int listen_on(unsigned int port)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(sa);
	int fd = roost_socket(AF_INET, SOCK_STREAM, 0);
	int one = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) || listen(fd, 1024) ||
	    getsockname(fd, (struct sockaddr *)&sa, &len)) {
		perror("echo: listen");
		roost_close(fd);
		return -1;
	}
	printf("listening on 127.0.0.1:%u\n", ntohs(sa.sin_port));
	fflush(stdout);
	return fd;
}

static void server(void *arg)
{
	int listener = listen_on(*(unsigned int *)arg);
	int fd;

	while (listener >= 0) {
		fd = roost_accept(listener, NULL, NULL, ROOST_FOREVER);
		if (fd == -ECANCELED)
			return;
		if (fd < 0)	/* no descriptors: somebody will close one */
			roost_sleep(ROOST_MSEC(50));
		else if (roost_spawn(client, (void *)(intptr_t)fd, NULL))
			roost_close(fd);
	}
}

int main(int argc, char **argv)
{
	unsigned long number = 7777;
	unsigned int port;
	char *end = "";
	int err;

	if (argc > 1)
		number = strtoul(argv[1], &end, 10);
	if (argc > 2 || *end || number > 65535 || (argc > 1 && !*argv[1])) {
		fprintf(stderr, "usage: echo [PORT] (0 to 65535; default 7777, 0: any)\n");
		return 2;
	}
	port = (unsigned int)number;
	err = roost_run(NULL, server, &port);
	if (err)
		fprintf(stderr, "echo: %s\n", strerror(-err));
	return err ? 1 : 0;
}
