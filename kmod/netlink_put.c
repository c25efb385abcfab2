// SPDX-License-Identifier: GPL-2.0
/*
 * What netlink messages say: domains, workers, counters, parameters.
 *
 * Each function adds attributes to a message and returns 0, or -EMSGSIZE if there
 * is no room; the caller then cancels the message.  All run in the task that
 * asked, with the registry locked.
 */
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/cred.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uidgid.h>
#include <net/netlink.h>

#include <uapi/linux/roost_netlink.h>

#include "carrier.h"
#include "domain.h"
#include "netlink_put.h"
#include "worker.h"

/* Pid and name of the owner, if the current task can see it. */
static int put_owner(struct sk_buff *msg, const struct roost_domain *domain)
{
	u32 pid = pid_nr_ns(domain->tgid, task_active_pid_ns(current));
	char comm[TASK_COMM_LEN] = "";
	struct task_struct *task;

	if (!pid)
		return 0;
	rcu_read_lock();
	task = pid_task(domain->tgid, PIDTYPE_TGID);
	if (task)
		get_task_comm(comm, task);
	rcu_read_unlock();
	/* The number of a process that has gone may be another's by now. */
	if (!task)
		return 0;
	return nla_put_u32(msg, ROOST_NL_A_PID, pid) ?:
	       nla_put_string(msg, ROOST_NL_A_COMM, comm);
}

static u32 open_workers(struct roost_domain *domain)
{
	struct roost_worker *worker;
	u32 i, n = 0;

	for (i = 0; i < ROOST_MAX_WORKERS; i++) {
		worker = roost_domain_worker(domain, i);
		if (!worker)
			break;
		n += !READ_ONCE(worker->closed);
	}
	return n;
}

/**
 * roost_put_domain() - all about a domain but its counters
 * @msg:	the message
 * @domain:	the domain
 *
 * Return: 0 or -EMSGSIZE.
 */
int roost_put_domain(struct sk_buff *msg, struct roost_domain *domain)
{
	u32 uid = from_kuid_munged(current_user_ns(), domain->owner);
	u32 parked = bitmap_weight(domain->parked, ROOST_MAX_WORKERS);

	if (nla_put_u32(msg, ROOST_NL_A_DOMAIN, domain->id) ||
	    put_owner(msg, domain) ||
	    nla_put_u32(msg, ROOST_NL_A_UID, uid))
		return -EMSGSIZE;
	if (READ_ONCE(domain->dead) && nla_put_flag(msg, ROOST_NL_A_DEAD))
		return -EMSGSIZE;
	if (nla_put_u32(msg, ROOST_NL_A_TICK_SHIFT, domain->tick_shift) ||
	    nla_put_u64_64bit(msg, ROOST_NL_A_SLACK, domain->slack_ns,
			      ROOST_NL_A_PAD) ||
	    nla_put_u64_64bit(msg, ROOST_NL_A_FEATURES,
			      roost_domain_features(domain), ROOST_NL_A_PAD) ||
	    nla_put_u32(msg, ROOST_NL_A_TIMERS, domain->timers.nr) ||
	    nla_put_u32(msg, ROOST_NL_A_POLLS, domain->polls.nr) ||
	    nla_put_u32(msg, ROOST_NL_A_IOS, domain->ios.nr) ||
	    nla_put_u32(msg, ROOST_NL_A_FILES, domain->files_table.nr) ||
	    nla_put_u32(msg, ROOST_NL_A_WORKERS, open_workers(domain)) ||
	    nla_put_u32(msg, ROOST_NL_A_NR_PARKED, parked))
		return -EMSGSIZE;
	return 0;
}

#define STAT_U32	BIT(0)	/* the field is a u32, not a u64 */
#define STAT_DOMAIN	BIT(1)	/* not counted by worker */

/**
 * struct stat_def - a counter
 * @attr:	enum roost_nl_stat
 * @offset:	of the field in struct roost_domain_stat
 * @flags:	STAT_* bits
 */
struct stat_def {
	u16 attr;
	u16 offset;
	u8 flags;
};

#define STAT(attr, field, flags) { \
	ROOST_NL_STAT_##attr, offsetof(struct roost_domain_stat, field), flags }

static const struct stat_def stats[] = {
	STAT(WORKERS, workers, STAT_U32 | STAT_DOMAIN),
	STAT(TIMERS_PENDING, timers_pending, STAT_U32),
	STAT(POLLS_ARMED, polls_armed, STAT_U32 | STAT_DOMAIN),
	STAT(OVERFLOW_PENDING, overflow_pending, STAT_U32),
	STAT(PARKS, parks, 0),
	STAT(PARKS_REFUSED, parks_refused, 0),
	STAT(WAKES, wakes, 0),
	STAT(WAKES_RECEIVED, wakes_received, 0),
	STAT(WAKES_KERNEL, wakes_kernel, 0),
	STAT(TIMEOUTS, timeouts, 0),
	STAT(SIGNALS, signals, 0),
	STAT(ENTERS, enters, 0),
	STAT(SUBMITTED, submitted, 0),
	STAT(COMPLETED, completed, 0),
	STAT(OVERFLOWED, overflowed, 0),
	STAT(TIMERS_SET, timers_set, 0),
	STAT(TIMERS_MOVED, timers_moved, 0),
	STAT(TIMERS_FIRED, timers_fired, 0),
	STAT(TIMERS_CANCELLED, timers_cancelled, 0),
	STAT(POLLS_ADDED, polls_added, STAT_DOMAIN),
	STAT(POLLS_FIRED, polls_fired, STAT_DOMAIN),
	STAT(POLLS_REMOVED, polls_removed, STAT_DOMAIN),
	STAT(HRTIMER_STARTS, hrtimer_starts, 0),
	STAT(HRTIMER_FIRES, hrtimer_fires, 0),
	STAT(IOS_STARTED, ios_started, 0),
	STAT(IOS_WAITED, ios_waited, 0),
	STAT(IOS_DONE, ios_done, 0),
	STAT(IOS_PENDING, ios_pending, STAT_U32 | STAT_DOMAIN),
	STAT(FILES, files, STAT_U32 | STAT_DOMAIN),
	STAT(BLOCKED, blocked, 0),
	STAT(PREEMPTED, preempted, 0),
	STAT(TAKEN, taken, 0),
	STAT(STARVED, starved, 0),
	STAT(SPUN, spun, 0),
	STAT(PARKS_BUSY, parks_busy, 0),
};

