/* SPDX-License-Identifier: GPL-2.0 */
/* Readiness of files, straight from their wait queues. */
#ifndef _ROOST_POLL_H
#define _ROOST_POLL_H

#include <linux/types.h>

struct roost_domain;
struct roost_sqe;
struct roost_worker;

extern unsigned int roost_max_polls;

int roost_poll_init(void);
void roost_poll_exit(void);
int roost_poll_table(struct roost_domain *domain, u32 nr);
void roost_poll_drop(struct roost_domain *domain, struct roost_worker *worker);

bool roost_poll_add(struct roost_worker *worker, const struct roost_sqe *sqe,
		    s32 *res, u32 *flags);
int roost_poll_remove(struct roost_worker *worker,
		      const struct roost_sqe *sqe, u64 *target, u32 *flags);
void roost_poll_reap(struct roost_domain *domain);

#endif /* _ROOST_POLL_H */
