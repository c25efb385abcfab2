// SPDX-License-Identifier: GPL-2.0
/*
 * Carriers as the scheduler sees them.
 *
 * A thread that attaches hooks a preempt notifier into its own list of them, and
 * from then on tells what becomes of it, in two masks of the control page: on a
 * CPU; blocked, that is asleep elsewhere than in a park; neither, so it is
 * runnable and waits for a CPU, or parked, stopped, or not there.
 *
 *	sched_out	runs on the thread's CPU with the run queue's lock held and
 *			interrupts off: no lock that is held around a wake-up, so
 *			not worker->lock, may be taken
 *	sched_in	runs in the thread, preemption disabled, without that lock
 *
 * carrier->lock is thus a leaf under the run queue's lock.  Who ends a lease
 * clears carrier->worker and the bits under it; from then on the notifier does
 * nothing, and the worker may go.
 *
 * A carrier that is stuck may lose its lease to a standby: takeover.c.
 *
 * LIFETIME: the list belongs to the thread, no other may unhook.  When another
 * thread ends the lease (it closes the worker's file, or attaches in place of one
 * that is just exiting) the notifier stays hooked, idle, until its thread attaches
 * or stands by for the next time, or is dead; so it does when a standby has taken the
 * worker.  The last sched_out of a dead thread is still walking the list when we are
 * called, and holds a lock under which RCU must not be called; so a hard irq_work
 * calls RCU, and the reference goes after a grace period: preemption was disabled
 * until the walk's end, and nobody walks the list of a dead thread again.  Each
 * object holds a reference on the module, so that its code stays as long; what may
 * run after the last of them was dropped is the end of an RCU callback, for which
 * module exit waits.
 */
#include <linux/bitops.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/jobctl.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "carrier.h"
#include "domain.h"
#include "takeover.h"
#include "worker.h"

/*
 * Off by default: from the first domain with carriers on, every context switch of
 * the machine looks for notifiers; those of carriers are dearer.
 */
static bool carriers;
module_param(carriers, bool, 0644);
MODULE_PARM_DESC(carriers, "new domains are told which carriers are on a CPU, and which are blocked");

/* Do context switches look for notifiers?  Set once, under the mutex. */
static bool notified;
static DEFINE_MUTEX(notified_mutex);

static void free_carrier(struct roost_carrier *carrier)
{
	kfree(carrier);
	module_put(THIS_MODULE);
}

static void free_rcu(struct rcu_head *rcu)
{
	struct roost_carrier *carrier = container_of(rcu, struct roost_carrier,
						     rcu);

	/* One that was displaced before it went off; a thread that died so. */
	hrtimer_cancel(&carrier->grace);
	free_carrier(carrier);
}

/**
 * roost_carrier_put() - drop a reference
 * @carrier:	the carrier
 *
 * Context: any, also hard irq.
 */
void roost_carrier_put(struct roost_carrier *carrier)
{
	if (refcount_dec_and_test(&carrier->ref))
		call_rcu(&carrier->rcu, free_rcu);
}

/* That of the notifier of a dead thread. */
static void put_rcu(struct rcu_head *rcu)
{
	roost_carrier_put(container_of(rcu, struct roost_carrier, rcu));
}

static void after_death(struct irq_work *work)
{
	struct roost_carrier *carrier = container_of(work, struct roost_carrier,
						     dead);

	call_rcu(&carrier->rcu, put_rcu);
}

static unsigned long *on_cpu(const struct roost_worker *worker)
{
	return (unsigned long *)worker->domain->control->on_cpu;
}

static unsigned long *blocked(const struct roost_worker *worker)
{
	return (unsigned long *)worker->domain->control->blocked;
}

/**
 * roost_carrier_blocked() - is a worker's carrier blocked?
 * @worker:	the worker
 *
 * Context: task.  Return: not what its page says, which the process may write.
 */
