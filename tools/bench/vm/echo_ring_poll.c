// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * echo_ring_poll.c - the device without the library: one thread, one worker, a
 * multishot poll a connection.  A poll's index is the descriptor.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "ring.h"
#include "server.h"

#define ENTRIES	1024

static struct ring ring;
static uint32_t sequence[BENCH_MAX_FDS];

static void watch(int fd)
{
	struct roost_sqe *sqe = ring_sqe(&ring);

	ring_events(&ring, fd);
	sqe->opcode = ROOST_OP_POLL_ADD;
	sqe->flags = ROOST_POLL_MULTISHOT;
	sqe->fd = fd;
	sqe->op_id = roost_op_id(fd, ++sequence[fd]);
	sqe->events = POLLIN | POLLRDHUP;
}

/* Nothing is to come of it any more: the descriptor's number may be reused. */
static void forget(int fd)
{
	struct roost_sqe *sqe = ring_sqe(&ring);

	sqe->opcode = ROOST_OP_POLL_REMOVE;
	sqe->flags = ROOST_SQE_QUIET;
	sqe->op_id = roost_op_id(fd, ++sequence[fd]);
	close(fd);
}

static void handle(int listener, const struct roost_cqe *cqe)
{
	int fd = roost_op_index(cqe->user_data);

	if (roost_op_sequence(cqe->user_data) != sequence[fd])
		return;	/* of a connection that is gone */
	if (cqe->res < 0) {
		errno = -cqe->res;
		die("poll of descriptor %d", fd);
	}
	if (!(cqe->flags & ROOST_CQE_MORE))
		die("the poll of descriptor %d has ended", fd);

	ring_events(&ring, fd);
	if (fd == listener) {
		while ((fd = server_accept(listener)) >= 0)
			watch(fd);
	} else if (server_echo(fd, true) == SERVER_CLOSED) {
		forget(fd);
	}
}

int main(int argc, char **argv)
{
	int listener = server_listen(argc, argv);
	struct roost_cqe cqe;

	ring_open(&ring, BENCH_MAX_FDS, 0, ENTRIES);
	watch(listener);
	server_ready();
	for (;;) {
		ring_wait(&ring);
		while (ring_next(&ring, &cqe))
			handle(listener, &cqe);
	}
}
