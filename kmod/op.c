// SPDX-License-Identifier: GPL-2.0
/*
 * Carrying out submissions: one table entry an opcode.
 *
 * For each entry consumed a place in the CQ was reserved; a handler that
 * returns true has a result for it, one that returns false has none: what it
 * armed will complete with memory of its own, or no completion is wanted.
 */
#include <linux/nospec.h>
#include <linux/poll.h>

#include "domain.h"
#include "op.h"
#include "park.h"
#include "poll.h"
#include "ring.h"
#include "timeout.h"
#include "worker.h"

/* What can be waited for; POLLNVAL and what comes later cannot. */
#define POLL_EVENTS	((__force u32)(EPOLLIN | EPOLLPRI | EPOLLOUT | \
				       EPOLLERR | EPOLLHUP | EPOLLRDNORM | \
				       EPOLLRDBAND | EPOLLWRNORM | \
				       EPOLLWRBAND | EPOLLMSG | EPOLLRDHUP))

/* What a submission completes with at once. */
struct result {
	u64 user_data;
	s32 res;
	u32 flags;
};

/**
 * struct op_def - an opcode
 * @flags:	ROOST_SQE_* and ROOST_POLL_* bits that it takes
 * @takes_fd:	uses sqe->fd
 * @takes_deadline: uses sqe->deadline
 * @takes_events: uses sqe->events
 * @takes_worker: uses sqe->worker
 * @kind:	of the completion of an entry that was refused
 * @run:	carries it out; context: task, may sleep
 */
struct op_def {
	u8 flags;
	unsigned int takes_fd : 1;
	unsigned int takes_deadline : 1;
	unsigned int takes_events : 1;
	unsigned int takes_worker : 1;
	u32 kind;
	bool (*run)(struct roost_worker *worker, const struct roost_sqe *sqe,
		    struct result *result);
};

static bool run_nop(struct roost_worker *worker, const struct roost_sqe *sqe,
		    struct result *result)
{
	return true;
}

static bool run_skip(struct roost_worker *worker, const struct roost_sqe *sqe,
		     struct result *result)
{
	return false;
}

static bool run_timer_set(struct roost_worker *worker,
			  const struct roost_sqe *sqe, struct result *result)
{
	result->res = roost_timer_set(worker, sqe);
	return result->res != 0;
}

/*
 * A cancel that ended something completes that, under its op id; one that did
 * not completes itself.  A quiet one reports only what is an error of the call.
 */
static bool finish_cancel(const struct roost_sqe *sqe, struct result *result,
			  u64 target, u32 target_flags)
{
	bool quiet = sqe->flags & ROOST_SQE_QUIET;

	if (!result->res) {
		result->user_data = target;
		result->res = -ECANCELED;
		result->flags = target_flags;
		return !quiet;
	}
	if (result->res == -ENOENT)
		return !quiet;
	return true;
}

static bool run_timer_cancel(struct roost_worker *worker,
			     const struct roost_sqe *sqe, struct result *result)
{
	u64 target = 0;

	result->res = roost_timer_cancel(worker, sqe, &target);
	return finish_cancel(sqe, result, target, ROOST_CQE_TIMER);
}

static bool run_poll_add(struct roost_worker *worker,
			 const struct roost_sqe *sqe, struct result *result)
{
	/* The file's poll operation may sleep; timers set before must not wait. */
	roost_timeout_program(worker);
	return roost_poll_add(worker, sqe, &result->res, &result->flags);
}

static bool run_poll_remove(struct roost_worker *worker,
			    const struct roost_sqe *sqe, struct result *result)
{
	u32 flags = 0;
	u64 target = 0;

	result->res = roost_poll_remove(worker, sqe, &target, &flags);
	return finish_cancel(sqe, result, target, flags);
}

static bool run_wake(struct roost_worker *worker, const struct roost_sqe *sqe,
		     struct result *result)
{
	result->res = roost_wake_index(worker->domain, sqe->worker, false);
	return true;
}

static const struct op_def ops[ROOST_OP_NR] = {
	[ROOST_OP_NOP] = {
		.kind		= ROOST_CQE_NOP,
		.run		= run_nop,
	},
	[ROOST_OP_SKIP] = {
		/* An arm taken back: what it was to set is still there. */
		.flags		= ROOST_SQE_QUIET | ROOST_POLL_MULTISHOT,
		.takes_fd	= 1,
		.takes_deadline	= 1,
		.takes_events	= 1,
		.kind		= ROOST_CQE_NOP,
		.run		= run_skip,
	},
	[ROOST_OP_TIMER_SET] = {
		.takes_deadline	= 1,
		.kind		= ROOST_CQE_TIMER,
		.run		= run_timer_set,
	},
	[ROOST_OP_TIMER_CANCEL] = {
		.flags		= ROOST_SQE_QUIET,
		.kind		= ROOST_CQE_CANCEL,
		.run		= run_timer_cancel,
	},
	[ROOST_OP_POLL_ADD] = {
		.flags		= ROOST_POLL_MULTISHOT,
		.takes_fd	= 1,
		.takes_events	= 1,
		.kind		= ROOST_CQE_POLL,
		.run		= run_poll_add,
	},
	[ROOST_OP_POLL_REMOVE] = {
		.flags		= ROOST_SQE_QUIET,
		.kind		= ROOST_CQE_CANCEL,
		.run		= run_poll_remove,
	},
	[ROOST_OP_WAKE] = {
		.takes_worker	= 1,
		.kind		= ROOST_CQE_WAKE,
		.run		= run_wake,
	},
};

static bool fields_valid(const struct op_def *def, const struct roost_sqe *sqe)
{
	if (sqe->flags & ~def->flags)
		return false;
	if ((sqe->fd && !def->takes_fd) ||
	    (sqe->deadline && !def->takes_deadline) ||
	    (sqe->events && !def->takes_events) ||
	    (sqe->worker && !def->takes_worker))
		return false;
	if (sqe->events & ~POLL_EVENTS || sqe->reserved0)
		return false;
	return !memchr_inv(sqe->reserved, 0, sizeof(sqe->reserved));
}

/**
 * roost_op_execute() - carry out one submission
 * @worker:	from whose ring it came; a place in its CQ is reserved for it
 * @sqe:	a private copy of the entry
 *
 * Context: task, may sleep, no lock held.  Return: true if the place was used.
 */
bool roost_op_execute(struct roost_worker *worker, const struct roost_sqe *sqe)
{
	struct result result = { .user_data = sqe->op_id };
	const struct op_def *def;
	bool post = true;

	if (sqe->opcode >= ROOST_OP_NR) {
		result.res = -EINVAL;
	} else {
		def = &ops[array_index_nospec(sqe->opcode, ROOST_OP_NR)];
		result.flags = def->kind;
		if (fields_valid(def, sqe))
			post = def->run(worker, sqe, &result);
		else
			result.res = -EINVAL;
	}
	if (post)
		roost_cq_post_reserved(worker, result.user_data, result.res,
				       result.flags);
	return post;
}
