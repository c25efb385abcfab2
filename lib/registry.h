/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * registry.h - all runtimes of the process, so that a pid alone says which one
 * it belongs to.
 */
#ifndef ROOST_LIB_REGISTRY_H
#define ROOST_LIB_REGISTRY_H

#include <roost/types.h>

struct runtime;

/*
 * registry_add() - give @rt its range of slot indices
 *
 * The lowest that is free, so that a runtime alone starts at 0.  Sets @rt->base.
 * Return: 0, or -ENOSPC.
 */
int registry_add(struct runtime *rt);

/* While the process forks.  The child forgets all of them, lock held. */
void registry_lock(void);
void registry_unlock(void);
void registry_forget(void);

/** registry_remove() - take it out; waits for visitors to leave */
void registry_remove(struct runtime *rt);

/*
 * registry_visit() - the runtime whose range holds @pid, or NULL
 *
 * It stays until registry_leave().  Any thread.
 */
struct runtime *registry_visit(roost_pid pid);
void registry_leave(struct runtime *rt);

#endif /* ROOST_LIB_REGISTRY_H */
