// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * perm_test.c - who may use the descriptors of a domain: threads of the thread
 * group that made it, with its address space and its file table, and nobody else.
 *
 * Each way of being somebody else is a row, and each is tried with every call.
 */
#include "kselftest_harness.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include "user_help.h"

FIXTURE(perm) {
	struct dom d;
	struct wrk w;
};

FIXTURE_SETUP(perm)
{
	ASSERT_EQ(getuid(), 0);
	ASSERT_EQ(dom_make_io(&self->d, 16, 16), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 8, 8), 0);
}

FIXTURE_TEARDOWN(perm)
{
	close(self->w.fd);
	close(self->d.fd);
}

/* Everything that can be tried: 0 if each call was refused with @expected. */
static int try_all(int domain, int worker, int expected)
{
	const struct {
		int fd;
		unsigned long request;
	} rows[] = {
		{ domain, ROOST_IOC_CREATE_WORKER },
		{ domain, ROOST_IOC_WAKE },
		{ domain, ROOST_IOC_DOMAIN_STAT },
		{ worker, ROOST_IOC_ATTACH },
		{ worker, ROOST_IOC_DETACH },
		{ worker, ROOST_IOC_ENTER },
		/* other sizes take other paths */
		{ domain, ROOST_IOC_WAKE + (8 << _IOC_SIZESHIFT) },
		{ worker, ROOST_IOC_ENTER + (8 << _IOC_SIZESHIFT) },
		/* and what does not exist */
		{ domain, _IO(ROOST_IOC_MAGIC, 0x7f) },
		{ worker, _IO(ROOST_IOC_MAGIC, 0x7f) },
	};
	const struct {
		int fd;
		uint64_t offset;
	} maps[] = {
		{ domain, ROOST_OFF_CONTROL },
		{ domain, ROOST_OFF_EVENTS },
		{ worker, 0 },
	};
	uint64_t area[64];
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(area, 0, sizeof(area));
		ret = call(rows[i].fd, rows[i].request, area);
		if (ret != expected) {
			printf("# call %u: %d\n", i, ret);
			return 1 + (int)i;
		}
	}
	for (i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		errno = 0;
		if (map_fd(maps[i].fd, 4096, maps[i].offset) != MAP_FAILED ||
		    errno != -expected) {
			printf("# mapping %u: %d\n", i, errno);
			return 20 + (int)i;
		}
	}
	return 0;
}

/* What a row's process or thread is told. */
struct stranger {
	int domain, worker;
	int result;
};

static int be_stranger(void *arg)
{
	struct stranger *s = arg;

	s->result = try_all(s->domain, s->worker, -EPERM);
	return s->result;
}

static int in_clone(struct stranger *s, int flags)
{
	char *stack = malloc(1 << 17);
	pid_t pid;

	check(stack);
	pid = clone(be_stranger, stack + (1 << 17), flags | SIGCHLD, s);
	check(pid > 0);
	check(exit_code(pid) == s->result || !(flags & CLONE_VM));
	free(stack);
	return s->result;
}

static int by_fork(struct stranger *s)
{
	pid_t pid = fork();

	if (!pid)
		_exit(be_stranger(s));
	return exit_code(pid);
}

static int by_vfork(struct stranger *s)
{
	return in_clone(s, CLONE_VM | CLONE_VFORK);
}

static int by_clone_vm(struct stranger *s)
{
	return in_clone(s, CLONE_VM);
}

/* Same memory and same file table, but a process of its own. */
static int by_clone_vm_files(struct stranger *s)
{
	return in_clone(s, CLONE_VM | CLONE_FILES | CLONE_FS);
}

/* Same file table alone. */
static int by_clone_files(struct stranger *s)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0,
				   0);

	if (!pid)
		_exit(be_stranger(s));
	check(pid > 0);
	return exit_code(pid);
}

static void *unshared(void *arg)
{
	check(unshare(CLONE_FILES) == 0);
	be_stranger(arg);
	return NULL;
}

/* A thread of ours, but what its descriptors mean is another matter. */
static int by_unshared_files(struct stranger *s)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, unshared, s) == 0);
	pthread_join(thread, NULL);
	return s->result;
}

static int by_user_namespace(struct stranger *s)
{
	pid_t pid = fork();

	if (!pid) {
		check(unshare(CLONE_NEWUSER) == 0);
		_exit(be_stranger(s));
	}
	return exit_code(pid);
}

static int by_other_user(struct stranger *s)
{
	return run_as(USER, be_stranger, s);
}

