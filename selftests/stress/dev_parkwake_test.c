// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * dev_parkwake_test.c - random parks and wakes, on the bare device.
 *
 * Workers park with random deadlines and without, wakers outside wake them in
 * every way there is: by index, any one, all, through the shared words as a
 * library does, through a ring, and by completions of timers.  Each round is a
 * request: a waker puts a ticket on a worker's pile and wakes it (P2).  A worker
 * takes all of its pile.  What is checked:
 *
 *  - no wakeup is lost: a pile is empty within a time limit, also when its worker
 *    sleeps without a deadline;
 *  - the kernel's count of wakes sent is that of wakes received;
 *  - at quiet, the idle mask is the set of parked workers, exactly.
 *
 *	ROOST_ROUNDS	rounds (1,000,000)
 *	ROOST_WORKERS	workers (4)
 *	ROOST_SEED	where the random numbers start
 *
 * Prints TAP.
 */
#include "roost_test.h"

#include <stdatomic.h>

#define MAX_WORKERS	64
#define WAKERS		2
#define QUIET_EVERY	50000

struct place {
	struct wrk w;
	pthread_t thread;
	_Alignas(64) _Atomic unsigned long pile;
	_Alignas(64) _Atomic unsigned long taken;
	_Atomic unsigned long parks, slept, timeouts, by_wake;
};

static struct dom d;
static struct place place[MAX_WORKERS];
static unsigned int nr_workers;
static _Atomic bool stop;
/* With it set workers park without a deadline only. */
static _Atomic bool quiet;

static void *worker_main(void *arg)
{
	struct place *p = arg;
	uint64_t seed = 77 + p->w.params.index, deadline;
	uint32_t event, outcome;
	struct roost_cqe cqe;
	unsigned long n;

	check(attach(&p->w) == 0);
	while (!stop) {
		while (pop(&p->w, &cqe))
			;
		n = atomic_exchange(&p->pile, 0);
		if (n) {
			p->taken += n;
			continue;
		}
		deadline = ROOST_NO_DEADLINE;
		if (!quiet && random_next(&seed) % 4 == 0)
			deadline = now_ns() + random_next(&seed) % 300000;
		event = sample(&d);
		set_idle(&d, &p->w);
		if (p->pile || stop || (quiet && deadline != ROOST_NO_DEADLINE)) {
			clear_idle(&d, &p->w);
			continue;
		}
		check(park_published(&p->w, event, deadline, &outcome) == 0);
		check(!idle_bit(&d, &p->w));
		p->parks++;
		p->slept += !!(outcome & ROOST_OUT_SLEPT);
		p->timeouts += !!(outcome & ROOST_OUT_TIMEOUT);
		p->by_wake += !!(outcome & ROOST_OUT_WAKE);
	}
	check(detach(&p->w) == 0);
	return NULL;
}

/* As a library wakes: true unless that worker was not idle. */
static void wake_place(struct place *p, uint64_t *seed)
{
	struct roost_enter e = { 0 };
	uint32_t sync = random_next(seed) & 1 ? ROOST_WAKE_SYNC : 0;

	switch (random_next(seed) % 8) {
	case 0:
		check(wake(&d, ROOST_WAKE_INDEX | sync, p->w.params.index) >= 0);
		return;
	case 1:
		check(wake(&d, ROOST_WAKE_ALL, 0) >= 0);
		return;
	case 2:
		/* in passing, through somebody's submission call */
		e.flags = ROOST_ENTER_WAKE;
		e.wake = p->w.params.index;
		check(enter(&place[0].w, &e) == 0);
		return;
	default:
		/* the barrier of P2 is in the ticket's addition */
		if (!idle_bit(&d, &p->w) || !clear_idle(&d, &p->w))
			return;
		if (__atomic_exchange_n(&p->w.page->parked, 0, __ATOMIC_SEQ_CST))
			check(wake(&d, ROOST_WAKE_INDEX | sync,
				   p->w.params.index) >= 0);
	}
}

struct waker {
	pthread_t thread;
	uint64_t seed;
	unsigned long rounds;
	unsigned long lost;
};

