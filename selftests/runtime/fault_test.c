// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * fault_test.c - an actor that crashes ends alone, where that is safe; elsewhere the
 * process does.
 */
#include <fenv.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include ARCH_HEADER(traps.h)
#include "compiler.h"
#include "fault_help.h"

/* Each its own page of address space: nobody can take the next one's for its own. */
#define FAULT_TEST(test_name, nr_workers)				\
	static void actor_##test_name(void *arg);			\
	ROOST_TEST(test_name)						\
	{								\
		if (SANITIZED)						\
			SKIP(NO_FAULTS);				\
		run_actors(nr_workers, actor_##test_name, NULL);	\
	}								\
	static void actor_##test_name(void *arg unused_arg)

static char *victim;

static void overflows_here(void *arg)
{
	char here;

	victim = &here;
	__asm__ volatile("" : "+m"(victim));
	overflows(arg);
}

/* S0-62, C22 */
FAULT_TEST(an_overflow_ends_the_actor_alone, 1)
{
	struct roost_outcome o = outcome_of(overflows_here, NULL);
	struct roost_stats stats;

	CHECK_EQ(o.how, ROOST_END_CRASHED);
	CHECK_EQ(o.reason, ROOST_CRASH_OVERFLOW);
	CHECK((uintptr_t)victim - o.address < (64U << 10) + PAGE);
	CHECK((uintptr_t)victim - o.address > (60U << 10));
	CHECK(o.pc >= (uintptr_t)bottomless && o.pc < (uintptr_t)bottomless + 256);
	CHECK_EQ(roost_stats(&stats), 0);
	CHECK_EQ(stats.crashed, 1);
}

#define PATTERN_SIZE	40000

static _Atomic int intact;
static _Atomic bool over;

static void quiet_neighbour(void *arg unused_arg)
{
	unsigned char pattern[PATTERN_SIZE];
	size_t i, good = 0;

	for (i = 0; i < sizeof(pattern); i++)
		pattern[i] = (unsigned char)(i * 7);
	__asm__ volatile("" : : "r"(pattern) : "memory");
	while (!atomic_load(&over))
		roost_sleep(ROOST_MSEC(1));
	for (i = 0; i < sizeof(pattern); i++)
		good += pattern[i] == (unsigned char)(i * 7);
	if (good == sizeof(pattern))
		atomic_fetch_add(&intact, 1);
}

/* Touched from its far end. */
static void has_a_large_frame(void *arg unused_arg)
{
	char frame[256 << 10];

	frame[0] = 1;
	frame[sizeof(frame) - 1] = 1;
	/* As a whole. */
	__asm__ volatile("" : : "r"(frame) : "memory");
}

/* Below each who crashes lies a neighbour's stack. */
static void crash_among_neighbours(void *arg unused_arg)
{
	struct roost_spawn_options smallest = { .stack_size = 16384 };
	struct roost_outcome o;
	roost_pid pid[12];
	int i;

	atomic_store(&intact, 0);
	atomic_store(&over, false);
	for (i = 0; i < 12; i++) {
		pid[i] = spawn(quiet_neighbour, NULL);
		must_crash(i % 2 ? overflows : has_a_large_frame, NULL,
			   ROOST_CRASH_OVERFLOW);
		must_crash(writes_nowhere, NULL, ROOST_CRASH_SEGV);
		CHECK_EQ(roost_spawn_with(overflows, NULL, &smallest, &o.pid),
			 0);
		CHECK_EQ(roost_join_outcome(o.pid, ROOST_FOREVER, &o), 0);
		CHECK_EQ(o.reason, ROOST_CRASH_OVERFLOW);
	}
	atomic_store(&over, true);
	for (i = 0; i < 12; i++)
		join(pid[i]);
	CHECK_EQ(intact, 12);
}

FAULT_TEST(c22_neighbours_are_left_as_they_were, 1)
{
	crash_among_neighbours(NULL);
}

FAULT_TEST(c22_neighbours_are_left_as_they_were_by_several_workers, 3)
{
	crash_among_neighbours(NULL);
}

/* As many ways as there are signals, and some. */

static void reads_nowhere(void *arg unused_arg)
{
	CHECK(*nowhere);
}

static void (*volatile no_function)(void);

static void calls_nothing(void *arg unused_arg)
{
	no_function();
}

static int *volatile noncanonical = (int *)NO_ADDRESS;

static void writes_noncanonical(void *arg unused_arg)
{
	*noncanonical = 1;
}

static volatile int zero, one = 1;

static void divides(void *arg unused_arg)
{
	one = one / zero;
}

static void divides_inexactly(void *arg unused_arg)
{
	volatile double x = 3;

	feenableexcept(FE_INEXACT);
	x = 1 / x;
	fedisableexcept(FE_INEXACT);
	CHECK(x > 0);
}

/* Emulators let it pass. */
static bool traps_inexact(void)
{
	struct roost_outcome o = outcome_of(divides_inexactly, NULL);

	if (o.how == ROOST_END_CRASHED)
		CHECK_EQ(o.reason, ROOST_CRASH_FPE);
	return o.how == ROOST_END_CRASHED;
}

static void traps(void *arg unused_arg)
{
	trap_illegal();
}

static char *beyond_the_end(void)
{
	FILE *f = tmpfile();
	char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		       fileno(f), 0);

	fclose(f);
	return p;
}

