// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * trace_test.c - what is recorded of actors, that it is in order, and that readers take
 * nothing half written.
 */
#include <pthread.h>
#include <sys/socket.h>

#include "runtime.h"
#include "trace.h"

#include "inside.h"
#include "run.h"

#define MOST	200000

/* Events of all rings, or of one actor. */
static struct event {
	struct roost_trace_event e;
	unsigned int ring;
	unsigned int order;
} events[MOST];

static unsigned int nr_events;

static const char *const words[] = {
	"SPAWN", "ENQUEUE", "DEQUEUE", "SLOT_PUSH", "SLOT_POP", "RESUME", "YIELD",
	"PARK", "DONE", "DISPLACED", "WAKE", "WAKE_EARLY", "NOT_PARKED", "TIMER",
	"IO_BEGIN", "IO_END", "FILE_WAIT", "FILE_READY", "SLEEP", "AWAKE",
};

static const char *word(unsigned int kind)
{
	return kind < ARRAY_SIZE(words) ? words[kind] : "?";
}

static void read_ring(unsigned int worker, unsigned int ring)
{
	struct roost_trace_event list[64];
	uint64_t position = 0, before;
	ssize_t i, n;

	do {
		before = position;
		n = roost_trace_read(ROOST_PID_NONE, worker, &position, list, 64);
		REQUIRE(n >= 0);
		/* nothing was overwritten */
		CHECK_EQ(position - before, n);
		for (i = 0; i < n; i++) {
			REQUIRE(nr_events < MOST);
			events[nr_events].e = list[i];
			events[nr_events].ring = ring;
			events[nr_events].order = nr_events;
			nr_events++;
		}
	} while (n);
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->e.time != y->e.time)
		return x->e.time < y->e.time ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* All that was recorded since the beginning; it has to be turned off. */
static void read_all(unsigned int workers)
{
	unsigned int i;

	nr_events = 0;
	for (i = 0; i < workers; i++)
		read_ring(i, i);
	read_ring(ROOST_NO_WORKER, workers);
	qsort(events, nr_events, sizeof(*events), by_time);
}

static void start(unsigned int size)
{
	CHECK_EQ(roost_trace_start(ROOST_PID_NONE, size), 0);
}

static void stop(void)
{
	CHECK_EQ(roost_trace_stop(ROOST_PID_NONE), 0);
}

/* One worker, and nobody who would change what is expected. */
static struct roost_config alone(enum roost_wake_slot slot)
{
	return (struct roost_config){
		.workers = 1, .wake_slot = slot, .standbys = ROOST_NO_STANDBYS,
	};
}

static enum roost_doing doing(roost_pid pid)
{
	struct roost_actor_info list[16];
	ssize_t i, n = roost_actors(list, 16);

	for (i = 0; i < n && i < 16; i++)
		if (list[i].pid == pid)
			return list[i].doing;
	return ROOST_DOING_ENDED;
}

static void until_it_waits(roost_pid pid)
{
	while (doing(pid) != ROOST_DOING_WAITING)
		roost_yield();
}

/* What is expected of one actor: a kind and its detail. */
struct expected {
	enum roost_trace_kind kind;
	unsigned int detail;
};

static void check_life(roost_pid pid, const struct expected *life, unsigned int n)
{
	unsigned int i, at = 0;
	const struct roost_trace_event *e;

	for (i = 0; i < nr_events; i++) {
		e = &events[i].e;
		if (e->pid != pid)
			continue;
		CHECK_MSG(at < n && e->kind == life[at].kind &&
			  e->detail == life[at].detail,
			  "number %u: %s, detail %u", at, word(e->kind), e->detail);
		at++;
	}
	CHECK_EQ(at, n);
}

static const struct roost_trace_event *find(roost_pid pid, enum roost_trace_kind kind,
					    unsigned int detail)
{
	unsigned int i;

	for (i = 0; i < nr_events; i++)
		if (events[i].e.pid == pid && events[i].e.kind == kind &&
		    events[i].e.detail == detail)
			return &events[i].e;
	return NULL;
}

