// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * timer_bench.c - what a timer costs on the bare device, and elsewhere.
 *
 * arm/...	one timer set that was not, of many; nothing fires
 * move/...	one timer set again, to a later time
 * fire/...	somebody sleeps until a time and runs again: everything from one
 *		time to the next, with one sleeper at a time, so that each has an
 *		interrupt and a sleep of its own
 */
#include "bench.h"

#include <sys/timerfd.h>

#include <liburing.h>

#define CROWD	200
#define PERIOD	(300 * 1000ULL)

static struct dom domain;
static struct wrk worker;
static double cost_of_turn;
/* Of whatever was set last, of any index. */
static uint32_t sequence;

static void set_all(unsigned int batch, uint64_t first)
{
	struct roost_sqe sqe;
	unsigned int i;

	sequence++;
	for (i = 0; i < CROWD; i++) {
		sqe = sqe_timer(i, sequence, first + (i * 7919 % CROWD) * MSEC);
		push(&worker, &sqe);
		if (staged(&worker) == batch)
			check(submit(&worker) == (int)batch);
	}
	if (staged(&worker))
		check(submit(&worker) > 0);
}

static void cancel_all(void)
{
	struct roost_sqe sqe;
	unsigned int i;

	sequence++;
	for (i = 0; i < CROWD; i++) {
		sqe = sqe_timer_cancel(i, sequence, ROOST_SQE_QUIET);
		push(&worker, &sqe);
	}
	check(submit(&worker) == CROWD);
}

static double arm_device(unsigned int batch, unsigned long rounds, bool move)
{
	uint64_t start, spent = 0;
	unsigned long i;

	for (i = 0; i < rounds; i++) {
		if (move)
			set_all(batch, now_ns() + SEC);
		start = now_ns();
		set_all(batch, start + SEC + SEC / 2);
		spent += now_ns() - start;
		cancel_all();
	}
	return (double)spent / (double)(rounds * CROWD);
}

static double arm_timerfd(unsigned long rounds)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct itimerspec its = { 0 };
	uint64_t start, spent = 0;
	unsigned long i;

	for (i = 0; i < rounds * CROWD; i++) {
		its.it_value.tv_sec = (time_t)(now_ns() / SEC) + 2;
		start = now_ns();
		check(timerfd_settime(fd, TFD_TIMER_ABSTIME, &its, NULL) == 0);
		spent += now_ns() - start;
		its.it_value.tv_sec = 0;
		check(timerfd_settime(fd, 0, &its, NULL) == 0);
	}
	close(fd);
	return (double)spent / (double)(rounds * CROWD);
}

static double arm_io_uring(unsigned long rounds)
{
	static struct __kernel_timespec ts[CROWD];
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	uint64_t start, spent = 0;
	unsigned long i;
	unsigned int k;

	check(io_uring_queue_init(256, &ring, 0) == 0);
	for (i = 0; i < rounds; i++) {
		start = now_ns();
		for (k = 0; k < CROWD; k++) {
			ts[k].tv_sec = (long)(start / SEC) + 2;
			ts[k].tv_nsec = (k * 7919 % CROWD) * (long)MSEC;
			sqe = io_uring_get_sqe(&ring);
			io_uring_prep_timeout(sqe, &ts[k], 0, IORING_TIMEOUT_ABS);
			io_uring_sqe_set_data64(sqe, k + 1);
		}
		check(io_uring_submit(&ring) == CROWD);
		spent += now_ns() - start;
		for (k = 0; k < CROWD; k++) {
			sqe = io_uring_get_sqe(&ring);
			io_uring_prep_timeout_remove(sqe, k + 1, 0);
		}
		check(io_uring_submit(&ring) == CROWD);
		io_uring_cq_advance(&ring, io_uring_cq_ready(&ring));
	}
	io_uring_queue_exit(&ring);
	return (double)spent / (double)(rounds * CROWD);
}

/* A binary heap, as a program without a timer of its own would have. */
static uint64_t heap[4096];
static unsigned int heap_size;

