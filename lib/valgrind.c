// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* valgrind.c - is it there? */
#include "valgrind.h"

bool valgrind_there;

__attribute__((constructor)) static void look_for_valgrind(void)
{
	valgrind_there = valgrind_ask(VALGRIND_RUNNING, 0, 0);
}
