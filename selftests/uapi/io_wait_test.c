// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * io_wait_test.c - an op waits only while there is nothing to do, and whatever
 * there is to do is seen: what is remembered of a registered file, and which of
 * several ops an event is given to, never lets one wait in vain.
 */
#include "kselftest_harness.h"

#include "io_help.h"

FIXTURE(wait) {
	struct dom d;
	struct wrk w, y;
	uint64_t limit;
	uint32_t sequence;
	int s[2];
	char in[256], out[256];
};

FIXTURE_SETUP(wait)
{
	self->limit = now_ns() + wide(10 * SEC);
	self->sequence = 0;
	memset(self->out, 'o', sizeof(self->out));
	ASSERT_EQ(dom_make_io(&self->d, 64, 1024), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 64, 128), 0);
	ASSERT_EQ(wrk_make(&self->y, &self->d, 64, 128), 0);
	ASSERT_EQ(attach(&self->w), 0);
}

FIXTURE_TEARDOWN(wait)
{
	close(self->w.fd);
	close(self->y.fd);
	close(self->d.fd);
}

/* A receive on our end as registered under sequence 1. */
static struct roost_sqe receive(FIXTURE_DATA(wait) *self, uint32_t len,
				uint32_t flags)
{
	struct roost_sqe sqe = sqe_recv(roost_op_id(0, ++self->sequence),
					self->s[0], self->in, len);

	sqe.msg_flags = flags;
	return on_file(sqe, 1);
}

static int received(FIXTURE_DATA(wait) *self, uint32_t len, uint32_t flags)
{
	return io_wait(&self->d, &self->w, receive(self, len, flags),
		       self->limit);
}

/* Register the file, and leave it known to be empty. */
static bool learn_empty(FIXTURE_DATA(wait) *self)
{
	struct roost_sqe sqe = receive(self, 8, 0);
	struct roost_cqe cqe;

	if (submit_one(&self->w, sqe) != 1 || pop(&self->w, &cqe))
		return false;
	if (submit_one(&self->w, sqe_cancel(sqe.op_id, 0)) != 1)
		return false;
	return !wait_pop(&self->d, &self->w, &cqe, self->limit) &&
	       cqe.res == -ECANCELED;
}

static int completion_of(FIXTURE_DATA(wait) *self, struct wrk *w, uint64_t id)
{
	struct roost_cqe cqe;
	int ret;

	for (;;) {
		ret = wait_pop(&self->d, w, &cqe, self->limit);
		if (ret)
			return ret;
		if (cqe.user_data == id)
			return cqe.res;
	}
}

/* What is known to be empty is not even tried, and costs no attempt. */
TEST_F(wait, empty_is_remembered)
{
	unsigned int i;

	unix_pair(self->s, SOCK_STREAM);
	ASSERT_TRUE(learn_empty(self));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(submit_one(&self->w, receive(self, 8, 0)), 1);
		EXPECT_EQ(self->d.control->io_ready, 0);
		ASSERT_EQ(send(self->s[1], "x", 1, 0), 1);
		EXPECT_EQ(completion_of(self, &self->w,
					roost_op_id(0, self->sequence)), 1);
	}
}

/* What comes while nobody waits is there for who comes then. */
TEST_F(wait, event_without_an_op)
{
	unsigned int i;

	tcp_pair(self->s);
	ASSERT_TRUE(learn_empty(self));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
		sleep_ns(MSEC);
		EXPECT_EQ(received(self, 8, 0), 3);
		EXPECT_EQ(received(self, 8, MSG_DONTWAIT), -EAGAIN);
	}
	/* taken by somebody else: waits again */
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	ASSERT_EQ(recv(self->s[0], self->in, 8, 0), 3);
	ASSERT_EQ(submit_one(&self->w, receive(self, 8, 0)), 1);
	EXPECT_TRUE(nothing_comes(&self->d, &self->w));
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	EXPECT_EQ(completion_of(self, &self->w,
				roost_op_id(0, self->sequence)), 3);
}

/* An event for nothing: the op is tried, and waits on. */
TEST_F(wait, stolen_data)
{
	struct roost_cqe cqe;
	unsigned int i;

	unix_pair(self->s, SOCK_STREAM);
	ASSERT_EQ(submit_one(&self->w, receive(self, 8, 0)), 1);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
		ASSERT_EQ(recv(self->s[0], self->out, 8, 0), 3);
		ASSERT_EQ(submit(&self->w), 0);
		ASSERT_FALSE(pop(&self->w, &cqe));
	}
	EXPECT_GE(stat_of(&self->d).ios_waited, 10);
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	EXPECT_EQ(completion_of(self, &self->w, roost_op_id(0, 1)), 3);
}

