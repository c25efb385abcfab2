// SPDX-License-Identifier: GPL-2.0
/*
 * A worker: rings, a wheel, an idle bit; leased by one thread at a time.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "args.h"
#include "carrier.h"
#include "domain.h"
#include "enter.h"
#include "fdinfo.h"
#include "io.h"
#include "limits.h"
#include "netlink.h"
#include "park.h"
#include "poll.h"
#include "ring.h"
#include "timeout.h"
#include "trace.h"
#include "worker.h"

/* Both under domain->mutex, so that they are told in their order. */
static void announce_attach(struct roost_worker *worker,
			    struct task_struct *task)
{
	trace_roost_worker_attach(worker, task);
	roost_netlink_worker_event(ROOST_NL_CMD_WORKER_ATTACHED, worker, task);
}

static void announce_detach(struct roost_worker *worker,
			    struct task_struct *task)
{
	trace_roost_worker_detach(worker, task);
	roost_netlink_worker_event(ROOST_NL_CMD_WORKER_DETACHED, worker, task);
}

/*
 * Under domain->mutex, so that the carrier does not change but here; and, while it
 * is stuck, in take().  Whoever has looked at it before has pinned it, or it is about
 * to exit, or its file is closed.
 */
static void set_carrier(struct roost_worker *worker, struct task_struct *task)
{
	struct task_struct *old;

	/* Then nobody else changes the carrier. */
	roost_carrier_end(worker);
	old = worker->carrier;
	if (old)
		announce_detach(worker, old);
	raw_spin_lock_irq(&worker->lock);
	WRITE_ONCE(worker->carrier, task); /* read without the lock */
	init_waitqueue_entry(&worker->wait, task);
	worker->permit = false;
	worker->pinned = false;
	if (task)
		worker->lease++;
	roost_worker_show_lease(worker, task ? worker->lease : 0);
	raw_spin_unlock_irq(&worker->lock);
	roost_park_clear(worker);
	if (old)
		put_task_struct(old);
	if (task)
		announce_attach(worker, task);
}

/* Is there one that lives?  Under domain->mutex. */
static bool has_carrier(struct roost_worker *worker)
{
	bool has;

	raw_spin_lock_irq(&worker->lock);
	has = roost_worker_carrier(worker);
	raw_spin_unlock_irq(&worker->lock);
	return has;
}

/**
 * roost_worker_carried() - is the current thread carrier of a worker?
 * @domain:	whose; its mutex is held
 *
 * It may be displaced meanwhile, but does not become a carrier.
 */
bool roost_worker_carried(const struct roost_domain *domain)
{
	u32 i;

	for (i = 0; i < domain->nr_workers; i++)
		if (READ_ONCE(domain->workers[i]->carrier) == current)
			return true;
	return false;
}

/* Is the current thread the carrier?  If so, it cannot be displaced any more. */
static bool pin(struct roost_worker *worker)
{
	bool mine;

	raw_spin_lock_irq(&worker->lock);
	mine = worker->carrier == current;
	worker->pinned |= mine;
	raw_spin_unlock_irq(&worker->lock);
	return mine;
}

static int worker_detach(struct roost_worker *worker)
{
	int ret = 0;

	mutex_lock(&worker->domain->mutex);
	if (pin(worker))
		set_carrier(worker, NULL);
	else
		ret = -EPERM;
	mutex_unlock(&worker->domain->mutex);
	return ret;
}

/**
 * roost_worker_drop() - the current task does not want the lease that it has
 * @domain:	the domain
 * @index:	of the worker
 */
void roost_worker_drop(struct roost_domain *domain, u32 index)
{
	worker_detach(roost_domain_worker(domain, index));
}

