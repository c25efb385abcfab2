// SPDX-License-Identifier: GPL-2.0
/*
 * Files that I/O ops use.
 *
 * A file is looked up for one op, or stays registered under its number, with a
 * sequence that tells the files of one number apart.  Either way it is hooked
 * into the file's wait queues from its first use to its end, edge-triggered:
 * @ready says in which direction an attempt is worth while.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/llist.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "domain.h"
#include "file.h"
#include "io.h"
#include "transfer.h"

unsigned int roost_max_files = 1U << 20;
module_param_named(max_files, roost_max_files, uint, 0644);
MODULE_PARM_DESC(max_files, "largest number of registered files of a domain");

/* HUP and ERR come whether asked for or not. */
#define WATCHED_EVENTS	(EPOLLIN | EPOLLRDNORM | EPOLLRDBAND | EPOLLRDHUP | \
			 EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND | \
			 EPOLLERR | EPOLLHUP)

static struct kmem_cache *slot_cache;
static struct kmem_cache *file_cache;

static void init_slot(void *node, u32 index, void *domain)
{
	struct roost_file_slot *slot = node;

	raw_spin_lock_init(&slot->lock);
	slot->removed = true;
}

/* Nobody uses it any more.  Context: task, may sleep. */
static void destroy(struct roost_file *file)
{
	roost_hook_del(&file->hook);
	fput(file->file);
	kmem_cache_free(file_cache, file);
}

/**
 * roost_file_put() - drop a reference
 * @file:	the file
 *
 * Context: task, may sleep, no lock held.
 */
void roost_file_put(struct roost_file *file)
{
	if (refcount_dec_and_test(&file->ref))
		destroy(file);
}

/**
 * roost_file_put_later() - drop a reference where nothing can be freed
 * @file:	the file; if it was the last reference, a later ENTER frees it
 *
 * Context: any.
 */
void roost_file_put_later(struct roost_file *file)
{
	if (refcount_dec_and_test(&file->ref))
		llist_add(&file->dead, &file->domain->dead_files);
}

/**
 * roost_file_reap() - free what roost_file_put_later() has left
 * @domain:	whose
 *
 * Context: task, may sleep.
 */
void roost_file_reap(struct roost_domain *domain)
{
	struct roost_file *file, *next;
	struct llist_node *list;

	if (likely(llist_empty(&domain->dead_files)))
		return;
	list = llist_del_all(&domain->dead_files);
	llist_for_each_entry_safe(file, next, list, dead) {
		destroy(file);
		cond_resched();
	}
}

/* No socket's wait queue leads back to us; any other file's might. */
static int check_file(const struct roost_file *file,
		      const struct roost_transfer *use)
{
	if (!file->sock && roost_hook_nests(file->file))
		return -ELOOP;
	return roost_transfer_check(use, file);
}

/* What cannot be polled, or not by us, can only be tried. */
static void watch(struct roost_file *file)
{
	__poll_t mask;

	if (!file_can_poll(file->file))
		return;
	file->watched = true;
	if (roost_hook_add(&file->hook, file->file, WATCHED_EVENTS, &mask) ||
	    !file->hook.nr) {
		roost_hook_del(&file->hook);
		file->watched = false;
	}
}

/**
 * roost_file_get() - look up a descriptor of the current task
 * @domain:	for whom
 * @fd:		any value
 * @use:	what for: a file that cannot be used so is not even asked whether
 *		it is ready, which may take as long as it likes
 *
 * Context: task, may sleep as long as the file's poll operation does.
 * Return: the file, for roost_file_put(); or -EBADF, -ELOOP, -ENOMEM, or what
 * roost_transfer_check() says.
 */
struct roost_file *roost_file_get(struct roost_domain *domain, int fd,
				  const struct roost_transfer *use)
{
	struct file *f = fget(fd);
	struct roost_file *file;
	int ret = -ENOMEM;

	if (!f)
		return ERR_PTR(-EBADF);
	file = kmem_cache_alloc(file_cache, GFP_KERNEL_ACCOUNT);
	if (!file)
		goto put_file;
	memset(file, 0, sizeof(*file));
	refcount_set(&file->ref, 1);
	file->domain = domain;
	file->file = f;
	file->sock = sock_from_file(f);
	raw_spin_lock_init(&file->lock);
	/* Nothing is known: both are worth a try. */
	file->ready = ROOST_FILE_BOTH;
	roost_queue_init(&file->waiting[ROOST_DIR_IN]);
	roost_queue_init(&file->waiting[ROOST_DIR_OUT]);
	roost_hook_init(&file->hook, roost_io_callback);
	ret = check_file(file, use);
	if (ret)
		goto free;
	watch(file);
	return file;

free:
	kmem_cache_free(file_cache, file);
put_file:
	fput(f);
	return ERR_PTR(ret);
}

/*
 * It is not under its number any more.  The table's reference keeps it until
 * the waiting ops, which have references as well, are ended.
 */
