/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * switch.S - where a new context starts; the switch itself is in arch/.../jump.h.
 *
 * ctx.c puts two words on the stack of a new context, lowest address first:
 *
 *	 0	the argument
 *	 8	the function, which does not return
 */

	.text

/* Calls the function with the argument.  There is no caller, and this says so. */
	.globl	roost_ctx_start
	.hidden	roost_ctx_start
	.type	roost_ctx_start, %function
	.p2align 4
roost_ctx_start:
	.cfi_startproc
	.cfi_undefined x30
	hint	#36			/* bti j */
	mov	x29, xzr
	mov	x30, xzr
	ldp	x0, x1, [sp], #16
	.cfi_adjust_cfa_offset -16
	blr	x1
	udf	#0
	.cfi_endproc
	.size	roost_ctx_start, . - roost_ctx_start

#include "note.h"
