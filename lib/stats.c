// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* stats.c - sums over the workers' counters. */
#include <errno.h>
#include <string.h>

#include "runtime.h"
#include "worker.h"

static void add_counters(struct roost_stats *sum, const struct worker_stats *s)
{
	sum->spawned += atomic_load_explicit(&s->spawned, memory_order_relaxed);
	sum->resumes += atomic_load_explicit(&s->resumes, memory_order_relaxed);
	sum->parks += atomic_load_explicit(&s->parks, memory_order_relaxed);
	sum->parks_refused += atomic_load_explicit(&s->parks_refused,
						   memory_order_relaxed);
	sum->wakes_sent += atomic_load_explicit(&s->wakes_sent,
						memory_order_relaxed);
	sum->wakes_received += atomic_load_explicit(&s->wakes_received,
						    memory_order_relaxed);
	sum->wake_calls += atomic_load_explicit(&s->wake_calls,
						memory_order_relaxed);
	sum->enters += atomic_load_explicit(&s->enters, memory_order_relaxed);
	sum->timers_armed += atomic_load_explicit(&s->timers_armed,
						  memory_order_relaxed);
	sum->timers_fired += atomic_load_explicit(&s->timers_fired,
						  memory_order_relaxed);
	sum->fd_arms += atomic_load_explicit(&s->fd_arms, memory_order_relaxed);
	sum->fd_events += atomic_load_explicit(&s->fd_events,
					       memory_order_relaxed);
	sum->ring_ios += atomic_load_explicit(&s->ring_ios,
					      memory_order_relaxed);
	sum->crashed += atomic_load_explicit(&s->crashed, memory_order_relaxed);
	sum->slot_hits += atomic_load_explicit(&s->slot_hits,
					       memory_order_relaxed);
	sum->slot_displaced += atomic_load_explicit(&s->slot_displaced,
						    memory_order_relaxed);
	sum->overruns += atomic_load_explicit(&s->overruns,
					      memory_order_relaxed);
	sum->displaced += atomic_load_explicit(&s->displaced,
					       memory_order_relaxed);
}

static void read_stats(struct runtime *rt, struct roost_stats *stats)
{
	unsigned int i;

	memset(stats, 0, sizeof(*stats));
	stats->backend = rt->backend->name;
	stats->workers = rt->nr_workers;
	stats->live = atomic_load_explicit(&rt->live, memory_order_relaxed);
	for (i = 0; i < rt->nr_workers; i++)
		add_counters(stats, &rt->workers[i].stats);
	stats->busy_ns = threads_busy_ns(rt);
	add_counters(stats, &rt->outside);
	stats->stack_high = atomic_load_explicit(&rt->stack_high,
						 memory_order_relaxed);
	if (rt->backend->stats)
		rt->backend->stats(rt, stats);
	for (i = 0; i < ARRAY_SIZE(stats->idle_mask); i++)
		stats->idle_mask[i] = atomic_load_explicit(control_idle(rt, i),
							   memory_order_relaxed);
}

int roost_stats(struct roost_stats *stats)
{
	struct carrier *c = library_enter();

	if (!c)
		return -EPERM;
	read_stats(c->rt, stats);
	library_leave();
	return 0;
}
