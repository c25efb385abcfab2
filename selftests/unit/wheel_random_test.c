// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * wheel_random_test.c - the timing wheel against models, everything at once.
 *
 * "array": few entries, any operation in any order, and after each one the whole
 * state is compared with a plain array that is searched from end to end.
 *
 * "many": 200,000 timers, of which 30 % are cancelled and 20 % moved, judged one
 * by one when they expire: not before the deadline, and not later than at the
 * first time that the wheel was advanced to when they were due.
 */
#include <limits.h>

#include "random.h"
#include "tap.h"
#include "wheel_model.h"

#define UNLIMITED	UINT_MAX

static struct roost_wheel wheel;

/* ---- array ---- */

enum { ITEMS = 200 };

enum item_state { IDLE, ARMED, EXPIRED };

/**
 * struct item - an entry and what it should be
 * @due:	tick at which it must expire
 * @soonest:	tick before which it must not
 */
struct item {
	struct roost_wheel_entry entry;
	enum item_state state;
	u128 due;
	u128 soonest;
};

static struct item items[ITEMS];

struct array_run {
	unsigned int shift;
	unsigned int bits;
	unsigned int budget;
	u64 state;
	u64 now;
	struct list_head expired;
};

static void item_armed(struct array_run *run, struct item *item, u64 expires)
{
	CHECK_EQ(item->entry.expires, expires);
	item->state = ARMED;
	item->due = model_due(run->shift, expires, run->now);
	item->soonest = model_due(run->shift, expires, 0);
}

static u64 random_deadline(struct array_run *run)
{
	u64 delta = random_magnitude(&run->state, run->bits);

	/* One in eight has passed already. */
	if (random_below(&run->state, 8) == 0)
		return run->now > delta ? run->now - delta : 0;
	return add_ns(run->now, delta);
}

/* One operation on one entry; its answer must be that of the model. */
static void array_operate(struct array_run *run)
{
	struct item *item = &items[random_below(&run->state, ITEMS)];
	struct roost_wheel_entry *e = &item->entry;
	u64 expires = random_deadline(run);
	bool queued = item->state != IDLE;

	switch (random_below(&run->state, 4)) {
	case 0:
		CHECK_EQ(roost_wheel_del(&wheel, e), queued);
		item->state = IDLE;
		break;
	case 1:
		if (queued)
			break;
		roost_wheel_add(&wheel, e, expires, run->now);
		item_armed(run, item, expires);
		break;
	default:
		CHECK_EQ(roost_wheel_mod(&wheel, e, expires, run->now), queued);
		item_armed(run, item, expires);
		break;
	}
}

/* Take some of the expired entries; the others stay listed for a while. */
static void array_take(struct array_run *run)
{
	while (!list_empty(&run->expired) &&
	       random_below(&run->state, 4) != 0) {
		struct item *item = list_first_entry(&run->expired, struct item,
						     entry.node);

		list_del_init(&item->entry.node);
		CHECK_EQ(item->state, EXPIRED);
		item->state = IDLE;
	}
}

/* Let time pass; exactly those that are due must come out. */
static void array_advance(struct array_run *run)
{
	struct list_head fresh;
	unsigned int done, i, due = 0;
	u128 now;

	switch (random_below(&run->state, 4)) {
	case 0:
		run->now = add_ns(run->now, random_magnitude(&run->state,
							     run->bits));
		break;
	case 1:
		if (roost_wheel_next(&wheel) > run->now)
			run->now = roost_wheel_next(&wheel);
		break;
	default:
		run->now = add_ns(run->now, random_magnitude(&run->state,
							     run->shift + 4));
		break;
	}
	now = model_now(run->shift, run->now);

	INIT_LIST_HEAD(&fresh);
	done = roost_wheel_advance(&wheel, run->now, run->budget, &fresh);
	CHECK(done <= run->budget);
	while (!list_empty(&fresh)) {
		struct item *item = list_first_entry(&fresh, struct item,
						     entry.node);

		CHECK_EQ(item->state, ARMED);
		CHECK(item->soonest <= now);
		item->state = EXPIRED;
		list_del_init(&item->entry.node);
		list_add_tail(&item->entry.node, &run->expired);
	}
	for (i = 0; i < ITEMS; i++)
		due += items[i].state == ARMED && items[i].due <= now;
	if (done < run->budget)
		CHECK_EQ(due, 0);
	else if (due)
		CHECK(roost_wheel_next(&wheel) <= run->now);
}

/* What holds at any moment. */
static void array_compare(struct array_run *run)
{
	unsigned int i, armed = 0;
	u128 first = model_now(run->shift, U64_MAX) + 1;
	u64 next;

	for (i = 0; i < ITEMS; i++) {
		CHECK_EQ(roost_wheel_queued(&items[i].entry),
			 items[i].state != IDLE);
		if (items[i].state != ARMED)
			continue;
		armed++;
		if (items[i].due < first)
			first = items[i].due;
	}
	CHECK_EQ(roost_wheel_count(&wheel), armed);
	/* What a budget has left pending is wanted at once, if not before. */
	next = model_ns(run->shift, first);
	if (run->budget != UNLIMITED && next < run->now)
		next = run->now;
	CHECK(roost_wheel_next(&wheel) <= next);
	if (!armed)
		CHECK_EQ(roost_wheel_next(&wheel), U64_MAX);
	roost_wheel_check(&wheel);
}

