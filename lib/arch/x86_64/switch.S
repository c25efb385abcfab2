/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * switch.S - the context switch.
 *
 * A context that is not running is a stack pointer to this frame, lowest
 * address first; ctx.c builds the first one of a new context:
 *
 *	 0	mxcsr (4), x87 control word (2), unused (2)
 *	 8	r15
 *	16	r14
 *	24	r13
 *	32	r12
 *	40	rbx
 *	48	rbp
 *	56	return address
 */

	.text

/*
 * void roost_ctx_swap(void **save, void *to)
 *
 * Saves the caller's frame, stores its address in *save (rdi), and goes on
 * with the frame at @to (rsi).  Returns when somebody swaps to *save.  The
 * control parts of mxcsr and the x87 control word belong to each side; they
 * are loaded only where they differ, which is rare.  Status flags are left, as
 * the ABI has it for calls.
 */
	.globl	roost_ctx_swap
	.hidden	roost_ctx_swap
	.type	roost_ctx_swap, @function
	.p2align 4
roost_ctx_swap:
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r13, 0
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r14, 0
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r15, 0
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	stmxcsr	(%rsp)
	fnstcw	4(%rsp)
	movl	(%rsp), %eax
	movzwl	4(%rsp), %edx

	/* From here on the same frame on the other stack. */
	movq	%rsp, (%rdi)
	movq	%rsi, %rsp

	xorl	(%rsp), %eax
	testl	$0xffc0, %eax
	jnz	1f
2:	cmpw	4(%rsp), %dx
	jne	3f
4:	addq	$8, %rsp
	.cfi_remember_state
	.cfi_adjust_cfa_offset -8
	popq	%r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore r15
	popq	%r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore r14
	popq	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore r13
	popq	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore r12
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	ret

	.cfi_restore_state
1:	ldmxcsr	(%rsp)
	jmp	2b
3:	fldcw	4(%rsp)
	jmp	4b
	.cfi_endproc
	.size	roost_ctx_swap, . - roost_ctx_swap

/*
 * Where a new context starts: calls the function in r12 with the argument in
 * r13, which does not return.  The frame has no caller, and says so.
 */
	.globl	roost_ctx_start
	.hidden	roost_ctx_start
	.type	roost_ctx_start, @function
	.p2align 4
roost_ctx_start:
	.cfi_startproc
	.cfi_undefined rip
	xorl	%ebp, %ebp
	movq	%r13, %rdi
	callq	*%r12
	ud2
	.cfi_endproc
	.size	roost_ctx_start, . - roost_ctx_start

	.section .note.GNU-stack, "", @progbits
