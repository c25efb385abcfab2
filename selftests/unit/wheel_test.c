// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * wheel_test.c - the timing wheel at its edges, each case on its own.
 *
 * wheel_random_test.c does the same with everything at once.
 */
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "random.h"
#include "tap.h"
#include "wheel_model.h"

#define SHIFT		16
#define TICK		(1ULL << SHIFT)
#define LEVEL_TICKS(l)	(1ULL << (6 * (l)))
#define RANGE_TICKS	LEVEL_TICKS(6)
#define UNLIMITED	UINT_MAX

static struct roost_wheel wheel;

/* Advance and take what expired; returns how many that were. */
static unsigned int take(struct roost_wheel *w, u64 now, unsigned int budget,
			 unsigned int *done)
{
	struct list_head expired;
	unsigned int count = 0, looked;

	INIT_LIST_HEAD(&expired);
	looked = roost_wheel_advance(w, now, budget, &expired);
	for (; !list_empty(&expired); count++)
		list_del_init(expired.next);
	roost_wheel_check(w);
	if (done)
		*done += looked;
	return count;
}

static void arm(struct roost_wheel *w, struct roost_wheel_entry *e, u64 expires,
		u64 now)
{
	roost_wheel_entry_init(e);
	roost_wheel_add(w, e, expires, now);
	roost_wheel_check(w);
}

/*
 * Follow roost_wheel_next() until the one entry of the wheel expires: when it
 * did, how often the wheel had to be looked at, how many times it was moved.
 */
static u64 follow(struct roost_wheel *w, struct roost_wheel_entry *e,
		  unsigned int *steps, unsigned int *moves)
{
	u64 exact = e->expires;
	unsigned int done = 0;
	u64 now = 0;

	for (*steps = 0; roost_wheel_queued(e) && *steps < 2000; ++*steps) {
		now = roost_wheel_next(w);
		take(w, now, UNLIMITED, &done);
		/* However often it is placed, the deadline stays (S3-10). */
		CHECK_EQ(e->expires, exact);
	}
	CHECK(!roost_wheel_queued(e));
	*moves = done - 1;
	return now;
}

/* The level for a distance of @delta ticks, counted up. */
static unsigned int level_for(u64 delta)
{
	unsigned int level = 0;

	while (level < 5 && delta >= LEVEL_TICKS(level + 1))
		level++;
	return level;
}

/* One entry @delta ticks and @offset ns ahead of a cursor at tick @cursor. */
static void one_placement(unsigned int shift, u64 cursor, u64 delta, int offset)
{
	u64 now = cursor << shift;
	u128 at = ((u128)(cursor + delta) << shift) + offset;
	struct roost_wheel_entry e;
	unsigned int steps, moves, level;
	u64 distance, fired;
	u128 due;

	if (at > U64_MAX)
		return;
	due = model_due(shift, at, now);
	if (due << shift > U64_MAX)
		return;
	roost_wheel_init(&wheel, shift, now);
	arm(&wheel, &e, at, now);

	distance = due - cursor;
	level = level_for(distance);
	CHECK_MSG(e.level == level, "cursor %llu delta %llu: level %u, not %u",
		  (unsigned long long)cursor, (unsigned long long)delta,
		  e.level, level);
	CHECK(roost_wheel_next(&wheel) > now);
	CHECK(roost_wheel_next(&wheel) <= model_ns(shift, due));
	if (level == 0)
		CHECK_EQ(roost_wheel_next(&wheel), model_ns(shift, due));

	fired = follow(&wheel, &e, &steps, &moves);
	CHECK_MSG(fired == model_ns(shift, due),
		  "cursor %llu delta %llu%+d: fired at %llu, not %llu",
		  (unsigned long long)cursor, (unsigned long long)delta, offset,
		  (unsigned long long)fired,
		  (unsigned long long)model_ns(shift, due));
	/* One move a level, and one for each stay in the farthest slot. */
	CHECK(moves <= level + distance / (RANGE_TICKS - LEVEL_TICKS(5)));
	CHECK_EQ(roost_wheel_next(&wheel), U64_MAX);
	CHECK_EQ(roost_wheel_count(&wheel), 0);
}

