/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* tap.h - report tests, one line each. */
#ifndef SELFTESTS_HTTPD_TAP_H
#define SELFTESTS_HTTPD_TAP_H

#include <stdbool.h>

/** note() - a line for the reader of the log */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** tap_fail() - the test that runs now has failed */
void tap_fail(const char *file, int line, const char *condition);

/**
 * check() - the test that runs now holds only if @condition does
 *
 * Value: @condition.  What follows it is said if it does not hold.
 */
#define check(condition, ...) ({					\
	bool holds_ = !!(condition);					\
									\
	if (!holds_) {							\
		tap_fail(__FILE__, __LINE__, #condition);		\
		note(__VA_ARGS__);					\
	}								\
	holds_;								\
})

/**
 * run() - run one test and report it
 *
 * Only those are run whose name contains $ONLY, if that is set.
 */
void run(const char *name, void (*test)(void));

/** tap_end() - say how many there were.  Return: the exit code */
int tap_end(void);

#endif /* SELFTESTS_HTTPD_TAP_H */