static void writes_beyond_the_end(void *arg)
{
	*(volatile char *)arg = 1;
}

/* S0-62 */
FAULT_TEST(each_signal_is_told_apart, 2)
{
	char *beyond = beyond_the_end();
	struct roost_outcome o;
	int i;

	for (i = 0; i < 3; i++) {
		must_crash(writes_nowhere, NULL, ROOST_CRASH_SEGV);
		must_crash(reads_nowhere, NULL, ROOST_CRASH_SEGV);
		must_crash(calls_nothing, NULL, ROOST_CRASH_SEGV);
		must_crash(writes_noncanonical, NULL, ROOST_CRASH_SEGV);
		if (DIVISION_TRAPS)
			must_crash(divides, NULL, ROOST_CRASH_FPE);
		if (!traps_inexact())
			printf("# no trap by what is inexact\n");
		must_crash(traps, NULL, ROOST_CRASH_ILL);
		must_crash(writes_beyond_the_end, beyond, ROOST_CRASH_BUS);
	}
	o = outcome_of(writes_beyond_the_end, beyond);
	CHECK_EQ(o.address, (uintptr_t)beyond);
	CHECK_EQ(o.code, BUS_ADRERR);
	o = outcome_of(writes_nowhere, NULL);
	CHECK_EQ(o.address, 8);
	CHECK_EQ(o.code, SEGV_MAPERR);
	munmap(beyond, PAGE);
}

/* How actors end otherwise. */

static void returns(void *arg unused_arg)
{
}

static void exits(void *arg unused_arg)
{
	roost_exit();
}

static void parks(void *arg unused_arg)
{
	roost_park(ROOST_FOREVER);
}

static void crashes_when_stopped(void *arg unused_arg)
{
	roost_park(ROOST_FOREVER);
	*nowhere = 1;
}

static struct roost_outcome outcome_of_stopped(roost_fn fn, bool begun)
{
	struct roost_outcome o;
	roost_pid pid = spawn(fn, NULL);

	if (begun)
		roost_sleep(ROOST_MSEC(1));
	CHECK_EQ(roost_stop(pid), 0);
	CHECK_EQ(roost_join_outcome(pid, ROOST_FOREVER, &o), 0);
	CHECK_EQ(o.pid, pid);
	return o;
}

FAULT_TEST(s0_50_outcomes_are_told_apart, 1)
{
	struct roost_outcome o = outcome_of(returns, NULL);

	CHECK_EQ(o.how, ROOST_END_RETURNED);
	CHECK_EQ(o.reason, ROOST_CRASH_NONE);
	CHECK(!o.address && !o.pc && !o.code);
	CHECK_EQ(outcome_of(exits, NULL).how, ROOST_END_RETURNED);
	CHECK_EQ(outcome_of_stopped(parks, true).how, ROOST_END_STOPPED);
	CHECK_EQ(outcome_of_stopped(parks, false).how, ROOST_END_STOPPED);
	must_crash(writes_nowhere, NULL, ROOST_CRASH_SEGV);
	CHECK_EQ(outcome_of_stopped(crashes_when_stopped, true).how,
		 ROOST_END_CRASHED);
	/* The slot of one that has crashed. */
	CHECK_EQ(outcome_of(returns, NULL).how, ROOST_END_RETURNED);
}

static _Atomic int told;

static void joins_crashed(void *arg)
{
	struct roost_outcome o;

	if (!roost_join_outcome(*(roost_pid *)arg, ROOST_FOREVER, &o) &&
	    o.reason == ROOST_CRASH_SEGV && o.pid == *(roost_pid *)arg)
		atomic_fetch_add(&told, 1);
}

