// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * echo_uring_rw.c - io_uring does the I/O: multishot accept into the table of
 * registered files, multishot recv into a ring of provided buffers, send.
 *
 * A connection has at most one send under way, so that what arrives in pieces
 * goes back in order; pieces that arrive meanwhile wait in a list.
 *
 * Sends have MSG_DONTWAIT, so each completes as it is submitted.  So the one call
 * that submits them can wait for all of them and for one completion more, and does
 * not come back just to say that they are done.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "server.h"
#include "uring.h"

#define BUFFERS	2048	/* more than connections */
#define GROUP	1
#define NONE	(-1)

enum kind { ACCEPT, RECV, SEND, CLOSE };

/**
 * struct conn - a place in the table of registered files
 * @first:	buffers to be sent, the first one under way
 * @last:	the last of them
 * @closing:	the client has gone: close once all is sent
 */
struct conn {
	int first;
	int last;
	bool closing;
};

/**
 * struct piece - what stands in a buffer
 * @len:	bytes
 * @done:	bytes sent
 * @next:	buffer to be sent after it
 */
struct piece {
	int len;
	int done;
	int next;
};

static struct io_uring ring;
static struct io_uring_buf_ring *provided;
static char (*buffers)[SERVER_BUFFER];
static struct piece pieces[BUFFERS];
static struct conn conns[BENCH_MAX_CONNS];

/* Sends that complete as they are submitted, and pieces behind another one. */
static unsigned int sends, behind;

static uint64_t name_of(enum kind kind, uint32_t conn)
{
	return (uint64_t)kind << 32 | conn;
}

static void provide(int buffer)
{
	io_uring_buf_ring_add(provided, buffers[buffer], SERVER_BUFFER, buffer,
			      io_uring_buf_ring_mask(BUFFERS), 0);
	io_uring_buf_ring_advance(provided, 1);
}

static void provide_all(void)
{
	struct io_uring_buf_reg reg = {
		.ring_entries = BUFFERS,
		.bgid = GROUP,
	};
	int i;

	provided = aligned_alloc(4096, BUFFERS * sizeof(struct io_uring_buf));
	buffers = aligned_alloc(4096, BUFFERS * sizeof(*buffers));
	if (!provided || !buffers)
		die("aligned_alloc");
	reg.ring_addr = (uint64_t)(uintptr_t)provided;
	errno = -io_uring_register_buf_ring(&ring, &reg, 0);
	if (errno)
		die("io_uring_register_buf_ring");
	io_uring_buf_ring_init(provided);
	/* No page faults later on. */
	memset(buffers, 1, BUFFERS * sizeof(*buffers));
	for (i = 0; i < BUFFERS; i++)
		provide(i);
}

static void accept_many(int listener)
{
	struct io_uring_sqe *sqe = uring_sqe(&ring);

	io_uring_prep_multishot_accept_direct(sqe, listener, NULL, NULL, 0);
	sqe->user_data = name_of(ACCEPT, listener);
}

static void recv_many(uint32_t conn)
{
	struct io_uring_sqe *sqe = uring_sqe(&ring);

	io_uring_prep_recv_multishot(sqe, conn, NULL, 0, 0);
	sqe->flags |= IOSQE_FIXED_FILE | IOSQE_BUFFER_SELECT;
	sqe->buf_group = GROUP;
	sqe->user_data = name_of(RECV, conn);
}

/* MSG_WAITALL with @mode 0: a short count is an error, nothing to go on from. */
static void send_first(uint32_t conn, int mode)
{
	struct io_uring_sqe *sqe = uring_sqe(&ring);
	int buffer = conns[conn].first;
	struct piece *piece = &pieces[buffer];

	io_uring_prep_send(sqe, conn, buffers[buffer] + piece->done,
			   piece->len - piece->done,
			   MSG_NOSIGNAL | MSG_WAITALL | mode);
	sqe->flags |= IOSQE_FIXED_FILE;
	sqe->user_data = name_of(SEND, conn);
	if (mode & MSG_DONTWAIT)
		sends++;
}

static void close_if_done(uint32_t conn)
{
	struct io_uring_sqe *sqe;

	if (!conns[conn].closing || conns[conn].first != NONE)
		return;
	sqe = uring_sqe(&ring);
	io_uring_prep_close_direct(sqe, conn);
	sqe->user_data = name_of(CLOSE, conn);
}

static void on_accept(const struct io_uring_cqe *cqe, uint32_t conn)
{
	if (!(cqe->flags & IORING_CQE_F_MORE))
		accept_many(conn);
	conns[cqe->res] = (struct conn){ .first = NONE };
	recv_many(cqe->res);
}

static void on_recv(const struct io_uring_cqe *cqe, uint32_t conn)
{
	struct conn *c = &conns[conn];
	int buffer = cqe->flags >> IORING_CQE_BUFFER_SHIFT;

	if (!cqe->res) {
		c->closing = true;
		close_if_done(conn);
		return;
	}
	pieces[buffer] = (struct piece){ .len = cqe->res, .next = NONE };
	if (c->first == NONE) {
		c->first = buffer;
		send_first(conn, MSG_DONTWAIT);
	} else {
		pieces[c->last].next = buffer;
		behind++;
	}
	c->last = buffer;
	if (!(cqe->flags & IORING_CQE_F_MORE))
		recv_many(conn);
}

static void on_send(const struct io_uring_cqe *cqe, uint32_t conn)
{
	struct conn *c = &conns[conn];
	int buffer = c->first;
	struct piece *piece = &pieces[buffer];

	if (cqe->res > 0)
		piece->done += cqe->res;
	if (piece->done < piece->len) {
		/* No room: the rest in its own time. */
		send_first(conn, 0);
		return;
	}
	c->first = piece->next;
	provide(buffer);
	if (c->first != NONE) {
		behind--;
		send_first(conn, MSG_DONTWAIT);
	} else {
		close_if_done(conn);
	}
}

static void handle(const struct io_uring_cqe *cqe)
{
	enum kind kind = cqe->user_data >> 32;
	uint32_t conn = (uint32_t)cqe->user_data;

	if (kind == RECV && cqe->res == -ENOBUFS) {
		recv_many(conn);
		return;
	}
	if (cqe->res < 0 && !(kind == SEND && cqe->res == -EAGAIN)) {
		errno = -cqe->res;
		die("operation %d on connection %u", kind, conn);
	}
	switch (kind) {
	case ACCEPT:
		on_accept(cqe, conn);
		break;
	case RECV:
		on_recv(cqe, conn);
		break;
	case SEND:
		on_send(cqe, conn);
		break;
	case CLOSE:
		break;
	}
}

/*
 * What is behind a send goes when that is done, which must then end the wait.
 */
static unsigned int completions(void)
{
	unsigned int n = behind ? sends : sends + 1;

	sends = 0;
	return n ? n : 1;
}

int main(int argc, char **argv)
{
	int listener = server_listen(argc, argv);
	struct io_uring_cqe *cqe;
	unsigned int head, n;

	uring_open(&ring);
	errno = -io_uring_register_files_sparse(&ring, BENCH_MAX_CONNS);
	if (errno)
		die("io_uring_register_files_sparse");
	provide_all();
	accept_many(listener);
	server_ready();
	for (;;) {
		uring_wait(&ring, completions());
		n = 0;
		io_uring_for_each_cqe(&ring, head, cqe) {
			handle(cqe);
			n++;
		}
		io_uring_cq_advance(&ring, n);
	}
}
