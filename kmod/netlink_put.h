/* SPDX-License-Identifier: GPL-2.0 */
/* What netlink messages say. */
#ifndef _ROOST_NETLINK_PUT_H
#define _ROOST_NETLINK_PUT_H

struct roost_domain;
struct roost_worker;
struct sk_buff;

int roost_put_domain(struct sk_buff *msg, struct roost_domain *domain);
int roost_put_worker(struct sk_buff *msg, struct roost_worker *worker);
int roost_put_stats(struct sk_buff *msg, struct roost_domain *domain);
int roost_put_limits(struct sk_buff *msg);

#endif /* _ROOST_NETLINK_PUT_H */
