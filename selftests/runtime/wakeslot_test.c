// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * wakeslot_test.c - who is woken by an actor runs next, and nobody suffers from it
 * (S0-34 to S0-41).
 *
 * Where an order is expected, all happens on one worker, while its thread is inside of
 * the library or cannot be lost; what a second thread could change is not asked for.
 */
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include "runtime.h"
#include "wakeslot.h"

#include "inside.h"
#include "takeover_help.h"

static const struct roost_config on_one = {
	.workers = 1, .wake_slot = ROOST_WAKE_SLOT_ON, .standbys = ROOST_NO_STANDBYS,
};

static const struct roost_config off_one = {
	.workers = 1, .wake_slot = ROOST_WAKE_SLOT_OFF, .standbys = ROOST_NO_STANDBYS,
};

/* Who ran in which order. */
static char order[64];
static _Atomic unsigned int nr_ran;

static void note(char c)
{
	order[atomic_fetch_add(&nr_ran, 1) % (sizeof(order) - 1)] = c;
}

static void forget(void)
{
	memset(order, 0, sizeof(order));
	atomic_store(&nr_ran, 0);
}

static void parks_and_notes(void *arg)
{
	CHECK_EQ(roost_park(ROOST_FOREVER), 0);
	note(*(char *)arg);
}

static void notes(void *arg)
{
	note(*(char *)arg);
}

/* Two that are parked, and one that is queued before either is woken. */
static void wakes_two(void *arg unused_arg)
{
	roost_pid a, b, q;

	forget();
	a = spawn(parks_and_notes, "a");
	b = spawn(parks_and_notes, "b");
	roost_yield();
	q = spawn(notes, "q");
	roost_unpark(a);
	roost_unpark(b);
	join(a);
	join(b);
	join(q);
}

static void woken_runs_next(void *arg)
{
	wakes_two(arg);
	/* The newer first; the older behind who was queued before. */
	CHECK_STREQ(order, "bqa");
	CHECK_EQ(stats_now().slot_displaced, 1);
	CHECK(stats_now().slot_hits > 0);
}

ROOST_TEST(s0_36_a_newer_wake_displaces_the_older)
{
	run_with(&on_one, woken_runs_next, NULL);
}

static void woken_is_queued(void *arg)
{
	wakes_two(arg);
	CHECK_STREQ(order, "qab");
	CHECK_EQ(stats_now().slot_hits, 0);
	CHECK_EQ(stats_now().slot_displaced, 0);
}

ROOST_TEST(s0_08_no_slot_if_it_is_off)
{
	run_with(&off_one, woken_is_queued, NULL);
}

/* Ping-pong */

struct pong {
	_Atomic roost_pid peer;
	_Atomic bool *enough;
	unsigned long limit;
	_Atomic unsigned long n;
};

static void pongs(void *arg)
{
	struct pong *p = arg;

	while (atomic_load(&p->peer) == ROOST_PID_NONE)
		roost_yield();
	while (!atomic_load(p->enough) && atomic_load(&p->n) < p->limit) {
		atomic_fetch_add(&p->n, 1);
		roost_unpark(atomic_load(&p->peer));
		if (roost_park(ROOST_FOREVER))
			break;
	}
	roost_unpark(atomic_load(&p->peer));
}

static void pair_start(struct pong p[2], _Atomic bool *enough, unsigned long limit)
{
	int i;

	for (i = 0; i < 2; i++) {
		atomic_init(&p[i].n, 0);
		atomic_init(&p[i].peer, ROOST_PID_NONE);
		p[i].enough = enough;
		p[i].limit = limit;
	}
	atomic_store(&p[1].peer, spawn(pongs, &p[0]));
	atomic_store(&p[0].peer, spawn(pongs, &p[1]));
}

static void pair_end(struct pong p[2])
{
	roost_unpark(atomic_load(&p[0].peer));
	roost_unpark(atomic_load(&p[1].peer));
	join(atomic_load(&p[0].peer));
	join(atomic_load(&p[1].peer));
}

