// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * send_recv_test.c - roost_send_recv(), on both backends: what it returns, how
 * much it says was sent, and what ends it.
 */
#include <sys/un.h>

#include "io_help.h"

#define BIG	(8U << 20)

static unsigned char pattern(size_t i)
{
	return (unsigned char)(i * 7 + (i >> 9));
}

static char *make_big(void)
{
	char *p = malloc(BIG);
	size_t i;

	for (i = 0; i < BIG; i++)
		p[i] = (char)pattern(i);
	return p;
}

static size_t nr_wrong(const char *p, size_t len, size_t at)
{
	size_t i, wrong = 0;

	for (i = 0; i < len; i++)
		wrong += (unsigned char)p[i] != pattern(at + i);
	return wrong;
}

/* A call made by an actor of its own. */
struct call {
	int fd;
	const char *out;
	size_t out_len;
	char in[64];
	uint64_t deadline;
	roost_pid pid;
	ssize_t result;
	size_t sent;
	_Atomic bool done;
};

static void call_main(void *arg)
{
	struct call *c = arg;

	c->result = roost_send_recv(c->fd, c->out, c->out_len, c->in,
				    sizeof(c->in), 0, c->deadline, &c->sent);
	atomic_store(&c->done, true);
}

static void call_start(struct call *c, int fd, const char *out, size_t len,
		       uint64_t deadline)
{
	*c = (struct call){ .fd = fd, .out = out, .out_len = len,
			    .deadline = deadline, .result = NEVER_RAN };
	c->pid = spawn(call_main, c);
}

/* What the peer has received; it is gone from the socket then. */
static size_t take(int fd, char *buf, size_t len, size_t at)
{
	size_t got = 0, piece;
	ssize_t n;

	while (got < len) {
		piece = len - got < 60000 ? len - got : 60000;
		n = roost_recv(fd, buf, piece, 0, soon());
		if (n <= 0)
			break;
		CHECK_EQ(nr_wrong(buf, (size_t)n, at + got), 0);
		got += (size_t)n;
	}
	return got;
}

ACTOR_TEST(reply_and_next_request, usually(2))
{
	struct call c;
	char buf[64];
	int fd[2], i;

	tcp_pair_managed(fd);
	for (i = 0; i < 200; i++) {
		call_start(&c, fd[0], "question", 8, soon());
		CHECK_EQ(roost_recv(fd[1], buf, sizeof(buf), 0, soon()), 8);
		CHECK(!memcmp(buf, "question", 8));
		if (i % 3 == 0)
			roost_sleep(ROOST_USEC(100));
		CHECK_EQ(roost_send(fd[1], "answer", 6, 0, soon()), 6);
		join(c.pid);
		CHECK_EQ(c.result, 6);
		CHECK_EQ(c.sent, 8);
		CHECK(!memcmp(c.in, "answer", 6));
	}
	roost_close(fd[0]);
	roost_close(fd[1]);
}

ACTOR_TEST(one_buffer_for_both, usually(2))
{
	char buf[16] = "ping", other[16];
	int fd[2];

	tcp_pair_managed(fd);
	/* The answer is there before the question: it must not be sent. */
	CHECK_EQ(roost_send(fd[1], "answer", 6, 0, soon()), 6);
	CHECK_EQ(roost_send_recv(fd[0], buf, 4, buf, sizeof(buf), 0, soon(),
				 NULL), 6);
	CHECK(!memcmp(buf, "answer", 6));
	CHECK_EQ(roost_recv(fd[1], other, sizeof(other), 0, soon()), 4);
	CHECK(!memcmp(other, "ping", 4));
	roost_close(fd[0]);
	roost_close(fd[1]);
}

