// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* domain_test.c - a domain's descriptor: workers, waking, counters, readiness. */
#include "kselftest_harness.h"

#include "roost_test.h"

FIXTURE(domain) {
	struct dom d;
};

FIXTURE_SETUP(domain)
{
	ASSERT_EQ(dom_make(&self->d, 16, 16), 0);
}

FIXTURE_TEARDOWN(domain)
{
	dom_unmap(&self->d);
	close(self->d.fd);
}

TEST_F(domain, control_page_says_what_it_is)
{
	const struct roost_control *c = self->d.control;

	EXPECT_EQ(c->api_version, ROOST_API_VERSION);
	EXPECT_EQ(c->tick_shift, ROOST_DEFAULT_TICK_SHIFT);
	EXPECT_EQ(c->features, self->d.params.features);
	EXPECT_GE(self->d.params.control_size, sizeof(*c));
	EXPECT_EQ(fcntl(self->d.fd, F_GETFD), FD_CLOEXEC);
}

TEST_F(domain, worker_rejections)
{
	const struct {
		const char *what;
		struct roost_worker_params p;
	} rows[] = {
		{ "flags", { .flags = 1, .sq_entries = 8, .cq_entries = 8 } },
		{ "no SQ", { .cq_entries = 8 } },
		{ "no CQ", { .sq_entries = 8 } },
		{ "CQ of one", { .sq_entries = 8, .cq_entries = 1 } },
		{ "odd SQ", { .sq_entries = 12, .cq_entries = 8 } },
		{ "odd CQ", { .sq_entries = 8, .cq_entries = 12 } },
		{ "huge SQ", { .sq_entries = 2 * ROOST_MAX_SQ_ENTRIES,
			       .cq_entries = 8 } },
		{ "huge CQ", { .sq_entries = 8,
			       .cq_entries = 2 * ROOST_MAX_CQ_ENTRIES } },
		{ "SQ of 2^31", { .sq_entries = 1U << 31, .cq_entries = 8 } },
		{ "index in", { .sq_entries = 8, .cq_entries = 8, .index = 1 } },
		{ "sq_offset in",
		  { .sq_entries = 8, .cq_entries = 8, .sq_offset = 1 } },
		{ "cq_offset in",
		  { .sq_entries = 8, .cq_entries = 8, .cq_offset = 1 } },
		{ "map_size in",
		  { .sq_entries = 8, .cq_entries = 8, .map_size = 1 } },
		{ "reserved0",
		  { .sq_entries = 8, .cq_entries = 8, .reserved0 = 1 } },
		{ "reserved[0]",
		  { .sq_entries = 8, .cq_entries = 8, .reserved = { 1, 0 } } },
		{ "reserved[1]",
		  { .sq_entries = 8, .cq_entries = 8, .reserved = { 0, 1 } } },
	};
	struct roost_worker_params p;
	struct wrk w;
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		p = rows[i].p;
		ret = call(self->d.fd, ROOST_IOC_CREATE_WORKER, &p);
		EXPECT_EQ(ret, -EINVAL)
			TH_LOG("row: %s", rows[i].what);
		if (ret >= 0)
			close(ret);
	}
	/* and none of these has taken an index */
	ASSERT_EQ(wrk_make(&w, &self->d, 8, 8), 0);
	EXPECT_EQ(w.params.index, 0);
	EXPECT_EQ(fcntl(w.fd, F_GETFD), FD_CLOEXEC);
	EXPECT_EQ(stat_of(&self->d).workers, 1);
}

TEST_F(domain, as_many_workers_as_said)
{
	struct roost_info info = { 0 };
	struct roost_worker_params p;
	int dev = dev_open(), fd;
	unsigned int i;

	ASSERT_EQ(call(dev, ROOST_IOC_INFO, &info), 0);
	for (i = 0; i < info.max_workers; i++) {
		p = (struct roost_worker_params){ .sq_entries = 1,
						  .cq_entries = 2 };
		fd = call(self->d.fd, ROOST_IOC_CREATE_WORKER, &p);
		ASSERT_GE(fd, 0);
		ASSERT_EQ(p.index, i);
	}
	p = (struct roost_worker_params){ .sq_entries = 1, .cq_entries = 2 };
	fd = call(self->d.fd, ROOST_IOC_CREATE_WORKER, &p);
	EXPECT_LT(fd, 0);
	EXPECT_EQ(stat_of(&self->d).workers, info.max_workers);
}

