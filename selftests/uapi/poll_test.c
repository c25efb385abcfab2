// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * poll_test.c - readiness of files, on the device.
 *
 * Rules F1 to F6; cases C15 to C17 as far as they concern the kernel.
 */
#include "kselftest_harness.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "roost_test.h"

#define MULTI ROOST_POLL_MULTISHOT

FIXTURE(poll) {
	struct dom d;
	struct wrk w;
	uint64_t limit;
};

FIXTURE_SETUP(poll)
{
	ASSERT_EQ(dom_make(&self->d, 16, 16384), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 256, 512), 0);
	ASSERT_EQ(attach(&self->w), 0);
	self->limit = now_ns() + wide(20 * SEC);
}

FIXTURE_TEARDOWN(poll)
{
	close(self->w.fd);
	close(self->d.fd);
}

static uint32_t take_events(const struct dom *d, uint32_t index)
{
	return __atomic_exchange_n(&d->events[index], 0, __ATOMIC_SEQ_CST);
}

TEST_F(poll, one_shot)
{
	struct roost_cqe cqe;
	int p[2];

	ASSERT_EQ(pipe(p), 0);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(3, 1, p[0], POLLIN, 0)), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	EXPECT_EQ(stat_of(&self->d).polls_armed, 1);
	ASSERT_EQ(write(p[1], "x", 1), 1);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.user_data, roost_op_id(3, 1));
	EXPECT_EQ(cqe.res & POLLIN, POLLIN);
	EXPECT_EQ(cqe.flags & ROOST_CQE_KIND, ROOST_CQE_POLL);
	EXPECT_FALSE(cqe.flags & ROOST_CQE_MORE);
	/* it is over: more data says nothing */
	ASSERT_EQ(write(p[1], "x", 1), 1);
	EXPECT_EQ(submit(&self->w), 0);
	EXPECT_FALSE(pop(&self->w, &cqe));
	EXPECT_EQ(stat_of(&self->d).polls_armed, 0);
	/* and its events word is not used */
	EXPECT_EQ(self->d.events[3], 0);
}

TEST_F(poll, ready_before_the_arm)
{
	struct roost_cqe cqe;
	int p[2];

	ASSERT_EQ(pipe(p), 0);
	ASSERT_EQ(write(p[1], "x", 1), 1);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(0, 1, p[0], POLLIN, 0)), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.res & POLLIN, POLLIN);
	EXPECT_EQ(stat_of(&self->d).polls_armed, 0);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(0, 2, p[0], POLLIN, MULTI)), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.user_data, roost_op_id(0, 2));
	EXPECT_TRUE(cqe.flags & ROOST_CQE_MORE);
	EXPECT_EQ(take_events(&self->d, 0) & POLLIN, POLLIN);
	EXPECT_EQ(stat_of(&self->d).polls_armed, 1);
}

/* F2: events gather in the word, the first of them completes. */
TEST_F(poll, multishot)
{
	struct roost_cqe cqe;
	unsigned int i;
	int s[2];

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(5, 1, s[0], POLLIN | POLLRDHUP,
						MULTI)), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(write(s[1], "x", 1), 1);
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		EXPECT_EQ(cqe.user_data, roost_op_id(5, 1));
		EXPECT_TRUE(cqe.flags & ROOST_CQE_MORE);
		/* until the word is taken there is no other completion */
		ASSERT_EQ(write(s[1], "x", 1), 1);
		EXPECT_FALSE(pop(&self->w, &cqe));
		EXPECT_EQ(take_events(&self->d, 5) & POLLIN, POLLIN);
	}
	ASSERT_EQ(write(s[1], "x", 1), 1);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	/* the end of the peer is a wake-up without a key: a hint (F3) */
	EXPECT_EQ(take_events(&self->d, 5) & POLLIN, POLLIN);
	close(s[1]);
	EXPECT_NE(self->d.events[5] & (POLLHUP | ROOST_EVENT_HINT), 0);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_TRUE(cqe.res & POLLHUP || cqe.flags & ROOST_CQE_HINT);
	EXPECT_TRUE(cqe.flags & ROOST_CQE_MORE);
	EXPECT_EQ(stat_of(&self->d).polls_armed, 1);
}

