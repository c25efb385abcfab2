/* SPDX-License-Identifier: GPL-2.0 */
/* Files that I/O ops use: looked up, watched, perhaps registered. */
#ifndef _ROOST_FILE_H
#define _ROOST_FILE_H

#include <linux/list.h>
#include <linux/llist.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "hook.h"

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
 * @ready:	BIT(enum roost_dir): an attempt is worth while.  Set by events,
 *		cleared before an attempt.
 * @gone:	removed or lost its wait queue: nothing waits for it any more
 * @waiting:	struct roost_io lists: ops that are armed
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
	u32 ready;
	bool gone;
	struct list_head waiting[2];
	struct roost_hook hook;
};

int roost_file_init(void);
void roost_file_exit(void);
int roost_file_table(struct roost_domain *domain, u32 nr);
void roost_file_drop(struct roost_domain *domain);

struct roost_file *roost_file_get(struct roost_domain *domain, int fd,
				  const struct roost_transfer *use);
struct roost_file *roost_file_get_registered(struct roost_domain *domain,
					     u32 number, u32 sequence,
					     const struct roost_transfer *use);
int roost_file_remove(struct roost_domain *domain, u32 number, u32 sequence);
void roost_file_put(struct roost_file *file);
void roost_file_put_later(struct roost_file *file);
void roost_file_reap(struct roost_domain *domain);

#endif /* _ROOST_FILE_H */
