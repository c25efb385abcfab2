/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * lib_invariant_life.h - one actor of lib_invariant_test.c, and what has to be true of it.
 *
 * Each call of the library is made through AWAY().  Whatever the actor has then tells,
 * when it is back, whether it is the same actor, on the same stack, alone, and with its
 * errno.
 *
 * A park has a ticket.  Who sends a wake takes the ticket first, and then writes its
 * number to @sent; so each park is sent at most one wake, no other one makes good for it
 * if it is lost, and a park that ends without it was ended by somebody else's.
 */
#ifndef ROOST_SELFTESTS_STRESS_LIB_INVARIANT_LIFE_H
#define ROOST_SELFTESTS_STRESS_LIB_INVARIANT_LIFE_H

#include "../runtime/run.h"

#define MAX_LIVES	1024U
#define MAX_CHILDREN	3U
/* Slots are taken again and again. */
#define MAX_ACTORS	2048U

enum stop_state {
	NOT_STOPPED,
	BEING_STOPPED,
	STOPPED,		/* roost_stop() has returned 0 */
	STOPPED_TOO_LATE,	/* ... -ESRCH */
};

/**
 * struct life - one actor
 * @pid:	known to whoever has spawned it, and to itself
 * @id:		follows from the seed alone
 * @r:		its random numbers
 * @depth:	0: spawned by the root
 * @steps:	that it is to take; 0: none but to wait until it is stopped
 * @present:	it is on a CPU, in this program's code
 * @begun:	its function was called
 * @ended:	... and has come to its end
 * @stop:	enum stop_state; one stops it, once
 * @ticket:	of its last park; its own
 * @waits:	ticket of the park that nobody has sent the wake of, 0 for none
 * @sent:	ticket of the last wake that was sent
 * @used:	ticket of the last that has arrived
 * @payload:	plain: written before the wake is sent, read after it has arrived
 * @children:	those that it holds the handles of
 * @nr_children: how many
 * @born:	how many it has spawned
 */
struct life {
	_Atomic roost_pid pid;
	uint64_t id;
	uint64_t r;
	unsigned int depth;
	unsigned int steps;
	_Atomic bool present;
	_Atomic bool begun;
	_Atomic bool ended;
	_Atomic int stop;
	uint32_t ticket;
	_Atomic uint32_t waits;
	_Atomic uint32_t sent;
	_Atomic uint32_t used;
	uint64_t payload;
	struct life *children[MAX_CHILDREN];
	unsigned int nr_children;
	unsigned int born;
} __attribute__((aligned(128)));

static struct life lives[MAX_LIVES];
static _Atomic unsigned int nr_lives;
/* For each slot: generation + 1 of the last that began there. */
static _Atomic uint64_t generations[MAX_ACTORS];
/* What the watchdog looks at. */
static _Atomic unsigned long progress;
/* What there is to say of a violation. */
static uint64_t seed;
static unsigned long round_number;

static void violated(const char *invariant, const struct life *l)
	__attribute__((noreturn));
static void violated(const char *invariant, const struct life *l)
{
	printf("# VIOLATED: %s\n# actor %lx of %lx, stop %d, ticket %u waits %u sent %u used %u\n",
	       invariant, l ? (unsigned long)l->id : 0,
	       l ? (unsigned long)l->pid : 0, l ? (int)l->stop : 0,
	       l ? l->ticket : 0, l ? l->waits : 0, l ? l->sent : 0,
	       l ? l->used : 0);
	printf("# once more: ROOST_SEED=0x%lx ROOST_ROUND=%lu\n",
	       (unsigned long)seed, round_number);
	printf("not ok 1 %s\n", invariant);
	fflush(stdout);
	abort();
}

/* Yields nothing; counts as a check. */
#define HOLDS(cond, invariant, l) do {					\
	atomic_fetch_add_explicit(&tap_checks, 1, memory_order_relaxed);	\
	if (__builtin_expect(!(cond), 0))				\
		violated(invariant, l);					\
} while (0)

static inline int errno_of(const struct life *l)
{
	return (int)(l->id % 4000) + 1;
}

static inline void leaves(struct life *l)
{
	errno = errno_of(l);
	HOLDS(atomic_exchange(&l->present, false), "an actor runs on one worker at a time", l);
}

static inline void comes_back(struct life *l, uint64_t canary)
{
	HOLDS(!atomic_exchange(&l->present, true), "an actor runs on one worker at a time", l);
	HOLDS(canary == ~l->id, "a stack is one actor's", l);
	HOLDS(roost_self() == atomic_load(&l->pid), "a pid names one actor", l);
	HOLDS(errno == errno_of(l), "errno goes with its actor", l);
	atomic_fetch_add_explicit(&progress, 1, memory_order_relaxed);
}

/* AWAY() - a call of the library by @l, with all that is looked at afterwards */
#define AWAY(l, call) ({						\
	struct life *l_ = (l);						\
	volatile uint64_t canary_ = ~l_->id;				\
									\
	leaves(l_);							\
	__auto_type result_ = (call);					\
	comes_back(l_, canary_);					\
	result_;							\
})

static inline void note_generation(const struct life *l, roost_pid pid)
{
	uint64_t now = (pid >> 32) + 1;
	uint64_t before = atomic_exchange(&generations[(uint32_t)pid % MAX_ACTORS],
					  now);

	HOLDS(now > before, "the generation of a slot only grows", l);
}

