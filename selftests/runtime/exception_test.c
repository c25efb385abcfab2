// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * exception_test.c - a C++ run-time's caught exceptions go with the actor.
 *
 * This program plays the run-time: it has the one function that the library
 * asks for, with two words a thread.
 */
#include "run.h"

struct globals {
	void *caught;
	unsigned int uncaught;
};

static _Thread_local struct globals globals;

struct globals *__cxa_get_globals(void);

noinline struct globals *__cxa_get_globals(void)
{
	__asm__ volatile("");
	return &globals;
}

static _Atomic int wrong;

/* As if in a catch block, over many switches and perhaps threads. */
static void catcher(void *arg)
{
	int i;

	if (__cxa_get_globals()->caught || __cxa_get_globals()->uncaught)
		wrong++;
	*__cxa_get_globals() = (struct globals){ arg, 7 };
	for (i = 0; i < 200; i++) {
		if (i % 50 == 49)
			roost_sleep(1000);
		else
			roost_yield();
		if (__cxa_get_globals()->caught != arg ||
		    __cxa_get_globals()->uncaught != 7)
			wrong++;
	}
	/* Ends with it still caught: the thread must not keep it. */
}

static int *volatile nowhere = (int *)8;

/* As a fault in a catch block does. */
static void crashes_with_one_caught(void *arg)
{
	*__cxa_get_globals() = (struct globals){ arg, 7 };
	*nowhere = 1;
}

static void looks(void *arg unused_arg)
{
	CHECK(!__cxa_get_globals()->caught);
	CHECK_EQ(__cxa_get_globals()->uncaught, 0);
}

/* A new actor, right after it: others bring their own along. */
static void crash_and_look(void *arg)
{
	struct roost_outcome o;
	roost_pid pid, next;
	int i;

	for (i = 0; i < 3; i++) {
		pid = spawn(crashes_with_one_caught, arg);
		next = spawn(looks, NULL);
		REQUIRE(!roost_join_outcome(pid, ROOST_FOREVER, &o));
		CHECK_EQ(o.how, ROOST_END_CRASHED);
		join(next);
	}
}

ROOST_TEST(what_a_crashed_one_had_caught_does_not_stay)
{
	int mark;

	if (SANITIZED)
		SKIP("a sanitizer has its own handlers of faults");
	run_actors(1, crash_and_look, &mark);
}

ACTOR_TEST(caught_exceptions_stay_with_their_actor, usually(3))
{
	roost_pid pids[16];
	char marks[16];
	int i;

	for (i = 0; i < 16; i++)
		REQUIRE(!roost_spawn(catcher, &marks[i], &pids[i]));
	for (i = 0; i < 16; i++)
		REQUIRE(!roost_join(pids[i], ROOST_FOREVER));
	CHECK_EQ(wrong, 0);
	CHECK(!__cxa_get_globals()->caught);
}