bool roost_carrier_blocked(struct roost_worker *worker)
{
	struct roost_carrier *carrier;
	bool is = false;

	raw_spin_lock_irq(&worker->lock);
	carrier = worker->hooked;
	if (carrier) {
		raw_spin_lock(&carrier->lock);
		is = carrier->worker && carrier->blocked;
		raw_spin_unlock(&carrier->lock);
	}
	raw_spin_unlock_irq(&worker->lock);
	return is;
}

/**
 * roost_carrier_tell_nothing() - a worker has no carrier that could be told of
 * @worker:	the worker; its carrier's lock is held
 */
void roost_carrier_tell_nothing(const struct roost_worker *worker)
{
	clear_bit(worker->index, on_cpu(worker));
	clear_bit(worker->index, blocked(worker));
}

/*
 * The thread runs another program by now, or ends: not for the domain's process to
 * watch.  Only compared.
 */
static bool has_left(const struct roost_worker *worker)
{
	return current->mm != worker->domain->mm;
}

/* As if it had no lease.  Under carrier->lock. */
static void tell_gone(struct roost_carrier *carrier)
{
	carrier->cpu = -1;
	carrier->active = false;
	carrier->blocked = false;
	roost_carrier_tell_nothing(carrier->worker);
}

/* The current task has a lease, and runs.  Under carrier->lock. */
static void tell_running(struct roost_carrier *carrier)
{
	struct roost_worker *worker = carrier->worker;
	struct roost_domain *domain = worker->domain;

	if (unlikely(has_left(worker))) {
		tell_gone(carrier);
		return;
	}
	carrier->cpu = smp_processor_id();
	if (!carrier->active) {
		carrier->active = true;
		carrier->fresh = true;
		carrier->blocked = false;
		clear_bit(worker->index, blocked(worker));
	}
	set_bit(worker->index, on_cpu(worker));
	/* If not, who sets the first takes our lock afterwards: first_standby(). */
	if (READ_ONCE(domain->has_standbys) && !READ_ONCE(domain->ticking))
		roost_takeover_tick(domain);
}

/*
 * Stopped, traced or frozen from outside: no fault of what the thread does.  Who is
 * frozen by its cgroup sleeps as for any signal.
 */
static bool is_held(unsigned int state)
{
	return state & (__TASK_STOPPED | __TASK_TRACED | TASK_FROZEN) ||
	       READ_ONCE(current->jobctl) & JOBCTL_TRAP_FREEZE;
}

/* The current task leaves its CPU, with @state.  Under carrier->lock. */
static void tell_off(struct roost_carrier *carrier, unsigned int state)
{
	struct roost_worker *worker = carrier->worker;

	if (unlikely(has_left(worker))) {
		tell_gone(carrier);
		return;
	}
	carrier->cpu = -1;
	clear_bit(worker->index, on_cpu(worker));
	/*
	 * Or it is being woken: who does that waits until we have left the CPU, to
	 * queue it, and has perhaps undone meanwhile what told that it was held.
	 */
	if (roost_task_runnable(current) || state == TASK_WAKING) {
		roost_count(&worker->preempted);
		return;
	}
	carrier->active = false;
	if (worker->pinned || state & TASK_DEAD || is_held(state))
		return;
	carrier->blocked = true;
	roost_count(&worker->blocked);
	set_bit(worker->index, blocked(worker));
	if (roost_carrier_inside(carrier) || current->flags & PF_EXITING)
		return;
	carrier->stuck = true;
	carrier->due = KTIME_MAX;
	/* If not, who sets it takes our lock afterwards: first_standby(). */
	if (READ_ONCE(worker->domain->has_standbys))
		roost_takeover_blocked(carrier);
}

static void sched_out(struct preempt_notifier *notifier,
		      struct task_struct *next)
{
	struct roost_carrier *carrier = container_of(notifier,
						     struct roost_carrier,
						     notifier);
	unsigned int state = READ_ONCE(current->__state);

