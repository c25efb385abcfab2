// SPDX-License-Identifier: GPL-2.0
/*
 * Which fields each opcode takes: every bit of an entry, one by one, against
 * what include/uapi/linux/roost.h says in words.
 */
#include "../op.c"

#include "fixture.h"

#define BITS	(8 * sizeof(struct roost_sqe))

/* Fields of an entry, by what the documentation calls them. */
enum field {
	F_FD		= BIT(0),
	F_DEADLINE	= BIT(1),
	F_EVENTS	= BIT(2),
	F_WORKER	= BIT(3),
	F_ADDR		= BIT(4),
	F_ADDR2		= BIT(5),
	F_LEN		= BIT(6),
	F_LEN2		= BIT(7),
	F_MSG_FLAGS	= BIT(8),
	F_FILE_SEQ	= BIT(9),
	F_NONE		= 0,
	F_IO		= F_FD | F_DEADLINE | F_ADDR | F_FILE_SEQ,
};

static const struct {
	u32 offset, size;
	u32 field;
} layout[] = {
	{ offsetof(struct roost_sqe, fd), 4, F_FD },
	{ offsetof(struct roost_sqe, deadline), 8, F_DEADLINE },
	{ offsetof(struct roost_sqe, events), 4, F_EVENTS },
	{ offsetof(struct roost_sqe, worker), 4, F_WORKER },
	{ offsetof(struct roost_sqe, addr), 8, F_ADDR },
	{ offsetof(struct roost_sqe, addr2), 8, F_ADDR2 },
	{ offsetof(struct roost_sqe, len), 4, F_LEN },
	{ offsetof(struct roost_sqe, len2), 4, F_LEN2 },
	{ offsetof(struct roost_sqe, msg_flags), 4, F_MSG_FLAGS },
	{ offsetof(struct roost_sqe, file_seq), 4, F_FILE_SEQ },
};

static const struct {
	const char *name;
	u32 fields;
	u8 flags;
	u32 kind;	/* of the completion of one that is refused */
} rules[] = {
	[ROOST_OP_NOP] = { "NOP", F_NONE, 0, ROOST_CQE_NOP },
	[ROOST_OP_SKIP] = { "SKIP", ~0U, ROOST_SQE_QUIET | ROOST_SQE_FILE |
			    ROOST_POLL_MULTISHOT, ROOST_CQE_NOP },
	[ROOST_OP_TIMER_SET] = { "TIMER_SET", F_DEADLINE, 0, ROOST_CQE_TIMER },
	[ROOST_OP_TIMER_CANCEL] = { "TIMER_CANCEL", F_NONE, ROOST_SQE_QUIET,
				    ROOST_CQE_CANCEL },
	[ROOST_OP_POLL_ADD] = { "POLL_ADD", F_FD | F_EVENTS,
				ROOST_POLL_MULTISHOT, ROOST_CQE_POLL },
	[ROOST_OP_POLL_REMOVE] = { "POLL_REMOVE", F_NONE, ROOST_SQE_QUIET,
				   ROOST_CQE_CANCEL },
	[ROOST_OP_WAKE] = { "WAKE", F_WORKER, 0, ROOST_CQE_WAKE },
	[ROOST_OP_RECV] = { "RECV", F_IO | F_LEN | F_MSG_FLAGS, ROOST_SQE_FILE,
			    ROOST_CQE_IO },
	[ROOST_OP_SEND] = { "SEND", F_IO | F_LEN | F_MSG_FLAGS, ROOST_SQE_FILE,
			    ROOST_CQE_IO },
	[ROOST_OP_RECVMSG] = { "RECVMSG", F_IO | F_MSG_FLAGS, ROOST_SQE_FILE,
			       ROOST_CQE_IO },
	[ROOST_OP_SENDMSG] = { "SENDMSG", F_IO | F_MSG_FLAGS, ROOST_SQE_FILE,
			       ROOST_CQE_IO },
	/* The offset is where addr2 is. */
	[ROOST_OP_READ] = { "READ", F_IO | F_LEN | F_ADDR2, ROOST_SQE_FILE,
			    ROOST_CQE_IO },
	[ROOST_OP_WRITE] = { "WRITE", F_IO | F_LEN | F_ADDR2, ROOST_SQE_FILE,
			     ROOST_CQE_IO },
	[ROOST_OP_SEND_RECV] = { "SEND_RECV", F_IO | F_LEN | F_MSG_FLAGS |
				 F_ADDR2 | F_LEN2, ROOST_SQE_FILE,
				 ROOST_CQE_IO | ROOST_CQE_SEND },
	[ROOST_OP_CANCEL] = { "CANCEL", F_NONE, ROOST_SQE_QUIET,
			      ROOST_CQE_CANCEL },
	[ROOST_OP_FILE_REMOVE] = { "FILE_REMOVE", F_NONE, ROOST_SQE_QUIET,
				   ROOST_CQE_FILE },
};

/* poll(2)'s bits but POLLNVAL; 0x1000 is POLL_REMOVE of another time. */
static const u32 poll_bits = POLLIN | POLLPRI | POLLOUT | POLLERR | POLLHUP |
			     POLLRDNORM | POLLRDBAND | POLLWRNORM |
			     POLLWRBAND | POLLMSG | POLLRDHUP;

/* May an entry of this opcode have this bit? */
static bool bit_allowed(u8 opcode, u32 bit)
{
	u32 byte = bit / 8, i;

	if (byte == offsetof(struct roost_sqe, flags))
		return rules[opcode].flags & BIT(bit % 8);
	if (byte >= offsetof(struct roost_sqe, op_id) &&
	    byte < offsetof(struct roost_sqe, op_id) + 8)
		return true;
	for (i = 0; i < ARRAY_SIZE(layout); i++) {
		if (byte < layout[i].offset ||
		    byte >= layout[i].offset + layout[i].size)
			continue;
		if (!(rules[opcode].fields & layout[i].field))
			return false;
		if (layout[i].field == F_EVENTS && opcode != ROOST_OP_SKIP)
			return poll_bits & BIT(bit - 8 * layout[i].offset);
		return true;
	}
	/* What is reserved. */
	return false;
}

