// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * reuse_test.c - a number that is closed when its wait is over, before the actor
 * that waited has run, and given to another file at once.
 *
 * The actor must not go on with that: it gets -ECANCELED, or what it has from the
 * file that it meant.
 */
#include <sys/socket.h>

#include "io_help.h"

#define BIG	(1U << 20)

/*
 * An ACTOR_TEST() with one worker, which its actor keeps while it computes: else the
 * call could run beside it, before it closes the file.
 */
#define ALONE_TEST(test_name)						\
	static void actor_##test_name(void *arg);			\
	ROOST_TEST(test_name)						\
	{								\
		struct roost_config config = {				\
			.workers = 1, .standbys = ROOST_NO_STANDBYS,	\
		};							\
									\
		run_with(&config, actor_##test_name, NULL);		\
	}								\
	static void actor_##test_name(void *arg unused_arg)

struct call {
	ssize_t (*fn)(struct call *c);
	int fd;
	uint64_t deadline;
	char buf[64];
	char *big;
	ssize_t result;
	_Atomic bool done;
	uint64_t ring_ios;	/* of the runtime, before the call */
};

static void call_main(void *arg)
{
	struct call *c = arg;

	c->result = c->fn(c);
	atomic_store(&c->done, true);
}

/* With one worker, which nobody else uses now. */
static void compute_until(uint64_t t)
{
	while (roost_now() < t)
		;
}

static struct roost_stats stats_now(void)
{
	struct roost_stats stats;

	CHECK_EQ(roost_stats(&stats), 0);
	return stats;
}

/*
 * The call's wait is over, and it has not run yet: the scheduler has queued it
 * behind us, or a thread has that watches files for the futex backend.
 */
static void let_its_deadline_pass(struct call *c)
{
	compute_until(c->deadline + ROOST_MSEC(10));
	roost_yield();
	CHECK_MSG(!atomic_load(&c->done), "it ran too early");
}

/* The same, after what has happened since @before, where the file was delivered. */
static void let_its_event_come(struct call *c, const struct roost_stats *before)
{
	const bool kernel = !strcmp(before->backend, "kernel");
	const uint64_t limit = roost_after(ROOST_SEC(20));
	/* What waits in the ring is seen there by nobody, and comes with the call. */
	const bool ring = before->ring_ios > c->ring_ios;

	do {
		compute_until(roost_now() + ROOST_MSEC(ring ? 10 : 1));
		if (kernel)
			roost_yield();
	} while (!ring && stats_now().fd_events == before->fd_events &&
		 !atomic_load(&c->done) && roost_now() < limit);
	CHECK_MSG(!atomic_load(&c->done), "it ran too early");
	CHECK_MSG(ring || stats_now().fd_events > before->fd_events,
		  "no event came");
}

/* A file at @number: @pair[0] of a new one, whose other end is @pair[1]. */
static void other_file_at(int number, int pair[2])
{
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	move_to(number, pair);
}

/* Has nobody read or written there but us? */
static void check_untouched(int pair[2])
{
	char text[32];

	CHECK_EQ(recv(pair[0], text, sizeof(text), MSG_DONTWAIT), 6);
	CHECK_EQ(recv(pair[1], text, sizeof(text), MSG_DONTWAIT), -1);
	close(pair[0]);
	close(pair[1]);
}

/* The call waits on @fd and the deadline passes, or @text comes: then it closes. */
static void close_at_the_end(struct call *c, int fd, int peer, const char *text)
{
	struct roost_stats before;
	int pair[2];
	roost_pid pid;

	c->fd = fd;
	/* Far enough, or a machine that stands still makes both run at once. */
	c->deadline = text ? ROOST_FOREVER : roost_after(ROOST_MSEC(500));
	c->ring_ios = stats_now().ring_ios;
	pid = spawn(call_main, c);
	roost_sleep(ROOST_MSEC(3));
	if (text) {
		before = stats_now();
		CHECK_EQ(send(peer, text, strlen(text), 0), strlen(text));
		let_its_event_come(c, &before);
	} else {
		let_its_deadline_pass(c);
	}
	CHECK_EQ(roost_close(fd), 0);
	other_file_at(fd, pair);
	CHECK_EQ(send(pair[1], "secret", 6, 0), 6);
	join(pid);
	check_untouched(pair);
}

static void with_pair(ssize_t (*fn)(struct call *c), const char *text,
		      ssize_t result)
{
	struct call c = { .fn = fn };
	int fd[2];

	tcp_pair_managed(fd);
	close_at_the_end(&c, fd[0], fd[1], text);
	CHECK_EQ(c.result, result);
	roost_close(fd[1]);
}

static ssize_t call_recv(struct call *c)
{
	return roost_recv(c->fd, c->buf, 32, 0, c->deadline);
}

static ssize_t call_recv_whole(struct call *c)
{
	return roost_recv(c->fd, c->buf, 32, MSG_WAITALL, c->deadline);
}

static ssize_t call_send_recv(struct call *c)
{
	size_t sent;

	return roost_send_recv(c->fd, "q", 1, c->buf, 32, 0, c->deadline, &sent);
}

static ssize_t call_readv(struct call *c)
{
	struct iovec iov[2] = {
		{ .iov_base = c->buf, .iov_len = 3 },
		{ .iov_base = c->buf + 3, .iov_len = 29 },
	};

	return roost_readv(c->fd, iov, 2, c->deadline);
}

static ssize_t call_fd_wait(struct call *c)
{
	return roost_fd_wait(c->fd, POLLIN, c->deadline);
}

ALONE_TEST(recv_at_its_deadline)
{
	with_pair(call_recv, NULL, -ECANCELED);
}

ALONE_TEST(send_recv_at_its_deadline)
{
	with_pair(call_send_recv, NULL, -ECANCELED);
}

ALONE_TEST(readv_at_its_deadline)
{
	with_pair(call_readv, NULL, -ECANCELED);
}

/* The same of what is not managed. */
ALONE_TEST(recv_of_a_plain_socket_at_its_deadline)
{
	struct call c = { .fn = call_recv };
	int fd[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	close_at_the_end(&c, fd[0], fd[1], NULL);
	CHECK_EQ(c.result, -ECANCELED);
	close(fd[1]);
}

/* Who adopts it meanwhile does not make it another file. */
ALONE_TEST(adopted_meanwhile)
{
	struct call c = { .fn = call_send_recv };
	roost_pid pid;
	int fd[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	c.fd = fd[0];
	c.deadline = roost_after(ROOST_SEC(60));
	pid = spawn(call_main, &c);
	roost_sleep(ROOST_MSEC(3));
	CHECK_EQ(roost_fd_adopt(fd[0]), 0);
	roost_sleep(ROOST_MSEC(3));
	CHECK_EQ(send(fd[1], "reply", 5, 0), 5);
	join(pid);
	CHECK_EQ(c.result, 5);
	roost_close(fd[0]);
	close(fd[1]);
}

ALONE_TEST(readv_at_an_event)
{
	with_pair(call_readv, "old", -ECANCELED);
}

ALONE_TEST(fd_wait_at_an_event)
{
	with_pair(call_fd_wait, "old", -ECANCELED);
}

/* What has come from its own file it keeps. */
ALONE_TEST(recv_whole_at_an_event)
{
	struct call c = { .fn = call_recv_whole };
	int fd[2];

	tcp_pair_managed(fd);
	close_at_the_end(&c, fd[0], fd[1], "old");
	CHECK(c.result == 3 || c.result == -ECANCELED);
	if (c.result == 3)
		CHECK(!memcmp(c.buf, "old", 3));
	roost_close(fd[1]);
}

static ssize_t call_accept(struct call *c)
{
	return roost_accept(c->fd, NULL, NULL, c->deadline);
}

ALONE_TEST(accept_at_its_deadline)
{
	struct call c = { .fn = call_accept };
	int listener = roost_socket(AF_INET, SOCK_STREAM, 0);

	CHECK(listener >= 0);
	CHECK_EQ(listen(listener, 5), 0);
	close_at_the_end(&c, listener, -1, NULL);
	CHECK_EQ(c.result, -ECANCELED);
}

/* Who was let in just then is not lost: nobody has been, or the caller has it. */
ALONE_TEST(accept_at_an_event)
{
	struct call c = { .fn = call_accept };
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int listener = roost_socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(addr);
	struct roost_stats before;
	int peer, pair[2];
	roost_pid pid;

	CHECK(listener >= 0);
	CHECK_EQ(bind(listener, (struct sockaddr *)&addr, len), 0);
	CHECK_EQ(listen(listener, 5), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
	c.fd = listener;
	c.deadline = ROOST_FOREVER;
	c.ring_ios = stats_now().ring_ios;
	pid = spawn(call_main, &c);
	roost_sleep(ROOST_MSEC(3));
	before = stats_now();
	peer = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(connect(peer, (struct sockaddr *)&addr, len), 0);
	let_its_event_come(&c, &before);
	CHECK_EQ(roost_close(listener), 0);
	other_file_at(listener, pair);
	CHECK_EQ(send(pair[1], "secret", 6, 0), 6);
	join(pid);
	check_untouched(pair);
	CHECK_EQ(c.result, -ECANCELED);
	close(peer);
}

ALONE_TEST(fd_wait_at_its_deadline)
{
	struct call c = { .fn = call_fd_wait };
	int fd[2];

	tcp_pair_managed(fd);
	close_at_the_end(&c, fd[0], fd[1], NULL);
	/* It waits alone: that it was closed may come too late to matter. */
	CHECK(c.result == -ECANCELED || c.result == -ETIMEDOUT);
	roost_close(fd[1]);
}

static ssize_t call_write_all(struct call *c)
{
	return roost_write_all(c->fd, c->big, BIG, ROOST_FOREVER);
}

ALONE_TEST(write_all_at_an_event)
{
	struct call c = { .fn = call_write_all, .big = calloc(1, BIG) };
	char *sink = malloc(BIG);
	struct roost_stats before;
	int p[2], pair[2];
	roost_pid pid;

	CHECK_EQ(roost_pipe(p), 0);
	c.fd = p[1];
	c.ring_ios = stats_now().ring_ios;
	pid = spawn(call_main, &c);
	roost_sleep(ROOST_MSEC(3));
	before = stats_now();
	CHECK(read(p[0], sink, BIG) > 0);
	let_its_event_come(&c, &before);
	CHECK_EQ(roost_close(p[1]), 0);
	other_file_at(p[1], pair);
	CHECK_EQ(send(pair[1], "secret", 6, 0), 6);
	join(pid);
	check_untouched(pair);
	CHECK_EQ(c.result, -ECANCELED);
	roost_close(p[0]);
	free(c.big);
	free(sink);
}
