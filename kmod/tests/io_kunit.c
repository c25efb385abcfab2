// SPDX-License-Identifier: GPL-2.0
/*
 * I/O ops: what each state answers to each thing that can happen to an op.
 */
#include <linux/fdtable.h>

#include "../io.c"
#include "../io_ready.c"
#include "../io_try.c"

#include "fake_file.h"
#include "fixture.h"

#define SEQ	7U

static const char * const state_names[] = {
	[IO_FREE]	= "FREE",
	[IO_SETUP]	= "SETUP",
	[IO_READY]	= "READY",
	[IO_EXECUTING]	= "EXECUTING",
	[IO_ARMED]	= "ARMED",
	[IO_ENDING]	= "ENDING",
};

/* One op, in any state that it can be in. */
struct bench {
	struct kunit *test;
	struct roost_domain *domain;
	struct roost_worker *worker;
	struct fake_file *fake;
	struct roost_io *io;
};

static struct bench make_bench(struct kunit *test)
{
	struct bench b = {
		.test	= test,
		.domain	= fixture_domain(test),
		.worker	= fixture_worker(test, 4, 16),
		.fake	= fake_file_make(test, 1),
	};

	b.io = roost_table_get(&b.domain->ios, 3);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b.io));
	return b;
}

static enum io_state state(const struct bench *b)
{
	return io_state_of(atomic64_read(&b->io->word));
}

static u32 flags_of(const struct bench *b)
{
	return (u32)atomic64_read(&b->io->word) & ~IO_STATE;
}

/* In both lists, of which it is in one at most, things are as counted. */
static void expect_lists(struct bench *b, bool waiting, bool ready)
{
	struct roost_file *file = b->io->file;

	if (file)
		KUNIT_EXPECT_EQ(b->test, !roost_queue_empty(&file->waiting[0]),
				waiting);
	KUNIT_EXPECT_EQ(b->test, !roost_queue_empty(&b->domain->ready), ready);
	KUNIT_EXPECT_EQ(b->test, b->domain->nr_ready, ready);
	KUNIT_EXPECT_EQ(b->test, b->domain->control->io_ready, ready);
	KUNIT_EXPECT_EQ(b->test, !hlist_unhashed(&b->io->node),
			waiting || ready);
}

/* Put the op into a state, with all that belongs to it. */
static void put_in(struct bench *b, enum io_state to)
{
	struct roost_io *io = b->io;
	int fd = fake_file_fd(b->fake);
	struct roost_file *file;

	io->transfer = (struct roost_transfer){
		.opcode	= ROOST_OP_READ,
		.addr2	= ROOST_OFFSET_NONE,
		.len	= 16,
	};
	file = roost_file_get(b->domain, fd, &io->transfer);
	close_fd(fd);
	KUNIT_ASSERT_FALSE(b->test, IS_ERR(file));
	file->ready = 0;
	io->file = file;
	use_cred(io);
	io->home = b->worker;
	io->clock = NULL;
	io->sending = false;
	io->once = false;
	if (to == IO_ARMED)
		roost_queue_add(&file->waiting[ROOST_DIR_IN], &io->node);
	if (to == IO_READY) {
		local_irq_disable();
		ready_add(b->domain, io);
		local_irq_enable();
	}
	atomic64_set(&io->word, (u64)SEQ << 32 | to);
	if (to == IO_FREE) {
		io->file = NULL;
		roost_file_put(file);
	}
}

/* Whatever state it is in now: end it, as its owner would. */
static void clean_up(struct bench *b)
{
	struct roost_cqe cqe;

	if (b->io->file) {
		if (!hlist_unhashed(&b->io->node))
			roost_io_unlist(b->io, state(b));
		vanish(b->io);
	}
	roost_file_reap(b->domain);
	KUNIT_EXPECT_EQ(b->test, state(b), IO_FREE);
	expect_lists(b, false, false);
	KUNIT_EXPECT_EQ(b->test, fake_file_refs(b->fake), 1);
	while (fixture_take(b->worker, &cqe))
		;
}

static void say(struct bench *b, enum io_state from)
{
	if (fixture_failed(b->test))
		kunit_err(b->test, "from %s", state_names[from]);
}