static void retire(struct roost_file *file)
{
	atomic_dec(&file->domain->files_registered);
	roost_io_end_waiting(file);
	roost_file_put(file);
}

/* Put @file, just looked up, under its number; use up its reference if not. */
static struct roost_file *install(struct roost_file_slot *slot, u32 sequence,
				  struct roost_file *file)
{
	struct roost_file *found, *old = NULL;

	raw_spin_lock(&slot->lock);
	found = roost_file_find(slot, sequence);
	if (!found) {
		/* One for the table, one for the caller. */
		refcount_inc(&file->ref);
		atomic_inc(&file->domain->files_registered);
		old = slot->file;
		slot->file = file;
		slot->sequence = sequence;
		slot->removed = false;
	}
	raw_spin_unlock(&slot->lock);
	if (old)
		retire(old);
	if (!found)
		return file;
	roost_file_put(file);
	return found;
}

/**
 * roost_file_register() - roost_file_get_registered() for what is not there yet
 * @domain:	whose
 * @number:	any value; also the descriptor to look up if need be
 * @sequence:	which of the number's files
 * @use:	what for
 *
 * Context: task, may sleep.  Return: as there.
 */
struct roost_file *roost_file_register(struct roost_domain *domain, u32 number,
				       u32 sequence,
				       const struct roost_transfer *use)
{
	struct roost_file *file;
	struct roost_file_slot *slot;

	slot = roost_table_get(&domain->files_table, number);
	if (IS_ERR(slot))
		return ERR_CAST(slot);
	raw_spin_lock(&slot->lock);
	file = roost_file_find(slot, sequence);
	raw_spin_unlock(&slot->lock);
	if (file)
		return file;
	file = roost_file_get(domain, number, use);
	return IS_ERR(file) ? file : install(slot, sequence, file);
}

/**
 * roost_file_remove() - forget a registered file
 * @domain:	whose
 * @number:	any value
 * @sequence:	which of the number's files; no older one can come back
 *
 * Ops that wait for it end with -ECANCELED; those that are just carried out
 * keep it until they are done.
 *
 * Context: task, may sleep.  Return: 0; -ENOENT if there was none; -ESTALE;
 * -EINVAL; -ENOMEM.
 */
int roost_file_remove(struct roost_domain *domain, u32 number, u32 sequence)
{
	struct roost_file *old = NULL;
	struct roost_file_slot *slot;
	int ret = -ESTALE;

	slot = roost_table_get(&domain->files_table, number);
	if (IS_ERR(slot))
		return PTR_ERR(slot);
	raw_spin_lock(&slot->lock);
	if ((s32)(sequence - slot->sequence) >= 0) {
		old = slot->file;
		slot->file = NULL;
		slot->sequence = sequence;
		slot->removed = true;
		ret = old ? 0 : -ENOENT;
	}
	raw_spin_unlock(&slot->lock);
	if (old)
		retire(old);
	return ret;
}

static void drop_slot(void *node, void *arg)
{
	struct roost_file_slot *slot = node;
	struct roost_file *old;

	raw_spin_lock(&slot->lock);
	old = slot->file;
	slot->file = NULL;
	slot->removed = true;
	raw_spin_unlock(&slot->lock);
	if (old)
		retire(old);
}

/**
 * roost_file_drop() - forget all: the domain ends
 * @domain:	whose; its ops have been dropped
 *
 * An op that a task is just carrying out keeps its file until it is done.
 *
 * Context: task, may sleep.
 */
void roost_file_drop(struct roost_domain *domain)
{
	roost_table_walk(&domain->files_table, drop_slot, NULL);
	roost_file_reap(domain);
}

/**
 * roost_file_table() - set up a domain's numbers
 * @domain:	whose
 * @nr:		how many
 *
 * Return: 0 or -ENOMEM.
 */
int roost_file_table(struct roost_domain *domain, u32 nr)
{
	struct roost_table *table = &domain->files_table;

	table->nr = nr;
	table->size = sizeof(struct roost_file_slot);
	table->armed = sizeof(struct roost_file);
	table->cache = slot_cache;
	table->init = init_slot;
	return roost_table_alloc(table);
}

/**
 * roost_file_init() - module init
 *
 * Return: 0 or -ENOMEM.
 */
int __init roost_file_init(void)
{
	slot_cache = roost_cache_create("roost_file_slot", ROOST_TABLE_CHUNK *
					sizeof(struct roost_file_slot));
	if (!slot_cache)
		return -ENOMEM;
	file_cache = roost_cache_create("roost_file", sizeof(struct roost_file));
	if (!file_cache) {
		kmem_cache_destroy(slot_cache);
		return -ENOMEM;
	}
	return 0;
}

/**
 * roost_file_exit() - module exit
 */
void roost_file_exit(void)
{
	kmem_cache_destroy(file_cache);
	kmem_cache_destroy(slot_cache);
}
