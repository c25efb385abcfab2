/* SPDX-License-Identifier: GPL-2.0 OR LGPL-2.1 OR MIT */
/*
 * Arithmetic on the indices of a ring.
 *
 * Head and tail count entries taken and entries published since the ring was
 * made.  They run freely and wrap at 2^32, which a power of two of entries
 * divides; only their difference means anything.
 *
 * Values, never pointers: whoever shares a ring with somebody whom it does not
 * trust reads each shared word once and keeps its own index privately (K1).  Then
 * one of the two may be forged, and a pair that can't be is the ring's full
 * state for who produces, and an empty ring for who consumes: nothing is
 * overwritten, and nothing taken that was not published.
 */
#ifndef _ROOST_RING_INDEX_H
#define _ROOST_RING_INDEX_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include "../lib/shim/kernel_shim.h"
#endif

/**
 * roost_ring_entries_valid() - may a ring have this many entries?
 * @entries:	wanted
 * @min:	least allowed, at least 1
 * @max:	most allowed
 */
static inline bool roost_ring_entries_valid(u32 entries, u32 min, u32 max)
{
	return entries >= min && entries <= max && !(entries & (entries - 1));
}

/**
 * roost_ring_index_valid() - can these be head and tail of one ring?
 * @head:	entries taken
 * @tail:	entries published
 * @entries:	size of the ring, a power of two
 */
static inline bool roost_ring_index_valid(u32 head, u32 tail, u32 entries)
{
	u32 used = tail - head;

	return used <= entries;
}

/**
 * roost_ring_used() - places in use, as the producer must see it
 * @head:	entries taken; may be forged
 * @tail:	entries published
 * @entries:	size of the ring, a power of two
 *
 * Return: 0 to @entries; @entries (full) if one index is forged.
 */
static inline u32 roost_ring_used(u32 head, u32 tail, u32 entries)
{
	return roost_ring_index_valid(head, tail, entries) ? tail - head :
							     entries;
}

/**
 * roost_ring_free() - places that the producer may fill
 * @head:	entries taken; may be forged
 * @tail:	entries published
 * @entries:	size of the ring, a power of two
 *
 * Return: 0 to @entries; 0 if one index is forged.
 */
static inline u32 roost_ring_free(u32 head, u32 tail, u32 entries)
{
	return entries - roost_ring_used(head, tail, entries);
}

/**
 * roost_ring_ready() - entries that the consumer may take
 * @head:	entries taken
 * @tail:	entries published; may be forged
 * @entries:	size of the ring, a power of two
 *
 * Return: 0 to @entries; 0 if one index is forged.
 */
static inline u32 roost_ring_ready(u32 head, u32 tail, u32 entries)
{
	return roost_ring_index_valid(head, tail, entries) ? tail - head : 0;
}

/**
 * roost_ring_slot() - the place in the ring that an index stands for
 * @index:	a head or tail, or one of the indices between
 * @entries:	size of the ring, a power of two
 */
static inline u32 roost_ring_slot(u32 index, u32 entries)
{
	return index & (entries - 1);
}

#endif /* _ROOST_RING_INDEX_H */
