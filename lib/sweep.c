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
 * ever as are alive, and all workers were idle and the event counter the same
 * before and after, no actor ran in between, so the picture was true.
 */
#include "sweep.h"

#include "idle.h"
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

bool sweep_remainder(struct runtime *rt)
{
	bool stopped = false;
	uint32_t event;
	uint32_t i;

	if (!atomic_load_explicit(&rt->root_gone, memory_order_acquire))
		return false;
	event = event_count(rt);
	if (!quiet(rt) || !all_endless(rt) || !quiet(rt) ||
	    event_count(rt) != event)
		return false;
	for (i = 0; i < slots_used(rt); i++) {
		struct slot *s = &rt->slots[i];
		uint32_t generation = slot_word_generation(slot_load(s));

		if (slot_stop_endless(s) == SLOT_MADE_READY) {
			worker_ready(rt, s, generation);
			stopped = true;
		}
	}
	return stopped;
}
