/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* uring.h - what the servers on io_uring share. */
#ifndef BENCH_URING_H
#define BENCH_URING_H

#include <liburing.h>

/*
 * One thread submits and waits, and completions are made when it waits: the
 * best that Linux 6.1 has.
 */
void uring_open(struct io_uring *ring);

/* An empty entry; goes with the next uring_wait(). */
struct io_uring_sqe *uring_sqe(struct io_uring *ring);

/* Submit, and wait for so many completions, in one call. */
void uring_wait(struct io_uring *ring, unsigned int completions);

#endif /* BENCH_URING_H */
