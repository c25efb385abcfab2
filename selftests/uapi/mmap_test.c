// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* mmap_test.c - what can be mapped of domains and workers, and how. */
#include "kselftest_harness.h"

#include "roost_test.h"

FIXTURE(map) {
	struct dom d;
	struct wrk w;
	size_t page;
};

FIXTURE_SETUP(map)
{
	self->page = (size_t)sysconf(_SC_PAGESIZE);
	ASSERT_EQ(dom_make(&self->d, 16, 4096), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 256, 1024), 0);
}

FIXTURE_TEARDOWN(map)
{
	close(self->w.fd);
	close(self->d.fd);
}

/* 0, or -errno; what could be mapped is unmapped. */
static int try_map(int fd, size_t size, int prot, int flags, uint64_t offset)
{
	void *p = mmap(NULL, size, prot, flags, fd, (off_t)offset);

	if (p == MAP_FAILED)
		return -errno;
	munmap(p, size);
	return 0;
}

#define RW (PROT_READ | PROT_WRITE)

TEST_F(map, sizes_are_whole_pages)
{
	EXPECT_EQ(self->d.params.control_size % self->page, 0);
	EXPECT_EQ(self->d.params.events_size % self->page, 0);
	EXPECT_EQ(self->w.params.map_size % self->page, 0);
	EXPECT_GE(self->w.params.sq_offset, sizeof(struct roost_worker_page));
	EXPECT_EQ(self->w.params.sq_offset % 64, 0);
	EXPECT_EQ(self->w.params.cq_offset % 64, 0);
	EXPECT_LE(self->w.params.cq_offset + 1024 * sizeof(struct roost_cqe),
		  self->w.params.map_size);
	EXPECT_LE(self->w.params.sq_offset + 256 * sizeof(struct roost_sqe),
		  self->w.params.map_size);
}

TEST_F(map, offsets_and_sizes)
{
	const size_t control = self->d.params.control_size;
	const size_t events = self->d.params.events_size;
	const size_t rings = self->w.params.map_size;
	const size_t page = self->page;
	const struct {
		const char *what;
		int fd;
		size_t size;
		uint64_t offset;
		bool works;
	} rows[] = {
		{ "control", self->d.fd, control, ROOST_OFF_CONTROL, true },
		{ "events", self->d.fd, events, ROOST_OFF_EVENTS, true },
		{ "rings", self->w.fd, rings, 0, true },
		{ "control and a page", self->d.fd, control + page,
		  ROOST_OFF_CONTROL, false },
		{ "behind control", self->d.fd, page,
		  ROOST_OFF_CONTROL + control, false },
		{ "before events", self->d.fd, page, ROOST_OFF_EVENTS - page,
		  false },
		{ "events and a page", self->d.fd, events + page,
		  ROOST_OFF_EVENTS, false },
		{ "behind events", self->d.fd, page, ROOST_OFF_EVENTS + events,
		  false },
		{ "far out", self->d.fd, page, 1ULL << 40, false },
		{ "the last page", self->d.fd, page, 0x7ffffffffffff000ULL,
		  false },
		{ "rings and a page", self->w.fd, rings + page, 0, false },
		{ "behind the rings", self->w.fd, page, rings, false },
		{ "far behind the rings", self->w.fd, page, 1ULL << 40, false },
	};
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ret = try_map(rows[i].fd, rows[i].size, RW, MAP_SHARED,
			      rows[i].offset);
		EXPECT_EQ(ret == 0, rows[i].works)
			TH_LOG("row: %s: %d", rows[i].what, ret);
	}
}

TEST_F(map, kinds)
{
	const size_t rings = self->w.params.map_size;

	/* a private copy would never hear of the kernel */
	EXPECT_NE(try_map(self->w.fd, rings, RW, MAP_PRIVATE, 0), 0);
	EXPECT_NE(try_map(self->d.fd, self->d.params.control_size, RW,
			  MAP_PRIVATE, ROOST_OFF_CONTROL), 0);
	EXPECT_NE(try_map(self->w.fd, rings, RW | PROT_EXEC, MAP_SHARED, 0), 0);
	EXPECT_NE(try_map(self->d.fd, self->d.params.control_size,
			  PROT_READ | PROT_EXEC, MAP_SHARED,
			  ROOST_OFF_CONTROL), 0);
	EXPECT_EQ(try_map(self->w.fd, rings, PROT_READ, MAP_SHARED, 0), 0);
	/* nor can it be made executable afterwards */
	EXPECT_NE(mprotect(self->w.page, rings, PROT_READ | PROT_EXEC), 0);
	EXPECT_EQ(mprotect(self->w.page, rings, PROT_READ), 0);
	EXPECT_EQ(mprotect(self->w.page, rings, RW), 0);
}

TEST_F(map, events_are_not_there_without_polls)
{
	struct dom d;

	ASSERT_EQ(dom_make(&d, 4, 0), 0);
	EXPECT_EQ(d.params.events_size, 0);
	EXPECT_NE(try_map(d.fd, self->page, RW, MAP_SHARED, ROOST_OFF_EVENTS),
		  0);
}

TEST_F(map, starts_as_documented)
{
	unsigned int i;

	for (i = 0; i < 4096; i++)
		ASSERT_EQ(self->d.events[i], 0);
	for (i = 0; i < ROOST_MASK_WORDS; i++) {
		EXPECT_EQ(self->d.control->idle[i], 0);
		EXPECT_EQ(self->d.control->cq_ready[i], 0);
	}
	EXPECT_EQ(self->w.page->sq_head, self->w.page->sq_tail);
	EXPECT_EQ(self->w.page->cq_head, self->w.page->cq_tail);
	EXPECT_EQ(self->w.page->cq_overflow, 0);
	EXPECT_EQ(self->w.page->parked, 0);
	EXPECT_EQ(self->w.page->pending_min, ROOST_NO_DEADLINE);
}

static int killed_by(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* VM_DONTCOPY: a child has none of it, so it cannot disturb its parent. */
TEST_F(map, not_inherited)
{
	pid_t pid = fork();

	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		__atomic_store_n(&self->w.page->cq_head, 1, __ATOMIC_RELAXED);
		_exit(0);
	}
	EXPECT_EQ(killed_by(pid), SIGSEGV);
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile char *)self->d.control->idle = 1;
		_exit(0);
	}
	EXPECT_EQ(killed_by(pid), SIGSEGV);
	EXPECT_EQ(self->w.page->cq_head, 0);
}

TEST_F(map, does_not_grow)
{
	const size_t rings = self->w.params.map_size;
	void *p = mremap(self->w.page, rings, rings + self->page,
			 MREMAP_MAYMOVE);

	ASSERT_EQ(p, MAP_FAILED);
	EXPECT_EQ(self->w.page->pending_min, ROOST_NO_DEADLINE);
}

/* The kernel has its own view and does not care what is mapped. */
TEST_F(map, works_when_partly_unmapped)
{
	struct roost_cqe cqe;

	EXPECT_EQ(munmap((char *)self->w.page + self->w.params.map_size -
			 self->page, self->page), 0);
	EXPECT_EQ(submit_one(&self->w, sqe_nop(5)), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.user_data, 5);
	dom_unmap(&self->d);
	EXPECT_EQ(submit_one(&self->w, sqe_nop(6)), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.user_data, 6);
}

TEST_HARNESS_MAIN
