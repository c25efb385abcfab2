// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * lib_invariant_test.c - what is true at any time, while actors do at random all that
 * they can do to one another on eight workers.
 *
 * A run is made of rounds, each a roost_run() of its own, with each kind of run queue,
 * with wake slots and without, in one of several moods: in some, each wake decides
 * alone, and workers sleep most of the time; in others all are busy; or most actors are
 * spawned, stopped and joined.  Actors spawn others, yield, park, sleep, wake, stop and
 * join each other and end; a thread outside wakes whom nobody else does.  What has to be
 * true stands in lib_invariant_life.h; what is not prints its name, the seed and the
 * round, and ends the process.  A library with checks of its own (DEBUG=1) adds that
 * nobody is queued twice.
 *
 * That a wake was lost, or an actor stranded, is told by a watchdog: nobody has moved for
 * ROOST_STUCK seconds of its own (90).  Nothing else has a limit of time.
 *
 * Each decision of an actor follows from the seed: its number, which is that of who has
 * spawned it and how many were before, is mixed with the seed for its random numbers,
 * and it draws as many of them whatever comes of it.  How actors meet does not follow.
 *
 * ROOST_SECONDS: how long the rounds go on, 4 by default, but 16 of them at least.
 * ROOST_SEED; ROOST_ROUND: only this one, again and again.
 */
#include <pthread.h>
#include <sched.h>

#include "compiler.h"
#include "lib_invariant_life.h"

#define WORKERS		8
/* Of one mind: the others go on, so that whoever was woken can run. */
#define MOST_COMPUTING	3
#define MOST_DEPTH	2U
#define MOST_PLAYERS	48U
#define MOST_LEFT	6U
#define LEAST_ROUNDS	16UL

enum op {
	OP_YIELD, OP_CHECK, OP_PARK, OP_PARK_UNTIL, OP_SLEEP, OP_WAKE,
	OP_WAKE_AND_COMPUTE, OP_SPAWN, OP_JOIN, OP_JOIN_UNTIL, OP_STOP,
	OP_STOP_CHILD, OP_LOOK, OP_FINISH, NR_OPS,
};

/**
 * struct mood - what actors are up to
 * @players:	how many the root spawns, at most
 * @steps:	that each takes
 * @one_by_one:	the thread outside waits until a wake has arrived, before the next
 * @weights:	how often each op comes, out of their sum
 */
struct mood {
	unsigned int players;
	unsigned int steps;
	bool one_by_one;
	unsigned char weights[NR_OPS];
};

static const struct mood moods[] = {
	/* No timer and no wake by others: nothing makes good for one that is lost. */
	{ 4, 60, true, {
		[OP_YIELD] = 5, [OP_PARK] = 60, [OP_SPAWN] = 2, [OP_JOIN] = 3,
	} },
	{ 8, 60, false, {
		[OP_YIELD] = 5, [OP_PARK] = 20, [OP_PARK_UNTIL] = 20, [OP_SLEEP] = 5,
		[OP_WAKE] = 20, [OP_WAKE_AND_COMPUTE] = 5, [OP_SPAWN] = 2,
		[OP_JOIN] = 3, [OP_JOIN_UNTIL] = 3, [OP_LOOK] = 1,
	} },
	{ MOST_PLAYERS, 40, false, {
		[OP_YIELD] = 40, [OP_CHECK] = 10, [OP_PARK] = 10, [OP_PARK_UNTIL] = 20,
		[OP_SLEEP] = 5, [OP_WAKE] = 20, [OP_WAKE_AND_COMPUTE] = 1,
		[OP_SPAWN] = 2, [OP_JOIN] = 3, [OP_LOOK] = 1, [OP_FINISH] = 1,
	} },
	{ 24, 30, false, {
		[OP_YIELD] = 10, [OP_PARK] = 10, [OP_PARK_UNTIL] = 10, [OP_SLEEP] = 3,
		[OP_WAKE] = 10, [OP_SPAWN] = 12, [OP_JOIN] = 8, [OP_JOIN_UNTIL] = 5,
		[OP_STOP] = 8, [OP_STOP_CHILD] = 5, [OP_LOOK] = 1, [OP_FINISH] = 2,
	} },
	/* Short lives, awaited with deadlines that come about when they end. */
	{ MOST_PLAYERS, 12, false, {
		[OP_YIELD] = 10, [OP_PARK] = 30, [OP_SPAWN] = 20, [OP_STOP_CHILD] = 10,
		[OP_JOIN_UNTIL] = 40, [OP_FINISH] = 5,
	} },
};