static void send_fds(int sock, int a, int b)
{
	union {
		char space[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fds[2] = { a, b };

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	check(sendmsg(sock, &msg, 0) == 1);
}

static void receive_fds(int sock, int *a, int *b)
{
	union {
		char space[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fds[2];

	check(recvmsg(sock, &msg, 0) == 1);
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fds));
	*a = fds[0];
	*b = fds[1];
}

static int by_scm_rights(struct stranger *s)
{
	int pair[2];
	pid_t pid;

	check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	pid = fork();
	if (!pid) {
		close(s->domain);
		close(s->worker);
		receive_fds(pair[1], &s->domain, &s->worker);
		_exit(be_stranger(s));
	}
	send_fds(pair[0], s->domain, s->worker);
	close(pair[0]);
	close(pair[1]);
	return exit_code(pid);
}

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* Root takes what it may trace; that makes it no owner. */
static int by_pidfd_getfd(struct stranger *s)
{
	pid_t pid = fork();
	int pidfd;

	if (!pid) {
		pidfd = (int)syscall(SYS_pidfd_open, getppid(), 0);
		check(pidfd >= 0);
		close(s->domain);
		close(s->worker);
		s->domain = (int)syscall(SYS_pidfd_getfd, pidfd, s->domain, 0);
		s->worker = (int)syscall(SYS_pidfd_getfd, pidfd, s->worker, 0);
		check(s->domain >= 0 && s->worker >= 0);
		_exit(be_stranger(s));
	}
	return exit_code(pid);
}

/* The same process, by its number; but its memory is another. */
static int by_exec(struct stranger *s)
{
	char domain[16], worker[16];
	pid_t pid = fork();
	struct dom d;
	struct wrk w;

	if (!pid) {
		check(dom_make(&d, 4, 4) == 0);
		check(wrk_make(&w, &d, 8, 8) == 0);
		check(try_all(d.fd, w.fd, -EPERM) != 0);
		check(fcntl(d.fd, F_SETFD, 0) == 0);
		check(fcntl(w.fd, F_SETFD, 0) == 0);
		snprintf(domain, sizeof(domain), "%d", d.fd);
		snprintf(worker, sizeof(worker), "%d", w.fd);
		execl("/proc/self/exe", "perm_test", "--stranger", domain,
		      worker, NULL);
		check(0);
	}
	return exit_code(pid);
}

/* S2-02 */
TEST_F(perm, strangers)
{
	const struct {
		const char *what;
		int (*by)(struct stranger *s);
	} rows[] = {
		{ "fork", by_fork },
		{ "vfork", by_vfork },
		{ "CLONE_VM child", by_clone_vm },
		{ "CLONE_VM and CLONE_FILES child", by_clone_vm_files },
		{ "CLONE_FILES child", by_clone_files },
		{ "thread that unshared its files", by_unshared_files },
		{ "child in a user namespace", by_user_namespace },
		{ "child of another user", by_other_user },
		{ "receiver over SCM_RIGHTS", by_scm_rights },
		{ "pidfd_getfd", by_pidfd_getfd },
		{ "after exec", by_exec },
	};
	struct stranger s;
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		s = (struct stranger){ self->d.fd, self->w.fd, -1 };
		ret = rows[i].by(&s);
		EXPECT_EQ(ret, 0)
			TH_LOG("row: %s: %d", rows[i].what, ret);
	}
	/* and none of them has left anything behind */
	EXPECT_EQ(stat_of(&self->d).workers, 1);
	EXPECT_EQ(attach(&self->w), 0);
	EXPECT_EQ(detach(&self->w), 0);
}

/* A thread of the owner, in one of the ways in which threads change. */
static int be_owner(struct stranger *s)
{
	struct roost_domain_stat st = { 0 };
	struct roost_attach a = { 0 };
	struct roost_enter e = { 0 };
	int ret;

	ret = call(s->domain, ROOST_IOC_DOMAIN_STAT, &st);
	if (!ret)
		ret = call(s->worker, ROOST_IOC_ATTACH, &a);
	if (!ret)
		ret = call(s->worker, ROOST_IOC_ENTER, &e);
	if (!ret)
		ret = call(s->worker, ROOST_IOC_DETACH, NULL);
	return ret;
}

/* In a child with a domain of its own, which then changes. */
static int changed(int (*change)(struct stranger *s))
{
	struct stranger s = { -1, -1, -1 };
	pid_t pid = fork();
	struct dom d;
	struct wrk w;

	if (!pid) {
		check(dom_make(&d, 4, 4) == 0);
		check(wrk_make(&w, &d, 8, 8) == 0);
		s.domain = d.fd;
		s.worker = w.fd;
		check(change(&s) == 0);
		_exit(-be_owner(&s));
	}
	return exit_code(pid);
}

static int change_nothing(struct stranger *s)
{
	return 0;
}

static int change_user(struct stranger *s)
{
	become(USER);
	return 0;
}

static int change_user_namespace(struct stranger *s)
{
	return unshare(CLONE_NEWUSER);
}

/* The file table stays one's own if nobody else has it. */
static int change_files_alone(struct stranger *s)
{
	return unshare(CLONE_FILES);
}

static int change_descriptors(struct stranger *s)
{
	int d = dup(s->domain), w = dup(s->worker);

	check(d >= 0 && w >= 0);
	close(s->domain);
	close(s->worker);
	s->domain = d;
	s->worker = w;
	return 0;
}

static int change_session(struct stranger *s)
{
	check(setsid() > 0);
	check(chroot("/tmp") == 0);
	return chdir("/");
}

static void *nothing(void *arg)
{
	return arg;
}

static int change_threads(struct stranger *s)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, nothing, NULL) == 0);
	return pthread_join(thread, NULL);
}

