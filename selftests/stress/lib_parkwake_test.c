// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * lib_parkwake_test.c - random parks and wakes: none is lost, each is counted.
 *
 * Actors park in a loop, with and without deadlines.  Other actors and threads
 * outside unpark them at random moments; a waker waits for each of its wakes to
 * have been used before it sends the next to the same actor, so every round is
 * one wake that must arrive.  A watchdog tells a lost one.
 *
 * With one actor, one waker and no deadline every wake decides: nothing that
 * comes later makes good for it.  With few actors the workers sleep most of the
 * time, and nearly every round wakes one of them; with many they are busy, and
 * actors park and are woken while they run.
 *
 * ROOST_ROUNDS: rounds of the test with sleeping workers, 1,000,000 by default,
 * less on a library with delays; the others make a part of it.  ROOST_SEED.
 */
#include <pthread.h>
#include <sched.h>

#include "../runtime/run.h"

#define MAX_ACTORS	64
#define MAX_OUTSIDE	4
#define MAX_INSIDE	4
#define STUCK_S		(int)TEST_LIMIT_S
#ifndef DEFAULT_ROUNDS
#define DEFAULT_ROUNDS	1000000
#endif

/* One parker, alone on its cache lines. */
struct parker {
	_Atomic uint64_t sent;		/* by the waker that owns it now */
	_Atomic uint64_t used;
	_Atomic bool taken;		/* a waker is at it */
	roost_pid pid;
	uint64_t timeouts;
	uint64_t early;
} __attribute__((aligned(128)));

/* How many of each in this test. */
static struct load {
	unsigned int workers;
	int actors;
	int outside;
	int inside;
	unsigned int deadlines;		/* percent of the parks */
} load;

static struct parker parkers[MAX_ACTORS];
static _Atomic unsigned long rounds_left;
static _Atomic unsigned long rounds_done;
static _Atomic bool finished;
static _Atomic int wakers_left;
static roost_pid root;
static uint64_t seed;

static void parker_main(void *arg)
{
	struct parker *p = arg;
	uint64_t r = seed + (uint64_t)(p - parkers);

	while (!atomic_load(&finished)) {
		uint64_t until = ROOST_FOREVER;
		int err;

		if (random_percent(&r, load.deadlines))
			until = roost_after(random_below(&r, ROOST_MSEC(1)));
		err = roost_park(until);
		if (err == -ETIMEDOUT) {
			p->timeouts++;
			if (roost_now() < until)
				p->early++;
			continue;
		}
		if (err)
			break;
		/* A permit may stand for this wake or, at the end, for none. */
		atomic_store(&p->used, atomic_load(&p->sent));
		if (random_percent(&r, 10))
			roost_yield();
	}
}

static noinline void spin_for(uint64_t n)
{
	while (n--)
		__asm__ volatile("");
}

static bool take_round(void)
{
	unsigned long left = atomic_load(&rounds_left);

	do {
		if (!left)
			return false;
	} while (!atomic_compare_exchange_weak(&rounds_left, &left, left - 1));
	return true;
}

/* One wake to a random parker that is ready for it.  False: none was. */
static bool wake_one_of_them(uint64_t *r)
{
	struct parker *p = &parkers[random_below(r, (uint64_t)load.actors)];
	bool was = false;
	bool sent = false;

	if (!atomic_compare_exchange_strong(&p->taken, &was, true))
		return false;
	if (atomic_load(&p->used) == atomic_load(&p->sent)) {
		atomic_fetch_add(&p->sent, 1);
		CHECK_EQ(roost_unpark(p->pid), 0);
		sent = true;
	}
	atomic_store(&p->taken, false);
	return sent;
}

static void wake_rounds(uint64_t r, void (*rest)(void))
{
	while (take_round()) {
		while (!wake_one_of_them(&r))
			rest();
		/* At all distances from the moment that the parker parks. */
		if (random_percent(&r, 50))
			spin_for(random_below(&r, 1000));
		atomic_fetch_add(&rounds_done, 1);
		if (random_percent(&r, 5))
			rest();
	}
}

static void rest_outside(void)
{
	static _Atomic unsigned int turn;

	if (!(atomic_fetch_add(&turn, 1) % 64))
		sched_yield();
}

static void *outside_main(void *arg)
{
	wake_rounds(seed ^ (uint64_t)(uintptr_t)arg << 32, rest_outside);
	if (atomic_fetch_sub(&wakers_left, 1) == 1)
		CHECK_EQ(roost_unpark(root), 0);
	return NULL;
}

static void rest_inside(void)
{
	static _Atomic unsigned int turn;

	if (atomic_fetch_add(&turn, 1) % 64)
		roost_yield();
	else
		roost_sleep(ROOST_USEC(50));
}

static void inside_main(void *arg)
{
	wake_rounds(seed ^ (uint64_t)(uintptr_t)arg << 40, rest_inside);
}

/* A wake that is sent and not used for long is lost. */
static void *watchdog_main(void *arg unused_arg)
{
	unsigned long last = ~0UL, now;
	int stuck = 0, i;

	while (!atomic_load(&finished)) {
		sleep(1);
		now = atomic_load(&rounds_done);
		for (i = 0; i < load.actors; i++)
			now += atomic_load(&parkers[i].used);
		stuck = now == last ? stuck + 1 : 0;
		last = now;
		if (stuck < STUCK_S)
			continue;
		printf("# stuck: a wake was lost\n");
		for (i = 0; i < load.actors; i++)
			if (atomic_load(&parkers[i].sent) !=
			    atomic_load(&parkers[i].used))
				printf("# parker %d: sent %lu, used %lu\n", i,
				       (unsigned long)parkers[i].sent,
				       (unsigned long)parkers[i].used);
		printf("not ok 1 watchdog\n");
		fflush(stdout);
		_exit(1);
	}
	return NULL;
}