/* The round: its mood, and what else the seed says of it. */
static struct mood mood;
static unsigned int nr_players, nr_left;
static uint64_t round_seed;
/* What all have decided, in no order. */
static _Atomic uint64_t digest;
static _Atomic int computing;
static _Atomic bool over;
static _Atomic unsigned int left_begun, left_stopped;
static _Atomic bool program_over;

static void life_main(void *arg);

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t state = a ^ (b + 1) * 0xd1342543de82ef95;

	return random_next(&state);
}

static struct life *life_new(uint64_t id, unsigned int depth, unsigned int steps)
{
	unsigned int i = atomic_fetch_add(&nr_lives, 1);
	struct life *l = &lives[i];

	/* Only who was spawned, and has not begun, is seen to have no pid. */
	HOLDS(i < MAX_LIVES, "no more lives than records", NULL);
	l->id = id;
	l->r = mix(round_seed, id);
	l->depth = depth;
	l->steps = steps;
	return l;
}

/* Return: false if it could not be, which is said. */
static bool life_spawn(struct life *l)
{
	roost_pid pid;

	if (!CHECK_EQ(roost_spawn(life_main, l, &pid), 0))
		return false;
	atomic_store(&l->pid, pid);
	return true;
}

static enum op choose(uint64_t x)
{
	unsigned int sum = 0, op;

	for (op = 0; op < NR_OPS; op++)
		sum += mood.weights[op];
	x %= sum;
	for (op = 0; x >= mood.weights[op]; op++)
		x -= mood.weights[op];
	return (enum op)op;
}

/* From a random one on.  Return: NULL if there is none. */
static struct life *wake_somebody(uint64_t x, uint32_t *ticket)
{
	unsigned int i, n = atomic_load(&nr_lives);
	struct life *l;

	for (i = 0; i < n; i++) {
		l = &lives[(x + i) % n];
		*ticket = life_wake(l);
		if (*ticket)
			return l;
	}
	return NULL;
}

/* Whoever was woken must run elsewhere: this one does not give up its worker. */
static void wake_and_compute(uint64_t x)
{
	struct life *l;
	uint32_t ticket;

	if (atomic_fetch_add(&computing, 1) < MOST_COMPUTING) {
		l = wake_somebody(x, &ticket);
		while (l && !life_is_woken(l, ticket))
			sched_yield();
	}
	atomic_fetch_sub(&computing, 1);
}

/* Return: NULL if @l has had enough of them. */
static struct life *spawn_child(struct life *l, unsigned int steps)
{
	struct life *child;

	if (l->depth == MOST_DEPTH || l->born == MAX_CHILDREN)
		return NULL;
	child = life_new(mix(l->id, l->born++), l->depth + 1, steps);
	if (!life_spawn(child))
		return NULL;
	l->children[l->nr_children++] = child;
	return child;
}

/* Return: false if @l was stopped. */
static bool join_child(struct life *l, uint64_t deadline)
{
	struct roost_outcome outcome;
	int before = atomic_load(&l->stop);
	struct life *child;
	roost_pid pid;
	int err;

	if (!l->nr_children)
		return true;
	child = l->children[l->nr_children - 1];
	pid = atomic_load(&child->pid);
	err = AWAY(l, roost_join_outcome(pid, deadline, &outcome));
	/* The end has the last word over a stop. */
	if (err)
		stop_is_sticky(l, before, err);
	if (err == -ETIMEDOUT) {
		HOLDS(roost_now() >= deadline, "a deadline is never early", l);
		return true;
	}
	HOLDS(!err || err == -ECANCELED, "a join finds whom it has the handle of", l);
	if (err)
		return false;
	life_is_over(child, &outcome);
	l->nr_children--;
	HOLDS(roost_join(pid, 0) == -ESRCH, "a join hears once", l);
	return true;
}

