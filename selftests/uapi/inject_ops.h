/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * inject_ops.h - the opcodes of inject_test.c, one row each way of using one.
 *
 * A row's sqe() gives the index in op_id; the sequence is put there later.
 */
#ifndef ROOST_TEST_INJECT_OPS_H
#define ROOST_TEST_INJECT_OPS_H

#define LEN	32

/* What sockets say if the kernel has no memory, or cannot copy. */
#define OF_SOCKETS	{ ENOMEM, ENOBUFS, EFAULT }

/* Completions that are still to come, until nothing is armed. */
static void quiet(struct world *x)
{
	struct roost_domain_stat s;
	struct roost_cqe cqe;

	do {
		while (pop(&x->w, &cqe))
			;
		s = stat_of(&x->d);
		if (!s.timers_pending && !s.polls_armed && !s.ios_pending)
			return;
		sleep_ns(MSEC);
	} while (now_ns() < x->limit);
}

static void end_it(struct world *x, struct roost_sqe sqe)
{
	check(submit_one(&x->w, sqe) == 1);
	quiet(x);
}

static struct roost_sqe nop(struct world *x)
{
	return sqe_nop(0);
}

static struct roost_sqe skip(struct world *x)
{
	return (struct roost_sqe){ .opcode = ROOST_OP_SKIP };
}

static struct roost_sqe wake_itself(struct world *x)
{
	return (struct roost_sqe){ .opcode = ROOST_OP_WAKE };
}

static void take_permit(struct world *x, int ret)
{
	uint32_t outcome;

	if (ret > 0)
		check(park(&x->d, &x->w, x->limit, &outcome) == 0);
}

static struct roost_sqe timer_set(struct world *x)
{
	return sqe_timer(0, 0, now_ns() + 3600 * SEC);
}

static void timer_end(struct world *x, int ret)
{
	end_it(x, sqe_timer_cancel(0, ++x->sequence, ROOST_SQE_QUIET));
}

static struct roost_sqe timer_cancel(struct world *x)
{
	return sqe_timer_cancel(0, 0, 0);
}

static void make_event(struct world *x)
{
	if (x->event < 0)
		x->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	check(x->event >= 0);
}

static struct roost_sqe poll_add(struct world *x)
{
	return sqe_poll(0, 0, x->event, POLLIN, 0);
}

static struct roost_sqe poll_multishot(struct world *x)
{
	return sqe_poll(0, 0, x->event, POLLIN, ROOST_POLL_MULTISHOT);
}

static struct roost_sqe poll_ready(struct world *x)
{
	return sqe_poll(0, 0, x->event, POLLOUT, 0);
}

static void poll_end(struct world *x, int ret)
{
	end_it(x, sqe_poll_remove(0, ++x->sequence, ROOST_SQE_QUIET));
}

static struct roost_sqe poll_remove(struct world *x)
{
	return sqe_poll_remove(0, 0, 0);
}

/* What is armed is replaced, also by an op that fails. */
static void before_replace(struct world *x)
{
	make_event(x);
	check(submit_one(&x->w, sqe_poll(0, ++x->sequence, x->event, POLLIN,
					 0)) == 1);
}

static void replaced(struct world *x, int ret)
{
	check(stat_of(&x->d).polls_armed == !ret);
	poll_end(x, ret);
}

static void make_unix(struct world *x)
{
	if (x->s[0] < 0)
		unix_pair(x->s, SOCK_STREAM);
}

static void make_unix_dgram(struct world *x)
{
	if (x->s[0] < 0)
		unix_pair(x->s, SOCK_DGRAM);
}

static void make_tcp(struct world *x)
{
	if (x->s[0] < 0)
		tcp_pair(x->s);
}

static void make_udp(struct world *x)
{
	struct sockaddr_in a[2];

	if (x->s[0] >= 0)
		return;
	udp_pair(x->s, a);
	x->name = a[1];
	check(connect(x->s[0], (struct sockaddr *)&a[1], sizeof(a[1])) == 0);
	check(connect(x->s[1], (struct sockaddr *)&a[0], sizeof(a[0])) == 0);
}

/* Exactly one message is there to be received. */
static void fill(struct world *x)
{
	struct pollfd p = { .fd = x->s[0], .events = POLLIN };

	drain_socket(x->s[0]);
	check(send(x->s[1], x->out, LEN, MSG_NOSIGNAL) == LEN);
	check(poll(&p, 1, 10000) == 1);
}

static void unix_filled(struct world *x)
{
	make_unix(x);
	fill(x);
}

static void tcp_filled(struct world *x)
{
	make_tcp(x);
	fill(x);
}

static void udp_filled(struct world *x)
{
	make_udp(x);
	fill(x);
}

static struct roost_sqe recv_it(struct world *x)
{
	return sqe_recv(0, x->s[0], x->in, LEN);
}

