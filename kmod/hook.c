// SPDX-License-Identifier: GPL-2.0
/*
 * Callbacks in the wait queues of files.
 *
 * Whoever owns a hook adds and deletes it, in task context.  Deleting takes the
 * queue's lock, so that no callback runs afterwards.
 *
 * Queues that die before their file (POLLFREE: signalfd, binder): the callback
 * takes its own entry out and stores NULL to its head with release, as the last
 * thing it does with the hook; who deletes loads head with acquire, under RCU,
 * which keeps the queue's memory while its lock is taken.
 */
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "dev.h"
#include "domain.h"
#include "hook.h"
#include "worker.h"

/**
 * roost_hook_init() - set up
 * @hook:	a hook that is in no queue
 * @func:	what wake-ups call; may run before roost_hook_add() returns
 */
void roost_hook_init(struct roost_hook *hook, wait_queue_func_t func)
{
	hook->func = func;
	hook->nr = 0;
}

struct hook_table {
	poll_table table;
	struct roost_hook *hook;
	int error;
};

static void queue_proc(struct file *file, struct wait_queue_head *head,
		       poll_table *table)
{
	struct hook_table *t = container_of(table, struct hook_table, table);
	struct roost_hook *hook = t->hook;
	struct roost_hook_entry *entry;

	if (hook->nr == ROOST_HOOK_QUEUES) {
		t->error = -EINVAL;
		return;
	}
	entry = &hook->entries[hook->nr++];
	entry->hook = hook;
	entry->head = head;
	init_waitqueue_func_entry(&entry->wait, hook->func);
	/* From here on callbacks may run. */
	add_wait_queue(head, &entry->wait);
}

/**
 * roost_hook_add() - get into a file's wait queues, and look at it
 * @hook:	set up, in no queue
 * @file:	a file that can be polled
 * @events:	what is of interest
 * @mask:	the events that are there
 *
 * Context: task, may sleep as long as the file's poll operation does.
 * Return: 0, or -EINVAL if the file has too many queues (the hook may be in
 * some of them then).
 */
int roost_hook_add(struct roost_hook *hook, struct file *file, __poll_t events,
		   __poll_t *mask)
{
	struct hook_table t = { .hook = hook };

	init_poll_funcptr(&t.table, queue_proc);
	t.table._key = events;
	*mask = vfs_poll(file, &t.table) & events;
	return t.error;
}

static void leave_queue(struct roost_hook_entry *entry)
{
	struct wait_queue_head *head;

	rcu_read_lock();
	/* Pairs with the release in roost_hook_let_go(). */
	head = smp_load_acquire(&entry->head);
	if (head) {
		spin_lock_irq(&head->lock);
		list_del_init(&entry->wait.entry);
		entry->head = NULL;
		spin_unlock_irq(&head->lock);
	}
	rcu_read_unlock();
}

/**
 * roost_hook_del() - leave all queues: no callback runs after this
 * @hook:	also one that is in no queue any more
 *
 * Context: task.
 */
void roost_hook_del(struct roost_hook *hook)
{
	u32 i;

	for (i = 0; i < hook->nr; i++)
		leave_queue(&hook->entries[i]);
}

/**
 * roost_hook_nests() - must this file not be watched?
 * @file:	any file
 *
 * Files of the same kind as ours could be waited for in circles; their
 * callbacks would nest without bound, and references would never end.
 * Eventpoll and io_uring do not export their operations, but name their inodes.
 */
bool roost_hook_nests(const struct file *file)
{
	const char *name = file->f_path.dentry->d_name.name;

	if (roost_dev_file(file) || roost_domain_file(file) ||
	    roost_worker_file(file))
		return true;
	if (strcmp(file->f_path.dentry->d_sb->s_type->name, "anon_inodefs"))
		return false;
	return !strcmp(name, "[eventpoll]") || !strcmp(name, "[io_uring]");
}