static void check_kind(int fd[2])
{
	char buf[16];
	size_t sent = 99;

	CHECK_EQ(send(fd[1], "abc", 3, 0), 3);
	CHECK_EQ(roost_send_recv(fd[0], "defg", 4, buf, sizeof(buf), 0, soon(),
				 &sent), 3);
	CHECK_EQ(sent, 4);
	CHECK(!memcmp(buf, "abc", 3));
	CHECK_EQ(recv(fd[1], buf, sizeof(buf), 0), 4);
	CHECK(!memcmp(buf, "defg", 4));
	/* Only receive. */
	CHECK_EQ(send(fd[1], "hi", 2, 0), 2);
	CHECK_EQ(roost_send_recv(fd[0], NULL, 0, buf, sizeof(buf), 0, soon(),
				 &sent), 2);
	CHECK_EQ(sent, 0);
	/* Nothing there. */
	CHECK_EQ(roost_send_recv(fd[0], "x", 1, buf, sizeof(buf), 0, 0, &sent),
		 -ETIMEDOUT);
	CHECK_EQ(sent, 1);
	CHECK_EQ(roost_send_recv(fd[0], "y", 1, buf, sizeof(buf), MSG_DONTWAIT,
				 ROOST_FOREVER, &sent), -ETIMEDOUT);
	CHECK_EQ(sent, 1);
	CHECK_EQ(roost_send_recv(fd[0], "z", 1, buf, sizeof(buf), 0,
				 roost_after(ROOST_MSEC(2)), &sent),
		 -ETIMEDOUT);
	CHECK_EQ(sent, 1);
	CHECK_EQ(roost_close(fd[0]), 0);
	CHECK_EQ(roost_close(fd[1]), 0);
}

ACTOR_TEST(all_kinds_of_sockets, usually(2))
{
	int fd[2], type;

	tcp_pair(fd);
	check_kind(fd);
	tcp_pair(fd);
	CHECK_EQ(roost_fd_adopt(fd[0]), 0);
	check_kind(fd);
	for (type = 0; type < 6; type++) {
		static const int types[] = { SOCK_STREAM, SOCK_DGRAM,
					     SOCK_SEQPACKET };

		CHECK_EQ(socketpair(AF_UNIX, types[type / 2], 0, fd), 0);
		if (type % 2)
			CHECK_EQ(roost_fd_adopt(fd[0]), 0);
		check_kind(fd);
	}
}

ROOST_TEST(outside_of_an_actor)
{
	size_t sent = 99;
	char c;

	CHECK_EQ(roost_send_recv(0, "x", 1, &c, 1, 0, 0, &sent), -EPERM);
	CHECK_EQ(sent, 0);
}

ACTOR_TEST(what_is_refused, usually(1))
{
	size_t sent = 99;
	int fd[2];
	char c;

	CHECK_EQ(roost_send_recv(-1, "x", 1, &c, 1, 0, soon(), &sent), -EBADF);
	CHECK_EQ(sent, 0);
	CHECK_EQ(roost_pipe(fd), 0);
	CHECK_EQ(roost_send_recv(fd[1], "x", 1, &c, 1, 0, soon(), NULL),
		 -ENOTSOCK);
	roost_close(fd[0]);
	roost_close(fd[1]);

	tcp_pair_managed(fd);
	CHECK_EQ(roost_send_recv(fd[0], "x", 1, &c, 1, MSG_OOB, soon(), NULL),
		 -EINVAL);
	CHECK_EQ(roost_send_recv(fd[0], "x", 1, &c, 1, MSG_PEEK, soon(), NULL),
		 -EINVAL);
	CHECK_EQ(roost_send_recv(fd[0], "x", 1, &c, 1, MSG_WAITALL, soon(),
				 NULL), -EINVAL);
	/* Nothing of these was sent. */
	CHECK_EQ(recv(fd[1], &c, 1, MSG_DONTWAIT), -1);
	roost_close(fd[0]);
	roost_close(fd[1]);
}

ACTOR_TEST(end_and_reset, usually(2))
{
	struct call c;
	char buf[16];
	int fd[2];

	tcp_pair_managed(fd);
	call_start(&c, fd[0], "bye", 3, soon());
	CHECK_EQ(roost_recv(fd[1], buf, sizeof(buf), 0, soon()), 3);
	CHECK_EQ(shutdown(fd[1], SHUT_WR), 0);
	join(c.pid);
	CHECK_EQ(c.result, 0);
	CHECK_EQ(c.sent, 3);
	/* The end stays the end. */
	CHECK_EQ(roost_send_recv(fd[0], "x", 1, buf, 1, 0, soon(), &c.sent), 0);
	CHECK_EQ(c.sent, 1);
	roost_close(fd[0]);
	roost_close(fd[1]);

	tcp_pair(fd);
	CHECK_EQ(roost_fd_adopt(fd[0]), 0);
	call_start(&c, fd[0], "bye", 3, soon());
	settle();
	CHECK_EQ(recv(fd[1], buf, sizeof(buf), 0), 3);
	close_with_reset(fd[1]);
	join(c.pid);
	CHECK_EQ(c.result, -ECONNRESET);
	CHECK_EQ(c.sent, 3);
	CHECK_EQ(roost_send_recv(fd[0], "x", 1, buf, 1, 0, soon(), &c.sent),
		 -EPIPE);
	CHECK_EQ(c.sent, 0);
	roost_close(fd[0]);
}

