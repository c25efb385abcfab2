// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* inject.c - the delays of inject.h, at random. */
#include "inject.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "compiler.h"
#include "errno_cell.h"

static _Atomic uint32_t turn;

/*
 * A mixed counter: cheap, and no thread's own, as actors move.  Threads that meet may get
 * the same number.  An atomic addition would not do: it is a full barrier on x86, and who
 * has forgotten one between two steps with a delay between them would not be found out.
 */
static uint32_t random_bits(void)
{
	uint32_t x = atomic_load_explicit(&turn, memory_order_relaxed);

	atomic_store_explicit(&turn, x + 0x9e3779b9, memory_order_relaxed);
	x = (x ^ (x >> 16)) * 0x85ebca6b;
	x = (x ^ (x >> 13)) * 0xc2b2ae35;
	return x ^ (x >> 16);
}

noinline void inject_delay(void)
{
	uint32_t bits = random_bits();
	int saved;
	int i;

	if (bits % 8)
		return;
	for (i = (int)(bits >> 16) % 2048; i > 0; i--)
		cpu_relax();
	if (bits % 64)
		return;
	saved = errno_get();
	sched_yield();
	errno_set(saved);
}
