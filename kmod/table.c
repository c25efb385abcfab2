// SPDX-License-Identifier: GPL-2.0
/*
 * A table of op nodes, made in chunks when first touched.
 *
 * A node stays where it is until the table is freed, so interrupt context may
 * hold pointers to nodes without counting them.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "limits.h"
#include "table.h"

/* A cache with a constructor is never merged, so slabinfo shows its objects. */
static void construct(void *object)
{
}

/**
 * roost_cache_create() - a cache of objects that user space makes us allocate
 * @name:	in slabinfo
 * @size:	of an object
 *
 * Return: the cache or NULL.
 */
struct kmem_cache *roost_cache_create(const char *name, unsigned int size)
{
	return kmem_cache_create(name, size, 0, SLAB_ACCOUNT, construct);
}

static u32 nr_chunks(const struct roost_table *table)
{
	return DIV_ROUND_UP(table->nr, ROOST_TABLE_CHUNK);
}

/**
 * roost_table_memory() - what the room for the chunks takes
 * @nr:		how many nodes
 *
 * Return: bytes.
 */
u64 roost_table_memory(u32 nr)
{
	return (u64)DIV_ROUND_UP(nr, ROOST_TABLE_CHUNK) * sizeof(void *);
}

/**
 * roost_table_alloc() - make room for the chunks
 * @table:	all fields but @chunks are set; @nr may be 0
 *
 * Context: task, may sleep.  Return: 0 or -ENOMEM.
 */
int roost_table_alloc(struct roost_table *table)
{
	if (!table->nr)
		return 0;
	table->chunks = kvcalloc(nr_chunks(table), sizeof(*table->chunks),
				 GFP_KERNEL_ACCOUNT);
	return table->chunks ? 0 : -ENOMEM;
}

/**
 * roost_table_free() - free all chunks; also if none were ever made
 * @table:	the table; nobody uses a node any more
 */
void roost_table_free(struct roost_table *table)
{
	u32 i;

	if (!table->chunks)
		return;
	for (i = 0; i < nr_chunks(table); i++)
		if (table->chunks[i])
			kmem_cache_free(table->cache, table->chunks[i]);
	kvfree(table->chunks);
	table->chunks = NULL;
}

/* What a chunk counts against the limits, until the domain ends. */
static u64 chunk_memory(const struct roost_table *table)
{
	return (u64)ROOST_TABLE_CHUNK * (table->size + table->armed);
}

static void *make_chunk(struct roost_table *table, u32 c)
{
	void *chunk, *old;
	u32 i;
	int ret;

	ret = roost_charge_memory(table->charge, chunk_memory(table));
	if (ret)
		return ERR_PTR(ret);
	chunk = kmem_cache_alloc(table->cache, GFP_KERNEL_ACCOUNT);
	if (!chunk) {
		roost_uncharge_memory(table->charge, chunk_memory(table));
		return ERR_PTR(-ENOMEM);
	}
	memset(chunk, 0, table->size * ROOST_TABLE_CHUNK);
	for (i = 0; i < ROOST_TABLE_CHUNK; i++)
		table->init(chunk + i * table->size, c * ROOST_TABLE_CHUNK + i,
			    table->init_arg);
	/* Full barrier: the nodes before the pointer; pairs with peek(). */
	old = cmpxchg(&table->chunks[c], NULL, chunk);
	if (old) {
		kmem_cache_free(table->cache, chunk);
		roost_uncharge_memory(table->charge, chunk_memory(table));
		return old;
	}
	return chunk;
}

/**
 * roost_table_make() - make the chunk of a node that was never used
 * @table:	the table
 * @index:	any value
 *
 * Context: task, may sleep.  Return: the node, -EINVAL, -ENOMEM or -EDQUOT.
 */
void *roost_table_make(struct roost_table *table, u32 index)
{
	void *chunk;

	if (index >= table->nr)
		return ERR_PTR(-EINVAL);
	index = array_index_nospec(index, table->nr);
	chunk = make_chunk(table, index / ROOST_TABLE_CHUNK);
	if (IS_ERR(chunk))
		return chunk;
	return chunk + (index % ROOST_TABLE_CHUNK) * table->size;
}

/**
 * roost_table_walk() - call a function for every node there is
 * @table:	the table
 * @fn:		gets the node and @arg
 * @arg:	handed to @fn
 *
 * Context: task, may sleep.  Nodes made meanwhile may be missed.
 */
void roost_table_walk(struct roost_table *table,
		      void (*fn)(void *node, void *arg), void *arg)
{
	void *chunk;
	u32 c, i;

	if (!table->chunks)
		return;
	for (c = 0; c < nr_chunks(table); c++) {
		/* Pairs with the cmpxchg in make_chunk(). */
		chunk = smp_load_acquire(&table->chunks[c]);
		for (i = 0; chunk && i < ROOST_TABLE_CHUNK; i++)
			fn(chunk + i * table->size, arg);
		cond_resched();
	}
}
