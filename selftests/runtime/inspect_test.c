// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* What roost_actors() says of actors of every kind, also while they change. */
#include <poll.h>
#include <sys/socket.h>

#include "arch/arch.h"
#include ARCH_HEADER(cycles.h)
#include "run.h"

#define MANY	64

static struct roost_actor_info list[MANY + 8];

/* Of the last look; NULL if it was not seen. */
static const struct roost_actor_info *seen(roost_pid pid)
{
	ssize_t i, n = roost_actors(list, sizeof(list) / sizeof(*list));

	for (i = 0; i < n; i++)
		if (list[i].pid == pid)
			return &list[i];
	return NULL;
}

/* Look until it waits for @what; that may take a while. */
static void check_waits(roost_pid pid, enum roost_waits_for what)
{
	const struct roost_actor_info *a;

	do {
		roost_yield();
		a = seen(pid);
		REQUIRE(a);
	} while (a->doing != ROOST_DOING_WAITING);
	CHECK_EQ(a->waits_for, what);
	CHECK_EQ(a->worker, -1);
	CHECK_EQ(a->stopped, 0);
}

static void end(roost_pid pid)
{
	CHECK_EQ(roost_stop(pid), 0);
	CHECK_EQ(roost_join(pid, ROOST_FOREVER), 0);
}

static void parks(void *arg unused_arg)
{
	while (roost_park(ROOST_FOREVER) != -ECANCELED)
		;
}

static void sleeps(void *arg unused_arg)
{
	roost_sleep_until(ROOST_FOREVER - 1);
}

static void joins(void *arg)
{
	roost_join(*(roost_pid *)arg, ROOST_FOREVER);
}

static void waits_for_file(void *arg)
{
	roost_fd_wait(*(int *)arg, POLLIN, ROOST_FOREVER);
}

static void receives(void *arg)
{
	char byte;

	roost_recv(*(int *)arg, &byte, 1, 0, ROOST_FOREVER);
}

/* S0-30, S3-32 */
ACTOR_TEST(each_kind_of_wait, 1)
{
	struct roost_stats stats;
	roost_pid parked, pid;
	int s[2], p[2];

	CHECK_EQ(roost_spawn(parks, NULL, &parked), 0);
	check_waits(parked, ROOST_WAITS_UNPARK);
	CHECK_EQ(roost_spawn(sleeps, NULL, &pid), 0);
	check_waits(pid, ROOST_WAITS_TIME);
	end(pid);
	CHECK_EQ(roost_spawn(joins, &parked, &pid), 0);
	check_waits(pid, ROOST_WAITS_END);
	end(pid);
	REQUIRE_EQ(pipe(p), 0);
	CHECK_EQ(roost_spawn(waits_for_file, &p[0], &pid), 0);
	check_waits(pid, ROOST_WAITS_FILE);
	end(pid);
	REQUIRE_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(roost_fd_adopt(s[0]), 0);
	CHECK_EQ(roost_spawn(receives, &s[0], &pid), 0);
	CHECK_EQ(roost_stats(&stats), 0);
	/* one backend waits for readiness, the other has an operation for it */
	check_waits(pid, stats.backend[0] == 'k' ? ROOST_WAITS_IO :
						   ROOST_WAITS_FILE);
	end(pid);
	end(parked);
	roost_close(s[0]);
	close(s[1]);
	close(p[0]);
	close(p[1]);
}

static void ends(void *arg unused_arg)
{
}

/* S0-30, S3-32: of one worker the only one that runs is who looks. */
ACTOR_TEST(ready_running_and_ended, 1)
{
	const struct roost_actor_info *a;
	roost_pid pid;

	a = seen(roost_self());
	REQUIRE(a);
	CHECK_EQ(a->doing, ROOST_DOING_RUNNING);
	CHECK_EQ(a->worker, 0);
	CHECK_EQ(roost_spawn(ends, NULL, &pid), 0);
	a = seen(pid);
	REQUIRE(a);
	CHECK_EQ(a->doing, ROOST_DOING_READY);
	CHECK_EQ(a->worker, -1);
	roost_yield();
	a = seen(pid);
	REQUIRE(a);
	CHECK_EQ(a->doing, ROOST_DOING_ENDED);
	CHECK_EQ(roost_join(pid, ROOST_FOREVER), 0);
	CHECK(!seen(pid));
	/* another tenant of the slot is another actor */
	CHECK_EQ(roost_spawn(ends, NULL, NULL), 0);
	CHECK(!seen(pid));
	CHECK_EQ(roost_actors(NULL, 0), 2);
}

static _Atomic int spinning;

