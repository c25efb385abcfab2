// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * slot_test.c - the state word from the inside: every state with every
 * transition, generations, epochs, permits (S0-16 to S0-25).
 */
#include <pthread.h>
#include <sys/resource.h>

#include "slot.h"

#include "run.h"

#define GENERATION	7U
#define EPOCH		5U

static const enum slot_state all_states[] = {
	SLOT_VACANT, SLOT_QUEUED, SLOT_RUNNING,
	SLOT_NOTIFIED, SLOT_PARKED, SLOT_DONE,
};

static void put(struct slot *s, enum slot_state state, uint32_t epoch,
		uint32_t flags)
{
	memset(s, 0, sizeof(*s));
	atomic_init(&s->word, (uint64_t)GENERATION << SLOT_GENERATION_SHIFT |
			      (uint64_t)epoch << SLOT_EPOCH_SHIFT | flags | state);
	s->epoch = epoch;
}

static enum slot_state state_of(const struct slot *s)
{
	return slot_word_state(slot_load(s));
}

static uint32_t epoch_of(const struct slot *s)
{
	return slot_word_epoch(slot_load(s));
}

/* Transitions that must not be tried in a wrong state. */
static void do_install(struct slot *s) { slot_install(s); }
static void do_yield(struct slot *s) { slot_yield(s); }
static void do_park(struct slot *s) { slot_park(s, false); }
static void do_park_wait(struct slot *s) { slot_park_wait(s); }
static void do_finish(struct slot *s) { slot_finish(s); }
static void do_reclaim(struct slot *s) { slot_reclaim(s); }
static void do_begin(struct slot *s) { slot_wait_begin(s, false); }
static void do_retire(struct slot *s) { slot_wait_retire(s); }

#define BIT_OF(state)	(1U << (state))
#define ON_CPU		(BIT_OF(SLOT_RUNNING) | BIT_OF(SLOT_NOTIFIED))

static const struct edge {
	const char *name;
	void (*act)(struct slot *s);
	unsigned int from;		/* states that it may start from */
	enum slot_state to;		/* from Running, Vacant or Done */
	enum slot_state to_notified;	/* from RunningNotified */
} edges[] = {
	{ "install", do_install, BIT_OF(SLOT_VACANT), SLOT_QUEUED, 0 },
	{ "yield", do_yield, ON_CPU, SLOT_QUEUED, SLOT_QUEUED },
	{ "park", do_park, ON_CPU, SLOT_PARKED, SLOT_QUEUED },
	{ "park_wait", do_park_wait, ON_CPU, SLOT_PARKED, SLOT_PARKED },
	{ "finish", do_finish, ON_CPU, SLOT_DONE, SLOT_DONE },
	{ "reclaim", do_reclaim, BIT_OF(SLOT_DONE), SLOT_VACANT, 0 },
	{ "begin", do_begin, ON_CPU, SLOT_RUNNING, SLOT_RUNNING },
	{ "retire", do_retire, ON_CPU, SLOT_RUNNING, SLOT_RUNNING },
};

struct attempt {
	const struct edge *edge;
	enum slot_state state;
};

static void attempt_in_child(void *arg)
{
	struct rlimit none = { 0, 0 };
	struct attempt *a = arg;
	struct slot s;

	setrlimit(RLIMIT_CORE, &none);
	put(&s, a->state, EPOCH, 0);
	a->edge->act(&s);
}

static void legal_edge(const struct edge *e, enum slot_state state)
{
	enum slot_state want = state == SLOT_NOTIFIED ? e->to_notified : e->to;
	struct slot s;

	put(&s, state, EPOCH, 0);
	e->act(&s);
	CHECK_MSG(state_of(&s) == want, "%s of state %u gives %u, not %u",
		  e->name, state, state_of(&s), want);
}

static void illegal_edge(const struct edge *e, enum slot_state state)
{
	struct attempt a = { .edge = e, .state = state };
	char text[256];
	int status = in_child_stderr(attempt_in_child, &a, text, sizeof(text));

	CHECK_MSG(KILLED_BY(status, SIGABRT), "%s of state %u ends with 0x%x",
		  e->name, state, status);
	CHECK_MSG(strstr(text, "generation 7"), "message: %s", text);
}

ROOST_TEST(s0_17_every_edge_of_every_state)
{
	size_t i, j;

	for (i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		for (j = 0; j < 6; j++) {
			if (edges[i].from & BIT_OF(all_states[j]))
				legal_edge(&edges[i], all_states[j]);
			else
				illegal_edge(&edges[i], all_states[j]);
		}
	}
}

