// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* caches.c - which CPUs share a last level of cache, from sysfs. */
#define _GNU_SOURCE
#include "caches.h"

#include <stdio.h>
#include <stdlib.h>

/* The first of them that is there: the last level is the one with the most. */
static const char *const lists[] = {
	"cache/index3/shared_cpu_list",
	"cache/index2/shared_cpu_list",
	"topology/package_cpus_list",
};

static FILE *open_list(const char *root, unsigned int cpu)
{
	char path[256];
	FILE *f = NULL;
	unsigned int i;

	for (i = 0; !f && i < ARRAY_SIZE(lists); i++) {
		snprintf(path, sizeof(path), "%s/cpu%u/%s", root, cpu, lists[i]);
		f = fopen(path, "re");
	}
	return f;
}

/* Those of a list as "0-3,8" are of cache @number. */
static void take_list(struct caches *c, FILE *f, uint32_t number)
{
	unsigned int first, last;

	do {
		if (fscanf(f, "%u", &first) != 1)
			return;
		if (fscanf(f, "-%u", &last) != 1)
			last = first;
		for (; first <= last && first < c->nr_cpus; first++)
			c->of[first] = number;
	} while (fgetc(f) == ',');
}

void caches_read(struct caches *c, const char *root, unsigned int nr_cpus)
{
	unsigned int cpu;
	FILE *f;

	*c = (struct caches){ .nr_cpus = nr_cpus };
	/* One CPU has nobody to share with; without memory there is no choice. */
	c->of = nr_cpus > 1 ? malloc(nr_cpus * sizeof(*c->of)) : NULL;
	if (!c->of)
		return;
	for (cpu = 0; cpu < nr_cpus; cpu++)
		c->of[cpu] = CACHE_NONE;
	for (cpu = 0; cpu < nr_cpus; cpu++) {
		/* It was in the list of one before. */
		if (c->of[cpu] != CACHE_NONE)
			continue;
		f = open_list(root, cpu);
		if (!f)
			continue;
		c->of[cpu] = c->count;
		take_list(c, f, c->count++);
		fclose(f);
	}
	if (c->count <= 1)
		caches_free(c);
}

void caches_free(struct caches *c)
{
	free(c->of);
	c->of = NULL;
}
