// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * io_end_test.c - how an I/O op ends: each op, on a file of its own and on a
 * registered one, in each of the ways in which it can come to its end. There is
 * one completion, and no byte is lost over it.
 */
#include "kselftest_harness.h"

#include "io_kinds.h"

#define ID	roost_op_id(3, 1)

struct stage {
	struct dom d;
	struct wrk w, y;
	struct scene s;
	char in[OUT_LEN], out[OUT_LEN];
	uint64_t limit;
	bool file;
};

/* The op of the stage; sequence 1, perhaps on the registered file. */
static struct roost_sqe the_op(struct stage *g)
{
	struct roost_sqe sqe = scene_sqe(&g->s, ID);

	return g->file ? on_file(sqe, 1) : sqe;
}

static void set_scene(struct stage *g, const struct kind *kind)
{
	poison(g->in);
	memset(g->out, 'o', sizeof(g->out));
	g->s = (struct scene){ .kind = kind, .in = g->in, .out = g->out };
	kind->make(&g->s);
}

/* A domain of the calling process. */
static int set_stage_domain(struct dom *d, struct wrk *w, struct wrk *y)
{
	return dom_make_io(d, 16, 1024) || wrk_make(w, d, 16, 32) ||
	       wrk_make(y, d, 16, 32);
}

static int set_stage(struct stage *g, const struct kind *kind, bool file)
{
	memset(g, 0, sizeof(*g));
	g->file = file;
	g->limit = now_ns() + wide(20 * SEC);
	set_scene(g, kind);
	return set_stage_domain(&g->d, &g->w, &g->y);
}

/* Make it go on, and wait for the completion in the ring of @w. */
static int let_go_on(struct stage *g, struct wrk *w, struct roost_cqe *cqe)
{
	int ret;

	g->s.kind->ready(&g->s);
	if (g->s.kind->waits == FOR_INPUT)
		return wait_pop(&g->d, w, cqe, g->limit);
	do {
		ret = wait_pop(&g->d, w, cqe, now_ns() + 20 * MSEC);
		if (ret == -ETIMEDOUT)
			g->s.kind->ready(&g->s);
	} while (ret == -ETIMEDOUT && now_ns() < g->limit);
	return ret;
}

static bool good_result(const struct stage *g, const struct roost_cqe *cqe)
{
	const struct kind *k = g->s.kind;

	if (cqe->user_data != ID || cqe->flags != ROOST_CQE_IO ||
	    cqe->res < k->least || cqe->res > k->most)
		return false;
	if (kind_writes(k))
		return poisoned(g->in);
	return kind_eventfd(k) || !memcmp(g->in, REPLY, REPLY_LEN);
}

static bool completed_with(const struct roost_cqe *cqe, int res)
{
	return cqe->user_data == ID && cqe_kind(cqe) == ROOST_CQE_IO &&
	       cqe->res == res;
}

/* What the peer gave is still there for somebody else. */
static bool nothing_taken(const struct scene *s)
{
	char got[OUT_LEN];

	if (s->kind->waits != FOR_INPUT)
		return true;
	if (kind_eventfd(s->kind))
		return read(s->fd, got, 8) == 8 && got[0] == 7;
	return read(s->fd, got, sizeof(got)) == REPLY_LEN &&
	       !memcmp(got, REPLY, REPLY_LEN);
}

/* The other end learns that our file is no more; TCP tells it behind the data. */
static bool peer_sees_end(const struct scene *s)
{
	struct pollfd p = { .fd = s->peer, .events = POLLRDHUP };
	uint64_t limit = now_ns() + wide(SEC);

	while (!poll(&p, 1, 20) && now_ns() < limit)
		if (s->kind->waits == FOR_ROOM)
			drain_socket(s->peer);
	return p.revents & (POLLHUP | POLLERR | POLLRDHUP);
}

static bool peer_sees_life(const struct scene *s)
{
	struct pollfd p = { .fd = s->peer, .events = POLLRDHUP };

	return poll(&p, 1, 20) == 0;
}

/* All fixtures are alike, but for the ops that are their variants. */
#define STAGE(name) \
	FIXTURE_VARIANT(name) { \
		const struct kind *kind; \
		bool file; \
	}; \
	FIXTURE(name) { \
		struct stage g; \
	}; \
	FIXTURE_SETUP(name) \
	{ \
		ASSERT_EQ(set_stage(&self->g, variant->kind, variant->file), \
			  0); \
		ASSERT_EQ(attach(&self->g.w), 0); \
	} \
	FIXTURE_TEARDOWN(name) \
	{ \
		close(self->g.w.fd); \
		close(self->g.y.fd); \
		close(self->g.d.fd); \
	}

