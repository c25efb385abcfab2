/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* cycles.h - the CPU's counter. */
#ifndef ROOST_LIB_CYCLES_H
#define ROOST_LIB_CYCLES_H

#include <stdint.h>

/** cycles() - the generic timer: at a constant rate, in no order with memory */
static inline uint64_t cycles(void)
{
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now;
}

/**
 * cycles_usual_slice() - those of a time slice if nothing else is configured: 100
 *	microseconds
 *
 * The counter is slower than the CPU, each machine's in its own way.
 */
static inline unsigned int cycles_usual_slice(void)
{
	uint64_t hz;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
	return hz < 10000 ? 1 : (unsigned int)(hz / 10000);
}

#endif /* ROOST_LIB_CYCLES_H */
