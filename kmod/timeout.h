/* SPDX-License-Identifier: GPL-2.0 */
/* Timers and deadlines of parks: hrtimers that drive the wheels. */
#ifndef _ROOST_TIMEOUT_H
#define _ROOST_TIMEOUT_H

#include <linux/types.h>

struct roost_domain;
struct roost_sqe;
struct roost_worker;

extern unsigned int roost_max_timers;

int roost_timeout_init(void);
void roost_timeout_exit(void);
int roost_timeout_table(struct roost_domain *domain, u32 nr);
void roost_timeout_init_worker(struct roost_worker *worker);
void roost_timeout_exit_worker(struct roost_worker *worker);
void roost_timeout_drop(struct roost_domain *domain,
			struct roost_worker *worker);

int roost_timer_set(struct roost_worker *worker, const struct roost_sqe *sqe);
int roost_timer_cancel(struct roost_worker *worker,
		       const struct roost_sqe *sqe, u64 *target);
void roost_timeout_program(struct roost_worker *worker);

void roost_timeout_park(struct roost_worker *worker, u64 deadline);
void roost_timeout_unpark(struct roost_worker *worker);

#endif /* _ROOST_TIMEOUT_H */
