// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * io_args_test.c - what an entry of an I/O op may hold, and what is made of one
 * that holds something else: each is refused by its completion, and those
 * behind it go on.
 */
#include "kselftest_harness.h"

#include "io_help.h"

#define IOS	32

/* Fields of an entry that an op may or may not take. */
enum {
	DEADLINE = 1, EVENTS = 2, WORKER = 4, ADDR = 8, ADDR2 = 16, LEN = 32,
	LEN2 = 64, MSG = 128, FILE_SEQ = 256, FD = 512, RESERVED = 1024,
	FLAG_QUIET = 2048, FLAG_MULTI = 4096, FLAG_FILE = 8192,
	FLAG_3 = 1 << 14, FLAG_7 = 1 << 15, LAST = FLAG_7,
};

#define COMMON	(DEADLINE | ADDR | FD | FLAG_FILE)

static const struct {
	const char *name;
	uint8_t opcode;
	unsigned int takes;
	uint32_t kind;
} ops[] = {
	{ "RECV", ROOST_OP_RECV, COMMON | LEN | MSG, ROOST_CQE_IO },
	{ "SEND", ROOST_OP_SEND, COMMON | LEN | MSG, ROOST_CQE_IO },
	{ "RECVMSG", ROOST_OP_RECVMSG, COMMON | MSG, ROOST_CQE_IO },
	{ "SENDMSG", ROOST_OP_SENDMSG, COMMON | MSG, ROOST_CQE_IO },
	{ "READ", ROOST_OP_READ, COMMON | LEN | ADDR2, ROOST_CQE_IO },
	{ "WRITE", ROOST_OP_WRITE, COMMON | LEN | ADDR2, ROOST_CQE_IO },
	{ "SEND_RECV", ROOST_OP_SEND_RECV,
	  COMMON | LEN | MSG | ADDR2 | LEN2, ROOST_CQE_IO },
	{ "CANCEL", ROOST_OP_CANCEL, FLAG_QUIET, ROOST_CQE_CANCEL },
	{ "FILE_REMOVE", ROOST_OP_FILE_REMOVE, FLAG_QUIET, ROOST_CQE_FILE },
};

#define NR_OPS	(sizeof(ops) / sizeof(ops[0]))

FIXTURE(args) {
	struct dom d;
	struct wrk w;
	uint64_t limit;
	uint32_t sequence;
	int s[2];
	struct iovec iov;
	struct msghdr msg;
	char in[64], out[64];
};

FIXTURE_SETUP(args)
{
	self->limit = now_ns() + wide(20 * SEC);
	self->sequence = 0;
	self->iov = (struct iovec){ self->out, 8 };
	self->msg = (struct msghdr){ .msg_iov = &self->iov, .msg_iovlen = 1 };
	ASSERT_EQ(dom_make_io(&self->d, IOS, 1024), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 16, 32), 0);
	ASSERT_EQ(attach(&self->w), 0);
	unix_pair(self->s, SOCK_STREAM);
}

FIXTURE_TEARDOWN(args)
{
	close(self->w.fd);
	close(self->d.fd);
}

static uint64_t next_id(FIXTURE_DATA(args) *self)
{
	return roost_op_id(0, ++self->sequence);
}

static struct roost_sqe receive(FIXTURE_DATA(args) *self, uint64_t id)
{
	return sqe_recv(id, self->s[0], self->in, 8);
}

/* A good entry of an op that does not wait. */
static struct roost_sqe good_entry(FIXTURE_DATA(args) *self, unsigned int op)
{
	struct roost_sqe sqe = { .opcode = ops[op].opcode,
				 .op_id = next_id(self) };

	if (ops[op].takes & FD)
		sqe.fd = self->s[0];
	if (ops[op].takes & ADDR)
		sqe.addr = (uintptr_t)self->out;
	if (ops[op].takes & LEN)
		sqe.len = 8;
	if (sqe.opcode == ROOST_OP_RECVMSG || sqe.opcode == ROOST_OP_SENDMSG)
		sqe.addr = (uintptr_t)&self->msg;
	if (sqe.opcode == ROOST_OP_READ || sqe.opcode == ROOST_OP_WRITE)
		sqe.offset = ROOST_OFFSET_NONE;
	if (sqe.opcode == ROOST_OP_SEND_RECV) {
		sqe.addr2 = (uintptr_t)self->in;
		sqe.len2 = 8;
	}
	if (sqe.opcode == ROOST_OP_FILE_REMOVE)
		sqe.op_id = roost_op_id(900, 1);
	return sqe;
}

