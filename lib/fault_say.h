/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* fault_say.h - a line about a fault that ends the process, from its handler. */
#ifndef ROOST_LIB_FAULT_SAY_H
#define ROOST_LIB_FAULT_SAY_H

#include <stdint.h>

/* What such a fault is called, ROOST_CRASH_*. */
const char *fault_name(int reason);

/*
 * fault_say() - to standard error, in one write
 * @pid:	the actor
 * @reason:	ROOST_CRASH_*
 * @address:	si_addr
 * @pc:		the instruction
 * @why:	it does not end alone
 */
void fault_say(uint64_t pid, int reason, uintptr_t address, uintptr_t pc,
	       const char *why);

#endif /* ROOST_LIB_FAULT_SAY_H */
