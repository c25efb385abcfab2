/* SPDX-License-Identifier: GPL-2.0 */
/* Carriers as the scheduler sees them: who is on a CPU, and who is blocked. */
#ifndef _ROOST_CARRIER_H
#define _ROOST_CARRIER_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "compat.h"

struct roost_domain;
struct roost_worker;
struct task_struct;

extern bool roost_carriers;

/**
 * struct roost_carrier - a thread that is told of its own context switches
 * @notifier:	in the thread's list, which only the thread itself may change
 * @task:	the thread; looked into only while a lease keeps it, or while it is
 *		a standby itself
 * @ref:	one of the notifier, until the thread has unhooked it or is dead;
 *		one of the lease (roost_worker.hooked)
 * @dead:	from the last switch of the thread to @rcu
 * @rcu:	until nobody walks the thread's list any more
 * @node:	in roost_domain.standbys; guarded by roost_domain.standby_lock
 * @given:	the standby has got a lease; under the same lock
 * @index:	of its worker, once @given
 * @lease:	number of the lease; constant while @worker is set
 * @grace:	fires when the thread has been blocked for the grace time
 * @lock:	guards what follows, and the worker's bits in the masks: the
 *		innermost lock of all, taken under the scheduler's
 * @worker:	whose lease the thread has, NULL once that has ended
 * @stuck:	blocked, and may lose the lease at @due
 * @due:	when, by CLOCK_MONOTONIC
 *
 * Keeps the module, as well.
 */
struct roost_carrier {
	struct preempt_notifier notifier;
	struct task_struct *task;
	refcount_t ref;
	struct irq_work dead;
	struct rcu_head rcu;

	struct list_head node;
	bool given;
	u32 index;
	u64 lease;

	struct hrtimer grace;
	/* Guards what follows. */
	raw_spinlock_t lock;
	struct roost_worker *worker;
	bool stuck;
	ktime_t due;
};

struct roost_carrier *roost_carrier_alloc(void);
void roost_carrier_free(struct roost_carrier *carrier);
void roost_carrier_begin(struct roost_carrier *carrier,
			 struct roost_worker *worker);
void roost_carrier_end(struct roost_worker *worker);
int roost_carrier_standby(struct roost_domain *domain, u32 *index, u64 *lease);
void roost_carrier_quiesce(struct roost_domain *domain);

void roost_carrier_init(void);
void roost_carrier_exit(void);

#endif /* _ROOST_CARRIER_H */