static void placements_from(unsigned int shift, u64 cursor)
{
	static const int near[] = { -2, -1, 0, 1, 2 };
	unsigned int level, i;
	u64 times;
	int offset;

	for (offset = -1; offset <= 1; offset++) {
		if (!cursor && offset < 0)
			continue;
		for (level = 0; level <= 6; level++)
			for (times = 1; times <= 64; times += times < 3 ? 1 : 61)
				for (i = 0; i < 5; i++)
					one_placement(shift, cursor,
						      LEVEL_TICKS(level) * times +
						      near[i], offset);
		one_placement(shift, cursor, 0, offset);
	}
}

/*
 * S3-01 to S3-04, S3-09: every edge of every level, from cursors in many
 * phases.
 */
ROOST_TEST(placement_at_every_level_edge)
{
	static const unsigned int shifts[] = { 10, 16, 30 };
	u64 state = tap_seed(1);
	unsigned int i, level;

	for (i = 0; i < 3 && !tap_failed(); i++) {
		u64 last = U64_MAX >> shifts[i];

		placements_from(shifts[i], 2);
		for (level = 1; level <= 5; level++) {
			placements_from(shifts[i], LEVEL_TICKS(level) - 1);
			placements_from(shifts[i], LEVEL_TICKS(level));
			placements_from(shifts[i], LEVEL_TICKS(level) * 63 + 1);
		}
		placements_from(shifts[i], random_below(&state, last));
		/* Where the clock ends. */
		placements_from(shifts[i], last - LEVEL_TICKS(2) - 5);
		placements_from(shifts[i], last - 64);
		placements_from(shifts[i], last);
	}
}

/* S3-03: what has passed expires at the next tick, not after a whole turn. */
ROOST_TEST(past_deadline_expires_at_the_next_tick)
{
	u64 now = 1000 * SEC;
	u64 tick = model_ns(SHIFT, model_now(SHIFT, now) + 1);
	struct roost_wheel_entry e[3];
	u64 expires[3] = { 0, now - 1, now };
	unsigned int i;

	roost_wheel_init(&wheel, SHIFT, now);
	for (i = 0; i < 3; i++)
		arm(&wheel, &e[i], expires[i], now);
	CHECK_EQ(roost_wheel_next(&wheel), tick);
	CHECK_EQ(take(&wheel, tick - 1, UNLIMITED, NULL), 0);
	CHECK_EQ(take(&wheel, tick, UNLIMITED, NULL), 3);
}

/* S3-12: at the deadline means expired; a nanosecond before it, not. */
ROOST_TEST(expiry_is_inclusive)
{
	struct roost_wheel_entry e;

	roost_wheel_init(&wheel, SHIFT, 0);
	arm(&wheel, &e, 7 * TICK, 0);
	CHECK_EQ(take(&wheel, 7 * TICK - 1, UNLIMITED, NULL), 0);
	CHECK_EQ(take(&wheel, 7 * TICK, UNLIMITED, NULL), 1);

	/* Within a tick: at the end of it, which is never early (T1). */
	arm(&wheel, &e, 9 * TICK + 1, 7 * TICK);
	CHECK_EQ(roost_wheel_next(&wheel), 10 * TICK);
	CHECK_EQ(take(&wheel, 10 * TICK - 1, UNLIMITED, NULL), 0);
	CHECK_EQ(take(&wheel, 10 * TICK, UNLIMITED, NULL), 1);
}