/* One life */

static void lives(void *arg unused_arg)
{
	/* It does what is expected, and nothing in between. */
	roost_preempt_disable();
	roost_yield();
	CHECK_EQ(roost_park(ROOST_FOREVER), 0);
	CHECK_EQ(roost_sleep(1000), 0);
	roost_preempt_enable();
}

static void watch_a_life(void *arg unused_arg)
{
	static const struct expected life[] = {
		{ ROOST_TRACE_SPAWN, 0 }, { ROOST_TRACE_ENQUEUE, 0 },
		{ ROOST_TRACE_DEQUEUE, 0 }, { ROOST_TRACE_RESUME, 0 },
		{ ROOST_TRACE_YIELD, 0 }, { ROOST_TRACE_ENQUEUE, 0 },
		{ ROOST_TRACE_DEQUEUE, 0 }, { ROOST_TRACE_RESUME, 0 },
		{ ROOST_TRACE_PARK, ROOST_WAITS_UNPARK },
		{ ROOST_TRACE_WAKE, ROOST_WAITS_UNPARK },
		{ ROOST_TRACE_ENQUEUE, 0 },
		{ ROOST_TRACE_DEQUEUE, 0 }, { ROOST_TRACE_RESUME, 0 },
		{ ROOST_TRACE_TIMER, 0 }, { ROOST_TRACE_PARK, ROOST_WAITS_TIME },
		{ ROOST_TRACE_WAKE, ROOST_WAITS_TIME },
		{ ROOST_TRACE_ENQUEUE, 0 },
		{ ROOST_TRACE_DEQUEUE, 0 }, { ROOST_TRACE_RESUME, 0 },
		{ ROOST_TRACE_DONE, ROOST_END_RETURNED },
	};
	const struct roost_trace_event *e;
	roost_pid self = roost_self(), pid;

	start(0);
	pid = spawn(lives, NULL);
	until_it_waits(pid);
	CHECK_EQ(roost_unpark(pid), 0);
	join(pid);
	stop();
	read_all(1);
	check_life(pid, life, ARRAY_SIZE(life));
	REQUIRE(find(pid, ROOST_TRACE_SPAWN, 0));
	CHECK_EQ(find(pid, ROOST_TRACE_SPAWN, 0)->value, self);
	e = find(pid, ROOST_TRACE_WAKE, ROOST_WAITS_UNPARK);
	REQUIRE(e);
	CHECK_EQ(e->value, self);
	e = find(pid, ROOST_TRACE_WAKE, ROOST_WAITS_TIME);
	REQUIRE(e);
	CHECK_EQ(e->value, ROOST_PID_NONE);
	CHECK(e->time >= find(pid, ROOST_TRACE_TIMER, 0)->value);
	/* it is told who waits for the end of another */
	e = find(self, ROOST_TRACE_WAKE, ROOST_WAITS_END);
	REQUIRE(e);
	CHECK_EQ(e->value, ROOST_PID_NONE);
}

/* S0-87 */
ROOST_TEST(a_life_from_its_spawn_to_its_end)
{
	struct roost_config config = alone(ROOST_WAKE_SLOT_OFF);

	run_with(&config, watch_a_life, NULL);
}

static void parks_once(void *arg unused_arg)
{
	CHECK_EQ(roost_park(ROOST_FOREVER), 0);
}

