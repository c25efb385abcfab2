// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * io_regress_test.c - faults that I/O in the ring has had, a test for each kind.
 */
#include "kselftest_harness.h"

#include <sys/uio.h>

#include "io_help.h"

#define IOS	256

FIXTURE(io) {
	struct dom d;
	struct wrk w, y;
	uint64_t limit;
	uint32_t sequence;
	int s[2];
	char in[256];
};

FIXTURE_SETUP(io)
{
	self->limit = now_ns() + wide(20 * SEC);
	ASSERT_EQ(dom_make_io(&self->d, IOS, 64), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 128, 128), 0);
	ASSERT_EQ(wrk_make(&self->y, &self->d, 128, 2), 0);
	ASSERT_EQ(attach(&self->w), 0);
	unix_pair(self->s, SOCK_STREAM);
}

FIXTURE_TEARDOWN(io)
{
	close(self->w.fd);
	close(self->y.fd);
	close(self->d.fd);
}

static uint64_t next_id(FIXTURE_DATA(io) *self)
{
	return roost_op_id(7, ++self->sequence);
}

/* A completion that nobody can take any more keeps nobody from the index. */
TEST_F(io, closed_worker_lets_go_of_its_indices)
{
	unsigned int i;

	for (i = 0; i < 6; i++)
		ASSERT_EQ(submit_one(&self->y,
				     on_file(sqe_recv(roost_op_id(i, 1),
						      self->s[0], self->in, 1),
					     1)), 1);
	ASSERT_EQ(send(self->s[1], "abcdef", 6, 0), 6);
	/* two places, six completions: four wait */
	submit(&self->y);
	ASSERT_EQ(stat_of(&self->d).ios_done, 6);
	ASSERT_EQ(self->y.page->cq_overflow, 4);
	EXPECT_EQ(io_now(&self->w, sqe_recv(roost_op_id(5, 2), self->s[0],
					    self->in, 1)), -EBUSY);
	munmap(self->y.page, self->y.params.map_size);
	close(self->y.fd);
	ASSERT_EQ(send(self->s[1], "ghijkl", 6, 0), 6);
	for (i = 0; i < 6; i++)
		EXPECT_EQ(io_now(&self->w, sqe_recv(roost_op_id(i, 3),
						    self->s[0], self->in, 1)),
			  1)
			TH_LOG("index %u", i);
	self->y.fd = -1;
}

/* O_NONBLOCK is nothing to a regular file: reading it may block as ever. */
TEST_F(io, nonblock_does_not_make_a_file_nonblocking)
{
	static const char * const paths[] = {
		"/dev/shm/io_regress_test", "/proc/self/stat",
		"/sys/kernel/notes",
	};
	struct roost_sqe sqe;
	struct iovec v = { self->in, 8 };
	unsigned int i, k;
	int fd, expected;

	fd = open(paths[0], O_RDWR | O_CREAT | O_TRUNC, 0600);
	ASSERT_EQ(pwrite(fd, "12345678", 8, 0), 8);
	close(fd);
	for (i = 0; i < 3; i++) {
		fd = open(paths[i], (i ? O_RDONLY : O_RDWR) | O_NONBLOCK);
		if (fd < 0)
			continue;
		expected = preadv2(fd, &v, 1, 0, RWF_NOWAIT) < 0 ? -EOPNOTSUPP :
			   8;
		for (k = 0; k < 2; k++) {
			sqe = sqe_io(ROOST_OP_READ, next_id(self), fd, self->in,
				     8);
			sqe.offset = 0;
			EXPECT_EQ(io_now(&self->w, k ? on_file(sqe, 1) : sqe),
				  expected)
				TH_LOG("%s", paths[i]);
		}
		if (i)
			continue;
		sqe.opcode = ROOST_OP_WRITE;
		sqe.flags = 0;
		sqe.file_seq = 0;
		sqe.op_id = next_id(self);
		EXPECT_EQ(io_now(&self->w, sqe), expected);
		close(fd);
	}
	unlink(paths[0]);
}

/*
 * A datagram socket says when the peer that it is connected to has room, and
 * nothing of one that a message names: waiting would be for ever.
 */
TEST_F(io, named_datagram_does_not_wait)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(to.sun_family);
	struct iovec v = { self->in, 16 };
	struct msghdr msg = { .msg_iov = &v, .msg_iovlen = 1 };
	int from, peer, n, res;

	peer = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	from = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	/* a name of the kernel's choice */
	ASSERT_EQ(bind(peer, (struct sockaddr *)&to, size), 0);
	size = sizeof(to);
	ASSERT_EQ(getsockname(peer, (struct sockaddr *)&to, &size), 0);
	msg.msg_name = &to;
	msg.msg_namelen = size;
	for (n = 0; n < 100000; n++)
		if (sendmsg(from, &msg, MSG_DONTWAIT) < 0)
			break;
	ASSERT_EQ(errno, EAGAIN);
	EXPECT_EQ(io_now(&self->w, sqe_msg(ROOST_OP_SENDMSG, next_id(self), from,
					   &msg)), -EAGAIN);
	ASSERT_EQ(recv(peer, self->in, 16, 0), 16);
	res = io_now(&self->w, sqe_msg(ROOST_OP_SENDMSG, next_id(self), from,
				       &msg));
	EXPECT_EQ(res, 16);
	close(from);
	close(peer);
}

