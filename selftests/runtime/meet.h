/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * meet.h - a step of one thread and a step of another at the same time, very often.
 *
 * Each step is a store and then a load of what the other one stores.  If there is a
 * barrier between, at least one of both sees the other.  A CPU that may load first does
 * so for some nanoseconds only; so before its step one of the threads stores to memory
 * that is far away.  What it stores next is seen after that, but what it loads it loads
 * at once, if no barrier makes it wait.
 *
 * The other one waits a little before its step: less if the first has not seen it the
 * last time, and more if it has.
 */
#ifndef ROOST_SELFTESTS_RUNTIME_MEET_H
#define ROOST_SELFTESTS_RUNTIME_MEET_H

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "run.h"

#define MEET_FAR_BYTES	(64UL << 20)
#define MEET_FAR_STORES	24
/* A page and a line on, so that neither an address nor a page is known to the CPU. */
#define MEET_FAR_STEP	(4096UL + 64)

/**
 * struct meeting - what meets
 * @begin:	before both, in one thread
 * @slow:	the step of which the store is late.  Return: it has seen the other
 * @fast:	the other step; the same
 * @arg:	for all of them
 * @rounds:	so often
 * @lost:	out: how often neither has seen the other
 * @seen:	out: how often the slow one has
 */
struct meeting {
	void (*begin)(void *arg);
	bool (*slow)(void *arg);
	bool (*fast)(void *arg);
	void *arg;
	unsigned long rounds;
	unsigned long lost;
	unsigned long seen;

	/* Its own. */
	char *far;
	size_t at;
	cpu_set_t allowed;
	_Atomic unsigned long begun;
	_Atomic unsigned long done;
	_Atomic bool slow_saw;
};

static inline bool meet_on_cpu(int nr, const cpu_set_t *allowed)
{
	cpu_set_t one;
	int cpu;

	CPU_ZERO(&one);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed) && !nr--)
			CPU_SET(cpu, &one);
	return CPU_COUNT(&one) &&
	       !pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}

/* Two on one CPU take turns, and each switch is a barrier. */
static inline bool meet_possible(void)
{
	cpu_set_t allowed;

	return !sched_getaffinity(0, sizeof(allowed), &allowed) &&
	       CPU_COUNT(&allowed) > 1;
}

static inline void meet_far_stores(struct meeting *m)
{
	int i;

	for (i = 0; i < MEET_FAR_STORES; i++) {
		*(volatile char *)&m->far[m->at] = 1;
		m->at = (m->at + MEET_FAR_STEP) % MEET_FAR_BYTES;
	}
}

static inline void *meet_slow(void *arg)
{
	struct meeting *m = arg;
	unsigned long i, tries;

	meet_on_cpu(1, &m->allowed);
	for (i = 1; i <= m->rounds; i++) {
		for (tries = 1; atomic_load(&m->begun) != i; tries++)
			if (tries % 4096 == 0)
				sched_yield();
		meet_far_stores(m);
		atomic_store_explicit(&m->slow_saw, m->slow(m->arg),
				      memory_order_relaxed);
		atomic_store(&m->done, i);
	}
	return NULL;
}

static inline unsigned int meet_wait(unsigned int wait, bool too_early, uint64_t *r)
{
	unsigned int step = (unsigned int)random_below(r, 64);

	if (too_early)
		return wait < 20000 ? wait + step : wait;
	return wait - wait / 16 > step ? wait - wait / 16 - step : 0;
}

/** meet() - do it, and check that nothing was lost */
static inline void meet(struct meeting *m)
{
	uint64_t r = tap_seed(1);
	unsigned int wait = 0, n;
	pthread_t thread;
	unsigned long i;
	bool fast_saw;

	m->far = mmap(NULL, MEET_FAR_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	REQUIRE(m->far != MAP_FAILED);
	REQUIRE(!sched_getaffinity(0, sizeof(m->allowed), &m->allowed));
	alarm(TEST_LIMIT_S);
	REQUIRE_EQ(pthread_create(&thread, NULL, meet_slow, m), 0);
	meet_on_cpu(0, &m->allowed);
	for (i = 1; i <= m->rounds; i++) {
		m->begin(m->arg);
		atomic_store(&m->begun, i);
		for (n = 0; n < wait; n++)
			__asm__ volatile("");
		fast_saw = m->fast(m->arg);
		while (atomic_load(&m->done) != i)
			sched_yield();
		m->lost += !fast_saw && !m->slow_saw;
		m->seen += m->slow_saw;
		wait = meet_wait(wait, m->slow_saw, &r);
	}
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof(m->allowed), &m->allowed);
	alarm(0);
	munmap(m->far, MEET_FAR_BYTES);
	printf("# the slow one saw the other %lu times of %lu\n", m->seen, m->rounds);
	CHECK_EQ(m->lost, 0);
}

#endif /* ROOST_SELFTESTS_RUNTIME_MEET_H */
