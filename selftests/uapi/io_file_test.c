// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * io_file_test.c - READ and WRITE on what is no socket, which files take no I/O
 * in the ring, and registered files: numbers, sequences, removal.
 */
#include "kselftest_harness.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

#include "io_help.h"

#define FILES	1024

FIXTURE(file) {
	struct dom d;
	struct wrk w, y;
	uint64_t limit;
	uint32_t sequence;
	char in[4096], out[4096];
};

FIXTURE_SETUP(file)
{
	unsigned int i;

	self->limit = now_ns() + wide(20 * SEC);
	self->sequence = 0;
	for (i = 0; i < sizeof(self->out); i++)
		self->out[i] = (char)(i * 7 + i / 256);
	memset(self->in, 0x5a, sizeof(self->in));
	ASSERT_EQ(dom_make_io(&self->d, 64, FILES), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 64, 128), 0);
	ASSERT_EQ(wrk_make(&self->y, &self->d, 64, 128), 0);
	ASSERT_EQ(attach(&self->w), 0);
}

FIXTURE_TEARDOWN(file)
{
	close(self->w.fd);
	close(self->y.fd);
	close(self->d.fd);
}

static uint64_t next_id(FIXTURE_DATA(file) *self)
{
	return roost_op_id(0, ++self->sequence);
}

static struct roost_sqe sqe_read(FIXTURE_DATA(file) *self, int fd, uint32_t len,
				 uint64_t offset)
{
	struct roost_sqe sqe = sqe_io(ROOST_OP_READ, next_id(self), fd,
				      self->in, len);

	sqe.offset = offset;
	return sqe;
}

static struct roost_sqe sqe_write(FIXTURE_DATA(file) *self, int fd,
				  uint32_t len, uint64_t offset)
{
	struct roost_sqe sqe = sqe_io(ROOST_OP_WRITE, next_id(self), fd,
				      self->out, len);

	sqe.offset = offset;
	return sqe;
}

static int do_read(FIXTURE_DATA(file) *self, int fd, uint32_t len,
		   uint64_t offset)
{
	return io_now(&self->w, sqe_read(self, fd, len, offset));
}

static int do_write(FIXTURE_DATA(file) *self, int fd, uint32_t len,
		    uint64_t offset)
{
	return io_now(&self->w, sqe_write(self, fd, len, offset));
}

TEST_F(file, pipe)
{
	struct roost_cqe cqe;
	int p[2], i;

	ASSERT_EQ(pipe2(p, O_NONBLOCK), 0);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(submit_one(&self->w,
				     on_file(sqe_read(self, p[0], 64,
						      ROOST_OFFSET_NONE), 1)),
			  1);
		EXPECT_FALSE(pop(&self->w, &cqe));
		ASSERT_EQ(write(p[1], self->out, 10), 10);
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		EXPECT_EQ(cqe.res, 10);
		EXPECT_EQ(memcmp(self->in, self->out, 10), 0);
	}
	/* more than a read takes */
	ASSERT_EQ(write(p[1], self->out, 4096), 4096);
	EXPECT_EQ(do_read(self, p[0], 4000, ROOST_OFFSET_NONE), 4000);
	EXPECT_EQ(do_read(self, p[0], 4000, ROOST_OFFSET_NONE), 96);
	EXPECT_EQ(memcmp(self->in, self->out + 4000, 96), 0);
	/* a pipe has no positions */
	EXPECT_EQ(do_read(self, p[0], 64, 0), -ESPIPE);
	close(p[1]);
	EXPECT_EQ(do_read(self, p[0], 64, ROOST_OFFSET_NONE), 0);
}

/*
 * One that may block: kernels since 6.4 can read it without; on others it is
 * refused, also when O_NONBLOCK is taken away later.
 */
