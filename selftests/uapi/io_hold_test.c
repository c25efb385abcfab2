// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * io_hold_test.c - an I/O op that is being carried out: its worker's carrier is
 * held by a page of the buffer that is not there. Whatever else comes
 * meanwhile, the op completes once, the truth is in its result, and nobody
 * else waits.
 */
#include "kselftest_harness.h"

#include "io_kinds.h"

#define ID	roost_op_id(3, 1)

/* Worker w executes, in a thread; the test has worker y. */
struct stage {
	struct dom d;
	struct wrk w, y;
	struct scene s;
	struct hold h;
	struct carrier c;
	struct roost_sqe sqe;
	char other[OUT_LEN];
	uint64_t limit;
	bool file;
};

static void make_held_scene(struct stage *g, const struct kind *kind,
			    bool hold_in)
{
	memset(g->other, 'o', sizeof(g->other));
	hold_make(&g->h);
	g->s = (struct scene){
		.kind = kind,
		.in = hold_in ? g->h.page : g->other,
		.out = hold_in ? g->other : g->h.page,
	};
	kind->make(&g->s);
	kind->ready(&g->s);
	wait_ready(&g->s);
}

static int make_domain(struct stage *g)
{
	return dom_make_io(&g->d, 16, 1024) ||
	       wrk_make(&g->w, &g->d, 16, 32) ||
	       wrk_make(&g->y, &g->d, 16, 32);
}

static void prepare_op(struct stage *g)
{
	g->sqe = scene_sqe(&g->s, ID);
	if (g->file)
		g->sqe = on_file(g->sqe, 1);
	g->limit = now_ns() + wide(20 * SEC);
}

/* Have the carrier of w execute the op, and get stuck in it. */
static bool start(struct stage *g)
{
	push(&g->w, &g->sqe);
	carrier_start(&g->c, &g->w);
	return hold_wait(&g->h, wide(10 * SEC));
}

/* Let it go on; the op's only completion is then in the ring of w or of y. */
static bool finish(struct stage *g, struct roost_cqe *cqe)
{
	struct roost_cqe more;
	bool got = false;

	hold_release(&g->h, 'o');
	pthread_join(g->c.thread, NULL);
	while (!got && now_ns() < g->limit) {
		got = pop(&g->w, cqe) || pop(&g->y, cqe);
		if (!got)
			submit(&g->y);
	}
	sleep_ns(10 * MSEC);
	submit(&g->y);
	return got && !pop(&g->w, &more) && !pop(&g->y, &more);
}

