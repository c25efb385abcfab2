// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * ctx.c - contexts on top of arch/: the first frame, and sanitizer notes.
 */
#define _GNU_SOURCE
#include "ctx.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#ifdef ROOST_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef ROOST_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#if !defined(__x86_64__)
#error "this architecture has no context switch yet"
#endif

void roost_ctx_swap(void **save, void *to);
void roost_ctx_start(void);

/* The frame of arch/x86_64/switch.S. */
struct frame {
	uint32_t mxcsr;
	uint16_t x87_control;
	uint16_t unused;
	uint64_t r15;
	uint64_t r14;
	uint64_t r13;
	uint64_t r12;
	uint64_t rbx;
	uint64_t rbp;
	uint64_t rip;
};

_Static_assert(offsetof(struct frame, x87_control) == 4, "as in switch.S");
_Static_assert(offsetof(struct frame, r13) == 24, "as in switch.S");
_Static_assert(offsetof(struct frame, r12) == 32, "as in switch.S");
_Static_assert(offsetof(struct frame, rip) == 56, "as in switch.S");

/* What a new program finds: all exceptions masked, round to nearest. */
#define MXCSR_DEFAULT	0x1f80
#define X87_DEFAULT	0x037f

/* Bytes above the first frame; zeros, for tools that look for a caller. */
#define HEADROOM	16

static void *first_frame(void *low, size_t size, void (*entry)(void *),
			 void *arg)
{
	uintptr_t top = ((uintptr_t)low + size - HEADROOM) & ~(uintptr_t)15;
	struct frame *f = (struct frame *)top - 1;

	memset(f, 0, sizeof(*f));
	f->mxcsr = MXCSR_DEFAULT;
	f->x87_control = X87_DEFAULT;
	f->r12 = (uintptr_t)entry;
	f->r13 = (uintptr_t)arg;
	f->rip = (uintptr_t)roost_ctx_start;
	return f;
}

void ctx_init_thread(struct ctx *c)
{
	memset(c, 0, sizeof(*c));
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
#ifdef ROOST_ASAN
	/* What a former user of the stack has left is no longer true. */
	__asan_unpoison_memory_region(low, size);
	c->low = low;
	c->size = size;
#endif
#ifdef ROOST_TSAN
	c->fiber = __tsan_create_fiber(0);
#endif
	c->sp = first_frame(low, size, entry, arg);
}

static inline void before_switch(struct ctx *from, struct ctx *to, int last)
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

static inline void after_switch(struct ctx *self)
{
	(void)self;
#ifdef ROOST_ASAN
	__sanitizer_finish_switch_fiber(self->fake, NULL, NULL);
#endif
}

/* Not inlined: callers must not keep anything of their thread across it. */
noinline void ctx_switch(struct ctx *from, struct ctx *to)
{
	before_switch(from, to, 0);
	roost_ctx_swap(&from->sp, to->sp);
	after_switch(from);
}

noinline void ctx_leave(struct ctx *from, struct ctx *to)
{
	before_switch(from, to, 1);
	roost_ctx_swap(&from->sp, to->sp);
	__builtin_unreachable();
}

void ctx_entered(struct ctx *self)
{
	after_switch(self);
}

void ctx_destroy(struct ctx *c)
{
	(void)c;
#ifdef ROOST_TSAN
	__tsan_destroy_fiber(c->fiber);
	c->fiber = NULL;
#endif
}
