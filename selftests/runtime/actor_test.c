// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * actor_test.c - birth, death, handles, joining and stopping.
 */
#include <sched.h>

#include "run.h"

static _Atomic unsigned long ran;

static void counts(void *arg unused_arg)
{
	atomic_fetch_add(&ran, 1);
}

static void parks_for_ever(void *arg unused_arg)
{
	CHECK_EQ(roost_park(ROOST_FOREVER), -ECANCELED);
}

ACTOR_TEST(s0_14_low_slots_first, 1)
{
	roost_pid a = spawn(parks_for_ever, NULL);
	roost_pid b = spawn(parks_for_ever, NULL);

	CHECK_EQ((uint32_t)roost_self(), 0);
	CHECK_EQ((uint32_t)a, 1);
	CHECK_EQ((uint32_t)b, 2);
	roost_stop(a);
	roost_stop(b);
	join(a);
	join(b);
}

static void chain(void *arg)
{
	unsigned long left = (unsigned long)(uintptr_t)arg;
	roost_pid pid;

	atomic_fetch_add(&ran, 1);
	if (!left)
		return;
	pid = spawn(chain, (void *)(uintptr_t)(left - 1));
	join(pid);
}

static void spawn_storm(void *arg unused_arg)
{
	unsigned long n = rounds(100000), i;

	atomic_store(&ran, 0);
	for (i = 0; i < n; i++)
		join(spawn(counts, NULL));
	CHECK_EQ(atomic_load(&ran), n);

	atomic_store(&ran, 0);
	join(spawn(chain, (void *)(uintptr_t)1000));
	CHECK_EQ(atomic_load(&ran), 1001);
}

/* S3-57, S3-61 */
ROOST_TEST(s0_48_spawn_and_join_storm)
{
	run_actors(1, spawn_storm, NULL);
	run_actors(2, spawn_storm, NULL);
	run_actors(4, spawn_storm, NULL);
}

/* Two that spawn and join in a table with room for just their children. */
static void never_finds_it_full(void *arg unused_arg)
{
	unsigned long n = rounds(20000), i, full = 0;
	roost_pid pid;

	for (i = 0; i < n; i++) {
		if (roost_spawn(counts, NULL, &pid))
			full++;
		else
			join(pid);
	}
	CHECK_EQ(full, 0);
}

static void tight_table(void *arg unused_arg)
{
	roost_pid a = spawn(never_finds_it_full, NULL);
	roost_pid b = spawn(never_finds_it_full, NULL);

	join(a);
	join(b);
}

/* S0-60 */
ROOST_TEST(s0_49_the_slot_of_whom_was_joined_is_free)
{
	struct roost_config config = { .workers = 3, .max_actors = 5 };

	run_with(&config, tight_table, NULL);
}

static void spawns_detached(void *arg)
{
	int i, n = *(int *)arg;

	for (i = 0; i < n; i++)
		while (roost_spawn(counts, NULL, NULL) == -EAGAIN)
			roost_yield();
}

/* Many times more actors than slots, all detached, from several spawners. */
static void detached_storm(void *arg unused_arg)
{
	int n = (int)rounds(20000), i;
	roost_pid pid[4];

	atomic_store(&ran, 0);
	for (i = 0; i < 4; i++)
		pid[i] = spawn(spawns_detached, &n);
	for (i = 0; i < 4; i++)
		join(pid[i]);
	while (atomic_load(&ran) < 4UL * (unsigned long)n)
		roost_yield();
	CHECK_EQ(atomic_load(&ran), 4UL * (unsigned long)n);
}

/* S0-33 */
ROOST_TEST(s0_07_more_actors_than_slots_one_after_the_other)
{
	/*
	 * It is slots that are used again and again.  To give up a stack each time
	 * makes all CPUs of the machine stop, which a virtual one may take long to do.
	 */
	struct roost_config config = {
		.workers = 3,
		.max_actors = 100,
		.stack_pool = 100,
	};

	run_with(&config, detached_storm, NULL);
}

static void fills_the_table(void *arg unused_arg)
{
	roost_pid pid[16];
	int n = 0, err;

	while (!(err = roost_spawn(parks_for_ever, NULL, &pid[n])))
		n++;
	CHECK_EQ(err, -EAGAIN);
	CHECK_EQ(n, 9);
	CHECK_EQ(roost_spawn(parks_for_ever, NULL, NULL), -EAGAIN);
	CHECK_EQ(roost_stop(pid[3]), 0);
	join(pid[3]);
	CHECK_EQ(roost_spawn(parks_for_ever, NULL, &pid[3]), 0);
	while (n--) {
		CHECK_EQ(roost_stop(pid[n]), 0);
		join(pid[n]);
	}
	if (tap_failed())
		_exit(1);
}

static void fills_the_table_in_child(void *arg unused_arg)
{
	struct roost_config config = { .workers = 2, .max_actors = 10 };

	if (roost_run(&config, fills_the_table, NULL))
		_exit(2);
}

