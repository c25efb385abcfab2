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
 * roost_stopped(); on a thread that is in no roost_run(), also roost_unpark(), if the
 * signal has interrupted no call of the library.  All else, here and in the other headers,
 * is not for them: one that has interrupted an actor inside of the library, and calls it,
 * ends the process.
 */
#ifndef ROOST_ACTOR_H
#define ROOST_ACTOR_H

#include <sys/types.h>

#include <roost/errno.h>
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
 * struct roost_spawn_options - zero means the default
 * @stack_size:	bytes of stack, 16 KiB to 1 GiB.  Default: that of the configuration;
 *		any other is rounded up to a power of two.
 * @name:	as for roost_set_name(), copied.  Default: none.
 * @reserved:	must be zero
 */
struct roost_spawn_options {
	size_t stack_size;
	const char *name;
	unsigned int reserved[4];
};

/**
 * roost_spawn_with() - roost_spawn() with more to say
 * @fn:		as there
 * @arg:	as there
 * @options:	read during the call only; NULL: all default
 * @pid:	as there
 *
 * Return: as there; -EINVAL for options out of range.
 */
int roost_spawn_with(roost_fn fn, void *arg,
		     const struct roost_spawn_options *options, roost_pid *pid);

/**
 * roost_stack_used() - how much of its stack the calling actor has ever used
 *
 * In bytes, from the lowest word that is not zero.  Another actor may have had the
 * stack before and left more than that: see ROOST_STACK_MEASURED.  All that is below
 * is read, so it takes as long as the stack is large.
 *
 * Return: bytes, or -EPERM outside of an actor.
 */
ssize_t roost_stack_used(void);

/**
 * roost_join() - wait for an actor's end and give up its handle
 * @pid:	an actor that the caller holds a handle of
 * @deadline:	absolute, ROOST_FOREVER for none
 *
 * Return: 0; -ETIMEDOUT or -ECANCELED, the handle is then still held; -ESRCH
 * if @pid names nobody; -EDEADLK for the caller's own pid.
 */
int roost_join(roost_pid pid, uint64_t deadline);

/* How an actor has ended. */
enum roost_end {
	ROOST_END_RETURNED,	/* its function has, or it has called roost_exit() */
	ROOST_END_STOPPED,	/* so, or it never ran: after it was asked to end */
	ROOST_END_CRASHED,	/* by a fault */
};

/* What an actor has crashed of. */
enum roost_crash {
	ROOST_CRASH_NONE,
	ROOST_CRASH_OVERFLOW,	/* SIGSEGV in the guard page below its stack */
	ROOST_CRASH_SEGV,
	ROOST_CRASH_BUS,
	ROOST_CRASH_FPE,
	ROOST_CRASH_ILL,
};

/**
 * struct roost_outcome - an actor's end
 * @pid:	the actor
 * @how:	see above
 * @reason:	if it has crashed; so for all that follow, which are 0 else
 * @code:	si_code of sigaction(2)
 * @address:	si_addr
 * @pc:		the instruction
 * @reserved:	zero
 */
struct roost_outcome {
	roost_pid pid;
	enum roost_end how;
	enum roost_crash reason;
	int code;
	uintptr_t address;
	uintptr_t pc;
	uint64_t reserved[3];
};

/**
 * roost_join_outcome() - roost_join(), and how it has ended
 * @pid:	as there
 * @deadline:	as there
 * @outcome:	filled in if the result is 0
 *
 * Return: as there.
 */
int roost_join_outcome(roost_pid pid, uint64_t deadline,
		       struct roost_outcome *outcome);

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

/**
 * roost_check() - a safepoint, for code that computes for long
 *
 * If others are ready and the calling actor has run for its time slice (the knobs
 * timeslice and check_every), or the module says that they have waited for too long,
 * they run first, as with roost_yield().  It costs a few instructions mostly.  Each
 * call of this library that may wait or that looks at others is a safepoint as well.
 *
 * Return: 0; -ECANCELED if the calling actor was stopped; -EPERM.
 */
int roost_check(void);

/**
 * roost_preempt_disable() - from here on no safepoint gives way
 *
 * Until roost_preempt_enable() was called as often.  What waits, and roost_yield(),
 * lets others run all the same.  With a module that takes workers away from who is
 * stuck, other actors may run at the same time also on one worker.  Outside of an
 * actor it does nothing.
 */
void roost_preempt_disable(void);

/**
 * roost_preempt_enable() - undo one roost_preempt_disable()
 *
 * A safepoint if it was the last.  One too many ends the process.
 */
void roost_preempt_enable(void);

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
