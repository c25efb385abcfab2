// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * tools_test.c - what tools say of programs with actors: nothing of good ones, and the
 * right thing of bad ones.
 *
 * The bad ones are this program once more, in a process of its own: with the sanitizer
 * that it is built with, or under valgrind.
 */
#define ROOST_TAP_NO_MAIN
#include <sys/syscall.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define HAVE_HEADER	1
#endif

#include "compiler.h"
#include "run.h"
#include "valgrind.h"

#define BAD		"--bad="
#define TEXT_SIZE	65536

/* Their names are looked for in what the tool says. */

static noinline void writes_beyond_the_end(void *arg)
{
	volatile size_t size = 40;
	char *block = malloc(size);

	/* Once on the thread that has started, once after a wait. */
	if (arg)
		roost_sleep(ROOST_MSEC(1));
	((volatile char *)block)[size] = 1;
	free(block);
}

static noinline void loses_a_frame(char *volatile *lost)
{
	char local[64] = "";
	char *p = local;

	/* What it points to is not for the compiler to know. */
	__asm__ volatile("" : "+r"(p) : : "memory");
	*lost = p;
}

static noinline void writes_to_a_lost_frame(void *arg unused_arg)
{
	char *volatile lost;

	loses_a_frame(&lost);
	roost_sleep(ROOST_MSEC(1));
	((volatile char *)lost)[0] = 1;
}

static unsigned long shared_count;
static _Atomic unsigned int nr_counting;

static noinline void counts_without_a_lock(void *arg unused_arg)
{
	unsigned int i;

	/* Both are at it, on two threads: no switch orders them. */
	atomic_fetch_add_explicit(&nr_counting, 1, memory_order_relaxed);
	while (atomic_load_explicit(&nr_counting, memory_order_relaxed) < 2)
		;
	for (i = 0; i < 1000; i++)
		(*(volatile unsigned long *)&shared_count)++;
}

static void overflow_main(void *arg unused_arg)
{
	join(spawn(writes_beyond_the_end, NULL));
}

static void overflow_later_main(void *arg)
{
	join(spawn(writes_beyond_the_end, &arg));
}

static void lost_frame_main(void *arg unused_arg)
{
	join(spawn(writes_to_a_lost_frame, NULL));
}

static void race_main(void *arg unused_arg)
{
	roost_pid one = spawn(counts_without_a_lock, NULL);
	roost_pid other = spawn(counts_without_a_lock, NULL);

	join(one);
	join(other);
}

static const struct bad {
	const char *name;
	roost_fn main;
} bad[] = {
	{ "overflow", overflow_main },
	{ "overflow-later", overflow_later_main },
	{ "lost-frame", lost_frame_main },
	{ "race", race_main },
};

static int be_bad(const char *name)
{
	struct roost_config config = { .workers = 3, .standbys = ROOST_NO_STANDBYS };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (!strcmp(name, bad[i].name))
			return roost_run(&config, bad[i].main, NULL) ? 2 : 0;
	return 3;
}

/* It speaks on standard error, whatever this process does. */
static void become_bad(void *arg)
{
	char name[64];

	snprintf(name, sizeof(name), BAD "%s", (const char *)arg);
	setenv("ASAN_OPTIONS", "exitcode=99:detect_stack_use_after_return=1", 1);
	setenv("TSAN_OPTIONS", "exitcode=99", 1);
	setenv("UBSAN_OPTIONS", "", 1);
	setenv("ROOST_BACKEND", "futex", 1);
	alarm(0);
	/* valgrind is not traced by valgrind, and must not take itself for that */
	unsetenv("VALGRIND_LAUNCHER");
	if (SANITIZED_BUILD)
		execl("/proc/self/exe", "tools_test", name, NULL);
	else
		execlp("valgrind", "valgrind", "--error-exitcode=99",
		       "--fair-sched=yes", "./tools_test", name, NULL);
	_exit(127);
}

/* What is said of it, as a string; NULL if that tool is not there. */
static const char *said_of(const char *name)
{
	static char text[TEXT_SIZE];
	int status;

	status = in_child_stderr(become_bad, (void *)(uintptr_t)name, text,
				 sizeof(text));
	if (EXITED(status, 127))
		return NULL;
	if (!CHECK(EXITED(status, 99)))
		printf("# %s: status 0x%x\n", name, (unsigned int)status);
	return text;
}

