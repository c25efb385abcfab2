// SPDX-License-Identifier: GPL-2.0 OR LGPL-2.1 OR MIT
/*
 * Hierarchical timing wheel.
 *
 * After G. Varghese and A. Lauck, "Hashed and Hierarchical Timing Wheels:
 * Data Structures for the Efficient Implementation of a Timer Facility"
 * (1987), scheme 7, with a bitmap of occupied slots for each level so that
 * nothing is ever done tick by tick.
 *
 * Time is counted in ticks of 2^tick_shift ns.  A deadline is due at the first
 * tick that does not lie before it; the present is the last tick that has
 * begun.  So an entry never expires early, and at most one tick late (T1).
 *
 * A slot of level l stands for 64^l ticks and begins at a multiple of that:
 *
 *   level   a slot covers   of 2^16 ns   the level reaches
 *     0          1 tick        66 us            4.2 ms
 *     1         64 ticks      4.2 ms            268 ms
 *     2       4096 ticks      268 ms             17 s
 *     3       64^3 ticks       17 s              18 min
 *     4       64^4 ticks       18 min            20 h
 *     5       64^5 ticks       20 h              52 days
 *
 * An entry is placed by its distance d from the cursor, on the level with
 * 64^l <= d < 64^(l+1), hence always in a slot that begins after the cursor,
 * at most 64 slots ahead (S3-02).  Exactly 64 ahead has the same index as the
 * cursor's own slot, which is no contradiction: that one was emptied when the
 * cursor reached its beginning, so an index always means the next slot with
 * this index, 1 to 64 ahead.
 *
 * When the cursor reaches a slot, its entries go to the pending list all at
 * once, and from there one by one (each costs one unit of budget, T5) either to
 * the caller or, if not due yet, back into a slot.  An entry of a slot of level
 * l that is not due then lies less than 64^l ticks ahead: it goes to a lower
 * level, so that it is moved at most once a level (S3-05).  What lies beyond
 * the last level waits in its farthest slot and is placed again from there with
 * the distance that is left, and a deadline that was moved later stays where it
 * is until its slot is reached; the exact deadline decides each time (S3-10).
 */
#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/limits.h>
#endif

#include "wheel.h"

#define SLOT_MASK	(ROOST_WHEEL_SLOTS - 1)
#define LEVEL_SHIFT(l)	((l) * ROOST_WHEEL_SLOT_BITS)

/* Distances from here on are beyond the wheel's range. */
#define RANGE		BIT_ULL(LEVEL_SHIFT(ROOST_WHEEL_LEVELS))

/* The last tick that has begun at @ns. */
static u64 tick_floor(const struct roost_wheel *w, u64 ns)
{
	return ns >> w->tick_shift;
}

/* The first tick that does not begin before @ns; at most 2^54, no overflow. */
static u64 tick_ceil(const struct roost_wheel *w, u64 ns)
{
	u64 tick = tick_floor(w, ns);

	return (tick << w->tick_shift) == ns ? tick : tick + 1;
}

/*
 * When a tick begins, in ns.  The tick after the last one that 64 bits can
 * hold, where the latest deadlines are due, never begins.
 */
static u64 tick_to_ns(const struct roost_wheel *w, u64 tick)
{
	if (tick > U64_MAX >> w->tick_shift)
		return U64_MAX;
	return tick << w->tick_shift;
}

static unsigned int level_of(u64 distance)
{
	return (fls64(distance) - 1) / ROOST_WHEEL_SLOT_BITS;
}

/* The bits of a level, turned so that bit 0 is the first slot after the cursor's. */
static u64 occupied_ahead(const struct roost_wheel *w, unsigned int level)
{
	u64 ahead = (w->cursor >> LEVEL_SHIFT(level)) + 1;

	return ror64(w->occupied[level], ahead & SLOT_MASK);
}

/* The tick at which the slot @ahead (from 0) after the cursor's begins. */
static u64 begin_ahead(const struct roost_wheel *w, unsigned int level,
		       unsigned int ahead)
{
	u64 first = (w->cursor >> LEVEL_SHIFT(level)) + 1;

	return (first + ahead) << LEVEL_SHIFT(level);
}

static u64 slot_begin(const struct roost_wheel *w, unsigned int level,
		      unsigned int slot)
{
	u64 first = (w->cursor >> LEVEL_SHIFT(level)) + 1;

	return begin_ahead(w, level, (slot - (unsigned int)first) & SLOT_MASK);
}

