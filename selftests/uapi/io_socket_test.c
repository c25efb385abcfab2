// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * io_socket_test.c - RECV, SEND and their MSG forms are what recv(2), send(2),
 * recvmsg(2) and sendmsg(2) are on a socket that does not block; and an op
 * waits only where these would have nothing to say.
 *
 * All of it twice: with files that are looked up for each op, and registered.
 */
#include "kselftest_harness.h"

#include "io_help.h"

#define BIG	(1U << 20)

FIXTURE_VARIANT(io) {
	bool file;
};

FIXTURE(io) {
	struct dom d;
	struct wrk w;
	uint64_t limit;
	uint32_t sequence;
	bool file;
	int s[2];
	char in[4096], out[4096];
};

FIXTURE_VARIANT_ADD(io, own) { .file = false };
FIXTURE_VARIANT_ADD(io, registered) { .file = true };

FIXTURE_SETUP(io)
{
	unsigned int i;

	self->file = variant->file;
	self->limit = now_ns() + wide(20 * SEC);
	self->sequence = 0;
	for (i = 0; i < sizeof(self->out); i++)
		self->out[i] = (char)(i * 7 + i / 256);
	memset(self->in, 0x5a, sizeof(self->in));
	ASSERT_EQ(dom_make_io(&self->d, 64, 1024), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 64, 128), 0);
	ASSERT_EQ(attach(&self->w), 0);
}

FIXTURE_TEARDOWN(io)
{
	close(self->w.fd);
	close(self->d.fd);
}

/* The next op of the index 0, on the file as the variant has it. */
static struct roost_sqe next(FIXTURE_DATA(io) *self, struct roost_sqe sqe)
{
	sqe.op_id = roost_op_id(0, ++self->sequence);
	return self->file ? on_file(sqe, 1) : sqe;
}

/* Its result, which must be there at once. */
static int now(FIXTURE_DATA(io) *self, struct roost_sqe sqe)
{
	return io_now(&self->w, next(self, sqe));
}

static bool arms(FIXTURE_DATA(io) *self, struct roost_sqe sqe)
{
	struct roost_cqe cqe;

	check(submit_one(&self->w, next(self, sqe)) == 1);
	return !pop(&self->w, &cqe) && stat_of(&self->d).ios_pending;
}

/* The result of the only op that waits. */
static int later(FIXTURE_DATA(io) *self)
{
	struct roost_cqe cqe;
	int ret = wait_pop(&self->d, &self->w, &cqe, self->limit);

	return ret ? ret : cqe.res;
}

static struct roost_sqe recv_flags(int fd, void *buffer, uint32_t len,
				   uint32_t flags)
{
	struct roost_sqe sqe = sqe_recv(0, fd, buffer, len);

	sqe.msg_flags = flags;
	return sqe;
}

static struct roost_sqe send_flags(int fd, const void *buffer, uint32_t len,
				   uint32_t flags)
{
	struct roost_sqe sqe = sqe_send(0, fd, buffer, len);

	sqe.msg_flags = flags;
	return sqe;
}

TEST_F(io, short_receive)
{
	unix_pair(self->s, SOCK_STREAM);
	ASSERT_EQ(send(self->s[1], self->out, 100, 0), 100);
	EXPECT_EQ(now(self, sqe_recv(0, self->s[0], self->in, 4096)), 100);
	EXPECT_EQ(memcmp(self->in, self->out, 100), 0);
	EXPECT_EQ(self->in[100], 0x5a);
	/* and a receive that leaves something finds it next time */
	ASSERT_EQ(send(self->s[1], self->out, 100, 0), 100);
	EXPECT_EQ(now(self, sqe_recv(0, self->s[0], self->in, 60)), 60);
	EXPECT_EQ(now(self, sqe_recv(0, self->s[0], self->in, 60)), 40);
	EXPECT_TRUE(arms(self, sqe_recv(0, self->s[0], self->in, 60)));
}

