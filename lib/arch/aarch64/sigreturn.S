/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * sigreturn.S - where a handler returns to that the library has put on a stack.
 *
 * The kernel's own way back is in the vDSO, and is told to nobody but the handlers
 * that it calls.  Without notes for unwinders, who then know it by its instructions; so
 * do debuggers.  They look at the one before as well: it must not be in a function.
 */

	.text

	.globl	frame_sigreturn
	.hidden	frame_sigreturn
	.type	frame_sigreturn, %function
	.p2align 4
	nop
frame_sigreturn:
	mov	x8, #139		/* __NR_rt_sigreturn */
	svc	#0
	.size	frame_sigreturn, . - frame_sigreturn

#include "note.h"
