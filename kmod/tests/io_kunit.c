// SPDX-License-Identifier: GPL-2.0
/*
 * I/O ops: what each state answers to each thing that can happen to an op.
 */
#include <linux/fdtable.h>
#include <linux/resource.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>

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

static void expect_result(struct bench *b, u64 op_id, s32 res)
{
	struct roost_cqe cqe = { };

	KUNIT_EXPECT_TRUE(b->test, fixture_take(b->worker, &cqe));
	KUNIT_EXPECT_EQ(b->test, cqe.user_data, op_id);
	KUNIT_EXPECT_EQ(b->test, cqe.res, res);
	KUNIT_EXPECT_EQ(b->test, cqe.flags, ROOST_CQE_IO);
}

static void expect_done(struct bench *b, s32 res)
{
	expect_result(b, roost_op_id(3, SEQ), res);
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
		/* the bit has come since it was looked at */
		put_in(&b, froms[k]);
		b.io->file->ready = BIT(ROOST_DIR_IN);
		KUNIT_EXPECT_EQ(test, arm(b.io, b.worker), 0);
		KUNIT_EXPECT_EQ(test, b.io->file->ready, 0);
		KUNIT_EXPECT_EQ(test, state(&b), froms[k]);
		expect_lists(&b, false, false);
		clean_up(&b);

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

/* Somebody has claimed it, and is about to take it out of its list. */
static void claimed_ones_are_passed_over(struct kunit *test)
{
	struct bench b = make_bench(test);

	put_in(&b, IO_ARMED);
	atomic64_set(&b.io->word, (u64)SEQ << 32 | IO_ENDING);
	/* in both directions at once */
	fake_file_wake(b.fake, 0, EPOLLIN | EPOLLOUT);
	KUNIT_EXPECT_EQ(test, b.io->file->ready, ROOST_FILE_BOTH);
	KUNIT_EXPECT_EQ(test, state(&b), IO_ENDING);
	expect_lists(&b, true, false);
	/* the file is forgotten: its end is not told twice */
	roost_io_end_waiting(b.io->file);
	KUNIT_EXPECT_EQ(test, state(&b), IO_ENDING);
	expect_lists(&b, false, false);
	expect_no_cqe(&b);
	clean_up(&b);
}

/* One file, registered twice at once: the second time while the first one looks at it. */
static const struct roost_transfer reading = {
	.opcode	= ROOST_OP_READ,
	.addr2	= ROOST_OFFSET_NONE,
	.len	= 16,
};

static struct {
	struct roost_domain *domain;
	int fd;
	struct roost_file *file;
} other;

static void register_it(struct fake_file *fake)
{
	fake->during_poll = NULL;
	other.file = roost_file_register(other.domain, other.fd, 1, &reading);
}

static void registered_twice_at_once(struct kunit *test)
{
	struct bench b = make_bench(test);
	struct roost_file *file;

	other.domain = b.domain;
	other.fd = fake_file_fd(b.fake);
	KUNIT_ASSERT_GE(test, other.fd, 0);
	KUNIT_ASSERT_LT(test, other.fd, FIXTURE_OPS);
	b.fake->during_poll = register_it;
	file = roost_file_register(b.domain, other.fd, 1, &reading);
	close_fd(other.fd);
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_EXPECT_PTR_EQ(test, file, other.file);
	/* the table's, and two callers' */
	KUNIT_EXPECT_EQ(test, refcount_read(&file->ref), 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&b.domain->files_registered), 1);
	KUNIT_EXPECT_EQ(test, fake_file_refs(b.fake), 2);
	roost_file_put(file);
	roost_file_put(file);
	KUNIT_EXPECT_EQ(test, roost_file_remove(b.domain, other.fd, 1), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&b.domain->files_registered), 0);
	KUNIT_EXPECT_EQ(test, fake_file_refs(b.fake), 1);
}

static bool is_hooked(const struct fake_file *fake)
{
	/* Nobody else comes or goes meanwhile. */
	return waitqueue_active(&fake->queues[0]->head);
}

/* One without a queue cannot be waited for, nor one with too many: tried, no more. */
static void files_that_are_not_watched(struct kunit *test)
{
	static const unsigned int queues[] = { 0, 1, FAKE_QUEUES };
	struct bench b = make_bench(test);
	struct roost_file *file;
	struct fake_file *fake;
	int fd, i;

	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		fake = fake_file_make(test, queues[i]);
		fd = fake_file_fd(fake);
		file = roost_file_get(b.domain, fd, &reading);
		close_fd(fd);
		KUNIT_ASSERT_FALSE(test, IS_ERR(file));
		KUNIT_EXPECT_EQ(test, file->watched, queues[i] == 1);
		KUNIT_EXPECT_EQ(test, is_hooked(fake), queues[i] == 1);
		roost_file_put(file);
		KUNIT_EXPECT_FALSE(test, is_hooked(fake));
	}
}

