/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * io_kinds.h - every I/O op on the files that it is used for, as a table: how
 * to make a pair on which it has to wait, and how to end the wait.
 */
#ifndef ROOST_TEST_IO_KINDS_H
#define ROOST_TEST_IO_KINDS_H

#include "io_help.h"

#define REPLY		"reply"
#define REPLY_LEN	5
#define OUT_LEN		512

/* One op with its files and buffers. */
struct scene {
	const struct kind *kind;
	int fd, peer;
	bool replied;
	char *in, *out;		/* where it reads to and writes from */
	struct iovec iov;
	struct msghdr msg;
};

enum waits { FOR_INPUT, FOR_ROOM };

struct kind {
	uint8_t opcode;
	enum waits waits;
	bool ends;		/* the peer can close */
	void (*make)(struct scene *s);
	/* Makes it go on; FOR_ROOM: call again until it is done. */
	void (*ready)(struct scene *s);
	/* what it then returns, at least and at most */
	int least, most;
};

static inline void make_unix(struct scene *s)
{
	int p[2];

	unix_pair(p, SOCK_STREAM);
	s->fd = p[0];
	s->peer = p[1];
}

static inline void make_tcp(struct scene *s)
{
	int p[2];

	tcp_pair(p);
	s->fd = p[0];
	s->peer = p[1];
}

static inline void make_full_unix(struct scene *s)
{
	make_unix(s);
	fill_socket(s->fd);
}

static inline void make_full_tcp(struct scene *s)
{
	make_tcp(s);
	fill_socket(s->fd);
}

static inline void make_pipe(struct scene *s)
{
	int p[2];

	/* not every kernel can read a pipe without blocking but so */
	check(pipe2(p, O_CLOEXEC | O_NONBLOCK) == 0);
	s->fd = p[0];
	s->peer = p[1];
}

static inline void make_eventfd(struct scene *s)
{
	s->fd = eventfd(0, EFD_CLOEXEC);
	s->peer = dup(s->fd);
	check(s->fd >= 0 && s->peer >= 0);
}

static inline void ready_reply(struct scene *s)
{
	check(write(s->peer, REPLY, REPLY_LEN) == REPLY_LEN);
}

static inline void ready_count(struct scene *s)
{
	uint64_t n = 7;

	check(write(s->peer, &n, sizeof(n)) == sizeof(n));
}

/* Wait until what ready() has done has come through. */
static inline void wait_ready(struct scene *s)
{
	struct pollfd p = { .fd = s->fd };

	p.events = s->kind->waits == FOR_INPUT ? POLLIN : POLLOUT;
	while (!poll(&p, 1, 10))
		if (s->kind->waits == FOR_ROOM)
			s->kind->ready(s);
}

static inline void ready_room(struct scene *s)
{
	drain_socket(s->peer);
}

/* The reply comes with the first room. */
static inline void ready_room_and_reply(struct scene *s)
{
	drain_socket(s->peer);
	if (!s->replied)
		ready_reply(s);
	s->replied = true;
}

#define INPUT(op, how) { \
	.opcode = op, .waits = FOR_INPUT, .ends = true, \
	.make = how, .ready = ready_reply, \
	.least = REPLY_LEN, .most = REPLY_LEN, \
}
#define ROOM(op, how) { \
	.opcode = op, .waits = FOR_ROOM, .ends = true, \
	.make = how, .ready = ready_room, .least = 1, .most = OUT_LEN, \
}

static const struct kind kind_recv_unix =
	INPUT(ROOST_OP_RECV, make_unix);
static const struct kind kind_recv_tcp = INPUT(ROOST_OP_RECV, make_tcp);
static const struct kind kind_recvmsg_unix =
	INPUT(ROOST_OP_RECVMSG, make_unix);
static const struct kind kind_recvmsg_tcp =
	INPUT(ROOST_OP_RECVMSG, make_tcp);
static const struct kind kind_read_unix =
	INPUT(ROOST_OP_READ, make_unix);
static const struct kind kind_read_tcp = INPUT(ROOST_OP_READ, make_tcp);
static const struct kind kind_read_pipe =
	INPUT(ROOST_OP_READ, make_pipe);
static const struct kind kind_send_unix =
	ROOM(ROOST_OP_SEND, make_full_unix);
static const struct kind kind_send_tcp =
	ROOM(ROOST_OP_SEND, make_full_tcp);
static const struct kind kind_sendmsg_unix =
	ROOM(ROOST_OP_SENDMSG, make_full_unix);
static const struct kind kind_sendmsg_tcp =
	ROOM(ROOST_OP_SENDMSG, make_full_tcp);
static const struct kind kind_write_unix =
	ROOM(ROOST_OP_WRITE, make_full_unix);
static const struct kind kind_write_tcp =
	ROOM(ROOST_OP_WRITE, make_full_tcp);

static const struct kind kind_read_eventfd = {
	.opcode = ROOST_OP_READ, .waits = FOR_INPUT, .make = make_eventfd,
	.ready = ready_count, .least = 8, .most = 8,
};
/* SEND_RECV, waiting in its first half and in its second */
static const struct kind kind_send_recv_full = {
	.opcode = ROOST_OP_SEND_RECV, .waits = FOR_ROOM, .ends = true,
	.make = make_full_unix, .ready = ready_room_and_reply,
	.least = REPLY_LEN, .most = REPLY_LEN,
};
static const struct kind kind_send_recv_unix =
	INPUT(ROOST_OP_SEND_RECV, make_unix);
static const struct kind kind_send_recv_tcp =
	INPUT(ROOST_OP_SEND_RECV, make_tcp);

static inline bool kind_writes(const struct kind *k)
{
	return k->opcode == ROOST_OP_SEND || k->opcode == ROOST_OP_SENDMSG ||
	       k->opcode == ROOST_OP_WRITE;
}

static inline bool kind_eventfd(const struct kind *k)
{
	return k->most == 8;
}

/* The op of a scene, with the length that its file likes. */
static inline struct roost_sqe scene_sqe(struct scene *s, uint64_t op_id)
{
	const struct kind *k = s->kind;
	bool writes = kind_writes(k);
	char *buffer = writes ? s->out : s->in;
	uint32_t len = kind_eventfd(k) ? 8 : OUT_LEN;

	switch (k->opcode) {
	case ROOST_OP_RECVMSG:
	case ROOST_OP_SENDMSG:
		s->iov = (struct iovec){ buffer, len };
		s->msg = (struct msghdr){ .msg_iov = &s->iov, .msg_iovlen = 1 };
		return sqe_msg(k->opcode, op_id, s->fd, &s->msg);
	case ROOST_OP_SEND_RECV:
		return sqe_send_recv(op_id, s->fd, s->out, len, s->in, len);
	default:
		return sqe_io(k->opcode, op_id, s->fd, buffer, len);
	}
}

/* Poison for a buffer that is not to be touched. */
static inline void poison(char *buffer)
{
	memset(buffer, 0x5a, OUT_LEN);
}

static inline bool poisoned(const char *buffer)
{
	unsigned int i;

	for (i = 0; i < OUT_LEN; i++)
		if (buffer[i] != 0x5a)
			return false;
	return true;
}

#endif /* ROOST_TEST_IO_KINDS_H */
