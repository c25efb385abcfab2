// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * sweep.c - the end of what the root actor has left parked for ever.
 *
 * When the root is gone, every worker is idle, and every living actor is in a
 * wait that only another actor can end, nobody will ever run again.  Then all of
 * them are stopped.  A stopped actor never parks again, so each is met once, and
 * who was woken by the end of one of them meanwhile is met the next time.
 *
 * The scan is not atomic.  It counts: if as many actors were found parked for
 * ever as are alive, all workers were idle and the event counter was the same
 * before and after, and no actor was resumed meanwhile (a worker may have gone
 * up, run one and be idle again), the picture was true.
 *
 * One worker at a time looks and stops, and what it stops is not queued before
 * all is stopped: an actor that runs again at once could start another, which
 * the rest of the walk, or another worker with an old picture, would take for
 * one of the remainder.
 */
#include "sweep.h"

#include "idle.h"
#include "inject.h"
#include "runtime.h"
#include "worker.h"

static uint32_t slots_used(struct runtime *rt)
{
	return atomic_load_explicit(&rt->slot_fresh, memory_order_acquire);
}

static bool blocks_sweep(const struct slot *s)
{
	uint64_t word = slot_load(s);

	switch (slot_word_state(word)) {
	case SLOT_VACANT:
	case SLOT_DONE:
		return false;
	case SLOT_PARKED:
		return !(word & SLOT_ENDLESS);
	default:
		return true;
	}
}

/*
 * Are all the living parked for ever?  Remembers who was not, and asks that one
 * first the next time, so that a long-lived server costs no scan at each idle
 * period.
 */
static bool all_endless(struct runtime *rt)
{
	uint32_t hint = atomic_load_explicit(&rt->sweep_hint,
					     memory_order_relaxed);
	uint32_t used = slots_used(rt);
	uint32_t parked = 0;
	uint32_t i;

	if (hint < used && blocks_sweep(&rt->slots[hint]))
		return false;
	for (i = 0; i < used; i++) {
		inject_delay();
		if (blocks_sweep(&rt->slots[i])) {
			atomic_store_explicit(&rt->sweep_hint, i,
					      memory_order_relaxed);
			return false;
		}
		if (slot_word_state(slot_load(&rt->slots[i])) == SLOT_PARKED)
			parked++;
	}
	return parked == atomic_load_explicit(&rt->live, memory_order_acquire);
}

static bool quiet(struct runtime *rt)
{
	return idle_all(rt) && !runq_length(rt->runq);
}

static uint32_t event_count(struct runtime *rt)
{
	return atomic_load_explicit(control_event(rt), memory_order_acquire);
}

/*
 * Read after quiet(), which acquires the idle bits: who has run something and is
 * idle again has counted it before.
 */
static uint64_t resume_count(struct runtime *rt)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < rt->nr_workers; i++)
		sum += atomic_load_explicit(&rt->workers[i].stats.resumes,
					    memory_order_relaxed);
	return sum;
}

static bool nobody_will_run(struct runtime *rt)
{
	uint64_t resumes = resume_count(rt);
	uint32_t event = event_count(rt);

	return quiet(rt) && all_endless(rt) && quiet(rt) &&
	       event_count(rt) == event && resume_count(rt) == resumes;
}

/* Stop all; they are chained by @next, which is theirs until they are queued. */
static uint32_t stop_all(struct runtime *rt)
{
	uint32_t first = RUNQ_NOBODY;
	uint32_t i = slots_used(rt);

	while (i--) {
		struct slot *s = &rt->slots[i];

		inject_delay();
		if (slot_stop_endless(s) != SLOT_MADE_READY)
			continue;
		s->next = first;
		first = i;
	}
	return first;
}

bool sweep_remainder(struct runtime *rt)
{
	uint32_t at = RUNQ_NOBODY;
	bool stopped;

	if (!atomic_load_explicit(&rt->root_gone, memory_order_acquire))
		return false;
	/* Waited for, not tried: who comes last has the last say. */
	spin_lock(&rt->sweep_lock);
	if (nobody_will_run(rt))
		at = stop_all(rt);
	spin_unlock(&rt->sweep_lock);

	stopped = at != RUNQ_NOBODY;
	while (at != RUNQ_NOBODY) {
		struct slot *s = &rt->slots[at];

		at = s->next;
		trace_wake(rt, runtime_pid(rt, s, slot_word_generation(slot_load(s))),
			   ROOST_TRACE_STOPPED, SLOT_MADE_READY);
		worker_ready(rt, s);
	}
	return stopped;
}
