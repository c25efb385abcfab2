// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * stack.c - stacks with guard pages, cut from large reserved chunks.
 *
 * A chunk's list of free stacks is an array of indices, so a freed stack needs
 * no memory and its pages can go.
 *
 * LOCKING: stacks->lock is a leaf.  Whoever has taken a stack from a chunk alone
 * makes it accessible, without the lock.
 */
#define _GNU_SOURCE
#include "stack.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <roost/inspect.h>
#include <roost/runtime.h>

#include "compiler.h"
#include "log.h"
#include "stack_guard.h"
#include "stack_limit.h"
#include "valgrind.h"

/* Address space that may wait for a batch to be full. */
#define BATCH_BYTES	((size_t)4 << 20)

/**
 * struct stack_chunk - one reserved range
 * @node:	in stacks->chunks; those without a free stack stand last
 * @of:		whose, constant
 * @guard:	how its stacks become accessible
 * @base:	address, that of the first guard page
 * @length:	bytes
 * @count:	stacks it can hold
 * @fresh:	stacks from here on were never handed out
 * @nr_free:	entries of @free
 * @used:	stacks handed out or in the pool
 * @free:	indices of freed stacks
 * @open:	stack i is accessible; who has the stack
 * @named:	by what number valgrind knows it then; NULL without valgrind
 */
struct stack_chunk {
	struct list_head node;
	struct stacks *of;
	struct stack_guard guard;
	char *base;
	size_t length;
	uint32_t count;
	uint32_t fresh;
	uint32_t nr_free;
	uint32_t used;
	uint32_t *free;
	bool *open;
	unsigned int *named;
};

static size_t stride(const struct stacks *st)
{
	return st->size + st->page;
}

static unsigned int batch_size(const struct stacks *st)
{
	size_t n = BATCH_BYTES / st->size;

	if (n < 1)
		n = 1;
	return n > STACK_BATCH ? STACK_BATCH : (unsigned int)n;
}

int stacks_init(struct stacks *st, size_t size, const struct stack_rules *rules)
{
	memset(st, 0, sizeof(*st));
	spin_init(&st->lock);
	st->page = (size_t)sysconf(_SC_PAGESIZE);
	st->size = (size + st->page - 1) & ~(st->page - 1);
	st->chunk_size = rules->chunk_size;
	if (st->chunk_size < stride(st) + st->page)
		st->chunk_size = stride(st) + st->page;
	st->flags = rules->flags;
	INIT_LIST_HEAD(&st->chunks);
	st->pool_cap = rules->pool_cap;
	st->batch = batch_size(st);
	st->pool = calloc((size_t)st->pool_cap + st->batch, sizeof(*st->pool));
	if (st->pool)
		return 0;
	log_line("no memory for a list of %u stacks: set stack_pool lower",
		 st->pool_cap);
	return -ENOMEM;
}

static char *stack_low(const struct stacks *st, const struct stack_chunk *c,
		       uint32_t index)
{
	return c->base + st->page + index * stride(st);
}

/* It is accessible from now on, or no longer. */
static void set_open(struct stack_chunk *c, uint32_t index, bool open)
{
	c->open[index] = open;
	if (likely(!c->named))
		return;
	if (open)
		c->named[index] = valgrind_stack_add(stack_low(c->of, c, index),
						     c->of->size);
	else
		valgrind_stack_remove(c->named[index]);
}

static void chunk_destroy(struct stack_chunk *c)
{
	uint32_t i;

	for (i = 0; c->named && i < c->fresh; i++)
		if (c->open[i])
			set_open(c, i, false);
	munmap(c->base, c->length);
	stack_guard_fini(&c->guard);
	free(c->free);
	free(c->open);
	free(c->named);
	free(c);
}

void stacks_fini(struct stacks *st)
{
	struct stack_chunk *c, *n;

	list_for_each_entry_safe(c, n, &st->chunks, node)
		chunk_destroy(c);
	free(st->pool);
	st->pool = NULL;
}