TEST_F(file, blocking_pipe)
{
	struct iovec v = { self->in, 8 };
	struct roost_cqe cqe;
	int p[2];
	bool can;

	ASSERT_EQ(pipe(p), 0);
	can = preadv2(p[0], &v, 1, -1, RWF_NOWAIT) < 0 && errno == EAGAIN;
	ASSERT_EQ(submit_one(&self->w, sqe_read(self, p[0], 8,
						ROOST_OFFSET_NONE)), 1);
	EXPECT_EQ(pop(&self->w, &cqe), !can);
	EXPECT_TRUE(can || cqe.res == -EOPNOTSUPP);
	EXPECT_EQ(stat_of(&self->d).ios_pending, can);
	EXPECT_EQ(fcntl(p[0], F_GETFL) & O_NONBLOCK, 0);
	/* and it changes its mind while an op waits */
	ASSERT_EQ(pipe2(p, O_NONBLOCK), 0);
	ASSERT_EQ(submit_one(&self->w, sqe_io(ROOST_OP_READ, roost_op_id(5, 1),
					      p[0], self->in, 8)), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	ASSERT_EQ(fcntl(p[0], F_SETFL, 0), 0);
	ASSERT_EQ(write(p[1], "xyz", 3), 3);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.res, can ? 3 : -EOPNOTSUPP);
}

TEST_F(file, eventfd)
{
	int fd = eventfd(0, 0), semaphore = eventfd(3, EFD_SEMAPHORE);
	uint64_t n = 5;
	struct roost_cqe cqe;

	ASSERT_EQ(submit_one(&self->w, sqe_read(self, fd, 8,
						ROOST_OFFSET_NONE)), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	ASSERT_EQ(write(fd, &n, sizeof(n)), sizeof(n));
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.res, 8);
	memcpy(&n, self->in, 8);
	EXPECT_EQ(n, 5);
	EXPECT_EQ(do_read(self, semaphore, 8, ROOST_OFFSET_NONE), 8);
	memcpy(&n, self->in, 8);
	EXPECT_EQ(n, 1);
	EXPECT_EQ(do_read(self, semaphore, 8, ROOST_OFFSET_NONE), 8);
	EXPECT_EQ(do_read(self, semaphore, 8, ROOST_OFFSET_NONE), 8);
	ASSERT_EQ(submit_one(&self->w, sqe_read(self, semaphore, 8,
						ROOST_OFFSET_NONE)), 1);
	EXPECT_TRUE(nothing_comes(&self->d, &self->w));
	/* too short is an error of the call */
	EXPECT_EQ(io_now(&self->w, sqe_io(ROOST_OP_READ, roost_op_id(2, 1), fd,
					  self->in, 4)), -EINVAL);
}

/* What preadv2(2) and pwritev2(2) with RWF_NOWAIT say, the ops say. */
static void compare_file(struct __test_metadata *_metadata,
			 FIXTURE_DATA(file) *self, const char *path, int flags)
{
	bool device = !strcmp(path, "/dev/zero") || !strcmp(path, "/dev/null");
	int fd = open(path, flags | O_CLOEXEC, 0600);
	struct iovec in = { self->in, 100 }, out = { self->out, 100 };
	ssize_t n, m;

	ASSERT_GE(fd, 0)
		TH_LOG("%s", path);
	n = pwritev2(fd, &out, 1, 50, RWF_NOWAIT);
	n = n < 0 ? -errno : n;
	m = do_write(self, fd, 100, 50);
	/* no character devices: a terminal sends signals to who writes */
	EXPECT_EQ(m, device ? -EOPNOTSUPP : n)
		TH_LOG("%s: write: %zd", path, n);
	if (n == -EOPNOTSUPP) {
		ASSERT_EQ(pwrite(fd, self->out, 100, 50), 100);
	}
	n = preadv2(fd, &in, 1, 70, RWF_NOWAIT);
	n = n < 0 ? -errno : n;
	memset(self->in, 0x5a, sizeof(self->in));
	m = do_read(self, fd, 100, 70);
	EXPECT_EQ(m, n)
		TH_LOG("%s: read", path);
	EXPECT_TRUE(m != 80 || !memcmp(self->in, self->out + 20, 80));
	EXPECT_TRUE(m >= 0 || self->in[0] == 0x5a);
	/* its own position is not to be had */
	if (!device) {
		EXPECT_EQ(do_read(self, fd, 100, ROOST_OFFSET_NONE),
			  -EOPNOTSUPP);
	}
	/* nor is a negative one, but NONE */
	m = do_read(self, fd, 100, 1ULL << 63);
	EXPECT_TRUE(m == -EINVAL || (n == -EOPNOTSUPP && m == n));
	close(fd);
}