#define VARIANTS(fixture, name) \
	FIXTURE_VARIANT_ADD(fixture, name) { .kind = &kind_##name }; \
	FIXTURE_VARIANT_ADD(fixture, name##_file) { \
		.kind = &kind_##name, .file = true, \
	}

STAGE(op)
VARIANTS(op, recv_unix);
VARIANTS(op, recv_tcp);
VARIANTS(op, recvmsg_unix);
VARIANTS(op, recvmsg_tcp);
VARIANTS(op, read_unix);
VARIANTS(op, read_tcp);
VARIANTS(op, read_pipe);
VARIANTS(op, read_eventfd);
VARIANTS(op, send_unix);
VARIANTS(op, send_tcp);
VARIANTS(op, sendmsg_unix);
VARIANTS(op, sendmsg_tcp);
VARIANTS(op, write_unix);
VARIANTS(op, write_tcp);
VARIANTS(op, send_recv_full);
VARIANTS(op, send_recv_unix);
VARIANTS(op, send_recv_tcp);

/* What can be done at once is done in the same call. */
TEST_F(op, immediate)
{
	struct stage *g = &self->g;
	struct roost_domain_stat st;
	struct roost_cqe cqe;

	g->s.kind->ready(&g->s);
	wait_ready(&g->s);
	ASSERT_EQ(submit_one(&g->w, the_op(g)), 1);
	ASSERT_TRUE(pop(&g->w, &cqe));
	EXPECT_TRUE(good_result(g, &cqe))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
	EXPECT_FALSE(pop(&g->w, &cqe));
	st = stat_of(&g->d);
	EXPECT_EQ(st.ios_started, 1);
	EXPECT_EQ(st.ios_done, 1);
	EXPECT_EQ(st.ios_pending, 0);
	EXPECT_EQ(st.ios_waited, 0);
	EXPECT_EQ(st.files, g->file);
	EXPECT_EQ(st.parks, 0);
}

TEST_F(op, armed_then_completed)
{
	struct stage *g = &self->g;
	struct roost_domain_stat st;
	struct roost_cqe cqe;

	ASSERT_EQ(submit_one(&g->w, the_op(g)), 1);
	EXPECT_FALSE(pop(&g->w, &cqe));
	st = stat_of(&g->d);
	EXPECT_EQ(st.ios_started, 1);
	EXPECT_EQ(st.ios_pending, 1);
	EXPECT_EQ(st.ios_done, 0);
	EXPECT_EQ(g->d.control->io_ready, 0);
	ASSERT_EQ(let_go_on(g, &g->w, &cqe), 0);
	EXPECT_TRUE(good_result(g, &cqe))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
	EXPECT_TRUE(nothing_comes(&g->d, &g->w));
	st = stat_of(&g->d);
	EXPECT_EQ(st.ios_done, 1);
	EXPECT_EQ(st.ios_pending, 0);
	EXPECT_GE(st.ios_waited, 1);
	EXPECT_EQ(st.files, g->file);
}

/* After the completion the buffer is the caller's, and the data the file's. */
TEST_F(op, cancelled_while_armed)
{
	struct stage *g = &self->g;
	struct roost_cqe cqe;

	ASSERT_EQ(submit_one(&g->w, the_op(g)), 1);
	ASSERT_EQ(submit_one(&g->w, sqe_cancel(ID, 0)), 1);
	ASSERT_EQ(wait_pop(&g->d, &g->w, &cqe, g->limit), 0);
	EXPECT_TRUE(completed_with(&cqe, -ECANCELED))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
	EXPECT_EQ(stat_of(&g->d).ios_pending, 0);
	g->s.kind->ready(&g->s);
	EXPECT_TRUE(nothing_comes(&g->d, &g->w));
	EXPECT_TRUE(poisoned(g->in));
	EXPECT_TRUE(nothing_taken(&g->s));
	/* the index is free again */
	EXPECT_EQ(do_now(&g->w, sqe_cancel(ID, 0)).res, -ENOENT);
}

/* The cancel may come through another ring, and be quiet. */
TEST_F(op, cancelled_by_another_worker)
{
	struct stage *g = &self->g;
	struct roost_cqe cqe;
	uint64_t limit = now_ns() + wide(5 * SEC);
	bool got = false;

	ASSERT_EQ(submit_one(&g->w, the_op(g)), 1);
	ASSERT_EQ(submit_one(&g->y, sqe_cancel(ID, ROOST_SQE_QUIET)), 1);
	/* quiet is about what is not there: the op has its completion */
	while (!got && now_ns() < limit) {
		got = pop(&g->w, &cqe) || pop(&g->y, &cqe);
		if (!got)
			submit(&g->w);
	}
	ASSERT_TRUE(got);
	EXPECT_TRUE(completed_with(&cqe, -ECANCELED));
	EXPECT_FALSE(pop(&g->w, &cqe));
	EXPECT_FALSE(pop(&g->y, &cqe));
	ASSERT_EQ(submit_one(&g->y, sqe_cancel(ID, ROOST_SQE_QUIET)), 1);
	EXPECT_FALSE(pop(&g->y, &cqe));
}

/* The cancel overtakes: the op waits in another ring, not yet seen. */
TEST_F(op, cancelled_before_it_was_seen)
{
	struct stage *g = &self->g;
	struct roost_sqe sqe = the_op(g);
	struct roost_cqe cqe;

	g->s.kind->ready(&g->s);
	push(&g->w, &sqe);
	ASSERT_EQ(submit_one(&g->y, sqe_cancel(ID, 0)), 1);
	ASSERT_TRUE(pop(&g->y, &cqe));
	EXPECT_TRUE(completed_with(&cqe, -ECANCELED))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
	ASSERT_EQ(submit(&g->w), 1);
	ASSERT_TRUE(pop(&g->w, &cqe));
	EXPECT_TRUE(completed_with(&cqe, -ESTALE))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
	EXPECT_TRUE(poisoned(g->in));
	EXPECT_TRUE(nothing_comes(&g->d, &g->w));
	/* the index goes on with the next sequence */
	sqe.op_id = roost_op_id(3, 2);
	ASSERT_EQ(submit_one(&g->w, sqe), 1);
	ASSERT_EQ(wait_pop(&g->d, &g->w, &cqe, g->limit), 0);
	EXPECT_EQ(cqe.user_data, sqe.op_id);
	EXPECT_GE(cqe.res, g->s.kind->least);
}

TEST_F(op, deadline)
{
	struct stage *g = &self->g;
	struct roost_sqe sqe = the_op(g);
	struct roost_cqe cqe;

	sqe.deadline = now_ns() + 30 * MSEC;
	ASSERT_EQ(submit_one(&g->w, sqe), 1);
	/* on a machine that stands still meanwhile it has come already */
	if (!pop(&g->w, &cqe))
		ASSERT_EQ(wait_pop(&g->d, &g->w, &cqe, g->limit), 0);
	EXPECT_GE(now_ns(), sqe.deadline);
	EXPECT_TRUE(completed_with(&cqe, -ETIMEDOUT))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
	EXPECT_EQ(stat_of(&g->d).ios_pending, 0);
	g->s.kind->ready(&g->s);
	EXPECT_TRUE(nothing_comes(&g->d, &g->w));
	EXPECT_TRUE(poisoned(g->in));
	EXPECT_TRUE(nothing_taken(&g->s));
}

TEST_F(op, deadline_in_the_past)
{
	struct stage *g = &self->g;
	struct roost_sqe sqe = the_op(g);
	struct roost_cqe cqe;

	sqe.deadline = 1;
	ASSERT_EQ(submit_one(&g->w, sqe), 1);
	ASSERT_EQ(wait_pop(&g->d, &g->w, &cqe, g->limit), 0);
	EXPECT_TRUE(completed_with(&cqe, -ETIMEDOUT))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
	EXPECT_TRUE(nothing_comes(&g->d, &g->w));
	EXPECT_TRUE(poisoned(g->in));
}

/* Who is done before is not touched by it. */
TEST_F(op, deadline_not_reached)
{
	struct stage *g = &self->g;
	struct roost_sqe sqe = the_op(g);
	struct roost_cqe cqe;

	sqe.deadline = now_ns() + wide(30 * MSEC);
	ASSERT_EQ(submit_one(&g->w, sqe), 1);
	ASSERT_EQ(let_go_on(g, &g->w, &cqe), 0);
	/* on a machine that stood still meanwhile, the deadline is right */
	EXPECT_TRUE(good_result(g, &cqe) ||
		    (now_ns() >= sqe.deadline &&
		     completed_with(&cqe, -ETIMEDOUT)))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
	while (now_ns() < sqe.deadline + 5 * MSEC)
		sleep_ns(5 * MSEC);
	EXPECT_EQ(submit(&g->w), 0);
	EXPECT_FALSE(pop(&g->w, &cqe));
	EXPECT_EQ(stat_of(&g->d).ios_done, 1);
}

/* Data and deadline at the same moment: one result, and it is true. */
TEST_F(op, deadline_meets_data)
{
	struct stage *g = &self->g;
	unsigned int i, times[2] = { 0, 0 };
	struct roost_sqe sqe;
	struct roost_cqe cqe;

	for (i = 0; i < 30; i++) {
		set_scene(g, g->s.kind);
		sqe = scene_sqe(&g->s, roost_op_id(3, i + 1));
		if (g->file)
			sqe = on_file(sqe, i + 1);
		sqe.deadline = now_ns() + MSEC / 2 + i * 50000;
		ASSERT_EQ(submit_one(&g->w, sqe), 1);
		while (now_ns() + 20000 < sqe.deadline)
			;
		g->s.kind->ready(&g->s);
		ASSERT_EQ(wait_pop(&g->d, &g->w, &cqe, g->limit), 0);
		ASSERT_EQ(cqe.user_data, sqe.op_id);
		times[cqe.res == -ETIMEDOUT]++;
		if (cqe.res == -ETIMEDOUT) {
			EXPECT_TRUE(poisoned(g->in));
			EXPECT_TRUE(nothing_taken(&g->s));
		} else {
			EXPECT_GE(cqe.res, 1);
			EXPECT_LE(cqe.res, g->s.kind->most);
		}
		EXPECT_FALSE(pop(&g->w, &cqe));
		close(g->s.fd);
		close(g->s.peer);
		if (!g->file)
			continue;
		ASSERT_EQ(submit_one(&g->w, sqe_file_remove(g->s.fd, i + 1,
							    ROOST_SQE_QUIET)),
			  1);
	}
	TH_LOG("%u with data, %u timed out", times[0], times[1]);
	EXPECT_EQ(stat_of(&g->d).ios_pending, 0);
	EXPECT_EQ(stat_of(&g->d).files, 0);
}

/* close(2) ends nothing: the op goes on with the file that it has. */
TEST_F(op, closed_while_armed)
{
	struct stage *g = &self->g;
	struct roost_cqe cqe;
	int fd = g->s.fd;

	ASSERT_EQ(submit_one(&g->w, the_op(g)), 1);
	EXPECT_FALSE(pop(&g->w, &cqe));
	ASSERT_EQ(close(fd), 0);
	EXPECT_TRUE(!g->s.kind->ends || peer_sees_life(&g->s));
	ASSERT_EQ(let_go_on(g, &g->w, &cqe), 0);
	EXPECT_TRUE(good_result(g, &cqe))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
	if (g->file) {
		EXPECT_TRUE(!g->s.kind->ends || peer_sees_life(&g->s));
		cqe = do_now(&g->w, sqe_file_remove(fd, 1, 0));
		EXPECT_EQ(cqe.res, 0);
		EXPECT_EQ(cqe.flags, ROOST_CQE_FILE);
	}
	/* nobody has it any more */
	EXPECT_TRUE(!g->s.kind->ends || peer_sees_end(&g->s));
	EXPECT_EQ(stat_of(&g->d).files, 0);
}

/* What is not registered cannot be removed, and no op ends with it. */
static void remove_without_file(struct __test_metadata *_metadata,
				struct stage *g)
{
	struct roost_cqe cqe = do_now(&g->w, sqe_file_remove(g->s.fd, 1, 0));

	EXPECT_LT(cqe.res, 0);
	EXPECT_EQ(cqe.flags, ROOST_CQE_FILE);
	EXPECT_EQ(stat_of(&g->d).ios_pending, 1);
	ASSERT_EQ(let_go_on(g, &g->w, &cqe), 0);
	EXPECT_TRUE(good_result(g, &cqe));
}

/* Who asks for a file's removal has its ops back. */
TEST_F(op, file_removed_while_armed)
{
	struct stage *g = &self->g;
	struct roost_cqe cqe;
	unsigned int i, ios = 0, files = 0;

	ASSERT_EQ(submit_one(&g->w, the_op(g)), 1);
	if (!g->file) {
		remove_without_file(_metadata, g);
		return;
	}
	close(g->s.fd);
	ASSERT_EQ(submit_one(&g->w, sqe_file_remove(g->s.fd, 1, 0)), 1);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(wait_pop(&g->d, &g->w, &cqe, g->limit), 0);
		if (cqe_kind(&cqe) == ROOST_CQE_IO) {
			EXPECT_TRUE(completed_with(&cqe, -ECANCELED));
			ios++;
			continue;
		}
		EXPECT_EQ(cqe.flags, ROOST_CQE_FILE);
		EXPECT_EQ(cqe.res, 0);
		EXPECT_EQ(cqe.user_data, roost_op_id((uint32_t)g->s.fd, 1));
		files++;
	}
	EXPECT_EQ(ios, 1);
	EXPECT_EQ(files, 1);
	EXPECT_TRUE(!g->s.kind->ends || peer_sees_end(&g->s));
	EXPECT_TRUE(poisoned(g->in));
	EXPECT_EQ(stat_of(&g->d).files, 0);
	EXPECT_EQ(stat_of(&g->d).ios_pending, 0);
}

