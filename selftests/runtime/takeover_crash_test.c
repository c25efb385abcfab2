// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * takeover_crash_test.c - actors that crash on a thread that has lost its worker, and
 * on one that has taken one over.
 */
#include "arch/arch.h"
#include ARCH_HEADER(traps.h)
#include "fault_help.h"
#include "takeover_help.h"

static void crash(struct blocker *b)
{
	((roost_fn)b->arg)(NULL);
}

static void traps(void *arg unused_arg)
{
	trap_illegal();
}

static const struct {
	roost_fn fn;
	enum roost_crash reason;
} ways[] = {
	{ overflows, ROOST_CRASH_OVERFLOW },
	{ writes_nowhere, ROOST_CRASH_SEGV },
	{ traps, ROOST_CRASH_ILL },
};

static void begin(struct blocker *b, int way)
{
	blocker_init(b);
	b->after = crash;
	b->arg = (void *)ways[way].fn;
	blocker_start(b);
}

static void end(struct blocker *b, int way)
{
	struct roost_outcome o = { .how = ROOST_END_RETURNED };

	CHECK_EQ(roost_join_outcome(b->pid, roost_after(ROOST_SEC(60)), &o), 0);
	CHECK_EQ(o.how, ROOST_END_CRASHED);
	CHECK_EQ(o.reason, ways[way].reason);
	CHECK_EQ(o.pid, b->pid);
	CHECK(atomic_load(&b->displaced));
	CHECK(!atomic_load(&b->ended));
	close(b->pipe[0]);
	close(b->pipe[1]);
}

/* With one worker: this goes on only when it was taken from who blocks. */
static void one_by_one(void *arg unused_arg)
{
	struct blocker b;
	int i;

	for (i = 0; i < 9; i++) {
		begin(&b, i % 3);
		CHECK(wait_until(atomic_load(&b.begun)));
		/* Now by who carries the worker meanwhile, on its own stack. */
		must_crash(ways[i % 3].fn, NULL, ways[i % 3].reason);
		release_read(&b);
		end(&b, i % 3);
	}
}

TAKEOVER_TEST(the_displaced_and_their_successors_crash)
{
	if (SANITIZED)
		SKIP(NO_FAULTS);
	run_actors(1, one_by_one, NULL);
}

/* All come back at once, to crash while others do. */
static void all_at_once(void *arg unused_arg)
{
	enum { N = 12 };
	struct roost_stats stats;
	struct blocker b[N];
	int i, k;

	for (k = 0; k < 3; k++) {
		for (i = 0; i < N; i++) {
			begin(&b[i], i % 3);
			CHECK(wait_until(atomic_load(&b[i].begun)));
		}
		for (i = 0; i < N; i++) {
			release_read(&b[i]);
			must_crash(ways[i % 3].fn, NULL, ways[i % 3].reason);
		}
		for (i = 0; i < N; i++)
			end(&b[i], i % 3);
	}
	CHECK_EQ(roost_stats(&stats), 0);
	CHECK_EQ(stats.crashed, 2 * 3 * N);
}

TAKEOVER_TEST(many_displaced_crash_at_once)
{
	if (SANITIZED)
		SKIP(NO_FAULTS);
	run_actors(2, all_at_once, NULL);
}
