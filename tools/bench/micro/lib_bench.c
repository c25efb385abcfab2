// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * lib_bench.c - what timers and wakes cost in the library.
 *
 * lib/arm_cancel	a wait with a deadline that is over before it, while the
 *			actor has an earlier one armed: the usual pair
 * lib/arm_cancel_fresh	the same with nothing armed: the arm is staged
 * lib/move_later	a later deadline, nothing else
 * lib/arm_kernel	an arm that reaches the kernel, 200 handed over at once:
 *			all of it, in user space and in the kernel
 * lib/wake_nobody	a wake when nobody is idle
 * fire/lib_...		one actor that sleeps and runs, on either backend
 * fire/lib_..._1000	a thousand of them, each 1 to 10 ms at a time
 *
 * The first five are differences: the loop with and without the call.
 */
#include "bench.h"

#include <roost/roost.h>

#include "backend_kernel.h"
#include "runtime.h"
#include "timer_want.h"
#include "worker.h"

#define LOOPS	2000
#define CROWD	200
#define SLEEPERS 1000

static double cost_of_turn;
static roost_pid crowd[CROWD];

/* Nothing, which no compiler sees through. */
static void nothing(struct worker *w, struct slot *s, uint64_t i)
{
	__asm__ volatile("" :: "r"(w), "r"(s), "r"(i) : "memory");
}

#define spent_in(n, i, statement) ({ \
	uint64_t start_ = now_ns(); \
	for ((i) = 0; (i) < (n); (i)++) { \
		statement; \
	} \
	(double)(now_ns() - start_); \
})

static struct slot *slot_of(unsigned int i)
{
	return runtime_slot(runtime_self(), crowd[i]);
}

static void parked_main(void *arg)
{
	(void)arg;
	roost_park(ROOST_FOREVER);
}

static void disarm_crowd(struct worker *w)
{
	unsigned int i;

	for (i = 0; i < CROWD; i++) {
		timer_unwant(slot_of(i));
		kernel_timer_end(w, &slot_of(i)->timer);
	}
	kring_flush(w);
}

static double arm_kernel(struct worker *w, struct slot **slots)
{
	uint64_t base = now_ns() + 100 * SEC;
	uint64_t start;
	unsigned int i;
	double spent;

	kring_flush(w);
	start = now_ns();
	for (i = 0; i < CROWD; i++)
		timer_want(w, slots[i], base + (i * 7919 % CROWD) * MSEC);
	kring_flush(w);
	spent = (double)(now_ns() - start);
	disarm_crowd(w);
	return spent / CROWD;
}

static double arm_cancel_fresh(struct worker *w, struct slot **slots)
{
	uint64_t base = now_ns() + 100 * SEC;
	unsigned int i;
	double spent;

	kring_flush(w);
	spent = spent_in(CROWD, i, (timer_want(w, slots[i], base + i),
				    timer_unwant(slots[i])));
	spent -= spent_in(CROWD, i, nothing(w, slots[i], base + i));
	disarm_crowd(w);
	return spent / CROWD;
}

static void measure_all(struct worker *w, struct slot *s, struct slot **slots)
{
	uint64_t base = now_ns() + 50 * SEC, i;
	double empty, spent;

	timer_want(w, s, base);
	empty = spent_in(LOOPS, i, nothing(w, s, base + i));
	spent = spent_in(LOOPS, i, (timer_want(w, s, base + i),
				    timer_unwant(s)));
	bench_result("lib/arm_cancel", (spent - empty) / LOOPS);
	spent = spent_in(LOOPS, i, timer_want(w, s, base + i));
	bench_result("lib/move_later", (spent - empty) / LOOPS);
	spent = spent_in(LOOPS, i, worker_wake_one(w->rt));
	bench_result("lib/wake_nobody", (spent - empty) / LOOPS);
	timer_unwant(s);
	bench_result("lib/arm_cancel_fresh", arm_cancel_fresh(w, slots));
	bench_result("lib/arm_kernel", arm_kernel(w, slots));
}