TEST_F(io, exact_receive)
{
	unsigned int i;

	/* what fills the buffer says nothing of what is left */
	tcp_pair(self->s);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(send(self->s[1], self->out, 64, 0), 64);
		EXPECT_EQ(io_wait(&self->d, &self->w,
				  next(self, sqe_recv(0, self->s[0], self->in,
						      64)), self->limit), 64);
	}
	EXPECT_TRUE(arms(self, sqe_recv(0, self->s[0], self->in, 64)));
	ASSERT_EQ(send(self->s[1], self->out, 64, 0), 64);
	EXPECT_EQ(later(self), 64);
}

TEST_F(io, short_send)
{
	char *big = calloc(1, BIG);
	int n, sent = 0;

	unix_pair(self->s, SOCK_STREAM);
	set_option(self->s[0], SOL_SOCKET, SO_SNDBUF, 32768);
	n = now(self, sqe_send(0, self->s[0], big, BIG));
	EXPECT_GT(n, 0);
	EXPECT_LT(n, (int)BIG);
	sent = n;
	EXPECT_TRUE(arms(self, sqe_send(0, self->s[0], big, BIG)));
	EXPECT_EQ(drain_socket(self->s[1]), (size_t)sent);
	n = later(self);
	EXPECT_GT(n, 0);
	EXPECT_EQ(drain_socket(self->s[1]), (size_t)n);
	free(big);
}

/* Data and the end of it in one: the end must not get lost behind the data. */
TEST_F(io, end_of_file)
{
	void (*const pair[])(int *) = { tcp_pair };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (i)
			pair[0](self->s);
		else
			unix_pair(self->s, SOCK_STREAM);
		/* known to be empty */
		ASSERT_TRUE(arms(self, sqe_recv(0, self->s[0], self->in, 64)));
		ASSERT_EQ(send(self->s[1], self->out, 10, 0), 10);
		EXPECT_EQ(later(self), 10);
		ASSERT_EQ(send(self->s[1], self->out, 10, 0), 10);
		ASSERT_EQ(shutdown(self->s[1], SHUT_WR), 0);
		sleep_ns(5 * MSEC);
		EXPECT_EQ(now(self, sqe_recv(0, self->s[0], self->in, 64)), 10);
		EXPECT_EQ(io_wait(&self->d, &self->w,
				  next(self, sqe_recv(0, self->s[0], self->in,
						      64)), self->limit), 0);
		EXPECT_EQ(now(self, sqe_recv(0, self->s[0], self->in, 64)), 0);
		/* the other direction lives on */
		EXPECT_EQ(now(self, sqe_send(0, self->s[0], self->out, 10)), 10);
		close(self->s[0]);
		close(self->s[1]);
		ASSERT_EQ(submit_one(&self->w, sqe_file_remove(self->s[0], 1,
							ROOST_SQE_QUIET)), 1);
		while (pop(&self->w, &(struct roost_cqe){ 0 }))
			;
		/* numbers are used again: the next sequence would be due */
		if (self->file)
			break;
	}
}

/* An error is reported once, and what follows it is, too. */
TEST_F(io, reset_after_data)
{
	struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	tcp_pair(self->s);
	ASSERT_TRUE(arms(self, sqe_recv(0, self->s[0], self->in, 64)));
	ASSERT_EQ(setsockopt(self->s[1], SOL_SOCKET, SO_LINGER, &at_once,
			     sizeof(at_once)), 0);
	close(self->s[1]);
	EXPECT_EQ(later(self), -ECONNRESET);
	EXPECT_EQ(now(self, sqe_recv(0, self->s[0], self->in, 64)), 0);
	EXPECT_EQ(now(self, sqe_send(0, self->s[0], self->out, 64)), -EPIPE);
}

/*
 * Each op beside the same system call on a twin: result, data and flags. What
 * is not there to be had at once is -EAGAIN for both: MSG_DONTWAIT.
 */
