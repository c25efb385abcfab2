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
#include "spin.h"
#include "stack.h"
#include "threads.h"
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
 * @caches:	which CPUs share one; constant
 * @threads:	all threads
 * @root:	pid of the first actor
 * @runq:	the run queue
 * @stacks:	stacks
 * @slot_lock:	guards the free list
 * @slot_fresh:	slots from here on were never used
 * @slot_free:	index + 1 of the first free used slot
 * @live:	actors that have not ended; raised before the first push, lowered
 *		last of all
 * @root_gone:	the root actor has ended
 * @sweep_hint:	a slot that was in the way of sweep_remainder()
 * @sweep_lock:	one at a time looks for and stops the remainder
 * @reluctant:	index + 1 of the worker that is woken last, 0 for none
 * @outside:	counters for threads that are no workers of it; added atomically
 * @full_said:	the line about a full slot table was written
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
	struct caches caches;
	roost_pid root;
	struct runq *runq;

	struct spin slot_lock ____cacheline_aligned;
	_Atomic uint32_t slot_fresh;
	uint32_t slot_free;

	_Atomic uint32_t live ____cacheline_aligned;
	_Atomic bool root_gone;
	_Atomic uint32_t sweep_hint;
	struct spin sweep_lock;
	_Atomic bool full_said;
	_Atomic uint32_t reluctant;

	struct stacks stacks ____cacheline_aligned;
	struct threads threads ____cacheline_aligned;
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

/** runq_batch_add() - append a slot, which is in state Queued */
static inline void runq_batch_add(struct runtime *rt, struct runq_batch *batch,
				  struct slot *s)
{
	if (batch->count++)
		rt->slots[batch->last].next = s->index;
	else
		batch->first = s->index;
	batch->last = s->index;
}

/** worker_queued() - actors that are ready to run on @w; those of all, relaxed */
static inline uint32_t worker_queued(const struct worker *w)
{
	return w->own.count + runq_length(w->rt->runq);
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
