// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * runq_test.c - what each kind of run queue has to do (S0-32, S0-33), from the inside:
 * slots without actors, and threads that say of themselves which worker they are.
 */
#include <pthread.h>
#include <sched.h>

#include "runq.h"
#include "runtime.h"

#include "run.h"

/* More than any ring of a worker holds, and no power of two. */
#define MANY	3001U
#define WORKERS	4U

static const enum roost_runq kinds[] = {
	ROOST_RUNQ_MUTEX, ROOST_RUNQ_MPMC, ROOST_RUNQ_STRIPED, ROOST_RUNQ_STEAL,
};

/**
 * struct bench - a queue, and slots to put into it
 * @q:		the queue
 * @slots:	the slots
 * @count:	how many
 * @held:	for each slot: who has popped it has it
 * @popped:	for each slot: how often that was
 */
struct bench {
	struct runq *q;
	struct slot *slots;
	uint32_t count;
	_Atomic uint32_t *held;
	_Atomic uint32_t *popped;
};

static void bench_init(struct bench *b, enum roost_runq kind, uint32_t count,
		       unsigned int workers)
{
	uint32_t i;

	b->count = count;
	b->slots = aligned_alloc(_Alignof(struct slot), count * sizeof(struct slot));
	b->held = calloc(count, sizeof(*b->held));
	b->popped = calloc(count, sizeof(*b->popped));
	memset(b->slots, 0, count * sizeof(struct slot));
	for (i = 0; i < count; i++) {
		b->slots[i].index = i;
		atomic_init(&b->held[i], 1);
	}
	b->q = runq_create(runq_kind_of(kind), b->slots, count, workers);
	CHECK(b->q);
}

static void bench_fini(struct bench *b)
{
	runq_destroy(b->q);
	free(b->popped);
	free(b->held);
	free(b->slots);
}

static void put(struct bench *b, uint32_t i, unsigned int at)
{
	/* A failed CHECK costs time in this place: once is enough. */
	if (atomic_exchange(&b->held[i], 0) != 1)
		CHECK_MSG(false, "slot %u was pushed by who has it not", i);
	runq_push(b->q, &b->slots[i], at);
}

/* Return: the slot's index, -1 for none. */
static int64_t get(struct bench *b, unsigned int at, bool elsewhere)
{
	struct slot *s = runq_pop(b->q, at, elsewhere);
	uint32_t i;

	if (!s)
		return -1;
	i = (uint32_t)(s - b->slots);
	if (i >= b->count || atomic_exchange(&b->held[i], 1) != 0)
		CHECK_MSG(false, "slot %u was popped and is not in the queue", i);
	atomic_fetch_add_explicit(&b->popped[i], 1, memory_order_relaxed);
	return i;
}

/* All are popped by @at, once each, and then there is none. */
static void get_all(struct bench *b, unsigned int at, bool in_order)
{
	uint32_t n = 0, wrong = 0;
	int64_t i;

	while ((i = get(b, at, false)) >= 0)
		wrong += i != n++;
	CHECK_EQ(n, b->count);
	CHECK_EQ(runq_length(b->q), 0);
	if (in_order)
		CHECK_EQ(wrong, 0);
}

#define for_each_kind(kind) \
	for (size_t k_ = 0; k_ < ARRAY_SIZE(kinds) && ((kind) = kinds[k_], 1); k_++)

ROOST_TEST(s0_33_full_and_empty_again)
{
	enum roost_runq kind;
	struct bench b;
	uint32_t i, round;

	for_each_kind(kind) {
		bench_init(&b, kind, MANY, WORKERS);
		for (round = 0; round < 3; round++) {
			for (i = 0; i < MANY; i++)
				put(&b, i, round);
			CHECK_EQ(runq_length(b.q), MANY);
			CHECK(runq_near(b.q, round) > 0);
			get_all(&b, round, true);
			CHECK_EQ(runq_near(b.q, round), 0);
		}
		bench_fini(&b);
	}
}

/* What a worker has pushed is not stranded there, however much it is. */
ROOST_TEST(another_worker_gets_all)
{
	enum roost_runq kind;
	struct bench b;
	uint32_t i;

	for_each_kind(kind) {
		bench_init(&b, kind, MANY, WORKERS);
		for (i = 0; i < MANY; i++)
			put(&b, i, 1);
		get_all(&b, 2, false);
		for (i = 0; i < MANY; i++)
			put(&b, i, i % 3 ? i % 2 : RUNQ_OUTSIDE);
		get_all(&b, 3, false);
		bench_fini(&b);
	}
}