static void must_say(const char *text, const char *words)
{
	if (CHECK_MSG(strstr(text, words), "nothing of \"%s\"", words))
		return;
	while (*text) {
		int n = (int)strcspn(text, "\n");

		printf("# it said: %.*s\n", n, text);
		text += n + (text[n] == '\n');
	}
}

#define NO_BOUNDS	"ThreadSanitizer knows no bounds"
#ifdef ROOST_ASAN
#define OVERFLOW	"heap-buffer-overflow"
#else
#define OVERFLOW	"Invalid write"
#endif

static void overflow_is_told(const char *name)
{
	const char *text;

#ifdef ROOST_TSAN
	SKIP(NO_BOUNDS);
#endif
	if (emulated())
		SKIP("the emulator is a tool itself");
	text = said_of(name);
	if (!text)
		SKIP("neither a sanitizer nor valgrind is there");
	must_say(text, OVERFLOW);
	must_say(text, "writes_beyond_the_end");
}

/* C40: in the middle of an actor's life, with its frames. */
ROOST_TEST(c40_an_overflow_in_an_actor_is_reported)
{
	overflow_is_told("overflow");
}

ROOST_TEST(c40_an_overflow_after_a_switch_is_reported)
{
	overflow_is_told("overflow-later");
}

ROOST_TEST(c40_a_write_to_a_frame_that_is_gone_is_reported)
{
#ifdef ROOST_ASAN
	const char *text = said_of("lost-frame");

	must_say(text, "stack-use-after-return");
	must_say(text, "writes_to_a_lost_frame");
	must_say(text, "loses_a_frame");
#else
	SKIP("not built with AddressSanitizer");
#endif
}

/* C40: and both sides of the race. */
ROOST_TEST(c40_a_race_between_actors_is_reported)
{
#ifdef ROOST_TSAN
	const char *text = said_of("race");

	must_say(text, "data race");
	must_say(text, "counts_without_a_lock");
#else
	SKIP("not built with ThreadSanitizer");
#endif
}

#define CROWD	10000

static _Atomic unsigned int nr_moved;
static _Atomic unsigned int nr_done;

static noinline long on_thread(void)
{
	return syscall(SYS_gettid);
}

static void switches_and_moves(void *arg)
{
	unsigned long local[8] = { (uintptr_t)arg };
	long first = on_thread();
	unsigned int i;

	for (i = 1; i < ARRAY_SIZE(local); i++) {
		if (i % 4)
			roost_yield();
		else
			roost_sleep(1000);
		local[i] = local[i - 1] + i;
	}
	CHECK_EQ(local[7], (uintptr_t)arg + 28);
	if (on_thread() != first)
		atomic_fetch_add(&nr_moved, 1);
	atomic_fetch_add(&nr_done, 1);
}

/* C40: without a word of the tool that it runs under. */
ACTOR_TEST(c40_ten_thousand_actors_switch_move_and_end, 3)
{
	static roost_pid pids[CROWD];
	unsigned long n = rounds(CROWD), i;

	for (i = 0; i < n; i++)
		pids[i] = spawn(switches_and_moves, (void *)i);
	for (i = 0; i < n; i++)
		join(pids[i]);
	CHECK_EQ(atomic_load(&nr_done), n);
	CHECK(atomic_load(&nr_moved));
}

ROOST_TEST(valgrind_is_asked_as_its_header_does)
{
#ifdef HAVE_HEADER
	CHECK_EQ(VALGRIND_RUNNING, VG_USERREQ__RUNNING_ON_VALGRIND);
	CHECK_EQ(VALGRIND_STACK_ADD, VG_USERREQ__STACK_REGISTER);
	CHECK_EQ(VALGRIND_STACK_REMOVE, VG_USERREQ__STACK_DEREGISTER);
	CHECK_EQ(VALGRIND_MEM_UNDEFINED, VG_USERREQ__MAKE_MEM_UNDEFINED);
	CHECK_EQ(VALGRIND_MEM_DEFINED, VG_USERREQ__MAKE_MEM_DEFINED);
	CHECK_EQ(valgrind_here(), RUNNING_ON_VALGRIND != 0);
	CHECK_EQ(valgrind_there, RUNNING_ON_VALGRIND != 0);
#else
	SKIP("valgrind's header is not there");
#endif
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strncmp(argv[1], BAD, strlen(BAD)))
		return be_bad(argv[1] + strlen(BAD));
	return tap_main(argc, argv);
}