static const struct {
	const char *what;
	int domain, type;
	int have[3];			/* so much is sent before, 0: no more */
	int have_flags;
	uint32_t len;
	int flags;
} twins[] = {
	{ "nothing", AF_UNIX, SOCK_STREAM, { 0 }, 0, 10, 0 },
	{ "part", AF_UNIX, SOCK_STREAM, { 4 }, 0, 10, 0 },
	{ "all", AF_UNIX, SOCK_STREAM, { 10 }, 0, 10, 0 },
	{ "two pieces", AF_UNIX, SOCK_STREAM, { 4, 4 }, 0, 10, 0 },
	{ "no room", AF_UNIX, SOCK_STREAM, { 4 }, 0, 0, 0 },
	{ "peek", AF_UNIX, SOCK_STREAM, { 4, 4 }, 0, 10, MSG_PEEK },
	{ "peek short", AF_UNIX, SOCK_STREAM, { 8 }, 0, 3, MSG_PEEK },
	{ "peek at nothing", AF_UNIX, SOCK_STREAM, { 0 }, 0, 3, MSG_PEEK },
	{ "no urgent byte", AF_UNIX, SOCK_STREAM, { 4 }, 0, 1, MSG_OOB },
	{ "tcp nothing", AF_INET, SOCK_STREAM, { 0 }, 0, 10, 0 },
	{ "tcp part", AF_INET, SOCK_STREAM, { 4 }, 0, 10, 0 },
	{ "tcp two pieces", AF_INET, SOCK_STREAM, { 4, 4 }, 0, 10, 0 },
	{ "tcp peek", AF_INET, SOCK_STREAM, { 8 }, 0, 10, MSG_PEEK },
	{ "tcp thrown away", AF_INET, SOCK_STREAM, { 8 }, 0, 10, MSG_TRUNC },
	{ "tcp no urgent byte", AF_INET, SOCK_STREAM, { 4 }, 0, 1, MSG_OOB },
	{ "tcp urgent byte", AF_INET, SOCK_STREAM, { 4 }, MSG_OOB, 1, MSG_OOB },
	{ "tcp up to the urgent byte", AF_INET, SOCK_STREAM, { 4 }, MSG_OOB,
	  10, 0 },
	{ "datagram", AF_UNIX, SOCK_DGRAM, { 4, 6 }, 0, 10, 0 },
	{ "datagram cut off", AF_UNIX, SOCK_DGRAM, { 20, 6 }, 0, 10, 0 },
	{ "datagram's true length", AF_UNIX, SOCK_DGRAM, { 20, 6 }, 0, 10,
	  MSG_TRUNC },
	{ "datagram into no room", AF_UNIX, SOCK_DGRAM, { 20 }, 0, 0, 0 },
	{ "datagram peek", AF_UNIX, SOCK_DGRAM, { 20, 6 }, 0, 10, MSG_PEEK },
	{ "packet", AF_UNIX, SOCK_SEQPACKET, { 20, 6 }, 0, 10, 0 },
	{ "udp", AF_INET, SOCK_DGRAM, { 4, 6 }, 0, 10, 0 },
	{ "udp cut off", AF_INET, SOCK_DGRAM, { 20, 6 }, 0, 10, 0 },
	{ "udp true length", AF_INET, SOCK_DGRAM, { 20, 6 }, 0, 10, MSG_TRUNC },
	{ "udp nothing", AF_INET, SOCK_DGRAM, { 0 }, 0, 10, 0 },
	{ "no error queued", AF_INET, SOCK_DGRAM, { 4 }, 0, 10, MSG_ERRQUEUE },
};

static void make_twin(int domain, int type, int s[2])
{
	struct sockaddr_in a[2];
	int i;

	if (domain == AF_UNIX) {
		unix_pair(s, type);
	} else if (type == SOCK_STREAM) {
		tcp_pair(s);
	} else {
		udp_pair(s, a);
		for (i = 0; i < 2; i++)
			check(connect(s[i], (struct sockaddr *)&a[!i],
				      sizeof(a[0])) == 0);
	}
}