/* The tick at which the first occupied slot begins, U64_MAX for none. */
static u64 first_occupied(const struct roost_wheel *w)
{
	u64 first = U64_MAX;
	unsigned int level;

	for (level = 0; level < ROOST_WHEEL_LEVELS; level++) {
		u64 bits = occupied_ahead(w, level);
		u64 begin;

		if (!bits)
			continue;
		begin = begin_ahead(w, level, __ffs64(bits));
		if (begin < first)
			first = begin;
	}
	return first;
}

static u64 next_tick(struct roost_wheel *w)
{
	if (w->next_stale) {
		w->next = first_occupied(w);
		w->next_stale = false;
	}
	return w->next;
}

/*
 * list_add_tail() without the checks of CONFIG_DEBUG_LIST, which would be a fifth
 * of what arming costs.  These lists are nobody else's; roost_wheel_check().
 */
static inline void link_tail(struct list_head *node, struct list_head *head)
{
	struct list_head *prev = head->prev;

	node->next = head;
	node->prev = prev;
	prev->next = node;
	head->prev = node;
}

/* Put an entry, which is on no list, in the slot for its deadline. */
static inline void place(struct roost_wheel *w, struct roost_wheel_entry *e)
{
	u64 tick = tick_ceil(w, e->expires);
	unsigned int level, slot;
	u64 begin;

	/*
	 * The cursor's own slot would come round again only after a whole turn
	 * (S3-03).  Beyond the range: as far as it goes (S3-04).
	 */
	if (tick <= w->cursor)
		tick = w->cursor + 1;
	else if (tick - w->cursor >= RANGE)
		tick = w->cursor + RANGE - 1;

	level = level_of(tick - w->cursor);
	slot = (tick >> LEVEL_SHIFT(level)) & SLOT_MASK;
	e->level = level;
	e->slot = slot;
	link_tail(&e->node, &w->slots[level][slot]);
	w->occupied[level] |= BIT_ULL(slot);

	begin = (tick >> LEVEL_SHIFT(level)) << LEVEL_SHIFT(level);
	if (begin < w->next)
		w->next = begin;
}

/* Add an entry; the cursor is where it can be. */
static inline void add(struct roost_wheel *w, struct roost_wheel_entry *e,
		       u64 expires_ns)
{
	e->expires = expires_ns;
	place(w, e);
	w->count++;
}

/* The same if it is to be looked whether an occupied slot lies between. */
static noinline void add_late(struct roost_wheel *w, struct roost_wheel_entry *e,
			      u64 expires_ns, u64 now_tick)
{
	if (next_tick(w) > now_tick)
		w->cursor = now_tick;
	add(w, e, expires_ns);
}

/*
 * Take an entry off its slot or the pending list.  A pending one still names
 * the slot that it came from; looking at that slot again does no harm.
 */
static void unplace(struct roost_wheel *w, struct roost_wheel_entry *e)
{
	u64 bit = BIT_ULL(e->slot);

	list_del_init(&e->node);
	if (!list_empty(&w->slots[e->level][e->slot]))
		return;
	if (!(w->occupied[e->level] & bit))
		return;
	w->occupied[e->level] &= ~bit;
	if (slot_begin(w, e->level, e->slot) == w->next)
		w->next_stale = true;
}

/* Would the entry, where it is, be looked at in time for @expires_ns? */
static bool placed_in_time(const struct roost_wheel *w,
			   const struct roost_wheel_entry *e, u64 expires_ns)
{
	u64 begin = slot_begin(w, e->level, e->slot);

	return begin <= tick_ceil(w, expires_ns) || begin == w->cursor + 1;
}

/**
 * roost_wheel_init() - make an empty wheel
 * @w:		the wheel
 * @tick_shift:	log2 of the tick in ns, ROOST_WHEEL_TICK_SHIFT_MIN to _MAX
 * @now_ns:	the time
 */
void roost_wheel_init(struct roost_wheel *w, unsigned int tick_shift,
		      u64 now_ns)
{
	unsigned int level, slot;

	if (WARN_ON_ONCE(tick_shift < ROOST_WHEEL_TICK_SHIFT_MIN))
		tick_shift = ROOST_WHEEL_TICK_SHIFT_MIN;
	if (WARN_ON_ONCE(tick_shift > ROOST_WHEEL_TICK_SHIFT_MAX))
		tick_shift = ROOST_WHEEL_TICK_SHIFT_MAX;

	w->tick_shift = tick_shift;
	w->cursor = tick_floor(w, now_ns);
	w->next = U64_MAX;
	w->next_stale = false;
	w->count = 0;
	INIT_LIST_HEAD(&w->pending);
	for (level = 0; level < ROOST_WHEEL_LEVELS; level++) {
		w->occupied[level] = 0;
		for (slot = 0; slot < ROOST_WHEEL_SLOTS; slot++)
			INIT_LIST_HEAD(&w->slots[level][slot]);
	}
}

