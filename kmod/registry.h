/* SPDX-License-Identifier: GPL-2.0 */
/* All domains there are, by number, and who may see them. */
#ifndef _ROOST_REGISTRY_H
#define _ROOST_REGISTRY_H

#include <linux/types.h>

struct roost_domain;
struct sk_buff;

int roost_registry_add(struct roost_domain *domain);
void roost_registry_del(struct roost_domain *domain);

void roost_registry_lock(void);
void roost_registry_unlock(void);
struct roost_domain *roost_registry_find(u32 id);
struct roost_domain *roost_registry_next(unsigned long *id);
u32 roost_registry_generation(void);
bool roost_registry_may(const struct sk_buff *request,
			const struct roost_domain *domain);

#endif /* _ROOST_REGISTRY_H */