static void hits_are_counted(void *arg unused_arg)
{
	_Atomic bool enough = false;
	struct roost_stats s;
	struct pong p[2];

	s = stats_now();
	CHECK_EQ(s.slot_hits, 0);
	CHECK_EQ(s.slot_displaced, 0);
	pair_start(p, &enough, 1000);
	pair_end(p);
	s = stats_now();
	CHECK(s.slot_hits > 1500);
	CHECK(s.slot_hits <= 2010);
}

ROOST_TEST(s0_37_s0_41_hits_are_counted_and_begin_at_0)
{
	run_with(&on_one, hits_are_counted, NULL);
	run_with(&on_one, hits_are_counted, NULL);
}

/* Spawns, yields and expiries. */
static void yields_and_sleeps(void *arg unused_arg)
{
	int i;

	for (i = 0; i < 20; i++) {
		roost_yield();
		roost_sleep(ROOST_USEC(10));
	}
}

static void no_hits(void *arg unused_arg)
{
	roost_pid pid[20];
	int i;

	for (i = 0; i < 20; i++)
		pid[i] = spawn(yields_and_sleeps, NULL);
	for (i = 0; i < 20; i++)
		join(pid[i]);
	CHECK_EQ(stats_now().slot_hits, 0);
	CHECK_EQ(stats_now().slot_displaced, 0);
}

ROOST_TEST(s0_35_s0_39_only_wakes_by_actors_go_there)
{
	run_with(&on_one, no_hits, NULL);
}

/*
 * The pair never stops by itself: who is queued, who sleeps, and who is woken by a
 * thread outside come to run all the same.
 */
struct outsider {
	_Atomic roost_pid pid;
	pthread_t thread;
};

static void *unparks(void *arg)
{
	struct outsider *o = arg;

	usleep(2000);
	CHECK_EQ(roost_unpark(atomic_load(&o->pid)), 0);
	return NULL;
}

static void waits_for_outsider(void *arg)
{
	struct outsider *o = arg;

	atomic_store(&o->pid, roost_self());
	CHECK_EQ(pthread_create(&o->thread, NULL, unparks, o), 0);
	CHECK_EQ(roost_park(roost_after(ROOST_SEC(60))), 0);
	CHECK_EQ(pthread_join(o->thread, NULL), 0);
}

static void reads_a_pipe(void *arg)
{
	int *fd = arg;
	char c;

	CHECK_EQ(roost_read(fd[0], &c, 1, roost_after(ROOST_SEC(60))), 1);
}

/* Both halves go through the ring, where there is one. */
static void sends_and_receives(void *arg)
{
	int *fd = arg, i;
	char c = 'x';

	for (i = 0; i < 10; i++) {
		CHECK_EQ(roost_send(fd[0], &c, 1, 0, roost_after(ROOST_SEC(60))), 1);
		CHECK_EQ(roost_recv(fd[1], &c, 1, 0, roost_after(ROOST_SEC(60))), 1);
	}
}

static void others_run_beside_a_pair(void *arg unused_arg)
{
	_Atomic bool enough = false;
	struct outsider o;
	int pipe_fd[2], fd[2];
	struct pong p[8];
	roost_pid q, t, w, r, s;
	int i;

	CHECK_EQ(roost_pipe(pipe_fd), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	CHECK_EQ(roost_fd_adopt(fd[0]), 0);
	CHECK_EQ(roost_fd_adopt(fd[1]), 0);
	for (i = 0; i < 8; i += 2)
		pair_start(&p[i], &enough, ~0UL);
	r = spawn(reads_a_pipe, pipe_fd);
	s = spawn(sends_and_receives, fd);
	q = spawn(yields_and_sleeps, NULL);
	t = spawn(yields_and_sleeps, NULL);
	w = spawn(waits_for_outsider, &o);
	join(q);
	join(t);
	join(w);
	join(s);
	CHECK_EQ(write(pipe_fd[1], "x", 1), 1);
	join(r);
	atomic_store(&enough, true);
	for (i = 0; i < 8; i += 2)
		pair_end(&p[i]);
	CHECK(stats_now().slot_hits > 0);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(roost_close(pipe_fd[i]), 0);
		CHECK_EQ(roost_close(fd[i]), 0);
	}
}

