/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* server_stat.h - what the kernel knows of the server's threads. */
#ifndef BENCH_SERVER_STAT_H
#define BENCH_SERVER_STAT_H

#include <stdint.h>

/**
 * struct server_stat - sums over the threads that a process has now
 * @cpu_ns:	time on a CPU
 * @switches:	times that a thread gave up its CPU or lost it
 */
struct server_stat {
	uint64_t cpu_ns;
	uint64_t switches;
};

/* Ends the program if there is no such process: the server has died. */
struct server_stat server_stat(int pid);

#endif /* BENCH_SERVER_STAT_H */
