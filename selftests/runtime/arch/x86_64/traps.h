/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* traps.h - faults, and registers at the time of one, that C does not speak of. */
#ifndef ROOST_SELFTESTS_RUNTIME_TRAPS_H
#define ROOST_SELFTESTS_RUNTIME_TRAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

/* Is a division of integers by 0 a fault? */
#define DIVISION_TRAPS	1

/* No address at all: the kernel knows none to tell. */
#define NO_ADDRESS	0x8000000000000000

static inline void trap_illegal(void)
{
	__asm__ volatile("ud2");
}

/* Writes to address 8, with the x87 stack full and the direction flag set. */
static inline void crash_with_spoilt_registers(void)
{
	__asm__ volatile("fld1\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\t"
			 "fld1\n\tstd\n\tmovl $1, (8)");
}

/* tgkill(), in the caller's own instructions. */
static inline __attribute__((always_inline)) void
own_tgkill(long process, long thread, long sig)
{
	long result = SYS_tgkill;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(process), "S"(thread), "d"(sig)
			 : "rcx", "r11", "memory");
}

/* Changes registers that whoever is interrupted may be using. */
static inline void spoil_registers(void)
{
	__asm__ volatile("fld1\n\tfstp %%st(0)\n\tpcmpeqd %%xmm7, %%xmm7"
			 : : : "xmm7");
}

/*
 * write_with_full_registers() - write to @p, with something in registers of each
 * kind and below the stack
 *
 * Return: 0 if all was there afterwards, else what was not.
 */
static inline int write_with_full_registers(char *p)
{
	uint64_t r[4] = { 1, 2, 3, 4 };
	double d = 7;
	long double l;

	__asm__ volatile("movq %[a], %%r12\n\tmovq %[b], %%r11\n\t"
			 "movsd %[d], %%xmm7\n\tfld1\n\tfldpi\n\t"
			 "movq $4711, -64(%%rsp)\n\t"
			 "movb $5, (%[page])\n\t"
			 "movq %%r12, %[a]\n\tmovq %%r11, %[b]\n\t"
			 "movsd %%xmm7, %[d]\n\tfstpt %[l]\n\tfstp %%st(0)\n\t"
			 "movq -64(%%rsp), %%r12\n\tmovq %%r12, %[c]"
			 : [a] "+m"(r[0]), [b] "+m"(r[1]), [c] "+m"(r[2]),
			   [d] "+m"(d), [l] "=m"(l)
			 : [page] "r"(p)
			 : "r11", "r12", "xmm7", "memory");
	if (r[0] != 1 || r[1] != 2)
		return 2;
	if (r[2] != 4711)
		return 3;
	if (d != 7)
		return 4;
	return l > 3.14L && l < 3.15L ? 0 : 5;
}

#endif /* ROOST_SELFTESTS_RUNTIME_TRAPS_H */
