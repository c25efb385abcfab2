/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* local.h - one instruction on a word that no other CPU changes meanwhile. */
#ifndef ROOST_LIB_LOCAL_H
#define ROOST_LIB_LOCAL_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * local_increment() - for whoever interrupts the thread it is done or not
 *
 * No lock prefix: it orders the compiler only.
 */
static inline __attribute__((always_inline)) void
local_increment(_Atomic uint32_t *word)
{
	__asm__ volatile("incl %0" : "+m"(*word) : : "memory", "cc");
}

#endif /* ROOST_LIB_LOCAL_H */
