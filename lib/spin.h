/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * spin.h - a lock of one word for sections of a few instructions.
 *
 * Never held over a system call that may sleep, a context switch or another
 * call into user code.  Spins a little, then sleeps on a futex, so that a holder
 * that was pushed off its CPU does not cost its waiters a time slice.
 * After U. Drepper, "Futexes Are Tricky" (2011), mutex 2.
 */
#ifndef ROOST_LIB_SPIN_H
#define ROOST_LIB_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* 0 free, 1 held, 2 held and somebody may sleep. */
struct spin {
	_Atomic uint32_t word;
};

void spin_lock_slow(struct spin *s);
void spin_unlock_slow(struct spin *s);

static inline void spin_init(struct spin *s)
{
	atomic_init(&s->word, 0);
}

static inline bool spin_trylock(struct spin *s)
{
	uint32_t free = 0;

	return atomic_compare_exchange_strong_explicit(&s->word, &free, 1,
						       memory_order_acquire,
						       memory_order_relaxed);
}

static inline void spin_lock(struct spin *s)
{
	if (!spin_trylock(s))
		spin_lock_slow(s);
}

static inline void spin_unlock(struct spin *s)
{
	if (atomic_exchange_explicit(&s->word, 0, memory_order_release) == 2)
		spin_unlock_slow(s);
}

#endif /* ROOST_LIB_SPIN_H */
