// SPDX-License-Identifier: GPL-2.0
/*
 * Timers and deadlines of parks: hrtimers that drive the wheels.
 *
 * Each worker has a wheel and one hrtimer, programmed for the wheel's next
 * expiry or earlier: it is left alone when entries go, and when they move to a
 * later time, and looks again when it fires.  A park with a deadline is an
 * entry of the same wheel.
 *
 * A timer op has a home, the worker in whose wheel its entry is and in whose
 * ring it completes.  Its fields change only under the lock of that wheel:
 * lock_home() takes it, as lock_timer_base() does in kernel/time/timer.c.  A
 * timer that is moved to a later time stays; one that is set anew, or moved to
 * an earlier time, goes to the worker that asked: home is NULL while it is on
 * its way, so that never two wheels are locked.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/time_namespace.h>

#include "compat.h"
#include "domain.h"
#include "io.h"
#include "park.h"
#include "ring.h"
#include "timeout.h"
#include "trace.h"
#include "worker.h"

/* Entries handled, expired or only placed again, with interrupts off. */
#define EXPIRE_BATCH	(IS_ENABLED(CONFIG_PREEMPT_RT) ? 16 : 64)

/* At least so long between two batches. */
#define EXPIRE_PAUSE_NS	(50 * NSEC_PER_USEC)

unsigned int roost_max_timers = 1U << 22;
module_param_named(max_timers, roost_max_timers, uint, 0644);
MODULE_PARM_DESC(max_timers, "largest number of timers a domain may have");

/**
 * struct roost_timer_op - what a timer index stands for
 * @entry:	in the wheel of @home while @armed
 * @completion:	the timer's expiry, if it has to wait for a place
 * @home:	the worker whose wheel_lock guards all of this; NULL while the
 *		op changes from one to another
 * @index:	constant
 * @sequence:	the highest seen
 * @armed:	it will fire
 * @replaced:	an expiry that nobody had seen was dropped for this one
 */
struct roost_timer_op {
	struct roost_wheel_entry entry;
	struct roost_completion completion;
	struct roost_worker *home;
	u32 index;
	u32 sequence;
	bool armed;
	bool replaced;
};

static struct kmem_cache *timer_cache;

static void init_op(void *node, u32 index, void *domain)
{
	struct roost_timer_op *op = node;

	roost_wheel_entry_init(&op->entry);
	roost_completion_init(&op->completion, NULL);
	/* Some home from the start, so that there is a lock: any will do. */
	op->home = roost_domain_worker(domain, 0);
	op->index = index;
}

/**
 * roost_timeout_to_host() - from the owner's time namespace to the kernel's own time
 * @domain:	whose owner
 * @deadline:	absolute ns there
 */
u64 roost_timeout_to_host(const struct roost_domain *domain, u64 deadline)
{
	s64 offset = domain->time_offset;

	if (offset > 0 && deadline < (u64)offset)
		return 0;
	return min_t(u64, deadline - offset, ROOST_MAX_DEADLINE);
}

static struct roost_worker *lock_home(struct roost_timer_op *op,
				      unsigned long *irq)
	__acquires(op->home->wheel_lock)
{
	struct roost_worker *home;

	for (;;) {
		/*
		 * Pairs with the WRITE_ONCEs in change_home(); the second is
		 * made under the lock of another wheel.
		 */
		home = READ_ONCE(op->home);
		if (home) {
			raw_spin_lock_irqsave(&home->wheel_lock, *irq);
			if (READ_ONCE(op->home) == home)
				return home;
			raw_spin_unlock_irqrestore(&home->wheel_lock, *irq);
		}
		cpu_relax();
	}
}

static void unlock_home(struct roost_worker *home, unsigned long irq)
	__releases(home->wheel_lock)
{
	raw_spin_unlock_irqrestore(&home->wheel_lock, irq);
}

/* Home's lock is held on entry, worker's on return. */
static void change_home(struct roost_timer_op *op, struct roost_worker *home,
			struct roost_worker *worker)
{
	if (home == worker)
		return;
	/* Who finds NULL waits; pairs with lock_home(). */
	WRITE_ONCE(op->home, NULL);
	raw_spin_unlock(&home->wheel_lock);
	raw_spin_lock(&worker->wheel_lock);
	WRITE_ONCE(op->home, worker);
}

/*
 * From @ns on, and by @latest at the latest: with whatever interrupt comes
 * between, or with one of its own.
 *
 * A slot may begin at 2^63 ns, where ktime_t is negative and hence long past:
 * the hrtimer would fire at once, and again each time it is started.
 */