/* S2-29: An armed op does not keep a domain, nor the domain its file. */
TEST_F(op, domain_closed_while_armed)
{
	struct stage *g = &self->g;

	ASSERT_EQ(submit_one(&g->w, the_op(g)), 1);
	close(g->s.fd);
	EXPECT_TRUE(!g->s.kind->ends || peer_sees_life(&g->s));
	munmap(g->w.page, g->w.params.map_size);
	munmap(g->y.page, g->y.params.map_size);
	close(g->w.fd);
	close(g->y.fd);
	dom_unmap(&g->d);
	close(g->d.fd);
	EXPECT_TRUE(!g->s.kind->ends || peer_sees_end(&g->s));
	/* an eventfd shows no end: its other descriptor still works */
	if (!g->s.kind->ends)
		g->s.kind->ready(&g->s);
	EXPECT_TRUE(poisoned(g->in));
}

/* The other end goes: no wait is left behind. */
STAGE(peer)
VARIANTS(peer, recv_unix);
VARIANTS(peer, recv_tcp);
VARIANTS(peer, recvmsg_unix);
VARIANTS(peer, recvmsg_tcp);
VARIANTS(peer, read_unix);
VARIANTS(peer, read_tcp);
VARIANTS(peer, read_pipe);
VARIANTS(peer, send_unix);
VARIANTS(peer, send_tcp);
VARIANTS(peer, sendmsg_unix);
VARIANTS(peer, sendmsg_tcp);
VARIANTS(peer, write_unix);
VARIANTS(peer, write_tcp);
VARIANTS(peer, send_recv_full);
VARIANTS(peer, send_recv_unix);
VARIANTS(peer, send_recv_tcp);

