// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * fd_test.c - waiting for descriptors: every kind of file, every way for a wait
 * to end.  Runs with either backend (ROOST_BACKEND).
 */
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "inside.h"
#include "io_help.h"

/* The inside, for events that no file gives on demand. */
#include "fd.h"
#include "runtime.h"

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static bool on_kernel_backend(void)
{
	struct roost_stats stats;

	CHECK_EQ(roost_stats(&stats), 0);
	return !strcmp(stats.backend, "kernel");
}

/* Nobody waits for a deadline, on a machine that may stand still for a while. */
#define PROMPTLY	ROOST_SEC(10)

/* Ends of files: C16 */

ACTOR_TEST(reader_sees_hangup_of_a_pipe, usually(2))	/* C16 (b), S3-76 */
{
	struct waiter w;
	uint64_t closed;
	char c;
	int p[2];

	REQUIRE_EQ(pipe(p), 0);
	waiter_start(&w, p[0], POLLIN, soon());
	settle();
	CHECK(!atomic_load(&w.done));
	closed = roost_now();
	close(p[1]);
	CHECK(waiter_join(&w) & POLLHUP);
	CHECK(w.ended - closed < PROMPTLY);
	CHECK_EQ(roost_read(p[0], &c, 1, soon()), 0);
	close(p[0]);
}

ACTOR_TEST(writer_sees_error_of_a_pipe, usually(2))	/* C16 (a), S3-76 */
{
	struct waiter w;
	uint64_t closed;
	int p[2];

	REQUIRE_EQ(pipe(p), 0);
	fill(p[1]);
	waiter_start(&w, p[1], POLLOUT, soon());
	settle();
	CHECK(!atomic_load(&w.done));
	closed = roost_now();
	close(p[0]);
	CHECK(waiter_join(&w) & POLLERR);
	CHECK(w.ended - closed < PROMPTLY);
	CHECK_EQ(roost_write(p[1], "x", 1, soon()), -EPIPE);
	close(p[1]);
}

ACTOR_TEST(hangup_wakes_both_directions, usually(2))	/* S3-40 */
{
	struct waiter in, out;
	int s[2];

	REQUIRE_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	fill(s[0]);
	waiter_start(&in, s[0], POLLIN, soon());
	waiter_start(&out, s[0], POLLOUT, soon());
	settle();
	CHECK(!atomic_load(&in.done) && !atomic_load(&out.done));
	close(s[1]);
	CHECK(waiter_join(&in) & POLLHUP);
	CHECK(waiter_join(&out) & POLLHUP);
	close(s[0]);
}

ACTOR_TEST(writer_sees_reset, usually(2))	/* C16 (c), S3-40 */
{
	struct waiter w;
	uint64_t closed;
	ssize_t n;
	int s[2];

	tcp_pair(s);
	fill(s[0]);
	waiter_start(&w, s[0], POLLOUT, soon());
	settle();
	CHECK(!atomic_load(&w.done));
	closed = roost_now();
	close_with_reset(s[1]);
	CHECK(waiter_join(&w) & (POLLERR | POLLHUP));
	CHECK(w.ended - closed < PROMPTLY);
	n = roost_write(s[0], "x", 1, soon());
	CHECK(n == -ECONNRESET || n == -EPIPE);
	close(s[0]);
}

ACTOR_TEST(reader_sees_half_close, usually(2))	/* C16 (d), S3-40 */
{
	struct waiter in, rdhup;
	uint64_t closed;
	char c;
	int s[2];

	tcp_pair(s);
	waiter_start(&in, s[0], POLLIN, soon());
	waiter_start(&rdhup, s[0], POLLRDHUP, soon());
	settle();
	CHECK(!atomic_load(&in.done) && !atomic_load(&rdhup.done));
	closed = roost_now();
	shutdown(s[1], SHUT_WR);
	CHECK(waiter_join(&in) & POLLIN);
	CHECK(waiter_join(&rdhup) & POLLRDHUP);
	CHECK(in.ended - closed < PROMPTLY);
	CHECK_EQ(roost_read(s[0], &c, 1, soon()), 0);
	close(s[0]);
	close(s[1]);
}

ACTOR_TEST(process_end_is_readable, usually(2))	/* C16 (e) */
{
	struct waiter w;
	siginfo_t info;
	int fd;
	pid_t pid;

	if (valgrind_here())
		SKIP("valgrind does not know pidfd_open");
	pid = fork();
	if (pid == 0) {
		usleep(100000);
		_exit(7);
	}
	REQUIRE(pid > 0);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	REQUIRE(fd >= 0);
	waiter_start(&w, fd, POLLIN, soon());
	CHECK(waiter_join(&w) & POLLIN);
	CHECK_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG), 0);
	CHECK_EQ(info.si_status, 7);
	close(fd);
}

ACTOR_TEST(urgent_data_is_readable, usually(2))	/* S3-40 */
{
	struct waiter in, pri;
	char c = 0;
	int s[2];

	tcp_pair(s);
	waiter_start(&in, s[0], POLLIN, soon());
	waiter_start(&pri, s[0], POLLPRI, soon());
	settle();
	CHECK_EQ(send(s[1], "!", 1, MSG_OOB), 1);
	CHECK(waiter_join(&in) & POLLPRI);
	CHECK(waiter_join(&pri) & POLLPRI);
	CHECK_EQ(recv(s[0], &c, 1, MSG_OOB), 1);
	CHECK_EQ(c, '!');
	close(s[0]);
	close(s[1]);
}

