// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * sched_bench.c - what the scheduler costs, by number of workers, run queue and wake
 * slot.
 *
 * jump			from one context to another and nothing else: one way
 * yield2/W/Q/S		two actors that yield to each other: one yield
 * yield/W/Q/S		64 actors that yield: one yield
 * wake/W/Q/S		32 pairs, each wakes the other and parks: one wake and park
 * spawn/W/Q/S		8 actors that spawn and join, one after the other: one of both
 *
 * W workers, queue Q, and S "slot" or "none".  Time divided by the operations of all;
 * each of them gives two: that of the clock, and as cpu/NAME what the threads have used of
 * their CPUs, which says more where the machine does other things as well.  BENCH_OPS:
 * how many operations a run does.  The backend is the one that ROOST_BACKEND says.
 */
#include "bench.h"

#include <roost/roost.h>

#include "compiler.h"
#include "ctx.h"
#include "runq.h"

#define MOST_ACTORS	64

static unsigned long ops;

/* The jump */

static struct ctx here, there;

static void jumps_back(void *arg)
{
	(void)arg;
	for (;;)
		ctx_jump(&there.words, &here.words, NULL);
}

static void measure_jump(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	uint64_t start, cpu;
	unsigned long i;

	if (!bench_wanted("jump"))
		return;
	ctx_make(&there, stack, sizeof(stack), jumps_back, NULL);
	start = now_ns();
	cpu = bench_cpu_ns();
	for (i = 0; i < ops; i++)
		ctx_jump(&here.words, &there.words, NULL);
	cpu = bench_cpu_ns() - cpu;
	bench_result("jump", (double)(now_ns() - start) / (double)(2 * ops));
	bench_result("cpu/jump", (double)cpu / (double)(2 * ops));
}

/* The others are sets of actors, and a figure that comes of their time */

/**
 * struct storm - one of them
 * @name:	what it is called
 * @actors:	so many
 * @main:	what each runs
 */
struct storm {
	const char *name;
	unsigned int actors;
	roost_fn main;
};

struct member {
	unsigned long n;
	_Atomic roost_pid peer;
};

static struct member members[MOST_ACTORS];

static void yields(void *arg)
{
	struct member *m = arg;

	while (m->n--)
		roost_yield();
}

static void wakes(void *arg)
{
	struct member *m = arg;

	while (m->peer == ROOST_PID_NONE)
		roost_yield();
	while (m->n--) {
		roost_unpark(m->peer);
		/* The first wakes of both may be one; then the last is missing. */
		if (m->n)
			roost_park(ROOST_FOREVER);
	}
}

static void nothing(void *arg)
{
	(void)arg;
}

static void spawns(void *arg)
{
	struct member *m = arg;
	roost_pid pid;

	while (m->n--) {
		check(roost_spawn(nothing, NULL, &pid) == 0);
		check(roost_join(pid, ROOST_FOREVER) == 0);
	}
}

static const struct storm storms[] = {
	{ "yield2", 2, yields },
	{ "yield", 64, yields },
	{ "wake", 64, wakes },
	{ "spawn", 8, spawns },
};

struct job {
	const struct storm *storm;
	double result;
	double cpu;
};

static void run_storm(void *arg)
{
	struct job *job = arg;
	unsigned int n = job->storm->actors, i;
	unsigned long each = ops / n;
	roost_pid pid[MOST_ACTORS];
	uint64_t start, cpu;

	start = now_ns();
	cpu = bench_cpu_ns();
	for (i = 0; i < n; i++) {
		members[i].n = each;
		members[i].peer = ROOST_PID_NONE;
	}
	for (i = 0; i < n; i++)
		check(roost_spawn(job->storm->main, &members[i], &pid[i]) == 0);
	for (i = 0; i < n; i++)
		members[i].peer = pid[i ^ 1];
	for (i = 0; i < n; i++)
		check(roost_join(pid[i], ROOST_FOREVER) == 0);
	job->result = (double)(now_ns() - start) / (double)(each * n);
	job->cpu = (double)(bench_cpu_ns() - cpu) / (double)(each * n);
}

static void measure(const struct storm *storm, unsigned int workers,
		    enum roost_runq runq, enum roost_wake_slot slot)
{
	struct roost_config config = {
		.workers = workers, .runq = runq, .wake_slot = slot,
		.stack_pool = 2 * MOST_ACTORS,
	};
	struct job job = { .storm = storm };
	char name[64];

	snprintf(name, sizeof(name), "%s/%u/%s/%s", storm->name, workers,
		 runq_kind_of(runq)->name,
		 slot == ROOST_WAKE_SLOT_ON ? "slot" : "none");
	if (!bench_wanted(name))
		return;
	check(roost_run(&config, run_storm, &job) == 0);
	bench_result(name, job.result);
	memmove(name + 4, name, strlen(name) + 1);
	memcpy(name, "cpu/", 4);
	bench_result(name, job.cpu);
}

static void measure_all(void)
{
	static const unsigned int workers[] = { 1, 2, 8 };
	const enum roost_wake_slot slots[] = {
		ROOST_WAKE_SLOT_OFF, ROOST_WAKE_SLOT_ON,
	};
	enum roost_runq q;
	size_t i, w, s;

	measure_jump();
	for (i = 0; i < ARRAY_SIZE(storms); i++)
		for (w = 0; w < ARRAY_SIZE(workers); w++)
			for (q = ROOST_RUNQ_MUTEX; q <= ROOST_RUNQ_STEAL; q++)
				for (s = 0; s < ARRAY_SIZE(slots); s++)
					measure(&storms[i], workers[w], q,
						slots[s]);
}

int main(void)
{
	unsigned long i;

	ops = env_number("BENCH_OPS", 200000);
	for (i = 0; i < bench_runs(); i++)
		measure_all();
	return 0;
}
