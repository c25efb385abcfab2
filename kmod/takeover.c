// SPDX-License-Identifier: GPL-2.0
/*
 * Taking the worker of a carrier that is stuck, for a standby.
 *
 * Stuck outside the library is
 *
 *	who is blocked		for grace_us; a timer that its sched_out starts
 *	who spins		runs or is preempted, and has resumed nothing else
 *				for spin_us while work waited; the domain's tick
 *
 * take() decides, with all locks that it takes: worker->lock against the end of the
 * lease and the start of a park, standby_lock against a standby that gives up, and
 * carrier->lock against the carrier's context switches.
 *
 * What a carrier says of itself, in its page, is only believed while it does not run
 * or has just been interrupted by us: nobody is displaced while another CPU runs it.
 * Thus who goes inside the library has either done so before we look, or finds that
 * it is displaced.  The tick sends an interrupt to who spins elsewhere (poke()).
 *
 * THE TICK begins with a sched_in, goes on while any carrier of the domain runs or is
 * preempted, and lapses; so one that parks and runs in turns does not start a timer
 * each time.  There is none before the first standby.
 *
 * The states, and each race, are drawn up in Documentation/protocols.rst.
 */
#include <linux/bitops.h>
#include <linux/hrtimer.h>
#include <linux/kstrtox.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "carrier.h"
#include "domain.h"
#include "netlink.h"
#include "park.h"
#include "takeover.h"
#include "trace.h"
#include "worker.h"

/*
 * A thread that sleeps for a few us is back after 60 or so: its timer has a slack of
 * 50 us.  For such a one it is cheaper to wait than to change carriers.
 */
static unsigned int grace_us = 200;

#define MAX_GRACE_US	1000000U

static int set_grace(const char *text, const struct kernel_param *param)
{
	return param_set_uint_minmax(text, param, 0, MAX_GRACE_US);
}

static const struct kernel_param_ops grace_ops = {
	.set	= set_grace,
	.get	= param_get_uint,
};

module_param_cb(grace_us, &grace_ops, &grace_us, 0644);
__MODULE_PARM_TYPE(grace_us, "uint");
MODULE_PARM_DESC(grace_us, "how long a carrier may be blocked before a standby takes its worker (at most 1000000)");

static unsigned int spin_us = 10000;

#define MIN_SPIN_US	1000U
#define MAX_SPIN_US	10000000U

static int set_spin(const char *text, const struct kernel_param *param)
{
	unsigned int us;
	int ret = kstrtouint(text, 0, &us);

	if (ret)
		return ret;
	if (us && (us < MIN_SPIN_US || us > MAX_SPIN_US))
		return -EINVAL;
	return param_set_uint(text, param);
}

static const struct kernel_param_ops spin_ops = {
	.set	= set_spin,
	.get	= param_get_uint,
};

module_param_cb(spin_us, &spin_ops, &spin_us, 0644);
__MODULE_PARM_TYPE(spin_us, "uint");
MODULE_PARM_DESC(spin_us, "how long a carrier may run one actor while work waits (0: for ever; 1000 to 10000000)");

/* 0: nobody is displaced for it. */
static ktime_t spin_bound(void)
{
	return ns_to_ktime((u64)READ_ONCE(spin_us) * NSEC_PER_USEC);
}

/*
 * Could something be done, if not by @worker's carrier?  Also what it has staged and
 * not handed over: a timer that nobody knows of yet, say.  What the process says of it
 * is advice.
 */
static bool work_waits(const struct roost_worker *worker)
{
	const struct roost_worker_page *page = worker->page;
	const struct roost_domain *domain = worker->domain;
	const struct roost_control *control = domain->control;
	u64 any = READ_ONCE(control->queued) | READ_ONCE(domain->nr_ready);
	unsigned int i;

	any |= READ_ONCE(page->sq_tail) ^ READ_ONCE(page->sq_head);

	for (i = 0; i < ROOST_MASK_WORDS; i++)
		any |= READ_ONCE(control->cq_ready[i]);
	return any;
}

/* Has the worker parked or resumed an actor since the last look?  Its carrier's lock. */
static bool has_moved(const struct roost_worker *worker,
		      const struct roost_carrier *carrier)
{
	return READ_ONCE(worker->page->resumes) != carrier->resumes ||
	       READ_ONCE(worker->parks) != carrier->parks ||
	       READ_ONCE(worker->pinned);
}

