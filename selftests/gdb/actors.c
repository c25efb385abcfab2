// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* actors.c - what a debugger is shown: actors in every state, and then a crash. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <roost/roost.h>

/* Each of these is to be seen in a backtrace. */
#define SEEN	__attribute__((noinline))

static _Atomic int ready;

SEEN static void inner(int depth)
{
	if (depth)
		inner(depth - 1);
	else
		roost_park(ROOST_FOREVER);
	atomic_fetch_add(&ready, 1000);
}

static void parks_deep(void *arg)
{
	(void)arg;
	inner(3);
	/* no tail call: its frame is to stay */
	atomic_fetch_add(&ready, 1000);
}

SEEN static void sleeping(void)
{
	roost_sleep_until(ROOST_FOREVER - 1);
	atomic_fetch_add(&ready, 1000);
}

static void sleeps(void *arg)
{
	(void)arg;
	roost_set_name("sleeper");
	sleeping();
	atomic_fetch_add(&ready, 1000);
}

SEEN static void spinning(void)
{
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < 1000)
		;
}

static void spins(void *arg)
{
	(void)arg;
	spinning();
	atomic_fetch_add(&ready, 1000);
}

static void ends(void *arg)
{
	(void)arg;
}

SEEN static void look_now(void)
{
	abort();
}

static void root(void *arg)
{
	struct roost_spawn_options named = { .name = "deep" };
	roost_pid ended;

	(void)arg;
	if (roost_spawn_with(parks_deep, NULL, &named, NULL) ||
	    roost_spawn(sleeps, NULL, NULL) || roost_spawn(ends, NULL, &ended))
		exit(1);
	/* the other worker has only this one to run */
	roost_sleep(1000000);
	while (roost_actors(NULL, 0) != 4)
		roost_yield();
	if (roost_spawn(spins, NULL, NULL))
		exit(1);
	while (!atomic_load(&ready))
		roost_yield();
	/* never runs */
	if (roost_spawn(ends, NULL, NULL))
		exit(1);
	look_now();
	atomic_fetch_add(&ready, 1000);
}

int main(void)
{
	struct roost_config config = {
		.workers = 2, .max_actors = 64, .account = ROOST_ACCOUNT_CYCLES,
	};

	return roost_run(&config, root, NULL);
}
