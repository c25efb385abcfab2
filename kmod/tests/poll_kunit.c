// SPDX-License-Identifier: GPL-2.0
/*
 * Poll ops: each arrow of the state machine in poll.c, and that there are no
 * others.
 */
#include <linux/fdtable.h>

#include "../poll.c"

#include "fake_file.h"
#include "fixture.h"

#define WANTED	(EPOLLIN | EPOLLPRI)

static const char * const state_names[] = {
	[POLL_ARMING]	= "ARMING",
	[POLL_ARMED]	= "ARMED",
	[POLL_FIRED]	= "FIRED",
	[POLL_ENDED]	= "ENDED",
};

static struct roost_poll_op *op_of(struct kunit *test, u32 index)
{
	struct roost_poll_op *op;

	op = roost_table_get(&fixture_domain(test)->polls, index);
	KUNIT_ASSERT_FALSE(test, IS_ERR(op));
	return op;
}

/* POLL_ADD of a file that is closed again at once: the op keeps it. */
static bool add(struct roost_worker *worker, struct fake_file *fake, u32 index,
		u32 sequence, u8 flags, s32 *res, u32 *cqe)
{
	struct roost_sqe sqe = {
		.opcode	= ROOST_OP_POLL_ADD,
		.flags	= flags,
		.fd	= fake_file_fd(fake),
		.op_id	= roost_op_id(index, sequence),
		.events	= mangle_poll(WANTED),
	};
	bool final = roost_poll_add(worker, &sqe, res, cqe);

	if (sqe.fd >= 0)
		close_fd(sqe.fd);
	return final;
}

static int remove(struct roost_worker *worker, u32 index, u32 sequence)
{
	struct roost_sqe sqe = {
		.opcode	= ROOST_OP_POLL_REMOVE,
		.op_id	= roost_op_id(index, sequence),
	};
	u64 target;
	u32 flags;

	return roost_poll_remove(worker, &sqe, &target, &flags);
}

/* One that is to be armed. */
static struct roost_poll *arm_one(struct kunit *test,
				  struct roost_worker *worker,
				  struct fake_file *fake, u32 index,
				  u32 sequence, u8 flags)
{
	s32 res = 0;
	u32 cqe;

	KUNIT_ASSERT_FALSE(test, add(worker, fake, index, sequence, flags, &res,
				     &cqe));
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, op_of(test, index)->armed);
	return op_of(test, index)->armed;
}

static void expect_none(struct kunit *test, struct roost_worker *worker)
{
	struct roost_cqe cqe;

	KUNIT_EXPECT_FALSE(test, fixture_take(worker, &cqe));
}

static void expect_cqe(struct kunit *test, struct roost_worker *worker, u64 id,
		       s32 res, u32 flags)
{
	struct roost_cqe cqe = { };

	KUNIT_EXPECT_TRUE(test, fixture_take(worker, &cqe));
	KUNIT_EXPECT_EQ(test, cqe.user_data, id);
	KUNIT_EXPECT_EQ(test, cqe.res, res);
	KUNIT_EXPECT_EQ(test, cqe.flags, flags);
	expect_none(test, worker);
}

/* The only state that can be claimed is ARMED, and only once. */
static void claims(struct kunit *test)
{
	struct roost_poll *poll = kunit_kzalloc(test, sizeof(*poll),
						GFP_KERNEL);
	enum poll_state from, to;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, poll);
	for (from = POLL_ARMING; from <= POLL_ENDED; from++) {
		for (to = POLL_FIRED; to <= POLL_ENDED; to++) {
			bool legal = from == POLL_ARMED;

			atomic_set(&poll->state, from);
			KUNIT_EXPECT_EQ(test, claim(poll, to), legal);
			KUNIT_EXPECT_EQ(test, atomic_read(&poll->state),
					legal ? to : from);
			KUNIT_EXPECT_FALSE(test, claim(poll, to));
		}
	}
}