static_assert(ARRAY_SIZE(stats) == ROOST_NL_STAT_MAX);

static u64 stat_value(const struct roost_domain_stat *stat,
		      const struct stat_def *def)
{
	const void *field = (const char *)stat + def->offset;

	return def->flags & STAT_U32 ? *(const u32 *)field :
				       *(const u64 *)field;
}

static int put_stat(struct sk_buff *msg, const struct roost_domain_stat *stat,
		    bool domain)
{
	struct nlattr *nest = nla_nest_start(msg, ROOST_NL_A_STATS);
	unsigned int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < ARRAY_SIZE(stats); i++) {
		if (stats[i].flags & STAT_DOMAIN && !domain)
			continue;
		if (nla_put_u64_64bit(msg, stats[i].attr,
				      stat_value(stat, &stats[i]),
				      ROOST_NL_STAT_PAD))
			return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	return 0;
}

/**
 * roost_put_stats() - the counters of a domain
 * @msg:	the message
 * @domain:	the domain
 *
 * Return: 0 or -EMSGSIZE.
 */
int roost_put_stats(struct sk_buff *msg, struct roost_domain *domain)
{
	struct roost_domain_stat stat = { 0 };

	roost_domain_stat(domain, &stat);
	return nla_put_u32(msg, ROOST_NL_A_DOMAIN, domain->id) ?:
	       put_stat(msg, &stat, true);
}

/**
 * roost_put_worker() - all about a worker
 * @msg:	the message
 * @worker:	the worker
 *
 * Return: 0 or -EMSGSIZE.
 */
int roost_put_worker(struct sk_buff *msg, struct roost_worker *worker)
{
	struct roost_domain_stat stat = { 0 };
	u64 lease;
	u32 tid;

	tid = roost_worker_tid(worker, &lease);
	roost_worker_stat(worker, &stat);
	if (nla_put_u32(msg, ROOST_NL_A_DOMAIN, worker->domain->id) ||
	    nla_put_u32(msg, ROOST_NL_A_WORKER, worker->index) ||
	    nla_put_u32(msg, ROOST_NL_A_SQ_ENTRIES, worker->sq_entries) ||
	    nla_put_u32(msg, ROOST_NL_A_CQ_ENTRIES, worker->cq_entries) ||
	    nla_put_u64_64bit(msg, ROOST_NL_A_LEASE, lease, ROOST_NL_A_PAD))
		return -EMSGSIZE;
	if ((tid && nla_put_u32(msg, ROOST_NL_A_TID, tid)) ||
	    (test_bit(worker->index, worker->domain->parked) &&
	     nla_put_flag(msg, ROOST_NL_A_PARKED)) ||
	    (tid && roost_carrier_blocked(worker) &&
	     nla_put_flag(msg, ROOST_NL_A_BLOCKED)) ||
	    (READ_ONCE(worker->closed) &&
	     nla_put_flag(msg, ROOST_NL_A_CLOSED)))
		return -EMSGSIZE;
	return put_stat(msg, &stat, false);
}

/* A number or a switch; others are not limits. */
static bool parse_value(char *text, u64 *value)
{
	bool on;

	strim(text);
	if (!kstrtou64(text, 10, value))
		return true;
	if (kstrtobool(text, &on))
		return false;
	*value = on;
	return true;
}

static int put_limit(struct sk_buff *msg, const char *name, u64 value)
{
	struct nlattr *nest = nla_nest_start(msg, ROOST_NL_A_LIMIT);

	if (!nest || nla_put_string(msg, ROOST_NL_LIMIT_NAME, name) ||
	    nla_put_u64_64bit(msg, ROOST_NL_LIMIT_VALUE, value,
			      ROOST_NL_LIMIT_PAD))
		return -EMSGSIZE;
	nla_nest_end(msg, nest);
	return 0;
}

/**
 * roost_put_limits() - the module's parameters, as sysfs shows them to all
 * @msg:	the message
 *
 * The registry need not be locked.  Return: 0, -EMSGSIZE or -ENOMEM.
 */
int roost_put_limits(struct sk_buff *msg)
{
	const struct kernel_param *kp = THIS_MODULE->kp;
	unsigned int i;
	int ret = 0;
	char *text;
	u64 value;

	/* What a parameter's get operation may fill. */
	text = kmalloc(PAGE_SIZE, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	for (i = 0; !ret && i < THIS_MODULE->num_kp; i++) {
		int n;

		if (!(kp[i].perm & 0004))
			continue;
		kernel_param_lock(THIS_MODULE);
		n = kp[i].ops->get(text, &kp[i]);
		kernel_param_unlock(THIS_MODULE);
		if (n > 0 && parse_value(text, &value))
			ret = put_limit(msg, kp[i].name, value);
	}
	kfree(text);
	return ret;
}
