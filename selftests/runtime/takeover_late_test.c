// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * takeover_late_test.c - those who come back, while another calls the library.
 *
 * What they find is the word that the next carrier changes on another CPU.  With one
 * worker: all of them have lost it when the root runs, and then come back at once.
 */
#include "takeover_help.h"

#define LATE	6U

struct late {
	int pipe[2];
	unsigned long turns;
	_Atomic unsigned long blocked;
};

static void comes_back(void *arg)
{
	struct late *l = arg;
	unsigned long i;
	char c;

	for (i = 0; i < l->turns; i++) {
		atomic_store(&l->blocked, i + 1);
		if (read(l->pipe[0], &c, 1) != 1)
			break;
		roost_yield();
	}
	CHECK_EQ(i, l->turns);
}

static bool all_blocked(const struct late *l, unsigned long turn)
{
	unsigned int i;

	for (i = 0; i < LATE; i++)
		if (atomic_load(&l[i].blocked) < turn)
			return false;
	return true;
}

/* Threads without a worker count apart. */
static uint64_t came_back(void)
{
	return atomic_load(&runtime_self()->outside.displaced);
}

/* Return: how often the word did not say what we have made of it. */
static unsigned long go_in_and_out(void)
{
	unsigned long n, wrong = 0;

	for (n = 0; n < 1000; n++) {
		wrong += !carrier_is_inside(library_enter());
		library_leave();
		wrong += is_displaced();
	}
	return wrong;
}

/* Return: the same, until so many have come back. */
static unsigned long call_until(uint64_t back)
{
	const uint64_t limit = roost_after(ROOST_SEC(60));
	unsigned long wrong = 0;

	/* Writing may have blocked us: here we get a worker again. */
	roost_unpark(roost_self());
	while (came_back() < back && roost_now() < limit)
		wrong += go_in_and_out();
	CHECK(came_back() >= back);
	return wrong;
}

static void call_and_call(void *arg unused_arg)
{
	unsigned long turn, turns = rounds(300), wrong = 0;
	struct late l[LATE] = { 0 };
	roost_pid pid[LATE];
	unsigned int i;

	for (i = 0; i < LATE; i++) {
		l[i].turns = turns;
		CHECK_EQ(pipe(l[i].pipe), 0);
		pid[i] = spawn(comes_back, &l[i]);
	}
	for (turn = 1; turn <= turns && !tap_failed(); turn++) {
		CHECK(wait_until(all_blocked(l, turn)));
		for (i = 0; i < LATE; i++)
			CHECK_EQ(write(l[i].pipe[1], "x", 1), 1);
		wrong += call_until(turn * LATE);
	}
	CHECK_EQ(wrong, 0);
	for (i = 0; i < LATE; i++)
		close(l[i].pipe[1]);
	for (i = 0; i < LATE; i++) {
		join(pid[i]);
		close(l[i].pipe[0]);
	}
	printf("# %lu times %u came back at once, %llu takeovers\n", turns, LATE,
	       (unsigned long long)stats_now().takeovers);
	CHECK(stats_now().takeovers >= turns * LATE);
}

/* S3-55 */
TAKEOVER_TEST(who_comes_back_late_spoils_nothing)
{
	set_parameter("grace_us", USUAL_GRACE_US);
	run_actors(1, call_and_call, NULL);
}
