/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * threads.h - the threads of a runtime: one for each worker, and others that stand by.
 *
 * With a backend that takes the worker of who is stuck (struct runtime.takeover) there
 * is always a thread that waits to be given one.  Who is given a worker first sees
 * that another waits in its place, and then runs actors.  Whoever has lost its worker
 * and comes back waits with the others; there are at most KEEP_READY of these
 * more than there are workers, and who comes then ends.
 */
#ifndef ROOST_LIB_THREADS_H
#define ROOST_LIB_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "list.h"

struct carrier;
struct roost_stats;
struct runtime;

/**
 * struct gate - threads wait here until all that could be started are
 * @changed:	any of it has
 * @answers:	threads that have said whether they could become a worker
 * @failure:	-errno of one that could not
 * @open:	go
 * @refused:	go away instead
 *
 * Under the lock of struct threads.
 */
struct gate {
	pthread_cond_t changed;
	unsigned int answers;
	int failure;
	bool open;
	bool refused;
};

/**
 * struct threads - all threads of a runtime
 * @lock:	guards the rest; held while a thread is made
 * @list_lock:	inside @lock, which is held as well to write what it guards; so who
 *		only reads that need not wait for a thread to be made
 * @gate:	the beginning of the workers
 * @first:	the one that called roost_run(), constant
 * @all:	those that were started; who ends leaves it.  @list_lock
 * @ended:	the last one that has ended, joined by the next one
 * @ended_ns:	CPU time of all that have.  @list_lock
 * @more:	how many there are besides one for each worker
 * @ready:	how many stand by, or are about to
 * @dismissed:	threads_dismiss() was called
 * @said_full:	a line was written: no more may be started
 * @said_failed: a line was written: one could not be started, or not stand by
 */
struct threads {
	pthread_mutex_t lock;
	pthread_mutex_t list_lock;
	struct gate gate;
	struct carrier *first;
	struct list_head all;
	struct carrier *ended;
	uint64_t ended_ns;
	unsigned int more;
	unsigned int ready;
	bool dismissed;
	bool said_full;
	bool said_failed;
};

/** threads_init() - as a phase of roost_run().  Return: 0 or -ENOMEM */
int threads_init(struct runtime *rt);
void threads_fini(struct runtime *rt);

/**
 * threads_begin() - the calling thread carries worker 0; start the others
 * @rt:		the runtime
 *
 * Sets @rt->nr_workers to how many there are.  They wait for threads_run().
 * Return: 0, or -errno of worker 0.
 */
int threads_begin(struct runtime *rt);

/*
 * threads_run() - all of them run, also the calling one, until the run is over
 * @err:	not 0: they end at once instead
 *
 * Return: when all have ended.
 */
void threads_run(struct runtime *rt, int err);

/**
 * threads_stand_by() - wait to be given a worker
 * @c:		the calling thread's
 *
 * Return: false if the run is over, or the thread is not needed.
 */
bool threads_stand_by(struct carrier *c);

/** threads_dismiss() - nobody needs to stand by any more */
void threads_dismiss(struct runtime *rt);

/** threads_for_each() - call @fn, which is short, for each, standing by or not */
void threads_for_each(struct runtime *rt, void (*fn)(struct carrier *c, void *arg),
		      void *arg);

/** threads_busy_ns() - CPU time of all */
uint64_t threads_busy_ns(struct runtime *rt);

#endif /* ROOST_LIB_THREADS_H */