static void expect_done(struct bench *b, s32 res)
{
	struct roost_cqe cqe = { };

	KUNIT_EXPECT_TRUE(b->test, fixture_take(b->worker, &cqe));
	KUNIT_EXPECT_EQ(b->test, cqe.user_data, roost_op_id(3, SEQ));
	KUNIT_EXPECT_EQ(b->test, cqe.res, res);
	KUNIT_EXPECT_EQ(b->test, cqe.flags, ROOST_CQE_IO);
}

static void expect_no_cqe(struct bench *b)
{
	struct roost_cqe cqe;

	KUNIT_EXPECT_FALSE(b->test, fixture_take(b->worker, &cqe));
}

/* What takes an op, or claims it, takes it from these states alone. */
static void takes_and_claims(struct kunit *test)
{
	struct bench b = make_bench(test);
	enum io_state from, found;
	u64 word;

	for (from = IO_FREE; from <= IO_ENDING; from++) {
		put_in(&b, from);
		KUNIT_EXPECT_EQ(test, take(b.io), from == IO_READY);
		KUNIT_EXPECT_EQ(test, state(&b),
				from == IO_READY ? IO_EXECUTING : from);
		atomic64_set(&b.io->word, (u64)SEQ << 32 | from);
		word = atomic64_read(&b.io->word);
		KUNIT_EXPECT_EQ(test, claim(b.io, &word, &found),
				from == IO_READY || from == IO_ARMED);
		KUNIT_EXPECT_EQ(test, found, from);
		KUNIT_EXPECT_EQ(test, state(&b),
				from == IO_READY || from == IO_ARMED ?
				IO_ENDING : from);
		atomic64_set(&b.io->word, (u64)SEQ << 32 | from);
		say(&b, from);
		clean_up(&b);
	}
}

/* An event readies what is armed, and is kept for the others. */
static void events(struct kunit *test)
{
	struct bench b = make_bench(test);
	enum io_state from;
	u32 event;

	for (from = IO_FREE; from <= IO_ENDING; from++) {
		if (from == IO_FREE)
			continue;
		put_in(&b, from);
		event = b.domain->control->event;
		fake_file_wake(b.fake, 0, EPOLLOUT);
		KUNIT_EXPECT_EQ(test, state(&b), from);
		KUNIT_EXPECT_EQ(test, b.domain->control->event, event);
		fake_file_wake(b.fake, 0, EPOLLIN);
		KUNIT_EXPECT_EQ(test, state(&b),
				from == IO_ARMED ? IO_READY : from);
		KUNIT_EXPECT_EQ(test, b.io->file->ready, ROOST_FILE_BOTH);
		expect_lists(&b, false, from == IO_ARMED || from == IO_READY);
		KUNIT_EXPECT_EQ(test, b.domain->control->event,
				event + (from == IO_ARMED));
		expect_no_cqe(&b);
		say(&b, from);
		clean_up(&b);
	}
}

/* CANCEL with an older, the same and a newer sequence, in each state. */
static void cancel_same(struct bench *b, enum io_state from, int ret)
{
	bool waits = from == IO_ARMED || from == IO_READY;

	if (waits) {
		KUNIT_EXPECT_EQ(b->test, ret, 0);
		KUNIT_EXPECT_EQ(b->test, state(b), IO_FREE);
		expect_done(b, -ECANCELED);
		expect_lists(b, false, false);
		return;
	}
	KUNIT_EXPECT_EQ(b->test, ret, from == IO_FREE ? -ENOENT : 0);
	KUNIT_EXPECT_EQ(b->test, state(b), from);
	KUNIT_EXPECT_EQ(b->test, flags_of(b),
			from == IO_SETUP || from == IO_EXECUTING ?
			IO_CANCELLED : 0);
}

static void cancels(struct kunit *test)
{
	struct roost_sqe sqe = { .opcode = ROOST_OP_CANCEL };
	struct bench b = make_bench(test);
	enum io_state from;
	int ret, d;

	for (from = IO_FREE; from <= IO_ENDING; from++) {
		for (d = -1; d <= 1; d++) {
			put_in(&b, from);
			sqe.op_id = roost_op_id(3, SEQ + d);
			ret = roost_io_cancel(b.worker, &sqe);
			if (!d) {
				cancel_same(&b, from, ret);
			} else if (d < 0) {
				KUNIT_EXPECT_EQ(test, ret, -ESTALE);
				KUNIT_EXPECT_EQ(test, state(&b), from);
			} else {
				KUNIT_EXPECT_EQ(test, ret, from == IO_FREE ?
						-ECANCELED : -EBUSY);
				KUNIT_EXPECT_EQ(test, state(&b), from);
				/* It is stale when it comes. */
				if (from == IO_FREE)
					KUNIT_EXPECT_EQ(test,
							begin(b.io, SEQ + 1),
							-ESTALE);
			}
			expect_no_cqe(&b);
			say(&b, from);
			clean_up(&b);
		}
	}
}

