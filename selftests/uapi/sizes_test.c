// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * sizes_test.c - structures of other sizes than ours, as callers have them that
 * were built with an older or a newer header; and what is known, and what not.
 */
#include "kselftest_harness.h"

#include "carrier_help.h"
#include "roost_test.h"

#define PAGE	4096U
/* The largest that an ioctl number can say. */
#define LARGEST	((1U << _IOC_SIZEBITS) - 1)

/* A call, with arguments that work. */
struct call_row {
	const char *what;
	unsigned long request;
	size_t ver0;
	enum { DEVICE, DOMAIN, WORKER } level;
	/* fields that have to be set */
	union {
		char bytes[sizeof(struct roost_domain_stat)];
		struct roost_domain_params domain;
		struct roost_worker_params worker;
		struct roost_wake wake;
	};
};

static const struct call_row rows[] = {
	{ "INFO", ROOST_IOC_INFO, ROOST_INFO_SIZE_VER0, DEVICE, { { 0 } } },
	{ "CREATE_DOMAIN", ROOST_IOC_CREATE_DOMAIN,
	  ROOST_DOMAIN_PARAMS_SIZE_VER0, DEVICE,
	  { .domain = { .nr_timers = 16, .nr_polls = 16 } } },
	{ "CREATE_WORKER", ROOST_IOC_CREATE_WORKER,
	  ROOST_WORKER_PARAMS_SIZE_VER0, DOMAIN,
	  { .worker = { .sq_entries = 8, .cq_entries = 8 } } },
	{ "WAKE", ROOST_IOC_WAKE, ROOST_WAKE_SIZE_VER0, DOMAIN,
	  { .wake = { .flags = ROOST_WAKE_ONE } } },
	{ "DOMAIN_STAT", ROOST_IOC_DOMAIN_STAT, ROOST_DOMAIN_STAT_SIZE_VER0,
	  DOMAIN, { { 0 } } },
	/* refused: one that is carried out does not return */
	{ "STANDBY", ROOST_IOC_STANDBY, ROOST_STANDBY_SIZE_VER0, DOMAIN,
	  { { 0 } } },
	{ "ATTACH", ROOST_IOC_ATTACH, ROOST_ATTACH_SIZE_VER0, WORKER,
	  { { 0 } } },
	{ "ENTER", ROOST_IOC_ENTER, ROOST_ENTER_SIZE_VER0, WORKER,
	  { { 0 } } },
};

#define NR_ROWS	(sizeof(rows) / sizeof(rows[0]))

/* What such a call says. */
static int good(const struct call_row *row)
{
	return row->request == ROOST_IOC_STANDBY ? -EOPNOTSUPP : 0;
}

FIXTURE(sizes) {
	struct dom d;
	struct wrk w;
	int dev;
	/* ends where nothing can be read any more */
	char *area, *end;
};

FIXTURE_SETUP(sizes)
{
	const size_t size = (LARGEST + PAGE) / PAGE * PAGE;

	want_carriers(false);
	ASSERT_EQ(dom_make(&self->d, 16, 16), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 8, 8), 0);
	self->dev = dev_open();
	ASSERT_GE(self->dev, 0);
	self->area = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(self->area, MAP_FAILED);
	self->end = self->area + size;
	ASSERT_EQ(mprotect(self->end, PAGE, PROT_NONE), 0);
}

FIXTURE_TEARDOWN(sizes)
{
	munmap(self->area, (size_t)(self->end - self->area) + PAGE);
	close(self->dev);
	close(self->w.fd);
	close(self->d.fd);
}

static unsigned long resize(unsigned long request, size_t size)
{
	return (request & ~((unsigned long)_IOC_SIZEMASK << _IOC_SIZESHIFT)) |
	       size << _IOC_SIZESHIFT;
}

/*
 * The call with a structure of @size bytes at the very end of what can be read,
 * of which byte @dirty is 1 if it is not 0.  What it has made is undone.
 */
static int call_sized(FIXTURE_DATA(sizes) *self, const struct call_row *row,
		      size_t size, size_t dirty)
{
	const int fds[] = { self->dev, self->d.fd, self->w.fd };
	size_t known = _IOC_SIZE(row->request);
	char *at = self->end - size;
	int ret;

	memset(self->area, 0, (size_t)(self->end - self->area));
	memcpy(at, row->bytes, size < known ? size : known);
	if (dirty)
		at[dirty] = 1;
	ret = call(fds[row->level], resize(row->request, size), at);
	if (ret >= 0 && row->request == ROOST_IOC_ATTACH)
		check(detach(&self->w) == 0);
	if (ret >= 0 && (row->request == ROOST_IOC_CREATE_DOMAIN ||
			 row->request == ROOST_IOC_CREATE_WORKER)) {
		close(ret);
		ret = 0;
	}
	return ret;
}

TEST_F(sizes, as_we_know_them)
{
	unsigned int i;

	for (i = 0; i < NR_ROWS; i++) {
		EXPECT_EQ(call_sized(self, &rows[i],
				     _IOC_SIZE(rows[i].request), 0),
			  good(&rows[i]))
			TH_LOG("%s", rows[i].what);
	}
}