/* Deadlines that no clock reaches, or that are long gone, disturb nobody. */
ROOST_TEST(extreme_deadlines)
{
	static const u64 half = 1ULL << 63;
	u64 now = 3600 * SEC + 12345;
	u64 expires[] = { 0, 1, now - SEC, half - 1, half, U64_MAX, now + 10 * MSEC };
	struct roost_wheel_entry e[7];
	unsigned int i, done = 0;
	u64 next;

	roost_wheel_init(&wheel, SHIFT, now);
	for (i = 0; i < 7; i++)
		arm(&wheel, &e[i], expires[i], now);

	CHECK_EQ(take(&wheel, now + TICK, UNLIMITED, NULL), 3);
	CHECK(!roost_wheel_queued(&e[0]) && !roost_wheel_queued(&e[1]) &&
	      !roost_wheel_queued(&e[2]));
	for (next = 0; roost_wheel_queued(&e[6]) && done < 10; done++) {
		next = roost_wheel_next(&wheel);
		take(&wheel, next, UNLIMITED, NULL);
	}
	CHECK_EQ(next, model_ns(SHIFT, model_due(SHIFT, expires[6], now)));

	CHECK_EQ(take(&wheel, half - TICK, UNLIMITED, NULL), 0);
	CHECK_EQ(take(&wheel, half - 1, UNLIMITED, NULL), 0);
	CHECK_EQ(take(&wheel, half, UNLIMITED, NULL), 2);
	CHECK(roost_wheel_queued(&e[5]));
	/* The last deadline is due in a tick that 64 bits do not reach. */
	CHECK_EQ(take(&wheel, U64_MAX, UNLIMITED, NULL), 0);
	CHECK_EQ(roost_wheel_next(&wheel), U64_MAX);
	CHECK_EQ(roost_wheel_count(&wheel), 1);
	CHECK(roost_wheel_del(&wheel, &e[5]));
}

/* S3-05: one move a level at most, also when the clock does not stop at each. */
ROOST_TEST(at_most_one_move_a_level)
{
	u64 state = tap_seed(2);
	unsigned int round;

	for (round = 0; round < 20000 && !tap_failed(); round++) {
		u64 now = random_magnitude(&state, 60);
		u64 delta = random_magnitude(&state, 36) % (RANGE_TICKS - 1);
		struct roost_wheel_entry e;
		unsigned int done = 0, level;

		roost_wheel_init(&wheel, SHIFT, now);
		arm(&wheel, &e, now + delta * TICK, now);
		level = e.level;
		while (roost_wheel_queued(&e)) {
			u64 next = roost_wheel_next(&wheel);

			now = next + random_below(&state, 1 + (next - now) / 8);
			take(&wheel, now, UNLIMITED, &done);
		}
		CHECK_MSG(done - 1 <= level, "%u moves from level %u", done - 1,
			  level);
	}
}

/* S3-04, S3-10: a sleep of years, with ticks so small that it is placed often. */
ROOST_TEST(a_deadline_in_years)
{
	static const unsigned int shifts[] = { 10, 13, 16, 20, 30 };
	unsigned int i;

	for (i = 0; i < 5; i++) {
		u64 now = 7 * DAY + 1;
		u64 expires = now + 1 * YEAR + 12345;
		struct roost_wheel_entry e;
		unsigned int steps, moves;
		u64 fired;

		roost_wheel_init(&wheel, shifts[i], now);
		arm(&wheel, &e, expires, now);
		fired = follow(&wheel, &e, &steps, &moves);
		CHECK_EQ(fired, model_ns(shifts[i],
					 model_due(shifts[i], expires, now)));
		CHECK(steps <= 8 + (YEAR >> shifts[i]) /
				   (RANGE_TICKS - 2 * LEVEL_TICKS(5)));
	}
}

