/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* traps.h - faults, and registers at the time of one, that C does not speak of. */
#ifndef ROOST_SELFTESTS_RUNTIME_TRAPS_H
#define ROOST_SELFTESTS_RUNTIME_TRAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

/* Is a division of integers by 0 a fault?  The result is 0. */
#define DIVISION_TRAPS	0

/* Neither the lower half's nor the upper one's. */
#define NO_ADDRESS	0x0080000000000000

static inline void trap_illegal(void)
{
	__asm__ volatile("udf #0");
}

/* Writes to address 8, with sticky flags of floating point set. */
static inline void crash_with_spoilt_registers(void)
{
	uint64_t flags = 0x9f, address = 8;

	__asm__ volatile("msr fpsr, %0\n\tstr wzr, [%1]"
			 : : "r"(flags), "r"(address) : "memory");
}

/* tgkill(), in the caller's own instructions. */
static inline __attribute__((always_inline)) void
own_tgkill(long process, long thread, long sig)
{
	register long x0 __asm__("x0") = process;
	register long x1 __asm__("x1") = thread;
	register long x2 __asm__("x2") = sig;
	register long x8 __asm__("x8") = SYS_tgkill;

	__asm__ volatile("svc #0"
			 : "+r"(x0) : "r"(x1), "r"(x2), "r"(x8) : "memory");
}

/* Changes registers that whoever is interrupted may be using. */
static inline void spoil_registers(void)
{
	__asm__ volatile("movi v7.16b, #255\n\tmovi v19.16b, #255\n\t"
			 "mov x17, #-1" : : : "v7", "v19", "x17");
}

/*
 * write_with_full_registers() - write to @p, with something in registers of each
 * kind
 *
 * Return: 0 if all was there afterwards, else what was not.
 */
static inline int write_with_full_registers(char *p)
{
	uint64_t r[2] = { 1, 2 }, flags;
	double d[2] = { 7, 8 };

	__asm__ volatile("ldp x12, x17, [%[r]]\n\t"
			 "ldp d7, d19, [%[d]]\n\t"
			 "mov x13, #5\n\t"
			 "cmp x13, #5\n\t"
			 "strb w13, [%[page]]\n\t"
			 "cset %[flags], eq\n\t"
			 "stp x12, x17, [%[r]]\n\t"
			 "stp d7, d19, [%[d]]"
			 : [flags] "=&r"(flags)
			 : [r] "r"(r), [d] "r"(d), [page] "r"(p)
			 : "x12", "x13", "x17", "v7", "v19", "cc", "memory");
	if (r[0] != 1 || r[1] != 2)
		return 2;
	if (!flags)
		return 3;
	return d[0] == 7 && d[1] == 8 ? 0 : 4;
}

#endif /* ROOST_SELFTESTS_RUNTIME_TRAPS_H */
