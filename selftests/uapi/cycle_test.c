// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * cycle_test.c - references in circles (F5): each way of building one is refused,
 * or comes undone when the owner ends.
 *
 * Each row runs in a process of its own.  Afterwards the module must be as
 * unused as before: who holds one of its files holds it.  Runs alone.
 */
#include "kselftest_harness.h"

#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <sys/epoll.h>

#include "io_help.h"
#include "user_help.h"

/* How many files, and more, of the module are open; -1 if it cannot be said. */
static int references(void)
{
	char text[16] = { 0 };
	int fd = open("/sys/module/roost/refcnt", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	check(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return atoi(text);
}

struct ring {
	struct dom d;
	struct wrk w;
};

static void ring_make(struct ring *r)
{
	check(dom_make_io(&r->d, 16, 64) == 0);
	check(wrk_make(&r->w, &r->d, 16, 16) == 0);
}

/* Let go of everything but what others may hold. */
static void ring_drop(struct ring *r)
{
	dom_unmap(&r->d);
	check(munmap(r->w.page, r->w.params.map_size) == 0);
	check(close(r->w.fd) == 0);
	check(close(r->d.fd) == 0);
}

/* Each op comes with a sequence of its own. */
static uint32_t sequence;

static int poll_of(struct ring *r, int fd)
{
	return do_now(&r->w, sqe_poll(0, ++sequence, fd, POLLIN, 0)).res;
}

static int recv_of(struct ring *r, int fd, bool registered)
{
	static char in[8];
	struct roost_sqe sqe = sqe_io(ROOST_OP_READ,
				      roost_op_id(registered, ++sequence), fd,
				      in, sizeof(in));

	return io_now(&r->w, registered ? on_file(sqe, 1) : sqe);
}

/* All ways of holding a file: as a poll, for an op, registered. */
static void refuse(struct ring *r, int fd)
{
	check(poll_of(r, fd) == -ELOOP);
	check(recv_of(r, fd, false) == -ELOOP);
	check(recv_of(r, fd, true) == -ELOOP);
	check(stat_of(&r->d).files == 0);
}

/* Refused: files of our own. */

static void own_files(void)
{
	struct ring r;

	ring_make(&r);
	refuse(&r, r.d.fd);
	refuse(&r, r.w.fd);
	refuse(&r, dev_open());
	refuse(&r, dup(r.d.fd));
}

static void two_domains(void)
{
	struct ring a, b;

	ring_make(&a);
	ring_make(&b);
	refuse(&a, b.d.fd);
	refuse(&b, a.d.fd);
	refuse(&a, b.w.fd);
	refuse(&b, a.w.fd);
}

static int epoll_with(int fd)
{
	struct epoll_event e = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	check(epoll >= 0);
	check(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) == 0);
	return epoll;
}

static void epoll_between(void)
{
	struct ring r;
	int one;

	ring_make(&r);
	one = epoll_with(r.d.fd);
	refuse(&r, one);
	/* one in another */
	refuse(&r, epoll_with(one));
}

/* io_uring, bare. */

struct uring {
	int fd;
	char *sq, *cq;
	struct io_uring_sqe *sqes;
	struct io_uring_params p;
};

static bool uring_make(struct uring *u)
{
	size_t sq, cq;

	memset(u, 0, sizeof(*u));
	u->fd = (int)syscall(__NR_io_uring_setup, 4, &u->p);
	if (u->fd < 0)
		return false;
	sq = u->p.sq_off.array + u->p.sq_entries * 4;
	cq = u->p.cq_off.cqes + u->p.cq_entries * sizeof(struct io_uring_cqe);
	u->sq = map_fd(u->fd, sq, IORING_OFF_SQ_RING);
	u->cq = map_fd(u->fd, cq, IORING_OFF_CQ_RING);
	u->sqes = map_fd(u->fd, u->p.sq_entries * sizeof(*u->sqes),
			 IORING_OFF_SQES);
	check(u->sq != MAP_FAILED && u->cq != MAP_FAILED &&
	      u->sqes != MAP_FAILED);
	return true;
}

static void uring_submit(struct uring *u, struct io_uring_sqe sqe)
{
	uint32_t *tail = (void *)(u->sq + u->p.sq_off.tail);
	uint32_t *array = (void *)(u->sq + u->p.sq_off.array);

	u->sqes[0] = sqe;
	array[*tail % u->p.sq_entries] = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	check(syscall(__NR_io_uring_enter, u->fd, 1, 0, 0, NULL, 0) == 1);
}

static void uring_holds_domain(void)
{
	struct uring u;
	struct ring r;
	int fds[2];

	if (!uring_make(&u)) {
		check(errno == ENOSYS || errno == EPERM);
		printf("# no io_uring here\n");
		return;
	}
	ring_make(&r);
	refuse(&r, u.fd);
	fds[0] = r.d.fd;
	fds[1] = r.w.fd;
	check(syscall(__NR_io_uring_register, u.fd, IORING_REGISTER_FILES, fds,
		      2) == 0);
	uring_submit(&u, (struct io_uring_sqe){
		.opcode = IORING_OP_POLL_ADD, .fd = r.d.fd,
		.poll32_events = POLLIN, .user_data = 1,
	});
	/* and something to wake it, after which it is armed again */
	check(submit_one(&r.w, sqe_timer(0, 1, now_ns() + 3600 * SEC)) == 1);
	ring_drop(&r);
}

/* aio, which waits for a domain's readiness. */
static void aio_waits_for_domain(void)
{
	struct iocb cb, *cbs[1] = { &cb };
	aio_context_t ctx = 0;
	struct ring r;

	if (syscall(__NR_io_setup, 4, &ctx)) {
		check(errno == ENOSYS);
		printf("# no aio here\n");
		return;
	}
	ring_make(&r);
	memset(&cb, 0, sizeof(cb));
	cb.aio_fildes = (uint32_t)r.d.fd;
	cb.aio_lio_opcode = IOCB_CMD_POLL;
	cb.aio_buf = POLLIN;
	check(syscall(__NR_io_submit, ctx, 1, cbs) == 1);
	ring_drop(&r);
}

/* Undone at the end: descriptors in flight in what the domain itself holds. */

static void send_fd(int sock, int fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
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

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	check(sendmsg(sock, &msg, 0) == 1);
}

/* Have the domain hold a socket in every way, with nothing to be had from it. */
static void hold_socket(struct ring *r, int s)
{
	static char in[8];
	struct roost_sqe oob = sqe_recv(roost_op_id(1, 1), s, in, 1);

	check(submit_one(&r->w, sqe_poll(0, 1, s, POLLPRI, 0)) == 1);
	check(submit_one(&r->w, sqe_poll(1, 1, s, POLLPRI,
					 ROOST_POLL_MULTISHOT)) == 1);
	check(submit_one(&r->w, sqe_recv(roost_op_id(0, 1), s, in, 8)) == 1);
	check(submit_one(&r->w, on_file(oob, 1)) == 1);
	check(stat_of(&r->d).ios_pending == 2);
	check(stat_of(&r->d).files == 1);
}

/* The collector of sockets in flight runs when any such socket is closed. */
static void collect(void)
{
	int s[2], i;

	for (i = 0; i < 4; i++) {
		unix_pair(s, SOCK_STREAM);
		send_fd(s[0], s[1]);
		close(s[0]);
		close(s[1]);
	}
}

static void domain_in_flight(void)
{
	struct ring r;
	int s[2];

	ring_make(&r);
	unix_pair(s, SOCK_DGRAM);
	hold_socket(&r, s[1]);
	/* what is received goes to the ops; the descriptors stay in the queue */
	check(submit_one(&r.w, sqe_cancel(roost_op_id(0, 1), 1)) == 1);
	check(submit_one(&r.w, sqe_cancel(roost_op_id(1, 1), 1)) == 1);
	send_fd(s[0], r.d.fd);
	send_fd(s[0], r.w.fd);
	close(s[0]);
	close(s[1]);
	ring_drop(&r);
	collect();
}

/* The socket is itself in flight, so that the collector looks at it. */
static void socket_and_domain_in_flight(void)
{
	struct ring r;
	int s[2];

	ring_make(&r);
	unix_pair(s, SOCK_STREAM);
	check(submit_one(&r.w, sqe_poll(0, 1, s[1], POLLPRI, 0)) == 1);
	check(submit_one(&r.w, sqe_poll(1, 1, s[0], POLLPRI, 0)) == 1);
	send_fd(s[0], s[1]);
	send_fd(s[0], r.d.fd);
	send_fd(s[1], s[0]);
	send_fd(s[1], r.w.fd);
	close(s[0]);
	close(s[1]);
	ring_drop(&r);
	collect();
}

/* Two domains, each in flight in a socket that the other one holds. */
static void crosswise_in_flight(void)
{
	struct ring a, b;
	int s[2], t[2];

	ring_make(&a);
	ring_make(&b);
	unix_pair(s, SOCK_STREAM);
	unix_pair(t, SOCK_STREAM);
	check(submit_one(&a.w, sqe_poll(0, 1, s[1], POLLPRI, 0)) == 1);
	check(submit_one(&b.w, sqe_poll(0, 1, t[1], POLLPRI, 0)) == 1);
	send_fd(t[0], a.d.fd);
	send_fd(s[0], b.d.fd);
	close(s[0]);
	close(s[1]);
	close(t[0]);
	close(t[1]);
	ring_drop(&a);
	ring_drop(&b);
	collect();
}

/* An epoll that watches the domain, in flight in what the domain holds. */
static void epoll_in_flight(void)
{
	struct ring r;
	int s[2], epoll;

	ring_make(&r);
	unix_pair(s, SOCK_STREAM);
	epoll = epoll_with(r.d.fd);
	hold_socket(&r, s[1]);
	check(submit_one(&r.w, sqe_cancel(roost_op_id(0, 1), 1)) == 1);
	check(submit_one(&r.w, sqe_cancel(roost_op_id(1, 1), 1)) == 1);
	send_fd(s[0], epoll);
	close(epoll);
	close(s[0]);
	close(s[1]);
	ring_drop(&r);
	collect();
}

/* Both: io_uring holds the domain, which is in flight in what it holds. */
static void uring_in_flight(void)
{
	struct uring u;
	struct ring r;
	int s[2];

	if (!uring_make(&u)) {
		check(errno == ENOSYS || errno == EPERM);
		return;
	}
	ring_make(&r);
	unix_pair(s, SOCK_STREAM);
	check(submit_one(&r.w, sqe_poll(0, 1, s[1], POLLPRI, 0)) == 1);
	check(syscall(__NR_io_uring_register, u.fd, IORING_REGISTER_FILES,
		      &r.d.fd, 1) == 0);
	send_fd(s[0], r.d.fd);
	close(s[0]);
	close(s[1]);
	ring_drop(&r);
	collect();
}

struct way {
	const char *what;
	void (*build)(void);
};

static const struct way ways[] = {
	{ "its own files", own_files },
	{ "two domains", two_domains },
	{ "an epoll between", epoll_between },
	{ "io_uring holds a domain", uring_holds_domain },
	{ "aio waits for a domain", aio_waits_for_domain },
	{ "a domain in flight", domain_in_flight },
	{ "socket and domain in flight", socket_and_domain_in_flight },
	{ "two domains crosswise in flight", crosswise_in_flight },
	{ "an epoll in flight", epoll_in_flight },
	{ "io_uring and in flight", uring_in_flight },
};

#define NR_WAYS	(sizeof(ways) / sizeof(ways[0]))

FIXTURE(cycle) {
	int before;
};

FIXTURE_SETUP(cycle)
{
	self->before = references();
	ASSERT_GE(self->before, 0);
}

FIXTURE_TEARDOWN(cycle)
{
}

/* Some of what others hold is let go by a work item of theirs. */
static int left_over(int before)
{
	uint64_t limit = now_ns() + wide(5 * SEC);

	collect();
	while (references() != before && now_ns() < limit)
		sleep_ns(MSEC);
	return references() - before;
}

TEST_F(cycle, ends_with_its_owner)
{
	unsigned int i;
	pid_t pid;

	for (i = 0; i < NR_WAYS; i++) {
		pid = fork();
		if (!pid) {
			ways[i].build();
			_exit(0);
		}
		EXPECT_EQ(exit_code(pid), 0)
			TH_LOG("row: %s", ways[i].what);
		EXPECT_EQ(left_over(self->before), 0)
			TH_LOG("row: %s", ways[i].what);
	}
}

TEST_F(cycle, ends_with_the_killed_owner)
{
	unsigned int i;
	int p[2];
	char byte;
	pid_t pid;

	for (i = 0; i < NR_WAYS; i++) {
		ASSERT_EQ(pipe(p), 0);
		pid = fork();
		if (!pid) {
			ways[i].build();
			check(write(p[1], "x", 1) == 1);
			for (;;)
				pause();
		}
		close(p[1]);
		EXPECT_EQ(read(p[0], &byte, 1), 1);
		close(p[0]);
		kill(pid, SIGKILL);
		EXPECT_EQ(exit_code(pid), 128);
		EXPECT_EQ(left_over(self->before), 0)
			TH_LOG("row: %s", ways[i].what);
	}
}

TEST_F(cycle, ends_with_exec)
{
	unsigned int i;
	pid_t pid;

	for (i = 0; i < NR_WAYS; i++) {
		pid = fork();
		if (!pid) {
			ways[i].build();
			execl("/proc/self/exe", "cycle_test", "--nothing",
			      NULL);
			check(0);
		}
		EXPECT_EQ(exit_code(pid), 0)
			TH_LOG("row: %s", ways[i].what);
		EXPECT_EQ(left_over(self->before), 0)
			TH_LOG("row: %s", ways[i].what);
	}
}

/*
 * A circle that nobody can reach any more, while its owner goes on: it is the
 * owner's until that ends, counts against its limits, and has no other effect.
 */
TEST_F(cycle, unreachable_counts_for_its_owner)
{
	struct limits l;
	pid_t pid;

	limits_open(&l);
	limit_set(&l, DOMAINS, 2);
	pid = fork();
	if (!pid) {
		become(USER);
		domain_in_flight();
		domain_in_flight();
		check(domain_fd((struct roost_domain_params){ 0 }) == -EDQUOT);
		_exit(0);
	}
	EXPECT_EQ(exit_code(pid), 0);
	pid = fork();
	if (!pid) {
		become(USER);
		domain_in_flight();
		domain_in_flight();
		_exit(0);
	}
	EXPECT_EQ(exit_code(pid), 0);
	limits_restore(&l);
	EXPECT_EQ(left_over(self->before), 0);
}

/* Somebody else has the descriptor: the module stays, what it held does not. */
TEST_F(cycle, receiver_survives_the_owner)
{
	int s[2], peer[2];
	struct pollfd p;
	struct ring r;
	pid_t pid;

	unix_pair(s, SOCK_STREAM);
	unix_pair(peer, SOCK_STREAM);
	pid = fork();
	if (!pid) {
		close(peer[0]);
		ring_make(&r);
		hold_socket(&r, peer[1]);
		send_fd(s[0], r.d.fd);
		send_fd(s[0], r.w.fd);
		_exit(0);
	}
	close(peer[1]);
	EXPECT_EQ(exit_code(pid), 0);
	/* in flight, and in nobody's table */
	EXPECT_EQ(references(), self->before + 2);
	p = (struct pollfd){ .fd = peer[0], .events = POLLIN };
	EXPECT_EQ(poll(&p, 1, (int)(wide(SEC) / MSEC)), 1);
	EXPECT_NE(p.revents & POLLHUP, 0);
	close(s[0]);
	close(s[1]);
	EXPECT_EQ(left_over(self->before), 0);
}

/* What the exec test runs; glibc hands a constructor the arguments. */
static void __attribute__((constructor)) run_nothing(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--nothing"))
		_exit(0);
}

TEST_HARNESS_MAIN
