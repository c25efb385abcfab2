// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of users.
 *
 * An account is a user in a user namespace, as with the kernel's own ucounts,
 * which modules cannot use.  Whoever makes a user namespace may be several
 * users in there; so what they take counts for them, and also for who made the
 * namespace, in the one where that was, and so on up.  A namespace that the
 * machine's root has made is the end of that: its users were given to somebody
 * as users of their own.  The user is the effective one of who creates the
 * domain, as with inotify's limits, and stays the same for all that is added to
 * the domain later, whatever becomes of the process's credentials.
 *
 * Counted is what a domain may use, when it is created: the tables of ops have
 * room for that many from then on, and no op is counted when it is armed.
 * Memory is counted when it is allocated, and for each op also what it needs
 * once it is armed; so a chunk of a table costs one look in here, and later uses
 * of it none.
 *
 * Who has CAP_SYS_RESOURCE in the initial user namespace is counted, too, but
 * never refused; so what it has counts as soon as it has dropped that.
 *
 * accounts_lock guards all that changes.  A charge either passes at all levels or
 * is nowhere seen, so two that come together cannot refuse each other.  None of
 * this is on the path of an op, except when the chunk of its index is made.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "limits.h"

#define MEMORY_UNSET	UINT_MAX

static unsigned int max_user[ROOST_NR_LIMITS] = {
	[ROOST_LIMIT_DOMAINS]	= 256,
	[ROOST_LIMIT_WORKERS]	= 4096,
	[ROOST_LIMIT_TIMERS]	= 16U << 20,
	[ROOST_LIMIT_POLLS]	= 16U << 20,
	[ROOST_LIMIT_IOS]	= 16U << 20,
	[ROOST_LIMIT_FILES]	= 16U << 20,
	[ROOST_LIMIT_MEMORY]	= MEMORY_UNSET,
};

module_param_named(max_user_domains, max_user[ROOST_LIMIT_DOMAINS], uint, 0644);
MODULE_PARM_DESC(max_user_domains, "domains that a user may have");
module_param_named(max_user_workers, max_user[ROOST_LIMIT_WORKERS], uint, 0644);
MODULE_PARM_DESC(max_user_workers, "workers that all domains of a user may have");
module_param_named(max_user_timers, max_user[ROOST_LIMIT_TIMERS], uint, 0644);
MODULE_PARM_DESC(max_user_timers, "timers that all domains of a user may have");
module_param_named(max_user_polls, max_user[ROOST_LIMIT_POLLS], uint, 0644);
MODULE_PARM_DESC(max_user_polls, "polls that all domains of a user may have");
module_param_named(max_user_ios, max_user[ROOST_LIMIT_IOS], uint, 0644);
MODULE_PARM_DESC(max_user_ios, "I/O ops that all domains of a user may have");
module_param_named(max_user_files, max_user[ROOST_LIMIT_FILES], uint, 0644);
MODULE_PARM_DESC(max_user_files,
		 "registered files that all domains of a user may have");
module_param_named(max_user_memory, max_user[ROOST_LIMIT_MEMORY], uint, 0644);
MODULE_PARM_DESC(max_user_memory,
		 "memory of all domains of a user, in MiB (an eighth of all)");

/**
 * struct roost_account - a user in a user namespace
 * @node:	in accounts
 * @refs:	one of each charge
 * @ns:		the namespace (a reference); constant
 * @uid:	the user; constant
 * @used:	by enum roost_limit
 */
struct roost_account {
	struct hlist_node node;
	unsigned int refs;
	struct user_namespace *ns;
	kuid_t uid;
	u64 used[ROOST_NR_LIMITS];
};

static DEFINE_HASHTABLE(accounts, 6);
/* Guards the table, and all counts. */
static DEFINE_SPINLOCK(accounts_lock);

static struct roost_account *find(const struct user_namespace *ns, kuid_t uid)
{
	struct roost_account *account;

	hash_for_each_possible(accounts, account, node, __kuid_val(uid))
		if (account->ns == ns && uid_eq(account->uid, uid))
			return account;
	return NULL;
}

/* With a reference; or NULL if there is no memory. */
static struct roost_account *account_get(struct user_namespace *ns, kuid_t uid)
{
	struct roost_account *account, *new;

	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return NULL;
	spin_lock(&accounts_lock);
	account = find(ns, uid);
	if (!account) {
		account = new;
		account->ns = get_user_ns(ns);
		account->uid = uid;
		hash_add(accounts, &account->node, __kuid_val(uid));
		new = NULL;
	}
	account->refs++;
	spin_unlock(&accounts_lock);
	kfree(new);
	return account;
}

static void account_put(struct roost_account *account)
{
	bool last;

	spin_lock(&accounts_lock);
	last = !--account->refs;
	if (last)
		hash_del(&account->node);
	spin_unlock(&accounts_lock);
	if (!last)
		return;
	/* All that was charged has been given back. */
	WARN_ON_ONCE(memchr_inv(account->used, 0, sizeof(account->used)));
	put_user_ns(account->ns);
	kfree(account);
}

/**
 * roost_charge_init() - for the current user
 * @charge:	zeroed; nothing is charged yet
 *
 * Context: task, may sleep.  Return: 0 or -ENOMEM.
 */
