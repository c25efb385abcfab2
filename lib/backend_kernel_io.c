// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * backend_kernel_io.c - receiving and sending as operations in the ring.
 *
 * The I/O index is the slot's: an actor has one operation at a time, and does
 * not return before that one is over, so the slot holds its state.
 *
 *	slot.io		high half: the sequence, of which the low bits are
 *			OP_PENDING from staging to completion, and OP_SENDING as
 *			the completion has said; low half: the result
 *	slot.io_epoch	the wait that the completion is to end
 *
 * COMPLETION
 *
 * The actor writes both, and then the entry is published, so who takes the
 * completion, on whatever worker, sees them (through the kernel, which reads the
 * ring with acquire and posts with release).
 *
 *	actor				who has the completion
 *	slot.io = pending, epoch	slot.io = done		[release]
 *	park				wake that epoch
 *	publish				  (a compare-and-swap of the state word;
 *	slot.io done?	[acquire]	   pairs with the actor's look at how its
 *					   wait ended)
 *
 * Nobody can end the wait before it is published but a stop.  So its scheduler
 * opens the wait and parks it in one step, and publishes then, for an actor that
 * need not run any more until it has ended (INTENT_PARK_AND_HAND).  With a
 * deadline the wait is opened first and published before the park.
 *
 * A completion of another sequence is stale.  Of one sequence there can be two,
 * in any order: a CANCEL's -ECANCELED, if it has come before the operation was
 * begun, and what that was refused with.  So all that is below 0 is put in by
 * compare-and-swap, and the rest by a store.
 *
 * GIVING UP
 *
 * When the deadline or a stop ends the wait, the operation may be anywhere: in
 * a ring, in the kernel, done.  The actor hands over a CANCEL at once and waits
 * for the completion again, in a wait of another epoch and until it is there,
 * whatever stops it: the buffers are the kernel's until then.  Not to sleep over
 * the completion is store buffering with full barriers:
 *
 *	actor				who has the completion
 *	io_epoch = new			slot.io = done
 *	full barrier (I)		wake the old epoch: it is over
 *	slot.io done? no: park		full barrier (I)
 *					io_epoch changed? wake that
 *
 * What the operation has come to wins over deadline and stop: -ECANCELED means
 * that the kernel has done nothing, so no byte is lost.
 *
 * The CANCEL does not overtake its operation in a ring: if that is still in the
 * one of another worker, that is handed over first.  Only when the kernel has
 * fetched the operation and not begun it can the CANCEL come first; then nothing
 * was done, the operation is stale when it is begun, and either completion says
 * so.  So the completion always tells how far the operation has come.
 */
#include <errno.h>

#include <roost/types.h>

#include "backend_kernel.h"
#include "backend_kernel_io.h"
#include "inject.h"
#include "log.h"
#include "suspend.h"
#include "timer_want.h"
#include "wait.h"

/* Has the kernel taken it out of its ring? */
static bool is_consumed(const struct ticket *ticket)
{
	uint32_t head = shared_acquire(&ticket->ring->k.page->sq_head);

	return (int32_t)(head - ticket->position) > 0;
}

/* On return the kernel has the operation; the worker may be another. */
static void hand_over(const struct ticket *ticket)
{
	int err;

	while (!is_consumed(ticket)) {
		struct worker *w = worker_self();

		if (ticket->ring == ring_of(w)) {
			kring_flush(w);
			return;
		}
		err = kring_hand_over(w, ticket->ring);
		if (err < 0 && err != -EINTR)
			log_fatal("worker %u cannot hand over: error %d",
				  w->index, -err);
		/* Its CQ is full: let the scheduler take completions. */
		if (!is_consumed(ticket))
			worker_suspend(INTENT_YIELD);
	}
}

static void cancel(const struct slot *s)
{
	struct worker *w = worker_self();
	struct roost_sqe *sqe = kring_stage(w);

	if (!sqe)
		log_fatal("worker %u cannot cancel: the module is gone",
			  w->index);
	sqe->opcode = ROOST_OP_CANCEL;
	sqe->flags = ROOST_SQE_QUIET;
	sqe->op_id = roost_op_id(s->index, (uint32_t)(kernel_io_load(s) >> 32));
	kring_publish(ring_of(w));
	kring_flush(w);
}

/* Until the kernel is done with the buffers. */
static void wait_for_completion(struct slot *s)
{
	while (kernel_io_pending(kernel_io_load(s))) {
		wait_begin();
		atomic_store_explicit(&s->io_epoch, s->epoch,
				      memory_order_release);
		/* (I): pairs with the one in wake_later(). */
		atomic_thread_fence(memory_order_seq_cst);
		inject_delay();
		if (kernel_io_pending(kernel_io_load(s)))
			wait_park_firmly();
		else
			wait_retire();
	}
}

static void give_up(struct slot *s, const struct ticket *ticket)
{
	hand_over(ticket);
	inject_delay();
	if (!kernel_io_pending(kernel_io_load(s)))
		return;
	cancel(s);
	wait_for_completion(s);
}

/*
 * Refused: I/O in the ring is turned off, or forbidden to who is under seccomp.
 * Or sending to this very address is; so only if nothing was ever accepted there
 * is no use in asking again for the next connection.
 */
