// SPDX-License-Identifier: GPL-2.0
/*
 * ROOST_IOC_ENTER: submit, wake and sleep in one call.
 */
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "args.h"
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
#define FETCH_BATCH	8

static int check_args(const struct roost_enter *enter)
{
	bool park = enter->flags & ROOST_ENTER_PARK;

	if (enter->flags & ~(ROOST_ENTER_PARK | ROOST_ENTER_WAKE))
		return -EINVAL;
	if (enter->submitted || enter->outcome || enter->reserved[0] ||
	    enter->reserved[1])
		return -EINVAL;
	if (!park && (enter->deadline || enter->event))
		return -EINVAL;
	if (park && enter->deadline > ROOST_MAX_DEADLINE &&
	    enter->deadline != ROOST_NO_DEADLINE)
		return -EINVAL;
	if (enter->wake && !(enter->flags & ROOST_ENTER_WAKE))
		return -EINVAL;
	return 0;
}

/* Carry out a batch.  Returns true if any of it completed. */
static bool execute(struct roost_worker *worker, const struct roost_sqe *sqes,
		    u32 n, u32 reserved)
{
	bool posted = false;
	u32 used = 0, i;

	for (i = 0; i < n; i++)
		used += roost_op_execute(worker, &sqes[i], &posted);
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

/*
 * Consume up to enter->to_submit entries, but no more than a ring full, so that
 * a process which goes on filling the ring meanwhile cannot keep us here.
 * Then carry out the I/O that is ready, whoever submitted it.
 * Returns true if all that was asked for, or all there is, was consumed.
 */
static bool submit(struct roost_worker *worker, struct roost_enter *enter)
{
	u32 todo = min(enter->to_submit, worker->sq_entries);
	struct roost_sqe sqes[FETCH_BATCH];
	bool posted = false;
	u32 n, reserved;

	while (todo) {
		n = roost_sq_fetch(worker, sqes, min_t(u32, todo, FETCH_BATCH),
				   &reserved);
		if (!n)
			break;
		posted |= execute(worker, sqes, n, reserved);
		roost_timeout_program(worker);
		enter->submitted += n;
		todo -= n;
		if (fatal_signal_pending(current))
			break;
		cond_resched();
	}
	posted |= roost_io_run(worker);
	if (posted)
		announce(worker);
	if (!todo || !roost_sq_pending(worker))
		return true;
	enter->outcome |= ROOST_OUT_CQ_FULL;
	return false;
}

/*
 * Returns how often that has raised the event counter: the caller knows of its
 * own wake, and need not be kept from sleeping by it.
 */
static u32 wake_sibling(struct roost_worker *worker, struct roost_enter *enter)
{
	bool sync = enter->flags & ROOST_ENTER_PARK;

	if (roost_wake_index(worker->domain, enter->wake, sync) >= 0)
		return 1;
	enter->outcome |= ROOST_OUT_NO_TARGET;
	return 0;
}

static int carry_out(struct roost_worker *worker, struct roost_enter *enter)
{
	u32 event = enter->event;
	bool done;
	int ret;

	atomic64_inc(&worker->enters);
	roost_poll_reap(worker->domain);
	roost_file_reap(worker->domain);
	if (roost_cq_flush(worker))
		enter->outcome |= ROOST_OUT_CQ_FULL;
	done = submit(worker, enter);
	if (enter->flags & ROOST_ENTER_WAKE)
		event += wake_sibling(worker, enter);
	if (!(enter->flags & ROOST_ENTER_PARK))
		return 0;
	if (!done || (enter->outcome & ROOST_OUT_CQ_FULL) ||
	    READ_ONCE(worker->domain->nr_ready)) {
		roost_park_skip(worker, &enter->outcome);
		return 0;
	}
	ret = roost_park(worker, enter->deadline, event, &enter->outcome);
	/* What has ended the park may be I/O that is ready now. */
	if (roost_io_run(worker))
		announce(worker);
	return ret;
}

/**
 * roost_enter() - ROOST_IOC_ENTER
 * @worker:	on whose file it was called; the caller belongs to its domain
 * @arg:	struct roost_enter
 * @cmd:	the ioctl number
 *
 * Context: task, sleeps.  Return: 0 or -EINVAL, -E2BIG, -EFAULT, -EPERM, -EINTR.
 */
int roost_enter(struct roost_worker *worker, void __user *arg, unsigned int cmd)
{
	struct roost_enter enter;
	int ret, put;

	ret = roost_args_get(&enter, sizeof(enter), arg, cmd, sizeof(enter));
	if (!ret)
		ret = check_args(&enter);
	if (ret)
		return ret;
	if ((enter.flags & ROOST_ENTER_PARK) &&
	    READ_ONCE(worker->carrier) != current)
		return -EPERM;

	ret = carry_out(worker, &enter);
	put = roost_args_put(arg, &enter, sizeof(enter), cmd);
	return put ?: ret;
}
