// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* errno_cell.c - errno where actors move between threads. */
#include "errno_cell.h"

#include <errno.h>

#include "compiler.h"

noinline int *errno_place(void)
{
	return &errno;
}

noinline int errno_get(void)
{
	return errno;
}

noinline void errno_set(int value)
{
	errno = value;
}