/* S3-06: from the farthest slot back into the same slot, looked at just once. */
ROOST_TEST(back_into_the_slot_it_came_from)
{
	struct roost_wheel_entry e;
	u64 slot_ns = LEVEL_TICKS(5) << SHIFT;
	unsigned int slot, done = 0;

	roost_wheel_init(&wheel, SHIFT, slot_ns / 2);
	arm(&wheel, &e, 100 * YEAR, slot_ns / 2);
	CHECK_EQ(e.level, 5);
	slot = e.slot;
	/* Half a slot behind its begin, all slots ahead: it is 64 ahead again. */
	take(&wheel, roost_wheel_next(&wheel) + slot_ns / 2, UNLIMITED, &done);
	CHECK_EQ(done, 1);
	CHECK_EQ(e.level, 5);
	CHECK_EQ(e.slot, slot);
	CHECK_EQ(roost_wheel_count(&wheel), 1);
	CHECK(roost_wheel_del(&wheel, &e));
	CHECK_EQ(roost_wheel_next(&wheel), U64_MAX);
}

static u64 cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * SEC + ts.tv_nsec;
}

/* S3-07: the cost of a gap does not grow with it, and each entry counts once. */
ROOST_TEST(long_gaps_cost_little)
{
	static struct roost_wheel_entry e[6 * 63];
	u64 now = 0, began;
	unsigned int level, i, n, round, done;

	began = cpu_ns();
	for (round = 0; round < 200; round++) {
		u64 base = now >> SHIFT;

		roost_wheel_init(&wheel, SHIFT, now);
		for (level = 0, n = 0; level < 6; level++)
			for (i = 1; i < 64; i++)
				arm(&wheel, &e[n++],
				    (base + LEVEL_TICKS(level) * i) << SHIFT, now);
		now += 60 * DAY + round;
		done = 0;
		CHECK_EQ(take(&wheel, now, UNLIMITED, &done), n);
		CHECK_EQ(done, n);
		/* And with nothing that is due. */
		arm(&wheel, &e[0], U64_MAX, now);
		for (i = 0; i < 50; i++) {
			now += 3 * DAY;
			take(&wheel, now, UNLIMITED, NULL);
			CHECK(roost_wheel_next(&wheel) > now);
		}
		CHECK(roost_wheel_del(&wheel, &e[0]));
	}
	/* 10,000 gaps of days are 40 * 10^9 ticks. */
	CHECK_MSG(cpu_ns() - began < 10 * SEC, "took %llu ms",
		  (unsigned long long)((cpu_ns() - began) / MSEC));
}

/* S3-08: only slots that the time has reached are touched. */
ROOST_TEST(what_was_not_reached_stays)
{
	static struct roost_wheel_entry e[6 * 63];
	unsigned int level, i, n = 0, done = 0;

	roost_wheel_init(&wheel, SHIFT, 0);
	for (level = 0; level < 6; level++)
		for (i = 1; i < 64; i++)
			arm(&wheel, &e[n++], LEVEL_TICKS(level) * i << SHIFT, 0);
	/* Each entry is due at the very begin of its slot. */
	CHECK_EQ(take(&wheel, TICK, UNLIMITED, &done), 1);
	CHECK_EQ(done, 1);
	CHECK_EQ(take(&wheel, 62 * TICK, UNLIMITED, &done), 61);
	CHECK_EQ(done, 62);
	CHECK_EQ(take(&wheel, 64 * TICK, UNLIMITED, &done), 2);
	CHECK_EQ(done, 64);
	CHECK_EQ(take(&wheel, 4095 * TICK, UNLIMITED, &done), 62);
	CHECK_EQ(take(&wheel, 4096 * TICK, UNLIMITED, &done), 1);
	CHECK_EQ(done, 127);
	CHECK_EQ(roost_wheel_count(&wheel), n - 127);
}

/* A wheel that nobody turned for a while still places finely. */
ROOST_TEST(a_stale_cursor_is_forwarded)
{
	struct roost_wheel_entry far, near, first;
	u64 now = 3600 * SEC;

	roost_wheel_init(&wheel, SHIFT, 0);
	arm(&wheel, &near, now + MSEC, now);
	CHECK_EQ(near.level, 0);
	CHECK(roost_wheel_del(&wheel, &near));

	roost_wheel_init(&wheel, SHIFT, 0);
	arm(&wheel, &far, 30 * DAY, 0);
	arm(&wheel, &near, now + MSEC, now);
	CHECK_EQ(near.level, 0);
	CHECK(roost_wheel_del(&wheel, &near));

	/* Only a slot that is occupied no more lies between. */
	roost_wheel_init(&wheel, SHIFT, 0);
	arm(&wheel, &first, 100 * TICK, 0);
	arm(&wheel, &far, 30 * DAY, 0);
	CHECK(roost_wheel_del(&wheel, &first));
	arm(&wheel, &near, now + MSEC, now);
	CHECK_EQ(near.level, 0);
}

