/* SPDX-License-Identifier: GPL-2.0 */
/* A worker: rings, a wheel, an idle bit; leased by one thread at a time. */
#ifndef _ROOST_WORKER_H
#define _ROOST_WORKER_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <uapi/linux/roost.h>

#include "region.h"
#include "wheel.h"

struct roost_carrier;
struct roost_domain;

/*
 * A statistics counter: one writer at a time (the lock at the field), read by
 * roost_worker_stat() without it.  One instruction, where the machine has it.
 */
static inline void roost_count(u64 *counter)
{
	/* Read without the lock at any time; a count that is old does no harm. */
	data_race((*counter)++);
}

/**
 * struct roost_worker - a worker
 *
 * Written by whoever has the lock that opens each group:
 *
 * @lock:	lease and sleep
 * @carrier:	the thread (a reference) that has the lease, or NULL
 * @lease:	number of the newest lease
 * @permit:	a wake that came while the carrier was awake
 * @asleep:	the shared words of the current park have not been settled yet
 * @cpu:	where the carrier last went to sleep; read without the lock
 * @reason:	ROOST_OUT_* bits that the wakers of the current park have left
 * @pinned:	the carrier is on its way to sleep or back, or gives up the lease:
 *		nobody takes it.  Cleared by the carrier without the lock.
 * @busy_ns:	how long the next park looks before it sleeps; the carrier's own
 * @hooked:	tells of the carrier's context switches, or NULL
 * @wait:	names the carrier to what wakes synchronously
 *
 * Constant:
 *
 * @domain:	whose it is
 * @index:	its number there
 * @page:	head of the shared mapping
 * @sqes:	submission ring
 * @cqes:	completion ring
 * @sq_entries:	places in @sqes
 * @cq_entries:	places in @cqes
 * @map_size:	of all of these
 * @region:	memory of all of these
 *
 * @sq_mutex:	consumption of the submission ring
 * @sq_head:	entries consumed; the shared copy is never read back
 *
 * @cq_lock:	production into the completion ring
 * @cq_tail:	entries produced; the shared copy is never read back
 * @cq_reserved: places kept for completions that have no node
 * @closed:	the worker's file is gone: completions are dropped
 * @overflow:	struct roost_completion list, waiting for places
 * @nr_overflow: how many
 *
 * @wheel_lock:	all timers whose home this is
 * @wheel:	the timing wheel
 * @hrtimer:	fires at or before the wheel's next expiry, plus the slack
 * @unprogrammed: entries were added since @hrtimer was programmed
 * @programmed:	when @hrtimer will fire at the latest, U64_MAX if it is not
 *		queued
 * @pausing:	@hrtimer is late, so that interrupts do not eat the CPU
 * @park_entry:	deadline of the park
 */
struct roost_worker {
	/*
	 * Lease and sleep; leaf of all our locks but for the scheduler's.  First,
	 * so that its address is the worker's: it is what is taken most.
	 */
	raw_spinlock_t lock ____cacheline_aligned;
	struct task_struct *carrier;
	u64 lease;
	bool permit;
	bool asleep;
	bool pinned;
	u32 reason;
	u32 cpu;
	u32 busy_ns;
	/* private: counters, see struct roost_domain_stat */
	u64 parks;
	u64 parks_busy;
	u64 parks_refused;
	u64 wakes;
	u64 wakes_received;
	u64 wakes_kernel;
	u64 timeouts;
	u64 signals;
	u64 blocked;
	u64 preempted;
	u64 taken;
	u64 starved;
	u64 spun;
	/* public: */
	struct roost_carrier *hooked;
	struct wait_queue_entry wait;

	/* Constant. */
	struct roost_domain *domain ____cacheline_aligned;
	u32 index;
	struct roost_worker_page *page;
	struct roost_sqe *sqes;
	struct roost_cqe *cqes;
	u32 sq_entries;
	u32 cq_entries;
	u32 map_size;
	struct roost_region region;

	/* Consumption of the submission ring. */
	struct mutex sq_mutex ____cacheline_aligned;
	u32 sq_head;
	/* private: counters, see struct roost_domain_stat */
	atomic64_t enters;
	atomic64_t ios_started;
	atomic64_t ios_waited;
	atomic64_t ios_done;
	u64 submitted;
	/* public: */

	/* Production into the completion ring. */
	raw_spinlock_t cq_lock ____cacheline_aligned;
	u32 cq_tail;
	u32 cq_reserved;
	bool closed;
	struct list_head overflow;
	u32 nr_overflow;
	/* private: counters, see struct roost_domain_stat */
	u64 completed;
	u64 overflowed;
	/* public: */

	/* All timers whose home this is. */
	raw_spinlock_t wheel_lock ____cacheline_aligned;
	struct hrtimer hrtimer;
	u64 programmed;
	bool unprogrammed;
	bool pausing;
	struct roost_wheel_entry park_entry;
	/* private: counters, see struct roost_domain_stat */
	u32 timers_pending;
	u64 timers_set;
	u64 timers_moved;
	u64 timers_fired;
	u64 timers_cancelled;
	u64 hrtimer_starts;
	u64 hrtimer_fires;
	/* public: */
	struct roost_wheel wheel;
};

/**
 * roost_worker_carrier() - the thread that has the lease, if it can still run
 * @worker:	the worker; its lock is held
 *
 * Return: the thread, or NULL.
 */
static inline struct task_struct *
roost_worker_carrier(const struct roost_worker *worker)
{
	struct task_struct *task = worker->carrier;

	/* Racy by nature: a thread may begin to exit at any time. */
	if (task && (data_race(task->flags) & PF_EXITING))
		return NULL;
	return task;
}

/**
 * roost_worker_show_lease() - tell the process who may use the worker
 * @worker:	the worker; its lock is held
 * @lease:	number of the lease, 0 for none
 */
static inline void roost_worker_show_lease(struct roost_worker *worker, u64 lease)
{
	/* Who has lost the lease finds a word that it does not expect. */
	WRITE_ONCE(worker->page->in_library, roost_outside(lease));
	WRITE_ONCE(worker->page->preempt, 0);
	WRITE_ONCE(worker->page->lease, lease);
}

int roost_worker_create(struct roost_domain *domain,
			struct roost_worker_params *params,
			void __user *arg, unsigned int cmd);
void roost_worker_free(struct roost_worker *worker);
void roost_worker_stat(struct roost_worker *worker,
		       struct roost_domain_stat *stat);
pid_t roost_worker_tid(struct roost_worker *worker, u64 *lease);
void roost_worker_drop(struct roost_domain *domain, u32 index);
bool roost_worker_carried(const struct roost_domain *domain);
bool roost_worker_file(const struct file *file);

#endif /* _ROOST_WORKER_H */
