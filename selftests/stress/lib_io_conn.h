/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * lib_io_conn.h - the connections of lib_io_test, and how a fault is told.
 */
#ifndef ROOST_SELFTESTS_STRESS_LIB_IO_CONN_H
#define ROOST_SELFTESTS_STRESS_LIB_IO_CONN_H

#include "../runtime/run.h"
#include "lib_io_stream.h"

#define NEAR_SIZE	4096		/* a buffer on an actor's stack */
#define FAR_SIZE	16384		/* on the heap */
#define NR_PAST		12

/* What an end does with its descriptor. */
enum way { SENDS, RECEIVES, WAYS };

/* How a round ends before all has arrived. */
enum cut {
	WHOLE,
	CUT_CLOSED,		/* closed when nobody uses it any more */
	CUT_UNDER,		/* roost_close() under whoever waits */
	CUT_SHUTDOWN,		/* shutdown(2) under whoever waits */
	CUTS,
};

/* One operation that was, for the report. */
struct past {
	const char *call;
	uint64_t position;
	size_t len;
	ssize_t result;
	size_t sent;
	uint64_t deadline;
};

struct conn;
struct end;

/**
 * struct half - one direction of a connection, as one end sees it
 * @end:	whose
 * @way:	which
 * @key:	of the stream
 * @length:	of the stream
 * @position:	what was sent or received
 * @unknown:	so much more may have been sent
 * @over:	nothing is left to be done, or can be
 * @far:	a buffer on the heap
 * @past:	the last operations
 * @nr_past:	how many there have been
 *
 * Belongs to one actor at a time; who goes on with it finds it as it was left.
 */
struct half {
	struct end *end;
	enum way way;
	uint64_t key;
	uint64_t length;
	_Atomic uint64_t position;
	uint64_t unknown;
	_Atomic bool over;
	unsigned char *far;
	struct past past[NR_PAST];
	unsigned long nr_past;
};

/**
 * struct actor - who works at an end
 * @end:	which
 * @pid:	or ROOST_PID_NONE
 * @firm:	is not stopped
 * @ops:	ends after so many
 * @most:	bytes of one operation
 * @lazy:	sleeps between them so often, in percent
 * @random:	its numbers
 * @near:	its buffer, on its stack
 */
struct actor {
	struct end *end;
	roost_pid pid;
	bool firm;
	unsigned int ops;
	size_t most;
	unsigned int lazy;
	uint64_t random;
	unsigned char *near;
};

struct end {
	struct conn *conn;
	unsigned int side;
	int fd;
	bool managed;
	_Atomic bool closed;
	struct half half[WAYS];
	struct actor actor[WAYS];
	uint64_t random;
};

struct conn {
	unsigned int number;
	bool tcp;
	bool calm;		/* no deadlines, no stops: nothing makes good
				 * for a wake that is lost */
	bool shuts;		/* senders shut down when all is sent */
	int listener;
	unsigned long round;
	uint64_t random;
	enum cut cut;
	unsigned int cut_after;	/* changes of actors at end 0 */
	_Atomic bool cut_begun;
	bool kept;		/* the files are those of the round before */
	_Atomic unsigned long progress;
	struct end end[2];
};

enum count {
	OPS, BYTES, PARTIAL, TIMED_OUT, PART_TIMED_OUT, STOPPED, PART_STOPPED,
	PEEKED, SEND_RECVS, BROKEN, CLOSED_UNDER, KEPT, COUNTS
};

static const char *const count_names[COUNTS] = {
	"operations", "bytes received", "partial sends", "timed out",
	"timed out with a part sent", "stopped", "stopped with a part sent",
	"peeked", "sent and received", "broken by the peer", "closed meanwhile",
	"kept for the next round",
};

static _Atomic unsigned long counts[COUNTS];
static uint64_t seed;

static inline void count_add(enum count c, unsigned long n)
{
	atomic_fetch_add_explicit(&counts[c], n, memory_order_relaxed);
}

/* Reporting */

static inline unsigned int direction(const struct half *h)
{
	return h->way == SENDS ? h->end->side : 1 - h->end->side;
}

static inline void tell_half(const struct half *h)
{
	unsigned long i = h->nr_past < NR_PAST ? 0 : h->nr_past - NR_PAST;

	printf("#  %s %s, at %lu of %lu%s; fd %d %smanaged\n",
	       direction(h) ? "1 to 0" : "0 to 1",
	       h->way == SENDS ? "sent" : "received",
	       (unsigned long)atomic_load(&h->position),
	       (unsigned long)h->length, atomic_load(&h->over) ? ", over" : "",
	       h->end->fd, h->end->managed ? "" : "not ");
	for (; i < h->nr_past; i++) {
		const struct past *p = &h->past[i % NR_PAST];

		printf("#    %s at %lu, %zu bytes, deadline %llu: %zd (sent %zu)\n",
		       p->call, (unsigned long)p->position, p->len,
		       (unsigned long long)p->deadline, p->result, p->sent);
	}
}

static inline void tell_conn(const struct conn *c)
{
	unsigned int i;

	printf("#  connection %u (%s), round %lu, cut %d%s, seed 0x%llx\n",
	       c->number, c->tcp ? "TCP" : "unix", c->round, c->cut,
	       atomic_load(&c->cut_begun) ? ", begun" : "",
	       (unsigned long long)seed);
	for (i = 0; i < 4; i++)
		tell_half(&c->end[i / 2].half[i % 2]);
}

static inline __attribute__((noreturn)) void end_badly(void)
{
	printf("not ok 1 - streams\n");
	fflush(stdout);
	_exit(1);
}

/* Nothing that comes after the first fault says more.  Ends the process. */
static inline __attribute__((noreturn, format(printf, 3, 4))) void
bad(const struct half *h, uint64_t offset, const char *format, ...)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	va_list args;

	while (atomic_flag_test_and_set(&said))
		pause();
	printf("# connection %u, direction %u, offset %llu, seed 0x%llx: ",
	       h->end->conn->number, direction(h), (unsigned long long)offset,
	       (unsigned long long)seed);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf(" (now %llu)\n", (unsigned long long)roost_now());
	tell_conn(h->end->conn);
	end_badly();
}

/* A call has returned. */
static inline void note(struct half *h, const char *call, size_t len,
			ssize_t result, size_t sent, uint64_t deadline)
{
	h->past[h->nr_past++ % NR_PAST] = (struct past){
		.call = call, .position = atomic_load(&h->position),
		.len = len, .result = result, .sent = sent,
		.deadline = deadline,
	};
	count_add(OPS, 1);
}

#endif /* ROOST_SELFTESTS_STRESS_LIB_IO_CONN_H */
