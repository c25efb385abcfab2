/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue: in at the end, out at the front or from the middle.
 *
 * What struct list_head does, but a kernel that checks its lists (Debian's does)
 * calls a function for each node that comes or goes, and here that would be four
 * a request.  The links are those of struct hlist_node.
 */
#ifndef _ROOST_QUEUE_H
#define _ROOST_QUEUE_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/types.h>

/**
 * struct roost_queue - the queue; its user has a lock for it
 * @first:	the first node or NULL
 * @end:	where the next one is to be linked
 */
struct roost_queue {
	struct hlist_node *first;
	struct hlist_node **end;
};

static inline void roost_queue_init(struct roost_queue *queue)
{
	queue->first = NULL;
	queue->end = &queue->first;
}

/* May be asked without the lock. */
static inline bool roost_queue_empty(const struct roost_queue *queue)
{
	return !READ_ONCE(queue->first);
}

/**
 * roost_queue_add() - at the end
 * @queue:	the queue
 * @node:	in none: INIT_HLIST_NODE(), or after roost_queue_del()
 */
static inline void roost_queue_add(struct roost_queue *queue,
				   struct hlist_node *node)
{
	node->next = NULL;
	node->pprev = queue->end;
	/* For roost_queue_empty(). */
	WRITE_ONCE(*queue->end, node);
	queue->end = &node->next;
}

/**
 * roost_queue_del() - take a node out
 * @queue:	the queue that it is in
 * @node:	the node; hlist_unhashed() afterwards
 */
static inline void roost_queue_del(struct roost_queue *queue,
				   struct hlist_node *node)
{
	struct hlist_node *next = node->next;

	WRITE_ONCE(*node->pprev, next);
	if (next)
		next->pprev = node->pprev;
	else
		queue->end = node->pprev;
	node->pprev = NULL;
}

#endif /* _ROOST_QUEUE_H */