static void watch_the_slot(void *arg unused_arg)
{
	static const struct expected first_life[] = {
		{ ROOST_TRACE_WAKE, ROOST_WAITS_UNPARK },
		{ ROOST_TRACE_SLOT_PUSH, 0 }, { ROOST_TRACE_ENQUEUE, 0 },
		{ ROOST_TRACE_DEQUEUE, 0 }, { ROOST_TRACE_RESUME, 0 },
		{ ROOST_TRACE_DONE, ROOST_END_RETURNED },
	};
	static const struct expected second_life[] = {
		{ ROOST_TRACE_WAKE, ROOST_WAITS_UNPARK },
		{ ROOST_TRACE_SLOT_PUSH, 0 },
		{ ROOST_TRACE_SLOT_POP, 0 }, { ROOST_TRACE_RESUME, 0 },
		{ ROOST_TRACE_DONE, ROOST_END_RETURNED },
	};
	roost_pid first = spawn(parks_once, NULL), second = spawn(parks_once, NULL);

	until_it_waits(first);
	until_it_waits(second);
	/* the slot is asked first, but for each 61st actor */
	roost_preempt_disable();
	start(0);
	CHECK_EQ(roost_unpark(first), 0);
	CHECK_EQ(roost_unpark(second), 0);
	join(second);
	join(first);
	stop();
	roost_preempt_enable();
	read_all(1);
	check_life(first, first_life, ARRAY_SIZE(first_life));
	check_life(second, second_life, ARRAY_SIZE(second_life));
}

/* S0-87 */
ROOST_TEST(through_the_wake_slot)
{
	struct roost_config config = alone(ROOST_WAKE_SLOT_ON);

	run_with(&config, watch_the_slot, NULL);
}

static void wakes_itself(void *arg unused_arg)
{
	/* the permit is seen before anything is parked */
	CHECK_EQ(roost_unpark(roost_self()), 0);
	CHECK_EQ(roost_park(ROOST_FOREVER), 0);
}

static void sleeps_for_ever(void *arg unused_arg)
{
	CHECK_EQ(roost_sleep_until(ROOST_FOREVER - 1), -ECANCELED);
}

static void watch_ends(void *arg unused_arg)
{
	static const struct expected stopped[] = {
		{ ROOST_TRACE_SPAWN, 0 }, { ROOST_TRACE_ENQUEUE, 0 },
		{ ROOST_TRACE_DEQUEUE, 0 },
		{ ROOST_TRACE_DONE, ROOST_END_STOPPED },
	};
	const struct roost_trace_event *e;
	roost_pid never, sleeper, waker;

	start(0);
	sleeper = spawn(sleeps_for_ever, NULL);
	until_it_waits(sleeper);
	waker = spawn(wakes_itself, NULL);
	roost_preempt_disable();
	never = spawn(lives, NULL);
	CHECK_EQ(roost_stop(never), 0);
	roost_preempt_enable();
	CHECK_EQ(roost_stop(sleeper), 0);
	join(sleeper);
	join(waker);
	join(never);
	stop();
	read_all(1);
	e = find(sleeper, ROOST_TRACE_WAKE, ROOST_TRACE_STOPPED);
	REQUIRE(e);
	CHECK_EQ(e->value, roost_self());
	CHECK(find(sleeper, ROOST_TRACE_DONE, ROOST_END_STOPPED));
	CHECK(find(waker, ROOST_TRACE_WAKE_EARLY, ROOST_WAITS_UNPARK));
	CHECK(!find(waker, ROOST_TRACE_PARK, ROOST_WAITS_UNPARK));
	/* what was stopped before it ran is never resumed; a second stop is no event */
	e = find(never, ROOST_TRACE_WAKE_EARLY, ROOST_TRACE_STOPPED);
	REQUIRE(e);
	((struct roost_trace_event *)e)->pid = ROOST_PID_NONE;
	check_life(never, stopped, ARRAY_SIZE(stopped));
}

/* S0-87 */
ROOST_TEST(stops_and_wakes_that_come_early)
{
	struct roost_config config = alone(ROOST_WAKE_SLOT_OFF);

	run_with(&config, watch_ends, NULL);
}

/* Files and I/O */

static void receives(void *arg)
{
	char byte;

	CHECK_EQ(roost_recv(*(int *)arg, &byte, 1, 0, ROOST_FOREVER), 1);
}