ACTOR_TEST(slow_peer_gets_a_big_buffer, usually(2))
{
	char *big = make_big(), *buf = malloc(65536);
	size_t got = 0, n;
	struct call c;
	int fd[2];

	tcp_pair_managed(fd);
	call_start(&c, fd[0], big, BIG, roost_after(ROOST_SEC(60)));
	while (got < BIG) {
		n = take(fd[1], buf, 1 + (got * 31) % 60000 < BIG - got ?
				     1 + (got * 31) % 60000 : BIG - got, got);
		if (!n)
			break;
		got += n;
		if (got % 7 == 0)
			roost_sleep(ROOST_USEC(50));
	}
	CHECK_EQ(got, BIG);
	CHECK(!atomic_load(&c.done));
	CHECK_EQ(roost_send(fd[1], "ok", 2, 0, soon()), 2);
	join(c.pid);
	CHECK_EQ(c.result, 2);
	CHECK_EQ(c.sent, BIG);
	roost_close(fd[0]);
	roost_close(fd[1]);
	free(buf);
	free(big);
}

/* What ended half-way: *sent bytes are on their way, and no more. */
static void check_part(int peer, const struct call *c)
{
	char *buf = malloc(65536);

	CHECK(c->sent > 0 && c->sent < c->out_len);
	CHECK_EQ(take(peer, buf, c->sent, 0), c->sent);
	CHECK_EQ(roost_recv(peer, buf, 1, 0, roost_after(ROOST_MSEC(20))),
		 -ETIMEDOUT);
	free(buf);
}

ACTOR_TEST(deadline_in_either_half, usually(2))
{
	char *big = make_big();
	struct call c;
	char buf[8];
	int fd[2];

	tcp_pair_managed(fd);
	call_start(&c, fd[0], "abc", 3, roost_after(ROOST_MSEC(20)));
	join(c.pid);
	CHECK_EQ(c.result, -ETIMEDOUT);
	CHECK_EQ(c.sent, 3);
	CHECK_EQ(roost_recv(fd[1], buf, sizeof(buf), 0, soon()), 3);
	/* Go on with the receiving. */
	CHECK_EQ(roost_send(fd[1], "de", 2, 0, soon()), 2);
	CHECK_EQ(roost_send_recv(fd[0], NULL, 0, buf, 8, 0, soon(), NULL), 2);

	call_start(&c, fd[0], big, BIG, roost_after(ROOST_MSEC(100)));
	join(c.pid);
	CHECK_EQ(c.result, -ETIMEDOUT);
	check_part(fd[1], &c);

	/* What has passed already: one try, and what is there is had. */
	CHECK_EQ(roost_send(fd[1], "fg", 2, 0, soon()), 2);
	CHECK_EQ(roost_send_recv(fd[0], "x", 1, buf, 8, 0, roost_now() - 1,
				 &c.sent), 2);
	CHECK_EQ(c.sent, 1);
	roost_close(fd[0]);
	roost_close(fd[1]);
	free(big);
}

ACTOR_TEST(stop_in_either_half, usually(2))
{
	char *big = make_big();
	struct call c;
	int fd[2];

	tcp_pair_managed(fd);
	call_start(&c, fd[0], "abc", 3, ROOST_FOREVER);
	settle();
	CHECK(!atomic_load(&c.done));
	CHECK_EQ(roost_stop(c.pid), 0);
	join(c.pid);
	CHECK_EQ(c.result, -ECANCELED);
	CHECK_EQ(c.sent, 3);
	roost_close(fd[0]);
	roost_close(fd[1]);

	tcp_pair_managed(fd);
	call_start(&c, fd[0], big, BIG, ROOST_FOREVER);
	settle();
	CHECK(!atomic_load(&c.done));
	CHECK_EQ(roost_stop(c.pid), 0);
	join(c.pid);
	CHECK_EQ(c.result, -ECANCELED);
	check_part(fd[1], &c);
	roost_close(fd[0]);
	roost_close(fd[1]);
	free(big);
}

