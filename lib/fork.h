/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* fork.h - what a child of fork(2) finds. */
#ifndef ROOST_LIB_FORK_H
#define ROOST_LIB_FORK_H

/* fork_watch() - from now on; any thread, any number of times */
void fork_watch(void);

#endif /* ROOST_LIB_FORK_H */
