/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* regs.h - registers that a switch has to keep. */
#ifndef ROOST_SELFTESTS_RUNTIME_REGS_H
#define ROOST_SELFTESTS_RUNTIME_REGS_H

#include <stdint.h>

struct ctx;

/*
 * unsigned int fill_switch_compare(struct ctx *from, struct ctx *to, u64 mark):
 * fills the callee-saved registers (x19 to x29, d8 to d15) with values made from
 * @mark, switches, and returns how many are different afterwards.
 */
unsigned int fill_switch_compare(struct ctx *from, struct ctx *to,
				 uint64_t mark);

__asm__(".text\n"
	".type fill_switch_compare, %function\n"
	"fill_switch_compare:\n"
	"	stp x29, x30, [sp, #-176]!\n"
	"	.irp r, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28\n"
	"	str x\\r, [sp, #(\\r - 17) * 8]\n"
	"	.endr\n"
	"	.irp r, 8, 9, 10, 11, 12, 13, 14, 15\n"
	"	str d\\r, [sp, #(\\r + 4) * 8]\n"
	"	.endr\n"
	"	str x2, [sp, #160]\n"
	"	.irp r, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29\n"
	"	add x\\r, x2, #\\r\n"
	"	.endr\n"
	"	.irp r, 8, 9, 10, 11, 12, 13, 14, 15\n"
	"	add x3, x2, #(\\r + 32)\n"
	"	fmov d\\r, x3\n"
	"	.endr\n"
	"	bl ctx_switch\n"
	"	ldr x2, [sp, #160]\n"
	"	mov w0, #0\n"
	"	.irp r, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29\n"
	"	sub x3, x\\r, x2\n"
	"	cmp x3, #\\r\n"
	"	cinc w0, w0, ne\n"
	"	.endr\n"
	"	.irp r, 8, 9, 10, 11, 12, 13, 14, 15\n"
	"	fmov x3, d\\r\n"
	"	sub x3, x3, x2\n"
	"	cmp x3, #(\\r + 32)\n"
	"	cinc w0, w0, ne\n"
	"	.endr\n"
	"	.irp r, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28\n"
	"	ldr x\\r, [sp, #(\\r - 17) * 8]\n"
	"	.endr\n"
	"	.irp r, 8, 9, 10, 11, 12, 13, 14, 15\n"
	"	ldr d\\r, [sp, #(\\r + 4) * 8]\n"
	"	.endr\n"
	"	ldp x29, x30, [sp], #176\n"
	"	ret\n"
	".size fill_switch_compare, . - fill_switch_compare\n");

/* Floating point modes: fpcr.  The others flush to zero and round up. */
#define FP_MODES_DEFAULT	0U
#define FP_MODES_OTHER		0x01400000U

static inline uint32_t fp_modes(void)
{
	uint64_t fpcr;

	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	return (uint32_t)fpcr;
}

static inline void fp_modes_set(uint32_t modes)
{
	uint64_t fpcr = modes;

	__asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
}

#endif /* ROOST_SELFTESTS_RUNTIME_REGS_H */
