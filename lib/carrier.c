// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* carrier.c - which carrier the calling thread is, and what if it is displaced. */
#include "carrier.h"

#include "errno_cell.h"
#include "log.h"
#include "runtime.h"
#include "worker.h"

/* For all threads that are none, so that nobody has to ask whether there is one. */
static struct carrier nobody;

static _Thread_local struct carrier *self = &nobody;

noinline struct carrier *carrier_self(void)
{
	/* Keeps the compiler from taking this for a function without effect. */
	__asm__ volatile("");
	return self;
}

static noinline void set_self(struct carrier *c)
{
	__asm__ volatile("");
	self = c;
}

struct runtime *runtime_self(void)
{
	return carrier_self()->rt;
}

void carrier_unshare(struct carrier *c)
{
	c->word = c->own_words;
	c->outside = CARRIER_OUTSIDE;
	c->inside = CARRIER_INSIDE;
	atomic_store_explicit(c->word, CARRIER_INSIDE, memory_order_relaxed);
}

bool carrier_share(struct carrier *c, _Atomic uint32_t *word, uint32_t outside,
		   uint32_t inside)
{
	/* Not the word any more. */
	atomic_store_explicit(c->own_words, CARRIER_INSIDE, memory_order_relaxed);
	c->word = word;
	c->outside = outside;
	c->inside = inside;
	return carrier_go_inside(c);
}

/*
 * The worker's page is not there in a child; what needs none goes on to work, and no
 * safepoint lets other actors run there.  The library does not fork: an actor did.
 */
void carrier_in_child(void)
{
	struct carrier *c = carrier_self();

	if (!c->current)
		return;
	carrier_unshare(c);
	carrier_go_outside(c);
	c->current->no_preempt++;
}

void carrier_begin(struct carrier *c)
{
	set_self(c);
	c->check_every = c->rt->config.check_every;
	c->error = errno_place();
	ctx_init_thread(&c->ctx);
	c->modes = c->ctx.modes;
	fault_thread_begin(c);
}

void carrier_end(struct carrier *c)
{
	fault_thread_end(c);
	if (ctx_modes_differ(c->modes, c->ctx.modes))
		ctx_modes_load(c->ctx.modes);
	set_self(&nobody);
}

/*
 * Not before the actor is off its stack may another resume it, so its scheduler
 * queues it.
 */
noinline struct carrier *carrier_regain(struct carrier *c)
{
	if (carrier_is_inside(c))
		log_fatal("the library was called from inside of it: by a signal handler?");
	return worker_suspend_on(c, INTENT_DISPLACED);
}
