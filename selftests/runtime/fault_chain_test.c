// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * fault_chain_test.c - handlers of faults that the program had before are called as if
 * the library were not there, and are there again afterwards.
 *
 * What is passed on here is a fault in the C library, or all of them, where it is so
 * configured.
 */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include ARCH_HEADER(traps.h)
#include "compiler.h"
#include "fault_help.h"

static struct {
	char *page;
	volatile int calls;
	volatile int sig;
	void *volatile address;
	volatile uintptr_t sp;
	volatile double number;
	sigset_t mask;
	sigjmp_buf env;
} seen;

/* Not one that a compiler knows. */
static void *(*volatile set)(void *p, int c, size_t n) = memset;

static void protect(void)
{
	mprotect(seen.page, PAGE, PROT_NONE);
}

static void note(int sig)
{
	seen.calls++;
	seen.sig = sig;
	seen.sp = (uintptr_t)__builtin_frame_address(0);
	pthread_sigmask(SIG_SETMASK, NULL, &seen.mask);
}

/* Makes good for it: the instruction is repeated. */
static void repairs(int sig, siginfo_t *info, void *uc unused_arg)
{
	note(sig);
	seen.address = info->si_addr;
	/* Registers that must not be seen outside. */
	seen.number *= 3;
	spoil_registers();
	mprotect(seen.page, PAGE, PROT_READ | PROT_WRITE);
}

static void repairs_simply(int sig)
{
	note(sig);
	mprotect(seen.page, PAGE, PROT_READ | PROT_WRITE);
}

static void jumps_away(int sig)
{
	note(sig);
	siglongjmp(seen.env, 1);
}

static void never(int sig unused_arg)
{
	_exit(9);
}

static void install(int sig, void (*fn)(int sig), int flags)
{
	struct sigaction sa = { .sa_handler = fn, .sa_flags = flags };

	sigaddset(&sa.sa_mask, SIGUSR2);
	sigaction(sig, &sa, NULL);
}

static void install_info(int flags)
{
	struct sigaction sa = {
		.sa_sigaction = repairs, .sa_flags = SA_SIGINFO | flags,
	};

	sigaddset(&sa.sa_mask, SIGUSR2);
	sigaction(SIGSEGV, &sa, NULL);
}

struct setup {
	void (*install)(void);
	roost_fn actor;
	enum roost_faults faults;
};

static void child_main(void *arg)
{
	const struct setup *s = arg;
	struct roost_config config = { .workers = 1, .faults = s->faults };

	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	seen.page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->install)
		s->install();
	if (roost_run(&config, s->actor, NULL))
		_exit(99);
}

/* Code 0: all went well; others tell where it did not. */
static int run_child(void (*install)(void), roost_fn actor,
		     enum roost_faults faults)
{
	struct setup s = { install, actor, faults };

	return in_child(child_main, &s);
}

#define EXPECT(condition, code) do { if (!(condition)) _exit(code); } while (0)

#define CHECK_CHILD(install, actor, faults) do {			\
	int status_ = run_child(install, actor, faults);		\
									\
	CHECK_MSG(EXITED(status_, 0), "status 0x%x", status_);		\
} while (0)

static void is_repaired(bool on_this_stack)
{
	sigset_t before, after;
	char here;
	int i;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	for (i = 1; i <= 5; i++) {
		protect();
		set(seen.page + 100, i, 50);
		EXPECT(seen.page[100] == i && seen.page[149] == i, 1);
		EXPECT(seen.calls == i && seen.sig == SIGSEGV, 2);
		/* Below this frame, and not far. */
		EXPECT(((uintptr_t)&here - seen.sp < 32768) == on_this_stack, 3);
		EXPECT(sigismember(&seen.mask, SIGUSR2), 4);
		EXPECT(sigismember(&seen.mask, SIGSEGV), 5);
		pthread_sigmask(SIG_SETMASK, NULL, &after);
		EXPECT(!memcmp(&before, &after, sizeof(after)), 6);
	}
}

