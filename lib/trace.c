// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * trace.c - rings of events: made, begun, written to, read.
 *
 * LOCKING: trace->lock is for who starts and stops; a ring's lock for the writers of
 * the one ring that has several.  Both are leaves.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <roost/actor.h>

#include "inject.h"
#include "log.h"
#include "runtime.h"
#include "visit.h"
#include "worker.h"

/* Making them */

uint32_t trace_size(unsigned int events)
{
	uint32_t size = 2;

	if (!events)
		events = TRACE_DEFAULT_EVENTS;
	if (events > TRACE_MOST_EVENTS)
		return 0;
	while (size < events)
		size <<= 1;
	return size;
}

/* Their pages come as they are written to. */
static struct trace_entry *entries_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static struct trace_rings *rings_make(unsigned int workers, uint32_t size)
{
	unsigned int count = workers + 1, i;
	struct trace_rings *t;
	size_t bytes = sizeof(*t) + count * sizeof(t->ring[0]);

	t = aligned_alloc(_Alignof(struct trace_rings), bytes);
	if (!t)
		return NULL;
	memset(t, 0, bytes);
	t->size = size;
	t->count = count;
	t->bytes = (size_t)count * size * sizeof(*t->entries);
	t->entries = entries_map(t->bytes);
	if (!t->entries) {
		free(t);
		return NULL;
	}
	for (i = 0; i < count; i++) {
		spin_init(&t->ring[i].lock);
		t->ring[i].entries = t->entries + (size_t)i * size;
	}
	return t;
}

static void rings_free(struct trace_rings *t)
{
	munmap(t->entries, t->bytes);
	free(t);
}

/* Beginning and ending */

static void begin(struct runtime *rt)
{
	atomic_store_explicit(&rt->trace.stopped, 0, memory_order_relaxed);
	atomic_fetch_or_explicit(&rt->extra, EXTRA_TRACE, memory_order_release);
}

static int start(struct runtime *rt, unsigned int events)
{
	uint32_t size = trace_size(events);
	struct trace_rings *t = NULL;

	if (!size)
		return -EINVAL;
	/* Made before the lock is taken; others may make them at the same time. */
	if (!trace_rings_of(&rt->trace)) {
		t = rings_make(rt->config.workers, size);
		if (!t)
			return -ENOMEM;
	}
	spin_lock(&rt->trace.lock);
	if (!trace_rings_of(&rt->trace)) {
		/* Release: what is in it; pairs with trace_rings_of(). */
		atomic_store_explicit(&rt->trace.rings, t, memory_order_release);
		t = NULL;
	}
	begin(rt);
	spin_unlock(&rt->trace.lock);
	if (t)
		rings_free(t);
	return 0;
}

static void stop(struct runtime *rt)
{
	spin_lock(&rt->trace.lock);
	if (runtime_traces(rt)) {
		atomic_fetch_and_explicit(&rt->extra, ~EXTRA_TRACE,
					  memory_order_relaxed);
		atomic_store_explicit(&rt->trace.stopped, roost_now(),
				      memory_order_relaxed);
	}
	spin_unlock(&rt->trace.lock);
}

/*
 * Where to, if the environment says so; not for who has more rights than the caller.
 * A copy, since the environment may be changed meanwhile.
 */
static int path_from_environment(char **path)
{
	const char *there = secure_getenv("ROOST_TRACE");

	*path = NULL;
	if (!there || !*there)
		return 0;
	*path = strdup(there);
	return *path ? 0 : -ENOMEM;
}

int trace_memory_init(struct runtime *rt)
{
	spin_init(&rt->trace.lock);
	atomic_init(&rt->trace.rings, NULL);
	atomic_init(&rt->trace.stopped, 0);
	return path_from_environment(&rt->trace.path);
}

void trace_memory_fini(struct runtime *rt)
{
	struct trace_rings *t = trace_rings_of(&rt->trace);

	if (t)
		rings_free(t);
	free(rt->trace.path);
}

int trace_init(struct runtime *rt)
{
	if (!rt->config.trace_events && !rt->trace.path)
		return 0;
	return start(rt, rt->config.trace_events);
}

void trace_fini(struct runtime *rt)
{
	int err;

	if (!trace_rings_of(&rt->trace))
		return;
	stop(rt);
	err = rt->trace.path ? trace_save(rt, rt->trace.path) : 0;
	if (err)
		log_line("the trace is not in %s: %s", rt->trace.path,
			 strerror(-err));
}

/* Writing */