static void spins(void *arg unused_arg)
{
	atomic_fetch_add(&spinning, 1);
	while (atomic_load(&spinning) > 0)
		;
}

/* Each on a worker of its own. */
ACTOR_TEST(who_runs_is_told_with_the_worker, 3)
{
	const struct roost_actor_info *a;
	unsigned int i, mask;
	roost_pid pid[2];

	atomic_store(&spinning, 0);
	for (i = 0; i < 2; i++)
		CHECK_EQ(roost_spawn(spins, NULL, &pid[i]), 0);
	while (atomic_load(&spinning) < 2)
		roost_yield();
	a = seen(roost_self());
	REQUIRE(a);
	REQUIRE(a->worker >= 0 && a->worker < 3);
	mask = 1U << a->worker;
	for (i = 0; i < 2; i++) {
		a = seen(pid[i]);
		REQUIRE(a);
		CHECK_EQ(a->doing, ROOST_DOING_RUNNING);
		REQUIRE(a->worker >= 0 && a->worker < 3);
		mask |= 1U << a->worker;
	}
	CHECK_EQ(mask, 7);
	atomic_store(&spinning, -1);
	for (i = 0; i < 2; i++)
		CHECK_EQ(roost_join(pid[i], ROOST_FOREVER), 0);
}

static void waits_to_end(void *arg unused_arg)
{
	roost_check();
	while (!roost_stopped())
		roost_yield();
}

ACTOR_TEST(names_and_stops, 1)
{
	const struct roost_spawn_options named = { .name = "fifteen letters" };
	const struct roost_spawn_options longer = { .name = "more than that by far" };
	const struct roost_actor_info *a;
	roost_pid pid;

	a = seen(roost_self());
	REQUIRE(a);
	CHECK_STREQ(a->name, "");
	CHECK_EQ(roost_set_name("root"), 0);
	CHECK_STREQ(seen(roost_self())->name, "root");
	CHECK_EQ(roost_set_name("a"), 0);
	CHECK_STREQ(seen(roost_self())->name, "a");
	CHECK_EQ(roost_set_name(NULL), 0);
	CHECK_STREQ(seen(roost_self())->name, "");

	CHECK_EQ(roost_spawn_with(waits_to_end, NULL, &named, &pid), 0);
	CHECK_STREQ(seen(pid)->name, "fifteen letters");
	roost_yield();
	CHECK_EQ(seen(pid)->stopped, 0);
	CHECK_EQ(roost_stop(pid), 0);
	CHECK_EQ(seen(pid)->stopped, 1);
	CHECK_EQ(roost_join(pid, ROOST_FOREVER), 0);
	CHECK_EQ(roost_spawn_with(ends, NULL, &longer, &pid), 0);
	CHECK_STREQ(seen(pid)->name, "more than that ");
	CHECK_EQ(roost_join(pid, ROOST_FOREVER), 0);
	/* the slot's next tenant has none */
	CHECK_EQ(roost_spawn(ends, NULL, &pid), 0);
	CHECK_STREQ(seen(pid)->name, "");
	CHECK_EQ(roost_join(pid, ROOST_FOREVER), 0);
}

static void computes(void *arg unused_arg)
{
	while (!roost_check())
		;
}

/* S0-84, S0-31 */
ACTOR_TEST(overruns_are_counted_for_each, 1)
{
	roost_pid pid, other;

	CHECK_EQ(roost_spawn(computes, NULL, &pid), 0);
	CHECK_EQ(roost_spawn(parks, NULL, &other), 0);
	/* we are ready while it has its slice */
	while (seen(pid)->overruns < 3)
		roost_yield();
	CHECK_EQ(seen(other)->overruns, 0);
	end(pid);
	/* the slot's next tenant has had none */
	CHECK_EQ(roost_spawn(parks, NULL, &pid), 0);
	CHECK_EQ(seen(pid)->overruns, 0);
	end(pid);
	end(other);
}

/* So many cycles, counted by itself. */
static uint64_t load;

static void uses_and_parks(void *arg unused_arg)
{
	uint64_t begun = cycles();

	while (cycles() - begun < load)
		;
	parks(NULL);
}

static uint64_t used_by(roost_pid pid)
{
	const struct roost_actor_info *a = seen(pid);

	return a ? a->cycles : 0;
}

