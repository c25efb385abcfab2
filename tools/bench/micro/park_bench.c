// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * park_bench.c - what it costs that two threads wake each other in turn.
 *
 * One round trip: the first wakes the second and sleeps, the second wakes the
 * first and sleeps.  On one CPU, without wake-up preemption (SCHED_BATCH), so
 * that each side makes the same calls each time:
 *
 *	futex		FUTEX_WAKE, FUTEX_WAIT, and nothing else: the yardstick
 *	futex_idle	the same with what a library does around it: an idle
 *			mask, an event counter, who has claimed whom
 *	parkwake	ROOST_IOC_WAKE, ROOST_IOC_ENTER with PARK, with that too
 *	switch		ROOST_IOC_ENTER with WAKE and PARK
 *	eventfd		write, epoll_wait (edge-triggered: no read)
 *	pipe		write, read
 *	msg_ring	io_uring_enter that sends to the other's ring and waits
 *
 * call/... is one call that has nothing to do.
 */
#include "bench.h"

#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <liburing.h>

#define WARM	1000

/* One side.  @turn: how often it was woken; the loop ends by itself. */
struct side {
	unsigned int number;
	struct side *other;
	unsigned long rounds;
	void (*wake_and_sleep)(struct side *me);
	void (*sleep)(struct side *me);
	void (*wake)(struct side *me);

	_Alignas(64) uint32_t word;
	struct wrk w;
	int fd, epoll, pipe[2];
	struct io_uring ring;
};

static struct dom domain;

static long futex(uint32_t *word, int op, uint32_t value)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL,
		       NULL, 0);
}

static void futex_wake_other(struct side *me)
{
	__atomic_store_n(&me->other->word, 1, __ATOMIC_SEQ_CST);
	futex(&me->other->word, FUTEX_WAKE, 1);
}

static void futex_sleep(struct side *me)
{
	while (!__atomic_load_n(&me->word, __ATOMIC_SEQ_CST))
		futex(&me->word, FUTEX_WAIT, 0);
	__atomic_store_n(&me->word, 0, __ATOMIC_SEQ_CST);
}

/*
 * What a library does in user space to go idle and to wake, the same for the
 * device and for a futex: only what sleeps differs.
 */
static void go_idle(struct side *me)
{
	set_idle(&domain, &me->w);
}

/* What the other waits for, then whom to wake: the barrier is in the store. */
static bool claim(struct side *other)
{
	__atomic_store_n(&other->word, 1, __ATOMIC_SEQ_CST);
	return clear_idle(&domain, &other->w) &&
	       __atomic_exchange_n(&other->w.page->parked, 0, __ATOMIC_SEQ_CST);
}

/* A tick may have come before the other went to sleep: then it will see. */
static bool woken(struct side *me)
{
	return __atomic_load_n(&me->word, __ATOMIC_RELAXED);
}

static void device_wake_other(struct side *me)
{
	struct roost_wake w = {
		.flags = ROOST_WAKE_INDEX,
		.index = me->other->number,
	};

	if (claim(me->other))
		check(syscall(SYS_ioctl, domain.fd, ROOST_IOC_WAKE, &w) >= 0);
}

static void device_enter(struct side *me, uint32_t flags, uint32_t wake)
{
	struct roost_enter e = {
		.flags = flags,
		.deadline = ROOST_NO_DEADLINE,
		.event = sample(&domain),
		.wake = wake,
	};

	go_idle(me);
	if (woken(me))
		clear_idle(&domain, &me->w);
	else
		check(syscall(SYS_ioctl, me->w.fd, ROOST_IOC_ENTER, &e) == 0);
}

static void device_sleep(struct side *me)
{
	while (!woken(me))
		device_enter(me, ROOST_ENTER_PARK, 0);
	me->word = 0;
}

/* One call: nobody can have woken us before. */
static void device_switch(struct side *me)
{
	__atomic_store_n(&me->other->word, 1, __ATOMIC_SEQ_CST);
	device_enter(me, ROOST_ENTER_WAKE | ROOST_ENTER_PARK,
		     me->other->number);
	device_sleep(me);
}