/* As many bytes are on their way to the peer, or were left for us. */
static long bytes_left(const struct stage *g, int fd)
{
	char got[65536];
	ssize_t n;

	if (kind_eventfd(g->s.kind)) {
		check(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
		n = read(fd, got, 8);
	} else if (g->s.kind == &kind_read_pipe) {
		check(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
		n = read(fd, got, sizeof(got));
	} else {
		n = recv(fd, got, sizeof(got), MSG_DONTWAIT);
	}
	return n < 0 ? 0 : n;
}

/*
 * What the op says it has done is what has happened: either it has moved its
 * bytes, or it was cut off with @error and has moved none.
 */
static bool true_result(struct stage *g, const struct roost_cqe *cqe, int error)
{
	const struct kind *k = g->s.kind;
	long left;

	if (cqe->user_data != ID || cqe_kind(cqe) != ROOST_CQE_IO)
		return false;
	if (cqe->res != error && (cqe->res < k->least || cqe->res > k->most))
		return false;
	if (kind_writes(k)) {
		left = bytes_left(g, g->s.peer);
		return cqe->res == error ? !left : left == cqe->res;
	}
	left = bytes_left(g, g->s.fd);
	return cqe->res == error ? left == k->most : !left;
}

FIXTURE_VARIANT(held) {
	const struct kind *kind;
	bool file;
};

FIXTURE(held) {
	struct stage g;
};

FIXTURE_SETUP(held)
{
	struct stage *g = &self->g;

	memset(g, 0, sizeof(*g));
	g->file = variant->file;
	make_held_scene(g, variant->kind, variant->kind->waits == FOR_INPUT);
	ASSERT_EQ(make_domain(g), 0);
	ASSERT_EQ(attach(&g->y), 0);
	prepare_op(g);
}

FIXTURE_TEARDOWN(held)
{
	close(self->g.w.fd);
	close(self->g.y.fd);
	close(self->g.d.fd);
}

#define VARIANTS(name) \
	FIXTURE_VARIANT_ADD(held, name) { .kind = &kind_##name }; \
	FIXTURE_VARIANT_ADD(held, name##_file) { \
		.kind = &kind_##name, .file = true, \
	}

VARIANTS(recv_unix);
VARIANTS(recv_tcp);
VARIANTS(recvmsg_unix);
VARIANTS(recvmsg_tcp);
VARIANTS(read_unix);
VARIANTS(read_pipe);
VARIANTS(read_eventfd);
VARIANTS(send_unix);
VARIANTS(send_tcp);
VARIANTS(sendmsg_unix);
VARIANTS(sendmsg_tcp);
VARIANTS(write_unix);

/* An op that is being carried out has the file, and is not done. */
TEST_F(held, counts_as_pending)
{
	struct stage *g = &self->g;
	struct roost_domain_stat st;
	struct roost_cqe cqe;

	ASSERT_TRUE(start(g));
	EXPECT_FALSE(carrier_done(&g->c));
	st = stat_of(&g->d);
	EXPECT_EQ(st.ios_started, 1);
	EXPECT_EQ(st.ios_pending, 1);
	EXPECT_EQ(st.ios_done, 0);
	/* the index is taken */
	EXPECT_EQ(io_now(&g->y, sqe_recv(roost_op_id(3, 2), g->s.fd, g->other,
					 1)), -EBUSY);
	ASSERT_TRUE(finish(g, &cqe));
	EXPECT_GE(cqe.res, g->s.kind->least);
	EXPECT_LE(cqe.res, g->s.kind->most);
	st = stat_of(&g->d);
	EXPECT_EQ(st.ios_pending, 0);
	EXPECT_EQ(st.ios_done, 1);
}

/* The cancel does not wait, and what was moved is not forgotten. */
TEST_F(held, cancelled_while_executing)
{
	struct stage *g = &self->g;
	struct roost_cqe cqe;

	ASSERT_TRUE(start(g));
	ASSERT_EQ(submit_one(&g->y, sqe_cancel(ID, 0)), 1);
	EXPECT_FALSE(carrier_done(&g->c));
	EXPECT_FALSE(pop(&g->y, &cqe));
	/* again: it is not done, so there is nothing to report */
	ASSERT_EQ(submit_one(&g->y, sqe_cancel(ID, 0)), 1);
	EXPECT_FALSE(pop(&g->y, &cqe));
	ASSERT_TRUE(finish(g, &cqe));
	EXPECT_TRUE(true_result(g, &cqe, -ECANCELED))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
	EXPECT_EQ(stat_of(&g->d).ios_pending, 0);
	EXPECT_EQ(do_now(&g->y, sqe_cancel(ID, 0)).res, -ENOENT);
}

TEST_F(held, deadline_while_executing)
{
	struct stage *g = &self->g;
	struct roost_cqe cqe;

	g->sqe.deadline = now_ns() + 50 * MSEC;
	ASSERT_TRUE(start(g));
	while (now_ns() < g->sqe.deadline + 20 * MSEC)
		sleep_ns(5 * MSEC);
	EXPECT_FALSE(carrier_done(&g->c));
	EXPECT_FALSE(pop(&g->y, &cqe));
	EXPECT_FALSE(pop(&g->w, &cqe));
	ASSERT_TRUE(finish(g, &cqe));
	EXPECT_TRUE(true_result(g, &cqe, -ETIMEDOUT))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
	EXPECT_EQ(stat_of(&g->d).ios_pending, 0);
}

/* The file goes under its hands; it has its own reference. */
TEST_F(held, file_removed_while_executing)
{
	struct stage *g = &self->g;
	struct roost_cqe cqe;
	int fd = g->s.fd;

	ASSERT_TRUE(start(g));
	g->s.fd = dup(fd);
	ASSERT_EQ(close(fd), 0);
	ASSERT_EQ(submit_one(&g->y, sqe_file_remove(fd, 1, ROOST_SQE_QUIET)),
		  1);
	EXPECT_FALSE(carrier_done(&g->c));
	/* quiet: only what is an error of the call */
	EXPECT_TRUE(!pop(&g->y, &cqe) || cqe_kind(&cqe) == ROOST_CQE_FILE);
	ASSERT_TRUE(finish(g, &cqe));
	EXPECT_TRUE(true_result(g, &cqe, -ECANCELED))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
	EXPECT_EQ(stat_of(&g->d).files, 0);
}

/* One that is stuck keeps nobody from the rest. */
TEST_F(held, others_go_on)
{
	struct stage *g = &self->g;
	struct roost_cqe cqe;
	unsigned int i, seen = 0;
	char in[8][8];
	int p[8][2];

	for (i = 0; i < 8; i++) {
		unix_pair(p[i], SOCK_STREAM);
		ASSERT_EQ(submit_one(&g->y, sqe_recv(roost_op_id(4 + i, 1),
						     p[i][0], in[i], 8)), 1);
	}
	ASSERT_TRUE(start(g));
	for (i = 0; i < 8; i++)
		ASSERT_EQ(write(p[i][1], "y", 1), 1);
	while (seen < 8 && !wait_pop(&g->d, &g->y, &cqe, g->limit)) {
		EXPECT_EQ(cqe.res, 1);
		seen++;
	}
	EXPECT_EQ(seen, 8);
	EXPECT_FALSE(carrier_done(&g->c));
	ASSERT_TRUE(finish(g, &cqe));
	EXPECT_EQ(cqe.user_data, ID);
}

/* In a child; its memory is what is held. */
static void execute_and_tell(struct stage *g, int tell)
{
	struct hold h;

	close(g->s.peer);
	/* what is registered with the parent's userfaultfd is not ours */
	hold_make(&h);
	if (g->s.in == g->h.page)
		g->s.in = h.page;
	else
		g->s.out = h.page;
	g->h = h;
	check(make_domain(g) == 0);
	prepare_op(g);
	check(start(g));
	check(write(tell, "x", 1) == 1);
	for (;;)
		pause();
}

/* A process can be killed in it, and lets go of the file. */
TEST_F(held, process_killed_while_executing)
{
	struct stage *g = &self->g;
	struct pollfd look = { .fd = g->s.peer, .events = POLLRDHUP };
	int p[2], status;
	char byte;
	pid_t pid;

	ASSERT_EQ(pipe(p), 0);
	pid = fork();
	if (!pid)
		execute_and_tell(g, p[1]);
	close(g->s.fd);
	close(p[1]);
	ASSERT_EQ(read(p[0], &byte, 1), 1);
	kill(pid, SIGKILL);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, SIGKILL);
	if (!g->s.kind->ends)
		return;
	EXPECT_EQ(poll(&look, 1, (int)(wide(2 * SEC) / MSEC)), 1);
	EXPECT_TRUE(look.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* SEND_RECV has two halves to be held in. */
FIXTURE_VARIANT(halves) {
	bool in;
	bool file;
};

FIXTURE(halves) {
	struct stage g;
};

FIXTURE_SETUP(halves)
{
	struct stage *g = &self->g;

	memset(g, 0, sizeof(*g));
	g->file = variant->file;
	make_held_scene(g, &kind_send_recv_unix, variant->in);
	ASSERT_EQ(make_domain(g), 0);
	ASSERT_EQ(attach(&g->y), 0);
	prepare_op(g);
}

FIXTURE_TEARDOWN(halves)
{
	close(self->g.w.fd);
	close(self->g.y.fd);
	close(self->g.d.fd);
}

FIXTURE_VARIANT_ADD(halves, sending) { .in = false };
FIXTURE_VARIANT_ADD(halves, sending_file) { .in = false, .file = true };
FIXTURE_VARIANT_ADD(halves, receiving) { .in = true };
FIXTURE_VARIANT_ADD(halves, receiving_file) { .in = true, .file = true };

/* The request is out in full or not at all, the reply read or still there. */
static bool true_halves(struct stage *g, const struct roost_cqe *cqe, int error)
{
	long sent = bytes_left(g, g->s.peer), left = bytes_left(g, g->s.fd);

	if (cqe->user_data != ID || cqe_kind(cqe) != ROOST_CQE_IO)
		return false;
	if (cqe->flags & ROOST_CQE_SEND)
		return left == REPLY_LEN && sent == (cqe->res < 0 ? 0 : cqe->res);
	if (cqe->res == error)
		return left == REPLY_LEN && sent == OUT_LEN;
	return cqe->res == REPLY_LEN && !left && sent == OUT_LEN;
}

TEST_F(halves, cancelled_while_executing)
{
	struct stage *g = &self->g;
	struct roost_cqe cqe;

	ASSERT_TRUE(start(g));
	ASSERT_EQ(submit_one(&g->y, sqe_cancel(ID, 0)), 1);
	EXPECT_FALSE(pop(&g->y, &cqe));
	ASSERT_TRUE(finish(g, &cqe));
	EXPECT_TRUE(true_halves(g, &cqe, -ECANCELED))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
}

TEST_F(halves, deadline_while_executing)
{
	struct stage *g = &self->g;
	struct roost_cqe cqe;

	g->sqe.deadline = now_ns() + 50 * MSEC;
	ASSERT_TRUE(start(g));
	while (now_ns() < g->sqe.deadline + 20 * MSEC)
		sleep_ns(5 * MSEC);
	ASSERT_TRUE(finish(g, &cqe));
	EXPECT_TRUE(true_halves(g, &cqe, -ETIMEDOUT))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
}

TEST_F(halves, process_killed_while_executing)
{
	struct stage *g = &self->g;
	struct pollfd look = { .fd = g->s.peer, .events = POLLRDHUP };
	int p[2], status;
	char byte;
	pid_t pid;

	ASSERT_EQ(pipe(p), 0);
	pid = fork();
	if (!pid)
		execute_and_tell(g, p[1]);
	close(g->s.fd);
	close(p[1]);
	ASSERT_EQ(read(p[0], &byte, 1), 1);
	kill(pid, SIGKILL);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, SIGKILL);
	EXPECT_EQ(poll(&look, 1, (int)(wide(2 * SEC) / MSEC)), 1);
	EXPECT_TRUE(look.revents & (POLLRDHUP | POLLHUP));
}

/* The struct msghdr itself is what is not there. */
TEST_F(halves, header_of_a_message_is_held)
{
	struct stage *g = &self->g;
	struct roost_cqe cqe;

	g->sqe = sqe_msg(ROOST_OP_RECVMSG, ID, g->s.fd,
			 (struct msghdr *)g->h.page);
	ASSERT_TRUE(start(g));
	EXPECT_FALSE(carrier_done(&g->c));
	ASSERT_EQ(submit_one(&g->y, sqe_nop(7)), 1);
	ASSERT_TRUE(pop(&g->y, &cqe));
	EXPECT_EQ(cqe.user_data, 7);
	ASSERT_TRUE(finish(g, &cqe));
	/* 'oooo' is no good header */
	EXPECT_LT(cqe.res, 0);
	EXPECT_EQ(cqe.user_data, ID);
	EXPECT_EQ(bytes_left(g, g->s.fd), REPLY_LEN);
}

TEST_HARNESS_MAIN
