/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * carrier.h - an OS thread of a runtime, and the way into the library.
 *
 * A carrier runs the worker whose lease it has.  With a module that takes the
 * worker of a carrier that is blocked in an actor (struct runtime.takeover), it may
 * find out, when the actor calls the library, that the lease was given to another.
 * Then the actor is queued, to go on on whatever worker takes it, and the thread
 * stands by.
 *
 * THE WORD.  The worker's page says whether its carrier is inside the library, the
 * scheduler included: the module looks at it when the thread leaves its CPU or runs
 * for too long, and takes nothing from who is inside.  So whoever is displaced holds
 * no lock of the library, and is not in the middle of anything.  The word names the
 * lease, and is changed from outside to inside in one step: that fails for who was
 * displaced and does not know it yet, and leaves alone what is the next carrier's.
 * The next carrier may change the word on another CPU just then, and an exchange that
 * fails writes back what it has read: so the step is atomic among CPUs.
 * Where nobody is ever displaced it is a word of the thread.  Beside it stands
 * another that changes with each actor that is resumed: one that goes on for too long
 * while others wait loses its worker as well.
 *
 * An actor's function begins outside.  Each public function that an actor may call
 * is between library_enter() and library_leave(); inside, the lease is sure, also
 * over a switch, after which it is another carrier's, perhaps.  They are not
 * nested: inside the library, what is public is called by its inner name.
 *
 * Neither needs more order than that of the program: who looks is the kernel, when it
 * has interrupted this very thread, and what it does then is done before the
 * thread goes on.  What a carrier has written to the worker is seen by the next one
 * through the locks that the kernel takes for the change.
 *
 * ERRNO.  The library reports errors by what it returns.  On the way in it keeps what
 * the actor has in errno, on the way out it puts that back, whatever thread this is
 * then.  Inside, errno is nobody's, and a switch takes no notice of it.
 *
 * WHO NEED NOT ENTER.  roost_now() and roost_after() only read the clock.
 * roost_self() and roost_stopped() read what belongs to the thread (@current, @rt) or
 * to the actor (its state word), which are the same for a displaced one, and take no
 * lock.  So does roost_preempt_disable().  roost_run() is not for actors; roost_workers()
 * knows of none.
 *
 * A signal handler in an actor is part of it, and calls nothing but these four: what
 * it interrupts may be on its way in or out.  If it is inside, carrier_regain() says
 * so and ends the process.
 */
#ifndef ROOST_LIB_CARRIER_H
#define ROOST_LIB_CARRIER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "arch/arch.h"
#include ARCH_HEADER(local.h)
#include "compiler.h"
#include "ctx.h"
#include "fault.h"
#include "list.h"
#include "slot.h"

struct runtime;
struct slot;
struct worker;

/* What an actor wants when it gives up its worker. */
enum intent {
	INTENT_YIELD,		/* the default of each resume (S0-45) */
	INTENT_PARK,
	INTENT_PARK_ENDLESS,
	INTENT_PARK_AND_HAND,	/* open a wait, park, then publish worker->hand */
	INTENT_EXIT,
	INTENT_DISPLACED,	/* the carrier has no worker any more */
	INTENT_CRASHED,		/* it is over, by a fault: see fault.c */
	INTENT_CRASHED_DISPLACED,
};

/**
 * struct carrier - one thread
 * @current:	the actor that runs, NULL in scheduler context; set by
 *		carrier_set_current(), for inspect.c reads it
 * @worker:	what it carries, as far as it knows; NULL: it is to stand by; so is this, by
 *		carrier_set_worker()
 * @word:	see above: in the worker's page, or in @own_words
 * @outside:	what it is then
 * @inside:	what it is then
 * @intent:	what @current asked for
 * @checks:	safepoints since the CPU's counter was read
 * @check_every: it is read when there were so many
 * @own_words:	as in the page, not shared; says outside only while @word is this one
 * @rt:		its runtime, constant
 * @error:	where the thread has errno
 * @ctx:	the scheduler's context while an actor runs
 * @modes:	floating point modes of the thread while it is in there
 * @fault:	for handlers of faults
 * @thread:	the thread; not for the one that called roost_run()
 * @clock:	CPU time clock of the thread
 * @clock_start: what that showed in the beginning
 * @node:	in rt->threads.all; under rt->threads.lock, as is all below
 * @counted:	it is among rt->threads.ready already
 * @awaited:	roost_run() is waiting for its end
 */
