/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Structures that come in and go out through ioctls.
 *
 * The size that user space knows is in the ioctl number, so a command is
 * recognised without its size bits, and the structure is copied by
 * copy_struct_from_user(): shorter ones are filled up with zeroes, longer ones
 * must be zero beyond what we know (-E2BIG).
 */
#ifndef _ROOST_ARGS_H
#define _ROOST_ARGS_H

#include <linux/ioctl.h>
#include <linux/minmax.h>
#include <linux/uaccess.h>

/* An ioctl number without the size of its structure. */
#define ROOST_CMD(cmd) ((cmd) & ~(_IOC_SIZEMASK << _IOC_SIZESHIFT))

/**
 * roost_args_get() - copy a structure in
 * @dst:	where to
 * @known:	its size as we know it
 * @src:	where from
 * @cmd:	the ioctl number, which has the size that the caller knows
 * @least:	size of the structure's first published version
 *
 * Return: 0; -EINVAL if @cmd says less than @least; -E2BIG; -EFAULT.
 */
static inline int roost_args_get(void *dst, size_t known,
				 const void __user *src, unsigned int cmd,
				 size_t least)
{
	size_t size = _IOC_SIZE(cmd);

	if (size < least)
		return -EINVAL;
	return copy_struct_from_user(dst, known, src, size);
}

/**
 * roost_args_put() - copy a structure out
 * @dst:	where to
 * @src:	the structure
 * @known:	its size as we know it
 * @cmd:	the ioctl number, which has the size that the caller knows
 *
 * Writes no more than the caller knows.  Return: 0 or -EFAULT.
 */
static inline int roost_args_put(void __user *dst, const void *src,
				 size_t known, unsigned int cmd)
{
	size_t size = min_t(size_t, known, _IOC_SIZE(cmd));

	return copy_to_user(dst, src, size) ? -EFAULT : 0;
}

#endif /* _ROOST_ARGS_H */