	raw_spin_lock(&carrier->lock);
	if (carrier->worker)
		tell_off(carrier, state);
	raw_spin_unlock(&carrier->lock);
	if (unlikely(state == TASK_DEAD))
		irq_work_queue(&carrier->dead);
}

static void sched_in(struct preempt_notifier *notifier, int cpu)
{
	struct roost_carrier *carrier = container_of(notifier,
						     struct roost_carrier,
						     notifier);
	unsigned long irq;
	bool stuck;

	raw_spin_lock_irqsave(&carrier->lock, irq);
	stuck = carrier->stuck;
	carrier->stuck = false;
	if (carrier->worker)
		tell_running(carrier);
	raw_spin_unlock_irqrestore(&carrier->lock, irq);
	/* One that fires just now finds us not stuck, or too early. */
	if (stuck)
		hrtimer_try_to_cancel(&carrier->grace);
}

/* Not const in what the kernel takes. */
static struct preempt_ops carrier_ops = {
	.sched_in	= sched_in,
	.sched_out	= sched_out,
};

/**
 * roost_carrier_hook() - be told of the current task's context switches
 * @carrier:	of this task
 */
void roost_carrier_hook(struct roost_carrier *carrier)
{
	refcount_inc(&carrier->ref);
	/* Nobody walks the list meanwhile. */
	preempt_disable();
	preempt_notifier_register(&carrier->notifier);
	preempt_enable();
}

/**
 * roost_carrier_unhook() - undo roost_carrier_hook(), in the same task
 * @carrier:	the carrier, without a lease
 */
void roost_carrier_unhook(struct roost_carrier *carrier)
{
	preempt_disable();
	preempt_notifier_unregister(&carrier->notifier);
	preempt_enable();
	/* May be at its end elsewhere. */
	hrtimer_cancel(&carrier->grace);
	roost_carrier_put(carrier);
}

/*
 * How many domains may watch one thread: each adds to what its context switches cost,
 * with interrupts off.
 */
#define MAX_WATCHED	16

/* Unhook what others have left in the current task's list.  Return: what is left. */
static unsigned int unhook_stale(void)
{
	struct preempt_notifier *notifier;
	struct roost_carrier *carrier;
	struct hlist_node *next;
	unsigned int n = 0;

	/* Nobody else changes the list. */
	hlist_for_each_entry_safe(notifier, next, roost_notifiers(), link) {
		if (notifier->ops != &carrier_ops)
			continue;
		carrier = container_of(notifier, struct roost_carrier, notifier);
		/* Once cleared it is never set again; no standby is here. */
		if (READ_ONCE(carrier->worker))
			n++;
		else
			roost_carrier_unhook(carrier);
	}
	return n;
}

/**
 * roost_carrier_alloc() - prepare the current task for a lease
 * @domain:	of whose worker
 *
 * Context: task, may sleep.  Return: an object for roost_carrier_begin() or
 * roost_carrier_free(); NULL if carriers are not watched; -ENOMEM; -EBUSY if the
 * task is watched for too many domains.
 */
struct roost_carrier *roost_carrier_alloc(const struct roost_domain *domain)
{
	struct roost_carrier *carrier;

	if (!domain->carriers)
		return NULL;
	/* Each attach clears up, so that a thread never has many. */
	if (unhook_stale() >= MAX_WATCHED)
		return ERR_PTR(-EBUSY);
	carrier = kzalloc(sizeof(*carrier), GFP_KERNEL_ACCOUNT);
	if (!carrier)
		return ERR_PTR(-ENOMEM);
	__module_get(THIS_MODULE);
	preempt_notifier_init(&carrier->notifier, &carrier_ops);
	carrier->task = current;
	refcount_set(&carrier->ref, 1);
	carrier->dead = IRQ_WORK_INIT_HARD(after_death);
	carrier->cpu = -1;
	raw_spin_lock_init(&carrier->lock);
	roost_takeover_setup(carrier);
	return carrier;
}