ROOST_TEST(s0_38_a_pair_that_never_stops_keeps_nobody_waiting)
{
	static const unsigned int workers[] = { 1, 2, 4 };
	struct roost_config config = { .wake_slot = ROOST_WAKE_SLOT_ON };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(workers); i++) {
		/* By turns only by the end of the slice, or by what comes before. */
		config.timeslice = i % 2 ? 0 : ~0U;
		for (config.runq = ROOST_RUNQ_MUTEX; config.runq <= ROOST_RUNQ_STEAL;
		     config.runq++) {
			config.workers = workers[i];
			run_with(&config, others_run_beside_a_pair, NULL);
		}
	}
}

/*
 * Nothing is ever queued but the pair in the wake slot, and the worker never parks: what
 * others have staged is handed over all the same.
 */
static void sleeps_once(void *arg unused_arg)
{
	CHECK_EQ(roost_sleep(ROOST_MSEC(1)), 0);
}

static void staged_beside_one_pair(void *arg unused_arg)
{
	_Atomic bool enough = false;
	struct pong p[2];
	int fd[2], i;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	CHECK_EQ(roost_fd_adopt(fd[0]), 0);
	CHECK_EQ(roost_fd_adopt(fd[1]), 0);
	pair_start(p, &enough, ~0UL);
	join(spawn(sends_and_receives, fd));
	join(spawn(sleeps_once, NULL));
	CHECK_EQ(roost_fd_wait(fd[0], POLLOUT, roost_after(ROOST_SEC(60))), POLLOUT);
	atomic_store(&enough, true);
	pair_end(p);
	for (i = 0; i < 2; i++)
		CHECK_EQ(roost_close(fd[i]), 0);
}

ROOST_TEST(what_is_staged_is_handed_over_beside_a_pair)
{
	struct roost_config config = on_one;

	config.timeslice = ~0U;
	for (config.workers = 1; config.workers <= 2; config.workers++)
		run_with(&config, staged_beside_one_pair, NULL);
}

/*
 * Who was woken is not stranded when the waker computes, and all others sleep or are
 * busy with a pair of their own.
 */
static _Atomic bool ran;
static _Atomic roost_pid sleeper;

static void says_that_it_ran(void *arg unused_arg)
{
	CHECK_EQ(roost_park(ROOST_FOREVER), 0);
	atomic_store(&ran, true);
}

static void wakes_and_computes(void *arg unused_arg)
{
	uint64_t limit = roost_after(ROOST_SEC(30));

	CHECK_EQ(roost_unpark(atomic_load(&sleeper)), 0);
	while (!atomic_load(&ran) && roost_now() < limit)
		sched_yield();
	CHECK(atomic_load(&ran));
}

static void nobody_is_stranded(void *arg)
{
	_Atomic bool enough = false;
	struct pong p[2];
	roost_pid a, b;
	int i;

	if (*(bool *)arg)
		pair_start(p, &enough, ~0UL);
	for (i = 0; i < 20 && !tap_failed(); i++) {
		atomic_store(&ran, false);
		a = spawn(says_that_it_ran, NULL);
		atomic_store(&sleeper, a);
		roost_sleep(ROOST_MSEC(1));
		b = spawn(wakes_and_computes, NULL);
		join(b);
		join(a);
	}
	atomic_store(&enough, true);
	if (*(bool *)arg)
		pair_end(p);
}

ROOST_TEST(whoever_was_woken_by_one_who_computes_runs_elsewhere)
{
	/* Else the waker loses its worker, and the slot with it, sooner or later. */
	struct roost_config config = {
		.wake_slot = ROOST_WAKE_SLOT_ON, .standbys = ROOST_NO_STANDBYS,
	};
	bool busy;

	for (config.workers = 2; config.workers <= 4; config.workers++) {
		busy = false;
		run_with(&config, nobody_is_stranded, &busy);
		busy = true;
		run_with(&config, nobody_is_stranded, &busy);
	}
}

/*
 * The thread that looks at the slots goes to sleep for good, a while after the last one
 * was filled, and must not miss one that is filled just then.  When that is, is found by
 * trying.
 */
static _Atomic unsigned long wakes;

static void counts_wakes(void *arg unused_arg)
{
	while (!roost_park(ROOST_FOREVER))
		atomic_fetch_add(&wakes, 1);
}

static void compute_until(uint64_t time)
{
	while (roost_now() < time)
		;
}