static bool seen_file_ready(unsigned int fd)
{
	return find(ROOST_PID_NONE, ROOST_TRACE_FILE_READY, fd);
}

static void watch_io(void *arg unused_arg)
{
	struct roost_stats stats;
	unsigned int fd;
	roost_pid pid;
	int s[2];

	CHECK_EQ(roost_stats(&stats), 0);
	REQUIRE_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(roost_fd_adopt(s[0]), 0);
	fd = (unsigned int)s[0];
	start(0);
	pid = spawn(receives, &s[0]);
	until_it_waits(pid);
	CHECK_EQ(write(s[1], "x", 1), 1);
	join(pid);
	stop();
	read_all(1);
	if (stats.backend[0] == 'k') {
		REQUIRE(find(pid, ROOST_TRACE_IO_BEGIN, fd));
		REQUIRE(find(pid, ROOST_TRACE_IO_END, fd));
		CHECK_EQ(find(pid, ROOST_TRACE_IO_BEGIN, fd)->value, 1);
		CHECK_EQ(find(pid, ROOST_TRACE_IO_END, fd)->value, 1);
		CHECK(find(pid, ROOST_TRACE_PARK, ROOST_WAITS_IO));
		CHECK(find(pid, ROOST_TRACE_WAKE, ROOST_WAITS_IO));
	} else {
		CHECK(find(pid, ROOST_TRACE_FILE_WAIT, fd));
		CHECK(find(pid, ROOST_TRACE_PARK, ROOST_WAITS_FILE));
		CHECK(seen_file_ready(fd));
		CHECK(find(pid, ROOST_TRACE_WAKE, ROOST_WAITS_FILE));
	}
	roost_close(s[0]);
	close(s[1]);
}

/* S0-87 */
ROOST_TEST(files_and_operations)
{
	struct roost_config config = alone(ROOST_WAKE_SLOT_OFF);

	run_with(&config, watch_io, NULL);
}

/* All together: a machine that knows what may follow what */

enum state {
	UNKNOWN, NOBODY, SPAWNED, QUEUED, TAKEN, IN_SLOT, POPPED, RUNS, YIELDED, PARKED,
	WOKEN, ENDED,
};

static const struct step {
	enum roost_trace_kind kind;
	enum state from, to;
} steps[] = {
	{ ROOST_TRACE_SPAWN, NOBODY, SPAWNED },
	{ ROOST_TRACE_ENQUEUE, SPAWNED, QUEUED },
	{ ROOST_TRACE_ENQUEUE, YIELDED, QUEUED },
	{ ROOST_TRACE_ENQUEUE, WOKEN, QUEUED },
	{ ROOST_TRACE_ENQUEUE, IN_SLOT, QUEUED },
	{ ROOST_TRACE_ENQUEUE, POPPED, QUEUED },
	{ ROOST_TRACE_DEQUEUE, QUEUED, TAKEN },
	{ ROOST_TRACE_SLOT_PUSH, WOKEN, IN_SLOT },
	{ ROOST_TRACE_SLOT_POP, IN_SLOT, POPPED },
	{ ROOST_TRACE_RESUME, TAKEN, RUNS },
	{ ROOST_TRACE_RESUME, POPPED, RUNS },
	{ ROOST_TRACE_YIELD, RUNS, YIELDED },
	{ ROOST_TRACE_DISPLACED, RUNS, YIELDED },
	{ ROOST_TRACE_PARK, RUNS, PARKED },
	{ ROOST_TRACE_NOT_PARKED, PARKED, WOKEN },
	{ ROOST_TRACE_WAKE, PARKED, WOKEN },
	{ ROOST_TRACE_DONE, RUNS, ENDED },
	{ ROOST_TRACE_DONE, TAKEN, ENDED },
	{ ROOST_TRACE_TIMER, RUNS, RUNS },
	{ ROOST_TRACE_IO_BEGIN, RUNS, RUNS },
	{ ROOST_TRACE_IO_END, RUNS, RUNS },
	{ ROOST_TRACE_FILE_WAIT, RUNS, RUNS },
};

