/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * inside.h - for tests that call what is inside of the library: INSIDE(call) makes
 * the call as an actor's public functions do.
 */
#ifndef ROOST_SELFTESTS_RUNTIME_INSIDE_H
#define ROOST_SELFTESTS_RUNTIME_INSIDE_H

#include "carrier.h"

static inline bool inside_enter(void)
{
	return library_enter();
}

static inline void inside_leave(const bool *entered)
{
	if (*entered)
		library_leave();
}

#define INSIDE(call) ({ \
	bool entered_ __attribute__((cleanup(inside_leave))) = inside_enter(); \
	\
	(void)entered_; \
	(call); \
})

#endif /* ROOST_SELFTESTS_RUNTIME_INSIDE_H */
