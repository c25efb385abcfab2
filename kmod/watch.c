// SPDX-License-Identifier: GPL-2.0
/*
 * poll() on a domain's file, so that a domain nests in other event loops.
 *
 * Completions are posted under the locks of polled files' wait queues; to wake
 * our own queue there would nest such locks without an order.  So it is woken
 * from an irq_work (a thread under PREEMPT_RT), and with EPOLL_URING_WAKE, which
 * stops those who would wake yet others in turn.
 */
#include "domain.h"
#include "watch.h"
#include "worker.h"

static void wake_watchers(struct irq_work *work)
{
	struct roost_watch *watch = container_of(work, struct roost_watch, work);

	wake_up_poll(&watch->queue,
		     EPOLLIN | EPOLLRDNORM | EPOLL_URING_WAKE);
}

/**
 * roost_watch_init() - set up
 * @watch:	of a new domain
 */
void roost_watch_init(struct roost_watch *watch)
{
	init_waitqueue_head(&watch->queue);
	init_irq_work(&watch->work, wake_watchers);
}

/**
 * roost_watch_exit() - nothing is posted any more
 * @watch:	of a domain that ends
 *
 * Context: task, waits for a wake-up under way.
 */
void roost_watch_exit(struct roost_watch *watch)
{
	irq_work_sync(&watch->work);
}

/* What was left in a closed worker's ring nobody can take any more. */
static bool holds_completions(const struct roost_worker *worker)
{
	if (READ_ONCE(worker->closed))
		return false;
	return READ_ONCE(worker->nr_overflow) ||
	       READ_ONCE(worker->cq_tail) != READ_ONCE(worker->page->cq_head);
}

/**
 * roost_watch_poll() - the poll operation of a domain's file
 * @domain:	the domain
 * @file:	its file
 * @table:	who asks
 *
 * Return: EPOLLIN while a ring holds completions.
 */
__poll_t roost_watch_poll(struct roost_domain *domain, struct file *file,
			  poll_table *table)
{
	struct roost_worker *worker;
	u32 i;

	poll_wait(file, &domain->watch.queue, table);
	/* Enqueued before the rings are read; pairs with (A), domain.h. */
	smp_mb();
	for (i = 0; i < ROOST_MAX_WORKERS; i++) {
		worker = roost_domain_worker(domain, i);
		if (!worker)
			break;
		if (holds_completions(worker))
			return EPOLLIN | EPOLLRDNORM;
	}
	return 0;
}
