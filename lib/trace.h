/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * trace.h - rings of events: see roost/trace.h.
 *
 * A RING has one writer, whoever has the lease of the worker; that of the threads which
 * carry none has a lock for them.  Readers take nothing from it, and nobody waits for
 * them:
 *
 *	writer				reader
 *	next = n		[W]	n = next		[acquire]
 *	release fence			words of the events before n, relaxed
 *	words of event n, relaxed	acquire fence		[R]
 *	next = n + 1	 [release]	n' = next
 *
 * Whoever has read a word of event n, which lies where n - size was, sees by the two
 * fences that next is n at least: so what was read of an event is right if n' is not
 * more than that event + size - 1.
 *
 * SITES.  While nothing is recorded each costs one relaxed load and a branch, and what
 * is to be recorded is not computed; or nothing, where the same load tells of more
 * (runtime_extra() in runtime.h).  Who becomes visible to others by something is
 * recorded before it, so what others do with it comes later in time.
 */
#ifndef ROOST_LIB_TRACE_H
#define ROOST_LIB_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <roost/trace.h>

#include "compiler.h"
#include "spin.h"

struct carrier;
struct runq_batch;
struct runtime;
struct slot;
struct worker;

#define TRACE_WORDS		4
#define TRACE_DEFAULT_EVENTS	16384U
#define TRACE_MOST_EVENTS	(1U << 24)

/* Relaxed: words of one event. */
struct trace_entry {
	_Atomic uint64_t word[TRACE_WORDS];
};

/**
 * struct trace_ring - events of one worker
 * @next:	number of the next one
 * @lock:	of the writers, where there may be several
 * @entries:	constant
 */
struct trace_ring {
	_Atomic uint64_t next;
	struct spin lock;
	struct trace_entry *entries;
} ____cacheline_aligned;

/**
 * struct trace_rings - all of a runtime; made once, and then kept to its end
 * @size:	events in each, a power of two
 * @count:	how many: those of the workers, and that of who carries none
 * @bytes:	that were mapped for @entries
 * @entries:	of all rings
 * @ring:	by the number of the worker, the last one of who carries none
 */
struct trace_rings {
	uint32_t size;
	unsigned int count;
	size_t bytes;
	struct trace_entry *entries;
	struct trace_ring ring[];
};

/**
 * struct trace - what a runtime has
 * @lock:	one at a time starts or stops
 * @rings:	NULL: nothing was ever recorded
 * @stopped:	when it was stopped the last time, ns; 0: it records
 * @path:	where all goes at the end of the run, NULL: nowhere; constant
 */
struct trace {
	struct spin lock;
	struct trace_rings *_Atomic rings;
	_Atomic uint64_t stopped;
	char *path;
};

/*
 * trace_memory_init(), trace_init() - as phases of roost_run().  Return: 0 or -errno
 *
 * At the end the memory goes when the backend's threads have gone, which may be about to
 * record something; what there is is written before.
 */
int trace_memory_init(struct runtime *rt);
void trace_memory_fini(struct runtime *rt);
int trace_init(struct runtime *rt);
void trace_fini(struct runtime *rt);

/** trace_size() - of a ring that is to have @events.  Return: 0: too many */
uint32_t trace_size(unsigned int events);

/*
 * trace_read() - as roost_trace_read(), of the ring number @ring
 */
size_t trace_read(const struct trace_rings *t, unsigned int ring,
		  uint64_t *position, struct roost_trace_event *list, size_t size);

/** trace_rings_of() - acquire; or NULL */
static inline struct trace_rings *trace_rings_of(const struct trace *t)
{
	return atomic_load_explicit(&t->rings, memory_order_acquire);
}

/** trace_save() - all there is, to the file @path.  Return: 0 or -errno */
int trace_save(struct runtime *rt, const char *path);

/* An event happens now; only if runtime_traces(). */
void trace_put(struct runtime *rt, enum roost_trace_kind kind, const struct slot *s,
	       unsigned int detail, uint64_t value) cold;

/** trace_put_none() - the same with no actor */
void trace_put_none(struct runtime *rt, enum roost_trace_kind kind,
		    unsigned int detail, uint64_t value) cold;

/** trace_spawned() - of the new actor @s, which nobody sees yet */
void trace_spawned(struct runtime *rt, const struct slot *s) cold;

/** trace_woken() - the wait of @pid was ended, before it is queued; @early: or parked */
void trace_woken(struct runtime *rt, roost_pid pid, unsigned int detail,
		 bool early) cold;

/* trace_wake() - the same if events are recorded; @effect: of ending the wait */
#define trace_wake(rt, pid, detail, effect)				\
	do {								\
		struct runtime *trace_rt = (rt);			\
		enum slot_effect trace_effect = (effect);		\
									\
		if (unlikely(runtime_traces(trace_rt)) &&		\
		    trace_effect != SLOT_NO_EFFECT)			\
			trace_woken(trace_rt, pid, detail,		\
				    trace_effect == SLOT_MARKED);	\
	} while (0)

/** trace_batch() - operations of all in @batch are over, and these are queued next */
void trace_batch(struct runtime *rt, const struct runq_batch *batch) cold;

/** trace_popped() - @w has taken @s from a wake slot; @runs: to run it, else to queue it */
void trace_popped(struct worker *w, const struct slot *s, bool runs) cold;

/** trace_resumed() - @w is about to run @s, taken from a queue or a wake slot; or,
 *	@stillborn, to bury it */
void trace_resumed(struct worker *w, const struct slot *s, bool stillborn) cold;

/** trace_left() - @c has run @s, which has left its stack; @overrun: it had to */
void trace_left(const struct carrier *c, const struct slot *s, bool overrun) cold;

/*
 * trace() - record an event if that is wanted; nothing is computed else
 */
#define trace(rt, kind, s, detail, value)				\
	do {								\
		struct runtime *trace_rt = (rt);			\
									\
		if (unlikely(runtime_traces(trace_rt)))			\
			trace_put(trace_rt, kind, s, detail, value);	\
	} while (0)

#endif /* ROOST_LIB_TRACE_H */