static int worker_attach(struct roost_worker *worker, void __user *arg,
			 unsigned int cmd)
{
	struct roost_carrier *carrier;
	struct roost_attach attach;
	int ret;

	ret = roost_args_get(&attach, sizeof(attach), arg, cmd,
			     ROOST_ATTACH_SIZE_VER0);
	if (ret)
		return ret;
	if (attach.flags || attach.reserved0 || attach.lease)
		return -EINVAL;
	carrier = roost_carrier_alloc(worker->domain);
	if (IS_ERR(carrier))
		return PTR_ERR(carrier);

	mutex_lock(&worker->domain->mutex);
	if (has_carrier(worker) || roost_worker_carried(worker->domain)) {
		mutex_unlock(&worker->domain->mutex);
		roost_carrier_free(carrier);
		return -EBUSY;
	}
	set_carrier(worker, get_task_struct(current));
	/* Before roost_carrier_begin(), after which we may be displaced. */
	attach.lease = worker->lease;
	roost_carrier_begin(carrier, worker);
	mutex_unlock(&worker->domain->mutex);

	/* Without the mutex: a page fault may last as long as the user likes. */
	ret = roost_args_put(arg, &attach, sizeof(attach), cmd);
	if (ret)
		worker_detach(worker);
	return ret;
}

static noinline long worker_other_ioctl(struct roost_worker *worker,
					unsigned int cmd, void __user *arg)
{
	switch (ROOST_CMD(cmd)) {
	case ROOST_CMD(ROOST_IOC_ENTER):
		return roost_enter_sized(worker, arg, cmd);
	case ROOST_CMD(ROOST_IOC_ATTACH):
		return worker_attach(worker, arg, cmd);
	case ROOST_CMD(ROOST_IOC_DETACH):
		/* There is no structure that could be longer than we know. */
		return _IOC_SIZE(cmd) ? -EINVAL : worker_detach(worker);
	default:
		return -ENOTTY;
	}
}

/* The call that is made most often needs nothing on the stack here. */
static long worker_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct roost_worker *worker = file->private_data;
	long ret;

	ret = roost_domain_check(worker->domain);
	if (unlikely(ret))
		return ret;
	if (likely(cmd == ROOST_IOC_ENTER))
		return roost_enter(worker, (void __user *)arg);
	return worker_other_ioctl(worker, cmd, (void __user *)arg);
}

static int worker_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct roost_worker *worker = file->private_data;
	int ret;

	ret = roost_domain_check(worker->domain);
	if (ret)
		return ret;
	if (vma->vm_pgoff)
		return -EINVAL;
	return roost_region_mmap(&worker->region, vma);
}

static int worker_flush(struct file *file, fl_owner_t id)
{
	struct roost_worker *worker = file->private_data;

	roost_domain_flush(worker->domain, id);
	return 0;
}

/* The worker itself stays with its domain: timers and polls may name it. */
static int worker_release(struct inode *inode, struct file *file)
{
	struct roost_worker *worker = file->private_data;
	struct roost_domain *domain;

	if (!worker)
		return 0;
	domain = worker->domain;
	mutex_lock(&domain->mutex);
	set_carrier(worker, NULL);
	mutex_unlock(&domain->mutex);
	/* Nobody can drain the ring from now on. */
	roost_cq_close(worker);
	/* Of a dead domain everything is dropped, at once for all workers. */
	if (!READ_ONCE(domain->dead)) {
		roost_poll_drop(domain, worker);
		roost_io_drop(domain, worker);
		roost_timeout_drop(domain, worker);
	}
	roost_domain_put(domain);
	return 0;
}

static const struct file_operations worker_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= worker_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.mmap		= worker_mmap,
	.flush		= worker_flush,
	.release	= worker_release,
	.show_fdinfo	= roost_fdinfo_worker,
};

/**
 * roost_worker_file() - is this a worker's file?
 * @file:	any file
 */
bool roost_worker_file(const struct file *file)
{
	return file->f_op == &worker_fops;
}

/**
 * roost_worker_stat() - add a worker's counters to a sum
 * @worker:	the worker
 * @stat:	the sum
 *
 * Takes no lock: each counter is right, together they are no snapshot.
 */