static void *waker_main(void *arg)
{
	struct waker *k = arg;
	unsigned long i;
	struct place *p;
	uint64_t limit;

	for (i = 0; i < k->rounds; i++) {
		p = &place[random_next(&k->seed) % nr_workers];
		p->pile++;
		wake_place(p, &k->seed);
		if (random_next(&k->seed) % 64 == 0)
			check(wake(&d, ROOST_WAKE_ONE, 0) >= 0);
		if (random_next(&k->seed) % 4)
			continue;
		limit = now_ns() + wide(2 * SEC);
		while (p->pile) {
			if (now_ns() > limit) {
				k->lost++;
				break;
			}
			sched_yield();
		}
	}
	return NULL;
}

static unsigned int failures, tests;

static void result(bool good, const char *what)
{
	failures += !good;
	printf("%sok %u - %s\n", good ? "" : "not ", ++tests, what);
}

/* Everybody sleeps: do the two masks agree? */
static bool masks_agree(void)
{
	uint64_t all = nr_workers == 64 ? ~0ULL : (1ULL << nr_workers) - 1;
	uint64_t limit = now_ns() + wide(5 * SEC), idle = 0, parked = 0;

	quiet = true;
	while (now_ns() < limit) {
		idle = __atomic_load_n(&d.control->idle[0], __ATOMIC_SEQ_CST);
		parked = stat_of(&d).parked[0];
		if (idle == all && parked == all)
			break;
		sleep_ns(MSEC / 2);
	}
	quiet = false;
	if (idle != all || parked != all)
		printf("# idle %llx, parked %llx, expected %llx\n",
		       (unsigned long long)idle, (unsigned long long)parked,
		       (unsigned long long)all);
	return idle == all && parked == all;
}

int main(void)
{
	unsigned long rounds = rounds_of("ROOST_ROUNDS", 1000000), done = 0;
	uint64_t seed = env_number("ROOST_SEED", 1) * 0x9e3779b97f4a7c15ULL;
	unsigned long lost = 0, sent = 0, taken = 0, received = 0, disagree = 0;
	struct waker k[WAKERS];
	struct roost_domain_stat s;
	unsigned int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	nr_workers = (unsigned int)env_number("ROOST_WORKERS", 4);
	check(nr_workers >= 1 && nr_workers <= MAX_WORKERS);
	printf("TAP version 13\n1..4\n# seed %lu, %lu rounds, time factor %lu\n",
	       env_number("ROOST_SEED", 1), rounds, time_factor());
	check(dom_make(&d, 16, 16) == 0);
	for (i = 0; i < nr_workers; i++) {
		check(wrk_make(&place[i].w, &d, 8, 64) == 0);
		check(pthread_create(&place[i].thread, NULL, worker_main,
				     &place[i]) == 0);
	}
	for (i = 0; i < nr_workers; i++)
		while (!place[i].w.page->lease)
			sched_yield();
	while (done < rounds) {
		unsigned long n = rounds - done;

		if (n > QUIET_EVERY)
			n = QUIET_EVERY;
		for (i = 0; i < WAKERS; i++) {
			k[i] = (struct waker){ .seed = random_next(&seed),
					       .rounds = n / WAKERS };
			check(pthread_create(&k[i].thread, NULL, waker_main,
					     &k[i]) == 0);
		}
		for (i = 0; i < WAKERS; i++) {
			pthread_join(k[i].thread, NULL);
			lost += k[i].lost;
			sent += k[i].rounds;
		}
		done += n;
		disagree += !masks_agree();
	}
	for (i = 0; i < nr_workers; i++)
		lost += place[i].pile;
	/* at quiet every wake has arrived: there is no permit left */
	s = stat_of(&d);
	stop = true;
	check(wake(&d, ROOST_WAKE_ALL, 0) >= 0);
	for (i = 0; i < nr_workers; i++) {
		pthread_join(place[i].thread, NULL);
		taken += place[i].taken;
		received += place[i].by_wake;
		printf("# worker %u: %lu parks, %lu slept, %lu timeouts, %lu by a wake\n",
		       i, place[i].parks, place[i].slept, place[i].timeouts,
		       place[i].by_wake);
	}
	printf("# %llu wakes, %llu received, %llu parks, %llu refused\n",
	       (unsigned long long)s.wakes, (unsigned long long)s.wakes_received,
	       (unsigned long long)s.parks,
	       (unsigned long long)s.parks_refused);
	result(!lost, "no wakeup is lost");
	result(taken == sent, "every ticket was taken once");
	result(s.wakes == s.wakes_received && received >= s.wakes_received &&
	       received <= s.wakes_received + nr_workers,
	       "wakes sent are wakes received");
	result(!disagree, "at quiet the idle mask is the set of the parked");
	return failures != 0;
}