static struct roost_sqe send_it(struct world *x)
{
	return sqe_send(0, x->s[0], x->out, LEN);
}

static struct roost_sqe read_it(struct world *x)
{
	return sqe_io(ROOST_OP_READ, 0, x->s[0], x->in, LEN);
}

static struct roost_sqe write_it(struct world *x)
{
	return sqe_io(ROOST_OP_WRITE, 0, x->s[0], x->out, LEN);
}

static struct roost_sqe send_recv_it(struct world *x)
{
	return sqe_send_recv(0, x->s[0], x->out, LEN, x->in, LEN);
}

static struct roost_sqe read_event(struct world *x)
{
	return sqe_io(ROOST_OP_READ, 0, x->event, x->in, 8);
}

static void event_there(struct world *x)
{
	uint64_t one = 1, was;

	make_event(x);
	while (read(x->event, &was, sizeof(was)) > 0)
		;
	check(write(x->event, &one, sizeof(one)) == 8);
}

/* What has gone to the other end is taken from there. */
static void sent(struct world *x, int ret)
{
	drain_socket(x->s[1]);
	quiet(x);
}

static void cancel_end(struct world *x, int ret)
{
	/* the op is the newest of its index */
	end_it(x, sqe_cancel(roost_op_id(0, x->sequence), ROOST_SQE_QUIET));
}

static struct roost_sqe cancel_unseen(struct world *x)
{
	return sqe_cancel(0, 0);
}

static struct roost_sqe registered(struct roost_sqe sqe)
{
	return on_file(sqe, 1);
}

/* Forgets the file, whether it came to be known or not; the next is another. */
static void forget(struct world *x)
{
	const int fds[] = { x->s[0], x->event };
	struct roost_cqe cqe;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (fds[i] < 0)
			continue;
		cqe = do_now(&x->w, sqe_file_remove(fds[i], 1, 0));
		check(cqe.res == 0 || cqe.res == -ENOENT);
	}
}

/* A number that was removed takes a newer sequence only: another descriptor. */
static void next_number(struct world *x)
{
	int s = fcntl(x->s[0], F_DUPFD_CLOEXEC, x->s[0] + 1);

	check(s >= 0);
	close(x->s[0]);
	x->s[0] = s;
}

static void removed(struct world *x, int ret)
{
	forget(x);
	next_number(x);
	quiet(x);
}

static void sent_removed(struct world *x, int ret)
{
	sent(x, ret);
	removed(x, ret);
}

static struct roost_sqe recv_registered(struct world *x)
{
	return registered(recv_it(x));
}

static struct roost_sqe send_registered(struct world *x)
{
	return registered(send_it(x));
}

static struct roost_sqe send_recv_registered(struct world *x)
{
	return registered(send_recv_it(x));
}

static struct roost_sqe file_remove(struct world *x)
{
	/* the index is the file's number */
	return sqe_file_remove(3, 0, 0);
}

/* A message with an address, and with a descriptor where there can be one. */
static void make_msg(struct world *x, void *buffer, bool rights)
{
	struct cmsghdr *c;

	x->iov = (struct iovec){ buffer, LEN };
	x->msg = (struct msghdr){ .msg_iov = &x->iov, .msg_iovlen = 1 };
	memset(x->control, 0, sizeof(x->control));
	if (!rights)
		return;
	x->msg.msg_control = x->control;
	x->msg.msg_controllen = sizeof(x->control);
	c = CMSG_FIRSTHDR(&x->msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &x->dev, sizeof(int));
}

static void rights_to_send(struct world *x)
{
	make_unix(x);
	make_msg(x, x->out, true);
}

static void rights_there(struct world *x)
{
	make_unix(x);
	drain_socket(x->s[0]);
	make_msg(x, x->out, true);
	check(sendmsg(x->s[1], &x->msg, 0) == LEN);
	make_msg(x, x->in, true);
}

/* The descriptor that came is closed; after a failure there may be none. */
static void rights_taken(struct world *x, int ret)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(&x->msg);
	int fd;

	if (ret == LEN && c && c->cmsg_type == SCM_RIGHTS &&
	    x->msg.msg_controllen) {
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
		check(fd != x->dev && close(fd) == 0);
	}
	drain_socket(x->s[0]);
	quiet(x);
}

static void named(struct world *x)
{
	make_udp(x);
	make_msg(x, x->out, false);
	x->msg.msg_name = &x->name;
	x->msg.msg_namelen = sizeof(x->name);
}

static void name_there(struct world *x)
{
	static struct sockaddr_in from;

	udp_filled(x);
	make_msg(x, x->in, false);
	x->msg.msg_name = &from;
	x->msg.msg_namelen = sizeof(from);
}