static void reset_by_peer(int fd)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	check(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)) == 0);
	close(fd);
}

/* The data, and then what came behind it. */
TEST_F(wait, reset_behind_data)
{
	tcp_pair(self->s);
	ASSERT_TRUE(learn_empty(self));
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	reset_by_peer(self->s[1]);
	sleep_ns(5 * MSEC);
	EXPECT_EQ(received(self, 8, 0), 3);
	EXPECT_EQ(received(self, 8, 0), -ECONNRESET);
	EXPECT_EQ(received(self, 8, 0), 0);
}

TEST_F(wait, end_behind_data)
{
	tcp_pair(self->s);
	ASSERT_TRUE(learn_empty(self));
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	close(self->s[1]);
	sleep_ns(5 * MSEC);
	EXPECT_EQ(received(self, 8, 0), 3);
	EXPECT_EQ(received(self, 8, 0), 0);
}

TEST_F(wait, shut_down_behind_data)
{
	int pass;

	for (pass = 0; pass < 2; pass++) {
		if (pass)
			tcp_pair(self->s);
		else
			unix_pair(self->s, SOCK_STREAM);
		ASSERT_TRUE(learn_empty(self));
		ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
		ASSERT_EQ(shutdown(self->s[0], SHUT_RD), 0);
		EXPECT_EQ(received(self, 8, 0), 3);
		EXPECT_EQ(received(self, 8, 0), 0);
		/* the number stays in use, so the next pair has others */
	}
}

/* A look that is not for data says nothing about data. */
TEST_F(wait, error_queue_before_data)
{
	struct sockaddr_in a[2];
	unsigned int i;

	udp_pair(self->s, a);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(connect(self->s[i], (struct sockaddr *)&a[!i],
				  sizeof(a[0])), 0);
	ASSERT_TRUE(learn_empty(self));
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	EXPECT_EQ(received(self, 8, MSG_ERRQUEUE), -EAGAIN);
	EXPECT_EQ(received(self, 8, 0), 3);
}

TEST_F(wait, urgent_before_data)
{
	tcp_pair(self->s);
	ASSERT_TRUE(learn_empty(self));
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	EXPECT_EQ(received(self, 1, MSG_OOB), -EINVAL);
	EXPECT_EQ(received(self, 8, 0), 3);
}

TEST_F(wait, peek_offset_before_data)
{
	unix_pair(self->s, SOCK_STREAM);
	ASSERT_TRUE(learn_empty(self));
	set_option(self->s[0], SOL_SOCKET, SO_PEEK_OFF, 0);
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	EXPECT_EQ(received(self, 8, MSG_PEEK), 3);
	EXPECT_EQ(received(self, 8, MSG_PEEK | MSG_DONTWAIT), -EAGAIN);
	EXPECT_EQ(received(self, 8, 0), 3);
}

/* A failed one leaves the data to the next. */
TEST_F(wait, fault_before_data)
{
	struct roost_sqe sqe;

	unix_pair(self->s, SOCK_STREAM);
	ASSERT_TRUE(learn_empty(self));
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	sqe = receive(self, 8, 0);
	sqe.addr = 8;
	EXPECT_EQ(io_wait(&self->d, &self->w, sqe, self->limit), -EFAULT);
	EXPECT_EQ(received(self, 8, 0), 3);
}

/* Two wait for one file; ids 1 and 2, from the rings of w and of @second. */
static void arm_two(FIXTURE_DATA(wait) *self, struct wrk *second, bool file)
{
	struct roost_sqe one, two;

	unix_pair(self->s, SOCK_STREAM);
	one = sqe_recv(roost_op_id(1, 1), self->s[0], self->in, 8);
	two = sqe_recv(roost_op_id(2, 1), self->s[0], self->out, 8);
	check(submit_one(&self->w, file ? on_file(one, 1) : one) == 1);
	check(submit_one(second, file ? on_file(two, 1) : two) == 1);
	check(stat_of(&self->d).ios_pending == 2);
}

/* The event was given to one; that one is called off; the other has it. */
TEST_F(wait, cancel_of_the_one_that_was_woken)
{
	struct roost_cqe cqe;

	arm_two(self, &self->w, true);
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	ASSERT_EQ(submit_one(&self->w, sqe_cancel(roost_op_id(1, 1), 0)), 1);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	if (cqe.user_data == roost_op_id(1, 1)) {
		EXPECT_EQ(cqe.res, -ECANCELED);
		EXPECT_EQ(completion_of(self, &self->w, roost_op_id(2, 1)), 3);
	} else {
		EXPECT_EQ(cqe.res, 3);
	}
}