#define MOST_SLOTS	1024

static struct life {
	enum state state;
	uint32_t generation;
} alive[MOST_SLOTS];

static bool may_follow(struct life *l, unsigned int kind)
{
	size_t i;

	if (l->state == UNKNOWN) {
		if (kind == ROOST_TRACE_RESUME)
			l->state = RUNS;
		return true;
	}
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		if (steps[i].kind != kind || steps[i].from != l->state)
			continue;
		l->state = steps[i].to;
		return true;
	}
	return false;
}

/* Return: false if it may not come now. */
static bool take_step(const struct roost_trace_event *e)
{
	struct life *l = &alive[(uint32_t)e->pid % MOST_SLOTS];
	uint32_t generation = (uint32_t)(e->pid >> 32);

	if (e->kind == ROOST_TRACE_SPAWN && l->state == ENDED) {
		l->state = NOBODY;
		l->generation = generation;
	}
	return l->generation == generation && may_follow(l, e->kind);
}

static bool is_step(const struct roost_trace_event *e)
{
	return e->pid != ROOST_PID_NONE && e->kind != ROOST_TRACE_WAKE_EARLY;
}

/*
 * Of events of the same nanosecond, on several workers, those that may come now come
 * first: try them in turn until none is left, or none may.
 */
static void take_steps_of_one_time(unsigned int from, unsigned int to)
{
	static bool taken[MOST];
	unsigned int left = to - from, before, i;

	memset(&taken[from], 0, (to - from) * sizeof(*taken));
	do {
		before = left;
		for (i = from; i < to; i++) {
			if (taken[i])
				continue;
			taken[i] = !is_step(&events[i].e) || take_step(&events[i].e);
			left -= taken[i];
		}
	} while (left && left < before);
	for (i = from; i < to; i++)
		CHECK_MSG(taken[i], "%u: actor %#llx: %s in state %d, ring %u", i,
			  (unsigned long long)events[i].e.pid,
			  word(events[i].e.kind),
			  (int)alive[(uint32_t)events[i].e.pid % MOST_SLOTS].state,
			  events[i].ring);
}

/* The root runs when it begins; of it is known what comes after its next resume. */
static void check_all(roost_pid root)
{
	unsigned int from, to;

	for (from = 0; from < MOST_SLOTS; from++)
		alive[from] = (struct life){ .state = NOBODY };
	alive[(uint32_t)root % MOST_SLOTS] = (struct life){
		.state = UNKNOWN, .generation = (uint32_t)(root >> 32),
	};
	for (from = 0; from < nr_events; from = to) {
		for (to = from + 1; to < nr_events; to++)
			if (events[to].e.time != events[from].e.time)
				break;
		take_steps_of_one_time(from, to);
	}
}

static _Atomic roost_pid peers[2];

static void wakes_peer(void *arg)
{
	unsigned int me = *(unsigned int *)arg;
	int i;

	while (!atomic_load(&peers[!me]))
		roost_yield();
	for (i = 0; i < 50; i++) {
		roost_unpark(atomic_load(&peers[!me]));
		roost_park(roost_after(ROOST_MSEC(2)));
	}
}

static void sleeps_and_yields(void *arg unused_arg)
{
	int i;

	for (i = 0; i < 10; i++) {
		roost_yield();
		roost_sleep(1000);
	}
}

static void ends(void *arg unused_arg)
{
}

static void reads_pipe(void *arg)
{
	char byte;

	while (roost_read(*(int *)arg, &byte, 1, ROOST_FOREVER) == 1)
		;
}