/* From an old header: down to the first version, and no shorter. */
TEST_F(sizes, shorter)
{
	unsigned int i;
	size_t size;

	for (i = 0; i < NR_ROWS; i++) {
		for (size = rows[i].ver0; size < _IOC_SIZE(rows[i].request);
		     size += 4) {
			EXPECT_EQ(call_sized(self, &rows[i], size, 0),
				  good(&rows[i]))
				TH_LOG("%s of %zu", rows[i].what, size);
		}
		for (size = 0; size < rows[i].ver0; size++) {
			EXPECT_EQ(call_sized(self, &rows[i], size, 0), -EINVAL)
				TH_LOG("%s of %zu", rows[i].what, size);
		}
	}
}

/* From a newer one, which does not use what is new. */
TEST_F(sizes, longer_and_zero)
{
	static const size_t more[] = { 1, 4, 7, 8, 64, 1000, 4096 };
	unsigned int i, k;
	size_t known;

	for (i = 0; i < NR_ROWS; i++) {
		known = _IOC_SIZE(rows[i].request);
		for (k = 0; k < sizeof(more) / sizeof(more[0]); k++) {
			EXPECT_EQ(call_sized(self, &rows[i], known + more[k],
					     0), good(&rows[i]))
				TH_LOG("%s and %zu", rows[i].what, more[k]);
		}
		EXPECT_EQ(call_sized(self, &rows[i], LARGEST, 0), good(&rows[i]))
			TH_LOG("%s, as large as can be", rows[i].what);
	}
}

/* Which does: there is no guessing what it may mean. */
TEST_F(sizes, longer_and_not_zero)
{
	static const size_t more[] = { 1, 2, 8, 9, 64, 4096 };
	unsigned int i, k;
	size_t known, size;

	for (i = 0; i < NR_ROWS; i++) {
		known = _IOC_SIZE(rows[i].request);
		for (k = 0; k < sizeof(more) / sizeof(more[0]); k++) {
			size = known + more[k];
			EXPECT_EQ(call_sized(self, &rows[i], size, known),
				  -E2BIG)
				TH_LOG("%s and %zu, first", rows[i].what,
				       more[k]);
			EXPECT_EQ(call_sized(self, &rows[i], size, size - 1),
				  -E2BIG)
				TH_LOG("%s and %zu, last", rows[i].what,
				       more[k]);
		}
	}
	EXPECT_EQ(stat_of(&self->d).workers, 1);
}

/* Nothing is read or written but what the number says is there. */
TEST_F(sizes, not_a_byte_too_far)
{
	const int fds[] = { self->dev, self->d.fd, self->w.fd };
	unsigned int i;
	size_t size;
	char *at;

	for (i = 0; i < NR_ROWS; i++) {
		size = _IOC_SIZE(rows[i].request);
		/* the last byte is not there */
		at = self->end - size + 1;
		memset(self->area, 0, (size_t)(self->end - self->area));
		memcpy(at, rows[i].bytes, size - 1);
		EXPECT_EQ(call(fds[rows[i].level], rows[i].request, at),
			  -EFAULT)
			TH_LOG("%s", rows[i].what);
		EXPECT_EQ(call(fds[rows[i].level], rows[i].request, NULL),
			  -EFAULT)
			TH_LOG("%s at NULL", rows[i].what);
		EXPECT_EQ(call(fds[rows[i].level], rows[i].request,
			       (void *)-4096L), -EFAULT)
			TH_LOG("%s at the end of all", rows[i].what);
	}
	EXPECT_EQ(stat_of(&self->d).workers, 1);
}

/* What comes out is cut to what the caller knows, and is the same. */
TEST_F(sizes, answers_are_cut)
{
	struct roost_info whole = { 0 };
	unsigned char area[sizeof(whole) + 64];
	size_t size;
	unsigned int i;

	ASSERT_EQ(call(self->dev, ROOST_IOC_INFO, &whole), 0);
	for (size = ROOST_INFO_SIZE_VER0; size <= sizeof(area); size += 4) {
		memset(area, 0xa5, sizeof(area));
		memset(area, 0, size);
		ASSERT_EQ(call(self->dev, resize(ROOST_IOC_INFO, size), area),
			  0);
		EXPECT_EQ(memcmp(area, &whole, size < sizeof(whole) ?
				 size : sizeof(whole)), 0);
		for (i = size; i < sizeof(area); i++)
			EXPECT_EQ(area[i], 0xa5);
	}
}