TEST_F(file, positions)
{
	compare_file(_metadata, self, "/dev/shm/io_file_test",
		     O_RDWR | O_CREAT | O_TRUNC);
	unlink("/dev/shm/io_file_test");
	compare_file(_metadata, self, "/dev/zero", O_RDWR);
	compare_file(_metadata, self, "/dev/null", O_RDWR);
	/* on a disk, where there is one (ROOST_DISK_FILE) */
	if (getenv("ROOST_DISK_FILE"))
		compare_file(_metadata, self, getenv("ROOST_DISK_FILE"),
			     O_RDWR | O_CREAT | O_TRUNC);
}

TEST_F(file, zeros)
{
	int fd = open("/dev/zero", O_RDONLY);
	unsigned int i;

	EXPECT_EQ(do_read(self, fd, 100, 0), 100);
	for (i = 0; i < 100; i++)
		EXPECT_EQ(self->in[i], 0);
	EXPECT_EQ(self->in[100], 0x5a);
}

/* Files that take none. */
TEST_F(file, refused)
{
	struct epoll_event e = { .events = EPOLLIN };
	int p[2], s[2], ep = epoll_create1(0), pty, ring, k;
	struct {
		const char *what;
		int fd;
		uint8_t opcode;
		int expected;
	} rows[32];
	unsigned int i = 0, n = 0;
	char params[256] = { 0 };
	struct roost_sqe sqe;

#define ROW(w, f, o, e) \
	rows[n++] = (typeof(rows[0])){ .what = w, .fd = f, .opcode = o, \
				       .expected = e }

	ASSERT_EQ(pipe(p), 0);
	unix_pair(s, SOCK_STREAM);
	ASSERT_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, s[0], &e), 0);
	ROW("no file", 999, ROOST_OP_RECV, -EBADF);
	ROW("fd -1", -1, ROOST_OP_RECV, -EBADF);
	ROW("fd of another sign", -100, ROOST_OP_READ, -EBADF);
	ROW("domain", self->d.fd, ROOST_OP_READ, -ELOOP);
	ROW("domain, receive", self->d.fd, ROOST_OP_RECV, -ELOOP);
	ROW("worker", self->w.fd, ROOST_OP_READ, -ELOOP);
	ROW("other worker", self->y.fd, ROOST_OP_WRITE, -ELOOP);
	ROW("device", dev_open(), ROOST_OP_READ, -ELOOP);
	ROW("epoll", ep, ROOST_OP_READ, -ELOOP);
	ring = (int)syscall(SYS_io_uring_setup, 4, params);
	if (ring >= 0) {
		ROW("io_uring", ring, ROOST_OP_READ, -ELOOP);
	}
	ROW("pipe, receive", p[0], ROOST_OP_RECV, -ENOTSOCK);
	ROW("pipe, send", p[1], ROOST_OP_SEND, -ENOTSOCK);
	ROW("pipe, receive a message", p[0], ROOST_OP_RECVMSG, -ENOTSOCK);
	ROW("pipe, send a message", p[1], ROOST_OP_SENDMSG, -ENOTSOCK);
	ROW("pipe, send and receive", p[0], ROOST_OP_SEND_RECV, -ENOTSOCK);
	ROW("write to a pipe", p[1], ROOST_OP_WRITE, -EOPNOTSUPP);
	ROW("read from the writing end", p[1], ROOST_OP_READ, -EBADF);
	ROW("write to the reading end", p[0], ROOST_OP_WRITE, -EBADF);
	pty = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	if (pty >= 0) {
		ROW("write to a terminal", pty, ROOST_OP_WRITE, -EOPNOTSUPP);
	}
	ROW("write to a device", open("/dev/null", O_WRONLY), ROOST_OP_WRITE,
	    -EOPNOTSUPP);
	/* it has no way of writing without blocking */
	ROW("write to an eventfd", eventfd(0, EFD_NONBLOCK), ROOST_OP_WRITE,
	    -EOPNOTSUPP);
	ROW("read from proc", open("/proc/self/stat", O_RDONLY), ROOST_OP_READ,
	    -EOPNOTSUPP);
	ROW("read from a directory", open("/", O_RDONLY), ROOST_OP_READ,
	    -EOPNOTSUPP);
	/* opened for nothing is not open */
	ROW("a path", open("/", O_PATH), ROOST_OP_READ, -EBADF);
	for (i = 0; i < n; i++)
		for (k = 0; k < 2; k++) {
			sqe = sqe_io(rows[i].opcode, next_id(self), rows[i].fd,
				     self->in, 0);
			if (rows[i].opcode != ROOST_OP_RECVMSG &&
			    rows[i].opcode != ROOST_OP_SENDMSG)
				sqe.len = 8;
			/* a number that cannot be is out of range there */
			if (k && rows[i].fd < 0)
				continue;
			EXPECT_EQ(io_now(&self->w, k ? on_file(sqe, 1) : sqe),
				  rows[i].expected)
				TH_LOG("row: %s%s", rows[i].what,
				       k ? ", registered" : "");
		}
	EXPECT_EQ(stat_of(&self->d).ios_pending, 0);
}