/*
 * @bits limits deadlines and jumps of the clock: 63 reaches beyond the end of
 * the time, 24 stays within the finest levels.
 */
static void array_run(u64 seed, unsigned int shift, unsigned int bits,
		      unsigned int budget, u64 start)
{
	struct array_run run = {
		.shift = shift, .bits = bits, .budget = budget,
		.state = seed, .now = start,
	};
	unsigned int i, step;

	INIT_LIST_HEAD(&run.expired);
	roost_wheel_init(&wheel, shift, start);
	for (i = 0; i < ITEMS; i++) {
		roost_wheel_entry_init(&items[i].entry);
		items[i].state = IDLE;
	}
	for (step = 0; step < 3000 && !tap_failed(); step++) {
		for (i = random_below(&run.state, 8); i; i--)
			array_operate(&run);
		array_compare(&run);
		array_advance(&run);
		array_take(&run);
		array_compare(&run);
	}
	CHECK_MSG(!tap_failed(),
		  "seed 0x%llx shift %u bits %u budget %u start %llu step %u",
		  (unsigned long long)seed, shift, bits, budget,
		  (unsigned long long)start, step);
}

static void array_runs(u64 seed, unsigned int budget)
{
	static const unsigned int shifts[] = { 10, 16, 30 };
	static const unsigned int bits[] = { 20, 28, 36, 44, 52, 63 };
	u64 state = tap_seed(seed);
	unsigned int i, j;
	u64 start;

	for (i = 0; i < 3 && !tap_failed(); i++) {
		for (j = 0; j < 6 && !tap_failed(); j++) {
			start = random_magnitude(&state, 63);
			array_run(random_next(&state), shifts[i], bits[j],
				  budget, 0);
			array_run(random_next(&state), shifts[i], bits[j],
				  budget, start);
		}
		/* Up against the end of the time. */
		array_run(random_next(&state), shifts[i], 36, budget,
			  U64_MAX - (1ULL << 44));
	}
}

/* S3-02, S3-09, S3-11 */
ROOST_TEST(array_unlimited)
{
	array_runs(0x10, UNLIMITED);
}

ROOST_TEST(array_budget_1)
{
	array_runs(0x11, 1);
}

ROOST_TEST(array_budget_7)
{
	array_runs(0x12, 7);
}

ROOST_TEST(array_budget_64)
{
	array_runs(0x13, 64);
}

/* ---- many ---- */

enum { MANY = 200000, MAX_LAG = 4096 };

enum fate { FATE_NONE, FATE_CANCEL, FATE_MOVE };
enum outcome { WAITING, FIRED, CANCELLED };

/* The clock: from event to event, in random jumps, or with long absences. */
enum clock_mode { FOLLOW, JUMP, ABSENT };

/**
 * struct timer - one of many
 * @handed:	time at which the present deadline was handed over
 * @fate:	what happens to it after a while, if it has not expired by then
 * @next_victim: next one whose fate comes at the same time
 * @outcome:	what became of it
 */
struct timer {
	struct roost_wheel_entry entry;
	u64 deadline;
	u64 handed;
	enum fate fate;
	enum outcome outcome;
	struct timer *next_victim;
};

static struct timer timers[MANY];

/**
 * struct many_run - a run and its counts
 * @advanced:	time up to which all that was due has been taken
 * @victims:	timers whose fate comes when so many have been armed, modulo @lag
 * @lag:	a fate comes within so many timers that are armed later
 * @gap:	mean time between two timers that are armed, ns
 */
struct many_run {
	unsigned int shift;
	unsigned int budget;
	enum clock_mode mode;
	bool long_range;
	u64 state;
	u64 now;
	u64 advanced;
	u64 gap;
	unsigned int lag;
	u64 next_arm;
	unsigned int armed, fired, cancelled, moved;
	struct timer *victims[MAX_LAG];
};

static u64 many_deadline(struct many_run *run)
{
	u64 delay;

	if (run->long_range) {
		/* From a day to nine years. */
		delay = 1ULL << (46 + random_below(&run->state, 12));
		delay += random_below(&run->state, delay);
	} else {
		delay = random_below(&run->state, 300 * MSEC);
	}
	return add_ns(run->now, delay);
}

static void many_meet_fate(struct many_run *run, struct timer *t)
{
	bool waits = t->outcome == WAITING;

	if (t->fate == FATE_CANCEL) {
		CHECK_EQ(roost_wheel_del(&wheel, &t->entry), waits);
		if (waits) {
			t->outcome = CANCELLED;
			run->cancelled++;
		}
	} else if (waits) {
		t->deadline = many_deadline(run);
		t->handed = run->now;
		CHECK(roost_wheel_mod(&wheel, &t->entry, t->deadline, run->now));
		run->moved++;
	}
}