TEST_F(wait, deadline_of_the_one_that_was_woken)
{
	struct roost_sqe one, two;
	struct roost_cqe cqe;
	int res[3] = { 0 };
	unsigned int i;

	unix_pair(self->s, SOCK_STREAM);
	one = on_file(sqe_recv(roost_op_id(1, 1), self->s[0], self->in, 8), 1);
	two = on_file(sqe_recv(roost_op_id(2, 1), self->s[0], self->out, 8), 1);
	one.deadline = now_ns() + 30 * MSEC;
	two.deadline = now_ns() + wide(SEC);
	ASSERT_EQ(submit_one(&self->w, one), 1);
	ASSERT_EQ(submit_one(&self->w, two), 1);
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	/* it passes while nobody carries anything out */
	sleep_ns(60 * MSEC);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		res[roost_op_index(cqe.user_data)] = cqe.res;
	}
	/* one of them has the bytes, the other has had its time */
	EXPECT_TRUE((res[1] == 3 && res[2] == -ETIMEDOUT) ||
		    (res[1] == -ETIMEDOUT && res[2] == 3))
		TH_LOG("%d %d", res[1], res[2]);
}

/* Ops end with the worker in whose ring they are; the event does not. */
TEST_F(wait, close_of_the_worker_whose_op_was_woken)
{
	struct roost_cqe cqe;
	unsigned int left = 0;

	/* the first in the line is y's */
	unix_pair(self->s, SOCK_STREAM);
	ASSERT_EQ(submit_one(&self->y,
			     on_file(sqe_recv(roost_op_id(1, 1), self->s[0],
					      self->in, 8), 1)), 1);
	ASSERT_EQ(submit_one(&self->w,
			     on_file(sqe_recv(roost_op_id(2, 1), self->s[0],
					      self->out, 8), 1)), 1);
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	munmap(self->y.page, self->y.params.map_size);
	close(self->y.fd);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.user_data, roost_op_id(2, 1));
	EXPECT_EQ(cqe.res, 3);
	while (stat_of(&self->d).ios_pending && now_ns() < self->limit)
		left = stat_of(&self->d).ios_pending;
	EXPECT_EQ(stat_of(&self->d).ios_pending, 0)
		TH_LOG("%u", left);
}

/* The deadline is the op's, whatever becomes of the ring it came through. */
TEST_F(wait, deadline_outlives_its_worker)
{
	struct roost_sqe sqe;
	struct roost_cqe cqe;

	unix_pair(self->s, SOCK_STREAM);
	sqe = on_file(sqe_recv(roost_op_id(1, 1), self->s[0], self->in, 8), 1);
	sqe.deadline = now_ns() + wide(200 * MSEC);
	ASSERT_EQ(submit_one(&self->y, sqe), 1);
	/* w tries it in vain, and has it now */
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	ASSERT_EQ(recv(self->s[0], self->out, 8, 0), 3);
	ASSERT_EQ(submit(&self->w), 0);
	ASSERT_LT(now_ns(), sqe.deadline);
	munmap(self->y.page, self->y.params.map_size);
	close(self->y.fd);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.user_data, sqe.op_id);
	EXPECT_EQ(cqe.res, -ETIMEDOUT);
	EXPECT_GE(now_ns(), sqe.deadline);
}

/* A short result leaves data: the next in the line is told. */
TEST_F(wait, leftovers_go_to_the_next)
{
	struct roost_sqe sqe;
	struct roost_cqe cqe;
	char in[8][2];
	unsigned int i, got = 0;

	tcp_pair(self->s);
	for (i = 0; i < 8; i++) {
		sqe = on_file(sqe_recv(roost_op_id(i, 1), self->s[0], in[i], 2),
			      1);
		ASSERT_EQ(submit_one(&self->w, sqe), 1);
	}
	/* one event for all of it */
	ASSERT_EQ(send(self->s[1], "0123456789abcdef", 16, 0), 16);
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		EXPECT_EQ(cqe.res, 2);
		got += (unsigned int)cqe.res;
	}
	EXPECT_EQ(got, 16);
}

TEST_F(wait, room_goes_to_the_next)
{
	struct roost_sqe sqe;
	struct roost_cqe cqe;
	unsigned int i;

	unix_pair(self->s, SOCK_STREAM);
	fill_socket(self->s[0]);
	for (i = 0; i < 8; i++) {
		sqe = on_file(sqe_send(roost_op_id(i, 1), self->s[0], self->out,
				       16), 1);
		ASSERT_EQ(submit_one(&self->w, sqe), 1);
		ASSERT_FALSE(pop(&self->w, &cqe));
	}
	drain_socket(self->s[1]);
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		EXPECT_EQ(cqe.res, 16);
	}
	EXPECT_EQ(drain_socket(self->s[1]), 128);
}