/* As much address space as can be had, up to @st->chunk_size. */
static char *reserve(struct stacks *st, size_t *length)
{
	size_t least = stride(st) + st->page;
	size_t bytes = st->chunk_size;
	void *p;

	for (;;) {
		p = mmap(NULL, bytes, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p != MAP_FAILED)
			break;
		if (bytes == least)
			return NULL;
		bytes = bytes / 2 < least ? least : bytes / 2;
		bytes &= ~(st->page - 1);
	}
	*length = bytes;
	stack_guard_mark(p, bytes);
	return p;
}

static struct stack_chunk *chunk_create(struct stacks *st)
{
	struct stack_chunk *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->of = st;
	c->base = reserve(st, &c->length);
	if (!c->base)
		goto err_free;
	c->count = (uint32_t)((c->length - st->page) / stride(st));
	c->guard.base = c->base;
	c->guard.end = c->base + c->count * stride(st);
	c->guard.page = st->page;
	c->guard.unguarded = st->flags & ROOST_STACK_UNGUARDED;
	c->free = calloc(c->count, sizeof(*c->free));
	c->open = calloc(c->count, sizeof(*c->open));
	if (valgrind_there)
		c->named = calloc(c->count, sizeof(*c->named));
	if (!c->free || !c->open || stack_guard_init(&c->guard, stride(st)))
		goto err_destroy;
	return c;

err_destroy:
	chunk_destroy(c);
	return NULL;
err_free:
	free(c);
	return NULL;
}

static bool chunk_full(const struct stack_chunk *c)
{
	return !c->nr_free && c->fresh == c->count;
}

/* Lock held. */
static bool take_from_chunks(struct stacks *st, struct stack *stack)
{
	struct stack_chunk *c;

	if (list_empty(&st->chunks))
		return false;
	c = list_first_entry(&st->chunks, struct stack_chunk, node);
	if (chunk_full(c))
		return false;
	stack->chunk = c;
	stack->index = c->nr_free ? c->free[--c->nr_free] : c->fresh++;
	stack->low = stack_low(st, c, stack->index);
	c->used++;
	st->taken++;
	if (chunk_full(c)) {
		list_del_init(&c->node);
		list_add_tail(&c->node, &st->chunks);
	}
	return true;
}

static bool take(struct stacks *st, struct stack *stack)
{
	bool taken = true;

	spin_lock(&st->lock);
	if (st->pool_count)
		*stack = st->pool[--st->pool_count];
	else
		taken = take_from_chunks(st, stack);
	spin_unlock(&st->lock);
	return taken;
}

/* Lock held. */
static void add_chunk(struct stacks *st, struct stack_chunk *c)
{
	list_add(&c->node, &st->chunks);
	st->nr_chunks++;
	st->reserved += c->length;
	st->places += c->count;
}

/* Lock held; it is in no list. */
static void forget_chunk(struct stacks *st, const struct stack_chunk *c)
{
	st->nr_chunks--;
	st->reserved -= c->length;
	st->places -= c->count;
}

/* Lock held.  Return: true if the chunk is to be destroyed. */
static bool release(struct stacks *st, const struct stack *stack)
{
	struct stack_chunk *c = stack->chunk;
	bool empty;

	c->free[c->nr_free++] = stack->index;
	st->taken--;
	list_del_init(&c->node);
	/*
	 * The last chunk is kept, so that a single actor that comes and goes does
	 * not map and unmap one each time.
	 */
	empty = !--c->used && st->nr_chunks > 1;
	if (empty)
		forget_chunk(st, c);
	else
		list_add(&c->node, &st->chunks);
	return empty;
}

static void release_all(struct stacks *st, const struct stack *stacks,
			unsigned int n)
{
	struct stack_chunk *c, *next;
	struct list_head empty;
	unsigned int i;

	INIT_LIST_HEAD(&empty);
	spin_lock(&st->lock);
	for (i = 0; i < n; i++)
		if (release(st, &stacks[i]))
			list_add(&stacks[i].chunk->node, &empty);
	spin_unlock(&st->lock);
	list_for_each_entry_safe(c, next, &empty, node)
		chunk_destroy(c);
}

