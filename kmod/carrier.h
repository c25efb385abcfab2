/* SPDX-License-Identifier: GPL-2.0 */
/* Carriers as the scheduler sees them: who is on a CPU, and who is blocked. */
#ifndef _ROOST_CARRIER_H
#define _ROOST_CARRIER_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "compat.h"
#include "worker.h"

struct roost_domain;
struct task_struct;

/**
 * struct roost_carrier - a thread that is told of its own context switches
 * @notifier:	in the thread's list, which only the thread itself may change
 * @task:	the thread; looked into only while a lease keeps it, or while it is
 *		a standby itself
 * @ref:	one of the notifier, until the thread has unhooked it or is dead;
 *		one of the lease (roost_worker.hooked); one of a @poke that is on
 *		its way
 * @dead:	from the last switch of the thread to @rcu
 * @rcu:	until nobody walks the thread's list any more
 * @node:	in roost_domain.standbys; guarded by roost_domain.standby_lock
 * @given:	the standby has got a lease; under the same lock
 * @dismissed:	it was sent away; under the same lock
 * @index:	of its worker, once @given
 * @lease:	number of the lease; constant while @worker is set
 * @grace:	fires when the thread has been blocked for the grace time
 * @poke:	interrupts the CPU on which the thread spins
 * @lock:	guards what follows, and the worker's bits in the masks: the
 *		innermost lock of all, taken under the scheduler's
 * @worker:	whose lease the thread has, NULL once that has ended
 * @stuck:	blocked, and may lose the lease at @due
 * @due:	when, by CLOCK_MONOTONIC
 * @cpu:	on which the thread runs, -1 if on none; and what follows: while
 *		@worker is set
 * @blocked:	asleep elsewhere than in a park, inside the library or outside
 * @active:	runs, or waits for a CPU
 * @fresh:	the tick has not seen it since it was not active
 * @starved:	was stuck, and there was no standby; told once
 * @resumes:	what the tick saw of roost_worker_page.resumes
 * @parks:	and of the worker's parks, which need not have left the CPU
 * @since:	when it saw both first, or no work waited
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
	bool dismissed;
	u32 index;
	u64 lease;

	struct hrtimer grace;
	struct __call_single_data poke;
	/* Guards what follows. */
	raw_spinlock_t lock;
	struct roost_worker *worker;
	bool stuck;
	bool blocked;
	bool active;
	bool fresh;
	bool starved;
	int cpu;
	u32 resumes;
	u64 parks;
	ktime_t due;
	ktime_t since;
};

/**
 * roost_carrier_inside() - is a carrier inside the library?
 * @carrier:	its lock is held, and it has a lease
 *
 * Its word counts while it does not run, or we have interrupted it: who goes inside
 * later finds another word, if it was displaced.
 */
static inline bool roost_carrier_inside(const struct roost_carrier *carrier)
{
	return READ_ONCE(carrier->worker->page->in_library) ==
	       roost_inside(carrier->lease);
}

struct roost_carrier *roost_carrier_alloc(const struct roost_domain *domain);
void roost_carrier_free(struct roost_carrier *carrier);
void roost_carrier_begin(struct roost_carrier *carrier,
			 struct roost_worker *worker);
void roost_carrier_end(struct roost_worker *worker);
bool roost_carrier_blocked(struct roost_worker *worker);

/* For takeover.c. */
void roost_carrier_put(struct roost_carrier *carrier);
void roost_carrier_hook(struct roost_carrier *carrier);
void roost_carrier_unhook(struct roost_carrier *carrier);
void roost_carrier_tell(struct roost_carrier *carrier);
void roost_carrier_tell_nothing(const struct roost_worker *worker);

bool roost_carriers(void);
void roost_carrier_domain(struct roost_domain *domain);
void roost_carrier_exit(void);

#endif /* _ROOST_CARRIER_H */
