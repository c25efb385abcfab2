// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * actor.c - birth, death and handles of actors.
 *
 * LOCKING: slot->lock guards the handles, the joiners and the step to Done.  It
 * is a leaf: no other lock is taken under it, and no wake is
 * sent.
 */
#include "actor.h"

#include <errno.h>

#include <roost/actor.h>

#include "account.h"
#include "inject.h"
#include "log.h"
#include "runtime.h"
#include "suspend.h"
#include "wait.h"
#include "worker.h"

/**
 * struct joiner - one waiting roost_join(), on its stack
 * @node:	in slot->joiners; under the slot's lock
 * @ref:	its wait
 * @ended:	what it waits for has come; set under the slot's lock
 * @outcome:	how, if it has
 */
struct joiner {
	struct list_head node;
	struct wait_ref ref;
	_Atomic bool ended;
	struct roost_outcome outcome;
};

static void actor_main(void *arg)
{
	struct slot *s = arg;
	roost_fn fn = s->fn;

	ctx_entered(&s->ctx);
	s->fn = NULL;
	carrier_resumed(carrier_self());
	library_leave();
	fn(s->arg);
	library_enter_once();
	worker_exit_actor();
}

static void say_full(struct runtime *rt)
{
	unsigned int n = rt->config.max_actors;

	if (!atomic_exchange(&rt->full_said, true))
		log_line("all %u actor slots are taken (%u actors live): set max_actors higher, to %u say",
			 n, atomic_load(&rt->live), n > ~0U / 2 ? n : n * 2);
}

/* With EXTRA_WATCH: nobody sees @s yet. */
static noinline void begin_watched(struct runtime *rt, const struct slot *s)
{
	account_reset(rt, s);
	if (runtime_traces(rt))
		trace_spawned(rt, s);
}

int actor_spawn(struct runtime *rt, roost_fn fn, void *arg,
		const struct roost_spawn_options *options, roost_pid *pid)
{
	struct slot *s = slot_alloc(rt);
	uint32_t generation;
	int err;

	if (!s) {
		say_full(rt);
		return -EAGAIN;
	}
	err = stack_sizes_get(&rt->stacks, options ? options->stack_size : 0,
			      &s->stack);
	if (err) {
		slot_free(rt, s);
		return err;
	}
	ctx_make(&s->ctx, s->stack.low, stack_size(&s->stack), actor_main, s);
	s->fn = fn;
	s->arg = arg;
	s->error = 0;
	s->crash.reason = ROOST_CRASH_NONE;
	s->no_preempt = 0;
	atomic_store_explicit(&s->overruns, 0, memory_order_relaxed);
	slot_waits_for(s, ROOST_WAITS_NOT);
	slot_set_name(s, options ? options->name : NULL);
	/* Nobody looks before slot_install(), which publishes it. */
	s->handles = pid ? 1 : 0;
	generation = slot_word_generation(slot_load(s));
	if (pid)
		*pid = runtime_pid(rt, s, generation);
	/* Counted before anybody can see it, let alone bury it (S0-28, S0-77). */
	atomic_fetch_add_explicit(&rt->live, 1, memory_order_relaxed);
	stat_count(rt, STAT(spawned), 1);
	if (unlikely(runtime_extra(rt) & EXTRA_WATCH))
		begin_watched(rt, s);
	slot_install(s);
	inject_delay();
	worker_ready(rt, s);
	return 0;
}

static bool ended(const struct slot *s)
{
	return slot_word_state(slot_load(s)) == SLOT_DONE;
}

/* Of one that has ended.  Lock held. */
static struct roost_outcome outcome_of(struct runtime *rt, const struct slot *s)
{
	uint64_t word = slot_load(s);
	struct roost_outcome o = {
		.pid = runtime_pid(rt, s, slot_word_generation(word)),
		.how = word & SLOT_STOP ? ROOST_END_STOPPED : ROOST_END_RETURNED,
	};

	if (s->crash.reason != ROOST_CRASH_NONE) {
		o.how = ROOST_END_CRASHED;
		o.reason = (enum roost_crash)s->crash.reason;
		o.code = s->crash.code;
		o.address = s->crash.address;
		o.pc = s->crash.pc;
	}
	return o;
}

/* Lock held.  Return: true if the caller must slot_free() after unlocking. */
static bool reclaim_if_unused(struct slot *s)
{
	if (!ended(s) || s->handles)
		return false;
	slot_reclaim(s);
	return true;
}

/* Lock held.  As above. */
static bool drop_handle(struct slot *s)
{
	if (s->handles)
		s->handles--;
	return reclaim_if_unused(s);
}

/* All of @from go to @to, which is empty. */
static void move_joiners(struct list_head *from, struct list_head *to)
{
	INIT_LIST_HEAD(to);
	if (list_empty(from))
		return;
	list_insert_between(to, from->prev, from->next);
	INIT_LIST_HEAD(from);
}

