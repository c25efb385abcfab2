// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * io_msg_test.c - RECVMSG and SENDMSG: names, pieces, control data, and what
 * comes back in the struct msghdr; SEND_RECV: both halves of it.
 */
#include "kselftest_harness.h"

#include "io_help.h"

FIXTURE(msg) {
	struct dom d;
	struct wrk w;
	uint64_t limit;
	uint32_t sequence;
	int s[2];
	char in[4096], out[4096];
	char control[512];
};

FIXTURE_SETUP(msg)
{
	unsigned int i;

	self->limit = now_ns() + wide(20 * SEC);
	self->sequence = 0;
	for (i = 0; i < sizeof(self->out); i++)
		self->out[i] = (char)(i * 7 + i / 256);
	memset(self->in, 0x5a, sizeof(self->in));
	memset(self->control, 0, sizeof(self->control));
	ASSERT_EQ(dom_make_io(&self->d, 64, 1024), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 64, 128), 0);
	ASSERT_EQ(attach(&self->w), 0);
}

FIXTURE_TEARDOWN(msg)
{
	close(self->w.fd);
	close(self->d.fd);
}

static uint64_t next_id(FIXTURE_DATA(msg) *self)
{
	return roost_op_id(0, ++self->sequence);
}

static int do_msg(FIXTURE_DATA(msg) *self, uint8_t opcode, int fd,
		  struct msghdr *m)
{
	return io_wait(&self->d, &self->w,
		       sqe_msg(opcode, next_id(self), fd, m), self->limit);
}

static int do_msg_flags(FIXTURE_DATA(msg) *self, uint8_t opcode, int fd,
			struct msghdr *m, uint32_t flags)
{
	struct roost_sqe sqe = sqe_msg(opcode, next_id(self), fd, m);

	sqe.msg_flags = flags;
	return io_wait(&self->d, &self->w, sqe, self->limit);
}

TEST_F(msg, pieces)
{
	char a[3], b[5], c[100];
	struct iovec in[4] = { { a, 3 }, { NULL, 0 }, { b, 5 }, { c, 100 } };
	struct iovec out[3] = { { self->out, 2 }, { self->out + 2, 0 },
				{ self->out + 2, 18 } };
	struct msghdr min = { .msg_iov = in, .msg_iovlen = 4 };
	struct msghdr mout = { .msg_iov = out, .msg_iovlen = 3 };

	unix_pair(self->s, SOCK_STREAM);
	EXPECT_EQ(do_msg(self, ROOST_OP_SENDMSG, self->s[1], &mout), 20);
	EXPECT_EQ(do_msg(self, ROOST_OP_RECVMSG, self->s[0], &min), 20);
	EXPECT_EQ(memcmp(a, self->out, 3), 0);
	EXPECT_EQ(memcmp(b, self->out + 3, 5), 0);
	EXPECT_EQ(memcmp(c, self->out + 8, 12), 0);
	EXPECT_EQ(min.msg_flags, 0);
}

/* So many that they do not fit on anybody's stack; and one too many. */
TEST_F(msg, very_many_pieces)
{
	struct iovec *v = calloc(1100, sizeof(*v));
	struct msghdr m = { .msg_iov = v };
	unsigned int i;

	for (i = 0; i < 1100; i++)
		v[i] = (struct iovec){ self->out + i, 1 };
	unix_pair(self->s, SOCK_STREAM);
	m.msg_iovlen = 1024;
	EXPECT_EQ(do_msg(self, ROOST_OP_SENDMSG, self->s[1], &m), 1024);
	ASSERT_EQ(recv(self->s[0], self->in, 4096, 0), 1024);
	EXPECT_EQ(memcmp(self->in, self->out, 1024), 0);
	m.msg_iovlen = 1025;
	EXPECT_EQ(do_msg(self, ROOST_OP_SENDMSG, self->s[1], &m), -EMSGSIZE);
	m.msg_iovlen = 1;
	v[0].iov_len = ~0UL;
	EXPECT_EQ(do_msg(self, ROOST_OP_SENDMSG, self->s[1], &m), -EINVAL);
	m.msg_iov = (void *)8;
	EXPECT_EQ(do_msg(self, ROOST_OP_SENDMSG, self->s[1], &m), -EFAULT);
	free(v);
}

