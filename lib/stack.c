// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * stack.c - stacks with guard pages, cut from large reserved chunks.
 *
 * A chunk's list of free stacks is an array of indices, so a freed stack needs
 * no memory and its pages can go.  Stacks are made accessible one by one, which
 * splits the mapping: two mappings a stack, and vm.max_map_count is the limit
 * that is met first.
 */
#define _GNU_SOURCE
#include "stack.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "compiler.h"
#include "log.h"

#define CHUNK_SIZE	((size_t)512 << 20)

#ifndef PR_SET_VMA
#define PR_SET_VMA		0x53564d41
#define PR_SET_VMA_ANON_NAME	0
#endif

/**
 * struct stack_chunk - one reserved range
 * @node:	in stacks->chunks; those without a free stack stand last
 * @base:	address, that of the first guard page
 * @length:	bytes
 * @count:	stacks it can hold
 * @fresh:	stacks from here on were never handed out
 * @nr_free:	entries of @free
 * @used:	stacks handed out or in the pool
 * @free:	indices of freed stacks
 * @open:	stack i is accessible; who has the stack
 */
struct stack_chunk {
	struct list_head node;
	char *base;
	size_t length;
	uint32_t count;
	uint32_t fresh;
	uint32_t nr_free;
	uint32_t used;
	uint32_t *free;
	bool *open;
};

static size_t stride(const struct stacks *st)
{
	return st->size + st->page;
}

int stacks_init(struct stacks *st, size_t size, unsigned int pool_cap)
{
	memset(st, 0, sizeof(*st));
	spin_init(&st->lock);
	st->page = (size_t)sysconf(_SC_PAGESIZE);
	st->size = (size + st->page - 1) & ~(st->page - 1);
	st->chunk_size = CHUNK_SIZE;
	if (st->chunk_size < stride(st) + st->page)
		st->chunk_size = stride(st) + st->page;
	INIT_LIST_HEAD(&st->chunks);
	st->pool_cap = pool_cap;
	st->pool = calloc(pool_cap ? pool_cap : 1, sizeof(*st->pool));
	return st->pool ? 0 : -ENOMEM;
}

static void chunk_destroy(struct stack_chunk *c)
{
	munmap(c->base, c->length);
	free(c->free);
	free(c->open);
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
	/* A name in /proc/PID/maps, where the kernel can do that. */
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, p, bytes, "roost stacks");
	return p;
}

static struct stack_chunk *chunk_create(struct stacks *st)
{
	struct stack_chunk *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->base = reserve(st, &c->length);
	if (!c->base)
		goto err_free;
	c->count = (uint32_t)((c->length - st->page) / stride(st));
	c->free = calloc(c->count, sizeof(*c->free));
	c->open = calloc(c->count, sizeof(*c->open));
	if (!c->free || !c->open)
		goto err_destroy;
	return c;

err_destroy:
	chunk_destroy(c);
	return NULL;
err_free:
	free(c);
	return NULL;
}

static char *stack_low(const struct stacks *st, const struct stack_chunk *c,
		       uint32_t index)
{
	return c->base + st->page + index * stride(st);
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

/*
 * Give a stack back to its chunk.  The last chunk is kept, so that a single
 * actor that comes and goes does not map and unmap one each time.
 */
static void release(struct stacks *st, struct stack *stack)
{
	struct stack_chunk *c = stack->chunk;
	bool empty;

	spin_lock(&st->lock);
	c->free[c->nr_free++] = stack->index;
	list_del_init(&c->node);
	empty = !--c->used && st->nr_chunks > 1;
	if (empty)
		st->nr_chunks--;
	else
		list_add(&c->node, &st->chunks);
	spin_unlock(&st->lock);
	if (empty)
		chunk_destroy(c);
}

static void say_out_of_stacks(const struct stacks *st, const char *why)
{
	static _Atomic bool said;

	if (!atomic_exchange(&said, true))
		log_line("no memory for another stack of %zu bytes: %s", st->size,
			 why);
}

static int open_stack(struct stacks *st, struct stack *stack)
{
	if (stack->chunk->open[stack->index])
		return 0;
	if (mprotect(stack->low, st->size, PROT_READ | PROT_WRITE)) {
		say_out_of_stacks(st, "vm.max_map_count or a memory limit is reached");
		return -ENOMEM;
	}
	stack->chunk->open[stack->index] = true;
	return 0;
}

int stack_get(struct stacks *st, struct stack *stack)
{
	struct stack_chunk *c;
	int err;

	while (!take(st, stack)) {
		c = chunk_create(st);
		if (!c) {
			say_out_of_stacks(st, "the address space limit (RLIMIT_AS) is reached");
			return -ENOMEM;
		}
		spin_lock(&st->lock);
		list_add(&c->node, &st->chunks);
		st->nr_chunks++;
		spin_unlock(&st->lock);
	}
	err = open_stack(st, stack);
	if (err) {
		release(st, stack);
		stack->low = NULL;
	}
	return err;
}

void stack_put(struct stacks *st, struct stack *stack)
{
	bool pooled = false;

	spin_lock(&st->lock);
	if (st->pool_count < st->pool_cap) {
		st->pool[st->pool_count++] = *stack;
		pooled = true;
	}
	spin_unlock(&st->lock);
	if (!pooled) {
		madvise(stack->low, st->size, MADV_DONTNEED);
		release(st, stack);
	}
	stack->low = NULL;
}