/* A wake-up, by what it says. */
static const struct {
	__poll_t key;
	u32 seen;	/* what is noted of it; 0: it is not ours */
	u32 flags;
} keys[] = {
	{ EPOLLIN, (__force u32)EPOLLIN, 0 },
	{ EPOLLIN | EPOLLOUT, (__force u32)EPOLLIN, 0 },
	{ EPOLLOUT, 0, 0 },
	{ EPOLLHUP, (__force u32)EPOLLHUP, 0 },
	{ EPOLLERR | EPOLLOUT, (__force u32)EPOLLERR, 0 },
	{ 0, ROOST_EVENT_HINT, ROOST_CQE_HINT },
	{ EPOLLHUP | POLLFREE, (__force u32)(EPOLLHUP | EPOLLERR) | SEEN_FREE,
	  0 },
};

/* One wake-up in one state. */
static void wake_in_state(struct kunit *test, struct roost_worker *worker,
			  enum poll_state from, u32 k, u8 flags, u32 sequence)
{
	struct fake_file *fake = fake_file_make(test, 1);
	bool dies = keys[k].seen & SEEN_FREE, mine = keys[k].seen;
	struct roost_poll *poll = arm_one(test, worker, fake, 5, sequence,
					  flags);
	struct roost_poll_op *op = poll->op;
	bool many = flags & ROOST_POLL_MULTISHOT;
	bool fires = mine && from == POLL_ARMED && (!many || dies);
	bool more = mine && from == POLL_ARMED && many && !dies;
	u64 id = poll->op_id;

	atomic_set(&poll->state, from);
	if (dies)
		fake_file_pollfree(fake);
	else
		fake_file_wake(fake, 0, keys[k].key);
	KUNIT_EXPECT_EQ(test, atomic_read(&poll->state),
			fires ? POLL_FIRED : from);
	KUNIT_EXPECT_EQ(test, atomic_read(&poll->seen), keys[k].seen);
	KUNIT_EXPECT_EQ(test, test_bit(0, &op->reaping), fires);
	KUNIT_EXPECT_EQ(test, atomic_read(op->events),
			more ? to_user(keys[k].seen) |
			       (keys[k].seen & ROOST_EVENT_HINT) : 0);
	if (fires || more)
		expect_cqe(test, worker, id, to_user(keys[k].seen),
			   ROOST_CQE_POLL | keys[k].flags |
			   (more ? ROOST_CQE_MORE : 0));
	else
		expect_none(test, worker);
	/* The word says already that there is something. */
	fake_file_wake(fake, 0, keys[k].key);
	expect_none(test, worker);
	if (fixture_failed(test))
		kunit_err(test, "key %u in %s, flags %u", k, state_names[from],
			  flags);

	/* ARMING never stays: end it as what it would become. */
	if (from == POLL_ARMING)
		atomic_set(&poll->state, POLL_ARMED);
	KUNIT_EXPECT_EQ(test, remove(worker, 5, sequence),
			fires || from > POLL_ARMED ? -ENOENT : 0);
	KUNIT_EXPECT_EQ(test, fake_file_refs(fake), 1);
	roost_poll_reap(worker->domain);
	atomic_set(op->events, 0);
}

/* S2-05 */
static void wakeups_in_each_state(struct kunit *test)
{
	static const u8 flags[] = { 0, ROOST_POLL_MULTISHOT };
	struct roost_worker *worker = fixture_worker(test, 4, 16);
	enum poll_state from;
	u32 k, f, sequence = 0;

	for (from = POLL_ARMING; from <= POLL_ENDED; from++)
		for (k = 0; k < ARRAY_SIZE(keys); k++)
			for (f = 0; f < 2 && !fixture_failed(test); f++)
				wake_in_state(test, worker, from, k, flags[f],
					      ++sequence);
	KUNIT_EXPECT_EQ(test, atomic_read(&worker->domain->polls_armed), 0);
}

