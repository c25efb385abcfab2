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
	register unsigned long answer __asm__("x3") = 0;
	register const unsigned long *request __asm__("x4") = words;

	/* In all a rotation by 128. */
	__asm__ volatile("ror x12, x12, #3\n\t"
			 "ror x12, x12, #13\n\t"
			 "ror x12, x12, #51\n\t"
			 "ror x12, x12, #61\n\t"
			 "orr x10, x10, x10"
			 : "+r" (answer)
			 : "r" (request)
			 : "cc", "memory");
	return answer;
}

#endif /* ROOST_LIB_ARCH_VALGRIND_H */
