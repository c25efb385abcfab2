/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * safepoint.h - where an actor may lose its worker to others that are ready.
 *
 * A safepoint is each call of the library that goes inside (carrier.h), roost_check()
 * and the allocations of roost/alloc.h.  It asks, in this order:
 *
 *  - the preempt word in the worker's page, which the module sets when work waits and
 *    no other actor was resumed for some time; cleared by carrier_resumed();
 *  - each check_every-th time the CPU's counter: is the time slice over (slice.h)?
 *
 * If so, the actor is queued, behind all that are ready, and the scheduler looks at
 * everything.  That is an overrun: counted for the actor by whoever runs it.
 *
 * In a section without preemption (slot->no_preempt) nothing is done; its end is a
 * safepoint.  It belongs to the actor, so it also goes with it over a wait.
 */
#ifndef ROOST_LIB_SAFEPOINT_H
#define ROOST_LIB_SAFEPOINT_H

#include "carrier.h"

#endif /* ROOST_LIB_SAFEPOINT_H */