/* What an op that waits comes to when the connection is no more. */
static bool good_end(const struct stage *g, const struct roost_cqe *cqe)
{
	bool sending = g->s.kind->waits == FOR_ROOM;
	uint32_t flags = ROOST_CQE_IO;

	if (cqe->user_data != ID)
		return false;
	if (g->s.kind->opcode == ROOST_OP_SEND_RECV && sending)
		flags |= ROOST_CQE_SEND;
	if (cqe->flags != flags)
		return false;
	if (sending)
		return cqe->res == -EPIPE || cqe->res == -ECONNRESET;
	/* it may have gone with our request unread */
	if (g->s.kind->opcode == ROOST_OP_SEND_RECV && cqe->res == -ECONNRESET)
		return true;
	return cqe->res == 0;
}

/* And no SIGPIPE: it would end the test. */
TEST_F(peer, closes_while_armed)
{
	struct stage *g = &self->g;
	struct roost_cqe cqe;

	ASSERT_EQ(submit_one(&g->w, the_op(g)), 1);
	EXPECT_FALSE(pop(&g->w, &cqe));
	close(g->s.peer);
	ASSERT_EQ(wait_pop(&g->d, &g->w, &cqe, g->limit), 0);
	EXPECT_TRUE(good_end(g, &cqe))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
	EXPECT_TRUE(nothing_comes(&g->d, &g->w));
}

