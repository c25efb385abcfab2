// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * lifetime_test.c - the ends of things, in every order.
 *
 * F5, C48, C49.
 */
#include "kselftest_harness.h"

#include <sys/eventfd.h>

#include "crowd.h"
#include "roost_test.h"

/* What is closed and unmapped, one bit each, in an order given by a number. */
enum part { DOMAIN_FD, WORKER_FD, CONTROL_MAP, EVENTS_MAP, WORKER_MAP, PARTS };

static void drop(struct dom *d, struct wrk *w, enum part part)
{
	switch (part) {
	case DOMAIN_FD:
		check(close(d->fd) == 0);
		break;
	case WORKER_FD:
		check(close(w->fd) == 0);
		break;
	case CONTROL_MAP:
		check(munmap(d->control, d->params.control_size) == 0);
		break;
	case EVENTS_MAP:
		check(munmap(d->events, d->params.events_size) == 0);
		break;
	case WORKER_MAP:
		check(munmap(w->page, w->params.map_size) == 0);
		break;
	default:
		check(0);
	}
}

/* All 120 orders, with timers and polls armed, attached and not. */
TEST(all_orders_of_closing)
{
	unsigned int order, rest, left, i, k;
	int fd = eventfd(0, 0);
	uint64_t one = 1;

	for (order = 0; order < 240; order++) {
		enum part parts[PARTS] = { DOMAIN_FD, WORKER_FD, CONTROL_MAP,
					   EVENTS_MAP, WORKER_MAP };
		struct dom d;
		struct wrk w;

		ASSERT_EQ(dom_make(&d, 4, 4), 0);
		ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
		if (order & 1)
			ASSERT_EQ(attach(&w), 0);
		ASSERT_EQ(submit_one(&w, sqe_timer(0, 1, now_ns() + MSEC)), 1);
		ASSERT_EQ(submit_one(&w, sqe_timer(1, 1, now_ns() +
						   3600 * SEC)), 1);
		ASSERT_EQ(submit_one(&w, sqe_poll(0, 1, fd, POLLIN,
						  ROOST_POLL_MULTISHOT)), 1);
		ASSERT_EQ(submit_one(&w, sqe_poll(1, 1, fd, POLLIN, 0)), 1);
		rest = order / 2;
		for (left = PARTS; left; left--) {
			i = rest % left;
			rest /= left;
			drop(&d, &w, parts[i]);
			for (k = i; k + 1 < left; k++)
				parts[k] = parts[k + 1];
			/* what is still armed goes on meanwhile */
			ASSERT_EQ(write(fd, &one, sizeof(one)), sizeof(one));
			ASSERT_EQ(read(fd, &one, sizeof(one)), sizeof(one));
		}
	}
}

/* Mappings alone keep what they show. */
TEST(mappings_outlive_descriptors)
{
	struct dom d;
	struct wrk w;

	ASSERT_EQ(dom_make(&d, 4, 4), 0);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	ASSERT_EQ(attach(&w), 0);
	close(w.fd);
	close(d.fd);
	EXPECT_EQ(w.page->pending_min, ROOST_NO_DEADLINE);
	w.page->pending_min = 5;
	EXPECT_EQ(w.page->pending_min, 5);
	EXPECT_EQ(d.control->api_version, ROOST_API_VERSION);
	d.events[3] = 7;
	EXPECT_EQ(d.events[3], 7);
}

/* A worker's descriptor keeps its domain. */
TEST(worker_outlives_the_domain_descriptor)
{
	struct roost_cqe cqe;
	struct dom d;
	struct wrk w;

	ASSERT_EQ(dom_make(&d, 4, 4), 0);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	close(d.fd);
	ASSERT_EQ(attach(&w), 0);
	ASSERT_EQ(submit_one(&w, sqe_timer(0, 1, now_ns() + 10 * MSEC)), 1);
	EXPECT_EQ(wait_pop(&d, &w, &cqe, now_ns() + wide(5 * SEC)), 0);
	EXPECT_EQ(cqe.user_data, roost_op_id(0, 1));
	EXPECT_EQ(detach(&w), 0);
}

