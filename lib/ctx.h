/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * ctx.h - contexts: a stack pointer, and what sanitizers must be told.
 *
 * A switch keeps what a call keeps: what else is in registers is saved by who
 * switches.  The floating point control words are part of it, errno is not.
 */
#ifndef ROOST_LIB_CTX_H
#define ROOST_LIB_CTX_H

#include <stddef.h>

#include "arch/arch.h"
#include "compiler.h"
#include ARCH_HEADER(jump.h)

#ifdef ROOST_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef ROOST_TSAN
#include <sanitizer/tsan_interface.h>
#endif

struct ctx {
	struct ctx_words words;
	ctx_modes modes;
#ifdef ROOST_ASAN
	void *fake;
	const void *low;
	size_t size;
#endif
#ifdef ROOST_TSAN
	void *fiber;
#endif
};

/** ctx_init_thread() - @c is the calling thread's own stack */
void ctx_init_thread(struct ctx *c);

/*
 * ctx_make() - a context that calls @entry(@arg) when first switched to
 * @low:	lowest address of its stack
 * @size:	bytes of stack
 * @entry:	never returns
 *
 * It starts with the floating point modes that a new program has.
 */
void ctx_make(struct ctx *c, void *low, size_t size, void (*entry)(void *),
	      void *arg);

/** ctx_switch() - go on at @to; returns when somebody switches to @from */
void ctx_switch(struct ctx *from, struct ctx *to);

/** ctx_leave() - ctx_to_thread() for good; @from is never run again */
void ctx_leave(struct ctx *from, struct ctx *to) __attribute__((noreturn));

/** ctx_entered() - first thing that a new context does */
void ctx_entered(struct ctx *self);

/** ctx_destroy() - after ctx_leave(), or for what never ran */
void ctx_destroy(struct ctx *c);

static inline void ctx_before_switch(struct ctx *from, struct ctx *to, bool last)
{
	(void)from;
	(void)to;
	(void)last;
#ifdef ROOST_ASAN
	__sanitizer_start_switch_fiber(last ? NULL : &from->fake, to->low,
				       to->size);
#endif
#ifdef ROOST_TSAN
	__tsan_switch_to_fiber(to->fiber, 0);
#endif
}

static inline void ctx_after_switch(struct ctx *self)
{
	(void)self;
#ifdef ROOST_ASAN
	__sanitizer_finish_switch_fiber(self->fake, NULL, NULL);
#endif
}

/*
 * The two halves of ctx_switch() between an actor and its thread's scheduler,
 * which has no use for floating point and works in whatever modes the actor has
 * left.  Inlined, so: whoever uses them must not keep the address of anything of
 * its thread over them; worker_self() and errno_cell.h see to that.
 */

/*
 * ctx_to_thread() - from an actor to the scheduler
 *
 * Return: what was told by who has switched back, perhaps on another thread.
 */
static inline __attribute__((always_inline)) void *
ctx_to_thread(struct ctx *actor, struct ctx *thread)
{
	void *told;

	actor->modes = ctx_modes_save();
	ctx_before_switch(actor, thread, false);
	told = ctx_jump(&actor->words, &thread->words, NULL);
	ctx_after_switch(actor);
	return told;
}

/*
 * ctx_to_actor() - from the scheduler to an actor, until one comes back
 * @loaded:	the thread's modes now; afterwards those of who has come back
 * @tell:	for the actor, if it is not new
 */
static inline __attribute__((always_inline)) void
ctx_to_actor(struct ctx *thread, struct ctx *actor, ctx_modes loaded, void *tell)
{
	if (unlikely(ctx_modes_differ(loaded, actor->modes)))
		ctx_modes_load(actor->modes);
	ctx_before_switch(thread, actor, false);
	ctx_jump(&thread->words, &actor->words, tell);
	ctx_after_switch(thread);
}

/** ctx_switch_here() - ctx_switch(), inlined like them; told as they are */
static inline __attribute__((always_inline)) void *
ctx_switch_here(struct ctx *from, struct ctx *to, void *tell)
{
	from->modes = ctx_modes_save();
	if (unlikely(ctx_modes_differ(from->modes, to->modes)))
		ctx_modes_load(to->modes);
	ctx_before_switch(from, to, false);
	tell = ctx_jump(&from->words, &to->words, tell);
	ctx_after_switch(from);
	return tell;
}

#endif /* ROOST_LIB_CTX_H */
