// SPDX-License-Identifier: GPL-2.0
/*
 * I/O ops: tried in ENTER, armed on their file, tried again.
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
 * and finds it in one list or in none (unlist()).
 *
 * A submission is tried at once, unless its buffer may have to be faulted in,
 * which takes as long as somebody else likes (userfaultfd, a FUSE mapping): then
 * it becomes READY, so that what was submitted behind it need not wait.  Who
 * tries such an op while more are READY wakes a sibling first.  An op that
 * becomes READY by an event has raised the event counter and woken a worker (P1).
 *
 * An event readies the first op that waits in its direction and leaves the
 * file's ready bit set for the others.  As long as the bit is set and others
 * wait, some op has it to pass on: at its end, or when its attempt has left
 * something behind.
 *
 * An op is FREE before its completion can be seen (roost_cq_post_last()): who has
 * seen that may use the index again at once.
 */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seccomp.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/uaccess.h>

#include "domain.h"
#include "file.h"
#include "io.h"
#include "park.h"
#include "ring.h"
#include "timeout.h"
#include "trace.h"
#include "transfer.h"
#include "worker.h"

unsigned int roost_max_ios = 1U << 22;
module_param_named(max_ios, roost_max_ios, uint, 0644);
MODULE_PARM_DESC(max_ios, "largest number of I/O ops a domain may have");

bool roost_ring_io = true;
module_param_named(ring_io, roost_ring_io, bool, 0644);
MODULE_PARM_DESC(ring_io, "allow I/O in the ring");

static bool ring_io_seccomp;
module_param(ring_io_seccomp, bool, 0644);
MODULE_PARM_DESC(ring_io_seccomp, "allow it to tasks under seccomp, too");

/*
 * So many ops are carried out by one ENTER.  What hundreds of receives in a row
 * free, and hundreds of sends then take again, has left the CPU's own lists.
 */
#define RUN_BATCH	64

/* Attempts of one op in a row, if events keep coming. */
#define MAX_TRIES	3

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

static enum io_state state_of(u64 word)
{
	return word & IO_STATE;
}

static u32 sequence_of(u64 word)
{
	return word >> 32;
}

static u64 with_state(u64 word, enum io_state state)
{
	return (word & ~(u64)IO_STATE) | state;
}

/* From *word to a state, flags kept.  *word is the current value afterwards. */
static bool move(struct roost_io *io, u64 *word, enum io_state state)
{
	return atomic64_try_cmpxchg(&io->word, (s64 *)word,
				    with_state(*word, state));
}

static bool flag(struct roost_io *io, u64 *word, u32 flag)
{
	return atomic64_try_cmpxchg(&io->word, (s64 *)word, *word | flag);
}

static enum roost_dir dir_of(const struct roost_io *io)
{
	return io->sending ? ROOST_DIR_OUT : ROOST_DIR_IN;
}

/* The ready list */

static void set_nr_ready(struct roost_domain *domain, u32 nr)
{
	WRITE_ONCE(domain->nr_ready, nr);
	WRITE_ONCE(domain->control->io_ready, nr);
}

/* The op is made READY by the caller, who has its file's lock: interrupts off. */
static void ready_add(struct roost_domain *domain, struct roost_io *io)
{
	raw_spin_lock(&domain->ready_lock);
	roost_queue_add(&domain->ready, &io->node);
	set_nr_ready(domain, domain->nr_ready + 1);
	raw_spin_unlock(&domain->ready_lock);
}

/* READY to EXECUTING, unless somebody has claimed the op, who will unlist() it. */
static bool take(struct roost_io *io)
{
	u64 word = atomic64_read(&io->word);

	do {
		if (state_of(word) != IO_READY)
			return false;
	} while (!move(io, &word, IO_EXECUTING));
	return true;
}

