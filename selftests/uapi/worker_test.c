// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * worker_test.c - leases: who may be a worker's carrier.  Who may use a domain at
 * all: perm_test.c.
 */
#include "kselftest_harness.h"

#include "roost_test.h"

FIXTURE(worker) {
	struct dom d;
	struct wrk w[2];
};

FIXTURE_SETUP(worker)
{
	unsigned int i;

	ASSERT_EQ(dom_make(&self->d, 16, 16), 0);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(wrk_make(&self->w[i], &self->d, 8, 8), 0);
}

FIXTURE_TEARDOWN(worker)
{
	close(self->d.fd);
}

/* Runs @fn(@arg) in a thread of its own and returns what it returned. */
static long in_thread(void *(*fn)(void *arg), void *arg)
{
	pthread_t thread;
	void *ret;

	check(pthread_create(&thread, NULL, fn, arg) == 0);
	check(pthread_join(thread, &ret) == 0);
	return (long)ret;
}

static void *attach_only(void *arg)
{
	return (void *)(long)attach(arg);
}

static void *attach_detach(void *arg)
{
	int ret = attach(arg);

	return (void *)(long)(ret ? ret : detach(arg));
}

TEST_F(worker, lease_numbers_grow)
{
	struct roost_attach a = { 0 };
	uint64_t first;

	EXPECT_EQ(self->w[0].page->lease, 0);
	ASSERT_EQ(call(self->w[0].fd, ROOST_IOC_ATTACH, &a), 0);
	EXPECT_NE(a.lease, 0);
	EXPECT_EQ(self->w[0].page->lease, a.lease);
	first = a.lease;
	ASSERT_EQ(detach(&self->w[0]), 0);
	EXPECT_EQ(self->w[0].page->lease, 0);
	a.lease = 0;
	ASSERT_EQ(call(self->w[0].fd, ROOST_IOC_ATTACH, &a), 0);
	EXPECT_GT(a.lease, first);
	EXPECT_EQ(detach(&self->w[0]), 0);
}

TEST_F(worker, attach_rejections)
{
	struct roost_attach a = { .flags = 1 };

	EXPECT_EQ(call(self->w[0].fd, ROOST_IOC_ATTACH, &a), -EINVAL);
	a = (struct roost_attach){ .reserved0 = 1 };
	EXPECT_EQ(call(self->w[0].fd, ROOST_IOC_ATTACH, &a), -EINVAL);
	a = (struct roost_attach){ .lease = 1 };
	EXPECT_EQ(call(self->w[0].fd, ROOST_IOC_ATTACH, &a), -EINVAL);
	EXPECT_EQ(call(self->w[0].fd, _IO(ROOST_IOC_MAGIC, 0x7f), NULL),
		  -ENOTTY);
	EXPECT_EQ(call(self->w[0].fd, ROOST_IOC_WAKE, &a), -ENOTTY);
}

TEST_F(worker, one_worker_a_thread_one_thread_a_worker)
{
	ASSERT_EQ(attach(&self->w[0]), 0);
	/* twice, or two */
	EXPECT_EQ(attach(&self->w[0]), -EBUSY);
	EXPECT_EQ(attach(&self->w[1]), -EBUSY);
	/* and nobody else */
	EXPECT_EQ(in_thread(attach_only, &self->w[0]), -EBUSY);
	/* but another thread may have the other one */
	EXPECT_EQ(in_thread(attach_detach, &self->w[1]), 0);
	ASSERT_EQ(detach(&self->w[0]), 0);
	EXPECT_EQ(in_thread(attach_detach, &self->w[0]), 0);
}

TEST_F(worker, carry_workers_of_two_domains)
{
	struct dom other;
	struct wrk w;

	ASSERT_EQ(dom_make(&other, 1, 1), 0);
	ASSERT_EQ(wrk_make(&w, &other, 8, 8), 0);
	EXPECT_EQ(attach(&self->w[0]), 0);
	EXPECT_EQ(attach(&w), 0);
	EXPECT_EQ(detach(&w), 0);
	EXPECT_EQ(detach(&self->w[0]), 0);
}

/* S2-01 */
TEST_F(worker, detach_is_the_carriers)
{
	EXPECT_EQ(detach(&self->w[0]), -EPERM);
	ASSERT_EQ(attach(&self->w[1]), 0);
	EXPECT_EQ(detach(&self->w[0]), -EPERM);
	EXPECT_EQ(detach(&self->w[1]), 0);
	EXPECT_EQ(detach(&self->w[1]), -EPERM);
}

/* The end of the thread ends the lease. */
TEST_F(worker, attach_after_the_end_of_a_thread)
{
	unsigned int i;

	for (i = 0; i < 50; i++)
		ASSERT_EQ(in_thread(attach_only, &self->w[0]), 0);
	EXPECT_EQ(attach(&self->w[0]), 0);
}

TEST_F(worker, detach_clears_the_idle_bit)
{
	ASSERT_EQ(attach(&self->w[0]), 0);
	set_idle(&self->d, &self->w[0]);
	ASSERT_EQ(detach(&self->w[0]), 0);
	EXPECT_FALSE(idle_bit(&self->d, &self->w[0]));
	EXPECT_EQ(wake(&self->d, ROOST_WAKE_INDEX, 0), -ESRCH);
}

static void *park_only(void *arg)
{
	struct roost_enter e = {
		.flags = ROOST_ENTER_PARK,
		.deadline = now_ns(),
	};

	return (void *)(long)enter(arg, &e);
}

/* S2-01 */
TEST_F(worker, parking_is_the_carriers)
{
	ASSERT_EQ(attach(&self->w[0]), 0);
	EXPECT_EQ(in_thread(park_only, &self->w[0]), -EPERM);
	/* the carrier of another one is nobody here */
	EXPECT_EQ((long)park_only(&self->w[1]), -EPERM);
	EXPECT_EQ((long)park_only(&self->w[0]), 0);
}

static void *submit_only(void *arg)
{
	return (void *)(long)submit(arg);
}

TEST_F(worker, any_thread_may_submit)
{
	struct roost_cqe cqe;
	struct roost_sqe nop = sqe_nop(7);

	push(&self->w[0], &nop);
	EXPECT_EQ(in_thread(submit_only, &self->w[0]), 1);
	ASSERT_TRUE(pop(&self->w[0], &cqe));
	EXPECT_EQ(cqe.user_data, 7);
	/* nobody needs to carry it */
	EXPECT_EQ(submit_one(&self->w[0], sqe_nop(8)), 1);
	ASSERT_TRUE(pop(&self->w[0], &cqe));
	EXPECT_EQ(cqe.user_data, 8);
}

TEST_HARNESS_MAIN
