/* SPDX-License-Identifier: GPL-2.0 */
/* A domain: the kernel's half of one runtime. */
#ifndef _ROOST_DOMAIN_H
#define _ROOST_DOMAIN_H

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/llist.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include <uapi/linux/roost.h>

#include "limits.h"
#include "queue.h"
#include "region.h"
#include "table.h"
#include "watch.h"

struct files_struct;
struct pid;
struct roost_worker;
struct user_namespace;

/**
 * struct roost_domain - a domain
 * @ref:	held by the domain's file and by each worker's file
 * @tgid:	thread group of the owner (a reference); constant
 * @mm:		address space of the owner, only ever compared; constant.
 *		@notifier keeps the struct alive.
 * @files:	file table of the owner, only ever compared; constant
 * @notifier:	tells when @mm goes (exit, exec)
 * @tick_shift:	of every wheel; constant
 * @carriers:	the carriers are watched; constant
 * @slack_ns:	how much later than that deadlines may be noticed; constant
 * @id:		its number in the registry, 0 until it has one; then constant
 * @owner:	effective uid of the owner, once @id is not 0; constant
 * @user_ns:	in which that is (a reference); constant
 * @time_offset: ns that CLOCK_MONOTONIC of the owner's time namespace is ahead;
 *		constant
 * @charge:	what it counts against the limits of its owner
 * @dead:	1 once the owner has gone: nothing works any more
 * @control:	the control page
 * @control_region: its memory
 * @events:	events words of multishot polls, one a poll index
 * @events_region: their memory
 * @watch:	who polls the domain's file
 * @parked:	which workers are asleep.  A set bit is a claim: who clears it
 *		wakes that worker.  Set and cleared atomically.
 * @standby_lock: guards @standbys, @nr_standbys and their roost_carrier.given;
 *		within worker->lock
 * @standbys:	struct roost_carrier that wait for a worker
 * @nr_standbys: how many
 * @starved:	workers that a standby should look at
 * @starving:	tells listeners of those in @told
 * @told:	workers that were starved since it ran
 * @has_standbys: 1 once there has been one
 * @dismissed:	1 once nobody stands by any more (ROOST_WAKE_DISMISS)
 * @ticking:	1 while @tick is queued, or its handler will be
 * @tick:	looks for carriers that spin
 * @mutex:	guards @workers and @nr_workers against creation, and every
 *		worker's carrier against attach and detach
 * @workers:	published with release, read with acquire; stay until the end
 * @nr_workers:	indices given out
 * @timers:	struct roost_timer_op by index
 * @polls:	struct roost_poll_op by index
 * @ios:	struct roost_io by index
 * @files_table: registered files by number
 * @no_io:	I/O in the ring is turned off; constant
 * @ready_lock:	guards @ready and @nr_ready
 * @ready:	I/O ops that wait to be carried out
 * @nr_ready:	how many
 * @dead_files:	struct roost_file that a task has to free
 * @files_registered: registered files now
 * @reap:	poll ops that have fired and are still hooked into their files
 * @polls_armed: poll ops armed now
 * @polls_added: statistics
 * @polls_fired: statistics
 * @polls_removed: statistics
 */
struct roost_domain {
	struct kref ref;
	struct pid *tgid;
	struct mm_struct *mm;
	struct files_struct *files;
	struct mmu_notifier notifier;
	u32 dead;
	u32 tick_shift;
	bool carriers;
	u64 slack_ns;
	s64 time_offset;

	u32 id;
	kuid_t owner;
	struct user_namespace *user_ns;

	struct roost_control *control;
	atomic_t *events;
	struct roost_region control_region;
	struct roost_region events_region;
	struct roost_watch watch;
	struct roost_charge charge;

	DECLARE_BITMAP(parked, ROOST_MAX_WORKERS) ____cacheline_aligned;

	/* Guards the list. */
	raw_spinlock_t standby_lock;
	struct list_head standbys;
	u32 nr_standbys;
	DECLARE_BITMAP(starved, ROOST_MAX_WORKERS);
	DECLARE_BITMAP(told, ROOST_MAX_WORKERS);
	struct delayed_work starving;
	u32 has_standbys;
	u32 dismissed;
	u32 ticking;
	struct hrtimer tick;

