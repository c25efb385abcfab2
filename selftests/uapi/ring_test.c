// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * ring_test.c - the rings: nothing is lost, nothing is trusted.
 *
 * Behaviours R1, R2, K1 and case C49 (index wrap).
 */
#include "kselftest_harness.h"

#include "roost_test.h"

#define SQ	8
#define CQ	16

FIXTURE(ring) {
	struct dom d;
	struct wrk w;
};

FIXTURE_SETUP(ring)
{
	ASSERT_EQ(dom_make(&self->d, 64, 64), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, SQ, CQ), 0);
	ASSERT_EQ(attach(&self->w), 0);
}

FIXTURE_TEARDOWN(ring)
{
	close(self->w.fd);
	close(self->d.fd);
}

TEST_F(ring, nop)
{
	uint64_t id = 0x123456789abcdef0ULL;
	struct roost_cqe cqe;

	ASSERT_EQ(submit_one(&self->w, sqe_nop(id)), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.user_data, id);
	EXPECT_EQ(cqe.res, 0);
	EXPECT_EQ(cqe.flags, ROOST_CQE_NOP);
	EXPECT_FALSE(pop(&self->w, &cqe));
}

TEST_F(ring, skip_is_silent)
{
	struct roost_sqe skip = { .opcode = ROOST_OP_SKIP };
	struct roost_sqe nop = sqe_nop(3);
	struct roost_cqe cqe;
	unsigned int i;

	for (i = 0; i < SQ - 1; i++)
		push(&self->w, &skip);
	push(&self->w, &nop);
	EXPECT_EQ(submit(&self->w), SQ);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.user_data, 3);
	EXPECT_FALSE(pop(&self->w, &cqe));
}