ROOST_TEST(s0_13_a_full_table_says_so_and_names_the_knob)
{
	char text[1024], *first;
	int status = in_child_stderr(fills_the_table_in_child, NULL, text,
				     sizeof(text));

	CHECK_MSG(EXITED(status, 0), "status 0x%x", status);
	first = strstr(text, "max_actors");
	CHECK_MSG(first, "message: %s", text);
	CHECK_MSG(strstr(text, "10 actors live") && strstr(text, "20"),
		  "message: %s", text);
	/* Once. */
	CHECK(first && !strstr(first + 1, "max_actors"));
}

/* S2-31 */
ACTOR_TEST(s0_18_a_stale_pid_does_nothing_to_the_new_tenant, usually(2))
{
	roost_pid old = spawn(counts, NULL);
	roost_pid new;

	join(old);
	new = spawn(parks_for_ever, NULL);
	CHECK_EQ((uint32_t)old, (uint32_t)new);
	CHECK(old != new);
	CHECK_EQ(roost_join(old, ROOST_FOREVER), -ESRCH);
	CHECK_EQ(roost_unpark(old), -ESRCH);
	CHECK_EQ(roost_detach(old), -ESRCH);
	CHECK_EQ(roost_stop(old), -ESRCH);
	CHECK_EQ(roost_join(new, roost_after(ROOST_MSEC(5))), -ETIMEDOUT);
	CHECK_EQ(roost_stop(new), 0);
	join(new);
}

ACTOR_TEST(s0_12_forged_pids_name_nobody, usually(1))
{
	static const roost_pid forged[] = {
		ROOST_PID_NONE, 1ULL << 31, 16384, 16383, 0xffffffff,
		1ULL << 63, 5ULL << 32 | 3, 1ULL << 32,
	};
	size_t i;

	for (i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
		CHECK_EQ(roost_join(forged[i], ROOST_FOREVER), -ESRCH);
		CHECK_EQ(roost_unpark(forged[i]), -ESRCH);
		CHECK_EQ(roost_stop(forged[i]), -ESRCH);
		CHECK_EQ(roost_detach(forged[i]), -ESRCH);
	}
}

ACTOR_TEST(join_self_is_a_deadlock, usually(1))
{
	CHECK_EQ(roost_join(roost_self(), ROOST_FOREVER), -EDEADLK);
}

/* S0-47 */
ACTOR_TEST(join_before_and_after_the_end, usually(2))
{
	roost_pid early = spawn(counts, NULL), late = spawn(counts, NULL);
	roost_pid detached = spawn(counts, NULL);

	join(early);
	roost_sleep(ROOST_MSEC(5));
	join(late);
	CHECK_EQ(roost_join(late, ROOST_FOREVER), -ESRCH);
	CHECK_EQ(roost_detach(detached), 0);
	CHECK_EQ(roost_detach(detached), -ESRCH);
	CHECK_EQ(roost_join(detached, ROOST_FOREVER), -ESRCH);
}

/* S2-30 */
ACTOR_TEST(join_with_a_deadline_keeps_the_handle, usually(2))
{
	roost_pid pid = spawn(parks_for_ever, NULL);

	CHECK_EQ(roost_join(pid, 0), -ETIMEDOUT);
	CHECK_EQ(roost_join(pid, roost_after(ROOST_MSEC(3))), -ETIMEDOUT);
	CHECK_EQ(roost_stop(pid), 0);
	join(pid);
}

/* A hundred actors join one, some before, some during, some after its end. */
static roost_pid target;
static _Atomic int joined_ok, joined_late;

static void joins_target(void *arg)
{
	uint64_t r = (uint64_t)(uintptr_t)arg;
	int err;

	if (random_percent(&r, 50))
		roost_sleep(random_below(&r, ROOST_USEC(300)));
	err = roost_join(target, ROOST_FOREVER);
	CHECK(err == 0 || err == -ESRCH);
	atomic_fetch_add(err ? &joined_late : &joined_ok, 1);
}

static void ends_soon(void *arg unused_arg)
{
	roost_sleep(ROOST_USEC(100));
}

ACTOR_TEST(s0_49_a_hundred_joiners, usually(3))
{
	enum { N = 100 };
	unsigned long k, n = rounds(100);
	roost_pid pid[N];
	uintptr_t i;

	for (k = 0; k < n; k++) {
		atomic_store(&joined_ok, 0);
		atomic_store(&joined_late, 0);
		target = spawn(ends_soon, NULL);
		for (i = 0; i < N; i++)
			pid[i] = spawn(joins_target, (void *)(i + k * N));
		for (i = 0; i < N; i++)
			join(pid[i]);
		CHECK(atomic_load(&joined_ok) >= 1);
		CHECK_EQ(atomic_load(&joined_ok) + atomic_load(&joined_late), N);
	}
}

/* Stop, in every state. */

static void sleeps_for_ever(void *arg unused_arg)
{
	CHECK_EQ(roost_sleep(ROOST_FOREVER), -ECANCELED);
}

static void sleeps_long(void *arg unused_arg)
{
	CHECK_EQ(roost_sleep(ROOST_SEC(100)), -ECANCELED);
}

static void parks_with_deadline(void *arg unused_arg)
{
	CHECK_EQ(roost_park(roost_after(ROOST_SEC(100))), -ECANCELED);
}

