/* SPDX-License-Identifier: GPL-2.0 */
/* Files that I/O ops use: looked up, watched, perhaps registered. */
#ifndef _ROOST_FILE_H
#define _ROOST_FILE_H

#include <linux/err.h>
#include <linux/llist.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "domain.h"
#include "hook.h"
#include "queue.h"

struct file;
struct roost_domain;
struct roost_transfer;
struct socket;

extern unsigned int roost_max_files;

/* Directions, also indices of roost_file.waiting. */
enum roost_dir {
	ROOST_DIR_IN,
	ROOST_DIR_OUT,
};

#define ROOST_FILE_BOTH	(BIT(ROOST_DIR_IN) | BIT(ROOST_DIR_OUT))

/**
 * struct roost_file - a file in use
 * @ref:	one of the table if it is registered, one of each op that uses it
 * @domain:	whose; constant
 * @file:	a reference; constant
 * @sock:	its socket, or NULL; constant
 * @watched:	@hook is in its wait queues; constant.  If not, ops cannot wait.
 * @dead:	in the domain's list of files to be freed
 * @lock:	guards all that follows; taken in wake-up callbacks
 * @ready:	BIT(enum roost_dir): an attempt is worth while.  Set by events, under
 *		the lock; cleared before an attempt, also without it.
 * @gone:	removed or lost its wait queue: nothing waits for it any more
 * @waiting:	ops that are armed, by enum roost_dir
 * @hook:	how events come
 */
struct roost_file {
	refcount_t ref;
	struct roost_domain *domain;
	struct file *file;
	struct socket *sock;
	bool watched;
	struct llist_node dead;

	/* Guards what follows. */
	raw_spinlock_t lock;
	unsigned long ready;
	bool gone;
	struct roost_queue waiting[2];
	struct roost_hook hook;
};

/**
 * struct roost_file_slot - what a number stands for
 * @lock:	guards the rest; taken by tasks only
 * @sequence:	the highest seen
 * @removed:	the file with that sequence is gone; true from the start, so that
 *		sequence 0 never names a file
 * @file:	the file, or NULL
 */
struct roost_file_slot {
	/* Guards the rest. */
	raw_spinlock_t lock;
	u32 sequence;
	bool removed;
	struct roost_file *file;
};

int roost_file_init(void);
void roost_file_exit(void);
int roost_file_table(struct roost_domain *domain, u32 nr);
void roost_file_drop(struct roost_domain *domain);

struct roost_file *roost_file_get(struct roost_domain *domain, int fd,
				  const struct roost_transfer *use);
struct roost_file *roost_file_register(struct roost_domain *domain, u32 number,
				       u32 sequence,
				       const struct roost_transfer *use);
int roost_file_remove(struct roost_domain *domain, u32 number, u32 sequence);
void roost_file_put(struct roost_file *file);
void roost_file_put_later(struct roost_file *file);
void roost_file_reap(struct roost_domain *domain);

/*
 * Is @sequence the slot's file, or may it become that?  Slot locked.  Returns
 * the file with a reference; NULL if it is to be looked up; -ESTALE.
 */
static inline struct roost_file *
roost_file_find(struct roost_file_slot *slot, u32 sequence)
{
	s32 newer = sequence - slot->sequence;

	if (newer < 0 || (!newer && slot->removed))
		return ERR_PTR(-ESTALE);
	if (newer)
		return NULL;
	refcount_inc(&slot->file->ref);
	return slot->file;
}

/**
 * roost_file_get_registered() - the file of a number
 * @domain:	whose
 * @number:	any value; also the descriptor to look up if need be
 * @sequence:	which of the number's files
 * @use:	what for, if it has to be looked up
 *
 * Context: task, may sleep.  Return: the file, for roost_file_put(), which may
 * have been registered for another use; or -EINVAL, -ESTALE, or what
 * roost_file_get() says.
 */
static inline struct roost_file *
roost_file_get_registered(struct roost_domain *domain, u32 number, u32 sequence,
			  const struct roost_transfer *use)
{
	struct roost_file_slot *slot;
	struct roost_file *file = NULL;

	slot = roost_table_peek(&domain->files_table, number);
	if (likely(slot)) {
		raw_spin_lock(&slot->lock);
		file = roost_file_find(slot, sequence);
		raw_spin_unlock(&slot->lock);
	}
	return likely(file) ? file : roost_file_register(domain, number,
							 sequence, use);
}

#endif /* _ROOST_FILE_H */
