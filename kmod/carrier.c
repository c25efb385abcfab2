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
 * TAKEOVER: a carrier that blocks outside the library is stuck until sched_in.  If
 * that lasts for the grace time, take() gives its worker to a standby.  The states,
 * and each race, are drawn up in Documentation/protocols.rst.
 *
 * LIFETIME: the list belongs to the thread, no other may unhook.  When another
 * thread ends the lease (it closes the worker's file, or attaches in place of one
 * that is just exiting) the notifier stays hooked, idle, until its thread attaches
 * or stands by for the next time, or is dead; so it does when a standby has taken the
 * worker.  The last sched_out of a dead thread
 * is still walking the list when we are called, and holds a lock under which RCU
 * must not be called; so a hard irq_work calls RCU, and the object goes after a
 * grace period: preemption was disabled until the walk's end, and nobody walks
 * the list of a dead thread again.  Each object holds a reference on the module, so
 * that its code stays as long; what may run after the last of them was dropped is
 * the end of an RCU callback, for which module exit waits.
 */
#include <linux/bitops.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "carrier.h"
#include "domain.h"
#include "trace.h"
#include "worker.h"

/*
 * Off by default: it makes every context switch of the machine look for
 * notifiers, and those of carriers dearer.
 */
bool roost_carriers;
module_param_named(carriers, roost_carriers, bool, 0444);
MODULE_PARM_DESC(carriers, "tell which carriers are on a CPU, and which are blocked");

static unsigned int grace_us = 20;
module_param(grace_us, uint, 0644);
MODULE_PARM_DESC(grace_us, "how long a carrier may be blocked before a standby takes its worker");

#define MAX_GRACE_US	1000000U

static void put(struct roost_carrier *carrier)
{
	if (!refcount_dec_and_test(&carrier->ref))
		return;
	kfree(carrier);
	module_put(THIS_MODULE);
}

