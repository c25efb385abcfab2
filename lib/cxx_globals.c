// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * cxx_globals.c - the exceptions that an actor has caught and not let go.
 *
 * Never inlined, so that no address of a thread's is kept over a switch.
 */
#include "cxx_globals.h"

#include "compiler.h"

noinline void cxx_globals_take(struct cxx_globals *to)
{
	struct cxx_globals *globals;

	*to = (struct cxx_globals){ 0 };
	if (!__cxa_get_globals)
		return;
	globals = __cxa_get_globals();
	*to = *globals;
	*globals = (struct cxx_globals){ 0 };
}

noinline void cxx_globals_give(const struct cxx_globals *from)
{
	if (__cxa_get_globals)
		*__cxa_get_globals() = *from;
}
