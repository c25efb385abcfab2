/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * runtime.h - one running instance of the library.
 *
 * Pids are unique in the process: each runtime holds a range of slot indices,
 * [base, base + max_actors), from its start to its end, so that a thread
 * outside can unpark an actor without naming its runtime.
 */
#ifndef ROOST_LIB_RUNTIME_H
#define ROOST_LIB_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <linux/roost.h>
#include <roost/runtime.h>

#include "backend.h"
#include "caches.h"
#include "compiler.h"
#include "runq.h"
#include "slot.h"
#include "slot_watch.h"
#include "spin.h"
#include "stack_sizes.h"
#include "threads.h"
#include "trace.h"
#include "worker.h"

/**
 * struct runtime - a run
 * @config:	knobs, all resolved: none is 0 where 0 means the default
 * @backend:	constant
 * @control:	idle mask and event counter; set by backend->start()
 * @backend_data: the backend's own
 * @fds:	fd.c's own
 * @slots:	the slot table, constant
 * @ring_ios:	slots below this may do I/O in the ring; 0: there is none.  May fall
 *		to that while it runs
 * @ring_files:	descriptor numbers below this may be used there
 * @base:	process-wide index of @slots[0], constant
 * @workers:	all workers, constant while it runs
 * @nr_workers:	how many; final before the first actor runs
 * @nr_inited:	workers whose backend part exists; perhaps more than run
 * @takeover:	the backend gives the worker of who is stuck to who stands by; constant
 * @extra:	EXTRA_*: what queueing and resuming actors have to do beside
 * @caches:	which CPUs share one; constant
 * @threads:	all threads
 * @process:	whose it is, constant
 * @crashes_said: crashes that a line was written about, and those after them
 * @root:	pid of the first actor
 * @cycles:	by slot: what its tenant has used, see account.h; or NULL.  Constant
 * @runq:	the run queue
 * @wake_slot:	workers have wake slots; constant while actors run
 * @watch:	the thread that looks at them
 * @stacks:	stacks
 * @stack_high:	with ROOST_STACK_MEASURED: the most that an ended actor has used
 * @slot_lock:	guards the free list
 * @slot_fresh:	slots from here on were never used
 * @slot_free:	index + 1 of the first free used slot
 * @live:	actors that have not ended; raised before the first push, lowered
 *		last of all
 * @root_gone:	the root actor has ended
 * @sweep_hint:	a slot that was in the way of sweep_remainder()
 * @sweep_lock:	one at a time looks for and stops the remainder
 * @reluctant:	index + 1 of the worker that is woken last, 0 for none
 * @trace:	see trace.h
 * @outside:	counters for threads that are no workers of it; added atomically
 * @full_said:	the line about a full slot table was written
 * @signals_said:	the line about stacks for signals was
 * @registered:	in the list of all runtimes
 * @visitors:	threads outside that are in here now
 */
struct runtime {
	struct roost_config config;
	const struct backend *backend;
	struct roost_control *control;
	void *backend_data;
	void *fds;
	struct slot *slots;
	_Atomic uint32_t ring_ios;
	uint32_t ring_files;
	uint32_t base;
	struct worker *workers;
	unsigned int nr_workers;
	unsigned int nr_inited;
	bool takeover;
	_Atomic uint32_t extra;
	_Atomic uint64_t *cycles;
	struct caches caches;
	pid_t process;
	_Atomic uint32_t crashes_said;
	roost_pid root;
	struct runq *runq;
	bool wake_slot;
	struct slot_watch watch;

	struct spin slot_lock ____cacheline_aligned;
	_Atomic uint32_t slot_fresh;
	uint32_t slot_free;

	_Atomic uint32_t live ____cacheline_aligned;
	_Atomic bool root_gone;
	_Atomic uint32_t sweep_hint;
	struct spin sweep_lock;
	_Atomic bool full_said;
	_Atomic bool signals_said;
	_Atomic uint32_t reluctant;

	struct stack_sizes stacks ____cacheline_aligned;
	_Atomic size_t stack_high;
	struct threads threads ____cacheline_aligned;
	struct trace trace;
	struct worker_stats outside ____cacheline_aligned;
	struct list_head registered;
	_Atomic uint32_t visitors;
} __attribute__((aligned(CACHELINE)));

/* The kernel's view of the shared words is plain; ours is atomic. */
static inline _Atomic uint32_t *control_event(struct runtime *rt)
{
	return (_Atomic uint32_t *)&rt->control->event;
}

static inline _Atomic uint64_t *control_idle(struct runtime *rt,
					     unsigned int word)
{
	return (_Atomic uint64_t *)&rt->control->idle[word];
}

/*
 * Bits of @extra, in one word so that who has none of this to do, as is usual, finds out
 * by one load.  Constant but for EXTRA_TRACE.
 */
#define EXTRA_TAKEOVER	0x1U	/* @takeover */
#define EXTRA_TRACE	0x2U	/* events are recorded */
#define EXTRA_CYCLES	0x4U	/* @cycles is there */
/* Each resume is to be seen by the scheduler. */
#define EXTRA_WATCH	(EXTRA_TRACE | EXTRA_CYCLES)

