/* SPDX-License-Identifier: GPL-2.0 OR LGPL-2.1 OR MIT */
/*
 * list_shim.h - the library's lists already have the kernel's names; what only
 * code shared with the module needs is added here.
 */
#ifndef ROOST_LIB_SHIM_LIST_SHIM_H
#define ROOST_LIB_SHIM_LIST_SHIM_H

#include "../list.h"
#include "kernel_shim.h"

/* All of @from, in order, behind the last of @to; @from is empty afterwards. */
static inline void list_splice_tail_init(struct list_head *from,
					 struct list_head *to)
{
	struct list_head *first = from->next;
	struct list_head *last = from->prev;

	if (list_empty(from))
		return;
	INIT_LIST_HEAD(from);

	first->prev = to->prev;
	to->prev->next = first;
	last->next = to;
	to->prev = last;
}

#endif /* ROOST_LIB_SHIM_LIST_SHIM_H */