/* The next op, now EXECUTING and nobody else's; NULL if there is none. */
static __always_inline struct roost_io *ready_take(struct roost_domain *domain)
{
	struct roost_io *io = NULL;

	raw_spin_lock_irq(&domain->ready_lock);
	while (!io && !roost_queue_empty(&domain->ready)) {
		io = hlist_entry(domain->ready.first, struct roost_io, node);
		roost_queue_del(&domain->ready, &io->node);
		set_nr_ready(domain, domain->nr_ready - 1);
		if (!take(io))
			io = NULL;
	}
	raw_spin_unlock_irq(&domain->ready_lock);
	return io;
}

/* Take an op that the caller has claimed out of the list that it is in. */
static void unlist(struct roost_io *io, enum io_state claimed_from)
{
	struct roost_file *file = io->file;
	struct roost_domain *domain = file->domain;
	unsigned long irq;

	raw_spin_lock_irqsave(&file->lock, irq);
	raw_spin_lock(&domain->ready_lock);
	/* Else who took it out has found it claimed. */
	if (!hlist_unhashed(&io->node)) {
		if (claimed_from == IO_READY) {
			roost_queue_del(&domain->ready, &io->node);
			set_nr_ready(domain, domain->nr_ready - 1);
		} else {
			roost_queue_del(&file->waiting[dir_of(io)], &io->node);
		}
	}
	raw_spin_unlock(&domain->ready_lock);
	raw_spin_unlock_irqrestore(&file->lock, irq);
}

/*
 * The file's first waiting op in a direction becomes READY; all of them if the
 * file's queue is gone, since nothing will come for the others.  File locked.
 */
static __always_inline struct roost_worker *
ready_first(struct roost_file *file, enum roost_dir dir)
{
	struct roost_queue *waiting = &file->waiting[dir];
	struct roost_worker *home = NULL;
	struct hlist_node *node, *next;
	struct roost_io *io;
	u64 word;

	for (node = waiting->first; node; node = next) {
		next = node->next;
		io = hlist_entry(node, struct roost_io, node);
		word = atomic64_read(&io->word);
		/* Fails only if somebody has claimed it. */
		if (state_of(word) != IO_ARMED || !move(io, &word, IO_READY))
			continue;
		roost_queue_del(waiting, &io->node);
		home = io->home;
		ready_add(file->domain, io);
		if (!file->gone)
			break;
	}
	return home;
}

/* An op has become READY behind the back of all ENTERs. */
static __always_inline void wake_for_ready(struct roost_worker *home)
{
	roost_domain_event(home->domain);
	/* After (A), which is in there. */
	if (roost_domain_parked(home->domain))
		roost_wake_for(home);
}

static u32 dirs_of(__poll_t mask)
{
	u32 dirs = 0;

	if (!mask || mask & (EPOLLERR | EPOLLHUP))
		return ROOST_FILE_BOTH;
	if (mask & (EPOLLIN | EPOLLRDNORM | EPOLLRDBAND | EPOLLRDHUP))
		dirs |= BIT(ROOST_DIR_IN);
	if (mask & (EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND))
		dirs |= BIT(ROOST_DIR_OUT);
	return dirs;
}

static noinline int file_event(struct roost_file *file, enum roost_dir dir)
{
	struct roost_worker *home;
	unsigned long irq;

	/* What raw_spin_lock_irqsave() does; this half of it is inline. */
	local_irq_save(irq);
	raw_spin_lock(&file->lock);
	set_bit(dir, &file->ready);
	home = ready_first(file, dir);
	raw_spin_unlock(&file->lock);
	local_irq_restore(irq);
	if (home)
		wake_for_ready(home);
	return 0;
}

/* The direction for sending, or both. */
static noinline int out_events(struct roost_file *file, u32 dirs)
{
	if (dirs & BIT(ROOST_DIR_IN))
		file_event(file, ROOST_DIR_IN);
	return file_event(file, ROOST_DIR_OUT);
}

/* The queue dies: what waits is tried, and does not wait again. */
static noinline int queue_gone(struct roost_hook_entry *entry, struct roost_file *file)
{
	unsigned long irq;

	roost_hook_leave(entry);
	raw_spin_lock_irqsave(&file->lock, irq);
	file->gone = true;
	raw_spin_unlock_irqrestore(&file->lock, irq);
	file_event(file, ROOST_DIR_IN);
	file_event(file, ROOST_DIR_OUT);
	roost_hook_let_go(entry);
	return 0;
}

