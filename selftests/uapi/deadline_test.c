// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * deadline_test.c - unusual deadlines.
 *
 * The farthest lie at the end of what the kernel's own clock can express, and
 * must rest there, whatever the tick; those of a time namespace are on another
 * clock than the kernel's own.  Rules T1, T3, T5.
 */
#define _GNU_SOURCE
#include "kselftest_harness.h"

#include "roost_test.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x00000080
#endif

/* A domain with one worker and a tick of 2^shift ns. */
static void make(struct dom *d, struct wrk *w, uint32_t shift)
{
	int dev = dev_open();

	check(dev >= 0);
	memset(d, 0, sizeof(*d));
	d->params.nr_timers = 8;
	d->params.tick_shift = shift;
	d->fd = call(dev, ROOST_IOC_CREATE_DOMAIN, &d->params);
	check(d->fd >= 0);
	close(dev);
	d->control = map_fd(d->fd, d->params.control_size, ROOST_OFF_CONTROL);
	check(d->control != MAP_FAILED);
	check(wrk_make(w, d, 8, 8) >= 0);
	check(attach(w) == 0);
}

static uint64_t starts(const struct dom *d)
{
	struct roost_domain_stat stat = { 0 };

	check(call(d->fd, ROOST_IOC_DOMAIN_STAT, &stat) == 0);
	return stat.hrtimer_starts;
}

/*
 * How many hardware timers of the system are to fire at 2^63 ns, which is before
 * all time to a signed number; -1 if nobody tells.  Such a one fires, and is
 * started anew by its handler, without end as soon as it is the only one of an
 * idle CPU: too late to look then, so look at its time.
 */
static int before_all_time(void)
{
	FILE *f = fopen("/proc/timer_list", "re");
	char line[512];
	int n = 0;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		n += !!strstr(line, "expires at 9223372036854775808");
	fclose(f);
	return n;
}

/* Other hardware timers come and go meanwhile. */
static void rest(void)
{
	int i;

	for (i = 0; i < 10; i++)
		sleep_ns(10 * MSEC);
}

/*
 * T5: a hardware timer whose time is never does not fire at once, again and
 * again.  Each tick has its own way to round the deadline up.
 */
TEST(the_farthest_timer_rests)
{
	uint32_t shift;

	if (before_all_time() < 0)
		SKIP(return, "no /proc/timer_list");
	for (shift = ROOST_MIN_TICK_SHIFT; shift <= ROOST_MAX_TICK_SHIFT; shift += 2) {
		struct roost_sqe sqe = {
			.opcode = ROOST_OP_TIMER_SET,
			.op_id = roost_op_id(0, 1),
			.deadline = ROOST_MAX_DEADLINE,
		};
		struct roost_cqe cqe;
		struct dom d;
		struct wrk w;

		make(&d, &w, shift);
		push(&w, &sqe);
		ASSERT_EQ(1, submit(&w));
		EXPECT_EQ(0, before_all_time());
		rest();
		EXPECT_GE(2u, starts(&d));
		EXPECT_FALSE(pop(&w, &cqe));
		close(w.fd);
		munmap(w.page, w.params.map_size);
		dom_unmap(&d);
		close(d.fd);
	}
}

/* The same for a park; a signal ends it. */
static void nothing(int sig)
{
	(void)sig;
}

static int found;

static void *poke(void *thread)
{
	rest();
	found = before_all_time();
	pthread_kill(*(pthread_t *)thread, SIGUSR1);
	return NULL;
}

/* S3-13 */
TEST(the_farthest_park_rests)
{
	struct sigaction sa = { .sa_handler = nothing };
	pthread_t self = pthread_self(), helper;
	uint32_t outcome = 0;
	struct dom d;
	struct wrk w;

	if (before_all_time() < 0)
		SKIP(return, "no /proc/timer_list");
	sigaction(SIGUSR1, &sa, NULL);
	make(&d, &w, ROOST_MAX_TICK_SHIFT);
	ASSERT_EQ(0, pthread_create(&helper, NULL, poke, &self));
	set_idle(&d, &w);
	EXPECT_EQ(-EINTR, park_published(&w, sample(&d), ROOST_MAX_DEADLINE,
					 &outcome));
	EXPECT_EQ(ROOST_OUT_SIGNAL | ROOST_OUT_SLEPT, outcome);
	EXPECT_GE(2u, starts(&d));
	pthread_join(helper, NULL);
	EXPECT_EQ(0, found);
}

/* In a time namespace: a timer and a park end in time; 0 if so. */
static int in_time(void)
{
	uint64_t start = now_ns(), ns = 20 * MSEC;
	struct roost_sqe sqe = {
		.opcode = ROOST_OP_TIMER_SET,
		.op_id = roost_op_id(0, 1),
		.deadline = start + ns,
	};
	uint32_t outcome = 0;
	struct roost_cqe cqe;
	struct dom d;
	struct wrk w;

	make(&d, &w, 16);
	push(&w, &sqe);
	check(submit(&w) == 1);
	while (!pop(&w, &cqe)) {
		if (now_ns() > start + wide(SEC))
			return 1;
		sleep_ns(MSEC);
	}
	if (now_ns() < start + ns)
		return 2;
	start = now_ns();
	set_idle(&d, &w);
	alarm(60);
	check(park_published(&w, sample(&d), start + ns, &outcome) == 0);
	if (now_ns() < start + ns)
		return 3;
	return now_ns() > start + wide(SEC) ? 4 : 0;
}

/* T1: absolute times are what clock_gettime() tells the caller. */
TEST(deadlines_are_of_the_time_namespace)
{
	int fd, status;
	pid_t child;

	if (unshare(CLONE_NEWTIME))
		SKIP(return, "no time namespaces");
	fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(16, write(fd, "monotonic 1000 0", 16));
	close(fd);
	child = fork();
	if (!child)
		_exit(in_time());
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_HARNESS_MAIN
