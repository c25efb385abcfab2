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
#include "file.h"
#include "io.h"
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

/* What every entry may have, and every I/O op. */
#define ALLOW_ALWAYS	.opcode = 0xff, .op_id = ~0ULL
#define SKIP_FLAGS	(ROOST_SQE_QUIET | ROOST_POLL_MULTISHOT | ROOST_SQE_FILE)
#define ALLOW_IO	ALLOW_ALWAYS, .flags = ROOST_SQE_FILE, .fd = ~0, \
			.deadline = ~0ULL, .addr = ~0ULL, .file_seq = ~0U

/* What a submission completes with at once. */
struct result {
	u64 user_data;
	s32 res;
	u32 flags;
};

/**
 * struct op_def - an opcode
 * @allowed:	bits that an entry may have
 * @kind:	of the completion of an entry that was refused
 * @run:	carries it out; context: task, may sleep.  NULL: roost_io_start()
 */
struct op_def {
	struct roost_sqe allowed;
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
	/* Events that were to be told with the completion that it took back. */
	return finish_cancel(sqe, result, target, flags) ||
	       flags & ROOST_CQE_REPLACED;
}

static bool run_wake(struct roost_worker *worker, const struct roost_sqe *sqe,
		     struct result *result)
{
	result->res = roost_wake_index(worker->domain, sqe->worker, false);
	return true;
}

static bool run_cancel(struct roost_worker *worker,
		       const struct roost_sqe *sqe, struct result *result)
{
	result->res = roost_io_cancel(worker, sqe);
	/* For an op that has not come yet; not even a quiet one keeps it back. */
	if (result->res == -ECANCELED)
		result->flags = ROOST_CQE_IO | ROOST_CQE_SEND;
	if (result->res == -ENOENT)
		return !(sqe->flags & ROOST_SQE_QUIET);
	return result->res != 0;
}

static bool run_file_remove(struct roost_worker *worker,
			    const struct roost_sqe *sqe, struct result *result)
{
	result->res = roost_file_remove(worker->domain,
					roost_op_index(sqe->op_id),
					roost_op_sequence(sqe->op_id));
	if (!result->res || result->res == -ENOENT)
		return !(sqe->flags & ROOST_SQE_QUIET);
	return true;
}

static const struct op_def ops[ROOST_OP_NR] = {
	[ROOST_OP_NOP] = {
		.allowed	= { ALLOW_ALWAYS },
		.kind		= ROOST_CQE_NOP,
		.run		= run_nop,
	},
	[ROOST_OP_SKIP] = {
		/* An op taken back: what it was to do is still there. */
		.allowed	= { ALLOW_ALWAYS, .flags = SKIP_FLAGS, .fd = ~0,
				    .deadline = ~0ULL, .events = ~0U,
				    .worker = ~0U, .addr = ~0ULL,
				    .addr2 = ~0ULL, .len = ~0U, .len2 = ~0U,
				    .msg_flags = ~0U, .file_seq = ~0U },
		.kind		= ROOST_CQE_NOP,
		.run		= run_skip,
	},
	[ROOST_OP_TIMER_SET] = {
		.allowed	= { ALLOW_ALWAYS, .deadline = ~0ULL },
		.kind		= ROOST_CQE_TIMER,
		.run		= run_timer_set,
	},
	[ROOST_OP_TIMER_CANCEL] = {
		.allowed	= { ALLOW_ALWAYS, .flags = ROOST_SQE_QUIET },
		.kind		= ROOST_CQE_CANCEL,
		.run		= run_timer_cancel,
	},
	[ROOST_OP_POLL_ADD] = {
		.allowed	= { ALLOW_ALWAYS, .flags = ROOST_POLL_MULTISHOT,
				    .fd = ~0, .events = POLL_EVENTS },
		.kind		= ROOST_CQE_POLL,
		.run		= run_poll_add,
	},
	[ROOST_OP_POLL_REMOVE] = {
		.allowed	= { ALLOW_ALWAYS, .flags = ROOST_SQE_QUIET },
		.kind		= ROOST_CQE_CANCEL,
		.run		= run_poll_remove,
	},
	[ROOST_OP_WAKE] = {
		.allowed	= { ALLOW_ALWAYS, .worker = ~0U },
		.kind		= ROOST_CQE_WAKE,
		.run		= run_wake,
	},
	[ROOST_OP_RECV] = {
		.allowed	= { ALLOW_IO, .len = ~0U, .msg_flags = ~0U },
		.kind		= ROOST_CQE_IO,
	},
	[ROOST_OP_SEND] = {
		.allowed	= { ALLOW_IO, .len = ~0U, .msg_flags = ~0U },
		.kind		= ROOST_CQE_IO,
	},
	[ROOST_OP_RECVMSG] = {
		.allowed	= { ALLOW_IO, .msg_flags = ~0U },
		.kind		= ROOST_CQE_IO,
	},
	[ROOST_OP_SENDMSG] = {
		.allowed	= { ALLOW_IO, .msg_flags = ~0U },
		.kind		= ROOST_CQE_IO,
	},
	[ROOST_OP_READ] = {
		.allowed	= { ALLOW_IO, .len = ~0U, .offset = ~0ULL },
		.kind		= ROOST_CQE_IO,
	},
	[ROOST_OP_WRITE] = {
		.allowed	= { ALLOW_IO, .len = ~0U, .offset = ~0ULL },
		.kind		= ROOST_CQE_IO,
	},
	[ROOST_OP_SEND_RECV] = {
		.allowed	= { ALLOW_IO, .len = ~0U, .msg_flags = ~0U,
				    .addr2 = ~0ULL, .len2 = ~0U },
		.kind		= ROOST_CQE_IO,
	},
	[ROOST_OP_CANCEL] = {
		.allowed	= { ALLOW_ALWAYS, .flags = ROOST_SQE_QUIET },
		.kind		= ROOST_CQE_CANCEL,
		.run		= run_cancel,
	},
	[ROOST_OP_FILE_REMOVE] = {
		.allowed	= { ALLOW_ALWAYS, .flags = ROOST_SQE_QUIET },
		.kind		= ROOST_CQE_FILE,
		.run		= run_file_remove,
	},
};