static void idle_futex_wake_other(struct side *me)
{
	if (claim(me->other))
		futex(&me->other->w.page->parked, FUTEX_WAKE, 1);
}

static void idle_futex_sleep(struct side *me)
{
	uint32_t *parked = &me->w.page->parked;
	uint32_t event;

	while (!woken(me)) {
		event = sample(&domain);
		go_idle(me);
		__atomic_exchange_n(parked, 1, __ATOMIC_SEQ_CST);
		while (!woken(me) && idle_bit(&domain, &me->w) &&
		       sample(&domain) == event)
			futex(parked, FUTEX_WAIT, 1);
		__atomic_store_n(parked, 0, __ATOMIC_RELAXED);
		clear_idle(&domain, &me->w);
	}
	me->word = 0;
}

static void eventfd_wake_other(struct side *me)
{
	uint64_t one = 1;

	check(write(me->other->fd, &one, sizeof(one)) == sizeof(one));
}

static void eventfd_sleep(struct side *me)
{
	struct epoll_event event;

	while (epoll_wait(me->epoll, &event, 1, -1) != 1)
		;
}

static void pipe_wake_other(struct side *me)
{
	check(write(me->other->pipe[1], "x", 1) == 1);
}

static void pipe_sleep(struct side *me)
{
	char c;

	check(read(me->pipe[0], &c, 1) == 1);
}

static void take_cqes(struct side *me, unsigned int *messages)
{
	struct io_uring_cqe *cqe;
	unsigned int head, n = 0;

	io_uring_for_each_cqe(&me->ring, head, cqe) {
		check(cqe->res >= 0);
		*messages += cqe->user_data == 1;
		n++;
	}
	io_uring_cq_advance(&me->ring, n);
}

/* A message that was sent posts nothing here: only what comes is waited for. */
static void msg_ring_send(struct side *me)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&me->ring);

	io_uring_prep_msg_ring(sqe, me->other->ring.ring_fd, 0, 1, 0);
	sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
}

static void msg_ring_switch(struct side *me)
{
	unsigned int messages = 0;

	msg_ring_send(me);
	do {
		check(io_uring_submit_and_wait(&me->ring, 1) >= 0);
		take_cqes(me, &messages);
	} while (!messages);
}

static void msg_ring_sleep(struct side *me)
{
	unsigned int messages = 0;

	do {
		check(io_uring_submit_and_wait(&me->ring, 1) >= 0);
		take_cqes(me, &messages);
	} while (!messages);
}

static void msg_ring_wake_other(struct side *me)
{
	msg_ring_send(me);
	check(io_uring_submit(&me->ring) == 1);
}

static void round_trip(struct side *me)
{
	if (me->wake_and_sleep) {
		me->wake_and_sleep(me);
		return;
	}
	me->wake(me);
	me->sleep(me);
}

static void *second_main(void *arg)
{
	struct side *me = arg;
	unsigned long i;

	bench_settle(SCHED_BATCH);
	check(attach(&me->w) == 0);
	me->sleep(me);
	for (i = 1; i < me->rounds; i++)
		round_trip(me);
	me->wake(me);
	check(detach(&me->w) == 0);
	return NULL;
}

static const struct party {
	const char *name;
	void (*wake)(struct side *me);
	void (*sleep)(struct side *me);
	void (*wake_and_sleep)(struct side *me);
} parties[] = {
	{ "futex", futex_wake_other, futex_sleep, NULL },
	{ "futex_idle", idle_futex_wake_other, idle_futex_sleep, NULL },
	{ "parkwake", device_wake_other, device_sleep, NULL },
	{ "switch", device_wake_other, device_sleep, device_switch },
	{ "eventfd", eventfd_wake_other, eventfd_sleep, NULL },
	{ "pipe", pipe_wake_other, pipe_sleep, NULL },
	{ "msg_ring", msg_ring_wake_other, msg_ring_sleep, msg_ring_switch },
};

static void side_make(struct side *s, unsigned int number, struct side *other)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	memset(s, 0, sizeof(*s));
	s->number = number;
	s->other = other;
	check(wrk_make(&s->w, &domain, 8, 8) == 0);
	check(s->w.params.index == number);
	s->fd = eventfd(0, EFD_NONBLOCK);
	s->epoll = epoll_create1(0);
	check(epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->fd, &event) == 0);
	check(pipe(s->pipe) == 0);
	check(io_uring_queue_init(8, &s->ring, 0) == 0);
}

