/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * ctx.h - contexts: a stack pointer, and what sanitizers must be told.
 *
 * A switch keeps the callee-saved registers and the floating point control
 * words of each side.  errno is not part of it.
 */
#ifndef ROOST_LIB_CTX_H
#define ROOST_LIB_CTX_H

#include <stddef.h>

#include "compiler.h"

struct ctx {
	void *sp;
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

/** ctx_leave() - go on at @to for good; @from is never run again */
void ctx_leave(struct ctx *from, struct ctx *to) __attribute__((noreturn));

/** ctx_entered() - first thing that a new context does */
void ctx_entered(struct ctx *self);

/** ctx_destroy() - after ctx_leave(), or for what never ran */
void ctx_destroy(struct ctx *c);

#endif /* ROOST_LIB_CTX_H */