static void calls_main(void *arg)
{
	struct slot *slots[CROWD];
	unsigned long i;

	(void)arg;
	for (i = 0; i < CROWD; i++) {
		check(roost_spawn(parked_main, NULL, &crowd[i]) == 0);
		slots[i] = slot_of(i);
	}
	roost_yield();
	for (i = 0; i < bench_runs() + 1; i++) {
		/* What is allocated when first touched is in the first. */
		library_enter();
		if (!i)
			arm_kernel(worker_self(), slots);
		else
			measure_all(worker_self(), worker_actor(), slots);
		library_leave();
	}
	for (i = 0; i < CROWD; i++)
		roost_unpark(crowd[i]);
}

static unsigned long fires;

static void lone_sleeper(void *arg)
{
	struct bench_filler filler;
	struct bench_span span;
	unsigned long i;

	bench_fill_start(&filler);
	for (i = 0; i < 50; i++)
		roost_sleep(300000);
	span = bench_begin(&filler);
	for (i = 0; i < fires; i++)
		roost_sleep(300000);
	*(double *)arg = bench_end(&filler, span, cost_of_turn) / (double)fires;
	bench_fill_stop(&filler);
}

struct crowd_sleeper {
	uint64_t seed;
	unsigned long n;
	roost_pid main;
};

static unsigned int awake;	/* of the crowd; there is one worker */

static void crowd_sleeper(void *arg)
{
	struct crowd_sleeper *s = arg;

	while (s->n--)
		roost_sleep(MSEC + random_next(&s->seed) % (9 * MSEC));
	/* Their end is not part of it. */
	if (!--awake)
		roost_unpark(s->main);
	roost_park(ROOST_FOREVER);
}

static void crowd_main(void *arg)
{
	static struct crowd_sleeper s[SLEEPERS];
	static roost_pid pid[SLEEPERS];
	const unsigned long each = fires / 15 + 1;
	struct bench_filler filler;
	struct bench_span span;
	unsigned int i;

	bench_fill_start(&filler);
	awake = SLEEPERS;
	for (i = 0; i < SLEEPERS; i++) {
		s[i] = (struct crowd_sleeper){ i + 1, each, roost_self() };
		check(roost_spawn(crowd_sleeper, &s[i], &pid[i]) == 0);
	}
	/* All have been started and sleep. */
	roost_yield();
	span = bench_begin(&filler);
	roost_park(ROOST_FOREVER);
	*(double *)arg = bench_end(&filler, span, cost_of_turn) /
			 (double)(SLEEPERS * each);
	bench_fill_stop(&filler);
	for (i = 0; i < SLEEPERS; i++) {
		roost_unpark(pid[i]);
		roost_join(pid[i], ROOST_FOREVER);
	}
}

static void run(const char *name, roost_fn fn, enum roost_backend backend)
{
	struct roost_config config = { .workers = 1, .backend = backend };
	double result = -1;

	if (!bench_wanted(name))
		return;
	check(roost_run(&config, fn, &result) == 0);
	if (result >= 0)
		bench_result(name, result);
}

int main(void)
{
	unsigned long i;

	fires = env_number("BENCH_FIRES", 300);
	bench_settle(SCHED_BATCH);
	bench_quiet();
	cost_of_turn = bench_cost_of_turn();
	run("lib/", calls_main, ROOST_BACKEND_KERNEL);
	for (i = 0; i < bench_runs(); i++) {
		run("fire/lib_kernel", lone_sleeper, ROOST_BACKEND_KERNEL);
		run("fire/lib_futex", lone_sleeper, ROOST_BACKEND_FUTEX);
		run("fire/lib_kernel_1000", crowd_main, ROOST_BACKEND_KERNEL);
		run("fire/lib_futex_1000", crowd_main, ROOST_BACKEND_FUTEX);
	}
	return 0;
}