/* F3: only what was asked for, and what cannot be masked. */
TEST_F(poll, filter)
{
	char buffer[65536] = { 0 };
	struct roost_cqe cqe;
	int s[2];

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s), 0);
	while (write(s[0], buffer, sizeof(buffer)) > 0)
		;
	ASSERT_EQ(submit_one(&self->w, sqe_poll(0, 1, s[0], POLLOUT, 0)), 1);
	/* readable is not writable (C15) */
	ASSERT_EQ(write(s[1], "x", 1), 1);
	EXPECT_EQ(wait_pop(&self->d, &self->w, &cqe, now_ns() + 100 * MSEC),
		  -ETIMEDOUT);
	while (read(s[1], buffer, sizeof(buffer)) > 0)
		;
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.res & POLLOUT, POLLOUT);
}

/* C16 */
TEST_F(poll, error_and_hangup)
{
	char buffer[65536] = { 0 };
	struct roost_cqe cqe;
	struct pollfd look;
	int p[2];

	/* (a) a full pipe loses its reader */
	ASSERT_EQ(pipe2(p, O_NONBLOCK), 0);
	look = (struct pollfd){ .fd = p[1], .events = POLLOUT };
	while (write(p[1], buffer, sizeof(buffer)) > 0)
		;
	ASSERT_EQ(submit_one(&self->w, sqe_poll(0, 1, p[1], POLLOUT, 0)), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	close(p[0]);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, now_ns() + wide(50 * MSEC)),
		  0);
	EXPECT_TRUE(cqe.res & POLLERR || cqe.flags & ROOST_CQE_HINT);
	EXPECT_EQ(poll(&look, 1, 0), 1);
	EXPECT_EQ(look.revents & POLLERR, POLLERR);
	/* (b) an empty one loses its writer; asked for nothing at all */
	ASSERT_EQ(pipe(p), 0);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(1, 1, p[0], 0, 0)), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	close(p[1]);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, now_ns() + wide(50 * MSEC)),
		  0);
	EXPECT_EQ(cqe.user_data, roost_op_id(1, 1));
	EXPECT_TRUE(cqe.res & POLLHUP || cqe.flags & ROOST_CQE_HINT);
	/* (d) shutdown by the peer */
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, p), 0);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(2, 1, p[0],
						POLLIN | POLLRDHUP, 0)), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	shutdown(p[1], SHUT_WR);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, now_ns() + wide(50 * MSEC)),
		  0);
	EXPECT_EQ(cqe.user_data, roost_op_id(2, 1));
	EXPECT_TRUE(cqe.res & (POLLIN | POLLRDHUP) ||
		    cqe.flags & ROOST_CQE_HINT);
	EXPECT_EQ(read(p[0], buffer, 1), 0);
}

/* C16 (e) */
TEST_F(poll, pidfd)
{
	struct roost_cqe cqe;
	int p[2], fd, status;
	pid_t pid;
	char byte;

	ASSERT_EQ(pipe(p), 0);
	pid = fork();
	if (!pid) {
		close(p[1]);
		_exit(read(p[0], &byte, 1) == 1 ? 7 : 8);
	}
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(0, 1, fd, POLLIN, 0)), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	ASSERT_EQ(write(p[1], "x", 1), 1);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_TRUE(cqe.res & POLLIN || cqe.flags & ROOST_CQE_HINT);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(poll, eventfd)
{
	struct roost_cqe cqe;
	uint64_t one = 1;
	unsigned int i;
	int fd = eventfd(0, EFD_NONBLOCK);

	ASSERT_EQ(submit_one(&self->w, sqe_poll(0, 1, fd, POLLIN, MULTI)), 1);
	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(write(fd, &one, sizeof(one)), sizeof(one));
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		ASSERT_NE(take_events(&self->d, 0), 0);
		ASSERT_EQ(read(fd, &one, sizeof(one)), sizeof(one));
	}
	EXPECT_FALSE(pop(&self->w, &cqe));
}