struct carrier {
	struct slot *current;
	struct worker *worker;
	_Atomic uint32_t *word;
	uint32_t outside;
	uint32_t inside;
	enum intent intent;
	uint32_t checks;
	uint32_t check_every;
	_Atomic uint32_t own_words[5];
	struct runtime *rt;
	int *error;
	ctx_modes modes;
	struct ctx ctx;

	pthread_t thread ____cacheline_aligned;
	struct fault_thread fault;
	clockid_t clock;
	uint64_t clock_start;
	struct list_head node;
	bool counted;
	bool awaited;
} __attribute__((aligned(CACHELINE)));

/**
 * carrier_self() - the calling thread's; one without actor and worker for threads
 *	that are none
 *
 * Not inlined, so that no compiler keeps the address of a thread's variable
 * over a switch; ask again after anything that may switch.
 */
struct carrier *carrier_self(void);

static inline void carrier_set_current(struct carrier *c, struct slot *s)
{
	__atomic_store_n(&c->current, s, __ATOMIC_RELAXED);
}

static inline void carrier_set_worker(struct carrier *c, struct worker *w)
{
	__atomic_store_n(&c->worker, w, __ATOMIC_RELAXED);
}

/** carrier_begin() - the calling thread is @c from now on */
void carrier_begin(struct carrier *c);

/** carrier_end() - ... and is none any more */
void carrier_end(struct carrier *c);

/** carrier_in_child() - the calling thread, if it is one, is the only one of a new process */
void carrier_in_child(void);

/** carrier_unshare() - @c, which is inside, cannot be displaced */
void carrier_unshare(struct carrier *c);

/**
 * carrier_share() - a carrier has got a lease; go inside
 * @c:		the calling thread's
 * @word:	in the worker's page
 * @outside:	what says there that it is outside
 * @inside:	the other
 *
 * Return: false if it has been displaced since.
 */
bool carrier_share(struct carrier *c, _Atomic uint32_t *word, uint32_t outside,
		   uint32_t inside);

/** carrier_is_inside() - for checks only */
static inline bool carrier_is_inside(const struct carrier *c)
{
	return atomic_load_explicit(c->word, memory_order_relaxed) == c->inside;
}

/* From @word on. */
#define CARRIER_RESUMES	3
#define CARRIER_PREEMPT	4

/** carrier_is_told() - does the module want another actor to run? */
static inline bool carrier_is_told(const struct carrier *c)
{
	return atomic_load_explicit(&c->word[CARRIER_PREEMPT],
				    memory_order_relaxed);
}

/** carrier_resumed() - another actor runs on @c, and is about to leave the library */
static inline __attribute__((always_inline)) void
carrier_resumed(struct carrier *c)
{
	_Atomic uint32_t *word = c->word;

	local_increment(&word[CARRIER_RESUMES]);
	if (unlikely(atomic_load_explicit(&word[CARRIER_PREEMPT],
					  memory_order_relaxed)))
		atomic_store_explicit(&word[CARRIER_PREEMPT], 0,
				      memory_order_relaxed);
}

/** carrier_safepoint_due() - is carrier_safepoint() to be asked?  Counts */
static inline bool carrier_safepoint_due(struct carrier *c)
{
	return unlikely(++c->checks >= c->check_every) ||
	       unlikely(carrier_is_told(c));
}

/*
 * carrier_safepoint() - the calling actor, on @c and inside, goes on when others have
 *	run, if it is time for that: see safepoint.h
 *
 * Return: its carrier then.
 */