static bool sleep_until(struct life *l, uint64_t deadline)
{
	int before = atomic_load(&l->stop);
	int err = AWAY(l, roost_sleep_until(deadline));

	stop_is_sticky(l, before, err);
	HOLDS(err || roost_now() >= deadline, "a deadline is never early", l);
	return !err;
}

static void stop_somebody(uint64_t x)
{
	life_stop(&lives[x % atomic_load(&nr_lives)]);
}

/* One that waits for nothing else is stopped when it begins to, or just before. */
static bool stop_child(struct life *l, uint64_t x)
{
	struct life *child = spawn_child(l, 0);
	unsigned int i;

	if (!child)
		return true;
	for (i = x % 4; i; i--)
		AWAY(l, (roost_yield(), 0));
	for (i = x / 4 % 2000; i; i--)
		__asm__ volatile("");
	life_stop(child);
	return join_child(l, ROOST_FOREVER);
}

static void look_at_all(struct life *l)
{
	struct roost_actor_info list[32];
	ssize_t i, k, n = AWAY(l, roost_actors(list, ARRAY_SIZE(list)));

	HOLDS(n > 0, "who looks at all sees itself", l);
	if (n > (ssize_t)ARRAY_SIZE(list))
		n = ARRAY_SIZE(list);
	for (i = 0; i < n; i++)
		for (k = 0; k < i; k++)
			HOLDS((uint32_t)list[i].pid != (uint32_t)list[k].pid,
			      "a slot has one tenant", l);
}

static uint64_t soon(uint64_t x)
{
	/* Some that have passed, and some at once. */
	return x % 8 ? roost_after(x / 8 % ROOST_USEC(300)) : roost_now() - x / 8 % 2;
}

/* Return: false if @l is to end. */
static bool act(struct life *l, enum op op, uint64_t x)
{
	uint32_t ticket;

	switch (op) {
	case OP_YIELD:
		AWAY(l, (roost_yield(), 0));
		break;
	case OP_CHECK:
		AWAY(l, roost_check());
		break;
	case OP_PARK:
		return life_park(l);
	case OP_PARK_UNTIL:
		return life_park_until(l, soon(x));
	case OP_SLEEP:
		return sleep_until(l, soon(x));
	case OP_WAKE:
		wake_somebody(x, &ticket);
		break;
	case OP_WAKE_AND_COMPUTE:
		wake_and_compute(x);
		break;
	case OP_SPAWN:
		spawn_child(l, mood.steps);
		break;
	case OP_JOIN:
		return join_child(l, ROOST_FOREVER);
	case OP_JOIN_UNTIL:
		return join_child(l, soon(x));
	case OP_STOP:
		stop_somebody(x);
		break;
	case OP_STOP_CHILD:
		return stop_child(l, x);
	case OP_LOOK:
		look_at_all(l);
		break;
	case OP_FINISH:
	case NR_OPS:
		return false;
	}
	return true;
}

/* Return: false, as whoever was stopped. */
static bool wait_for_stop(struct life *l)
{
	int before = atomic_load(&l->stop);
	int err;

	if (l->id % 2)
		return sleep_until(l, ROOST_FOREVER);
	/* Nobody has been told that it waits. */
	err = AWAY(l, roost_park(ROOST_FOREVER));
	HOLDS(err, "a wake ends the wait it was sent to", l);
	stop_is_sticky(l, before, err);
	return false;
}

static bool play(struct life *l)
{
	unsigned int step;
	uint64_t x, y;

	if (!l->steps)
		return wait_for_stop(l);
	for (step = 0; step < l->steps; step++) {
		x = random_next(&l->r);
		y = random_next(&l->r);
		atomic_fetch_xor(&digest, mix(l->id + step, x));
		if (!act(l, choose(x), y >> 1))
			return choose(x) == OP_FINISH;
	}
	return true;
}