TEST_F(perm, owners)
{
	const struct {
		const char *what;
		int (*change)(struct stranger *s);
	} rows[] = {
		{ "as ever", change_nothing },
		{ "another user", change_user },
		{ "another user namespace", change_user_namespace },
		{ "unshared files, without another thread",
		  change_files_alone },
		{ "duplicates", change_descriptors },
		{ "another session and root", change_session },
		{ "another thread came and went", change_threads },
	};
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		EXPECT_EQ(changed(rows[i].change), 0)
			TH_LOG("row: %s", rows[i].what);
	}
}

static void *enter_after_unshare(void *arg)
{
	struct wrk *w = arg;
	struct roost_enter e = { 0 };

	check(attach(w) == 0);
	check(unshare(CLONE_FILES) == 0);
	return (void *)(long)enter(w, &e);
}

/* Compared at each call, not at attach alone. */
TEST_F(perm, carrier_that_unshares_its_files_loses_its_rights)
{
	pthread_t thread;
	void *ret;

	ASSERT_EQ(pthread_create(&thread, NULL, enter_after_unshare, &self->w),
		  0);
	ASSERT_EQ(pthread_join(thread, &ret), 0);
	EXPECT_EQ((long)ret, -EPERM);
}

/* C48: in flight in a socket and closed together with it. */
TEST_F(perm, in_flight_and_dropped)
{
	int pair[2];

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	send_fds(pair[0], self->d.fd, self->w.fd);
	close(pair[0]);
	close(pair[1]);
	EXPECT_EQ(attach(&self->w), 0);
}

/* The name in /proc opens nothing: the inode is no device. */
TEST_F(perm, cannot_be_opened_again)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->d.fd);
	EXPECT_EQ(open(path, O_RDWR), -1);
	EXPECT_EQ(errno, ENXIO);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->w.fd);
	EXPECT_EQ(open(path, O_RDWR), -1);
	EXPECT_EQ(errno, ENXIO);
}

static int poll_once(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	check(poll(&p, 1, 0) >= 0);
	return p.revents;
}

/* The one thing that others may: to be told that there is something to do. */
TEST_F(perm, readiness_is_for_who_has_the_descriptor)
{
	pid_t pid;

	ASSERT_EQ(submit_one(&self->w, sqe_nop(1)), 1);
	pid = fork();
	if (!pid) {
		struct epoll_event e = { .events = EPOLLIN };
		int epoll = epoll_create1(0);

		check(poll_once(self->d.fd) == POLLIN);
		check(epoll_ctl(epoll, EPOLL_CTL_ADD, self->d.fd, &e) == 0);
		check(epoll_wait(epoll, &e, 1, 0) == 1);
		/* and that is not everything: bytes are neither read nor kept */
		check(read(self->d.fd, &e, 1) == -1 && errno == EINVAL);
		check(write(self->d.fd, &e, 1) == -1 && errno == EINVAL);
		_exit(0);
	}
	EXPECT_EQ(exit_code(pid), 0);
}

/* All three kinds of pages: a forked child has none of them. */
TEST_F(perm, pages_are_not_inherited)
{
	void *const pages[] = { self->d.control, self->d.events, self->w.page };
	unsigned char vec;
	unsigned int i;
	pid_t pid = fork();

	if (!pid) {
		for (i = 0; i < 3; i++)
			check(mincore(pages[i], 4096, &vec) == -1 &&
			      errno == ENOMEM);
		_exit(0);
	}
	EXPECT_EQ(exit_code(pid), 0);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(mincore(pages[i], 4096, &vec), 0);
	EXPECT_EQ(attach(&self->w), 0);
}

/* Ordinary users, and those of a namespace, are served like root. */
static int use_it(void *arg)
{
	struct roost_cqe cqe;
	struct dom d;
	struct wrk w;

	if (arg)
		check(unshare(CLONE_NEWUSER) == 0);
	check(dom_make(&d, 4, 4) == 0);
	check(wrk_make(&w, &d, 8, 8) == 0);
	check(attach(&w) == 0);
	check(submit_one(&w, sqe_timer(0, 1, now_ns())) == 1);
	check(wait_pop(&d, &w, &cqe, now_ns() + wide(5 * SEC)) == 0);
	return 0;
}

TEST_F(perm, everybody_has_domains_of_its_own)
{
	EXPECT_EQ(run_as(USER, use_it, NULL), 0);
	EXPECT_EQ(run_as(USER, use_it, "in a namespace"), 0);
	EXPECT_EQ(run_as(0, use_it, "in a namespace"), 0);
}

/* What by_exec() runs: descriptors of a domain that is not this program's. */
static void __attribute__((constructor)) after_exec(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "--stranger"))
		_exit(try_all(atoi(argv[2]), atoi(argv[3]), -EPERM));
}

TEST_HARNESS_MAIN
