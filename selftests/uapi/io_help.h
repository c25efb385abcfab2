/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * io_help.h - what the tests of I/O in the ring share: entries, pairs of files,
 * and a page whose first touch holds who touches it.
 */
#ifndef ROOST_TEST_IO_HELP_H
#define ROOST_TEST_IO_HELP_H

#include <arpa/inet.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "roost_test.h"

#define BOTH_DONTWAIT	(MSG_DONTWAIT | MSG_NOSIGNAL)

static inline struct roost_sqe sqe_io(uint8_t opcode, uint64_t op_id, int fd,
				      void *buffer, uint32_t len)
{
	struct roost_sqe sqe = {
		.opcode = opcode,
		.fd = fd,
		.op_id = op_id,
		.addr = (uintptr_t)buffer,
		.len = len,
	};

	if (opcode == ROOST_OP_READ || opcode == ROOST_OP_WRITE)
		sqe.offset = ROOST_OFFSET_NONE;
	return sqe;
}

static inline struct roost_sqe sqe_recv(uint64_t op_id, int fd, void *buffer,
					uint32_t len)
{
	return sqe_io(ROOST_OP_RECV, op_id, fd, buffer, len);
}

static inline struct roost_sqe sqe_send(uint64_t op_id, int fd,
					const void *buffer, uint32_t len)
{
	return sqe_io(ROOST_OP_SEND, op_id, fd, (void *)buffer, len);
}

/* A struct msghdr of 32-bit processes is for the system calls alone. */
static inline int of_msg(int result)
{
	return sizeof(void *) == 4 ? -EOPNOTSUPP : result;
}

static inline struct roost_sqe sqe_msg(uint8_t opcode, uint64_t op_id, int fd,
				       struct msghdr *msg)
{
	return sqe_io(opcode, op_id, fd, msg, 0);
}

static inline struct roost_sqe sqe_send_recv(uint64_t op_id, int fd,
					     const void *out, uint32_t out_len,
					     void *in, uint32_t in_len)
{
	struct roost_sqe sqe = sqe_io(ROOST_OP_SEND_RECV, op_id, fd,
				      (void *)out, out_len);

	sqe.addr2 = (uintptr_t)in;
	sqe.len2 = in_len;
	return sqe;
}

/* The same op on the registered file. */
static inline struct roost_sqe on_file(struct roost_sqe sqe, uint32_t sequence)
{
	sqe.flags |= ROOST_SQE_FILE;
	sqe.file_seq = sequence;
	return sqe;
}

static inline struct roost_sqe sqe_cancel(uint64_t op_id, uint8_t flags)
{
	return (struct roost_sqe){
		.opcode = ROOST_OP_CANCEL,
		.flags = flags,
		.op_id = op_id,
	};
}

static inline struct roost_sqe sqe_file_remove(int fd, uint32_t sequence,
					       uint8_t flags)
{
	return (struct roost_sqe){
		.opcode = ROOST_OP_FILE_REMOVE,
		.flags = flags,
		.op_id = roost_op_id((uint32_t)fd, sequence),
	};
}

static inline uint32_t cqe_kind(const struct roost_cqe *cqe)
{
	return cqe->flags & ROOST_CQE_KIND;
}

/* Submit one entry and take its completion, which must be there at once. */
static inline struct roost_cqe do_now(struct wrk *w, struct roost_sqe sqe)
{
	struct roost_cqe cqe;

	check(submit_one(w, sqe) == 1);
	check(pop(w, &cqe));
	check(cqe.user_data == sqe.op_id);
	return cqe;
}

/* The same for a result alone, of kind ROOST_CQE_IO. */
static inline int io_now(struct wrk *w, struct roost_sqe sqe)
{
	struct roost_cqe cqe = do_now(w, sqe);

	check(cqe_kind(&cqe) == ROOST_CQE_IO);
	return cqe.res;
}

/* Submit one entry and wait for its completion. */
static inline int io_wait(const struct dom *d, struct wrk *w,
			  struct roost_sqe sqe, uint64_t limit)
{
	struct roost_cqe cqe;
	int ret;

	check(submit_one(w, sqe) == 1);
	ret = wait_pop(d, w, &cqe, limit);
	if (ret)
		return ret;
	check(cqe.user_data == sqe.op_id);
	check(cqe_kind(&cqe) == ROOST_CQE_IO);
	return cqe.res;
}

/* No completion comes, neither now nor soon. */
static inline bool nothing_comes(const struct dom *d, struct wrk *w)
{
	struct roost_cqe cqe;

	return wait_pop(d, w, &cqe, now_ns() + 30 * MSEC) == -ETIMEDOUT;
}

/* Pairs: [0] is ours, [1] the other end. */
static inline void unix_pair(int s[2], int type)
{
	check(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, s) == 0);
}