static void life_main(void *arg)
{
	struct life *l = arg;
	bool unstopped;

	life_begins(l);
	unstopped = play(l);
	while (unstopped && l->nr_children)
		unstopped = join_child(l, ROOST_FOREVER);
	while (l->nr_children)
		HOLDS(!roost_detach(atomic_load(&l->children[--l->nr_children]->pid)),
		      "a detach finds whom it has the handle of", l);
	life_ends(l);
	if (l->id % 2)
		roost_exit();
}

/* What the root leaves behind: stopped once, by the end of the run. */
static void left_behind(void *arg)
{
	bool again = arg;

	atomic_fetch_add(&left_begun, 1);
	if (roost_park(ROOST_FOREVER) != -ECANCELED || !roost_stopped())
		violated("what is left parked for ever is stopped", NULL);
	atomic_fetch_add(&left_stopped, 1);
	/* Who was stopped leaves another one behind. */
	if (again)
		CHECK_EQ(roost_spawn(left_behind, NULL, NULL), 0);
}

static void *outside_main(void *arg)
{
	uint64_t r = mix(round_seed, 1UL << 40 | (uintptr_t)arg);
	struct life *l;
	uint32_t ticket;
	unsigned int pause;

	while (!atomic_load(&over)) {
		l = wake_somebody(random_next(&r), &ticket);
		if (!l) {
			sched_yield();
			continue;
		}
		while (mood.one_by_one && !life_is_woken(l, ticket))
			sched_yield();
		/* At all distances from the moment that the next one parks. */
		for (pause = random_below(&r, 2000); pause; pause--)
			__asm__ volatile("");
	}
	return NULL;
}

static bool all_have_ended(void)
{
	unsigned int i, n = atomic_load(&nr_lives);

	for (i = 0; i < n; i++)
		if (!atomic_load(&lives[i].ended) &&
		    !(atomic_load(&lives[i].stop) == STOPPED &&
		      !atomic_load(&lives[i].begun)))
			return false;
	return true;
}

static unsigned int alive(void)
{
	struct roost_stats s;

	CHECK_EQ(roost_stats(&s), 0);
	return (unsigned int)s.live;
}

/* The end of those that were detached, which nobody hears of. */
static void await_all(void)
{
	/* A round that hangs is ended by the watchdog. */
	while (!all_have_ended() || alive() != 1)
		roost_sleep(ROOST_USEC(100));
	HOLDS(roost_actors(NULL, 0) == 1, "who has ended is not there", NULL);
}

static void root_main(void *arg unused_arg)
{
	struct roost_outcome outcome;
	struct life *player[MOST_PLAYERS];
	unsigned int i;
	pthread_t outside;

	REQUIRE(!pthread_create(&outside, NULL, outside_main, NULL));
	for (i = 0; i < nr_players; i++) {
		player[i] = life_new(mix(round_seed, i), 0, mood.steps);
		REQUIRE(life_spawn(player[i]));
	}
	for (i = 0; i < nr_players; i++) {
		HOLDS(!roost_join_outcome(atomic_load(&player[i]->pid), ROOST_FOREVER,
					  &outcome),
		      "a join finds whom it has the handle of", player[i]);
		life_is_over(player[i], &outcome);
	}
	await_all();
	atomic_store(&over, true);
	pthread_join(outside, NULL);
	for (i = 0; i < nr_left; i++)
		CHECK_EQ(roost_spawn(left_behind, (void *)(uintptr_t)(i % 2), NULL), 0);
}

static void forget_round(void)
{
	unsigned int i;

	memset(lives, 0, sizeof(lives));
	for (i = 0; i < MAX_LIVES; i++)
		atomic_init(&lives[i].pid, ROOST_PID_NONE);
	memset(generations, 0, sizeof(generations));
	atomic_store(&nr_lives, 0);
	atomic_store(&digest, 0);
	atomic_store(&over, false);
	atomic_store(&left_begun, 0);
	atomic_store(&left_stopped, 0);
}