/* *@arg: nobody else runs while this does, so that a new actor has not run yet. */
static void known_loads(void *arg)
{
	bool alone = *(bool *)arg;
	uint64_t idle_before, before;
	roost_pid pid, idle;

	load = 10ULL * cycles_usual_slice();
	CHECK_EQ(roost_spawn(parks, NULL, &idle), 0);
	check_waits(idle, ROOST_WAITS_UNPARK);
	idle_before = used_by(idle);
	CHECK(idle_before > 0);
	CHECK_EQ(roost_spawn(uses_and_parks, NULL, &pid), 0);
	CHECK(used_by(pid) == 0 || !alone);
	check_waits(pid, ROOST_WAITS_UNPARK);
	before = used_by(pid);
	CHECK(before >= load);
	CHECK_EQ(used_by(idle), idle_before);
	/* each resume adds to it, those that go from one actor to the next as well */
	CHECK_EQ(roost_unpark(pid), 0);
	check_waits(pid, ROOST_WAITS_UNPARK);
	CHECK(used_by(pid) > before);
	CHECK(used_by(roost_self()) > 0);
	end(pid);
	/* the slot's next tenant has used none */
	CHECK_EQ(roost_spawn(ends, NULL, &pid), 0);
	CHECK(used_by(pid) == 0 || !alone);
	CHECK_EQ(roost_join(pid, ROOST_FOREVER), 0);
	end(idle);
}

/* S0-84, S0-31 */
ROOST_TEST(cycles_are_counted_if_that_is_wanted)
{
	struct roost_config config = {
		.workers = 1, .account = ROOST_ACCOUNT_CYCLES,
		.standbys = ROOST_NO_STANDBYS,
	};
	bool alone = true;

	run_with(&config, known_loads, &alone);
	alone = false;
	config.workers = 3;
	config.standbys = 0;
	run_with(&config, known_loads, &alone);
	config.account <<= 1;
	CHECK_EQ(roost_run(&config, known_loads, &alone), -EINVAL);
}

ACTOR_TEST(cycles_are_not_counted_else, 1)
{
	roost_yield();
	CHECK_EQ(used_by(roost_self()), 0);
}

ACTOR_TEST(a_list_that_is_too_short, 1)
{
	struct roost_actor_info few[3], guard;
	roost_pid pid[10];
	unsigned int i;

	memset(&guard, 0x5a, sizeof(guard));
	for (i = 0; i < 10; i++)
		CHECK_EQ(roost_spawn(parks, NULL, &pid[i]), 0);
	few[2] = guard;
	CHECK_EQ(roost_actors(few, 2), 11);
	CHECK(!memcmp(&few[2], &guard, sizeof(guard)));
	CHECK(few[0].pid != few[1].pid);
	CHECK((uint32_t)few[0].pid < (uint32_t)few[1].pid);
	for (i = 0; i < 10; i++)
		end(pid[i]);
}

ROOST_TEST(outside_of_an_actor)
{
	CHECK_EQ(roost_actors(list, 1), -EPERM);
	CHECK_EQ(roost_set_name("x"), -EPERM);
}

/* A name of eight letters is changed in one step. */
static void renames(void *arg unused_arg)
{
	while (!roost_stopped()) {
		roost_set_name("aaaaaaaa");
		roost_yield();
		roost_set_name("bbbbbbbb");
		roost_yield();
	}
}

static void lives_briefly(void *arg unused_arg)
{
	roost_set_name("cccccccc");
	roost_sleep(1);
}

static void check_one(const struct roost_actor_info *a)
{
	size_t n = strlen(a->name), i;

	CHECK(n == 0 || n == 8);
	for (i = 1; i < n; i++)
		CHECK_EQ(a->name[i], a->name[0]);
	CHECK_EQ(a->doing == ROOST_DOING_WAITING,
		 a->waits_for != ROOST_WAITS_NOT);
	CHECK_EQ(a->doing == ROOST_DOING_RUNNING, a->worker >= 0);
	if (a->doing == ROOST_DOING_WAITING && a->name[0] == 'c')
		CHECK_EQ(a->waits_for, ROOST_WAITS_TIME);
}

ACTOR_TEST(looks_while_all_changes, usually(4))
{
	const struct roost_spawn_options brief = { .name = "cccccccc" };
	unsigned long round, n = rounds(3000);
	roost_pid pid[8];
	ssize_t i, found;

	for (i = 0; i < 8; i++)
		CHECK_EQ(roost_spawn(renames, NULL, &pid[i]), 0);
	for (round = 0; round < n; round++) {
		CHECK_EQ(roost_spawn_with(lives_briefly, NULL, &brief, NULL), 0);
		found = roost_actors(list, sizeof(list) / sizeof(*list));
		REQUIRE(found >= 9);
		for (i = 0; i < found && i < (ssize_t)(sizeof(list) / sizeof(*list)); i++)
			check_one(&list[i]);
		if (found > MANY)
			roost_sleep(1000000);
	}
	for (i = 0; i < 8; i++)
		end(pid[i]);
}
