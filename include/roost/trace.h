/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * roost/trace.h - what happens to the actors of a runtime, in order.
 *
 * Each worker has a ring of events, in which the newest take the place of the oldest.
 * A run records from its beginning with the knob trace_events (struct roost_config), or
 * from a call of roost_trace_start() on.  Documentation/trace.rst.
 *
 * Calls name the runtime as roost_worker_stats() does, and any thread may make them, but
 * no signal handler.
 */
#ifndef ROOST_TRACE_H
#define ROOST_TRACE_H

#include <sys/types.h>

#include <roost/inspect.h>
#include <roost/types.h>

ROOST_BEGIN_DECLS

/* What has happened, and what @detail and @value of the event are; else they are 0. */
enum roost_trace_kind {
	/* To the actor @pid, in the order of its life: */
	ROOST_TRACE_SPAWN,	/* it was started; @value: by that pid, or none */
	ROOST_TRACE_ENQUEUE,	/* it is ready, and is put in a run queue */
	ROOST_TRACE_DEQUEUE,	/* it was taken from there */
	ROOST_TRACE_SLOT_PUSH,	/* it is ready, and is put in a wake slot */
	ROOST_TRACE_SLOT_POP,	/* it was taken from there; if an event ENQUEUE comes
				 * instead, another was put in its place */
	ROOST_TRACE_RESUME,	/* it runs from here on, until one of the next four */
	ROOST_TRACE_YIELD,	/* @detail: 1, it had to, at a safepoint */
	ROOST_TRACE_PARK,	/* it waits; @detail: enum roost_waits_for, or 0 if what it
				 * was to wait for has come already */
	ROOST_TRACE_DONE,	/* it has ended; @detail: enum roost_end */
	ROOST_TRACE_DISPLACED,	/* its thread had lost the worker while it was blocked */
	ROOST_TRACE_WAKE,	/* its wait was ended.  @detail: what has come, of enum
				 * roost_waits_for; ROOST_TRACE_STOPPED: a stop.
				 * @value: the pid that did it, or none */
	ROOST_TRACE_WAKE_EARLY,	/* the same to one that is not parked, which may have no
				 * effect then; @detail may be 0: not yet known */
	ROOST_TRACE_NOT_PARKED,	/* ... and here it is not, but ready again */
	ROOST_TRACE_TIMER,	/* its next wait has a deadline, @value */
	ROOST_TRACE_IO_BEGIN,	/* an operation was handed over; @detail: descriptor;
				 * @value: bytes that it may move */
	ROOST_TRACE_IO_END,	/* it is over; @value: result, bytes or -errno */
	ROOST_TRACE_FILE_WAIT,	/* it is going to wait for readiness; @detail: the
				 * descriptor; @value: POLL* bits */

	/* With no actor: */
	ROOST_TRACE_FILE_READY,	/* @detail: descriptor; @value: POLL* bits, 0: unknown */
	ROOST_TRACE_SLEEP,	/* the worker has nothing to do */
	ROOST_TRACE_AWAKE,	/* it goes on */
};

/* In the place of enum roost_waits_for: what it waited for has not come. */
#define ROOST_TRACE_STOPPED	16

/**
 * struct roost_trace_event - one of them
 * @time:	CLOCK_MONOTONIC, ns
 * @pid:	the actor; ROOST_PID_NONE: none
 * @value:	see enum roost_trace_kind
 * @kind:	enum roost_trace_kind
 * @detail:	see there
 */
struct roost_trace_event {
	uint64_t time;
	roost_pid pid;
	uint64_t value;
	unsigned int kind;
	unsigned int detail;
};

/**
 * roost_trace_start() - record from now on
 * @of:		any pid of the runtime, whether that actor lives or not; ROOST_PID_NONE:
 *		the calling actor's runtime
 * @events:	how many the ring of each worker has, rounded up to a power of two, at
 *		most 16,777,216; 0: 16,384.  Each is 32 bytes.  Only the first call of a
 *		run sets it, and none if trace_events in the configuration or ROOST_TRACE
 *		in the environment has.
 *
 * What was recorded before a roost_trace_stop() stays.
 *
 * Return: 0; -EINVAL for too many; -ENOMEM; -ESRCH if @of names no runtime; -EPERM
 * outside of an actor if @of is ROOST_PID_NONE.
 */
int roost_trace_start(roost_pid of, unsigned int events);

/**
 * roost_trace_stop() - record no more
 * @of:		as for roost_trace_start()
 *
 * Threads that are just about to record an event may still do so.  What was recorded
 * can be read.
 *
 * Return: 0; -ESRCH and -EPERM as there.
 */
int roost_trace_stop(roost_pid of);

/**
 * roost_trace_read() - copy events of one worker, also while it goes on recording
 * @of:		as for roost_trace_start()
 * @worker:	its number; ROOST_NO_WORKER: what threads have done that carry none
 * @position:	the first to be read; 0 at first.  Raised to what comes after the last
 *		one that was read.  If @position was overwritten already, the oldest that
 *		is there comes first: the difference less the result were lost.
 * @list:	where they go, the oldest first
 * @size:	of @list, in events
 *
 * Return: how many; 0 if there are none, or nothing was ever recorded; -EINVAL if there
 * is no such worker; -ESRCH and -EPERM as there.
 */
ssize_t roost_trace_read(roost_pid of, unsigned int worker, uint64_t *position,
			 struct roost_trace_event *list, size_t size);

/**
 * roost_trace_write() - write all that is there as JSON, for Perfetto or Chrome
 * @of:		as for roost_trace_start()
 * @fd:		where it goes, by write(2); if it does not block, by poll(2) as well
 *
 * The format is that of trace events of Chrome: a track for each worker, on it a slice
 * for each time that an actor ran, and for each that the worker slept; all else is a
 * point in time.  All is in the order of time.  The events are copied first, while
 * others go on: of each worker what there was at the beginning of the call.  An actor
 * that calls this blocks as in write(2) itself.
 *
 * Return: 0; -ENOMEM; -errno of write(2); -ESRCH and -EPERM as there.
 */
int roost_trace_write(roost_pid of, int fd);

ROOST_END_DECLS

#endif /* ROOST_TRACE_H */
