/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* regs.h - registers that a switch has to keep. */
#ifndef ROOST_SELFTESTS_RUNTIME_REGS_H
#define ROOST_SELFTESTS_RUNTIME_REGS_H

#include <stdint.h>

struct ctx;

/*
 * unsigned int fill_switch_compare(struct ctx *from, struct ctx *to, u64 mark):
 * fills the callee-saved registers with values made from @mark, switches, and
 * returns how many are different afterwards.
 */
unsigned int fill_switch_compare(struct ctx *from, struct ctx *to,
				 uint64_t mark);

__asm__(".text\n"
	".type fill_switch_compare, @function\n"
	"fill_switch_compare:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	pushq %rdx\n"
	"	leaq 1(%rdx), %rbx\n"
	"	leaq 2(%rdx), %r12\n"
	"	leaq 3(%rdx), %r13\n"
	"	leaq 4(%rdx), %r14\n"
	"	leaq 5(%rdx), %r15\n"
	"	leaq 6(%rdx), %rbp\n"
	"	call ctx_switch\n"
	"	popq %rdx\n"
	"	xorl %eax, %eax\n"
	"	subq %rdx, %rbx\n	cmpq $1, %rbx\n	setne %cl\n"
	"	movzbl %cl, %ecx\n	addl %ecx, %eax\n"
	"	subq %rdx, %r12\n	cmpq $2, %r12\n	setne %cl\n"
	"	movzbl %cl, %ecx\n	addl %ecx, %eax\n"
	"	subq %rdx, %r13\n	cmpq $3, %r13\n	setne %cl\n"
	"	movzbl %cl, %ecx\n	addl %ecx, %eax\n"
	"	subq %rdx, %r14\n	cmpq $4, %r14\n	setne %cl\n"
	"	movzbl %cl, %ecx\n	addl %ecx, %eax\n"
	"	subq %rdx, %r15\n	cmpq $5, %r15\n	setne %cl\n"
	"	movzbl %cl, %ecx\n	addl %ecx, %eax\n"
	"	subq %rdx, %rbp\n	cmpq $6, %rbp\n	setne %cl\n"
	"	movzbl %cl, %ecx\n	addl %ecx, %eax\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size fill_switch_compare, . - fill_switch_compare\n");

/*
 * Floating point modes: control bits of mxcsr, and above them the x87 control word.
 * The others flush to zero, round up, and have x87 compute in single precision.
 */
#define FP_MODES_DEFAULT	0x037f1f80U
#define FP_MODES_OTHER		0x007fdf80U

static inline uint32_t fp_modes(void)
{
	uint16_t x87;

	__asm__ volatile("fnstcw %0" : "=m"(x87));
	return (__builtin_ia32_stmxcsr() & 0xffc0U) | (uint32_t)x87 << 16;
}

static inline void fp_modes_set(uint32_t modes)
{
	uint16_t x87 = (uint16_t)(modes >> 16);

	__builtin_ia32_ldmxcsr(modes & 0xffffU);
	__asm__ volatile("fldcw %0" : : "m"(x87));
}

#endif /* ROOST_SELFTESTS_RUNTIME_REGS_H */
