// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* wakeslot.c - the wake slots of siblings. */
#include "wakeslot.h"

#include "compiler.h"

bool wakeslot_any(const struct runtime *rt)
{
	unsigned int i;

	for (i = 0; i < rt->nr_workers; i++)
		if (worker_has_next(&rt->workers[i]))
			return true;
	return false;
}

noinline struct slot *wakeslot_steal(struct worker *w)
{
	struct runtime *rt = w->rt;
	unsigned int i, at = w->index;
	struct slot *s = NULL;

	for (i = 1; i < rt->nr_workers && !s; i++) {
		if (++at == rt->nr_workers)
			at = 0;
		s = wakeslot_take(&rt->workers[at]);
	}
	return s;
}
