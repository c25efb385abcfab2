// SPDX-License-Identifier: GPL-2.0
/*
 * A domain: the kernel's half of one runtime.
 *
 * LOCKING, outermost first:
 *
 *	registry		a mutex; all domains: registry.c
 *	domain->mutex		workers, attach and detach
 *	  worker->sq_mutex	taken alone, for copying entries only
 *	poll op->lock		raw; which poll object an op has armed
 *	file slot->lock		raw; which file a number stands for
 *	wait queue head->lock	a file's; our callbacks run under it
 *	worker->wheel_lock	raw, irqs off; never two of them
 *	  file->lock		raw, irqs off; which ops wait for a file
 *	    domain->ready_lock	raw, irqs off; which ops are ready
 *	  worker->cq_lock	raw, irqs off
 *	  worker->lock		raw, irqs off; wakes its carrier under it
 *	    domain->standby_lock raw, irqs off; who waits for a worker
 *	      carrier->lock	raw, irqs off; also under a run queue's lock
 *
 * Of these the registry's mutex comes before worker->lock alone.
 * Neither op->lock nor slot->lock is held when a head's lock is taken.
 * file->lock, cq_lock and worker->lock do not nest in one another.  All raw locks
 * may be taken in hard interrupt context, also under PREEMPT_RT.
 *
 * LIFETIME: a domain lives as long as its file or the file of one of its
 * workers; worker objects live as long as their domain.  What it holds of
 * others (references to polled files) must not wait for that, since such a
 * file may in turn keep our file alive (a socket with our descriptor in
 * flight).  So the domain is shut down when its owner goes: by the mmu
 * notifier at exit and exec, by flush when the owner's file table goes and its
 * mm lives on with somebody else, and by the last reference.  Each may come
 * after the other, and does nothing then.
 */
#include <linux/anon_inodes.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "args.h"
#include "carrier.h"
#include "domain.h"
#include "fdinfo.h"
#include "file.h"
#include "io.h"
#include "limits.h"
#include "netlink.h"
#include "park.h"
#include "poll.h"
#include "registry.h"
#include "sleep.h"
#include "takeover.h"
#include "timeout.h"
#include "trace.h"
#include "worker.h"

/*
 * Let go of everything that points out of the domain, and stop what could
 * still happen in it.  No worker can be parked: only threads of the owner
 * park, and they are gone or going.
 *
 * Once: nothing can be armed any more, and each descriptor that is closed after
 * the first would walk all timers and polls again.  Who comes second while the
 * first is not done need not wait; domain_destroy() does, through the notifier,
 * and since a flush holds a reference.
 */
static void domain_shutdown(struct roost_domain *domain)
{
	if (xchg(&domain->dead, 1))
		return;
	roost_poll_drop(domain, NULL);
	roost_io_drop(domain, NULL);
	roost_timeout_drop(domain, NULL);
	/* What had expired before may be at its end, in an interrupt. */
	roost_timeout_quiesce(domain);
	roost_file_drop(domain);
}

static void domain_mm_release(struct mmu_notifier *notifier,
			      struct mm_struct *mm)
{
	domain_shutdown(container_of(notifier, struct roost_domain, notifier));
}

static const struct mmu_notifier_ops domain_mm_ops = {
	.release	= domain_mm_release,
};

/* From here on nobody finds the domain any more. */
static void announce_end(struct roost_domain *domain)
{
	roost_registry_del(domain);
	trace_roost_domain_end(domain);
	roost_netlink_domain_event(ROOST_NL_CMD_DOMAIN_ENDED, domain);
}