static void write_event(struct trace_rings *t, struct trace_ring *r,
			const struct roost_trace_event *e)
{
	uint64_t n = atomic_load_explicit(&r->next, memory_order_relaxed);
	_Atomic uint64_t *word = r->entries[n & (t->size - 1)].word;

	/* [W]: who sees a word of this event sees that @next is @n; pairs with [R]. */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&word[0], e->time, memory_order_relaxed);
	inject_delay();
	atomic_store_explicit(&word[1], e->pid, memory_order_relaxed);
	atomic_store_explicit(&word[2], e->value, memory_order_relaxed);
	atomic_store_explicit(&word[3], (uint64_t)e->detail << 32 | e->kind,
			      memory_order_relaxed);
	/* Release: the words; pairs with the acquire in trace_read(). */
	atomic_store_explicit(&r->next, n + 1, memory_order_release);
}

/* Into the ring of @w, which the calling thread carries; NULL: of who carries none. */
static void put(struct runtime *rt, const struct worker *w,
		struct roost_trace_event *e)
{
	struct trace_rings *t = trace_rings_of(&rt->trace);
	struct trace_ring *r;

	/* That it records may be seen before the rings are. */
	if (!t)
		return;
	if (w) {
		e->time = roost_now();
		write_event(t, &t->ring[w->index], e);
		return;
	}
	r = &t->ring[t->count - 1];
	spin_lock(&r->lock);
	e->time = roost_now();
	write_event(t, r, e);
	spin_unlock(&r->lock);
}

static const struct worker *carried(const struct runtime *rt)
{
	const struct carrier *c = carrier_self();

	return c->rt == rt ? c->worker : NULL;
}

static roost_pid pid_of(const struct runtime *rt, const struct slot *s)
{
	return runtime_pid(rt, s, slot_word_generation(slot_load(s)));
}

static void put_pid(struct runtime *rt, const struct worker *w,
		    enum roost_trace_kind kind, roost_pid pid,
		    unsigned int detail, uint64_t value)
{
	struct roost_trace_event e = {
		.pid = pid,
		.kind = kind,
		.detail = detail,
		.value = value,
	};

	put(rt, w, &e);
}

static void put_of(struct runtime *rt, const struct worker *w,
		   enum roost_trace_kind kind, const struct slot *s,
		   unsigned int detail, uint64_t value)
{
	put_pid(rt, w, kind, pid_of(rt, s), detail, value);
}

void trace_put(struct runtime *rt, enum roost_trace_kind kind, const struct slot *s,
	       unsigned int detail, uint64_t value)
{
	put_of(rt, carried(rt), kind, s, detail, value);
}

void trace_put_none(struct runtime *rt, enum roost_trace_kind kind,
		    unsigned int detail, uint64_t value)
{
	put_pid(rt, carried(rt), kind, ROOST_PID_NONE, detail, value);
}

/* The calling actor of @rt. */
static roost_pid doer(const struct runtime *rt)
{
	const struct carrier *c = carrier_self();

	return c->rt == rt && c->current ? pid_of(rt, c->current) :
					   ROOST_PID_NONE;
}

void trace_spawned(struct runtime *rt, const struct slot *s)
{
	trace_put(rt, ROOST_TRACE_SPAWN, s, 0, doer(rt));
}

void trace_woken(struct runtime *rt, roost_pid pid, unsigned int detail,
		 bool early)
{
	put_pid(rt, carried(rt), early ? ROOST_TRACE_WAKE_EARLY : ROOST_TRACE_WAKE,
		pid, detail, doer(rt));
}

void trace_batch(struct runtime *rt, const struct runq_batch *batch)
{
	uint32_t i, at = batch->first;

	for (i = 0; i < batch->count; i++, at = rt->slots[at].next) {
		trace_put(rt, ROOST_TRACE_WAKE, &rt->slots[at], ROOST_WAITS_IO,
			  ROOST_PID_NONE);
		trace_put(rt, ROOST_TRACE_ENQUEUE, &rt->slots[at], 0, 0);
	}
}

void trace_popped(struct worker *w, const struct slot *s, bool runs)
{
	if (runs)
		w->popped = w->takes;
	put_of(w->rt, w, ROOST_TRACE_SLOT_POP, s, 0, 0);
}

void trace_resumed(struct worker *w, const struct slot *s, bool stillborn)
{
	if (w->popped != w->takes)
		put_of(w->rt, w, ROOST_TRACE_DEQUEUE, s, 0, 0);
	if (!stillborn)
		put_of(w->rt, w, ROOST_TRACE_RESUME, s, 0, 0);
}