/* What is written back goes nowhere: the message is gone, as with recvmsg(2). */
TEST_F(msg, results_that_cannot_be_written)
{
	struct iovec v = { self->in, 8 };
	struct sockaddr_in a[2];
	struct msghdr *m;
	void *nowhere;

	nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0);
	ASSERT_TRUE(nowhere != MAP_FAILED && m != MAP_FAILED);
	udp_pair(self->s, a);
	*m = (struct msghdr){
		.msg_name = nowhere, .msg_namelen = sizeof(a[0]),
		.msg_iov = &v, .msg_iovlen = 1,
	};
	ASSERT_EQ(sendto(self->s[1], "1234", 4, 0, (struct sockaddr *)&a[0],
			 sizeof(a[0])), 4);
	EXPECT_EQ(do_msg(self, ROOST_OP_RECVMSG, self->s[0], m), -EFAULT);
	m->msg_name = NULL;
	m->msg_namelen = 0;
	ASSERT_EQ(mprotect(m, 4096, PROT_READ), 0);
	ASSERT_EQ(sendto(self->s[1], "5678", 4, 0, (struct sockaddr *)&a[0],
			 sizeof(a[0])), 4);
	EXPECT_EQ(do_msg(self, ROOST_OP_RECVMSG, self->s[0], m), -EFAULT);
	EXPECT_EQ(memcmp(self->in, "5678", 4), 0);
	ASSERT_EQ(mprotect(m, 4096, PROT_READ | PROT_WRITE), 0);
	ASSERT_EQ(sendto(self->s[1], "90", 2, 0, (struct sockaddr *)&a[0],
			 sizeof(a[0])), 2);
	EXPECT_EQ(do_msg(self, ROOST_OP_RECVMSG, self->s[0], m), 2);
	munmap(m, 4096);
	munmap(nowhere, 4096);
}

/* The header and the pieces are read when it is tried, or before: either way
 * the bytes arrive that were there at the submission. */