static void domain_destroy(struct kref *ref)
{
	struct roost_domain *domain = container_of(ref, struct roost_domain,
						   ref);
	u32 i;

	/* Its last event comes before that of the end. */
	roost_takeover_end(domain);
	if (domain->id)
		announce_end(domain);
	/* Waits for a release that is running, so nothing else is. */
	mmu_notifier_unregister(&domain->notifier, domain->mm);
	domain_shutdown(domain);
	roost_watch_exit(&domain->watch);
	/* The handler of one worker's timer may be busy with another worker. */
	for (i = 0; i < domain->nr_workers; i++)
		roost_timeout_exit_worker(domain->workers[i]);
	roost_file_reap(domain);
	for (i = 0; i < domain->nr_workers; i++)
		roost_worker_free(domain->workers[i]);
	roost_table_free(&domain->files_table);
	roost_io_free(domain);
	roost_table_free(&domain->polls);
	roost_table_free(&domain->timers);
	roost_region_free(&domain->events_region);
	roost_region_free(&domain->control_region);
	put_user_ns(domain->user_ns);
	put_pid(domain->tgid);
	roost_charge_exit(&domain->charge);
	mutex_destroy(&domain->mutex);
	kfree(domain);
}

/**
 * roost_domain_put() - drop a reference
 * @domain:	the domain
 *
 * Context: task, may sleep; no lock held.
 */
void roost_domain_put(struct roost_domain *domain)
{
	kref_put(&domain->ref, domain_destroy);
}

/**
 * roost_domain_get() - take a reference, having one
 * @domain:	the domain
 */
void roost_domain_get(struct roost_domain *domain)
{
	kref_get(&domain->ref);
}

/**
 * roost_domain_flush() - one of the domain's descriptors is being closed
 * @domain:	the domain
 * @id:		the file table that it is in
 *
 * The owner's address space may live on after its exit, in a child that shares
 * it; its file table does not.  A table that goes is nobody's any more, not even
 * that of the last task which had it: close(2) is told so from it.  A thread
 * that has left the owner's table and exits takes only a copy with it.
 */
void roost_domain_flush(struct roost_domain *domain, fl_owner_t id)
{
	if (id == domain->files && current->files != id)
		domain_shutdown(domain);
}

static int domain_create_worker(struct roost_domain *domain, void __user *arg,
				unsigned int cmd)
{
	struct roost_worker_params params;
	int ret;

	ret = roost_args_get(&params, sizeof(params), arg, cmd,
			     ROOST_WORKER_PARAMS_SIZE_VER0);
	if (ret)
		return ret;
	return roost_worker_create(domain, &params, arg, cmd);
}

static int domain_wake_sized(struct roost_domain *domain, void __user *arg,
			     unsigned int cmd)
{
	struct roost_wake wake;
	int ret;

	ret = roost_args_get(&wake, sizeof(wake), arg, cmd,
			     ROOST_WAKE_SIZE_VER0);
	if (ret)
		return ret;
	if (wake.reserved)
		return -EINVAL;
	return roost_wake(domain, wake.flags, wake.index);
}

/* From who knows the structure as we do: no copy of it. */
static __always_inline long domain_wake(struct roost_domain *domain,
					const void __user *arg)
{
	const struct roost_wake __user *wake = arg;
	u32 flags, index;
	u64 reserved;

	if (!user_access_begin(wake, sizeof(*wake)))
		return -EFAULT;
	unsafe_get_user(flags, &wake->flags, fault);
	unsafe_get_user(index, &wake->index, fault);
	unsafe_get_user(reserved, &wake->reserved, fault);
	user_access_end();
	if (unlikely(reserved))
		return -EINVAL;
	if (likely(!(flags & ~(ROOST_WAKE_INDEX | ROOST_WAKE_SYNC)) &&
		   flags & ROOST_WAKE_INDEX))
		return wake_index(domain, index, flags & ROOST_WAKE_SYNC);
	return roost_wake(domain, flags, index);
fault:
	user_access_end();
	return -EFAULT;
}

/**
 * roost_domain_stat() - all counters of a domain
 * @domain:	the domain
 * @stat:	all zero
 *
 * Takes no lock: each counter is right, together they are no snapshot.
 */
void roost_domain_stat(struct roost_domain *domain,
		       struct roost_domain_stat *stat)
{
	struct roost_worker *worker;
	u64 done = 0;
	u32 i;