/* An entry's own error is its completion, and those behind it go on. */
TEST_F(ring, bad_entries)
{
	const struct {
		const char *what;
		struct roost_sqe sqe;
		int expected;
	} rows[] = {
		{ "unknown op", { .opcode = ROOST_OP_NR }, -EINVAL },
		{ "reserved op 62",
		  { .opcode = ROOST_OP_ACCEPT_RESERVED }, -EINVAL },
		{ "op 255", { .opcode = 255 }, -EINVAL },
		{ "NOP with flags", { .flags = 1 }, -EINVAL },
		{ "NOP with reserved0", { .reserved0 = 1 }, -EINVAL },
		{ "NOP with addr", { .addr = 1 }, -EINVAL },
		{ "NOP with addr2", { .addr2 = 1 }, -EINVAL },
		{ "NOP with offset", { .offset = ROOST_OFFSET_NONE }, -EINVAL },
		{ "NOP with len", { .len = 1 }, -EINVAL },
		{ "NOP with len2", { .len2 = 1 }, -EINVAL },
		{ "NOP with msg_flags", { .msg_flags = 1 }, -EINVAL },
		{ "NOP with file_seq", { .file_seq = 1 }, -EINVAL },
		{ "NOP with fd", { .fd = 1 }, -EINVAL },
		{ "NOP with deadline", { .deadline = 1 }, -EINVAL },
		{ "NOP with events", { .events = 1 }, -EINVAL },
		{ "NOP with worker", { .worker = 1 }, -EINVAL },
		{ "timer out of range", { .opcode = ROOST_OP_TIMER_SET,
		  .op_id = 64 | 1ULL << 32 }, -EINVAL },
		{ "timer index 2^32-1", { .opcode = ROOST_OP_TIMER_SET,
		  .op_id = ~0U | 1ULL << 32 }, -EINVAL },
		{ "timer with flags", { .opcode = ROOST_OP_TIMER_SET,
		  .flags = ROOST_SQE_QUIET, .op_id = 1ULL << 32 }, -EINVAL },
		{ "timer with fd", { .opcode = ROOST_OP_TIMER_SET, .fd = 1,
		  .op_id = 1ULL << 32 }, -EINVAL },
		{ "timer of a file", { .opcode = ROOST_OP_TIMER_SET,
		  .flags = ROOST_SQE_FILE, .op_id = 1ULL << 32 }, -EINVAL },
		{ "timer with len", { .opcode = ROOST_OP_TIMER_SET, .len = 1,
		  .op_id = 1ULL << 32 }, -EINVAL },
		{ "cancel out of range", { .opcode = ROOST_OP_TIMER_CANCEL,
		  .op_id = 64 | 1ULL << 32 }, -EINVAL },
		{ "cancel with deadline", { .opcode = ROOST_OP_TIMER_CANCEL,
		  .deadline = 1, .op_id = 1ULL << 32 }, -EINVAL },
		{ "cancel multishot", { .opcode = ROOST_OP_TIMER_CANCEL,
		  .flags = ROOST_POLL_MULTISHOT, .op_id = 1ULL << 32 },
		  -EINVAL },
		{ "poll out of range", { .opcode = ROOST_OP_POLL_ADD,
		  .events = POLLIN, .op_id = 64 | 1ULL << 32 }, -EINVAL },
		{ "poll quiet", { .opcode = ROOST_OP_POLL_ADD,
		  .flags = ROOST_SQE_QUIET, .events = POLLIN,
		  .op_id = 1ULL << 32 }, -EINVAL },
		{ "poll with flag 7", { .opcode = ROOST_OP_POLL_ADD,
		  .flags = 128, .events = POLLIN, .op_id = 1ULL << 32 },
		  -EINVAL },
		{ "poll with deadline", { .opcode = ROOST_OP_POLL_ADD,
		  .deadline = 1, .events = POLLIN, .op_id = 1ULL << 32 },
		  -EINVAL },
		{ "poll for NVAL", { .opcode = ROOST_OP_POLL_ADD,
		  .events = POLLIN | POLLNVAL, .op_id = 1ULL << 32 }, -EINVAL },
		{ "poll for bit 15", { .opcode = ROOST_OP_POLL_ADD,
		  .events = POLLIN | 1U << 15, .op_id = 1ULL << 32 }, -EINVAL },
		{ "poll for bit 31", { .opcode = ROOST_OP_POLL_ADD,
		  .events = POLLIN | 1U << 31, .op_id = 1ULL << 32 }, -EINVAL },
		{ "poll of a registered file", { .opcode = ROOST_OP_POLL_ADD,
		  .flags = ROOST_SQE_FILE, .events = POLLIN,
		  .op_id = 1ULL << 32 }, -EINVAL },
		{ "poll with file_seq", { .opcode = ROOST_OP_POLL_ADD,
		  .file_seq = 1, .events = POLLIN, .op_id = 1ULL << 32 },
		  -EINVAL },
		{ "poll with addr", { .opcode = ROOST_OP_POLL_ADD,
		  .addr = 1, .events = POLLIN, .op_id = 1ULL << 32 }, -EINVAL },
		{ "poll with msg_flags", { .opcode = ROOST_OP_POLL_ADD,
		  .msg_flags = 1, .events = POLLIN, .op_id = 1ULL << 32 },
		  -EINVAL },
		{ "remove out of range", { .opcode = ROOST_OP_POLL_REMOVE,
		  .op_id = 64 | 1ULL << 32 }, -EINVAL },
		{ "remove with events", { .opcode = ROOST_OP_POLL_REMOVE,
		  .events = POLLIN, .op_id = 1ULL << 32 }, -EINVAL },
		{ "remove with len2", { .opcode = ROOST_OP_POLL_REMOVE,
		  .len2 = 1, .op_id = 1ULL << 32 }, -EINVAL },
		{ "wake with offset",
		  { .opcode = ROOST_OP_WAKE, .offset = 1 }, -EINVAL },
		{ "wake with fd", { .opcode = ROOST_OP_WAKE, .fd = 1 },
		  -EINVAL },
		{ "wake of nobody", { .opcode = ROOST_OP_WAKE, .worker = 77,
		  .op_id = 9 }, -ESRCH },
	};
	struct roost_sqe nop = sqe_nop(4711);
	struct roost_cqe cqe;
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		push(&self->w, &rows[i].sqe);
		push(&self->w, &nop);
		ASSERT_EQ(submit(&self->w), 2);
		ASSERT_TRUE(pop(&self->w, &cqe))
			TH_LOG("row: %s", rows[i].what);
		EXPECT_EQ(cqe.res, rows[i].expected)
			TH_LOG("row: %s", rows[i].what);
		EXPECT_EQ(cqe.user_data, rows[i].sqe.op_id)
			TH_LOG("row: %s", rows[i].what);
		ASSERT_TRUE(pop(&self->w, &cqe));
		EXPECT_EQ(cqe.user_data, 4711);
		EXPECT_FALSE(pop(&self->w, &cqe));
	}
}