static void sleeps_and_crashes(void *arg unused_arg)
{
	roost_sleep(ROOST_MSEC(20));
	*nowhere = 1;
}

FAULT_TEST(everybody_who_joins_is_told, 3)
{
	roost_pid victim = spawn(sleeps_and_crashes, NULL);
	roost_pid pid[16];
	int i;

	for (i = 0; i < 16; i++)
		pid[i] = spawn(joins_crashed, &victim);
	for (i = 0; i < 16; i++)
		join(pid[i]);
	CHECK_EQ(told, 16);
}

/* What is left behind. */

static void blocks_a_signal_and_crashes(void *arg unused_arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	*nowhere = 1;
}

/* One worker: it is the same thread. */
FAULT_TEST(the_signal_mask_is_that_of_the_carrier_again, 1)
{
	sigset_t before, after;
	int i;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	CHECK(!sigismember(&before, SIGUSR1));
	for (i = 0; i < 3; i++) {
		must_crash(blocks_a_signal_and_crashes, NULL, ROOST_CRASH_SEGV);
		pthread_sigmask(SIG_SETMASK, NULL, &after);
		CHECK(!sigismember(&after, SIGUSR1));
		CHECK(!sigismember(&after, SIGSEGV));
		CHECK(!memcmp(&before, &after, sizeof(before)));
	}
}

static void changes_modes_and_crashes(void *arg unused_arg)
{
	fesetround(FE_DOWNWARD);
	crash_with_spoilt_registers();
}

static long double sum_of_tenths(void)
{
	volatile long double x = 0;
	int i;

	for (i = 0; i < 100; i++)
		x += 0.1L;
	return x;
}

/* New actors begin with the modes of a new program, whoever was there before. */
static void computes(void *arg)
{
	CHECK_EQ(fegetround(), FE_TONEAREST);
	CHECK(sum_of_tenths() == *(long double *)arg);
}

FAULT_TEST(registers_of_the_crashed_are_gone, 1)
{
	long double right = sum_of_tenths();
	int i;

	for (i = 0; i < 3; i++) {
		must_crash(changes_modes_and_crashes, NULL, ROOST_CRASH_SEGV);
		CHECK_EQ(outcome_of(computes, &right).how, ROOST_END_RETURNED);
		CHECK(sum_of_tenths() == right);
		CHECK_EQ(fegetround(), FE_TONEAREST);
	}
}

static void yields_and_crashes(void *arg)
{
	uintptr_t i, n = (uintptr_t)arg % 5;

	for (i = 0; i < n; i++)
		roost_yield();
	if (n % 2)
		overflows(NULL);
	else if (DIVISION_TRAPS)
		divides(NULL);
	else
		traps(NULL);
}

static unsigned long nr_crashes(void)
{
	return rounds(20000) / 64 * 64;
}

/* Detached and joined ones; those that crash on each worker's threads. */
static void storm(void *arg unused_arg)
{
	unsigned long n = nr_crashes(), i, k;
	struct roost_stats stats;
	roost_pid pid[64];

	for (i = 0; i < n; i += 64) {
		for (k = 0; k < 64; k++) {
			pid[k] = spawn(yields_and_crashes, (void *)(i + k));
			if (k % 3 == 0)
				roost_detach(pid[k]);
		}
		for (k = 0; k < 64; k++) {
			struct roost_outcome o = { 0 };

			if (k % 3 == 0)
				continue;
			CHECK_EQ(roost_join_outcome(pid[k], ROOST_FOREVER, &o),
				 0);
			CHECK_EQ(o.how, ROOST_END_CRASHED);
		}
	}
	do {
		roost_sleep(ROOST_MSEC(1));
		CHECK_EQ(roost_stats(&stats), 0);
	} while (stats.live > 1 && !tap_failed());
	CHECK_EQ(stats.crashed, n);
}

FAULT_TEST(a_storm_of_crashes, 3)
{
	storm(NULL);
}

FAULT_TEST(the_root_may_crash, 2)
{
	spawn(sleeps_and_crashes, NULL);
	spawn(parks, NULL);
	roost_yield();
	*nowhere = 1;
}

/* Where it is not safe: the process ends, by that signal, and a line says why. */

struct fatal {
	roost_fn fn;
	enum roost_faults faults;
};