static void dirty(struct roost_sqe *sqe, unsigned int field)
{
	switch (field) {
	case DEADLINE: sqe->deadline = 1; break;
	case EVENTS: sqe->events = POLLIN; break;
	case WORKER: sqe->worker = 1; break;
	case ADDR: sqe->addr = 1; break;
	case ADDR2: sqe->addr2 = 1; break;
	case LEN: sqe->len = 1; break;
	case LEN2: sqe->len2 = 1; break;
	case MSG: sqe->msg_flags = MSG_DONTWAIT; break;
	/* without the flag that it belongs to */
	case FILE_SEQ: sqe->file_seq = 1; break;
	case FD: sqe->fd = 1; break;
	case RESERVED: sqe->reserved0 = 1; break;
	case FLAG_QUIET: sqe->flags |= ROOST_SQE_QUIET; break;
	case FLAG_MULTI: sqe->flags |= ROOST_POLL_MULTISHOT; break;
	case FLAG_FILE: sqe->flags |= ROOST_SQE_FILE; break;
	case FLAG_3: sqe->flags |= 1 << 3; break;
	case FLAG_7: sqe->flags |= 1 << 7; break;
	}
}

/* Each op with each field that it has no use for. */
TEST_F(args, fields)
{
	struct roost_sqe sqe, nop = sqe_nop(4711);
	struct roost_cqe cqe;
	unsigned int op, field;

	for (op = 0; op < NR_OPS; op++) {
		for (field = 1; field <= LAST; field <<= 1) {
			if (ops[op].takes & field)
				continue;
			sqe = good_entry(self, op);
			dirty(&sqe, field);
			push(&self->w, &sqe);
			push(&self->w, &nop);
			ASSERT_EQ(submit(&self->w), 2);
			ASSERT_TRUE(pop(&self->w, &cqe));
			EXPECT_EQ(cqe.res, -EINVAL)
				TH_LOG("%s, field %u", ops[op].name, field);
			EXPECT_EQ(cqe.user_data, sqe.op_id);
			EXPECT_EQ(cqe_kind(&cqe), ops[op].kind)
				TH_LOG("%s, field %u", ops[op].name, field);
			ASSERT_TRUE(pop(&self->w, &cqe));
			EXPECT_EQ(cqe.user_data, 4711);
			ASSERT_FALSE(pop(&self->w, &cqe));
		}
	}
	EXPECT_EQ(stat_of(&self->d).ios_started, 0);
	EXPECT_EQ(drain_socket(self->s[1]), 0);
}

/* And that the entries are good but for these. */
TEST_F(args, good_entries)
{
	struct roost_sqe sqe;
	struct roost_cqe cqe;
	unsigned int op;
	int expected;

	for (op = 0; op < NR_OPS; op++) {
		ASSERT_EQ(send(self->s[1], self->out, 8, 0), 8);
		sqe = good_entry(self, op);
		cqe = do_now(&self->w, sqe);
		expected = ops[op].kind == ROOST_CQE_IO ? 8 :
			   ops[op].opcode == ROOST_OP_CANCEL ? -ECANCELED :
			   -ENOENT;
		if (ops[op].opcode == ROOST_OP_RECVMSG ||
		    ops[op].opcode == ROOST_OP_SENDMSG)
			expected = of_msg(expected);
		EXPECT_EQ(cqe.res, expected)
			TH_LOG("%s", ops[op].name);
		drain_socket(self->s[0]);
	}
}

/* MSG_* bits: known, known and not to be had, unknown. */
TEST_F(args, message_flags)
{
	static const uint32_t refused = MSG_WAITALL | MSG_ZEROCOPY |
					MSG_FASTOPEN;
	static const uint32_t receiving = MSG_OOB | MSG_PEEK | MSG_TRUNC |
					  MSG_DONTWAIT | MSG_ERRQUEUE |
					  MSG_NOSIGNAL | MSG_CMSG_CLOEXEC;
	static const uint32_t sending = MSG_OOB | MSG_DONTROUTE | MSG_DONTWAIT |
					MSG_EOR | MSG_CONFIRM | MSG_NOSIGNAL |
					MSG_MORE;
	unsigned int op, bit;
	struct roost_sqe sqe;
	struct roost_cqe cqe;
	uint32_t takes;

	for (op = 0; op < NR_OPS; op++) {
		if (!(ops[op].takes & MSG))
			continue;
		takes = ops[op].opcode == ROOST_OP_RECV ||
			ops[op].opcode == ROOST_OP_RECVMSG ? receiving :
							     sending;
		for (bit = 0; bit < 32; bit++) {
			if (takes >> bit & 1)
				continue;
			sqe = good_entry(self, op);
			sqe.msg_flags = 1U << bit;
			cqe = do_now(&self->w, sqe);
			EXPECT_EQ(cqe.res, refused >> bit & 1 ? -EOPNOTSUPP :
								-EINVAL)
				TH_LOG("%s, bit %u", ops[op].name, bit);
		}
		/* an unknown one beside a refused one */
		sqe = good_entry(self, op);
		sqe.msg_flags = MSG_WAITALL | 1U << 31;
		EXPECT_EQ(do_now(&self->w, sqe).res, -EINVAL);
	}
	EXPECT_EQ(stat_of(&self->d).ios_pending, 0);
	EXPECT_EQ(drain_socket(self->s[1]), 0);
	/* implied, and therefore allowed */
	sqe = sqe_send(next_id(self), self->s[0], self->out, 8);
	sqe.msg_flags = MSG_NOSIGNAL | MSG_MORE | MSG_CONFIRM;
	EXPECT_EQ(io_now(&self->w, sqe), 8);
}

