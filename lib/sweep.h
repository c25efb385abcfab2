/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* sweep.h - the end of what the root actor has left parked for ever. */
#ifndef ROOST_LIB_SWEEP_H
#define ROOST_LIB_SWEEP_H

#include <stdbool.h>

struct runtime;

/**
 * sweep_remainder() - stop what nothing can wake any more (S0-80)
 * @rt:	the runtime; the caller is a worker with its idle bit set
 *
 * Return: true if actors were made ready.
 */
bool sweep_remainder(struct runtime *rt);

#endif /* ROOST_LIB_SWEEP_H */
