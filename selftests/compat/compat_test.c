// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * compat_test.c - what is different for a 32-bit process: pointers in a structure
 * have 64 bits, and struct msghdr is that of another ABI.
 */
#include "kselftest_harness.h"

#include "io_help.h"

FIXTURE(compat) {
	struct dom d;
	struct wrk w;
	int s[2];
};

FIXTURE_SETUP(compat)
{
	ASSERT_EQ(dom_make_io(&self->d, 16, 64), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 8, 8), 0);
	unix_pair(self->s, SOCK_STREAM);
}

FIXTURE_TEARDOWN(compat)
{
	close(self->w.fd);
	close(self->d.fd);
}

TEST_F(compat, is_a_32_bit_process)
{
	EXPECT_EQ(sizeof(void *), 4);
	EXPECT_EQ(_Alignof(struct { uint64_t x; }), 4);
}

TEST_F(compat, moves_bytes)
{
	char in[8] = { 0 };

	EXPECT_EQ(io_now(&self->w, sqe_send(roost_op_id(0, 1), self->s[0],
					    "seven..", 8)), 8);
	EXPECT_EQ(io_now(&self->w, sqe_recv(roost_op_id(0, 2), self->s[1],
					    in, 8)), 8);
	EXPECT_EQ(memcmp(in, "seven..", 8), 0);
}

/* An address that this process cannot have is none, and is not cut to 32 bits. */
TEST_F(compat, addresses_have_64_bits)
{
	static char in[8];
	struct roost_sqe sqe = sqe_recv(roost_op_id(0, 1), self->s[1], in, 8);
	struct roost_cqe cqe;

	ASSERT_EQ(write(self->s[0], "12345678", 8), 8);
	sqe.addr |= 1ULL << 32;
	ASSERT_EQ(io_wait(&self->d, &self->w, sqe, 0), -EFAULT);
	EXPECT_FALSE(pop(&self->w, &cqe));
	EXPECT_EQ(in[0], 0);
	EXPECT_EQ(io_now(&self->w, sqe_recv(roost_op_id(0, 2), self->s[1],
					    in, 8)), 8);
}

TEST_F(compat, no_struct_msghdr)
{
	char in[8];
	struct iovec v = { in, 8 };
	struct msghdr msg = { .msg_iov = &v, .msg_iovlen = 1 };

	ASSERT_EQ(write(self->s[0], "x", 1), 1);
	EXPECT_EQ(io_now(&self->w, sqe_msg(ROOST_OP_RECVMSG, roost_op_id(0, 1),
					   self->s[1], &msg)), -EOPNOTSUPP);
	EXPECT_EQ(io_now(&self->w, sqe_msg(ROOST_OP_SENDMSG, roost_op_id(0, 2),
					   self->s[1], &msg)), -EOPNOTSUPP);
	/* and nothing was taken */
	EXPECT_EQ(recv(self->s[1], in, 8, MSG_DONTWAIT), 1);
}

TEST_HARNESS_MAIN
