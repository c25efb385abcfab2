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

#include "domain.h"
#include "park.h"
#include "timeout.h"
#include "trace.h"
#include "worker.h"

/* Clear the worker's idle bit; was it set? */
static __always_inline bool take_idle_bit(struct roost_worker *worker)
{
	unsigned long *idle = (unsigned long *)worker->domain->control->idle;

	return test_and_clear_bit(worker->index, idle);
}

/*
 * A wake ends the current park.  Under worker->lock.  A second one before the
 * carrier runs adds nothing and counts as none, as does one that meets a permit.
 */
static __always_inline void receive_wake(struct roost_worker *worker,
					 enum roost_wake_kind kind)
{
	if (worker->reason & ROOST_OUT_WAKE)
		return;
	worker->reason |= ROOST_OUT_WAKE;
	roost_count(&worker->wakes);
	trace_roost_wake(worker, kind);
}

/*
 * End the current park's use of the shared words; once a park, under
 * worker->lock.  A bit that was cleared by somebody who then will not call is
 * a wake received.
 */
static __always_inline void settle(struct roost_worker *worker)
{
	bool idle, parked;

	idle = take_idle_bit(worker);
	parked = xchg(&worker->page->parked, 0);
	if (!idle && parked)
		receive_wake(worker, ROOST_TRACE_WAKE_BIT);
}

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

/*
 * Claim a parked worker for waking it: true for exactly one caller a park.
 * Under worker->lock; the caller wakes the carrier before it drops that.
 */
static __always_inline bool claim(struct roost_worker *worker, u32 reason)
{
	if (!test_and_clear_bit(worker->index, worker->domain->parked))
		return false;
	settle(worker);
	if (reason == ROOST_OUT_WAKE)
		receive_wake(worker, ROOST_TRACE_WAKE_CALL);
	else
		worker->reason |= reason;
	/* All of the above; pairs with the acquire in wake_from_sleep(). */
	smp_store_release(&worker->asleep, false);
	return true;
}

/* What __wake_up_sync_key() tells the functions of a wait queue. */
static int sync_flags __ro_after_init;

