/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * server.h - what the actors of the server share.
 *
 * Actors run on several workers at once: what changes is atomic or under the
 * mutex of the connection list, which is never held over a call into roost.
 */
#ifndef HTTPD_SERVER_H
#define HTTPD_SERVER_H

#include <pthread.h>
#include <stdatomic.h>

#include <roost/roost.h>

#include "files.h"
#include "options.h"

/* Counters since the start; each relaxed: they order nothing. */
struct counters {
	_Atomic uint64_t accepted;	/* connections */
	_Atomic uint64_t refused;	/* of these, with 503 or at once */
	_Atomic uint64_t requests;	/* answered, with whatever status */
	_Atomic uint64_t client_errors;	/* answered with 4xx */
	_Atomic uint64_t server_errors;	/* answered with 5xx */
	_Atomic uint64_t timeouts;	/* connections ended by a timeout */
	_Atomic uint64_t io_errors;	/* connections that broke */
	_Atomic uint64_t accept_pauses;	/* for want of descriptors or memory */
};

static inline void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

struct conn;

/**
 * struct server - the whole of it
 * @options:	constant
 * @files:	what it serves
 * @listener:	listening socket
 * @acceptor:	pid of its actor
 * @stopping:	no connection outlives its current response
 * @open:	connections that have an actor
 * @refusing:	connections that are being told 503
 * @lock:	guards @conns, and the links in its members
 * @conns:	the connections
 * @counters:	see there
 */
struct server {
	struct options options;
	struct files *files;
	int listener;
	roost_pid acceptor;
	atomic_bool stopping;
	atomic_uint open;
	atomic_uint refusing;
	pthread_mutex_t lock;
	struct conn *conns;
	struct counters counters;
};

/** accept_main() - the actor that accepts; @arg is the server */
void accept_main(void *arg);

/** control_main() - the root actor: starts the acceptor, obeys signals */
void control_main(void *arg);

/** control_block_signals() - before any thread starts: they go to the actor */
void control_block_signals(void);

/** stats_write() - write the counters to the file that the options name */
void stats_write(struct server *server);

#endif /* HTTPD_SERVER_H */
