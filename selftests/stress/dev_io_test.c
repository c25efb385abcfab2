// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * dev_io_test.c - I/O in the ring, at random, on the bare device.
 *
 * 64 connections, unix and TCP, are written and read by I/O ops at both ends;
 * several threads, each a worker, submit from their rings, enter and park. Ops
 * come with random lengths, peeks, deadlines and cancels, on files of their own
 * and registered ones. Each connection carries one known stream of bytes in each
 * direction, so every byte that arrives is checked: none is lost, doubled, or
 * out of order, whatever is cancelled.
 *
 *	ROOST_ROUNDS	ops to complete (20,000; 200,000 for a long run)
 *	ROOST_WORKERS	workers (3)
 *	ROOST_SEED	where the random numbers start; printed
 *
 * Prints TAP.
 */
#define _GNU_SOURCE
#include <stdatomic.h>

#include "../uapi/io_help.h"

#define PAIRS		64
#define ENDS		(2 * PAIRS)
#define MAX_WORKERS	16
#define BUFFER		2048

/* An end writes one stream and reads another; one op each at a time. */
enum half { READER, WRITER, HALVES };

/*
 * One op: @end's reader or writer, index 2 * end + half. Its buffer and numbers
 * belong to who submits it, and to who takes its completion.
 */
struct op {
	uint32_t sequence;
	uint32_t len;
	bool peek;
	bool pending;
	uint64_t position;	/* bytes of its stream that are done */
	char *buffer;
};

struct place {
	struct wrk w;
	pthread_t thread;
	uint64_t seed;
	unsigned int later[ENDS * HALVES], nr_later;
	unsigned long done, cancels, cancelled, timeouts, again, enters, parks;
};

static struct dom d;
static int fds[ENDS];
static struct op ops[ENDS * HALVES];
static struct place place[MAX_WORKERS];
static unsigned int nr_workers;
static _Atomic unsigned long left;	/* ops still to be submitted */
static _Atomic unsigned long running;	/* ops that are or will be submitted */
static _Atomic unsigned long bad_bytes, bad_results, doubled, stray;

/* The byte at a position of the stream that @end writes. */
static char stream_byte(unsigned int end, uint64_t position)
{
	return (char)((position * 0x9e3779b97f4a7c15ULL + end * 40503) >> 33);
}

static bool stopping(void)
{
	return atomic_load(&left) == 0;
}

/* One more op may be submitted; with the end in sight, none. */
static bool take_ticket(void)
{
	unsigned long n = atomic_load(&left);

	while (n)
		if (atomic_compare_exchange_weak(&left, &n, n - 1))
			return true;
	return false;
}

static struct roost_sqe next_entry(struct place *p, unsigned int index)
{
	enum half half = index % HALVES;
	unsigned int end = index / HALVES, i;
	uint64_t dice = random_next(&p->seed);
	struct op *op = &ops[index];
	struct roost_sqe sqe;
	bool turn;

	/* by turns the readers wait, and the writers */
	turn = op->sequence >> 6 & 1;
	op->len = 1 + (uint32_t)(dice >> 8) %
		      (turn == (half == WRITER) && dice & 7 ? 32 : BUFFER);
	op->peek = half == READER && (dice >> 1) % 8 == 0;
	/* after pending was cleared; pairs with the acquire in may_cancel() */
	__atomic_store_n(&op->sequence, op->sequence + 1, __ATOMIC_RELEASE);
	if (half == WRITER)
		for (i = 0; i < op->len; i++)
			op->buffer[i] = stream_byte(end, op->position + i);
	sqe = sqe_io(half == READER ? ROOST_OP_RECV : ROOST_OP_SEND,
		     roost_op_id(index, op->sequence), fds[end], op->buffer,
		     op->len);
	if (op->peek)
		sqe.msg_flags = MSG_PEEK;
	/* READ and WRITE are the same here */
	if (!op->peek && (dice >> 4) % 4 == 0) {
		sqe.opcode = half == READER ? ROOST_OP_READ : ROOST_OP_WRITE;
		sqe.offset = ROOST_OFFSET_NONE;
	}
	if ((dice >> 24) % 8 == 0)
		sqe.deadline = now_ns() + (dice >> 32) % (2 * MSEC);
	/* half of the ends are registered, for good */
	return end % 4 < 2 ? on_file(sqe, 1) : sqe;
}

static void submit_op(struct place *p, unsigned int index)
{
	struct op *op = &ops[index];
	struct roost_sqe sqe = next_entry(p, index);
	uint64_t id = sqe.op_id;

	__atomic_store_n(&op->pending, true, __ATOMIC_RELEASE);
	push(&p->w, &sqe);
	if (random_next(&p->seed) % 16)
		return;
	/* called off at once, or by and by, by whoever does not know better */
	sqe = sqe_cancel(id, ROOST_SQE_QUIET);
	push(&p->w, &sqe);
	p->cancels++;
}

