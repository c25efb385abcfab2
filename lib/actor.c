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

#include "inject.h"
#include "log.h"
#include "runtime.h"
#include "wait.h"
#include "worker.h"

/**
 * struct joiner - one waiting roost_join(), on its stack
 * @node:	in slot->joiners; under the slot's lock
 * @ref:	its wait
 * @ended:	what it waits for has come; under the slot's lock
 */
struct joiner {
	struct list_head node;
	struct wait_ref ref;
	bool ended;
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
	library_enter();
	worker_exit_actor();
}

static void say_full(struct runtime *rt)
{
	unsigned int n = rt->config.max_actors;

	if (!atomic_exchange(&rt->full_said, true))
		log_line("all %u actor slots are taken (%u actors live): set max_actors higher, to %u say",
			 n, atomic_load(&rt->live), n > ~0U / 2 ? n : n * 2);
}

int actor_spawn(struct runtime *rt, roost_fn fn, void *arg, roost_pid *pid)
{
	struct slot *s = slot_alloc(rt);
	uint32_t generation;
	int err;

	if (!s) {
		say_full(rt);
		return -EAGAIN;
	}
	err = stack_get(&rt->stacks, &s->stack);
	if (err) {
		slot_free(rt, s);
		return err;
	}
	ctx_make(&s->ctx, s->stack.low, rt->stacks.size, actor_main, s);
	s->fn = fn;
	s->arg = arg;
	s->error = 0;
	spin_lock(&s->lock);
	s->handles = pid ? 1 : 0;
	spin_unlock(&s->lock);
	generation = slot_word_generation(slot_load(s));
	if (pid)
		*pid = runtime_pid(rt, s, generation);
	/* Counted before anybody can see it, let alone bury it (S0-28, S0-77). */
	atomic_fetch_add_explicit(&rt->live, 1, memory_order_relaxed);
	stat_count(rt, STAT(spawned), 1);
	slot_install(s);
	worker_ready(rt, s, generation);
	return 0;
}

static bool ended(const struct slot *s)
{
	return slot_word_state(slot_load(s)) == SLOT_DONE;
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
 * Tell one of @joiners, which are under the lock of @s still, though @s may have
 * another tenant by now.  Its wait is copied first: once @ended is seen, the
 * joiner's stack frame may be gone.
 */
static bool tell_joiner(struct runtime *rt, struct slot *s,
			struct list_head *joiners)
{
	struct wait_ref ref;
	struct joiner *j;

	spin_lock(&s->lock);
	if (list_empty(joiners)) {
		spin_unlock(&s->lock);
		return false;
	}
	j = list_first_entry(joiners, struct joiner, node);
	list_del_init(&j->node);
	ref = j->ref;
	j->ended = true;
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

void actor_bury(struct worker *w, struct slot *s)
{
	struct runtime *rt = w->rt;
	uint32_t generation = slot_word_generation(slot_load(s));
	bool root = runtime_pid(rt, s, generation) == rt->root;
	struct list_head joiners;
	bool unused;

	if (atomic_load_explicit(&s->timer.armed, memory_order_relaxed) !=
	    ROOST_FOREVER)
		rt->backend->timer_end(w, &s->timer);
	ctx_destroy(&s->ctx);
	stack_put(&rt->stacks, &s->stack);

	/*
	 * Done in one step, and told afterwards: whoever has joined may count on
	 * the slot, if its handle was the last one.
	 */
	spin_lock(&s->lock);
	slot_finish(s);
	move_joiners(&s->joiners, &joiners);
	unused = reclaim_if_unused(s);
	spin_unlock(&s->lock);
	if (unused)
		slot_free(rt, s);
	while (tell_joiner(rt, s, &joiners))
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

	spin_lock(&s->lock);
	if (names(s, pid)) {
		if (ended(s)) {
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
static int joined(struct runtime *rt, struct slot *s, roost_pid pid,
		  struct joiner *j, int err)
{
	bool unused = false;

	spin_lock(&s->lock);
	if (j->ended) {
		err = 0;
		if (names(s, pid))
			unused = drop_handle(s);
	} else {
		list_del_init(&j->node);
	}
	spin_unlock(&s->lock);
	if (unused)
		slot_free(rt, s);
	return err;
}

static int wait_for_end(struct runtime *rt, roost_pid pid, uint64_t deadline)
{
	struct joiner j = { .ended = false };
	struct slot *s;
	int err;

	if (pid == roost_self())
		return -EDEADLK;
	s = runtime_slot(rt, pid);
	if (!s)
		return -ESRCH;
	j.ref = wait_begin();
	err = done_or_register(rt, s, pid, &j);
	if (err != -EINPROGRESS) {
		wait_retire();
		return err;
	}
	err = wait_park(deadline, true);
	return joined(rt, s, pid, &j, err);
}

int roost_join(roost_pid pid, uint64_t deadline)
{
	struct carrier *c = library_enter();

	if (!c)
		return -EPERM;
	return (int)library_return(wait_for_end(c->rt, pid, deadline));
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
	return (int)library_return(actor_spawn(c->rt, fn, arg, pid));
}

static int stop(struct runtime *rt, roost_pid pid)
{
	struct slot *s = runtime_slot(rt, pid);
	enum slot_effect effect;

	if (!s)
		return -ESRCH;
	effect = slot_stop(s, pid_generation(pid));
	if (effect == SLOT_MADE_READY)
		worker_ready(rt, s, pid_generation(pid));
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
	struct carrier *c = library_enter();

	if (c)
		library_leave_on(worker_suspend_on(c, INTENT_YIELD));
}

void roost_exit(void)
{
	if (!library_enter())
		log_fatal("roost_exit() was called outside of an actor");
	worker_exit_actor();
}