ROOST_TEST(s0_16_claim_wants_state_and_generation)
{
	struct slot s;
	size_t i;

	for (i = 0; i < 6; i++) {
		bool want = all_states[i] == SLOT_QUEUED;

		put(&s, all_states[i], EPOCH, 0);
		CHECK(!slot_claim(&s, GENERATION - 1));
		CHECK(!slot_claim(&s, GENERATION + 1));
		CHECK_EQ(state_of(&s), all_states[i]);
		CHECK_EQ(slot_claim(&s, GENERATION), want);
		CHECK_EQ(state_of(&s), want ? SLOT_RUNNING : all_states[i]);
	}
}

ROOST_TEST(s0_16_claim_of_a_known_tenant_wants_the_state)
{
	struct slot s;
	size_t i;

	for (i = 0; i < 6; i++) {
		bool want = all_states[i] == SLOT_QUEUED;

		put(&s, all_states[i], EPOCH, SLOT_STOP);
		CHECK_EQ(slot_claim_queued(&s), want);
		CHECK_EQ(state_of(&s), want ? SLOT_RUNNING : all_states[i]);
		CHECK_EQ(epoch_of(&s), EPOCH);
		CHECK_EQ(slot_word_flags(slot_load(&s)), SLOT_STOP);
	}
}

ROOST_TEST(s0_18_stale_generation_has_no_effect)
{
	uint64_t before;
	struct slot s;
	size_t i;

	for (i = 0; i < 6; i++) {
		put(&s, all_states[i], EPOCH, SLOT_PARKING);
		before = slot_load(&s);
		CHECK_EQ(slot_wake(&s, GENERATION - 1, EPOCH), SLOT_NO_EFFECT);
		CHECK_EQ(slot_wake(&s, GENERATION + 1, EPOCH), SLOT_NO_EFFECT);
		CHECK_EQ(slot_unpark(&s, GENERATION - 1), SLOT_NO_EFFECT);
		CHECK_EQ(slot_stop(&s, GENERATION - 1), SLOT_NO_EFFECT);
		CHECK_EQ(slot_load(&s), before);
	}
}

ROOST_TEST(s0_18_the_dead_cannot_be_touched)
{
	static const enum slot_state dead[] = { SLOT_VACANT, SLOT_DONE };
	uint64_t before;
	struct slot s;
	size_t i;

	for (i = 0; i < 2; i++) {
		put(&s, dead[i], EPOCH, 0);
		before = slot_load(&s);
		CHECK_EQ(slot_wake(&s, GENERATION, EPOCH), SLOT_NO_EFFECT);
		CHECK_EQ(slot_unpark(&s, GENERATION), SLOT_NO_EFFECT);
		CHECK_EQ(slot_stop(&s, GENERATION), SLOT_NO_EFFECT);
		CHECK_EQ(slot_load(&s), before);
	}
}

ROOST_TEST(s0_22_a_wake_consumes_the_epoch)
{
	struct slot s;
	uint32_t epoch;

	put(&s, SLOT_RUNNING, EPOCH, 0);
	epoch = slot_wait_begin(&s, false);
	CHECK(slot_park(&s, false));
	CHECK_EQ(slot_wake(&s, GENERATION, epoch - 1), SLOT_NO_EFFECT);
	CHECK_EQ(slot_wake(&s, GENERATION, epoch + 1), SLOT_NO_EFFECT);
	CHECK_EQ(slot_wake(&s, GENERATION, epoch), SLOT_MADE_READY);
	CHECK_EQ(slot_wake(&s, GENERATION, epoch), SLOT_NO_EFFECT);
	CHECK_EQ(slot_wait_outcome(&s), SLOT_WOKEN);
	CHECK(slot_claim(&s, GENERATION));
	CHECK_EQ(slot_wake(&s, GENERATION, epoch), SLOT_NO_EFFECT);
}

/* A wait that is opened by its park: also where the epoch wraps. */
ROOST_TEST(s0_22_a_wait_begun_by_its_park)
{
	static const uint32_t epochs[] = { 0, EPOCH, SLOT_EPOCH_MASK };
	struct slot s;
	size_t i;

	for (i = 0; i < 3; i++) {
		put(&s, SLOT_RUNNING, epochs[i], SLOT_PERMIT);
		s.epoch = slot_next_epoch(&s);
		CHECK_EQ(s.epoch, (epochs[i] + 1) & SLOT_EPOCH_MASK);
		CHECK(slot_park_wait(&s));
		CHECK_EQ(slot_word_generation(slot_load(&s)), GENERATION);
		CHECK_EQ(epoch_of(&s), s.epoch);
		CHECK_EQ(slot_word_flags(slot_load(&s)),
			 SLOT_WAITING | SLOT_PERMIT);
		CHECK_EQ(slot_wait_outcome(&s), SLOT_NOT_ENDED);
		CHECK_EQ(slot_wake(&s, GENERATION, epochs[i]), SLOT_NO_EFFECT);
		CHECK_EQ(slot_wake(&s, GENERATION, s.epoch), SLOT_MADE_READY);
		CHECK_EQ(slot_wait_outcome(&s), SLOT_WOKEN);
	}
}