/* From ARMING to ARMED or FIRED, by what was there or came meanwhile. */
static void settling(struct kunit *test)
{
	static const struct {
		u32 mask, seen;
		bool many;
		u32 queues;
		enum poll_state to;
		bool posts;
	} rows[] = {
		{ 0, 0, false, 1, POLL_ARMED, false },
		{ 0, 0, true, 1, POLL_ARMED, false },
		{ 1, 0, false, 1, POLL_FIRED, false },
		{ 0, 1, false, 1, POLL_FIRED, false },
		{ 1, 0, true, 1, POLL_ARMED, true },
		{ 0, 1, true, 1, POLL_ARMED, true },
		{ 0, ROOST_EVENT_HINT, true, 1, POLL_ARMED, true },
		/* Nothing more would come. */
		{ 1, 0, true, 0, POLL_FIRED, false },
		{ 1, SEEN_FREE, true, 1, POLL_FIRED, false },
		{ 0, SEEN_FREE | 16, true, 1, POLL_FIRED, false },
	};
	struct roost_worker *worker = fixture_worker(test, 4, 16);
	struct fake_file *fake = fake_file_make(test, 1);
	struct roost_poll *poll;
	struct roost_cqe cqe;
	u32 i, mask;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		poll = arm_one(test, worker, fake, 0, i + 1, 0);
		atomic_set(&poll->state, POLL_ARMING);
		atomic_set(&poll->seen, rows[i].seen);
		poll->multishot = rows[i].many;
		poll->hook.nr = rows[i].queues;
		mask = rows[i].mask;
		KUNIT_EXPECT_EQ(test, settle(poll, &mask),
				rows[i].to == POLL_FIRED);
		KUNIT_EXPECT_EQ(test, atomic_read(&poll->state), rows[i].to);
		KUNIT_EXPECT_EQ(test, mask, rows[i].mask | rows[i].seen);
		KUNIT_EXPECT_EQ(test, fixture_take(worker, &cqe),
				rows[i].posts);
		poll->hook.nr = 1;
		remove(worker, 0, i + 1);
		if (fixture_failed(test)) {
			kunit_err(test, "row %u", i);
			return;
		}
	}
}

/* What ADD itself answers, and that it lets the file go then. */
static void wake_in(struct fake_file *fake)
{
	fake_file_wake(fake, 0, EPOLLIN);
}

static void free_queues(struct fake_file *fake)
{
	fake_file_pollfree(fake);
}

static void answers_at_once(struct kunit *test)
{
	static const struct {
		u32 queues;
		u32 events;	/* of EPOLL* bits */
		void (*during)(struct fake_file *fake);
		u8 flags;
		bool final;
		s32 res;
	} rows[] = {
		{ 1, 0, NULL, 0, false, 0 },
		{ 2, 0, NULL, ROOST_POLL_MULTISHOT, false, 0 },
		{ 1, 1, NULL, 0, true, 1 },
		{ 1, 4, NULL, 0, false, 0 },
		{ 2, 1 | 4 | 16, NULL, 0, true, 1 | 16 },
		{ 0, 0, NULL, 0, true, -EPERM },
		{ 0, 1, NULL, 0, true, 1 },
		{ 0, 1, NULL, ROOST_POLL_MULTISHOT, true, 1 },
		{ 3, 0, NULL, 0, true, -EINVAL },
		{ 3, 1, NULL, 0, true, -EINVAL },
		/* Woken while poll() is looking. */
		{ 1, 0, wake_in, 0, true, 1 },
		{ 1, 0, free_queues, 0, true, 8 | 16 },
		{ 1, 0, free_queues, ROOST_POLL_MULTISHOT, true, 8 | 16 },
	};
	struct roost_worker *worker = fixture_worker(test, 4, 16);
	struct fake_file *fake;
	u32 i, cqe;
	s32 res;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		fake = fake_file_make(test, rows[i].queues);
		atomic_set(&fake->events, rows[i].events);
		fake->during_poll = rows[i].during;
		res = 0;
		KUNIT_EXPECT_EQ(test, add(worker, fake, 1, i + 1, rows[i].flags,
					  &res, &cqe), rows[i].final);
		KUNIT_EXPECT_EQ(test, res, rows[i].res);
		KUNIT_EXPECT_EQ(test, cqe, ROOST_CQE_POLL);
		KUNIT_EXPECT_EQ(test, fake_file_refs(fake),
				rows[i].final ? 1 : 2);
		KUNIT_EXPECT_EQ(test, !op_of(test, 1)->armed, rows[i].final);
		expect_none(test, worker);
		if (fixture_failed(test)) {
			kunit_err(test, "row %u", i);
			return;
		}
	}
}