/* Does it run the actor that it ran at its last look, so far, too long?  Its lock. */
static bool spins(const struct roost_carrier *carrier, ktime_t now)
{
	const struct roost_worker *worker = carrier->worker;
	ktime_t bound = spin_bound();

	return bound && !carrier->fresh &&
	       ktime_compare(ktime_sub(now, carrier->since), bound) >= 0 &&
	       !has_moved(worker, carrier) &&
	       work_waits(worker) && !roost_carrier_inside(carrier);
}

/*
 * Does it keep its worker from those who wait, and could lose it?  Of one that runs on
 * another CPU that is a guess.  Under worker->lock and carrier->lock.
 */
static bool is_in_the_way(const struct roost_worker *worker,
			  const struct roost_carrier *carrier)
{
	ktime_t now = ktime_get();

	if (carrier->stuck)
		return ktime_compare(now, carrier->due) >= 0;
	if (!carrier->worker || !carrier->active)
		return false;
	/* On its way to sleep or back; or about to give the lease up. */
	if (READ_ONCE(worker->pinned) || !roost_worker_carrier(worker))
		return false;
	return spins(carrier, now);
}

/* The same, and what it says of itself is to be believed. */
static bool is_stuck(const struct roost_worker *worker,
		     const struct roost_carrier *carrier)
{
	return is_in_the_way(worker, carrier) &&
	       (carrier->stuck || carrier->cpu < 0 ||
		carrier->cpu == smp_processor_id());
}

/*
 * Take the worker from @carrier, if that is stuck indeed: from here on it is the
 * standby's.  Under worker->lock and standby_lock.
 */
static bool displace(struct roost_worker *worker, struct roost_carrier *carrier,
		     struct roost_carrier *standby)
{
	bool taken;

	raw_spin_lock(&carrier->lock);
	taken = is_stuck(worker, carrier);
	if (taken) {
		if (!carrier->stuck)
			roost_count(&worker->spun);
		carrier->stuck = false;
		WRITE_ONCE(carrier->worker, NULL); /* read in unhook_stale() */
		roost_carrier_tell_nothing(worker);
		/*
		 * Before its sched_in: no user code of it finds the old words, or
		 * itself the carrier.  The one before has left a reference.
		 */
		WRITE_ONCE(worker->carrier, get_task_struct(standby->task));
		roost_worker_show_lease(worker, ++worker->lease);
		trace_roost_takeover(worker, standby->task);
	}
	raw_spin_unlock(&carrier->lock);
	return taken;
}

/* The worker has a new carrier: as in set_carrier(), but a permit stays. */
static void give(struct roost_worker *worker, struct roost_carrier *standby)
{
	roost_count(&worker->taken);
	worker->hooked = standby;
	init_waitqueue_entry(&worker->wait, standby->task);
	/* If the old one was about to park, and had not come in yet. */
	roost_park_clear(worker);
	/* Its bits come when it runs. */
	raw_spin_lock(&standby->lock);
	standby->lease = worker->lease;
	WRITE_ONCE(standby->worker, worker);
	raw_spin_unlock(&standby->lock);

	list_del_init(&standby->node);
	worker->domain->nr_standbys--;
	standby->index = worker->index;
	standby->given = true;
	wake_up_process(standby->task);
}

/*
 * A standby, listed, gets the worker, if the carrier is stuck.  All of it is done when
 * standby_lock is dropped: a standby may be awake, and looks under that.
 */
static void hand_over(struct roost_worker *worker, struct roost_carrier *standby)
{
	struct roost_carrier *old = worker->hooked;
	struct task_struct *task = worker->carrier;

	if (!displace(worker, old, standby))
		return;
	give(worker, standby);
	/*
	 * The first is not the last: what is left of a task goes after a grace period,
	 * and interrupts are off.  The other may be, if the thread has unhooked by now.
	 */
	put_task_struct(task);
	roost_carrier_put(old);
}

/* Events of the same kind and worker within that time are one. */
#define STARVING_DELAY	(HZ / 20)

static void tell_starved(struct roost_worker *worker)
{
	u32 tid = 0;
	u64 lease;

	raw_spin_lock_irq(&worker->lock);
	if (worker->carrier)
		tid = task_pid_nr(worker->carrier);
	lease = worker->lease;
	raw_spin_unlock_irq(&worker->lock);
	if (tid)
		roost_netlink_takeover_event(ROOST_NL_CMD_WORKER_STARVED, worker,
					     tid, lease);
}

