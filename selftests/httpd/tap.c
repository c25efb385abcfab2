// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* tap.c - report tests, one line each. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tap.h"

static int ran, failed;
static atomic_bool good;	/* tests may have threads */

void note(const char *format, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	printf("# %s\n", line);
	fflush(stdout);
}

void tap_fail(const char *file, int line, const char *condition)
{
	good = false;
	note("%s:%d: %s", file, line, condition);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

void run(const char *name, void (*test)(void))
{
	const char *only = getenv("ONLY");
	double start = seconds();

	if (only && !strstr(name, only))
		return;
	good = true;
	test();
	ran++;
	failed += !good;
	if (seconds() - start > 1)
		note("%.1f s", seconds() - start);
	printf("%sok %d %s\n", good ? "" : "not ", ran, name);
	fflush(stdout);
}

int tap_end(void)
{
	printf("1..%d\n", ran);
	return failed || !ran;
}