TEST_F(peer, closed_before)
{
	struct stage *g = &self->g;
	struct roost_cqe cqe;

	close(g->s.peer);
	ASSERT_EQ(submit_one(&g->w, the_op(g)), 1);
	ASSERT_EQ(wait_pop(&g->d, &g->w, &cqe, g->limit), 0);
	if (g->s.kind == &kind_send_recv_unix) {
		/* then it is the sending that meets it */
		EXPECT_EQ(cqe.res, -EPIPE);
		EXPECT_EQ(cqe.flags, ROOST_CQE_IO | ROOST_CQE_SEND);
		return;
	}
	EXPECT_TRUE(good_end(g, &cqe))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
}

/* The process goes, with the op armed. */
TEST_F(peer, process_killed_while_armed)
{
	struct stage *g = &self->g;
	int p[2], status;
	char byte;
	pid_t pid;

	ASSERT_EQ(pipe(p), 0);
	pid = fork();
	if (!pid) {
		close(g->s.peer);
		check(set_stage_domain(&g->d, &g->w, &g->y) == 0);
		check(submit_one(&g->w, the_op(g)) == 1);
		check(stat_of(&g->d).ios_pending == 1);
		check(write(p[1], "x", 1) == 1);
		for (;;)
			pause();
	}
	close(g->s.fd);
	ASSERT_EQ(read(p[0], &byte, 1), 1);
	EXPECT_TRUE(peer_sees_life(&g->s));
	kill(pid, SIGKILL);
	EXPECT_TRUE(peer_sees_end(&g->s));
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, SIGKILL);
}