/* ... but never past a slot in which somebody waits. */
ROOST_TEST(the_cursor_passes_no_entry)
{
	struct roost_wheel_entry a, b;

	roost_wheel_init(&wheel, SHIFT, 0);
	arm(&wheel, &a, 100 * TICK, 0);
	arm(&wheel, &b, 160 * TICK, 150 * TICK);
	CHECK(roost_wheel_next(&wheel) <= 100 * TICK);
	CHECK_EQ(take(&wheel, 150 * TICK, UNLIMITED, NULL), 1);
	CHECK(!roost_wheel_queued(&a));
	CHECK_EQ(take(&wheel, 160 * TICK, UNLIMITED, NULL), 1);

	/* The slot begins at the very tick that it is now. */
	roost_wheel_init(&wheel, SHIFT, 0);
	arm(&wheel, &a, 64 * TICK, 0);
	arm(&wheel, &b, 70 * TICK, 64 * TICK);
	CHECK_EQ(take(&wheel, 64 * TICK, UNLIMITED, NULL), 1);
	CHECK(!roost_wheel_queued(&a));
}

/* A clock that was read before somebody else's does no harm. */
ROOST_TEST(an_older_time_is_harmless)
{
	struct roost_wheel_entry e;
	struct list_head expired;

	INIT_LIST_HEAD(&expired);
	roost_wheel_init(&wheel, SHIFT, 0);
	roost_wheel_advance(&wheel, 1000 * TICK, UNLIMITED, &expired);
	arm(&wheel, &e, 1010 * TICK, 900 * TICK);
	CHECK_EQ(take(&wheel, 500 * TICK, UNLIMITED, NULL), 0);
	CHECK_EQ(roost_wheel_next(&wheel), 1010 * TICK);
	CHECK_EQ(take(&wheel, 1010 * TICK, UNLIMITED, NULL), 1);
}

/* S3-11: deleting, from a slot and from a list of expired entries. */
ROOST_TEST(delete_from_anywhere)
{
	struct roost_wheel_entry a, b, c;
	struct list_head expired;

	INIT_LIST_HEAD(&expired);
	roost_wheel_init(&wheel, SHIFT, 0);
	roost_wheel_entry_init(&a);
	CHECK(!roost_wheel_queued(&a));
	CHECK(!roost_wheel_del(&wheel, &a));

	arm(&wheel, &a, 10 * TICK, 0);
	arm(&wheel, &b, 10 * TICK, 0);
	arm(&wheel, &c, 20 * TICK, 0);
	CHECK(roost_wheel_del(&wheel, &a));
	CHECK(!roost_wheel_del(&wheel, &a));
	CHECK_EQ(roost_wheel_next(&wheel), 10 * TICK);
	CHECK(roost_wheel_del(&wheel, &b));
	CHECK_EQ(roost_wheel_next(&wheel), 20 * TICK);
	CHECK_EQ(roost_wheel_count(&wheel), 1);
	roost_wheel_check(&wheel);

	/* Expired: no longer counted, but whoever deletes it has won. */
	CHECK_EQ(roost_wheel_advance(&wheel, 20 * TICK, UNLIMITED, &expired), 1);
	CHECK_EQ(roost_wheel_count(&wheel), 0);
	CHECK(roost_wheel_queued(&c));
	CHECK(roost_wheel_del(&wheel, &c));
	CHECK(list_empty(&expired));
	CHECK_EQ(roost_wheel_count(&wheel), 0);
	CHECK(!roost_wheel_del(&wheel, &c));
	roost_wheel_check(&wheel);
}

