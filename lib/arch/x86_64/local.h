/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* local.h - one instruction on a word that no other CPU changes meanwhile. */
#ifndef ROOST_LIB_LOCAL_H
#define ROOST_LIB_LOCAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * local_replace() - @old to @new, in one step for whoever interrupts the thread
 *
 * Return: false if it was not @old.  No lock prefix: it orders the compiler only.
 */
static inline __attribute__((always_inline)) bool
local_replace(_Atomic uint32_t *word, uint32_t old, uint32_t new)
{
	bool done;

	__asm__ volatile("cmpxchgl %3, %1"
			 : "=@ccz"(done), "+m"(*word), "+a"(old)
			 : "r"(new)
			 : "memory");
	return done;
}

/** local_increment() - the same, whatever it was */
static inline __attribute__((always_inline)) void
local_increment(_Atomic uint32_t *word)
{
	__asm__ volatile("incl %0" : "+m"(*word) : : "memory", "cc");
}

#endif /* ROOST_LIB_LOCAL_H */
