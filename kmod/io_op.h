/* SPDX-License-Identifier: GPL-2.0 */
/*
 * io_op.h - an I/O op: its states, its lists and its end.  For io*.c alone.
 *
 * An op (an index that user space chose) lives as long as its domain.  Its word
 * holds the sequence of the newest submission, a state and flags; each arrow is
 * one compare-and-exchange, so nobody acts on a later op of the same index:
 *
 *	FREE --> SETUP --> READY <--> EXECUTING --> FREE	done
 *	           |       ^  |           |
 *	           |       |  |           |
 *	           +-----> ARMED <--------+
 *	                   |  |
 *	                   +--+--> ENDING --> FREE		cancelled, expired,
 *								file or worker gone
 *
 *   ARMED	in its file's waiting list; events move it to READY
 *   READY	in the domain's ready list; the next ENTER of any worker tries it
 *   SETUP, EXECUTING	belongs to the task that is at it.  Others leave a flag.
 *   ENDING	belongs to who has claimed it, and is or was in one of the lists
 *
 * Lists: an op enters and leaves a file's list under file->lock, the ready list
 * under domain->ready_lock; it changes to ARMED under the former, and from READY
 * to EXECUTING under the latter.  So whoever has claimed an op takes both locks
 * and finds it in one list or in none (roost_io_unlist()).
 *
 * An event readies the first op that waits in its direction and leaves the
 * file's ready bit set for the others.  As long as the bit is set and others
 * wait, some op has it to pass on: at its end, or when its attempt has left
 * something behind.
 *
 * An op is FREE before its completion can be seen (roost_cq_post_last()): who has
 * seen that may use the index again at once.
 */
#ifndef _ROOST_IO_OP_H
#define _ROOST_IO_OP_H

#include <linux/atomic.h>
#include <linux/cred.h>
#include <linux/list.h>

#include "domain.h"
#include "file.h"
#include "park.h"
#include "ring.h"
#include "timeout.h"
#include "trace.h"
#include "transfer.h"
#include "worker.h"

enum io_state {
	IO_FREE,
	IO_SETUP,
	IO_READY,
	IO_EXECUTING,
	IO_ARMED,
	IO_ENDING,
};

#define IO_STATE	0xffU
#define IO_CANCELLED	0x100U	/* a CANCEL has come; SETUP, EXECUTING */
#define IO_EXPIRED	0x200U	/* so has the deadline; also READY */

/**
 * struct roost_io - an I/O op
 * @word:	sequence << 32 | flags | state
 * @index:	constant
 * @node:	in one of the two queues, or in none
 * @file:	what it uses (a reference), from SETUP to its end
 * @cred:	whose rights it uses; a reference, kept for the next op of the index,
 *		which mostly uses the same
 * @home:	in whose ring it completes: who was last at it
 * @clock:	in whose wheel @deadline is, or NULL
 * @deadline:	the wheel's entry
 * @transfer:	what is to be moved
 * @sending:	the attempt at hand is the sending (half)
 * @once:	it is tried once, whatever comes of it
 * @completion:	if it has to wait for a place
 */
struct roost_io {
	atomic64_t word;
	u32 index;
	struct hlist_node node;
	struct roost_file *file;
	const struct cred *cred;
	struct roost_worker *home;
	struct roost_worker *clock;
	struct roost_wheel_entry deadline;
	struct roost_transfer transfer;
	bool sending;
	bool once;
	struct roost_completion completion;
};

static inline enum io_state io_state_of(u64 word)
{
	return word & IO_STATE;
}

static inline u32 io_sequence_of(u64 word)
{
	return word >> 32;
}

static inline u64 io_with_state(u64 word, enum io_state state)
{
	return (word & ~(u64)IO_STATE) | state;
}

/* From *word to a state, flags kept.  *word is the current value afterwards. */
static inline bool io_move(struct roost_io *io, u64 *word, enum io_state state)
{
	return atomic64_try_cmpxchg(&io->word, (s64 *)word,
				    io_with_state(*word, state));
}

