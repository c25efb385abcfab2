/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* actor.h - birth and death of actors, for the scheduler and the runtime. */
#ifndef ROOST_LIB_ACTOR_H
#define ROOST_LIB_ACTOR_H

#include <stdbool.h>

#include <roost/types.h>

#include "slot.h"

struct roost_spawn_options;
struct runtime;
struct worker;

/*
 * actor_spawn() - roost_spawn() for a runtime; any thread of it
 * @options:	checked; NULL: all default
 */
int actor_spawn(struct runtime *rt, roost_fn fn, void *arg,
		const struct roost_spawn_options *options, roost_pid *pid);

/** actor_stillborn() - was @s, just claimed, stopped before it ever ran? */
static inline bool actor_stillborn(const struct slot *s)
{
	return unlikely(slot_load(s) & SLOT_STOP) && s->fn;
}

/** actor_yield() - roost_yield(), of an actor in the library */
void actor_yield(void);

/** actor_bury() - scheduler context: @s has left its stack for good */
void actor_bury(struct worker *w, struct slot *s);

#endif /* ROOST_LIB_ACTOR_H */
