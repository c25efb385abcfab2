/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * stack_sizes.h - the stacks of a runtime: those of the usual size, and those of
 * each power of two that a spawn has asked for.
 */
#ifndef ROOST_LIB_STACK_SIZES_H
#define ROOST_LIB_STACK_SIZES_H

#include <stdatomic.h>

#include "stack.h"

/* What may be asked for. */
#define STACK_MIN_SHIFT	14
#define STACK_MAX_SHIFT	30
#define STACK_MIN	((size_t)1 << STACK_MIN_SHIFT)
#define STACK_MAX	((size_t)1 << STACK_MAX_SHIFT)

/**
 * struct stack_sizes - all stacks of a runtime
 * @usual:	of the size in the configuration
 * @rules:	constant
 * @other:	by the power of two, made when first asked for and kept
 */
struct stack_sizes {
	struct stacks usual;
	struct stack_rules rules;
	struct stacks *_Atomic other[STACK_MAX_SHIFT - STACK_MIN_SHIFT + 1];
};

/** stack_sizes_init() - @size is the usual one.  Return: 0 or -ENOMEM */
int stack_sizes_init(struct stack_sizes *s, size_t size,
		     const struct stack_rules *rules);
void stack_sizes_fini(struct stack_sizes *s);

/*
 * stack_sizes_get() - a stack
 * @size:	at least so many bytes, STACK_MIN to STACK_MAX; 0 for the usual size
 *
 * Return: as stack_get().
 */
int stack_sizes_get(struct stack_sizes *s, size_t size, struct stack *stack);

/*
 * stack_sizes_count() - stacks_count() of each size that there is, the usual one first
 *
 * Return: how many sizes; the first @n of them are in @list.
 */
size_t stack_sizes_count(struct stack_sizes *s, struct roost_stack_info *list,
			 size_t n);

#endif /* ROOST_LIB_STACK_SIZES_H */
