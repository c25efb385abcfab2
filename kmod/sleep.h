/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The straight way to sleep and to wake one worker: the inlined half of park.c,
 * whose top draws the protocol.  For ENTER and WAKE, which are called most; what
 * else wakes goes by way of park.h.
 */
#ifndef _ROOST_SLEEP_H
#define _ROOST_SLEEP_H

#include <linux/bitops.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/wait.h>

#include "busywait.h"
#include "domain.h"
#include "park.h"
#include "timeout.h"
#include "trace.h"
#include "worker.h"

static __always_inline unsigned long *shared_idle(const struct roost_domain *domain)
{
	return (unsigned long *)domain->control->idle;
}

/* Clear the worker's idle bit; was it set? */
static __always_inline bool take_idle_bit(struct roost_worker *worker)
{
	return test_and_clear_bit(worker->index, shared_idle(worker->domain));
}

/*
 * End the current park's use of the shared words; once a park, under
 * worker->lock.  True if somebody who then will not call has cleared the bit: a
 * wake received.
 */
static __always_inline bool settle(struct roost_worker *worker,
				   const struct roost_domain *domain, u32 index)
{
	bool idle = test_and_clear_bit(index, shared_idle(domain));

	return xchg(&worker->page->parked, 0) && !idle;
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
 * Claim a parked worker for waking it: true for exactly one caller a park.
 * Under worker->lock; the caller wakes the carrier before it drops that.
 */
static __always_inline bool claim(struct roost_worker *worker, u32 reason)
{
	struct roost_domain *domain = worker->domain;
	u32 index = worker->index;
	bool by_bit;

	if (!test_and_clear_bit(index, domain->parked))
		return false;
	by_bit = settle(worker, domain, index);
	if (by_bit || reason == ROOST_OUT_WAKE)
		receive_wake(worker, by_bit ? ROOST_TRACE_WAKE_BIT :
			     ROOST_TRACE_WAKE_CALL);
	worker->reason |= reason;
	/* All of the above; pairs with the acquire in wake_from_sleep(). */
	smp_store_release(&worker->asleep, false);
	return true;
}

/* Under worker->lock, of a worker that was claimed. */
static __always_inline void wake_carrier(struct roost_worker *worker, bool sync)
{
	if (sync)
		default_wake_function(&worker->wait, TASK_NORMAL,
				      roost_sync_flags, NULL);
	else
		wake_up_process(worker->carrier);
}

/* Nobody sleeps: the wake stays for the next park.  Under worker->lock. */
static __always_inline int leave_permit(struct roost_worker *worker)
{
	if (worker->permit)
		return 0;
	worker->permit = true;
	roost_count(&worker->wakes);
	trace_roost_wake(worker, ROOST_TRACE_WAKE_PERMIT);
	return 1;
}

/* Wake or leave a permit; @sync: the caller is about to sleep. */
static __always_inline int wake_worker(struct roost_worker *worker, bool sync)
{
	int n = -ESRCH;

	raw_spin_lock_irq(&worker->lock);
	if (likely(roost_worker_carrier(worker))) {
		if (likely(claim(worker, ROOST_OUT_WAKE))) {
			wake_carrier(worker, sync);
			raw_spin_unlock_irq(&worker->lock);
			return 1;
		}
		n = leave_permit(worker);
	}
	raw_spin_unlock_irq(&worker->lock);
	return n;
}

/* roost_wake_index(), inlined. */
static __always_inline int wake_index(struct roost_domain *domain, u32 index,
				      bool sync)
{
	struct roost_worker *worker = roost_domain_worker(domain, index);

	/* No event: whom it is for finds it under its own lock. */
	return likely(worker) ? wake_worker(worker, sync) : -ESRCH;
}

/* Under worker->lock, with the task state set. */
static __always_inline bool may_sleep(struct roost_worker *worker, u32 event)
{
	struct roost_domain *domain = worker->domain;
	u32 index = worker->index;

	set_bit(index, domain->parked);
	/*
	 * (B): parked bit and parked word before event counter and idle bit.
	 * Pairs with (A) in roost_domain_event(), and with what the waker does in
	 * user space: a fetch-and, then an exchange.
	 */
	smp_mb__after_atomic();
	if (unlikely(READ_ONCE(domain->control->event) != event)) {
		worker->reason |= ROOST_OUT_EVENT;
		return false;
	}
	return test_bit(index, shared_idle(domain));
}

/*
 * Become parked (1), unless there is a reason not to (0).  The task state is set
 * before a waker can claim us, which takes the lock, so that its wake-up is not lost.
 * From here to the end of wake_from_sleep() the lease cannot be lost; if it has been,
 * by who entered outside the library, that is -ESTALE.
 */
static __always_inline int go_to_sleep(struct roost_worker *worker, u32 event)
{
	raw_spin_lock_irq(&worker->lock);
	if (unlikely(worker->carrier != current)) {
		raw_spin_unlock_irq(&worker->lock);
		return -ESTALE;
	}
	worker->pinned = true;
	WRITE_ONCE(worker->cpu, smp_processor_id());
	worker->reason = 0;
	worker->asleep = true;
	WRITE_ONCE(worker->page->parked, 1);
	if (unlikely(worker->permit)) {
		worker->permit = false;
		worker->reason = ROOST_OUT_WAKE;
	} else {
		__set_current_state(TASK_INTERRUPTIBLE);
		if (likely(may_sleep(worker, event))) {
			roost_count(&worker->parks);
			raw_spin_unlock_irq(&worker->lock);
			return 1;
		}
	}
	roost_count(&worker->parks_refused);
	raw_spin_unlock_irq(&worker->lock);
	return 0;
}

/* Nobody has claimed the park, or is just about to: end it ourselves. */
static noinline void end_park(struct roost_worker *worker)
{
	raw_spin_lock_irq(&worker->lock);
	clear_bit(worker->index, worker->domain->parked);
	if (worker->asleep &&
	    settle(worker, worker->domain, worker->index))
		receive_wake(worker, ROOST_TRACE_WAKE_BIT);
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
	if (unlikely(smp_load_acquire(&worker->asleep)))
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
	/* Pairs with carrier->lock, or the interrupt, in which is_stuck() looks. */
	smp_store_release(&worker->pinned, false);
	return reason;
}

/* (Who comes back from schedule() is in TASK_RUNNING.) */
static __always_inline void sleep(struct roost_worker *worker, u64 deadline)
{
	if (likely(deadline == ROOST_NO_DEADLINE)) {
		schedule();
		return;
	}
	roost_timeout_park(worker, deadline);
	schedule();
	roost_timeout_unpark(worker);
}

/**
 * roost_park() - sleep until a wake, an event, the deadline or a signal
 * @worker:	whose carrier is, or was just now, the current task
 * @deadline:	absolute ns, ROOST_NO_DEADLINE for none
 * @event:	the event counter as the caller last knew it
 *
 * Not counted as waiting for I/O.  The idle bit is clear on return.
 *
 * Context: task, sleeps.  Return: ROOST_OUT_* bits; -ESTALE if it is not the carrier.
 */
static __always_inline int roost_park(struct roost_worker *worker, u64 deadline,
				      u32 event)
{
	int ret = go_to_sleep(worker, event);
	u64 begun;

	if (unlikely(ret <= 0)) {
		if (ret)
			return ret;
		trace_roost_park(worker, deadline, false);
		__set_current_state(TASK_RUNNING);
		return wake_from_sleep(worker, false);
	}
	trace_roost_park(worker, deadline, true);
	begun = roost_busy_begin();
	if (begun && worker->busy_ns)
		roost_busy_wait(worker, begun, deadline);
	/* If the park is over, the task state says the same, but later. */
	if (likely(READ_ONCE(worker->asleep)))
		sleep(worker, deadline);
	else
		__set_current_state(TASK_RUNNING);
	if (begun)
		roost_busy_learn(worker, begun);
	return wake_from_sleep(worker, true);
}

#endif /* _ROOST_SLEEP_H */
