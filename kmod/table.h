/* SPDX-License-Identifier: GPL-2.0 */
/* A table of op nodes, made in chunks when first touched. */
#ifndef _ROOST_TABLE_H
#define _ROOST_TABLE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/nospec.h>
#include <linux/types.h>

struct kmem_cache;
struct roost_charge;

#define ROOST_TABLE_CHUNK	32

/**
 * struct roost_table - nodes 0 .. @nr - 1
 * @nr:		constant
 * @size:	of one node, constant
 * @armed:	what a node needs beside itself once it is in use; constant
 * @charge:	against whose limits the memory counts, or NULL; constant
 * @cache:	whose objects hold ROOST_TABLE_CHUNK nodes
 * @init:	sets up a node when its chunk is made
 * @init_arg:	handed to @init
 * @chunks:	installed by cmpxchg with release, read with acquire; stay until
 *		roost_table_free()
 */
struct roost_table {
	u32 nr;
	u32 size;
	u32 armed;
	struct roost_charge *charge;
	struct kmem_cache *cache;
	void (*init)(void *node, u32 index, void *arg);
	void *init_arg;
	void **chunks;
};

/* Beyond that no parameter goes: sizes stay far from 32 bits. */
#define ROOST_TABLE_MAX		BIT(26)

struct kmem_cache *roost_cache_create(const char *name, unsigned int size);
u64 roost_table_memory(u32 nr);
int roost_table_alloc(struct roost_table *table);
void roost_table_free(struct roost_table *table);
void *roost_table_make(struct roost_table *table, u32 index);
void roost_table_walk(struct roost_table *table,
		      void (*fn)(void *node, void *arg), void *arg);

/**
 * roost_table_peek() - a node that is there already
 * @table:	the table
 * @index:	any value
 *
 * Context: any.  Return: the node, or NULL.
 */
static inline void *roost_table_peek(const struct roost_table *table, u32 index)
{
	void *chunk;

	if (index >= table->nr)
		return NULL;
	index = array_index_nospec(index, table->nr);
	/* Pairs with the cmpxchg in make_chunk(). */
	chunk = smp_load_acquire(&table->chunks[index / ROOST_TABLE_CHUNK]);
	if (!chunk)
		return NULL;
	return chunk + (index % ROOST_TABLE_CHUNK) * table->size;
}

/**
 * roost_table_get() - the node with an index that user space chose
 * @table:	the table
 * @index:	any value
 *
 * Context: task, may sleep.  Return: the node, -EINVAL for an index beyond the
 * table, -ENOMEM or -EDQUOT.
 */
static inline void *roost_table_get(struct roost_table *table, u32 index)
{
	void *node = roost_table_peek(table, index);

	return likely(node) ? node : roost_table_make(table, index);
}

#endif /* _ROOST_TABLE_H */