static void repaired_here(void *arg unused_arg)
{
	is_repaired(true);
}

static void repaired_elsewhere(void *arg unused_arg)
{
	is_repaired(false);
}

static void info_here(void)
{
	install_info(0);
}

static void info_elsewhere(void)
{
	install_info(SA_ONSTACK);
}

static void simple_here(void)
{
	install(SIGSEGV, repairs_simply, 0);
}

static void simple_elsewhere(void)
{
	install(SIGSEGV, repairs_simply, SA_ONSTACK);
}

static void simple_nodefer_here(void)
{
	install(SIGSEGV, repairs_simply, SA_NODEFER);
}

static void simple_nodefer_elsewhere(void)
{
	install(SIGSEGV, repairs_simply, SA_NODEFER | SA_ONSTACK);
}

ROOST_TEST(an_earlier_handler_repairs_and_it_goes_on)
{
	if (SANITIZED)
		SKIP(NO_FAULTS);
	CHECK_CHILD(info_here, repaired_here, 0);
	CHECK_CHILD(info_elsewhere, repaired_elsewhere, 0);
	CHECK_CHILD(simple_here, repaired_here, 0);
	CHECK_CHILD(simple_elsewhere, repaired_elsewhere, 0);
}

static void sees_the_address(void *arg unused_arg)
{
	volatile char *p = seen.page + 123;

	protect();
	*p = 1;
	EXPECT(seen.address == p && seen.calls == 1, 1);
}

static void is_not_deferred(void *arg unused_arg)
{
	protect();
	set(seen.page, 1, 1);
	EXPECT(seen.calls == 1, 1);
	EXPECT(!sigismember(&seen.mask, SIGSEGV), 2);
	EXPECT(sigismember(&seen.mask, SIGUSR2), 3);
}

ROOST_TEST(an_earlier_handler_finds_what_the_kernel_tells)
{
	if (SANITIZED)
		SKIP(NO_FAULTS);
	CHECK_CHILD(info_here, sees_the_address, ROOST_FAULTS_FATAL);
	CHECK_CHILD(info_elsewhere, sees_the_address, ROOST_FAULTS_OVERFLOW);
	CHECK_CHILD(simple_nodefer_here, is_not_deferred, 0);
	CHECK_CHILD(simple_nodefer_elsewhere, is_not_deferred, 0);
}

/* Registers of who was interrupted: as they were. */
static void keeps_registers(void *arg unused_arg)
{
	int lost;

	protect();
	lost = write_with_full_registers(seen.page);
	EXPECT(seen.calls == 1, 1);
	EXPECT(!lost, lost);
}

ROOST_TEST(who_was_interrupted_goes_on_as_it_was)
{
	if (SANITIZED)
		SKIP(NO_FAULTS);
	CHECK_CHILD(info_here, keeps_registers, ROOST_FAULTS_FATAL);
	CHECK_CHILD(info_elsewhere, keeps_registers, ROOST_FAULTS_FATAL);
}

static void reset_here(void)
{
	install(SIGSEGV, repairs_simply, SA_RESETHAND);
}

static void reset_elsewhere(void)
{
	install(SIGSEGV, repairs_simply, SA_RESETHAND | SA_ONSTACK);
}

static void faults_once(void *arg unused_arg)
{
	protect();
	set(seen.page, 1, 1);
	EXPECT(seen.calls == 1, 1);
}

static void faults_twice(void *arg)
{
	faults_once(arg);
	protect();
	set(seen.page, 1, 1);
	_exit(seen.calls);
}

static void faults_once_and_is_reset(void)
{
	struct roost_config config = { .workers = 1 };
	struct sigaction after;

	reset_here();
	EXPECT(!roost_run(&config, faults_once, NULL), 2);
	sigaction(SIGSEGV, NULL, &after);
	EXPECT(after.sa_handler == SIG_DFL, 3);
	/* Before the next, as at first. */
	reset_here();
	seen.calls = 0;
}

