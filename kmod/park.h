/* SPDX-License-Identifier: GPL-2.0 */
/* Going to sleep and being woken. */
#ifndef _ROOST_PARK_H
#define _ROOST_PARK_H

#include <linux/types.h>

struct roost_domain;
struct roost_worker;

/* What __wake_up_sync_key() tells the functions of a wait queue. */
extern int roost_sync_flags;

void roost_park_init(void);
int roost_park_skip(struct roost_worker *worker);
void roost_park_clear(struct roost_worker *worker);
bool roost_park_expire(struct roost_worker *worker);

int roost_wake(struct roost_domain *domain, u32 flags, u32 index);
int roost_wake_index(struct roost_domain *domain, u32 index, bool sync);
void roost_wake_for(struct roost_worker *home);

#endif /* _ROOST_PARK_H */
