/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * roost/actor.h - the life of an actor.
 *
 * All calls are for actors only, -EPERM elsewhere, unless they say otherwise.
 * Calls that wait give other actors the worker meanwhile, and return
 * -ECANCELED once the calling actor was stopped.  After any call the actor may be on
 * another thread: Documentation/blocking.rst.
 *
 * Signal handlers may call roost_now(), roost_after(), roost_self() and
 * roost_stopped(); on a thread that is in no roost_run(), also roost_unpark(), if that
 * is not what the signal has interrupted.  All else, here and in the other headers, is
 * not for them: one that has interrupted an actor inside of the library, and calls it,
 * ends the process.
 */
#ifndef ROOST_ACTOR_H
#define ROOST_ACTOR_H

#include <roost/types.h>

ROOST_BEGIN_DECLS

/**
 * roost_spawn() - start an actor
 * @fn:		what it runs; it ends when @fn returns
 * @arg:	handed to @fn; stays the caller's
 * @pid:	where its pid goes, or NULL
 *
 * With @pid the caller holds a handle, to be given up by one roost_join() that
 * returns 0 or by roost_detach(); without, the actor is detached.
 *
 * Return: 0; -EAGAIN if all slots are taken (a line on standard error, once,
 * names the knob); -ENOMEM if no stack can be had.  Nothing was started then.
 */
int roost_spawn(roost_fn fn, void *arg, roost_pid *pid);

/**
 * roost_join() - wait for an actor's end and give up its handle
 * @pid:	an actor that the caller holds a handle of
 * @deadline:	absolute, ROOST_FOREVER for none
 *
 * Return: 0; -ETIMEDOUT or -ECANCELED, the handle is then still held; -ESRCH
 * if @pid names nobody; -EDEADLK for the caller's own pid.
 */
int roost_join(roost_pid pid, uint64_t deadline);

/**
 * roost_detach() - give up a handle without waiting
 * @pid:	an actor that the caller holds a handle of
 *
 * Return: 0, or -ESRCH.
 */
int roost_detach(roost_pid pid);

/**
 * roost_stop() - ask an actor to end
 * @pid:	the actor
 *
 * Cooperative and sticky: a wait that @pid is in ends, and it and every later
 * one returns -ECANCELED.  What was stopped before it ran at all never runs.
 *
 * Return: 0, or -ESRCH if @pid names nobody that lives.
 */
int roost_stop(roost_pid pid);

/**
 * roost_stopped() - was the calling actor asked to end?
 *
 * Return: 1 or 0; 0 outside of an actor.
 */
int roost_stopped(void);

/**
 * roost_self() - the calling actor
 *
 * Return: its pid, ROOST_PID_NONE outside of an actor.
 */
roost_pid roost_self(void);

/** roost_yield() - let every actor that is ready now run first */
void roost_yield(void);

/** roost_exit() - end the calling actor now, as if its function returned */
void roost_exit(void) __attribute__((noreturn));

/**
 * roost_now() - CLOCK_MONOTONIC in ns.  Callable anywhere.
 */
uint64_t roost_now(void);

/**
 * roost_after() - the deadline so many nanoseconds from now
 * @ns:		how many
 *
 * Saturates at ROOST_FOREVER.  Callable anywhere.
 */
uint64_t roost_after(uint64_t ns);

#define ROOST_USEC(n)	((uint64_t)(n) * 1000U)
#define ROOST_MSEC(n)	((uint64_t)(n) * 1000000U)
#define ROOST_SEC(n)	((uint64_t)(n) * 1000000000U)

/**
 * roost_sleep_until() - wait until a deadline, never returning early
 * @deadline:	absolute
 *
 * Return: 0, or -ECANCELED.
 */
int roost_sleep_until(uint64_t deadline);

/**
 * roost_sleep() - wait for at least so many nanoseconds
 * @ns:		how many
 *
 * Return: 0, or -ECANCELED.
 */
int roost_sleep(uint64_t ns);

/**
 * roost_park() - wait until roost_unpark()
 * @deadline:	absolute, ROOST_FOREVER for none
 *
 * One unpark that came since the last park returned is remembered and makes
 * this one return at once.
 *
 * A thread outside of the runtime does not keep it running: once the root has
 * ended and all others wait for one another without a deadline, they are stopped.
 *
 * Return: 0; -ETIMEDOUT; -ECANCELED.
 */
int roost_park(uint64_t deadline);

/**
 * roost_unpark() - end an actor's roost_park(), or its next one
 * @pid:	the actor; may be called by any thread of the process
 *
 * Return: 0, or -ESRCH if @pid names nobody that lives.
 */
int roost_unpark(roost_pid pid);

ROOST_END_DECLS

#endif /* ROOST_ACTOR_H */
