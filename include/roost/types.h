/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * roost/types.h - names shared by all of the library's headers.
 *
 * Error convention: a call returns 0 or a count, or a negative errno value.
 * errno is left as it is.
 *
 * Time convention: absolute CLOCK_MONOTONIC nanoseconds.  A deadline of
 * ROOST_FOREVER never comes; one that has passed already (0, say) makes the
 * call try once and not wait.
 */
#ifndef ROOST_TYPES_H
#define ROOST_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define ROOST_BEGIN_DECLS extern "C" {
#define ROOST_END_DECLS }
#else
#define ROOST_BEGIN_DECLS
#define ROOST_END_DECLS
#endif

/* Names an actor: slot index in the low half, generation in the high half. */
typedef uint64_t roost_pid;

/* Never the pid of an actor. */
#define ROOST_PID_NONE	((roost_pid)~0ULL)

/* The deadline that never comes. */
#define ROOST_FOREVER	(~(uint64_t)0)

/* What an actor runs. */
typedef void (*roost_fn)(void *arg);

#endif /* ROOST_TYPES_H */
