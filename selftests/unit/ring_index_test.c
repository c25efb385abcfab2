// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * ring_index_test.c - ring arithmetic against counters that never wrap.
 *
 * The header is compiled twice: as it is, and with indices of 8 bits, for which
 * every pair of head and tail can be tried.
 */
#include "../../kmod/ring_index.h"

#undef _ROOST_RING_INDEX_H
#define u32 u8
#define roost_ring_entries_valid	ring8_entries_valid
#define roost_ring_index_valid		ring8_index_valid
#define roost_ring_used			ring8_used
#define roost_ring_free			ring8_free
#define roost_ring_ready		ring8_ready
#define roost_ring_slot			ring8_slot
#include "../../kmod/ring_index.h"
#undef u32
#undef roost_ring_entries_valid
#undef roost_ring_index_valid
#undef roost_ring_used
#undef roost_ring_free
#undef roost_ring_ready
#undef roost_ring_slot

#include "random.h"
#include "tap.h"

/* All heads, and all numbers of entries that a tail of 8 bits can claim. */
ROOST_TEST(every_pair_of_8_bits)
{
	unsigned int entries, head, ahead;

	for (entries = 1; entries <= 128; entries *= 2) {
		for (head = 0; head < 256; head++) {
			for (ahead = 0; ahead < 256; ahead++) {
				unsigned int tail = (head + ahead) % 256;
				bool valid = ahead <= entries;

				CHECK_EQ(ring8_index_valid(head, tail, entries),
					 valid);
				CHECK_EQ(ring8_used(head, tail, entries),
					 valid ? ahead : entries);
				CHECK_EQ(ring8_free(head, tail, entries),
					 valid ? entries - ahead : 0);
				CHECK_EQ(ring8_ready(head, tail, entries),
					 valid ? ahead : 0);
			}
			CHECK_EQ(ring8_slot(head, entries), head % entries);
		}
	}
}

ROOST_TEST(every_size_of_8_bits)
{
	unsigned int entries, min, max;

	for (entries = 0; entries < 256; entries++) {
		bool power = false;
		unsigned int p;

		for (p = 1; p < 256; p *= 2)
			power |= entries == p;
		for (min = 1; min < 256; min++)
			for (max = min; max < 256; max += 3)
				CHECK_EQ(ring8_entries_valid(entries, min, max),
					 power && entries >= min &&
					 entries <= max);
	}
}

/* 32 bits, sampled where it matters: around 0, 2^31 and 2^32, all sizes. */
static void compare_32(u64 head, u64 ahead, u64 entries)
{
	u32 tail = (u32)(head + ahead);
	bool valid = ahead <= entries;

	CHECK_EQ(roost_ring_index_valid(head, tail, entries), valid);
	CHECK_EQ(roost_ring_used(head, tail, entries), valid ? ahead : entries);
	CHECK_EQ(roost_ring_free(head, tail, entries),
		 valid ? entries - ahead : 0);
	CHECK_EQ(roost_ring_ready(head, tail, entries), valid ? ahead : 0);
	CHECK_EQ(roost_ring_slot(tail, entries), tail % entries);
}

ROOST_TEST(edges_of_32_bits)
{
	static const u64 heads[] = { 0, 1ULL << 31, (1ULL << 32) - 4 };
	u64 entries, distance;
	unsigned int i;
	int near;

	for (entries = 1; entries <= 1ULL << 31; entries *= 2) {
		u64 aheads[] = { 0, 1, entries - 1, entries, entries + 1,
				 entries * 2, 1ULL << 31, (1ULL << 32) - 1,
				 (1ULL << 32) - entries };

		for (i = 0; i < 3; i++) {
			for (near = -5; near <= 5; near++) {
				u64 head = (u32)(heads[i] + near);

				for (distance = 0; distance < 9; distance++)
					if (aheads[distance] < 1ULL << 32)
						compare_32(head, aheads[distance],
							   entries);
			}
		}
	}
}

ROOST_TEST(random_pairs_of_32_bits)
{
	u64 state = tap_seed(3);
	unsigned int i;

	for (i = 0; i < 2000000 && !tap_failed(); i++) {
		u64 head = (u32)random_next(&state);
		u64 ahead = random_magnitude(&state, 32);

		compare_32(head, ahead, 1ULL << random_below(&state, 32));
	}
}

enum { ENTRIES = 8 };

/*
 * C49: A ring in use, from just before the wrap until long after it, beside
 * counters of 64 bits: every entry arrives once, in order.
 */
ROOST_TEST(a_ring_in_use_over_the_wrap)
{
	u64 state = tap_seed(4);
	u64 base = (1ULL << 32) - 4;
	u64 published = base, taken = base;
	u64 ring[ENTRIES];
	u32 head = (u32)base, tail = (u32)base;
	unsigned int i;

	for (i = 0; i < 100000 && !tap_failed(); i++) {
		if (random_percent(&state, 50)) {
			CHECK_EQ(roost_ring_free(head, tail, ENTRIES),
				 ENTRIES - (published - taken));
			if (!roost_ring_free(head, tail, ENTRIES))
				continue;
			ring[roost_ring_slot(tail++, ENTRIES)] = published++;
		} else {
			CHECK_EQ(roost_ring_ready(head, tail, ENTRIES),
				 published - taken);
			if (!roost_ring_ready(head, tail, ENTRIES))
				continue;
			CHECK_EQ(ring[roost_ring_slot(head++, ENTRIES)],
				 taken++);
		}
	}
	CHECK(published > 1ULL << 32);
}

/* K1, R1: what the other side makes up stops it, and overwrites nothing. */
ROOST_TEST(forged_indices)
{
	static const u32 lies[] = { 0, 1, 989, 1009, 0x7fffffff, 0x80000000,
				    0xffffffff };
	unsigned int i;

	/* The ring holds 992 to 999; the other index is a lie. */
	for (i = 0; i < 7; i++) {
		CHECK_EQ(roost_ring_free(lies[i], 1000, 8), 0);
		CHECK_EQ(roost_ring_used(lies[i], 1000, 8), 8);
		CHECK_EQ(roost_ring_ready(992, lies[i], 8), 0);
		CHECK(!roost_ring_index_valid(lies[i], 1000, 8));
	}
	/* A head that goes beyond the tail, a tail that falls behind the head. */
	CHECK_EQ(roost_ring_free(1001, 1000, 8), 0);
	CHECK_EQ(roost_ring_ready(992, 991, 8), 0);
}