TEST_F(args, deadlines)
{
	struct roost_sqe sqe = receive(self, next_id(self));
	struct roost_cqe cqe;

	sqe.deadline = ROOST_MAX_DEADLINE + 1;
	EXPECT_EQ(io_now(&self->w, sqe), -EINVAL);
	sqe.op_id = next_id(self);
	sqe.deadline = ~0ULL;
	EXPECT_EQ(io_now(&self->w, sqe), -EINVAL);
	/* the farthest there is */
	sqe.op_id = next_id(self);
	sqe.deadline = ROOST_MAX_DEADLINE;
	ASSERT_EQ(submit_one(&self->w, sqe), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	ASSERT_EQ(send(self->s[1], "x", 1, 0), 1);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.res, 1);
}

TEST_F(args, index_out_of_range)
{
	static const uint32_t bad[] = { IOS, IOS + 1, 1U << 31, ~0U };
	unsigned int i, op;
	struct roost_sqe sqe;

	for (i = 0; i < 4; i++)
		for (op = 0; op < NR_OPS - 1; op++) {
			sqe = good_entry(self, op);
			sqe.op_id = roost_op_id(bad[i], 1);
			EXPECT_EQ(do_now(&self->w, sqe).res, -EINVAL)
				TH_LOG("%s %x", ops[op].name, bad[i]);
		}
	ASSERT_EQ(send(self->s[1], "x", 1, 0), 1);
	EXPECT_EQ(io_now(&self->w, receive(self, roost_op_id(IOS - 1, 1))), 1);
}

/* A domain without I/O ops, or without registered files. */
TEST_F(args, none_asked_for)
{
	struct dom d;
	struct wrk w;

	ASSERT_EQ(dom_make_io(&d, 0, 16), 0);
	EXPECT_TRUE(d.params.features & ROOST_FEAT_IO);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	ASSERT_EQ(send(self->s[1], "x", 1, 0), 1);
	EXPECT_EQ(io_now(&w, receive(self, roost_op_id(0, 1))), -EINVAL);
	EXPECT_EQ(do_now(&w, sqe_cancel(roost_op_id(0, 1), 0)).res, -EINVAL);
	close(w.fd);
	close(d.fd);
	ASSERT_EQ(dom_make_io(&d, 16, 0), 0);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	EXPECT_EQ(io_now(&w, on_file(receive(self, roost_op_id(0, 1)), 1)),
		  -EINVAL);
	EXPECT_EQ(do_now(&w, sqe_file_remove(0, 1, 0)).res, -EINVAL);
	EXPECT_EQ(io_now(&w, receive(self, roost_op_id(1, 1))), 1);
}

