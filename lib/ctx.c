// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * ctx.c - contexts on top of arch/: the first frame, and notes for tools.
 */
#define _GNU_SOURCE
#include "ctx.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#ifdef ROOST_ASAN
#include <sanitizer/asan_interface.h>
#endif

#include "valgrind.h"

void roost_ctx_start(void);

/* What roost_ctx_start() takes off the stack. */
struct frame {
	void *arg;
	void (*entry)(void *arg);
};

_Static_assert(offsetof(struct ctx_words, sp) == 0, "as in jump.h");
_Static_assert(offsetof(struct ctx_words, pc) == 8, "as in jump.h");
_Static_assert(offsetof(struct frame, arg) == 0, "as in switch.S");
_Static_assert(offsetof(struct frame, entry) == 8, "as in switch.S");

/* Bytes above the first frame; zeros, for tools that look for a caller. */
#define HEADROOM	16

static void *first_frame(void *low, size_t size, void (*entry)(void *),
			 void *arg)
{
	uintptr_t top = ((uintptr_t)low + size - HEADROOM) & ~(uintptr_t)15;
	struct frame *f = (struct frame *)top - 1;

	*f = (struct frame){ .arg = arg, .entry = entry };
	return f;
}

void ctx_init_thread(struct ctx *c)
{
	memset(c, 0, sizeof(*c));
	c->modes = ctx_modes_save();
#ifdef ROOST_ASAN
	pthread_attr_t attr;
	void *low;

	if (!pthread_getattr_np(pthread_self(), &attr)) {
		pthread_attr_getstack(&attr, &low, &c->size);
		c->low = low;
		pthread_attr_destroy(&attr);
	}
#endif
#ifdef ROOST_TSAN
	c->fiber = __tsan_get_current_fiber();
#endif
}

void ctx_make(struct ctx *c, void *low, size_t size, void (*entry)(void *),
	      void *arg)
{
	memset(c, 0, sizeof(*c));
	valgrind_may_write(low, size);
#ifdef ROOST_ASAN
	/* What a former user of the stack has left is no longer true. */
	__asan_unpoison_memory_region(low, size);
	c->low = low;
	c->size = size;
#endif
#ifdef ROOST_TSAN
	c->fiber = __tsan_create_fiber(0);
#endif
	c->modes = CTX_MODES_DEFAULT;
	c->words.sp = first_frame(low, size, entry, arg);
	c->words.pc = (void *)roost_ctx_start;
}

/* Not inlined: callers must not keep anything of their thread across it. */
noinline void ctx_switch(struct ctx *from, struct ctx *to)
{
	ctx_switch_here(from, to, NULL);
}

noinline void ctx_leave(struct ctx *from, struct ctx *to)
{
	from->modes = ctx_modes_save();
	ctx_before_switch(from, to, true);
	ctx_jump(&from->words, &to->words, NULL);
	__builtin_unreachable();
}

void ctx_entered(struct ctx *self)
{
	ctx_after_switch(self);
}

void ctx_destroy(struct ctx *c)
{
	(void)c;
#ifdef ROOST_TSAN
	__tsan_destroy_fiber(c->fiber);
	c->fiber = NULL;
#endif
}
