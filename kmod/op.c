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

/* Fields of an entry that not every op takes. */
enum field {
	FIELD_FD	= BIT(0),
	FIELD_DEADLINE	= BIT(1),
	FIELD_EVENTS	= BIT(2),
	FIELD_WORKER	= BIT(3),
	FIELD_ADDR	= BIT(4),
	FIELD_ADDR2	= BIT(5),
	FIELD_LEN	= BIT(6),
	FIELD_LEN2	= BIT(7),
	FIELD_MSG_FLAGS	= BIT(8),
	FIELD_FILE_SEQ	= BIT(9),
};

#define FIELDS_ALL	(BIT(10) - 1)
/* Of every I/O op. */
#define FIELDS_IO	(FIELD_FD | FIELD_DEADLINE | FIELD_ADDR | \
			 FIELD_FILE_SEQ)

/* What a submission completes with at once. */
struct result {
	u64 user_data;
	s32 res;
	u32 flags;
};

/**
 * struct op_def - an opcode
 * @flags:	ROOST_SQE_* and ROOST_POLL_* bits that it takes
 * @fields:	enum field bits; the others must be zero
 * @kind:	of the completion of an entry that was refused
 * @run:	carries it out; context: task, may sleep
 */
struct op_def {
	u8 flags;
	u16 fields;
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

static bool run_io(struct roost_worker *worker, const struct roost_sqe *sqe,
		   struct result *result)
{
	/* The file's poll operation may sleep; timers set before must not wait. */
	roost_timeout_program(worker);
	result->res = roost_io_start(worker, sqe);
	return result->res != 0;
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
		.kind		= ROOST_CQE_NOP,
		.run		= run_nop,
	},
	[ROOST_OP_SKIP] = {
		/* An arm taken back: what it was to set is still there. */
		.flags		= ROOST_SQE_QUIET | ROOST_POLL_MULTISHOT |
				  ROOST_SQE_FILE,
		.fields		= FIELDS_ALL,
		.kind		= ROOST_CQE_NOP,
		.run		= run_skip,
	},
	[ROOST_OP_TIMER_SET] = {
		.fields		= FIELD_DEADLINE,
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
		.fields		= FIELD_FD | FIELD_EVENTS,
		.kind		= ROOST_CQE_POLL,
		.run		= run_poll_add,
	},
	[ROOST_OP_POLL_REMOVE] = {
		.flags		= ROOST_SQE_QUIET,
		.kind		= ROOST_CQE_CANCEL,
		.run		= run_poll_remove,
	},
	[ROOST_OP_WAKE] = {
		.fields		= FIELD_WORKER,
		.kind		= ROOST_CQE_WAKE,
		.run		= run_wake,
	},
	[ROOST_OP_RECV] = {
		.flags		= ROOST_SQE_FILE,
		.fields		= FIELDS_IO | FIELD_LEN | FIELD_MSG_FLAGS,
		.kind		= ROOST_CQE_IO,
		.run		= run_io,
	},
	[ROOST_OP_SEND] = {
		.flags		= ROOST_SQE_FILE,
		.fields		= FIELDS_IO | FIELD_LEN | FIELD_MSG_FLAGS,
		.kind		= ROOST_CQE_IO,
		.run		= run_io,
	},
	[ROOST_OP_RECVMSG] = {
		.flags		= ROOST_SQE_FILE,
		.fields		= FIELDS_IO | FIELD_MSG_FLAGS,
		.kind		= ROOST_CQE_IO,
		.run		= run_io,
	},
	[ROOST_OP_SENDMSG] = {
		.flags		= ROOST_SQE_FILE,
		.fields		= FIELDS_IO | FIELD_MSG_FLAGS,
		.kind		= ROOST_CQE_IO,
		.run		= run_io,
	},
	[ROOST_OP_READ] = {
		.flags		= ROOST_SQE_FILE,
		.fields		= FIELDS_IO | FIELD_LEN | FIELD_ADDR2,
		.kind		= ROOST_CQE_IO,
		.run		= run_io,
	},
	[ROOST_OP_WRITE] = {
		.flags		= ROOST_SQE_FILE,
		.fields		= FIELDS_IO | FIELD_LEN | FIELD_ADDR2,
		.kind		= ROOST_CQE_IO,
		.run		= run_io,
	},
	[ROOST_OP_SEND_RECV] = {
		.flags		= ROOST_SQE_FILE,
		.fields		= FIELDS_IO | FIELD_LEN | FIELD_MSG_FLAGS |
				  FIELD_ADDR2 | FIELD_LEN2,
		.kind		= ROOST_CQE_IO,
		.run		= run_io,
	},
	[ROOST_OP_CANCEL] = {
		.flags		= ROOST_SQE_QUIET,
		.kind		= ROOST_CQE_CANCEL,
		.run		= run_cancel,
	},
	[ROOST_OP_FILE_REMOVE] = {
		.flags		= ROOST_SQE_QUIET,
		.kind		= ROOST_CQE_FILE,
		.run		= run_file_remove,
	},
};

/* Which fields are not zero? */
static u32 fields_used(const struct roost_sqe *sqe)
{
	return (sqe->fd ? FIELD_FD : 0) |
	       (sqe->deadline ? FIELD_DEADLINE : 0) |
	       (sqe->events ? FIELD_EVENTS : 0) |
	       (sqe->worker ? FIELD_WORKER : 0) |
	       (sqe->addr ? FIELD_ADDR : 0) |
	       (sqe->addr2 ? FIELD_ADDR2 : 0) |
	       (sqe->len ? FIELD_LEN : 0) |
	       (sqe->len2 ? FIELD_LEN2 : 0) |
	       (sqe->msg_flags ? FIELD_MSG_FLAGS : 0) |
	       (sqe->file_seq ? FIELD_FILE_SEQ : 0);
}

static bool fields_valid(const struct op_def *def, const struct roost_sqe *sqe)
{
	if (sqe->flags & ~def->flags)
		return false;
	if (fields_used(sqe) & ~def->fields || sqe->reserved0)
		return false;
	/* A sequence without a registered file means nothing. */
	if (sqe->file_seq && !(sqe->flags & ROOST_SQE_FILE))
		return false;
	return !(sqe->events & ~POLL_EVENTS);
}

/* A refused SEND_RECV has sent nothing. */
static u32 kind_of(const struct op_def *def, u8 opcode)
{
	return def->kind | (opcode == ROOST_OP_SEND_RECV ? ROOST_CQE_SEND : 0);
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
		result.flags = kind_of(def, sqe->opcode);
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
