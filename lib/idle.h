/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * idle.h - the idle mask: who is about to sleep or asleep.
 */
#ifndef ROOST_LIB_IDLE_H
#define ROOST_LIB_IDLE_H

#include <stdbool.h>

#include "runtime.h"

/** idle_set() - publish @w as idle; a full barrier before what is read next */
void idle_set(struct worker *w);

/*
 * idle_clear() - @w goes on after all
 *
 * A bit found clear already is a wake that somebody sent, and is counted (P3).
 */
void idle_clear(struct worker *w);

/*
 * idle_take() - take a certain worker out of the mask
 *
 * Return: true if it was in it; the caller must then wake it with
 * worker_wake_claimed().
 */
bool idle_take(struct runtime *rt, unsigned int index);

/* idle_any() among the workers from 64 on. */
bool idle_any_beyond(struct runtime *rt);

/** idle_any() - is a worker idle?  Relaxed. */
static inline bool idle_any(struct runtime *rt)
{
	return atomic_load_explicit(control_idle(rt, 0), memory_order_relaxed) ||
	       (unlikely(rt->nr_workers > 64) && idle_any_beyond(rt));
}

/** idle_all() - are all workers idle? */
bool idle_all(struct runtime *rt);

#endif /* ROOST_LIB_IDLE_H */