/* A socket that does not speak of its state, but can be read all the same. */
TEST_F(file, read_and_write_on_sockets)
{
	int s[2];

	unix_pair(s, SOCK_STREAM);
	EXPECT_EQ(do_write(self, s[0], 10, ROOST_OFFSET_NONE), 10);
	ASSERT_EQ(read(s[1], self->in, 64), 10);
	EXPECT_EQ(memcmp(self->in, self->out, 10), 0);
	ASSERT_EQ(write(s[1], self->out, 20), 20);
	EXPECT_EQ(do_read(self, s[0], 64, ROOST_OFFSET_NONE), 20);
	EXPECT_EQ(do_read(self, s[0], 64, 0), -ESPIPE);
	EXPECT_EQ(do_write(self, s[0], 10, 7), -ESPIPE);
}

/* Registered files */

static struct roost_sqe receive(FIXTURE_DATA(file) *self, int fd, uint32_t seq)
{
	return on_file(sqe_recv(next_id(self), fd, self->in, 64), seq);
}

static int removed(FIXTURE_DATA(file) *self, int fd, uint32_t sequence)
{
	struct roost_cqe cqe = do_now(&self->w, sqe_file_remove(fd, sequence,
								0));

	check(cqe.flags == ROOST_CQE_FILE);
	return cqe.res;
}

/* The file of a number is the one that had the descriptor then. */
TEST_F(file, number_outlives_the_descriptor)
{
	int a[2], b[2];

	unix_pair(a, SOCK_STREAM);
	unix_pair(b, SOCK_STREAM);
	ASSERT_EQ(write(a[1], "a", 1), 1);
	EXPECT_EQ(io_now(&self->w, receive(self, a[0], 1)), 1);
	EXPECT_EQ(stat_of(&self->d).files, 1);
	/* the descriptor becomes another file, the number does not */
	ASSERT_EQ(dup2(b[0], a[0]), a[0]);
	ASSERT_EQ(write(a[1], "A", 1), 1);
	ASSERT_EQ(write(b[1], "B", 1), 1);
	EXPECT_EQ(io_now(&self->w, receive(self, a[0], 1)), 1);
	EXPECT_EQ(self->in[0], 'A');
	/* a higher sequence looks it up anew, and lets the old one go */
	EXPECT_EQ(io_now(&self->w, receive(self, a[0], 2)), 1);
	EXPECT_EQ(self->in[0], 'B');
	EXPECT_EQ(stat_of(&self->d).files, 1);
	EXPECT_TRUE(sees_end(a[1], wide(SEC)));
	EXPECT_EQ(io_now(&self->w, receive(self, a[0], 1)), -ESTALE);
	EXPECT_EQ(removed(self, a[0], 2), 0);
	EXPECT_EQ(stat_of(&self->d).files, 0);
}