/* The deadline ends what is armed, and leaves a flag for who is at it. */
static void expiries(struct kunit *test)
{
	struct bench b = make_bench(test);
	enum io_state from;
	bool flagged;

	for (from = IO_FREE; from <= IO_ENDING; from++) {
		put_in(&b, from);
		raw_spin_lock_irq(&b.worker->wheel_lock);
		roost_io_expire(&b.io->deadline);
		raw_spin_unlock_irq(&b.worker->wheel_lock);
		flagged = from == IO_SETUP || from == IO_READY ||
			  from == IO_EXECUTING;
		KUNIT_EXPECT_EQ(test, flags_of(&b), flagged ? IO_EXPIRED : 0);
		KUNIT_EXPECT_EQ(test, state(&b),
				from == IO_ARMED ? IO_FREE : from);
		if (from == IO_ARMED)
			expect_done(&b, -ETIMEDOUT);
		expect_no_cqe(&b);
		say(&b, from);
		clean_up(&b);
	}
}

/* A new op takes the index only when it is free, with a higher sequence. */
static void beginnings(struct kunit *test)
{
	struct bench b = make_bench(test);
	enum io_state from;
	int d;

	for (from = IO_FREE; from <= IO_ENDING; from++) {
		for (d = -1; d <= 1; d++) {
			int want = d < 1 ? -ESTALE :
				   from == IO_FREE ? 0 : -EBUSY;

			put_in(&b, from);
			KUNIT_EXPECT_EQ(test, begin(b.io, SEQ + d), want);
			KUNIT_EXPECT_EQ(test, state(&b),
					want ? from : IO_SETUP);
			say(&b, from);
			atomic64_set(&b.io->word, (u64)SEQ << 32 | from);
			clean_up(&b);
		}
	}
	/* A completion that nobody has got yet keeps the index. */
	put_in(&b, IO_FREE);
	b.io->completion.queued = true;
	KUNIT_EXPECT_EQ(test, begin(b.io, SEQ + 1), -EBUSY);
	b.io->completion.queued = false;
	KUNIT_EXPECT_EQ(test, begin(b.io, SEQ + 0x80000000U), -ESTALE);
	KUNIT_EXPECT_EQ(test, begin(b.io, SEQ + S32_MAX), 0);
	atomic64_set(&b.io->word, 0);
}

/* From SETUP and EXECUTING to ARMED, or on with the attempt, or to its end. */
static void arming(struct kunit *test)
{
	static const struct {
		u32 flags;
		bool ready, gone;
		int ret;
	} rows[] = {
		{ 0, false, false, -EIOCBQUEUED },
		{ 0, true, false, 0 },
		{ IO_CANCELLED, false, false, -ECANCELED },
		{ IO_EXPIRED, false, false, -ETIMEDOUT },
		{ IO_CANCELLED | IO_EXPIRED, false, false, -ECANCELED },
		{ 0, false, true, -ECANCELED },
		/* An attempt that is worth while comes first. */
		{ IO_EXPIRED, true, false, 0 },
		{ 0, true, true, 0 },
	};
	static const enum io_state froms[] = { IO_SETUP, IO_EXECUTING };
	struct bench b = make_bench(test);
	u32 i, k;

	for (k = 0; k < 2; k++) {
		for (i = 0; i < ARRAY_SIZE(rows); i++) {
			put_in(&b, froms[k]);
			atomic64_or(rows[i].flags, &b.io->word);
			b.io->file->ready = rows[i].ready;
			b.io->file->gone = rows[i].gone;
			KUNIT_EXPECT_EQ(test, before_try(b.io, b.worker, 0),
					rows[i].ret);
			KUNIT_EXPECT_EQ(test, state(&b),
					rows[i].ret == -EIOCBQUEUED ?
					IO_ARMED : froms[k]);
			KUNIT_EXPECT_EQ(test, b.io->file->ready, 0);
			expect_lists(&b, rows[i].ret == -EIOCBQUEUED, false);
			say(&b, froms[k]);
			clean_up(&b);
		}
		put_in(&b, froms[k]);
		put_back(b.io);
		KUNIT_EXPECT_EQ(test, state(&b), IO_READY);
		expect_lists(&b, false, true);
		clean_up(&b);
	}
}

