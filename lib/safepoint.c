// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* safepoint.c - see safepoint.h; roost_check() and sections without preemption. */
#include "safepoint.h"

#include <errno.h>

#include <roost/actor.h>

#include "log.h"
#include "runtime.h"
#include "slice.h"
#include "slot.h"
#include "worker.h"

noinline struct carrier *carrier_safepoint(struct carrier *c)
{
	struct worker *w = c->worker;
	struct slot *s = c->current;
	bool told = carrier_is_told(c);

	if (c->checks >= c->check_every)
		c->checks = 0;
	else if (!told)
		return c;
	if (s->no_preempt || (!told && !slice_used_up(w)))
		return c;
	slot_count_overrun(s);
	stat_add(&w->stats.overruns, 1);
	/* Whom it has woken does not go on in its place, and all is looked at. */
	slice_expire(w);
	w->spare = 0;
	return worker_suspend_on(c, INTENT_YIELD);
}

/* Outside.  Also who was displaced learns it here. */
static noinline void go_in_and_out(struct carrier *c)
{
	c = library_enter_on(c);
	library_leave_on(carrier_safepoint(c));
}

static inline bool is_stopped(const struct slot *s)
{
	return slot_load(s) & SLOT_STOP;
}

int roost_check(void)
{
	struct carrier *c = carrier_self();
	struct slot *s = c->current;

	if (unlikely(!s))
		return -EPERM;
	if (unlikely(carrier_safepoint_due(c) || carrier_is_displaced(c)) &&
	    !s->no_preempt)
		go_in_and_out(c);
	return unlikely(is_stopped(s)) ? -ECANCELED : 0;
}

void roost_preempt_disable(void)
{
	struct slot *s = worker_actor();

	if (s)
		s->no_preempt++;
}

void roost_preempt_enable(void)
{
	struct slot *s = worker_actor();

	if (!s)
		return;
	if (!s->no_preempt)
		log_fatal("roost_preempt_enable() without roost_preempt_disable()");
	if (!--s->no_preempt)
		roost_check();
}
