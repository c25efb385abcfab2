/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* note.h - last thing of an assembly file: what a linker is told of it. */

	.section .note.GNU-stack, "", %progbits

#ifdef __ARM_FEATURE_BTI_DEFAULT
/* GNU_PROPERTY_AARCH64_FEATURE_1_AND: indirect branches only go to landing pads. */
	.section .note.gnu.property, "a", %note
	.p2align 3
	.word	4
	.word	16
	.word	5
	.asciz	"GNU"
	.word	0xc0000000
	.word	4
	.word	1
	.word	0
#endif