TEST_F(msg, armed_with_pieces)
{
	char a[4], b[4];
	struct iovec v[2] = { { a, 4 }, { b, 4 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	struct roost_cqe cqe;

	unix_pair(self->s, SOCK_STREAM);
	ASSERT_EQ(submit_one(&self->w, sqe_msg(ROOST_OP_RECVMSG, next_id(self),
					       self->s[0], &m)), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	ASSERT_EQ(send(self->s[1], "12345678", 8, 0), 8);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.res, 8);
	EXPECT_EQ(memcmp(a, "1234", 4), 0);
	EXPECT_EQ(memcmp(b, "5678", 4), 0);
}

TEST_F(msg, names)
{
	struct iovec v = { self->out, 10 };
	struct sockaddr_in a[2], from = { 0 };
	struct sockaddr_storage wide_name;
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	udp_pair(self->s, a);
	m.msg_name = &a[0];
	m.msg_namelen = sizeof(a[0]);
	EXPECT_EQ(do_msg(self, ROOST_OP_SENDMSG, self->s[1], &m), 10);
	v.iov_base = self->in;
	m.msg_name = &from;
	m.msg_namelen = sizeof(from);
	EXPECT_EQ(do_msg(self, ROOST_OP_RECVMSG, self->s[0], &m), 10);
	EXPECT_EQ(m.msg_namelen, sizeof(from));
	EXPECT_EQ(from.sin_port, a[1].sin_port);
	EXPECT_EQ(from.sin_addr.s_addr, a[1].sin_addr.s_addr);
	EXPECT_EQ(memcmp(self->in, self->out, 10), 0);
	/* answer to that address */
	m.msg_name = &from;
	EXPECT_EQ(do_msg(self, ROOST_OP_SENDMSG, self->s[0], &m), 10);
	/* cut off, the true length reported, as by recvmsg(2) */
	memset(&wide_name, 0x5a, sizeof(wide_name));
	m.msg_name = &wide_name;
	m.msg_namelen = 4;
	EXPECT_EQ(do_msg(self, ROOST_OP_RECVMSG, self->s[1], &m), 10);
	EXPECT_EQ(m.msg_namelen, sizeof(from));
	EXPECT_EQ(((char *)&wide_name)[4], 0x5a);
	/* a name that nobody has */
	v.iov_base = self->out;
	m.msg_namelen = 4;
	EXPECT_EQ(do_msg(self, ROOST_OP_SENDMSG, self->s[0], &m), -EINVAL);
	m.msg_name = (void *)8;
	m.msg_namelen = sizeof(from);
	EXPECT_EQ(do_msg(self, ROOST_OP_SENDMSG, self->s[0], &m), -EFAULT);
}

TEST_F(msg, truncated)
{
	struct iovec v = { self->in, 4 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1,
			    .msg_flags = 0x7fff };
	struct roost_cqe cqe;

	unix_pair(self->s, SOCK_DGRAM);
	ASSERT_EQ(send(self->s[1], self->out, 10, 0), 10);
	cqe = do_now(&self->w, sqe_msg(ROOST_OP_RECVMSG, next_id(self),
				       self->s[0], &m));
	EXPECT_EQ(cqe.res, 4);
	EXPECT_EQ(cqe.flags, ROOST_CQE_IO | ROOST_CQE_TRUNC);
	EXPECT_EQ(m.msg_flags, MSG_TRUNC);
	/* the whole length, if asked for */
	ASSERT_EQ(send(self->s[1], self->out, 10, 0), 10);
	EXPECT_EQ(do_msg_flags(self, ROOST_OP_RECVMSG, self->s[0], &m,
			       MSG_TRUNC), 10);
	EXPECT_EQ(m.msg_flags, MSG_TRUNC);
	/* the next one is whole: nothing is left of the flags */
	ASSERT_EQ(send(self->s[1], self->out, 4, 0), 4);
	cqe = do_now(&self->w, sqe_msg(ROOST_OP_RECVMSG, next_id(self),
				       self->s[0], &m));
	EXPECT_EQ(cqe.flags, ROOST_CQE_IO);
	EXPECT_EQ(m.msg_flags, 0);
	/* an end of record */
	unix_pair(self->s, SOCK_SEQPACKET);
	ASSERT_EQ(send(self->s[1], self->out, 4, MSG_EOR), 4);
	EXPECT_EQ(do_msg(self, ROOST_OP_RECVMSG, self->s[0], &m), 4);
	EXPECT_EQ(m.msg_flags & MSG_TRUNC, 0);
}

/* A message with one file attached. */
static void attach_file(struct msghdr *m, char *control, int fd)
{
	struct cmsghdr *c;

	m->msg_control = control;
	m->msg_controllen = CMSG_SPACE(sizeof(int));
	c = CMSG_FIRSTHDR(m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
}

static int attached_file(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

static bool same_file(int a, int b)
{
	struct stat st[2];

	return !fstat(a, &st[0]) && !fstat(b, &st[1]) &&
	       st[0].st_ino == st[1].st_ino && st[0].st_dev == st[1].st_dev;
}

TEST_F(msg, files_both_ways)
{
	struct iovec v = { self->out, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	int p[2], got;

	ASSERT_EQ(pipe(p), 0);
	unix_pair(self->s, SOCK_STREAM);
	attach_file(&m, self->control, p[0]);
	EXPECT_EQ(do_msg(self, ROOST_OP_SENDMSG, self->s[0], &m), 1);
	memset(self->control, 0, sizeof(self->control));
	m.msg_controllen = sizeof(self->control);
	EXPECT_EQ(do_msg(self, ROOST_OP_RECVMSG, self->s[1], &m), 1);
	got = attached_file(&m);
	ASSERT_GE(got, 0);
	EXPECT_TRUE(same_file(got, p[0]));
	EXPECT_EQ(fcntl(got, F_GETFD), 0);
	EXPECT_EQ(m.msg_controllen, CMSG_SPACE(sizeof(int)));
	close(got);
	/* close-on-exec, if asked for */
	attach_file(&m, self->control, p[0]);
	EXPECT_EQ(do_msg(self, ROOST_OP_SENDMSG, self->s[1], &m), 1);
	m.msg_controllen = sizeof(self->control);
	EXPECT_EQ(do_msg_flags(self, ROOST_OP_RECVMSG, self->s[0], &m,
			       MSG_CMSG_CLOEXEC), 1);
	got = attached_file(&m);
	ASSERT_GE(got, 0);
	EXPECT_EQ(fcntl(got, F_GETFD), FD_CLOEXEC);
	/* what nobody takes is closed, and that is said */
	attach_file(&m, self->control, p[0]);
	EXPECT_EQ(do_msg(self, ROOST_OP_SENDMSG, self->s[1], &m), 1);
	m.msg_control = NULL;
	m.msg_controllen = 0;
	EXPECT_EQ(do_msg(self, ROOST_OP_RECVMSG, self->s[0], &m), 1);
	EXPECT_EQ(m.msg_flags, MSG_CTRUNC);
	/* a file that is none */
	attach_file(&m, self->control, 999);
	EXPECT_EQ(do_msg(self, ROOST_OP_SENDMSG, self->s[1], &m), -EBADF);
}

/* A receive stops where a file is attached: short, but not at the end. */
TEST_F(msg, short_because_of_a_file)
{
	struct iovec v = { self->out, 2 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	struct roost_cqe cqe;
	struct roost_sqe sqe;
	unsigned int i;

	unix_pair(self->s, SOCK_STREAM);
	v.iov_base = self->in;
	v.iov_len = 100;
	m.msg_control = self->control;
	m.msg_controllen = sizeof(self->control);
	sqe = on_file(sqe_msg(ROOST_OP_RECVMSG, next_id(self), self->s[0], &m),
		      1);
	ASSERT_EQ(submit_one(&self->w, sqe), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	for (i = 0; i < 4; i++) {
		struct iovec o = { self->out, 2 };
		struct msghdr n = { .msg_iov = &o, .msg_iovlen = 1 };
		char control[64] = { 0 };

		attach_file(&n, control, 0);
		ASSERT_EQ(sendmsg(self->s[1], &n, 0), 2);
	}
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.res, 2);
	EXPECT_GE(attached_file(&m), 0);
	for (i = 0; i < 3; i++) {
		m.msg_controllen = sizeof(self->control);
		sqe = on_file(sqe_msg(ROOST_OP_RECVMSG, next_id(self),
				      self->s[0], &m), 1);
		EXPECT_EQ(io_now(&self->w, sqe), 2);
		EXPECT_GE(attached_file(&m), 0);
	}
	/* the same for a RECV, which lets the files go */
	for (i = 0; i < 2; i++) {
		struct iovec o = { self->out, 2 };
		struct msghdr n = { .msg_iov = &o, .msg_iovlen = 1 };
		char control[64] = { 0 };

		attach_file(&n, control, 0);
		ASSERT_EQ(sendmsg(self->s[1], &n, 0), 2);
	}
	for (i = 0; i < 2; i++) {
		sqe = on_file(sqe_recv(next_id(self), self->s[0], self->in,
				       100), 1);
		EXPECT_EQ(io_now(&self->w, sqe), 2);
	}
}

TEST_F(msg, credentials_and_times)
{
	struct iovec v = { self->out, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1,
			    .msg_control = self->control };
	struct sockaddr_in a[2];
	struct ucred cred;
	struct cmsghdr *c;

	unix_pair(self->s, SOCK_STREAM);
	set_option(self->s[0], SOL_SOCKET, SO_PASSCRED, 1);
	ASSERT_EQ(io_now(&self->w, sqe_send(next_id(self), self->s[1], "x", 1)),
		  1);
	m.msg_controllen = sizeof(self->control);
	EXPECT_EQ(do_msg(self, ROOST_OP_RECVMSG, self->s[0], &m), 1);
	c = CMSG_FIRSTHDR(&m);
	ASSERT_NE(c, NULL);
	EXPECT_EQ(c->cmsg_type, SCM_CREDENTIALS);
	memcpy(&cred, CMSG_DATA(c), sizeof(cred));
	EXPECT_EQ(cred.pid, getpid());
	EXPECT_EQ(cred.uid, getuid());
	/* when it came */
	udp_pair(self->s, a);
	set_option(self->s[0], SOL_SOCKET, SO_TIMESTAMP, 1);
	ASSERT_EQ(sendto(self->s[1], "x", 1, 0, (struct sockaddr *)&a[0],
			 sizeof(a[0])), 1);
	m.msg_controllen = sizeof(self->control);
	EXPECT_EQ(do_msg(self, ROOST_OP_RECVMSG, self->s[0], &m), 1);
	c = CMSG_FIRSTHDR(&m);
	ASSERT_NE(c, NULL);
	EXPECT_EQ(c->cmsg_type, SO_TIMESTAMP);
	EXPECT_EQ(c->cmsg_len, CMSG_LEN(sizeof(struct timeval)));
	/* no room for all of it */
	ASSERT_EQ(sendto(self->s[1], "x", 1, 0, (struct sockaddr *)&a[0],
			 sizeof(a[0])), 1);
	m.msg_controllen = CMSG_LEN(4);
	EXPECT_EQ(do_msg(self, ROOST_OP_RECVMSG, self->s[0], &m), 1);
	EXPECT_EQ(m.msg_flags & MSG_CTRUNC, MSG_CTRUNC);
}

/* Control data that is none. */
TEST_F(msg, bad_control)
{
	struct iovec v = { self->out, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	unix_pair(self->s, SOCK_STREAM);
	m.msg_control = (void *)8;
	m.msg_controllen = 32;
	EXPECT_EQ(do_msg(self, ROOST_OP_SENDMSG, self->s[0], &m), -EFAULT);
	attach_file(&m, self->control, 0);
	CMSG_FIRSTHDR(&m)->cmsg_len = 1;
	EXPECT_EQ(do_msg(self, ROOST_OP_SENDMSG, self->s[0], &m), -EINVAL);
	m.msg_control = self->control;
	m.msg_controllen = 1UL << 40;
	EXPECT_EQ(do_msg(self, ROOST_OP_SENDMSG, self->s[0], &m), -ENOBUFS);
	EXPECT_EQ(drain_socket(self->s[1]), 0);
}

/* SEND_RECV */

static struct roost_sqe both(FIXTURE_DATA(msg) *self, uint32_t out, uint32_t in)
{
	return sqe_send_recv(next_id(self), self->s[0], self->out, out,
			     self->in, in);
}

TEST_F(msg, request_and_reply)
{
	struct roost_cqe cqe;
	char got[64];
	unsigned int i;

	tcp_pair(self->s);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(submit_one(&self->w, on_file(both(self, 50, 50), 1)),
			  1);
		EXPECT_FALSE(pop(&self->w, &cqe));
		ASSERT_EQ(recv(self->s[1], got, 64, 0), 50);
		EXPECT_EQ(memcmp(got, self->out, 50), 0);
		ASSERT_EQ(send(self->s[1], "reply", 5, 0), 5);
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		EXPECT_EQ(cqe.res, 5);
		EXPECT_EQ(cqe.flags, ROOST_CQE_IO);
		EXPECT_EQ(memcmp(self->in, "reply", 5), 0);
	}
	/* no error is that of the receiving, but where it says so */
	ASSERT_EQ(submit_one(&self->w, both(self, 50, 50)), 1);
	ASSERT_EQ(recv(self->s[1], got, 64, 0), 50);
	close(self->s[1]);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.res, 0);
	EXPECT_EQ(cqe.flags, ROOST_CQE_IO);
}

/* Part of it goes out: that ends it, and what came in is left alone. */
TEST_F(msg, sent_in_part)
{
	const uint32_t size = 1U << 20;
	char *big = calloc(1, size);
	struct roost_cqe cqe;
	int pass;

	for (pass = 0; pass < 2; pass++) {
		if (pass)
			tcp_pair(self->s);
		else
			unix_pair(self->s, SOCK_STREAM);
		set_option(self->s[0], SOL_SOCKET, SO_SNDBUF, 32768);
		ASSERT_EQ(send(self->s[1], "early", 5, 0), 5);
		ASSERT_EQ(submit_one(&self->w,
				     sqe_send_recv(next_id(self), self->s[0],
						   big, size, self->in, 64)),
			  1);
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		EXPECT_EQ(cqe.flags, ROOST_CQE_IO | ROOST_CQE_SEND);
		EXPECT_GT(cqe.res, 0);
		EXPECT_LT(cqe.res, (int)size);
		EXPECT_EQ(self->in[0], 0x5a);
		/* the rest is for another op; the early bytes are there */
		EXPECT_EQ(recv(self->s[0], self->in, 64, MSG_DONTWAIT), 5);
		memset(self->in, 0x5a, 64);
	}
	free(big);
}

/* A reader that takes its time: the sending half waits, then the other. */
TEST_F(msg, slow_peer)
{
	struct roost_cqe cqe;
	size_t junk;
	int n;

	unix_pair(self->s, SOCK_STREAM);
	junk = fill_socket(self->s[0]);
	ASSERT_EQ(submit_one(&self->w, both(self, 50, 50)), 1);
	/* what comes in does not matter before it is out */
	ASSERT_EQ(send(self->s[1], "reply", 5, 0), 5);
	EXPECT_TRUE(nothing_comes(&self->d, &self->w));
	while (junk) {
		n = (int)recv(self->s[1], (char [1000]){ 0 },
			      junk < 1000 ? junk : 1000, MSG_DONTWAIT);
		ASSERT_GT(n, 0);
		junk -= (size_t)n;
		sleep_ns(MSEC / 10);
	}
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.res, 5);
	EXPECT_EQ(cqe.flags, ROOST_CQE_IO);
	EXPECT_EQ(drain_socket(self->s[1]), 50);
}

TEST_F(msg, error_in_the_sending_half)
{
	struct roost_cqe cqe;

	unix_pair(self->s, SOCK_STREAM);
	ASSERT_EQ(send(self->s[1], "early", 5, 0), 5);
	close(self->s[1]);
	cqe = do_now(&self->w, both(self, 50, 50));
	EXPECT_EQ(cqe.res, -EPIPE);
	EXPECT_EQ(cqe.flags, ROOST_CQE_IO | ROOST_CQE_SEND);
	/* nothing was received */
	EXPECT_EQ(self->in[0], 0x5a);
	EXPECT_EQ(recv(self->s[0], self->in, 64, MSG_DONTWAIT), 5);
	/* the flags are for the sending */
	tcp_pair(self->s);
	cqe = do_now(&self->w, sqe_send_recv(next_id(self), self->s[0],
					     (void *)8, 50, self->in, 50));
	EXPECT_EQ(cqe.res, -EFAULT);
	EXPECT_EQ(cqe.flags, ROOST_CQE_IO | ROOST_CQE_SEND);
}

TEST_F(msg, error_in_the_receiving_half)
{
	struct roost_cqe cqe;

	unix_pair(self->s, SOCK_STREAM);
	ASSERT_EQ(send(self->s[1], "early", 5, 0), 5);
	cqe = do_now(&self->w, sqe_send_recv(next_id(self), self->s[0],
					     self->out, 50, (void *)8, 50));
	EXPECT_EQ(cqe.res, -EFAULT);
	EXPECT_EQ(cqe.flags, ROOST_CQE_IO);
	EXPECT_EQ(drain_socket(self->s[1]), 50);
}

/* Both sides do nothing but SEND_RECV to each other. */
TEST_F(msg, both_sides_at_once)
{
	char in[2][600], out[2][600];
	struct roost_cqe cqe;
	unsigned int rounds[2] = { 0, 0 }, i, k;

	tcp_pair(self->s);
	for (i = 0; i < 2; i++) {
		memset(out[i], 'a' + (int)i, sizeof(out[i]));
		ASSERT_EQ(submit_one(&self->w,
				     on_file(sqe_send_recv(roost_op_id(i, 1),
							   self->s[i], out[i],
							   600, in[i], 600),
					     1)), 1);
	}
	while (rounds[0] + rounds[1] < 200) {
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		i = roost_op_index(cqe.user_data);
		ASSERT_LT(i, 2);
		ASSERT_EQ(cqe.flags, ROOST_CQE_IO);
		ASSERT_EQ(cqe.res, 600);
		for (k = 0; k < 600; k++)
			ASSERT_EQ(in[i][k], 'b' - (int)i);
		rounds[i]++;
		ASSERT_EQ(submit_one(&self->w,
				     on_file(sqe_send_recv(roost_op_id(i,
							rounds[i] + 1),
							   self->s[i], out[i],
							   600, in[i], 600),
					     1)), 1);
	}
}

TEST_HARNESS_MAIN