static void fatal_child(void *arg)
{
	const struct fatal *f = arg;
	struct roost_config config = { .workers = 1, .faults = f->faults };

	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	roost_run(&config, f->fn, NULL);
}

static void must_be_fatal(roost_fn fn, enum roost_faults faults, int sig,
			  const char *line)
{
	struct fatal f = { fn, faults };
	char text[512];
	int status = in_child_stderr(fatal_child, &f, text, sizeof(text));

	CHECK_MSG(KILLED_BY(status, sig), "%s: status 0x%x", line, status);
	if (*line)
		CHECK_MSG(strstr(text, line), "\"%s\" is not in \"%s\"", line,
			  text);
	else if (emulated())
		CHECK_MSG(!strstr(text, "roost:"), "\"%s\"", text);
	else
		CHECK_STREQ(text, "");
}

static void writes_nowhere_in_libc(void *arg unused_arg)
{
	/* Not one that a compiler knows. */
	void *(*volatile set)(void *p, int c, size_t n) = memset;

	set((void *)nowhere, 1, 1000);
}

static void lets_libc_call_nothing(void *arg unused_arg)
{
	int (*volatile compare)(const void *a, const void *b) = NULL;
	int numbers[4] = { 4, 3, 2, 1 };

	qsort(numbers, 4, sizeof(*numbers), compare);
}

static void spawns_nowhere(void *arg unused_arg)
{
	roost_spawn(returns, NULL, (roost_pid *)nowhere);
}

static void on_usr1(int sig unused_arg)
{
	*nowhere = 1;
}

static void crashes_in_handler(int flags)
{
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = flags };

	sigaction(SIGUSR1, &sa, NULL);
	pthread_kill(pthread_self(), SIGUSR1);
}

static void crashes_in_handler_here(void *arg unused_arg)
{
	crashes_in_handler(SA_NODEFER);
}

static void crashes_in_handler_elsewhere(void *arg unused_arg)
{
	crashes_in_handler(SA_NODEFER | SA_ONSTACK);
}

/* The instruction is the actor's own, and has not made a fault. */
static void is_sent_segv(void *arg unused_arg)
{
	own_tgkill(getpid(), syscall(SYS_gettid), SIGSEGV);
	_exit(1);
}

/* Its frames are large, and nothing but their ends is written to. */
static noinline int bottomless_gaps(int n)
{
	volatile char frame[2000];

	frame[0] = (char)n;
	if (n == -1)
		return 0;
	return bottomless_gaps(n + 1) + frame[0];
}

static volatile int handled;

static void on_usr2(int sig unused_arg)
{
	handled++;
}

static noinline void interrupted_at(size_t depth)
{
	char space[depth];

	__asm__ volatile("" : : "r"(space) : "memory");
	pthread_kill(pthread_self(), SIGUSR2);
	/* It is still there. */
	__asm__ volatile("" : : "r"(space) : "memory");
}

/* Handlers that have returned leave their frames, at several places. */
static void overflows_over_old_frames(void *arg unused_arg)
{
	struct sigaction sa = { .sa_handler = on_usr2 };
	size_t depth;

	sigaction(SIGUSR2, &sa, NULL);
	for (depth = 100; depth < 30000; depth += 1000)
		interrupted_at(depth);
	CHECK(handled);
	_exit(bottomless_gaps(0) & 1);
}

FAULT_TEST(an_overflow_after_a_handler_ends_the_actor_alone, 1)
{
	must_crash(overflows_over_old_frames, NULL, ROOST_CRASH_OVERFLOW);
}

static void *crashes_on_a_thread(void *arg)
{
	*nowhere = 1;
	return arg;
}

static void makes_a_thread_crash(void *arg unused_arg)
{
	pthread_t t;

	pthread_create(&t, NULL, crashes_on_a_thread, NULL);
	pthread_join(t, NULL);
}

ROOST_TEST(what_is_not_safe_ends_the_process)
{
	if (SANITIZED)
		SKIP(NO_FAULTS);
	must_be_fatal(writes_nowhere_in_libc, 0, SIGSEGV,
		      "inside of the C library");
	must_be_fatal(lets_libc_call_nothing, 0, SIGSEGV,
		      "inside of the C library");
	must_be_fatal(spawns_nowhere, 0, SIGSEGV, "inside of this library");
	must_be_fatal(crashes_in_handler_here, 0, SIGSEGV, "in a signal handler");
	must_be_fatal(crashes_in_handler_elsewhere, 0, SIGSEGV,
		      "not on the actor's stack");
	must_be_fatal(is_sent_segv, 0, SIGSEGV, "");
	must_be_fatal(makes_a_thread_crash, 0, SIGSEGV, "");
}

