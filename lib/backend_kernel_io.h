/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * backend_kernel_io.h - the straight way of an operation in the ring, inlined:
 * staged, waited for, completed.  The rest, and why, is in backend_kernel_io.c.
 */
#ifndef ROOST_LIB_BACKEND_KERNEL_IO_H
#define ROOST_LIB_BACKEND_KERNEL_IO_H

#include "backend_kernel.h"
#include "runtime.h"

/* In slot.io, high half. */
#define OP_PENDING	1U
#define OP_SENDING	2U
#define OP_STEP		4U

/**
 * struct ticket - where an operation was staged
 * @ring:	in whose ring
 * @position:	as sq_tail counts
 */
struct ticket {
	struct kring *ring;
	uint32_t position;
};

static inline uint64_t kernel_io_load(const struct slot *s)
{
	/* Acquire, pairs with kernel_io_complete(). */
	return atomic_load_explicit(&s->io, memory_order_acquire);
}

static inline bool kernel_io_pending(uint64_t op)
{
	return op >> 32 & OP_PENDING;
}

/* Is it over, without an error, and nothing is left to be sent? */
static inline bool kernel_io_went_well(uint64_t op)
{
	return !(op & ((uint64_t)(OP_PENDING | OP_SENDING) << 32 | 1U << 31));
}

/* An entry as eight words, which are written one by one. */
typedef uint64_t __attribute__((may_alias)) sqe_word;

static inline void sqe_put(struct roost_sqe *sqe, unsigned int at, uint64_t value)
{
	/* Relaxed: published by sq_tail.  As an atomic it stays a plain store. */
	__atomic_store_n((sqe_word *)sqe + at, value, __ATOMIC_RELAXED);
}

_Static_assert(sizeof(struct roost_sqe) == 64, "see kernel_io_fill()");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "as well");

static inline void kernel_io_fill(struct roost_sqe *sqe, const struct io_op *op,
				  uint64_t op_id)
{
	sqe_put(sqe, 0, (uint64_t)(uint32_t)op->fd << 32 | ROOST_SQE_FILE << 8 |
			(uint8_t)op->kind);
	sqe_put(sqe, 1, op_id);
	sqe_put(sqe, 2, 0);			/* deadline */
	sqe_put(sqe, 3, 0);			/* events, worker */
	sqe_put(sqe, 4, (uintptr_t)op->buf);
	sqe_put(sqe, 5, (uintptr_t)op->in);
	sqe_put(sqe, 6, (uint64_t)op->in_len << 32 | op->len);
	sqe_put(sqe, 7, (uint64_t)op->file << 32 | (uint32_t)op->flags);
}

/*
 * kernel_io_stage() - write @op's entry and the slot's state
 *
 * The wait of slot_next_epoch() is to end with it.  It is published by storing
 * @w->hand to @w->hand_to, before anything else is staged: by the caller, or with
 * INTENT_PARK_AND_HAND.  Return: false if it cannot be done in the ring.
 */
static inline bool kernel_io_stage(struct worker *w, struct slot *s,
				   const struct io_op *op, struct ticket *ticket)
{
	struct kring *r = ring_of(w);
	struct roost_sqe *sqe;
	uint32_t epoch, tail;
	uint64_t pending;

	if (unlikely(s->index >= runtime_ring_ios(w->rt)))
		return false;
	sqe = kring_place(w);
	if (unlikely(!sqe))
		return false;
	pending = atomic_load_explicit(&s->io, memory_order_relaxed) >> 32;
	pending = ((pending & ~(uint64_t)(OP_STEP - 1)) + (OP_STEP | OP_PENDING))
		  << 32;
	epoch = slot_next_epoch(s);
	s->epoch = epoch;
	/* Relaxed and release: published by sq_tail; a completion of the
	 * operation before that sees the new epoch sees the new sequence. */
	atomic_store_explicit(&s->io, pending, memory_order_relaxed);
	atomic_store_explicit(&s->io_epoch, epoch, memory_order_release);
	kernel_io_fill(sqe, op, pending | s->index);
	tail = r->sq_tail;
	ticket->ring = r;
	ticket->position = tail;
	r->ios_staged = true;
	r->sq_tail = tail + 1;
	w->hand = tail + 1;
	return true;
}

/* What is left of an operation that did not go well: see kernel_io(). */
ssize_t kernel_io_result(struct slot *s, const struct ticket *ticket,
			 struct io_op *op);

/* What kernel_io_complete() leaves: errors, and waits that are over. */
bool kernel_io_complete_slow(struct worker *w, struct slot *s,
			     const struct roost_cqe *cqe,
			     struct runq_batch *ready);
void kernel_io_wake(struct runtime *rt, struct slot *s, uint32_t generation,
		    uint32_t epoch, uint64_t done, struct runq_batch *ready);

/* The word of who sleeps in the wait @epoch, and nothing else is to be said. */
static inline uint32_t parked_low(uint32_t epoch)
{
	return epoch << SLOT_EPOCH_SHIFT | SLOT_WAITING | SLOT_PARKED;
}

/* As slot_wake() leaves that; an epoch that wraps falls off the word's half. */
static inline uint32_t woken_low(uint32_t epoch)
{
	return (epoch + SLOT_WOKEN) << SLOT_EPOCH_SHIFT | SLOT_QUEUED;
}

/*
 * kernel_io_complete() - as kernel_timer_complete(), for an I/O operation
 *
 * Whom it makes ready it adds to @ready.
 */
static inline bool kernel_io_complete(struct worker *w,
				      const struct roost_cqe *cqe,
				      struct runq_batch *ready)
{
	const uint64_t high = ~(uint64_t)0 << 32;
	uint32_t index = roost_op_index(cqe->user_data);
	uint64_t pending = cqe->user_data & high;
	struct runtime *rt = w->rt;
	uint32_t epoch, generation;
	uint64_t word, done;
	struct slot *s;

	if (unlikely(index >= rt->config.max_actors))
		return false;
	s = &rt->slots[index];
	if (unlikely(kernel_io_load(s) != pending || !kernel_io_pending(pending)))
		return false;
	if (unlikely(cqe->res < 0 || cqe->flags & ROOST_CQE_SEND))
		return kernel_io_complete_slow(w, s, cqe, ready);

	/* The tenant cannot end before it has seen the completion: first these. */
	word = slot_load(s);
	generation = slot_word_generation(word);
	epoch = atomic_load_explicit(&s->io_epoch, memory_order_relaxed);
	done = (pending ^ (uint64_t)OP_PENDING << 32) | (uint32_t)cqe->res;
	/* Release, pairs with kernel_io_load(). */
	atomic_store_explicit(&s->io, done, memory_order_release);
	if (likely((uint32_t)word == parked_low(epoch)) &&
	    likely(slot_replace(s, &word, (word & high) | woken_low(epoch))))
		runq_batch_add(rt->slots, ready, s);
	else
		kernel_io_wake(rt, s, generation, epoch, done, ready);
	return true;
}

#endif /* ROOST_LIB_BACKEND_KERNEL_IO_H */
