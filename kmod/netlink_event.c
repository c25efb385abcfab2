// SPDX-License-Identifier: GPL-2.0
/*
 * Events for who administers: domains and carriers that come and go.
 *
 * Events are multicast, and a group has no filter by receiver on all kernels that
 * we build for.  So the group is for administrators of a network namespace (the
 * core asks for CAP_SYS_ADMIN over its user namespace), and an event goes to those
 * network namespaces whose administrators have that power over the domain's owner.
 */
#include <linux/netlink.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include <uapi/linux/roost_netlink.h>

#include "domain.h"
#include "netlink.h"
#include "worker.h"

/**
 * struct event - what has happened
 * @cmd:	its kind
 * @domain:	where
 * @worker:	to which worker, or NULL
 * @tid:	its carrier's number
 * @lease:	that of the lease, or 0
 */
struct event {
	enum roost_nl_cmd cmd;
	const struct roost_domain *domain;
	const struct roost_worker *worker;
	u32 tid;
	u64 lease;
};

#define EVENT_SIZE	(5 * nla_total_size(sizeof(u32)) + \
			 nla_total_size_64bit(sizeof(u64)))

static struct sk_buff *make_event(const struct event *event,
				  struct user_namespace *reader)
{
	const struct roost_domain *domain = event->domain;
	u32 uid = from_kuid_munged(reader, domain->owner);
	bool pids = reader == &init_user_ns;
	struct sk_buff *msg;
	void *header;

	msg = genlmsg_new(EVENT_SIZE, GFP_ATOMIC);
	if (!msg)
		return NULL;
	header = genlmsg_put(msg, 0, 0, &roost_genl, 0, event->cmd);
	if (!header ||
	    nla_put_u32(msg, ROOST_NL_A_DOMAIN, domain->id) ||
	    nla_put_u32(msg, ROOST_NL_A_UID, uid) ||
	    (pids && nla_put_u32(msg, ROOST_NL_A_PID, pid_nr(domain->tgid))))
		goto free;
	if (event->worker &&
	    (nla_put_u32(msg, ROOST_NL_A_WORKER, event->worker->index) ||
	     (pids && nla_put_u32(msg, ROOST_NL_A_TID, event->tid))))
		goto free;
	if (event->lease &&
	    nla_put_u64_64bit(msg, ROOST_NL_A_LEASE, event->lease,
			      ROOST_NL_A_PAD))
		goto free;
	genlmsg_end(msg, header);
	return msg;

free:
	nlmsg_free(msg);
	return NULL;
}

/* Has who administers @ns power over those in @domain's user namespace? */
static bool rules(const struct user_namespace *ns,
		  const struct roost_domain *domain)
{
	const struct user_namespace *below = domain->user_ns;

	while (below && below->level > ns->level)
		below = below->parent;
	return below == ns;
}

/*
 * To those who listen.  That a message is lost, for want of memory or of room in
 * a socket, the socket's owner learns by ENOBUFS in the second case.
 */
static void send_event(const struct event *event)
{
	struct sk_buff *msg;
	struct net *net;

	rcu_read_lock();
	for_each_net_rcu(net) {
		if (!genl_has_listeners(&roost_genl, net, ROOST_GROUP_EVENTS) ||
		    !rules(net->user_ns, event->domain))
			continue;
		msg = make_event(event, net->user_ns);
		if (msg)
			genlmsg_multicast_netns(&roost_genl, net, msg, 0,
						ROOST_GROUP_EVENTS, GFP_ATOMIC);
	}
	rcu_read_unlock();
}

/**
 * roost_netlink_domain_event() - tell that a domain comes or goes
 * @cmd:	ROOST_NL_CMD_DOMAIN_*
 * @domain:	that is or was in the registry
 *
 * Context: task.
 */
void roost_netlink_domain_event(enum roost_nl_cmd cmd,
				const struct roost_domain *domain)
{
	struct event event = { .cmd = cmd, .domain = domain };

	send_event(&event);
}

/**
 * roost_netlink_worker_event() - tell something of a worker and its carrier
 * @cmd:	ROOST_NL_CMD_WORKER_*
 * @worker:	of a domain that is in the registry
 * @carrier:	the thread
 *
 * Context: task.
 */
void roost_netlink_worker_event(enum roost_nl_cmd cmd,
				const struct roost_worker *worker,
				struct task_struct *carrier)
{
	struct event event = {
		.cmd = cmd,
		.domain = worker->domain,
		.worker = worker,
		.tid = task_pid_nr(carrier),
	};

	send_event(&event);
}

/**
 * roost_netlink_takeover_event() - tell of a carrier that is stuck
 * @cmd:	ROOST_NL_CMD_WORKER_TAKEN or _STARVED
 * @worker:	of a domain that is in the registry
 * @tid:	number of the new carrier, or of the one that is stuck
 * @lease:	number of its lease
 *
 * Context: task.
 */
void roost_netlink_takeover_event(enum roost_nl_cmd cmd,
				  const struct roost_worker *worker, u32 tid,
				  u64 lease)
{
	struct event event = {
		.cmd = cmd,
		.domain = worker->domain,
		.worker = worker,
		.tid = tid,
		.lease = lease,
	};

	send_event(&event);
}
