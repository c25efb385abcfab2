// SPDX-License-Identifier: GPL-2.0
/*
 * Threads for the KUnit suites.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/kthread.h>

#include "fixture.h"

/**
 * fixture_spawn() - start a thread
 * @test:	the test, which ends if that fails
 * @fn:		what it does; ends by kthread_complete_and_exit() or waits for
 *		kthread_should_stop()
 * @arg:	for @fn
 */
struct task_struct *fixture_spawn(struct kunit *test, int (*fn)(void *arg),
				  void *arg)
{
	struct task_struct *task = kthread_run(fn, arg, "roost_kunit");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	return task;
}

/**
 * struct racer - a thread of fixture_race()
 * @missing:	how many of all have not begun yet
 * @fn:		what it does
 * @arg:	for @fn
 * @gone:	it uses nothing of the test any more
 */
struct racer {
	atomic_t *missing;
	int (*fn)(void *arg);
	void *arg;
	struct completion gone;
};

static int run_racer(void *arg)
{
	struct racer *racer = arg;

	atomic_dec(racer->missing);
	/* All begin at once. */
	while (atomic_read(racer->missing) > 0)
		cond_resched();
	racer->fn(racer->arg);
	kthread_complete_and_exit(&racer->gone, 0);
}

/**
 * fixture_race() - run functions in threads of their own, at the same time
 * @test:	the test
 * @fn:		the function; it may make expectations, but must not assert
 * @args:	one argument a thread
 * @n:		how many threads, at most 8
 *
 * Returns when all have returned.
 */
void fixture_race(struct kunit *test, int (*fn)(void *arg), void **args,
		  unsigned int n)
{
	atomic_t missing = ATOMIC_INIT(n);
	struct task_struct *task;
	struct racer racers[8];
	unsigned int i, started = 0;

	for (i = 0; i < n; i++) {
		racers[i] = (struct racer){ &missing, fn, args[i] };
		init_completion(&racers[i].gone);
		task = kthread_run(run_racer, &racers[i], "roost_race%u", i);
		if (IS_ERR(task))
			break;
		started++;
	}
	KUNIT_EXPECT_EQ(test, started, n);
	/* For those that did not start. */
	atomic_sub(n - started, &missing);
	for (i = 0; i < started; i++)
		wait_for_completion(&racers[i].gone);
}