/**
 * roost_wheel_entry_init() - make an entry that is on no wheel
 * @e:	the entry
 */
void roost_wheel_entry_init(struct roost_wheel_entry *e)
{
	INIT_LIST_HEAD(&e->node);
	e->expires = 0;
	e->level = 0;
	e->slot = 0;
}

/**
 * roost_wheel_add() - arm an entry
 * @w:		the wheel
 * @e:		an entry that is not queued; belongs to the wheel until deleted
 *		or taken off a list of expired entries
 * @expires_ns:	the deadline.  One that has passed expires at the next tick.
 *		One in the last tick before 2^64 ns never does.
 * @now_ns:	the time
 *
 * roost_wheel_next() may have become earlier.
 */
void roost_wheel_add(struct roost_wheel *w, struct roost_wheel_entry *e,
		     u64 expires_ns, u64 now_ns)
{
	u64 now_tick = tick_floor(w, now_ns);

	if (WARN_ON_ONCE(roost_wheel_queued(e)))
		return;

	/*
	 * Let the cursor catch up with the present if no occupied slot lies
	 * between, lest a near deadline be placed on a coarse level because the
	 * cursor is stale.  Pending entries don't hold it back: they have left
	 * their slots.  What adds is here twice, as this function then calls none.
	 */
	if (now_tick > w->cursor) {
		if (w->next <= now_tick) {
			add_late(w, e, expires_ns, now_tick);
			return;
		}
		w->cursor = now_tick;
	}
	add(w, e, expires_ns);
}

/**
 * roost_wheel_del() - disarm an entry
 * @w:	the wheel that the entry was added to
 * @e:	the entry
 *
 * An entry on a list of expired ones, which no longer counts as armed
 * (roost_wheel_count()), is taken off that list: it will not be seen there.
 * Takes constant time.
 *
 * Return: true if the entry was queued, and so is not going to be handled as
 * expired; false if it was not armed, or has been taken as expired.
 */
bool roost_wheel_del(struct roost_wheel *w, struct roost_wheel_entry *e)
{
	if (!roost_wheel_queued(e))
		return false;

	if (e->level == ROOST_WHEEL_EXPIRED) {
		list_del_init(&e->node);
	} else {
		unplace(w, e);
		w->count--;
	}
	return true;
}

/**
 * roost_wheel_mod() - change the deadline of an entry, arm it if it is not
 * @w:		the wheel that the entry is on or shall be on
 * @e:		the entry; if it is on a list of expired ones, it leaves that list
 * @expires_ns:	the new deadline, as in roost_wheel_add()
 * @now_ns:	the time
 *
 * Moving later is one store: the entry keeps its slot, and what is left is
 * looked at when the slot is reached.  So is moving earlier as long as the slot
 * begins early enough.
 *
 * Return: true if the entry was queued.
 */
bool roost_wheel_mod(struct roost_wheel *w, struct roost_wheel_entry *e,
		     u64 expires_ns, u64 now_ns)
{
	bool queued = roost_wheel_queued(e);

	if (queued && e->level != ROOST_WHEEL_EXPIRED &&
	    placed_in_time(w, e, expires_ns)) {
		e->expires = expires_ns;
		return true;
	}
	roost_wheel_del(w, e);
	roost_wheel_add(w, e, expires_ns, now_ns);
	return queued;
}

/**
 * roost_wheel_next() - when there is something to do
 * @w:	the wheel
 *
 * Return: the time in ns from which on roost_wheel_advance() has work; it may
 * have passed.  U64_MAX: never.  Not later than the first tick at which an
 * entry is due (T3), or, while entries are pending, than the latest time that the
 * wheel was told.  It is that tick if the first entry is on level 0; for
 * coarser levels it is when the slot begins, and advancing then refines it.
 */
u64 roost_wheel_next(struct roost_wheel *w)
{
	if (!list_empty(&w->pending))
		return tick_to_ns(w, w->cursor);
	return tick_to_ns(w, next_tick(w));
}

/*
 * Move the cursor to @now_tick, and what is in the slots that it reaches to the
 * pending list: at most 64 slots a level however long the gap (S3-07), each a
 * constant time.  Slots are empty before any entry is placed again, so that
 * one which comes back to the slot it was in is not looked at twice (S3-06).
 */
