// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * backend_kernel_timer.c - the timer of an actor, on the kernel's wheel.
 *
 * The timer's index is the slot's, the sequence goes on from tenant to tenant
 * of the slot.  What is armed may be earlier than what is wanted: a wait that
 * is over leaves its timer, and the next wait, whose deadline is later, needs
 * nothing.  When it fires, timer_expired() says what is wanted now.  So a
 * server that waits with a timeout for each request stages one TIMER_SET in a
 * timeout's time, and cancels nothing.
 *
 * Two threads may be at one timer: its actor, on the worker that runs it, and
 * whoever took a completion of it out of some ring.  @armed is the lock:
 * ARMED_BUSY while one of them is at @armed, @sequence, @worker or @sq_index.
 * The actor's fast path does not take it:
 *
 *	actor: timer_want()		completion
 *	deadline = wanted		armed = FOREVER
 *	full barrier			full barrier, in timer_expired()
 *	armed <= wanted? done		reads deadline
 *
 * At least one of them sees the other's store: either the actor finds nothing
 * armed and stages a TIMER_SET, or the completion finds the new deadline and
 * arms it.  Both may: the lock lets the earlier deadline win.
 *
 * A completion with another sequence than @sequence is stale and ignored.
 *
 * A TIMER_SET may be refused: no memory, or too much of it by the limits.  It goes to a
 * list of the runtime's, and whoever comes by a while later arms it again; nobody who
 * goes idle sleeps longer than to then.  So a deadline is late by so much, or until one
 * worker has time, and not lost.
 *
 * A TIMER_SET that is still in the ring of this very worker when it is not
 * wanted any more becomes a ROOST_OP_SKIP (T2).  If another worker hands this
 * ring over just then, the kernel may still find the TIMER_SET: its sequence is
 * an older one by then, so what it arms is moved by the next one, or fires once
 * and is ignored.
 */
#include <sched.h>

#include <roost/actor.h>
#include <roost/types.h>

#include "backend_kernel.h"
#include "log.h"
#include "timer.h"

/* How long the kernel is left alone after it has refused a timer, in ns. */
#define RETRY_NS	ROOST_MSEC(1)

/* Neither 0 nor a slot's number plus one. */
#define LAST_REFUSED	UINT32_MAX

/* No deadline: those end at ROOST_MAX_DEADLINE, and ROOST_FOREVER is not it. */
#define ARMED_BUSY	(ROOST_FOREVER - 1)

static inline uint64_t lock(struct wtimer *t)
{
	unsigned int tries = 0;
	uint64_t armed;

	/* Acquire, pairs with the release in unlock(). */
	while ((armed = atomic_exchange_explicit(&t->armed, ARMED_BUSY,
						 memory_order_acquire)) ==
	       ARMED_BUSY) {
		/* The holder is a few instructions from the end, unless it was
		 * pushed off its CPU. */
		if (++tries % 128 == 0)
			sched_yield();
		else
			cpu_relax();
	}
	return armed;
}

/* The same, once, if what is armed is @armed. */
static inline bool try_lock(struct wtimer *t, uint64_t armed)
{
	return atomic_compare_exchange_strong_explicit(&t->armed, &armed,
						       ARMED_BUSY,
						       memory_order_acquire,
						       memory_order_relaxed);
}

static inline void unlock(struct wtimer *t, uint64_t armed)
{
	atomic_store_explicit(&t->armed, armed, memory_order_release);
}

/* Take back the last TIMER_SET if it is in our own ring.  Lock held. */
static noinline bool take_back(struct worker *w, struct wtimer *t)
{
	struct kring *r = ring_of(w);
	struct roost_sqe *sqe;

	if (atomic_load_explicit(&t->worker, memory_order_relaxed) != w->index ||
	    r->sq_tail - t->sq_index - 1 >= kring_staged(r))
		return false;
	sqe = &r->k.sq[t->sq_index & r->k.sq_mask];
	if (sqe->opcode != ROOST_OP_TIMER_SET ||
	    sqe->op_id != roost_op_id(t->slot, t->sequence))
		return false;
	/* One byte: whoever copies the entry finds the one or the other op. */
	__atomic_store_n(&sqe->opcode, ROOST_OP_SKIP, __ATOMIC_RELAXED);
	return true;
}

/*
 * Stage a TIMER_SET in the next place of the own ring, which is free.  Lock held,
 * nothing armed, or what is has been dealt with; lets go of the lock.
 */
static inline __attribute__((always_inline)) void
set(struct worker *w, struct wtimer *t, uint64_t wanted)
{
	struct kring *r = ring_of(w);
	struct roost_sqe *sqe = &r->k.sq[r->sq_tail & r->k.sq_mask];
	uint32_t sequence = t->sequence + 1;

	t->sequence = sequence;
	t->sq_index = r->sq_tail;
	atomic_store_explicit(&t->worker, w->index, memory_order_relaxed);
	*sqe = (struct roost_sqe){
		.opcode = ROOST_OP_TIMER_SET,
		.op_id = roost_op_id(t->slot, sequence),
		.deadline = wanted,
	};
	kring_note_deadline(r, wanted);
	kring_publish(r);
	/* It may be close: see kring_flush_due(), before the next resume. */
	w->spare = 0;
	unlock(t, wanted);
	stat_add(&w->stats.timers_armed, 1);
}