/* Several waiters */

static void two_readers_and_a_writer(bool managed)
{
	struct roost_stats armed, later;
	struct waiter r1, r2, w;
	uint64_t before;
	int s[2];

	REQUIRE_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	if (managed)
		CHECK_EQ(roost_fd_adopt(s[0]), 0);
	fill(s[0]);
	waiter_start(&r1, s[0], POLLIN, soon());
	waiter_start(&w, s[0], POLLOUT, soon());
	waiter_start(&r2, s[0], POLLIN, soon());
	settle();

	before = cpu_ns();
	CHECK_EQ(roost_sleep(ROOST_SEC(1)), 0);
	CHECK(!atomic_load(&r1.done));
	CHECK(!atomic_load(&r2.done));
	CHECK(!atomic_load(&w.done));
	CHECK_MSG(cpu_ns() - before < ROOST_MSEC(10) * slow(), "%llu ns of CPU time",
		  (unsigned long long)(cpu_ns() - before));

	CHECK_EQ(roost_stats(&armed), 0);
	drain(s[1]);
	CHECK_EQ(waiter_join(&w), POLLOUT);
	settle();
	CHECK(!atomic_load(&r1.done));
	CHECK(!atomic_load(&r2.done));
	/* They were not even made to look again. */
	CHECK_EQ(roost_stats(&later), 0);
	CHECK_EQ(later.fd_arms, armed.fd_arms);

	CHECK_EQ(write(s[1], "x", 1), 1);
	CHECK_EQ(waiter_join(&r1), POLLIN);
	CHECK_EQ(waiter_join(&r2), POLLIN);
	roost_close(s[0]);
	close(s[1]);
}

/* C15, S3-36 */
ACTOR_TEST(two_readers_and_a_writer, usually(2))
{
	two_readers_and_a_writer(false);
}

/* C15, S3-36 */
ACTOR_TEST(two_readers_and_a_writer_managed, usually(2))
{
	two_readers_and_a_writer(true);
}

ACTOR_TEST(hundred_readers_of_one_pipe, usually(4))	/* S3-38 */
{
	static struct waiter w[100];
	int p[2], i;

	REQUIRE_EQ(pipe(p), 0);
	for (i = 0; i < 100; i++)
		waiter_start(&w[i], p[0], POLLIN, soon());
	settle();
	settle();
	for (i = 0; i < 100; i++)
		CHECK(!atomic_load(&w[i].done));
	CHECK_EQ(write(p[1], "x", 1), 1);
	for (i = 0; i < 100; i++)
		CHECK_EQ(waiter_join(&w[i]), POLLIN);
	close(p[0]);
	close(p[1]);
}

/* A file whose event is taken by another is not ready any more: wait on. */
ACTOR_TEST(managed_wait_is_not_fooled_by_an_old_event, usually(2))	/* S3-30 */
{
	struct waiter w;
	char c;
	int s[2];

	tcp_pair_managed(s);
	/* Armed by a first wait, so that the next event comes unasked. */
	waiter_start(&w, s[0], POLLIN, roost_after(SETTLE_NS));
	CHECK_EQ(waiter_join(&w), 0);
	CHECK_EQ(write(s[1], "x", 1), 1);
	settle();
	CHECK_EQ(read(s[0], &c, 1), 1);
	CHECK_EQ(roost_fd_wait(s[0], POLLIN, roost_after(SETTLE_NS)), 0);
	roost_close(s[0]);
	roost_close(s[1]);
}

/* Closing: C12 */

static void wait_again(int number)
{
	struct waiter w;
	int p[2];

	/* The number that was closed comes back. */
	REQUIRE_EQ(pipe(p), 0);
	move_to(number, p);
	waiter_start(&w, number, POLLIN, soon());
	settle();
	CHECK(!atomic_load(&w.done));
	CHECK_EQ(write(p[1], "x", 1), 1);
	CHECK_EQ(waiter_join(&w), POLLIN);
	close(number);
	close(p[1]);
}

static void close_while_waited_on(bool managed)
{
	struct waiter w;
	uint64_t closed;
	int p[2];

	REQUIRE_EQ(managed ? roost_pipe(p) : pipe(p), 0);
	waiter_start(&w, p[0], POLLIN, ROOST_FOREVER);
	settle();
	CHECK(!atomic_load(&w.done));
	closed = roost_now();
	CHECK_EQ(roost_close(p[0]), 0);
	CHECK_EQ(waiter_join(&w), -ECANCELED);
	CHECK(w.ended - closed < PROMPTLY);
	wait_again(p[0]);
	roost_close(p[1]);
}

/* C12 */
ACTOR_TEST(close_while_waited_on, usually(2))
{
	close_while_waited_on(false);
}

/* C12 */
ACTOR_TEST(close_while_waited_on_managed, usually(2))
{
	close_while_waited_on(true);
}

