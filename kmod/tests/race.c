// SPDX-License-Identifier: GPL-2.0
/*
 * Threads for the KUnit suites.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "fixture.h"

static int wait_for_stop(void *arg)
{
	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/**
 * fixture_spawn() - start a thread that does nothing until kthread_stop()
 * @test:	the test, which ends if that fails
 */
struct task_struct *fixture_spawn(struct kunit *test)
{
	struct task_struct *task = kthread_run(wait_for_stop, NULL, "roost_kunit");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	return task;
}

/**
 * struct racer - a thread of fixture_race(), which stays for the next one
 * @missing:	how many of a race have not begun yet
 * @fn:		what it does, NULL for its end
 * @arg:	for @fn
 * @go:		@fn is set
 * @done:	@fn has returned; or it uses nothing of the test any more
 */
struct racer {
	atomic_t *missing;
	int (*fn)(void *arg);
	void *arg;
	struct completion go;
	struct completion done;
};

static int run_racer(void *arg)
{
	struct racer *racer = arg;

	for (;;) {
		/* Not in a state that the watchdog for hung tasks looks at. */
		if (wait_for_completion_interruptible(&racer->go))
			continue;
		if (!racer->fn)
			break;
		atomic_dec(racer->missing);
		/* All begin at once. */
		while (atomic_read(racer->missing) > 0)
			cond_resched();
		racer->fn(racer->arg);
		complete(&racer->done);
	}
	kthread_complete_and_exit(&racer->done, 0);
}

static struct racer *make_racer(void)
{
	struct racer *racer = kzalloc(sizeof(*racer), GFP_KERNEL);
	struct task_struct *task;

	if (!racer)
		return NULL;
	init_completion(&racer->go);
	init_completion(&racer->done);
	task = kthread_run(run_racer, racer, "roost_racer");
	if (!IS_ERR(task))
		return racer;
	kfree(racer);
	return NULL;
}

/**
 * fixture_race() - run functions in threads of their own, at the same time
 * @test:	the test, which ends if there can be no such threads
 * @fn:		the function; it may make expectations, but must not assert
 * @args:	one argument a thread
 * @n:		how many threads, at most FIXTURE_RACERS
 *
 * Returns when all have returned.
 */
void fixture_race(struct kunit *test, int (*fn)(void *arg), void **args,
		  unsigned int n)
{
	struct fixture *fixture = test->priv;
	atomic_t missing = ATOMIC_INIT(n);
	struct racer *racer;
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (!fixture->racers[i])
			fixture->racers[i] = make_racer();
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, fixture->racers[i]);
	}
	for (i = 0; i < n; i++) {
		racer = fixture->racers[i];
		racer->missing = &missing;
		racer->fn = fn;
		racer->arg = args[i];
		complete(&racer->go);
	}
	for (i = 0; i < n; i++)
		wait_for_completion(&fixture->racers[i]->done);
}

/**
 * fixture_end_races() - end the threads
 * @fixture:	the test's
 */
void fixture_end_races(struct fixture *fixture)
{
	struct racer *racer;
	unsigned int i;

	for (i = 0; i < FIXTURE_RACERS; i++) {
		racer = fixture->racers[i];
		if (!racer)
			continue;
		racer->fn = NULL;
		complete(&racer->go);
		wait_for_completion(&racer->done);
		kfree(racer);
	}
}
