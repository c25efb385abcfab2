/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * cxx_globals.h - the exceptions that an actor has caught and not let go.
 *
 * A C++ run-time keeps them in a chain that belongs to the thread.  An actor
 * that waits inside of a catch block takes its own along, and leaves none
 * behind.  The two words and their order are part of the Itanium C++ ABI,
 * "Exception Handling", 2.2.2.
 */
#ifndef ROOST_LIB_CXX_GLOBALS_H
#define ROOST_LIB_CXX_GLOBALS_H

#include <stdbool.h>
#include <stddef.h>

struct cxx_globals {
	void *caught;
	unsigned int uncaught;
};

/* Weak: there if, and only if, the program has a C++ run-time. */
extern struct cxx_globals *__cxa_get_globals(void) __attribute__((weak));

static inline bool cxx_globals_exist(void)
{
	return __cxa_get_globals != NULL;
}

/* Move the thread's to @to, leaving none. Without C++ there are none. */
void cxx_globals_take(struct cxx_globals *to);
/* Make @from the (perhaps other) thread's. */
void cxx_globals_give(const struct cxx_globals *from);

#endif /* ROOST_LIB_CXX_GLOBALS_H */
