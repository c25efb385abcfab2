// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * traced_late.c - a run ends while a thread of the library is about to record something.
 *
 * That is the one which waits for files.  The library's clock is one that holds it up in the
 * middle of it for longer than the end of the run takes.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <roost/roost.h>

static _Atomic int holds, held;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	char name[16] = "";

	if (atomic_load(&holds) &&
	    !pthread_getname_np(pthread_self(), name, sizeof(name)) &&
	    !strcmp(name, "roost-poll")) {
		atomic_store(&held, 1);
		usleep(200000);
	}
	return (int)syscall(SYS_clock_gettime, clock, ts);
}

static void root(void *arg)
{
	int p[2];
	char byte;

	(void)arg;
	if (roost_pipe(p) || roost_read(p[0], &byte, 1, roost_after(ROOST_MSEC(2))) !=
	    -ETIMEDOUT)
		return;
	atomic_store(&holds, 1);
	if (write(p[1], "x", 1) != 1)
		return;
	while (!atomic_load(&held))
		usleep(100);
}

int main(void)
{
	struct roost_config config = { .workers = 1, .trace_events = 1024 };

	if (roost_run(&config, root, NULL) || !atomic_load(&held)) {
		fprintf(stderr, "traced_late: it did not come to that\n");
		return 2;
	}
	return 0;
}