/* Under its number there is what one op wanted, and not what the next one wants. */
TEST_F(file, registered_for_another_use)
{
	struct roost_sqe sqe;
	int p[2];

	ASSERT_EQ(pipe2(p, O_NONBLOCK), 0);
	ASSERT_EQ(write(p[1], self->out, 10), 10);
	sqe = sqe_read(self, p[0], 64, ROOST_OFFSET_NONE);
	EXPECT_EQ(io_now(&self->w, on_file(sqe, 1)), 10);
	sqe = sqe_write(self, p[0], 10, ROOST_OFFSET_NONE);
	EXPECT_EQ(io_now(&self->w, on_file(sqe, 1)), -EBADF);
	sqe = sqe_recv(next_id(self), p[0], self->in, 10);
	EXPECT_EQ(io_now(&self->w, on_file(sqe, 1)), -ENOTSOCK);
	/* it is there as before */
	EXPECT_EQ(stat_of(&self->d).files, 1);
	ASSERT_EQ(write(p[1], self->out, 10), 10);
	sqe = sqe_read(self, p[0], 64, ROOST_OFFSET_NONE);
	EXPECT_EQ(io_now(&self->w, on_file(sqe, 1)), 10);
	EXPECT_EQ(removed(self, p[0], 1), 0);
}

TEST_F(file, sequences)
{
	int s[2];

	unix_pair(s, SOCK_STREAM);
	ASSERT_EQ(write(s[1], self->out, 100), 100);
	/* a new number begins below sequence 1 */
	EXPECT_EQ(io_now(&self->w, receive(self, s[0], 0)), -ESTALE);
	EXPECT_EQ(io_now(&self->w, receive(self, s[0], ~0U)), -ESTALE);
	EXPECT_EQ(io_now(&self->w, receive(self, s[0], 5)), 64);
	EXPECT_EQ(io_now(&self->w, receive(self, s[0], 4)), -ESTALE);
	EXPECT_EQ(removed(self, s[0], 4), -ESTALE);
	EXPECT_EQ(stat_of(&self->d).files, 1);
	EXPECT_EQ(removed(self, s[0], 5), 0);
	EXPECT_EQ(removed(self, s[0], 5), -ENOENT);
	EXPECT_EQ(io_now(&self->w, receive(self, s[0], 5)), -ESTALE);
	/* a removal that overtakes: what it was for is stale when it comes */
	EXPECT_EQ(removed(self, s[0], 9), -ENOENT);
	EXPECT_EQ(io_now(&self->w, receive(self, s[0], 9)), -ESTALE);
	EXPECT_EQ(io_now(&self->w, receive(self, s[0], 10)), 36);
	/* round the corner, by difference */
	EXPECT_EQ(removed(self, s[0], 0x7fffffffU), 0);
	EXPECT_EQ(removed(self, s[0], 0xfffffffeU), -ENOENT);
	EXPECT_EQ(io_now(&self->w, receive(self, s[0], 0xfffffff0U)), -ESTALE);
	ASSERT_EQ(write(s[1], self->out, 64), 64);
	EXPECT_EQ(io_now(&self->w, receive(self, s[0], 3)), 64);
	EXPECT_EQ(stat_of(&self->d).files, 1);
}

TEST_F(file, numbers_out_of_range)
{
	static const struct {
		uint32_t number;
		int expected;
	} rows[] = {
		{ FILES, -EINVAL }, { FILES + 1, -EINVAL }, { ~0U, -EINVAL },
		{ 1U << 31, -EINVAL }, { 0x7fffffff, -EINVAL },
		{ FILES - 1, -EBADF },
	};
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		EXPECT_EQ(io_now(&self->w, receive(self, (int)rows[i].number,
						   1)), rows[i].expected)
			TH_LOG("row: %x", rows[i].number);
		if (rows[i].expected == -EINVAL) {
			EXPECT_EQ(removed(self, (int)rows[i].number, 1),
				  -EINVAL);
		}
	}
	EXPECT_EQ(stat_of(&self->d).files, 0);
}