static void many_arm(struct many_run *run)
{
	struct timer *t = &timers[run->armed++];
	unsigned int lot = random_below(&run->state, 100);
	struct timer **place, *victim;

	t->deadline = many_deadline(run);
	t->handed = run->now;
	t->outcome = WAITING;
	t->fate = lot < 30 ? FATE_CANCEL : lot < 50 ? FATE_MOVE : FATE_NONE;
	roost_wheel_entry_init(&t->entry);
	roost_wheel_add(&wheel, &t->entry, t->deadline, run->now);

	if (t->fate != FATE_NONE) {
		place = &run->victims[(run->armed + random_below(&run->state,
						   run->lag)) % run->lag];
		t->next_victim = *place;
		*place = t;
	}
	place = &run->victims[run->armed % run->lag];
	for (victim = *place, *place = NULL; victim; victim = victim->next_victim)
		many_meet_fate(run, victim);
}

static void many_fired(struct many_run *run, struct timer *t)
{
	u128 due = model_due(run->shift, t->deadline, t->handed);
	u128 now = model_now(run->shift, run->now);

	CHECK_EQ(t->outcome, WAITING);
	t->outcome = FIRED;
	run->fired++;
	/* T1: never early; and there was no advance at which it was due before. */
	CHECK(run->now >= t->deadline);
	if (t->handed <= run->advanced)
		CHECK(model_now(run->shift, run->advanced) < due);
	/* T3: who looks whenever the wheel says so sees it in its very tick. */
	if (run->mode == FOLLOW)
		CHECK(now == due);
}

static void many_advance(struct many_run *run)
{
	struct list_head expired;
	unsigned int done;

	INIT_LIST_HEAD(&expired);
	do {
		done = roost_wheel_advance(&wheel, run->now, run->budget,
					   &expired);
		CHECK(done <= run->budget);
		while (!list_empty(&expired)) {
			struct timer *t = list_first_entry(&expired, struct timer,
							   entry.node);

			list_del_init(&t->entry.node);
			many_fired(run, t);
		}
	} while (done == run->budget);
	run->advanced = run->now;
}

static void many_pass_time(struct many_run *run)
{
	u64 next = roost_wheel_next(&wheel);
	u64 jump = run->long_range ? random_magnitude(&run->state, 50) :
				     random_below(&run->state, 2 * MSEC);

	switch (run->mode) {
	case FOLLOW:
		if (run->armed < MANY && run->next_arm < next)
			next = run->next_arm;
		if (next > run->now)
			run->now = next;
		break;
	case ABSENT:
		if (random_below(&run->state, 50) == 0)
			jump *= 100;
		/* fall through */
	case JUMP:
		run->now += jump;
		break;
	}
}

static void many_run(struct many_run *run, u64 seed)
{
	unsigned long steps = 0;
	unsigned int i;

	run->state = seed;
	run->now = 5 * SEC + 4321;
	run->advanced = run->now;
	run->next_arm = run->now;
	roost_wheel_init(&wheel, run->shift, run->now);
	while ((run->armed < MANY || roost_wheel_count(&wheel)) &&
	       !tap_failed()) {
		while (run->armed < MANY && run->next_arm <= run->now) {
			many_arm(run);
			run->next_arm += random_below(&run->state, 2 * run->gap);
		}
		/* An absent clock arms without having advanced. */
		if (run->mode != ABSENT || random_below(&run->state, 4) == 0)
			many_advance(run);
		many_pass_time(run);
		if (++steps % 4096 == 0)
			roost_wheel_check(&wheel);
	}
	roost_wheel_check(&wheel);
	for (i = 0; i < run->armed; i++) {
		CHECK(timers[i].outcome != WAITING);
		CHECK(!roost_wheel_queued(&timers[i].entry));
	}
	CHECK_EQ(run->fired + run->cancelled, MANY);
	/* It was what it says: about 30 % and 20 %, less what expired before. */
	CHECK(run->cancelled > MANY * 25 / 100 && run->moved > MANY * 16 / 100);
}

static void many_runs(bool long_range, enum clock_mode mode)
{
	static const unsigned int budgets[] = { 1, 7, 64, UNLIMITED };
	u64 state = tap_seed(0x20 + mode + 3 * long_range);
	unsigned int i;

	for (i = 0; i < 4 && !tap_failed(); i++) {
		static struct many_run run;

		run = (struct many_run) {
			.shift = 16, .budget = budgets[i], .mode = mode,
			.long_range = long_range,
			.gap = long_range ? 5 * 60 * SEC : 10 * USEC,
			.lag = long_range ? 64 : MAX_LAG,
		};
		many_run(&run, random_next(&state));
	}
}

ROOST_TEST(many_within_300_ms_followed)
{
	many_runs(false, FOLLOW);
}

ROOST_TEST(many_within_300_ms_in_jumps)
{
	many_runs(false, JUMP);
}

ROOST_TEST(many_within_300_ms_with_absences)
{
	many_runs(false, ABSENT);
}

ROOST_TEST(many_within_years_followed)
{
	many_runs(true, FOLLOW);
}

ROOST_TEST(many_within_years_in_jumps)
{
	many_runs(true, JUMP);
}

ROOST_TEST(many_within_years_with_absences)
{
	many_runs(true, ABSENT);
}
