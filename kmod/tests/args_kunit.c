// SPDX-License-Identifier: GPL-2.0
/*
 * Arguments of the ioctls: one fault a row, and structures of other sizes.
 */
#include "../dev.c"
#include "../enter.c"

#include "fixture.h"

/* A command with a structure of another size. */
static u32 sized(u32 cmd, u32 size)
{
	return ROOST_CMD(cmd) | size << _IOC_SIZESHIFT;
}

/* By who knows @size bytes of the structure. */
static long call_enter(struct roost_worker *worker, void *arg, u32 size)
{
	return fixture_worker_ioctl(worker, sized(ROOST_IOC_ENTER, size), arg,
				    size);
}

static long call_wake(struct roost_domain *domain, void *arg, u32 size)
{
	return fixture_domain_ioctl(domain, sized(ROOST_IOC_WAKE, size), arg,
				    size);
}

#define PARK	ROOST_ENTER_PARK
#define WAKE	ROOST_ENTER_WAKE

static const struct {
	struct roost_enter arg;
	int ret;
} enter_rows[] = {
	{ { .flags = 0 }, 0 },
	{ { .to_submit = U32_MAX }, 0 },
	{ { .flags = WAKE, .wake = U32_MAX }, 0 },
	{ { .flags = 1U << 2 }, -EINVAL },
	{ { .flags = 1U << 31 }, -EINVAL },
	{ { .flags = ~0U }, -EINVAL },
	{ { .wake = 1 }, -EINVAL },
	{ { .flags = PARK, .wake = 1, .deadline = 1 }, -EINVAL },
	{ { .deadline = 1 }, -EINVAL },
	{ { .event = 1 }, -EINVAL },
	{ { .flags = WAKE, .deadline = 1 }, -EINVAL },
	{ { .flags = PARK, .deadline = ROOST_MAX_DEADLINE + 1 }, -EINVAL },
	{ { .flags = PARK, .deadline = ROOST_NO_DEADLINE - 1 }, -EINVAL },
	{ { .submitted = 1 }, -EINVAL },
	{ { .outcome = 1 }, -EINVAL },
	{ { .outcome = 1U << 31 }, -EINVAL },
	{ { .reserved = { 1, 0 } }, -EINVAL },
	{ { .reserved = { 0, 1ULL << 63 } }, -EINVAL },
	/* Right, but it is not the carrier who asks. */
	{ { .flags = PARK, .deadline = ROOST_MAX_DEADLINE }, -EPERM },
	{ { .flags = PARK, .deadline = ROOST_NO_DEADLINE }, -EPERM },
	{ { .flags = PARK | WAKE, .event = U32_MAX, .wake = 1 }, -EPERM },
};

/* By who knows the structure as we do, and by who knows a longer one. */
static void enter_fields(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 1, 2);
	struct {
		struct roost_enter arg;
		u64 more;
	} big;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(enter_rows); i++) {
		big.arg = enter_rows[i].arg;
		big.more = 0;
		KUNIT_EXPECT_EQ_MSG(test,
				    call_enter(worker, &big, sizeof(big.arg)),
				    enter_rows[i].ret, "row %u", i);
		big.arg = enter_rows[i].arg;
		KUNIT_EXPECT_EQ_MSG(test,
				    call_enter(worker, &big, sizeof(big)),
				    enter_rows[i].ret, "row %u, longer", i);
	}
}

/* Sizes: too short, known, a longer one with and without something there. */
static void enter_sizes(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 1, 2);
	u32 size, at, least = sizeof(struct roost_enter);
	u8 arg[128];

	for (size = 0; size <= sizeof(arg); size++) {
		memset(arg, 0, sizeof(arg));
		KUNIT_EXPECT_EQ_MSG(test, call_enter(worker, arg, size),
				    size < ROOST_ENTER_SIZE_VER0 ? -EINVAL : 0,
				    "size %u", size);
	}
	for (at = least; at < sizeof(arg); at++) {
		memset(arg, 0, sizeof(arg));
		arg[at] = 1;
		KUNIT_EXPECT_EQ_MSG(test, call_enter(worker, arg, sizeof(arg)),
				    -E2BIG, "byte %u", at);
	}
}

