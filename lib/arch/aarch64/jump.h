/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * jump.h - the context switch.
 *
 * A context that does not run is two words: its stack pointer, and where to go
 * on.  All registers but x29 are named as lost, so whoever switches has kept of
 * them what it needs, and no more, on its own stack.  x29 cannot be named where it
 * points to the frame, and is pushed; there is no red zone here.
 *
 * Of d8 to d15, which a call keeps, and of all the other vector registers nothing is
 * kept over it but by the compiler, as with the general ones.
 *
 * The control register of floating point belongs to each side; it is loaded only
 * where it differs, which is rare.  Status flags (fpsr) are left, as the ABI has it
 * for calls.
 *
 * Procedure Call Standard for the Arm 64-bit Architecture (AAPCS64), 6.1.
 */
#ifndef ROOST_LIB_JUMP_H
#define ROOST_LIB_JUMP_H

#include <stdbool.h>
#include <stdint.h>

struct ctx_words {
	void *sp;
	void *pc;
};

/* Floating point modes: fpcr, whose upper half is 0. */
typedef uint32_t ctx_modes;

/* What a new program finds: no traps, round to nearest. */
#define CTX_MODES_DEFAULT	0U

#ifdef __ARM_FEATURE_SVE
#define CTX_LOST_SVE , "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", \
	"p10", "p11", "p12", "p13", "p14", "p15", "ffr"
#else
#define CTX_LOST_SVE
#endif

/* Where programs are so compiled, only there can be gone on by a jump: "bti j". */
#ifdef __ARM_FEATURE_BTI_DEFAULT
#define CTX_LANDING		"hint #36\n\t"
#else
#define CTX_LANDING
#endif

/*
 * ctx_jump() - leave @from, go on at @to; returns when somebody jumps to @from
 * @tell:	what the call returns that is gone on at; a new context never learns it
 */
static inline __attribute__((always_inline)) void *
ctx_jump(struct ctx_words *from, const struct ctx_words *to, void *tell)
{
	register struct ctx_words *x0 __asm__("x0") = from;
	register const struct ctx_words *x1 __asm__("x1") = to;
	register void *x2 __asm__("x2") = tell;

	__asm__ volatile("adr x4, 1f\n\t"
			 "str x29, [sp, #-16]!\n\t"
			 "mov x3, sp\n\t"
			 "stp x3, x4, [x0]\n\t"
			 "ldp x3, x4, [x1]\n\t"
			 "mov sp, x3\n\t"
			 "br x4\n"
			 "1:\t" CTX_LANDING
			 "ldr x29, [sp], #16"
			 : "+r"(x0), "+r"(x1), "+r"(x2)
			 :
			 : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10",
			   "x11", "x12", "x13", "x14", "x15", "x16", "x17",
			   "x18", "x19", "x20", "x21", "x22", "x23", "x24",
			   "x25", "x26", "x27", "x28", "x30", "memory", "cc",
			   "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8",
			   "v9", "v10", "v11", "v12", "v13", "v14", "v15",
			   "v16", "v17", "v18", "v19", "v20", "v21", "v22",
			   "v23", "v24", "v25", "v26", "v27", "v28", "v29",
			   "v30", "v31" CTX_LOST_SVE);
	return x2;
}

/* Those of the calling thread. */
static inline ctx_modes ctx_modes_save(void)
{
	uint64_t fpcr;

	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	return (ctx_modes)fpcr;
}

static inline void ctx_modes_load(ctx_modes modes)
{
	uint64_t fpcr = modes;

	__asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
}

static inline bool ctx_modes_differ(ctx_modes a, ctx_modes b)
{
	return a != b;
}

#endif /* ROOST_LIB_JUMP_H */