TEST_F(ring, op_wake)
{
	struct roost_sqe sqe = { .opcode = ROOST_OP_WAKE, .op_id = 5 };
	struct roost_cqe cqe;
	uint32_t outcome;

	/* to itself: a permit */
	ASSERT_EQ(submit_one(&self->w, sqe), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.user_data, 5);
	EXPECT_GE(cqe.res, 0);
	EXPECT_EQ(cqe.flags & ROOST_CQE_KIND, ROOST_CQE_WAKE);
	EXPECT_EQ(park(&self->d, &self->w, now_ns() + wide(10 * SEC),
		       &outcome), 0);
	EXPECT_TRUE(outcome & ROOST_OUT_WAKE);
	EXPECT_FALSE(outcome & ROOST_OUT_SLEPT);
}

TEST_F(ring, enter_rejections)
{
	const struct {
		const char *what;
		struct roost_enter e;
	} rows[] = {
		{ "flag 2", { .flags = 4 } },
		{ "flag 31", { .flags = 1U << 31 } },
		{ "deadline without park", { .deadline = 1 } },
		{ "event without park", { .event = 1 } },
		{ "wake without its flag", { .wake = 1 } },
		{ "submitted in", { .submitted = 1 } },
		{ "outcome in", { .outcome = 1 } },
		{ "reserved[0]", { .reserved = { 1, 0 } } },
		{ "reserved[1]", { .reserved = { 0, 1 } } },
	};
	struct roost_enter e;
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		e = rows[i].e;
		EXPECT_EQ(enter(&self->w, &e), -EINVAL)
			TH_LOG("row: %s", rows[i].what);
	}
}

TEST_F(ring, to_submit_is_a_limit)
{
	struct roost_enter e = { .to_submit = 2 };
	struct roost_sqe nop;
	uint64_t i;

	for (i = 0; i < 4; i++) {
		nop = sqe_nop(i);
		push(&self->w, &nop);
	}
	ASSERT_EQ(enter(&self->w, &e), 0);
	EXPECT_EQ(e.submitted, 2);
	EXPECT_EQ(staged(&self->w), 2);
	/* more than there are is no error */
	e = (struct roost_enter){ .to_submit = 1000 };
	ASSERT_EQ(enter(&self->w, &e), 0);
	EXPECT_EQ(e.submitted, 2);
}

/* A park does not sleep over entries that it has not taken. */
TEST_F(ring, full_cq_stops_consumption)
{
	struct roost_enter e = { 0 };
	struct roost_sqe nop;
	struct roost_cqe cqe;
	uint32_t outcome;
	uint64_t i, seen = 0;

	for (i = 0; i < CQ; i++) {
		nop = sqe_nop(i);
		push(&self->w, &nop);
		if (staged(&self->w) == SQ)
			ASSERT_EQ(submit(&self->w), SQ);
	}
	for (i = CQ; i < CQ + 3; i++) {
		nop = sqe_nop(i);
		push(&self->w, &nop);
	}
	e.to_submit = 3;
	ASSERT_EQ(enter(&self->w, &e), 0);
	EXPECT_EQ(e.submitted, 0);
	EXPECT_TRUE(e.outcome & ROOST_OUT_CQ_FULL);
	EXPECT_EQ(park(&self->d, &self->w, now_ns() + wide(5 * SEC),
		       &outcome), 0);
	EXPECT_TRUE(outcome & ROOST_OUT_CQ_FULL);
	EXPECT_FALSE(outcome & ROOST_OUT_SLEPT);
	EXPECT_FALSE(idle_bit(&self->d, &self->w));
	/* one place: one entry */
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.user_data, seen++);
	e = (struct roost_enter){ .to_submit = 3 };
	ASSERT_EQ(enter(&self->w, &e), 0);
	EXPECT_EQ(e.submitted, 1);
	while (seen < CQ + 3) {
		if (!pop(&self->w, &cqe)) {
			ASSERT_GE(submit(&self->w), 1);
			continue;
		}
		ASSERT_EQ(cqe.user_data, seen);
		seen++;
	}
	EXPECT_FALSE(pop(&self->w, &cqe));
}

