// SPDX-License-Identifier: GPL-2.0
/*
 * I/O ops are tried, and wait for their file if there is nothing.
 *
 * A submission is tried at once, unless its buffer may have to be faulted in,
 * which takes as long as somebody else likes (userfaultfd, a FUSE mapping): then
 * it becomes READY, so that what was submitted behind it need not wait.  Who
 * tries such an op while more are READY wakes a sibling first.  An op that
 * becomes READY by an event has raised the event counter and woken a worker (P1).
 */
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/socket.h>
#include <linux/uaccess.h>

#include "io.h"
#include "io_op.h"

/*
 * So many ops are carried out by one ENTER.  What hundreds of receives in a row
 * free, and hundreds of sends then take again, has left the CPU's own lists.
 */
#define RUN_BATCH	64

/* Attempts of one op in a row, if events keep coming. */
#define MAX_TRIES	3

/* READY to EXECUTING, unless somebody has claimed the op, who will unlist it. */
static bool take(struct roost_io *io)
{
	u64 word = atomic64_read(&io->word);

	do {
		if (io_state_of(word) != IO_READY)
			return false;
	} while (!io_move(io, &word, IO_EXECUTING));
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
		io_set_nr_ready(domain, domain->nr_ready - 1);
		if (!take(io))
			io = NULL;
	}
	raw_spin_unlock_irq(&domain->ready_lock);
	return io;
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
	enum roost_dir dir = io_dir(io);
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
	} while (!ret && !io_move(io, &word, IO_ARMED));
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
	enum roost_dir dir = io_dir(io);

	/* Under the lock: who arms sees the bit, or is seen by io_pass_on(). */
	if (!test_bit(dir, &file->ready)) {
		raw_spin_lock_irq(&file->lock);
		set_bit(dir, &file->ready);
		raw_spin_unlock_irq(&file->lock);
	}
	io_pass_on(file, dir);
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
		io_pass_on(io->file, io_dir(io));
		return -ECANCELED;
	}
	if (unlikely(io->once))
		return 0;
	if (io->sending && !tries && test_bit(ROOST_DIR_OUT, &io->file->ready))
		return 0;
	return take_bit(io->file, io_dir(io)) ? 0 : arm(io, worker);
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
	while (!io_move(io, &word, IO_READY))
		;
	roost_queue_add(&domain->ready, &io->node);
	io_set_nr_ready(domain, domain->nr_ready + 1);
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
	io_end(io, worker, n, io->transfer.cqe_flags);
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
		io_wake_for_ready(worker);
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
		io_wake_for_ready(worker);
	return any;
}

/* May what comes first, or both halves of it, have to wait for memory? */
static bool launch_may_fault(const struct roost_io *io)
{
	unsigned long ready = READ_ONCE(io->file->ready);

	/* What is only armed touches no memory yet. */
	if (!io->once && !(ready & BIT(io_dir(io))))
		return false;
	if (likely(io->transfer.opcode == ROOST_OP_SEND_RECV && io->sending))
		return may_fault_read(io->transfer.addr, io->transfer.len) ||
		       (unlikely(ready & BIT(ROOST_DIR_IN)) &&
			may_fault_write(io->transfer.addr2,
					io->transfer.len2));
	return io_may_fault(io);
}

bool roost_io_launch(struct roost_io *io, struct roost_worker *worker)
{
	if (launch_may_fault(io)) {
		put_back(io);
		return false;
	}
	return execute(io, worker);
}
