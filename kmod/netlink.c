// SPDX-License-Identifier: GPL-2.0
/*
 * The module seen from outside, by generic netlink.
 *
 * Who may ask about a domain: registry.c.  Domains belong to users, not to
 * networks: the family is there in every network namespace, and what a request
 * shows does not depend on the one that it comes from.
 *
 * The family has no module alias: to ask for it must not load the module.
 *
 * Requests run in parallel.  They take the registry's mutex and nothing sleeps
 * under it but for memory.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/roost_netlink.h>

#include "compat.h"
#include "domain.h"
#include "netlink.h"
#include "netlink_put.h"
#include "park.h"
#include "registry.h"
#include "worker.h"

/* All parameters, and a reply that has room to spare otherwise. */
#define REPLY_SIZE	GENLMSG_DEFAULT_SIZE

/* Requests about one domain */

/* The registry is locked. */
static struct roost_domain *find(const struct sk_buff *skb,
				 struct nlattr **attrs,
				 struct netlink_ext_ack *extack)
{
	struct roost_domain *domain;

	if (NL_REQ_ATTR_CHECK(extack, NULL, attrs, ROOST_NL_A_DOMAIN))
		return ERR_PTR(-EINVAL);
	domain = roost_registry_find(nla_get_u32(attrs[ROOST_NL_A_DOMAIN]));
	if (!domain) {
		NL_SET_ERR_MSG(extack, "no such domain");
		return ERR_PTR(-ENOENT);
	}
	if (!roost_registry_may(skb, domain)) {
		NL_SET_ERR_MSG(extack, "the domain is somebody else's");
		return ERR_PTR(-EPERM);
	}
	return domain;
}

/* Send what @put has to say about the domain that is asked for. */
static int reply(struct sk_buff *skb, struct genl_info *info,
		 int (*put)(struct sk_buff *msg, struct roost_domain *domain,
			    struct genl_info *info))
{
	struct roost_domain *domain;
	struct sk_buff *msg;
	void *header;
	int ret;

	msg = genlmsg_new(REPLY_SIZE, GFP_KERNEL);
	if (!msg)
		return -ENOMEM;
	header = genlmsg_put_reply(msg, info, &roost_genl, 0,
				   info->genlhdr->cmd);
	if (!header) {
		nlmsg_free(msg);
		return -EMSGSIZE;
	}
	roost_registry_lock();
	domain = find(skb, info->attrs, info->extack);
	ret = PTR_ERR_OR_ZERO(domain) ?: put(msg, domain, info);
	roost_registry_unlock();
	if (ret) {
		nlmsg_free(msg);
		return ret;
	}
	genlmsg_end(msg, header);
	return genlmsg_reply(msg, info);
}

static int put_domain(struct sk_buff *msg, struct roost_domain *domain,
		      struct genl_info *info)
{
	return roost_put_domain(msg, domain);
}

static int domain_do(struct sk_buff *skb, struct genl_info *info)
{
	return reply(skb, info, put_domain);
}

static int put_stats(struct sk_buff *msg, struct roost_domain *domain,
		     struct genl_info *info)
{
	return roost_put_stats(msg, domain);
}

static int stats_do(struct sk_buff *skb, struct genl_info *info)
{
	return reply(skb, info, put_stats);
}

static int put_wake(struct sk_buff *msg, struct roost_domain *domain,
		    struct genl_info *info)
{
	const struct nlattr *worker = info->attrs[ROOST_NL_A_WORKER];
	int n;

	if (READ_ONCE(domain->dead))
		return -ESHUTDOWN;
	if (worker)
		n = roost_wake_index(domain, nla_get_u32(worker), false);
	else
		n = roost_wake(domain, ROOST_WAKE_ALL, 0);
	if (n < 0) {
		GENL_SET_ERR_MSG(info, "no such worker, or nobody carries it");
		return n;
	}
	return nla_put_u32(msg, ROOST_NL_A_DOMAIN, domain->id) ?:
	       nla_put_u32(msg, ROOST_NL_A_WOKEN, n);
}

static int wake_do(struct sk_buff *skb, struct genl_info *info)
{
	return reply(skb, info, put_wake);
}

static int limits_do(struct sk_buff *skb, struct genl_info *info)
{
	struct sk_buff *msg;
	void *header;
	int ret;

	msg = genlmsg_new(REPLY_SIZE, GFP_KERNEL);
	if (!msg)
		return -ENOMEM;
	header = genlmsg_put_reply(msg, info, &roost_genl, 0,
				   info->genlhdr->cmd);
	ret = header ? roost_put_limits(msg) : -EMSGSIZE;
	if (ret) {
		nlmsg_free(msg);
		return ret;
	}
	genlmsg_end(msg, header);
	return genlmsg_reply(msg, info);
}

/* Dumps: args[0] of the callback is where to go on, args[1] that it is done. */

static int dump_message(struct sk_buff *skb, struct netlink_callback *cb,
			u8 cmd, struct roost_domain *domain,
			struct roost_worker *worker)
{
	void *header;
	int ret;

	header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
			     cb->nlh->nlmsg_seq, &roost_genl, NLM_F_MULTI, cmd);
	if (!header)
		return -EMSGSIZE;
	genl_dump_check_consistent(cb, header);
	if (worker)
		ret = roost_put_worker(skb, worker);
	else if (cmd == ROOST_NL_CMD_STATS_GET)
		ret = roost_put_stats(skb, domain);
	else
		ret = roost_put_domain(skb, domain);
	if (ret)
		genlmsg_cancel(skb, header);
	else
		genlmsg_end(skb, header);
	return ret;
}