/* One that the seed and @n say all of, but for how actors meet. */
static void one_round(unsigned long n, const struct mood *m)
{
	struct roost_config config = {
		.workers = WORKERS,
		.max_actors = MAX_ACTORS,
		.faults = ROOST_FAULTS_IGNORE,
		.runq = ROOST_RUNQ_MUTEX + n % 4,
		.wake_slot = n / 4 % 2 ? ROOST_WAKE_SLOT_OFF : ROOST_WAKE_SLOT_ON,
	};
	uint64_t r = mix(seed, n);

	forget_round();
	round_number = n;
	round_seed = random_next(&r);
	mood = m ? *m : moods[random_below(&r, ARRAY_SIZE(moods))];
	nr_players = 1 + (unsigned int)random_below(&r, mood.players);
	nr_left = (unsigned int)random_below(&r, MOST_LEFT);
	if (random_percent(&r, 25))
		config.timeslice = ~0U;
	run_with(&config, root_main, NULL);
	HOLDS(all_have_ended(), "a run ends after its actors", NULL);
	HOLDS(atomic_load(&left_begun) == atomic_load(&left_stopped) &&
	      atomic_load(&left_begun) == nr_left + nr_left / 2,
	      "what is left parked for ever is stopped", NULL);
}

static unsigned long number_from(const char *name, unsigned long usual)
{
	const char *text = getenv(name);

	return text && *text ? strtoul(text, NULL, 0) : usual;
}

/* Who has not come to the end, or was sent what has not arrived. */
static void say_who_is_stuck(void)
{
	unsigned int i, n = atomic_load(&nr_lives);

	for (i = 0; i < n; i++) {
		struct life *l = &lives[i];

		if (!atomic_load(&l->ended))
			printf("# actor %lx of %lx: begun %d, stop %d, ticket %u waits %u sent %u used %u\n",
			       (unsigned long)l->id, (unsigned long)l->pid, l->begun,
			       (int)l->stop, l->ticket, l->waits, l->sent, l->used);
	}
}

static void *watchdog_main(void *arg unused_arg)
{
	unsigned long limit = number_from("ROOST_STUCK", TEST_LIMIT_S - 10);
	unsigned long now, last = ~0UL, stuck = 0;

	while (!atomic_load(&program_over)) {
		sleep(1);
		now = atomic_load(&progress) + round_number;
		stuck = now == last ? stuck + 1 : 0;
		last = now;
		if (stuck < limit)
			continue;
		say_who_is_stuck();
		violated("no wake is lost, and nobody is stranded", NULL);
	}
	return NULL;
}

static pthread_t watchdog;

static void watch(void)
{
	atomic_store(&program_over, false);
	CHECK_EQ(pthread_create(&watchdog, NULL, watchdog_main, NULL), 0);
}

static void watch_no_more(void)
{
	atomic_store(&program_over, true);
	pthread_join(watchdog, NULL);
}

/* S0-19, S0-22, S0-23, S0-24, S0-25, S0-27, S0-77, S1-05 */
ROOST_TEST(nothing_is_violated)
{
	uint64_t end = roost_after(ROOST_SEC(number_from("ROOST_SECONDS", 4)));
	unsigned long only = number_from("ROOST_ROUND", ~0UL);
	unsigned long n = 0, all = 0;

	seed = tap_seed(1);
	watch();
	for (n = 0; (n < LEAST_ROUNDS || roost_now() < end) && !tap_failed(); n++) {
		one_round(only == ~0UL ? n : only, NULL);
		all += atomic_load(&nr_lives);
	}
	watch_no_more();
	printf("# %lu rounds, %lu actors, %lu calls\n", n, all,
	       (unsigned long)atomic_load(&progress));
	CHECK(all >= n);
}

static uint64_t digest_of(uint64_t s)
{
	struct mood m = moods[2];

	seed = s;
	one_round(0, &m);
	return atomic_load(&digest);
}

ROOST_TEST(the_seed_replays)
{
	uint64_t s = tap_seed(1), first;

	watch();
	first = digest_of(s);
	printf("# decisions: %lx\n", (unsigned long)first);
	CHECK_EQ(digest_of(s), first);
	CHECK(digest_of(s + 1) != first);
	watch_no_more();
}