static void put_rcu(struct rcu_head *rcu)
{
	put(container_of(rcu, struct roost_carrier, rcu));
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

/* Both under carrier->lock. */
static void tell_running(const struct roost_worker *worker)
{
	clear_bit(worker->index, blocked(worker));
	set_bit(worker->index, on_cpu(worker));
}

static void tell_nothing(const struct roost_worker *worker)
{
	clear_bit(worker->index, on_cpu(worker));
	clear_bit(worker->index, blocked(worker));
}

/*
 * The grace time of a stuck carrier begins.  Under carrier->lock, perhaps also under
 * the run queue's: no timer is waited for here.
 */
static void start_grace(struct roost_carrier *carrier)
{
	unsigned int us = min(READ_ONCE(grace_us), MAX_GRACE_US);

	carrier->due = ktime_add_us(ktime_get(), us);
	hrtimer_start(&carrier->grace, carrier->due, HRTIMER_MODE_ABS_PINNED_HARD);
}

/* Stopped, traced or frozen from outside: no fault of what the thread does. */
#define HELD	(__TASK_STOPPED | __TASK_TRACED | TASK_FROZEN)

/*
 * Is the carrier inside the library?  What it says counts if it does not run, or we
 * have interrupted it: who goes inside later finds another word, if it was displaced.
 */
static bool is_inside(const struct roost_carrier *carrier)
{
	return READ_ONCE(carrier->worker->page->in_library) ==
	       roost_inside(carrier->lease);
}

/* The current task leaves its CPU, with @state.  Under carrier->lock. */
static void tell_off(struct roost_carrier *carrier, unsigned int state)
{
	struct roost_worker *worker = carrier->worker;

	clear_bit(worker->index, on_cpu(worker));
	if (roost_task_runnable(current)) {
		roost_count(&worker->preempted);
		return;
	}
	if (worker->parking || state & (HELD | TASK_DEAD))
		return;
	roost_count(&worker->blocked);
	set_bit(worker->index, blocked(worker));
	if (is_inside(carrier) || current->flags & PF_EXITING)
		return;
	carrier->stuck = true;
	carrier->due = KTIME_MAX;
	/* If not, who sets it takes our lock afterwards: first_standby(). */
	if (READ_ONCE(worker->domain->has_standbys))
		start_grace(carrier);
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
		tell_running(carrier->worker);
	raw_spin_unlock_irqrestore(&carrier->lock, irq);
	/* One that fires just now finds us not stuck, or too early. */
	if (stuck)
		hrtimer_try_to_cancel(&carrier->grace);
}

/*
 * A standby, listed, gets the worker of @carrier, if that is still stuck.  Under
 * worker->lock and domain->standby_lock.
 */
static bool hand_over(struct roost_worker *worker, struct roost_carrier *carrier,
		      struct roost_carrier *standby)
{
	bool taken;

	raw_spin_lock(&carrier->lock);
	taken = carrier->stuck && ktime_compare(ktime_get(), carrier->due) >= 0;
	if (taken) {
		carrier->stuck = false;
		WRITE_ONCE(carrier->worker, NULL); /* read in unhook_stale() */
		tell_nothing(worker);
		/* Before its sched_in: no user code of it finds the old words. */
		roost_worker_show_lease(worker, ++worker->lease);
	}
	raw_spin_unlock(&carrier->lock);
	if (!taken)
		return false;

	/* For worker->carrier. */
	get_task_struct(standby->task);
	list_del_init(&standby->node);
	standby->given = true;
	standby->index = worker->index;
	standby->lease = worker->lease;
	/* Its bits come when it runs. */
	raw_spin_lock(&standby->lock);
	WRITE_ONCE(standby->worker, worker);
	raw_spin_unlock(&standby->lock);
	return true;
}

/* The worker has a new carrier: as in set_carrier(), but a permit stays. */
static void replace_carrier(struct roost_worker *worker,
			    struct roost_carrier *standby)
{
	struct roost_carrier *old = worker->hooked;
	struct task_struct *task = worker->carrier;

	trace_roost_takeover(worker, standby->task);
	roost_count(&worker->taken);
	worker->hooked = standby;
	WRITE_ONCE(worker->carrier, standby->task);
	init_waitqueue_entry(&worker->wait, standby->task);
	wake_up_process(standby->task);
	/* Neither is the last: it sleeps somewhere, and its notifier is hooked. */
	put_task_struct(task);
	put(old);
}

/*
 * Take the worker from its carrier, if that is stuck for long enough, and there is
 * a standby.  If there is none, the next one looks at the worker.  Any context.
 */
static void take(struct roost_worker *worker)
{
	struct roost_domain *domain = worker->domain;
	struct roost_carrier *standby;
	unsigned long irq;
	bool taken = false;

	raw_spin_lock_irqsave(&worker->lock, irq);
	if (!worker->hooked)
		goto unlock;
	raw_spin_lock(&domain->standby_lock);
	standby = list_first_entry_or_null(&domain->standbys,
					   struct roost_carrier, node);
	if (standby) {
		taken = hand_over(worker, worker->hooked, standby);
	} else {
		set_bit(worker->index, domain->starved);
		roost_count(&worker->starved);
		trace_roost_starved(worker, worker->carrier);
	}
	raw_spin_unlock(&domain->standby_lock);
	if (taken)
		replace_carrier(worker, standby);
unlock:
	raw_spin_unlock_irqrestore(&worker->lock, irq);
}

/*
 * In a hard interrupt, so under RCU: the worker may be another's by now, but its
 * domain lasts (roost_carrier_quiesce()).
 */
static enum hrtimer_restart grace_over(struct hrtimer *timer)
{
	struct roost_carrier *carrier = container_of(timer, struct roost_carrier,
						     grace);
	struct roost_worker *worker = NULL;

	raw_spin_lock(&carrier->lock);
	/* If it has run and is blocked again, the timer is queued again, too. */
	if (carrier->stuck && ktime_compare(ktime_get(), carrier->due) >= 0)
		worker = carrier->worker;
	raw_spin_unlock(&carrier->lock);
	if (worker)
		take(worker);
	return HRTIMER_NORESTART;
}

/* Not const in what the kernel takes. */
static struct preempt_ops carrier_ops = {
	.sched_in	= sched_in,
	.sched_out	= sched_out,
};

/* Both of the current task.  Preemption disabled, so that nobody walks the list. */
static void hook(struct roost_carrier *carrier)
{
	refcount_inc(&carrier->ref);
	preempt_notifier_register(&carrier->notifier);
}

static void unhook(struct roost_carrier *carrier)
{
	preempt_notifier_unregister(&carrier->notifier);
	/* May be at its end elsewhere. */
	hrtimer_cancel(&carrier->grace);
	put(carrier);
}

/* Unhook what others have left in the current task's list. */
static void unhook_stale(void)
{
	struct preempt_notifier *notifier;
	struct roost_carrier *carrier;
	struct hlist_node *next;

	preempt_disable();
	hlist_for_each_entry_safe(notifier, next, roost_notifiers(), link) {
		if (notifier->ops != &carrier_ops)
			continue;
		carrier = container_of(notifier, struct roost_carrier, notifier);
		/* Once cleared it is never set again; no standby is here. */
		if (!READ_ONCE(carrier->worker))
			unhook(carrier);
	}
	preempt_enable();
}

/**
 * roost_carrier_alloc() - prepare the current task for a lease
 *
 * Context: task, may sleep.  Return: an object for roost_carrier_begin() or
 * roost_carrier_free(); NULL if carriers are not watched; -ENOMEM.
 */
struct roost_carrier *roost_carrier_alloc(void)
{
	struct roost_carrier *carrier;

	if (!roost_carriers)
		return NULL;
	/* Each attach clears up, so that a thread never has many. */
	unhook_stale();
	carrier = kzalloc(sizeof(*carrier), GFP_KERNEL_ACCOUNT);
	if (!carrier)
		return ERR_PTR(-ENOMEM);
	__module_get(THIS_MODULE);
	preempt_notifier_init(&carrier->notifier, &carrier_ops);
	carrier->task = current;
	refcount_set(&carrier->ref, 1);
	carrier->dead = IRQ_WORK_INIT_HARD(after_death);
	INIT_LIST_HEAD(&carrier->node);
	hrtimer_setup(&carrier->grace, grace_over, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_PINNED_HARD);
	raw_spin_lock_init(&carrier->lock);
	return carrier;
}

/**
 * roost_carrier_free() - there was no lease after all
 * @carrier:	from roost_carrier_alloc(), or NULL
 */
void roost_carrier_free(struct roost_carrier *carrier)
{
	if (carrier)
		put(carrier);
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
	preempt_disable();
	hook(carrier);
	raw_spin_lock_irqsave(&carrier->lock, irq);
	carrier->lease = worker->lease;
	WRITE_ONCE(carrier->worker, worker);
	tell_running(worker);
	raw_spin_unlock_irqrestore(&carrier->lock, irq);
	preempt_enable();
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
	tell_nothing(worker);
	raw_spin_unlock_irqrestore(&carrier->lock, irq);
	hrtimer_cancel(&carrier->grace);
	if (carrier->task == current) {
		preempt_disable();
		unhook(carrier);
		preempt_enable();
	}
	put(carrier);
}

/* Is there a worker that its carrier would have lost, had we been here? */
static void take_starved(struct roost_domain *domain)
{
	struct roost_worker *worker;
	u32 i;

	for_each_set_bit(i, domain->starved, ROOST_MAX_WORKERS) {
		if (!test_and_clear_bit(i, domain->starved))
			continue;
		worker = roost_domain_worker(domain, i);
		if (worker)
			take(worker);
	}
}

static bool is_given(struct roost_domain *domain, struct roost_carrier *standby)
{
	bool given;

	raw_spin_lock_irq(&domain->standby_lock);
	given = standby->given;
	raw_spin_unlock_irq(&domain->standby_lock);
	return given;
}

/* Not to be taken any more, unless it was.  Returns that. */
static bool leave_standbys(struct roost_domain *domain,
			   struct roost_carrier *standby)
{
	bool given;

	raw_spin_lock_irq(&domain->standby_lock);
	given = standby->given;
	list_del_init(&standby->node);
	raw_spin_unlock_irq(&domain->standby_lock);
	return given;
}

/*
 * From the first standby on, every carrier that gets stuck starts its timer; for
 * those that are already we do.
 */
static void first_standby(struct roost_domain *domain)
{
	struct roost_carrier *carrier;
	struct roost_worker *worker;
	u32 i;

	if (READ_ONCE(domain->has_standbys) || xchg(&domain->has_standbys, 1))
		return;
	for (i = 0; (worker = roost_domain_worker(domain, i)); i++) {
		raw_spin_lock_irq(&worker->lock);
		carrier = worker->hooked;
		if (carrier) {
			raw_spin_lock(&carrier->lock);
			if (carrier->stuck)
				start_grace(carrier);
			raw_spin_unlock(&carrier->lock);
		}
		raw_spin_unlock_irq(&worker->lock);
	}
}

/* As a listed standby, sleep until given a worker (true) or for a signal. */
static bool stand_by(struct roost_domain *domain, struct roost_carrier *standby)
{
	first_standby(domain);
	raw_spin_lock_irq(&domain->standby_lock);
	list_add(&standby->node, &domain->standbys);
	raw_spin_unlock_irq(&domain->standby_lock);
	/* After that: take() sets the bit if it has found nobody listed. */
	take_starved(domain);
	for (;;) {
		/* Before the look; whoever gives us a worker wakes us after it. */
		set_current_state(TASK_INTERRUPTIBLE);
		if (is_given(domain, standby) || signal_pending(current))
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return leave_standbys(domain, standby);
}

/* Has the current task, a standby before, been switched in since?  Say so. */
static void begin_given(struct roost_carrier *standby)
{
	unsigned long irq;

	raw_spin_lock_irqsave(&standby->lock, irq);
	if (standby->worker)
		tell_running(standby->worker);
	raw_spin_unlock_irqrestore(&standby->lock, irq);
}

/**
 * roost_carrier_standby() - the current task waits for a worker whose carrier is
 *	stuck
 * @domain:	whose; none of its workers is carried by the current task
 * @index:	set to the worker's index
 * @lease:	set to the lease's number
 *
 * Context: task, sleeps.  Return: 0; -EOPNOTSUPP; -ENOMEM; -EINTR.
 */
int roost_carrier_standby(struct roost_domain *domain, u32 *index, u64 *lease)
{
	struct roost_carrier *standby = roost_carrier_alloc();

	if (IS_ERR_OR_NULL(standby))
		return standby ? PTR_ERR(standby) : -EOPNOTSUPP;
	preempt_disable();
	hook(standby);
	preempt_enable();
	if (stand_by(domain, standby)) {
		/* The first reference is the lease's now. */
		*index = standby->index;
		*lease = standby->lease;
		begin_given(standby);
		return 0;
	}
	preempt_disable();
	unhook(standby);
	preempt_enable();
	put(standby);
	return -EINTR;
}

/**
 * roost_carrier_quiesce() - a domain ends
 * @domain:	the domain; nobody has a lease, or is a standby
 *
 * What a timer of a displaced carrier has begun is over on return.
 *
 * Context: task, may sleep.
 */
void roost_carrier_quiesce(struct roost_domain *domain)
{
	if (domain->has_standbys)
		synchronize_rcu();
}

/**
 * roost_carrier_init() - module init
 */
void __init roost_carrier_init(void)
{
	if (!roost_carriers)
		return;
	if (!roost_has_notifiers) {
		pr_notice("roost: no carriers: a kernel without CONFIG_PREEMPT_NOTIFIERS\n");
		roost_carriers = false;
		return;
	}
	preempt_notifier_inc();
}

/**
 * roost_carrier_exit() - module exit
 */
void roost_carrier_exit(void)
{
	if (!roost_carriers)
		return;
	/* The end of the callback that has dropped the last reference. */
	rcu_barrier();
	preempt_notifier_dec();
}
