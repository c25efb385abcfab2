/* SPDX-License-Identifier: GPL-2.0 */
/* A table of op nodes, made in chunks when first touched. */
#ifndef _ROOST_TABLE_H
#define _ROOST_TABLE_H

#include <linux/types.h>

struct kmem_cache;

#define ROOST_TABLE_CHUNK	32

/**
 * struct roost_table - nodes 0 .. @nr - 1
 * @nr:		constant
 * @size:	of one node, constant
 * @cache:	whose objects hold ROOST_TABLE_CHUNK nodes
 * @init:	sets up a node when its chunk is made
 * @init_arg:	handed to @init
 * @chunks:	installed by cmpxchg with release, read with acquire; stay until
 *		roost_table_free()
 */
struct roost_table {
	u32 nr;
	u32 size;
	struct kmem_cache *cache;
	void (*init)(void *node, u32 index, void *arg);
	void *init_arg;
	void **chunks;
};

int roost_table_alloc(struct roost_table *table);
void roost_table_free(struct roost_table *table);
void *roost_table_get(struct roost_table *table, u32 index);
void roost_table_walk(struct roost_table *table,
		      void (*fn)(void *node, void *arg), void *arg);

#endif /* _ROOST_TABLE_H */
