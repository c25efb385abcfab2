// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * lib_meet_test.c - as many actors as workers, made ready at nearly the same
 * moment, must all be on a CPU at once: no worker may sleep while one of them
 * waits, in the queue or in a ring of a worker that is kept busy by another.
 *
 * Each, once it runs, spins until all do, and gives up its worker to nobody.  So a
 * wake that does the work of two, or that finds the ring in somebody's hands and
 * leaves, is seen at once: nobody comes by later to make good for it.
 *
 * ROOST_ROUNDS: rounds of each test, 2,000 by default.  ROOST_SEED.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>

#include "../runtime/run.h"

#define CROWD	6
#define STUCK_S	100

static _Atomic int arrived;
static int everybody;
static uint64_t common;
static int ends[CROWD][2];
static _Atomic uint64_t pids[CROWD];

static void meet(void)
{
	uint64_t limit = roost_after(ROOST_SEC(STUCK_S));

	atomic_fetch_add(&arrived, 1);
	while (atomic_load(&arrived) < everybody && roost_now() < limit)
		sched_yield();
	CHECK_EQ(atomic_load(&arrived), everybody);
}

static unsigned long rounds_wanted(void)
{
	const char *text = getenv("ROOST_ROUNDS");

	return text ? strtoul(text, NULL, 0) : rounds(2000);
}

/* One expiry for all. */
static void sleeps(void *arg unused_arg)
{
	roost_sleep_until(common);
	meet();
}

static void one_round(roost_fn fn, void (*wake)(void), uint64_t *r)
{
	roost_pid pid[CROWD];
	int i;

	/* of a round, not of all of them */
	alarm(TEST_LIMIT_S);
	atomic_store(&arrived, 0);
	common = roost_after(random_below(r, ROOST_MSEC(1)));
	for (i = 0; i < everybody; i++) {
		pid[i] = spawn(fn, (void *)(intptr_t)i);
		atomic_store(&pids[i], pid[i]);
	}
	if (wake)
		wake();
	/* Without a deadline: what it would wake hides what is lost. */
	for (i = 0; i < everybody; i++)
		CHECK_EQ(roost_join(pid[i], ROOST_FOREVER), 0);
}

static void all_rounds(roost_fn fn, void (*wake)(void))
{
	unsigned long n = rounds_wanted();
	uint64_t r = tap_seed(1);
	unsigned long i;

	for (i = 0; i < n && !tap_failed(); i++)
		one_round(fn, wake, &r);
}

static void expiries(void *arg unused_arg)
{
	all_rounds(sleeps, NULL);
}

ROOST_TEST(s1_18_actors_that_expire_at_once_meet)
{
	everybody = CROWD;
	run_actors(CROWD, expiries, NULL);
}

ROOST_TEST(s1_18_actors_that_expire_at_once_meet_two)
{
	everybody = 2;
	run_actors(2, expiries, NULL);
}

/* Bytes, from a thread that is no worker; one of the crowd sleeps instead. */
static void receives(void *arg)
{
	int i = (int)(intptr_t)arg;
	char byte;

	if (i)
		CHECK_EQ(roost_recv(ends[i][0], &byte, 1, 0, ROOST_FOREVER), 1);
	else
		roost_sleep_until(common);
	meet();
}

static _Atomic bool go, over;

/*
 * What comes from a thread that is no worker, when the others expire; one act a
 * round, said by say_go().
 */
static void *outside_main(void *arg)
{
	void (*act)(void) = *(void (**)(void))arg;

	while (!atomic_load(&over)) {
		if (!atomic_exchange(&go, false)) {
			sched_yield();
			continue;
		}
		while (roost_now() < common)
			;
		act();
	}
	return NULL;
}

static void say_go(void)
{
	atomic_store(&go, true);
}

static void rounds_with_outside(roost_fn fn, void (*act)(void))
{
	pthread_t outside;

	atomic_store(&over, false);
	REQUIRE(!pthread_create(&outside, NULL, outside_main, &act));
	all_rounds(fn, say_go);
	atomic_store(&over, true);
	pthread_join(outside, NULL);
}

static void send_to_all(void)
{
	int i;

	for (i = 1; i < everybody; i++)
		CHECK_EQ(send(ends[i][1], "x", 1, 0), 1);
}

static void arrivals(void *arg unused_arg)
{
	int i;

	for (i = 1; i < everybody; i++)
		REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]));
	rounds_with_outside(receives, send_to_all);
	for (i = 1; i < everybody; i++) {
		roost_close(ends[i][0]);
		close(ends[i][1]);
	}
}

/* S0-95 */
ROOST_TEST(s1_18_actors_that_receive_at_once_meet)
{
	everybody = CROWD;
	run_actors(CROWD, arrivals, NULL);
}

/* The queue and the rings at once: every other one is unparked by a thread. */
static void parks(void *arg)
{
	if ((intptr_t)arg % 2)
		CHECK_EQ(roost_park(ROOST_FOREVER), 0);
	else
		roost_sleep_until(common);
	meet();
}

static void unpark_every_other(void)
{
	int i;

	for (i = 1; i < everybody; i += 2)
		CHECK_EQ(roost_unpark(atomic_load(&pids[i])), 0);
}

static void wakes_and_expiries(void *arg unused_arg)
{
	rounds_with_outside(parks, unpark_every_other);
}

ROOST_TEST(s1_18_actors_that_are_woken_and_expire_at_once_meet)
{
	everybody = CROWD;
	run_actors(CROWD, wakes_and_expiries, NULL);
}