void roost_worker_stat(struct roost_worker *worker,
		       struct roost_domain_stat *stat)
{
	stat->workers += !READ_ONCE(worker->closed);
	stat->timers_pending += READ_ONCE(worker->timers_pending);
	stat->overflow_pending += READ_ONCE(worker->nr_overflow);
	stat->parks += READ_ONCE(worker->parks);
	stat->parks_refused += READ_ONCE(worker->parks_refused);
	stat->wakes += READ_ONCE(worker->wakes);
	stat->wakes_received += READ_ONCE(worker->wakes_received);
	stat->wakes_kernel += READ_ONCE(worker->wakes_kernel);
	stat->timeouts += READ_ONCE(worker->timeouts);
	stat->signals += READ_ONCE(worker->signals);
	stat->blocked += READ_ONCE(worker->blocked);
	stat->preempted += READ_ONCE(worker->preempted);
	stat->taken += READ_ONCE(worker->taken);
	stat->starved += READ_ONCE(worker->starved);
	stat->spun += READ_ONCE(worker->spun);
	stat->parks_busy += READ_ONCE(worker->parks_busy);
	stat->enters += atomic64_read(&worker->enters);
	stat->ios_started += atomic64_read(&worker->ios_started);
	stat->ios_waited += atomic64_read(&worker->ios_waited);
	stat->ios_done += atomic64_read(&worker->ios_done);
	stat->submitted += READ_ONCE(worker->submitted);
	stat->completed += READ_ONCE(worker->completed);
	stat->overflowed += READ_ONCE(worker->overflowed);
	stat->timers_set += READ_ONCE(worker->timers_set);
	stat->timers_moved += READ_ONCE(worker->timers_moved);
	stat->timers_fired += READ_ONCE(worker->timers_fired);
	stat->timers_cancelled += READ_ONCE(worker->timers_cancelled);
	stat->hrtimer_starts += READ_ONCE(worker->hrtimer_starts);
	stat->hrtimer_fires += READ_ONCE(worker->hrtimer_fires);
}

/**
 * roost_worker_tid() - who carries a worker?
 * @worker:	the worker
 * @lease:	set to the number of the newest lease
 *
 * Context: task.  Return: the thread as the current task's pid namespace numbers
 * it, 0 if there is none or it is not seen from there.
 */
pid_t roost_worker_tid(struct roost_worker *worker, u64 *lease)
{
	struct task_struct *task;
	pid_t tid = 0;

	raw_spin_lock_irq(&worker->lock);
	task = roost_worker_carrier(worker);
	if (task)
		tid = task_pid_vnr(task);
	*lease = worker->lease;
	raw_spin_unlock_irq(&worker->lock);
	return tid;
}

static int check_params(const struct roost_worker_params *params)
{
	if (params->flags || params->index || params->sq_offset ||
	    params->cq_offset || params->map_size || params->reserved0 ||
	    params->reserved[0] || params->reserved[1])
		return -EINVAL;
	if (!is_power_of_2(params->sq_entries) ||
	    params->sq_entries > ROOST_MAX_SQ_ENTRIES)
		return -EINVAL;
	if (!is_power_of_2(params->cq_entries) || params->cq_entries < 2 ||
	    params->cq_entries > ROOST_MAX_CQ_ENTRIES)
		return -EINVAL;
	return 0;
}

/* The mapping: head, submission ring, completion ring, each on its own page. */
static void lay_out(struct roost_worker_params *params)
{
	params->sq_offset = PAGE_SIZE;
	params->cq_offset = params->sq_offset +
		PAGE_ALIGN(params->sq_entries * sizeof(struct roost_sqe));
	params->map_size = params->cq_offset +
		PAGE_ALIGN(params->cq_entries * sizeof(struct roost_cqe));
}

static int alloc_rings(struct roost_worker *worker,
		       const struct roost_worker_params *params)
{
	int ret;

	ret = roost_region_alloc(&worker->region, params->map_size);
	if (ret)
		return ret;
	worker->page = worker->region.addr;
	worker->sqes = worker->region.addr + params->sq_offset;
	worker->cqes = worker->region.addr + params->cq_offset;
	worker->sq_entries = params->sq_entries;
	worker->cq_entries = params->cq_entries;
	worker->page->pending_min = ROOST_NO_DEADLINE;
	return 0;
}

static struct roost_worker *worker_alloc(struct roost_domain *domain,
					 const struct roost_worker_params *params)
{
	struct roost_worker *worker;
	int ret;

	/* The wheel makes it larger than a page. */
	worker = kvzalloc(sizeof(*worker), GFP_KERNEL_ACCOUNT);
	if (!worker)
		return ERR_PTR(-ENOMEM);
	ret = alloc_rings(worker, params);
	if (ret) {
		kvfree(worker);
		return ERR_PTR(ret);
	}
	worker->domain = domain;
	raw_spin_lock_init(&worker->lock);
	mutex_init(&worker->sq_mutex);
	raw_spin_lock_init(&worker->cq_lock);
	INIT_LIST_HEAD(&worker->overflow);
	roost_timeout_init_worker(worker);
	return worker;
}