TEST_F(io, same_as_recv)
{
	char mine[64], theirs[64], rest[2][64];
	struct roost_cqe cqe;
	struct roost_sqe sqe;
	unsigned int i, k;
	ssize_t n, left[2];
	int s[2], t[2];

	for (i = 0; i < sizeof(twins) / sizeof(twins[0]); i++) {
		make_twin(twins[i].domain, twins[i].type, s);
		make_twin(twins[i].domain, twins[i].type, t);
		for (k = 0; k < 3 && twins[i].have[k]; k++) {
			n = twins[i].have[k];
			ASSERT_EQ(send(s[1], self->out, n, twins[i].have_flags),
				  n);
			ASSERT_EQ(send(t[1], self->out, n, twins[i].have_flags),
				  n);
		}
		memset(mine, 0x5a, sizeof(mine));
		memset(theirs, 0x5a, sizeof(theirs));
		n = recv(t[0], theirs, twins[i].len,
			 twins[i].flags | MSG_DONTWAIT);
		if (n < 0)
			n = -errno;
		sqe = recv_flags(s[0], mine, twins[i].len,
				 (uint32_t)twins[i].flags | MSG_DONTWAIT);
		sqe.op_id = roost_op_id(0, i + 1);
		if (self->file)
			sqe = on_file(sqe, i + 1);
		cqe = do_now(&self->w, sqe);
		EXPECT_EQ(cqe.res, n)
			TH_LOG("row: %s", twins[i].what);
		EXPECT_EQ(memcmp(mine, theirs, sizeof(mine)), 0)
			TH_LOG("row: %s", twins[i].what);
		EXPECT_EQ(!!(cqe.flags & ROOST_CQE_TRUNC),
			  twins[i].type != SOCK_STREAM &&
			  (uint32_t)twins[i].have[0] > twins[i].len && n >= 0)
			TH_LOG("row: %s: flags %x", twins[i].what, cqe.flags);
		/* the same is left */
		left[0] = recv(s[0], rest[0], 64, MSG_DONTWAIT);
		left[1] = recv(t[0], rest[1], 64, MSG_DONTWAIT);
		EXPECT_EQ(left[0], left[1])
			TH_LOG("row: %s", twins[i].what);
		for (k = 0; k < 2; k++) {
			close(s[k]);
			close(t[k]);
		}
		if (self->file)
			EXPECT_EQ(do_now(&self->w,
					 sqe_file_remove(s[0], i + 1, 0)).res, 0);
	}
}

/* With MSG_DONTWAIT, MSG_OOB or MSG_ERRQUEUE an op never waits. */
TEST_F(io, tried_once)
{
	unix_pair(self->s, SOCK_STREAM);
	EXPECT_EQ(now(self, recv_flags(self->s[0], self->in, 8, MSG_DONTWAIT)),
		  -EAGAIN);
	fill_socket(self->s[0]);
	EXPECT_EQ(now(self, send_flags(self->s[0], self->out, 8, MSG_DONTWAIT)),
		  -EAGAIN);
	EXPECT_EQ(stat_of(&self->d).ios_waited, 0);
	EXPECT_EQ(stat_of(&self->d).ios_pending, 0);
}

/* A peek leaves what was there: the next one finds it again. */
TEST_F(io, peek)
{
	unsigned int i;

	tcp_pair(self->s);
	ASSERT_TRUE(arms(self, recv_flags(self->s[0], self->in, 64, MSG_PEEK)));
	ASSERT_EQ(send(self->s[1], self->out, 10, 0), 10);
	EXPECT_EQ(later(self), 10);
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(now(self, recv_flags(self->s[0], self->in, 64,
					       MSG_PEEK)), 10);
		EXPECT_EQ(memcmp(self->in, self->out, 10), 0);
	}
	EXPECT_EQ(now(self, sqe_recv(0, self->s[0], self->in, 64)), 10);
	EXPECT_TRUE(arms(self, sqe_recv(0, self->s[0], self->in, 64)));
}

/* Stops before the urgent byte: a short result, and more behind it. */
TEST_F(io, urgent_byte)
{
	tcp_pair(self->s);
	ASSERT_TRUE(arms(self, sqe_recv(0, self->s[0], self->in, 64)));
	ASSERT_EQ(send(self->s[1], "abc", 3, MSG_OOB), 3);
	ASSERT_EQ(send(self->s[1], "def", 3, 0), 3);
	EXPECT_EQ(later(self), 2);
	sleep_ns(5 * MSEC);
	EXPECT_EQ(now(self, recv_flags(self->s[0], self->in, 1, MSG_OOB)), 1);
	EXPECT_EQ(self->in[0], 'c');
	EXPECT_EQ(now(self, sqe_recv(0, self->s[0], self->in, 64)), 3);
	EXPECT_EQ(memcmp(self->in, "def", 3), 0);
	EXPECT_EQ(now(self, recv_flags(self->s[0], self->in, 1, MSG_OOB)),
		  -EINVAL);
	/* sending one */
	EXPECT_EQ(now(self, send_flags(self->s[0], "xyz", 3, MSG_OOB)), 3);
	ASSERT_EQ(recv(self->s[1], self->in, 1, MSG_OOB), 1);
	EXPECT_EQ(self->in[0], 'z');
}

