// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * calls_test.c - errors of the calls that no other test leads up to; the tables
 * of Documentation/uapi.rst name the test of each.  Runs as root.
 */
#include "kselftest_harness.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "user_help.h"

FIXTURE(calls) {
	struct dom d;
	struct wrk w;
	int dev;
	uint64_t limit;
};

FIXTURE_SETUP(calls)
{
	ASSERT_EQ(getuid(), 0);
	ASSERT_EQ(dom_make(&self->d, 16, 16), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 8, 8), 0);
	self->dev = dev_open();
	ASSERT_GE(self->dev, 0);
	self->limit = now_ns() + wide(20 * SEC);
}

FIXTURE_TEARDOWN(calls)
{
	close(self->dev);
	close(self->w.fd);
	close(self->d.fd);
}

static int create_domain(int dev)
{
	struct roost_domain_params p = { .nr_timers = 4 };

	return call(dev, ROOST_IOC_CREATE_DOMAIN, &p);
}

static int create_worker(int domain)
{
	struct roost_worker_params p = { .sq_entries = 1, .cq_entries = 2 };

	return call(domain, ROOST_IOC_CREATE_WORKER, &p);
}

/* The process has no descriptor left; a worker's number is not used up by it. */
TEST_F(calls, no_descriptor_left)
{
	struct rlimit was, none;
	int fd;

	ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = was;
	none.rlim_cur = 0;
	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	EXPECT_EQ(create_domain(self->dev), -EMFILE);
	EXPECT_EQ(create_worker(self->d.fd), -EMFILE);
	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &was), 0);
	fd = create_worker(self->d.fd);
	EXPECT_GE(fd, 0);
	EXPECT_EQ(stat_of(&self->d).workers, 2);
}

/* The machine has no file left, for who may not take the last ones. */
static int in_need_of_files(int number)
{
	struct roost_worker_params p = { .sq_entries = 1, .cq_entries = 2 };
	static int dev, domain;
	int ret;

	switch (number) {
	case 0:
		dev = dev_open();
		domain = create_domain(dev);
		return domain < 0 ? domain : 0;
	case 1:
		return create_domain(dev);
	default:
		/* the first that comes to be is number 0 */
		ret = call(domain, ROOST_IOC_CREATE_WORKER, &p);
		return ret >= 0 && p.index ? -ERANGE : ret;
	}
}

TEST_F(calls, no_file_left)
{
	int max = open("/proc/sys/fs/file-max", O_RDWR | O_CLOEXEC);
	struct pal p = pal_start(USER, in_need_of_files);
	int i, ret[2], many[256];
	char was[32] = { 0 };

	/* the kernel counts files in batches of each CPU: show it some */
	for (i = 0; i < 256; i++)
		many[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ASSERT_GE(max, 0);
	ASSERT_GT(read(max, was, sizeof(was) - 1), 0);
	ASSERT_EQ(pal_tell(&p, 0), 0);
	ASSERT_EQ(pwrite(max, "1", 1, 0), 1);
	for (i = 0; i < 2; i++)
		ret[i] = pal_tell(&p, 1 + i);
	ASSERT_GT(pwrite(max, was, strlen(was), 0), 0);
	EXPECT_EQ(ret[0], -ENFILE);
	EXPECT_EQ(ret[1], -ENFILE);
	for (i = 0; i < 2; i++)
		EXPECT_GE(pal_tell(&p, 1 + i), 0);
	EXPECT_EQ(pal_end(&p), 0);
	for (i = 0; i < 256; i++)
		close(many[i]);
}

TEST_F(calls, no_number_left)
{
	unsigned int i;
	int fd;

	for (i = 1; i < ROOST_MAX_WORKERS; i++) {
		fd = create_worker(self->d.fd);
		ASSERT_GE(fd, 0);
		/* closed ones count */
		close(fd);
	}
	EXPECT_EQ(create_worker(self->d.fd), -ENOSPC);
	EXPECT_EQ(create_worker(self->d.fd), -ENOSPC);
	EXPECT_EQ(stat_of(&self->d).workers, 1);
}

static void on_signal(int sig)
{
	(void)sig;
}

/*
 * A signal that comes between the begin of the call and the registration of the
 * notifier, which looks for one at each of very many mappings.
 */
TEST_F(calls, signal_at_the_beginning)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct itimerval every = { { 0, 500 }, { 0, 500 } }, off = { 0 };
	unsigned int i, interrupted = 0, made = 0;
	int ret;

	for (i = 0; i < 4000; i++)
		ASSERT_NE(mmap(NULL, 4096, i & 1 ? PROT_READ : PROT_NONE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			  MAP_FAILED);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (!interrupted && now_ns() < self->limit) {
		ret = create_domain(self->dev);
		if (ret == -EINTR)
			interrupted++;
		else if (ret >= 0)
			made++;
		else
			break;
		if (ret >= 0)
			close(ret);
	}
	setitimer(ITIMER_REAL, &off, NULL);
	TH_LOG("made %u before one was interrupted", made);
	EXPECT_EQ(interrupted, 1)
		TH_LOG("%d", ret);
	/* and again, when nothing disturbs */
	ret = create_domain(self->dev);
	EXPECT_GE(ret, 0);
	close(ret);
}

/*
 * What an executable mapping is answered: newer kernels take all files without a name
 * for files that cannot be executed, and refuse it before they ask whose file it is, as
 * of an eventfd, which has no mappings at all.
 */
static int executable_error(void)
{
	int fd = eventfd(0, EFD_CLOEXEC), error;

	check(fd >= 0);
	check(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0) ==
	      MAP_FAILED);
	error = errno;
	close(fd);
	check(error == EPERM || error == ENODEV);
	return error == EPERM ? EPERM : EACCES;
}

/* Refused mappings, each with the error that is documented. */
TEST_F(calls, mappings)
{
	const int executable = executable_error();
	const struct {
		const char *what;
		int fd, prot, flags;
		size_t size;
		uint64_t offset;
		int expected;
	} rows[] = {
		{ "private", self->d.fd, PROT_READ, MAP_PRIVATE, 4096,
		  ROOST_OFF_CONTROL, EINVAL },
		{ "private rings", self->w.fd, PROT_READ, MAP_PRIVATE, 4096, 0,
		  EINVAL },
		{ "executable", self->d.fd, PROT_READ | PROT_EXEC, MAP_SHARED,
		  4096, ROOST_OFF_CONTROL, executable },
		{ "executable rings", self->w.fd, PROT_READ | PROT_EXEC,
		  MAP_SHARED, 4096, 0, executable },
		{ "between control and events", self->d.fd, PROT_READ,
		  MAP_SHARED, 4096, 4096, EINVAL },
		{ "behind the rings", self->w.fd, PROT_READ, MAP_SHARED, 4096,
		  self->w.params.map_size, EINVAL },
		{ "not from the start", self->w.fd, PROT_READ, MAP_SHARED,
		  4096, 4096, EINVAL },
		{ "too large", self->w.fd, PROT_READ, MAP_SHARED,
		  self->w.params.map_size + 4096, 0, EINVAL },
		{ "the device", self->dev, PROT_READ, MAP_SHARED, 4096, 0,
		  ENODEV },
	};
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		errno = 0;
		EXPECT_EQ(mmap(NULL, rows[i].size, rows[i].prot, rows[i].flags,
			       rows[i].fd, (off_t)rows[i].offset), MAP_FAILED);
		EXPECT_EQ(errno, rows[i].expected)
			TH_LOG("row: %s", rows[i].what);
	}
}

TEST_HARNESS_MAIN