static void unknown_numbers(struct kunit *test)
{
	struct roost_worker *worker = fixture_worker(test, 1, 2);
	static const u32 on_worker[] = {
		ROOST_IOC_INFO, ROOST_IOC_CREATE_DOMAIN,
		ROOST_IOC_CREATE_WORKER, ROOST_IOC_WAKE, ROOST_IOC_DOMAIN_STAT,
		_IO(ROOST_IOC_MAGIC, 0x22), _IO(ROOST_IOC_MAGIC, 0x7f),
		_IO(0xBE, 0x21), 0, ~0U,
	};
	static const u32 on_domain[] = {
		ROOST_IOC_INFO, ROOST_IOC_CREATE_DOMAIN, ROOST_IOC_ATTACH,
		ROOST_IOC_DETACH, ROOST_IOC_ENTER, _IO(ROOST_IOC_MAGIC, 0x10),
		_IO(0xBE, 0x11), 0, ~0U,
	};
	struct roost_domain_stat arg = { };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(on_worker); i++)
		KUNIT_EXPECT_EQ_MSG(test,
				    fixture_worker_ioctl(worker, on_worker[i],
							 &arg, sizeof(arg)),
				    -ENOTTY, "row %u", i);
	for (i = 0; i < ARRAY_SIZE(on_domain); i++)
		KUNIT_EXPECT_EQ_MSG(test,
				    fixture_domain_ioctl(worker->domain,
							 on_domain[i], &arg,
							 sizeof(arg)),
				    -ENOTTY, "row %u", i);
}

static void wake_fields(struct kunit *test)
{
	struct roost_domain *domain = fixture_domain(test);
	static const struct {
		struct roost_wake arg;
		int ret;
	} rows[] = {
		{ { .flags = ROOST_WAKE_INDEX, .index = 1 }, -ESRCH },
		{ { .flags = ROOST_WAKE_ONE }, 0 },
		{ { .flags = ROOST_WAKE_ALL }, 0 },
		{ { .flags = 0 }, -EINVAL },
		{ { .flags = ROOST_WAKE_ONE, .index = 1 }, -EINVAL },
		{ { .flags = ROOST_WAKE_ONE, .reserved = 1 }, -EINVAL },
		{ { .flags = ROOST_WAKE_INDEX, .reserved = 1ULL << 63 },
		  -EINVAL },
		{ { .flags = ROOST_WAKE_INDEX | 1U << 4 }, -EINVAL },
		{ { .flags = ROOST_WAKE_INDEX | 1U << 31 }, -EINVAL },
	};
	struct {
		struct roost_wake arg;
		u64 more;
	} big;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		big.arg = rows[i].arg;
		big.more = 0;
		KUNIT_EXPECT_EQ_MSG(test,
				    call_wake(domain, &big, sizeof(big.arg)),
				    rows[i].ret, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, call_wake(domain, &big, sizeof(big)),
				    rows[i].ret, "row %u, longer", i);
		big.more = 1;
		KUNIT_EXPECT_EQ(test, call_wake(domain, &big, sizeof(big)),
				-E2BIG);
	}
}

/* What is only put out must be zero when it comes in. */
static void stat_fields(struct kunit *test)
{
	struct roost_domain *domain = fixture_domain(test);
	struct roost_domain_stat stat;
	u32 at;

	for (at = 0; at < sizeof(stat); at++) {
		memset(&stat, 0, sizeof(stat));
		((u8 *)&stat)[at] = 1;
		KUNIT_EXPECT_EQ_MSG(test,
				    fixture_domain_ioctl(domain,
							 ROOST_IOC_DOMAIN_STAT,
							 &stat, sizeof(stat)),
				    -EINVAL, "byte %u", at);
	}
	fixture_worker(test, 1, 2);
	memset(&stat, 0, sizeof(stat));
	KUNIT_EXPECT_EQ(test, fixture_domain_ioctl(domain,
						   ROOST_IOC_DOMAIN_STAT, &stat,
						   sizeof(stat)), 0);
	KUNIT_EXPECT_EQ(test, stat.workers, 1);
}