/* ... and a worker that has @plenty of its own, and takes turns, finds it as well. */
static void find_elsewhere(enum roost_runq kind, uint32_t plenty, unsigned int from)
{
	const uint32_t tries = 10 * plenty;
	struct bench b;
	uint32_t n;
	int64_t i;

	bench_init(&b, kind, plenty, WORKERS);
	for (i = 1; i < plenty; i++)
		put(&b, (uint32_t)i, 0);
	put(&b, 0, from);
	for (n = 0; n < tries; n++) {
		i = get(&b, 0, n % 4 == 0);
		REQUIRE(i >= 0);
		if (!i)
			break;
		put(&b, (uint32_t)i, 0);
	}
	CHECK_MSG(n < tries, "%s: what %u has pushed was not found beside %u",
		  b.q->kind->name, from, plenty);
	bench_fini(&b);
}

ROOST_TEST(who_looks_elsewhere_finds_it)
{
	static const unsigned int from[] = { RUNQ_OUTSIDE, 1, 2, 3 };
	enum roost_runq kind;
	size_t i;

	for_each_kind(kind) {
		for (i = 0; i < ARRAY_SIZE(from); i++) {
			find_elsewhere(kind, 100, from[i]);
			/* More than a ring: what is for all is never empty. */
			find_elsewhere(kind, MANY, from[i]);
		}
	}
}

ROOST_TEST(first_in_first_out_on_one_worker)
{
	enum roost_runq kind;
	struct bench b;
	uint32_t i;

	for_each_kind(kind) {
		bench_init(&b, kind, 100, WORKERS);
		for (i = 0; i < 100; i++)
			put(&b, i, 1);
		for (i = 0; i < 1000; i++) {
			if (!CHECK_EQ(get(&b, 1, false), i % 100))
				break;
			put(&b, i % 100, 1);
		}
		bench_fini(&b);
	}
}

/* Yields of more actors than a ring holds: nobody waits while others have turns. */
ROOST_TEST(more_than_a_ring_take_turns)
{
	const uint32_t laps = 8;
	enum roost_runq kind;
	struct bench b;
	uint32_t i, least, most;

	for_each_kind(kind) {
		bench_init(&b, kind, MANY, WORKERS);
		for (i = 0; i < MANY; i++)
			put(&b, i, 0);
		for (i = 1; i <= MANY * laps; i++) {
			int64_t s = get(&b, 0, i % 61 == 0);

			REQUIRE(s >= 0);
			put(&b, (uint32_t)s, 0);
		}
		least = ~0U;
		most = 0;
		for (i = 0; i < MANY; i++) {
			uint32_t n = atomic_load(&b.popped[i]);

			least = n < least ? n : least;
			most = n > most ? n : most;
		}
		printf("# %s: %u to %u turns of %u\n", b.q->kind->name, least, most,
		       laps);
		CHECK(least >= laps / 2 && most <= laps * 2);
		bench_fini(&b);
	}
}

ROOST_TEST(batches)
{
	enum roost_runq kind;
	struct runq_batch batch;
	struct bench b;
	uint32_t i, n;

	for_each_kind(kind) {
		bench_init(&b, kind, MANY, 1);
		batch = (struct runq_batch){ .count = 0 };
		runq_push_batch(b.q, &batch, 0);
		CHECK_EQ(runq_length(b.q), 0);
		for (i = 0; i < MANY; i++) {
			atomic_store(&b.held[i], 0);
			runq_batch_add(b.slots, &batch, &b.slots[i]);
			if (i % 1000 == 999 || i == MANY - 1)
				runq_push_batch(b.q, &batch, i % 2000 == 999 ?
							 RUNQ_OUTSIDE : 0);
			CHECK_EQ(batch.count, (i + 1) % 1000 && i < MANY - 1 ?
						      (i + 1) % 1000 : 0);
		}
		CHECK_EQ(runq_length(b.q), MANY);
		/* The last one stays: what is taken comes behind it. */
		runq_pop_all(b.q, &batch);
		CHECK_EQ(batch.count, MANY);
		CHECK_EQ(runq_length(b.q), 0);
		for (n = 0; batch.count; n++) {
			struct slot *s = runq_batch_take(b.slots, &batch);

			runq_unmark(s);
			if (atomic_exchange(&b.held[s->index], 1))
				CHECK(false);
		}
		CHECK_EQ(n, MANY);
		bench_fini(&b);
	}
}

/* All at once */

struct crowd {
	struct bench b;
	unsigned long ops;
	uint64_t seed;
	_Atomic unsigned long outside;
	_Atomic int running;
	_Atomic int arrived;
	int threads;
};

