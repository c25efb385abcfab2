/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * ring.h - one domain with one worker of /dev/roost, for one thread.
 *
 * Nothing but the interface header is used.
 */
#ifndef BENCH_RING_H
#define BENCH_RING_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/roost.h>

struct ring {
	int domain;
	int worker;
	struct roost_domain_params domain_params;
	struct roost_worker_params params;
	struct roost_control *control;
	uint32_t *events;
	struct roost_worker_page *page;
	struct roost_sqe *sq;
	struct roost_cqe *cq;
	uint32_t sq_tail;
	uint32_t cq_head;
};

/*
 * Create both, with poll indices below @polls and indices of I/O ops and files
 * below @ios, and attach.
 */
void ring_open(struct ring *r, uint32_t polls, uint32_t ios, uint32_t entries);

/* An empty entry; goes with the next ring_wait().  Submits if all are taken. */
struct roost_sqe *ring_sqe(struct ring *r);

/*
 * Submit what was filled in, and sleep until there is a completion.  One system
 * call, or none if there is a completion and nothing to submit.
 */
void ring_wait(struct ring *r);

/* Take one completion, if there is one. */
bool ring_next(struct ring *r, struct roost_cqe *cqe);

/* What has come for a multishot poll since the last call. */
static inline uint32_t ring_events(struct ring *r, uint32_t index)
{
	/* Before the I/O is tried; pairs with the kernel's OR after its event. */
	return __atomic_exchange_n(&r->events[index], 0, __ATOMIC_SEQ_CST);
}

#endif /* BENCH_RING_H */
