// SPDX-License-Identifier: GPL-2.0
/*
 * Going to sleep and being woken.
 *
 * Three kinds of wakers race with a carrier that goes to sleep.
 *
 * 1. The kernel, with a completion:
 *
 *	carrier				waker
 *
 *	sample = event (user space)
 *	look at all rings, nothing
 *	set bit in domain->parked	post the completion
 *	(B) full barrier		event++
 *	event != sample: don't sleep	(A) full barrier
 *	schedule()			look for a bit in domain->parked
 *
 *    Not finding the bit and not seeing the new count at once is impossible.
 *
 * 2. A thread of the process, which has published work in its own queues: it
 *    clears the worker's bit in the shared idle mask, then exchanges
 *    page->parked with 0, both full barriers, and calls ROOST_IOC_WAKE only if
 *    that was 1.
 *
 *	set page->parked		clear the idle bit
 *	(B) full barrier		exchange page->parked with 0
 *	idle bit clear: don't sleep	was 1: ROOST_IOC_WAKE
 *
 *    Whoever of carrier and waker gets the 1 out of page->parked decides how
 *    the wake travels: if the carrier gets it, the cleared bit itself is the
 *    wake; if the waker gets it, the wake comes as a call, and ends this park
 *    or, when that is over already, is kept as the permit.  So each wake ends
 *    exactly one park, and none ends two.
 *
 * 3. ROOST_IOC_WAKE: under worker->lock it finds the carrier parked, or leaves
 *    the permit, which the carrier looks for under the same lock.
 *
 * The bit in domain->parked is the claim: who clears it (always under
 * worker->lock) is the one who wakes, and settles the shared words.  They are
 * advice: a process that writes nonsense there sleeps too long or too short.
 */
#include <linux/bitops.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>

#include "choose.h"
#include "domain.h"
#include "park.h"
#include "sleep.h"
#include "takeover.h"
#include "trace.h"
#include "worker.h"

/**
 * roost_park_clear() - nobody is idle here
 * @worker:	a worker whose carrier comes or goes
 *
 * Clears the shared words, for a lease that begins or ends.
 */
void roost_park_clear(struct roost_worker *worker)
{
	take_idle_bit(worker);
	xchg(&worker->page->parked, 0);
}

int roost_sync_flags __ro_after_init;

static int __init learn_sync_flags(struct wait_queue_entry *entry,
				   unsigned int mode, int flags, void *key)
{
	roost_sync_flags = flags;
	return 0;
}

/**
 * roost_park_init() - module init
 *
 * A synchronous wake-up is to be had through wait queues alone, whose locks
 * sleep under PREEMPT_RT and cost much.  The entry's function itself needs no
 * queue, only to be told what a queue would tell it.
 */
void __init roost_park_init(void)
{
	DECLARE_WAIT_QUEUE_HEAD_ONSTACK(queue);
	struct wait_queue_entry entry;

	init_waitqueue_func_entry(&entry, learn_sync_flags);
	add_wait_queue(&queue, &entry);
	__wake_up_sync_key(&queue, TASK_NORMAL, NULL);
	remove_wait_queue(&queue, &entry);
}

/* Wake a worker because there is a completion.  Any context. */
static bool wake_parked(struct roost_worker *worker, u32 reason)
{
	unsigned long irq;
	bool woken;

	/* A hint that saves the lock; claim() decides.  After (A). */
	if (!test_bit(worker->index, worker->domain->parked))
		return false;
	raw_spin_lock_irqsave(&worker->lock, irq);
	woken = claim(worker, reason);
	if (woken && reason == ROOST_OUT_EVENT)
		roost_count(&worker->wakes_kernel);
	if (woken) {
		trace_roost_wake(worker, reason == ROOST_OUT_EVENT ?
				 ROOST_TRACE_WAKE_EVENT :
				 ROOST_TRACE_WAKE_TIMEOUT);
		wake_up_process(worker->carrier);
	}
	raw_spin_unlock_irqrestore(&worker->lock, irq);
	return woken;
}

/**
 * roost_wake_for() - a completion was posted: wake one worker
 * @home:	the worker in whose ring it is
 *
 * The event counter was raised since.  Wakes @home if it sleeps, else another
 * that does; if none does, they will see the counter.
 *
 * Context: any, also hard irq.
 */