/**
 * roost_io_callback() - a file's wait queue is woken
 * @wait:	in a struct roost_file's hook
 * @mode:	unused
 * @sync:	unused
 * @key:	the events
 *
 * What is known already need not be noted again: who clears a bit looks at the
 * file afterwards, and finds what this event is about.
 *
 * Context: any, under the queue's lock.  Return: 0.
 */
int roost_io_callback(struct wait_queue_entry *wait, unsigned int mode,
		      int sync, void *key)
{
	struct roost_hook_entry *entry = roost_hook_entry(wait);
	struct roost_file *file = container_of(entry->hook, struct roost_file,
					       hook);
	__poll_t mask = key_to_poll(key);
	u32 dirs = dirs_of(mask);

	if (unlikely(mask & POLLFREE))
		return queue_gone(entry, file);
	smp_mb(); /* (R), pairs with the barrier in take_bit() */
	dirs &= ~READ_ONCE(file->ready);
	if (dirs == BIT(ROOST_DIR_IN))
		return file_event(file, ROOST_DIR_IN);
	return dirs ? out_events(file, dirs) : 0;
}

/* The end of an op */

/* For the completion: not all of the first buffer was sent. */
static u32 half_flags(const struct roost_io *io)
{
	return io->sending && io->transfer.opcode == ROOST_OP_SEND_RECV ?
	       ROOST_CQE_SEND : 0;
}

static void drop_deadline(struct roost_io *io)
{
	if (io->clock)
		roost_timeout_del(io->clock, &io->deadline);
	io->clock = NULL;
}

/* Whoever had the file's event leaves it to the next that waits. */
static void pass_on(struct roost_file *file, enum roost_dir dir)
{
	struct roost_worker *next = NULL;
	unsigned long irq;

	/* Both empty or both seen: what is added later sees the bit itself. */
	if (roost_queue_empty(&file->waiting[dir]))
		return;
	raw_spin_lock_irqsave(&file->lock, irq);
	if (test_bit(dir, &file->ready))
		next = ready_first(file, dir);
	raw_spin_unlock_irqrestore(&file->lock, irq);
	if (next)
		wake_for_ready(next);
}

static void count_done(struct roost_worker *worker)
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
static __always_inline struct roost_file *finish(struct roost_io *io,
						 struct roost_worker *worker,
						 s32 res, u32 flags)
{
	struct roost_file *file = io->file;
	u64 word = atomic64_read(&io->word) & ~(u64)U32_MAX;

	flags |= ROOST_CQE_IO | half_flags(io);
	io->file = NULL;
	count_done(worker);
	trace_roost_io_complete(worker,
				roost_op_id(io->index, sequence_of(word)), res,
				flags);
	/* The release in there pairs with the acquire in begin(). */
	roost_cq_post_last(worker, &io->completion,
			   roost_op_id(io->index, sequence_of(word)), res,
			   flags, &io->word, word | IO_FREE);
	return file;
}

static __always_inline void end(struct roost_io *io, struct roost_worker *worker,
				s32 res, u32 flags)
{
	drop_deadline(io);
	roost_file_put(finish(io, worker, res, flags));
}

/* The same without a completion: the worker or the domain goes. */
static void vanish(struct roost_io *io)
{
	struct roost_file *file = io->file;
	u64 word = atomic64_read(&io->word) & ~(u64)U32_MAX;

	drop_deadline(io);
	io->file = NULL;
	count_done(io->home);
	/* Release: we are done with it; pairs with the acquire in begin(). */
	atomic64_set_release(&io->word, word | IO_FREE);
	roost_file_put(file);
}

/* Claim an op that is in a list; false if it is not, or not any more. */
static bool claim(struct roost_io *io, u64 *word, enum io_state *from)
{
	do {
		*from = state_of(*word);
		if (*from != IO_ARMED && *from != IO_READY)
			return false;
	} while (!move(io, word, IO_ENDING));
	return true;
}

