/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * fd.h - what the runtime knows of a file descriptor number.
 *
 * One struct fd a number, in a table of chunks that are made when first
 * touched and stay.  Watching is edge-triggered: the backend reports events
 * with the sequence of the arm they belong to, stale ones are dropped, the rest
 * is ORed into @ready and handed to the waiters whose events came.
 *
 * Managed descriptors stay armed and trust @ready: an I/O call that was short
 * or got EAGAIN has drained the file, and nothing is tried again before an
 * event says so.  All others arm afresh for each wait, so that a number that
 * was closed and reused behind our back is looked up anew.
 */
#ifndef ROOST_LIB_FD_H
#define ROOST_LIB_FD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "list.h"
#include "spin.h"
#include "wait.h"

struct runtime;

/**
 * struct fd - a descriptor number
 * @lock:	guards all fields but @ready
 * @number:	constant
 * @sequence:	of the newest arm or disarm, starts at 0
 * @events:	POLL* bits that the backend is to watch for
 * @armed:	the backend watches
 * @managed:	see above
 * @worker:	kernel backend: index of the worker whose ring has the poll
 * @ready:	events seen and not yet used up
 * @waiters:	struct fd_waiter list
 */
struct fd {
	struct spin lock;
	int number;
	uint32_t sequence;
	uint32_t events;
	bool armed;
	bool managed;
	uint32_t worker;
	_Atomic uint32_t ready;
	struct list_head waiters;
};

/**
 * struct fd_waiter - one waiting actor, on its stack
 * @node:	in fd->waiters while it waits; under the fd's lock
 * @ref:	its wait
 * @events:	what it wants, with POLLERR | POLLHUP
 * @got:	events delivered, or 0; under the fd's lock
 * @error:	-errno delivered, or 0; under the fd's lock
 */
struct fd_waiter {
	struct list_head node;
	struct wait_ref ref;
	uint32_t events;
	uint32_t got;
	int error;
};

/**
 * fd_event() - a backend reports events
 * @rt:		the runtime
 * @number:	which descriptor
 * @sequence:	of the arm that reported
 * @events:	POLL* bits; 0: woken without a reason, look
 *
 * Any thread, no lock held.
 */
void fd_event(struct runtime *rt, unsigned int number, uint32_t sequence,
	      uint32_t events);

/**
 * fd_error() - a backend reports that an arm has failed or was ended
 *
 * As fd_event(), with a -errno: the waiters get it.
 */
void fd_error(struct runtime *rt, unsigned int number, uint32_t sequence,
	      int error);

int fd_table_init(struct runtime *rt);
void fd_table_fini(struct runtime *rt);

#endif /* ROOST_LIB_FD_H */
