/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * errno_cell.h - errno where actors move between threads.
 *
 * The address of errno is that of a thread; a compiler may keep it over a
 * switch.  These are never inlined, so it cannot.
 */
#ifndef ROOST_LIB_ERRNO_CELL_H
#define ROOST_LIB_ERRNO_CELL_H

/* Where the calling thread has it. */
int *errno_place(void);
int errno_get(void);
void errno_set(int value);

#endif /* ROOST_LIB_ERRNO_CELL_H */