static void collect(struct roost_wheel *w, u64 now_tick)
{
	unsigned int level;

	for (level = 0; level < ROOST_WHEEL_LEVELS; level++) {
		u64 at = w->cursor >> LEVEL_SHIFT(level);
		u64 reached = (now_tick >> LEVEL_SHIFT(level)) - at;
		u64 bits = occupied_ahead(w, level);

		/* No boundary crossed here, so none on the levels above (S3-08). */
		if (!reached)
			break;
		if (reached < ROOST_WHEEL_SLOTS)
			bits &= BIT_ULL(reached) - 1;

		for (; bits; bits &= bits - 1) {
			unsigned int slot = (at + 1 + __ffs64(bits)) & SLOT_MASK;

			list_splice_tail_init(&w->slots[level][slot],
					      &w->pending);
			w->occupied[level] &= ~BIT_ULL(slot);
		}
	}
	w->cursor = now_tick;
	w->next_stale = true;
}

/**
 * roost_wheel_advance() - let time pass
 * @w:		the wheel
 * @now_ns:	the time
 * @budget:	how many entries may be looked at
 * @expired:	entries whose deadline has passed are added at the end; their
 *		@level is ROOST_WHEEL_EXPIRED until the caller takes them off with
 *		list_del_init().  They come in no particular order.
 *
 * Entries that are only moved to a finer level count against the budget as
 * those that expire do (T5).  If the budget does not suffice, the rest is taken
 * up by the next call, and roost_wheel_next() says "at once".  Apart from the
 * budget, the cost is at most 64 steps a level.
 *
 * Return: how many entries were looked at; @budget means that there may be more.
 */
unsigned int roost_wheel_advance(struct roost_wheel *w, u64 now_ns,
				 unsigned int budget, struct list_head *expired)
{
	u64 now_tick = tick_floor(w, now_ns);
	unsigned int done;

	if (now_tick > w->cursor) {
		if (w->next > now_tick)
			w->cursor = now_tick;
		else
			collect(w, now_tick);
	}

	for (done = 0; done < budget && !list_empty(&w->pending); done++) {
		struct roost_wheel_entry *e;

		e = list_first_entry(&w->pending, struct roost_wheel_entry, node);
		list_del_init(&e->node);
		if (tick_ceil(w, e->expires) <= w->cursor) {
			e->level = ROOST_WHEEL_EXPIRED;
			list_add_tail(&e->node, expired);
			w->count--;
		} else {
			place(w, e);
		}
	}
	return done;
}

/* Entries in a slot, each checked; the slot's bit must agree with its list. */
static u32 check_slot(const struct roost_wheel *w, unsigned int level,
		      unsigned int slot, bool *good)
{
	bool occupied = w->occupied[level] & BIT_ULL(slot);
	u64 begin = slot_begin(w, level, slot);
	const struct roost_wheel_entry *e;
	u32 count = 0;

	if (WARN_ON_ONCE(occupied == list_empty(&w->slots[level][slot])))
		*good = false;
	list_for_each_entry(e, &w->slots[level][slot], node) {
		if (WARN_ON_ONCE(e->level != level || e->slot != slot))
			*good = false;
		if (WARN_ON_ONCE(!placed_in_time(w, e, e->expires)))
			*good = false;
		count++;
	}
	if (WARN_ON_ONCE(count && w->next > begin))
		*good = false;
	return count;
}

/**
 * roost_wheel_check() - look whether a wheel is in order, for tests (S3-18)
 * @w:	the wheel
 *
 * Walks all slots and entries.  What is wrong is warned about.
 *
 * Return: true if nothing is wrong.
 */
bool roost_wheel_check(const struct roost_wheel *w)
{
	const struct roost_wheel_entry *e;
	unsigned int level, slot;
	bool good = true;
	u32 count = 0;

	for (level = 0; level < ROOST_WHEEL_LEVELS; level++)
		for (slot = 0; slot < ROOST_WHEEL_SLOTS; slot++)
			count += check_slot(w, level, slot, &good);
	list_for_each_entry(e, &w->pending, node) {
		if (WARN_ON_ONCE(e->level >= ROOST_WHEEL_LEVELS))
			good = false;
		count++;
	}
	if (WARN_ON_ONCE(count != w->count))
		good = false;
	if (WARN_ON_ONCE(!w->next_stale && w->next != first_occupied(w)))
		good = false;
	return good;
}
