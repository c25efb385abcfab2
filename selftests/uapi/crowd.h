/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* crowd.h - a process full of parked workers, armed polls and armed timers. */
#ifndef ROOST_TEST_CROWD_H
#define ROOST_TEST_CROWD_H

#include <sys/eventfd.h>
#include <sys/resource.h>

#include "roost_test.h"

struct sleeper {
	struct dom *d;
	struct wrk *w;
};

static inline void *sleep_for_ever(void *arg)
{
	struct sleeper *s = arg;
	uint32_t outcome;

	check(attach(s->w) == 0);
	for (;;)
		park(s->d, s->w, ROOST_NO_DEADLINE, &outcome);
	return NULL;
}

#define SLEEPERS	64

/* Everything at once: parked carriers, armed polls, armed timers. */
static inline void crowd(int tell, unsigned int polls, unsigned int timers)
{
	static struct wrk w[SLEEPERS];
	static struct sleeper s[SLEEPERS];
	struct rlimit files = { polls + 1000, polls + 1000 };
	struct dom d;
	pthread_attr_t attr;
	pthread_t thread;
	unsigned int i;

	check(setrlimit(RLIMIT_NOFILE, &files) == 0);
	check(dom_make(&d, timers, polls) == 0);
	for (i = 0; i < SLEEPERS; i++)
		check(wrk_make(&w[i], &d, 256, 256) == 0);
	for (i = 0; i < polls; i++)
		check(submit_one(&w[i % SLEEPERS],
				 sqe_poll(i, 1, eventfd(0, 0), POLLIN,
					  i & 1 ? ROOST_POLL_MULTISHOT : 0)) == 1);
	/* a tenth of them go off while the process is torn down */
	for (i = 0; i < timers; i++)
		check(submit_one(&w[i % SLEEPERS],
				 sqe_timer(i, 1, now_ns() +
					   (i % 10 ? 3600 * SEC : 200 * MSEC +
					    i * 20000))) == 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (i = 0; i < SLEEPERS; i++) {
		s[i] = (struct sleeper){ &d, &w[i] };
		check(pthread_create(&thread, &attr, sleep_for_ever, &s[i]) == 0);
	}
	for (i = 0; i < SLEEPERS; i++)
		check(wait_parked(&d, i, now_ns() + wide(20 * SEC)) ||
		      stat_of(&d).timers_fired);
	check(stat_of(&d).polls_armed == polls);
	check(write(tell, "x", 1) == 1);
	for (;;)
		pause();
}

#endif /* ROOST_TEST_CROWD_H */