/**
 * roost_worker_free() - free a worker
 * @worker:	no file, poll or thread refers to it any more, and its timers have
 *		been cancelled
 *
 * Context: task, may sleep.
 */
void roost_worker_free(struct roost_worker *worker)
{
	roost_cq_close(worker);
	roost_region_free(&worker->region);
	mutex_destroy(&worker->sq_mutex);
	kvfree(worker);
}

/* Give the worker its number; from now on the domain owns it. */
static int publish(struct roost_domain *domain, struct roost_worker *worker)
{
	int ret = -ENOSPC;

	mutex_lock(&domain->mutex);
	if (domain->nr_workers < ROOST_MAX_WORKERS) {
		worker->index = domain->nr_workers++;
		/* Pairs with the acquire in roost_domain_worker(). */
		smp_store_release(&domain->workers[worker->index], worker);
		ret = 0;
	}
	mutex_unlock(&domain->mutex);
	return ret;
}

/* What a worker is counted as. */
static void cost(const struct roost_worker_params *params,
		 u64 want[ROOST_NR_LIMITS])
{
	memset(want, 0, ROOST_NR_LIMITS * sizeof(*want));
	want[ROOST_LIMIT_WORKERS] = 1;
	want[ROOST_LIMIT_MEMORY] = sizeof(struct roost_worker) +
				   params->map_size;
}

/* Counted and made; nobody knows it. */
static struct roost_worker *make(struct roost_domain *domain,
				 const struct roost_worker_params *params)
{
	u64 want[ROOST_NR_LIMITS];
	struct roost_worker *worker;
	int ret;

	cost(params, want);
	ret = roost_charge_all(&domain->charge, want);
	if (ret)
		return ERR_PTR(ret);
	worker = worker_alloc(domain, params);
	if (IS_ERR(worker))
		roost_uncharge_all(&domain->charge, want);
	return worker;
}

/* Still nobody knows it. */
static void unmake(struct roost_worker *worker,
		   const struct roost_worker_params *params)
{
	struct roost_domain *domain = worker->domain;
	u64 want[ROOST_NR_LIMITS];

	roost_worker_free(worker);
	cost(params, want);
	roost_uncharge_all(&domain->charge, want);
}

/*
 * With its file, and the domain's: it has a number.  That comes last, since a
 * number is never given out again.
 */
static struct file *make_file(struct roost_worker *worker)
{
	struct file *file;
	int ret;

	file = anon_inode_getfile("[roost-worker]", &worker_fops, worker,
				  O_RDWR);
	if (IS_ERR(file))
		return file;
	ret = publish(worker->domain, worker);
	if (ret) {
		/* Nothing for worker_release() to do. */
		file->private_data = NULL;
		fput(file);
		return ERR_PTR(ret);
	}
	roost_domain_get(worker->domain);
	return file;
}

/**
 * roost_worker_create() - make a worker and its file
 * @domain:	for whom
 * @params:	what is wanted; gets the output fields
 * @arg:	where the caller wants the output
 * @cmd:	the ioctl number
 *
 * Context: task, may sleep.  Return: the file descriptor; -EINVAL; -ENOSPC if
 * the domain has had ROOST_MAX_WORKERS already; -EDQUOT; -ENOMEM, -EMFILE,
 * -ENFILE; -EFAULT, after which a number may stay used.
 */
int roost_worker_create(struct roost_domain *domain,
			struct roost_worker_params *params,
			void __user *arg, unsigned int cmd)
{
	struct roost_worker *worker;
	struct file *file;
	int fd, ret;

	ret = check_params(params);
	if (ret)
		return ret;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	lay_out(params);
	worker = make(domain, params);
	if (IS_ERR(worker)) {
		ret = PTR_ERR(worker);
		goto put_fd;
	}
	file = make_file(worker);
	if (IS_ERR(file)) {
		ret = PTR_ERR(file);
		unmake(worker, params);
		goto put_fd;
	}
	/* From here on worker_release() does the cleaning up. */

	params->index = worker->index;
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