/* Have it carried out: it must be refused, with the right kind. */
static void expect_refused(struct kunit *test, struct roost_worker *worker,
			   const struct roost_sqe *sqe, u32 kind)
{
	struct roost_cqe cqe = { };

	KUNIT_EXPECT_TRUE(test, fixture_submit(test, worker, sqe));
	KUNIT_EXPECT_TRUE(test, fixture_take(worker, &cqe));
	KUNIT_EXPECT_EQ(test, cqe.user_data, sqe->op_id);
	KUNIT_EXPECT_EQ(test, cqe.res, -EINVAL);
	KUNIT_EXPECT_EQ(test, cqe.flags, kind);
	KUNIT_EXPECT_FALSE(test, fixture_take(worker, &cqe));
}

static void each_bit(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 1, 4);
	struct roost_sqe sqe;
	u32 opcode, bit;

	BUILD_BUG_ON(ARRAY_SIZE(rules) != ROOST_OP_NR);
	for (opcode = 0; opcode < ROOST_OP_NR; opcode++) {
		for (bit = 8; bit < BITS; bit++) {
			bool good = bit_allowed(opcode, bit);

			sqe = (struct roost_sqe){ .opcode = opcode };
			((u8 *)&sqe)[bit / 8] |= BIT(bit % 8);
			/* A sequence needs its flag. */
			if (sqe.file_seq && good)
				sqe.flags |= ROOST_SQE_FILE;
			KUNIT_EXPECT_EQ(test, fields_valid(&ops[opcode], &sqe),
					good);
			if (!good)
				expect_refused(test, worker, &sqe,
					       rules[opcode].kind);
			if (fixture_failed(test)) {
				kunit_err(test, "%s, byte %u, bit %u",
					  rules[opcode].name, bit / 8, bit % 8);
				return;
			}
		}
	}
}

static void sequence_without_its_flag(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 1, 4);
	u32 opcode;

	for (opcode = 0; opcode < ROOST_OP_NR; opcode++) {
		struct roost_sqe sqe = { .opcode = opcode, .file_seq = 1 };

		expect_refused(test, worker, &sqe, rules[opcode].kind);
	}
}

static void opcodes_that_are_none(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 1, 4);
	struct roost_sqe sqe = { .op_id = 0x123456789abcdef0 };
	u32 opcode;

	for (opcode = ROOST_OP_NR; opcode < 256; opcode++) {
		sqe.opcode = opcode;
		expect_refused(test, worker, &sqe, 0);
	}
}

/* Many bits at once: one that is not allowed is enough. */
static void random_bits(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 1, 4);
	u64 state = fixture_seed(test);
	struct roost_sqe sqe;
	u32 i, n, bit, opcode;

	for (i = 0; i < 4000 && !fixture_failed(test); i++) {
		bool good = true;

		opcode = fixture_below(&state, ROOST_OP_NR);
		sqe = (struct roost_sqe){ .opcode = opcode };
		for (n = 1 + fixture_below(&state, 6); n; n--) {
			bit = 8 + fixture_below(&state, BITS - 8);
			if (fixture_below(&state, 4) &&
			    !bit_allowed(opcode, bit))
				continue;
			good = good && bit_allowed(opcode, bit);
			((u8 *)&sqe)[bit / 8] |= BIT(bit % 8);
		}
		if (sqe.file_seq && !(sqe.flags & ROOST_SQE_FILE))
			good = false;
		KUNIT_EXPECT_EQ(test, fields_valid(&ops[opcode], &sqe), good);
		if (!good)
			expect_refused(test, worker, &sqe, rules[opcode].kind);
	}
}

/* Quiet ones, and what they may keep quiet about. */
static void quiet_cancels(struct kunit *test)
{
	static const struct {
		int res;
		bool loud, quiet;
		s32 posted;
	} rows[] = {
		{ 0, true, false, -ECANCELED },
		{ -ENOENT, true, false, -ENOENT },
		{ -ESTALE, true, true, -ESTALE },
		{ -EINVAL, true, true, -EINVAL },
		{ -ENOMEM, true, true, -ENOMEM },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct roost_sqe sqe = { };
		struct result result = { .user_data = 5, .res = rows[i].res,
					 .flags = ROOST_CQE_CANCEL };

		KUNIT_EXPECT_EQ(test, finish_cancel(&sqe, &result, 9,
						    ROOST_CQE_TIMER),
				rows[i].loud);
		KUNIT_EXPECT_EQ(test, result.res, rows[i].posted);
		KUNIT_EXPECT_EQ(test, result.user_data, rows[i].res ? 5 : 9);
		KUNIT_EXPECT_EQ(test, result.flags, rows[i].res ?
				ROOST_CQE_CANCEL : ROOST_CQE_TIMER);
		result.res = rows[i].res;
		sqe.flags = ROOST_SQE_QUIET;
		KUNIT_EXPECT_EQ(test, finish_cancel(&sqe, &result, 9,
						    ROOST_CQE_TIMER),
				rows[i].quiet);
	}
}

static struct kunit_case op_cases[] = {
	KUNIT_CASE(each_bit),
	KUNIT_CASE(sequence_without_its_flag),
	KUNIT_CASE(opcodes_that_are_none),
	KUNIT_CASE(random_bits),
	KUNIT_CASE(quiet_cancels),
	{}
};

FIXTURE_SUITE(op, op_cases);
