/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* fault_unwind.h - which of the signal frames on a stack are in use. */
#ifndef ROOST_LIB_FAULT_UNWIND_H
#define ROOST_LIB_FAULT_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct fault_walk - from a fault up to whoever has called last of all
 * @low:	the stack that the fault was on
 * @high:	the same
 * @upto:	so far the functions were found that are not at their end
 * @in_handler:	and among them a signal handler's
 */
struct fault_walk {
	uintptr_t low;
	uintptr_t high;
	uintptr_t upto;
	bool in_handler;
};

/*
 * fault_unwind() - look at who has called whom; @low and @high are given
 *
 * For the handler of the fault, which is the first on the way, and for who has no lock of
 * the C library: it reads what compilers leave for exceptions.  Where a function has
 * none of that the walk ends, as it does after a million calls.
 */
void fault_unwind(struct fault_walk *walk);

#endif /* ROOST_LIB_FAULT_UNWIND_H */
