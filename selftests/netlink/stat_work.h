/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * stat_work.h - a program whose every counter is known.
 *
 * It does a little of everything, and says how often.  stat_work() leaves the
 * domain as it is, so that counters can be looked at afterwards.
 */
#ifndef NL_STAT_WORK_H
#define NL_STAT_WORK_H

#include <sys/eventfd.h>
#include <sys/socket.h>

#include "nl_help.h"

/* What has been done; names as in struct roost_domain_stat. */
struct done {
	unsigned int workers, parks, parks_refused, wakes, wakes_received;
	unsigned int wakes_kernel, timeouts, submitted, overflowed;
	unsigned int timers_pending, timers_set, timers_moved, timers_fired;
	unsigned int timers_cancelled, polls_armed, polls_added, polls_fired;
	unsigned int polls_removed, overflow_pending, ios_started, ios_done;
	unsigned int ios_pending, files;
	/* by kind, as tracepoints have them */
	unsigned int call, permit, bit, event, timeout;
	unsigned int attached, detached;
};

struct work {
	struct dom d;
	struct wrk w[2];
	struct done n;
};

/* Worker 1 sleeps once, with or without a deadline. */
struct one_park {
	struct work *work;
	uint64_t deadline;
	uint32_t outcome;
};

static void *park_once(void *arg)
{
	struct one_park *p = arg;

	check(attach(&p->work->w[1]) == 0);
	check(park(&p->work->d, &p->work->w[1], p->deadline, &p->outcome) == 0);
	check(detach(&p->work->w[1]) == 0);
	return NULL;
}

/* Let worker 1 park, do @fn once it sleeps, and see what ended the park. */
static void while_parked(struct work *k, uint64_t deadline,
			 void (*fn)(struct work *k), uint32_t reason)
{
	struct one_park p = { k, deadline, 0 };
	pthread_t thread;

	check(pthread_create(&thread, NULL, park_once, &p) == 0);
	if (fn) {
		check(wait_parked(&k->d, 1, now_ns() + wide(5 * SEC)));
		fn(k);
	}
	check(pthread_join(thread, NULL) == 0);
	check(p.outcome == (reason | ROOST_OUT_SLEPT));
	k->n.parks++;
	k->n.attached++;
	k->n.detached++;
}

static void wake_by_index(struct work *k)
{
	check(wake(&k->d, ROOST_WAKE_INDEX, 1) == 1);
}

static void wake_any(struct work *k)
{
	check(wake(&k->d, ROOST_WAKE_ONE, 0) == 1);
}

/* A NOP in the sleeper's ring is a completion that wakes it. */
static void complete_something(struct work *k)
{
	struct roost_cqe cqe;

	check(submit_one(&k->w[1], sqe_nop(7)) == 1);
	check(pop(&k->w[1], &cqe) && cqe.user_data == 7);
	k->n.submitted++;
}

static void work_wakes(struct work *k)
{
	struct done *n = &k->n;
	uint32_t outcome;

	while_parked(k, ROOST_NO_DEADLINE, wake_by_index, ROOST_OUT_WAKE);
	while_parked(k, ROOST_NO_DEADLINE, wake_any, ROOST_OUT_WAKE);
	n->call += 2;
	while_parked(k, ROOST_NO_DEADLINE, complete_something, ROOST_OUT_EVENT);
	n->event++;
	while_parked(k, now_ns() + 2 * MSEC, NULL, ROOST_OUT_TIMEOUT);
	n->timeout++;

	check(attach(&k->w[0]) == 0);
	n->attached++;
	/* A permit, twice in vain. */
	check(wake(&k->d, ROOST_WAKE_INDEX, 0) == 1);
	check(wake(&k->d, ROOST_WAKE_INDEX, 0) == 0);
	check(wake(&k->d, ROOST_WAKE_INDEX, 0) == 0);
	check(park(&k->d, &k->w[0], ROOST_NO_DEADLINE, &outcome) == 0);
	check(outcome == ROOST_OUT_WAKE);
	n->permit++;
	n->parks_refused++;
	/* An idle bit that is clear already. */
	check(park_published(&k->w[0], sample(&k->d), ROOST_NO_DEADLINE,
			     &outcome) == 0);
	check(outcome == ROOST_OUT_WAKE);
	n->bit++;
	n->parks_refused++;
	/* An event counter that has moved on: no wake at all. */
	check(park_with(&k->d, &k->w[0], sample(&k->d) - 1, ROOST_NO_DEADLINE,
			&outcome) == 0);
	check(outcome == ROOST_OUT_EVENT);
	n->parks_refused++;

	n->wakes += n->call + n->permit + n->bit;
	n->wakes_received += n->call + n->permit + n->bit;
	n->wakes_kernel += n->event;
	n->timeouts += n->timeout;
}

/* Hand over what is staged, all at once. */
static void hand_over(struct work *k)
{
	unsigned int n = staged(&k->w[0]);

	check(submit(&k->w[0]) == (int)n);
	k->n.submitted += n;
}

/* None of this may park with a deadline: that would be one timer more. */
static void spin_until_fired(struct work *k, unsigned int n)
{
	uint64_t end = now_ns() + wide(10 * SEC);

	while (stat_of(&k->d).timers_fired < n)
		check(now_ns() < end);
}

/* Take what has completed into ring 0, which is so many. */
static void take(struct work *k, unsigned int n)
{
	struct roost_cqe cqe;

	while (n--)
		check(pop(&k->w[0], &cqe));
	check(!pop(&k->w[0], &cqe));
}