/* C12 */
ACTOR_TEST(plain_close_while_waited_on, usually(2))
{
	struct waiter w;
	int p[2];

	REQUIRE_EQ(pipe(p), 0);
	waiter_start(&w, p[0], POLLIN, roost_after(ROOST_SEC(1)));
	settle();
	close(p[0]);
	settle();
	CHECK_EQ(roost_fd_wait(p[0], POLLIN, soon()), -EBADF);
	CHECK(!atomic_load(&w.done));
	CHECK_EQ(waiter_join(&w), 0);
	CHECK(w.ended >= w.deadline);

	/* ... nor beyond a stop. */
	close(p[1]);
	REQUIRE_EQ(pipe(p), 0);
	waiter_start(&w, p[0], POLLIN, ROOST_FOREVER);
	settle();
	close(p[0]);
	settle();
	CHECK(!atomic_load(&w.done));
	CHECK_EQ(roost_stop(w.pid), 0);
	CHECK_EQ(waiter_join(&w), -ECANCELED);
	wait_again(p[0]);
	close(p[1]);
}

/* C12, S3-41 */
ACTOR_TEST(plain_close_and_reuse_while_waited_on, usually(2))
{
	struct waiter w;
	int p[2];

	REQUIRE_EQ(pipe(p), 0);
	waiter_start(&w, p[0], POLLIN, roost_after(ROOST_SEC(1)));
	settle();
	close(p[0]);
	wait_again(p[0]);
	/* Told of the new file or not: it ends, and on time. */
	waiter_join(&w);
	CHECK(w.result == 0 || w.result == POLLIN || w.result == -EBADF);
	close(p[1]);
}

/*
 * The old file lives on through a duplicate and keeps on being busy; the number
 * is another file's now, and who waits for that is not woken by the old one.
 */
static void reuse_while_old_file_lives(bool managed)
{
	struct roost_stats before, after;
	struct waiter w;
	int old[2], new[2], copy, i;
	uint64_t cpu;
	char c;

	REQUIRE_EQ(managed ? roost_pipe(old) : pipe(old), 0);
	REQUIRE_EQ(pipe(new), 0);
	copy = dup(old[0]);
	waiter_start(&w, old[0], POLLIN, roost_after(SETTLE_NS));
	CHECK_EQ(waiter_join(&w), 0);
	if (managed)
		CHECK_EQ(roost_close(old[0]), 0);
	else
		CHECK_EQ(close(old[0]), 0);
	CHECK_EQ(dup2(new[0], old[0]), old[0]);

	waiter_start(&w, old[0], POLLIN, soon());
	settle();
	CHECK_EQ(roost_stats(&before), 0);
	cpu = cpu_ns();
	for (i = 0; i < 1000; i++) {
		CHECK_EQ(write(old[1], "x", 1), 1);
		CHECK_EQ(read(copy, &c, 1), 1);
	}
	CHECK_EQ(write(old[1], "x", 1), 1);
	CHECK_EQ(roost_sleep(ROOST_MSEC(100)), 0);
	CHECK(!atomic_load(&w.done));
	/* Readable all the time, and nobody spins on it. */
	CHECK(cpu_ns() - cpu < ROOST_MSEC(60) * slow());
	CHECK_EQ(roost_stats(&after), 0);
	CHECK_EQ(after.fd_events, before.fd_events);

	CHECK_EQ(write(new[1], "x", 1), 1);
	CHECK_EQ(waiter_join(&w), POLLIN);
	close(old[0]);
	close(copy);
	close(new[0]);
	close(new[1]);
	roost_close(old[1]);
}

/* C12, S3-41 */
ACTOR_TEST(reuse_while_old_file_lives, usually(2))
{
	reuse_while_old_file_lives(false);
}

/* C12, S3-41 */
ACTOR_TEST(reuse_while_old_file_lives_managed, usually(2))
{
	reuse_while_old_file_lives(true);
}

/*
 * C12, S3-41: As above, closed while somebody waits: the old registration stays
 * for good.
 */
ACTOR_TEST(reuse_while_waited_on_and_old_file_lives, usually(2))
{
	struct waiter first, second;
	int old[2], new[2], copy;

	REQUIRE_EQ(pipe(old), 0);
	REQUIRE_EQ(pipe(new), 0);
	copy = dup(old[0]);
	waiter_start(&first, old[0], POLLIN, roost_after(ROOST_MSEC(300)));
	settle();
	CHECK_EQ(dup2(new[0], old[0]), old[0]);	/* closes it on the way */
	waiter_start(&second, old[0], POLLIN, soon());
	settle();
	CHECK_EQ(write(old[1], "x", 1), 1);
	settle();
	CHECK(!atomic_load(&second.done));
	CHECK_EQ(write(new[1], "x", 1), 1);
	CHECK_EQ(waiter_join(&second), POLLIN);
	waiter_join(&first);
	CHECK(first.result == 0 || first.result == POLLIN);
	close(old[0]);
	close(old[1]);
	close(copy);
	close(new[0]);
	close(new[1]);
}

/*
 * A number gets its first file back, of which epoll still knows under that
 * number, after the backend has forgotten it (S3-41).
 */
