// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * entry.c - entries: mostly such as do something, at times with one thing wrong,
 * at times nonsense.
 *
 * The sequence numbers seen last are shared by all threads without a lock, so
 * that some come twice, too late or from nowhere.
 */
#include "fuzz.h"

#define INDICES		64

static uint32_t sequences[4][INDICES];	/* timers, polls, I/O ops, files */

enum class { TIMERS, POLLS, IOS, FILES };

static uint32_t any_index(struct rng *r)
{
	if (one_in(r, 64))
		return one_in(r, 2) ? (uint32_t)rnd(r) : INDICES + below(r, 1024);
	return below(r, one_in(r, 2) ? INDICES : 8);
}

/* A new op of an index, or what is left of an older one. */
static uint64_t new_id(struct rng *r, enum class class)
{
	uint32_t index = any_index(r), *last = &sequences[class][index % INDICES];

	if (one_in(r, 24))
		return roost_op_id(index, *last - below(r, 3));
	if (one_in(r, 512))
		*last += 0x7ffffff0;	/* it wraps */
	return roost_op_id(index, *last += 1 + one_in(r, 16));
}

static uint64_t old_id(struct rng *r, enum class class)
{
	uint32_t index = any_index(r);

	if (one_in(r, 24))
		return rnd(r);
	return roost_op_id(index, sequences[class][index % INDICES] +
			   (one_in(r, 8) ? below(r, 3) - 1 : 0));
}

/* Soon, most of the time. */
static uint64_t any_deadline(struct rng *r)
{
	switch (below(r, 16)) {
	case 0:	return 0;
	case 1:	return below(r, 1000);
	case 2:	return rnd(r);
	case 3:	return ROOST_MAX_DEADLINE - below(r, 2) + one_in(r, 4);
	case 4:	return now_ns() + (uint64_t)below(r, 1000) * SEC;
	case 5:	return now_ns() - below(r, 1000000);
	default: return now_ns() + below(r, one_in(r, 2) ? 200000 : 20000000);
	}
}

static uint32_t any_length(struct rng *r)
{
	switch (below(r, 16)) {
	case 0:	return 0;
	case 1:	return (uint32_t)rnd(r);
	case 2:	return 65536 + below(r, 65536);
	case 3:	return 4096 + below(r, 8192);
	default: return 1 + below(r, 512);
	}
}

static uint32_t any_msg_flags(struct rng *r)
{
	static const uint32_t flags[] = {
		MSG_PEEK, MSG_DONTWAIT, MSG_OOB, MSG_TRUNC, MSG_ERRQUEUE,
		MSG_WAITALL, MSG_MORE, MSG_EOR, MSG_NOSIGNAL, MSG_ZEROCOPY,
		MSG_FASTOPEN, MSG_CMSG_CLOEXEC, MSG_CONFIRM, 1U << 31,
	};

	if (!one_in(r, 6))
		return 0;
	return flags[below(r, sizeof(flags) / sizeof(flags[0]))] |
	       (one_in(r, 4) ? flags[below(r, 4)] : 0);
}

/* A message, written where it may be changed while it is looked at. */
static uint64_t make_message(struct rng *r)
{
	char *where = (char *)((uintptr_t)arena_buffer(r) & ~63UL);
	struct iovec iov[4];
	struct msghdr msg = {
		.msg_iov = (void *)(where + 128),
		.msg_iovlen = below(r, 5),
	};
	unsigned int i;

	for (i = 0; i < 4; i++) {
		iov[i].iov_base = (void *)(uintptr_t)any_address(r);
		iov[i].iov_len = any_length(r);
	}
	if (one_in(r, 2)) {
		msg.msg_control = (void *)(uintptr_t)any_address(r);
		msg.msg_controllen = below(r, 256);
	}
	if (one_in(r, 4)) {
		msg.msg_name = (void *)(uintptr_t)any_address(r);
		msg.msg_namelen = below(r, 160);
	}
	if (one_in(r, 32))
		msg.msg_iovlen = rnd(r) >> below(r, 64);
	poke_bytes(where, &msg, sizeof(msg));
	poke_bytes(where + 128, iov, sizeof(iov));
	return one_in(r, 16) ? hostile_address(r) : (uintptr_t)where;
}