/* Multishot, ready when it is armed: armed, and a completion with MORE. */
static void multishot_that_is_ready(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 4, 16);
	struct fake_file *fake = fake_file_make(test, 2);
	struct roost_poll *poll;

	atomic_set(&fake->events, (__force int)EPOLLIN);
	poll = arm_one(test, worker, fake, 2, 1, ROOST_POLL_MULTISHOT);
	expect_cqe(test, worker, roost_op_id(2, 1), POLLIN,
		   ROOST_CQE_POLL | ROOST_CQE_MORE);
	fake_file_wake(fake, 1, EPOLLPRI);
	expect_none(test, worker);
	KUNIT_EXPECT_EQ(test, atomic_xchg(poll->op->events, 0),
			POLLIN | POLLPRI);
	fake_file_wake(fake, 1, EPOLLPRI);
	expect_cqe(test, worker, roost_op_id(2, 1), POLLPRI,
		   ROOST_CQE_POLL | ROOST_CQE_MORE);
}

/* Sequences: older calls are refused, by difference, in any state. */
static void sequences(struct kunit *test)
{
	static const u32 starts[] = { 1, 77, S32_MAX, 0x80000000U, U32_MAX };
	struct roost_worker *worker = fixture_worker(test, 4, 16);
	struct fake_file *fake = fake_file_make(test, 1);
	struct roost_poll_op *op = op_of(test, 3);
	u32 i, s, cqe;
	s32 res;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		s = starts[i];
		op->sequence = s - 1;
		arm_one(test, worker, fake, 3, s, 0);
		KUNIT_EXPECT_TRUE(test, add(worker, fake, 3, s, 0, &res, &cqe));
		KUNIT_EXPECT_EQ(test, res, -ESTALE);
		KUNIT_EXPECT_TRUE(test, add(worker, fake, 3, s - 1, 0, &res,
					    &cqe));
		KUNIT_EXPECT_EQ(test, res, -ESTALE);
		KUNIT_EXPECT_TRUE(test, add(worker, fake, 3, s + 0x80000000U,
					    0, &res, &cqe));
		KUNIT_EXPECT_EQ(test, res, -ESTALE);
		KUNIT_EXPECT_EQ(test, remove(worker, 3, s - 1), -ESTALE);
		KUNIT_EXPECT_EQ(test, remove(worker, 3, s), 0);
		KUNIT_EXPECT_EQ(test, remove(worker, 3, s), -ENOENT);
		/* Removed before it came, from another ring. */
		KUNIT_EXPECT_EQ(test, remove(worker, 3, s + 1), -ENOENT);
		KUNIT_EXPECT_TRUE(test, add(worker, fake, 3, s + 1, 0, &res,
					    &cqe));
		KUNIT_EXPECT_EQ(test, res, -ESTALE);
		arm_one(test, worker, fake, 3, s + 2, 0);
		KUNIT_EXPECT_EQ(test, remove(worker, 3, s + 9), 0);
		KUNIT_EXPECT_EQ(test, fake_file_refs(fake), 1);
		expect_none(test, worker);
	}
	KUNIT_EXPECT_EQ(test, remove(worker, FIXTURE_OPS, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, remove(worker, U32_MAX, 1), -EINVAL);
}

/* What the one before has left in its word hides nothing of the next one's. */
static void events_of_the_one_before(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 4, 16);
	struct fake_file *first = fake_file_make(test, 1);
	struct fake_file *next = fake_file_make(test, 1);
	struct roost_poll_op *op = op_of(test, 4);

	arm_one(test, worker, first, 4, 1, ROOST_POLL_MULTISHOT);
	fake_file_wake(first, 0, EPOLLIN);
	expect_cqe(test, worker, roost_op_id(4, 1), POLLIN,
		   ROOST_CQE_POLL | ROOST_CQE_MORE);
	KUNIT_EXPECT_EQ(test, atomic_read(op->events), POLLIN);
	arm_one(test, worker, next, 4, 2, ROOST_POLL_MULTISHOT);
	KUNIT_EXPECT_EQ(test, atomic_read(op->events), 0);
	fake_file_wake(next, 0, EPOLLIN);
	expect_cqe(test, worker, roost_op_id(4, 2), POLLIN,
		   ROOST_CQE_POLL | ROOST_CQE_MORE);
	/* An ADD that was overtaken by this one, and is about to clear the word. */
	forget_events(op, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(op->events), POLLIN);
	KUNIT_EXPECT_EQ(test, remove(worker, 4, 2), 0);
}

/*
 * It fires, and a reap comes, before it is known under its op: the reap misses it.  The
 * steps of arm(), which then looks once more.
 */