ACTOR_TEST(old_file_comes_back, usually(2))
{
	struct waiter w;
	int old[2], new[2], copy;

	REQUIRE_EQ(pipe(old), 0);
	REQUIRE_EQ(pipe(new), 0);
	copy = dup(old[0]);
	waiter_start(&w, old[0], POLLIN, roost_after(SETTLE_NS));
	CHECK_EQ(waiter_join(&w), 0);
	CHECK_EQ(dup2(new[0], old[0]), old[0]);
	waiter_start(&w, old[0], POLLIN, ROOST_FOREVER);
	settle();
	CHECK_EQ(roost_close(old[0]), 0);
	CHECK_EQ(waiter_join(&w), -ECANCELED);
	CHECK_EQ(dup2(copy, old[0]), old[0]);
	waiter_start(&w, old[0], POLLIN, soon());
	settle();
	CHECK(!atomic_load(&w.done));
	CHECK_EQ(write(old[1], "x", 1), 1);
	CHECK_EQ(waiter_join(&w), POLLIN);
	close(old[0]);
	close(old[1]);
	close(copy);
	close(new[0]);
	close(new[1]);
}

/* Kinds of files: C17 */

/* C17, S3-42 */
ACTOR_TEST(files_that_cannot_be_polled, usually(2))
{
	char name[] = "/tmp/roost-fd-test-XXXXXX";
	struct {
		const char *what;
		int fd;
		int result;
	} files[] = {
		{ "regular file", mkstemp(name), -EPERM },
		{ "/dev/null", open("/dev/null", O_RDWR), -EPERM },
		{ "directory", open("/", O_RDONLY | O_DIRECTORY), -EPERM },
		{ "O_PATH", open("/", O_PATH), -EBADF },
		{ "-1", -1, -EBADF },
		{ "INT_MIN", -2147483647 - 1, -EBADF },
		{ "never opened", 999, -EBADF },
	};
	const unsigned int events[] = { POLLIN, POLLOUT, POLLIN | POLLOUT };
	unsigned int i, j, round;
	int p[2];

	unlink(name);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		for (j = 0; j < 3; j++)
			for (round = 0; round < 2; round++)
				CHECK_MSG(roost_fd_wait(files[i].fd, events[j],
							soon()) ==
					  files[i].result, "%s", files[i].what);
		/* A pipe works after each. */
		REQUIRE_EQ(pipe(p), 0);
		CHECK_EQ(roost_fd_wait(p[0], POLLIN, 0), 0);
		CHECK_EQ(roost_fd_wait(p[0], POLLIN, roost_after(1000000)), 0);
		CHECK_EQ(roost_fd_wait(p[1], POLLOUT, soon()), POLLOUT);
		close(p[0]);
		close(p[1]);
	}
	for (i = 0; i < 4; i++)
		close(files[i].fd);
}

ACTOR_TEST(bad_arguments, usually(1))
{
	int p[2];

	REQUIRE_EQ(pipe(p), 0);
	CHECK_EQ(roost_fd_wait(p[0], 0, 0), -EINVAL);
	CHECK_EQ(roost_fd_wait(p[0], POLLIN | POLLHUP, 0), -EINVAL);
	CHECK_EQ(roost_fd_wait(p[0], 1U << 31, 0), -EINVAL);
	close(p[0]);
	close(p[1]);
}

ROOST_TEST(outside_of_an_actor)
{
	char c;

	CHECK_EQ(roost_fd_wait(0, POLLIN, 0), -EPERM);
	CHECK_EQ(roost_read(0, &c, 1, 0), -EPERM);
	CHECK_EQ(roost_close(99), -EPERM);
	CHECK_EQ(roost_socket(AF_INET, SOCK_STREAM, 0), -EPERM);
}

static void beyond_max_fds(void *arg unused_arg)
{
	char c;
	int p[2];

	REQUIRE_EQ(pipe(p), 0);
	CHECK_EQ(dup2(p[0], 200), 200);
	CHECK_EQ(roost_fd_wait(200, POLLIN, soon()), -EMFILE);
	CHECK_EQ(roost_read(200, &c, 1, soon()), -EMFILE);
	CHECK_EQ(roost_fd_adopt(200), -EMFILE);
	/* One that is not beyond works. */
	CHECK_EQ(roost_fd_wait(p[0], POLLIN, roost_after(1000)), 0);
	close(200);
	close(p[0]);
	close(p[1]);
}

ROOST_TEST(number_beyond_max_fds)	/* S3-43 */
{
	struct roost_config config = { .workers = 1, .max_fds = 200 };

	run_with(&config, beyond_max_fds, NULL);
}

/* S1-08 */
ACTOR_TEST(eventfd_wakes, usually(2))
{
	int fd = eventfd(0, 0);
	struct waiter w;

	REQUIRE(fd >= 0);
	waiter_start(&w, fd, POLLIN, soon());
	settle();
	CHECK(!atomic_load(&w.done));
	CHECK_EQ(eventfd_write(fd, 1), 0);
	CHECK_EQ(waiter_join(&w), POLLIN);
	close(fd);
}