/* Our own side is shut down under it. */
STAGE(socket)
VARIANTS(socket, recv_unix);
VARIANTS(socket, recv_tcp);
VARIANTS(socket, recvmsg_unix);
VARIANTS(socket, read_unix);
VARIANTS(socket, read_tcp);
VARIANTS(socket, send_unix);
VARIANTS(socket, send_tcp);
VARIANTS(socket, sendmsg_tcp);
VARIANTS(socket, write_unix);
VARIANTS(socket, send_recv_full);
VARIANTS(socket, send_recv_unix);
VARIANTS(socket, send_recv_tcp);

TEST_F(socket, shut_down_while_armed)
{
	struct stage *g = &self->g;
	struct roost_cqe cqe;

	ASSERT_EQ(submit_one(&g->w, the_op(g)), 1);
	EXPECT_FALSE(pop(&g->w, &cqe));
	ASSERT_EQ(shutdown(g->s.fd, SHUT_RDWR), 0);
	ASSERT_EQ(wait_pop(&g->d, &g->w, &cqe, g->limit), 0);
	EXPECT_TRUE(good_end(g, &cqe))
		TH_LOG("res %d flags %x", cqe.res, cqe.flags);
}

/* The peer breaks the connection off. */
STAGE(reset)
VARIANTS(reset, recv_tcp);
VARIANTS(reset, recvmsg_tcp);
VARIANTS(reset, read_tcp);
VARIANTS(reset, send_tcp);
VARIANTS(reset, sendmsg_tcp);
VARIANTS(reset, write_tcp);
VARIANTS(reset, send_recv_tcp);

TEST_F(reset, while_armed)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };
	struct stage *g = &self->g;
	struct roost_cqe cqe;

	ASSERT_EQ(submit_one(&g->w, the_op(g)), 1);
	EXPECT_FALSE(pop(&g->w, &cqe));
	ASSERT_EQ(setsockopt(g->s.peer, SOL_SOCKET, SO_LINGER, &now,
			     sizeof(now)), 0);
	close(g->s.peer);
	ASSERT_EQ(wait_pop(&g->d, &g->w, &cqe, g->limit), 0);
	EXPECT_EQ(cqe.user_data, ID);
	EXPECT_EQ(cqe_kind(&cqe), ROOST_CQE_IO);
	EXPECT_TRUE(cqe.res == -ECONNRESET ||
		    (g->s.kind->waits == FOR_ROOM && cqe.res == -EPIPE))
		TH_LOG("res %d", cqe.res);
	EXPECT_TRUE(nothing_comes(&g->d, &g->w));
}

TEST_HARNESS_MAIN
