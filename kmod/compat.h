/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernel versions, and nothing else: the only file of the
 * module that looks at LINUX_VERSION_CODE.
 */
#ifndef _ROOST_COMPAT_H
#define _ROOST_COMPAT_H

#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/version.h>
#include <net/genetlink.h>

#ifndef CONFIG_MMU_NOTIFIER
#error "roost needs a kernel with CONFIG_MMU_NOTIFIER"
#endif

/* Bitmaps in shared memory are made of 64-bit words. */
#if BITS_PER_LONG == 32 && defined(__BIG_ENDIAN)
#error "roost does not work on 32-bit big-endian machines"
#endif

#ifndef GENL_MCAST_CAP_SYS_ADMIN
#error "roost needs a kernel with GENL_MCAST_CAP_SYS_ADMIN"
#endif

/* A large array that is written before it is read: not to be zeroed first. */
#if __has_attribute(__uninitialized__)
#define roost_uninitialized __attribute__((__uninitialized__))
#else
#define roost_uninitialized
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

/* The attributes of a request for a dump. */
static inline struct nlattr **roost_dump_attrs(struct netlink_callback *cb)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	return genl_dumpit_info(cb)->attrs;
#else
	return genl_info_dump(cb)->attrs;
#endif
}

/*
 * vfs_iter_write() without waiting for a frozen file system: -EAGAIN then.
 * Since 6.8 it sees to that itself, and waits; who freezes in between is met.
 */
static inline ssize_t roost_iter_write(struct file *file, struct iov_iter *iter,
				       loff_t *pos, rwf_t flags)
{
	ssize_t ret;

	if (!file_start_write_trylock(file))
		return -EAGAIN;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	ret = vfs_iter_write(file, iter, pos, flags);
	file_end_write(file);
#else
	file_end_write(file);
	ret = vfs_iter_write(file, iter, pos, flags);
#endif
	return ret;
}

/* Notifiers of context switches: there are none without KVM. */
#ifdef CONFIG_PREEMPT_NOTIFIERS
#define roost_has_notifiers	true

/* Of the current task. */
static inline struct hlist_head *roost_notifiers(void)
{
	return &current->preempt_notifiers;
}
#else
#define roost_has_notifiers	false

struct preempt_notifier;

struct preempt_ops {
	void (*sched_in)(struct preempt_notifier *notifier, int cpu);
	void (*sched_out)(struct preempt_notifier *notifier,
			  struct task_struct *next);
};

struct preempt_notifier {
	struct hlist_node link;
	struct preempt_ops *ops;
};

static inline void preempt_notifier_inc(void)
{
}

static inline void preempt_notifier_dec(void)
{
}

static inline void preempt_notifier_register(struct preempt_notifier *notifier)
{
}

static inline void preempt_notifier_unregister(struct preempt_notifier *notifier)
{
}

static inline void preempt_notifier_init(struct preempt_notifier *notifier,
					 struct preempt_ops *ops)
{
	notifier->ops = ops;
}

static inline struct hlist_head *roost_notifiers(void)
{
	static struct hlist_head none;

	return &none;
}
#endif

/* In sched_out: does the task only wait for a CPU?  Its state does not tell. */
static inline bool roost_task_runnable(struct task_struct *task)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
	return task->on_rq;
#else
	return task_is_runnable(task);
#endif
}

#endif /* _ROOST_COMPAT_H */