/* Quiet: nothing is said but errors of the call. */
TEST_F(file, quiet_removal)
{
	struct roost_cqe cqe;
	int s[2];

	unix_pair(s, SOCK_STREAM);
	ASSERT_EQ(write(s[1], "a", 1), 1);
	EXPECT_EQ(io_now(&self->w, receive(self, s[0], 1)), 1);
	ASSERT_EQ(submit_one(&self->w, sqe_file_remove(s[0], 1,
						       ROOST_SQE_QUIET)), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	EXPECT_EQ(stat_of(&self->d).files, 0);
	cqe = do_now(&self->w, sqe_file_remove(FILES, 1, ROOST_SQE_QUIET));
	EXPECT_EQ(cqe.res, -EINVAL);
}

/* All that wait for a file end with it; those of other files do not. */
TEST_F(file, removal_ends_all_that_wait)
{
	unsigned int i, ended = 0;
	struct roost_sqe sqe;
	struct roost_cqe cqe;
	int s[2], t[2];

	unix_pair(s, SOCK_STREAM);
	unix_pair(t, SOCK_STREAM);
	fill_socket(s[0]);
	for (i = 0; i < 32; i++) {
		sqe = i & 1 ? sqe_recv(roost_op_id(i, 1), s[0], self->in, 8) :
			      sqe_send(roost_op_id(i, 1), s[0], self->out, 8);
		ASSERT_EQ(submit_one(&self->w, on_file(sqe, 1)), 1);
	}
	sqe = on_file(sqe_recv(roost_op_id(40, 1), t[0], self->in, 8), 1);
	ASSERT_EQ(submit_one(&self->w, sqe), 1);
	EXPECT_FALSE(pop(&self->w, &cqe));
	close(s[0]);
	ASSERT_EQ(submit_one(&self->w, sqe_file_remove(s[0], 1,
						       ROOST_SQE_QUIET)), 1);
	while (ended < 32) {
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		EXPECT_LT(roost_op_index(cqe.user_data), 32);
		EXPECT_EQ(cqe.res, -ECANCELED);
		ended++;
	}
	EXPECT_TRUE(nothing_comes(&self->d, &self->w));
	EXPECT_TRUE(sees_end(s[1], wide(SEC)));
	ASSERT_EQ(write(t[1], "a", 1), 1);
	ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	EXPECT_EQ(cqe.user_data, roost_op_id(40, 1));
	EXPECT_EQ(cqe.res, 1);
}

/* As many as were asked for, and each with its own file. */
TEST_F(file, many_files)
{
	struct roost_sqe sqe;
	struct roost_cqe cqe;
	int s[200][2];
	unsigned int i;

	for (i = 0; i < 200; i++)
		unix_pair(s[i], SOCK_STREAM);
	for (i = 0; i < 200; i++) {
		char byte = (char)i;

		ASSERT_EQ(write(s[i][1], &byte, 1), 1);
		EXPECT_EQ(io_now(&self->w, receive(self, s[i][0], 1)), 1);
		EXPECT_EQ(self->in[0], byte);
	}
	EXPECT_EQ(stat_of(&self->d).files, 200);
	for (i = 0; i < 64; i++) {
		sqe = on_file(sqe_recv(roost_op_id(i, 100000), s[i][0],
				       self->in + i, 1), 1);
		ASSERT_EQ(submit_one(&self->w, sqe), 1);
	}
	for (i = 0; i < 64; i++)
		ASSERT_EQ(write(s[i][1], &(char){ (char)(i + 1) }, 1), 1);
	for (i = 0; i < 64; i++)
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
	for (i = 0; i < 64; i++)
		EXPECT_EQ(self->in[i], (char)(i + 1));
	/* after the last descriptor they all go */
	close(self->w.fd);
	close(self->y.fd);
	munmap(self->w.page, self->w.params.map_size);
	munmap(self->y.page, self->y.params.map_size);
	dom_unmap(&self->d);
	close(self->d.fd);
	for (i = 0; i < 200; i++)
		close(s[i][0]);
	for (i = 0; i < 200; i++)
		EXPECT_TRUE(sees_end(s[i][1], wide(SEC)));
}

TEST_HARNESS_MAIN