ACTOR_TEST(timerfd_wakes, usually(2))
{
	struct itimerspec in50ms = { .it_value.tv_nsec = 50000000 };
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t start = roost_now(), end;

	REQUIRE(fd >= 0);
	CHECK_EQ(timerfd_settime(fd, 0, &in50ms, NULL), 0);
	CHECK_EQ(roost_fd_wait(fd, POLLIN, soon()), POLLIN);
	end = roost_now();
	CHECK(end - start >= ROOST_MSEC(50));
	CHECK(end - start < PROMPTLY);
	close(fd);
}

/* Blocked before the run, so that every thread of it has it blocked. */
static void on_signalfd(void *arg)
{
	const sigset_t *set = arg;
	struct signalfd_siginfo info;
	struct waiter w;
	int fd = signalfd(-1, set, 0);

	REQUIRE(fd >= 0);
	waiter_start(&w, fd, POLLIN, soon());
	settle();
	CHECK(!atomic_load(&w.done));
	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	CHECK_EQ(waiter_join(&w), POLLIN);
	CHECK_EQ(roost_read(fd, &info, sizeof(info), soon()), sizeof(info));
	CHECK_EQ(info.ssi_signo, SIGUSR1);
	close(fd);
}

static void leave_while_waiting(void *arg)
{
	const sigset_t *set = arg;
	struct waiter w;
	int fd = signalfd(-1, set, 0);

	waiter_start(&w, fd, POLLIN, ROOST_FOREVER);
	settle();
	_exit(fd >= 0 && !atomic_load(&w.done) ? 42 : 1);
}