TEST_F(poll, remove)
{
	struct roost_cqe cqe;
	int p[2];

	ASSERT_EQ(pipe(p), 0);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(0, 1, p[0], POLLIN, MULTI)), 1);
	ASSERT_EQ(submit_one(&self->w, sqe_poll_remove(0, 2, 0)), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.user_data, roost_op_id(0, 1));
	EXPECT_EQ(cqe.res, -ECANCELED);
	EXPECT_EQ(cqe.flags & ROOST_CQE_KIND, ROOST_CQE_POLL);
	EXPECT_FALSE(cqe.flags & ROOST_CQE_MORE);
	ASSERT_EQ(write(p[1], "x", 1), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	/* not there, too old, and quietly */
	ASSERT_EQ(submit_one(&self->w, sqe_poll_remove(0, 2, 0)), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.res, -ENOENT);
	EXPECT_EQ(cqe.flags & ROOST_CQE_KIND, ROOST_CQE_CANCEL);
	ASSERT_EQ(submit_one(&self->w, sqe_poll_remove(0, 1, 0)), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.res, -ESTALE);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(0, 2, p[0], POLLIN, 0)), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.res, -ESTALE);
	read(p[0], &cqe, 1);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(0, 3, p[0], POLLIN, 0)), 1);
	ASSERT_EQ(submit_one(&self->w, sqe_poll_remove(0, 4, ROOST_SQE_QUIET)),
		  1);
	ASSERT_EQ(submit_one(&self->w, sqe_poll_remove(0, 5, ROOST_SQE_QUIET)),
		  1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	EXPECT_EQ(stat_of(&self->d).polls_armed, 0);
	EXPECT_EQ(stat_of(&self->d).polls_removed, 2);
}

/* An ADD on an armed index: the old file is let go, its events are gone. */
TEST_F(poll, replace)
{
	int a[2], b[2], status;
	struct roost_cqe cqe;
	pid_t pid;

	ASSERT_EQ(pipe(a), 0);
	ASSERT_EQ(pipe(b), 0);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(0, 1, a[0], POLLIN, MULTI)), 1);
	ASSERT_EQ(write(a[1], "x", 1), 1);
	/* the old one's completion lies in the ring, the word is set */
	EXPECT_NE(self->d.events[0], 0);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(0, 2, b[0], POLLIN, MULTI)), 1);
	EXPECT_EQ(self->d.events[0], 0);
	ASSERT_EQ(write(b[1], "x", 1), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.user_data, roost_op_id(0, 1));
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.user_data, roost_op_id(0, 2));
	EXPECT_EQ(take_events(&self->d, 0) & POLLIN, POLLIN);
	ASSERT_EQ(write(a[1], "x", 1), 1);
	EXPECT_EQ(self->d.events[0], 0);
	EXPECT_EQ(stat_of(&self->d).polls_armed, 1);
	/* nobody else has the old file: its writer is alone now */
	signal(SIGPIPE, SIG_IGN);
	close(a[0]);
	pid = fork();
	if (!pid)
		_exit(write(a[1], "x", 1) < 0 && errno == EPIPE ? 0 : 1);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
}

