/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* stats.h - what the counters need from each thread. */
#ifndef ROOST_LIB_STATS_H
#define ROOST_LIB_STATS_H

struct worker;

/** worker_clock_start() - @w's own thread: its CPU time counts from now on */
void worker_clock_start(struct worker *w);

#endif /* ROOST_LIB_STATS_H */
