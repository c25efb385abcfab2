/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * account.h - cycles that each actor has used, if that is configured.
 *
 * They stand apart from the slots, which have no room for them and are as they are
 * where nobody counts.  The CPU's counter is read before an actor is resumed and after
 * it has left, by the scheduler; actors do not go from one to the next without it then
 * (suspend.h).
 */
#ifndef ROOST_LIB_ACCOUNT_H
#define ROOST_LIB_ACCOUNT_H

#include <stdatomic.h>
#include <stdint.h>

#include "runtime.h"

/* account_init() - as a phase of roost_run().  Return: 0 or -ENOMEM */
int account_init(struct runtime *rt);
void account_fini(struct runtime *rt);

/** account_read() - cycles of the slot's tenant, 0 if they are not counted; relaxed */
static inline uint64_t account_read(const struct runtime *rt, const struct slot *s)
{
	if (!rt->cycles)
		return 0;
	return atomic_load_explicit(&rt->cycles[s->index], memory_order_relaxed);
}

/** account_reset() - @s has a new tenant, which nobody sees yet */
static inline void account_reset(struct runtime *rt, const struct slot *s)
{
	if (rt->cycles)
		atomic_store_explicit(&rt->cycles[s->index], 0,
				      memory_order_relaxed);
}

/** account_add() - @s has run for so long; by who has run it */
static inline void account_add(struct runtime *rt, const struct slot *s, uint64_t n)
{
	atomic_store_explicit(&rt->cycles[s->index], account_read(rt, s) + n,
			      memory_order_relaxed);
}

#endif /* ROOST_LIB_ACCOUNT_H */