	/* Begun somewhere, done elsewhere: never more done than begun. */
	for (i = 0; (worker = roost_domain_worker(domain, i)); i++)
		done += atomic64_read(&worker->ios_done);
	/* Pairs with the barrier in count_done(). */
	smp_rmb();
	for (i = 0; (worker = roost_domain_worker(domain, i)); i++)
		roost_worker_stat(worker, stat);
	stat->ios_done = done;
	for (i = 0; i < ROOST_MAX_WORKERS; i++)
		if (test_bit(i, domain->parked))
			stat->parked[i / 64] |= BIT_ULL(i % 64);
	stat->ios_pending = stat->ios_started - stat->ios_done;
	stat->files = atomic_read(&domain->files_registered);
	stat->polls_armed = atomic_read(&domain->polls_armed);
	stat->polls_added = atomic64_read(&domain->polls_added);
	stat->polls_fired = atomic64_read(&domain->polls_fired);
	stat->polls_removed = atomic64_read(&domain->polls_removed);
}

static int domain_stat(struct roost_domain *domain, void __user *arg,
		       unsigned int cmd)
{
	struct roost_domain_stat stat;
	int ret;

	ret = roost_args_get(&stat, sizeof(stat), arg, cmd,
			     ROOST_DOMAIN_STAT_SIZE_VER0);
	if (ret)
		return ret;
	if (memchr_inv(&stat, 0, sizeof(stat)))
		return -EINVAL;
	roost_domain_stat(domain, &stat);
	return roost_args_put(arg, &stat, sizeof(stat), cmd);
}

static int domain_standby(struct roost_domain *domain, void __user *arg,
			  unsigned int cmd)
{
	struct roost_standby standby;
	bool carries;
	int ret;

	ret = roost_args_get(&standby, sizeof(standby), arg, cmd,
			     ROOST_STANDBY_SIZE_VER0);
	if (ret)
		return ret;
	if (memchr_inv(&standby, 0, sizeof(standby)))
		return -EINVAL;
	if (!domain->carriers)
		return -EOPNOTSUPP;
	mutex_lock(&domain->mutex);
	carries = roost_worker_carried(domain);
	mutex_unlock(&domain->mutex);
	if (carries)
		return -EBUSY;
	ret = roost_takeover_stand_by(domain, &standby.worker, &standby.lease);
	if (ret)
		return ret;
	ret = roost_args_put(arg, &standby, sizeof(standby), cmd);
	if (ret)
		roost_worker_drop(domain, standby.worker);
	return ret;
}

static noinline long domain_other_ioctl(struct roost_domain *domain,
					unsigned int cmd, void __user *arg)
{
	switch (ROOST_CMD(cmd)) {
	case ROOST_CMD(ROOST_IOC_CREATE_WORKER):
		return domain_create_worker(domain, arg, cmd);
	case ROOST_CMD(ROOST_IOC_WAKE):
		return domain_wake_sized(domain, arg, cmd);
	case ROOST_CMD(ROOST_IOC_DOMAIN_STAT):
		return domain_stat(domain, arg, cmd);
	case ROOST_CMD(ROOST_IOC_STANDBY):
		return domain_standby(domain, arg, cmd);
	default:
		return -ENOTTY;
	}
}

/* The call that is made most often needs nothing on the stack here. */
static long domain_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct roost_domain *domain = file->private_data;
	int ret;

	ret = roost_domain_check(domain);
	if (unlikely(ret))
		return ret;
	if (likely(cmd == ROOST_IOC_WAKE))
		return domain_wake(domain, (void __user *)arg);
	return domain_other_ioctl(domain, cmd, (void __user *)arg);
}

static int domain_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct roost_domain *domain = file->private_data;
	int ret;

	ret = roost_domain_check(domain);
	if (ret)
		return ret;

	switch ((u64)vma->vm_pgoff << PAGE_SHIFT) {
	case ROOST_OFF_CONTROL:
		return roost_region_mmap(&domain->control_region, vma);
	case ROOST_OFF_EVENTS:
		return roost_region_mmap(&domain->events_region, vma);
	default:
		return -EINVAL;
	}
}