static enum roost_end end_of(const struct slot *s)
{
	if (s->crash.reason != ROOST_CRASH_NONE)
		return ROOST_END_CRASHED;
	return slot_load(s) & SLOT_STOP ? ROOST_END_STOPPED : ROOST_END_RETURNED;
}

/* It is about to be parked; ROOST_WAITS_NOT if the wait was ended already. */
static enum roost_waits_for waits_for(const struct slot *s)
{
	enum roost_waits_for what = slot_waits(s);
	uint64_t word = slot_load(s);

	if (word & SLOT_PARKING)
		return ROOST_WAITS_UNPARK;
	if (what == ROOST_WAITS_NOT && slot_word_state(word) == SLOT_RUNNING)
		return ROOST_WAITS_IO;
	return what;
}

void trace_left(const struct carrier *c, const struct slot *s, bool overrun)
{
	struct runtime *rt = c->rt;

	switch (c->intent) {
	case INTENT_YIELD:
		put_of(rt, c->worker, ROOST_TRACE_YIELD, s, overrun, 0);
		break;
	case INTENT_PARK:
	case INTENT_PARK_ENDLESS:
	case INTENT_PARK_AND_HAND:
		put_of(rt, c->worker, ROOST_TRACE_PARK, s, waits_for(s), 0);
		break;
	case INTENT_EXIT:
	case INTENT_CRASHED:
		put_of(rt, c->worker, ROOST_TRACE_DONE, s, end_of(s), 0);
		break;
	case INTENT_DISPLACED:
	case INTENT_CRASHED_DISPLACED:
		/* The worker is another's, and so is its ring. */
		put_of(rt, NULL, ROOST_TRACE_DISPLACED, s, 0, 0);
		break;
	}
}

/* Reading */

size_t trace_read(const struct trace_rings *t, unsigned int ring,
		  uint64_t *position, struct roost_trace_event *list, size_t size)
{
	const struct trace_ring *r = &t->ring[ring];
	/* Acquire: the words of the events before it. */
	uint64_t next = atomic_load_explicit(&r->next, memory_order_acquire);
	uint64_t first = next > t->size ? next - t->size : 0;
	size_t i, n, gone;
	uint64_t now, kind;

	if (first < *position)
		first = *position;
	n = next > first ? next - first : 0;
	if (n > size)
		n = size;
	for (i = 0; i < n; i++) {
		const struct trace_entry *e =
			&r->entries[(first + i) & (t->size - 1)];

		list[i].time = atomic_load_explicit(&e->word[0], memory_order_relaxed);
		inject_delay();
		list[i].pid = atomic_load_explicit(&e->word[1], memory_order_relaxed);
		list[i].value = atomic_load_explicit(&e->word[2], memory_order_relaxed);
		kind = atomic_load_explicit(&e->word[3], memory_order_relaxed);
		list[i].kind = (unsigned int)kind;
		list[i].detail = (unsigned int)(kind >> 32);
	}
	/* [R]: the words before @next; pairs with [W]. */
	atomic_thread_fence(memory_order_acquire);
	now = atomic_load_explicit(&r->next, memory_order_relaxed);
	/* The event number @now may be half written, and lies where now - size did. */
	gone = now >= first + t->size ? now - t->size - first + 1 : 0;
	if (gone > n)
		gone = n;
	if (gone)
		memmove(list, list + gone, (n - gone) * sizeof(*list));
	*position = first + n;
	return n - gone;
}

static ssize_t read_ring(struct runtime *rt, unsigned int worker,
			 uint64_t *position, struct roost_trace_event *list,
			 size_t size)
{
	const struct trace_rings *t = trace_rings_of(&rt->trace);

	if (worker >= rt->nr_inited && worker != ROOST_NO_WORKER)
		return -EINVAL;
	if (!t)
		return 0;
	if (worker == ROOST_NO_WORKER)
		worker = t->count - 1;
	return (ssize_t)trace_read(t, worker, position, list, size);
}

/* Public */

int roost_trace_start(roost_pid of, unsigned int events)
{
	struct visit v;
	int err = visit_begin(&v, of);

	if (err)
		return err;
	return (int)visit_end(&v, start(v.rt, events));
}

int roost_trace_stop(roost_pid of)
{
	struct visit v;
	int err = visit_begin(&v, of);

	if (err)
		return err;
	stop(v.rt);
	return (int)visit_end(&v, 0);
}

ssize_t roost_trace_read(roost_pid of, unsigned int worker, uint64_t *position,
			 struct roost_trace_event *list, size_t size)
{
	struct visit v;
	int err = visit_begin(&v, of);

	if (err)
		return err;
	return visit_end(&v, read_ring(v.rt, worker, position, list, size));
}