static void fills_when_it_falls_asleep(void *arg unused_arg)
{
	struct runtime *rt = runtime_self();
	uint64_t wait = ROOST_MSEC(4), limit, r = tap_seed(1);
	roost_pid pid = spawn(counts_wakes, NULL);
	unsigned long i, n = rounds(400), asleep = 0;

	atomic_store(&wakes, 0);
	for (i = 1; i <= n && !tap_failed(); i++) {
		uint64_t step = random_below(&r, ROOST_USEC(64));

		compute_until(roost_now() + wait);
		if (atomic_load(&rt->watch.word) == WATCH_ASLEEP) {
			asleep++;
			wait -= step < wait ? step : wait;
		} else {
			wait += step;
		}
		CHECK_EQ(roost_unpark(pid), 0);
		limit = roost_after(ROOST_SEC(30));
		while (atomic_load(&wakes) != i && roost_now() < limit)
			sched_yield();
		CHECK_EQ(atomic_load(&wakes), i);
	}
	printf("# %lu of %lu while it slept\n", asleep, n);
	CHECK_EQ(roost_stop(pid), 0);
	join(pid);
}

ROOST_TEST(a_slot_filled_when_its_watch_falls_asleep_is_looked_at)
{
	struct roost_config config = {
		.workers = 2, .wake_slot = ROOST_WAKE_SLOT_ON, .timeslice = ~0U,
		.standbys = ROOST_NO_STANDBYS,
	};

	run_with(&config, fills_when_it_falls_asleep, NULL);
}

/* With one worker nobody else can come: the slot goes with the worker to who stands by. */
static int blocking[2];

static void writes_when_woken(void *arg unused_arg)
{
	CHECK_EQ(roost_park(ROOST_FOREVER), 0);
	CHECK_EQ(write(blocking[1], "x", 1), 1);
}

static void wakes_and_blocks(void *arg)
{
	char c;

	CHECK_EQ(roost_unpark(*(roost_pid *)arg), 0);
	CHECK_EQ(read(blocking[0], &c, 1), 1);
}

static void slot_goes_with_worker(void *arg unused_arg)
{
	roost_pid a, b;
	int i;

	CHECK(runtime_self()->wake_slot && runtime_self()->takeover);
	CHECK_EQ(pipe(blocking), 0);
	for (i = 0; i < 10; i++) {
		a = spawn(writes_when_woken, NULL);
		roost_yield();
		b = spawn(wakes_and_blocks, &a);
		join(b);
		join(a);
	}
	CHECK(stats_now().takeovers > 0);
	close(blocking[0]);
	close(blocking[1]);
}

TAKEOVER_TEST(the_slot_goes_with_a_worker_that_is_taken_over)
{
	struct roost_config config = {
		.workers = 1, .wake_slot = ROOST_WAKE_SLOT_ON,
	};

	run_with(&config, slot_goes_with_worker, NULL);
}

/* A fill wakes no worker, though others are idle. */
static void fills_quietly(void *arg unused_arg)
{
	_Atomic bool enough = false;
	struct roost_stats before, after;
	struct pong p[2];

	pair_start(p, &enough, ~0UL);
	/* Both are on one worker, or meet on one soon. */
	roost_sleep(ROOST_MSEC(50));
	before = stats_now();
	roost_sleep(ROOST_MSEC(50));
	after = stats_now();
	atomic_store(&enough, true);
	pair_end(p);
	printf("# %lu hits, %lu wakes\n",
	       (unsigned long)(after.slot_hits - before.slot_hits),
	       (unsigned long)(after.wakes_sent - before.wakes_sent));
	CHECK(after.slot_hits > before.slot_hits);
	CHECK(after.wakes_sent - before.wakes_sent <
	      (after.slot_hits - before.slot_hits) / 100 + 20);
}

ROOST_TEST(s0_34_a_fill_wakes_nobody)
{
	/* A thread that was displaced wakes somebody for the actor that it had. */
	struct roost_config config = {
		.workers = 2, .wake_slot = ROOST_WAKE_SLOT_ON,
		/* Whose slice is over yields, which does wake. */
		.timeslice = ~0U,
		.standbys = ROOST_NO_STANDBYS,
	};

	run_with(&config, fills_quietly, NULL);
}

