// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * fork_test.c - a child of a thread that is no actor, while other threads run actors:
 * it can run some of its own.
 */
#include <pthread.h>

#include "compiler.h"
#include "fault_where.h"
#include "run.h"

/*
 * Neither qemu-user nor ThreadSanitizer starts threads in a child of several; and
 * AddressSanitizer's locks may be another thread's there: until LLVM 18 (change 75290) it
 * knows nothing of forks, and a child was seen to hang.
 */
#define NO_THREADS	(SANITIZED_BUILD || emulated())
#define NO_THREADS_WHY	"no thread can be started in a child of a process with several"

static _Atomic bool enough;
static _Atomic unsigned long nr_runs;

static void returns(void *arg unused_arg)
{
}

/* Is in the middle of beginning or ending a run, most of the time. */
static void *runs_and_runs(void *arg)
{
	struct roost_config config = { .workers = 1, .max_actors = 16 };

	while (!atomic_load(&enough)) {
		CHECK_EQ(roost_run(&config, returns, NULL), 0);
		atomic_fetch_add(&nr_runs, 1);
	}
	return arg;
}

/* Has one of the locks most of the time. */
static void *learns(void *arg)
{
	while (!atomic_load(&enough))
		fault_where_learn();
	return arg;
}

static void notes_pid(void *arg)
{
	*(roost_pid *)arg = roost_self();
}

/* The first slot is free again; the handlers of faults go with the run. */
static void runs_alone(void *arg)
{
	struct roost_config config = { .workers = 2, .max_actors = 16 };
	roost_pid pid = ROOST_PID_NONE, parents = *(roost_pid *)arg;
	struct sigaction now;

	alarm(TEST_LIMIT_S);
	if (parents != ROOST_PID_NONE)
		roost_unpark(parents);
	if (roost_run(&config, notes_pid, &pid))
		_exit(1);
	if ((uint32_t)pid)
		_exit(2);
	sigaction(SIGSEGV, NULL, &now);
	if (!SANITIZED && now.sa_handler != SIG_DFL)
		_exit(3);
	if (roost_run(&config, returns, NULL))
		_exit(4);
}

/* S3-73 */
ROOST_TEST(a_child_begins_a_run_whatever_others_were_at)
{
	roost_pid none = ROOST_PID_NONE;
	pthread_t t[2];
	unsigned long i;
	int status;

	if (NO_THREADS)
		SKIP(NO_THREADS_WHY);
	atomic_store(&enough, false);
	pthread_create(&t[0], NULL, runs_and_runs, NULL);
	pthread_create(&t[1], NULL, learns, NULL);
	while (!atomic_load(&nr_runs))
		sched_yield();
	for (i = 0; i < rounds(300) && !tap_failed(); i++) {
		status = in_child(runs_alone, &none);
		CHECK_MSG(EXITED(status, 0), "status 0x%x", status);
	}
	atomic_store(&enough, true);
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("# %lu runs beside it\n", atomic_load(&nr_runs));
}

static _Atomic roost_pid parked;

static void parks(void *arg unused_arg)
{
	atomic_store(&parked, roost_self());
	CHECK_EQ(roost_park(ROOST_FOREVER), 0);
}

static void *runs_one(void *arg)
{
	run_actors(1, parks, NULL);
	return arg;
}

/* A pid of the parent's is nobody's in the child. */
ROOST_TEST(a_child_knows_nobody_of_its_parents)
{
	roost_pid pid;
	pthread_t t;
	int status;

	if (NO_THREADS)
		SKIP(NO_THREADS_WHY);
	atomic_store(&parked, ROOST_PID_NONE);
	pthread_create(&t, NULL, runs_one, NULL);
	do {
		pid = atomic_load(&parked);
	} while (pid == ROOST_PID_NONE);
	status = in_child(runs_alone, &pid);
	CHECK_MSG(EXITED(status, 0), "status 0x%x", status);
	roost_unpark(pid);
	pthread_join(t, NULL);
}