/* The file is forgotten, or the worker goes. */
static void removals(struct kunit *test)
{
	struct bench b = make_bench(test);
	struct roost_worker *other = fixture_worker(test, 1, 2);
	struct roost_file *file;
	enum io_state from;
	bool waits;

	for (from = IO_FREE; from <= IO_ENDING; from++) {
		if (from == IO_FREE)
			continue;
		waits = from == IO_ARMED || from == IO_READY;
		put_in(&b, from);
		file = b.io->file;
		refcount_inc(&file->ref);
		roost_io_end_waiting(file);
		KUNIT_EXPECT_TRUE(test, file->gone);
		KUNIT_EXPECT_EQ(test, state(&b),
				from == IO_ARMED ? IO_FREE : from);
		if (from == IO_ARMED)
			expect_done(&b, -ECANCELED);
		expect_no_cqe(&b);
		roost_file_put(file);
		say(&b, from);
		clean_up(&b);

		put_in(&b, from);
		roost_io_drop(b.domain, other);
		KUNIT_EXPECT_EQ(test, state(&b), from);
		roost_io_drop(b.domain, b.worker);
		KUNIT_EXPECT_EQ(test, state(&b), waits ? IO_FREE : from);
		expect_no_cqe(&b);
		say(&b, from);
		clean_up(&b);
	}
}

/* From the submission to the completion, and what the file was asked for. */
static int start(struct bench *b, u32 sequence)
{
	struct roost_sqe sqe = {
		.opcode	= ROOST_OP_READ,
		.fd	= fake_file_fd(b->fake),
		.op_id	= roost_op_id(3, sequence),
		.offset	= ROOST_OFFSET_NONE,
		.len	= 16,
	};
	bool posted = false;
	int ret;

	fixture_use_mm();
	ret = roost_io_start(b->worker, &sqe, &posted);
	fixture_unuse_mm();
	close_fd(sqe.fd);
	KUNIT_EXPECT_FALSE(b->test, posted);
	return ret;
}

static void a_life(struct kunit *test)
{
	struct bench b = make_bench(test);

	KUNIT_EXPECT_EQ(test, start(&b, SEQ), 0);
	/* Its buffer is not there, so it is left to the end of the call. */
	KUNIT_EXPECT_EQ(test, state(&b), IO_READY);
	KUNIT_EXPECT_EQ(test, atomic_read(&b.fake->reads), 0);
	KUNIT_EXPECT_FALSE(test, roost_io_run(b.worker));
	KUNIT_EXPECT_EQ(test, state(&b), IO_ARMED);
	KUNIT_EXPECT_EQ(test, atomic_read(&b.fake->reads), 1);
	/* Nothing came: no attempt. */
	KUNIT_EXPECT_FALSE(test, roost_io_run(b.worker));
	fake_file_wake(b.fake, 0, EPOLLIN);
	KUNIT_EXPECT_EQ(test, state(&b), IO_READY);
	KUNIT_EXPECT_FALSE(test, roost_io_run(b.worker));
	KUNIT_EXPECT_EQ(test, state(&b), IO_ARMED);
	KUNIT_EXPECT_EQ(test, atomic_read(&b.fake->reads), 2);
	expect_no_cqe(&b);
	b.fake->result = 5;
	fake_file_wake(b.fake, 0, EPOLLIN);
	KUNIT_EXPECT_TRUE(test, roost_io_run(b.worker));
	expect_done(&b, 5);
	expect_no_cqe(&b);
	KUNIT_EXPECT_EQ(test, atomic_read(&b.fake->reads), 3);
	KUNIT_EXPECT_EQ(test, start(&b, SEQ), -ESTALE);
	clean_up(&b);
}

static struct kunit_case io_cases[] = {
	KUNIT_CASE(takes_and_claims),
	KUNIT_CASE(events),
	KUNIT_CASE(cancels),
	KUNIT_CASE(expiries),
	KUNIT_CASE(beginnings),
	KUNIT_CASE(arming),
	KUNIT_CASE(removals),
	KUNIT_CASE(a_life),
	{}
};

FIXTURE_SUITE(io, io_cases);
