// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * files.c - files of every kind, made, used, doubled, handed on and closed.
 *
 * Nobody remembers what a number stands for: all from FIRST_FD on are tried.
 */
#include <linux/netlink.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

#include "fuzz.h"

int any_fd(struct rng *r)
{
	if (one_in(r, 32))
		return one_in(r, 2) ? -(int)below(r, 3) : (int)rnd(r);
	/* low numbers are in use most of the time */
	return FIRST_FD + (int)below(r, 1 + below(r, NR_FDS));
}

static int result(long ret)
{
	return ret < 0 ? -errno : (int)ret;
}

static int make_pipe(struct rng *r)
{
	int p[2];

	return result(pipe2(p, (int)(rnd(r) & O_CLOEXEC) | O_NONBLOCK));
}

static int make_unix(struct rng *r)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	int s[2];

	return result(socketpair(AF_UNIX, types[below(r, 3)] | SOCK_NONBLOCK, 0,
				 s));
}

/* Both ends, and at times the listener, with the others waiting in it. */
static int make_tcp(struct rng *r)
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), fd;
	socklen_t size = sizeof(struct sockaddr_in);
	struct sockaddr_in a;

	loopback(&a);
	if (listener < 0 || bind(listener, (struct sockaddr *)&a, size) ||
	    listen(listener, 4) ||
	    getsockname(listener, (struct sockaddr *)&a, &size))
		goto fail;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd < 0)
		goto fail;
	/* loopback: it is there at once, or was closed by somebody else */
	connect(fd, (struct sockaddr *)&a, size);
	if (one_in(r, 4))
		return 0;
	accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	close(listener);
	return 0;
fail:
	fd = -errno;
	if (listener >= 0)
		close(listener);
	return fd;
}

static int make_udp(struct rng *r)
{
	socklen_t size = sizeof(struct sockaddr_in);
	struct sockaddr_in a;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	loopback(&a);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, size) ||
	    getsockname(fd, (struct sockaddr *)&a, &size))
		return -errno;
	/* to itself */
	return result(connect(fd, (struct sockaddr *)&a, size));
}

static int make_timerfd(struct rng *r)
{
	struct itimerspec when = {
		.it_interval.tv_nsec = (long)below(r, 20000000),
		.it_value.tv_nsec = 1 + (long)below(r, 20000000),
	};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

	return result(fd < 0 ? fd : timerfd_settime(fd, 0, &when, NULL));
}

static int make_signalfd(struct rng *r)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return result(signalfd(-1, &set, SFD_NONBLOCK));
}

/* Of a child that ends soon. */
static int make_pidfd(struct rng *r)
{
	struct timespec ts = { 0, (long)below(r, 3000000) };
	pid_t pid = (pid_t)syscall(SYS_fork);
	int fd;

	if (!pid) {
		syscall(SYS_nanosleep, &ts, NULL);
		syscall(SYS_exit_group, 0);
	}
	if (pid < 0)
		return -errno;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return result(fd);
}

static int make_from_path(struct rng *r)
{
	static const char *const paths[] = {
		"/dev/null", "/dev/zero", "/dev/roost", "/dev/ptmx",
		"/proc/self/mounts", "/proc/self/stat", "/dev/urandom",
		"/dev/full", "/",
	};
	const char *path = paths[below(r, sizeof(paths) / sizeof(paths[0]))];
	int flags = one_in(r, 16) ? O_PATH : O_RDWR | O_NOCTTY | O_NONBLOCK;
	int fd = open(path, flags);

	return result(fd < 0 ? open(path, O_RDONLY | O_NONBLOCK) : fd);
}

static int make_tmpfile(struct rng *r)
{
	int fd;

	if (one_in(r, 2))
		fd = (int)syscall(SYS_memfd_create, "fuzz", 0);
	else
		fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	return result(fd < 0 ? fd : ftruncate(fd, 65536));
}

static int make_pty(struct rng *r)
{
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK);
	int unlock = 0;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock))
		return -errno;
	return result(ioctl(master, TIOCGPTPEER,
			    O_RDWR | O_NOCTTY | O_NONBLOCK));
}

int make_file(struct rng *r)
{
	switch (below(r, 16)) {
	case 0: case 1:
		return make_pipe(r);
	case 2: case 3:
		return result(eventfd(below(r, 3), EFD_NONBLOCK |
				      (one_in(r, 4) ? EFD_SEMAPHORE : 0)));
	case 4: case 5: case 6:
		return make_unix(r);
	case 7: case 8:
		return make_tcp(r);
	case 9:
		return make_udp(r);
	case 10:
		return one_in(r, 2) ? make_timerfd(r) : make_signalfd(r);
	case 11:
		return one_in(r, 4) ? make_pidfd(r) : make_timerfd(r);
	case 12:
		return result(one_in(r, 2) ? inotify_init1(IN_NONBLOCK) :
			      socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK,
				     NETLINK_USERSOCK));
	case 13:
		return make_from_path(r);
	case 14:
		return make_tmpfile(r);
	default:
		return one_in(r, 2) ? make_pty(r) :
				      result(epoll_create1(EPOLL_CLOEXEC));
	}
}

