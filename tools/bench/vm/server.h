/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * server.h - what the echo servers share, so that they differ only in how they
 * wait.
 *
 * Each is a program: echo_NAME ADDRESS.  It says "listening" on standard output
 * once it does, and serves until it is killed.
 */
#ifndef BENCH_SERVER_H
#define BENCH_SERVER_H

#include <stdbool.h>

#include "bench.h"

/* Bytes that a server asks for at once; every party has the same. */
#define SERVER_BUFFER	4096

/* Take the arguments, listen, and say so. */
int server_start(int argc, char **argv);

/* For who has more to do before it can serve: listen, and say so later. */
int server_listen(int argc, char **argv);
void server_ready(void);

/* A new connection that does not block, or -1 if there is none (any more). */
int server_accept(int listener);

enum server_step {
	SERVER_DRAINED,		/* all that there was is sent back */
	SERVER_MORE,		/* there may be more */
	SERVER_CLOSED,		/* the client has gone */
};

/* One recv and one send; with @drain, until there is no more. */
enum server_step server_echo(int fd, bool drain);

#endif /* BENCH_SERVER_H */