static void work_timers(struct work *k)
{
	uint64_t later = now_ns() + 3600 * SEC;
	struct roost_sqe sqe;
	unsigned int i;

	/* Ten: 0 to 4 soon, the others later; in one batch and one by one. */
	for (i = 0; i < 10; i++) {
		sqe = sqe_timer(i, 1, i < 5 ? now_ns() : later + i);
		push(&k->w[0], &sqe);
		if (i >= 8)
			hand_over(k);
	}
	k->n.timers_set += 10;
	spin_until_fired(k, 5);
	k->n.timers_fired += 5;
	take(k, 5);
	/* Three move, later and earlier. */
	for (i = 5; i < 8; i++) {
		sqe = sqe_timer(i, 2, later + SEC - i * 1000);
		push(&k->w[0], &sqe);
	}
	hand_over(k);
	k->n.timers_moved += 3;
	/* Two are cancelled, one of them quietly, and one that is not armed. */
	for (i = 4; i < 7; i++) {
		sqe = sqe_timer_cancel(i, 3, i == 6 ? ROOST_SQE_QUIET : 0);
		push(&k->w[0], &sqe);
	}
	hand_over(k);
	k->n.timers_cancelled += 2;
	take(k, 2);
	k->n.timers_pending += 3;
}

static void work_polls(struct work *k)
{
	int idle = eventfd(0, EFD_CLOEXEC), ready = eventfd(1, EFD_CLOEXEC);
	int again = eventfd(0, EFD_CLOEXEC);
	uint64_t one = 1;
	struct roost_sqe sqe;

	check(idle >= 0 && ready >= 0 && again >= 0);
	/* One that stays, one that is ready, one that fires, one removed. */
	sqe = sqe_poll(0, 1, idle, POLLIN, 0);
	push(&k->w[0], &sqe);
	sqe = sqe_poll(1, 1, ready, POLLIN, 0);
	push(&k->w[0], &sqe);
	sqe = sqe_poll(2, 1, again, POLLIN, ROOST_POLL_MULTISHOT);
	push(&k->w[0], &sqe);
	sqe = sqe_poll(3, 1, idle, POLLIN, 0);
	push(&k->w[0], &sqe);
	hand_over(k);
	k->n.polls_added += 4;
	k->n.polls_fired++;
	check(write(again, &one, sizeof(one)) == sizeof(one));
	k->n.polls_fired++;
	sqe = sqe_poll_remove(3, 2, 0);
	push(&k->w[0], &sqe);
	hand_over(k);
	k->n.polls_removed++;
	take(k, 3);
	k->n.polls_armed += 2;
}

/* Twelve polls fire at once, and their ring has eight places. */
static void work_overflow(struct work *k)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	uint64_t one = 1;
	struct roost_sqe sqe;
	unsigned int i;

	check(fd >= 0);
	for (i = 16; i < 28; i++) {
		sqe = sqe_poll(i, 1, fd, POLLIN, 0);
		check(submit_one(&k->w[1], sqe) == 1);
	}
	check(write(fd, &one, sizeof(one)) == sizeof(one));
	/* Any ENTER unhooks what has fired; one of ring 1 would do more. */
	check(submit_one(&k->w[0], sqe_nop(1)) == 1);
	take(k, 1);
	k->n.submitted += 12 + 1;
	k->n.polls_added += 12;
	k->n.polls_fired += 12;
	k->n.overflowed += 4;
	k->n.overflow_pending += 4;
}

/* Ring 1 is full, and with completions that wait nobody sleeps: take them. */
static inline void drain(struct work *k)
{
	struct roost_cqe cqe;

	while (pop(&k->w[1], &cqe))
		;
	check(submit(&k->w[1]) == 0);
	while (pop(&k->w[1], &cqe))
		;
	k->n.overflow_pending = 0;
}

static void work_ios(struct work *k)
{
	static char in[16], out[16];
	struct roost_sqe sqe;
	int s[2];

	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s) == 0);
	/* A send that is done at once, a receive of that, one that waits. */
	sqe = (struct roost_sqe){
		.opcode = ROOST_OP_SEND, .fd = s[0], .op_id = roost_op_id(0, 1),
		.addr = (uintptr_t)out, .len = sizeof(out),
	};
	push(&k->w[0], &sqe);
	hand_over(k);
	sqe = (struct roost_sqe){
		.opcode = ROOST_OP_RECV, .flags = ROOST_SQE_FILE, .fd = s[1],
		.op_id = roost_op_id(1, 1), .addr = (uintptr_t)in,
		.len = sizeof(in), .file_seq = 1,
	};
	push(&k->w[0], &sqe);
	hand_over(k);
	take(k, 2);
	sqe.op_id = roost_op_id(2, 1);
	push(&k->w[0], &sqe);
	hand_over(k);
	take(k, 0);
	k->n.ios_started += 3;
	k->n.ios_done += 2;
	k->n.ios_pending++;
	k->n.files++;
}

static void stat_work(struct work *k)
{
	struct roost_domain_params params = {
		.nr_timers = 32,
		.nr_polls = 32,
		.nr_ios = 8,
		.nr_files = 256,
	};

	memset(k, 0, sizeof(*k));
	check(dom_make_params(&k->d, &params) == 0);
	check(wrk_make(&k->w[0], &k->d, 32, 32) == 0);
	check(wrk_make(&k->w[1], &k->d, 32, 8) == 0);
	k->n.workers = 2;
	work_wakes(k);
	work_timers(k);
	work_polls(k);
	work_overflow(k);
	work_ios(k);
}

#endif /* NL_STAT_WORK_H */
