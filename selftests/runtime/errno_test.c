// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * errno_test.c - errno, over calls after which an actor is on another thread.
 *
 * It is all in one function, so that a compiler may keep what it takes for constant.
 * The Makefile has it compiled in several ways: see there.
 *
 * ROOST_MOVES: how many moves to another thread, 10,000 by default.
 */
#include <fcntl.h>
#include <sys/syscall.h>

#include "run.h"

#define ACTORS	8
#define LIMIT_S	90

static _Atomic unsigned long moves;
static _Atomic unsigned long wrong;
static unsigned long enough;
static uint64_t time_limit;
static int a_pipe[2];

static long thread(void)
{
	return syscall(SYS_gettid);
}

/* Four ways to fail; each actor has its own, so that others' errno is another. */
static void fails(void *arg)
{
	static const int expected[] = { EBADF, ENOENT, ESPIPE, EINVAL };
	int way = (int)((intptr_t)arg % 4), mine = 1000 + (int)(intptr_t)arg;
	unsigned long bad = 0, moved = 0;
	long before;
	int i;

	while (atomic_load(&moves) < enough && roost_now() < time_limit) {
		for (i = 0; i < 100; i++) {
			errno = 0;
			before = thread();
			roost_yield();
			moved += thread() != before;
			bad += errno != 0;
			switch (way) {
			case 0:
				close(-1);
				break;
			case 1:
				unlink("");
				break;
			case 2:
				lseek(a_pipe[0], 0, SEEK_SET);
				break;
			default:
				fcntl(a_pipe[0], F_SETPIPE_SZ, -1);
				break;
			}
			bad += errno != expected[way];
			before = thread();
			roost_yield();
			moved += thread() != before;
			bad += errno != expected[way];
			errno = mine;
			before = thread();
			roost_yield();
			moved += thread() != before;
			bad += errno != mine;
		}
		atomic_fetch_add(&moves, moved);
		atomic_fetch_add(&wrong, bad);
		moved = 0;
		bad = 0;
	}
}

static void all_fail(void *arg unused_arg)
{
	roost_pid pid[ACTORS];
	intptr_t i;

	CHECK_EQ(pipe(a_pipe), 0);
	for (i = 0; i < ACTORS; i++)
		pid[i] = spawn(fails, (void *)i);
	for (i = 0; i < ACTORS; i++)
		CHECK_EQ(roost_join(pid[i], ROOST_FOREVER), 0);
	close(a_pipe[0]);
	close(a_pipe[1]);
}

ROOST_TEST(errno_goes_with_the_actor)
{
	const char *text = getenv("ROOST_MOVES");

	enough = text ? strtoul(text, NULL, 0) : rounds(10000);
	time_limit = roost_after(text ? ROOST_SEC(3600) : ROOST_SEC(LIMIT_S));
	alarm(0);
	{
		struct roost_config config = { .workers = 3 };

		CHECK_EQ(roost_run(&config, all_fail, NULL), 0);
	}
	printf("# %lu moves\n", atomic_load(&moves));
	CHECK_EQ(wrong, 0);
	/* In the time that there is, on a machine where others compute. */
	CHECK(atomic_load(&moves) >= (text ? enough : 100));
}
