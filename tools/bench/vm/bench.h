/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * bench.h - what the client and all servers share.
 *
 * An address is tcp:PORT (loopback) or unix:PATH.  Every failure ends the
 * program with a message: a benchmark that limps on measures something else.
 */
#ifndef BENCH_H
#define BENCH_H

/* Connections that a server takes; also a bound of their descriptors. */
#define BENCH_MAX_CONNS		1024
#define BENCH_MAX_FDS		4096

/* Print the message, and errno's if that is not 0; exit with 1. */
void die(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));

/*
 * Join the batch class, with all threads made later: nobody is preempted just
 * because somebody else was woken, which would change the batches.
 */
void join_batch_class(void);

/* A listening socket that does not block. */
int net_listen(const char *address);

/* A connected socket that does not block. */
int net_connect(const char *address);

#endif /* BENCH_H */
