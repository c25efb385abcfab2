// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * echo_handoff.c - a thread in a one-shot epoll hands what is ready to a worker
 * thread, which does the I/O and arms the descriptor again.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server.h"

#define BATCH	256

/**
 * struct queue - from the one thread to the other
 * @tail:	epoll thread: descriptors put in
 * @head:	worker: descriptors taken out
 * @asleep:	1 while the worker sleeps on it, or is about to
 * @fd:		each descriptor is armed once, so there is always room
 */
struct queue {
	uint32_t tail;
	uint32_t head;
	uint32_t asleep;
	int fd[BENCH_MAX_FDS];
};

static struct queue queue;
static int ep;

static void futex(int op, uint32_t value)
{
	if (syscall(SYS_futex, &queue.asleep, op | FUTEX_PRIVATE_FLAG, value,
		    NULL, NULL, 0) < 0 && errno != EAGAIN && errno != EINTR)
		die("futex");
}

static void arm(int op, int fd, uint32_t mode)
{
	struct epoll_event ev = { .events = EPOLLIN | mode, .data.fd = fd };

	if (epoll_ctl(ep, op, fd, &ev))
		die("epoll_ctl");
}

static void put(int fd)
{
	queue.fd[queue.tail % BENCH_MAX_FDS] = fd;
	/* Release: the entry first; pairs with empty(). */
	__atomic_store_n(&queue.tail, queue.tail + 1, __ATOMIC_RELEASE);
}

/* What was put in is seen by a worker that is awake, or it is woken. */
static void wake(void)
{
	/* The tail before the flag is read; pairs with the fence in rest(). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&queue.asleep, __ATOMIC_RELAXED)) {
		__atomic_store_n(&queue.asleep, 0, __ATOMIC_RELAXED);
		futex(FUTEX_WAKE, 1);
	}
}

static bool empty(void)
{
	return queue.head == __atomic_load_n(&queue.tail, __ATOMIC_ACQUIRE);
}

static void rest(void)
{
	__atomic_store_n(&queue.asleep, 1, __ATOMIC_RELAXED);
	/* The flag before the last look; pairs with the fence in wake(). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (empty())
		futex(FUTEX_WAIT, 1);
	__atomic_store_n(&queue.asleep, 0, __ATOMIC_RELAXED);
}

static void *work(void *unused)
{
	int fd;

	(void)unused;
	for (;;) {
		while (empty())
			rest();
		fd = queue.fd[queue.head++ % BENCH_MAX_FDS];
		if (server_echo(fd, false) == SERVER_CLOSED)
			close(fd);
		else
			arm(EPOLL_CTL_MOD, fd, EPOLLONESHOT);
	}
	return NULL;
}

static void handle(int listener, int fd)
{
	if (fd != listener) {
		put(fd);
		return;
	}
	while ((fd = server_accept(listener)) >= 0)
		arm(EPOLL_CTL_ADD, fd, EPOLLONESHOT);
}

int main(int argc, char **argv)
{
	int listener = server_listen(argc, argv), n, i;
	struct epoll_event ev[BATCH];
	pthread_t thread;

	ep = epoll_create1(EPOLL_CLOEXEC);
	if (ep < 0)
		die("epoll_create1");
	arm(EPOLL_CTL_ADD, listener, 0);
	errno = pthread_create(&thread, NULL, work, NULL);
	if (errno)
		die("pthread_create");
	server_ready();
	for (;;) {
		n = epoll_wait(ep, ev, BATCH, -1);
		if (n < 0 && errno != EINTR)
			die("epoll_wait");
		for (i = 0; i < n; i++)
			handle(listener, ev[i].data.fd);
		wake();
	}
}
