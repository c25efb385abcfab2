// SPDX-License-Identifier: GPL-2.0
/*
 * I/O ops: submission, CANCEL, deadlines, and their table.
 */
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/slab.h>
#include <linux/socket.h>

#include "io.h"
#include "io_op.h"

unsigned int roost_max_ios = 1U << 22;
module_param_named(max_ios, roost_max_ios, uint, 0644);
MODULE_PARM_DESC(max_ios, "largest number of I/O ops a domain may have");

bool roost_ring_io = true;
module_param_named(ring_io, roost_ring_io, bool, 0644);
MODULE_PARM_DESC(ring_io, "allow I/O in the ring");

static bool ring_io_seccomp;
module_param(ring_io_seccomp, bool, 0644);
MODULE_PARM_DESC(ring_io_seccomp, "allow it to tasks under seccomp, too");

static struct kmem_cache *io_cache;

static void init_io(void *node, u32 index, void *arg)
{
	struct roost_io *io = node;

	atomic64_set(&io->word, 0);
	io->index = index;
	INIT_HLIST_NODE(&io->node);
	roost_wheel_entry_init(&io->deadline);
	io->deadline.owner = ROOST_ENTRY_IO;
	roost_completion_init(&io->completion, NULL);
}

/* Submission */

/*
 * Is it tried once?  Asked for; or about something else than what events tell
 * of; or there is no telling.
 */
static bool never_waits(const struct roost_io *io)
{
	const struct roost_file *file = io->file;
	u32 flags = io->transfer.msg_flags;

	if (likely(!flags && io->transfer.opcode != ROOST_OP_SENDMSG))
		return !file->watched;
	/* Of SEND_RECV they are for the sending; there may be none. */
	if (io->transfer.opcode == ROOST_OP_SEND_RECV && !io->sending)
		flags = 0;
	if (!file->watched || flags & (MSG_DONTWAIT | MSG_OOB | MSG_ERRQUEUE))
		return true;
	if (io->transfer.opcode == ROOST_OP_SENDMSG && roost_transfer_deaf(file))
		return true;
	return flags & MSG_PEEK && roost_transfer_peeks_ahead(file);
}

static int allowed(const struct roost_domain *domain)
{
	if (!READ_ONCE(roost_ring_io) || domain->no_io)
		return -EACCES;
	if (seccomp_mode(&current->seccomp) && !READ_ONCE(ring_io_seccomp))
		return -EACCES;
	return 0;
}

/* Take the index for a new op. */
static int begin(struct roost_io *io, u32 sequence)
{
	/* Acquire: what is looked at next is no older than FREE. */
	u64 word = atomic64_read_acquire(&io->word);
	u64 new = (u64)sequence << 32 | IO_SETUP;

	do {
		if ((s32)(sequence - io_sequence_of(word)) < 1)
			return -ESTALE;
		if (io_state_of(word) != IO_FREE ||
		    roost_completion_queued(&io->completion))
			return -EBUSY;
	} while (!atomic64_try_cmpxchg(&io->word, (s64 *)&word, new));
	return 0;
}

static void set_transfer(struct roost_io *io, const struct roost_sqe *sqe)
{
	struct roost_transfer *t = &io->transfer;

	t->addr = sqe->addr;
	t->addr2 = sqe->addr2;
	t->len = sqe->len;
	t->len2 = sqe->len2;
	t->msg_flags = sqe->msg_flags;
	t->opcode = sqe->opcode;
	t->drained = false;
	t->cqe_flags = 0;
	if (likely(sqe->opcode == ROOST_OP_SEND_RECV))
		io->sending = sqe->len;
	else
		io->sending = sqe->opcode == ROOST_OP_SEND ||
			      sqe->opcode == ROOST_OP_SENDMSG ||
			      sqe->opcode == ROOST_OP_WRITE;
}

/* Those of the current task. */
static void use_cred(struct roost_io *io)
{
	if (likely(io->cred == current_cred()))
		return;
	put_cred(io->cred);
	io->cred = get_current_cred();
}

/* The file, which can be used for this op. */
static struct roost_file *file_of(struct roost_domain *domain,
				  const struct roost_sqe *sqe,
				  const struct roost_transfer *transfer)
{
	if (sqe->flags & ROOST_SQE_FILE)
		return roost_file_get_registered(domain, sqe->fd,
						 sqe->file_seq, transfer);
	return roost_file_get(domain, sqe->fd, transfer);
}