static inline bool io_flag(struct roost_io *io, u64 *word, u32 flag)
{
	return atomic64_try_cmpxchg(&io->word, (s64 *)word, *word | flag);
}

static inline enum roost_dir io_dir(const struct roost_io *io)
{
	return io->sending ? ROOST_DIR_OUT : ROOST_DIR_IN;
}

/* Lists, io_ready.c */

static inline void io_set_nr_ready(struct roost_domain *domain, u32 nr)
{
	WRITE_ONCE(domain->nr_ready, nr);
	WRITE_ONCE(domain->control->io_ready, nr);
}

/* An op has become READY behind the back of all ENTERs. */
static __always_inline void io_wake_for_ready(struct roost_worker *home)
{
	roost_domain_event(home->domain);
	/* After (A), which is in there. */
	if (roost_domain_parked(home->domain))
		roost_wake_for(home);
}

/*
 * roost_io_unlist() - take an op that the caller has claimed out of its list
 * @claimed_from: IO_ARMED or IO_READY
 *
 * Context: any.
 */
void roost_io_unlist(struct roost_io *io, enum io_state claimed_from);

/* io_pass_on() for who has seen that somebody waits. */
void roost_io_ready_next(struct roost_file *file, enum roost_dir dir);

/* Whoever had the file's event leaves it to the next that waits. */
static inline void io_pass_on(struct roost_file *file, enum roost_dir dir)
{
	/* Both empty or both seen: what is added later sees the bit itself. */
	if (!roost_queue_empty(&file->waiting[dir]))
		roost_io_ready_next(file, dir);
}

/* Trying, io_try.c */

/*
 * roost_io_launch() - a prepared op is tried, or made READY
 *
 * Made READY if somebody behind it might have to wait for its memory.  (An event
 * just now may make it an attempt after all, which is rare enough.)  Context: task,
 * may sleep; the op is SETUP, and not the caller's any more.  Return: true if it
 * has completed.
 */
bool roost_io_launch(struct roost_io *io, struct roost_worker *worker);

/* The end */

/* For the completion: not all of the first buffer was sent. */
static inline u32 io_half_flags(const struct roost_io *io)
{
	return io->sending && io->transfer.opcode == ROOST_OP_SEND_RECV ?
	       ROOST_CQE_SEND : 0;
}

static inline void io_drop_deadline(struct roost_io *io)
{
	if (io->clock)
		roost_timeout_del(io->clock, &io->deadline);
	io->clock = NULL;
}

static inline void io_count_done(struct roost_worker *worker)
{
	/* It was begun before it is done; pairs with domain_stat(). */
	smp_mb__before_atomic();
	atomic64_inc(&worker->ios_done);
}

/*
 * The end of an op, by its owner: nobody else has it, it is in no list, and its
 * deadline is off the wheel.  Its file is left to the caller, who also raises
 * the event.  Any context.
 */
static __always_inline struct roost_file *
io_finish(struct roost_io *io, struct roost_worker *worker, s32 res, u32 flags)
{
	struct roost_file *file = io->file;
	u64 word = atomic64_read(&io->word) & ~(u64)U32_MAX;

	flags |= ROOST_CQE_IO | io_half_flags(io);
	io->file = NULL;
	io_count_done(worker);
	trace_roost_io_complete(worker,
				roost_op_id(io->index, io_sequence_of(word)),
				res, flags);
	/* The release in there pairs with the acquire in begin(). */
	roost_cq_post_last(worker, &io->completion,
			   roost_op_id(io->index, io_sequence_of(word)), res,
			   flags, &io->word, word | IO_FREE);
	return file;
}

static __always_inline void
io_end(struct roost_io *io, struct roost_worker *worker, s32 res, u32 flags)
{
	io_drop_deadline(io);
	/* First (and not used below): who has been told may close the file. */
	roost_file_put(io->file);
	io_finish(io, worker, res, flags);
}

#endif /* _ROOST_IO_OP_H */
