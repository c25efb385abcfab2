/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernel versions, and nothing else: the only file of the
 * module that looks at LINUX_VERSION_CODE.
 */
#ifndef _ROOST_COMPAT_H
#define _ROOST_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/version.h>

#ifndef CONFIG_MMU_NOTIFIER
#error "roost needs a kernel with CONFIG_MMU_NOTIFIER"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma,
				vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags |= set;
	vma->vm_flags &= ~clear;
}
#endif

#endif /* _ROOST_COMPAT_H */
