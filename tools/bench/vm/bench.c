// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* bench.c - what the client and all servers share; see bench.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bench.h"

void die(const char *format, ...)
{
	int err = errno;
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "%s%s\n", err ? ": " : "", err ? strerror(err) : "");
	exit(1);
}

void join_batch_class(void)
{
	struct sched_param none = { 0 };

	if (sched_setscheduler(0, SCHED_BATCH, &none))
		die("SCHED_BATCH");
}

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_un un;
};

static socklen_t parse(const char *text, union address *a)
{
	memset(a, 0, sizeof(*a));
	if (!strncmp(text, "tcp:", 4)) {
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons(atoi(text + 4));
		a->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(a->in);
	}
	if (!strncmp(text, "unix:", 5) &&
	    strlen(text + 5) < sizeof(a->un.sun_path)) {
		a->un.sun_family = AF_UNIX;
		strcpy(a->un.sun_path, text + 5);
		return sizeof(a->un);
	}
	errno = 0;
	die("%s: an address is tcp:PORT or unix:PATH", text);
}

static int make(const union address *a, int flags)
{
	int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	if (fd < 0)
		die("socket");
	return fd;
}

/* Let small messages go at once. */
static void no_delay(int fd, const union address *a)
{
	int one = 1;

	if (a->any.sa_family == AF_INET &&
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("TCP_NODELAY");
}

int net_listen(const char *address)
{
	union address a;
	socklen_t len = parse(address, &a);
	int fd = make(&a, SOCK_NONBLOCK), one = 1;

	if (a.any.sa_family == AF_UNIX)
		unlink(a.un.sun_path);
	else
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* What is accepted inherits it. */
	no_delay(fd, &a);
	if (bind(fd, &a.any, len) || listen(fd, BENCH_MAX_CONNS))
		die("%s", address);
	return fd;
}

/* Blocks while it connects: a full AF_UNIX listener would give EAGAIN. */
int net_connect(const char *address)
{
	union address a;
	socklen_t len = parse(address, &a);
	int fd = make(&a, 0);

	if (connect(fd, &a.any, len))
		die("connect to %s", address);
	if (fcntl(fd, F_SETFL, O_NONBLOCK))
		die("fcntl");
	no_delay(fd, &a);
	return fd;
}