int roost_charge_init(struct roost_charge *charge)
{
	struct user_namespace *ns = current_user_ns();
	kuid_t uid = current_euid();
	struct roost_account *account;

	while (charge->levels < ROOST_CHARGE_LEVELS) {
		account = account_get(ns, uid);
		if (!account) {
			roost_charge_exit(charge);
			return -ENOMEM;
		}
		charge->accounts[charge->levels++] = account;
		if (ns == &init_user_ns || uid_eq(ns->owner, GLOBAL_ROOT_UID))
			break;
		uid = ns->owner;
		ns = ns->parent;
	}
	return 0;
}

static u64 limit_of(enum roost_limit limit)
{
	u64 max = READ_ONCE(max_user[limit]);

	return limit == ROOST_LIMIT_MEMORY ? max << 20 : max;
}

/* What is not asked for fits, though a limit was lowered meanwhile. */
static bool fits(const struct roost_account *account,
		 const u64 want[ROOST_NR_LIMITS])
{
	enum roost_limit k;
	u64 max;

	for (k = 0; k < ROOST_NR_LIMITS; k++) {
		max = limit_of(k);
		if (want[k] && (want[k] > max || account->used[k] > max - want[k]))
			return false;
	}
	return true;
}

static bool try_charge(struct roost_charge *charge,
		       const u64 want[ROOST_NR_LIMITS], bool force)
{
	enum roost_limit k;
	bool ok = true;
	unsigned int i;

	spin_lock(&accounts_lock);
	for (i = 0; !force && i < charge->levels; i++)
		ok &= fits(charge->accounts[i], want);
	for (k = 0; ok && k < ROOST_NR_LIMITS; k++) {
		charge->held[k] += want[k];
		for (i = 0; i < charge->levels; i++)
			charge->accounts[i]->used[k] += want[k];
	}
	spin_unlock(&accounts_lock);
	return ok;
}

/**
 * roost_charge_all() - count something against the limits of the owner
 * @charge:	of the domain that it is for
 * @want:	how much of each
 *
 * All of it or nothing.  Who may have more than its limits is asked for only if
 * it comes to that.
 *
 * Context: task, may sleep.  Return: 0 or -EDQUOT.
 */
int roost_charge_all(struct roost_charge *charge,
		     const u64 want[ROOST_NR_LIMITS])
{
	if (try_charge(charge, want, false))
		return 0;
	if (!capable(CAP_SYS_RESOURCE))
		return -EDQUOT;
	try_charge(charge, want, true);
	return 0;
}

/**
 * roost_uncharge_all() - give back what roost_charge_all() has counted
 * @charge:	of the domain
 * @given:	the same as then
 *
 * Context: task.
 */
void roost_uncharge_all(struct roost_charge *charge,
			const u64 given[ROOST_NR_LIMITS])
{
	enum roost_limit k;
	unsigned int i;
	u64 n;

	spin_lock(&accounts_lock);
	for (k = 0; k < ROOST_NR_LIMITS; k++) {
		/* It may be all that is held. */
		n = given[k];
		charge->held[k] -= n;
		for (i = 0; i < charge->levels; i++)
			charge->accounts[i]->used[k] -= n;
	}
	spin_unlock(&accounts_lock);
}

/**
 * roost_charge_memory() - count memory against the limit of the owner
 * @charge:	of the domain that it is for; NULL: it is for none
 * @bytes:	how much
 *
 * Context: task, may sleep.  Return: 0 or -EDQUOT.
 */
int roost_charge_memory(struct roost_charge *charge, u64 bytes)
{
	const u64 want[ROOST_NR_LIMITS] = { [ROOST_LIMIT_MEMORY] = bytes };

	return charge ? roost_charge_all(charge, want) : 0;
}

/**
 * roost_uncharge_memory() - give back what roost_charge_memory() has counted
 * @charge:	of the domain, or NULL
 * @bytes:	the same as then
 *
 * Context: task.
 */
void roost_uncharge_memory(struct roost_charge *charge, u64 bytes)
{
	const u64 given[ROOST_NR_LIMITS] = { [ROOST_LIMIT_MEMORY] = bytes };

	if (charge)
		roost_uncharge_all(charge, given);
}

/**
 * roost_charge_exit() - the domain ends: give back all that it still holds
 * @charge:	may have been ended before
 *
 * Context: task, may sleep.
 */
void roost_charge_exit(struct roost_charge *charge)
{
	unsigned int i;

	roost_uncharge_all(charge, charge->held);
	for (i = 0; i < charge->levels; i++)
		account_put(charge->accounts[i]);
	memset(charge, 0, sizeof(*charge));
}

/**
 * roost_limits_init() - module init
 */
void __init roost_limits_init(void)
{
	u64 eighth = (u64)totalram_pages() << PAGE_SHIFT >> 3;
	unsigned int *max = &max_user[ROOST_LIMIT_MEMORY];

	if (*max == MEMORY_UNSET)
		*max = clamp_t(u64, eighth >> 20, 1, MEMORY_UNSET - 1);
}

/**
 * roost_limits_exit() - module exit: no domain is left
 */
void roost_limits_exit(void)
{
	WARN_ON(!hash_empty(accounts));
}