/* Fill in an op in SETUP.  On failure it is FREE again. */
static int prepare(struct roost_io *io, struct roost_worker *worker,
		   const struct roost_sqe *sqe)
{
	struct roost_file *file;
	int ret;

	set_transfer(io, sqe);
	WRITE_ONCE(io->home, worker);
	file = file_of(worker->domain, sqe, &io->transfer);
	if (IS_ERR(file)) {
		ret = PTR_ERR(file);
		goto set_free;
	}
	ret = roost_transfer_check(&io->transfer, file);
	if (unlikely(ret))
		goto put_file;
	io->file = file;
	use_cred(io);
	io->once = never_waits(io);
	return 0;

put_file:
	roost_file_put(file);
set_free:
	/* A CANCEL that has left its flag meanwhile: this is the completion. */
	atomic64_set_release(&io->word,
			     (u64)roost_op_sequence(sqe->op_id) << 32);
	return ret;
}

/**
 * roost_io_start() - RECV and the other I/O ops
 * @worker:	from whose ring it came
 * @sqe:	the entry, checked
 * @posted:	set to true if it has completed already
 *
 * roost_timeout_program() and roost_io_run() have to follow.
 * Context: task, may sleep.  Return: 0, or what the caller has to complete it
 * with.
 */
int roost_io_start(struct roost_worker *worker, const struct roost_sqe *sqe,
		   bool *posted)
{
	struct roost_domain *domain = worker->domain;
	struct roost_io *io;
	int ret;

	if (sqe->deadline > ROOST_MAX_DEADLINE)
		return -EINVAL;
	ret = allowed(domain);
	if (ret)
		return ret;
	io = roost_table_get(&domain->ios, roost_op_index(sqe->op_id));
	if (IS_ERR(io))
		return PTR_ERR(io);
	ret = begin(io, roost_op_sequence(sqe->op_id));
	if (ret)
		return ret;
	ret = prepare(io, worker, sqe);
	if (ret)
		return ret;
	atomic64_inc(&worker->ios_started);
	trace_roost_io_submit(worker, sqe->op_id, sqe->opcode, sqe->fd);
	if (sqe->deadline) {
		io->clock = worker;
		roost_timeout_add(worker, &io->deadline, sqe->deadline);
	}
	*posted |= roost_io_launch(io, worker);
	return 0;
}

/* Ends */

/* The same without a completion: the worker or the domain goes. */
static void vanish(struct roost_io *io)
{
	struct roost_file *file = io->file;
	u64 word = atomic64_read(&io->word) & ~(u64)U32_MAX;

	io_drop_deadline(io);
	io->file = NULL;
	io_count_done(io->home);
	/* Release: we are done with it; pairs with the acquire in begin(). */
	atomic64_set_release(&io->word, word | IO_FREE);
	roost_file_put(file);
}

/* Claim an op that is in a list; false if it is not, or not any more. */
static bool claim(struct roost_io *io, u64 *word, enum io_state *from)
{
	do {
		*from = io_state_of(*word);
		if (*from != IO_ARMED && *from != IO_READY)
			return false;
	} while (!io_move(io, word, IO_ENDING));
	return true;
}

/* Out of its list; an event that it had is somebody else's now. */
static void withdraw(struct roost_io *io, enum io_state from)
{
	roost_io_unlist(io, from);
	if (from == IO_READY)
		io_pass_on(io->file, io_dir(io));
}

/* End a claimed op, and tell somebody. */
static void end_claimed(struct roost_io *io, enum io_state from, s32 res)
{
	struct roost_worker *home = io->home;

	withdraw(io, from);
	io_end(io, home, res, 0);
	roost_domain_event(home->domain);
	roost_wake_for(home);
}

/**
 * roost_io_end_waiting() - the file is registered no more
 * @file:	the file; the caller has a reference
 *
 * What waits for it ends with -ECANCELED; nothing waits for it any more.
 * Context: task, may sleep.
 */
void roost_io_end_waiting(struct roost_file *file)
{
	struct roost_queue *waiting;
	struct roost_io *io;
	enum roost_dir dir;
	u64 word;

	raw_spin_lock_irq(&file->lock);
	file->gone = true;
	for (dir = ROOST_DIR_IN; dir <= ROOST_DIR_OUT; dir++) {
		waiting = &file->waiting[dir];
		while (!roost_queue_empty(waiting)) {
			io = hlist_entry(waiting->first, struct roost_io, node);
			roost_queue_del(waiting, &io->node);
			word = atomic64_read(&io->word);
			if (io_state_of(word) != IO_ARMED ||
			    !io_move(io, &word, IO_ENDING))
				continue;
			raw_spin_unlock_irq(&file->lock);
			end_claimed(io, IO_ARMED, -ECANCELED);
			cond_resched();
			raw_spin_lock_irq(&file->lock);
		}
	}
	raw_spin_unlock_irq(&file->lock);
}

/**
 * roost_io_expire() - an op's deadline has passed
 * @entry:	its entry, off the wheel
 *
 * Ends it if it is armed.  One that is READY or being tried has its attempt
 * first, and does not wait again.
 *
 * Context: any, the wheel's lock is held.
 */
