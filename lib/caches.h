/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* caches.h - which CPUs share a last level of cache. */
#ifndef ROOST_LIB_CACHES_H
#define ROOST_LIB_CACHES_H

#include <sched.h>
#include <stdint.h>

#include "compiler.h"

/* Of a CPU that is not known, or the caller's is not. */
#define CACHE_NONE	UINT32_MAX

/**
 * struct caches - the caches of a machine, constant
 * @count:	how many; at most 1 if that is all, or if it could not be found out
 * @nr_cpus:	entries of @of
 * @of:		the number of each CPU's; NULL if @count is at most 1
 */
struct caches {
	unsigned int count;
	unsigned int nr_cpus;
	uint32_t *of;
};

/**
 * caches_read() - see which CPUs share one
 * @c:		filled in; undone by caches_free()
 * @root:	as /sys/devices/system/cpu
 * @nr_cpus:	of the machine, also those that are offline
 *
 * Where the machine does not tell of caches, those of one package share one.  What
 * cannot be read is CACHE_NONE.
 */
void caches_read(struct caches *c, const char *root, unsigned int nr_cpus);

/** caches_free() - undo caches_read() */
void caches_free(struct caches *c);

/** caches_here() - the cache of the CPU that the caller runs on, just now */
static inline uint32_t caches_here(const struct caches *c)
{
	int cpu;

	if (likely(c->count <= 1))
		return CACHE_NONE;
	cpu = sched_getcpu();
	return cpu >= 0 && (unsigned int)cpu < c->nr_cpus ? c->of[cpu] :
							    CACHE_NONE;
}

#endif /* ROOST_LIB_CACHES_H */