/* A stop of before the park is not slept over. */
ROOST_TEST(s0_25_a_wait_begun_by_its_park_is_stopped_at_once)
{
	struct slot s;

	put(&s, SLOT_RUNNING, EPOCH, 0);
	s.epoch = slot_next_epoch(&s);
	CHECK_EQ(slot_stop(&s, GENERATION), SLOT_MARKED);
	CHECK(!slot_park_wait(&s));
	CHECK_EQ(state_of(&s), SLOT_QUEUED);
	CHECK_EQ(slot_wait_outcome(&s), SLOT_STOPPED);
	CHECK_EQ(slot_wake(&s, GENERATION, s.epoch), SLOT_NO_EFFECT);
	CHECK_EQ(slot_stop(&s, GENERATION), SLOT_MARKED);
	CHECK_EQ(slot_wait_outcome(&s), SLOT_STOPPED);
}

ROOST_TEST(s0_19_wake_while_running_makes_the_park_return)
{
	struct slot s;
	uint32_t epoch;

	put(&s, SLOT_RUNNING, EPOCH, 0);
	epoch = slot_wait_begin(&s, false);
	CHECK_EQ(slot_wake(&s, GENERATION, epoch), SLOT_MARKED);
	CHECK_EQ(state_of(&s), SLOT_NOTIFIED);
	CHECK(!slot_park(&s, false));
	CHECK_EQ(state_of(&s), SLOT_QUEUED);
	CHECK_EQ(slot_wait_outcome(&s), SLOT_WOKEN);
}

ROOST_TEST(s0_24_stop_ends_any_wait_and_says_so)
{
	struct slot s;

	put(&s, SLOT_RUNNING, EPOCH, 0);
	slot_wait_begin(&s, false);
	CHECK(slot_park(&s, true));
	CHECK_EQ(slot_stop(&s, GENERATION), SLOT_MADE_READY);
	CHECK_EQ(slot_wait_outcome(&s), SLOT_STOPPED);
	CHECK(slot_load(&s) & SLOT_STOP);
	CHECK(!(slot_load(&s) & SLOT_ENDLESS));
	CHECK_EQ(slot_stop(&s, GENERATION), SLOT_MARKED);
}

/* S3-27: The wait is over, the actor runs again and has not yet asked how it ended. */
ROOST_TEST(s0_24_a_stop_after_the_wait_does_not_change_its_outcome)
{
	enum slot_effect effect;
	struct slot s;
	uint64_t word;

	put(&s, SLOT_RUNNING, EPOCH, 0);
	slot_wait_begin(&s, true);
	CHECK(slot_park(&s, true));
	word = slot_load(&s);
	while (!slot_timeout(&s, &word, &effect))
		;
	CHECK(slot_claim(&s, GENERATION));
	CHECK_EQ(slot_stop(&s, GENERATION), SLOT_MARKED);
	CHECK_EQ(slot_wait_outcome(&s), SLOT_TIMED_OUT);
	CHECK(slot_load(&s) & SLOT_STOP);

	put(&s, SLOT_RUNNING, EPOCH, 0);
	slot_wait_begin(&s, false);
	CHECK(slot_park(&s, true));
	CHECK_EQ(slot_stop(&s, GENERATION), SLOT_MADE_READY);
	CHECK(slot_claim(&s, GENERATION));
	CHECK_EQ(slot_stop(&s, GENERATION), SLOT_MARKED);
	CHECK_EQ(slot_wait_outcome(&s), SLOT_STOPPED);
}

ROOST_TEST(s0_25_retire_swallows_a_wake_but_not_a_stop)
{
	struct slot s;
	uint32_t epoch;

	put(&s, SLOT_RUNNING, EPOCH, 0);
	epoch = slot_wait_begin(&s, false);
	CHECK_EQ(slot_wait_retire(&s), SLOT_NOT_ENDED);
	CHECK_EQ(slot_wake(&s, GENERATION, epoch), SLOT_NO_EFFECT);

	epoch = slot_wait_begin(&s, false);
	CHECK_EQ(slot_wake(&s, GENERATION, epoch), SLOT_MARKED);
	CHECK_EQ(slot_wait_retire(&s), SLOT_WOKEN);
	CHECK_EQ(state_of(&s), SLOT_RUNNING);

	slot_wait_begin(&s, false);
	CHECK_EQ(slot_stop(&s, GENERATION), SLOT_MARKED);
	CHECK_EQ(slot_wait_retire(&s), SLOT_STOPPED);
	CHECK(slot_load(&s) & SLOT_STOP);
}