struct member {
	struct crowd *crowd;
	unsigned int at;
	pthread_t thread;
};

#define HOLD	16U

static void meet(struct crowd *c)
{
	atomic_fetch_add(&c->arrived, 1);
	while (atomic_load(&c->arrived) < c->threads)
		sched_yield();
}

static void *is_a_worker(void *arg)
{
	struct member *m = arg;
	struct crowd *c = m->crowd;
	uint64_t r = c->seed + m->at;
	uint32_t hand[HOLD], n = 0;
	unsigned long i;

	meet(c);
	/* Not before those outside have had the CPU as well. */
	for (i = 0; i < c->ops || atomic_load(&c->outside) < 20; i++) {
		if (n && (n == HOLD || random_percent(&r, 45))) {
			put(&c->b, hand[--n], m->at);
		} else {
			int64_t s = get(&c->b, m->at, random_percent(&r, 5));

			if (s >= 0 && (uint32_t)s >= c->b.count - 20)
				/* Parked: whoever is outside wakes it. */
				atomic_store(&c->b.held[s], 2);
			else if (s >= 0)
				hand[n++] = (uint32_t)s;
			else if (random_percent(&r, 10))
				sched_yield();
		}
	}
	while (n)
		put(&c->b, hand[--n], m->at);
	atomic_fetch_sub(&c->running, 1);
	return NULL;
}

/* Wakes those that nobody else has: the last ones, each again and again. */
static void *is_outside(void *arg)
{
	struct member *m = arg;
	struct crowd *c = m->crowd;
	uint32_t i, first = c->b.count - 10 * (m->at + 1);

	meet(c);
	while (atomic_load(&c->running)) {
		for (i = first; i < first + 10; i++) {
			/* Only this thread puts it back. */
			if (atomic_load(&c->b.held[i]) == 2) {
				atomic_store(&c->b.held[i], 1);
				put(&c->b, i, RUNQ_OUTSIDE);
				atomic_fetch_add(&c->outside, 1);
			}
		}
		sched_yield();
	}
	return NULL;
}

static void crowd_of(enum roost_runq kind, uint32_t count, unsigned long ops)
{
	struct member m[WORKERS + 2];
	struct crowd c = { .ops = ops, .seed = tap_seed(1) };
	uint32_t i, missing = 0, left = 0;

	bench_init(&c.b, kind, count, WORKERS);
	c.threads = WORKERS + 2;
	atomic_store(&c.running, WORKERS);
	/* The last 20 are those of the threads outside, to begin with. */
	for (i = 0; i < count; i++) {
		if (i < count - 20)
			put(&c.b, i, i % WORKERS);
		else
			atomic_store(&c.b.held[i], 2);
	}
	for (i = 0; i < WORKERS + 2; i++) {
		m[i].crowd = &c;
		m[i].at = i < WORKERS ? i : i - WORKERS;
		CHECK_EQ(pthread_create(&m[i].thread, NULL,
					i < WORKERS ? is_a_worker : is_outside,
					&m[i]), 0);
	}
	for (i = 0; i < WORKERS + 2; i++)
		pthread_join(m[i].thread, NULL);
	CHECK(atomic_load(&c.outside) >= 20);
	for (i = count - 20; i < count; i++) {
		if (atomic_load(&c.b.held[i]) == 2) {
			atomic_store(&c.b.held[i], 1);
			put(&c.b, i, RUNQ_OUTSIDE);
		}
	}
	CHECK_EQ(runq_length(c.b.q), count);
	while (get(&c.b, 0, false) >= 0)
		left++;
	for (i = 0; i < count; i++)
		missing += atomic_load(&c.b.held[i]) != 1;
	CHECK_EQ(left, count);
	CHECK_EQ(missing, 0);
	bench_fini(&c.b);
}

ROOST_TEST(each_is_had_by_one_at_a_time)
{
	enum roost_runq kind;

	for_each_kind(kind) {
		/* A few, so that rings are empty most of the time; and many. */
		crowd_of(kind, 30, rounds(100000));
		crowd_of(kind, MANY, rounds(100000));
	}
}

/*
 * Who goes idle and who has made something ready: either the length is seen, or the idle
 * bit.  Two threads do the one and the other at about the same time, and both look then.
 */
struct pair {
	struct bench b;
	const struct readying *way;
	cpu_set_t allowed;
	unsigned long rounds;
	uint64_t seed;
	_Atomic unsigned long begun;
	_Atomic unsigned long slept;
	_Atomic bool idle;
	_Atomic bool saw_idle;
	_Atomic bool saw_work;
	unsigned long lost;
};

