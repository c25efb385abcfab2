// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* registry.c - all runtimes of the process, in the order of their ranges. */
#include "registry.h"

#include <errno.h>
#include <sched.h>

#include "inject.h"
#include "runtime.h"

/* Never handed out: part of ROOST_PID_NONE. */
#define LAST_INDEX	(~(uint32_t)0)

static struct spin lock;
static struct list_head runtimes = { &runtimes, &runtimes };

void registry_lock(void)
{
	spin_lock(&lock);
}

void registry_unlock(void)
{
	spin_unlock(&lock);
}

void registry_forget(void)
{
	while (runtimes.next != &runtimes)
		list_del_init(runtimes.next);
}

int registry_add(struct runtime *rt)
{
	struct list_head *node;
	uint64_t base = 0;
	struct runtime *r;
	int err = 0;

	atomic_init(&rt->visitors, 0);
	spin_lock(&lock);
	for (node = runtimes.next; node != &runtimes; node = node->next) {
		r = list_entry(node, struct runtime, registered);
		if (base + rt->config.max_actors <= r->base)
			break;
		base = (uint64_t)r->base + r->config.max_actors;
	}
	if (base + rt->config.max_actors > LAST_INDEX) {
		err = -ENOSPC;
	} else {
		rt->base = (uint32_t)base;
		/* Before the first one that lies behind, or at the end. */
		list_add_tail(&rt->registered, node);
	}
	spin_unlock(&lock);
	return err;
}

void registry_remove(struct runtime *rt)
{
	spin_lock(&lock);
	list_del_init(&rt->registered);
	spin_unlock(&lock);
	/* Visits are short, the longest copies a trace; pairs with registry_leave(). */
	while (atomic_load_explicit(&rt->visitors, memory_order_acquire))
		sched_yield();
}

struct runtime *registry_visit(roost_pid pid)
{
	struct runtime *found = NULL;
	struct list_head *node;
	struct runtime *r;

	spin_lock(&lock);
	for (node = runtimes.next; node != &runtimes; node = node->next) {
		r = list_entry(node, struct runtime, registered);
		if (!runtime_slot(r, pid))
			continue;
		atomic_fetch_add_explicit(&r->visitors, 1,
					  memory_order_relaxed);
		found = r;
		break;
	}
	spin_unlock(&lock);
	inject_delay();
	return found;
}

void registry_leave(struct runtime *rt)
{
	atomic_fetch_sub_explicit(&rt->visitors, 1, memory_order_release);
}