ROOST_TEST(c22_what_is_configured_so_ends_the_process)
{
	if (SANITIZED)
		SKIP(NO_FAULTS);
	must_be_fatal(overflows, ROOST_FAULTS_FATAL, SIGSEGV,
		      "roost: actor 0x0: stack overflow at 0x");
	must_be_fatal(has_a_large_frame, ROOST_FAULTS_FATAL, SIGSEGV,
		      "stack overflow");
	if (DIVISION_TRAPS)
		must_be_fatal(divides, ROOST_FAULTS_FATAL, SIGFPE,
			      "so configured");
	must_be_fatal(traps, ROOST_FAULTS_FATAL, SIGILL, "so configured");
	must_be_fatal(writes_nowhere, ROOST_FAULTS_OVERFLOW, SIGSEGV,
		      "bad address at 0x8, instruction at 0x");
	must_be_fatal(overflows, ROOST_FAULTS_IGNORE, SIGSEGV, "");
	if (DIVISION_TRAPS)
		must_be_fatal(divides, ROOST_FAULTS_IGNORE, SIGFPE, "");
	must_be_fatal(traps, ROOST_FAULTS_IGNORE, SIGILL, "");
}

static void overflows_below(void *arg unused_arg)
{
	must_crash(overflows, NULL, ROOST_CRASH_OVERFLOW);
}

ROOST_TEST(an_overflow_alone_may_be_what_ends_actors)
{
	struct roost_config config = { .faults = ROOST_FAULTS_OVERFLOW };

	if (SANITIZED)
		SKIP(NO_FAULTS);
	run_with(&config, overflows_below, NULL);
}

static void crash_two(void *arg unused_arg)
{
	must_crash(writes_nowhere, NULL, ROOST_CRASH_SEGV);
	must_crash(overflows, NULL, ROOST_CRASH_OVERFLOW);
}

/* A thread that leaves all signals to others calls roost_run(), and has its mask after. */
ROOST_TEST(signals_blocked_before_the_run_end_nothing)
{
	sigset_t faults, before, after;

	if (SANITIZED)
		SKIP(NO_FAULTS);
	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	sigaddset(&faults, SIGFPE);
	pthread_sigmask(SIG_BLOCK, &faults, &before);
	run_actors(1, crash_two, NULL);
	run_actors(3, crash_two, NULL);
	pthread_sigmask(SIG_SETMASK, &before, &after);
	CHECK_EQ(sigismember(&after, SIGSEGV), 1);
	CHECK_EQ(sigismember(&after, SIGFPE), 1);
	CHECK_EQ(sigismember(&after, SIGILL), sigismember(&before, SIGILL));
}

static _Atomic bool handlers_are_there;

static void waits_for_ever(void *arg unused_arg)
{
	atomic_store(&handlers_are_there, true);
	roost_park(ROOST_FOREVER);
}

static void *runs_with_handlers(void *arg)
{
	struct roost_config config = { .workers = 1 };

	roost_run(&config, waits_for_ever, NULL);
	return arg;
}

/* Another runtime's handlers are not for who wants none. */
static void crashes_beside_another(void *arg unused_arg)
{
	pthread_t other;

	pthread_create(&other, NULL, runs_with_handlers, NULL);
	while (!atomic_load(&handlers_are_there))
		roost_sleep(ROOST_MSEC(1));
	spawn(writes_nowhere, NULL);
	roost_sleep(ROOST_SEC(60));
}

ROOST_TEST(who_ignores_faults_does_so_beside_who_does_not)
{
	if (SANITIZED)
		SKIP(NO_FAULTS);
	must_be_fatal(crashes_beside_another, ROOST_FAULTS_IGNORE, SIGSEGV, "");
}

static void forks_and_crashes(void *arg unused_arg)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		child_begin();
		*nowhere = 1;
		_exit(1);
	}
	waitpid(child, &status, 0);
	CHECK_MSG(KILLED_BY(status, SIGSEGV), "status 0x%x", status);
	roost_yield();
}

FAULT_TEST(a_child_process_crashes_as_any_does, 2)
{
	CHECK_EQ(outcome_of(forks_and_crashes, NULL).how, ROOST_END_RETURNED);
}