/**
 * struct readying - how something gets into the queue
 * @prepare:	before the round
 * @act:	do it, and return whether the idle bit was seen after that
 * @count:	slots that are in the queue then
 */
struct readying {
	void (*prepare)(struct pair *p, uint32_t at);
	bool (*act)(struct pair *p, uint32_t at);
	uint32_t count;
};

static void dawdle(unsigned int n)
{
	while (n--)
		__asm__ volatile("");
}

/* So much longer, and a little more or less, than the last time. */
static unsigned int nearer(unsigned int wait, bool was_late, uint64_t *r)
{
	unsigned int step = (unsigned int)random_below(r, 32);

	/* Who has lost its CPU meanwhile is late, and says nothing. */
	if (was_late)
		return wait - wait / 8 > step ? wait - wait / 8 - step : 0;
	return wait < 1500 ? wait + step : wait;
}

/* Return: false if there is no such CPU for us. */
static bool keep_to_cpu(int nr, const cpu_set_t *allowed)
{
	cpu_set_t one;
	int cpu;

	CPU_ZERO(&one);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, allowed) || nr--)
			continue;
		CPU_SET(cpu, &one);
		return !pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
	}
	return false;
}

static void *goes_idle(void *arg)
{
	struct pair *p = arg;
	unsigned long i, tries;

	/* Two that share a CPU never do anything at the same time. */
	keep_to_cpu(1, &p->allowed);
	for (i = 1; i <= p->rounds; i++) {
		for (tries = 1; atomic_load(&p->begun) != i; tries++)
			if (tries % 4096 == 0)
				sched_yield();
		atomic_store_explicit(&p->idle, true, memory_order_seq_cst);
		atomic_thread_fence(memory_order_seq_cst);
		atomic_store_explicit(&p->saw_work, runq_length(p->b.q) != 0,
				      memory_order_relaxed);
		atomic_store(&p->slept, i);
	}
	return NULL;
}

static bool sees_idle(const struct pair *p)
{
	return atomic_load_explicit(&p->idle, memory_order_relaxed);
}

static void makes_ready(struct pair *p)
{
	unsigned int wait = 0;
	uint64_t r = p->seed;
	unsigned long i;
	uint32_t n;

	for (i = 1; i <= p->rounds; i++) {
		uint32_t at = (uint32_t)(i * 2 % p->b.count);

		p->way->prepare(p, at);
		atomic_store(&p->begun, i);
		dawdle(wait);
		atomic_store(&p->saw_idle, p->way->act(p, at));
		while (atomic_load(&p->slept) != i)
			sched_yield();
		p->lost += !atomic_load(&p->saw_idle) && !atomic_load(&p->saw_work);
		/* To where neither is the first for sure. */
		wait = nearer(wait, atomic_load(&p->saw_idle), &r);
		atomic_store(&p->idle, false);
		for (n = 0; get(&p->b, 1, false) >= 0; n++)
			;
		if (!CHECK_EQ(n, p->way->count))
			break;
	}
}

static void either_sees(const struct readying *way, unsigned long n)
{
	enum roost_runq kind;
	pthread_t thread;

	for_each_kind(kind) {
		struct pair p = { .way = way, .rounds = n, .seed = tap_seed(1) };

		bench_init(&p.b, kind, 300, 2);
		sched_getaffinity(0, sizeof(p.allowed), &p.allowed);
		CHECK_EQ(pthread_create(&thread, NULL, goes_idle, &p), 0);
		keep_to_cpu(0, &p.allowed);
		makes_ready(&p);
		pthread_join(thread, NULL);
		sched_setaffinity(0, sizeof(p.allowed), &p.allowed);
		CHECK_EQ(p.lost, 0);
		bench_fini(&p.b);
	}
}

static void prepares_nothing(struct pair *p unused_arg, uint32_t at unused_arg)
{
}

static bool pushes(struct pair *p, uint32_t at)
{
	put(&p->b, at, at % 3 ? 0 : RUNQ_OUTSIDE);
	/* As worker_wake_one() has it. */
	atomic_thread_fence(memory_order_seq_cst);
	return sees_idle(p);
}

ROOST_TEST(the_length_or_the_idle_bit_is_seen)
{
	static const struct readying way = { prepares_nothing, pushes, 1 };

	either_sees(&way, rounds(20000));
}

/*
 * A worker of two takes both that were pushed from outside, if the kind has rings, and
 * runs one.  The other is in no queue for a moment, and nothing but the barrier of the
 * pop is between its coming to the ring and the look at the mask.
 */