/* C17, F5, F6 */
TEST_F(poll, what_cannot_be_polled)
{
	struct rlimit files;
	struct roost_cqe cqe;
	char path[] = "/tmp/roost-poll-XXXXXX";
	int regular = mkstemp(path), p[2], uring;
	uint32_t sequence = 1;
	unsigned int i;

	struct {
		const char *what;
		int fd;
		int expected;
	} rows[12] = {
		{ "regular file", regular, -EPERM },
		{ "/dev/null", open("/dev/null", O_RDWR), -EPERM },
		{ "directory", open("/tmp", O_RDONLY | O_DIRECTORY), -EPERM },
		{ "O_PATH", open("/tmp", O_PATH), -EBADF },
		{ "-1", -1, -EBADF },
		{ "the least int", -2147483647 - 1, -EBADF },
		{ "never opened", 0, -EBADF },
		{ "its own domain", self->d.fd, -ELOOP },
		{ "its own worker", self->w.fd, -ELOOP },
		{ "the device", dev_open(), -ELOOP },
		{ "epoll", epoll_create1(0), -ELOOP },
	};

	unlink(path);
	ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
	rows[6].fd = (int)files.rlim_cur - 1;
	for (i = 0; i < 11; i++) {
		ASSERT_EQ(submit_one(&self->w, sqe_poll(0, sequence++,
							rows[i].fd, POLLIN,
							i % 2 ? MULTI : 0)), 1);
		ASSERT_TRUE(pop(&self->w, &cqe))
			TH_LOG("row: %s", rows[i].what);
		EXPECT_EQ(cqe.res, rows[i].expected)
			TH_LOG("row: %s", rows[i].what);
		EXPECT_FALSE(cqe.flags & ROOST_CQE_MORE);
		EXPECT_EQ(cqe.user_data, roost_op_id(0, sequence - 1));
		/* an ordinary wait works after each */
		ASSERT_EQ(pipe(p), 0);
		ASSERT_EQ(write(p[1], "x", 1), 1);
		ASSERT_EQ(submit_one(&self->w, sqe_poll(1, sequence, p[0],
							POLLIN, 0)), 1);
		ASSERT_TRUE(pop(&self->w, &cqe));
		EXPECT_EQ(cqe.res & POLLIN, POLLIN);
		close(p[0]);
		close(p[1]);
	}
	/* struct io_uring_params is 120 bytes; all zero will do */
	{
		char params[120] = { 0 };

		uring = (int)syscall(SYS_io_uring_setup, 4, params);
	}
	if (uring < 0) {
		TH_LOG("no io_uring here: %d", errno);
	} else {
		ASSERT_EQ(submit_one(&self->w, sqe_poll(0, sequence, uring,
							POLLIN, 0)), 1);
		ASSERT_TRUE(pop(&self->w, &cqe));
		EXPECT_EQ(cqe.res, -ELOOP);
	}
	EXPECT_EQ(stat_of(&self->d).polls_armed, 0);
}

/*
 * S2-07: POLLFREE: a signalfd's queue is that of the thread group which called
 * poll, and goes with it.  Here the group goes by exec of nobody: a child makes
 * the domain and the signalfd, arms and ends, with the file kept by us.
 */
TEST_F(poll, queue_that_dies_first)
{
	sigset_t set;
	unsigned int i;
	int status;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	for (i = 0; i < 20; i++) {
		pid = fork();
		if (!pid) {
			struct dom d;
			struct wrk w;
			int fd;

			sigprocmask(SIG_BLOCK, &set, NULL);
			check(dom_make(&d, 1, 4) == 0);
			check(wrk_make(&w, &d, 8, 8) == 0);
			fd = signalfd(-1, &set, 0);
			check(fd >= 0);
			check(submit_one(&w, sqe_poll(0, 1, fd, POLLIN,
						      i & 1 ? MULTI : 0)) == 1);
			check(stat_of(&d).polls_armed == 1);
			if (i & 2)
				close(fd);
			if (i & 4)
				kill(getpid(), SIGKILL);
			_exit(0);
		}
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT_EQ(status, i & 4 ? SIGKILL : 0);
	}
}

TEST_F(poll, signalfd_fires)
{
	struct roost_cqe cqe;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, 0);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(0, 1, fd, POLLIN, 0)), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	kill(getpid(), SIGUSR1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_TRUE(cqe.res & POLLIN || cqe.flags & ROOST_CQE_HINT);
}

/* F4: a plain close leaves the file to the poll, removal lets it go. */
TEST_F(poll, plain_close_keeps_the_file_until_removal)
{
	struct roost_cqe cqe;
	int s[2], again;
	char byte;

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s), 0);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(0, 1, s[0], POLLIN, MULTI)), 1);
	close(s[0]);
	EXPECT_EQ(read(s[1], &byte, 1), -1);
	EXPECT_EQ(errno, EAGAIN);
	ASSERT_EQ(write(s[1], "x", 1), 1);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.user_data, roost_op_id(0, 1));
	/* the number comes back and means another file */
	again = eventfd(1, 0);
	EXPECT_EQ(again, s[0]);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(1, 1, again, POLLIN, 0)), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.user_data, roost_op_id(1, 1));
	ASSERT_EQ(submit_one(&self->w, sqe_poll_remove(0, 2, ROOST_SQE_QUIET)),
		  1);
	EXPECT_EQ(recv(s[1], &byte, 1, 0) > 0 ? 1 : errno == ECONNRESET ? 0 :
		  errno, 0);
}

