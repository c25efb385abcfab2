// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * echo_uring_poll.c - io_uring tells what is ready (multishot polls, edge
 * triggered); recv(2) and send(2) do the I/O.
 */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

#include "server.h"
#include "uring.h"

static struct io_uring ring;

/* Tells the connections of one number apart; no completion has sequence 0. */
static uint32_t sequence[BENCH_MAX_FDS];

static uint64_t name_of(int fd)
{
	return (uint64_t)sequence[fd] << 32 | (uint32_t)fd;
}

static void watch(int fd)
{
	struct io_uring_sqe *sqe = uring_sqe(&ring);

	io_uring_prep_poll_multishot(sqe, fd, POLLIN | POLLRDHUP);
	sqe->user_data = name_of(fd);
}

static void forget(int fd)
{
	struct io_uring_sqe *sqe = uring_sqe(&ring);

	io_uring_prep_poll_remove(sqe, name_of(fd));
	sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
	sqe->user_data = 0;
	sequence[fd]++;
	close(fd);
}

static void handle(int listener, const struct io_uring_cqe *cqe)
{
	int fd = (int)(uint32_t)cqe->user_data;

	if (cqe->user_data >> 32 == 0 || cqe->user_data != name_of(fd))
		return;	/* of a connection that is gone */
	if (cqe->res < 0) {
		errno = -cqe->res;
		die("poll of descriptor %d", fd);
	}
	/* It may end, if the ring was too full. */
	if (!(cqe->flags & IORING_CQE_F_MORE))
		watch(fd);
	if (fd == listener) {
		while ((fd = server_accept(listener)) >= 0) {
			sequence[fd]++;
			watch(fd);
		}
	} else if (server_echo(fd, true) == SERVER_CLOSED) {
		forget(fd);
	}
}

int main(int argc, char **argv)
{
	int listener = server_listen(argc, argv);
	struct io_uring_cqe *cqe;
	unsigned int head, n;

	uring_open(&ring);
	sequence[listener]++;
	watch(listener);
	server_ready();
	for (;;) {
		uring_wait(&ring, 1);
		n = 0;
		io_uring_for_each_cqe(&ring, head, cqe) {
			handle(listener, cqe);
			n++;
		}
		io_uring_cq_advance(&ring, n);
	}
}