static void check_read(struct op *op, unsigned int end, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (op->buffer[i] != stream_byte(end ^ 1, op->position + i))
			bad_bytes++;
}

/* The next op of an index, or its end. */
static void go_on(struct place *p, unsigned int index)
{
	if (take_ticket())
		submit_op(p, index);
	else
		atomic_fetch_sub(&running, 1);
}

/* At once or after a while, so that the other half has to wait. */
static void go_on_later(struct place *p, unsigned int index)
{
	if (random_next(&p->seed) % 2)
		go_on(p, index);
	else
		p->later[p->nr_later++] = index;
}

/* The one completion of an op. */
static void completed(struct place *p, const struct roost_cqe *cqe)
{
	unsigned int index = roost_op_index(cqe->user_data);
	struct op *op;

	if (cqe_kind(cqe) != ROOST_CQE_IO || index >= ENDS * HALVES) {
		stray++;
		return;
	}
	op = &ops[index];
	if (roost_op_sequence(cqe->user_data) != op->sequence) {
		stray++;
		return;
	}
	if (!__atomic_exchange_n(&op->pending, false, __ATOMIC_ACQ_REL)) {
		doubled++;
		return;
	}
	p->done++;
	if (cqe->res > 0) {
		if ((uint32_t)cqe->res > op->len)
			bad_results++;
		if (index % HALVES == READER)
			check_read(op, index / HALVES, (uint32_t)cqe->res);
		if (!op->peek)
			op->position += (uint32_t)cqe->res;
	} else if (cqe->res == -ECANCELED) {
		p->cancelled++;
	} else if (cqe->res == -ETIMEDOUT) {
		p->timeouts++;
	} else {
		bad_results++;
		printf("# op %u: %d\n", index, cqe->res);
	}
	go_on_later(p, index);
}

/*
 * An entry that ends the op of an index if it is pending.  The sequence comes
 * first: of an op that is not pending yet nothing is to be cancelled.
 */
static bool may_cancel(unsigned int index, struct roost_sqe *sqe)
{
	struct op *op = &ops[index];
	uint32_t sequence = __atomic_load_n(&op->sequence, __ATOMIC_ACQUIRE);

	if (!__atomic_load_n(&op->pending, __ATOMIC_ACQUIRE))
		return false;
	*sqe = sqe_cancel(roost_op_id(index, sequence), ROOST_SQE_QUIET);
	return true;
}

/* Cancel something that another worker may have submitted. */
static void cancel_any(struct place *p)
{
	struct roost_sqe sqe;

	if (!may_cancel(random_next(&p->seed) % (ENDS * HALVES), &sqe))
		return;
	push(&p->w, &sqe);
	p->cancels++;
}

static void *worker_main(void *arg)
{
	struct place *p = arg;
	struct roost_cqe cqe;
	uint32_t event, outcome;
	struct roost_enter e;
	bool any;

	check(attach(&p->w) == 0);
	while (atomic_load(&running)) {
		event = sample(&d);
		any = false;
		while (staged(&p->w) + 4 < p->w.params.sq_entries &&
		       pop(&p->w, &cqe)) {
			/* a cancel that came too early or too late */
			if (cqe_kind(&cqe) == ROOST_CQE_CANCEL) {
				if (cqe.res != -ESTALE && cqe.res != -EBUSY)
					stray++;
				continue;
			}
			/* the op behind a cancel that overtook it */
			if (cqe.res == -ESTALE) {
				p->again++;
				continue;
			}
			completed(p, &cqe);
			any = true;
		}
		if (p->nr_later && (!any || stopping())) {
			go_on(p, p->later[--p->nr_later]);
			any = true;
		}
		if (!stopping() && random_next(&p->seed) % 32 == 0)
			cancel_any(p);
		if (any || staged(&p->w) || random_next(&p->seed) % 4 == 0) {
			e = (struct roost_enter){ .to_submit = staged(&p->w) };
			check(enter(&p->w, &e) == 0);
			p->enters++;
			continue;
		}
		/* the other threads may bring the end */
		check(park_with(&d, &p->w, event, now_ns() + 5 * MSEC,
				&outcome) == 0);
		p->parks++;
	}
	check(detach(&p->w) == 0);
	return NULL;
}

/*
 * What no op has any more: the rest of each stream is in its sockets, and in TCP
 * a reader has to wait for it.  One byte too many counts like one that is missing.
 */