/* Out of its list; an event that it had is somebody else's now. */
static void withdraw(struct roost_io *io, enum io_state from)
{
	unlist(io, from);
	if (from == IO_READY)
		pass_on(io->file, dir_of(io));
}

/* End a claimed op, and tell somebody. */
static void end_claimed(struct roost_io *io, enum io_state from, s32 res)
{
	struct roost_worker *home = io->home;

	withdraw(io, from);
	end(io, home, res, 0);
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
			if (state_of(word) != IO_ARMED ||
			    !move(io, &word, IO_ENDING))
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
		if (state_of(word) == IO_ENDING || state_of(word) == IO_FREE)
			return;
		if (state_of(word) != IO_ARMED) {
			if (flag(io, &word, IO_EXPIRED))
				return;
			continue;
		}
		if (move(io, &word, IO_ENDING))
			break;
	} while (true);

	home = io->home;
	unlist(io, IO_ARMED);
	io->clock = NULL;
	roost_file_put_later(finish(io, home, -ETIMEDOUT, 0));
	roost_domain_event(home->domain);
	roost_wake_for(home);
}

/* Trying */

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

/* Would this op have to end instead of waiting? */
static int must_end(const struct roost_io *io, u64 word)
{
	if (word & IO_CANCELLED || io->file->gone)
		return -ECANCELED;
	return word & IO_EXPIRED ? -ETIMEDOUT : 0;
}

/* Take the ready bit of a direction, if it is set, for an attempt. */
static __always_inline bool take_bit(struct roost_file *file, enum roost_dir dir)
{
	/* A full barrier: the bit before the look at the file; pairs with (R). */
	return test_bit(dir, &file->ready) &&
	       test_and_clear_bit(dir, &file->ready);
}

/*
 * Have the op, SETUP or EXECUTING, wait for its file (-EIOCBQUEUED: it is not
 * ours any more), unless the ready bit has come (0, and the bit is ours), or it
 * has to end.
 */
static int arm(struct roost_io *io, struct roost_worker *worker)
{
	struct roost_file *file = io->file;
	enum roost_dir dir = dir_of(io);
	u64 word = atomic64_read(&io->word);
	int ret = 0;

	raw_spin_lock_irq(&file->lock);
	if (unlikely(take_bit(file, dir))) {
		raw_spin_unlock_irq(&file->lock);
		return 0;
	}
	/* Who finds it ARMED may end it at once: all is ready for that. */
	roost_queue_add(&file->waiting[dir], &io->node);
	do {
		ret = must_end(io, word);
	} while (!ret && !move(io, &word, IO_ARMED));
	if (ret)
		roost_queue_del(&file->waiting[dir], &io->node);
	raw_spin_unlock_irq(&file->lock);
	if (ret)
		return ret;
	atomic64_inc(&worker->ios_waited);
	return -EIOCBQUEUED;
}

/* The attempt did not prove that there is no more: others may try. */
static void give_back(struct roost_io *io)
{
	struct roost_file *file = io->file;
	enum roost_dir dir = dir_of(io);

	/* Under the lock: who arms sees the bit, or is seen by pass_on(). */
	if (!test_bit(dir, &file->ready)) {
		raw_spin_lock_irq(&file->lock);
		set_bit(dir, &file->ready);
		raw_spin_unlock_irq(&file->lock);
	}
	pass_on(file, dir);
}

/* By a signal to who happens to be at it. */
static bool interrupted(ssize_t n)
{
	switch (n) {
	case -EINTR:
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTARTNOHAND:
	case -ERESTART_RESTARTBLOCK:
		return true;
	default:
		return false;
	}
}

static __always_inline ssize_t try_once(struct roost_io *io)
{
	const struct cred *old = NULL;
	ssize_t n;

	if (unlikely(io->cred != current_cred()))
		old = override_creds(io->cred);
	if (io->sending)
		n = roost_transfer_send(&io->transfer, io->file);
	else
		n = roost_transfer_recv(&io->transfer, io->file);
	if (unlikely(old))
		revert_creds(old);
	if (n != -EAGAIN && !io->transfer.drained)
		give_back(io);
	/* The bit is set, so that it will be tried again. */
	return unlikely(n < 0) && interrupted(n) ? (io->once ? -EINTR : -EAGAIN) : n;
}

