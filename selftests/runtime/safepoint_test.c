// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * safepoint_test.c - actors that compute let others run (S0-04, S0-05, S0-42 to S0-44).
 *
 * One worker whose carrier is not displaced, so that only a safepoint can let others
 * run.
 */
#include "arch/arch.h"
#include ARCH_HEADER(cycles.h)
#include "carrier.h"
#include "runtime.h"

#include "run.h"

static struct roost_config alone(unsigned int timeslice, unsigned int check_every)
{
	return (struct roost_config){
		.workers = 1, .standbys = ROOST_NO_STANDBYS,
		.timeslice = timeslice, .check_every = check_every,
	};
}

static void run_alone(unsigned int timeslice, unsigned int check_every, roost_fn fn,
		      void *arg)
{
	struct roost_config config = alone(timeslice, check_every);

	run_with(&config, fn, arg);
}

static uint64_t overruns_of_all(void)
{
	struct roost_stats s;

	CHECK_EQ(roost_stats(&s), 0);
	return s.overruns;
}

/* Who computes, in some way, until another has run often enough */

static _Atomic unsigned int turns;

static void takes_turns(void *arg unused_arg)
{
	while (atomic_load(&turns) < 10) {
		atomic_fetch_add(&turns, 1);
		roost_yield();
	}
}

static void check_once(void)
{
	CHECK_EQ(roost_check(), 0);
}

static void allocate_once(void)
{
	void *p = roost_malloc(10);

	p = roost_realloc(p, 20);
	roost_free(p);
	roost_free(roost_calloc(2, 3));
}

static void call_once(void)
{
	roost_detach(ROOST_PID_NONE - 1);
}

static void computes(void *arg)
{
	uint64_t limit = roost_after(ROOST_SEC(60));
	void (*once)(void) = *(void (**)(void))arg;
	uint64_t overruns;
	roost_pid other;

	atomic_store(&turns, 0);
	other = spawn(takes_turns, NULL);
	while (atomic_load(&turns) < 10 && roost_now() < limit)
		once();
	CHECK_EQ(atomic_load(&turns), 10);
	/* Asking may be one more. */
	overruns = overruns_of_all();
	CHECK(overruns >= 9);
	CHECK_EQ(atomic_load(&worker_actor()->overruns), overruns);
	join(other);
}

ROOST_TEST(s0_42_checks_let_others_run)
{
	void (*once)(void) = check_once;

	run_alone(0, 0, computes, &once);
	run_alone(1, 1, computes, &once);
}

ROOST_TEST(s0_42_allocations_let_others_run)
{
	void (*once)(void) = allocate_once;

	run_alone(0, 0, computes, &once);
}

ROOST_TEST(s0_42_calls_let_others_run)
{
	void (*once)(void) = call_once;

	run_alone(0, 0, computes, &once);
}

/* ... and timers, though nobody is queued before one goes off. */
static _Atomic bool fired;

static void sleeps(void *arg unused_arg)
{
	roost_sleep(ROOST_MSEC(2));
	atomic_store(&fired, true);
}

static void computes_for_timer(void *arg unused_arg)
{
	uint64_t limit = roost_after(ROOST_SEC(60));
	roost_pid pid = spawn(sleeps, NULL);

	atomic_store(&fired, false);
	roost_yield();
	while (!atomic_load(&fired) && roost_now() < limit)
		roost_check();
	CHECK(atomic_load(&fired));
	join(pid);
}

ROOST_TEST(s1_16_a_timer_goes_off_while_an_actor_computes)
{
	run_alone(0, 0, computes_for_timer, NULL);
}

/* Some are slow. */
static void counter_goes_on(void)
{
	uint64_t now = cycles();

	while (cycles() == now)
		;
}

/* Each second reading of the counter finds a slice of one cycle over. */
static void counts_readings(void *arg)
{
	unsigned int every = *(unsigned int *)arg, i;
	uint64_t before = overruns_of_all(), n;

	for (i = 0; i < 200 * every; i++) {
		counter_goes_on();
		roost_check();
	}
	n = overruns_of_all() - before;
	printf("# every %u: %u checks, %lu overruns\n", every, i, (unsigned long)n);
	CHECK(n >= 99 && n <= 101);
}

/* S1-29: also what the knob says. */
ROOST_TEST(s0_04_the_counter_is_read_each_so_many_checks)
{
	static const unsigned int every[] = { 5, 128, 1000 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(every); i++)
		run_alone(1, every[i], counts_readings, (void *)&every[i]);
}

static void never_over(void *arg unused_arg)
{
	unsigned int i;

	for (i = 0; i < 1000; i++)
		roost_check();
	CHECK_EQ(overruns_of_all(), 0);
}

ROOST_TEST(s0_05_no_slice_is_over_before_its_end)
{
	run_alone(~0U, 1, never_over, NULL);
}

/* The module's word */

static void sets_ran(void *arg)
{
	atomic_store((_Atomic bool *)arg, true);
}

static void is_told(void *arg unused_arg)
{
	_Atomic bool ran = false;
	roost_pid pid = spawn(sets_ran, &ran);

	CHECK_EQ(roost_check(), 0);
	CHECK(!atomic_load(&ran));
	atomic_store(&carrier_self()->word[CARRIER_PREEMPT], 1);
	CHECK_EQ(roost_check(), 0);
	CHECK(atomic_load(&ran));
	CHECK(!carrier_is_told(carrier_self()));
	CHECK_EQ(atomic_load(&worker_actor()->overruns), 1);
	join(pid);
}

ROOST_TEST(the_module_may_say_so)
{
	run_alone(~0U, 1000, is_told, NULL);
}

/* Sections without preemption */

