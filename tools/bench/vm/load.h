/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * load.h - a closed loop of requests over many connections.
 *
 * Each connection has so many messages under way, never more; a new one is sent
 * for each that has come back whole, and every byte of it is compared with what
 * it must be.  Anything else ends the program.
 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <stdint.h>

#include "latency.h"

/**
 * struct load - the client's half of one server
 * @address:	of the server
 * @connections: how many
 * @outstanding: messages under way on each
 * @size:	bytes of a message, a multiple of 8
 * @patience_ms: a server that says nothing for so long has lost a message
 */
struct load {
	const char *address;
	unsigned int connections;
	unsigned int outstanding;
	unsigned int size;
	int patience_ms;
	/* private: */
	struct load_conn *conns;
	struct latency *latency;
	uint64_t left;
	uint64_t until;
	uint64_t sent;
	uint64_t received;
	int epoll;
};

/* Connect all.  The numbers above must be set. */
void load_open(struct load *l);

/*
 * Send @requests, or as many as @ns allow if that is not 0, and wait for all of
 * them to come back.  Returns how many.
 */
uint64_t load_run(struct load *l, uint64_t requests, uint64_t ns,
		  struct latency *latency);

/* Close all, after a look that nothing came that was not sent for. */
void load_close(struct load *l);

uint64_t load_now(void);

#endif /* BENCH_LOAD_H */
