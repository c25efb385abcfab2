/* SPDX-License-Identifier: GPL-2.0 */
/* Callbacks in the wait queues of files. */
#ifndef _ROOST_HOOK_H
#define _ROOST_HOOK_H

#include <linux/poll.h>
#include <linux/types.h>
#include <linux/wait.h>

struct file;
struct roost_hook;

/* A file may have a queue for reading and one for writing. */
#define ROOST_HOOK_QUEUES	2

/**
 * struct roost_hook_entry - one entry in a wait queue
 * @wait:	in the queue @head
 * @head:	NULL if it is not in there any more; see hook.c
 * @hook:	what it belongs to; constant
 */
struct roost_hook_entry {
	struct wait_queue_entry wait;
	struct wait_queue_head *head;
	struct roost_hook *hook;
};

/**
 * struct roost_hook - the entries of one watch on one file
 * @func:	called by wake-ups, under the queue's lock; constant
 * @nr:		entries in use
 * @entries:	the entries
 */
struct roost_hook {
	wait_queue_func_t func;
	u32 nr;
	struct roost_hook_entry entries[ROOST_HOOK_QUEUES];
};

void roost_hook_init(struct roost_hook *hook, wait_queue_func_t func);
int roost_hook_add(struct roost_hook *hook, struct file *file, __poll_t events,
		   __poll_t *mask);
void roost_hook_del(struct roost_hook *hook);
bool roost_hook_nests(const struct file *file);

/* For @func: whose wake-up is it? */
static inline struct roost_hook_entry *
roost_hook_entry(struct wait_queue_entry *wait)
{
	return container_of(wait, struct roost_hook_entry, wait);
}

/*
 * For @func when it meets POLLFREE: the queue dies, take the entry out of it.
 * roost_hook_let_go() comes last.
 */
static inline void roost_hook_leave(struct roost_hook_entry *entry)
{
	list_del_init(&entry->wait.entry);
}

/*
 * The end of the callback's use of the hook: what it is part of may be gone
 * after this.  Release: all that the callback did before; pairs with the
 * acquire in hook.c.
 */
static inline void roost_hook_let_go(struct roost_hook_entry *entry)
{
	/* See above. */
	smp_store_release(&entry->head, NULL);
}

#endif /* _ROOST_HOOK_H */