static noinline void forbidden(struct runtime *rt)
{
	struct roost_domain_stat stat;

	if (!kapi_stat(&kernel_of(rt)->domain, &stat) && !stat.ios_started)
		atomic_store_explicit(&rt->ring_ios, 0, memory_order_relaxed);
}

/* How the wait of the calling actor ended: as wait_park() has it. */
static int how_ended(const struct slot *s)
{
	if (slot_load(s) & SLOT_STOP)
		return -ECANCELED;
	return slot_wait_outcome(s) == SLOT_TIMED_OUT ? -ETIMEDOUT : 0;
}

/* Stale is also what a CANCEL has overtaken, and that may be heard of first. */
static bool did_nothing(int res)
{
	return res == -ECANCELED || res == -ESTALE;
}

noinline ssize_t kernel_io_result(struct slot *s, const struct ticket *ticket,
				  struct io_op *op)
{
	uint64_t done = kernel_io_load(s);
	int err = how_ended(s);

	op->ended = false;
	if (kernel_io_pending(done)) {
		give_up(s, ticket);
		done = kernel_io_load(s);
	}
	op->sending = done >> 32 & OP_SENDING;
	if ((int32_t)done == -EACCES)
		forbidden(runtime_self());
	if (err && did_nothing((int32_t)done)) {
		op->ended = true;
		return err;
	}
	return (int32_t)done;
}

/* A deadline needs a wait that is open: it may come before the actor is parked. */
static noinline void wait_timed(struct carrier *c, uint64_t deadline)
{
	slot_wait_begin(c->current, false);
	worker_hand(c->worker);
	wait_park_io(c, deadline);
}

ssize_t kernel_io(struct worker *w, struct io_op *op)
{
	struct carrier *c = carrier_self();
	struct slot *s = c->current;
	struct ticket ticket;

	op->sending = true;
	op->ended = false;
	if (unlikely(!kernel_io_stage(w, s, op, &ticket)))
		return -ENOSYS;
	if (op->deadline > ROOST_MAX_DEADLINE)
		worker_park_and_hand(c, w, s);
	else
		wait_timed(c, op->deadline);
	return kernel_io_result(s, &ticket, op);
}

void kernel_file_remove(struct worker *w, uint32_t number, uint32_t file)
{
	struct roost_sqe *sqe = kring_stage(w);

	if (!sqe)
		return;
	sqe->opcode = ROOST_OP_FILE_REMOVE;
	sqe->flags = ROOST_SQE_QUIET;
	sqe->op_id = roost_op_id(number, file);
	kring_publish(ring_of(w));
}

/* The wait that was to be woken is over.  Is there a later one for @done? */
static noinline void wake_later(struct runtime *rt, struct slot *s,
				uint32_t generation, uint32_t epoch,
				uint64_t done)
{
	enum slot_effect effect = SLOT_NO_EFFECT;
	uint32_t now;

	while (effect == SLOT_NO_EFFECT) {
		/* (I): pairs with the one in wait_for_completion(). */
		atomic_thread_fence(memory_order_seq_cst);
		/* Acquire: with the epoch of the next operation comes its word. */
		now = atomic_load_explicit(&s->io_epoch, memory_order_acquire);
		if (now == epoch || kernel_io_load(s) != done)
			return;
		epoch = now;
		effect = slot_wake(s, generation, epoch);
	}
	trace_wake(rt, runtime_pid(rt, s, generation), ROOST_WAITS_IO, effect);
	if (effect == SLOT_MADE_READY)
		worker_ready(rt, s);
}

noinline void kernel_io_wake(struct runtime *rt, struct slot *s,
			     uint32_t generation, uint32_t epoch, uint64_t done,
			     struct runq_batch *ready)
{
	enum slot_effect effect = slot_wake(s, generation, epoch);

	if (effect == SLOT_MADE_READY)
		runq_batch_add(rt->slots, ready, s);
	else if (effect == SLOT_MARKED)
		trace_wake(rt, runtime_pid(rt, s, generation), ROOST_WAITS_IO,
			   effect);
	else
		wake_later(rt, s, generation, epoch, done);
}

noinline bool kernel_io_complete_slow(struct worker *w, struct slot *s,
				      const struct roost_cqe *cqe,
				      struct runq_batch *ready)
{
	uint32_t sequence = roost_op_sequence(cqe->user_data);
	uint64_t pending = (uint64_t)sequence << 32;
	uint32_t generation = slot_word_generation(slot_load(s));
	uint32_t epoch = atomic_load_explicit(&s->io_epoch,
					      memory_order_relaxed);
	uint64_t done;

	sequence ^= OP_PENDING;
	if (cqe->flags & ROOST_CQE_SEND)
		sequence |= OP_SENDING;
	done = (uint64_t)sequence << 32 | (uint32_t)cqe->res;
	/* Release, pairs with kernel_io_load(). */
	if (cqe->res >= 0)
		atomic_store_explicit(&s->io, done, memory_order_release);
	else if (!atomic_compare_exchange_strong_explicit(&s->io, &pending, done,
							  memory_order_release,
							  memory_order_relaxed))
		return false;
	inject_delay();
	kernel_io_wake(w->rt, s, generation, epoch, done, ready);
	return true;
}
