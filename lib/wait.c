// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * wait.c - the one suspension primitive, see wait.h; and roost_park() on it.
 */
#include "wait.h"

#include <errno.h>

#include <roost/actor.h>

#include "errno_cell.h"
#include "inject.h"
#include "registry.h"
#include "runtime.h"
#include "timer.h"
#include "timer_want.h"
#include "worker.h"

static struct wait_ref begin(struct slot *s, bool parking)
{
	uint32_t epoch = slot_wait_begin(s, parking);

	return (struct wait_ref){ .pid = roost_self(), .epoch = epoch };
}

struct wait_ref wait_begin(void)
{
	return begin(worker_actor(), false);
}

void wait_retire(void)
{
	slot_wait_retire(worker_actor());
}

static int result_of(enum slot_outcome outcome)
{
	switch (outcome) {
	case SLOT_TIMED_OUT:
		return -ETIMEDOUT;
	case SLOT_STOPPED:
		return -ECANCELED;
	default:
		return 0;
	}
}

/* The deadline has passed before there was anything to wait for. */
static int retire_expired(struct slot *s)
{
	enum slot_outcome outcome = slot_wait_retire(s);

	if (outcome == SLOT_NOT_ENDED)
		return -ETIMEDOUT;
	return result_of(outcome);
}

static inline int park(struct carrier *c, struct slot *s, uint64_t deadline,
		enum intent intent)
{
	if (deadline <= ROOST_MAX_DEADLINE) {
		trace(c->rt, ROOST_TRACE_TIMER, s, 0, deadline);
		timer_want(c->worker, s, deadline);
	}
	inject_delay();
	worker_suspend_on(c, intent);
	inject_delay();
	if (deadline <= ROOST_MAX_DEADLINE)
		timer_unwant(s);
	return result_of(slot_wait_outcome(s));
}

/*
 * A stop before wait_begin() left no trace in the wait itself; one after it has
 * ended the wait, and slot_park() sees that (S0-25).
 */
static bool stopped_before(struct slot *s)
{
	if (likely(!(slot_load(s) & SLOT_STOP)))
		return false;
	slot_wait_retire(s);
	return true;
}

int wait_park(uint64_t deadline, bool forever)
{
	bool endless = forever && deadline == ROOST_FOREVER;
	struct carrier *c = carrier_self();
	struct slot *s = c->current;

	if (stopped_before(s))
		return -ECANCELED;
	if (deadline <= ROOST_MAX_DEADLINE && deadline <= roost_now())
		return retire_expired(s);
	return park(c, s, deadline, endless ? INTENT_PARK_ENDLESS : INTENT_PARK);
}

int wait_park_for(enum roost_waits_for what, uint64_t deadline, bool forever)
{
	struct slot *s = worker_actor();
	int err;

	slot_waits_for(s, what);
	err = wait_park(deadline, forever);
	slot_waits_for(s, ROOST_WAITS_NOT);
	return err;
}

int wait_sleep(uint64_t deadline)
{
	bool endless = deadline == ROOST_FOREVER;
	struct carrier *c = carrier_self();
	struct slot *s = c->current;
	int err;

	slot_wait_begin(s, false);
	inject_delay();
	if (stopped_before(s))
		return -ECANCELED;
	slot_waits_for(s, ROOST_WAITS_TIME);
	err = park(c, s, deadline, endless ? INTENT_PARK_ENDLESS : INTENT_PARK);
	slot_waits_for(s, ROOST_WAITS_NOT);
	return err;
}

int wait_park_io(struct carrier *c, uint64_t deadline)
{
	struct slot *s = c->current;

	if (stopped_before(s))
		return -ECANCELED;
	return park(c, s, deadline, INTENT_PARK);
}

void wait_park_firmly(void)
{
	inject_delay();
	worker_suspend(INTENT_PARK);
	inject_delay();
}

/* The wait of @pid, in @s, was ended as @effect says, and that is recorded. */
static noinline bool woken_traced(struct runtime *rt, struct slot *s, roost_pid pid,
				  unsigned int detail, enum slot_effect effect)
{
	trace_wake(rt, pid, detail, effect);
	if (effect == SLOT_MADE_READY)
		worker_ready_next(rt, s);
	return effect != SLOT_NO_EFFECT;
}

bool wait_wake(struct runtime *rt, struct wait_ref ref)
{
	struct slot *s = runtime_slot(rt, ref.pid);
	enum slot_effect effect;

	effect = slot_wake(s, pid_generation(ref.pid), ref.epoch);
	inject_delay();
	if (unlikely(runtime_traces(rt)))
		return woken_traced(rt, s, ref.pid, slot_waits(s), effect);
	if (effect == SLOT_MADE_READY)
		worker_ready_next(rt, s);
	return effect != SLOT_NO_EFFECT;
}

static int park_until_unparked(struct slot *s, uint64_t deadline)
{
	int err;

	begin(s, true);
	if (!(slot_load(s) & SLOT_STOP) && slot_take_permit(s)) {
		wait_retire();
		return 0;
	}
	err = wait_park(deadline, true);
	/* A permit that came with the deadline or the stop is not lost. */
	if (err != -ECANCELED && slot_take_permit(s))
		return 0;
	return err;
}

int roost_park(uint64_t deadline)
{
	struct carrier *c = library_enter();

	if (!c)
		return -EPERM;
	return (int)library_return(park_until_unparked(c->current, deadline));
}

static int unpark_in(struct runtime *rt, roost_pid pid)
{
	struct slot *s = runtime_slot(rt, pid);
	enum slot_effect effect = slot_unpark(s, pid_generation(pid));

	inject_delay();
	if (unlikely(runtime_traces(rt)))
		woken_traced(rt, s, pid, ROOST_WAITS_UNPARK, effect);
	else if (effect == SLOT_MADE_READY)
		worker_ready_next(rt, s);
	return effect == SLOT_NO_EFFECT ? -ESRCH : 0;
}

static int unpark(struct runtime *rt, roost_pid pid)
{
	int err;

	if (rt && runtime_slot(rt, pid))
		return unpark_in(rt, pid);
	rt = registry_visit(pid);
	if (!rt)
		return -ESRCH;
	err = unpark_in(rt, pid);
	registry_leave(rt);
	return err;
}

/* Perhaps in a signal handler, whose thread is to find its errno as it was. */
static int unpark_from_outside(roost_pid pid)
{
	int error = errno_get();
	int err = unpark(NULL, pid);

	errno_set(error);
	return err;
}

int roost_unpark(roost_pid pid)
{
	struct carrier *c = library_enter();

	if (!c)
		return unpark_from_outside(pid);
	return (int)library_return(unpark(c->rt, pid));
}
