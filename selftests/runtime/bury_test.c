// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * bury_test.c - whoever is buried counts as living until all is done that uses the
 * runtime: who sees that nobody lives may end the run (S0-77, S0-78).
 *
 * The library's file is compiled here, and what its delays call is this file's.
 */
#include "run.h"

#ifndef ROOST_INJECT
#define ROOST_INJECT
#endif
#define actor_bury	buries
#include "actor.c"
#undef actor_bury

static _Thread_local struct runtime *burying;
static unsigned int delays;

/* Also what other parts of the library call, if that has delays. */
void inject_delay(void)
{
	if (!burying || atomic_load(&burying->root_gone))
		return;
	delays++;
	CHECK(atomic_load(&burying->live) >= 1);
}

void actor_bury(struct worker *w, struct slot *s)
{
	burying = w->rt;
	buries(w, s);
	burying = NULL;
}

static void ends(void *arg unused_arg)
{
}

ROOST_TEST(s0_77_who_is_buried_counts_until_the_last)
{
	delays = 0;
	run_actors(1, ends, NULL);
	CHECK(delays);
}

static void is_joined(void *arg unused_arg)
{
	join(spawn(ends, NULL));
}

/* Nobody but this one is left, and its burial wakes who has joined it. */
ROOST_TEST(s0_78_also_where_a_join_hears_of_it)
{
	delays = 0;
	run_actors(1, is_joined, NULL);
	CHECK(delays >= 2);
}