/* An ENTER of another size does the same. */
TEST_F(sizes, enter_in_all_sizes)
{
	static const size_t of[] = { ROOST_ENTER_SIZE_VER0, 40, 48, 56, 4096 };
	struct roost_enter *e = (void *)self->area;
	struct roost_cqe cqe;
	struct roost_sqe nop;
	unsigned int i;

	ASSERT_EQ(attach(&self->w), 0);
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		nop = sqe_nop(i);
		push(&self->w, &nop);
		memset(e, 0, PAGE);
		e->to_submit = 1;
		ASSERT_EQ(call(self->w.fd, resize(ROOST_IOC_ENTER, of[i]), e),
			  0);
		EXPECT_EQ(e->submitted, 1);
		ASSERT_TRUE(pop(&self->w, &cqe));
		EXPECT_EQ(cqe.user_data, i);
		memset(e, 0, PAGE);
		e->flags = ROOST_ENTER_PARK;
		e->deadline = 1;
		e->event = sample(&self->d);
		set_idle(&self->d, &self->w);
		ASSERT_EQ(call(self->w.fd, resize(ROOST_IOC_ENTER, of[i]), e),
			  0);
		EXPECT_EQ(e->outcome & ROOST_OUT_TIMEOUT, ROOST_OUT_TIMEOUT);
	}
	EXPECT_EQ(detach(&self->w), 0);
}

/* DETACH has no structure. */
TEST_F(sizes, detach_has_none)
{
	ASSERT_EQ(attach(&self->w), 0);
	EXPECT_EQ(call(self->w.fd, resize(ROOST_IOC_DETACH, 8), self->area),
		  -EINVAL);
	EXPECT_EQ(call(self->w.fd, ROOST_IOC_DETACH | _IOC_READ << _IOC_DIRSHIFT,
		       self->area), -ENOTTY);
	/* the argument is nothing */
	EXPECT_EQ(call(self->w.fd, ROOST_IOC_DETACH, (void *)8), 0);
}

/* The direction is a part of a number, whatever the size. */
TEST_F(sizes, directions)
{
	const int fds[] = { self->dev, self->d.fd, self->w.fd };
	unsigned long dir, right;
	unsigned int i;

	for (i = 0; i < NR_ROWS; i++) {
		right = _IOC_DIR(rows[i].request);
		for (dir = 0; dir < 4; dir++) {
			if (dir == right)
				continue;
			EXPECT_EQ(call(fds[rows[i].level],
				       (rows[i].request ^
					right << _IOC_DIRSHIFT) |
				       dir << _IOC_DIRSHIFT, self->area),
				  -ENOTTY)
				TH_LOG("%s, direction %lu", rows[i].what, dir);
		}
	}
}

/* Each call at the levels that it is not for. */
TEST_F(sizes, levels)
{
	const int fds[] = { self->dev, self->d.fd, self->w.fd };
	unsigned int i, level;

	for (i = 0; i < NR_ROWS; i++) {
		for (level = DEVICE; level <= WORKER; level++) {
			if (level == rows[i].level)
				continue;
			EXPECT_EQ(call(fds[level], rows[i].request,
				       self->area), -ENOTTY)
				TH_LOG("%s on level %u", rows[i].what, level);
		}
	}
	EXPECT_EQ(call(self->dev, ROOST_IOC_DETACH, NULL), -ENOTTY);
	EXPECT_EQ(call(self->d.fd, ROOST_IOC_DETACH, NULL), -ENOTTY);
}

/* INFO tells which opcodes are known, and the others are not. */
TEST_F(sizes, op_probe)
{
	struct roost_info info = { 0 };
	struct roost_cqe cqe;
	unsigned int op;
	bool known;

	ASSERT_EQ(call(self->dev, ROOST_IOC_INFO, &info), 0);
	for (op = 0; op < 256; op++) {
		/* a known one refuses a descriptor, a timer or an index */
		struct roost_sqe sqe = {
			.opcode = (uint8_t)op, .fd = -1,
			.op_id = roost_op_id(0, op + 1),
			.offset = op == ROOST_OP_READ || op == ROOST_OP_WRITE ?
				  ROOST_OFFSET_NONE : 0,
		};

		known = op < 64 && info.ops >> op & 1;
		if (op == ROOST_OP_SKIP)
			continue;
		if (op != ROOST_OP_POLL_ADD &&
		    !(op >= ROOST_OP_RECV && op <= ROOST_OP_SEND_RECV))
			sqe.fd = 0;
		/* neither has this domain I/O ops or files, for all of these */
		sqe.op_id = roost_op_id(op >= ROOST_OP_RECV ? 99 : 0, op + 1);
		ASSERT_EQ(submit_one(&self->w, sqe), 1);
		if (!pop(&self->w, &cqe)) {
			/* a timer that is past, shortly */
			EXPECT_EQ(op, ROOST_OP_TIMER_SET);
			ASSERT_EQ(attach(&self->w), 0);
			ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe,
					   now_ns() + wide(5 * SEC)), 0);
			ASSERT_EQ(detach(&self->w), 0);
		}
		EXPECT_EQ(cqe.user_data, sqe.op_id);
		if (!known) {
			EXPECT_EQ(cqe.res, -EINVAL)
				TH_LOG("opcode %u", op);
			EXPECT_EQ(cqe.flags, 0)
				TH_LOG("opcode %u", op);
		} else if (op != ROOST_OP_NOP) {
			/* the kind tells that it was understood */
			EXPECT_NE(cqe.flags & ROOST_CQE_KIND, 0)
				TH_LOG("opcode %u", op);
		}
	}
}

TEST_HARNESS_MAIN