/** runtime_extra() - @extra; relaxed: it orders nothing */
static inline uint32_t runtime_extra(const struct runtime *rt)
{
	return atomic_load_explicit(&rt->extra, memory_order_relaxed);
}

/** runtime_traces() - are events recorded?  See trace.h */
static inline bool runtime_traces(const struct runtime *rt)
{
	return runtime_extra(rt) & EXTRA_TRACE;
}

/** runtime_slot() - the slot of a pid, whatever its generation; NULL: none */
static inline struct slot *runtime_slot(struct runtime *rt, roost_pid pid)
{
	uint32_t i = pid_index(pid) - rt->base;

	return i < rt->config.max_actors ? &rt->slots[i] : NULL;
}

static inline roost_pid runtime_pid(const struct runtime *rt,
				    const struct slot *s, uint32_t generation)
{
	return (uint64_t)generation << 32 | (rt->base + s->index);
}

/** runtime_ring_ios() - @ring_ios; relaxed: it orders nothing */
static inline uint32_t runtime_ring_ios(const struct runtime *rt)
{
	return atomic_load_explicit(&rt->ring_ios, memory_order_relaxed);
}

/** worker_has_next() - is the wake slot of @w full?  Relaxed. */
static inline bool worker_has_next(const struct worker *w)
{
	return atomic_load_explicit(&w->next_up, memory_order_relaxed);
}

/** worker_near() - actors that @w gets to run without asking others, relaxed */
static inline uint32_t worker_near(const struct worker *w)
{
	return w->own.count + runq_near(w->rt->runq, w->index) +
	       worker_has_next(w);
}

/** worker_queued() - are there any that @w can get to run?  Relaxed. */
static inline bool worker_queued(const struct worker *w)
{
	return w->own.count || worker_has_next(w) ||
	       runq_any(w->rt->runq, w->index);
}

static inline void runtime_set_queued(struct runtime *rt, uint32_t value)
{
	atomic_store_explicit((_Atomic uint32_t *)&rt->control->queued, value,
			      memory_order_relaxed);
}

static inline uint32_t runtime_told_queued(struct runtime *rt)
{
	return atomic_load_explicit((_Atomic uint32_t *)&rt->control->queued,
				    memory_order_relaxed);
}

/*
 * runtime_tell_queued() - something was pushed: who runs for long keeps it waiting
 *
 * That is for the module to know where it takes workers away.
 */
static inline void runtime_tell_queued(struct runtime *rt)
{
	if (likely(!rt->takeover))
		return;
	/* The push before the look; pairs with the one in tell_empty(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (!runtime_told_queued(rt))
		runtime_set_queued(rt, 1);
}

/* With one worker alone: @s, in state Queued or as good as that, is in the list of @w. */
static inline void runtime_keep(struct runtime *rt, struct worker *w,
				struct slot *s)
{
	runq_mark(s);
	runq_batch_add(rt->slots, &w->own, s);
}

/* runtime_queue() without an event. */
static inline void runtime_push(struct runtime *rt, struct worker *w,
				struct slot *s)
{
	if (w && rt->nr_workers == 1)
		runtime_keep(rt, w, s);
	else
		runq_push(rt->runq, s, w ? w->index : RUNQ_OUTSIDE);
	runtime_tell_queued(rt);
}

/* ... and with one.  All of it, so that nothing is kept in registers for it. */
void runtime_queue_traced(struct runtime *rt, struct worker *w, struct slot *s) cold;

/**
 * runtime_queue() - @s is ready to run: push it
 * @rt:		the runtime
 * @w:		what the calling thread carries of it, or NULL
 * @s:		in state Queued
 *
 * Nobody is woken.
 */
static inline void runtime_queue(struct runtime *rt, struct worker *w,
				 struct slot *s)
{
	if (unlikely(runtime_traces(rt)))
		runtime_queue_traced(rt, w, s);
	else
		runtime_push(rt, w, s);
}

/** runtime_queue_batch() - runtime_queue() for each; the caller carries @w */
static inline void runtime_queue_batch(struct runtime *rt, struct worker *w,
				       struct runq_batch *batch)
{
	if (unlikely(runtime_traces(rt)))
		trace_batch(rt, batch);
	if (rt->nr_workers == 1)
		runq_batch_move(rt->slots, &w->own, batch);
	else
		runq_push_batch(rt->runq, batch, w->index);
	runtime_tell_queued(rt);
}

/** runtime_self() - the runtime of the calling actor or carrier, or NULL */
struct runtime *runtime_self(void);

/**
 * stat_count() - add to a counter, from any thread
 * @rt:		the runtime
 * @offset:	STAT(name)
 * @n:		how many
 */
static inline void stat_count(struct runtime *rt, size_t offset, uint64_t n)
{
	struct worker *w = worker_self();
	_Atomic uint64_t *c;

	/* Not of a carrier that has lost its worker. */
	if (w && w->rt == rt) {
		c = (_Atomic uint64_t *)((char *)&w->stats + offset);
		stat_add(c, n);
	} else {
		c = (_Atomic uint64_t *)((char *)&rt->outside + offset);
		atomic_fetch_add_explicit(c, n, memory_order_relaxed);
	}
}

#define STAT(name)	offsetof(struct worker_stats, name)

#endif /* ROOST_LIB_RUNTIME_H */