ROOST_TEST(moving_later_keeps_the_slot)
{
	struct roost_wheel_entry e;

	roost_wheel_init(&wheel, SHIFT, 0);
	arm(&wheel, &e, 10 * TICK, 0);
	CHECK(roost_wheel_mod(&wheel, &e, 5000 * TICK + 7, 3 * TICK));
	CHECK_EQ(e.expires, 5000 * TICK + 7);
	CHECK_EQ(roost_wheel_next(&wheel), 10 * TICK);
	roost_wheel_check(&wheel);
	CHECK_EQ(take(&wheel, 10 * TICK, UNLIMITED, NULL), 0);
	CHECK_EQ(e.level, 2);
	CHECK_EQ(take(&wheel, 5000 * TICK, UNLIMITED, NULL), 0);
	CHECK_EQ(take(&wheel, 5001 * TICK, UNLIMITED, NULL), 1);
}

ROOST_TEST(moving_earlier)
{
	struct roost_wheel_entry e, other;

	roost_wheel_init(&wheel, SHIFT, 0);
	arm(&wheel, &e, DAY, 0);
	arm(&wheel, &other, 2 * DAY, 0);
	CHECK(roost_wheel_mod(&wheel, &e, 20 * TICK, 10 * TICK));
	roost_wheel_check(&wheel);
	CHECK_EQ(roost_wheel_next(&wheel), 20 * TICK);
	CHECK_EQ(roost_wheel_count(&wheel), 2);
	CHECK(roost_wheel_mod(&wheel, &e, 15 * TICK, 10 * TICK));
	CHECK_EQ(roost_wheel_next(&wheel), 15 * TICK);
	/* Into the past: the next tick. */
	CHECK(roost_wheel_mod(&wheel, &e, 0, 10 * TICK));
	CHECK_EQ(roost_wheel_next(&wheel), 11 * TICK);
	roost_wheel_check(&wheel);
	CHECK_EQ(take(&wheel, 11 * TICK, UNLIMITED, NULL), 1);
	CHECK(!roost_wheel_mod(&wheel, &e, 12 * TICK, 11 * TICK));
	CHECK_EQ(take(&wheel, 12 * TICK, UNLIMITED, NULL), 1);
	CHECK_EQ(roost_wheel_count(&wheel), 1);
}

/* S3-16 */
ROOST_TEST(moving_an_expired_entry_arms_it_again)
{
	struct roost_wheel_entry e;
	struct list_head expired;

	INIT_LIST_HEAD(&expired);
	roost_wheel_init(&wheel, SHIFT, 0);
	arm(&wheel, &e, 10 * TICK, 0);
	CHECK_EQ(roost_wheel_advance(&wheel, 10 * TICK, UNLIMITED, &expired), 1);
	CHECK(roost_wheel_mod(&wheel, &e, 30 * TICK, 10 * TICK));
	CHECK(list_empty(&expired));
	CHECK_EQ(roost_wheel_count(&wheel), 1);
	roost_wheel_check(&wheel);
	CHECK_EQ(take(&wheel, 29 * TICK, UNLIMITED, NULL), 0);
	CHECK_EQ(take(&wheel, 30 * TICK, UNLIMITED, NULL), 1);
}