static void is_in_sections(void *arg unused_arg)
{
	_Atomic bool ran = false;
	roost_pid pid = spawn(sets_ran, &ran);
	int i;

	roost_preempt_disable();
	roost_preempt_disable();
	for (i = 0; i < 100; i++) {
		roost_check();
		roost_free(roost_malloc(1));
		call_once();
	}
	CHECK(!atomic_load(&ran));
	roost_preempt_enable();
	for (i = 0; i < 100; i++)
		roost_check();
	CHECK(!atomic_load(&ran));
	roost_preempt_enable();
	roost_check();
	CHECK(atomic_load(&ran));
	join(pid);
}

ROOST_TEST(sections_without_preemption_nest)
{
	run_alone(1, 1, is_in_sections, NULL);
}

static void yields_in_section(void *arg unused_arg)
{
	_Atomic bool ran = false;
	roost_pid pid = spawn(sets_ran, &ran);

	roost_preempt_disable();
	roost_yield();
	CHECK(atomic_load(&ran));
	join(pid);
	roost_preempt_enable();
}

ROOST_TEST(who_yields_or_waits_in_a_section_gives_way)
{
	run_alone(0, 0, yields_in_section, NULL);
}

static void enables_once_too_often(void *arg unused_arg)
{
	roost_preempt_disable();
	roost_preempt_enable();
	roost_preempt_enable();
}

static void dies(void *arg unused_arg)
{
	run_alone(0, 0, enables_once_too_often, NULL);
}

ROOST_TEST(one_end_of_a_section_too_many)
{
	char text[400];
	int status = in_child_stderr(dies, NULL, text, sizeof(text));

	CHECK(KILLED_BY(status, SIGABRT));
	CHECK(strstr(text, "roost_preempt_enable() without"));
}

/* The next tenant of a slot begins at 0, and in no section. */
static uint32_t index_of_last;

static void overruns(void *arg unused_arg)
{
	int i;

	index_of_last = worker_actor()->index;
	CHECK_EQ(atomic_load(&worker_actor()->overruns), 0);
	CHECK_EQ(worker_actor()->no_preempt, 0);
	for (i = 0; i < 100; i++)
		roost_check();
	CHECK(atomic_load(&worker_actor()->overruns) > 0);
	roost_preempt_disable();
}

static void one_after_the_other(void *arg unused_arg)
{
	uint32_t first;

	join(spawn(overruns, NULL));
	first = index_of_last;
	join(spawn(overruns, NULL));
	CHECK_EQ(index_of_last, first);
}

ROOST_TEST(s0_31_s0_44_overruns_are_counted_for_each_tenant)
{
	run_alone(1, 1, one_after_the_other, NULL);
}

/* S0-39: neither who has to give way nor whom it has woken is before the others. */
static char order[8];
static unsigned int nr_ran;

static void parks_and_notes(void *arg)
{
	CHECK_EQ(roost_park(ROOST_FOREVER), 0);
	order[nr_ran++] = *(char *)arg;
}

static void notes(void *arg)
{
	order[nr_ran++] = *(char *)arg;
}

static void unparks(void *arg)
{
	roost_unpark(*(roost_pid *)arg);
}

static void wakes_and_gives_way(void *arg unused_arg)
{
	roost_pid b = spawn(parks_and_notes, "b"), self = roost_self(), q;

	roost_yield();
	/* It goes on with another's slice, for which the counter was just read. */
	CHECK_EQ(roost_spawn(unparks, &self, NULL), 0);
	CHECK_EQ(roost_park(ROOST_FOREVER), 0);
	q = spawn(notes, "q");
	roost_unpark(b);
	atomic_store(&carrier_self()->word[CARRIER_PREEMPT], 1);
	roost_check();
	order[nr_ran++] = 'a';
	join(b);
	join(q);
	CHECK_STREQ(order, "qab");
}

ROOST_TEST(s0_39_the_queue_comes_first_when_a_slice_is_over)
{
	struct roost_config config = alone(1, 1000);

	config.wake_slot = ROOST_WAKE_SLOT_ON;
	memset(order, 0, sizeof(order));
	nr_ran = 0;
	run_with(&config, wakes_and_gives_way, NULL);
}

/* In a child of the process there are no other actors. */
static void forks(void *arg unused_arg)
{
	_Atomic bool ran = false;
	roost_pid pid = spawn(sets_ran, &ran);
	int i, status = -1;
	pid_t child;

	child = fork();
	if (!child) {
		for (i = 0; i < 1000; i++)
			roost_free(roost_malloc(1));
		_exit(atomic_load(&ran) ? 4 : 3);
	}
	CHECK(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(EXITED(status, 3));
	join(pid);
}

ROOST_TEST(a_child_runs_no_other_actors)
{
	run_alone(1, 10, forks, NULL);
}

/* Stopped, or no actor at all. */
static void checks_until_stopped(void *arg)
{
	_Atomic int *result = arg;
	uint64_t limit = roost_after(ROOST_SEC(60));
	int ret;

	do {
		ret = roost_check();
		atomic_store(result, ret);
	} while (!ret && roost_now() < limit);
}

static void stops_who_computes(void *arg unused_arg)
{
	_Atomic int result = 1;
	roost_pid pid = spawn(checks_until_stopped, &result);

	roost_yield();
	CHECK_EQ(atomic_load(&result), 0);
	CHECK_EQ(roost_stop(pid), 0);
	join(pid);
	CHECK_EQ(atomic_load(&result), -ECANCELED);
}

ROOST_TEST(a_check_tells_of_a_stop)
{
	run_alone(0, 0, stops_who_computes, NULL);
}

ROOST_TEST(outside_of_actors)
{
	CHECK_EQ(roost_check(), -EPERM);
	roost_preempt_disable();
	roost_preempt_enable();
	roost_preempt_enable();
	roost_free(roost_malloc(10));
}
