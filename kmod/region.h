/* SPDX-License-Identifier: GPL-2.0 */
/* Memory that the kernel and one process share. */
#ifndef _ROOST_REGION_H
#define _ROOST_REGION_H

#include <linux/types.h>

struct page;
struct vm_area_struct;

/**
 * struct roost_region - zeroed pages, mapped here and, at will, by the process
 * @addr:	kernel address, NULL if there are none
 * @size:	bytes, whole pages
 * @pages:	the pages
 */
struct roost_region {
	void *addr;
	size_t size;
	struct page **pages;
};

int roost_region_alloc(struct roost_region *region, size_t size);
void roost_region_free(struct roost_region *region);
int roost_region_mmap(struct roost_region *region, struct vm_area_struct *vma);

#endif /* _ROOST_REGION_H */
