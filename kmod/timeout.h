/* SPDX-License-Identifier: GPL-2.0 */
/* Timers and deadlines of parks: hrtimers that drive the wheels. */
#ifndef _ROOST_TIMEOUT_H
#define _ROOST_TIMEOUT_H

#include <linux/types.h>

#include "worker.h"

struct roost_domain;
struct roost_sqe;
struct roost_wheel_entry;
struct roost_worker;

/* What an entry belongs to: roost_wheel_entry.owner. */
enum roost_entry_owner {
	ROOST_ENTRY_TIMER,
	ROOST_ENTRY_PARK,
	ROOST_ENTRY_IO,
};

extern unsigned int roost_max_timers;

int roost_timeout_init(void);
void roost_timeout_exit(void);
int roost_timeout_table(struct roost_domain *domain, u32 nr);
void roost_timeout_init_worker(struct roost_worker *worker);
void roost_timeout_quiesce(struct roost_domain *domain);
void roost_timeout_exit_worker(struct roost_worker *worker);
void roost_timeout_drop(struct roost_domain *domain,
			struct roost_worker *worker);

u32 roost_timer_set_batch(struct roost_worker *worker,
			  const struct roost_sqe *sqes, u32 n);
int roost_timer_set(struct roost_worker *worker, const struct roost_sqe *sqe);
int roost_timer_cancel(struct roost_worker *worker,
		       const struct roost_sqe *sqe, u64 *target);
void roost_timeout_add(struct roost_worker *worker,
		       struct roost_wheel_entry *entry, u64 deadline);
void roost_timeout_del(struct roost_worker *worker,
		       struct roost_wheel_entry *entry);
void roost_timeout_program_now(struct roost_worker *worker);

/**
 * roost_timeout_program() - timers were set: see to it that they fire
 * @worker:	in whose wheel
 *
 * Once for a batch of entries.  Context: any.
 */
static inline void roost_timeout_program(struct roost_worker *worker)
{
	/* Who has set a timer sees its own store. */
	if (unlikely(READ_ONCE(worker->unprogrammed)))
		roost_timeout_program_now(worker);
}

u64 roost_timeout_to_host(const struct roost_domain *domain, u64 deadline);
void roost_timeout_park(struct roost_worker *worker, u64 deadline);
void roost_timeout_unpark(struct roost_worker *worker);

#endif /* _ROOST_TIMEOUT_H */
