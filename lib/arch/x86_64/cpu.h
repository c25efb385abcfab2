/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* cpu.h - what a CPU is told beside the work itself. */
#ifndef ROOST_LIB_CPU_H
#define ROOST_LIB_CPU_H

#include <stdatomic.h>

/*
 * barrier_after_exchange() - a full barrier, where an atomic exchange or
 * compare-and-exchange comes just before
 *
 * That has the lock prefix: this is for the compiler only.
 */
static inline void barrier_after_exchange(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/* cpu_relax() - this is a waiting loop */
static inline void cpu_relax(void)
{
	__builtin_ia32_pause();
}

#endif /* ROOST_LIB_CPU_H */