static inline void loopback(struct sockaddr_in *a)
{
	*a = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static inline void set_option(int fd, int level, int name, int value)
{
	check(setsockopt(fd, level, name, &value, sizeof(value)) == 0);
}

static inline void tcp_pair(int s[2])
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(struct sockaddr_in);
	struct sockaddr_in a;

	loopback(&a);
	/* small, so that they are soon full */
	set_option(listener, SOL_SOCKET, SO_RCVBUF, 16384);
	set_option(listener, SOL_SOCKET, SO_SNDBUF, 16384);
	check(bind(listener, (struct sockaddr *)&a, size) == 0);
	check(listen(listener, 1) == 0);
	check(getsockname(listener, (struct sockaddr *)&a, &size) == 0);
	s[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	set_option(s[0], SOL_SOCKET, SO_SNDBUF, 16384);
	set_option(s[0], SOL_SOCKET, SO_RCVBUF, 16384);
	check(connect(s[0], (struct sockaddr *)&a, size) == 0);
	s[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	check(s[1] >= 0);
	set_option(s[0], IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(s[1], IPPROTO_TCP, TCP_NODELAY, 1);
	close(listener);
}

static inline void udp_pair(int s[2], struct sockaddr_in a[2])
{
	socklen_t size = sizeof(a[0]);
	int i;

	for (i = 0; i < 2; i++) {
		s[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		loopback(&a[i]);
		check(bind(s[i], (struct sockaddr *)&a[i], size) == 0);
		check(getsockname(s[i], (struct sockaddr *)&a[i], &size) == 0);
	}
}

static inline bool is_tcp(int fd)
{
	socklen_t size = sizeof(int);
	int protocol = 0;

	check(getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0);
	return protocol == IPPROTO_TCP;
}

/*
 * Write until nothing more fits.  Returns how many bytes did.  In TCP room may
 * come again by acknowledgements and probes: there it does not count before all
 * that waits has been sent, which takes a reader.
 */
static inline size_t fill_socket(int fd)
{
	bool tcp = is_tcp(fd);
	unsigned int quiet = 0;
	static char junk[4096];
	size_t total = 0;
	ssize_t n;

	memset(junk, 'f', sizeof(junk));
	while (quiet < (tcp ? 5 : 2)) {
		n = send(fd, junk, quiet && !tcp ? 1 : sizeof(junk),
			 BOTH_DONTWAIT);
		if (n > 0) {
			total += (size_t)n;
			quiet = 0;
			continue;
		}
		check(errno == EAGAIN);
		quiet++;
		if (tcp)
			sleep_ns(20 * MSEC);
	}
	if (tcp)
		set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 1);
	return total;
}

/* Read all that is there now. */
static inline size_t drain_socket(int fd)
{
	static char junk[65536];
	size_t total = 0;
	ssize_t n;

	for (;;) {
		n = recv(fd, junk, sizeof(junk), MSG_DONTWAIT);
		if (n <= 0)
			return total;
		total += (size_t)n;
	}
}

/* Does the other end see the end of the file, or a reset, within @ns? */
static inline bool sees_end(int fd, uint64_t ns)
{
	uint64_t limit = now_ns() + ns;
	char junk[4096];
	ssize_t n;

	do {
		n = recv(fd, junk, sizeof(junk), MSG_DONTWAIT);
		if (!n || (n < 0 && errno == ECONNRESET))
			return true;
		if (n < 0)
			sleep_ns(MSEC);
	} while (now_ns() < limit);
	return false;
}

/*
 * A page that is not there: whoever touches it first, in the kernel too, sleeps
 * until hold_release().
 */
struct hold {
	int fd;
	char *page;
	size_t size;
};

static inline void hold_make(struct hold *h)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	h->size = (size_t)sysconf(_SC_PAGESIZE);
	h->page = mmap(NULL, h->size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(h->page != MAP_FAILED);
	h->fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	check(h->fd >= 0);
	check(ioctl(h->fd, UFFDIO_API, &api) == 0);
	reg.range.start = (uintptr_t)h->page;
	reg.range.len = h->size;
	check(ioctl(h->fd, UFFDIO_REGISTER, &reg) == 0);
}

/* Wait until somebody is held. */
static inline bool hold_wait(struct hold *h, uint64_t ns)
{
	struct pollfd p = { .fd = h->fd, .events = POLLIN };
	struct uffd_msg msg;

	if (poll(&p, 1, (int)(ns / MSEC)) != 1)
		return false;
	check(read(h->fd, &msg, sizeof(msg)) == (ssize_t)sizeof(msg));
	check(msg.event == UFFD_EVENT_PAGEFAULT);
	return true;
}

/* Put the page there, full of @byte, and let go who was held. */
static inline void hold_release(struct hold *h, int byte)
{
	static char content[65536];
	struct uffdio_copy copy = {
		.dst = (uintptr_t)h->page,
		.src = (uintptr_t)content,
		.len = h->size,
	};

	check(h->size <= sizeof(content));
	memset(content, byte, h->size);
	check(ioctl(h->fd, UFFDIO_COPY, &copy) == 0);
}

static inline void hold_end(struct hold *h)
{
	munmap(h->page, h->size);
	close(h->fd);
}

/* A thread that attaches to a worker and hands over what is published. */
struct carrier {
	pthread_t thread;
	struct wrk *w;
	int submitted;
	bool done;
};

static inline void *carrier_main(void *arg)
{
	struct carrier *c = arg;

	check(attach(c->w) == 0);
	c->submitted = submit(c->w);
	__atomic_store_n(&c->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static inline void carrier_start(struct carrier *c, struct wrk *w)
{
	*c = (struct carrier){ .w = w };
	check(pthread_create(&c->thread, NULL, carrier_main, c) == 0);
}

static inline bool carrier_done(struct carrier *c)
{
	return __atomic_load_n(&c->done, __ATOMIC_ACQUIRE);
}

/* A bit of the module's parameters; returns what it was before. */
static inline int set_parameter(const char *name, int value)
{
	char path[128], line[16] = "";
	int fd;

	snprintf(path, sizeof(path), "/sys/module/roost/parameters/%s", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	check(fd >= 0);
	check(read(fd, line, sizeof(line) - 1) > 0);
	check(pwrite(fd, value ? "1" : "0", 1, 0) == 1);
	close(fd);
	return line[0] == 'Y' || line[0] == '1';
}

#endif /* ROOST_TEST_IO_HELP_H */