/*
 * Is there to be an attempt at the half at hand, after so many that found
 * nothing?  Sending mostly succeeds, so its ready bit is taken only after one.
 * Return: 0; -EIOCBQUEUED: it waits, and is not ours any more; what it ends with.
 */
static __always_inline int before_try(struct roost_io *io,
				      struct roost_worker *worker,
				      unsigned int tries)
{
	if (unlikely(atomic64_read(&io->word) & IO_CANCELLED)) {
		pass_on(io->file, dir_of(io));
		return -ECANCELED;
	}
	if (unlikely(io->once))
		return 0;
	if (io->sending && !tries && test_bit(ROOST_DIR_OUT, &io->file->ready))
		return 0;
	return take_bit(io->file, dir_of(io)) ? 0 : arm(io, worker);
}

/* An attempt has found nothing.  Another one at once, since events may come? */
static bool once_more(const struct roost_io *io, unsigned int tries)
{
	return !io->once && tries < MAX_TRIES && !signal_pending(current);
}

/* All sent: on to the receiving half. */
static __always_inline bool half_done(struct roost_io *io, ssize_t n)
{
	if (!io->sending || io->transfer.opcode != ROOST_OP_SEND_RECV ||
	    n != io->transfer.len)
		return false;
	io->sending = false;
	/* never_waits(), but its flags are for the sending. */
	io->once = !io->file->watched;
	return true;
}

/* Once more later, or by somebody else: at the end of the line. */
static noinline void put_back(struct roost_io *io)
{
	struct roost_domain *domain = io->file->domain;
	u64 word = atomic64_read(&io->word);

	raw_spin_lock_irq(&domain->ready_lock);
	while (!move(io, &word, IO_READY))
		;
	roost_queue_add(&domain->ready, &io->node);
	set_nr_ready(domain, domain->nr_ready + 1);
	raw_spin_unlock_irq(&domain->ready_lock);
}

/*
 * The op is SETUP or EXECUTING, and ours.  Returns true if it has completed,
 * false if it waits, or is READY again.
 */
static bool execute(struct roost_io *io, struct roost_worker *worker)
{
	unsigned int tries = 0;
	ssize_t n;

	WRITE_ONCE(io->home, worker);
	for (;;) {
		n = before_try(io, worker, tries);
		if (n == -EIOCBQUEUED)
			return false;
		if (unlikely(n))
			break;
		n = try_once(io);
		if (half_done(io, n))
			tries = 0;
		else if (likely(n != -EAGAIN) || !once_more(io, ++tries))
			break;
	}
	if (unlikely(n == -EAGAIN) && !io->once) {
		put_back(io);
		return false;
	}
	end(io, worker, n, io->transfer.cqe_flags);
	return true;
}

/* A page may be there to be read, and a write still have to wait. */
static bool writable(u64 addr)
{
	struct page *page;

	if (get_user_pages_fast_only(addr, 1, FOLL_WRITE, &page) != 1)
		return false;
	put_page(page);
	return true;
}

/*
 * May this op have to wait for a page of its buffer?  Looks at both ends, which
 * is all there is of one that is no longer than a page.
 */
static __always_inline bool may_fault_read(u64 addr, u32 len)
{
	const char __user *buf = u64_to_user_ptr(addr);
	char c __maybe_unused;

	if (len > PAGE_SIZE)
		return true;
	pagefault_disable();
	if (!user_access_begin(buf, len ?: 1))
		goto no_access;
	unsafe_get_user(c, buf, fault);
	if (len && (addr ^ (addr + len - 1)) & PAGE_MASK)
		unsafe_get_user(c, buf + len - 1, fault);
	user_access_end();
	pagefault_enable();
	return false;
fault:
	user_access_end();
no_access:
	pagefault_enable();
	return true;
}

