// SPDX-License-Identifier: GPL-2.0
/*
 * All domains there are, by number, and who may see them.
 *
 * A domain is in here from just before its descriptor exists until it begins to
 * be destroyed.  Being in here is no reference: whoever finds a domain may use it
 * as long as it holds the registry's mutex, which the domain's end takes to get
 * out.  So nobody who looks keeps a domain or the module alive for longer than
 * that, and nothing under the mutex waits for user space.
 *
 * The mutex is taken inside of nothing of ours; domain->mutex, and with it all
 * that domain.c lists, may not be taken under it.  worker->lock may.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/netlink.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/xarray.h>
#include <net/sock.h>

#include "domain.h"
#include "registry.h"

/* Guards all that follows. */
static DEFINE_MUTEX(mutex);
static DEFINE_XARRAY_ALLOC1(domains);
static u32 next_id;

/* Changes with each domain that comes or goes; never 0, which means none. */
static u32 generation = 1;

static void changed(void)
{
	if (!++generation)
		generation = 1;
}

/**
 * roost_registry_add() - give a domain a number, and let it be seen
 * @domain:	all set up; the current task is its owner
 *
 * Context: task, may sleep.  Return: 0 or -ENOMEM, -EBUSY.
 */
int roost_registry_add(struct roost_domain *domain)
{
	u32 id;
	int ret;

	domain->owner = current_euid();
	domain->user_ns = get_user_ns(current_user_ns());
	mutex_lock(&mutex);
	ret = xa_alloc_cyclic(&domains, &id, domain, XA_LIMIT(1, U32_MAX),
			      &next_id, GFP_KERNEL_ACCOUNT);
	if (ret >= 0) {
		domain->id = id;
		changed();
	}
	mutex_unlock(&mutex);
	return min(ret, 0);
}

/**
 * roost_registry_del() - let nobody see a domain any more
 * @domain:	one that ends; may never have been added
 *
 * Waits for who looks at it.  Number and owner stay, for what is said of it
 * later; the domain's end lets go of the user namespace.
 *
 * Context: task, may sleep.
 */
void roost_registry_del(struct roost_domain *domain)
{
	if (!domain->id)
		return;
	mutex_lock(&mutex);
	xa_erase(&domains, domain->id);
	changed();
	mutex_unlock(&mutex);
}

/**
 * roost_registry_lock() - keep all domains as they are
 *
 * Context: task, may sleep.
 */
void roost_registry_lock(void)
{
	mutex_lock(&mutex);
}

/**
 * roost_registry_unlock() - the end of that
 */
void roost_registry_unlock(void)
{
	mutex_unlock(&mutex);
}

/**
 * roost_registry_find() - a domain by its number
 * @id:		any value
 *
 * Context: the registry is locked.  Return: the domain or NULL.
 */
struct roost_domain *roost_registry_find(u32 id)
{
	lockdep_assert_held(&mutex);
	return xa_load(&domains, id);
}

/**
 * roost_registry_next() - the first domain from a number on
 * @id:		the number; set to that of the domain found
 *
 * Context: the registry is locked.  Return: the domain or NULL.
 */
struct roost_domain *roost_registry_next(unsigned long *id)
{
	lockdep_assert_held(&mutex);
	return xa_find(&domains, id, ULONG_MAX, XA_PRESENT);
}

/**
 * roost_registry_generation() - has any domain come or gone?
 *
 * Context: the registry is locked.  Return: a number that then is another one;
 * never 0.
 */
u32 roost_registry_generation(void)
{
	lockdep_assert_held(&mutex);
	return generation;
}

static bool owns(const struct cred *cred, const struct roost_domain *domain)
{
	return uid_eq(cred->euid, domain->owner) &&
	       cred->user_ns == domain->user_ns;
}

/**
 * roost_registry_may() - may this request be about this domain?
 * @request:	the netlink message that asks
 * @domain:	found in the registry
 *
 * Its owner may, and who has CAP_SYS_ADMIN over the owner's user namespace.
 * Asked of the current task, and of who has opened the socket: neither may a
 * privileged program be made to ask for somebody else by the socket that it
 * inherits, nor does a privileged socket help who got hold of it.
 *
 * Context: the registry is locked, and the current task sends @request or reads
 * what it brings.
 */
bool roost_registry_may(const struct sk_buff *request,
			const struct roost_domain *domain)
{
	const struct file *file = NETLINK_CB(request).sk->sk_socket->file;

	lockdep_assert_held(&mutex);
	if (!owns(file->f_cred, domain) &&
	    !file_ns_capable(file, domain->user_ns, CAP_SYS_ADMIN))
		return false;
	return owns(current_cred(), domain) ||
	       ns_capable(domain->user_ns, CAP_SYS_ADMIN);
}