/* S0-40: whoever is idle has nobody in its slot. */
static void idle_slots_are_empty(void *arg unused_arg)
{
	struct runtime *rt = runtime_self();
	unsigned int i, idle = 0, tries = 0;
	_Atomic bool enough = false;
	struct pong p[8];

	for (i = 0; i < 8; i += 2)
		pair_start(&p[i], &enough, ~0UL);
	roost_sleep(ROOST_MSEC(5));
	atomic_store(&enough, true);
	for (i = 0; i < 8; i += 2)
		pair_end(&p[i]);
	while (idle != 3 && tries++ < 1000) {
		roost_sleep(ROOST_MSEC(1));
		idle = (unsigned int)__builtin_popcountll(stats_now().idle_mask[0]);
	}
	CHECK_EQ(idle, 3);
	for (i = 0; i < 4; i++)
		CHECK(!worker_has_next(&rt->workers[i]));
}

ROOST_TEST(s0_40_who_is_idle_has_nobody_in_its_slot)
{
	struct roost_config config = {
		.workers = 4, .wake_slot = ROOST_WAKE_SLOT_ON,
	};

	run_with(&config, idle_slots_are_empty, NULL);
}

/* The slot itself. */
static void puts_and_takes(void *arg unused_arg)
{
	struct runtime *rt = runtime_self();
	struct worker *w = &rt->workers[0];
	struct slot *a = &rt->slots[100], *b = &rt->slots[101];

	/* Never used, so they have no numbers yet. */
	a->index = 100;
	b->index = 101;
	CHECK(!worker_has_next(w));
	CHECK(!wakeslot_take(w));
	CHECK(!wakeslot_put(w, a));
	CHECK(worker_has_next(w));
	CHECK(wakeslot_any(rt));
	CHECK(wakeslot_put(w, b) == a);
	CHECK(wakeslot_take(w) == b);
	CHECK(!wakeslot_take(w));
	CHECK(!wakeslot_any(rt));
	CHECK_EQ(atomic_load(&w->stats.slot_displaced), 1);
}

static void puts_and_takes_inside(void *arg)
{
	INSIDE(({ puts_and_takes(arg); 0; }));
}

ROOST_TEST(the_place_of_one)
{
	run_with(&on_one, puts_and_takes_inside, NULL);
}

/* Which one, knob or environment. */
static bool has_slot;

static void says_whether_on(void *arg unused_arg)
{
	has_slot = runtime_self()->wake_slot;
}

static bool is_on(const char *environment, enum roost_wake_slot knob)
{
	struct roost_config config = { .workers = 2, .wake_slot = knob };
	char before[16] = "";

	if (getenv("ROOST_WAKE_SLOT"))
		snprintf(before, sizeof(before), "%s", getenv("ROOST_WAKE_SLOT"));
	setenv("ROOST_WAKE_SLOT", environment, 1);
	run_with(&config, says_whether_on, NULL);
	setenv("ROOST_WAKE_SLOT", before, 1);
	return has_slot;
}

static void starts_with_a_wrong_word(void *arg unused_arg)
{
	setenv("ROOST_WAKE_SLOT", "maybe", 1);
	_exit(roost_run(NULL, says_whether_on, NULL) == -EINVAL ? 3 : 4);
}

ROOST_TEST(s0_08_on_and_off)
{
	char text[400];

	CHECK(is_on("", ROOST_WAKE_SLOT_ON));
	CHECK(!is_on("", ROOST_WAKE_SLOT_OFF));
	CHECK(is_on("off", ROOST_WAKE_SLOT_ON));
	CHECK(!is_on("on", ROOST_WAKE_SLOT_OFF));
	CHECK(is_on("on", ROOST_WAKE_SLOT_DEFAULT));
	CHECK(!is_on("off", ROOST_WAKE_SLOT_DEFAULT));
	CHECK_EQ(is_on("default", ROOST_WAKE_SLOT_DEFAULT),
		 is_on("", ROOST_WAKE_SLOT_DEFAULT));
	CHECK(EXITED(in_child_stderr(starts_with_a_wrong_word, NULL, text,
				     sizeof(text)), 3));
	CHECK(strstr(text, "ROOST_WAKE_SLOT is \"maybe\""));
}
