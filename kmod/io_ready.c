// SPDX-License-Identifier: GPL-2.0
/*
 * How I/O ops become ready: from a file's wait-queue callback to the domain's list.
 */
#include <linux/bitops.h>
#include <linux/poll.h>

#include "io.h"
#include "io_op.h"

/* The op is made READY by the caller, who has its file's lock: interrupts off. */
static void ready_add(struct roost_domain *domain, struct roost_io *io)
{
	raw_spin_lock(&domain->ready_lock);
	roost_queue_add(&domain->ready, &io->node);
	io_set_nr_ready(domain, domain->nr_ready + 1);
	raw_spin_unlock(&domain->ready_lock);
}

void roost_io_unlist(struct roost_io *io, enum io_state claimed_from)
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
			io_set_nr_ready(domain, domain->nr_ready - 1);
		} else {
			roost_queue_del(&file->waiting[io_dir(io)], &io->node);
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
		if (io_state_of(word) != IO_ARMED || !io_move(io, &word, IO_READY))
			continue;
		roost_queue_del(waiting, &io->node);
		home = io->home;
		ready_add(file->domain, io);
		if (!file->gone)
			break;
	}
	return home;
}

void roost_io_ready_next(struct roost_file *file, enum roost_dir dir)
{
	struct roost_worker *next = NULL;
	unsigned long irq;

	raw_spin_lock_irqsave(&file->lock, irq);
	if (test_bit(dir, &file->ready))
		next = ready_first(file, dir);
	raw_spin_unlock_irqrestore(&file->lock, irq);
	if (next)
		io_wake_for_ready(next);
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
		io_wake_for_ready(home);
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
