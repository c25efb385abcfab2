// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* account.c - where the cycles of actors are counted. */
#include "account.h"

#include <errno.h>
#include <sys/mman.h>

static size_t bytes(const struct runtime *rt)
{
	return (size_t)rt->config.max_actors * sizeof(*rt->cycles);
}

/* Its pages come as slots are used. */
int account_init(struct runtime *rt)
{
	void *p;

	if (!(rt->config.account & ROOST_ACCOUNT_CYCLES))
		return 0;
	p = mmap(NULL, bytes(rt), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	rt->cycles = p;
	return 0;
}

void account_fini(struct runtime *rt)
{
	if (rt->cycles)
		munmap(rt->cycles, bytes(rt));
	rt->cycles = NULL;
}
