// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * worker_stats.c - one worker's counters, and what it is at, without stopping it.
 *
 * All of it is read with relaxed loads while others go on: each figure is one that was
 * true during the call, and two of them need not belong together.
 */
#include <errno.h>
#include <string.h>

#include <roost/inspect.h>

#include "runtime.h"
#include "threads.h"
#include "visit.h"
#include "worker.h"

static uint64_t count(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void read_counters(struct roost_worker_stats *to,
			  const struct worker_stats *s)
{
	to->spawned = count(&s->spawned);
	to->resumes = count(&s->resumes);
	to->parks = count(&s->parks);
	to->parks_refused = count(&s->parks_refused);
	to->wakes_sent = count(&s->wakes_sent);
	to->wakes_received = count(&s->wakes_received);
	to->wake_calls = count(&s->wake_calls);
	to->enters = count(&s->enters);
	to->timers_armed = count(&s->timers_armed);
	to->timers_fired = count(&s->timers_fired);
	to->fd_arms = count(&s->fd_arms);
	to->fd_events = count(&s->fd_events);
	to->ring_ios = count(&s->ring_ios);
	to->displaced = count(&s->displaced);
	to->crashed = count(&s->crashed);
	to->slot_hits = count(&s->slot_hits);
	to->slot_displaced = count(&s->slot_displaced);
	to->overruns = count(&s->overruns);
}

static roost_pid pid_of(struct runtime *rt, const struct slot *s)
{
	return runtime_pid(rt, s, slot_word_generation(slot_load(s)));
}

/*
 * With one worker alone a plain word of its own thread, which counts in it all the
 * time; it is aligned, and so is read whole.
 */
__attribute__((no_sanitize("thread")))
static uint32_t kept(const struct worker *w)
{
	return *(const volatile uint32_t *)&w->own.count;
}

struct wanted {
	const struct worker *w;
	struct roost_worker_stats *stats;
};

/* The slot may have another tenant by now: only who is still there had that pid. */
static roost_pid pid_that_runs(struct carrier *c)
{
	const struct slot *s;
	roost_pid pid;

	do {
		s = __atomic_load_n(&c->current, __ATOMIC_RELAXED);
		pid = s ? pid_of(c->rt, s) : ROOST_PID_NONE;
		/* After the acquire of the state word. */
	} while (__atomic_load_n(&c->current, __ATOMIC_RELAXED) != s);
	return pid;
}

/* Who runs on @c, if that carries the worker. */
static void note_running(struct carrier *c, void *arg)
{
	const struct wanted *wanted = arg;
	roost_pid pid;

	if (__atomic_load_n(&c->worker, __ATOMIC_RELAXED) != wanted->w)
		return;
	pid = pid_that_runs(c);
	if (pid != ROOST_PID_NONE)
		wanted->stats->running = pid;
}

/* As above. */
static roost_pid pid_that_is_next(struct runtime *rt, struct worker *w)
{
	roost_pid pid;
	uint32_t next;

	do {
		next = atomic_load_explicit(&w->next_up, memory_order_relaxed);
		pid = next ? pid_of(rt, &rt->slots[next - 1]) : ROOST_PID_NONE;
	} while (atomic_load_explicit(&w->next_up, memory_order_relaxed) != next);
	return pid;
}

static void read_place(struct runtime *rt, struct worker *w,
		       struct roost_worker_stats *stats)
{
	struct wanted wanted = { w, stats };
	uint64_t idle = atomic_load_explicit(control_idle(rt, w->index / 64),
					     memory_order_relaxed);

	stats->next = pid_that_is_next(rt, w);
	stats->queued = kept(w) + runq_near(rt->runq, w->index);
	stats->idle = idle >> (w->index % 64) & 1;
	threads_for_each(rt, note_running, &wanted);
}

static int read_worker(struct runtime *rt, unsigned int worker,
		       struct roost_worker_stats *stats)
{
	/* Constant also while the threads are being started. */
	if (worker >= rt->nr_inited && worker != ROOST_NO_WORKER)
		return -EINVAL;
	memset(stats, 0, sizeof(*stats));
	stats->running = ROOST_PID_NONE;
	stats->next = ROOST_PID_NONE;
	if (worker == ROOST_NO_WORKER) {
		read_counters(stats, &rt->outside);
		return 0;
	}
	read_counters(stats, &rt->workers[worker].stats);
	read_place(rt, &rt->workers[worker], stats);
	return 0;
}

int roost_worker_stats(roost_pid of, unsigned int worker,
		       struct roost_worker_stats *stats)
{
	struct visit v;
	int err = visit_begin(&v, of);

	if (err)
		return err;
	return (int)visit_end(&v, read_worker(v.rt, worker, stats));
}
