// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * echo_ring.c - the device without the library: one thread, one worker.  Each
 * connection has one op at a time, which sends back what came and receives what
 * comes next.  The listener has a multishot poll.  Indices are descriptors.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "ring.h"
#include "server.h"

#define ENTRIES	1024

/**
 * struct conn - one connection, by its descriptor
 * @op:		sequence of its op
 * @file:	sequence of the file, which tells the connections of a number apart
 * @buf:	what came, and is sent before more comes
 */
struct conn {
	uint32_t op;
	uint32_t file;
	char buf[SERVER_BUFFER];
};

static struct ring ring;
static struct conn conns[BENCH_MAX_FDS];

static void watch(int listener)
{
	struct roost_sqe *sqe = ring_sqe(&ring);

	sqe->opcode = ROOST_OP_POLL_ADD;
	sqe->flags = ROOST_POLL_MULTISHOT;
	sqe->fd = listener;
	sqe->op_id = roost_op_id(listener, 1);
	sqe->events = POLLIN;
}

/* Send back @len bytes, and receive. */
static void reply(int fd, uint32_t len)
{
	struct roost_sqe *sqe = ring_sqe(&ring);
	struct conn *c = &conns[fd];

	sqe->opcode = ROOST_OP_SEND_RECV;
	sqe->flags = ROOST_SQE_FILE;
	sqe->fd = fd;
	sqe->op_id = roost_op_id(fd, ++c->op);
	sqe->addr = (uintptr_t)c->buf;
	sqe->addr2 = (uintptr_t)c->buf;
	sqe->len = len;
	sqe->len2 = SERVER_BUFFER;
	sqe->file_seq = c->file;
}

static void accept_all(int listener)
{
	int fd;

	ring_events(&ring, listener);
	while ((fd = server_accept(listener)) >= 0) {
		conns[fd].file++;
		reply(fd, 0);
	}
}

static void forget(int fd)
{
	struct roost_sqe *sqe = ring_sqe(&ring);

	sqe->opcode = ROOST_OP_FILE_REMOVE;
	sqe->flags = ROOST_SQE_QUIET;
	sqe->op_id = roost_op_id(fd, conns[fd].file);
	close(fd);
}

static void handle(const struct roost_cqe *cqe)
{
	int fd = roost_op_index(cqe->user_data);

	errno = cqe->res < 0 ? -cqe->res : 0;
	if (errno || cqe->flags & ROOST_CQE_SEND)
		die("descriptor %d: result %d", fd, cqe->res);
	if ((cqe->flags & ROOST_CQE_KIND) == ROOST_CQE_IO) {
		if (cqe->res)
			reply(fd, cqe->res);
		else
			forget(fd);
	} else if (cqe->flags & ROOST_CQE_MORE) {
		accept_all(fd);
	} else {
		die("the poll of the listener has ended");
	}
}

int main(int argc, char **argv)
{
	int listener = server_listen(argc, argv);
	struct roost_cqe cqe;

	ring_open(&ring, BENCH_MAX_FDS, BENCH_MAX_FDS, ENTRIES);
	watch(listener);
	server_ready();
	for (;;) {
		ring_wait(&ring);
		while (ring_next(&ring, &cqe))
			handle(&cqe);
	}
}