static void program_at(struct roost_worker *worker, u64 ns, u64 latest)
{
	ns = min_t(u64, ns, KTIME_MAX);
	latest = min_t(u64, latest, KTIME_MAX);
	worker->programmed = latest;
	roost_count(&worker->hrtimer_starts);
	hrtimer_start_range_ns(&worker->hrtimer, ns_to_ktime(ns), latest - ns,
			       HRTIMER_MODE_ABS_HARD);
}

/*
 * Make the hrtimer fire no later than the wheel's next expiry and the slack.
 * A later expiry that falls within the slack needs nothing: it is looked for
 * when the first one is.
 */
static void program(struct roost_worker *worker)
{
	u64 slack = worker->domain->slack_ns;
	u64 next = roost_wheel_next(&worker->wheel);

	WRITE_ONCE(worker->unprogrammed, false);
	/* What is due already waits on purpose, and nothing is due before it. */
	if (worker->pausing)
		return;
	/* No overflow: a wheel's next is at most 2^63, or never. */
	if (next < worker->programmed && next + slack < worker->programmed)
		program_at(worker, next, next + slack);
}

/**
 * roost_timeout_program_now() - roost_timeout_program(), if there are any
 * @worker:	in whose wheel
 *
 * Context: any.
 */
void roost_timeout_program_now(struct roost_worker *worker)
{
	unsigned long irq;

	raw_spin_lock_irqsave(&worker->wheel_lock, irq);
	program(worker);
	raw_spin_unlock_irqrestore(&worker->wheel_lock, irq);
}

/* Count an armed timer in or out; home's wheel_lock is held. */
static void set_armed(struct roost_timer_op *op, bool armed)
{
	struct roost_worker *home = op->home;

	op->armed = armed;
	WRITE_ONCE(home->timers_pending, home->timers_pending + armed - !armed);
}

/* The entry is off the wheel. */
static void fire_timer(struct roost_timer_op *op)
{
	u32 flags = ROOST_CQE_TIMER;

	if (op->replaced)
		flags |= ROOST_CQE_REPLACED;
	op->replaced = false;
	set_armed(op, false);
	roost_count(&op->home->timers_fired);
	trace_roost_timer_fire(op->home, op->index, op->sequence,
			       op->entry.expires);
	roost_cq_post(op->home, &op->completion,
		      roost_op_id(op->index, op->sequence), 0, flags);
}

/* Returns true if something was posted. */
static bool fire_all(struct roost_worker *worker, struct list_head *expired)
{
	struct roost_wheel_entry *entry, *next;
	bool posted = false;

	list_for_each_entry_safe(entry, next, expired, node) {
		list_del_init(&entry->node);
		switch (entry->owner) {
		case ROOST_ENTRY_PARK:
			roost_park_expire(worker);
			break;
		case ROOST_ENTRY_IO:
			roost_io_expire(entry);
			break;
		default:
			fire_timer(container_of(entry, struct roost_timer_op,
						entry));
			posted = true;
		}
	}
	return posted;
}

/*
 * After a batch.  What is due already, because the batch was full or took
 * long, waits a little, in proportion to what this one took: interrupts must
 * not eat the CPU.  It has had its slack.
 */
static void program_after(struct roost_worker *worker, u64 start)
{
	u64 next = roost_wheel_next(&worker->wheel);
	u64 slack = worker->domain->slack_ns;
	u64 now = ktime_get_ns();

	if (next == U64_MAX)
		return;
	worker->pausing = next <= now;
	if (worker->pausing) {
		next = now + max_t(u64, EXPIRE_PAUSE_NS, 2 * (now - start));
		slack = 0;
	}
	program_at(worker, next, next + slack);
}

static enum hrtimer_restart expire(struct hrtimer *hrtimer)
{
	struct roost_worker *worker = container_of(hrtimer, struct roost_worker,
						   hrtimer);
	u64 start = ktime_get_ns();
	unsigned long irq;
	LIST_HEAD(expired);
	bool posted;

	raw_spin_lock_irqsave(&worker->wheel_lock, irq);
	worker->programmed = U64_MAX;
	worker->pausing = false;
	roost_count(&worker->hrtimer_fires);
	roost_wheel_advance(&worker->wheel, start, EXPIRE_BATCH, &expired);
	posted = fire_all(worker, &expired);
	program_after(worker, start);
	raw_spin_unlock_irqrestore(&worker->wheel_lock, irq);

	if (posted) {
		roost_domain_event(worker->domain);
		roost_wake_for(worker);
	}
	return HRTIMER_NORESTART;
}