/* A datagram that is short says nothing of the next one. */
TEST_F(io, many_short_datagrams)
{
	unsigned int i;

	unix_pair(self->s, SOCK_DGRAM);
	ASSERT_TRUE(arms(self, sqe_recv(0, self->s[0], self->in, 64)));
	for (i = 1; i < 9; i++)
		ASSERT_EQ(send(self->s[1], self->out, i, 0), (ssize_t)i);
	EXPECT_EQ(later(self), 1);
	for (i = 2; i < 9; i++)
		EXPECT_EQ(now(self, sqe_recv(0, self->s[0], self->in, 64)),
			  (int)i);
	/* an empty one is no end of file */
	ASSERT_EQ(send(self->s[1], "", 0, 0), 0);
	EXPECT_EQ(now(self, sqe_recv(0, self->s[0], self->in, 64)), 0);
	ASSERT_TRUE(arms(self, sqe_recv(0, self->s[0], self->in, 64)));
	ASSERT_EQ(send(self->s[1], self->out, 5, 0), 5);
	EXPECT_EQ(later(self), 5);
}

/* Nobody blocks, and nobody changes how the file is. */
TEST_F(io, blocking_files_stay_so)
{
	int flags;

	unix_pair(self->s, SOCK_STREAM);
	flags = fcntl(self->s[0], F_GETFL);
	ASSERT_FALSE(flags & O_NONBLOCK);
	ASSERT_TRUE(arms(self, sqe_recv(0, self->s[0], self->in, 64)));
	EXPECT_EQ(fcntl(self->s[0], F_GETFL), flags);
	ASSERT_EQ(send(self->s[1], self->out, 5, 0), 5);
	EXPECT_EQ(later(self), 5);
	fill_socket(self->s[0]);
	ASSERT_TRUE(arms(self, sqe_send(0, self->s[0], self->out, 64)));
	EXPECT_EQ(fcntl(self->s[0], F_GETFL), flags);
	drain_socket(self->s[1]);
	EXPECT_EQ(later(self), 64);
	EXPECT_EQ(fcntl(self->s[0], F_GETFL), flags);
}

/* And who has O_NONBLOCK set waits all the same. */
TEST_F(io, nonblocking_files_wait)
{
	unix_pair(self->s, SOCK_STREAM | SOCK_NONBLOCK);
	ASSERT_TRUE(arms(self, sqe_recv(0, self->s[0], self->in, 64)));
	ASSERT_EQ(send(self->s[1], self->out, 5, 0), 5);
	EXPECT_EQ(later(self), 5);
	EXPECT_TRUE(fcntl(self->s[0], F_GETFL) & O_NONBLOCK);
}