/* A fired one-shot lets its file go too, at the next call at the latest. */
TEST_F(poll, one_shot_lets_go)
{
	struct roost_cqe cqe;
	int p[2];

	signal(SIGPIPE, SIG_IGN);
	ASSERT_EQ(pipe(p), 0);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(0, 1, p[0], POLLIN, 0)), 1);
	ASSERT_EQ(write(p[1], "x", 1), 1);
	ASSERT_TRUE(pop(&self->w, &cqe));
	submit(&self->w);
	close(p[0]);
	EXPECT_EQ(write(p[1], "x", 1), -1);
	EXPECT_EQ(errno, EPIPE);
}

TEST_F_TIMEOUT(poll, many, 300)
{
	const unsigned int n = rounds_of("ROOST_POLLS", 10000);
	struct rlimit files = { 2 * n + 100, 2 * n + 100 };
	unsigned int i, round, got;
	struct roost_cqe cqe;
	int (*p)[2] = calloc(n, sizeof(*p));
	uint64_t one = 1;

	ASSERT_NE(p, NULL);
	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
	for (i = 0; i < n; i++) {
		p[i][0] = eventfd(0, EFD_NONBLOCK);
		ASSERT_GE(p[i][0], 0);
		ASSERT_EQ(submit_one(&self->w, sqe_poll(i, 1, p[i][0], POLLIN,
							MULTI)), 1);
	}
	EXPECT_EQ(stat_of(&self->d).polls_armed, n);
	for (round = 0; round < 3; round++) {
		unsigned char *seen = calloc(n, 1);

		for (i = 0; i < n; i++)
			ASSERT_EQ(write(p[i][0], &one, sizeof(one)),
				  sizeof(one));
		/* far more than the ring holds */
		for (got = 0; got < n; got++) {
			ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe,
					   now_ns() + wide(2 * SEC)), 0);
			i = roost_op_index(cqe.user_data);
			ASSERT_LT(i, n);
			ASSERT_EQ(seen[i]++, 0);
			ASSERT_NE(take_events(&self->d, i), 0);
			ASSERT_EQ(read(p[i][0], &one, sizeof(one)),
				  sizeof(one));
		}
		EXPECT_FALSE(pop(&self->w, &cqe));
		free(seen);
	}
	for (i = 0; i < n; i++) {
		ASSERT_EQ(submit_one(&self->w, sqe_poll_remove(i, 2,
						ROOST_SQE_QUIET)), 1);
		close(p[i][0]);
	}
	EXPECT_EQ(stat_of(&self->d).polls_armed, 0);
	EXPECT_FALSE(pop(&self->w, &cqe));
}

struct writer {
	int fd;
	unsigned long n;
};

static void *write_main(void *arg)
{
	struct writer *x = arg;
	unsigned long i;

	for (i = 0; i < x->n; i++)
		check(write(x->fd, "x", 1) == 1);
	return NULL;
}

/* S2-05: No edge is lost between the exchange of the word and the read. */
TEST_F_TIMEOUT(poll, no_lost_edge, 300)
{
	struct writer x = { .n = rounds_of("ROOST_EDGES", 100000) };
	unsigned long got = 0;
	char buffer[64];
	struct roost_cqe cqe;
	pthread_t thread;
	int s[2], n;

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	fcntl(s[0], F_SETFL, O_NONBLOCK);
	ASSERT_EQ(submit_one(&self->w, sqe_poll(0, 1, s[0], POLLIN, MULTI)), 1);
	x.fd = s[1];
	ASSERT_EQ(pthread_create(&thread, NULL, write_main, &x), 0);
	while (got < x.n) {
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe,
				   now_ns() + wide(2 * SEC)), 0)
			TH_LOG("%lu of %lu bytes", got, x.n);
		take_events(&self->d, 0);
		while ((n = (int)read(s[0], buffer, sizeof(buffer))) > 0)
			got += (unsigned long)n;
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(got, x.n);
}

TEST_HARNESS_MAIN
