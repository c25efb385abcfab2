// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* errno_cell.c - errno where actors move between threads. */
/* Here it is asked for by what is asked for elsewhere. */
#define ROOST_PLAIN_ERRNO
#include "errno_cell.h"

#include <roost/errno.h>

#include "compiler.h"

/*
 * The statement without instructions keeps a compiler that sees callers as well from
 * taking this for a function whose result never changes.
 */
noinline int *errno_place(void)
{
	__asm__ volatile("");
	return &errno;
}

noinline int *roost_errno(void)
{
	__asm__ volatile("");
	return &errno;
}

noinline int errno_get(void)
{
	__asm__ volatile("");
	return errno;
}

noinline void errno_set(int value)
{
	errno = value;
}
