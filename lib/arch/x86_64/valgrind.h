/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* valgrind.h - instructions that do nothing, but that valgrind knows. */
#ifndef ROOST_LIB_ARCH_VALGRIND_H
#define ROOST_LIB_ARCH_VALGRIND_H

/*
 * valgrind_call() - @words[0] is a request, the others are what it is about
 *
 * Return: valgrind's answer; 0 if it is not there.
 */
static inline unsigned long valgrind_call(const unsigned long words[6])
{
	unsigned long answer = 0;

	/* In all a rotation by 128. */
	__asm__ volatile("rolq $3, %%rdi\n\t"
			 "rolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi\n\t"
			 "rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d" (answer)
			 : "a" (words)
			 : "cc", "memory");
	return answer;
}

#endif /* ROOST_LIB_ARCH_VALGRIND_H */