static void fill_io(struct rng *r, struct roost_sqe *sqe)
{
	uint32_t file;

	sqe->op_id = new_id(r, IOS);
	sqe->fd = any_fd(r);
	if (one_in(r, 3)) {
		file = (uint32_t)sqe->fd % INDICES;
		sqe->flags |= ROOST_SQE_FILE;
		/* this file, an older one, or the next of the number */
		sqe->file_seq = sequences[FILES][file] += one_in(r, 12);
		if (one_in(r, 16))
			sqe->file_seq += below(r, 3) - 1;
	}
	if (one_in(r, 4))
		sqe->deadline = any_deadline(r);
	if (sqe->opcode == ROOST_OP_RECVMSG || sqe->opcode == ROOST_OP_SENDMSG) {
		sqe->addr = make_message(r);
		sqe->msg_flags = any_msg_flags(r);
		return;
	}
	sqe->addr = any_address(r);
	sqe->len = any_length(r);
	if (sqe->opcode == ROOST_OP_READ || sqe->opcode == ROOST_OP_WRITE) {
		sqe->offset = one_in(r, 4) ? below(r, 65536) : ROOST_OFFSET_NONE;
		return;
	}
	sqe->msg_flags = any_msg_flags(r);
	if (sqe->opcode == ROOST_OP_SEND_RECV) {
		sqe->addr2 = any_address(r);
		sqe->len2 = any_length(r);
	}
}

static void fill(struct rng *r, struct roost_sqe *sqe)
{
	switch (sqe->opcode) {
	case ROOST_OP_TIMER_SET:
		sqe->op_id = new_id(r, TIMERS);
		sqe->deadline = any_deadline(r);
		break;
	case ROOST_OP_POLL_ADD:
		sqe->op_id = new_id(r, POLLS);
		sqe->fd = one_in(r, 16) ? any_roost_fd(r) : any_fd(r);
		sqe->events = one_in(r, 8) ? (uint32_t)rnd(r) & 0x3fff :
					     1U << below(r, 4);
		sqe->flags = one_in(r, 2) ? ROOST_POLL_MULTISHOT : 0;
		break;
	case ROOST_OP_TIMER_CANCEL:
	case ROOST_OP_POLL_REMOVE:
	case ROOST_OP_CANCEL:
	case ROOST_OP_FILE_REMOVE:
		sqe->op_id = old_id(r, sqe->opcode == ROOST_OP_TIMER_CANCEL ? TIMERS :
				    sqe->opcode == ROOST_OP_POLL_REMOVE ? POLLS :
				    sqe->opcode == ROOST_OP_CANCEL ? IOS : FILES);
		sqe->flags = one_in(r, 2) ? ROOST_SQE_QUIET : 0;
		break;
	case ROOST_OP_WAKE:
		sqe->op_id = rnd(r);
		sqe->worker = below(r, 8);
		break;
	default:
		if (sqe->opcode >= ROOST_OP_RECV && sqe->opcode < ROOST_OP_NR)
			fill_io(r, sqe);
		else
			sqe->op_id = rnd(r);
	}
}

/*
 * One bit wrong.  Not in addresses: those are wrong in their own way, so that
 * nothing is written where this program lives.
 */
static void spoil(struct rng *r, struct roost_sqe *sqe)
{
	unsigned int bit = below(r, 8 * sizeof(*sqe));
	unsigned int at = bit / 8;

	if (at >= offsetof(struct roost_sqe, addr) &&
	    at < offsetof(struct roost_sqe, len))
		return;
	((unsigned char *)sqe)[at] ^= (unsigned char)(1U << bit % 8);
}

struct roost_sqe random_entry(struct rng *r)
{
	/* what waits and what ends it, more often than the rest */
	static const uint8_t often[] = {
		ROOST_OP_TIMER_SET, ROOST_OP_TIMER_SET, ROOST_OP_POLL_ADD,
		ROOST_OP_POLL_ADD, ROOST_OP_RECV, ROOST_OP_RECV, ROOST_OP_SEND,
		ROOST_OP_SEND_RECV, ROOST_OP_CANCEL, ROOST_OP_READ,
	};
	struct roost_sqe sqe = {
		.opcode = one_in(r, 2) ? often[below(r, sizeof(often))] :
					 (uint8_t)below(r, ROOST_OP_NR),
	};
	unsigned int op;

	if (one_in(r, 128))
		sqe.opcode = (uint8_t)rnd(r);
	fill(r, &sqe);
	if (one_in(r, 16))
		spoil(r, &sqe);
	op = sqe.opcode < ROOST_OP_NR ? sqe.opcode : ROOST_OP_NR;
	atomic_fetch_add(&shared->entries[op], 1);
	return sqe;
}