static void storm(void *arg unused_arg)
{
	static unsigned int me[2] = { 0, 1 };
	unsigned long i, n = rounds(60);
	roost_pid pid[8], first, second, reader;
	int p[2];

	REQUIRE_EQ(roost_pipe(p), 0);
	atomic_store(&peers[0], 0);
	atomic_store(&peers[1], 0);
	start(65536);
	reader = spawn(reads_pipe, &p[0]);
	first = spawn(wakes_peer, &me[0]);
	atomic_store(&peers[0], first);
	second = spawn(wakes_peer, &me[1]);
	atomic_store(&peers[1], second);
	for (i = 0; i < n; i++) {
		pid[i % 8] = spawn(i & 1 ? sleeps_and_yields : ends, NULL);
		CHECK_EQ(roost_write(p[1], "x", 1, ROOST_FOREVER), 1);
		if (i % 8 == 7) {
			for (int k = 0; k < 8; k++) {
				if (k == 3)
					roost_stop(pid[k]);
				join(pid[k]);
			}
		}
	}
	for (i = n / 8 * 8; i < n; i++)
		join(pid[i % 8]);
	join(first);
	join(second);
	roost_close(p[1]);
	join(reader);
	roost_close(p[0]);
	stop();
}

static void check_storm(void *arg)
{
	unsigned int workers = *(unsigned int *)arg;

	storm(NULL);
	read_all(workers);
	CHECK(nr_events > 2000);
	check_all(roost_self());
}

static void storm_on(unsigned int workers)
{
	/* With no time for anybody who is taken from a slot is often queued. */
	static const struct {
		enum roost_wake_slot slot;
		unsigned int timeslice;
	} ways[] = {
		{ ROOST_WAKE_SLOT_OFF, 0 }, { ROOST_WAKE_SLOT_ON, 0 },
		{ ROOST_WAKE_SLOT_ON, 1 },
	};
	struct roost_config config = { .workers = workers };
	unsigned int i;

	for (config.runq = ROOST_RUNQ_MUTEX; config.runq <= ROOST_RUNQ_STEAL;
	     config.runq++) {
		for (i = 0; i < ARRAY_SIZE(ways); i++) {
			config.wake_slot = ways[i].slot;
			config.timeslice = ways[i].timeslice;
			run_with(&config, check_storm, &workers);
		}
	}
}

/* S0-87 */
ROOST_TEST(nothing_comes_before_what_it_follows_from)
{
	storm_on(1);
	storm_on(3);
}

/* Off and on */

static unsigned int computed;

static unsigned int compute(void)
{
	return computed++;
}

static int record(enum roost_trace_kind kind, const struct slot *s)
{
	trace(runtime_self(), kind, s, compute(), compute());
	return 0;
}

/* S1-30 */
ACTOR_TEST(what_is_not_recorded_is_not_computed, 1)
{
	uint64_t position = 0;
	struct roost_trace_event e;

	computed = 0;
	INSIDE(record(ROOST_TRACE_TIMER, worker_actor()));
	CHECK_EQ(computed, 0);
	CHECK_EQ(roost_trace_read(ROOST_PID_NONE, 0, &position, &e, 1), 0);
	start(0);
	INSIDE(record(ROOST_TRACE_TIMER, worker_actor()));
	CHECK_EQ(computed, 2);
	stop();
	INSIDE(record(ROOST_TRACE_TIMER, worker_actor()));
	CHECK_EQ(computed, 2);
	CHECK_EQ(roost_trace_read(ROOST_PID_NONE, 0, &position, &e, 1), 1);
	CHECK_EQ(e.kind, ROOST_TRACE_TIMER);
	CHECK_EQ(e.pid, roost_self());
}

static unsigned int recorded(void)
{
	read_all(1);
	return nr_events;
}

ACTOR_TEST(begun_stopped_and_begun_again, 1)
{
	unsigned int n;

	roost_yield();
	CHECK_EQ(recorded(), 0);
	start(0);
	roost_yield();
	stop();
	n = recorded();
	CHECK(n >= 3);
	roost_yield();
	CHECK_EQ(recorded(), n);
	stop();
	start(0);
	roost_yield();
	stop();
	CHECK(recorded() >= n + 3);
}