ROOST_TEST(a_timeout_is_told_from_a_wake)
{
	enum slot_effect effect;
	struct slot s;
	uint64_t word;

	put(&s, SLOT_RUNNING, EPOCH, 0);
	slot_wait_begin(&s, false);
	CHECK(slot_park(&s, false));
	word = slot_load(&s);
	while (!slot_timeout(&s, &word, &effect))
		;
	CHECK_EQ(effect, SLOT_MADE_READY);
	CHECK_EQ(slot_wait_outcome(&s), SLOT_TIMED_OUT);
}

ROOST_TEST(a_permit_is_one_and_ends_parking_waits_only)
{
	struct slot s;

	put(&s, SLOT_RUNNING, EPOCH, 0);
	CHECK(!slot_take_permit(&s));
	CHECK_EQ(slot_unpark(&s, GENERATION), SLOT_MARKED);
	CHECK_EQ(slot_unpark(&s, GENERATION), SLOT_MARKED);
	CHECK_EQ(state_of(&s), SLOT_RUNNING);
	CHECK(slot_take_permit(&s));
	CHECK(!slot_take_permit(&s));

	slot_wait_begin(&s, false);
	CHECK(slot_park(&s, false));
	CHECK_EQ(slot_unpark(&s, GENERATION), SLOT_MARKED);
	CHECK_EQ(state_of(&s), SLOT_PARKED);

	put(&s, SLOT_RUNNING, EPOCH, 0);
	slot_wait_begin(&s, true);
	CHECK(slot_park(&s, true));
	CHECK_EQ(slot_unpark(&s, GENERATION), SLOT_MADE_READY);
	CHECK_EQ(slot_wait_outcome(&s), SLOT_WOKEN);
}

ROOST_TEST(s0_31_a_new_tenant_inherits_nothing)
{
	struct slot s;

	put(&s, SLOT_RUNNING, EPOCH, SLOT_STOP | SLOT_PERMIT);
	slot_finish(&s);
	slot_reclaim(&s);
	slot_install(&s);
	CHECK_EQ(slot_word_generation(slot_load(&s)), GENERATION + 1);
	CHECK_EQ(slot_word_flags(slot_load(&s)), 0);
	CHECK_EQ(state_of(&s), SLOT_QUEUED);
}

/* S3-20 */
ROOST_TEST(epochs_wrap_inside_their_bits)
{
	struct slot s;
	uint32_t epoch;

	put(&s, SLOT_RUNNING, SLOT_EPOCH_MASK - 1, 0);
	epoch = slot_wait_begin(&s, false);
	CHECK_EQ(epoch, SLOT_EPOCH_MASK);
	CHECK_EQ(slot_wake(&s, GENERATION, epoch), SLOT_MARKED);
	CHECK_EQ(slot_wait_outcome(&s), SLOT_WOKEN);
	CHECK_EQ(epoch_of(&s), 0);
	CHECK_EQ(slot_word_generation(slot_load(&s)), GENERATION);
}

/* Two threads, one wait: one of them ends it. */
static struct slot contended;
static _Atomic uint32_t contended_epoch;
static _Atomic unsigned long landed;

static void *rival(void *arg)
{
	uint32_t last = *(uint32_t *)arg;
	uint32_t epoch;

	while ((epoch = atomic_load(&contended_epoch)) != ~0U) {
		if (epoch == last)
			continue;
		last = epoch;
		if (slot_wake(&contended, GENERATION, epoch) != SLOT_NO_EFFECT)
			atomic_fetch_add(&landed, 1);
	}
	return NULL;
}

/* S0-21 */
ROOST_TEST(s0_22_two_wakers_one_lands)
{
	/* valgrind runs one thread at a time, and none of these gives way. */
	unsigned long n = rounds(valgrind_here() ? 1000 : 100000), i;
	uint32_t first = 0;
	pthread_t t[2];

	put(&contended, SLOT_RUNNING, 1, 0);
	atomic_store(&contended_epoch, 0);
	atomic_store(&landed, 0);
	pthread_create(&t[0], NULL, rival, &first);
	pthread_create(&t[1], NULL, rival, &first);
	for (i = 1; i <= n; i++) {
		uint32_t epoch = slot_wait_begin(&contended, false);

		atomic_store(&contended_epoch, epoch);
		if (slot_park(&contended, false))
			while (state_of(&contended) == SLOT_PARKED)
				;
		if (!CHECK(slot_claim(&contended, GENERATION)))
			break;
	}
	atomic_store(&contended_epoch, ~0U);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	CHECK_EQ(atomic_load(&landed), n);
}
