// SPDX-License-Identifier: GPL-2.0
/*
 * ROOST_IOC_ENTER: submit, wake and sleep in one call.
 */
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "args.h"
#include "compat.h"
#include "domain.h"
#include "enter.h"
#include "file.h"
#include "io.h"
#include "op.h"
#include "park.h"
#include "poll.h"
#include "ring.h"
#include "sleep.h"
#include "timeout.h"
#include "worker.h"

/* Entries copied at a time, on the stack. */
#define FETCH_BATCH	16

/* What of a call's structure counts. */
struct call {
	u32 flags;
	u32 to_submit;
	u64 deadline;
	u32 event;
	u32 wake;
	u64 zero;	/* all that must be zero, ORed */
};

/* What is returned; in a register, so that nobody takes its address. */
struct done {
	u32 submitted;
	u32 outcome;
};

static __always_inline int check_args(const struct call *call)
{
	/* In one test. */
	if (unlikely(call->zero |
		     (call->flags & ~(ROOST_ENTER_PARK | ROOST_ENTER_WAKE))))
		return -EINVAL;
	if (call->flags & ROOST_ENTER_PARK) {
		if (unlikely(call->deadline > ROOST_MAX_DEADLINE) &&
		    call->deadline != ROOST_NO_DEADLINE)
			return -EINVAL;
	} else if (call->deadline || call->event) {
		return -EINVAL;
	}
	if (call->wake && unlikely(!(call->flags & ROOST_ENTER_WAKE)))
		return -EINVAL;
	return 0;
}

/* Carry out a batch.  Returns true if any of it completed. */
static bool execute(struct roost_worker *worker, const struct roost_sqe *sqes,
		    u32 n, u32 reserved)
{
	bool posted = false;
	u32 used = 0, i;

	for (i = 0; i < n;) {
		/* Timers are what comes in crowds. */
		if (sqes[i].opcode == ROOST_OP_TIMER_SET)
			i += roost_timer_set_batch(worker, &sqes[i], n - i);
		if (i == n)
			break;
		used += roost_op_execute(worker, &sqes[i++], &posted);
	}
	roost_timeout_program(worker);
	if (reserved > used)
		roost_cq_unreserve(worker, reserved - used);
	return posted;
}

/* Something was completed into this worker's ring, by us. */
static void announce(struct roost_worker *worker)
{
	roost_domain_event(worker->domain);
	/* The carrier is here and will see to its ring itself. */
	if (READ_ONCE(worker->carrier) != current)
		roost_wake_for(worker);
}

/* Carry out what I/O is ready, whoever submitted it. */
static __always_inline void run_io(struct roost_worker *worker)
{
	if (READ_ONCE(worker->domain->nr_ready) && roost_io_run(worker))
		announce(worker);
}

/*
 * Consume up to @to_submit entries, but no more than a ring full, so that a
 * process which goes on filling the ring meanwhile cannot keep us here.  The
 * outcome is ROOST_OUT_CQ_FULL if not all that was asked for, or all there is, was
 * consumed.
 */
static __always_inline struct done
submit(struct roost_worker *worker, u32 to_submit)
{
	u32 todo = min(to_submit, worker->sq_entries);
	struct roost_sqe sqes[FETCH_BATCH] roost_uninitialized;
	struct done done = { 0 };
	u32 n, reserved;
	bool posted = false;

	while (done.submitted < todo) {
		n = roost_sq_fetch(worker, sqes,
				   min_t(u32, todo - done.submitted,
					 FETCH_BATCH),
				   &reserved);
		if (!n)
			break;
		posted |= execute(worker, sqes, n, reserved);
		done.submitted += n;
		if (fatal_signal_pending(current))
			break;
		cond_resched();
	}
	if (posted)
		announce(worker);
	if (done.submitted < todo && roost_sq_pending(worker))
		done.outcome = ROOST_OUT_CQ_FULL;
	return done;
}

/*
 * Is there anything to do before the call wakes and sleeps?  What there is besides
 * submissions are hints: what comes later is an event, and looked at then.
 */
static __always_inline bool busy(const struct roost_worker *worker, u32 to_submit)
{
	const struct roost_domain *domain = worker->domain;

	return to_submit | READ_ONCE(domain->nr_ready) |
	       READ_ONCE(worker->nr_overflow) |
	       (unsigned long)READ_ONCE(domain->reap.first) |
	       (unsigned long)READ_ONCE(domain->dead_files.first);
}

static noinline struct done work(struct roost_worker *worker, u32 to_submit)
{
	struct roost_domain *domain = worker->domain;
	struct done done = { 0 };
	u32 outcome = 0;

	if (unlikely(!llist_empty(&domain->reap)))
		roost_poll_reap(domain);
	if (unlikely(!llist_empty(&domain->dead_files)))
		roost_file_reap(domain);
	if (unlikely(READ_ONCE(worker->nr_overflow)) && roost_cq_flush(worker))
		outcome = ROOST_OUT_CQ_FULL;
	if (to_submit)
		done = submit(worker, to_submit);
	run_io(worker);
	done.outcome |= outcome;
	return done;
}

