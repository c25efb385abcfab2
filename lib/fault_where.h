/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* fault_where.h - is an instruction the C library's, or the actor's? */
#ifndef ROOST_LIB_FAULT_WHERE_H
#define ROOST_LIB_FAULT_WHERE_H

#include <stdbool.h>
#include <stdint.h>

/* fault_where_learn() - look where the libraries of the process are */
void fault_where_learn(void);

/* While the process forks. */
void fault_where_lock(void);
void fault_where_unlock(void);

/* fault_where_known() - is there a C library that can be told from the program? */
bool fault_where_known(void);

/*
 * fault_where_is_libc() - the C library's, or of what is as delicate: its loader, the
 *	C++ run-time, whatever has malloc()
 *
 * For signal handlers.
 */
bool fault_where_is_libc(uintptr_t pc);

#endif /* ROOST_LIB_FAULT_WHERE_H */