static roost_pid joined_by_stopped;

static void joins_for_ever(void *arg unused_arg)
{
	CHECK_EQ(roost_join(joined_by_stopped, ROOST_FOREVER), -ECANCELED);
}

static _Atomic bool began;

static void is_stopped_then(void *arg unused_arg)
{
	atomic_store(&began, true);
	while (!roost_stopped())
		roost_yield();
	CHECK_EQ(roost_sleep(ROOST_MSEC(1)), -ECANCELED);
	CHECK_EQ(roost_sleep(0), -ECANCELED);
	CHECK_EQ(roost_park(0), -ECANCELED);
	CHECK_EQ(roost_park(ROOST_FOREVER), -ECANCELED);
	roost_unpark(roost_self());
	CHECK_EQ(roost_park(ROOST_FOREVER), -ECANCELED);
	CHECK_EQ(roost_join(joined_by_stopped, ROOST_FOREVER), -ECANCELED);
	CHECK_EQ(roost_stopped(), 1);
	roost_yield();
	atomic_fetch_add(&ran, 1);
}

/* S3-27 */
ACTOR_TEST(s0_63_stop_ends_every_wait, usually(2))
{
	static void (*const bodies[])(void *) = {
		sleeps_for_ever, sleeps_long, parks_for_ever,
		parks_with_deadline, joins_for_ever, is_stopped_then,
	};
	roost_pid pid[6];
	int round, i;

	for (round = 0; round < 20; round++) {
		atomic_store(&ran, 0);
		atomic_store(&began, false);
		joined_by_stopped = spawn(parks_for_ever, NULL);
		for (i = 0; i < 6; i++)
			pid[i] = spawn(bodies[i], NULL);
		roost_sleep(round % 2 ? ROOST_MSEC(2) : 0);
		if (round % 2) {
			/* Who is stopped before it runs never does. */
			while (!atomic_load(&began))
				roost_yield();
			for (i = 0; i < 6; i++)
				CHECK_EQ(roost_stop(pid[i]), 0);
		} else {
			/* Perhaps before it parks, perhaps before it runs. */
			for (i = 5; i >= 0; i--)
				CHECK_EQ(roost_stop(pid[i]), 0);
		}
		for (i = 0; i < 6; i++)
			join(pid[i]);
		if (round % 2)
			CHECK_EQ(atomic_load(&ran), 1);
		CHECK_EQ(roost_stop(joined_by_stopped), 0);
		join(joined_by_stopped);
	}
}

ACTOR_TEST(s0_46_stopped_before_it_ran_it_never_runs, 1)
{
	roost_pid pid[10];
	int i;

	atomic_store(&ran, 0);
	for (i = 0; i < 10; i++)
		pid[i] = spawn(counts, NULL);
	for (i = 0; i < 10; i += 2)
		CHECK_EQ(roost_stop(pid[i]), 0);
	for (i = 0; i < 10; i++)
		join(pid[i]);
	CHECK_EQ(atomic_load(&ran), 5);
}

static void stops_itself(void *arg unused_arg)
{
	CHECK_EQ(roost_stop(roost_self()), 0);
	CHECK_EQ(roost_stopped(), 1);
	CHECK_EQ(roost_sleep(ROOST_SEC(50)), -ECANCELED);
}

ACTOR_TEST(an_actor_may_stop_itself, usually(1))
{
	roost_pid pid = spawn(stops_itself, NULL);

	join(pid);
	CHECK_EQ(roost_stop(pid), -ESRCH);
}

static void exits_deep(int depth)
{
	if (depth < 0)
		return;
	if (depth)
		exits_deep(depth - 1);
	else
		roost_exit();
	atomic_fetch_add(&ran, 1);
}

static void exits(void *arg unused_arg)
{
	exits_deep(20);
}

ACTOR_TEST(exit_ends_the_actor_from_any_depth, usually(1))
{
	atomic_store(&ran, 0);
	join(spawn(exits, NULL));
	CHECK_EQ(atomic_load(&ran), 0);
}

/* Spawn, stop, detach and join meet in all orders. */
static void lifecycle_storm(void *arg)
{
	uint64_t r = (uint64_t)(uintptr_t)arg;
	unsigned long i, n = rounds(3000);

	for (i = 0; i < n; i++) {
		roost_pid pid = spawn(random_percent(&r, 50) ? parks_for_ever :
				      counts, NULL);
		int err;

		if (random_percent(&r, 50))
			roost_yield();
		err = roost_stop(pid);
		CHECK(err == 0 || err == -ESRCH);
		if (random_percent(&r, 50))
			CHECK_EQ(roost_detach(pid), 0);
		else
			join(pid);
	}
}

/* S0-28, S0-77 */
ACTOR_TEST(s0_48_lifecycle_storm, usually(3))
{
	uintptr_t seed = (uintptr_t)tap_seed(5), i;
	roost_pid pid[8];

	for (i = 0; i < 8; i++)
		pid[i] = spawn(lifecycle_storm, (void *)(seed + i));
	for (i = 0; i < 8; i++)
		join(pid[i]);
}
