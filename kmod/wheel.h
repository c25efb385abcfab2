/* SPDX-License-Identifier: GPL-2.0 OR LGPL-2.1 OR MIT */
/*
 * Hierarchical timing wheel.
 *
 * Pure: no lock, no clock, no allocation.  Whoever owns a wheel serialises all
 * calls on it (T4), passes the time in, and may call from any context.  Shared
 * by the module and, through lib/shim/, by the library; see wheel.c for how it
 * works.
 *
 * Times are absolute, in nanoseconds of one clock that never goes back
 * (CLOCK_MONOTONIC).  A time that is older than one seen before is harmless:
 * the wheel does not turn back.
 */
#ifndef _ROOST_WHEEL_H
#define _ROOST_WHEEL_H

#ifdef __KERNEL__
#include <linux/list.h>
#include <linux/types.h>
#else
#include "../lib/shim/list_shim.h"
#endif

#define ROOST_WHEEL_LEVELS		6
#define ROOST_WHEEL_SLOT_BITS		6
#define ROOST_WHEEL_SLOTS		64
#define ROOST_WHEEL_TICK_SHIFT_MIN	10
#define ROOST_WHEEL_TICK_SHIFT_MAX	30

/* roost_wheel_entry.level of an entry on a caller's list of expired ones. */
#define ROOST_WHEEL_EXPIRED		ROOST_WHEEL_LEVELS

/**
 * struct roost_wheel_entry - one deadline; embedded in what waits for it
 * @node:	in a slot, on the wheel's pending list or on a caller's list of
 *		expired entries; points at itself when on none
 * @expires:	deadline in ns, exactly as given; may be later than what the slot
 *		stands for, never earlier.  Others may read it; it changes only
 *		through roost_wheel_add() and roost_wheel_mod().
 * @level:	level of the slot, or ROOST_WHEEL_EXPIRED; private
 * @slot:	the slot in its level; private
 * @owner:	for the owner's use, never touched here
 */
struct roost_wheel_entry {
	struct list_head node;
	u64 expires;
	u8 level;
	u8 slot;
	u8 owner;
};

/**
 * struct roost_wheel - a timing wheel; all fields are private to wheel.c
 * @cursor:	tick up to which (inclusive) everything has left its slot
 * @next:	tick at which the first occupied slot begins, or less if
 *		@next_stale; U64_MAX: none.  Pending entries are not in it.
 * @count:	entries in slots and pending
 * @tick_shift:	log2 of the tick in ns
 * @next_stale:	a deletion may have made @next too early (never too late)
 * @occupied:	a level's slots that are not empty, one bit each
 * @pending:	entries of slots that the cursor has reached, not yet looked at
 * @slots:	the slots' lists
 */
struct roost_wheel {
	u64 cursor;
	u64 next;
	u32 count;
	u8 tick_shift;
	bool next_stale;
	u64 occupied[ROOST_WHEEL_LEVELS];
	struct list_head pending;
	struct list_head slots[ROOST_WHEEL_LEVELS][ROOST_WHEEL_SLOTS];
};

void roost_wheel_init(struct roost_wheel *w, unsigned int tick_shift,
		      u64 now_ns);
void roost_wheel_entry_init(struct roost_wheel_entry *e);
void roost_wheel_add(struct roost_wheel *w, struct roost_wheel_entry *e,
		     u64 expires_ns, u64 now_ns);
bool roost_wheel_del(struct roost_wheel *w, struct roost_wheel_entry *e);
bool roost_wheel_mod(struct roost_wheel *w, struct roost_wheel_entry *e,
		     u64 expires_ns, u64 now_ns);
u64 roost_wheel_next(struct roost_wheel *w);
unsigned int roost_wheel_advance(struct roost_wheel *w, u64 now_ns,
				 unsigned int budget, struct list_head *expired);
bool roost_wheel_check(const struct roost_wheel *w);

/**
 * roost_wheel_queued() - is an entry on a wheel or on a list of expired ones?
 * @e:	the entry
 *
 * Return: true from roost_wheel_add() until roost_wheel_del(), or until the
 * caller of roost_wheel_advance() takes it off the list of expired entries
 * (with list_del_init()).
 */
static inline bool roost_wheel_queued(const struct roost_wheel_entry *e)
{
	return !list_empty(&e->node);
}

/**
 * roost_wheel_count() - entries that have not expired yet
 * @w:	the wheel
 */
static inline u32 roost_wheel_count(const struct roost_wheel *w)
{
	return w->count;
}

#endif /* _ROOST_WHEEL_H */
