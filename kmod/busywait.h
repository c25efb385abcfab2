/* SPDX-License-Identifier: GPL-2.0 */
/* A short look before sleeping.  See busywait.c. */
#ifndef _ROOST_BUSYWAIT_H
#define _ROOST_BUSYWAIT_H

#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/types.h>

struct roost_worker;

/* The first look; the least that one is worth. */
#define ROOST_BUSY_FIRST_NS	10000U

extern unsigned int roost_busy_us;

/*
 * When a park that may look first begins, in ns; 0: it does not.  With one CPU nobody
 * is there to end it, but interrupts.
 */
static __always_inline u64 roost_busy_begin(void)
{
	if (!READ_ONCE(roost_busy_us) || num_online_cpus() == 1)
		return 0;
	return ktime_get_ns();
}

/*
 * How long to look after a park that took so long, when @most is the most; see
 * busywait.c for why.
 */
static inline u32 roost_busy_next(u32 busy_ns, u64 took, u32 most)
{
	/* Seen while it looked. */
	if (took <= busy_ns)
		return min(busy_ns, most);
	if (took >= most)
		return 0;
	return min(max(2 * busy_ns, ROOST_BUSY_FIRST_NS), most);
}

u64 roost_busy_end(const struct roost_worker *worker, u64 begun, u64 deadline);
void roost_busy_wait(struct roost_worker *worker, u64 begun, u64 deadline);
void roost_busy_learn(struct roost_worker *worker, u64 begun);

#endif /* _ROOST_BUSYWAIT_H */