/* The timers of a worker that was closed are gone with it. */
TEST(closed_worker_takes_its_timers_along)
{
	struct dom d;
	struct wrk w;
	uint64_t limit = now_ns() + wide(2 * SEC);
	unsigned int i;

	ASSERT_EQ(dom_make(&d, 64, 4), 0);
	ASSERT_EQ(wrk_make(&w, &d, 64, 64), 0);
	for (i = 0; i < 64; i++)
		ASSERT_EQ(submit_one(&w, sqe_timer(i, 1, now_ns() +
						   3600 * SEC)), 1);
	EXPECT_EQ(stat_of(&d).timers_pending, 64);
	munmap(w.page, w.params.map_size);
	close(w.fd);
	while (stat_of(&d).timers_pending && now_ns() < limit)
		sleep_ns(MSEC);
	EXPECT_EQ(stat_of(&d).timers_pending, 0);
}

struct life {
	struct dom *d;
	struct wrk *w;
	int fd;
	uint64_t deadline;
};

static void *arm_and_end(void *arg)
{
	struct life *l = arg;

	check(attach(l->w) == 0);
	check(submit_one(l->w, sqe_timer(0, 1, l->deadline)) == 1);
	check(submit_one(l->w, sqe_poll(0, 1, l->fd, POLLIN, 0)) == 1);
	/* ends with the lease */
	return NULL;
}

/* C49: what a thread armed does not end with the thread. */
TEST(requests_outlive_their_thread)
{
	struct dom d;
	struct wrk w, y;
	int p[2];
	struct life l = { &d, &w, -1, 0 };
	struct roost_cqe cqe;
	pthread_t thread;
	unsigned int i, timers = 0, polls = 0;
	uint64_t limit = now_ns() + wide(10 * SEC);

	ASSERT_EQ(pipe(p), 0);
	ASSERT_EQ(dom_make(&d, 4, 4), 0);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	ASSERT_EQ(wrk_make(&y, &d, 8, 8), 0);
	l.fd = p[0];
	l.deadline = now_ns() + 50 * MSEC;
	ASSERT_EQ(pthread_create(&thread, NULL, arm_and_end, &l), 0);
	pthread_join(thread, NULL);
	ASSERT_EQ(write(p[1], "x", 1), 1);
	while (timers + polls < 2 && now_ns() < limit) {
		if (!pop(&w, &cqe)) {
			sleep_ns(MSEC);
			continue;
		}
		timers += (cqe.flags & ROOST_CQE_KIND) == ROOST_CQE_TIMER;
		polls += (cqe.flags & ROOST_CQE_KIND) == ROOST_CQE_POLL;
	}
	EXPECT_EQ(timers, 1);
	EXPECT_EQ(polls, 1);
	EXPECT_GE(now_ns(), l.deadline);
	/* the same file from another worker, at once */
	ASSERT_EQ(attach(&y), 0);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(submit_one(&y, sqe_poll(0, 2 + i, p[0], POLLIN, 0)),
			  1);
		ASSERT_EQ(wait_pop(&d, &y, &cqe, now_ns() + wide(10 * MSEC)), 0);
		EXPECT_EQ(cqe.user_data, roost_op_id(0, 2 + i));
	}
	EXPECT_FALSE(pop(&w, &cqe));
	/* and the worker whose thread has gone takes a new one */
	EXPECT_EQ(detach(&y), 0);
	EXPECT_EQ(attach(&w), 0);
}

FIXTURE(end) {
	unsigned int polls;
	unsigned int timers;
};

FIXTURE_SETUP(end)
{
	self->polls = rounds_of("ROOST_POLLS", 10000);
	self->timers = rounds_of("ROOST_TIMERS", 10000);
}

FIXTURE_TEARDOWN(end)
{
}

/* S2-28, C48 */
TEST_F_TIMEOUT(end, kill, 300)
{
	uint64_t start, took;
	int p[2], status;
	char byte;
	pid_t pid;

	ASSERT_EQ(pipe(p), 0);
	pid = fork();
	if (!pid)
		crowd(p[1], self->polls, self->timers);
	close(p[1]);
	ASSERT_EQ(read(p[0], &byte, 1), 1);
	start = now_ns();
	kill(pid, SIGKILL);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	took = now_ns() - start;
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	TH_LOG("gone after %llu us", (unsigned long long)took / 1000);
	EXPECT_LT(took, wide(2 * SEC));
}

