/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * visit.h - calls that look at a runtime from wherever: an actor of it, of another one,
 * or a thread that has nothing to do with either.
 */
#ifndef ROOST_LIB_VISIT_H
#define ROOST_LIB_VISIT_H

#include <stdbool.h>
#include <sys/types.h>

#include <roost/types.h>

struct carrier;
struct runtime;

/**
 * struct visit - one call
 * @c:		the calling actor's carrier, in the library; NULL outside of an actor
 * @rt:		what is looked at; stays until visit_end()
 * @registered:	it is not the caller's own, and waits for this visit before it ends
 */
struct visit {
	struct carrier *c;
	struct runtime *rt;
	bool registered;
};

/*
 * visit_begin() - a public call goes to the runtime that @of names
 * @of:		any pid of it, whether that actor lives or not; ROOST_PID_NONE: the
 *		calling actor's own
 *
 * Return: 0, and visit_end() has to follow; -ESRCH if there is none; -EPERM outside of
 * an actor if @of names none.
 */
int visit_begin(struct visit *v, roost_pid of);

/** visit_end() - the call is over.  Return: @result */
ssize_t visit_end(const struct visit *v, ssize_t result);

#endif /* ROOST_LIB_VISIT_H */
