/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* cycles.h - the CPU's counter. */
#ifndef ROOST_LIB_CYCLES_H
#define ROOST_LIB_CYCLES_H

#include <stdint.h>

/** cycles() - the time stamp counter: at a constant rate, in no order with memory */
static inline uint64_t cycles(void)
{
	return __builtin_ia32_rdtsc();
}

/** cycles_usual_slice() - those of a time slice if nothing else is configured */
static inline unsigned int cycles_usual_slice(void)
{
	return 300000;
}

#endif /* ROOST_LIB_CYCLES_H */
