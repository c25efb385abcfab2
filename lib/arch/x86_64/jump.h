/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * jump.h - the context switch.
 *
 * A context that does not run is two words: its stack pointer, and where to go
 * on.  All registers but rbp are named as lost, so whoever switches has kept of
 * them what it needs, and no more, on its own stack.  rbp cannot be named where it
 * points to the frame, and is pushed; so this is compiled without a red zone.
 *
 * The control parts of mxcsr and the x87 control word belong to each side; they
 * are loaded only where they differ, which is rare.  Status flags are left, as
 * the ABI has it for calls.
 */
#ifndef ROOST_LIB_JUMP_H
#define ROOST_LIB_JUMP_H

#include <stdbool.h>
#include <stdint.h>

struct ctx_words {
	void *sp;
	void *pc;
};

/*
 * Floating point modes: the low half of mxcsr, whose high half is 0, and above it
 * the x87 control word.
 */
typedef uint32_t ctx_modes;

/* What a new program finds: all exceptions masked, round to nearest. */
#define CTX_MODES_DEFAULT	0x037f1f80U

/* All but the status flags. */
#define CTX_MODES_CONTROL	0xffffffc0U

#ifdef __AVX512F__
#define CTX_LOST_AVX512 , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", \
	"xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", \
	"xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define CTX_LOST_AVX512
#endif

/*
 * ctx_jump() - leave @from, go on at @to; returns when somebody jumps to @from
 * @tell:	what the call returns that is gone on at; a new context never learns it
 */
static inline __attribute__((always_inline)) void *
ctx_jump(struct ctx_words *from, const struct ctx_words *to, void *tell)
{
	__asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
			 "pushq %%rbp\n\t"
			 "movq %%rsp, (%0)\n\t"
			 "movq %%rax, 8(%0)\n\t"
			 "movq (%1), %%rsp\n\t"
			 "jmpq *8(%1)\n"
			 "1:\tpopq %%rbp"
			 : "+D"(from), "+S"(to), "+d"(tell)
			 :
			 : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "r12",
			   "r13", "r14", "r15", "memory", "cc", "xmm0", "xmm1",
			   "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
			   "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
			   "xmm14", "xmm15" CTX_LOST_AVX512);
	return tell;
}

/* Those of the calling thread. */
static inline ctx_modes ctx_modes_save(void)
{
	uint32_t mxcsr;
	uint16_t x87;

	__asm__ volatile("fnstcw %1\n\tstmxcsr %0" : "=m"(mxcsr), "=m"(x87));
	return mxcsr | (uint32_t)x87 << 16;
}

static inline void ctx_modes_load(ctx_modes modes)
{
	uint32_t mxcsr = modes & 0xffffU;
	uint16_t x87 = (uint16_t)(modes >> 16);

	__asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(x87));
}

static inline bool ctx_modes_differ(ctx_modes a, ctx_modes b)
{
	return (a ^ b) & CTX_MODES_CONTROL;
}

#endif /* ROOST_LIB_JUMP_H */