/* Messages are not sent from where carriers are found stuck. */
static void starving(struct work_struct *work)
{
	struct roost_domain *domain = container_of(work, struct roost_domain,
						   starving.work);
	u32 i;

	for_each_set_bit(i, domain->told, ROOST_MAX_WORKERS)
		if (test_and_clear_bit(i, domain->told))
			tell_starved(roost_domain_worker(domain, i));
}

/* Is somebody in the way who was not told of since it has got there? */
static bool starves(const struct roost_worker *worker,
		    struct roost_carrier *carrier)
{
	bool first;

	raw_spin_lock(&carrier->lock);
	first = !carrier->starved && is_in_the_way(worker, carrier);
	carrier->starved |= first;
	raw_spin_unlock(&carrier->lock);
	return first;
}

/* There is no standby: the next one looks.  Under worker->lock and standby_lock. */
static void starve(struct roost_worker *worker)
{
	struct roost_domain *domain = worker->domain;

	set_bit(worker->index, domain->starved);
	if (!starves(worker, worker->hooked))
		return;
	roost_count(&worker->starved);
	trace_roost_starved(worker, worker->carrier);
	set_bit(worker->index, domain->told);
	schedule_delayed_work(&domain->starving, STARVING_DELAY);
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

	raw_spin_lock_irqsave(&worker->lock, irq);
	if (!worker->hooked)
		goto unlock;
	raw_spin_lock(&domain->standby_lock);
	standby = list_first_entry_or_null(&domain->standbys,
					   struct roost_carrier, node);
	if (standby)
		hand_over(worker, standby);
	else
		starve(worker);
	raw_spin_unlock(&domain->standby_lock);
unlock:
	raw_spin_unlock_irqrestore(&worker->lock, irq);
}

/*
 * In a hard interrupt, so under RCU: the worker may be another's by now, but its
 * domain lasts (roost_takeover_end()).
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

/**
 * roost_takeover_blocked() - the grace time of a stuck carrier begins
 * @carrier:	the carrier; its lock is held, perhaps also the run queue's: no
 *		timer is waited for here
 */
void roost_takeover_blocked(struct roost_carrier *carrier)
{
	carrier->starved = false;
	carrier->due = ktime_add_us(ktime_get(), READ_ONCE(grace_us));
	hrtimer_start(&carrier->grace, carrier->due, HRTIMER_MODE_ABS_PINNED_HARD);
}

/* On the CPU of who spins; or it has just left that.  As grace_over(). */
static void poked(void *info)
{
	struct roost_carrier *carrier = info;
	struct roost_worker *worker;

	raw_spin_lock(&carrier->lock);
	worker = carrier->worker;
	raw_spin_unlock(&carrier->lock);
	if (worker)
		take(worker);
	roost_carrier_put(carrier);
}

/* Interrupt who spins; the reference goes with the interrupt. */
static void poke(struct roost_carrier *carrier, int cpu)
{
	/* Not if one is on its way, or the CPU has gone: the next tick looks again. */
	if (smp_call_function_single_async(cpu, &carrier->poke))
		roost_carrier_put(carrier);
}

/* What the tick has to do about a carrier. */
enum verdict {
	VERDICT_IDLE,		/* it does not run: no tick for it */
	VERDICT_GO_ON,
	VERDICT_TAKE,
	VERDICT_POKE,
};

/* Under worker->lock and carrier->lock. */
static enum verdict judge(const struct roost_worker *worker,
			  struct roost_carrier *carrier, ktime_t now)
{
	if (!carrier->worker || !carrier->active)
		return VERDICT_IDLE;
	if (carrier->fresh || has_moved(worker, carrier) ||
	    !work_waits(worker)) {
		carrier->fresh = false;
		carrier->starved = false;
		carrier->resumes = READ_ONCE(worker->page->resumes);
		carrier->parks = READ_ONCE(worker->parks);
		carrier->since = now;
		return VERDICT_GO_ON;
	}
	/* At the tick before it was the same. */
	WRITE_ONCE(worker->page->preempt, 1);
	if (!spins(carrier, now))
		return VERDICT_GO_ON;
	/* A hint, without the lock: take() looks again. */
	if (list_empty(&worker->domain->standbys))
		return carrier->starved ? VERDICT_GO_ON : VERDICT_TAKE;
	return carrier->cpu < 0 ? VERDICT_TAKE : VERDICT_POKE;
}