static void all_used(void)
{
	int i;

	for (i = 0; i < load.actors; i++)
		while (atomic_load(&parkers[i].used) !=
		       atomic_load(&parkers[i].sent))
			roost_sleep(ROOST_USEC(200));
}

/* Everybody but this worker is idle, and it stays so: look at the counters. */
static void check_counters(void)
{
	struct roost_stats s;
	int tries;

	for (tries = 0; tries < 200; tries++) {
		roost_sleep(ROOST_MSEC(20));
		roost_stats(&s);
		if (__builtin_popcountll(s.idle_mask[0]) == (int)load.workers - 1 &&
		    s.wakes_sent == s.wakes_received)
			break;
	}
	printf("# wakes sent %lu received %lu, by call %lu; parks %lu refused %lu; mask %lx\n",
	       (unsigned long)s.wakes_sent, (unsigned long)s.wakes_received,
	       (unsigned long)s.wake_calls, (unsigned long)s.parks,
	       (unsigned long)s.parks_refused, (unsigned long)s.idle_mask[0]);
	CHECK_EQ(s.wakes_sent, s.wakes_received);
	CHECK_EQ(__builtin_popcountll(s.idle_mask[0]), (int)load.workers - 1);
	CHECK_EQ(s.idle_mask[0] >> load.workers, 0);
	CHECK(s.wakes_sent > 0 && s.parks > 0);
}

/* Parkers without a deadline, so that nothing stirs at quiet. */
static void stop_parkers(void)
{
	uint64_t timeouts = 0, early = 0;
	int i;

	for (i = 0; i < load.actors; i++) {
		/* One whose deadline came may have ended by itself. */
		int err = roost_stop(parkers[i].pid);

		CHECK(err == 0 || err == -ESRCH);
		join(parkers[i].pid);
		timeouts += parkers[i].timeouts;
		early += parkers[i].early;
	}
	CHECK_EQ(early, 0);
	printf("# %lu parks timed out\n", (unsigned long)timeouts);
}

static void stress_root(void *arg unused_arg)
{
	pthread_t thread[MAX_OUTSIDE], watchdog;
	roost_pid pid[MAX_INSIDE];
	int i;

	root = roost_self();
	atomic_store(&wakers_left, load.outside);
	for (i = 0; i < load.actors; i++)
		parkers[i].pid = spawn(parker_main, &parkers[i]);
	pthread_create(&watchdog, NULL, watchdog_main, NULL);
	for (i = 0; i < load.outside; i++)
		pthread_create(&thread[i], NULL, outside_main,
			       (void *)(intptr_t)(i + 1));
	for (i = 0; i < load.inside; i++)
		pid[i] = spawn(inside_main, (void *)(intptr_t)(i + 1));
	for (i = 0; i < load.inside; i++)
		CHECK_EQ(roost_join(pid[i], ROOST_FOREVER), 0);
	/* No timer in here: it would wake workers, and hide a lost wake. */
	CHECK_EQ(roost_park(ROOST_FOREVER), 0);
	for (i = 0; i < load.outside; i++)
		pthread_join(thread[i], NULL);
	all_used();
	atomic_store(&finished, true);
	stop_parkers();
	check_counters();
	pthread_join(watchdog, NULL);
}

static void run_load(struct load l)
{
	struct roost_config config = { .workers = l.workers };
	const char *text = getenv("ROOST_ROUNDS");
	unsigned long n = text ? strtoul(text, NULL, 0) :
				 DEFAULT_ROUNDS / slow();
	uint64_t start = roost_now();

	/* What decides round by round takes long on an emulated machine. */
	if (l.actors == 1)
		n /= 10;
	else if (l.actors > 3)
		n /= 4;
	seed = tap_seed(1);
	load = l;
	memset(parkers, 0, sizeof(parkers));
	atomic_store(&finished, false);
	atomic_store(&rounds_done, 0);
	atomic_store(&rounds_left, n);
	CHECK_EQ(roost_run(&config, stress_root, NULL), 0);
	CHECK_EQ(atomic_load(&rounds_done), n);
	printf("# %lu rounds in %lu ms\n", n,
	       (unsigned long)(roost_now() - start) / 1000000);
}

ROOST_TEST(s1_05_each_wake_counts_one_worker)
{
	run_load((struct load){ .workers = 1, .actors = 1, .outside = 1 });
}

ROOST_TEST(s1_05_each_wake_counts)
{
	run_load((struct load){ .workers = 4, .actors = 1, .outside = 1 });
}

ROOST_TEST(s1_05_no_wake_is_lost_when_workers_sleep)
{
	run_load((struct load){
		.workers = 4, .actors = 3, .outside = 2, .deadlines = 30,
	});
}

ROOST_TEST(s1_05_no_wake_is_lost_in_a_mixed_load)
{
	run_load((struct load){
		.workers = 4, .actors = 8, .outside = 2, .inside = 1,
		.deadlines = 30,
	});
}

ROOST_TEST(s1_05_no_wake_is_lost_when_workers_are_busy)
{
	run_load((struct load){
		.workers = 4, .actors = 64, .outside = 2, .inside = 4,
		.deadlines = 30,
	});
}