/* Sleep; what has ended the park may be I/O that is ready now. */
static __always_inline int park(struct roost_worker *worker,
				const struct call *call)
{
	int reason = roost_park(worker, call->deadline, call->event);

	run_io(worker);
	return reason;
}

/* A signal, and nothing else. */
static __always_inline bool interrupted(int reason)
{
	return unlikely(!(reason & (ROOST_OUT_WAKE | ROOST_OUT_EVENT |
				    ROOST_OUT_TIMEOUT))) &&
	       reason & ROOST_OUT_SIGNAL;
}

/* Only the two fields that are for the caller, which are neighbours. */
static __always_inline int put_results(void __user *arg, struct done done)
{
	struct roost_enter __user *to = arg;

	if (!user_access_begin(to, sizeof(*to)))
		return -EFAULT;
	unsafe_put_user(done.submitted, &to->submitted, fault);
	unsafe_put_user(done.outcome, &to->outcome, fault);
	user_access_end();
	return 0;
fault:
	user_access_end();
	return -EFAULT;
}

static __always_inline int enter(struct roost_worker *worker,
				 const struct call *call, void __user *arg)
{
	bool parks = call->flags & ROOST_ENTER_PARK;
	struct done done = { 0 };
	bool stay = false;
	int ret, put;

	ret = check_args(call);
	if (unlikely(ret))
		return ret;
	if (parks && unlikely(READ_ONCE(worker->carrier) != current))
		return -EPERM;

	atomic64_inc(&worker->enters);
	if (busy(worker, call->to_submit)) {
		done = work(worker, call->to_submit);
		/* I/O that is ready is nothing to sleep through. */
		stay = done.outcome & ROOST_OUT_CQ_FULL ||
		       READ_ONCE(worker->domain->nr_ready);
	}
	if (call->flags & ROOST_ENTER_WAKE &&
	    unlikely(wake_index(worker->domain, call->wake, parks) < 0))
		done.outcome |= ROOST_OUT_NO_TARGET;
	if (parks) {
		int reason = unlikely(stay) ? roost_park_skip(worker) :
					      park(worker, call);

		if (unlikely(reason < 0)) {
			ret = reason;
		} else {
			done.outcome |= reason;
			if (interrupted(reason))
				ret = -EINTR;
		}
	}
	put = put_results(arg, done);
	return put ?: ret;
}

/**
 * roost_enter() - ROOST_IOC_ENTER, from who knows its structure as we do
 * @worker:	on whose file it was called; the caller belongs to its domain
 * @arg:	struct roost_enter
 *
 * Each field is read once, into a register most of the time.
 *
 * Context: task, sleeps.  Return: 0 or -EINVAL, -EFAULT, -EPERM, -ESTALE, -EINTR.
 */
long roost_enter(struct roost_worker *worker, void __user *arg)
{
	const struct roost_enter __user *from = arg;
	struct call call;
	u64 more;

	if (!user_access_begin(from, sizeof(*from)))
		return -EFAULT;
	unsafe_get_user(call.flags, &from->flags, fault);
	unsafe_get_user(call.to_submit, &from->to_submit, fault);
	unsafe_get_user(call.deadline, &from->deadline, fault);
	unsafe_get_user(call.event, &from->event, fault);
	unsafe_get_user(call.wake, &from->wake, fault);
	/* submitted and outcome */
	unsafe_get_user(call.zero, (const u64 __user *)&from->submitted, fault);
	unsafe_get_user(more, &from->reserved[0], fault);
	call.zero |= more;
	unsafe_get_user(more, &from->reserved[1], fault);
	call.zero |= more;
	user_access_end();
	return enter(worker, &call, arg);
fault:
	user_access_end();
	return -EFAULT;
}

/**
 * roost_enter_sized() - ROOST_IOC_ENTER, from anybody else
 * @worker:	as for roost_enter()
 * @arg:	struct roost_enter of another size
 * @cmd:	the ioctl number
 *
 * Context: task, sleeps.  Return: as roost_enter(), also -E2BIG.
 */
long roost_enter_sized(struct roost_worker *worker, void __user *arg,
		       unsigned int cmd)
{
	struct roost_enter from;
	struct call call;
	int ret;

	ret = roost_args_get(&from, sizeof(from), arg, cmd,
			     ROOST_ENTER_SIZE_VER0);
	if (ret)
		return ret;
	call = (struct call){
		.flags = from.flags,
		.to_submit = from.to_submit,
		.deadline = from.deadline,
		.event = from.event,
		.wake = from.wake,
		.zero = from.submitted | from.outcome | from.reserved[0] |
			from.reserved[1],
	};
	return enter(worker, &call, arg);
}
