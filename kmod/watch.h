/* SPDX-License-Identifier: GPL-2.0 */
/* poll() on a domain's file, so that a domain nests in other event loops. */
#ifndef _ROOST_WATCH_H
#define _ROOST_WATCH_H

#include <linux/irq_work.h>
#include <linux/poll.h>
#include <linux/wait.h>

struct roost_domain;

/**
 * struct roost_watch - who watches a domain
 * @queue:	waits until a ring of the domain holds completions
 * @work:	wakes them
 */
struct roost_watch {
	wait_queue_head_t queue;
	struct irq_work work;
};

void roost_watch_init(struct roost_watch *watch);
void roost_watch_exit(struct roost_watch *watch);
__poll_t roost_watch_poll(struct roost_domain *domain, struct file *file,
			  poll_table *table);

/*
 * Something was posted, and a full barrier has come since; it pairs with the
 * one in roost_watch_poll(): either we find the waiter, or it finds what was
 * posted.  Context: any.
 */
static inline void roost_watch_notify(struct roost_watch *watch)
{
	/* After the caller's full barrier, see above. */
	if (waitqueue_active(&watch->queue))
		irq_work_queue(&watch->work);
}

#endif /* _ROOST_WATCH_H */