static void reaped_before_it_is_known(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 4, 16);
	struct fake_file *fake = fake_file_make(test, 1);
	struct roost_sqe sqe = {
		.opcode	= ROOST_OP_POLL_ADD,
		.fd	= fake_file_fd(fake),
		.op_id	= roost_op_id(4, 1),
		.events	= mangle_poll(WANTED),
	};
	struct roost_poll_op *op = op_of(test, 4);
	struct roost_poll *poll = make_poll(worker, op, &sqe);
	bool dropped;
	u32 mask;

	close_fd(sqe.fd);
	KUNIT_ASSERT_FALSE(test, IS_ERR(poll));
	op->sequence = 1;
	KUNIT_EXPECT_EQ(test, hook(poll, &mask), 0);
	atomic_inc(&worker->domain->polls_armed);
	KUNIT_EXPECT_FALSE(test, settle(poll, &mask));
	fake_file_wake(fake, 0, EPOLLIN);
	roost_poll_reap(worker->domain);
	KUNIT_EXPECT_EQ(test, fake_file_refs(fake), 2);
	KUNIT_EXPECT_TRUE(test, publish(poll));
	KUNIT_EXPECT_EQ(test, atomic_read(&poll->state), POLL_FIRED);
	KUNIT_EXPECT_TRUE(test, unpublish(poll));
	/* nobody else would */
	KUNIT_EXPECT_FALSE(test, unpublish(poll));
	KUNIT_EXPECT_FALSE(test, end(poll, false, &dropped));
	KUNIT_EXPECT_FALSE(test, dropped);
	expect_cqe(test, worker, sqe.op_id, POLLIN, ROOST_CQE_POLL);
	KUNIT_EXPECT_EQ(test, fake_file_refs(fake), 1);
}

/* Somebody else removes or replaces what is just being armed. */
static struct {
	struct roost_worker *worker;
	struct fake_file *next;
	int ret;
	bool final;
	s32 res;
} meddler;

static void remove_it(struct fake_file *fake)
{
	meddler.ret = remove(meddler.worker, 4, 1);
}

static void replace_it(struct fake_file *fake)
{
	u32 cqe;

	meddler.final = add(meddler.worker, meddler.next, 4, 2, 0, &meddler.res,
			    &cqe);
}

static void overtaken_while_arming(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 4, 16);
	struct fake_file *first = fake_file_make(test, 1);
	struct fake_file *next = fake_file_make(test, 1);
	s32 res;
	u32 cqe;

	meddler.worker = worker;
	meddler.next = next;
	first->during_poll = remove_it;
	KUNIT_EXPECT_TRUE(test, add(worker, first, 4, 1, 0, &res, &cqe));
	KUNIT_EXPECT_EQ(test, res, -ECANCELED);
	KUNIT_EXPECT_EQ(test, meddler.ret, -ENOENT);
	KUNIT_EXPECT_EQ(test, fake_file_refs(first), 1);

	op_of(test, 4)->sequence = 0;
	first->during_poll = replace_it;
	KUNIT_EXPECT_TRUE(test, add(worker, first, 4, 1, 0, &res, &cqe));
	KUNIT_EXPECT_EQ(test, res, -ECANCELED);
	KUNIT_EXPECT_FALSE(test, meddler.final);
	KUNIT_EXPECT_EQ(test, fake_file_refs(first), 1);
	KUNIT_EXPECT_EQ(test, fake_file_refs(next), 2);
	expect_none(test, worker);
	fake_file_wake(next, 0, EPOLLIN);
	expect_cqe(test, worker, roost_op_id(4, 2), POLLIN, ROOST_CQE_POLL);
}

static struct kunit_case poll_cases[] = {
	KUNIT_CASE(claims),
	KUNIT_CASE(wakeups_in_each_state),
	KUNIT_CASE(settling),
	KUNIT_CASE(answers_at_once),
	KUNIT_CASE(multishot_that_is_ready),
	KUNIT_CASE(sequences),
	KUNIT_CASE(events_of_the_one_before),
	KUNIT_CASE(reaped_before_it_is_known),
	KUNIT_CASE(overtaken_while_arming),
	{}
};

FIXTURE_SUITE(poll, poll_cases);
