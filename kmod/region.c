// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that the kernel and one process share.
 *
 * Pages are charged to the process's memory cgroup.  They are mapped with
 * vmap() here, which wants no contiguous memory and leaves guard space around.
 * A mapping holds a reference to its file, so the region outlives it.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "region.h"

static void free_pages_upto(struct roost_region *region, size_t n)
{
	while (n)
		__free_page(region->pages[--n]);
	kvfree(region->pages);
	region->pages = NULL;
}

/**
 * roost_region_alloc() - make a region
 * @region:	to be filled in
 * @size:	bytes, rounded up to pages; not 0
 *
 * Context: task, may sleep.  Return: 0 or -ENOMEM.
 */
int roost_region_alloc(struct roost_region *region, size_t size)
{
	size_t n = PAGE_ALIGN(size) >> PAGE_SHIFT;
	size_t i;

	region->pages = kvcalloc(n, sizeof(*region->pages), GFP_KERNEL_ACCOUNT);
	if (!region->pages)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		region->pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!region->pages[i]) {
			free_pages_upto(region, i);
			return -ENOMEM;
		}
	}
	region->addr = vmap(region->pages, n, VM_MAP | VM_USERMAP, PAGE_KERNEL);
	if (!region->addr) {
		free_pages_upto(region, n);
		return -ENOMEM;
	}
	region->size = n << PAGE_SHIFT;
	return 0;
}

/**
 * roost_region_free() - undo roost_region_alloc(); also if that was never done
 * @region:	the region
 *
 * Context: task, may sleep.  Nobody maps it any more.
 */
void roost_region_free(struct roost_region *region)
{
	if (!region->addr)
		return;
	vunmap(region->addr);
	region->addr = NULL;
	free_pages_upto(region, region->size >> PAGE_SHIFT);
}

/**
 * roost_region_mmap() - map a region into the calling process
 * @region:	the region
 * @vma:	from the start of the region on, whole or a part
 *
 * Shared only, never executable, not inherited over fork.
 *
 * Return: 0; -EINVAL for a private mapping or a wrong size; -EACCES for an
 * executable one.
 */
int roost_region_mmap(struct roost_region *region, struct vm_area_struct *vma)
{
	if (!region->addr || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;
	if (vma->vm_end - vma->vm_start > region->size)
		return -EINVAL;
	vm_flags_mod(vma, VM_DONTCOPY, VM_MAYEXEC);
	return remap_vmalloc_range(vma, region->addr, 0);
}