/* Under home's wheel_lock: may this call still change the op? */
static bool newer(const struct roost_timer_op *op, u32 sequence, s32 least)
{
	return (s32)(sequence - op->sequence) >= least;
}

/* Under home's wheel_lock; on return under that of where the entry went. */
static struct roost_worker *arm(struct roost_timer_op *op,
				struct roost_worker *home,
				struct roost_worker *worker, u64 deadline)
{
	/* Nobody can post it meanwhile: that takes this lock. */
	if (roost_completion_queued(&op->completion) &&
	    roost_cq_take_back(home, &op->completion))
		op->replaced = true;
	trace_roost_timer_set(worker, op->index, op->sequence, deadline,
			      op->armed);
	if (op->armed) {
		roost_count(&home->timers_moved);
		if (deadline >= op->entry.expires) {
			roost_wheel_mod(&home->wheel, &op->entry, deadline,
					ktime_get_ns());
			return home;
		}
		roost_wheel_del(&home->wheel, &op->entry);
		set_armed(op, false);
	} else {
		roost_count(&home->timers_set);
	}
	change_home(op, home, worker);
	roost_wheel_add(&worker->wheel, &op->entry, deadline, ktime_get_ns());
	WRITE_ONCE(worker->unprogrammed, true);
	set_armed(op, true);
	return worker;
}

/**
 * roost_timer_set() - ROOST_OP_TIMER_SET
 * @worker:	from whose ring it came
 * @sqe:	the entry, checked
 *
 * roost_timeout_program() has to follow.  Context: task, may sleep.
 * Return: 0, or what it completes with at once: -EINVAL, -ENOMEM, -ESTALE.
 */
int roost_timer_set(struct roost_worker *worker, const struct roost_sqe *sqe)
{
	u32 sequence = roost_op_sequence(sqe->op_id);
	struct roost_worker *home;
	struct roost_timer_op *op;
	unsigned long irq;
	u64 deadline;
	int ret = 0;

	if (sqe->deadline > ROOST_MAX_DEADLINE)
		return -EINVAL;
	op = roost_table_get(&worker->domain->timers,
			     roost_op_index(sqe->op_id));
	if (IS_ERR(op))
		return PTR_ERR(op);

	deadline = roost_timeout_to_host(worker->domain, sqe->deadline);
	home = lock_home(op, &irq);
	if (newer(op, sequence, 1)) {
		op->sequence = sequence;
		home = arm(op, home, worker, deadline);
	} else {
		ret = -ESTALE;
	}
	unlock_home(home, irq);
	return ret;
}

/* A TIMER_SET that sets nothing which it does not use, in three tests. */
static bool plain_set(const struct roost_sqe *sqe)
{
	const u64 *words = (const u64 *)sqe;

	/* opcode, flags, reserved0, fd; then op_id, deadline, and the rest */
	BUILD_BUG_ON(offsetof(struct roost_sqe, opcode) != 0 ||
		     offsetof(struct roost_sqe, op_id) != 8 ||
		     offsetof(struct roost_sqe, deadline) != 16 ||
		     sizeof(*sqe) != 64);
	if (le64_to_cpu((__force __le64)words[0]) != ROOST_OP_TIMER_SET)
		return false;
	return !(words[3] | words[4] | words[5] | words[6] | words[7]) &&
	       sqe->deadline <= ROOST_MAX_DEADLINE;
}

/*
 * The common case: the op exists, is at home here or armed nowhere else, the
 * sequence is newer, and no undelivered expiry has to be dropped.  Then the op has
 * the new sequence.  Under worker->wheel_lock, where all of this stays as it is.
 */
static struct roost_timer_op *peek_op(struct roost_worker *worker,
				      const struct roost_domain *domain,
				      u64 op_id)
{
	struct roost_timer_op *op;

	op = roost_table_peek(&domain->timers, roost_op_index(op_id));
	if (unlikely(!op || READ_ONCE(op->home) != worker))
		return NULL;
	if (unlikely(!newer(op, roost_op_sequence(op_id), 1) ||
		     roost_completion_queued(&op->completion)))
		return NULL;
	op->sequence = roost_op_sequence(op_id);
	return op;
}

/**
 * roost_timer_set_batch() - many ROOST_OP_TIMER_SET in the common case
 * @worker:	from whose ring they came
 * @sqes:	entries, not checked
 * @n:		how many, small
 *
 * Carries out TIMER_SET entries from the first one on, as long as nothing is
 * unusual about them, for one look at the clock, one lock and one programming of
 * the hrtimer.  None of them completes at once.
 *
 * Context: task.  Return: how many it has carried out; the next one is for
 * somebody else.
 */
