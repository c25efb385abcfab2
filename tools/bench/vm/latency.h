/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * latency.h - a histogram of times with 32 steps a power of two: quantiles are
 * right to about 3 %.
 */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include <stdint.h>

#define LATENCY_STEPS	32
#define LATENCY_BUCKETS	(LATENCY_STEPS * 48)

struct latency {
	uint64_t count;
	uint32_t bucket[LATENCY_BUCKETS];
};

void latency_add(struct latency *l, uint64_t ns);

/* The time that @share (0 .. 1) of all do not exceed. */
uint64_t latency_quantile(const struct latency *l, double share);

#endif /* BENCH_LATENCY_H */
