// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* stack_sizes.c - the stacks of a runtime, by size. */
#include "stack_sizes.h"

#include <errno.h>
#include <stdlib.h>

#include <roost/inspect.h>

#include "compiler.h"

int stack_sizes_init(struct stack_sizes *s, size_t size,
		     const struct stack_rules *rules)
{
	size_t i;

	s->rules = *rules;
	for (i = 0; i < ARRAY_SIZE(s->other); i++)
		atomic_init(&s->other[i], NULL);
	return stacks_init(&s->usual, size, rules);
}

static void destroy(struct stacks *st)
{
	stacks_fini(st);
	free(st);
}

void stack_sizes_fini(struct stack_sizes *s)
{
	struct stacks *st;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(s->other); i++) {
		st = atomic_load_explicit(&s->other[i], memory_order_relaxed);
		if (st)
			destroy(st);
	}
	stacks_fini(&s->usual);
}

static struct stacks *make(const struct stack_sizes *s, size_t size)
{
	struct stacks *st = malloc(sizeof(*st));

	if (!st)
		return NULL;
	if (stacks_init(st, size, &s->rules)) {
		free(st);
		return NULL;
	}
	return st;
}

static unsigned int shift_of(size_t size)
{
	unsigned int shift = STACK_MIN_SHIFT;

	while ((size_t)1 << shift < size)
		shift++;
	return shift;
}

static struct stacks *of_size(struct stack_sizes *s, size_t size)
{
	unsigned int shift = shift_of(size);
	struct stacks *_Atomic *place = &s->other[shift - STACK_MIN_SHIFT];
	struct stacks *st = atomic_load_explicit(place, memory_order_acquire);
	struct stacks *there = NULL;

	if (st)
		return st;
	st = make(s, (size_t)1 << shift);
	if (!st)
		return NULL;
	/* Release: what is in it; pairs with the acquire above and in here. */
	if (atomic_compare_exchange_strong_explicit(place, &there, st,
						    memory_order_release,
						    memory_order_acquire))
		return st;
	destroy(st);
	return there;
}

size_t stack_sizes_count(struct stack_sizes *s, struct roost_stack_info *list,
			 size_t n)
{
	struct stacks *st = &s->usual;
	size_t found = 0, i = 0;

	for (;;) {
		if (st && found++ < n)
			stacks_count(st, &list[found - 1]);
		if (i == ARRAY_SIZE(s->other))
			return found;
		/* Pairs with the release in of_size(). */
		st = atomic_load_explicit(&s->other[i++], memory_order_acquire);
	}
}

int stack_sizes_get(struct stack_sizes *s, size_t size, struct stack *stack)
{
	struct stacks *st = &s->usual;

	if (size && size != st->size)
		st = of_size(s, size);
	return st ? stack_get(st, stack) : -ENOMEM;
}
