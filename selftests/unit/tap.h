/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * tap.h - the whole of a unit test program but its tests.
 *
 *	ROOST_TEST(addition_works)
 *	{
 *		CHECK_EQ(1 + 1, 2);
 *	}
 *
 * Each ROOST_TEST() registers itself; main() stands here.  Tests run one after
 * the other in one process, in the order of the file; output is TAP version 13,
 * flushed line by line, so that a crash shows where.  A failed CHECK is counted
 * and the test goes on, a failed REQUIRE returns from the function that it
 * stands in.  Checks may be made by any thread.  A test in which no check was
 * made fails: it could never have found anything.
 *
 * Arguments: -l lists the tests; any other one runs only the tests that have it
 * in their name.  Environment: ROOST_SEED, see tap_seed().  Exit status: 0 if
 * nothing failed and something ran, else 1.
 *
 * A program of several files defines ROOST_TAP_NO_MAIN in all but one.
 */
#ifndef ROOST_SELFTESTS_UNIT_TAP_H
#define ROOST_SELFTESTS_UNIT_TAP_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Failures of one test that are printed; the others are only counted. */
#define TAP_PRINTED_FAILURES	10

struct tap_test {
	const char *name;
	void (*run)(void);
	struct tap_test *next;
};

/* Weak, so that all files of a program share one of each. */
__attribute__((weak)) struct tap_test *tap_first;
__attribute__((weak)) struct tap_test *tap_last;
__attribute__((weak)) _Atomic unsigned long tap_checks;
__attribute__((weak)) _Atomic unsigned long tap_failures;
__attribute__((weak)) const char *_Atomic tap_skipped;

static inline void tap_register(struct tap_test *test)
{
	if (tap_last)
		tap_last->next = test;
	else
		tap_first = test;
	tap_last = test;
}

#define ROOST_TEST(test_name)						\
	static void test_##test_name(void);				\
	static struct tap_test tap_##test_name = {			\
		.name = #test_name, .run = test_##test_name,		\
	};								\
	__attribute__((constructor)) static void tap_add_##test_name(void) \
	{								\
		tap_register(&tap_##test_name);				\
	}								\
	static void test_##test_name(void)

/**
 * tap_check() - count a check, report a failed one
 * @ok:		did it hold?
 * @file:	where the check stands
 * @line:	the same
 * @format:	what was expected, as for printf()
 *
 * Return: @ok.
 */
__attribute__((format(printf, 4, 5))) static inline bool
tap_check(bool ok, const char *file, int line, const char *format, ...)
{
	char text[512];
	va_list args;

	atomic_fetch_add_explicit(&tap_checks, 1, memory_order_relaxed);
	if (__builtin_expect(ok, 1))
		return true;
	if (atomic_fetch_add(&tap_failures, 1) >= TAP_PRINTED_FAILURES)
		return false;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* One call a line: threads don't mix theirs. */
	printf("# %s:%d: %s\n", file, line, text);
	fflush(stdout);
	return false;
}

static inline bool tap_check_eq(long long a, long long b, const char *what_a,
				const char *what_b, const char *file, int line)
{
	return tap_check(a == b, file, line,
			 "%s == %s: %lld (0x%llx) is not %lld (0x%llx)", what_a,
			 what_b, a, (unsigned long long)a, b,
			 (unsigned long long)b);
}

static inline bool tap_check_streq(const char *a, const char *b,
				   const char *what, const char *file, int line)
{
	return tap_check(!strcmp(a, b), file, line, "%s is \"%s\", not \"%s\"",
			 what, a, b);
}

/* Each yields whether it held. */
#define CHECK(cond)	tap_check(!!(cond), __FILE__, __LINE__, "%s", #cond)
#define CHECK_MSG(cond, ...) \
	tap_check(!!(cond), __FILE__, __LINE__, __VA_ARGS__)
/* Integers; compared in 64 bits, so that -1 equals UINT64_MAX. */
#define CHECK_EQ(a, b)							\
	tap_check_eq((long long)(a), (long long)(b), #a, #b, __FILE__, __LINE__)
#define CHECK_STREQ(a, b) tap_check_streq(a, b, #a, __FILE__, __LINE__)

/* In functions that return void. */
#define REQUIRE(cond)							\
	do {								\
		if (!CHECK(cond))					\
			return;						\
	} while (0)
#define REQUIRE_EQ(a, b)						\
	do {								\
		if (!CHECK_EQ(a, b))					\
			return;						\
	} while (0)

/* In the test itself: this can't be tested here, and why. */
#define SKIP(reason)							\
	do {								\
		atomic_store(&tap_skipped, reason);			\
		return;							\
	} while (0)

/* For loops that should not go on once something is wrong. */
static inline bool tap_failed(void)
{
	return atomic_load(&tap_failures) != 0;
}

/**
 * tap_seed() - where a test's random numbers start
 * @usual:	the seed unless the environment's ROOST_SEED names another
 */
static inline uint64_t tap_seed(uint64_t usual)
{
	const char *text = getenv("ROOST_SEED");

	if (text && *text)
		usual = strtoull(text, NULL, 0);
	printf("# seed 0x%llx\n", (unsigned long long)usual);
	fflush(stdout);
	return usual;
}

/* Run one test and report it; true unless it failed. */
static inline bool tap_run(struct tap_test *test, unsigned int number)
{
	const char *skipped;
	bool ok;

	atomic_store(&tap_checks, 0);
	atomic_store(&tap_failures, 0);
	atomic_store(&tap_skipped, NULL);
	test->run();

	skipped = atomic_load(&tap_skipped);
	if (!atomic_load(&tap_checks) && !skipped)
		tap_check(false, __FILE__, __LINE__, "no check was made");
	ok = !tap_failed();
	if (!ok)
		printf("# %lu of %lu checks failed\n",
		       atomic_load(&tap_failures), atomic_load(&tap_checks));
	printf("%sok %u %s%s%s\n", ok ? "" : "not ", number, test->name,
	       ok && skipped ? " # SKIP " : "", ok && skipped ? skipped : "");
	fflush(stdout);
	return ok;
}

static inline bool tap_wanted(const struct tap_test *test, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (strstr(test->name, argv[i]))
			return true;
	return argc <= 1;
}

static inline int tap_main(int argc, char **argv)
{
	unsigned int wanted = 0, number = 0, failed = 0;
	bool list = argc > 1 && !strcmp(argv[1], "-l");
	struct tap_test *test;

	for (test = tap_first; test; test = test->next) {
		if (list)
			puts(test->name);
		else
			wanted += tap_wanted(test, argc, argv);
	}
	if (list)
		return 0;

	printf("TAP version 13\n1..%u\n", wanted);
	fflush(stdout);
	for (test = tap_first; test; test = test->next)
		if (tap_wanted(test, argc, argv))
			failed += !tap_run(test, ++number);
	return failed || !wanted;
}

#ifndef ROOST_TAP_NO_MAIN
int main(int argc, char **argv)
{
	return tap_main(argc, argv);
}
#endif

#endif /* ROOST_SELFTESTS_UNIT_TAP_H */
