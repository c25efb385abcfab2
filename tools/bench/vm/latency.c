// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* latency.c - a histogram of times; see latency.h. */
#include "latency.h"

/*
 * Below LATENCY_STEPS each value has its bucket.  From there on the highest bit
 * chooses a group and the five bits below it the step.
 */
static unsigned int bucket_of(uint64_t ns)
{
	unsigned int shift, bucket;

	if (ns < LATENCY_STEPS)
		return ns;
	shift = 63 - __builtin_clzll(ns) - 5;
	bucket = LATENCY_STEPS * shift + (ns >> shift);
	return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

/* The largest value of a bucket. */
static uint64_t top_of(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < 2 * LATENCY_STEPS)
		return bucket;
	shift = bucket / LATENCY_STEPS - 1;
	return ((uint64_t)(bucket % LATENCY_STEPS + LATENCY_STEPS + 1) << shift) - 1;
}

void latency_add(struct latency *l, uint64_t ns)
{
	l->count++;
	l->bucket[bucket_of(ns)]++;
}

uint64_t latency_quantile(const struct latency *l, double share)
{
	uint64_t below = 0;
	unsigned int i;

	for (i = 0; i < LATENCY_BUCKETS; i++) {
		below += l->bucket[i];
		if (below && (double)below >= share * (double)l->count)
			return top_of(i);
	}
	return 0;
}
