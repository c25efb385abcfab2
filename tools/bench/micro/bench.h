/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * bench.h - what the microbenchmarks share.
 *
 * They are meant for a guest that counts instructions (tools/vm/run.sh
 * --icount): there the clock says one nanosecond for each instruction, and a
 * difference of two readings is what ran in between, in user space and in the
 * kernel.  On hardware the figures are nanoseconds.
 *
 * A result is a line "NAME <tab> VALUE", printed once a run; what belongs to
 * one name is put together by whoever reads it.
 */
#ifndef ROOST_BENCH_H
#define ROOST_BENCH_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "roost_test.h"

/* How often each figure is taken. */
static inline unsigned long bench_runs(void)
{
	return env_number("BENCH_RUNS", 5);
}

/* BENCH_ONLY: a part of the names of those that are wanted, or "name$": that one. */
static inline bool bench_wanted(const char *name)
{
	const char *only = getenv("BENCH_ONLY");
	size_t n = only ? strlen(only) : 0;

	if (n && only[n - 1] == '$')
		return strlen(name) == n - 1 && !strncmp(name, only, n - 1);
	return !only || strstr(name, only);
}

static inline void bench_result(const char *name, double value)
{
	printf("%s\t%.2f\n", name, value);
	fflush(stdout);
}

/* CPU time that the threads of this process have used. */
static inline uint64_t bench_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * SEC + (uint64_t)ts.tv_nsec;
}

/*
 * Everybody on CPU 0, and nobody preempts whom he wakes: what an operation
 * costs does not depend on who happens to run first.
 */
static inline void bench_settle(int policy)
{
	struct sched_param param = { 0 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	check(sched_setaffinity(0, sizeof(set), &set) == 0);
	check(sched_setscheduler(0, policy, &param) == 0);
}

/*
 * A guest that has just booted has things of its own to do: on 6.12 they have half
 * of the CPU for more than a second.
 */
static inline void bench_quiet(void)
{
	sleep_ns(5 * SEC);
}

/*
 * The idle time of a guest is no instruction of ours, but the clock goes on.  So
 * that the CPU is never idle a thread of the idle class turns in a loop of two
 * instructions; what it has turned is taken off.  The two switches from it and
 * back remain, as they would to the idle task.
 */
struct bench_filler {
	pthread_t thread;
	volatile uint64_t turns;
	volatile bool stop;
};

static inline void *bench_fill(void *arg)
{
	struct bench_filler *f = arg;
	uint64_t n;

	bench_settle(SCHED_IDLE);
	while (!f->stop) {
		n = 64;
		/* 2 instructions a turn, and 5 or so around 64 of them. */
		__asm__ volatile("1: addq $-1, %0\n\tjnz 1b" : "+r"(n));
		f->turns += 64;
	}
	return NULL;
}

static inline void bench_fill_start(struct bench_filler *f)
{
	f->turns = 0;
	f->stop = false;
	check(pthread_create(&f->thread, NULL, bench_fill, f) == 0);
}

static inline void bench_fill_stop(struct bench_filler *f)
{
	f->stop = true;
	pthread_join(f->thread, NULL);
}

/* A span of time without what was filled. */
struct bench_span {
	uint64_t start;
	uint64_t turns;
};

static inline struct bench_span bench_begin(struct bench_filler *f)
{
	return (struct bench_span){
		.turns = f ? f->turns : 0,
		.start = now_ns(),
	};
}

static inline double bench_end(struct bench_filler *f, struct bench_span span,
			       double cost_of_turn)
{
	double spent = (double)(now_ns() - span.start);

	return f ? spent - cost_of_turn * (double)(f->turns - span.turns) :
		   spent;
}

/* What a turn of the filler costs, when it has the CPU for itself. */
static inline double bench_cost_of_turn(void)
{
	struct bench_filler f;
	struct bench_span span;
	double spent;
	uint64_t turns;

	bench_fill_start(&f);
	sleep_ns(20 * MSEC);
	span = bench_begin(NULL);
	turns = f.turns;
	sleep_ns(400 * MSEC);
	spent = bench_end(NULL, span, 0);
	turns = f.turns - turns;
	bench_fill_stop(&f);
	return spent / (double)turns;
}

#endif /* ROOST_BENCH_H */
