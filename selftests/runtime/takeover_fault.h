/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * takeover_fault.h - a struct blocker that waits for memory, by userfaultfd.
 */
#ifndef ROOST_SELFTESTS_RUNTIME_TAKEOVER_FAULT_H
#define ROOST_SELFTESTS_RUNTIME_TAKEOVER_FAULT_H

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "takeover_help.h"

#define MAX_BLOCKERS	8U

/* Two pages that are not there until somebody puts the first of them there. */
struct missing {
	int uffd;
	char *page;
};

static inline void block_in_fault(struct blocker *b)
{
	struct missing *m = b->arg;

	b->result = *(volatile char *)m->page == 0 ? 1 : -1;
}

static inline void release_fault(struct blocker *b)
{
	struct missing *m = b->arg;
	struct uffdio_zeropage zero = {
		.range = {
			.start = (uintptr_t)m->page,
			.len = (__u64)sysconf(_SC_PAGESIZE),
		},
	};

	CHECK_EQ(ioctl(m->uffd, UFFDIO_ZEROPAGE, &zero), 0);
	close(m->uffd);
}

static inline void prepare_fault(struct blocker *b)
{
	static struct missing all[MAX_BLOCKERS];
	static unsigned int next;
	struct missing *m = &all[next++ % MAX_BLOCKERS];
	size_t size = 2 * (size_t)sysconf(_SC_PAGESIZE);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	b->block = block_in_fault;
	b->release = release_fault;
	b->arg = m;
	m->page = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(m->page != MAP_FAILED);
	m->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	REQUIRE(m->uffd >= 0);
	REQUIRE_EQ(ioctl(m->uffd, UFFDIO_API, &api), 0);
	reg.range.start = (uintptr_t)m->page;
	reg.range.len = size;
	REQUIRE_EQ(ioctl(m->uffd, UFFDIO_REGISTER, &reg), 0);
}

#endif /* ROOST_SELFTESTS_RUNTIME_TAKEOVER_FAULT_H */