static void domain_parameters(struct kunit *test)
{
	static const struct {
		struct roost_domain_params params;
		int ret;
	} rows[] = {
		{ { }, 0 },
		{ { .flags = ROOST_DOMAIN_NO_IO }, 0 },
		{ { .flags = 2 }, -EINVAL },
		{ { .flags = 1U << 31 }, -EINVAL },
		{ { .tick_shift = ROOST_MIN_TICK_SHIFT }, 0 },
		{ { .tick_shift = ROOST_MAX_TICK_SHIFT }, 0 },
		{ { .tick_shift = ROOST_MIN_TICK_SHIFT - 1 }, -EINVAL },
		{ { .tick_shift = ROOST_MAX_TICK_SHIFT + 1 }, -EINVAL },
		{ { .tick_shift = U32_MAX }, -EINVAL },
		{ { .features = 1 }, -EINVAL },
		{ { .control_size = 1 }, -EINVAL },
		{ { .events_size = 1 }, -EINVAL },
		{ { .reserved = { 1, 0 } }, -EINVAL },
		{ { .reserved = { 0, 1ULL << 63 } }, -EINVAL },
		{ { .slack_ns = ROOST_MAX_SLACK_NS }, 0 },
		{ { .slack_ns = ROOST_MAX_SLACK_NS + 1 }, -EINVAL },
		{ { .slack_ns = U64_MAX }, -EINVAL },
		{ { .nr_timers = U32_MAX }, -EINVAL },
		{ { .nr_polls = U32_MAX }, -EINVAL },
		{ { .nr_ios = U32_MAX }, -EINVAL },
		{ { .nr_files = U32_MAX }, -EINVAL },
	};
	struct roost_domain_params params;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		params = rows[i].params;
		KUNIT_EXPECT_EQ_MSG(test, check_domain_params(&params),
				    rows[i].ret, "row %u", i);
	}
	params = (struct roost_domain_params){ };
	check_domain_params(&params);
	KUNIT_EXPECT_EQ(test, params.tick_shift, ROOST_DEFAULT_TICK_SHIFT);
	/* The limits are parameters of the module: they are what counts. */
	params.nr_timers = roost_max_timers;
	params.nr_polls = roost_max_polls;
	params.nr_ios = roost_max_ios;
	params.nr_files = roost_max_files;
	KUNIT_EXPECT_EQ(test, check_domain_params(&params), 0);
	params.nr_files++;
	KUNIT_EXPECT_EQ(test, check_domain_params(&params), -EINVAL);
}

static void worker_parameters(struct kunit *test)
{
#define SIZES	.sq_entries = 4, .cq_entries = 4
	static const struct {
		struct roost_worker_params params;
		int ret;
	} rows[] = {
		{ { SIZES }, 0 },
		{ { SIZES, .flags = 1 }, -EINVAL },
		{ { SIZES, .flags = 1U << 31 }, -EINVAL },
		{ { SIZES, .index = 1 }, -EINVAL },
		{ { SIZES, .sq_offset = 1 }, -EINVAL },
		{ { SIZES, .cq_offset = 1 }, -EINVAL },
		{ { SIZES, .map_size = 1 }, -EINVAL },
		{ { SIZES, .reserved0 = 1 }, -EINVAL },
		{ { SIZES, .reserved = { 1, 0 } }, -EINVAL },
		{ { SIZES, .reserved = { 0, 1ULL << 63 } }, -EINVAL },
		{ { .sq_entries = 0, .cq_entries = 4 }, -EINVAL },
		{ { .sq_entries = 3, .cq_entries = 4 }, -EINVAL },
		{ { .sq_entries = 4, .cq_entries = 0 }, -EINVAL },
		{ { .sq_entries = 4, .cq_entries = 1 }, -EINVAL },
		{ { .sq_entries = 4, .cq_entries = 6 }, -EINVAL },
		{ { .sq_entries = 1, .cq_entries = 2 }, 0 },
		{ { .sq_entries = ROOST_MAX_SQ_ENTRIES,
		    .cq_entries = ROOST_MAX_CQ_ENTRIES }, 0 },
		{ { .sq_entries = ROOST_MAX_SQ_ENTRIES * 2,
		    .cq_entries = 4 }, -EINVAL },
		{ { .sq_entries = 4,
		    .cq_entries = ROOST_MAX_CQ_ENTRIES * 2 }, -EINVAL },
		{ { .sq_entries = 1U << 31, .cq_entries = 4 }, -EINVAL },
		{ { .sq_entries = 4, .cq_entries = U32_MAX }, -EINVAL },
	};
#undef SIZES
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, fixture_check_worker(&rows[i].params),
				    rows[i].ret, "row %u", i);
}

static struct kunit_case args_cases[] = {
	KUNIT_CASE(enter_fields),
	KUNIT_CASE(enter_sizes),
	KUNIT_CASE(unknown_numbers),
	KUNIT_CASE(wake_fields),
	KUNIT_CASE(stat_fields),
	KUNIT_CASE(domain_parameters),
	KUNIT_CASE(worker_parameters),
	{}
};

FIXTURE_SUITE(args, args_cases);