static void push_two(struct pair *p, uint32_t at)
{
	put(&p->b, at, RUNQ_OUTSIDE);
	put(&p->b, at + 1, RUNQ_OUTSIDE);
}

static bool pops_one_of_two(struct pair *p, uint32_t at)
{
	struct slot *s = runq_pop(p->b.q, 0, false);
	bool idle = sees_idle(p);

	CHECK(s == &p->b.slots[at] || s == &p->b.slots[at + 1]);
	atomic_store(&p->b.held[at + (s != &p->b.slots[at])], 1);
	return idle;
}

ROOST_TEST(s1_18_the_length_or_the_idle_bit_is_seen_of_what_is_taken_along)
{
	static const struct readying way = { push_two, pops_one_of_two, 1 };

	either_sees(&way, rounds(60000));
}

ROOST_TEST(kinds_have_names)
{
	enum roost_runq kind;

	for_each_kind(kind)
		CHECK_EQ(runq_number_of(runq_kind_of(kind)->name), kind);
	CHECK(!runq_kind_of(ROOST_RUNQ_DEFAULT));
	CHECK(!runq_kind_of((enum roost_runq)99));
	CHECK_EQ(runq_number_of("deque"), ROOST_RUNQ_DEFAULT);
}

/* A run of actors with each kind, more of them than a ring holds. */
static void counts(void *arg)
{
	int i;

	for (i = 0; i < 10; i++)
		roost_yield();
	atomic_fetch_add((_Atomic unsigned int *)arg, 1);
}

static void runs_a_crowd(void *arg)
{
	static roost_pid pid[1000];
	int i;

	for (i = 0; i < 1000; i++)
		pid[i] = spawn(counts, arg);
	for (i = 0; i < 1000; i++)
		join(pid[i]);
}

ROOST_TEST(s0_32_a_run_has_the_kind_that_it_asks_for)
{
	static const unsigned int workers[] = { 1, 2, 8 };
	enum roost_runq kind;
	size_t i;

	for_each_kind(kind) {
		for (i = 0; i < ARRAY_SIZE(workers); i++) {
			struct roost_config config = {
				.workers = workers[i], .runq = kind,
			};
			_Atomic unsigned int done = 0;

			run_with(&config, runs_a_crowd, &done);
			CHECK_EQ(atomic_load(&done), 1000);
		}
	}
}

static const struct runq_kind *kind_of_run;

static void says_kind(void *arg unused_arg)
{
	kind_of_run = runtime_self()->runq->kind;
}

static const struct runq_kind *kind_with(const char *environment,
					 enum roost_runq knob)
{
	struct roost_config config = { .workers = 1, .runq = knob };
	char before[32] = "";

	if (getenv("ROOST_RUNQ"))
		snprintf(before, sizeof(before), "%s", getenv("ROOST_RUNQ"));
	setenv("ROOST_RUNQ", environment, 1);
	kind_of_run = NULL;
	run_with(&config, says_kind, NULL);
	setenv("ROOST_RUNQ", before, 1);
	return kind_of_run;
}

ROOST_TEST(s0_32_the_kind_is_that_of_the_knob_or_the_environment)
{
	enum roost_runq kind;

	for_each_kind(kind) {
		const struct runq_kind *k = runq_kind_of(kind);

		CHECK(kind_with("", kind) == k);
		CHECK(kind_with(k->name, ROOST_RUNQ_DEFAULT) == k);
		CHECK(kind_with("steal", kind) == k);
	}
	CHECK(kind_with("", ROOST_RUNQ_DEFAULT) ==
	      kind_with("default", ROOST_RUNQ_DEFAULT));
}

static void starts_with_a_wrong_name(void *arg unused_arg)
{
	setenv("ROOST_RUNQ", "deque", 1);
	_exit(roost_run(NULL, says_kind, NULL) == -EINVAL ? 3 : 4);
}

static void starts_with_a_wrong_number(void *arg unused_arg)
{
	struct roost_config config = { .runq = (enum roost_runq)5 };

	_exit(roost_run(&config, says_kind, NULL) == -EINVAL ? 3 : 4);
}

ROOST_TEST(s0_32_there_are_no_other_kinds)
{
	char text[400];

	CHECK(EXITED(in_child_stderr(starts_with_a_wrong_name, NULL, text,
				     sizeof(text)), 3));
	CHECK(strstr(text, "ROOST_RUNQ is \"deque\""));
	CHECK(EXITED(in_child_stderr(starts_with_a_wrong_number, NULL, text,
				     sizeof(text)), 3));
	CHECK(strstr(text, "runq is 5"));
}
