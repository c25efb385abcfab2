/* SPDX-License-Identifier: GPL-2.0 */
/* The module seen from outside, by generic netlink. */
#ifndef _ROOST_NETLINK_H
#define _ROOST_NETLINK_H

#include <uapi/linux/roost_netlink.h>

struct genl_family;
struct roost_domain;
struct roost_worker;
struct task_struct;

/* Numbers of the family's multicast groups. */
enum {
	ROOST_GROUP_EVENTS,
};

extern struct genl_family roost_genl;

int roost_netlink_init(void);
void roost_netlink_exit(void);

void roost_netlink_domain_event(enum roost_nl_cmd cmd,
				const struct roost_domain *domain);
void roost_netlink_worker_event(enum roost_nl_cmd cmd,
				const struct roost_worker *worker,
				struct task_struct *carrier);
void roost_netlink_takeover_event(enum roost_nl_cmd cmd,
				  const struct roost_worker *worker, u32 tid,
				  u64 lease);

#endif /* _ROOST_NETLINK_H */
