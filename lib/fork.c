// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * fork.c - what a child of fork(2) finds.
 *
 * A child has one thread, the one that has forked, and all runtimes of its parent as
 * they were at that moment, with nobody who would go on with them.  So they are forgotten,
 * and the child may begin runs of its own.  What is the process's and not a runtime's is
 * taken over whole: these locks are held while the process forks, so that no other thread
 * is in the middle of something.
 *
 * LOCKING: the order of the locks is the one here; elsewhere each of them is held alone.
 */
#include "fork.h"

#include <pthread.h>

#include "carrier.h"
#include "fault_chain.h"
#include "fault_where.h"
#include "registry.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before(void)
{
	fault_chain_lock();
	fault_where_lock();
	registry_lock();
}

static void in_parent(void)
{
	registry_unlock();
	fault_where_unlock();
	fault_chain_unlock();
}

static void in_child(void)
{
	registry_forget();
	fault_chain_forget();
	in_parent();
	carrier_in_child();
}

static void watch(void)
{
	pthread_atfork(before, in_parent, in_child);
}

void fork_watch(void)
{
	pthread_once(&once, watch);
}