/* By address: who ends one after the other often lies so, and it is few. */
static void sort(struct stack *stacks, unsigned int n)
{
	struct stack s;
	unsigned int i, k;

	for (i = 1; i < n; i++) {
		s = stacks[i];
		for (k = i; k && stacks[k - 1].low > s.low; k--)
			stacks[k] = stacks[k - 1];
		stacks[k] = s;
	}
}

/* An error only means that they stay (S3-70). */
static void drop_pages(char *from, const char *to)
{
	madvise(from, (size_t)(to - from), MADV_DONTNEED);
}

/* They are neighbours; what is between them has no pages anyway. */
static void give_back(struct stacks *st, const struct stack *stacks,
		      unsigned int n)
{
	struct stack_chunk *c = stacks->chunk;
	const char *to = stacks[n - 1].low + st->size;
	unsigned int i;

	if (!stack_guard_close(&c->guard, stacks->low, to)) {
		drop_pages(stacks->low, to);
		return;
	}
	for (i = 0; i < n; i++)
		set_open(c, stacks[i].index, false);
}

static void give_back_all(struct stacks *st, struct stack *stacks,
			  unsigned int n)
{
	unsigned int from, to;

	sort(stacks, n);
	for (from = 0; from < n; from = to) {
		for (to = from + 1; to < n; to++)
			if (stacks[to].low != stacks[to - 1].low + stride(st))
				break;
		give_back(st, &stacks[from], to - from);
	}
}

static int open_stack(struct stacks *st, struct stack *stack)
{
	struct stack_chunk *c = stack->chunk;

	if (c->open[stack->index])
		return 0;
	if (stack_guard_open(&c->guard, stack->low, st->size)) {
		stack_limit_say(st->size, false);
		return -ENOMEM;
	}
	set_open(c, stack->index, true);
	return 0;
}

int stack_get(struct stacks *st, struct stack *stack)
{
	struct stack_chunk *c;
	int err;

	while (!take(st, stack)) {
		c = chunk_create(st);
		if (!c) {
			stack_limit_say(st->size, true);
			return -ENOMEM;
		}
		spin_lock(&st->lock);
		add_chunk(st, c);
		spin_unlock(&st->lock);
	}
	err = open_stack(st, stack);
	if (err) {
		release_all(st, stack, 1);
		stack->low = NULL;
	}
	return err;
}

void stack_put(struct stack *stack)
{
	struct stacks *st = stack->chunk->of;
	struct stack batch[STACK_BATCH];
	unsigned int n = 0;

	if (st->flags & ROOST_STACK_MEASURED)
		drop_pages(stack->low, stack->low + st->size);
	spin_lock(&st->lock);
	st->pool[st->pool_count++] = *stack;
	if (st->pool_count == st->pool_cap + st->batch) {
		n = st->batch;
		st->pool_count -= n;
		memcpy(batch, &st->pool[st->pool_count], n * sizeof(*batch));
	}
	spin_unlock(&st->lock);
	stack->low = NULL;
	if (n) {
		give_back_all(st, batch, n);
		release_all(st, batch, n);
	}
}

void stacks_count(struct stacks *st, struct roost_stack_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = st->size;
	spin_lock(&st->lock);
	info->chunks = st->nr_chunks;
	info->address_space = st->reserved;
	info->used = st->taken - st->pool_count;
	info->pooled = st->pool_count;
	info->unused = st->places - st->taken;
	spin_unlock(&st->lock);
}

size_t stack_size(const struct stack *stack)
{
	return stack->chunk->of->size;
}

/* Whatever lies there, also what a tool has marked as not to be looked at. */
__attribute__((no_sanitize("address", "thread")))
size_t stack_high_water(const struct stack *stack)
{
	const char *high = stack->low + stack_size(stack);
	const volatile uintptr_t *p = (const volatile uintptr_t *)stack->low;

	valgrind_may_read(stack->low, stack_size(stack));
	while ((const char *)p < high && !*p)
		p++;
	return (size_t)(high - (const char *)p);
}
