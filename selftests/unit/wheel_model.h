/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * wheel_model.h - what a timing wheel promises, in the plainest arithmetic.
 *
 * Ticks are counted in 128 bits here: nothing can overflow, and nothing is
 * shared with the wheel's own arithmetic.
 */
#ifndef ROOST_SELFTESTS_UNIT_WHEEL_MODEL_H
#define ROOST_SELFTESTS_UNIT_WHEEL_MODEL_H

#include "../../lib/wheel_shim.h"

#define USEC	1000ULL
#define MSEC	(1000 * USEC)
#define SEC	(1000 * MSEC)
#define DAY	(24 * 3600 * SEC)
#define YEAR	(365 * DAY)

__extension__ typedef unsigned __int128 u128;

/* Ticks that have begun at @ns. */
static inline u128 model_now(unsigned int shift, u64 ns)
{
	return (u128)ns / ((u128)1 << shift);
}

/* The tick at which a deadline handed over at @now_ns must expire. */
static inline u128 model_due(unsigned int shift, u64 expires_ns, u64 now_ns)
{
	u128 tick = (u128)1 << shift;
	u128 due = (expires_ns + tick - 1) / tick;
	u128 soonest = model_now(shift, now_ns) + 1;

	return due > soonest ? due : soonest;
}

/* When a tick begins, U64_MAX if 64 bits don't reach that far. */
static inline u64 model_ns(unsigned int shift, u128 tick)
{
	u128 ns = tick << shift;

	return ns > U64_MAX ? U64_MAX : (u64)ns;
}

static inline u64 add_ns(u64 a, u64 b)
{
	return a > U64_MAX - b ? U64_MAX : a + b;
}

#endif /* ROOST_SELFTESTS_UNIT_WHEEL_MODEL_H */
