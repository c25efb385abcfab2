/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * slice.h - the time slice of an actor, in cycles of the CPU's counter.
 *
 * It begins when the actor is taken from the queue, and goes on with whom it wakes.  The
 * counter takes as long to read as an actor to be resumed; so the slice is counted from
 * the first time that somebody asks, and is asked for now and then only.
 */
#ifndef ROOST_LIB_SLICE_H
#define ROOST_LIB_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include ARCH_HEADER(cycles.h)
#include "worker.h"
#include "runtime.h"

/* Actors taken from the wake slot for which the counter is not read. */
#define SLICE_HITS	16

/** slice_begin() - who runs next on @w has a slice of its own */
static inline void slice_begin(struct worker *w)
{
	w->slice_start = 0;
	w->slice_hits = 0;
}

/** slice_expire() - the slice of @w is over: nobody goes on with it */
static inline void slice_expire(struct worker *w)
{
	w->slice_start = 1;
	w->slice_hits = 0;
}

/** slice_used_up() - read the counter: is the slice of @w over? */
static inline bool slice_used_up(struct worker *w)
{
	uint64_t now = cycles();

	if (!w->slice_start) {
		w->slice_start = now;
		return false;
	}
	/* Also if the counters of two CPUs differ and it has gone back. */
	return now - w->slice_start >= w->rt->config.timeslice;
}

/** slice_is_over() - ... asked for each actor in the wake slot */
static inline bool slice_is_over(struct worker *w)
{
	return w->slice_hits++ % SLICE_HITS == 0 && slice_used_up(w);
}

#endif /* ROOST_LIB_SLICE_H */