ROOST_TEST(sa_resethand_is_honoured)
{
	if (SANITIZED)
		SKIP(NO_FAULTS);
	CHECK(KILLED_BY(run_child(reset_here, faults_twice, 0), SIGSEGV));
	CHECK(KILLED_BY(run_child(reset_elsewhere, faults_twice, 0), SIGSEGV));
	CHECK_CHILD(faults_once_and_is_reset, faults_once, 0);
}

static void jump_here(void)
{
	install(SIGSEGV, jumps_away, 0);
}

static void jump_elsewhere(void)
{
	install(SIGSEGV, jumps_away, SA_ONSTACK);
}

/* The handler does not return; nothing of it may stay behind. */
static void is_left_by_a_jump(void *arg unused_arg)
{
	sigset_t before, after;
	volatile int i;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	for (i = 1; i <= 20; i++) {
		if (!sigsetjmp(seen.env, 1)) {
			set((void *)nowhere, 1, 1000);
			_exit(1);
		}
		EXPECT(seen.calls == i, 2);
		pthread_sigmask(SIG_SETMASK, NULL, &after);
		EXPECT(!memcmp(&before, &after, sizeof(after)), 3);
		must_crash(writes_nowhere, NULL, ROOST_CRASH_SEGV);
		must_crash(overflows, NULL, ROOST_CRASH_OVERFLOW);
	}
	EXPECT(!tap_failed(), 4);
}

ROOST_TEST(an_earlier_handler_may_leave_by_a_jump)
{
	if (SANITIZED)
		SKIP(NO_FAULTS);
	CHECK_CHILD(jump_here, is_left_by_a_jump, 0);
	CHECK_CHILD(jump_elsewhere, is_left_by_a_jump, 0);
}

/* The handler that is passed it makes a fault of its own, and repairs that. */
static void repairs_in_two_steps(int sig unused_arg)
{
	volatile int mine = 4711;

	if (++seen.calls == 1) {
		/* Comes here again. */
		set(seen.page + 50, 2, 1);
		EXPECT(seen.calls == 2, 1);
	} else {
		mprotect(seen.page, PAGE, PROT_READ | PROT_WRITE);
	}
	EXPECT(mine == 4711, 2);
}

static void two_steps_here(void)
{
	install(SIGSEGV, repairs_in_two_steps, SA_NODEFER);
}

static void two_steps_elsewhere(void)
{
	install(SIGSEGV, repairs_in_two_steps, SA_NODEFER | SA_ONSTACK);
}

static void faults_and_goes_on(void *arg unused_arg)
{
	protect();
	set(seen.page, 1, 10);
	EXPECT(seen.calls == 2 && seen.page[9] == 1 && seen.page[50] == 2, 3);
}

ROOST_TEST(an_earlier_handler_may_make_faults_of_its_own)
{
	if (SANITIZED)
		SKIP(NO_FAULTS);
	CHECK_CHILD(two_steps_here, faults_and_goes_on, 0);
	CHECK_CHILD(two_steps_elsewhere, faults_and_goes_on, 0);
}

static void never_here(void)
{
	install(SIGSEGV, never, 0);
	install(SIGBUS, never, 0);
}

static void elsewhere_says_so(int sig unused_arg)
{
	_exit(0);
}

static void says_so_elsewhere(void)
{
	install(SIGSEGV, elsewhere_says_so, SA_ONSTACK);
}

/* There is no room for the frame of a handler that wants it there. */
ROOST_TEST(an_overflow_and_a_handler_without_a_stack_of_its_own)
{
	if (SANITIZED)
		SKIP(NO_FAULTS);
	CHECK(KILLED_BY(run_child(never_here, overflows, ROOST_FAULTS_FATAL),
			SIGSEGV));
	CHECK_CHILD(says_so_elsewhere, overflows, ROOST_FAULTS_FATAL);
}

static void ignore(void)
{
	signal(SIGSEGV, SIG_IGN);
}