/* Closed meanwhile; the number's next file is not touched. */
static void check_closed(const char *out, size_t len)
{
	int fd[2], next[2];
	struct call c;
	char buf[8];

	tcp_pair_managed(fd);
	call_start(&c, fd[0], out, len, ROOST_FOREVER);
	settle();
	CHECK(!atomic_load(&c.done));
	CHECK_EQ(roost_close(fd[0]), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, next), 0);
	move_to(fd[0], next);
	CHECK_EQ(send(next[1], "new", 3, 0), 3);
	join(c.pid);
	CHECK_EQ(c.result, -ECANCELED);
	CHECK(len > 3 ? c.sent < len : c.sent == len);
	/* Managed or not, both hold what they are to hold. */
	CHECK_EQ(roost_fd_adopt(next[0]), 0);
	CHECK_EQ(recv(next[1], buf, sizeof(buf), MSG_DONTWAIT), -1);
	CHECK_EQ(roost_send_recv(next[0], "x", 1, buf, 8, 0, soon(), NULL), 3);
	CHECK_EQ(recv(next[1], buf, sizeof(buf), MSG_DONTWAIT), 1);
	roost_close(next[0]);
	roost_close(next[1]);
	/* The peer sees the end: nothing holds the old file. */
	while (roost_recv(fd[1], buf, sizeof(buf), 0, soon()) > 0)
		;
	CHECK_EQ(roost_recv(fd[1], buf, sizeof(buf), 0, soon()), 0);
	roost_close(fd[1]);
}

ACTOR_TEST(close_in_either_half, usually(2))
{
	char *big = make_big();

	check_closed("abc", 3);
	check_closed(big, BIG);
	free(big);
}

/* Adopting what is managed already does not disturb who uses it. */
ACTOR_TEST(adopted_once_more_meanwhile, usually(2))
{
	struct call c;
	char buf[8];
	int fd[2];

	tcp_pair_managed(fd);
	call_start(&c, fd[0], "abc", 3, soon());
	settle();
	CHECK_EQ(roost_fd_adopt(fd[0]), 0);
	settle();
	CHECK(!atomic_load(&c.done));
	CHECK_EQ(roost_recv(fd[1], buf, sizeof(buf), 0, soon()), 3);
	CHECK_EQ(roost_send(fd[1], "de", 2, 0, soon()), 2);
	join(c.pid);
	CHECK_EQ(c.result, 2);
	CHECK_EQ(c.sent, 3);
	/* Once only. */
	CHECK_EQ(roost_recv(fd[1], buf, sizeof(buf), 0, 0), -ETIMEDOUT);
	roost_close(fd[0]);
	roost_close(fd[1]);
}

/* As often as it likes, and in the middle of the sending. */
ACTOR_TEST(adopted_often_while_sending, usually(2))
{
	char *big = make_big(), *buf = malloc(65536);
	struct call c;
	size_t got = 0, n;
	int fd[2], i;

	tcp_pair_managed(fd);
	call_start(&c, fd[0], big, BIG, roost_after(ROOST_SEC(60)));
	for (i = 0; i < 3; i++) {
		settle();
		CHECK(!atomic_load(&c.done));
		CHECK_EQ(roost_fd_adopt(fd[0]), 0);
	}
	do {
		n = take(fd[1], buf, BIG - got < 65536 ? BIG - got : 65536, got);
		got += n;
	} while (n && got < BIG);
	CHECK_EQ(got, BIG);
	CHECK_EQ(roost_send(fd[1], "ok", 2, 0, soon()), 2);
	join(c.pid);
	CHECK_EQ(c.result, 2);
	CHECK_EQ(c.sent, BIG);
	roost_close(fd[0]);
	roost_close(fd[1]);
	free(buf);
	free(big);
}
