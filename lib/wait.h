/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * wait.h - the one way for an actor to wait.
 *
 * Everything that waits (sleep, join, files, park) does these steps:
 *
 *	ref = wait_begin();		opens a wait epoch
 *	... give ref to whoever may end the wait ...
 *	err = wait_park(deadline);	or wait_retire() if not needed after all
 *	... take back what was given out, look at what has come ...
 *
 * A waker calls wait_wake() with the ref.  It ends that one wait or does
 * nothing: a wait that is over has consumed its epoch (S0-22, S0-23).  A wake
 * between wait_begin() and wait_park() makes the park return at once (S0-19).
 */
#ifndef ROOST_LIB_WAIT_H
#define ROOST_LIB_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include <roost/inspect.h>
#include <roost/types.h>

struct carrier;
struct runtime;

/* One wait of one actor. */
struct wait_ref {
	roost_pid pid;
	uint32_t epoch;
};

/**
 * wait_begin() - open a wait of the calling actor
 *
 * Before any registration.  Return: what wakers need.
 */
struct wait_ref wait_begin(void);

/**
 * wait_park() - sleep until a waker, the deadline or a stop
 * @deadline: absolute ns, ROOST_FOREVER for none
 * @forever: nothing but another actor can end this wait (no file, no timer):
 *	the actor may be stopped when the run has nothing else left
 *
 * Return: 0 if a waker ended it; -ETIMEDOUT; -ECANCELED if the actor was
 * stopped.  The caller's own source has the last word: look at it before the
 * result is believed, since a wake and the deadline may meet.
 */
int wait_park(uint64_t deadline, bool forever);

/** wait_park_for() - wait_park(), and what it is for can be seen: roost/inspect.h */
int wait_park_for(enum roost_waits_for what, uint64_t deadline, bool forever);

/**
 * wait_sleep() - a wait that nobody is told of: begin it and park
 * @deadline:	absolute ns, ROOST_FOREVER for none; the clock is not read: one
 *		that has passed ends the wait soon
 *
 * Return: -ETIMEDOUT; -ECANCELED if the actor was stopped.  0 is not to be
 * expected, but means nothing.
 */
int wait_sleep(uint64_t deadline);

/**
 * wait_park_io() - wait_park() for an operation that is in flight
 * @c:		carrier_self()
 * @deadline:	absolute ns, ROOST_FOREVER for none; the clock is not read: one
 *		that has passed ends the wait soon
 */
int wait_park_io(struct carrier *c, uint64_t deadline);

/**
 * wait_park_firmly() - sleep until a waker comes
 *
 * For what must be waited for: no deadline, and a stop of before wait_begin()
 * does not count.  One that comes later still ends this wait, so look at the
 * source and wait again.
 */
void wait_park_firmly(void);

/**
 * wait_retire() - end a wait without sleeping
 *
 * Swallows a wake that has landed already (S0-25).
 */
void wait_retire(void);

/**
 * wait_wake() - end a wait
 * @rt:		the runtime
 * @ref:	which wait
 *
 * Any thread, no lock of the library held.  Return: true if this call ended
 * it.
 */
bool wait_wake(struct runtime *rt, struct wait_ref ref);

#endif /* ROOST_LIB_WAIT_H */
