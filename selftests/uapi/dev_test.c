// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * dev_test.c - /dev/roost: what the module says of itself, and which domains
 * it makes.
 */
#include "kselftest_harness.h"

#include "roost_test.h"

FIXTURE(dev) {
	int fd;
	struct roost_info info;
};

FIXTURE_SETUP(dev)
{
	self->fd = dev_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(call(self->fd, ROOST_IOC_INFO, &self->info), 0);
}

FIXTURE_TEARDOWN(dev)
{
	close(self->fd);
}

TEST_F(dev, node_is_for_everybody)
{
	struct stat st;

	ASSERT_EQ(stat("/dev/roost", &st), 0);
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT_EQ(st.st_mode & 0777, 0666);
}

TEST_F(dev, info)
{
	const struct roost_info *i = &self->info;
	unsigned int k;

	EXPECT_EQ(i->api_version, ROOST_API_VERSION);
	EXPECT_GE(i->max_workers, 1);
	EXPECT_LE(i->max_workers, ROOST_MAX_WORKERS);
	EXPECT_GE(i->max_sq_entries, 256);
	EXPECT_LE(i->max_sq_entries, ROOST_MAX_SQ_ENTRIES);
	EXPECT_GE(i->max_cq_entries, 256);
	EXPECT_LE(i->max_cq_entries, ROOST_MAX_CQ_ENTRIES);
	EXPECT_GE(i->max_timers, 16384);
	EXPECT_GE(i->max_polls, 16384);
	EXPECT_EQ(i->features & (ROOST_FEAT_TIMER | ROOST_FEAT_POLL |
				 ROOST_FEAT_MULTISHOT | ROOST_FEAT_SYNC_WAKE |
				 ROOST_FEAT_IO),
		  ROOST_FEAT_TIMER | ROOST_FEAT_POLL | ROOST_FEAT_MULTISHOT |
		  ROOST_FEAT_SYNC_WAKE | ROOST_FEAT_IO);
	EXPECT_GE(i->max_ios, 16384);
	EXPECT_GE(i->max_files, 16384);
	EXPECT_EQ(i->ops, (1ULL << ROOST_OP_NR) - 1);
	EXPECT_EQ(i->ops & (1ULL << ROOST_OP_ACCEPT_RESERVED), 0);
	EXPECT_EQ(i->ops & (1ULL << ROOST_OP_CONNECT_RESERVED), 0);
	for (k = 0; k < 2; k++)
		EXPECT_EQ(i->reserved[k], 0);
}

/* C33: bytes that are not written on purpose stay as they were. */
TEST_F(dev, info_rejects_dirt)
{
	struct roost_info info = { 0 };

	info.reserved[1] = 1;
	EXPECT_EQ(call(self->fd, ROOST_IOC_INFO, &info), -EINVAL);
	info = (struct roost_info){ .max_ios = 1 };
	EXPECT_EQ(call(self->fd, ROOST_IOC_INFO, &info), -EINVAL);
}

TEST_F(dev, unknown_ioctl)
{
	EXPECT_EQ(call(self->fd, _IO(ROOST_IOC_MAGIC, 0x7f), NULL), -ENOTTY);
	EXPECT_EQ(call(self->fd, _IO(0x12, 0x01), NULL), -ENOTTY);
	/* those of other levels */
	EXPECT_EQ(call(self->fd, ROOST_IOC_DETACH, NULL), -ENOTTY);
}

TEST_F(dev, bad_pointer)
{
	EXPECT_EQ(call(self->fd, ROOST_IOC_INFO, (void *)8), -EFAULT);
	EXPECT_EQ(call(self->fd, ROOST_IOC_CREATE_DOMAIN, (void *)8), -EFAULT);
}

/* Sizes as a caller built with an older or a newer header would hand them in. */
#define SIZED(size) _IOC(_IOC_READ | _IOC_WRITE, ROOST_IOC_MAGIC, 0x01, size)