static struct roost_sqe recvmsg_it(struct world *x)
{
	return sqe_msg(ROOST_OP_RECVMSG, 0, x->s[0], &x->msg);
}

static struct roost_sqe sendmsg_it(struct world *x)
{
	return sqe_msg(ROOST_OP_SENDMSG, 0, x->s[0], &x->msg);
}

#define OP(name, opcode, result) \
	.what = (name), .level = CARRIER, .sqe = (opcode), .good = (result)
#define ARMS(name, opcode)	OP(name, opcode, 0), .waits = true

static const struct row ops[] = {
	{ OP("NOP", nop, 0) },
	{ OP("SKIP", skip, 0) },
	{ OP("WAKE", wake_itself, 1), .after = take_permit },
	{ ARMS("TIMER_SET", timer_set), .errors = { ENOMEM },
	  .after = timer_end },
	{ OP("TIMER_CANCEL", timer_cancel, -ENOENT), .errors = { ENOMEM } },
	{ ARMS("POLL_ADD", poll_add), .errors = { ENOMEM },
	  .before = make_event, .after = poll_end },
	{ ARMS("POLL_ADD, multishot", poll_multishot), .errors = { ENOMEM },
	  .before = make_event, .after = poll_end },
	{ OP("POLL_ADD, ready", poll_ready, POLLOUT), .errors = { ENOMEM },
	  .before = make_event },
	{ ARMS("POLL_ADD, replacing", poll_add), .errors = { ENOMEM },
	  .before = before_replace, .after = replaced },
	{ OP("POLL_REMOVE", poll_remove, -ENOENT), .errors = { ENOMEM } },
	{ ARMS("RECV, waiting", recv_it), .errors = { ENOMEM },
	  .before = make_unix, .after = cancel_end },
	{ OP("RECV, unix", recv_it, LEN), .errors = OF_SOCKETS,
	  .before = unix_filled },
	{ OP("RECV, TCP", recv_it, LEN), .errors = OF_SOCKETS,
	  .before = tcp_filled },
	{ OP("RECV, UDP", recv_it, LEN), .errors = OF_SOCKETS,
	  .before = udp_filled },
	{ OP("SEND, unix", send_it, LEN), .errors = OF_SOCKETS,
	  .before = make_unix, .after = sent },
	{ OP("SEND, unix datagram", send_it, LEN), .errors = OF_SOCKETS,
	  .before = make_unix_dgram, .after = sent },
	{ OP("SEND, TCP", send_it, LEN), .errors = OF_SOCKETS,
	  .before = make_tcp, .after = sent },
	{ OP("SEND, UDP", send_it, LEN), .errors = OF_SOCKETS,
	  .before = make_udp, .after = sent },
	{ OP("RECVMSG, a descriptor", recvmsg_it, LEN), .errors = OF_SOCKETS,
	  .before = rights_there, .after = rights_taken },
	{ OP("RECVMSG, a name", recvmsg_it, LEN), .errors = OF_SOCKETS,
	  .before = name_there },
	{ OP("SENDMSG, a descriptor", sendmsg_it, LEN),
	  .errors = { ENOMEM, ENOBUFS, EFAULT, EAGAIN },
	  .before = rights_to_send, .after = sent },
	{ OP("SENDMSG, a name", sendmsg_it, LEN), .errors = OF_SOCKETS,
	  .before = named, .after = sent },
	{ OP("READ, socket", read_it, LEN), .errors = OF_SOCKETS,
	  .before = unix_filled },
	{ OP("READ, eventfd", read_event, 8), .errors = { ENOMEM, EFAULT },
	  .before = event_there },
	{ OP("WRITE, socket", write_it, LEN), .errors = OF_SOCKETS,
	  .before = make_unix, .after = sent },
	{ OP("SEND_RECV", send_recv_it, LEN), .errors = OF_SOCKETS,
	  .before = unix_filled, .after = sent },
	{ OP("SEND_RECV, TCP", send_recv_it, LEN), .errors = OF_SOCKETS,
	  .before = tcp_filled, .after = sent },
	{ OP("CANCEL", cancel_unseen, -ECANCELED), .errors = { ENOMEM } },
	{ OP("RECV, registered", recv_registered, LEN), .errors = OF_SOCKETS,
	  .before = unix_filled, .after = removed },
	{ OP("SEND, registered", send_registered, LEN), .errors = OF_SOCKETS,
	  .before = make_unix, .after = sent_removed },
	{ OP("SEND_RECV, registered", send_recv_registered, LEN),
	  .errors = OF_SOCKETS, .before = unix_filled,
	  .after = sent_removed },
	{ OP("FILE_REMOVE", file_remove, -ENOENT), .errors = { ENOMEM } },
};

#endif /* ROOST_TEST_INJECT_OPS_H */
