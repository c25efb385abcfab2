/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * random.h - repeatable random numbers for tests: a Weyl sequence, mixed as in
 * G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators"
 * (2014).
 */
#ifndef ROOST_SELFTESTS_UNIT_RANDOM_H
#define ROOST_SELFTESTS_UNIT_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

/* From 0 to @limit - 1; @limit is small enough for the bias not to matter. */
static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
	return random_next(state) % limit;
}

static inline bool random_percent(uint64_t *state, unsigned int percent)
{
	return random_below(state, 100) < percent;
}

/* Any number of bits, each as likely as another: small and huge values. */
static inline uint64_t random_magnitude(uint64_t *state, unsigned int max_bits)
{
	unsigned int bits = random_below(state, max_bits);

	return random_next(state) >> (63 - bits);
}

#endif /* ROOST_SELFTESTS_UNIT_RANDOM_H */