/* From the submission to the completion, and what the file was asked for. */
static int start_on(struct bench *b, int fd, u8 opcode, u32 sequence, u64 offset)
{
	struct roost_sqe sqe = {
		.opcode	= opcode,
		.fd	= fd,
		.op_id	= roost_op_id(3, sequence),
		.offset	= offset,
		.len	= 16,
	};
	bool posted = false;
	int ret;

	fixture_use_mm();
	ret = roost_io_start(b->worker, &sqe, &posted);
	fixture_unuse_mm();
	close_fd(fd);
	KUNIT_EXPECT_FALSE(b->test, posted);
	return ret;
}

static int start(struct bench *b, u32 sequence)
{
	return start_on(b, fake_file_fd(b->fake), ROOST_OP_READ, sequence,
			ROOST_OFFSET_NONE);
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

/* There is room for it when the file says so. */
static void a_write(struct kunit *test)
{
	struct bench b = make_bench(test);

	KUNIT_EXPECT_EQ(test, start_on(&b, fake_file_fd(b.fake), ROOST_OP_WRITE, SEQ,
				       ROOST_OFFSET_NONE), 0);
	KUNIT_EXPECT_FALSE(test, roost_io_run(b.worker));
	KUNIT_EXPECT_EQ(test, state(&b), IO_ARMED);
	/* once before the ready bit was taken, and once after */
	KUNIT_EXPECT_EQ(test, atomic_read(&b.fake->writes), 2);
	fake_file_wake(b.fake, 0, EPOLLIN);
	KUNIT_EXPECT_EQ(test, state(&b), IO_ARMED);
	b.fake->result = 5;
	fake_file_wake(b.fake, 0, EPOLLOUT);
	KUNIT_EXPECT_EQ(test, state(&b), IO_READY);
	KUNIT_EXPECT_TRUE(test, roost_io_run(b.worker));
	KUNIT_EXPECT_EQ(test, atomic_read(&b.fake->writes), 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&b.fake->reads), 0);
	expect_done(&b, 5);
	clean_up(&b);
}

/*
 * Beyond the limit of who carries it out: no signal.  The file is one of memory that
 * says of itself that it is written without waiting.
 */
static void writes_beyond_the_limit(struct kunit *test)
{
	static const struct {
		unsigned long limit;
		u64 offset;
		unsigned int flags;
	} rows[] = {
		{ 4096, 4096, 0 },
		{ 4096, LLONG_MAX, 0 },
		{ 0, 0, O_APPEND },
	};
	struct rlimit *limit = &current->signal->rlim[RLIMIT_FSIZE];
	struct rlimit was = *limit;
	struct bench b = make_bench(test);
	struct file *file;
	int fd, i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		file = shmem_file_setup("roost", PAGE_SIZE, 0);
		KUNIT_ASSERT_FALSE(test, IS_ERR(file));
		file->f_mode |= FMODE_NOWAIT | FMODE_PWRITE;
		file->f_flags |= rows[i].flags;
		fd = get_unused_fd_flags(O_CLOEXEC);
		KUNIT_ASSERT_GE(test, fd, 0);
		fd_install(fd, file);
		KUNIT_EXPECT_EQ(test, start_on(&b, fd, ROOST_OP_WRITE, SEQ + i,
					       rows[i].offset), 0);
		limit->rlim_cur = rows[i].limit;
		KUNIT_EXPECT_TRUE(test, roost_io_run(b.worker));
		*limit = was;
		KUNIT_EXPECT_FALSE(test, signal_pending(current));
		expect_result(&b, roost_op_id(3, SEQ + i), -EFBIG);
	}
	clean_up(&b);
}

/* What a completion that is about to be posted finds. */
struct finding {
	struct fake_file *fake;
	long refs;
	unsigned int n;
};

static void look(void *data, const struct roost_worker *worker, u64 op_id, s32 res,
		 u32 flags)
{
	struct finding *finding = data;

	if (op_id != roost_op_id(3, SEQ))
		return;
	finding->refs = fake_file_refs(finding->fake);
	finding->n++;
}

/* Who is told that an op has ended may close the file, and nobody else has it. */
static void the_file_goes_first(struct kunit *test)
{
	struct bench b = make_bench(test);
	struct finding finding = { .fake = b.fake };

	if (register_trace_roost_io_complete(look, &finding))
		kunit_skip(test, "no tracepoints");
	KUNIT_EXPECT_EQ(test, start(&b, SEQ), 0);
	b.fake->result = 5;
	KUNIT_EXPECT_EQ(test, fake_file_refs(b.fake), 2);
	KUNIT_EXPECT_TRUE(test, roost_io_run(b.worker));
	unregister_trace_roost_io_complete(look, &finding);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_EQ(test, finding.n, 1);
	KUNIT_EXPECT_EQ(test, finding.refs, 1);
	expect_done(&b, 5);
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
	KUNIT_CASE(claimed_ones_are_passed_over),
	KUNIT_CASE(registered_twice_at_once),
	KUNIT_CASE(files_that_are_not_watched),
	KUNIT_CASE(a_life),
	KUNIT_CASE(a_write),
	KUNIT_CASE(writes_beyond_the_limit),
	KUNIT_CASE(the_file_goes_first),
	{}
};

FIXTURE_SUITE(io, io_cases);
