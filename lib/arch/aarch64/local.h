/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* local.h - a change to a word that no other CPU changes meanwhile. */
#ifndef ROOST_LIB_LOCAL_H
#define ROOST_LIB_LOCAL_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * local_increment() - for whoever interrupts the thread it is done or not
 *
 * Who interrupts it only looks: so a load and a store will do.  They order the
 * compiler only.
 */
static inline __attribute__((always_inline)) void
local_increment(_Atomic uint32_t *word)
{
	uint32_t before = atomic_load_explicit(word, memory_order_relaxed);

	atomic_store_explicit(word, before + 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
}

#endif /* ROOST_LIB_LOCAL_H */