/* In one tick so many carriers lose their workers; the others do at the next. */
#define TICK_BATCH	16

/* Does the worker need a next tick?  Lowers @left if something was done for it. */
static bool look_at(struct roost_worker *worker, ktime_t now, unsigned int *left)
{
	enum verdict verdict = VERDICT_IDLE;
	struct roost_carrier *carrier;
	int cpu = -1;

	raw_spin_lock(&worker->lock);
	carrier = worker->hooked;
	if (carrier) {
		raw_spin_lock(&carrier->lock);
		verdict = judge(worker, carrier, now);
		if (!*left && verdict != VERDICT_IDLE)
			verdict = VERDICT_GO_ON;
		cpu = carrier->cpu;
		if (verdict == VERDICT_POKE)
			refcount_inc(&carrier->ref);
		raw_spin_unlock(&carrier->lock);
	}
	raw_spin_unlock(&worker->lock);
	*left -= verdict == VERDICT_TAKE || verdict == VERDICT_POKE;
	if (verdict == VERDICT_TAKE)
		take(worker);
	else if (verdict == VERDICT_POKE)
		poke(carrier, cpu);
	return verdict != VERDICT_IDLE;
}

/* Two ticks in the time that is allowed. */
static ktime_t tick_period(void)
{
	return ktime_divns(spin_bound(), 2);
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct roost_domain *domain = container_of(timer, struct roost_domain,
						   tick);
	ktime_t now = ktime_get(), period = tick_period();
	unsigned int left = TICK_BATCH;
	struct roost_worker *worker;
	bool again = false;
	u32 i;

	/*
	 * Before the looks: who becomes active after we have looked at it, under its
	 * lock, finds that there is no tick.
	 */
	WRITE_ONCE(domain->ticking, 0);
	for (i = 0; (worker = roost_domain_worker(domain, i)); i++)
		again |= look_at(worker, now, &left);
	/* If it was set meanwhile, the timer is queued. */
	if (!again || !period || xchg(&domain->ticking, 1))
		return HRTIMER_NORESTART;
	/* From now, so that ticks do not eat the CPU, however long they take. */
	hrtimer_set_expires(timer, ktime_add(ktime_get(), period));
	return HRTIMER_RESTART;
}

/**
 * roost_takeover_tick() - a carrier runs, and there is no tick
 * @domain:	whose; the carrier's lock is held, and it has a lease
 */