ROOST_TEST(signalfd_wakes)
{
	sigset_t set, old;
	int status = 0;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	run_actors(2, on_signalfd, &set);

	/* Its wait queue goes with the process, before the file does. */
	pid = fork();
	if (pid == 0) {
		run_actors(2, leave_while_waiting, &set);
		_exit(2);
	}
	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

ACTOR_TEST(terminal_wakes, usually(2))
{
	struct waiter w;
	int master, slave;
	char line[8];

	REQUIRE_EQ(openpty(&master, &slave, NULL, NULL, NULL), 0);
	waiter_start(&w, slave, POLLIN, soon());
	settle();
	CHECK(!atomic_load(&w.done));
	CHECK_EQ(write(master, "hi\n", 3), 3);
	CHECK_EQ(waiter_join(&w), POLLIN);
	CHECK_EQ(roost_read(slave, line, sizeof(line), soon()), 3);

	waiter_start(&w, slave, POLLIN, soon());
	settle();
	close(master);
	CHECK(waiter_join(&w) & POLLHUP);
	close(slave);
}

/* The module refuses to watch epoll files; the answer is the same each time. */
ACTOR_TEST(epoll_descriptor, usually(2))
{
	struct epoll_event ev = { .events = EPOLLIN };
	int set = epoll_create1(0), fd = eventfd(0, 0);
	struct waiter w;

	REQUIRE(set >= 0 && fd >= 0);
	CHECK_EQ(epoll_ctl(set, EPOLL_CTL_ADD, fd, &ev), 0);
	waiter_start(&w, set, POLLIN, soon());
	settle();
	if (on_kernel_backend()) {
		CHECK_EQ(waiter_join(&w), -ELOOP);
		CHECK_EQ(roost_fd_wait(set, POLLIN, soon()), -ELOOP);
		CHECK_EQ(eventfd_write(fd, 1), 0);
	} else {
		CHECK(!atomic_load(&w.done));
		CHECK_EQ(eventfd_write(fd, 1), 0);
		CHECK_EQ(waiter_join(&w), POLLIN);
	}
	/* What is ready needs no watch. */
	CHECK_EQ(roost_fd_wait(set, POLLIN, soon()), POLLIN);
	close(set);
	close(fd);
}

/* Time */

/* S3-76 */
ACTOR_TEST(timeouts_are_never_early, usually(2))
{
	uint64_t late_max = 0, deadline, now;
	unsigned int seed = 12345;
	int p[2], i, late = 0;

	REQUIRE_EQ(pipe(p), 0);
	for (i = 0; i < 200; i++) {
		deadline = roost_after((uint64_t)rand_r(&seed) % 5000000);
		CHECK_EQ(roost_fd_wait(p[0], POLLIN, deadline), 0);
		now = roost_now();
		CHECK(now >= deadline);
		late += now - deadline > ROOST_MSEC(50);
		if (now - deadline > late_max)
			late_max = now - deadline;
	}
	printf("# latest by %llu us\n", (unsigned long long)late_max / 1000);
	/* A busy machine may be late now and then, not as a rule. */
	CHECK(late < 20);
	close(p[0]);
	close(p[1]);
}

ACTOR_TEST(zero_timeout_never_registers, usually(2))	/* S3-31, S3-35 */
{
	struct roost_stats before, after;
	int p[2], i;

	REQUIRE_EQ(pipe(p), 0);
	CHECK_EQ(roost_stats(&before), 0);
	for (i = 0; i < 100; i++) {
		CHECK_EQ(roost_fd_wait(p[0], POLLIN, 0), 0);
		CHECK_EQ(roost_fd_wait(p[0], POLLIN, 1), 0);
		CHECK_EQ(roost_fd_wait(p[0], POLLIN, roost_now()), 0);
		CHECK_EQ(roost_fd_wait(p[1], POLLOUT, 0), POLLOUT);
		CHECK_EQ(roost_fd_wait(p[1], POLLOUT, soon()), POLLOUT);
	}
	CHECK_EQ(roost_stats(&after), 0);
	CHECK_EQ(after.fd_arms, before.fd_arms);
	close(p[0]);
	close(p[1]);
}

ACTOR_TEST(distant_deadlines_do_not_wrap, usually(2))	/* S3-77 */
{
	const uint64_t deadlines[] = {
		ROOST_FOREVER, ROOST_FOREVER - 1, 1ULL << 63, (1ULL << 63) - 1,
		roost_after(ROOST_FOREVER), roost_after(ROOST_FOREVER - 5),
	};
	struct waiter w;
	unsigned int i;
	int p[2];
	char c;

	REQUIRE_EQ(pipe(p), 0);
	for (i = 0; i < sizeof(deadlines) / sizeof(deadlines[0]); i++) {
		waiter_start(&w, p[0], POLLIN, deadlines[i]);
		settle();
		CHECK(!atomic_load(&w.done));
		CHECK_EQ(write(p[1], "x", 1), 1);
		CHECK_EQ(waiter_join(&w), POLLIN);
		CHECK_EQ(read(p[0], &c, 1), 1);
	}
	close(p[0]);
	close(p[1]);
}

/*
 * Event and deadline at the same instant: each round has one outcome, an event
 * that was not reported is still there, and none is reported twice (S3-24,
 * S3-25).
 */
#define RACE_ROUNDS	100000

struct race {
	int fd;
	_Atomic uint64_t at;		/* when to write, 0: not yet */
	_Atomic unsigned int round;
};

static void race_writer(void *arg)
{
	struct race *race = arg;
	unsigned int round;
	uint64_t at;

	for (round = 1; round <= RACE_ROUNDS; round++) {
		while (atomic_load(&race->round) != round)
			roost_yield();
		at = atomic_load(&race->at);
		while (roost_now() < at)
			;
		eventfd_write(race->fd, 1);
	}
}

/* S0-72, S3-24, S3-25 */
ACTOR_TEST(event_and_timeout_at_the_same_instant, usually(2))
{
	struct race race = { .fd = eventfd(0, EFD_NONBLOCK) };
	unsigned int round, timeouts = 0, seed = 1;
	eventfd_t value;
	roost_pid pid;
	uint64_t at;
	int got;

	REQUIRE(race.fd >= 0);
	REQUIRE_EQ(roost_spawn(race_writer, &race, &pid), 0);
	for (round = 1; round <= RACE_ROUNDS && !tap_failed(); round++) {
		at = roost_after(5000 + (uint64_t)rand_r(&seed) % 20000);
		atomic_store(&race.at, at);
		atomic_store(&race.round, round);
		got = roost_fd_wait(race.fd, POLLIN,
				    at + (uint64_t)rand_r(&seed) % 40000);
		if (got == 0) {
			timeouts++;
			got = roost_fd_wait(race.fd, POLLIN, soon());
		}
		CHECK_EQ(got, POLLIN);
		CHECK_EQ(eventfd_read(race.fd, &value), 0);
		CHECK_EQ(value, 1);
	}
	atomic_store(&race.round, round);
	printf("# %u of %u rounds timed out\n", timeouts, round - 1);
	CHECK(timeouts > 0 && timeouts < RACE_ROUNDS);
	CHECK_EQ(roost_join(pid, ROOST_FOREVER), 0);
	close(race.fd);
}

/* S3-24, S3-29: Event, close and stop against each other: whatever wins, it ends. */
ACTOR_TEST(event_close_and_stop_at_once, usually(4))
{
	struct waiter w[4];
	int p[2], i, j;

	for (i = 0; i < 2000 && !tap_failed(); i++) {
		REQUIRE_EQ(i & 1 ? pipe(p) : roost_pipe(p), 0);
		for (j = 0; j < 4; j++)
			waiter_start(&w[j], p[0], POLLIN, ROOST_FOREVER);
		if (i % 3)
			roost_yield();
		if (i % 5 == 0)
			CHECK_EQ(write(p[1], "x", 1), 1);
		/* Over already, or not: both are fine. */
		roost_stop(w[i & 3].pid);
		CHECK_EQ(roost_close(p[0]), 0);
		for (j = 0; j < 4; j++) {
			waiter_join(&w[j]);
			CHECK_MSG(w[j].result == -ECANCELED ||
				  w[j].result == -EBADF ||
				  w[j].result == NEVER_RAN ||
				  (i % 5 == 0 && w[j].result == POLLIN),
				  "round %d, waiter %d: %d", i, j, w[j].result);
		}
		roost_close(p[1]);
	}
}

ACTOR_TEST(stop_ends_a_wait, usually(2))
{
	struct waiter w;
	int p[2];

	REQUIRE_EQ(pipe(p), 0);
	waiter_start(&w, p[0], POLLIN, ROOST_FOREVER);
	settle();
	CHECK_EQ(roost_stop(w.pid), 0);
	CHECK_EQ(waiter_join(&w), -ECANCELED);
	/* Nothing of it is left: the next one works. */
	waiter_start(&w, p[0], POLLIN, soon());
	settle();
	CHECK_EQ(write(p[1], "x", 1), 1);
	CHECK_EQ(waiter_join(&w), POLLIN);
	close(p[0]);
	close(p[1]);
}

/* Once stopped, no call waits, not even for what is there; closing works. */
static void call_when_stopped(void *arg unused_arg)
{
	int p[2];
	char c;

	CHECK_EQ(roost_pipe(p), 0);
	CHECK_EQ(roost_write(p[1], "x", 1, ROOST_FOREVER), 1);
	CHECK_EQ(roost_stop(roost_self()), 0);
	CHECK_EQ(roost_fd_wait(p[0], POLLIN, ROOST_FOREVER), -ECANCELED);
	CHECK_EQ(roost_read(p[0], &c, 1, ROOST_FOREVER), -ECANCELED);
	CHECK_EQ(roost_close(p[0]), 0);
	CHECK_EQ(roost_close(p[1]), 0);
}

/* S3-28 */
ACTOR_TEST(stop_is_sticky, usually(2))
{
	roost_pid pid;

	REQUIRE_EQ(roost_spawn(call_when_stopped, NULL, &pid), 0);
	CHECK_EQ(roost_join(pid, ROOST_FOREVER), 0);
}

/* Events that no file gives on demand */

static struct fd *state_of(int number)
{
	return fd_find(runtime_self()->fds, (unsigned int)number);
}

ACTOR_TEST(stale_events_and_hints_make_nobody_ready, usually(2))	/* S3-39, S3-30 */
{
	struct runtime *rt = runtime_self();
	struct roost_stats before, after;
	struct waiter w;
	uint32_t sequence;
	int p[2];

	REQUIRE_EQ(pipe(p), 0);
	waiter_start(&w, p[0], POLLIN, soon());
	settle();
	REQUIRE(state_of(p[0]));
	sequence = state_of(p[0])->sequence;
	CHECK(!INSIDE(fd_event(rt, (unsigned int)p[0], sequence - 1, POLLIN)));
	CHECK(!INSIDE(fd_event(rt, (unsigned int)p[0], sequence + 1, POLLIN)));
	CHECK(!INSIDE(fd_event(rt, 100000000, sequence, POLLIN)));
	INSIDE(fd_error(rt, (unsigned int)p[0], sequence - 1, -EIO));
	settle();
	CHECK(!atomic_load(&w.done));

	/* A hint makes it look, arm anew, and sleep on; so does a false event. */
	CHECK_EQ(roost_stats(&before), 0);
	CHECK(INSIDE(fd_event(rt, (unsigned int)p[0], sequence, 0)));
	settle();
	CHECK(!atomic_load(&w.done));
	sequence = state_of(p[0])->sequence;
	CHECK(INSIDE(fd_event(rt, (unsigned int)p[0], sequence, POLLIN)));
	settle();
	CHECK(!atomic_load(&w.done));
	CHECK_EQ(roost_stats(&after), 0);
	CHECK_EQ(after.fd_arms, before.fd_arms + 2);
	CHECK_EQ(write(p[1], "x", 1), 1);
	CHECK_EQ(waiter_join(&w), POLLIN);
	close(p[0]);
	close(p[1]);
}

ACTOR_TEST(error_of_the_backend_reaches_the_waiters, usually(2))
{
	struct waiter w[20];
	int p[2], i;

	REQUIRE_EQ(pipe(p), 0);
	for (i = 0; i < 20; i++)
		waiter_start(&w[i], p[0], POLLIN, soon());
	settle();
	REQUIRE(state_of(p[0]));
	INSIDE(fd_error(runtime_self(), (unsigned int)p[0], state_of(p[0])->sequence,
		 -ENOSPC));
	for (i = 0; i < 20; i++)
		CHECK_EQ(waiter_join(&w[i]), -ENOSPC);
	CHECK(!state_of(p[0])->armed);
	close(p[0]);
	close(p[1]);
}

/* S3-37: nobody waits, nothing is watched. */
ACTOR_TEST(unmanaged_files_are_let_go, usually(2))
{
	struct waiter w[2];
	int p[2];

	REQUIRE_EQ(pipe(p), 0);
	waiter_start(&w[0], p[0], POLLIN, roost_after(SETTLE_NS));
	waiter_start(&w[1], p[0], POLLIN, ROOST_FOREVER);
	CHECK_EQ(waiter_join(&w[0]), 0);
	CHECK(state_of(p[0])->armed);
	CHECK_EQ(roost_stop(w[1].pid), 0);
	CHECK_EQ(waiter_join(&w[1]), -ECANCELED);
	CHECK(!state_of(p[0])->armed);
	CHECK_EQ(write(p[1], "x", 1), 1);
	close(p[0]);
	close(p[1]);
}

/* S3-44: a chunk that all touch at once is made once. */
#define TOUCHERS	2

struct toucher {
	_Atomic unsigned int *waiting;
	unsigned int number;
	struct fd *found;
	roost_pid pid;
};

static void touch(void *arg)
{
	struct toucher *t = arg;

	/* One a worker, all of them together. */
	atomic_fetch_add(t->waiting, 1);
	while (atomic_load(t->waiting) < TOUCHERS)
		;
	CHECK_EQ(fd_get(runtime_self()->fds, (int)t->number, &t->found), 0);
}

static void touch_all_at_once(unsigned int number)
{
	_Atomic unsigned int waiting = 0;
	struct toucher t[TOUCHERS];
	int i;

	for (i = 0; i < TOUCHERS; i++) {
		t[i] = (struct toucher){ &waiting, number, NULL, 0 };
		CHECK_EQ(roost_spawn(touch, &t[i], &t[i].pid), 0);
	}
	for (i = 0; i < TOUCHERS; i++) {
		CHECK_EQ(roost_join(t[i].pid, ROOST_FOREVER), 0);
		CHECK(t[i].found && t[i].found == t[0].found);
		CHECK_EQ(t[i].found->number, number);
	}
}

static void touch_chunks(void *arg unused_arg)
{
	unsigned int number;

	for (number = 5000; number < 1000000; number += 1024)
		touch_all_at_once(number);
}

/* S3-44 */
ROOST_TEST(chunks_touched_by_all_at_once)
{
	struct roost_config config = {
		.workers = TOUCHERS + 1, .max_fds = 1 << 20,
	};

	run_with(&config, touch_chunks, NULL);
}

/* Beginnings and ends of runs */

static bool closes_at_exec(int fd)
{
	return fcntl(fd, F_GETFD) & FD_CLOEXEC;
}

/* What is open now and was not before the run. */
static void opened_by_the_run(void *arg)
{
	const bool *before = arg;
	int p[2], s, fd, n = 0;

	for (fd = 0; fd < 1024; fd++) {
		if (before[fd] || fcntl(fd, F_GETFD) < 0)
			continue;
		n++;
		CHECK_MSG(closes_at_exec(fd), "descriptor %d stays open", fd);
	}
	CHECK(n > 0);

	CHECK_EQ(roost_pipe(p), 0);
	s = roost_socket(AF_INET, SOCK_STREAM, 0);
	CHECK(s >= 0 && closes_at_exec(s));
	CHECK(closes_at_exec(p[0]) && closes_at_exec(p[1]));
	roost_close(p[0]);
	roost_close(p[1]);
	roost_close(s);
}

/* S3-48: of what the library opens, nothing is passed on by exec. */
ROOST_TEST(descriptors_are_closed_by_exec)
{
	static bool before[1024];
	int fd;

	for (fd = 0; fd < 1024; fd++)
		before[fd] = fcntl(fd, F_GETFD) >= 0;
	run_actors(3, opened_by_the_run, before);
}

#define SPEAKERS	8

struct speakers {
	int fd[SPEAKERS][2];
	_Atomic unsigned long said;
	_Atomic bool quit;
};

static void *speaks_on(void *arg)
{
	struct speakers *s = arg;
	char c = 0;
	int i;

	while (!atomic_load(&s->quit)) {
		for (i = 0; i < SPEAKERS; i++) {
			if (write(s->fd[i][1], &c, 1) == 1 &&
			    read(s->fd[i][0], &c, 1) == 1)
				continue;
			CHECK_EQ(errno, EAGAIN);
		}
		atomic_fetch_add(&s->said, SPEAKERS);
	}
	return NULL;
}

static void listens_until_stopped(void *arg)
{
	int fd = *(int *)arg;

	while (roost_fd_wait(fd, POLLIN, ROOST_FOREVER) != -ECANCELED)
		roost_yield();
}

static void ends_in_the_middle(void *arg)
{
	struct speakers *s = arg;
	roost_pid pid[SPEAKERS];
	int i;

	for (i = 0; i < SPEAKERS; i++) {
		CHECK_EQ(roost_fd_adopt(s->fd[i][0]), 0);
		pid[i] = spawn(listens_until_stopped, &s->fd[i][0]);
	}
	CHECK_EQ(roost_sleep(ROOST_USEC(500)), 0);
	for (i = 0; i < SPEAKERS; i++) {
		CHECK_EQ(roost_stop(pid[i]), 0);
		join(pid[i]);
	}
}

/*
 * S1-09, S1-10: files go on saying something, and stay watched, while the runs
 * that watched them come to their ends.
 */
ROOST_TEST(runs_end_while_files_speak)
{
	struct speakers s = { .said = 0 };
	unsigned long i, n = rounds(300);
	pthread_t t;

	for (i = 0; i < SPEAKERS; i++)
		CHECK_EQ(pipe2(s.fd[i], O_NONBLOCK), 0);
	CHECK_EQ(pthread_create(&t, NULL, speaks_on, &s), 0);
	for (i = 0; i < n; i++)
		run_actors(1 + (unsigned int)i % 3, ends_in_the_middle, &s);
	atomic_store(&s.quit, true);
	pthread_join(t, NULL);
	CHECK(atomic_load(&s.said) > n);
	for (i = 0; i < SPEAKERS; i++) {
		close(s.fd[i][0]);
		close(s.fd[i][1]);
	}
}