/* Something is armed, somebody is at it, or the ring is full. */
static noinline void arm_other(struct worker *w, struct wtimer *t,
			       uint64_t wanted)
{
	uint64_t armed;

	/* First the place: making room may take a system call. */
	if (unlikely(!kring_place(w)))
		log_fatal("worker %u cannot arm a timer: the module is gone",
			  w->index);
	armed = lock(t);
	if (armed <= wanted) {
		unlock(t, armed);
		return;
	}
	/* Nothing armed: nothing of ours in the ring that still counts. */
	if (armed != ROOST_FOREVER)
		take_back(w, t);
	set(w, t, wanted);
}

/*
 * Arm for @wanted, unless something as early is armed.  @wanted is what a wait
 * asks for, at most ROOST_MAX_DEADLINE.
 */
static inline __attribute__((always_inline)) void
arm(struct worker *w, struct wtimer *t, uint64_t wanted)
{
	const struct kring *r = ring_of(w);

	/* The common case, which calls nobody: room, and nothing armed. */
	if (likely(kring_staged(r) <= r->k.sq_mask) &&
	    likely(try_lock(t, ROOST_FOREVER)))
		set(w, t, wanted);
	else
		arm_other(w, t, wanted);
}

void kernel_timer_arm(struct worker *w, struct wtimer *t)
{
	/* What is armed was looked at by timer_want(), as drawn above. */
	arm(w, t, atomic_load_explicit(&t->deadline, memory_order_relaxed));
}

void kernel_timer_end(struct worker *w, struct wtimer *t)
{
	struct roost_sqe *sqe;

	/*
	 * A completion that is being handled just now may arm once more after
	 * us, for a deadline that is over.  It will fire, find that nothing is
	 * wanted or something later, and hurt nobody.
	 */
	if (atomic_load_explicit(&t->armed, memory_order_relaxed) ==
	    ROOST_FOREVER)
		return;
	sqe = kring_stage(w);
	if (!sqe)
		return;
	if (lock(t) != ROOST_FOREVER && !take_back(w, t)) {
		sqe->opcode = ROOST_OP_TIMER_CANCEL;
		sqe->flags = ROOST_SQE_QUIET;
		sqe->op_id = roost_op_id(t->slot, t->sequence + 1);
		kring_publish(ring_of(w));
	}
	/* What is in flight is stale from now on. */
	t->sequence++;
	unlock(t, ROOST_FOREVER);
}

/*
 * Nothing is armed, unless somebody has just tried to.  Any worker may be the one that
 * tries again: we may be about to run an actor for long.
 */
static noinline void arm_later(struct worker *w, struct wtimer *t, uint64_t now)
{
	struct kbackend *kb = kernel_of(w->rt);
	uint64_t armed = lock(t);
	bool first = false;

	spin_lock(&kb->refused_lock);
	/* Perhaps it is in the list, or in what somebody goes through just now. */
	if (!t->refused) {
		first = !kb->refused;
		t->refused = first ? LAST_REFUSED : kb->refused;
		kb->refused = t->slot + 1;
	}
	if (first)
		atomic_store_explicit(&kb->retry_at, now + RETRY_NS,
				      memory_order_relaxed);
	spin_unlock(&kb->refused_lock);
	unlock(t, armed);
	/* Who is idle sleeps without a deadline. */
	if (first)
		worker_wake_one(w->rt);
}

noinline void kernel_timer_retry(struct worker *w)
{
	struct kbackend *kb = kernel_of(w->rt);
	uint64_t now = roost_now(), armed, wanted;
	struct wtimer *t;
	uint32_t next;

	if (now < kernel_retry_at(w->rt))
		return;
	/* What is refused again begins a list of its own. */
	spin_lock(&kb->refused_lock);
	next = kb->refused;
	kb->refused = 0;
	atomic_store_explicit(&kb->retry_at, ROOST_NO_DEADLINE,
			      memory_order_relaxed);
	spin_unlock(&kb->refused_lock);
	while (next && next != LAST_REFUSED) {
		t = &w->rt->slots[next - 1].timer;
		armed = lock(t);
		next = t->refused;
		t->refused = 0;
		unlock(t, armed);
		wanted = timer_expired(w->rt, t, now);
		if (wanted != ROOST_FOREVER)
			arm(w, t, wanted);
	}
}

bool kernel_timer_complete(struct worker *w, const struct roost_cqe *cqe,
			   uint64_t now)
{
	struct runtime *rt = w->rt;
	uint32_t index = roost_op_index(cqe->user_data);
	struct wtimer *t;
	uint64_t armed, next;

	if (index >= rt->config.max_actors)
		return false;
	t = &rt->slots[index].timer;
	armed = lock(t);
	if (t->sequence != roost_op_sequence(cqe->user_data)) {
		unlock(t, armed);
		return false;
	}
	/* Expired or refused: nothing is armed, and what is wanted is armed again. */
	unlock(t, ROOST_FOREVER);
	next = timer_expired(rt, t, now);
	if (next == ROOST_FOREVER)
		return true;
	if (unlikely(cqe->res < 0))
		arm_later(w, t, now);
	else
		arm(w, t, next);
	return true;
}