static unsigned long check_rest(unsigned int end)
{
	struct pollfd look = { .fd = fds[end], .events = POLLIN };
	struct op *op = &ops[end * HALVES + READER];
	uint64_t sent = ops[(end ^ 1) * HALVES + WRITER].position;
	unsigned long missing;
	ssize_t n;

	while (poll(&look, 1, op->position < sent ?
				(int)(wide(2 * SEC) / MSEC) : 0) == 1) {
		n = recv(fds[end], op->buffer, BUFFER, MSG_DONTWAIT);
		if (n <= 0)
			break;
		check_read(op, end, (uint32_t)n);
		op->position += (uint64_t)n;
	}
	missing = op->position > sent ? op->position - sent :
					sent - op->position;
	if (missing)
		printf("# end %u: %llu sent, %llu received\n", end,
		       (unsigned long long)sent,
		       (unsigned long long)op->position);
	return missing;
}

static unsigned int failures, tests;

static void result(bool good, const char *what)
{
	failures += !good;
	printf("%sok %u - %s\n", good ? "" : "not ", ++tests, what);
}

static void make_pairs(void)
{
	unsigned int i;

	for (i = 0; i < PAIRS; i++) {
		if (i & 1)
			tcp_pair(&fds[2 * i]);
		else
			unix_pair(&fds[2 * i], SOCK_STREAM);
		set_option(fds[2 * i], SOL_SOCKET, SO_SNDBUF, 8192);
		set_option(fds[2 * i + 1], SOL_SOCKET, SO_SNDBUF, 8192);
	}
	for (i = 0; i < ENDS * HALVES; i++)
		ops[i].buffer = malloc(BUFFER);
}

/* Whoever waits at the end is called off. */
static void end_all(struct place *p)
{
	struct roost_sqe sqe;
	struct roost_cqe cqe;
	unsigned int i;

	while (!stopping())
		sleep_ns(MSEC);
	while (atomic_load(&running)) {
		for (i = 0; i < ENDS * HALVES; i++) {
			if (!may_cancel(i, &sqe))
				continue;
			check(submit_one(&p->w, sqe) == 1);
			while (pop(&p->w, &cqe))
				if (cqe_kind(&cqe) == ROOST_CQE_IO &&
				    cqe.res != -ESTALE)
					completed(p, &cqe);
		}
		while (p->nr_later)
			go_on(p, p->later[--p->nr_later]);
		sleep_ns(5 * MSEC);
	}
}

int main(void)
{
	unsigned long rounds = rounds_of("ROOST_ROUNDS", 20000), sum[6] = { 0 };
	uint64_t seed = env_number("ROOST_SEED", 1);
	unsigned long missing = 0, bytes = 0;
	struct roost_domain_stat st;
	unsigned int i, k = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	nr_workers = (unsigned int)env_number("ROOST_WORKERS", 3);
	check(nr_workers >= 1 && nr_workers < MAX_WORKERS);
	printf("TAP version 13\n1..5\n# seed %llu, %lu rounds, %u workers\n",
	       (unsigned long long)seed, rounds, nr_workers);
	seed = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	check(dom_make_io(&d, ENDS * HALVES, 1024) == 0);
	make_pairs();
	left = rounds;
	for (i = 0; i <= nr_workers; i++) {
		check(wrk_make(&place[i].w, &d, 1024, i ? 64 : 1024) == 0);
		place[i].seed = random_next(&seed);
	}
	/* everything begins in the rings, before anybody enters */
	for (i = 0; i < ENDS * HALVES; i++)
		if (take_ticket()) {
			running++;
			submit_op(&place[i % nr_workers], i);
		}
	for (i = 0; i < nr_workers; i++)
		check(pthread_create(&place[i].thread, NULL, worker_main,
				     &place[i]) == 0);
	/* the last place is that of who ends it */
	end_all(&place[nr_workers]);
	for (i = 0; i < nr_workers; i++)
		pthread_join(place[i].thread, NULL);
	for (i = 0; i <= nr_workers; i++) {
		sum[0] += place[i].done;
		sum[1] += place[i].cancelled;
		sum[2] += place[i].timeouts;
		sum[3] += place[i].cancels;
		sum[4] += place[i].parks;
		sum[5] += place[i].again;
	}
	for (k = 0; k < ENDS; k++)
		bytes += ops[k * HALVES + READER].position;
	for (k = 0; k < ENDS; k++)
		missing += check_rest(k);
	st = stat_of(&d);
	printf("# %lu ops, %lu bytes received, %lu cancels, %lu cancelled\n",
	       sum[0], bytes, sum[3], sum[1]);
	printf("# %lu timed out, %lu stale, %lu parks, %llu waits\n", sum[2],
	       sum[5], sum[4], (unsigned long long)st.ios_waited);
	result(!bad_bytes && !missing, "no byte is lost, doubled or wrong");
	result(!doubled && !stray, "every op completed once");
	result(!bad_results, "results are bytes, cancels or timeouts");
	result(sum[0] == rounds && bytes, "all ops were done");
	result(!st.ios_pending && st.ios_started == st.ios_done &&
	       !d.control->io_ready, "at the end nothing is pending");
	return failures != 0;
}