static __poll_t domain_poll(struct file *file, poll_table *table)
{
	return roost_watch_poll(file->private_data, file, table);
}

static int domain_flush(struct file *file, fl_owner_t id)
{
	roost_domain_flush(file->private_data, id);
	return 0;
}

static int domain_release(struct inode *inode, struct file *file)
{
	roost_domain_put(file->private_data);
	return 0;
}

static const struct file_operations domain_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= domain_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.mmap		= domain_mmap,
	.poll		= domain_poll,
	.flush		= domain_flush,
	.release	= domain_release,
	.show_fdinfo	= roost_fdinfo_domain,
};

/**
 * roost_domain_file() - is this a domain's file?
 * @file:	any file
 */
bool roost_domain_file(const struct file *file)
{
	return file->f_op == &domain_fops;
}

static int alloc_shared(struct roost_domain *domain,
			const struct roost_domain_params *params)
{
	int ret;

	ret = roost_region_alloc(&domain->control_region,
				 sizeof(*domain->control));
	if (ret || !params->nr_polls)
		return ret;
	ret = roost_region_alloc(&domain->events_region,
				 params->nr_polls * sizeof(*domain->events));
	if (ret)
		roost_region_free(&domain->control_region);
	return ret;
}

/* All that the params ask for, counted at once; nothing is allocated yet. */
static int charge_params(struct roost_domain *domain,
			 const struct roost_domain_params *params)
{
	const u64 want[ROOST_NR_LIMITS] = {
		[ROOST_LIMIT_DOMAINS]	= 1,
		[ROOST_LIMIT_TIMERS]	= params->nr_timers,
		[ROOST_LIMIT_POLLS]	= params->nr_polls,
		[ROOST_LIMIT_IOS]	= params->nr_ios,
		[ROOST_LIMIT_FILES]	= params->nr_files,
		[ROOST_LIMIT_MEMORY]	= sizeof(*domain) +
			PAGE_ALIGN(sizeof(*domain->control)) +
			PAGE_ALIGN((u64)params->nr_polls *
				   sizeof(*domain->events)) +
			roost_table_memory(params->nr_timers) +
			roost_table_memory(params->nr_polls) +
			roost_table_memory(params->nr_ios) +
			roost_table_memory(params->nr_files),
	};
	int ret;

	ret = roost_charge_init(&domain->charge);
	if (!ret)
		ret = roost_charge_all(&domain->charge, want);
	domain->timers.charge = &domain->charge;
	domain->polls.charge = &domain->charge;
	domain->ios.charge = &domain->charge;
	domain->files_table.charge = &domain->charge;
	return ret;
}

/**
 * roost_features() - what a new domain can do
 *
 * Return: ROOST_FEAT_* bits.
 */
u64 roost_features(void)
{
	u64 features = ROOST_FEATURES;

	if (!roost_ring_io)
		features &= ~ROOST_FEAT_IO;
	if (!roost_carriers())
		features &= ~ROOST_FEATURES_CARRIERS;
	return features;
}

/**
 * roost_domain_features() - what a domain can do now
 * @domain:	the domain
 *
 * Return: ROOST_FEAT_* bits.
 */
u64 roost_domain_features(const struct roost_domain *domain)
{
	u64 features = roost_features() & ~ROOST_FEATURES_CARRIERS;

	if (domain->carriers)
		features |= ROOST_FEATURES_CARRIERS;
	return domain->no_io ? features & ~ROOST_FEAT_IO : features;
}

static void init_control(struct roost_domain *domain,
			 const struct roost_domain_params *params)
{
	domain->control = domain->control_region.addr;
	domain->control->api_version = ROOST_API_VERSION;
	domain->control->tick_shift = params->tick_shift;
	domain->control->features = roost_domain_features(domain);
	domain->events = domain->events_region.addr;
}

