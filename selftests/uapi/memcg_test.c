// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * memcg_test.c - all memory that a process makes the module allocate is charged
 * to the process's memory cgroup.
 *
 * Runs as root, with the unified hierarchy at /sys/fs/cgroup.  What is expected
 * is less than half of what there is, so that it holds for each kernel; memory
 * that is not charged at all gives next to nothing.
 */
#include "kselftest_harness.h"

#include <sys/resource.h>

#include "cgroup_help.h"
#include "io_help.h"
#include "user_help.h"

#define GROUP	"/sys/fs/cgroup/roost_memcg_test"
#define KIB	1024ULL
#define MIB	(1024 * KIB)
#define MANY	16384U

/* Bytes charged to the group now. */
static uint64_t charged(void)
{
	char text[32] = { 0 };
	int fd = open(GROUP "/memory.current", O_RDONLY | O_CLOEXEC);

	check(fd >= 0);
	check(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return strtoull(text, NULL, 10);
}

struct all {
	struct dom d;
	struct wrk w;
	int s[2], event;
};

static void domain_alone(struct all *a)
{
	struct roost_domain_params p = { .nr_polls = 1U << 20 };

	check(domain_fd(p) >= 0);
}

static void worker_alone(struct all *a)
{
	struct roost_worker_params p = { .sq_entries = 32768,
					 .cq_entries = 65536 };

	check(call(a->d.fd, ROOST_IOC_CREATE_WORKER, &p) >= 0);
}

/* Rings as small as can be: what counts is the worker itself. */
static void worker_structs(struct all *a)
{
	struct roost_worker_params p;
	int i;

	for (i = 0; i < 200; i++) {
		p = (struct roost_worker_params){ .sq_entries = 1,
						  .cq_entries = 2 };
		check(call(a->d.fd, ROOST_IOC_CREATE_WORKER, &p) >= 0);
	}
}

/* One op in each chunk of a table. */
static void touch(struct all *a, struct roost_sqe sqe)
{
	struct roost_cqe cqe;
	unsigned int i;

	for (i = 0; i < 32 * MANY; i += 32) {
		sqe.op_id = roost_op_id(i, 1);
		check(submit_one(&a->w, sqe) == 1);
		check(pop(&a->w, &cqe));
	}
}

static void timer_chunks(struct all *a)
{
	touch(a, (struct roost_sqe){ .opcode = ROOST_OP_TIMER_CANCEL });
}

static void poll_chunks(struct all *a)
{
	touch(a, (struct roost_sqe){ .opcode = ROOST_OP_POLL_REMOVE });
}

static void io_chunks(struct all *a)
{
	touch(a, (struct roost_sqe){ .opcode = ROOST_OP_CANCEL });
}

static void file_chunks(struct all *a)
{
	touch(a, (struct roost_sqe){ .opcode = ROOST_OP_FILE_REMOVE });
}

/* Armed, with the chunks there already. */
static void armed_polls(struct all *a)
{
	unsigned int i;

	for (i = 0; i < MANY; i++)
		check(submit_one(&a->w, sqe_poll(i, 2, a->event, POLLIN, 0)) ==
		      1);
}

static void waiting_ops(struct all *a)
{
	static char in[8];
	unsigned int i;

	for (i = 0; i < MANY; i++)
		check(submit_one(&a->w, sqe_recv(roost_op_id(i, 2), a->s[0],
						 in, 8)) == 1);
}

struct row {
	const char *what;
	uint64_t least;
	void (*make)(struct all *a);
};

static const struct row rows[] = {
	{ "events array", 3 * MIB, domain_alone },
	{ "rings", 2 * MIB + 512 * KIB, worker_alone },
	{ "workers", 200 * 16 * KIB, worker_structs },
	{ "timers", MANY * 32 * 40ULL, timer_chunks },
	{ "polls", MANY * 32 * 20ULL, poll_chunks },
	{ "ios", MANY * 32 * 100ULL, io_chunks },
	{ "files", MANY * 32 * 8ULL, file_chunks },
	{ "armed polls", MANY * 80ULL, armed_polls },
	{ "files of ops", MANY * 80ULL, waiting_ops },
};

/* In the group, everything that is charged is this process's. */
static int measure(void)
{
	struct roost_domain_params p = {
		.nr_timers = 32 * MANY, .nr_polls = 32 * MANY,
		.nr_ios = 32 * MANY, .nr_files = 32 * MANY,
	};
	struct all a = { .event = eventfd(0, 0) };
	uint64_t before, after;
	unsigned int i;
	int bad = 0;

	check(write_text(GROUP "/cgroup.procs", "0") == 0);
	check(dom_make_params(&a.d, &p) == 0);
	check(wrk_make(&a.w, &a.d, 64, 64) == 0);
	unix_pair(a.s, SOCK_STREAM);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		before = charged();
		rows[i].make(&a);
		after = charged();
		printf("# %s: %lld KiB charged, at least %llu expected\n",
		       rows[i].what, (long long)(after - before) / 1024,
		       (unsigned long long)rows[i].least / 1024);
		if (after < before + rows[i].least)
			bad++;
	}
	fflush(stdout);
	return bad;
}

FIXTURE(memcg) {
	int status;
};

FIXTURE_SETUP(memcg)
{
	ASSERT_EQ(getuid(), 0);
}

FIXTURE_TEARDOWN(memcg)
{
}

TEST_F_TIMEOUT(memcg, memory_is_charged_to_the_cgroup, 300)
{
	struct rlimit files = { 4096, 4096 };
	pid_t pid;

	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
	ASSERT_EQ(write_text("/sys/fs/cgroup/cgroup.subtree_control",
			     "+memory"), 0);
	rmdir(GROUP);
	ASSERT_EQ(mkdir(GROUP, 0755), 0);
	pid = fork();
	if (!pid)
		_exit(measure());
	ASSERT_EQ(waitpid(pid, &self->status, 0), pid);
	EXPECT_EQ(self->status, 0);
	EXPECT_EQ(rmdir(GROUP), 0);
}

TEST_HARNESS_MAIN