static void heap_push(uint64_t deadline)
{
	unsigned int at = heap_size++;

	for (; at && heap[(at - 1) / 2] > deadline; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = deadline;
}

static uint64_t heap_pop(void)
{
	uint64_t least = heap[0], last = heap[--heap_size];
	unsigned int at = 0, child;

	for (;;) {
		child = 2 * at + 1;
		if (child >= heap_size)
			break;
		if (child + 1 < heap_size && heap[child + 1] < heap[child])
			child++;
		if (heap[child] >= last)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
	return least;
}

static double arm_heap(unsigned long rounds)
{
	uint64_t start, spent = 0;
	unsigned long i;
	unsigned int k;

	for (i = 0; i < rounds; i++) {
		start = now_ns();
		for (k = 0; k < CROWD; k++)
			heap_push(start + SEC + (k * 7919 % CROWD) * MSEC);
		spent += now_ns() - start;
		heap_size = 0;
	}
	return (double)spent / (double)(rounds * CROWD);
}

/*
 * Sleepers.  Each waits once for @deadline, however its kind does that.
 */
struct sleeper {
	int fd;
	struct io_uring ring;
};

static void sleep_device(struct sleeper *s, uint64_t deadline)
{
	struct roost_sqe sqe = sqe_timer(0, ++sequence, deadline);
	struct roost_cqe cqe;
	uint32_t event = sample(&domain), outcome;

	push(&worker, &sqe);
	/* A ring of io_uring that goes leaves what looks like a signal. */
	while (park_with(&domain, &worker, event, ROOST_NO_DEADLINE, &outcome))
		event = sample(&domain);
	check(pop(&worker, &cqe) && !cqe.res);
	(void)s;
}

static void sleep_heap(struct sleeper *s, uint64_t deadline)
{
	uint32_t outcome;

	heap_push(deadline);
	while (park(&domain, &worker, heap[0], &outcome))
		;
	check(outcome & ROOST_OUT_TIMEOUT && heap_pop() == deadline);
	(void)s;
}

static void sleep_timerfd(struct sleeper *s, uint64_t deadline)
{
	struct itimerspec its = {
		.it_value = { (time_t)(deadline / SEC), (long)(deadline % SEC) },
	};
	uint64_t n;

	check(timerfd_settime(s->fd, TFD_TIMER_ABSTIME, &its, NULL) == 0);
	check(read(s->fd, &n, sizeof(n)) == sizeof(n));
}

static void sleep_nanosleep(struct sleeper *s, uint64_t deadline)
{
	struct timespec ts = { (time_t)(deadline / SEC), (long)(deadline % SEC) };

	check(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == 0);
	(void)s;
}

static void sleep_io_uring(struct sleeper *s, uint64_t deadline)
{
	struct __kernel_timespec ts = {
		(long long)(deadline / SEC), (long long)(deadline % SEC)
	};
	struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);

	io_uring_prep_timeout(sqe, &ts, 0, IORING_TIMEOUT_ABS);
	check(io_uring_submit_and_wait(&s->ring, 1) == 1);
	io_uring_cq_advance(&s->ring, io_uring_cq_ready(&s->ring));
}

static double fire(void (*sleep_until)(struct sleeper *s, uint64_t deadline),
		   unsigned long n)
{
	struct sleeper s = { .fd = timerfd_create(CLOCK_MONOTONIC, 0) };
	struct bench_filler filler;
	struct bench_span span;
	unsigned long i;
	double spent;

	check(io_uring_queue_init(8, &s.ring, 0) == 0);
	for (i = 0; i < 1000; i++)
		heap_push(now_ns() + 1000 * SEC + i);
	bench_fill_start(&filler);
	for (i = 0; i < 50; i++)
		sleep_until(&s, now_ns() + PERIOD);
	span = bench_begin(&filler);
	for (i = 0; i < n; i++)
		sleep_until(&s, now_ns() + PERIOD);
	spent = bench_end(&filler, span, cost_of_turn);
	bench_fill_stop(&filler);
	heap_size = 0;
	close(s.fd);
	io_uring_queue_exit(&s.ring);
	return spent / (double)n;
}

static const struct {
	const char *name;
	void (*sleep_until)(struct sleeper *s, uint64_t deadline);
} sleepers[] = {
	{ "fire/device", sleep_device },
	{ "fire/heap_park", sleep_heap },
	{ "fire/timerfd", sleep_timerfd },
	{ "fire/nanosleep", sleep_nanosleep },
	{ "fire/io_uring", sleep_io_uring },
};

static void run(unsigned long rounds, unsigned long fires)
{
	unsigned int i;

	if (bench_wanted("arm/batch_200"))
		bench_result("arm/batch_200", arm_device(200, rounds, false));
	if (bench_wanted("arm/batch_16"))
		bench_result("arm/batch_16", arm_device(16, rounds, false));
	if (bench_wanted("arm/ioctl_each"))
		bench_result("arm/ioctl_each", arm_device(1, rounds, false));
	if (bench_wanted("move/batch_200"))
		bench_result("move/batch_200", arm_device(200, rounds, true));
	if (bench_wanted("arm/timerfd"))
		bench_result("arm/timerfd", arm_timerfd(rounds));
	if (bench_wanted("arm/io_uring_200"))
		bench_result("arm/io_uring_200", arm_io_uring(rounds));
	if (bench_wanted("arm/heap"))
		bench_result("arm/heap", arm_heap(rounds));
	for (i = 0; i < sizeof(sleepers) / sizeof(sleepers[0]); i++)
		if (bench_wanted(sleepers[i].name))
			bench_result(sleepers[i].name,
				     fire(sleepers[i].sleep_until, fires));
}

int main(void)
{
	const unsigned long rounds = env_number("BENCH_ROUNDS", 50);
	const unsigned long fires = env_number("BENCH_FIRES", 300);
	unsigned long i;

	check(dom_make(&domain, CROWD, 0) == 0);
	check(wrk_make(&worker, &domain, 256, 512) == 0);
	bench_settle(SCHED_BATCH);
	bench_quiet();
	check(attach(&worker) == 0);
	cost_of_turn = bench_cost_of_turn();
	/* What is allocated when first touched is no part of the figures. */
	arm_device(200, 2, false);
	for (i = 0; i < bench_runs(); i++)
		run(rounds, fires);
	return 0;
}