/* The same of a buffer that is written to. */
static noinline bool may_fault_write(u64 addr, u32 len)
{
	if (len > PAGE_SIZE)
		return true;
	if (!len)
		return false;
	return !writable(addr) || ((addr ^ (addr + len - 1)) & PAGE_MASK &&
				   !writable(addr + len - 1));
}

/* Of the half at hand. */
static noinline bool io_may_fault(const struct roost_io *io)
{
	const struct roost_transfer *t = &io->transfer;

	if (t->opcode == ROOST_OP_RECVMSG || t->opcode == ROOST_OP_SENDMSG)
		return true;
	if (t->opcode == ROOST_OP_SEND_RECV && !io->sending)
		return may_fault_write(t->addr2, t->len2);
	if (io->sending)
		return may_fault_read(t->addr, t->len);
	return may_fault_write(t->addr, t->len);
}

/* Others should help: more is ready than we can do soon. */
static void wake_helper(struct roost_worker *worker, const struct roost_io *io)
{
	struct roost_domain *domain = worker->domain;

	if (READ_ONCE(domain->nr_ready) && roost_domain_parked(domain) &&
	    io_may_fault(io))
		wake_for_ready(worker);
}

/**
 * roost_io_run() - carry out what is ready
 * @worker:	on whose file ENTER was called; completions go to its ring
 *
 * A bounded number.  Context: task, may sleep.  Return: true if any completed;
 * the caller raises the event counter.
 */
bool roost_io_run(struct roost_worker *worker)
{
	struct roost_domain *domain = worker->domain;
	unsigned int left = RUN_BATCH;
	bool any = false;
	struct roost_io *io;

	while (left-- && READ_ONCE(domain->nr_ready)) {
		io = ready_take(domain);
		if (!io)
			break;
		wake_helper(worker, io);
		any |= execute(io, worker);
		/* What is left stays ready; it keeps anybody from parking. */
		if (signal_pending(current))
			break;
		cond_resched();
	}
	/* Not for us to sit on: whoever sleeps can help. */
	if (unlikely(READ_ONCE(domain->nr_ready)))
		wake_for_ready(worker);
	return any;
}

/* Submission */

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
		if ((s32)(sequence - sequence_of(word)) < 1)
			return -ESTALE;
		if (state_of(word) != IO_FREE ||
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

/* May what comes first, or both halves of it, have to wait for memory? */
static bool launch_may_fault(const struct roost_io *io)
{
	unsigned long ready = READ_ONCE(io->file->ready);

	/* What is only armed touches no memory yet. */
	if (!io->once && !(ready & BIT(dir_of(io))))
		return false;
	if (likely(io->transfer.opcode == ROOST_OP_SEND_RECV && io->sending))
		return may_fault_read(io->transfer.addr, io->transfer.len) ||
		       (unlikely(ready & BIT(ROOST_DIR_IN)) &&
			may_fault_write(io->transfer.addr2,
					io->transfer.len2));
	return io_may_fault(io);
}

/*
 * A prepared op: try it, unless somebody behind it might have to wait for that.
 * (An event just now may make it an attempt after all, which is rare enough.)
 */
static bool launch(struct roost_io *io, struct roost_worker *worker)
{
	if (launch_may_fault(io)) {
		put_back(io);
		return false;
	}
	return execute(io, worker);
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
	*posted |= launch(io, worker);
	return 0;
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
		newer = sequence - sequence_of(word);
		if (newer < 0)
			return -ESTALE;
		if (newer && state_of(word) != IO_FREE)
			return -EBUSY;
		if (newer) {
			if (forestall(io, &word, sequence))
				return -ECANCELED;
			continue;
		}
		switch (state_of(word)) {
		case IO_FREE:
			return -ENOENT;
		case IO_ENDING:
			return 0;
		case IO_SETUP:
		case IO_EXECUTING:
			if (flag(io, &word, IO_CANCELLED))
				return 0;
			break;
		default:
			from = state_of(word);
			if (move(io, &word, IO_ENDING)) {
				end_claimed(io, from, -ECANCELED);
				return 0;
			}
		}
	}
}

/* Ends */

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