u32 roost_timer_set_batch(struct roost_worker *worker,
			  const struct roost_sqe *sqes, u32 n)
{
	const struct roost_domain *domain = worker->domain;
	const s64 offset = domain->time_offset;
	u64 now = ktime_get_ns();
	struct roost_timer_op *op;
	u32 i, armed = 0;
	u64 deadline;

	raw_spin_lock_irq(&worker->wheel_lock);
	for (i = 0; i < n && plain_set(sqes); i++, sqes++) {
		op = peek_op(worker, domain, sqes->op_id);
		if (!op)
			break;
		deadline = sqes->deadline;
		if (unlikely(offset))
			deadline = roost_timeout_to_host(domain, deadline);
		trace_roost_timer_set(worker, op->index, op->sequence, deadline,
				      op->armed);
		if (op->armed) {
			roost_wheel_mod(&worker->wheel, &op->entry, deadline,
					now);
			continue;
		}
		op->armed = true;
		armed++;
		roost_wheel_add(&worker->wheel, &op->entry, deadline, now);
	}
	WRITE_ONCE(worker->timers_pending, worker->timers_pending + armed);
	WRITE_ONCE(worker->timers_set, worker->timers_set + armed);
	WRITE_ONCE(worker->timers_moved, worker->timers_moved + i - armed);
	program(worker);
	raw_spin_unlock_irq(&worker->wheel_lock);
	return i;
}

/* Under home's wheel_lock. */
static void disarm(struct roost_timer_op *op)
{
	roost_wheel_del(&op->home->wheel, &op->entry);
	set_armed(op, false);
	op->replaced = false;
}

/**
 * roost_timer_cancel() - ROOST_OP_TIMER_CANCEL
 * @worker:	from whose ring it came
 * @sqe:	the entry, checked
 * @target:	set to the op id of what was cancelled
 *
 * Context: task, may sleep.  Return: 0; -ENOENT if nothing is armed; -ESTALE;
 * -EINVAL; -ENOMEM.
 */
int roost_timer_cancel(struct roost_worker *worker,
		       const struct roost_sqe *sqe, u64 *target)
{
	u32 sequence = roost_op_sequence(sqe->op_id);
	struct roost_worker *home;
	struct roost_timer_op *op;
	unsigned long irq;
	int ret = 0;

	op = roost_table_get(&worker->domain->timers,
			     roost_op_index(sqe->op_id));
	if (IS_ERR(op))
		return PTR_ERR(op);

	home = lock_home(op, &irq);
	if (!newer(op, sequence, 0)) {
		ret = -ESTALE;
	} else if (!op->armed) {
		op->sequence = sequence;
		ret = -ENOENT;
	} else {
		*target = roost_op_id(op->index, op->sequence);
		trace_roost_timer_cancel(home, op->index, op->sequence,
					 op->entry.expires);
		op->sequence = sequence;
		disarm(op);
		roost_count(&home->timers_cancelled);
	}
	unlock_home(home, irq);
	return ret;
}

/**
 * roost_timeout_add() - put a deadline on a worker's wheel
 * @worker:	whose
 * @entry:	on no wheel, with an owner that expire() knows
 * @deadline:	absolute ns, at most ROOST_MAX_DEADLINE
 *
 * roost_timeout_program() has to follow.  Context: task.
 */
void roost_timeout_add(struct roost_worker *worker,
		       struct roost_wheel_entry *entry, u64 deadline)
{
	deadline = roost_timeout_to_host(worker->domain, deadline);
	raw_spin_lock_irq(&worker->wheel_lock);
	roost_wheel_add(&worker->wheel, entry, deadline, ktime_get_ns());
	WRITE_ONCE(worker->unprogrammed, true);
	raw_spin_unlock_irq(&worker->wheel_lock);
}

/**
 * roost_timeout_del() - take a deadline off a worker's wheel
 * @worker:	whose
 * @entry:	from roost_timeout_add(); may have expired
 *
 * It cannot expire any more.  Context: task.
 */
void roost_timeout_del(struct roost_worker *worker,
		       struct roost_wheel_entry *entry)
{
	raw_spin_lock_irq(&worker->wheel_lock);
	roost_wheel_del(&worker->wheel, entry);
	raw_spin_unlock_irq(&worker->wheel_lock);
}

