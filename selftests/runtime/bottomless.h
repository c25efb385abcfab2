/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* bottomless.h - a function that goes on until there is no stack left. */
#ifndef ROOST_SELFTESTS_RUNTIME_BOTTOMLESS_H
#define ROOST_SELFTESTS_RUNTIME_BOTTOMLESS_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winfinite-recursion"
static __attribute__((__noinline__)) int bottomless(int n)
{
	volatile char frame[512];

	frame[0] = (char)n;
	return bottomless(n + 1) + frame[0];
}
#pragma GCC diagnostic pop

#endif /* ROOST_SELFTESTS_RUNTIME_BOTTOMLESS_H */
