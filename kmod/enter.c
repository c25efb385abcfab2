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
#include "timeout.h"
#include "worker.h"

/* Entries copied at a time, on the stack. */
#define FETCH_BATCH	16

/* What of a call's structure counts, and what is to be returned. */
struct call {
	u32 flags;
	u32 to_submit;
	u64 deadline;
	u32 event;
	u32 wake;
	u64 zero;	/* all that must be zero, ORed */
	u32 submitted;
	u32 outcome;
};

static __always_inline int check_args(const struct call *call)
{
	bool park = call->flags & ROOST_ENTER_PARK;

	if (call->zero ||
	    call->flags & ~(ROOST_ENTER_PARK | ROOST_ENTER_WAKE))
		return -EINVAL;
	if (!park && (call->deadline || call->event))
		return -EINVAL;
	if (park && call->deadline > ROOST_MAX_DEADLINE &&
	    call->deadline != ROOST_NO_DEADLINE)
		return -EINVAL;
	if (call->wake && !(call->flags & ROOST_ENTER_WAKE))
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
 * process which goes on filling the ring meanwhile cannot keep us here.  Adds
 * ROOST_OUT_CQ_FULL if not all that was asked for, or all there is, was consumed.
 * Returns how many were.
 */
static noinline u32 submit(struct roost_worker *worker, u32 to_submit,
			   u32 *outcome)
{
	u32 todo = min(to_submit, worker->sq_entries);
	struct roost_sqe sqes[FETCH_BATCH] roost_uninitialized;
	u32 n, reserved, done = 0;
	bool posted = false;

	while (done < todo) {
		n = roost_sq_fetch(worker, sqes,
				   min_t(u32, todo - done, FETCH_BATCH),
				   &reserved);
		if (!n)
			break;
		posted |= execute(worker, sqes, n, reserved);
		done += n;
		if (fatal_signal_pending(current))
			break;
		cond_resched();
	}
	if (posted)
		announce(worker);
	if (done < todo && roost_sq_pending(worker))
		*outcome |= ROOST_OUT_CQ_FULL;
	return done;
}

static __always_inline void wake_sibling(struct roost_worker *worker,
					 struct call *call)
{
	bool sync = call->flags & ROOST_ENTER_PARK;

	if (roost_wake_index(worker->domain, call->wake, sync) < 0)
		call->outcome |= ROOST_OUT_NO_TARGET;
}

static __always_inline int park(struct roost_worker *worker, struct call *call)
{
	u32 reason;

	/* I/O that is ready is nothing to sleep through. */
	if (unlikely(call->outcome & ROOST_OUT_CQ_FULL ||
		     READ_ONCE(worker->domain->nr_ready))) {
		roost_park_skip(worker, &call->outcome);
		return 0;
	}
	reason = roost_park(worker, call->deadline, call->event);
	/* What has ended the park may be I/O that is ready now. */
	run_io(worker);
	call->outcome |= reason;
	if (reason & (ROOST_OUT_WAKE | ROOST_OUT_EVENT | ROOST_OUT_TIMEOUT))
		return 0;
	return reason & ROOST_OUT_SIGNAL ? -EINTR : 0;
}

static __always_inline int carry_out(struct roost_worker *worker,
				     struct call *call)
{
	atomic64_inc(&worker->enters);
	if (unlikely(!llist_empty(&worker->domain->reap)))
		roost_poll_reap(worker->domain);
	roost_file_reap(worker->domain);
	/* A hint: what comes to wait later is an event, and looked at then. */
	if (unlikely(READ_ONCE(worker->nr_overflow)) && roost_cq_flush(worker))
		call->outcome |= ROOST_OUT_CQ_FULL;
	if (call->to_submit) {
		u32 outcome = call->outcome;

		call->submitted = submit(worker, call->to_submit, &outcome);
		call->outcome = outcome;
	}
	run_io(worker);
	if (call->flags & ROOST_ENTER_WAKE)
		wake_sibling(worker, call);
	return call->flags & ROOST_ENTER_PARK ? park(worker, call) : 0;
}

/* Only the two fields that are for the caller, which are neighbours. */
static __always_inline int put_results(void __user *arg,
				       const struct call *call)
{
	struct roost_enter __user *to = arg;

	if (!user_access_begin(to, sizeof(*to)))
		return -EFAULT;
	unsafe_put_user(call->submitted, &to->submitted, fault);
	unsafe_put_user(call->outcome, &to->outcome, fault);
	user_access_end();
	return 0;
fault:
	user_access_end();
	return -EFAULT;
}

static __always_inline int enter(struct roost_worker *worker, struct call *call,
				 void __user *arg)
{
	int ret, put;

	ret = check_args(call);
	if (unlikely(ret))
		return ret;
	if ((call->flags & ROOST_ENTER_PARK) &&
	    unlikely(READ_ONCE(worker->carrier) != current))
		return -EPERM;

	ret = carry_out(worker, call);
	put = put_results(arg, call);
	return put ?: ret;
}

/**
 * roost_enter() - ROOST_IOC_ENTER, from who knows its structure as we do
 * @worker:	on whose file it was called; the caller belongs to its domain
 * @arg:	struct roost_enter
 *
 * Each field is read once, into a register most of the time.
 *
 * Context: task, sleeps.  Return: 0 or -EINVAL, -EFAULT, -EPERM, -EINTR.
 */
int roost_enter(struct roost_worker *worker, void __user *arg)
{
	const struct roost_enter __user *from = arg;
	struct call call = { 0 };
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
int roost_enter_sized(struct roost_worker *worker, void __user *arg,
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