static int __init learn_sync_flags(struct wait_queue_entry *entry,
				   unsigned int mode, int flags, void *key)
{
	sync_flags = flags;
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

/* Under worker->lock, of a worker that was claimed. */
static void wake_carrier(struct roost_worker *worker, bool sync)
{
	default_wake_function(&worker->wait, TASK_NORMAL,
			      sync ? sync_flags : 0, NULL);
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

/* The parked worker with the highest index, or NULL. */
static struct roost_worker *last_parked(struct roost_domain *domain)
{
	unsigned long bit = find_last_bit(domain->parked, ROOST_MAX_WORKERS);

	return bit < ROOST_MAX_WORKERS ? roost_domain_worker(domain, bit) : NULL;
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
		worker = last_parked(home->domain);
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

/* Wake or leave a permit; @sync: the caller is about to sleep. */
static __always_inline int wake_worker(struct roost_worker *worker, bool sync)
{
	int n = 0;

	raw_spin_lock_irq(&worker->lock);
	if (!roost_worker_carrier(worker)) {
		n = -ESRCH;
	} else if (claim(worker, ROOST_OUT_WAKE)) {
		n = 1;
		wake_carrier(worker, sync);
	} else {
		n = !worker->permit;
		worker->permit = true;
		if (n) {
			roost_count(&worker->wakes);
			trace_roost_wake(worker, ROOST_TRACE_WAKE_PERMIT);
		}
	}
	raw_spin_unlock_irq(&worker->lock);
	return n;
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
	struct roost_worker *worker = roost_domain_worker(domain, index);

	/* No event: whom it is for finds it under its own lock. */
	return worker ? wake_worker(worker, sync) : -ESRCH;
}

static int wake_one(struct roost_domain *domain, bool sync)
{
	struct roost_worker *worker;
	u32 tries = ROOST_MAX_WORKERS;
	unsigned long irq;
	bool woken;

	roost_domain_event(domain);
	while (tries--) {
		worker = last_parked(domain);
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
 * Context: task.  Return: how many workers were woken or given a permit;
 * -EINVAL; -ESRCH.
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
	default:
		return -EINVAL;
	}
}

/* Is there a reason not to sleep?  After (B), under worker->lock. */
static __always_inline bool must_not_sleep(struct roost_worker *worker, u32 event)
{
	struct roost_control *control = worker->domain->control;
	unsigned long *idle = (unsigned long *)control->idle;

	if (READ_ONCE(control->event) != event) {
		worker->reason |= ROOST_OUT_EVENT;
		return true;
	}
	return !test_bit(worker->index, idle);
}

/*
 * Become parked, unless there is a reason not to.  The task state is set before
 * a waker can claim us, so that its wake-up is not lost.
 */
static __always_inline bool go_to_sleep(struct roost_worker *worker, u32 event)
{
	bool sleep = false;

	raw_spin_lock_irq(&worker->lock);
	worker->reason = 0;
	worker->asleep = true;
	xchg(&worker->page->parked, 1);
	if (worker->permit) {
		worker->permit = false;
		worker->reason |= ROOST_OUT_WAKE;
	} else {
		set_current_state(TASK_INTERRUPTIBLE);
		set_bit(worker->index, worker->domain->parked);
		/*
		 * (B): parked bit and parked word before event counter and
		 * idle bit.  Pairs with (A) in roost_domain_event(), and with
		 * the waker's fetch-and and exchange in user space.
		 */
		smp_mb();
		sleep = !must_not_sleep(worker, event);
	}
	if (sleep)
		roost_count(&worker->parks);
	else
		roost_count(&worker->parks_refused);
	raw_spin_unlock_irq(&worker->lock);
	return sleep;
}

/* Nobody has claimed the park, or is just about to: end it ourselves. */
static void end_park(struct roost_worker *worker)
{
	raw_spin_lock_irq(&worker->lock);
	clear_bit(worker->index, worker->domain->parked);
	if (worker->asleep)
		settle(worker);
	worker->asleep = false;
	raw_spin_unlock_irq(&worker->lock);
}

/*
 * Awake again: take back what is left of the park, see what ended it.  The
 * counters here are written by the carrier alone.
 */
static __always_inline u32 wake_from_sleep(struct roost_worker *worker,
					   bool slept)
{
	u32 reason;

	/* Pairs with the release in claim(): then all of it is done. */
	if (smp_load_acquire(&worker->asleep))
		end_park(worker);
	reason = worker->reason;
	if (reason & ROOST_OUT_WAKE)
		roost_count(&worker->wakes_received);
	if (reason & ROOST_OUT_TIMEOUT)
		roost_count(&worker->timeouts);
	if (slept)
		reason |= ROOST_OUT_SLEPT;
	if (unlikely(signal_pending(current))) {
		if (!(reason & ~ROOST_OUT_SLEPT))
			roost_count(&worker->signals);
		reason |= ROOST_OUT_SIGNAL;
	}
	trace_roost_unpark(worker, reason);
	return reason;
}

/**
 * roost_park_skip() - a park was asked for and has to wait
 * @worker:	whose carrier is the current task
 * @outcome:	ROOST_OUT_WAKE is added if somebody has cleared the idle bit
 *
 * The idle bit is clear on return, as after a park.
 */
void roost_park_skip(struct roost_worker *worker, u32 *outcome)
{
	raw_spin_lock_irq(&worker->lock);
	roost_count(&worker->parks_refused);
	trace_roost_park(worker, ROOST_NO_DEADLINE, false);
	if (!take_idle_bit(worker)) {
		/* page->parked was 0 all the time: no call will follow. */
		roost_count(&worker->wakes);
		trace_roost_wake(worker, ROOST_TRACE_WAKE_BIT);
		roost_count(&worker->wakes_received);
		*outcome |= ROOST_OUT_WAKE;
	}
	raw_spin_unlock_irq(&worker->lock);
}

/**
 * roost_park() - sleep until a wake, an event, the deadline or a signal
 * @worker:	whose carrier is the current task; nobody else can change that
 * @deadline:	absolute ns, ROOST_NO_DEADLINE for none
 * @event:	the event counter as the caller last knew it
 *
 * Not counted as waiting for I/O.  The idle bit is clear on return.
 *
 * Context: task, sleeps.  Return: ROOST_OUT_* bits.
 */
u32 roost_park(struct roost_worker *worker, u64 deadline, u32 event)
{
	bool timed = deadline != ROOST_NO_DEADLINE;
	bool sleep;

	sleep = go_to_sleep(worker, event);
	trace_roost_park(worker, deadline, sleep);
	if (sleep && timed)
		roost_timeout_park(worker, deadline);
	if (sleep)
		schedule();
	__set_current_state(TASK_RUNNING);
	if (sleep && timed)
		roost_timeout_unpark(worker);

	return wake_from_sleep(worker, sleep);
}