/*
 * Lock of their slot held.  Take one of @joiners, which is not empty, and tell it: what
 * is to be woken then is copied first, for once @ended is seen, the joiner's stack frame
 * may be gone.
 */
static struct wait_ref take_joiner(struct list_head *joiners,
				   const struct roost_outcome *outcome)
{
	struct joiner *j = list_first_entry(joiners, struct joiner, node);
	struct wait_ref ref = j->ref;

	list_del_init(&j->node);
	j->outcome = *outcome;
	/* Release: @outcome; pairs with the acquire in joined(). */
	atomic_store_explicit(&j->ended, true, memory_order_release);
	return ref;
}

/*
 * The next of @joiners, which are under the lock of @s still, though @s may have
 * another tenant by now.
 */
static bool tell_joiner(struct runtime *rt, struct slot *s,
			struct list_head *joiners,
			const struct roost_outcome *outcome)
{
	struct wait_ref ref;

	spin_lock(&s->lock);
	if (list_empty(joiners)) {
		spin_unlock(&s->lock);
		return false;
	}
	ref = take_joiner(joiners, outcome);
	spin_unlock(&s->lock);
	inject_delay();
	wait_wake(rt, ref);
	return true;
}

static void run_is_over(struct runtime *rt)
{
	worker_wake_all(rt);
	threads_dismiss(rt);
}

/* The most of all: whoever has less leaves it. */
static void note_high_water(struct runtime *rt, const struct slot *s)
{
	size_t mine = stack_high_water(&s->stack);
	size_t most = atomic_load_explicit(&rt->stack_high,
					   memory_order_relaxed);

	while (mine > most &&
	       !atomic_compare_exchange_weak_explicit(&rt->stack_high, &most,
						      mine,
						      memory_order_relaxed,
						      memory_order_relaxed))
		;
}

void actor_bury(struct worker *w, struct slot *s)
{
	struct runtime *rt = w->rt;
	uint32_t generation = slot_word_generation(slot_load(s));
	bool root = runtime_pid(rt, s, generation) == rt->root;
	struct roost_outcome outcome;
	struct wait_ref first;
	struct list_head joiners;
	bool told, more, unused;

	if (atomic_load_explicit(&s->timer.armed, memory_order_relaxed) !=
	    ROOST_FOREVER)
		rt->backend->timer_end(w, &s->timer);
	ctx_destroy(&s->ctx);
	if (unlikely(rt->config.stack_flags & ROOST_STACK_MEASURED))
		note_high_water(rt, s);
	stack_put(&s->stack);

	/*
	 * Done in one step, and they are woken afterwards: whoever has joined may count
	 * on the slot, if its handle was the last one.  Who joins has the handle, and
	 * that is as good as dropped once one of them is told.  Mostly there is one.
	 */
	spin_lock(&s->lock);
	slot_finish(s);
	outcome = outcome_of(rt, s);
	move_joiners(&s->joiners, &joiners);
	told = !list_empty(&joiners);
	if (told)
		first = take_joiner(&joiners, &outcome);
	more = !list_empty(&joiners);
	unused = told ? drop_handle(s) : reclaim_if_unused(s);
	spin_unlock(&s->lock);
	if (unused)
		slot_free(rt, s);
	inject_delay();
	if (told)
		wait_wake(rt, first);
	while (more && tell_joiner(rt, s, &joiners, &outcome))
		;

	if (root)
		atomic_store_explicit(&rt->root_gone, true,
				      memory_order_release);
	inject_delay();
	/* Last of all: who sees 0 may end the run (S0-77, S0-78). */
	if (atomic_fetch_sub_explicit(&rt->live, 1, memory_order_acq_rel) == 1)
		run_is_over(rt);
}

/* Lock held. */
static bool names(const struct slot *s, roost_pid pid)
{
	uint64_t word = slot_load(s);

	return slot_word_generation(word) == pid_generation(pid) &&
	       slot_word_state(word) != SLOT_VACANT;
}

/* Done already, or put on the list: decided under one lock (S0-49). */
static int done_or_register(struct runtime *rt, struct slot *s, roost_pid pid,
			    struct joiner *j)
{
	bool unused = false;
	int result = -ESRCH;

	inject_delay();
	spin_lock(&s->lock);
	if (names(s, pid)) {
		if (ended(s)) {
			j->outcome = outcome_of(rt, s);
			unused = drop_handle(s);
			result = 0;
		} else {
			list_add_tail(&j->node, &s->joiners);
			result = -EINPROGRESS;
		}
	}
	spin_unlock(&s->lock);
	if (unused)
		slot_free(rt, s);
	return result;
}

/* After the wait: the actor's end has the last word over @err. */
static int joined(struct slot *s, struct joiner *j, int err)
{
	/* Acquire: pairs with the release in take_joiner(). */
	if (atomic_load_explicit(&j->ended, memory_order_acquire))
		return 0;
	inject_delay();
	spin_lock(&s->lock);
	if (atomic_load_explicit(&j->ended, memory_order_relaxed))
		err = 0;
	else
		list_del_init(&j->node);
	spin_unlock(&s->lock);
	return err;
}

