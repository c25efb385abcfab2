/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * fault_frame.h - what a signal has interrupted: to look at, to change, and to
 * interrupt once more.
 *
 * Layout of what the kernel puts on the stack: arch/x86/include/asm/sigframe.h and
 * uapi/asm/sigcontext.h of Linux; of the context, System V ABI, AMD64, and <ucontext.h>.
 */
#ifndef ROOST_LIB_FAULT_FRAME_H
#define ROOST_LIB_FAULT_FRAME_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "jump.h"

/* Bytes below the stack pointer that belong to who was interrupted. */
#define FRAME_RED_ZONE		128U
/* Where a stack is probed before it is used (-fstack-clash-protection): so far above it. */
#define FRAME_PROBE		0U
#define FRAME_FLAG_DIRECTION	0x400
#define FRAME_FLAG_TRAP		0x100
#define FRAME_FLAG_RESUME	0x10000

/* In the floating point state: where the kernel says how large it is. */
#define FRAME_FP_SOFTWARE	464U
#define FRAME_FP_MAGIC		0x46505853U
#define FRAME_FP_LEGACY		512U

/* The kernel's struct ucontext; the one of the C library goes on behind it. */
#define FRAME_CONTEXT_BYTES	(offsetof(ucontext_t, uc_sigmask) + 8)

_Static_assert(FRAME_CONTEXT_BYTES == 304, "as the kernel's");
_Static_assert(sizeof(siginfo_t) == 128, "as the kernel's");

struct frame_bytes {
	void *restorer;
	unsigned char context[FRAME_CONTEXT_BYTES];
	siginfo_t info;
};

static inline uintptr_t frame_pc(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
}

static inline uintptr_t frame_sp(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
}

/*
 * frame_caller() - who has called a function, if what is interrupted is its first
 * instruction
 * @low:	where the stack can be read from; 0: it cannot be told
 */
static inline uintptr_t frame_caller(const ucontext_t *uc, uintptr_t low)
{
	return frame_sp(uc) < low ? 0 : *(const uintptr_t *)frame_sp(uc);
}

/** frame_restorer() - where handlers of @sig return to; NULL: the kernel does not say */
static inline void *frame_restorer(int sig)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		unsigned long mask;
	} action = { 0 };

	if (syscall(SYS_rt_sigaction, sig, NULL, &action, sizeof(action.mask)))
		return NULL;
	return action.restorer;
}

static inline void frame_set(ucontext_t *uc, const void *pc, const void *sp)
{
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
	uc->uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
	uc->uc_mcontext.gregs[REG_EFL] &= ~(FRAME_FLAG_DIRECTION |
					    FRAME_FLAG_TRAP | FRAME_FLAG_RESUME);
}

/* As a new program has it: CTX_MODES_DEFAULT, nothing pending, no register in use. */
static inline void frame_reset_fp(ucontext_t *uc)
{
	struct _libc_fpstate *fp = uc->uc_mcontext.fpregs;

	if (!fp)
		return;
	fp->cwd = CTX_MODES_DEFAULT >> 16;
	fp->swd = 0;
	fp->ftw = 0;
	fp->mxcsr = CTX_MODES_DEFAULT & 0xffffU;
}

/** frame_jump() - the thread goes on where ctx_jump() has left @to */
static inline void frame_jump(ucontext_t *uc, const struct ctx_words *to)
{
	frame_set(uc, to->pc, to->sp);
	frame_reset_fp(uc);
}

static inline size_t frame_fp_bytes(const struct _libc_fpstate *fp)
{
	const char *software = (const char *)fp + FRAME_FP_SOFTWARE;
	uint32_t words[2];

	memcpy(words, software, sizeof(words));
	return words[0] == FRAME_FP_MAGIC ? words[1] : FRAME_FP_LEGACY;
}

/* Where the parts of a frame go that interrupts what is at @sp. */
struct frame_places {
	uintptr_t fp;
	uintptr_t frame;
	uintptr_t end;
};

static inline struct frame_places frame_places(const ucontext_t *uc)
{
	struct frame_places at = { .end = frame_sp(uc) - FRAME_RED_ZONE };

	at.fp = (at.end - frame_fp_bytes(uc->uc_mcontext.fpregs)) & ~(uintptr_t)63;
	/* A function finds the stack so: 8 more than a multiple of 16. */
	at.frame = ((at.fp - sizeof(struct frame_bytes)) & ~(uintptr_t)15) - 8;
	return at;
}

/*
 * frame_interrupt() - as if the kernel had delivered the signal to @handler on the
 * interrupted stack
 * @uc:		what is interrupted; afterwards the beginning of @handler
 * @at:		frame_places(); can be written to
 * @restorer:	what the kernel was told to have as a return address
 */
static inline void frame_interrupt(ucontext_t *uc, const struct frame_places *at,
				   int sig, const siginfo_t *info,
				   const void *handler, void *restorer)
{
	struct _libc_fpstate *fp = (struct _libc_fpstate *)at->fp;
	struct frame_bytes *frame = (struct frame_bytes *)at->frame;
	struct _libc_fpstate *before = uc->uc_mcontext.fpregs;

	memcpy(fp, before, frame_fp_bytes(before));
	uc->uc_mcontext.fpregs = fp;
	memcpy(frame->context, uc, FRAME_CONTEXT_BYTES);
	uc->uc_mcontext.fpregs = before;
	frame->info = *info;
	frame->restorer = restorer;
	frame_set(uc, handler, frame);
	frame_reset_fp(uc);
	uc->uc_mcontext.gregs[REG_RDI] = sig;
	uc->uc_mcontext.gregs[REG_RSI] = (greg_t)&frame->info;
	uc->uc_mcontext.gregs[REG_RDX] = (greg_t)frame->context;
	uc->uc_mcontext.gregs[REG_RAX] = 0;
}

/*
 * frame_is_at() - is a signal frame at @p, which interrupts a place below @high?
 * @p:		one word of a stack
 * @restorer:	frame_restorer()
 * @low:	what is below is not in use
 * @high:	what is above is not that stack
 */
static inline bool frame_is_at(const uintptr_t *p, const void *restorer,
			       uintptr_t low, uintptr_t high)
{
	const struct frame_bytes *frame = (const struct frame_bytes *)p;
	ucontext_t uc;

	if (*p != (uintptr_t)restorer || (uintptr_t)p < low ||
	    high - (uintptr_t)p < sizeof(*frame))
		return false;
	memcpy(&uc, frame->context, sizeof(frame->context));
	return frame_sp(&uc) > (uintptr_t)p && frame_sp(&uc) < high &&
	       uc.uc_mcontext.fpregs;
}

#endif /* ROOST_LIB_FAULT_FRAME_H */
