/* SPDX-License-Identifier: GPL-2.0 OR LGPL-2.1 OR MIT */
/*
 * kernel_shim.h - the few kernel names that code shared with the module uses,
 * for user space.
 *
 * Only what kmod/wheel.[ch] and kmod/ring_index.h need: integer types, bit
 * operations and WARN_ON_ONCE().  Lists are in list_shim.h.
 */
#ifndef ROOST_LIB_SHIM_KERNEL_SHIM_H
#define ROOST_LIB_SHIM_KERNEL_SHIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#ifndef U64_MAX
#define U64_MAX UINT64_MAX
#endif

#ifndef BIT_ULL
#define BIT_ULL(nr) (1ULL << (nr))
#endif

/* Position of the highest bit that is set, counted from 1; 0 for 0. */
static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

/* Position of the lowest bit that is set, counted from 0; @x is not 0. */
static inline unsigned int __ffs64(u64 x)
{
	return (unsigned int)__builtin_ctzll(x);
}

static inline u64 ror64(u64 x, unsigned int by)
{
	return (x >> (by & 63)) | (x << (-by & 63));
}

/*
 * In the kernel a warning is enough to fail a test run, and the machine must
 * live; in a process the first broken invariant ends it, also with NDEBUG.
 */
static inline bool shim_warn(bool broken, const char *what, const char *file,
			     int line)
{
	if (__builtin_expect(broken, 0)) {
		fprintf(stderr, "%s:%d: broken: %s\n", file, line, what);
		abort();
	}
	return broken;
}

#ifndef noinline
#define noinline __attribute__((noinline))
#endif

#ifndef WARN_ON_ONCE
#define WARN_ON_ONCE(cond) shim_warn(!!(cond), #cond, __FILE__, __LINE__)
#endif

#endif /* ROOST_LIB_SHIM_KERNEL_SHIM_H */
