// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * closing_test.c - a worker or a domain is closed while something of it is half
 * done.
 */
#include "kselftest_harness.h"

#include "io_help.h"

static void wrk_end(struct wrk *w)
{
	munmap(w->page, w->params.map_size);
	close(w->fd);
}

static void dom_end(struct dom *d)
{
	dom_unmap(d);
	close(d->fd);
}

/* The thread runs on this CPU alone, if there is one of that number. */
static void run_on(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

FIXTURE(closing) {
	struct dom d;
	struct wrk a, b;
	uint64_t limit;
};

FIXTURE_SETUP(closing)
{
	self->limit = now_ns() + wide(15 * SEC);
	ASSERT_EQ(dom_make_io(&self->d, 64, 0), 0);
	ASSERT_EQ(wrk_make(&self->a, &self->d, 64, 2), 0);
	ASSERT_EQ(wrk_make(&self->b, &self->d, 64, 64), 0);
}

FIXTURE_TEARDOWN(closing)
{
	close(self->a.fd);
	close(self->b.fd);
	close(self->d.fd);
}

/*
 * Completions that wait for a place in a ring which is closed can never be had.
 * They must not keep their indices in use.
 */
TEST_F(closing, worker_with_completions_that_wait)
{
	uint64_t in[8], one = 1;
	struct roost_cqe cqe;
	unsigned int i;
	int fd[8];

	for (i = 0; i < 8; i++) {
		fd[i] = eventfd(0, EFD_CLOEXEC);
		ASSERT_GE(fd[i], 0);
		ASSERT_EQ(submit_one(&self->a, sqe_io(ROOST_OP_READ,
						      roost_op_id(i, 1), fd[i],
						      &in[i], 8)), 1);
	}
	for (i = 0; i < 8; i++)
		ASSERT_EQ(write(fd[i], &one, 8), 8);
	ASSERT_EQ(submit(&self->a), 0);
	ASSERT_EQ(self->a.page->cq_overflow, 6);
	/* while they wait, their indices are in use */
	ASSERT_EQ(submit_one(&self->b, sqe_io(ROOST_OP_READ, roost_op_id(7, 2),
					      fd[7], &in[7], 8)), 1);
	ASSERT_TRUE(pop(&self->b, &cqe));
	EXPECT_EQ(cqe.res, -EBUSY);

	wrk_end(&self->a);
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(write(fd[i], &one, 8), 8);
		EXPECT_EQ(io_now(&self->b, sqe_io(ROOST_OP_READ,
						  roost_op_id(i, 3), fd[i],
						  &in[i], 8)), 8);
	}
	EXPECT_EQ(stat_of(&self->d).overflow_pending, 0);
	EXPECT_EQ(stat_of(&self->d).ios_pending, 0);
}

struct other {
	struct wrk *w;
	pthread_barrier_t *barrier;
	uint64_t delay;
};

static void *enter_main(void *arg)
{
	struct other *o = arg;
	uint64_t start;

	run_on(1);
	pthread_barrier_wait(o->barrier);
	for (start = now_ns(); now_ns() - start < o->delay;)
		;
	check(submit(o->w) == 0);
	return NULL;
}

/*
 * S2-24: An op that its last try has brought from a worker that is being closed
 * to another one belongs to that one, and completes.
 */
TEST_F_TIMEOUT(closing, worker_while_another_tries, 300)
{
	pthread_barrier_t barrier;
	struct other other = { &self->b, &barrier, 0 };
	unsigned long rounds = rounds_of("ROOST_ROUNDS", 300);
	unsigned long round, moved = 0;
	struct roost_domain_stat before, after;
	uint64_t in, one = 1, seed = 1;
	struct roost_cqe cqe;
	pthread_t thread;
	struct dom d;
	int fd;

	run_on(0);
	pthread_barrier_init(&barrier, NULL, 2);
	for (round = 0; round < rounds; round++) {
		/* workers stay in their domain: a fresh one now and then */
		if (round % 200 == 0) {
			if (round) {
				wrk_end(&self->b);
				dom_end(&d);
			}
			ASSERT_EQ(dom_make_io(&d, 1, 0), 0);
			ASSERT_EQ(wrk_make(&self->b, &d, 8, 8), 0);
		}
		ASSERT_EQ(wrk_make(&self->a, &d, 8, 8), 0);
		fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		before = stat_of(&d);
		ASSERT_EQ(submit_one(&self->a,
				     sqe_io(ROOST_OP_READ,
					    roost_op_id(0, (uint32_t)round + 1),
					    fd, &in, 8)), 1);
		/* it becomes ready, and then there is nothing to be had */
		ASSERT_EQ(write(fd, &one, 8), 8);
		ASSERT_EQ(read(fd, &in, 8), 8);
		other.delay = random_next(&seed) % wide(20000);
		ASSERT_EQ(pthread_create(&thread, NULL, enter_main, &other), 0);
		pthread_barrier_wait(&barrier);
		wrk_end(&self->a);
		pthread_join(thread, NULL);
		after = stat_of(&d);
		if (after.ios_waited - before.ios_waited == 2) {
			moved++;
			ASSERT_EQ(after.ios_pending, 1);
			ASSERT_EQ(write(fd, &one, 8), 8);
			ASSERT_EQ(submit(&self->b), 0);
			ASSERT_TRUE(pop(&self->b, &cqe));
			ASSERT_EQ(cqe.res, 8);
		}
		ASSERT_FALSE(pop(&self->b, &cqe));
		ASSERT_EQ(stat_of(&d).ios_pending, 0);
		close(fd);
	}
	printf("# %lu of %lu ops were tried by the other worker\n", moved,
	       rounds);
	dom_end(&d);
}

/*
 * Deadlines that pass while the domain is closed: their files are let go all
 * the same.  The timer's interrupt comes on the CPU where it was set.
 */
TEST_F_TIMEOUT(closing, domain_while_ops_expire, 300)
{
	unsigned long rounds = rounds_of("ROOST_ROUNDS", 200), round;
	uint64_t seed = 1, deadline, close_at;
	struct dom d;
	struct wrk w;
	char byte;
	int s[2];

	for (round = 0; round < rounds; round++) {
		struct roost_sqe sqe;

		run_on(1);
		ASSERT_EQ(dom_make_io(&d, 1, 0), 0);
		ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
		unix_pair(s, SOCK_STREAM);
		sqe = sqe_recv(roost_op_id(0, 1), s[0], &byte, 1);
		/* a tick is 65 us long */
		deadline = now_ns() + wide(MSEC) / 4;
		sqe.deadline = deadline;
		ASSERT_EQ(submit_one(&w, sqe), 1);
		close(s[0]);
		munmap(w.page, w.params.map_size);
		dom_unmap(&d);
		close(d.fd);
		run_on(0);
		close_at = (deadline | 65535) + random_next(&seed) % 65536 -
			   16384;
		while (now_ns() < close_at)
			;
		close(w.fd);
		ASSERT_TRUE(sees_end(s[1], wide(5 * SEC)));
		close(s[1]);
	}
}

TEST_HARNESS_MAIN