/**
 * roost_timeout_park() - the carrier goes to sleep until a deadline
 * @worker:	whose
 * @deadline:	absolute ns, at most ROOST_MAX_DEADLINE
 *
 * No hrtimer is started if one is programmed early enough already (E2).
 * Context: task, which may be about to sleep.
 */
void roost_timeout_park(struct roost_worker *worker, u64 deadline)
{
	u64 now = ktime_get_ns();

	deadline = roost_timeout_to_host(worker->domain, deadline);
	raw_spin_lock_irq(&worker->wheel_lock);
	if (deadline <= now) {
		roost_park_expire(worker);
	} else {
		roost_wheel_add(&worker->wheel, &worker->park_entry, deadline,
				now);
		program(worker);
	}
	raw_spin_unlock_irq(&worker->wheel_lock);
}

/**
 * roost_timeout_unpark() - the park is over
 * @worker:	whose
 *
 * Its deadline cannot expire any more.  Context: task.
 */
void roost_timeout_unpark(struct roost_worker *worker)
{
	raw_spin_lock_irq(&worker->wheel_lock);
	roost_wheel_del(&worker->wheel, &worker->park_entry);
	raw_spin_unlock_irq(&worker->wheel_lock);
}

static void drop_op(void *node, void *arg)
{
	struct roost_worker *worker = arg, *home;
	struct roost_timer_op *op = node;
	unsigned long irq;

	home = lock_home(op, &irq);
	if (!worker || home == worker) {
		if (op->armed)
			disarm(op);
		roost_cq_take_back(home, &op->completion);
	}
	unlock_home(home, irq);
}

/**
 * roost_timeout_drop() - end timers without a completion
 * @domain:	whose
 * @worker:	only those whose home is this one; NULL for all
 *
 * Context: task, may sleep.
 */
void roost_timeout_drop(struct roost_domain *domain,
			struct roost_worker *worker)
{
	roost_table_walk(&domain->timers, drop_op, worker);
}

/**
 * roost_timeout_quiesce() - wait for expiries that have begun
 * @domain:	whose
 *
 * All that an expiry does to an op it does under the wheel's lock, so what was
 * claimed by one before the call is done with afterwards.
 *
 * Context: task.
 */
void roost_timeout_quiesce(struct roost_domain *domain)
{
	struct roost_worker *worker;
	u32 i;

	for (i = 0; i < ROOST_MAX_WORKERS; i++) {
		worker = roost_domain_worker(domain, i);
		if (!worker)
			break;
		raw_spin_lock_irq(&worker->wheel_lock);
		raw_spin_unlock_irq(&worker->wheel_lock);
	}
}

/**
 * roost_timeout_table() - set up a domain's timer ops and its time
 * @domain:	whose
 * @nr:		how many
 *
 * Return: 0 or -ENOMEM.
 */
int roost_timeout_table(struct roost_domain *domain, u32 nr)
{
	struct roost_table *table = &domain->timers;
	struct timespec64 offset = { 0 };

	timens_add_monotonic(&offset);
	domain->time_offset = timespec64_to_ns(&offset);
	table->nr = nr;
	table->size = sizeof(struct roost_timer_op);
	table->cache = timer_cache;
	table->init = init_op;
	table->init_arg = domain;
	return roost_table_alloc(table);
}

/**
 * roost_timeout_init_worker() - set up a worker's wheel
 * @worker:	whose; its domain is set
 */
void roost_timeout_init_worker(struct roost_worker *worker)
{
	raw_spin_lock_init(&worker->wheel_lock);
	roost_wheel_init(&worker->wheel, worker->domain->tick_shift,
			 ktime_get_ns());
	roost_wheel_entry_init(&worker->park_entry);
	worker->park_entry.owner = ROOST_ENTRY_PARK;
	worker->programmed = U64_MAX;
	hrtimer_setup(&worker->hrtimer, expire, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_HARD);
}

/**
 * roost_timeout_exit_worker() - the worker goes; its timers have been dropped
 * @worker:	whose
 *
 * Context: task, waits for the interrupt handler.
 */
void roost_timeout_exit_worker(struct roost_worker *worker)
{
	hrtimer_cancel(&worker->hrtimer);
}

/**
 * roost_timeout_init() - module init
 *
 * Return: 0 or -ENOMEM.
 */
int __init roost_timeout_init(void)
{
	timer_cache = roost_cache_create("roost_timer",
					 ROOST_TABLE_CHUNK *
					 sizeof(struct roost_timer_op));
	return timer_cache ? 0 : -ENOMEM;
}

/**
 * roost_timeout_exit() - module exit
 */
void roost_timeout_exit(void)
{
	kmem_cache_destroy(timer_cache);
}