void roost_io_expire(struct roost_wheel_entry *entry)
{
	struct roost_io *io = container_of(entry, struct roost_io, deadline);
	struct roost_worker *home;
	u64 word = atomic64_read(&io->word);

	do {
		if (io_state_of(word) == IO_ENDING || io_state_of(word) == IO_FREE)
			return;
		if (io_state_of(word) != IO_ARMED) {
			if (io_flag(io, &word, IO_EXPIRED))
				return;
			continue;
		}
		if (io_move(io, &word, IO_ENDING))
			break;
	} while (true);

	home = io->home;
	roost_io_unlist(io, IO_ARMED);
	io->clock = NULL;
	roost_file_put_later(io_finish(io, home, -ETIMEDOUT, 0));
	roost_domain_event(home->domain);
	roost_wake_for(home);
}

/* The index has never seen this op: it will be stale when it comes. */
static bool forestall(struct roost_io *io, u64 *word, u32 sequence)
{
	return atomic64_try_cmpxchg(&io->word, (s64 *)word,
				    (u64)sequence << 32 | IO_FREE);
}

/**
 * roost_io_cancel() - ROOST_OP_CANCEL
 * @worker:	from whose ring it came
 * @sqe:	the entry, checked
 *
 * Context: task, may sleep.  Return: 0 if the op itself reports its end, now or
 * soon; -ECANCELED if the caller has to report that for it; -ENOENT if it is
 * done; -EBUSY if an older op is in the way; -ESTALE; -EINVAL; -ENOMEM.
 */
int roost_io_cancel(struct roost_worker *worker, const struct roost_sqe *sqe)
{
	u32 sequence = roost_op_sequence(sqe->op_id);
	enum io_state from;
	struct roost_io *io;
	u64 word;
	s32 newer;

	io = roost_table_get(&worker->domain->ios, roost_op_index(sqe->op_id));
	if (IS_ERR(io))
		return PTR_ERR(io);
	word = atomic64_read(&io->word);
	for (;;) {
		newer = sequence - io_sequence_of(word);
		if (newer < 0)
			return -ESTALE;
		if (newer && io_state_of(word) != IO_FREE)
			return -EBUSY;
		if (newer) {
			if (forestall(io, &word, sequence))
				return -ECANCELED;
			continue;
		}
		switch (io_state_of(word)) {
		case IO_FREE:
			return -ENOENT;
		case IO_ENDING:
			return 0;
		case IO_SETUP:
		case IO_EXECUTING:
			if (io_flag(io, &word, IO_CANCELLED))
				return 0;
			break;
		default:
			from = io_state_of(word);
			if (io_move(io, &word, IO_ENDING)) {
				end_claimed(io, from, -ECANCELED);
				return 0;
			}
		}
	}
}

static void drop_io(void *node, void *arg)
{
	struct roost_worker *worker = arg;
	struct roost_io *io = node;
	enum io_state from;
	u64 word = atomic64_read(&io->word);

	/* Who is at an op has it end in its own ring. */
	if (worker && READ_ONCE(io->home) != worker)
		return;
	if (!claim(io, &word, &from))
		return;
	/* Now nobody changes it: was it another one's meanwhile? */
	if (worker && io->home != worker) {
		end_claimed(io, from, -ECANCELED);
		return;
	}
	withdraw(io, from);
	vanish(io);
}

/**
 * roost_io_drop() - end ops without a completion
 * @domain:	whose
 * @worker:	only those whose home is this one; NULL for all
 *
 * Context: task, may sleep.
 */
void roost_io_drop(struct roost_domain *domain, struct roost_worker *worker)
{
	roost_table_walk(&domain->ios, drop_io, worker);
}

/**
 * roost_io_table() - set up a domain's I/O ops
 * @domain:	whose
 * @nr:		how many
 *
 * Return: 0 or -ENOMEM.
 */
int roost_io_table(struct roost_domain *domain, u32 nr)
{
	struct roost_table *table = &domain->ios;

	table->nr = nr;
	table->size = sizeof(struct roost_io);
	table->armed = sizeof(struct roost_file);
	table->cache = io_cache;
	table->init = init_io;
	return roost_table_alloc(table);
}

static void free_io(void *node, void *arg)
{
	struct roost_io *io = node;

	put_cred(io->cred);
}

/**
 * roost_io_free() - the domain is gone
 * @domain:	whose; there are no ops any more
 */
void roost_io_free(struct roost_domain *domain)
{
	roost_table_walk(&domain->ios, free_io, NULL);
	roost_table_free(&domain->ios);
}

/**
 * roost_io_init() - module init
 *
 * Return: 0 or -ENOMEM.
 */
int __init roost_io_init(void)
{
	io_cache = roost_cache_create("roost_io", ROOST_TABLE_CHUNK *
				      sizeof(struct roost_io));
	return io_cache ? 0 : -ENOMEM;
}

/**
 * roost_io_exit() - module exit
 */
void roost_io_exit(void)
{
	kmem_cache_destroy(io_cache);
}