/* R1: timers that fire into a full ring wait for places, none is lost. */
TEST_F(ring, overflow)
{
	bool got[64] = { false };
	unsigned int i, count = 0;
	struct roost_cqe cqe;
	struct roost_enter e;
	uint64_t limit;

	for (i = 0; i < 64; i++)
		ASSERT_EQ(submit_one(&self->w, sqe_timer(i, 1, now_ns() +
							 300 * MSEC)), 1);
	limit = now_ns() + wide(5 * SEC);
	while (self->w.page->cq_overflow != 64 - CQ && now_ns() < limit)
		sleep_ns(MSEC);
	EXPECT_EQ(self->w.page->cq_overflow, 64 - CQ);
	EXPECT_EQ(stat_of(&self->d).overflow_pending, 64 - CQ);
	while (count < 64 && now_ns() < limit) {
		while (pop(&self->w, &cqe)) {
			ASSERT_LT(roost_op_index(cqe.user_data), 64);
			EXPECT_EQ(cqe.res, 0);
			EXPECT_FALSE(got[roost_op_index(cqe.user_data)]);
			got[roost_op_index(cqe.user_data)] = true;
			count++;
		}
		e = (struct roost_enter){ 0 };
		ASSERT_EQ(enter(&self->w, &e), 0);
	}
	EXPECT_EQ(count, 64);
	EXPECT_EQ(self->w.page->cq_overflow, 0);
	EXPECT_EQ(stat_of(&self->d).overflow_pending, 0);
	EXPECT_GE(stat_of(&self->d).overflowed, 64 - CQ);
}

/* A park with completions that wait for places does not sleep on them. */
TEST_F(ring, no_sleep_over_an_overflow)
{
	struct roost_cqe cqe;
	uint64_t limit = now_ns() + wide(10 * SEC);
	unsigned int i, count = 0;

	for (i = 0; i < 40; i++)
		ASSERT_EQ(submit_one(&self->w, sqe_timer(i, 1, now_ns() +
							 200 * MSEC)), 1);
	sleep_ns(500 * MSEC);
	while (count < 40 && !wait_pop(&self->d, &self->w, &cqe, limit))
		count++;
	EXPECT_EQ(count, 40);
	EXPECT_LT(now_ns(), limit);
}

/* A tail that cannot be: more published than there are places. */
TEST_F(ring, forged_sq_tail)
{
	static const uint32_t forged[] = { SQ + 1, 1000, 1U << 31, ~0U };
	struct roost_domain_stat before, after;
	struct roost_enter e;
	struct roost_cqe cqe;
	unsigned int i, n;

	memset(self->w.sq, 0, SQ * sizeof(*self->w.sq));
	for (i = 0; i < 4; i++) {
		before = stat_of(&self->d);
		__atomic_store_n(&self->w.page->sq_tail,
				 self->w.page->sq_head + forged[i],
				 __ATOMIC_RELEASE);
		e = (struct roost_enter){ .to_submit = ~0U };
		enter(&self->w, &e);
		EXPECT_LE(e.submitted, CQ);
		for (n = 0; pop(&self->w, &cqe); n++)
			;
		EXPECT_LE(n, CQ);
		after = stat_of(&self->d);
		EXPECT_LE(after.submitted - before.submitted, CQ);
		/* an honest tail works again */
		self->w.tail = self->w.page->sq_head;
		__atomic_store_n(&self->w.page->sq_tail, self->w.tail,
				 __ATOMIC_RELEASE);
		ASSERT_EQ(submit_one(&self->w, sqe_nop(99)), 1);
		ASSERT_TRUE(pop(&self->w, &cqe));
		EXPECT_EQ(cqe.user_data, 99);
	}
}

/* A head that cannot be counts as a full ring. */
TEST_F(ring, forged_cq_head)
{
	static const uint32_t forged[] = { 1, CQ, 1U << 31, -(CQ + 1U) };
	uint32_t honest = self->w.page->cq_head;
	struct roost_sqe nop = sqe_nop(1);
	struct roost_enter e;
	struct roost_cqe cqe;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		/* past the tail, or so far behind that no ring holds it */
		__atomic_store_n(&self->w.page->cq_head, honest + forged[i],
				 __ATOMIC_RELEASE);
		push(&self->w, &nop);
		e = (struct roost_enter){ .to_submit = 1 };
		ASSERT_EQ(enter(&self->w, &e), 0);
		EXPECT_EQ(e.submitted, 0);
		EXPECT_TRUE(e.outcome & ROOST_OUT_CQ_FULL);
		__atomic_store_n(&self->w.page->cq_head, honest,
				 __ATOMIC_RELEASE);
		ASSERT_EQ(submit(&self->w), 1);
		ASSERT_TRUE(pop(&self->w, &cqe));
		honest = self->w.page->cq_head;
	}
}