/* Of all domains there is nothing to choose. */
static int all_start(struct netlink_callback *cb)
{
	if (!roost_dump_attrs(cb)[ROOST_NL_A_DOMAIN])
		return 0;
	NL_SET_ERR_MSG_ATTR(cb->extack,
			    roost_dump_attrs(cb)[ROOST_NL_A_DOMAIN],
			    "a dump is of all domains");
	return -EINVAL;
}

static int dump_all(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	unsigned long id = cb->args[0];
	struct roost_domain *domain;

	roost_registry_lock();
	cb->seq = roost_registry_generation();
	for (; !cb->args[1]; id++) {
		domain = roost_registry_next(&id);
		if (!domain)
			cb->args[1] = true;
		else if (roost_registry_may(cb->skb, domain) &&
			 dump_message(skb, cb, cmd, domain, NULL))
			break;
	}
	roost_registry_unlock();
	cb->args[0] = id;
	return skb->len;
}

static int domain_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_all(skb, cb, ROOST_NL_CMD_DOMAIN_GET);
}

static int stats_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_all(skb, cb, ROOST_NL_CMD_STATS_GET);
}

/* Refuse at once what the dump itself could only end with. */
static int worker_start(struct netlink_callback *cb)
{
	struct roost_domain *domain;

	roost_registry_lock();
	domain = find(cb->skb, roost_dump_attrs(cb), cb->extack);
	roost_registry_unlock();
	return PTR_ERR_OR_ZERO(domain);
}

static int worker_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	u32 id = nla_get_u32(roost_dump_attrs(cb)[ROOST_NL_A_DOMAIN]);
	u32 i = cb->args[0];
	struct roost_domain *domain;
	struct roost_worker *worker;

	roost_registry_lock();
	domain = roost_registry_find(id);
	if (domain && !roost_registry_may(cb->skb, domain))
		domain = NULL;
	/* Workers are only ever added. */
	cb->seq = domain ? READ_ONCE(domain->nr_workers) + 1 : U32_MAX;
	for (; domain; i++) {
		worker = roost_domain_worker(domain, i);
		if (!worker || dump_message(skb, cb, ROOST_NL_CMD_WORKER_GET,
					    domain, worker))
			break;
	}
	roost_registry_unlock();
	cb->args[0] = i;
	return skb->len;
}

/* The family */

static const struct genl_multicast_group groups[] = {
	[ROOST_GROUP_EVENTS] = {
		.name	= ROOST_NL_GROUP_EVENTS,
		.flags	= GENL_MCAST_CAP_SYS_ADMIN,
	},
};

/* A policy has as many entries as attributes are known to the command. */
static const struct nla_policy domain_policy[] = {
	[ROOST_NL_A_DOMAIN]	= NLA_POLICY_MIN(NLA_U32, 1),
};

static const struct nla_policy wake_policy[] = {
	[ROOST_NL_A_DOMAIN]	= NLA_POLICY_MIN(NLA_U32, 1),
	[ROOST_NL_A_WORKER]	= NLA_POLICY_MAX(NLA_U32, ROOST_MAX_WORKERS - 1),
};

/* A command without a policy takes no attribute. */
static const struct genl_ops ops[] = {
	{
		.cmd		= ROOST_NL_CMD_DOMAIN_GET,
		.policy		= domain_policy,
		.maxattr	= ARRAY_SIZE(domain_policy) - 1,
		.doit		= domain_do,
		.start		= all_start,
		.dumpit		= domain_dump,
	},
	{
		.cmd		= ROOST_NL_CMD_WORKER_GET,
		.policy		= domain_policy,
		.maxattr	= ARRAY_SIZE(domain_policy) - 1,
		.start		= worker_start,
		.dumpit		= worker_dump,
	},
	{
		.cmd		= ROOST_NL_CMD_STATS_GET,
		.policy		= domain_policy,
		.maxattr	= ARRAY_SIZE(domain_policy) - 1,
		.doit		= stats_do,
		.start		= all_start,
		.dumpit		= stats_dump,
	},
	{
		.cmd		= ROOST_NL_CMD_LIMITS_GET,
		.doit		= limits_do,
	},
	{
		.cmd		= ROOST_NL_CMD_WAKE,
		.policy		= wake_policy,
		.maxattr	= ARRAY_SIZE(wake_policy) - 1,
		.doit		= wake_do,
	},
};

struct genl_family roost_genl __ro_after_init = {
	.name		= ROOST_NL_NAME,
	.version	= ROOST_NL_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.ops		= ops,
	.n_ops		= ARRAY_SIZE(ops),
	.mcgrps		= groups,
	.n_mcgrps	= ARRAY_SIZE(groups),
	.module		= THIS_MODULE,
};

/**
 * roost_netlink_init() - module init
 *
 * Return: 0 or -errno.
 */
int __init roost_netlink_init(void)
{
	return genl_register_family(&roost_genl);
}

/**
 * roost_netlink_exit() - module exit
 */
void roost_netlink_exit(void)
{
	genl_unregister_family(&roost_genl);
}