static void *exec_main(void *arg)
{
	execl("/proc/self/exe", "lifetime_test", "--nothing", NULL);
	check(0);
	return arg;
}

/* exec by the main thread and by another one, with a domain open. */
TEST_F_TIMEOUT(end, exec, 300)
{
	pthread_t thread;
	int status, p[2];
	unsigned int i;
	pid_t pid;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(pipe2(p, O_CLOEXEC), 0);
		pid = fork();
		if (!pid) {
			static struct wrk w;
			static struct sleeper s;
			static struct dom d;
			int keep;

			check(dom_make(&d, 4, 4) == 0);
			check(wrk_make(&w, &d, 8, 8) == 0);
			/* a file whose other end tells when the poll is gone */
			check(submit_one(&w, sqe_poll(0, 1, p[1], POLLIN, 0)) ==
			      1);
			/* and a descriptor that survives the exec */
			keep = fcntl(d.fd, F_DUPFD, 200);
			check(keep >= 200);
			s = (struct sleeper){ &d, &w };
			check(pthread_create(&thread, NULL, sleep_for_ever,
					     &s) == 0);
			check(wait_parked(&d, 0, now_ns() + wide(5 * SEC)));
			if (i)
				check(pthread_create(&thread, NULL, exec_main,
						     NULL) == 0);
			else
				exec_main(NULL);
			for (;;)
				pause();
		}
		close(p[1]);
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT_EQ(status, 0);
		/* F5: the poll has let its file go */
		EXPECT_EQ(read(p[0], &status, 1), 0);
		close(p[0]);
	}
}

/* C48: the main thread alone goes; the others carry on and can be killed. */
TEST(end_of_the_main_thread_only)
{
	int status, p[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(pipe(p), 0);
	pid = fork();
	if (!pid) {
		static struct wrk w;
		static struct sleeper s;
		static struct dom d;
		pthread_t thread;

		check(dom_make(&d, 4, 4) == 0);
		check(wrk_make(&w, &d, 8, 8) == 0);
		s = (struct sleeper){ &d, &w };
		check(pthread_create(&thread, NULL, sleep_for_ever, &s) == 0);
		check(wait_parked(&d, 0, now_ns() + wide(5 * SEC)));
		check(write(p[1], "x", 1) == 1);
		syscall(SYS_exit, 0);
	}
	ASSERT_EQ(read(p[0], &byte, 1), 1);
	sleep_ns(20 * MSEC);
	EXPECT_EQ(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGKILL);
	EXPECT_EQ(waitpid(pid, &status, 0), pid);
}

/* Many short lives, killed at random points of their start. */
TEST_F_TIMEOUT(end, killed_at_any_moment, 300)
{
	const unsigned long rounds = rounds_of("ROOST_KILL_ROUNDS", 200);
	uint64_t seed = 42, span;
	unsigned long i;
	int status;
	pid_t pid;

	for (i = 0; i < rounds; i++) {
		pid = fork();
		if (!pid) {
			static struct wrk w[4];
			static struct sleeper s[4];
			static struct dom d;
			pthread_t thread;
			unsigned int k;

			check(dom_make(&d, 64, 64) == 0);
			for (k = 0; k < 4; k++) {
				check(wrk_make(&w[k], &d, 64, 16) == 0);
				s[k] = (struct sleeper){ &d, &w[k] };
			}
			for (k = 0; k < 64; k++) {
				submit_one(&w[k % 4], sqe_timer(k, 1, now_ns() +
								k * 50000));
				submit_one(&w[k % 4],
					   sqe_poll(k, 1, eventfd(1, 0), POLLIN,
						    ROOST_POLL_MULTISHOT));
			}
			for (k = 0; k < 4; k++)
				pthread_create(&thread, NULL, sleep_for_ever,
					       &s[k]);
			for (;;)
				wake(&d, ROOST_WAKE_ALL, 0);
		}
		span = random_next(&seed) % (8 * MSEC);
		sleep_ns(span);
		kill(pid, SIGKILL);
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		ASSERT_EQ(status, SIGKILL);
	}
}

/* What the exec test runs; glibc hands a constructor the arguments. */
static void __attribute__((constructor)) run_nothing(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--nothing"))
		_exit(0);
}

TEST_HARNESS_MAIN