	/* Creation of workers; attach and detach. */
	struct mutex mutex ____cacheline_aligned;
	struct roost_worker *workers[ROOST_MAX_WORKERS];
	u32 nr_workers;

	struct roost_table timers;
	struct roost_table polls;
	struct roost_table ios;
	struct roost_table files_table;
	bool no_io;

	/* Guards the two that follow; taken in wake-up callbacks. */
	raw_spinlock_t ready_lock ____cacheline_aligned;
	struct roost_queue ready;
	u32 nr_ready;
	struct llist_head dead_files;
	atomic_t files_registered;

	struct llist_head reap ____cacheline_aligned;

	atomic_t polls_armed;
	atomic64_t polls_added;
	atomic64_t polls_fired;
	atomic64_t polls_removed;
};

/*
 * Is any worker asleep?  Comes after a full barrier, such as (A), if the answer
 * matters.
 */
static inline bool roost_domain_parked(const struct roost_domain *domain)
{
	unsigned long any = 0;
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(ROOST_MAX_WORKERS); i++)
		any |= READ_ONCE(domain->parked[i]);
	return any;
}

/* What every domain can do, and what can be turned off. */
#define ROOST_FEATURES (ROOST_FEAT_TIMER | ROOST_FEAT_POLL | \
			ROOST_FEAT_MULTISHOT | ROOST_FEAT_SYNC_WAKE | \
			ROOST_FEAT_IO | ROOST_FEATURES_CARRIERS)
#define ROOST_FEATURES_CARRIERS (ROOST_FEAT_CARRIERS | ROOST_FEAT_STANDBY)

int roost_domain_create(struct roost_domain_params *params,
			void __user *arg, unsigned int cmd);
void roost_domain_flush(struct roost_domain *domain, fl_owner_t id);
void roost_domain_get(struct roost_domain *domain);
void roost_domain_put(struct roost_domain *domain);
bool roost_domain_file(const struct file *file);
u64 roost_features(void);
u64 roost_domain_features(const struct roost_domain *domain);
void roost_domain_stat(struct roost_domain *domain,
		       struct roost_domain_stat *stat);

/**
 * roost_domain_check() - may the current task use this domain?
 * @domain:	the domain
 *
 * Return: 0; -EPERM for another thread group, address space or file table;
 * -ESHUTDOWN if the owner has begun to go.
 */
static inline int roost_domain_check(const struct roost_domain *domain)
{
	if (current->mm != domain->mm || current->files != domain->files ||
	    task_tgid(current) != domain->tgid)
		return -EPERM;
	return READ_ONCE(domain->dead) ? -ESHUTDOWN : 0;
}

/**
 * roost_domain_worker() - a worker by an index that user space chose
 * @domain:	the domain
 * @index:	any value
 *
 * Context: any.  Return: the worker or NULL.
 */
static inline struct roost_worker *
roost_domain_worker(struct roost_domain *domain, u32 index)
{
	if (index >= ROOST_MAX_WORKERS)
		return NULL;
	/*
	 * As array_index_nospec(), for one instruction: the compiler must not
	 * know that this changes nothing.
	 */
	BUILD_BUG_ON_NOT_POWER_OF_2(ROOST_MAX_WORKERS);
	OPTIMIZER_HIDE_VAR(index);
	index &= ROOST_MAX_WORKERS - 1;
	/* Pairs with the release in publish(). */
	return smp_load_acquire(&domain->workers[index]);
}

/*
 * Raise the event counter: something that a worker on its way to sleep cannot
 * see has happened.  Comes after it was published, and before parked workers
 * are looked for: the full barriers (A) order both and pair with (B) in
 * may_sleep(), so that either we find the worker parked or it finds the
 * counter changed; and who has sampled the new count finds what was published.
 */
static inline void roost_domain_event(struct roost_domain *domain)
{
	smp_mb__before_atomic(); /* pairs with the acquire of who samples */
	atomic_inc((atomic_t *)&domain->control->event);
	smp_mb__after_atomic(); /* (A), pairs with (B) in may_sleep() */
	roost_watch_notify(&domain->watch);
}

#endif /* _ROOST_DOMAIN_H */
