/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * roost/errno.h - errno, in code that actors run.
 *
 * Each actor has its own, which goes with it from thread to thread.  But <errno.h>
 * tells the compiler that errno is at one place for as long as a function runs, and a
 * compiler that optimizes keeps the place over a call after which the actor is on
 * another thread.  What it finds there then is not its own.  So errno is asked for
 * each time here, also by what includes <errno.h> itself, before or after.
 *
 * No function of this library changes it: errors are what they return.  roost_malloc()
 * and its kin (roost/alloc.h) leave there what malloc(3) has left.
 *
 * ROOST_PLAIN_ERRNO, defined before: leave errno as it is.
 */
#ifndef ROOST_ERRNO_H
#define ROOST_ERRNO_H

#include <errno.h>

#include <roost/types.h>

ROOST_BEGIN_DECLS

/**
 * roost_errno() - where errno is now
 *
 * Until the next call that may wait, and not to be kept over one.  Callable anywhere.
 */
int *roost_errno(void);

ROOST_END_DECLS

#ifndef ROOST_PLAIN_ERRNO
#undef errno
#define errno	(*roost_errno())
#endif

#endif /* ROOST_ERRNO_H */