/* A datagram socket whose peer's queue is full: many clients, one server. */
TEST_F(wait, full_server)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(a.sun_family);
	struct roost_cqe cqe;
	struct roost_sqe sqe;
	unsigned int i, junk = 0;

	self->s[1] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	self->s[0] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	/* a name that the kernel chooses */
	ASSERT_EQ(bind(self->s[1], (struct sockaddr *)&a, size), 0);
	size = sizeof(a);
	ASSERT_EQ(getsockname(self->s[1], (struct sockaddr *)&a, &size), 0);
	ASSERT_EQ(connect(self->s[0], (struct sockaddr *)&a, size), 0);
	while (send(self->s[0], "junk", 4, MSG_DONTWAIT) == 4)
		junk++;
	for (i = 0; i < 4; i++) {
		sqe = sqe_send(roost_op_id(i, 1), self->s[0], self->out, 4);
		ASSERT_EQ(submit_one(&self->w, i & 1 ? on_file(sqe, 1) : sqe),
			  1);
		ASSERT_FALSE(pop(&self->w, &cqe));
	}
	for (i = 0; i < junk; i++)
		ASSERT_EQ(recv(self->s[1], self->in, 8, MSG_DONTWAIT), 4);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		EXPECT_EQ(cqe.res, 4);
		ASSERT_EQ(recv(self->s[1], self->in, 8, MSG_DONTWAIT), 4);
		EXPECT_EQ(memcmp(self->in, self->out, 4), 0);
	}
}

/* Not connected yet: sending waits for that as for room. */
TEST_F(wait, while_connecting)
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(struct sockaddr_in);
	struct sockaddr_in a;
	int ret;

	loopback(&a);
	ASSERT_EQ(bind(listener, (struct sockaddr *)&a, size), 0);
	ASSERT_EQ(listen(listener, 1), 0);
	ASSERT_EQ(getsockname(listener, (struct sockaddr *)&a, &size), 0);
	self->s[0] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ret = connect(self->s[0], (struct sockaddr *)&a, size);
	ASSERT_TRUE(!ret || errno == EINPROGRESS);
	EXPECT_EQ(io_wait(&self->d, &self->w,
			  on_file(sqe_send(roost_op_id(1, 1), self->s[0],
					   self->out, 8), 1), self->limit), 8);
	self->s[1] = accept(listener, NULL, NULL);
	ASSERT_GE(self->s[1], 0);
	ASSERT_EQ(recv(self->s[1], self->in, 8, MSG_WAITALL), 8);
}

/* Parked: readiness ends the park, and the completion is there then. */
TEST_F(wait, completion_comes_with_the_wake)
{
	struct roost_cqe cqe;
	uint32_t outcome;
	unsigned int i;
	pid_t pid;
	int status;

	unix_pair(self->s, SOCK_STREAM);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(submit_one(&self->w, receive(self, 8, 0)), 1);
		ASSERT_FALSE(pop(&self->w, &cqe));
		pid = fork();
		if (!pid) {
			sleep_ns(20 * MSEC);
			check(send(self->s[1], "xyz", 3, 0) == 3);
			_exit(0);
		}
		ASSERT_EQ(park(&self->d, &self->w, self->limit, &outcome), 0);
		EXPECT_TRUE(outcome & ROOST_OUT_SLEPT);
		EXPECT_FALSE(outcome & ROOST_OUT_TIMEOUT);
		ASSERT_TRUE(pop(&self->w, &cqe));
		EXPECT_EQ(cqe.res, 3);
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT_EQ(status, 0);
	}
}

/* Nobody sleeps while there is I/O to carry out. */
TEST_F(wait, no_sleep_over_ready_ops)
{
	uint32_t event, outcome;
	struct roost_cqe cqe;

	unix_pair(self->s, SOCK_STREAM);
	ASSERT_EQ(submit_one(&self->w, receive(self, 8, 0)), 1);
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	EXPECT_EQ(self->d.control->io_ready, 1);
	/* the sample is newer than the event: only the op itself says so */
	event = sample(&self->d);
	ASSERT_EQ(park_with(&self->d, &self->w, event, self->limit, &outcome),
		  0);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.res, 3);
	EXPECT_FALSE(outcome & ROOST_OUT_SLEPT);
	EXPECT_EQ(self->d.control->io_ready, 0);
}

TEST_HARNESS_MAIN
