/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * timer.h - the one timer of an actor: the deadline of the wait it is in.
 *
 * It lies in the actor's slot.  What the actor wants (@deadline, @epoch) is
 * apart from what a backend has armed for it: a backend may leave an earlier
 * deadline armed when a later one is wanted, or none, and look again when it
 * fires (moving later and cancelling are stores).  It must not be armed later
 * than wanted.
 */
#ifndef ROOST_LIB_TIMER_H
#define ROOST_LIB_TIMER_H

#include <stdatomic.h>
#include <stdint.h>

#include "wheel_shim.h"

struct runtime;

/**
 * struct wtimer - a slot's timer
 * @deadline:	wanted, ROOST_FOREVER for none; written by the actor with
 *		release after @epoch, read by who handles an expiry with acquire
 * @epoch:	the wait that @deadline is for
 * @slot:	index of the slot, constant
 * @armed:	backend: deadline that is armed, ROOST_FOREVER for none
 * @sequence:	kernel backend: sequence of the last TIMER_SET
 * @sq_index:	kernel backend: SQ position of a TIMER_SET not yet consumed
 * @worker:	backend: index of the worker whose wheel or ring has it
 * @refused:	kernel backend: the next that the module has refused to arm, as
 *		kbackend.refused; 0 if this one has not been
 * @entry:	futex backend: place in that worker's wheel
 */
struct wtimer {
	_Atomic uint64_t deadline;
	_Atomic uint32_t epoch;
	uint32_t slot;
	_Atomic uint64_t armed;
	uint32_t sequence;
	uint32_t sq_index;
	_Atomic uint32_t worker;
	uint32_t refused;
	struct roost_wheel_entry entry;
};

/**
 * timer_expired() - what a backend calls when an armed deadline has passed
 * @rt:		the runtime
 * @t:		the timer; nothing is armed, or by somebody who has just come
 * @now:	the clock, read after the expiry
 *
 * Ends the wait if its deadline has come (and then returns ROOST_FOREVER).
 * Return: the deadline that the backend must arm instead, ROOST_FOREVER for
 * none.
 */
uint64_t timer_expired(struct runtime *rt, struct wtimer *t, uint64_t now);

/** timer_sleep_until() - roost_sleep_until(), of an actor in the library */
int timer_sleep_until(uint64_t deadline);

#endif /* ROOST_LIB_TIMER_H */