static double measure(struct side *side, const struct party *p,
		      unsigned long rounds)
{
	pthread_t second;
	uint64_t start;
	unsigned long i;
	double spent;

	for (i = 0; i < 2; i++) {
		side[i].wake = p->wake;
		side[i].sleep = p->sleep;
		side[i].wake_and_sleep = p->wake_and_sleep;
		side[i].rounds = rounds + WARM;
		side[i].word = 0;
	}
	check(pthread_create(&second, NULL, second_main, &side[1]) == 0);
	/* It must sleep by now: who runs first is not what is measured. */
	sleep_ns(20 * MSEC);
	for (i = 0; i < WARM; i++)
		round_trip(&side[0]);
	start = now_ns();
	for (i = 0; i < rounds; i++)
		round_trip(&side[0]);
	spent = (double)(now_ns() - start);
	pthread_join(second, NULL);
	return spent / (double)rounds;
}

/*
 * One call that finds nothing to do, from one thread of two: what the way there
 * and back costs.
 */
static void call_getppid(struct side *me)
{
	(void)me;
	syscall(SYS_getppid);
}

static void call_futex_wake(struct side *me)
{
	futex(&me->word, FUTEX_WAKE, 1);
}

static void call_ioctl(struct side *me)
{
	/* Turned away by the module, once it knows who calls. */
	syscall(SYS_ioctl, me->w.fd, ROOST_IOC_INFO, NULL);
}

static void call_enter(struct side *me)
{
	struct roost_enter e = { 0 };

	syscall(SYS_ioctl, me->w.fd, ROOST_IOC_ENTER, &e);
}

/* Its permit is there already, but for the first. */
static void call_wake(struct side *me)
{
	struct roost_wake w = {
		.flags = ROOST_WAKE_INDEX,
		.index = me->number,
	};

	syscall(SYS_ioctl, domain.fd, ROOST_IOC_WAKE, &w);
}

static const struct {
	const char *name;
	void (*fn)(struct side *me);
} calls[] = {
	{ "call/getppid", call_getppid },
	{ "call/futex_wake", call_futex_wake },
	{ "call/ioctl", call_ioctl },
	{ "call/enter", call_enter },
	{ "call/wake", call_wake },
};

/* Descriptors are looked up with a reference as soon as there are two threads. */
static void *wait_for_word(void *arg)
{
	futex_sleep(arg);
	return NULL;
}

static void measure_calls(struct side *side, unsigned long rounds)
{
	pthread_t second;
	uint64_t start;
	unsigned long i;
	unsigned int c;

	side[1].word = 0;
	check(pthread_create(&second, NULL, wait_for_word, &side[1]) == 0);
	sleep_ns(20 * MSEC);
	for (c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
		if (!bench_wanted(calls[c].name))
			continue;
		start = now_ns();
		for (i = 0; i < rounds; i++)
			calls[c].fn(&side[0]);
		bench_result(calls[c].name,
			     (double)(now_ns() - start) / (double)rounds);
	}
	futex_wake_other(&side[0]);
	pthread_join(second, NULL);
}

int main(void)
{
	const unsigned long rounds = env_number("BENCH_ROUNDS", 5000);
	static struct side side[2];
	unsigned long run;
	unsigned int i;
	char name[64];

	check(dom_make(&domain, 0, 0) == 0);
	side_make(&side[0], 0, &side[1]);
	side_make(&side[1], 1, &side[0]);
	bench_settle(SCHED_BATCH);
	bench_quiet();
	check(attach(&side[0].w) == 0);
	for (run = 0; run < bench_runs(); run++) {
		for (i = 0; i < sizeof(parties) / sizeof(parties[0]); i++) {
			snprintf(name, sizeof(name), "park/%s",
				 parties[i].name);
			if (!bench_wanted(name))
				continue;
			bench_result(name, measure(side, &parties[i], rounds));
		}
		measure_calls(side, rounds);
	}
	return 0;
}
