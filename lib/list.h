/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* list.h - doubly linked lists whose links lie in their elements. */
#ifndef ROOST_LIB_LIST_H
#define ROOST_LIB_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void list_insert_between(struct list_head *node,
				       struct list_head *prev,
				       struct list_head *next)
{
	next->prev = node;
	node->next = next;
	node->prev = prev;
	prev->next = node;
}

static inline void list_add(struct list_head *node, struct list_head *head)
{
	list_insert_between(node, head, head->next);
}

static inline void list_add_tail(struct list_head *node, struct list_head *head)
{
	list_insert_between(node, head->prev, head);
}

static inline void list_del_init(struct list_head *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	INIT_LIST_HEAD(node);
}

#define list_entry(ptr, type, member)	container_of(ptr, type, member)
#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)

/*
 * The node in @pos.  Where a list ends @pos is what is around its head, as if it were an
 * element too; that is none, is not aligned as one, and only its address is for use.
 */
#define list_node(pos, member) \
	((struct list_head *)((char *)(pos) + offsetof(__typeof__(*(pos)), member)))

#define list_for_each_entry(pos, head, member)				\
	for (pos = list_first_entry(head, __typeof__(*pos), member);	\
	     list_node(pos, member) != (head);				\
	     pos = list_first_entry(list_node(pos, member),		\
				    __typeof__(*pos), member))

#define list_for_each_entry_safe(pos, n, head, member)			\
	for (pos = list_first_entry(head, __typeof__(*pos), member),	\
	     n = list_first_entry(list_node(pos, member),		\
				  __typeof__(*pos), member);		\
	     list_node(pos, member) != (head);				\
	     pos = n,							\
	     n = list_first_entry(list_node(n, member),			\
				  __typeof__(*n), member))

#endif /* ROOST_LIB_LIST_H */
