/* SPDX-License-Identifier: GPL-2.0 */
/* A short look before sleeping.  See busywait.c. */
#ifndef _ROOST_BUSYWAIT_H
#define _ROOST_BUSYWAIT_H

#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/types.h>

struct roost_worker;

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

void roost_busy_wait(struct roost_worker *worker, u64 begun, u64 deadline);
void roost_busy_learn(struct roost_worker *worker, u64 begun);

#endif /* _ROOST_BUSYWAIT_H */