/* One op an index; each sequence once. */
TEST_F(args, busy_and_stale)
{
	struct roost_cqe cqe;
	unsigned int op;
	struct roost_sqe sqe;

	ASSERT_EQ(submit_one(&self->w, receive(self, roost_op_id(5, 10))), 1);
	for (op = 0; op < 7; op++) {
		sqe = good_entry(self, op);
		sqe.op_id = roost_op_id(5, 11);
		EXPECT_EQ(io_now(&self->w, sqe), -EBUSY)
			TH_LOG("%s", ops[op].name);
		sqe.op_id = roost_op_id(5, 10);
		EXPECT_EQ(io_now(&self->w, sqe), -ESTALE)
			TH_LOG("%s", ops[op].name);
		sqe.op_id = roost_op_id(5, 9);
		EXPECT_EQ(io_now(&self->w, sqe), -ESTALE)
			TH_LOG("%s", ops[op].name);
	}
	EXPECT_EQ(drain_socket(self->s[1]), 0);
	cqe = do_now(&self->w, sqe_cancel(roost_op_id(5, 9), 0));
	EXPECT_EQ(cqe.res, -ESTALE);
	EXPECT_EQ(cqe.flags, ROOST_CQE_CANCEL);
	/* quiet is not about errors of the call */
	cqe = do_now(&self->w, sqe_cancel(roost_op_id(5, 9), ROOST_SQE_QUIET));
	EXPECT_EQ(cqe.res, -ESTALE);
	/* the op itself is as it was */
	ASSERT_EQ(send(self->s[1], "x", 1, 0), 1);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.user_data, roost_op_id(5, 10));
	EXPECT_EQ(cqe.res, 1);
	EXPECT_EQ(io_now(&self->w, receive(self, roost_op_id(5, 10))), -ESTALE);
	/* done: a cancel finds nothing, under the op id given */
	cqe = do_now(&self->w, sqe_cancel(roost_op_id(5, 10), 0));
	EXPECT_EQ(cqe.res, -ENOENT);
	EXPECT_EQ(cqe.flags, ROOST_CQE_CANCEL);
	/* indices begin below sequence 1, and go on by difference */
	ASSERT_EQ(send(self->s[1], "abc", 3, 0), 3);
	EXPECT_EQ(io_now(&self->w, receive(self, roost_op_id(6, 0))), -ESTALE);
	sqe = receive(self, roost_op_id(6, 0x7fffffff));
	sqe.len = 1;
	EXPECT_EQ(io_now(&self->w, sqe), 1);
	sqe.op_id = roost_op_id(6, 0xfffffffe);
	EXPECT_EQ(io_now(&self->w, sqe), 1);
	sqe.op_id = roost_op_id(6, 1);
	EXPECT_EQ(io_now(&self->w, sqe), 1);
}

/* A completion that waits for a place keeps its index. */
TEST_F(args, busy_until_delivered)
{
	struct roost_cqe cqe;
	struct roost_enter e;
	struct dom d;
	struct wrk w, y;
	unsigned int i;

	ASSERT_EQ(dom_make_io(&d, 16, 16), 0);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	ASSERT_EQ(wrk_make(&y, &d, 8, 8), 0);
	ASSERT_EQ(submit_one(&w, receive(self, roost_op_id(1, 1))), 1);
	for (i = 0; i < 8; i++)
		ASSERT_EQ(submit_one(&w, sqe_nop(i)), 1);
	ASSERT_EQ(send(self->s[1], "x", 1, 0), 1);
	/* carried out by w, whose ring is full */
	e = (struct roost_enter){ 0 };
	ASSERT_EQ(enter(&w, &e), 0);
	EXPECT_EQ(w.page->cq_overflow, 1);
	EXPECT_EQ(stat_of(&d).overflow_pending, 1);
	EXPECT_EQ(stat_of(&d).ios_done, 1);
	EXPECT_EQ(io_now(&y, receive(self, roost_op_id(1, 2))), -EBUSY);
	/* but it is done */
	EXPECT_EQ(do_now(&y, sqe_cancel(roost_op_id(1, 1), 0)).res, -ENOENT);
	for (i = 0; i < 8; i++)
		ASSERT_TRUE(pop(&w, &cqe));
	ASSERT_EQ(submit(&w), 0);
	ASSERT_TRUE(pop(&w, &cqe));
	EXPECT_EQ(cqe.user_data, roost_op_id(1, 1));
	EXPECT_EQ(cqe.res, 1);
	ASSERT_EQ(send(self->s[1], "x", 1, 0), 1);
	EXPECT_EQ(io_now(&y, receive(self, roost_op_id(1, 3))), 1);
}

/* Nothing to move is allowed, and is what the system calls make of it. */
TEST_F(args, lengths)
{
	/* not on the stack, which may end less than such a length below the last address */
	static char in[8];
	struct roost_sqe sqe;

	EXPECT_EQ(io_now(&self->w, sqe_send(next_id(self), self->s[0],
					    self->out, 0)), 0);
	EXPECT_EQ(io_now(&self->w, sqe_send(next_id(self), self->s[0], NULL,
					    0)), 0);
	/* more than there can be: cut to what a call moves at most */
	ASSERT_EQ(send(self->s[1], "x", 1, 0), 1);
	sqe = receive(self, next_id(self));
	sqe.addr = (uintptr_t)in;
	sqe.len = ~0U;
	EXPECT_EQ(io_now(&self->w, sqe), 1);
	/* nothing to send: straight on to the receiving */
	ASSERT_EQ(send(self->s[1], "xy", 2, 0), 2);
	EXPECT_EQ(io_now(&self->w, sqe_send_recv(next_id(self), self->s[0],
						 self->out, 0, self->in, 8)),
		  2);
}

TEST_HARNESS_MAIN