static void first_event(void *arg unused_arg)
{
	stop();
	read_all(1);
	REQUIRE(nr_events >= 4);
	CHECK_EQ(events[0].e.kind, ROOST_TRACE_SPAWN);
	CHECK_EQ(events[0].e.pid, roost_self());
	CHECK_EQ(events[0].e.value, ROOST_PID_NONE);
	/* by who had not become worker yet */
	CHECK_EQ(events[0].ring, 1);
}

/* S0-87 */
ROOST_TEST(from_the_beginning_if_so_configured)
{
	struct roost_config config = { .workers = 1, .trace_events = 100 };

	run_with(&config, first_event, NULL);
	config.trace_events = TRACE_MOST_EVENTS + 1;
	CHECK_EQ(roost_run(&config, first_event, NULL), -EINVAL);
}

/* Rings */

static void overwrite(void *arg unused_arg)
{
	struct roost_trace_event list[200];
	uint64_t position = 0;
	ssize_t n;
	int i;

	start(100);
	for (i = 0; i < 200; i++)
		INSIDE(record(ROOST_TRACE_TIMER, worker_actor()));
	stop();
	n = roost_trace_read(ROOST_PID_NONE, 0, &position, list, 200);
	/* rounded up to 128, of which the oldest might be overwritten just now */
	CHECK_EQ(n, 127);
	CHECK(position >= 200);
	for (i = 1; i < n; i++) {
		if (list[i].kind != ROOST_TRACE_TIMER ||
		    list[i - 1].kind != ROOST_TRACE_TIMER)
			continue;
		CHECK_EQ(list[i].detail, list[i - 1].detail + 2);
		CHECK(list[i].time >= list[i - 1].time);
	}
	n = roost_trace_read(ROOST_PID_NONE, 0, &position, list, 200);
	CHECK_EQ(n, 0);
	/* a part of it, and the rest */
	position = 0;
	CHECK_EQ(roost_trace_read(ROOST_PID_NONE, 0, &position, list, 50), 49);
	CHECK_EQ(roost_trace_read(ROOST_PID_NONE, 0, &position, list, 200), 78);
}

ROOST_TEST(the_newest_take_the_place_of_the_oldest)
{
	struct roost_config config = alone(ROOST_WAKE_SLOT_OFF);

	computed = 0;
	run_with(&config, overwrite, NULL);
}

/* All four words of an event say the same, but for the time. */
#define MARK	0x1234567ULL

static int record_marked(uint64_t i)
{
	trace_put_none(runtime_self(), ROOST_TRACE_FILE_READY, (uint32_t)i, i * MARK);
	return 0;
}

static _Atomic bool over;
static _Atomic unsigned long nr_read;

static void check_marked(const struct roost_trace_event *e, uint64_t *time)
{
	CHECK(e->time >= *time);
	*time = e->time;
	CHECK_MSG(e->kind < ARRAY_SIZE(words), "kind %u", e->kind);
	if (e->kind != ROOST_TRACE_FILE_READY)
		return;
	CHECK_MSG(e->value == e->detail * MARK && e->pid == ROOST_PID_NONE,
		  "%u: %#llx of %#llx", e->detail, (unsigned long long)e->value,
		  (unsigned long long)e->pid);
	atomic_fetch_add(&nr_read, 1);
}

static void *reads_all_the_time(void *arg)
{
	struct roost_trace_event list[16];
	uint64_t position = 0, time = 0;
	ssize_t i, n;

	while (!atomic_load(&over)) {
		n = roost_trace_read(*(roost_pid *)arg, 0, &position, list, 16);
		CHECK(n >= 0);
		for (i = 0; i < n; i++)
			check_marked(&list[i], &time);
	}
	return NULL;
}