void roost_takeover_tick(struct roost_domain *domain)
{
	ktime_t period = tick_period();

	if (period && !xchg(&domain->ticking, 1))
		hrtimer_start(&domain->tick, period, HRTIMER_MODE_REL_HARD);
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

/* Has it been given a worker, or sent away? */
static bool is_told(struct roost_domain *domain, struct roost_carrier *standby)
{
	bool told;

	raw_spin_lock_irq(&domain->standby_lock);
	told = standby->given || standby->dismissed;
	raw_spin_unlock_irq(&domain->standby_lock);
	return told;
}

/* Not to be taken any more, unless it was.  Returns that. */
static bool leave_standbys(struct roost_domain *domain,
			   struct roost_carrier *standby)
{
	bool given;

	raw_spin_lock_irq(&domain->standby_lock);
	given = standby->given;
	if (!given && !standby->dismissed) {
		list_del(&standby->node);
		domain->nr_standbys--;
	}
	raw_spin_unlock_irq(&domain->standby_lock);
	return given;
}

/*
 * From the first standby on, every carrier that gets stuck starts its timer, and one
 * that runs the tick; for those that are or do already we do.
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
				roost_takeover_blocked(carrier);
			else if (carrier->active)
				roost_takeover_tick(domain);
			raw_spin_unlock(&carrier->lock);
		}
		raw_spin_unlock_irq(&worker->lock);
	}
}

/* As a listed standby, sleep until given a worker (true), dismissed, or for a signal. */
static bool stand_by(struct roost_domain *domain, struct roost_carrier *standby)
{
	first_standby(domain);
	raw_spin_lock_irq(&domain->standby_lock);
	list_add(&standby->node, &domain->standbys);
	domain->nr_standbys++;
	raw_spin_unlock_irq(&domain->standby_lock);
	/* After that: take() sets the bit if it has found nobody listed. */
	take_starved(domain);
	for (;;) {
		/* Before the look; whoever tells us something wakes us after it. */
		set_current_state(TASK_INTERRUPTIBLE);
		if (is_told(domain, standby) || signal_pending(current) ||
		    READ_ONCE(domain->dismissed))
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return leave_standbys(domain, standby);
}

/**
 * roost_takeover_stand_by() - the current task waits for a worker whose carrier is
 *	stuck
 * @domain:	whose; none of its workers is carried by the current task
 * @index:	set to the worker's index
 * @lease:	set to the lease's number
 *
 * Context: task, sleeps.  Return: 0; -EOPNOTSUPP; -ENOMEM; -EINTR; -ECANCELED after
 * roost_takeover_dismiss().
 */
int roost_takeover_stand_by(struct roost_domain *domain, u32 *index, u64 *lease)
{
	struct roost_carrier *standby = roost_carrier_alloc(domain);

	if (IS_ERR_OR_NULL(standby))
		return standby ? PTR_ERR(standby) : -EOPNOTSUPP;
	roost_carrier_hook(standby);
	if (stand_by(domain, standby)) {
		/* The first reference is the lease's now. */
		*index = standby->index;
		*lease = standby->lease;
		/* If it was given before it slept. */
		roost_carrier_tell(standby);
		roost_netlink_takeover_event(ROOST_NL_CMD_WORKER_TAKEN,
					     roost_domain_worker(domain, *index),
					     task_pid_nr(current), *lease);
		return 0;
	}
	roost_carrier_unhook(standby);
	roost_carrier_put(standby);
	return READ_ONCE(domain->dismissed) ? -ECANCELED : -EINTR;
}

/* Interrupts are off for no longer than so many wake-ups take. */
#define DISMISS_BATCH	32

/* Send some away.  Return: how many. */
static int dismiss_some(struct roost_domain *domain)
{
	struct roost_carrier *standby, *next;
	int n = 0;

	raw_spin_lock_irq(&domain->standby_lock);
	list_for_each_entry_safe(standby, next, &domain->standbys, node) {
		if (n == DISMISS_BATCH)
			break;
		list_del_init(&standby->node);
		domain->nr_standbys--;
		standby->dismissed = true;
		wake_up_process(standby->task);
		n++;
	}
	raw_spin_unlock_irq(&domain->standby_lock);
	return n;
}

/**
 * roost_takeover_dismiss() - nobody stands by any more
 * @domain:	whose; also who calls later is sent away
 *
 * Context: task, may sleep.  Return: how many did; -EOPNOTSUPP.
 */
int roost_takeover_dismiss(struct roost_domain *domain)
{
	int n, all = 0;

	if (!domain->carriers)
		return -EOPNOTSUPP;
	/* Before the wake-ups; who is listed later looks at it after that. */
	WRITE_ONCE(domain->dismissed, 1);
	do {
		cond_resched();
		n = dismiss_some(domain);
		all += n;
	} while (n == DISMISS_BATCH);
	return all;
}

/**
 * roost_takeover_setup() - a new carrier
 * @carrier:	nobody else knows it
 */
void roost_takeover_setup(struct roost_carrier *carrier)
{
	INIT_LIST_HEAD(&carrier->node);
	INIT_CSD(&carrier->poke, poked, carrier);
	hrtimer_setup(&carrier->grace, grace_over, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_PINNED_HARD);
}

/**
 * roost_takeover_begin() - a new domain
 * @domain:	nobody else knows it
 */
void roost_takeover_begin(struct roost_domain *domain)
{
	raw_spin_lock_init(&domain->standby_lock);
	INIT_LIST_HEAD(&domain->standbys);
	INIT_DELAYED_WORK(&domain->starving, starving);
	hrtimer_setup(&domain->tick, tick, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_HARD);
}

/**
 * roost_takeover_end() - a domain ends
 * @domain:	the domain; nobody has a lease, or is a standby
 *
 * What a timer or interrupt has begun is over on return.
 *
 * Context: task, may sleep.
 */
void roost_takeover_end(struct roost_domain *domain)
{
	if (!domain->has_standbys)
		return;
	hrtimer_cancel(&domain->tick);
	/* Who was just displaced, and its interrupts. */
	synchronize_rcu();
	/* They were the last to queue it. */
	cancel_delayed_work_sync(&domain->starving);
}
