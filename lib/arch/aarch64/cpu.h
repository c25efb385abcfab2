/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* cpu.h - what a CPU is told beside the work itself. */
#ifndef ROOST_LIB_CPU_H
#define ROOST_LIB_CPU_H

#include <stdatomic.h>

/*
 * barrier_after_exchange() - a full barrier, where an atomic exchange or
 * compare-and-exchange comes just before
 *
 * Neither an exclusive store with release nor a swap orders what comes later
 * against the store itself.
 */
static inline void barrier_after_exchange(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}

/*
 * cpu_relax() - this is a waiting loop
 *
 * Most of these CPUs do nothing at all on "yield"; refilling the pipeline takes the
 * tens of cycles that are wanted.
 */
static inline void cpu_relax(void)
{
	__asm__ volatile("isb" : : : "memory");
}

#endif /* ROOST_LIB_CPU_H */