struct carrier *carrier_safepoint(struct carrier *c);

/** carrier_is_displaced() - is @c, outside, without a worker and has not noticed? */
static inline bool carrier_is_displaced(const struct carrier *c)
{
	return atomic_load_explicit(c->word, memory_order_relaxed) != c->outside;
}

/*
 * carrier_regain() - the calling actor's thread has lost its worker; or it is inside
 *	already, which ends the process
 *
 * Return: its carrier then, which has one.
 */
struct carrier *carrier_regain(struct carrier *c);

/* What @own_words says. */
#define CARRIER_OUTSIDE	0U
#define CARRIER_INSIDE	1U

/*
 * carrier_go_inside() - @c, which is outside as far as it knows, goes inside
 *
 * Nobody else is at @own_words.  If these say outside, they are the word; else it is
 * in the page, and perhaps another carrier's by now.
 *
 * Return: false if it was displaced.
 */
static inline __attribute__((always_inline)) bool
carrier_go_inside(struct carrier *c)
{
	uint32_t outside;

	if (likely(atomic_load_explicit(c->own_words, memory_order_relaxed) ==
		   CARRIER_OUTSIDE)) {
		atomic_store_explicit(c->own_words, CARRIER_INSIDE,
				      memory_order_relaxed);
		/* What is done inside comes after it. */
		atomic_signal_fence(memory_order_seq_cst);
		return true;
	}
	outside = c->outside;
	/* Acquire for the same, and for nobody on another CPU. */
	return atomic_compare_exchange_strong_explicit(c->word, &outside,
						       c->inside,
						       memory_order_acquire,
						       memory_order_relaxed);
}

/** carrier_go_outside() - the way back */
static inline __attribute__((always_inline)) void
carrier_go_outside(struct carrier *c)
{
	/* What was done inside is done. */
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(c->word, c->outside, memory_order_relaxed);
}

/* How an actor's errno goes with it, and what it does not hear of. */
static inline void errno_keep(struct carrier *c)
{
	c->current->error = *c->error;
}

static inline void errno_give_back(struct carrier *c)
{
	*c->error = c->current->error;
}

/** library_enter_on() - library_enter() of an actor on @c, which is carrier_self() */
static inline __attribute__((always_inline)) struct carrier *
library_enter_on(struct carrier *c)
{
	errno_keep(c);
	if (unlikely(!carrier_go_inside(c)))
		return carrier_regain(c);
	return c;
}

/** library_enter_once() - library_enter() without a safepoint: for who gives way anyway */
static inline struct carrier *library_enter_once(void)
{
	struct carrier *c = carrier_self();

	return unlikely(!c->current) ? NULL : library_enter_on(c);
}

/**
 * library_enter() - an actor has called; a safepoint
 *
 * Return: its carrier, perhaps another than before; NULL outside of an actor,
 * and then nothing is to be left.
 */
static inline struct carrier *library_enter(void)
{
	struct carrier *c = library_enter_once();

	if (c && unlikely(carrier_safepoint_due(c)))
		c = carrier_safepoint(c);
	return c;
}

/** library_leave_on() - library_leave() where @c is known to be carrier_self() */
static inline __attribute__((always_inline)) void
library_leave_on(struct carrier *c)
{
	errno_give_back(c);
	carrier_go_outside(c);
}

/** library_leave() - back to the actor; nothing of the worker is used any more */
static inline void library_leave(void)
{
	library_leave_on(carrier_self());
}

/**
 * library_step_out() - outside meanwhile, for a system call of the library's own that
 *	may block
 */
static inline void library_step_out(void)
{
	library_leave();
}

/** library_step_in() - back from there; the errno that it has left is not the actor's */
static inline void library_step_in(void)
{
	int error = carrier_self()->current->error;

	library_enter()->current->error = error;
}

/** library_return() - library_leave(), returning @result */
static inline ssize_t library_return(ssize_t result)
{
	library_leave();
	return result;
}

#endif /* ROOST_LIB_CARRIER_H */
