// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* alloc.c - malloc(3) and its kin as safepoints. */
#include <stdlib.h>

#include <roost/actor.h>
#include <roost/alloc.h>

void *roost_malloc(size_t size)
{
	roost_check();
	return malloc(size);
}

void *roost_calloc(size_t n, size_t size)
{
	roost_check();
	return calloc(n, size);
}

void *roost_realloc(void *p, size_t size)
{
	roost_check();
	return realloc(p, size);
}

void roost_free(void *p)
{
	free(p);
}
