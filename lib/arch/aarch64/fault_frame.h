/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * fault_frame.h - what a signal has interrupted: to look at, to change, and to
 * interrupt once more.
 *
 * Layout of what the kernel puts on the stack: arch/arm64/kernel/signal.c and
 * uapi/asm/sigcontext.h of Linux.  Behind the general registers come records, each with
 * its kind and size.  The first is that of the floating point registers; another may say
 * that there are more of them behind the frame.
 */
#ifndef ROOST_LIB_FAULT_FRAME_H
#define ROOST_LIB_FAULT_FRAME_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <asm/sigcontext.h>

#include "jump.h"

/* Where a stack is probed before it is used (-fstack-clash-protection): so far above it. */
#define FRAME_PROBE		1024U

/* In the state of the CPU: kind of the last branch, and a single step. */
#define FRAME_FLAG_BRANCH	0xc00ULL
#define FRAME_FLAG_STEP		(1ULL << 21)

#define FRAME_FP	29
#define FRAME_LR	30

/* The C library's context is the kernel's. */
struct frame_bytes {
	siginfo_t info;
	ucontext_t context;
};

_Static_assert(sizeof(siginfo_t) == 128, "as the kernel's");
_Static_assert(offsetof(ucontext_t, uc_mcontext) == 176, "as the kernel's");
_Static_assert(sizeof(struct frame_bytes) == 4688, "as the kernel's");

/* What the kernel puts above it, for who follows frame pointers. */
struct frame_link {
	uint64_t fp;
	uint64_t lr;
};

/* sigreturn.S */
void frame_sigreturn(void);

static inline uintptr_t frame_pc(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.pc;
}

static inline uintptr_t frame_sp(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.sp;
}

/*
 * frame_caller() - who has called a function, if what is interrupted is its first
 * instruction
 */
static inline uintptr_t frame_caller(const ucontext_t *uc, uintptr_t low)
{
	(void)low;
	return (uintptr_t)uc->uc_mcontext.regs[FRAME_LR];
}

/** frame_restorer() - where handlers can return to; the kernel has another place */
static inline void *frame_restorer(int sig)
{
	(void)sig;
	return (void *)frame_sigreturn;
}

static inline void frame_set(ucontext_t *uc, const void *pc, const void *sp)
{
	uc->uc_mcontext.pc = (uintptr_t)pc;
	uc->uc_mcontext.sp = (uintptr_t)sp;
	uc->uc_mcontext.pstate &= ~(FRAME_FLAG_BRANCH | FRAME_FLAG_STEP);
}

/* frame_record() - the one of a kind, among those in the frame; NULL: there is none */
static inline void *frame_record(ucontext_t *uc, uint32_t kind)
{
	char *p = (char *)uc->uc_mcontext.__reserved;
	const char *end = p + sizeof(uc->uc_mcontext.__reserved);
	struct _aarch64_ctx *head;

	while (end - p >= (ptrdiff_t)sizeof(*head)) {
		head = (struct _aarch64_ctx *)p;
		if (head->magic == kind)
			return head;
		if (!head->magic || head->size < sizeof(*head) ||
		    head->size > end - p)
			break;
		p += head->size;
	}
	return NULL;
}

/* As a new program has it. */
static inline void frame_reset_fp(ucontext_t *uc)
{
	struct fpsimd_context *fp = frame_record(uc, FPSIMD_MAGIC);

	if (!fp)
		return;
	fp->fpcr = CTX_MODES_DEFAULT;
	fp->fpsr = 0;
}

/** frame_jump() - the thread goes on where ctx_jump() has left @to */
static inline void frame_jump(ucontext_t *uc, const struct ctx_words *to)
{
	frame_set(uc, to->pc, to->sp);
	frame_reset_fp(uc);
}

/* From the context to the end of the records behind it, if there are any. */
static inline size_t frame_context_bytes(ucontext_t *uc)
{
	struct extra_context *extra = frame_record(uc, EXTRA_MAGIC);
	size_t bytes = 0;

	if (extra)
		bytes = extra->datap + extra->size - (uintptr_t)uc;
	return bytes > sizeof(*uc) ? bytes : sizeof(*uc);
}

/* Where the parts of a frame go that interrupts what is at @sp. */
struct frame_places {
	uintptr_t frame;
	uintptr_t link;
	uintptr_t end;
};

static inline struct frame_places frame_places(ucontext_t *uc)
{
	struct frame_places at = { .end = frame_sp(uc) };

	at.link = (at.end & ~(uintptr_t)15) - sizeof(struct frame_link);
	at.frame = (at.link - frame_context_bytes(uc) - sizeof(siginfo_t)) &
		   ~(uintptr_t)15;
	return at;
}

/*
 * frame_interrupt() - as if the kernel had delivered the signal to @handler on the
 * interrupted stack
 * @uc:		what is interrupted; afterwards the beginning of @handler
 * @at:		frame_places(); can be written to
 * @restorer:	frame_restorer()
 *
 * As the kernel does it here, floating point modes stay as they are.
 */
static inline void frame_interrupt(ucontext_t *uc, const struct frame_places *at,
				   int sig, const siginfo_t *info,
				   const void *handler, void *restorer)
{
	struct frame_bytes *frame = (struct frame_bytes *)at->frame;
	struct frame_link *link = (struct frame_link *)at->link;
	struct extra_context *extra;
	unsigned long long *regs = uc->uc_mcontext.regs;

	*link = (struct frame_link){ regs[FRAME_FP], regs[FRAME_LR] };
	frame->info = *info;
	memcpy(&frame->context, uc, frame_context_bytes(uc));
	extra = frame_record(&frame->context, EXTRA_MAGIC);
	if (extra)
		extra->datap += (uintptr_t)&frame->context - (uintptr_t)uc;
	frame_set(uc, handler, frame);
	regs[0] = (unsigned int)sig;
	regs[1] = (uintptr_t)&frame->info;
	regs[2] = (uintptr_t)&frame->context;
	regs[FRAME_FP] = (uintptr_t)link;
	regs[FRAME_LR] = (uintptr_t)restorer;
}

/*
 * frame_is_at() - is there a signal frame whose first record is at @p, and which
 * interrupts a place below @high?
 * @p:		one word of a stack
 * @restorer:	not looked at: handlers need not put it on the stack
 * @low:	what is below is not in use
 * @high:	what is above is not that stack
 */
static inline bool frame_is_at(const uintptr_t *p, const void *restorer,
			       uintptr_t low, uintptr_t high)
{
	const size_t before = offsetof(struct frame_bytes,
				       context.uc_mcontext.__reserved);
	const struct _aarch64_ctx *head = (const struct _aarch64_ctx *)p;
	const struct frame_bytes *frame;

	(void)restorer;
	if (head->magic != FPSIMD_MAGIC ||
	    head->size != sizeof(struct fpsimd_context) ||
	    (uintptr_t)p < low + before || (uintptr_t)p % 16 ||
	    high - (uintptr_t)p < sizeof(*frame) - before)
		return false;
	frame = (const struct frame_bytes *)((const char *)p - before);
	/* There may be no siginfo in it, for a handler that wants none. */
	return !frame->context.uc_flags && !frame->context.uc_link &&
	       frame_sp(&frame->context) > (uintptr_t)frame &&
	       frame_sp(&frame->context) < high;
}

#endif /* ROOST_LIB_FAULT_FRAME_H */