TEST_F(domain, wake_rejections)
{
	const struct {
		const char *what;
		struct roost_wake w;
		int expected;
	} rows[] = {
		{ "no flag", { .flags = 0 }, -EINVAL },
		{ "sync alone", { .flags = ROOST_WAKE_SYNC }, -EINVAL },
		{ "one and index",
		  { .flags = ROOST_WAKE_ONE | ROOST_WAKE_INDEX }, -EINVAL },
		{ "one and all",
		  { .flags = ROOST_WAKE_ONE | ROOST_WAKE_ALL }, -EINVAL },
		{ "all and sync",
		  { .flags = ROOST_WAKE_ALL | ROOST_WAKE_SYNC }, -EINVAL },
		{ "one and standbys",
		  { .flags = ROOST_WAKE_ONE | ROOST_WAKE_DISMISS }, -EINVAL },
		{ "standbys and sync",
		  { .flags = ROOST_WAKE_DISMISS | ROOST_WAKE_SYNC }, -EINVAL },
		{ "standbys with an index",
		  { .flags = ROOST_WAKE_DISMISS, .index = 1 }, -EINVAL },
		{ "unknown flag",
		  { .flags = ROOST_WAKE_ONE | 1U << 5 }, -EINVAL },
		{ "flag 31", { .flags = ROOST_WAKE_ONE | 1U << 31 }, -EINVAL },
		{ "one with an index",
		  { .flags = ROOST_WAKE_ONE, .index = 1 }, -EINVAL },
		{ "all with an index",
		  { .flags = ROOST_WAKE_ALL, .index = 1 }, -EINVAL },
		{ "reserved",
		  { .flags = ROOST_WAKE_ONE, .reserved = 1 }, -EINVAL },
		{ "no such worker", { .flags = ROOST_WAKE_INDEX }, -ESRCH },
		{ "index 255",
		  { .flags = ROOST_WAKE_INDEX, .index = 255 }, -ESRCH },
		{ "index 256",
		  { .flags = ROOST_WAKE_INDEX, .index = 256 }, -ESRCH },
		{ "index 2^32-1",
		  { .flags = ROOST_WAKE_INDEX, .index = ~0U }, -ESRCH },
		{ "nobody there", { .flags = ROOST_WAKE_ONE }, 0 },
		{ "nobody at all", { .flags = ROOST_WAKE_ALL }, 0 },
	};
	struct roost_wake w;
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		w = rows[i].w;
		EXPECT_EQ(call(self->d.fd, ROOST_IOC_WAKE, &w), rows[i].expected)
			TH_LOG("row: %s", rows[i].what);
	}
}

/* C33: what the kernel does not mean to write it does not write. */
TEST_F(domain, stat_writes_only_what_it_means)
{
	struct {
		struct roost_domain_stat s;
		unsigned char guard[64];
	} area;
	unsigned int i;

	memset(&area, 0xa5, sizeof(area));
	memset(&area.s, 0, sizeof(area.s));
	EXPECT_EQ(call(self->d.fd, ROOST_IOC_DOMAIN_STAT, &area.s), 0);
	for (i = 0; i < sizeof(area.guard); i++)
		EXPECT_EQ(area.guard[i], 0xa5);
	EXPECT_EQ(area.s.workers, 0);
	memset(&area.s, 0, sizeof(area.s));
	area.s.parks_busy = 1;
	EXPECT_EQ(call(self->d.fd, ROOST_IOC_DOMAIN_STAT, &area.s), -EINVAL);
}

TEST_F(domain, unknown_ioctl)
{
	EXPECT_EQ(call(self->d.fd, _IO(ROOST_IOC_MAGIC, 0x7f), NULL), -ENOTTY);
	EXPECT_EQ(call(self->d.fd, ROOST_IOC_DETACH, NULL), -ENOTTY);
}

/* A domain nests in a foreign event loop: readable while completions are. */
TEST_F(domain, readable_while_a_ring_holds_completions)
{
	struct pollfd p = { .fd = self->d.fd, .events = POLLIN };
	struct roost_cqe cqe;
	struct wrk w;

	ASSERT_EQ(wrk_make(&w, &self->d, 8, 8), 0);
	ASSERT_EQ(attach(&w), 0);
	EXPECT_EQ(poll(&p, 1, 0), 0);
	ASSERT_EQ(submit_one(&w, sqe_timer(0, 1, now_ns() + 50 * MSEC)), 1);
	EXPECT_EQ(poll(&p, 1, 0), 0);
	/* and a sleeper in poll(2) is woken by it */
	EXPECT_EQ(poll(&p, 1, (int)(wide(SEC) / MSEC)), 1);
	EXPECT_EQ(p.revents, POLLIN);
	ASSERT_TRUE(pop(&w, &cqe));
	EXPECT_EQ(poll(&p, 1, 0), 0);
}

TEST_HARNESS_MAIN