TEST_F(dev, domain_sizes)
{
	static const size_t params = sizeof(struct roost_domain_params);
	const struct {
		const char *what;
		size_t size;		/* handed in */
		size_t dirty;		/* this byte is 1, 0: none */
		size_t shift;		/* misalignment */
		int expected;		/* 0: a descriptor */
	} rows[] = {
		{ "exact", params, 0, 0, 0 },
		{ "larger, zero", params + 8, 0, 0, 0 },
		{ "much larger, zero", 4096, 0, 0, 0 },
		{ "larger, first new byte set", params + 8, params, 0, -E2BIG },
		{ "larger, last new byte set", params + 64, params + 63, 0, -E2BIG },
		{ "larger by one byte, set", params + 1, params, 0, -E2BIG },
		{ "smaller, without the reserved end",
		  offsetof(struct roost_domain_params, reserved), 0, 0, 0 },
		{ "smaller than the first version",
		  ROOST_DOMAIN_PARAMS_SIZE_VER0 - 1, 0, 0, -EINVAL },
		{ "too small", 4, 0, 0, -EINVAL },
		{ "nothing", 0, 0, 0, -EINVAL },
		{ "misaligned by 1", params, 0, 1, 0 },
		{ "misaligned by 2", params, 0, 2, 0 },
		{ "misaligned by 3", params + 8, 0, 3, 0 },
		{ "misaligned by 4", params, 0, 4, 0 },
		{ "misaligned by 7", params, 0, 7, 0 },
	};
	char *area = calloc(1, 8192);
	struct roost_domain_params p;
	unsigned int i;
	int ret;

	ASSERT_NE(area, NULL);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(area, 0, 8192);
		memset(&p, 0, sizeof(p));
		p.nr_timers = 16;
		memcpy(area + rows[i].shift, &p, sizeof(p));
		if (rows[i].dirty)
			area[rows[i].shift + rows[i].dirty] = 1;
		ret = call(self->fd, SIZED(rows[i].size), area + rows[i].shift);
		if (rows[i].expected) {
			EXPECT_EQ(ret, rows[i].expected)
				TH_LOG("row: %s", rows[i].what);
		} else {
			EXPECT_GE(ret, 0)
				TH_LOG("row: %s", rows[i].what);
		}
		if (ret >= 0)
			close(ret);
	}
	free(area);
}

TEST_F(dev, domain_rejections)
{
	const struct roost_info *info = &self->info;
	const struct {
		const char *what;
		struct roost_domain_params p;
	} rows[] = {
		{ "flag 1", { .flags = 2 } },
		{ "flag 1 with a known one",
		  { .flags = ROOST_DOMAIN_NO_IO | 2 } },
		{ "flag 31", { .flags = 1U << 31 } },
		{ "tick below the least",
		  { .tick_shift = ROOST_MIN_TICK_SHIFT - 1 } },
		{ "tick above the largest",
		  { .tick_shift = ROOST_MAX_TICK_SHIFT + 1 } },
		{ "tick of 64", { .tick_shift = 64 } },
		{ "too many timers", { .nr_timers = info->max_timers + 1 } },
		{ "all timers", { .nr_timers = ~0U } },
		{ "too many polls", { .nr_polls = info->max_polls + 1 } },
		{ "all polls", { .nr_polls = ~0U } },
		{ "too many ios", { .nr_ios = info->max_ios + 1 } },
		{ "all ios", { .nr_ios = ~0U } },
		{ "too many files", { .nr_files = info->max_files + 1 } },
		{ "all files", { .nr_files = ~0U } },
		{ "features in", { .features = 1 } },
		{ "control_size in", { .control_size = 4096 } },
		{ "events_size in", { .events_size = 4096 } },
		{ "slack above the largest",
		  { .slack_ns = ROOST_MAX_SLACK_NS + 1 } },
		{ "all slack", { .slack_ns = ~0ULL } },
		{ "reserved[0]", { .reserved = { 1, 0 } } },
		{ "reserved[1]", { .reserved = { 0, 1ULL << 63 } } },
	};
	struct roost_domain_params p;
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		p = rows[i].p;
		ret = call(self->fd, ROOST_IOC_CREATE_DOMAIN, &p);
		EXPECT_EQ(ret, -EINVAL)
			TH_LOG("row: %s", rows[i].what);
		if (ret >= 0)
			close(ret);
	}
}

TEST_F(dev, domain_limits_work)
{
	struct roost_domain_params p = {
		.tick_shift = ROOST_MAX_TICK_SHIFT,
		.nr_timers = self->info.max_timers,
		.nr_polls = self->info.max_polls,
		.nr_ios = self->info.max_ios,
		.nr_files = self->info.max_files,
	};
	int fd = call(self->fd, ROOST_IOC_CREATE_DOMAIN, &p);

	ASSERT_GE(fd, 0);
	EXPECT_GE(p.events_size, 4ULL * self->info.max_polls);
	EXPECT_EQ(p.features & self->info.features, p.features);
	EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	memset(&p, 0, sizeof(p));
	p.tick_shift = ROOST_MIN_TICK_SHIFT;
	fd = call(self->fd, ROOST_IOC_CREATE_DOMAIN, &p);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(p.events_size, 0);
	close(fd);
}

TEST_HARNESS_MAIN
