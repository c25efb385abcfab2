/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * valgrind.h - what valgrind has to be told of stacks.
 *
 * It tells a switch from a large frame by the stacks that it knows of, so each is named
 * while it is accessible.  What lies below the stack pointer is out of bounds for its
 * memcheck, so who begins anew at a stack's top says that it may be written to.
 *
 * Requests are sequences of instructions that do nothing (arch/), with numbers that
 * valgrind's manual calls client requests; its headers are not needed.
 */
#ifndef ROOST_LIB_VALGRIND_H
#define ROOST_LIB_VALGRIND_H

#include <stdbool.h>
#include <stddef.h>

#include "arch/arch.h"
#include ARCH_HEADER(valgrind.h)
#include "compiler.h"

enum valgrind_request {
	VALGRIND_RUNNING	= 0x1001,
	VALGRIND_STACK_ADD	= 0x1501,
	VALGRIND_STACK_REMOVE	= 0x1502,
	/* of memcheck; other tools do not know them */
	VALGRIND_MEM_UNDEFINED	= ('M' << 24 | 'C' << 16) + 1,
	VALGRIND_MEM_DEFINED	= ('M' << 24 | 'C' << 16) + 2,
};

static inline unsigned long valgrind_ask(enum valgrind_request request,
					 unsigned long a, unsigned long b)
{
	const unsigned long words[6] = { request, a, b };

	return valgrind_call(words);
}

/* Does this process run under it?  Constant, known before main(). */
extern bool valgrind_there;

/** valgrind_stack_add() - Return: a number for valgrind_stack_remove() */
static inline unsigned int valgrind_stack_add(const void *low, size_t size)
{
	unsigned long from = (unsigned long)low;

	return (unsigned int)valgrind_ask(VALGRIND_STACK_ADD, from,
					  from + size - 1);
}

static inline void valgrind_stack_remove(unsigned int number)
{
	valgrind_ask(VALGRIND_STACK_REMOVE, number, 0);
}

/** valgrind_may_write() - the bytes may be written to, and are not yet to be read */
static inline void valgrind_may_write(const void *from, size_t size)
{
	if (unlikely(valgrind_there))
		valgrind_ask(VALGRIND_MEM_UNDEFINED, (unsigned long)from, size);
}

/** valgrind_may_read() - the bytes may be read, whatever is in them */
static inline void valgrind_may_read(const void *from, size_t size)
{
	if (unlikely(valgrind_there))
		valgrind_ask(VALGRIND_MEM_DEFINED, (unsigned long)from, size);
}

#endif /* ROOST_LIB_VALGRIND_H */