static __always_inline bool fields_valid(const struct op_def *def,
					 const struct roost_sqe *sqe)
{
	const u64 *allowed = (const u64 *)&def->allowed;
	const u64 *used = (const u64 *)sqe;
	u64 bad;

	/* Any op id is good.  No loop: it would cost as much as it does. */
	BUILD_BUG_ON(sizeof(*sqe) != 8 * sizeof(u64));
	BUILD_BUG_ON(offsetof(struct roost_sqe, op_id) != sizeof(u64));
	bad = used[0] & ~allowed[0];
	bad |= used[2] & ~allowed[2];
	bad |= used[3] & ~allowed[3];
	bad |= used[4] & ~allowed[4];
	bad |= used[5] & ~allowed[5];
	bad |= used[6] & ~allowed[6];
	bad |= used[7] & ~allowed[7];
	if (bad)
		return false;
	/* A sequence without a registered file means nothing. */
	return sqe->flags & ROOST_SQE_FILE || !sqe->file_seq;
}

/* A refused SEND_RECV has sent nothing. */
static u32 kind_of(const struct op_def *def, u8 opcode)
{
	return def->kind | (opcode == ROOST_OP_SEND_RECV ? ROOST_CQE_SEND : 0);
}

static noinline bool refuse(struct roost_worker *worker,
			    const struct roost_sqe *sqe, s32 res, u32 flags,
			    bool *posted)
{
	roost_cq_post_reserved(worker, sqe->op_id, res, flags);
	*posted = true;
	return true;
}

static noinline bool run(const struct op_def *def, struct roost_worker *worker,
			 const struct roost_sqe *sqe, bool *posted)
{
	struct result result = {
		.user_data = sqe->op_id,
		.flags = def->kind,
	};
	bool post = def->run(worker, sqe, &result);

	if (post)
		roost_cq_post_reserved(worker, result.user_data, result.res,
				       result.flags);
	*posted |= post;
	return post;
}

/**
 * roost_op_execute() - carry out one submission
 * @worker:	from whose ring it came; a place in its CQ is reserved for it
 * @sqe:	a private copy of the entry
 * @posted:	set to true if something has completed
 *
 * Context: task, may sleep, no lock held.  Return: true if the place was used.
 */
bool roost_op_execute(struct roost_worker *worker, const struct roost_sqe *sqe,
		      bool *posted)
{
	const struct op_def *def;
	int ret = -EINVAL;

	if (unlikely(sqe->opcode >= ROOST_OP_NR))
		return refuse(worker, sqe, ret, 0, posted);
	def = &ops[array_index_nospec(sqe->opcode, ROOST_OP_NR)];
	if (likely(fields_valid(def, sqe))) {
		if (def->run)
			return run(def, worker, sqe, posted);
		/* May sleep: timers must not wait for that. */
		roost_timeout_program(worker);
		ret = roost_io_start(worker, sqe, posted);
		if (likely(!ret))
			return false;
	}
	return refuse(worker, sqe, ret, kind_of(def, sqe->opcode), posted);
}