static struct roost_domain *
domain_alloc(const struct roost_domain_params *params)
{
	struct roost_domain *domain;
	int ret;

	domain = kzalloc(sizeof(*domain), GFP_KERNEL_ACCOUNT);
	if (!domain)
		return ERR_PTR(-ENOMEM);
	kref_init(&domain->ref);
	mutex_init(&domain->mutex);
	roost_watch_init(&domain->watch);
	init_llist_head(&domain->reap);
	init_llist_head(&domain->dead_files);
	roost_carrier_domain(domain);
	roost_takeover_begin(domain);
	raw_spin_lock_init(&domain->ready_lock);
	roost_queue_init(&domain->ready);
	domain->no_io = params->flags & ROOST_DOMAIN_NO_IO;
	domain->tick_shift = params->tick_shift;
	domain->slack_ns = params->slack_ns;
	ret = charge_params(domain, params);
	if (ret)
		goto free_domain;

	/*
	 * Before what takes long, since it gives up if a signal is pending: whoever tries
	 * again after each signal must not have to do it all again.
	 */
	domain->mm = current->mm;
	domain->files = current->files;
	domain->notifier.ops = &domain_mm_ops;
	ret = mmu_notifier_register(&domain->notifier, domain->mm);
	if (ret)
		goto free_domain;
	domain->tgid = get_pid(task_tgid(current));

	ret = alloc_shared(domain, params);
	if (ret)
		goto put_domain;
	init_control(domain, params);
	ret = roost_timeout_table(domain, params->nr_timers);
	if (ret)
		goto put_domain;
	ret = roost_poll_table(domain, params->nr_polls);
	if (ret)
		goto put_domain;
	ret = roost_io_table(domain, params->nr_ios);
	if (ret)
		goto put_domain;
	ret = roost_file_table(domain, params->nr_files);
	if (ret)
		goto put_domain;
	return domain;

put_domain:
	/* Knows how to free what there is of it. */
	roost_domain_put(domain);
	return ERR_PTR(ret);
free_domain:
	roost_charge_exit(&domain->charge);
	mutex_destroy(&domain->mutex);
	kfree(domain);
	return ERR_PTR(ret);
}

/**
 * roost_domain_create() - make a domain and its file
 * @params:	what is wanted, checked; gets the output fields
 * @arg:	where the caller wants the output
 * @cmd:	the ioctl number
 *
 * Context: task, may sleep.  Return: the file descriptor, or -EDQUOT, -ENOMEM,
 * -EMFILE, -ENFILE, -EINTR, -EFAULT, -EBUSY.
 */
int roost_domain_create(struct roost_domain_params *params,
			void __user *arg, unsigned int cmd)
{
	struct roost_domain *domain;
	struct file *file;
	int fd, ret;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	domain = domain_alloc(params);
	if (IS_ERR(domain)) {
		ret = PTR_ERR(domain);
		goto put_fd;
	}
	file = anon_inode_getfile("[roost-domain]", &domain_fops, domain,
				  O_RDWR);
	if (IS_ERR(file)) {
		ret = PTR_ERR(file);
		roost_domain_put(domain);
		goto put_fd;
	}
	/* From here on the domain is released with its file. */

	ret = roost_registry_add(domain);
	if (ret)
		goto put_file;
	trace_roost_domain_create(domain);
	roost_netlink_domain_event(ROOST_NL_CMD_DOMAIN_CREATED, domain);

	/* Last: after a failure the caller's structure is as good as before. */
	params->features = roost_domain_features(domain);
	params->control_size = domain->control_region.size;
	params->events_size = domain->events_region.size;
	ret = roost_args_put(arg, params, sizeof(*params), cmd);
	if (ret)
		goto put_file;
	fd_install(fd, file);
	return fd;

put_file:
	fput(file);
put_fd:
	put_unused_fd(fd);
	return ret;
}
