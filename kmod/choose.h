/* SPDX-License-Identifier: GPL-2.0 */
/* Which of the parked workers is woken. */
#ifndef _ROOST_CHOOSE_H
#define _ROOST_CHOOSE_H

struct cpumask;
struct roost_domain;
struct roost_worker;

struct roost_worker *roost_choose_near(struct roost_domain *domain,
				       const struct cpumask *near);
struct roost_worker *roost_choose_parked(struct roost_domain *domain);

#endif /* _ROOST_CHOOSE_H */