/**
 * roost_carrier_free() - there was no lease after all
 * @carrier:	from roost_carrier_alloc(), or NULL
 */
void roost_carrier_free(struct roost_carrier *carrier)
{
	/* Nobody else has ever seen it. */
	if (carrier)
		free_carrier(carrier);
}

/**
 * roost_carrier_tell() - the current task has a lease, if it has not lost it yet
 * @carrier:	of this task
 */
void roost_carrier_tell(struct roost_carrier *carrier)
{
	unsigned long irq;

	raw_spin_lock_irqsave(&carrier->lock, irq);
	if (carrier->worker)
		tell_running(carrier);
	raw_spin_unlock_irqrestore(&carrier->lock, irq);
}

/**
 * roost_carrier_begin() - the current task has got a lease
 * @carrier:	from roost_carrier_alloc(), by this task; or NULL
 * @worker:	whose; its domain's mutex is held
 */
void roost_carrier_begin(struct roost_carrier *carrier,
			 struct roost_worker *worker)
{
	unsigned long irq;

	if (!carrier)
		return;
	raw_spin_lock_irqsave(&worker->lock, irq);
	worker->hooked = carrier;
	raw_spin_unlock_irqrestore(&worker->lock, irq);
	roost_carrier_hook(carrier);
	raw_spin_lock_irqsave(&carrier->lock, irq);
	carrier->lease = worker->lease;
	WRITE_ONCE(carrier->worker, worker);
	tell_running(carrier);
	raw_spin_unlock_irqrestore(&carrier->lock, irq);
}

/**
 * roost_carrier_end() - a lease ends
 * @worker:	whose; its domain's mutex is held
 *
 * By any task: the thread that has the lease may just run, sleep or be dead.
 */
void roost_carrier_end(struct roost_worker *worker)
{
	struct roost_carrier *carrier;
	unsigned long irq;

	raw_spin_lock_irqsave(&worker->lock, irq);
	carrier = worker->hooked;
	worker->hooked = NULL;
	raw_spin_unlock_irqrestore(&worker->lock, irq);
	/* From here on nobody takes the worker. */
	if (!carrier)
		return;
	raw_spin_lock_irqsave(&carrier->lock, irq);
	carrier->stuck = false;
	WRITE_ONCE(carrier->worker, NULL); /* read in unhook_stale() */
	roost_carrier_tell_nothing(worker);
	raw_spin_unlock_irqrestore(&carrier->lock, irq);
	hrtimer_cancel(&carrier->grace);
	if (carrier->task == current)
		roost_carrier_unhook(carrier);
	roost_carrier_put(carrier);
}

/**
 * roost_carriers() - are the carriers of a new domain watched?
 */
bool roost_carriers(void)
{
	return roost_has_notifiers && READ_ONCE(carriers);
}

/**
 * roost_carrier_domain() - a new domain
 * @domain:	nobody else knows it
 *
 * Context: task, may sleep.
 */
void roost_carrier_domain(struct roost_domain *domain)
{
	if (!roost_has_notifiers && READ_ONCE(carriers))
		pr_notice_once("roost: no carriers: a kernel without CONFIG_PREEMPT_NOTIFIERS\n");
	domain->carriers = roost_carriers();
	if (!domain->carriers)
		return;
	/* For as long as the module: a notifier may outlast its domain. */
	mutex_lock(&notified_mutex);
	if (!notified)
		preempt_notifier_inc();
	notified = true;
	mutex_unlock(&notified_mutex);
}

/**
 * roost_carrier_exit() - module exit
 */
void roost_carrier_exit(void)
{
	if (!notified)
		return;
	/* The end of the callback that has dropped the last reference. */
	rcu_barrier();
	preempt_notifier_dec();
	notified = false;
}
