/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * stack.h - stacks of one size with guard pages, cut from large reserved chunks.
 *
 *	chunk:	| guard | stack 0 | guard | stack 1 | ... | guard |
 *
 * A chunk is reserved without access; a stack becomes accessible when it is
 * first handed out (stack_guard.h).  Freed stacks stay ready in a pool up to a cap;
 * of those beyond it a batch at a time gives its pages back to the system, and a
 * chunk without stacks in use is unmapped, but for the last one.
 */
#ifndef ROOST_LIB_STACK_H
#define ROOST_LIB_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "list.h"
#include "spin.h"

struct roost_stack_info;
struct stack_chunk;

/* Freed stacks beyond the cap that give their pages back together, at most. */
#define STACK_BATCH	64U

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
 * struct stack_rules - what holds for all stacks of a runtime
 * @chunk_size:	bytes that a chunk asks for
 * @pool_cap:	free stacks of one size kept ready
 * @flags:	ROOST_STACK_*
 */
struct stack_rules {
	size_t chunk_size;
	unsigned int pool_cap;
	unsigned int flags;
};

/**
 * struct stacks - all stacks of one size of a runtime
 * @lock:	guards all that changes; no system call is made under it
 * @size:	usable bytes of a stack, constant
 * @page:	page size, constant
 * @chunk_size:	bytes that a chunk asks for, constant
 * @flags:	ROOST_STACK_*, constant
 * @chunks:	struct stack_chunk list, those with free stacks first
 * @nr_chunks:	how many
 * @reserved:	bytes of address space that they have
 * @places:	stacks that they can hold
 * @taken:	of these, handed out or in the pool
 * @pool:	stacks kept ready: @pool_cap, and up to @batch of which the pages are
 *		to be given back
 * @pool_count:	how many
 * @pool_cap:	constant
 * @batch:	constant
 */
struct stacks {
	struct spin lock;
	unsigned int flags;
	size_t size;
	size_t page;
	size_t chunk_size;
	struct list_head chunks;
	unsigned int nr_chunks;
	size_t reserved;
	uint64_t places;
	uint64_t taken;
	struct stack *pool;
	unsigned int pool_count;
	unsigned int pool_cap;
	unsigned int batch;
};

/** stacks_init() - none yet.  Return: 0 or -ENOMEM */
int stacks_init(struct stacks *st, size_t size, const struct stack_rules *rules);
void stacks_fini(struct stacks *st);

/*
 * stack_get() - a stack
 *
 * Return: 0; -ENOMEM if none can be had (a line on standard error names the
 * limit, once), nothing is used up then (S3-68).
 */
int stack_get(struct stacks *st, struct stack *stack);

/** stack_put() - give it back; nobody may run on it any more */
void stack_put(struct stack *stack);

/** stacks_count() - how many there are, by what is done with them */
void stacks_count(struct stacks *st, struct roost_stack_info *info);

/** stack_size() - usable bytes */
size_t stack_size(const struct stack *stack);

/*
 * stack_high_water() - bytes that were ever in use, at most
 *
 * That is: since its pages were last given back, from its top down to the lowest word
 * that is not zero.  Looks at all that is below that.
 */
size_t stack_high_water(const struct stack *stack);

#endif /* ROOST_LIB_STACK_H */