static void is_sent_and_crashes(void *arg unused_arg)
{
	pthread_kill(pthread_self(), SIGSEGV);
	must_crash(writes_nowhere, NULL, ROOST_CRASH_SEGV);
	EXPECT(!tap_failed(), 1);
}

static void faults_in_libc(void *arg unused_arg)
{
	set((void *)nowhere, 1, 1000);
}

ROOST_TEST(what_is_ignored_is_ignored_if_sent_only)
{
	if (SANITIZED)
		SKIP(NO_FAULTS);
	CHECK_CHILD(ignore, is_sent_and_crashes, 0);
	CHECK(KILLED_BY(run_child(ignore, faults_in_libc, 0), SIGSEGV));
}

static void *faults_on_a_thread(void *arg unused_arg)
{
	protect();
	set(seen.page, 1, 1);
	EXPECT(seen.calls == 1, 1);
	return NULL;
}

static void thread_faults(void *arg unused_arg)
{
	pthread_t t;

	pthread_create(&t, NULL, faults_on_a_thread, NULL);
	pthread_join(t, NULL);
}

ROOST_TEST(threads_that_are_no_carriers_have_the_earlier_handler)
{
	if (SANITIZED)
		SKIP(NO_FAULTS);
	CHECK_CHILD(info_here, thread_faults, 0);
	CHECK_CHILD(simple_elsewhere, thread_faults, 0);
}

/* Beginning and end. */

static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };

static void remember(struct sigaction *to)
{
	int i;

	for (i = 0; i < 4; i++)
		sigaction(signals[i], NULL, &to[i]);
}

/* The C library's own, which it shows. */
#define SA_RESTORER_BIT	0x04000000

static int equal(const struct sigaction *a, const struct sigaction *b)
{
	int i, n = 0;

	for (i = 0; i < 4; i++)
		n += a[i].sa_handler == b[i].sa_handler &&
		     !((a[i].sa_flags ^ b[i].sa_flags) & ~SA_RESTORER_BIT) &&
		     !memcmp(&a[i].sa_mask, &b[i].sa_mask, 8);
	return n;
}

static struct sigaction before[4];
static stack_t own_stack;

static void looks_inside(void *arg)
{
	struct sigaction now[4];
	stack_t stack;

	remember(now);
	CHECK_EQ(equal(now, before), *(int *)arg);
	sigaltstack(NULL, &stack);
	CHECK_EQ(stack.ss_sp == own_stack.ss_sp, *(int *)arg == 4);
	/* The root is on the thread that has called, or on another with less. */
	if (syscall(SYS_gettid) == getpid())
		CHECK(stack.ss_size >= own_stack.ss_size);
}

static void look(enum roost_faults faults, int expected)
{
	struct roost_config config = { .workers = 2, .faults = faults };
	struct sigaction now[4];
	stack_t stack;

	remember(before);
	run_with(&config, looks_inside, &expected);
	remember(now);
	CHECK_EQ(equal(now, before), 4);
	sigaltstack(NULL, &stack);
	CHECK(stack.ss_sp == own_stack.ss_sp);
	CHECK_EQ(stack.ss_size, own_stack.ss_size);
	CHECK_EQ(stack.ss_flags, own_stack.ss_flags);
}

ROOST_TEST(all_is_as_before_when_the_run_is_over)
{
	static char space[131072];

	if (SANITIZED)
		SKIP(NO_FAULTS);
	sigaltstack(NULL, &own_stack);
	look(ROOST_FAULTS_END_ACTOR, 0);
	look(ROOST_FAULTS_IGNORE, 4);
	own_stack = (stack_t){ .ss_sp = space, .ss_size = sizeof(space) };
	sigaltstack(&own_stack, NULL);
	install(SIGSEGV, never, SA_ONSTACK);
	install(SIGFPE, repairs_simply, 0);
	look(ROOST_FAULTS_END_ACTOR, 0);
	look(ROOST_FAULTS_FATAL, 0);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGFPE, SIG_IGN);
	look(ROOST_FAULTS_OVERFLOW, 0);
	signal(SIGFPE, SIG_DFL);
	own_stack.ss_flags = SS_DISABLE;
	sigaltstack(&own_stack, NULL);
}

