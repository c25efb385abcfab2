// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * backend_kernel_fd.c - watching files with multishot polls.
 *
 * The poll's index is the descriptor number, its sequence that of the arm.
 * The kernel ORs events into the number's word and posts a completion only if
 * the word was 0, so whoever handles a completion must take the word to 0, also
 * if the completion is a stale one: the bits that it finds may be of a newer
 * arm, which posts nothing as long as they stand there.
 *
 * So the word and the sequence are read together, under the descriptor's lock
 * under which both are changed.  Bits never pass from one file to another: a
 * disarm is handed over at once and then empties the word, and an arm that
 * replaces an armed poll empties it in the kernel, between the two.
 *
 * A managed descriptor is armed once in its life and the arm goes with the
 * next batch.  Any other is handed over at once, since its number must be looked
 * up before anybody can reuse it.  What the kernel says against a descriptor
 * arrives as a completion and goes to the waiters (fd_error()).
 */
#include "backend_kernel.h"

#include <errno.h>

#include "fd.h"

static _Atomic uint32_t *events_word(struct runtime *rt, uint32_t number)
{
	return (_Atomic uint32_t *)&kernel_of(rt)->domain.events[number];
}

int kernel_fd_arm(struct worker *w, struct fd *f)
{
	struct kring *r = ring_of(w);
	struct roost_sqe *sqe = kring_stage(w);

	if (!sqe)
		return -EIO;
	sqe->opcode = ROOST_OP_POLL_ADD;
	sqe->flags = ROOST_POLL_MULTISHOT;
	sqe->fd = f->number;
	sqe->op_id = roost_op_id((uint32_t)f->number, f->sequence);
	sqe->events = f->events;
	kring_publish(r);
	f->worker = (uint16_t)w->index;
	r->polls_staged = true;
	if (!f->managed)
		kring_flush(w);
	return 0;
}

void kernel_fd_disarm(struct worker *w, struct fd *f)
{
	struct kring *r = ring_of(w);
	struct roost_sqe *sqe = kring_stage(w);

	if (!sqe)
		return;
	sqe->opcode = ROOST_OP_POLL_REMOVE;
	sqe->flags = ROOST_SQE_QUIET;
	sqe->op_id = roost_op_id((uint32_t)f->number, f->sequence);
	kring_publish(r);
	/* At once: the caller may close the file now, and then must not find it
	 * kept open by us. */
	kring_settle(w);
	/* Acquire and release, pairs with the kernel's OR: see above. */
	atomic_exchange_explicit(events_word(w->rt, (uint32_t)f->number), 0,
				 memory_order_acq_rel);
}

bool kernel_fd_complete(struct worker *w, const struct roost_cqe *cqe)
{
	struct runtime *rt = w->rt;
	uint32_t number = roost_op_index(cqe->user_data);
	struct fd *f = fd_find(rt->fds, number);
	uint32_t sequence, events;
	bool current, taken = false;

	if (!f)
		return false;
	spin_lock(&f->lock);
	/* Acquire, pairs with the kernel's OR: the file's state before us. */
	events = atomic_exchange_explicit(events_word(rt, number), 0,
					  memory_order_acq_rel);
	sequence = f->sequence;
	spin_unlock(&f->lock);

	current = sequence == roost_op_sequence(cqe->user_data);
	if (current && cqe->res > 0)
		events |= (uint32_t)cqe->res;
	if (current && cqe->flags & ROOST_CQE_HINT)
		events |= ROOST_EVENT_HINT;

	if (events & ~ROOST_EVENT_HINT)
		taken |= fd_event(rt, number, sequence,
				  events & ~ROOST_EVENT_HINT);
	if (events & ROOST_EVENT_HINT)
		taken |= fd_event(rt, number, sequence, 0);
	if (current && cqe->res < 0) {
		fd_error(rt, number, sequence, cqe->res);
		taken = true;
	} else if (current && !(cqe->flags & ROOST_CQE_MORE)) {
		/* The kernel has let go of the file: it was the last word. */
		fd_error(rt, number, sequence, -ECANCELED);
		taken = true;
	}
	return taken;
}
