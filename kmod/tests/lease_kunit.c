// SPDX-License-Identifier: GPL-2.0
/*
 * Leases: who is a worker's carrier, and what an old one leaves behind.
 * Through the ioctls, by the thread to which the domain belongs.
 */
#include <linux/kthread.h>

#include "../park.h"
#include "fixture.h"

static struct roost_worker *make_worker(struct kunit *test)
{
	return fixture_worker(test, 1, 2);
}

static long attach(struct roost_worker *worker, u64 *lease)
{
	struct roost_attach arg = { };
	long ret;

	ret = fixture_worker_ioctl(worker, ROOST_IOC_ATTACH, &arg, sizeof(arg));
	if (lease)
		*lease = arg.lease;
	return ret;
}

static long detach(struct roost_worker *worker)
{
	char none;

	return fixture_worker_ioctl(worker, ROOST_IOC_DETACH, &none, 0);
}

static void expect_carrier(struct kunit *test, struct roost_worker *worker,
			   struct task_struct *task, u64 lease)
{
	KUNIT_EXPECT_PTR_EQ(test, worker->carrier, task);
	KUNIT_EXPECT_PTR_EQ(test, worker->wait.private, (void *)task);
	KUNIT_EXPECT_EQ(test, worker->page->lease, task ? lease : 0);
	KUNIT_EXPECT_FALSE(test, worker->permit);
	KUNIT_EXPECT_EQ(test, worker->page->parked, 0);
	KUNIT_EXPECT_FALSE(test, test_bit(worker->index, (unsigned long *)
					  worker->domain->control->idle));
}

/* Free, taken, free again: each lease has a number of its own. */
static void attach_and_detach(struct kunit *test)
{
	struct roost_worker *worker = make_worker(test);
	u64 lease, i;

	expect_carrier(test, worker, NULL, 0);
	KUNIT_EXPECT_EQ(test, detach(worker), -EPERM);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, attach(worker, &lease), 0);
		KUNIT_EXPECT_EQ(test, lease, i);
		expect_carrier(test, worker, current, i);
		KUNIT_EXPECT_EQ(test, attach(worker, NULL), -EBUSY);
		expect_carrier(test, worker, current, i);
		KUNIT_EXPECT_EQ(test, detach(worker), 0);
		expect_carrier(test, worker, NULL, 0);
		KUNIT_EXPECT_EQ(test, detach(worker), -EPERM);
	}
}

static void one_worker_a_thread(struct kunit *test)
{
	struct roost_worker *a = make_worker(test), *b = make_worker(test);

	KUNIT_EXPECT_EQ(test, attach(a, NULL), 0);
	KUNIT_EXPECT_EQ(test, attach(b, NULL), -EBUSY);
	expect_carrier(test, b, NULL, 0);
	KUNIT_EXPECT_EQ(test, detach(b), -EPERM);
	KUNIT_EXPECT_EQ(test, detach(a), 0);
	KUNIT_EXPECT_EQ(test, attach(b, NULL), 0);
	KUNIT_EXPECT_EQ(test, attach(a, NULL), -EBUSY);
}

/* A living thread keeps its lease; one that has ended loses it to who asks. */
static void leases_of_others(struct kunit *test)
{
	struct roost_worker *worker = make_worker(test);
	struct roost_enter enter = { .flags = ROOST_ENTER_PARK,
				     .deadline = 1 };
	struct task_struct *other;
	u64 lease;

	other = fixture_spawn(test);
	fixture_attach(worker, other);
	KUNIT_EXPECT_EQ(test, attach(worker, NULL), -EBUSY);
	KUNIT_EXPECT_EQ(test, detach(worker), -EPERM);
	KUNIT_EXPECT_EQ(test, fixture_worker_ioctl(worker, ROOST_IOC_ENTER,
						   &enter, sizeof(enter)),
			-EPERM);
	KUNIT_EXPECT_EQ(test, roost_wake_index(worker->domain, 0, false), 1);
	KUNIT_EXPECT_TRUE(test, worker->permit);
	kthread_stop(other);
	/* The permit was the dead one's. */
	KUNIT_EXPECT_EQ(test, roost_wake_index(worker->domain, 0, false),
			-ESRCH);
	KUNIT_EXPECT_EQ(test, attach(worker, &lease), 0);
	KUNIT_EXPECT_EQ(test, lease, 2);
	expect_carrier(test, worker, current, 2);
}

/* What a lease leaves in the shared words is gone with it. */
static void words_are_cleared(struct kunit *test)
{
	struct roost_worker *worker = make_worker(test);
	unsigned long *idle = (unsigned long *)worker->domain->control->idle;
	u32 i;

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, attach(worker, NULL), 0);
		KUNIT_EXPECT_EQ(test, roost_wake_index(worker->domain, 0,
						       false), 1);
		set_bit(worker->index, idle);
		worker->page->parked = 1;
		worker->page->lease = 4711;
		KUNIT_EXPECT_EQ(test, detach(worker), 0);
		expect_carrier(test, worker, NULL, 0);
		/* Who comes next begins with nothing, whatever was written. */
		set_bit(worker->index, idle);
		worker->page->parked = 1;
	}
	KUNIT_EXPECT_EQ(test, attach(worker, NULL), 0);
	expect_carrier(test, worker, current, 3);
	KUNIT_EXPECT_EQ(test, roost_wake_index(worker->domain, 1, false),
			-ESRCH);
}

static void attach_arguments(struct kunit *test)
{
	struct roost_worker *worker = make_worker(test);
	struct roost_attach bad[] = {
		{ .flags = 1 }, { .flags = 1U << 31 }, { .reserved0 = 1 },
		{ .lease = 1 }, { .lease = 1ULL << 63 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ(test,
				fixture_worker_ioctl(worker, ROOST_IOC_ATTACH,
						     &bad[i], sizeof(bad[i])),
				-EINVAL);
	expect_carrier(test, worker, NULL, 0);
	KUNIT_EXPECT_EQ(test, worker->lease, 0);
}

/* Not of the owner's thread group; and nobody once the owner has gone. */
struct stranger {
	struct roost_worker *worker;
	long ret;
};

static int ask(void *arg)
{
	struct stranger *stranger = arg;

	stranger->ret = attach(stranger->worker, NULL);
	return 0;
}

static void strangers_and_the_dead(struct kunit *test)
{
	struct roost_worker *worker = make_worker(test);
	struct stranger stranger = { .worker = worker };
	void *args[1] = { &stranger };

	fixture_race(test, ask, args, 1);
	KUNIT_EXPECT_EQ(test, stranger.ret, -EPERM);
	expect_carrier(test, worker, NULL, 0);
	KUNIT_EXPECT_EQ(test, attach(worker, NULL), 0);
	WRITE_ONCE(worker->domain->dead, 1);
	KUNIT_EXPECT_EQ(test, detach(worker), -ESHUTDOWN);
	WRITE_ONCE(worker->domain->dead, 0);
	KUNIT_EXPECT_EQ(test, detach(worker), 0);
}

static struct kunit_case lease_cases[] = {
	KUNIT_CASE(attach_and_detach),
	KUNIT_CASE(one_worker_a_thread),
	KUNIT_CASE(leases_of_others),
	KUNIT_CASE(words_are_cleared),
	KUNIT_CASE(attach_arguments),
	KUNIT_CASE(strangers_and_the_dead),
	{}
};

FIXTURE_SUITE(lease, lease_cases);