static void nothing(void *arg unused_arg)
{
}

/* What functions that are called next find where they have their variables. */
static noinline void leave_behind(int c)
{
	volatile char dirt[8192];
	size_t i;

	for (i = 0; i < sizeof(dirt); i++)
		dirt[i] = (char)c;
}

ROOST_TEST(many_runs_keep_no_more_than_a_few)
{
	size_t before = 0;
	int i;

	if (SANITIZED)
		SKIP(NO_FAULTS);
	for (i = 0; i < 100; i++) {
		leave_behind(i);
		run_actors(1, nothing, NULL);
		if (i == 20)
			before = mallinfo2().uordblks;
	}
	/* Not one record a run and signal, each of 168 bytes and more. */
	CHECK_MSG(mallinfo2().uordblks < before + 20000, "%zu bytes, then %zu",
		  before, mallinfo2().uordblks);
}

static _Atomic int both;

static void meets_and_crashes(void *arg unused_arg)
{
	atomic_fetch_add(&both, 1);
	while (atomic_load(&both) < 2)
		roost_sleep(ROOST_MSEC(1));
	must_crash(writes_nowhere, NULL, ROOST_CRASH_SEGV);
}

static void *runs_too(void *arg)
{
	struct roost_config config = { .workers = 2 };

	CHECK_EQ(roost_run(&config, meets_and_crashes, NULL), 0);
	return arg;
}

static void outlives(void *arg)
{
	meets_and_crashes(NULL);
	pthread_join(*(pthread_t *)arg, NULL);
	must_crash(overflows, NULL, ROOST_CRASH_OVERFLOW);
}

ROOST_TEST(two_runtimes_share_the_handlers)
{
	struct sigaction now[4];
	pthread_t t;

	if (SANITIZED)
		SKIP(NO_FAULTS);
	remember(before);
	pthread_create(&t, NULL, runs_too, NULL);
	run_actors(2, outlives, &t);
	remember(now);
	CHECK_EQ(equal(now, before), 4);
}

static struct sigaction below;

/* As a program does that wants to look first. */
static void looks_first(int sig, siginfo_t *info, void *uc)
{
	seen.calls++;
	below.sa_sigaction(sig, info, uc);
}

static void installs_meanwhile(void *arg unused_arg)
{
	struct sigaction sa = {
		.sa_sigaction = looks_first, .sa_flags = SA_SIGINFO | SA_ONSTACK,
	};

	sigaction(SIGSEGV, &sa, &below);
	must_crash(writes_nowhere, NULL, ROOST_CRASH_SEGV);
	must_crash(overflows, NULL, ROOST_CRASH_OVERFLOW);
	EXPECT(seen.calls == 2 && !tap_failed(), 1);
}

static void crashes_twice(void *arg unused_arg)
{
	must_crash(writes_nowhere, NULL, ROOST_CRASH_SEGV);
	EXPECT(seen.calls == 3, 2);
	must_crash(overflows, NULL, ROOST_CRASH_OVERFLOW);
	EXPECT(seen.calls == 4 && !tap_failed(), 3);
}

static void run_with_one_above(void)
{
	struct roost_config config = { .workers = 1 };
	struct sigaction now;

	EXPECT(!roost_run(&config, installs_meanwhile, NULL), 4);
	sigaction(SIGSEGV, NULL, &now);
	EXPECT(now.sa_sigaction == looks_first, 5);
}

/* It stays where it is, and what it calls is there for the next run as well. */
ROOST_TEST(a_later_handler_may_call_ours)
{
	if (SANITIZED)
		SKIP(NO_FAULTS);
	CHECK_CHILD(run_with_one_above, crashes_twice, 0);
	/* Without a runtime it goes to what was there before, the default. */
	CHECK(KILLED_BY(run_child(run_with_one_above, faults_in_libc, 0),
			SIGSEGV));
}