/* A name that is longer than any is cut, as sendmsg(2) does. */
TEST_F(io, long_name)
{
	union {
		struct sockaddr_in in;
		char room[256];
	} to = { .room = { 0 } };
	struct iovec v = { self->in, 16 };
	struct msghdr msg = {
		.msg_name = &to, .msg_namelen = sizeof(to),
		.msg_iov = &v, .msg_iovlen = 1,
	};
	struct sockaddr_in a[2];
	int s[2], expected;

	udp_pair(s, a);
	to.in = a[1];
	expected = (int)sendmsg(s[0], &msg, MSG_DONTWAIT);
	ASSERT_EQ(expected, 16);
	EXPECT_EQ(io_now(&self->w, sqe_msg(ROOST_OP_SENDMSG, next_id(self), s[0],
					   &msg)), expected);
	/* and of nobody's name the length does not count */
	ASSERT_EQ(connect(s[0], (struct sockaddr *)&a[1], sizeof(a[1])), 0);
	msg.msg_name = NULL;
	msg.msg_namelen = (socklen_t)-1;
	EXPECT_EQ(sendmsg(s[0], &msg, MSG_DONTWAIT), 16);
	EXPECT_EQ(io_now(&self->w, sqe_msg(ROOST_OP_SENDMSG, next_id(self), s[0],
					   &msg)), 16);
	close(s[0]);
	close(s[1]);
}

/*
 * A page that can be read and not be written holds up whoever receives into
 * it; what was submitted behind does not wait for that.
 */
TEST_F(io, write_protected_page_holds_up_nobody_behind)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP,
	};
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_WP };
	struct uffdio_writeprotect wp = { .mode = UFFDIO_WRITEPROTECT_MODE_WP };
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct carrier c;
	struct roost_sqe sqe;
	struct roost_cqe cqe;
	struct uffd_msg msg;
	bool behind;
	char *page;
	int uffd;

	page = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(page, MAP_FAILED);
	page[0] = 1;
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api))
		SKIP(return, "this kernel cannot hold a write to a page");
	reg.range.start = (uintptr_t)page;
	reg.range.len = size;
	ASSERT_EQ(ioctl(uffd, UFFDIO_REGISTER, &reg), 0);
	wp.range = reg.range;
	ASSERT_EQ(ioctl(uffd, UFFDIO_WRITEPROTECT, &wp), 0);

	ASSERT_EQ(send(self->s[1], "abc", 3, 0), 3);
	sqe = sqe_recv(roost_op_id(1, 1), self->s[0], page, 8);
	push(&self->y, &sqe);
	sqe = sqe_nop(4711);
	push(&self->y, &sqe);
	carrier_start(&c, &self->y);
	/* somebody stands in the fault */
	ASSERT_EQ(read(uffd, &msg, sizeof(msg)), sizeof(msg));
	behind = pop(&self->y, &cqe);
	wp.mode = 0;
	ASSERT_EQ(ioctl(uffd, UFFDIO_WRITEPROTECT, &wp), 0);
	pthread_join(c.thread, NULL);
	EXPECT_TRUE(behind);
	EXPECT_EQ(cqe.user_data, 4711);
	ASSERT_TRUE(pop(&self->y, &cqe));
	EXPECT_EQ(cqe.res, 3);
	EXPECT_EQ(memcmp(page, "abc", 3), 0);
	close(uffd);
	munmap(page, size);
}

struct sampler {
	const struct dom *d;
	bool stop;
	uint64_t most;
};

static void *sample_pending(void *arg)
{
	struct sampler *s = arg;
	uint32_t pending;

	while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
		pending = stat_of(s->d).ios_pending;
		if (pending > s->most)
			s->most = pending;
	}
	return NULL;
}

/* Begun by one worker, done by another: never more done than begun. */
TEST_F(io, pending_never_goes_below_none)
{
	struct sampler s = { .d = &self->d };
	struct wrk z;
	pthread_t thread;
	struct roost_cqe cqe;
	unsigned int i;

	ASSERT_EQ(wrk_make(&z, &self->d, 16, 64), 0);
	ASSERT_EQ(pthread_create(&thread, NULL, sample_pending, &s), 0);
	for (i = 1; i <= 3000 && now_ns() < self->limit; i++) {
		ASSERT_EQ(submit_one(&self->w, sqe_recv(roost_op_id(1, i),
							self->s[0], self->in,
							1)), 1);
		ASSERT_EQ(send(self->s[1], "a", 1, 0), 1);
		submit(&z);
		ASSERT_TRUE(pop(&z, &cqe) || pop(&self->w, &cqe));
	}
	__atomic_store_n(&s.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	/* what is begun while the sum is made may count, no more than all */
	EXPECT_LE(s.most, 3000);
	close(z.fd);
}

TEST_HARNESS_MAIN