/* What recv(2) and send(2) fail with. */
TEST_F(io, errors)
{
	struct sockaddr_in a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	static char large[70000];

	EXPECT_EQ(now(self, sqe_recv(0, fd, self->in, 8)), -ENOTCONN);
	EXPECT_EQ(now(self, sqe_send(0, fd, self->out, 8)), -EPIPE);
	loopback(&a);
	ASSERT_EQ(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ASSERT_EQ(listen(fd, 1), 0);
	EXPECT_EQ(now(self, sqe_recv(0, fd, self->in, 8)), -ENOTCONN);
	EXPECT_EQ(now(self, sqe_send(0, udp, self->out, 8)), -EDESTADDRREQ);
	/* a port that nobody has */
	a.sin_port = htons(9);
	ASSERT_EQ(connect(udp, (struct sockaddr *)&a, sizeof(a)), 0);
	EXPECT_EQ(now(self, sqe_send(0, udp, large, sizeof(large))), -EMSGSIZE);
	EXPECT_EQ(now(self, sqe_send(0, udp, self->out, 8)), 8);
	EXPECT_EQ(io_wait(&self->d, &self->w,
			  next(self, sqe_recv(0, udp, self->in, 8)),
			  self->limit), -ECONNREFUSED);
	ASSERT_TRUE(arms(self, sqe_recv(0, udp, self->in, 8)));
	/* an error that comes while it waits */
	ASSERT_EQ(send(udp, "x", 1, 0), 1);
	EXPECT_EQ(later(self), -ECONNREFUSED);
}

TEST_F(io, bad_buffers)
{
	void *nowhere = mmap(NULL, 8192, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *wild = (void *)0xffff800000000000UL;
	char *part;

	unix_pair(self->s, SOCK_STREAM);
	ASSERT_EQ(send(self->s[1], self->out, 10, 0), 10);
	EXPECT_EQ(now(self, sqe_recv(0, self->s[0], nowhere, 10)), -EFAULT);
	EXPECT_EQ(now(self, sqe_recv(0, self->s[0], wild, 10)), -EFAULT);
	EXPECT_EQ(now(self, sqe_send(0, self->s[0], nowhere, 10)), -EFAULT);
	EXPECT_EQ(now(self, sqe_send(0, self->s[0], wild, 10)), -EFAULT);
	EXPECT_EQ(now(self, sqe_msg(ROOST_OP_RECVMSG, 0, self->s[0], nowhere)),
		  of_msg(-EFAULT));
	EXPECT_EQ(now(self, sqe_msg(ROOST_OP_SENDMSG, 0, self->s[0], wild)),
		  of_msg(-EFAULT));
	/* nothing has come of it on the other side */
	EXPECT_EQ(drain_socket(self->s[1]), 0);
	/* the second half of one is not there; then it is */
	part = (char *)nowhere + 4096 - 5;
	ASSERT_EQ(mprotect(nowhere, 4096, PROT_READ | PROT_WRITE), 0);
	EXPECT_EQ(now(self, sqe_send(0, self->s[0], part, 10)), -EFAULT);
	EXPECT_EQ(drain_socket(self->s[1]), 0);
	ASSERT_EQ(mprotect(nowhere, 8192, PROT_READ | PROT_WRITE), 0);
	memset(part, 'x', 10);
	EXPECT_EQ(now(self, sqe_send(0, self->s[0], part, 10)), 10);
	EXPECT_EQ(drain_socket(self->s[1]), 10);
	/* and the bytes that could not be stored are still to be had */
	EXPECT_EQ(now(self, sqe_recv(0, self->s[0], self->in, 64)), 10);
	/* while it waits the memory goes */
	ASSERT_TRUE(arms(self, sqe_recv(0, self->s[0], nowhere, 10)));
	munmap(nowhere, 8192);
	ASSERT_EQ(send(self->s[1], self->out, 10, 0), 10);
	EXPECT_EQ(later(self), -EFAULT);
}

/* Ten thousand sends into a connection that is gone: no SIGPIPE. */
TEST_F(io, no_sigpipe)
{
	struct msghdr m = { .msg_iov = &(struct iovec){ self->out, 8 },
			    .msg_iovlen = 1 };
	struct roost_sqe write = sqe_io(ROOST_OP_WRITE, 0, 0, self->out, 8);

	unix_pair(self->s, SOCK_STREAM);
	close(self->s[1]);
	write.fd = self->s[0];
	EXPECT_EQ(now(self, sqe_send(0, self->s[0], self->out, 8)), -EPIPE);
	EXPECT_EQ(now(self, sqe_msg(ROOST_OP_SENDMSG, 0, self->s[0], &m)),
		  of_msg(-EPIPE));
	EXPECT_EQ(now(self, write), -EPIPE);
	EXPECT_EQ(now(self, sqe_send_recv(0, self->s[0], self->out, 8, self->in,
					  8)), -EPIPE);
}

/* On one file: two readers, and each byte goes to one of them. */
TEST_F(io, two_readers)
{
	unsigned char seen[256] = { 0 };
	char in[2][16];
	uint32_t sequence[2] = { 1, 1 };
	unsigned int i, k, sent = 0, got = 0;
	struct roost_cqe cqe;
	struct roost_sqe sqe;
	uint64_t seed = 5;

	tcp_pair(self->s);
	for (i = 0; i < 2; i++) {
		sqe = sqe_recv(roost_op_id(i, 1), self->s[0], in[i], 16);
		ASSERT_EQ(submit_one(&self->w, self->file ? on_file(sqe, 1) :
							    sqe), 1);
	}
	while (got < 256) {
		for (k = 0; sent < 256 && k < random_next(&seed) % 40; k++) {
			char byte = (char)sent++;

			ASSERT_EQ(send(self->s[1], &byte, 1, 0), 1);
		}
		if (wait_pop(&self->d, &self->w, &cqe, now_ns() + 5 * MSEC)) {
			ASSERT_LT(now_ns(), self->limit);
			continue;
		}
		i = roost_op_index(cqe.user_data);
		ASSERT_LT(i, 2);
		ASSERT_GT(cqe.res, 0);
		for (k = 0; k < (unsigned int)cqe.res; k++)
			seen[(unsigned char)in[i][k]]++;
		got += (unsigned int)cqe.res;
		sqe = sqe_recv(roost_op_id(i, ++sequence[i]), self->s[0], in[i],
			       16);
		ASSERT_EQ(submit_one(&self->w, self->file ? on_file(sqe, 1) :
							    sqe), 1);
	}
	for (i = 0; i < 256; i++)
		EXPECT_EQ(seen[i], 1);
}

/* Reading and writing wait for different things. */
TEST_F(io, reader_and_writer)
{
	struct roost_sqe in, out;
	struct roost_cqe cqe;

	unix_pair(self->s, SOCK_STREAM);
	fill_socket(self->s[0]);
	in = sqe_recv(roost_op_id(1, 1), self->s[0], self->in, 64);
	out = sqe_send(roost_op_id(2, 1), self->s[0], self->out, 64);
	ASSERT_EQ(submit_one(&self->w, self->file ? on_file(in, 1) : in), 1);
	ASSERT_EQ(submit_one(&self->w, self->file ? on_file(out, 1) : out), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	EXPECT_EQ(stat_of(&self->d).ios_pending, 2);
	ASSERT_EQ(send(self->s[1], self->out, 5, 0), 5);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.user_data, in.op_id);
	EXPECT_EQ(cqe.res, 5);
	EXPECT_TRUE(nothing_comes(&self->d, &self->w));
	drain_socket(self->s[1]);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.user_data, out.op_id);
	EXPECT_EQ(cqe.res, 64);
}

/* Many wait for one file; one event, one datagram: one of them has it. */
TEST_F(io, many_on_one_file)
{
	bool done[32] = { false };
	struct roost_sqe sqe;
	struct roost_cqe cqe;
	char in[32][4];
	unsigned int i;

	unix_pair(self->s, SOCK_SEQPACKET);
	for (i = 0; i < 32; i++) {
		sqe = sqe_recv(roost_op_id(i, 1), self->s[0], in[i], 4);
		ASSERT_EQ(submit_one(&self->w, self->file ? on_file(sqe, 1) :
							    sqe), 1);
	}
	EXPECT_EQ(stat_of(&self->d).ios_pending, 32);
	for (i = 0; i < 32; i++) {
		ASSERT_EQ(send(self->s[1], &i, sizeof(i), 0), sizeof(i));
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		ASSERT_LT(roost_op_index(cqe.user_data), 32);
		EXPECT_FALSE(done[roost_op_index(cqe.user_data)]);
		done[roost_op_index(cqe.user_data)] = true;
		EXPECT_EQ(cqe.res, sizeof(i));
		EXPECT_EQ(memcmp(in[roost_op_index(cqe.user_data)], &i,
				 sizeof(i)), 0);
		EXPECT_FALSE(pop(&self->w, &cqe));
		EXPECT_EQ(stat_of(&self->d).ios_pending, 31 - i);
	}
	/* all at once when the end comes */
	for (i = 0; i < 32; i++) {
		sqe = sqe_recv(roost_op_id(i, 2), self->s[0], in[i], 4);
		ASSERT_EQ(submit_one(&self->w, self->file ? on_file(sqe, 1) :
							    sqe), 1);
	}
	ASSERT_EQ(shutdown(self->s[0], SHUT_RDWR), 0);
	for (i = 0; i < 32; i++) {
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		EXPECT_EQ(cqe.res, 0);
	}
	EXPECT_EQ(stat_of(&self->d).ios_pending, 0);
}

TEST_HARNESS_MAIN
