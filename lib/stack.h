/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * stack.h - stacks with guard pages, cut from large reserved chunks.
 *
 *	chunk:	| guard | stack 0 | guard | stack 1 | ... | guard |
 *
 * A chunk is reserved without access; a stack becomes accessible when it is
 * first handed out.  Freed stacks stay ready in a pool up to a cap; beyond it
 * their pages go back to the system, and a chunk without stacks in use is
 * unmapped.
 */
#ifndef ROOST_LIB_STACK_H
#define ROOST_LIB_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "list.h"
#include "spin.h"

struct stack_chunk;

/**
 * struct stack - one stack
 * @low:	lowest usable address, NULL if there is no stack
 * @chunk:	where it comes from
 * @index:	which one there
 */
struct stack {
	char *low;
	struct stack_chunk *chunk;
	uint32_t index;
};

/**
 * struct stacks - all stacks of a runtime
 * @lock:	guards all that changes; no system call is made under it
 * @size:	usable bytes of a stack, constant
 * @page:	page size, constant
 * @chunk_size:	bytes that the next chunk asks for
 * @chunks:	struct stack_chunk list, those with free stacks first
 * @nr_chunks:	how many
 * @pool:	stacks kept ready
 * @pool_count:	how many
 * @pool_cap:	how many at most, constant
 */
struct stacks {
	struct spin lock;
	size_t size;
	size_t page;
	size_t chunk_size;
	struct list_head chunks;
	unsigned int nr_chunks;
	struct stack *pool;
	unsigned int pool_count;
	unsigned int pool_cap;
};

int stacks_init(struct stacks *st, size_t size, unsigned int pool_cap);
void stacks_fini(struct stacks *st);

/*
 * stack_get() - a stack
 *
 * Return: 0; -ENOMEM if none can be had (a line on standard error names the
 * limit, once), nothing is used up then (S3-68).
 */
int stack_get(struct stacks *st, struct stack *stack);

/** stack_put() - give it back; nobody may run on it any more */
void stack_put(struct stacks *st, struct stack *stack);

#endif /* ROOST_LIB_STACK_H */