static inline void life_begins(struct life *l)
{
	HOLDS(!atomic_exchange(&l->begun, true), "an actor begins once", l);
	HOLDS(!atomic_exchange(&l->present, true), "an actor runs on one worker at a time", l);
	atomic_store(&l->pid, roost_self());
	note_generation(l, roost_self());
}

static inline void life_ends(struct life *l)
{
	HOLDS(!atomic_exchange(&l->ended, true), "an actor ends once", l);
	HOLDS(atomic_exchange(&l->present, false), "an actor runs on one worker at a time", l);
	atomic_fetch_add_explicit(&progress, 1, memory_order_relaxed);
}

/* Was @l stopped before the call that @before was read in front of? */
static inline void stop_is_sticky(struct life *l, int before, int err)
{
	HOLDS(before != STOPPED || err == -ECANCELED,
	      "who was stopped does not wait any more", l);
	if (err == -ECANCELED)
		HOLDS(atomic_load(&l->stop) != NOT_STOPPED &&
		      atomic_load(&l->stop) != STOPPED_TOO_LATE && roost_stopped(),
		      "a wait is cancelled by a stop alone", l);
}

static inline void wake_arrived(struct life *l)
{
	HOLDS(atomic_load(&l->sent) == l->ticket, "a wake ends the wait it was sent to", l);
	HOLDS(l->payload == l->id + l->ticket, "what was written before a wake is seen after it", l);
	atomic_store(&l->used, l->ticket);
}

/* Park until the wake of the ticket.  Return: false if @l was stopped. */
static inline bool life_parks(struct life *l)
{
	int before = atomic_load(&l->stop);
	int err = AWAY(l, roost_park(ROOST_FOREVER));

	HOLDS(!err || err == -ECANCELED, "a park without a deadline has none", l);
	stop_is_sticky(l, before, err);
	if (!err)
		wake_arrived(l);
	return !err;
}

static inline bool life_park(struct life *l)
{
	atomic_store(&l->waits, ++l->ticket);
	return life_parks(l);
}

static inline bool life_park_until(struct life *l, uint64_t deadline)
{
	int before = atomic_load(&l->stop);
	uint32_t ticket = ++l->ticket;
	int err;

	atomic_store(&l->waits, ticket);
	err = AWAY(l, roost_park(deadline));
	stop_is_sticky(l, before, err);
	if (err == -ECANCELED)
		return false;
	if (!err) {
		wake_arrived(l);
		return true;
	}
	HOLDS(err == -ETIMEDOUT && roost_now() >= deadline, "a deadline is never early", l);
	/* Whoever has the ticket sends the wake still, and it must arrive. */
	return atomic_compare_exchange_strong(&l->waits, &ticket, 0) ||
	       life_parks(l);
}

/*
 * life_wake() - send a wake to @l, if it has a ticket for one
 *
 * By anybody.  Return: the ticket, or 0.
 */
static inline uint32_t life_wake(struct life *l)
{
	uint32_t ticket = atomic_load(&l->waits);
	int err;

	if (!ticket || !atomic_compare_exchange_strong(&l->waits, &ticket, 0))
		return 0;
	l->payload = l->id + ticket;
	atomic_store(&l->sent, ticket);
	err = roost_unpark(atomic_load(&l->pid));
	HOLDS(!err || (err == -ESRCH && atomic_load(&l->stop) != NOT_STOPPED),
	      "an unpark finds who waits for it", l);
	return ticket;
}

/* Has the wake with that ticket arrived, or can it not any more? */
static inline bool life_is_woken(const struct life *l, uint32_t ticket)
{
	return (int32_t)(atomic_load(&l->used) - ticket) >= 0 ||
	       atomic_load(&l->stop) != NOT_STOPPED;
}

/* By whoever is first.  False: somebody else was. */
static inline bool life_stop(struct life *l)
{
	int state = NOT_STOPPED;
	int err;

	if (atomic_load(&l->pid) == ROOST_PID_NONE ||
	    !atomic_compare_exchange_strong(&l->stop, &state, BEING_STOPPED))
		return false;
	err = roost_stop(atomic_load(&l->pid));
	HOLDS(!err || (err == -ESRCH && atomic_load(&l->ended)),
	      "a stop finds who lives", l);
	atomic_store(&l->stop, err ? STOPPED_TOO_LATE : STOPPED);
	return true;
}

/* @l was joined. */
static inline void life_is_over(const struct life *l, const struct roost_outcome *o)
{
	int stop;

	while ((stop = atomic_load(&l->stop)) == BEING_STOPPED)
		sched_yield();
	HOLDS(o->pid == atomic_load(&l->pid), "a join tells of whom it was asked", l);
	HOLDS(o->how == (stop == STOPPED ? ROOST_END_STOPPED : ROOST_END_RETURNED),
	      "the outcome says whether there was a stop", l);
	HOLDS(atomic_load(&l->ended) || (stop == STOPPED && !atomic_load(&l->begun)),
	      "a join returns after the end", l);
	HOLDS(!atomic_load(&l->present), "a join returns after the end", l);
}

#endif /* ROOST_SELFTESTS_STRESS_LIB_INVARIANT_LIFE_H */
