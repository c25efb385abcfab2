/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * inject.h - delays at the places where a protocol between threads turns on what
 * comes first; nothing unless the library is built with INJECT=1, for tests.
 *
 * The windows of a lost wake or a late verdict are a few instructions long and
 * hit once in millions of rounds; with a delay in them, in hundreds.
 */
#ifndef ROOST_LIB_INJECT_H
#define ROOST_LIB_INJECT_H

#ifdef ROOST_INJECT
/* inject_delay() - sometimes let the other threads go first here */
void inject_delay(void);
#else
static inline void inject_delay(void)
{
}
#endif

#endif /* ROOST_LIB_INJECT_H */
