/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* roost/inspect.h - what the actors and the workers of a runtime are doing. */
#ifndef ROOST_INSPECT_H
#define ROOST_INSPECT_H

#include <sys/types.h>

#include <roost/types.h>

ROOST_BEGIN_DECLS

/* Bytes of an actor's name, with the zero at its end. */
#define ROOST_NAME_SIZE	16

/**
 * roost_set_name() - give the calling actor a name, for who looks at it
 * @name:	what does not fit in ROOST_NAME_SIZE is left out
 *
 * A new actor has none, or that of struct roost_spawn_options.  Names need not differ.
 * Who looks just then may see eight bytes of the old name beside those of the new.
 *
 * Return: 0, or -EPERM outside of an actor.
 */
int roost_set_name(const char *name);

enum roost_doing {
	ROOST_DOING_READY,	/* waits for a worker */
	ROOST_DOING_RUNNING,
	ROOST_DOING_WAITING,
	ROOST_DOING_ENDED,	/* somebody holds its handle still */
};

/* What a waiting actor waits for. */
enum roost_waits_for {
	ROOST_WAITS_NOT,
	ROOST_WAITS_UNPARK,	/* roost_park() */
	ROOST_WAITS_TIME,	/* roost_sleep() */
	ROOST_WAITS_END,	/* of another: roost_join() */
	ROOST_WAITS_FILE,	/* readiness */
	ROOST_WAITS_IO,		/* an operation handed over to the kernel */
};

/**
 * struct roost_actor_info - one actor
 * @pid:	names it
 * @doing:	see above
 * @waits_for:	ROOST_WAITS_NOT unless it is waiting
 * @worker:	on which it runs, or did when its thread was blocked and the worker given
 *		to another one; -1 if it does not run
 * @overruns:	times that it had to give way at a safepoint
 * @stopped:	it was asked to end
 * @name:	ends with a zero; empty if it has none
 * @reserved0:	zero
 * @cycles:	with ROOST_ACCOUNT_CYCLES: of the CPU's counter, that it had a thread for,
 *		but for the time since it was resumed.  What else has run on that CPU
 *		meanwhile, and what the actor was blocked for outside of this library, is
 *		in it
 * @reserved:	zero
 */
struct roost_actor_info {
	roost_pid pid;
	enum roost_doing doing;
	enum roost_waits_for waits_for;
	int worker;
	unsigned int overruns;
	int stopped;
	char name[ROOST_NAME_SIZE];
	unsigned int reserved0;
	uint64_t cycles;
	unsigned int reserved[4];
};

/**
 * roost_actors() - look at all actors of the calling actor's runtime
 * @list:	where they go, in the order of the low halves of their pids
 * @size:	of @list, in actors; 0 to count them
 *
 * Nothing is stopped: each actor is described as it was at some moment during the call,
 * and who is born or ends meanwhile may be missing.  The time it takes grows with the
 * number of actors that there have been at a time.
 *
 * Return: how many there are, of which the first @size are in @list; -EPERM outside of
 * an actor.
 */
ssize_t roost_actors(struct roost_actor_info *list, size_t size);

/* In the place of a worker's number: threads that carry none. */
#define ROOST_NO_WORKER	(~0U)

/**
 * struct roost_worker_stats - one worker: what it is at, and its counters
 * @running:	the actor that it runs; ROOST_PID_NONE: none.  Of a worker that was given to
 *		another thread (Documentation/blocking.rst) it may be the actor that is
 *		blocked, which has not noticed yet
 * @next:	who is in its wake slot; ROOST_PID_NONE: nobody, or there are none
 * @queued:	actors that wait in its own queue; where all workers share one, in that
 * @idle:	1: it sleeps, or is about to
 * @reserved0:	zero
 * @spawned:	this and all that follow: as in struct roost_stats, of this worker alone
 * @resumes:	as there; so for all that follow
 * @parks:	as there
 * @parks_refused: as there
 * @wakes_sent:	by this worker, to others.  With the kernel backend struct roost_stats has
 *		the module's count instead, in which two that meet in one park are one
 * @wakes_received: that it found before it slept; with the futex backend also those
 *		that have ended a park, which the module counts else
 * @wake_calls:	as there
 * @enters:	as there
 * @timers_armed: as there
 * @timers_fired: by this worker, whoever has armed them
 * @fd_arms:	as there
 * @fd_events:	as there
 * @ring_ios:	as there
 * @displaced:	as there
 * @crashed:	as there
 * @slot_hits:	as there
 * @slot_displaced: as there
 * @overruns:	as there
 * @reserved:	zero
 */
struct roost_worker_stats {
	roost_pid running;
	roost_pid next;
	unsigned int queued;
	unsigned int idle;
	uint64_t reserved0;
	uint64_t spawned;
	uint64_t resumes;
	uint64_t parks;
	uint64_t parks_refused;
	uint64_t wakes_sent;
	uint64_t wakes_received;
	uint64_t wake_calls;
	uint64_t enters;
	uint64_t timers_armed;
	uint64_t timers_fired;
	uint64_t fd_arms;
	uint64_t fd_events;
	uint64_t ring_ios;
	uint64_t displaced;
	uint64_t crashed;
	uint64_t slot_hits;
	uint64_t slot_displaced;
	uint64_t overruns;
	uint64_t reserved[10];
};

/**
 * roost_worker_stats() - look at one worker
 * @of:		any pid of the runtime, whether that actor lives or not; ROOST_PID_NONE:
 *		the calling actor's runtime
 * @worker:	its number, below @workers of struct roost_stats; ROOST_NO_WORKER: the
 *		counters of threads that carry no worker
 * @stats:	filled in
 *
 * Nothing is stopped: each figure was true during the call, and two of them need not
 * belong together.  Counters of all workers and of ROOST_NO_WORKER add up to those of
 * roost_stats(), but for the wakes of the kernel backend.  Any thread may call this,
 * also one that is in no roost_run(); not a signal handler.
 *
 * Return: 0; -EINVAL if there is no such worker; -ESRCH if @of names no runtime; -EPERM
 * outside of an actor if @of is ROOST_PID_NONE.
 */
int roost_worker_stats(roost_pid of, unsigned int worker,
		       struct roost_worker_stats *stats);

/**
 * struct roost_stack_info - the stacks of one size
 * @size:	usable bytes of each; what an actor has used of its own says
 *		roost_stack_used(), and the most of all @stack_high of struct roost_stats
 * @address_space: bytes that are reserved for them, with guard pages
 * @used:	how many actors have
 * @pooled:	that are kept ready, as former actors have left them
 * @unused:	that there is place for beside these, without pages
 * @chunks:	pieces that the address space was reserved in
 * @reserved:	zero
 */
struct roost_stack_info {
	size_t size;
	size_t address_space;
	uint64_t used;
	uint64_t pooled;
	uint64_t unused;
	unsigned int chunks;
	unsigned int reserved[5];
};

/**
 * roost_stacks() - count the stacks of a runtime
 * @of:		as for roost_worker_stats()
 * @list:	where they go: first those of the size in the configuration, then those of
 *		each power of two that a spawn has asked for, the smallest first
 * @size:	of @list, in sizes of stacks; 0 to count them
 *
 * The counts of one size belong together.  Any thread may call this, as there.
 *
 * Return: how many sizes there are, of which the first @size are in @list; -ESRCH and
 * -EPERM as there.
 */
ssize_t roost_stacks(roost_pid of, struct roost_stack_info *list, size_t size);

ROOST_END_DECLS

#endif /* ROOST_INSPECT_H */
