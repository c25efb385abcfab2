/* SPDX-License-Identifier: GPL-2.0 */
/* Taking the worker of a carrier that is stuck, for a standby. */
#ifndef _ROOST_TAKEOVER_H
#define _ROOST_TAKEOVER_H

#include <linux/types.h>

struct roost_carrier;
struct roost_domain;

int roost_takeover_stand_by(struct roost_domain *domain, u32 *index, u64 *lease);
int roost_takeover_dismiss(struct roost_domain *domain);
void roost_takeover_begin(struct roost_domain *domain);
void roost_takeover_end(struct roost_domain *domain);

/* For carrier.c. */
void roost_takeover_setup(struct roost_carrier *carrier);
void roost_takeover_blocked(struct roost_carrier *carrier);
void roost_takeover_tick(struct roost_domain *domain);

#endif /* _ROOST_TAKEOVER_H */