/* The kernel's own words are only copies of what it goes by. */
TEST_F(ring, forged_kernel_words)
{
	struct roost_cqe cqe;

	self->w.page->sq_head += 12345;
	self->w.page->cq_tail += 54321;
	self->w.page->lease = 0;
	self->w.page->parked = 7;
	self->w.page->cq_overflow = 9;
	self->w.page->sq_head -= 12345;
	self->w.page->cq_tail -= 54321;
	ASSERT_EQ(submit_one(&self->w, sqe_nop(1)), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.user_data, 1);
	EXPECT_EQ(detach(&self->w), 0);
}

/*
 * Many entries, in batches of all sizes through all positions, each completion
 * in its order.  The wrap of the indices at 2^32 takes too long this way and
 * is checked where the arithmetic is.
 */
TEST_F(ring, many)
{
	const uint64_t total = rounds_of("ROOST_ROUNDS", 20000);
	uint64_t sent = 0, got = 0, seed = 88172645463325252ULL;
	struct roost_sqe nop;
	struct roost_cqe cqe;
	unsigned int n;

	while (got < total) {
		n = 1 + random_next(&seed) % SQ;
		while (n-- && staged(&self->w) < SQ) {
			nop = sqe_nop(sent++);
			push(&self->w, &nop);
		}
		ASSERT_GE(submit(&self->w), 0);
		n = random_next(&seed) % (CQ + 1);
		while (n-- && pop(&self->w, &cqe))
			ASSERT_EQ(cqe.user_data, got++);
	}
	while (staged(&self->w) || got < sent) {
		submit(&self->w);
		while (pop(&self->w, &cqe))
			ASSERT_EQ(cqe.user_data, got++);
	}
	EXPECT_EQ(got, sent);
}

struct flooder {
	struct wrk *w;
	bool stop;
	unsigned long calls;
};

static void *flood(void *arg)
{
	struct flooder *f = arg;
	struct roost_enter e;

	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED)) {
		e = (struct roost_enter){ .to_submit = SQ };
		check(enter(f->w, &e) == 0);
		__atomic_fetch_add(&f->calls, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Several threads consume one ring: every entry once. */
TEST_F(ring, consumed_by_several)
{
	struct flooder f[2] = { { .w = &self->w }, { .w = &self->w } };
	unsigned char seen[8192] = { 0 };
	uint64_t limit = now_ns() + wide(10 * SEC);
	unsigned int i, sent = 0, got = 0;
	struct roost_sqe nop;
	struct roost_cqe cqe;
	pthread_t t[2];

	for (i = 0; i < 2; i++)
		ASSERT_EQ(pthread_create(&t[i], NULL, flood, &f[i]), 0);
	/* one alone may be through before the other has begun */
	for (i = 0; i < 2; i++)
		while (!__atomic_load_n(&f[i].calls, __ATOMIC_RELAXED))
			sched_yield();
	while (got < sizeof(seen) && now_ns() < limit) {
		if (sent < sizeof(seen) && staged(&self->w) < SQ) {
			nop = sqe_nop(sent++);
			push(&self->w, &nop);
		}
		while (pop(&self->w, &cqe)) {
			ASSERT_LT(cqe.user_data, sizeof(seen));
			seen[cqe.user_data]++;
			got++;
		}
	}
	for (i = 0; i < 2; i++) {
		__atomic_store_n(&f[i].stop, true, __ATOMIC_RELAXED);
		pthread_join(t[i], NULL);
	}
	for (i = 0; i < sizeof(seen); i++)
		ASSERT_EQ(seen[i], 1);
}

TEST_F(ring, cq_ready_tells_whose_ring)
{
	struct roost_cqe cqe;

	EXPECT_EQ(self->d.control->cq_ready[0], 0);
	ASSERT_EQ(submit_one(&self->w, sqe_nop(1)), 1);
	/* by the byte, which 32-bit processes can, too */
	EXPECT_EQ(__atomic_fetch_and((uint8_t *)self->d.control->cq_ready,
				     (uint8_t)~1, __ATOMIC_SEQ_CST), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(self->d.control->cq_ready[0], 0);
	EXPECT_GT(self->d.control->event, 0);
}

TEST_HARNESS_MAIN