/* @outcome: NULL, or filled in with a result of 0. */
static int wait_for_end(struct runtime *rt, roost_pid pid, uint64_t deadline,
			struct roost_outcome *outcome)
{
	struct joiner j;
	struct slot *s;
	int err;

	if (pid == roost_self())
		return -EDEADLK;
	s = runtime_slot(rt, pid);
	if (!s)
		return -ESRCH;
	atomic_init(&j.ended, false);
	j.ref = wait_begin();
	err = done_or_register(rt, s, pid, &j);
	if (err != -EINPROGRESS)
		wait_retire();
	else
		err = joined(s, &j,
			     wait_park_for(ROOST_WAITS_END, deadline, true));
	if (!err && outcome)
		*outcome = j.outcome;
	return err;
}

int roost_join(roost_pid pid, uint64_t deadline)
{
	struct carrier *c = library_enter();

	if (!c)
		return -EPERM;
	return (int)library_return(wait_for_end(c->rt, pid, deadline, NULL));
}

int roost_join_outcome(roost_pid pid, uint64_t deadline,
		       struct roost_outcome *outcome)
{
	struct carrier *c = library_enter();

	if (!c)
		return -EPERM;
	return (int)library_return(wait_for_end(c->rt, pid, deadline, outcome));
}

static int detach(struct runtime *rt, roost_pid pid)
{
	struct slot *s = runtime_slot(rt, pid);
	bool unused = false;
	int err = -ESRCH;

	if (!s)
		return -ESRCH;
	spin_lock(&s->lock);
	if (names(s, pid) && s->handles) {
		unused = drop_handle(s);
		err = 0;
	}
	spin_unlock(&s->lock);
	if (unused)
		slot_free(rt, s);
	return err;
}

int roost_detach(roost_pid pid)
{
	struct carrier *c = library_enter();

	if (!c)
		return -EPERM;
	return (int)library_return(detach(c->rt, pid));
}

int roost_spawn(roost_fn fn, void *arg, roost_pid *pid)
{
	struct carrier *c = library_enter();

	if (!c)
		return -EPERM;
	return (int)library_return(actor_spawn(c->rt, fn, arg, NULL, pid));
}

static int spawn_with(struct runtime *rt, roost_fn fn, void *arg,
		      const struct roost_spawn_options *options, roost_pid *pid)
{
	size_t i;

	if (!options)
		return actor_spawn(rt, fn, arg, NULL, pid);
	for (i = 0; i < ARRAY_SIZE(options->reserved); i++)
		if (options->reserved[i])
			return -EINVAL;
	if (options->stack_size && (options->stack_size < STACK_MIN ||
				    options->stack_size > STACK_MAX))
		return -EINVAL;
	return actor_spawn(rt, fn, arg, options, pid);
}

int roost_spawn_with(roost_fn fn, void *arg,
		     const struct roost_spawn_options *options, roost_pid *pid)
{
	struct carrier *c = library_enter();

	if (!c)
		return -EPERM;
	return (int)library_return(spawn_with(c->rt, fn, arg, options, pid));
}

/* In the library, lest it runs on another stack meanwhile: a displaced one may. */
ssize_t roost_stack_used(void)
{
	struct carrier *c = library_enter();

	if (!c)
		return -EPERM;
	return library_return((ssize_t)stack_high_water(&c->current->stack));
}

static int stop(struct runtime *rt, roost_pid pid)
{
	struct slot *s = runtime_slot(rt, pid);
	enum slot_effect effect;

	if (!s)
		return -ESRCH;
	effect = slot_stop(s, pid_generation(pid));
	trace_wake(rt, pid, ROOST_TRACE_STOPPED, effect);
	if (effect == SLOT_MADE_READY)
		worker_ready(rt, s);
	return effect == SLOT_NO_EFFECT ? -ESRCH : 0;
}

int roost_stop(roost_pid pid)
{
	struct carrier *c = library_enter();

	if (!c)
		return -EPERM;
	return (int)library_return(stop(c->rt, pid));
}

/* This and the next do not enter: see carrier.h. */
int roost_stopped(void)
{
	struct slot *s = worker_actor();

	return s && (slot_load(s) & SLOT_STOP) ? 1 : 0;
}

roost_pid roost_self(void)
{
	struct slot *s = worker_actor();

	if (!s)
		return ROOST_PID_NONE;
	return runtime_pid(runtime_self(), s, slot_word_generation(slot_load(s)));
}

void actor_yield(void)
{
	worker_suspend(INTENT_YIELD);
}

void roost_yield(void)
{
	struct carrier *c = library_enter_once();

	if (c)
		library_leave_on(worker_yield_here(c, c->worker, c->current));
}

void roost_exit(void)
{
	if (!library_enter_once())
		log_fatal("roost_exit() was called outside of an actor");
	worker_exit_actor();
}