static int set_some_option(struct rng *r, int fd)
{
	static const int names[] = {
		SO_PEEK_OFF, SO_RCVBUF, SO_SNDBUF, SO_RCVLOWAT, SO_TIMESTAMP,
		SO_PASSCRED, SO_LINGER, SO_BUSY_POLL,
	};
	int value[2] = { (int)below(r, 4096) - 1, 0 };

	return result(setsockopt(fd, SOL_SOCKET,
				 names[below(r, sizeof(names) / sizeof(int))],
				 value, sizeof(value)));
}

/* Whatever makes a file say something; our own calls never block. */
int poke_file(struct rng *r)
{
	uint64_t one = 1 + one_in(r, 8);
	int fd = any_fd(r), flags;
	char junk[512];

	/* no addresses from the stack, lest they come back in a message */
	memset(junk, (int)below(r, 4), sizeof(junk));
	switch (below(r, 12)) {
	case 0: case 1: case 2:
		return result(write(fd, one_in(r, 2) ? (void *)&one :
						       (void *)junk,
				    one_in(r, 2) ? 8 : below(r, 512)));
	case 3: case 4:
		return result(read(fd, junk, 1 + below(r, 511)));
	case 5: case 6:
		return result(send(fd, junk, below(r, 512), MSG_NOSIGNAL |
				   MSG_DONTWAIT | (one_in(r, 8) ? MSG_OOB : 0)));
	case 7:
		return result(recv(fd, junk, sizeof(junk), MSG_DONTWAIT));
	case 8:
		return result(one_in(r, 4) ? shutdown(fd, (int)below(r, 3)) :
					     set_some_option(r, fd));
	case 9:
		flags = fcntl(fd, F_GETFL);
		/* back again soon, lest somebody wait */
		fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
		return result(fcntl(fd, F_SETFL, flags | O_NONBLOCK));
	case 10:
		return result(kill(getpid(), SIGUSR2));
	default:
		return result(accept4(fd, NULL, NULL, SOCK_NONBLOCK));
	}
}

/* A number to close or to replace; ours go by do_close(), mostly. */
static int victim(struct rng *r)
{
	int fd;

	do
		fd = FIRST_FD + (int)below(r, NR_FDS);
	while (is_roost_fd(fd) && !one_in(r, 16));
	return fd;
}

int dup_file(struct rng *r)
{
	int fd = any_fd(r);

	switch (below(r, 3)) {
	case 0:
		return result(dup(fd));
	case 1:
		return result(fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD +
				    (int)below(r, NR_FDS)));
	default:
		/* over something else, which is closed by it */
		return result(dup3(fd, victim(r), O_CLOEXEC));
	}
}

int close_file(struct rng *r)
{
	int fd = victim(r);

	if (one_in(r, 256))
		return result(syscall(SYS_close_range, fd, fd + below(r, 32), 0));
	return result(close(fd));
}

/* Nested in one another, and with our own descriptors in them. */
int play_epoll(struct rng *r)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | (one_in(r, 2) ? EPOLLET : 0) |
			  (one_in(r, 4) ? EPOLLONESHOT : 0),
	};
	struct pollfd p[8];
	int fd = any_fd(r);
	unsigned int i;

	switch (below(r, 4)) {
	case 0:
		return result(epoll_ctl(fd, EPOLL_CTL_ADD, one_in(r, 2) ?
					any_fd(r) : any_domain_fd(r), &event));
	case 1:
		return result(epoll_ctl(fd, one_in(r, 2) ? EPOLL_CTL_DEL :
					EPOLL_CTL_MOD, any_fd(r), &event));
	case 2:
		return result(epoll_wait(fd, &event, 1, (int)below(r, 2)));
	default:
		for (i = 0; i < 8; i++)
			p[i] = (struct pollfd){ one_in(r, 2) ? any_fd(r) :
						any_domain_fd(r),
						(short)rnd(r), 0 };
		return result(poll(p, 8, (int)below(r, 3)));
	}
}

static int send_fd(int through, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {
		.header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS },
	};
	struct iovec iov = { "x", 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return result(sendmsg(through, &msg, MSG_DONTWAIT | MSG_NOSIGNAL));
}

static int recv_fd(int through)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};

	return result(recvmsg(through, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
}

/* To another process and from it, or into a socket that we have ourselves. */
int pass_fd(struct rng *r)
{
	int *box = post_office[below(r, 4)];

	switch (below(r, 4)) {
	case 0:
		return send_fd(box[0], any_roost_fd(r));
	case 1:
		return send_fd(box[0], any_fd(r));
	case 2:
		return recv_fd(box[1]);
	default:
		return send_fd(any_fd(r), any_roost_fd(r));
	}
}