/* In each round an actor comes in between, whose events have other words. */
ACTOR_TEST(read_while_it_is_overwritten, 1)
{
	unsigned long i, n = rounds(400000);
	roost_pid self = roost_self();
	pthread_t thread;

	atomic_store(&over, false);
	atomic_store(&nr_read, 0);
	start(16);
	CHECK_EQ(pthread_create(&thread, NULL, reads_all_the_time, &self), 0);
	for (i = 0; i < n || !atomic_load(&nr_read); i++) {
		INSIDE(record_marked((uint32_t)i));
		if (i % 8 == 0)
			roost_yield();
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	CHECK(atomic_load(&nr_read) > 0);
}

/* Several threads that carry no worker write to one ring. */
static void *unparks(void *arg)
{
	unsigned long i, n = rounds(3000);

	for (i = 0; i < n; i++)
		CHECK_EQ(roost_unpark(*(roost_pid *)arg), 0);
	return NULL;
}

static void parks_until_stopped(void *arg unused_arg)
{
	while (roost_park(ROOST_FOREVER) != -ECANCELED)
		;
}

ACTOR_TEST(threads_without_workers_share_a_ring, 2)
{
	unsigned int i, n = 0;
	pthread_t thread[3];
	roost_pid pid;

	start(32768);
	pid = spawn(parks_until_stopped, NULL);
	for (i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, unparks, &pid), 0);
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	roost_stop(pid);
	join(pid);
	stop();
	nr_events = 0;
	read_ring(ROOST_NO_WORKER, 0);
	for (i = 0; i < nr_events; i++) {
		n += events[i].e.kind == ROOST_TRACE_WAKE ||
		     events[i].e.kind == ROOST_TRACE_WAKE_EARLY;
		CHECK(!i || events[i].e.time >= events[i - 1].e.time);
	}
	CHECK_EQ(n, 3 * rounds(3000));
}

/* Refusals */

static void *asks_outside(void *arg)
{
	roost_pid of = *(roost_pid *)arg;
	struct roost_trace_event e;
	uint64_t position = 0;

	errno = 4711;
	CHECK_EQ(roost_trace_start(ROOST_PID_NONE, 0), -EPERM);
	CHECK_EQ(roost_trace_stop(ROOST_PID_NONE), -EPERM);
	CHECK_EQ(roost_trace_read(ROOST_PID_NONE, 0, &position, &e, 1), -EPERM);
	CHECK_EQ(roost_trace_write(ROOST_PID_NONE, 1), -EPERM);
	CHECK_EQ(roost_trace_start(of, 0), 0);
	CHECK_EQ(roost_trace_stop(of), 0);
	CHECK_EQ(roost_trace_write(of, -1), -EBADF);
	CHECK_EQ(errno, 4711);
	return NULL;
}

static roost_pid gone;

static void asks(void *arg unused_arg)
{
	struct roost_trace_event e;
	uint64_t position = 0;
	pthread_t thread;

	gone = roost_self();
	CHECK_EQ(roost_trace_start(ROOST_PID_NONE, TRACE_MOST_EVENTS + 1), -EINVAL);
	CHECK_EQ(roost_trace_read(gone, 1, &position, &e, 1), -EINVAL);
	CHECK_EQ(roost_trace_read(gone, 0, &position, &e, 1), 0);
	CHECK_EQ(pthread_create(&thread, NULL, asks_outside, &gone), 0);
	pthread_join(thread, NULL);
	errno = 815;
	CHECK_EQ(roost_trace_write(gone, -1), -EBADF);
	CHECK_EQ(errno, 815);
}

ROOST_TEST(any_thread_may_ask)
{
	struct roost_trace_event e;
	uint64_t position = 0;

	run_actors(1, asks, NULL);
	CHECK_EQ(roost_trace_start(gone, 0), -ESRCH);
	CHECK_EQ(roost_trace_stop(gone), -ESRCH);
	CHECK_EQ(roost_trace_read(gone, 0, &position, &e, 1), -ESRCH);
	CHECK_EQ(roost_trace_write(gone, 1), -ESRCH);
}