/* S3-15: T5: cascaded entries cost as much as expired ones; the rest is not lost. */
ROOST_TEST(budget_counts_cascades_too)
{
	enum { N = 1000 };
	static struct roost_wheel_entry e[N];
	struct roost_wheel_entry late;
	unsigned int i, done = 0, calls = 0, expired = 0;
	u64 now = 64 * TICK;

	roost_wheel_init(&wheel, SHIFT, 0);
	/* All in the slot that begins at tick 64; every other one is due then. */
	for (i = 0; i < N; i++)
		arm(&wheel, &e[i], now + i % 2 * 7 * TICK, 0);

	CHECK_EQ(take(&wheel, now, 64, &done), 32);
	CHECK_EQ(done, 64);
	CHECK_EQ(roost_wheel_next(&wheel), now);
	CHECK_EQ(roost_wheel_count(&wheel), N - 32);
	/* Pending ones can be deleted and moved; new ones come in. */
	CHECK(roost_wheel_del(&wheel, &e[N - 1]));
	CHECK(roost_wheel_del(&wheel, &e[N - 2]));
	CHECK(roost_wheel_mod(&wheel, &e[N - 4], now + 9 * TICK, now));
	roost_wheel_check(&wheel);
	arm(&wheel, &late, now + 2 * TICK, now);
	CHECK_EQ(roost_wheel_next(&wheel), now);

	for (expired = 32; roost_wheel_next(&wheel) <= now; calls++) {
		done = 0;
		expired += take(&wheel, now, 64, &done);
		CHECK(done <= 64);
	}
	CHECK_EQ(calls, (N - 2 - 64 + 63) / 64);
	CHECK_EQ(expired, N / 2 - 2);
	CHECK_EQ(roost_wheel_next(&wheel), now + 2 * TICK);
	CHECK_EQ(take(&wheel, now + 2 * TICK, 64, NULL), 1);
	CHECK_EQ(take(&wheel, now + 7 * TICK, UNLIMITED, NULL), N / 2 - 1);
	CHECK_EQ(take(&wheel, now + 9 * TICK, UNLIMITED, NULL), 1);
	CHECK_EQ(roost_wheel_count(&wheel), 0);
}

/* The time goes on while a budget has left entries pending. */
ROOST_TEST(pending_entries_expire_when_time_passes)
{
	struct roost_wheel_entry e[4];
	unsigned int i;

	roost_wheel_init(&wheel, SHIFT, 0);
	for (i = 0; i < 4; i++)
		arm(&wheel, &e[i], (70 + i) * TICK, 0);
	CHECK_EQ(take(&wheel, 64 * TICK, 1, NULL), 0);
	CHECK_EQ(roost_wheel_next(&wheel), 64 * TICK);
	CHECK_EQ(take(&wheel, 72 * TICK, UNLIMITED, NULL), 3);
	CHECK_EQ(roost_wheel_next(&wheel), 73 * TICK);
	CHECK_EQ(take(&wheel, 73 * TICK, UNLIMITED, NULL), 1);
}

/* How a child that puts @fault in and then checks the wheel ends. */
static int checker_status(int fault)
{
	struct roost_wheel_entry e[2];
	int status = 0;
	pid_t pid;

	roost_wheel_init(&wheel, SHIFT, 0);
	roost_wheel_entry_init(&e[0]);
	roost_wheel_entry_init(&e[1]);
	roost_wheel_add(&wheel, &e[0], 10 * TICK, 0);
	roost_wheel_add(&wheel, &e[1], DAY, 0);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(2);
		switch (fault) {
		case 1:
			wheel.occupied[0] = 0;
			break;
		case 2:
			wheel.occupied[3] |= 4;
			break;
		case 3:
			e[1].level = 1;
			break;
		case 4:
			wheel.count++;
			break;
		case 5:
			wheel.next = 11;
			break;
		case 6:
			e[1].expires = 1000 * TICK;
			break;
		case 7:
			e[0].slot++;
			break;
		case 8:
			wheel.next_stale = true;
			wheel.next = 11;
			break;
		}
		_exit(roost_wheel_check(&wheel) ? 0 : 1);
	}
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

/* S3-18: the checker, on which the other tests lean, does find faults. */
ROOST_TEST(the_checker_finds_faults)
{
	int fault;

	CHECK_EQ(checker_status(0), 0);
	for (fault = 1; fault <= 8; fault++) {
		int status = checker_status(fault);

		CHECK_MSG(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
			  "fault %d: status 0x%x", fault, status);
	}
}