void roost_wake_for(struct roost_worker *home)
{
	struct roost_worker *worker = home;
	u32 tries = ROOST_MAX_WORKERS;

	if (!roost_domain_parked(home->domain))
		return;
	/* Each failed try means that somebody else has woken that worker. */
	while (worker && tries--) {
		if (wake_parked(worker, ROOST_OUT_EVENT))
			return;
		worker = roost_choose_parked(home->domain);
	}
}

/**
 * roost_park_expire() - the deadline of a park has passed
 * @worker:	whose
 *
 * Context: any; worker->wheel_lock held, so that the park which the deadline
 * belongs to cannot end and another begin meanwhile.
 * Return: true if that ended the park.
 */
bool roost_park_expire(struct roost_worker *worker)
{
	lockdep_assert_held(&worker->wheel_lock);
	return wake_parked(worker, ROOST_OUT_TIMEOUT);
}

/**
 * roost_wake_index() - wake a given worker, or leave it a permit
 * @domain:	the domain
 * @index:	any value
 * @sync:	the caller is about to sleep
 *
 * Context: task.  Return: 1; 0 if it had a permit already; -ESRCH if there is
 * no such worker, or it has no carrier.
 */
int roost_wake_index(struct roost_domain *domain, u32 index, bool sync)
{
	return wake_index(domain, index, sync);
}

static int wake_one(struct roost_domain *domain, bool sync)
{
	struct roost_worker *worker;
	u32 tries = ROOST_MAX_WORKERS;
	unsigned long irq;
	bool woken;

	roost_domain_event(domain);
	while (tries--) {
		worker = roost_choose_parked(domain);
		if (!worker)
			return 0;
		raw_spin_lock_irqsave(&worker->lock, irq);
		woken = claim(worker, ROOST_OUT_WAKE);
		if (woken)
			wake_carrier(worker, sync);
		raw_spin_unlock_irqrestore(&worker->lock, irq);
		if (woken)
			return 1;
	}
	return 0;
}

static int wake_all(struct roost_domain *domain)
{
	struct roost_worker *worker;
	int n = 0;
	u32 i;

	roost_domain_event(domain);
	for (i = 0; i < ROOST_MAX_WORKERS; i++) {
		worker = roost_domain_worker(domain, i);
		if (!worker)
			break;
		n += wake_worker(worker, false) > 0;
	}
	return n;
}

/**
 * roost_wake() - ROOST_IOC_WAKE
 * @domain:	the domain
 * @flags:	ROOST_WAKE_* bits
 * @index:	for ROOST_WAKE_INDEX
 *
 * Context: task.  Return: how many workers were woken or given a permit, or how many
 * standbys; -EINVAL; -ESRCH.
 */
int roost_wake(struct roost_domain *domain, u32 flags, u32 index)
{
	bool sync = flags & ROOST_WAKE_SYNC;

	if (index && !(flags & ROOST_WAKE_INDEX))
		return -EINVAL;
	switch (flags & ~ROOST_WAKE_SYNC) {
	case ROOST_WAKE_ONE:
		return wake_one(domain, sync);
	case ROOST_WAKE_INDEX:
		return roost_wake_index(domain, index, sync);
	case ROOST_WAKE_ALL:
		return sync ? -EINVAL : wake_all(domain);
	case ROOST_WAKE_DISMISS:
		return sync ? -EINVAL : roost_takeover_dismiss(domain);
	default:
		return -EINVAL;
	}
}

/**
 * roost_park_skip() - a park was asked for and has to wait
 * @worker:	whose carrier is, or was just now, the current task
 *
 * The idle bit is clear on return, as after a park.
 *
 * Return: ROOST_OUT_WAKE if somebody has cleared the idle bit, else 0; -ESTALE.
 */
int roost_park_skip(struct roost_worker *worker)
{
	int outcome = 0;

	raw_spin_lock_irq(&worker->lock);
	if (unlikely(worker->carrier != current)) {
		outcome = -ESTALE;
		goto unlock;
	}
	roost_count(&worker->parks_refused);
	trace_roost_park(worker, ROOST_NO_DEADLINE, false);
	if (!take_idle_bit(worker)) {
		/* page->parked was 0 all the time: no call will follow. */
		roost_count(&worker->wakes);
		trace_roost_wake(worker, ROOST_TRACE_WAKE_BIT);
		roost_count(&worker->wakes_received);
		outcome = ROOST_OUT_WAKE;
	}
unlock:
	raw_spin_unlock_irq(&worker->lock);
	return outcome;
}
