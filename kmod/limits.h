/* SPDX-License-Identifier: GPL-2.0 */
/* What one user may have of us, over all its processes. */
#ifndef _ROOST_LIMITS_H
#define _ROOST_LIMITS_H

#include <linux/types.h>

struct roost_account;

/* What is counted, each against a parameter max_user_* of the module. */
enum roost_limit {
	ROOST_LIMIT_DOMAINS,
	ROOST_LIMIT_WORKERS,
	ROOST_LIMIT_TIMERS,
	ROOST_LIMIT_POLLS,
	ROOST_LIMIT_IOS,
	ROOST_LIMIT_FILES,
	ROOST_LIMIT_MEMORY,	/* bytes; the parameter is in MiB */
	ROOST_NR_LIMITS,
};

/* A user namespace has at most 32 above it. */
#define ROOST_CHARGE_LEVELS	33

/**
 * struct roost_charge - what a domain holds of its owner's limits
 * @accounts:	those of the owner (references): in its user namespace first, then
 *		of who made that, and so on; constant
 * @levels:	how many these are; constant
 * @held:	what was charged to each of them, by enum roost_limit; guarded by
 *		accounts_lock
 */
struct roost_charge {
	struct roost_account *accounts[ROOST_CHARGE_LEVELS];
	unsigned int levels;
	u64 held[ROOST_NR_LIMITS];
};

int roost_charge_init(struct roost_charge *charge);
int roost_charge_all(struct roost_charge *charge,
		     const u64 want[ROOST_NR_LIMITS]);
void roost_uncharge_all(struct roost_charge *charge,
			const u64 given[ROOST_NR_LIMITS]);
int roost_charge_memory(struct roost_charge *charge, u64 bytes);
void roost_uncharge_memory(struct roost_charge *charge, u64 bytes);
void roost_charge_exit(struct roost_charge *charge);

void roost_limits_init(void);
void roost_limits_exit(void);

#endif /* _ROOST_LIMITS_H */
