// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * settle_test.c - a descriptor is closed while a sibling has fetched what this worker
 * had staged, and has not carried it out yet: the close waits for it, but not for ever.
 * The sibling is a thread that only says so.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>

#include "inside.h"
#include "io_help.h"

#include "backend_kernel.h"
#include "worker.h"

/* So long a close waits at least, if nothing comes. */
#define PATIENCE	ROOST_MSEC(10)
#define MAX_ROUNDS	100

struct sibling {
	pthread_t thread;
	struct kring *ring;
	_Atomic bool closing, done;
};

static void *sibling_main(void *arg)
{
	const struct timespec a_while = { .tv_nsec = 1000000 };
	struct sibling *s = arg;

	while (!atomic_load(&s->closing))
		sched_yield();
	nanosleep(&a_while, NULL);
	atomic_store(&s->done, true);
	atomic_fetch_sub(&s->ring->handing, 1);
	return NULL;
}

static struct kring *my_ring(void)
{
	return INSIDE(ring_of(worker_self()));
}

/* One that the kernel watches for us: somebody waits for it. */
static void watch_one(struct waiter *w)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	CHECK(fd >= 0);
	waiter_start(w, fd, POLLIN, ROOST_FOREVER);
	settle();
	CHECK(!atomic_load(&w->done));
}

/* Return: how long it took. */
static uint64_t timed_close(int fd)
{
	uint64_t start = roost_now();

	CHECK_EQ(roost_close(fd), 0);
	return roost_now() - start;
}

static void wait_for_sibling_main(void *arg unused_arg)
{
	bool waited = false, done;
	struct sibling s;
	struct waiter w;
	uint64_t took;
	int i;

	for (i = 0; i < MAX_ROUNDS && !waited; i++) {
		watch_one(&w);
		s = (struct sibling){ .ring = my_ring() };
		atomic_fetch_add(&s.ring->handing, 1);
		CHECK_EQ(pthread_create(&s.thread, NULL, sibling_main, &s), 0);
		atomic_store(&s.closing, true);
		took = timed_close(w.fd);
		done = atomic_load(&s.done);
		/* it may have lost patience, if the thread was away for long */
		CHECK(done || took >= PATIENCE);
		waited = done && took < PATIENCE;
		pthread_join(s.thread, NULL);
		CHECK_EQ(waiter_join(&w), -ECANCELED);
	}
	printf("# waited in round %d\n", i);
	CHECK(waited);
}

static void no_sibling_comes_main(void *arg unused_arg)
{
	struct kring *ring = my_ring();
	struct waiter w;

	watch_one(&w);
	atomic_fetch_add(&ring->handing, 1);
	CHECK(timed_close(w.fd) >= PATIENCE);
	atomic_fetch_sub(&ring->handing, 1);
	CHECK_EQ(waiter_join(&w), -ECANCELED);
}

static bool kernel_backend(void)
{
	const char *backend = getenv("ROOST_BACKEND");

	return backend && !strcmp(backend, "kernel");
}

#define LACKING	"nobody hands over for others without the kernel backend"

ROOST_TEST(a_close_waits_for_who_carries_it_out)
{
	if (!kernel_backend())
		SKIP(LACKING);
	run_actors(1, wait_for_sibling_main, NULL);
}

ROOST_TEST(a_close_does_not_wait_for_ever)
{
	if (!kernel_backend())
		SKIP(LACKING);
	run_actors(1, no_sibling_comes_main, NULL);
}
