// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * worker_test.c - leases: who may be a worker's carrier, and who may use a
 * domain at all.
 */
#include "kselftest_harness.h"

#include <sys/socket.h>

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

/* Everything that a stranger may try: 0 if all of it was refused. */
static int try_all(const struct dom *d, const struct wrk *w)
{
	struct roost_domain_stat s = { 0 };
	struct roost_worker_params p = { .sq_entries = 8, .cq_entries = 8 };
	struct roost_enter e = { 0 };

	if (call(d->fd, ROOST_IOC_CREATE_WORKER, &p) != -EPERM)
		return 1;
	if (wake(d, ROOST_WAKE_ALL, 0) != -EPERM)
		return 2;
	if (attach(w) != -EPERM)
		return 3;
	if (detach(w) != -EPERM)
		return 4;
	if (enter(w, &e) != -EPERM)
		return 5;
	if (call(d->fd, ROOST_IOC_DOMAIN_STAT, &s) != -EPERM)
		return 6;
	if (map_fd(d->fd, d->params.control_size, ROOST_OFF_CONTROL) !=
	    MAP_FAILED)
		return 7;
	if (map_fd(w->fd, w->params.map_size, 0) != MAP_FAILED)
		return 8;
	return 0;
}

static int exit_code(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, __WALL) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST_F(worker, forked_child_is_a_stranger)
{
	pid_t pid = fork();

	if (!pid)
		_exit(try_all(&self->d, &self->w[0]));
	EXPECT_EQ(exit_code(pid), 0);
	/* and has left nothing behind */
	EXPECT_EQ(attach(&self->w[0]), 0);
}

static void send_fds(int sock, int a, int b)
{
	union {
		char space[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fds[2] = { a, b };

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	check(sendmsg(sock, &msg, 0) == 1);
}

static void receive_fds(int sock, int *a, int *b)
{
	union {
		char space[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fds[2];

	check(recvmsg(sock, &msg, 0) == 1);
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fds));
	*a = fds[0];
	*b = fds[1];
}

TEST_F(worker, receiver_of_the_descriptors_is_a_stranger)
{
	struct wrk w = self->w[0];
	struct dom d = self->d;
	int pair[2];
	pid_t pid;

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pid = fork();
	if (!pid) {
		close(d.fd);
		close(w.fd);
		receive_fds(pair[1], &d.fd, &w.fd);
		_exit(try_all(&d, &w));
	}
	send_fds(pair[0], d.fd, w.fd);
	EXPECT_EQ(exit_code(pid), 0);
	/* C48: in flight in a socket and closed together with it */
	send_fds(pair[0], d.fd, w.fd);
	close(pair[0]);
	close(pair[1]);
	EXPECT_EQ(attach(&self->w[0]), 0);
}

struct stranger {
	struct dom *d;
	struct wrk *w;
	int result;
};

static int stranger_main(void *arg)
{
	struct stranger *s = arg;

	s->result = try_all(s->d, s->w);
	return 0;
}

/* Same memory and same file table, but a process of its own. */
TEST_F(worker, clone_vm_child_is_a_stranger)
{
	struct stranger s = { &self->d, &self->w[0], -1 };
	char *stack = malloc(1 << 16);
	pid_t pid;

	ASSERT_NE(stack, NULL);
	pid = clone(stranger_main, stack + (1 << 16),
		    CLONE_VM | CLONE_FILES | CLONE_FS | SIGCHLD, &s);
	ASSERT_GT(pid, 0);
	EXPECT_EQ(exit_code(pid), 0);
	EXPECT_EQ(s.result, 0);
	free(stack);
}

static void *unshared_main(void *arg)
{
	struct stranger *s = arg;

	check(unshare(CLONE_FILES) == 0);
	s->result = try_all(s->d, s->w);
	return NULL;
}

/* A thread of ours, but what its descriptors mean is another matter. */
TEST_F(worker, thread_with_its_own_files_is_a_stranger)
{
	struct stranger s = { &self->d, &self->w[0], -1 };

	in_thread(unshared_main, &s);
	EXPECT_EQ(s.result, 0);
	EXPECT_EQ(attach(&self->w[0]), 0);
}

static void *enter_after_unshare(void *arg)
{
	struct wrk *w = arg;
	struct roost_enter e = { 0 };

	check(attach(w) == 0);
	check(unshare(CLONE_FILES) == 0);
	return (void *)(long)enter(w, &e);
}

/* Compared at each call, not at attach alone. */
TEST_F(worker, carrier_that_unshares_its_files_loses_its_rights)
{
	EXPECT_EQ(in_thread(enter_after_unshare, &self->w[0]), -EPERM);
}

TEST_HARNESS_MAIN
