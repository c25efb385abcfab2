// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * ring_io_test.c - operations that are given up: no byte is lost, none comes
 * late.  Sockets are received from and sent to with deadlines, stops and closes
 * in the middle; the streams are checked byte by byte.  Runs on both backends.
 *
 * ROOST_ROUNDS=n multiplies the rounds; ROOST_SEED chooses another course.
 */
#include <inttypes.h>

#include "io_help.h"

static unsigned long times(unsigned long usual)
{
	const char *text = getenv("ROOST_ROUNDS");
	unsigned long n = text ? strtoul(text, NULL, 0) : 1;

	return rounds(usual) * (n ? n : 1);
}

/* Byte @i of stream @key. */
static unsigned char byte_of(uint32_t key, uint64_t i)
{
	uint32_t x = (uint32_t)i * 2654435761U ^ key;

	return (unsigned char)(x >> 13 ^ x >> 24);
}

static void fill_stream(unsigned char *p, size_t len, uint32_t key, uint64_t at)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = byte_of(key, at + i);
}

static size_t nr_wrong(const unsigned char *p, size_t len, uint32_t key,
		       uint64_t at)
{
	size_t i, wrong = 0;

	for (i = 0; i < len; i++)
		wrong += p[i] != byte_of(key, at + i);
	return wrong;
}

static size_t nr_other(const unsigned char *p, size_t len, unsigned char c)
{
	size_t i, n = 0;

	for (i = 0; i < len; i++)
		n += p[i] != c;
	return n;
}

/* Data and deadline */

struct feeder {
	int fd;
	uint32_t key;
	uint64_t total;
};

/* Sends the stream in small pieces with pauses of about the deadlines' size. */
static void feeder_main(void *arg)
{
	struct feeder *f = arg;
	unsigned char buf[64];
	uint64_t at = 0;
	uint64_t rng;
	ssize_t n;

	rng = f->key;
	while (at < f->total) {
		size_t len = 1 + random_below(&rng, sizeof(buf) - 1);

		if (len > f->total - at)
			len = f->total - at;
		fill_stream(buf, len, f->key, at);
		n = roost_send(f->fd, buf, len, 0, soon());
		if (!CHECK_MSG(n > 0, "sent %zd at %" PRIu64, n, at))
			break;
		at += (uint64_t)n;
		if (random_below(&rng, 4))
			roost_sleep(random_below(&rng, 150000));
	}
}

#define POISON	0xa5

/*
 * One receive with a short deadline, into a frame that is filled with poison
 * before and after: what changes it between two calls came late.
 */
static ssize_t receive_a_bit(int fd, uint64_t *rng, unsigned char *frame,
			     size_t size, bool *dirty)
{
	size_t len = 1 + random_below(rng, size - 1);
	uint64_t wait = random_below(rng, 200000);
	ssize_t n;

	*dirty |= nr_other(frame, size, POISON);
	n = roost_recv(fd, frame, len, 0, roost_after(wait));
	*dirty |= n < 0 && nr_other(frame, size, POISON);
	return n;
}

static void race_deadlines(int *fd, uint32_t key, uint64_t total,
			   unsigned long *late)
{
	struct feeder f = { fd[1], key, total };
	unsigned char frame[256];
	roost_pid pid = spawn(feeder_main, &f);
	bool dirty = false;
	uint64_t at = 0;
	uint64_t rng;
	ssize_t n;

	rng = key + 1;
	memset(frame, POISON, sizeof(frame));
	while (at < total) {
		n = receive_a_bit(fd[0], &rng, frame, sizeof(frame), &dirty);
		if (n == -ETIMEDOUT) {
			++*late;
			continue;
		}
		if (!CHECK_MSG(n > 0, "received %zd at %" PRIu64, n, at))
			break;
		CHECK_EQ(nr_wrong(frame, (size_t)n, key, at), 0);
		at += (uint64_t)n;
		memset(frame, POISON, sizeof(frame));
	}
	CHECK(!dirty);
	CHECK_EQ(at, total);
	join(pid);
}

ACTOR_TEST(data_or_deadline, usually(2))
{
	uint32_t seed = (uint32_t)tap_seed(1);
	unsigned long late = 0;
	int fd[2];

	tcp_pair_managed(fd);
	race_deadlines(fd, seed, times(50000), &late);
	CHECK(late > 0);
	printf("# %lu deadlines passed\n", late);
	roost_close(fd[0]);
	roost_close(fd[1]);
}

/* Stops */

struct victim {
	int fd;
	bool send;
	uint32_t key;
	uint64_t at;		/* where its stream is; the test's own between two */
	ssize_t result;
	_Atomic bool late;
};

/*
 * Receives or sends until it is stopped.  The buffer is in the frame, and the
 * frame is filled with poison before the actor ends.
 */
static void victim_main(void *arg)
{
	struct victim *v = arg;
	unsigned char buf[512];
	size_t len;
	ssize_t n;

	memset(buf, POISON, sizeof(buf));
	for (;;) {
		len = 1 + v->at * 37 % sizeof(buf);
		if (v->send)
			fill_stream(buf, len, v->key, v->at);
		n = v->send ? roost_send(v->fd, buf, len, 0, ROOST_FOREVER) :
			      roost_recv(v->fd, buf, len, 0, ROOST_FOREVER);
		v->result = n;
		if (n <= 0)
			break;
		if (!v->send) {
			CHECK_EQ(nr_wrong(buf, (size_t)n, v->key, v->at), 0);
			memset(buf, POISON, sizeof(buf));
		}
		v->at += (uint64_t)n;
	}
	memset(buf, POISON, sizeof(buf));
	roost_yield();
	if (nr_other(buf, sizeof(buf), POISON))
		atomic_store(&v->late, true);
}

/*
 * One stream, @rounds victims one after the other, each stopped at a random time;
 * what one of them did not take the next one finds.
 */
static void stop_receivers(int *fd, uint32_t key, unsigned long rounds)
{
	struct victim v = { .fd = fd[0], .key = key };
	unsigned char buf[128];
	uint64_t sent = 0;
	uint64_t rng;
	roost_pid pid;

	rng = key;
	while (rounds--) {
		v.result = NEVER_RAN;
		pid = spawn(victim_main, &v);
		if (random_below(&rng, 2))
			roost_sleep(random_below(&rng, 100000));
		if (random_below(&rng, 4)) {
			size_t len = 1 + random_below(&rng, sizeof(buf) - 1);

			fill_stream(buf, len, key, sent);
			CHECK_EQ(roost_send(fd[1], buf, len, 0, soon()), len);
			sent += len;
		}
		if (random_below(&rng, 2))
			roost_sleep(random_below(&rng, 50000));
		CHECK_EQ(roost_stop(pid), 0);
		join(pid);
		CHECK(v.result == -ECANCELED || v.result == NEVER_RAN);
	}
	/* The rest is there, and nothing else. */
	while (v.at < sent) {
		ssize_t n = roost_recv(fd[0], buf, sizeof(buf), 0, soon());

		if (!CHECK(n > 0))
			break;
		CHECK_EQ(nr_wrong(buf, (size_t)n, key, v.at), 0);
		v.at += (uint64_t)n;
	}
	CHECK_EQ(v.at, sent);
	CHECK(!atomic_load(&v.late));
}

ACTOR_TEST(stop_a_receive_in_flight, usually(2))
{
	int fd[2];

	tcp_pair_managed(fd);
	stop_receivers(fd, (uint32_t)tap_seed(1), times(1000));
	roost_close(fd[0]);
	roost_close(fd[1]);
}

ACTOR_TEST(stop_a_send_in_flight, usually(2))
{
	struct victim v = { .send = true, .key = (uint32_t)tap_seed(1) };
	static unsigned char buf[65536];
	unsigned long left = times(200);
	uint64_t got = 0;
	uint64_t rng;
	roost_pid pid;
	ssize_t n;
	int fd[2];

	tcp_pair_managed(fd);
	v.fd = fd[0];
	rng = v.key;
	while (left--) {
		v.result = NEVER_RAN;
		pid = spawn(victim_main, &v);
		roost_sleep(random_below(&rng, 1000000));
		CHECK_EQ(roost_stop(pid), 0);
		join(pid);
		CHECK(v.result == -ECANCELED || v.result == NEVER_RAN);
		/* Some room: the next one gets to the end of it and waits. */
		n = roost_recv(fd[1], buf, 1 + random_below(&rng, sizeof(buf) - 1),
			       0, 0);
		if (n > 0) {
			CHECK_EQ(nr_wrong(buf, (size_t)n, v.key, got), 0);
			got += (uint64_t)n;
		}
	}
	while (got < v.at) {
		n = roost_recv(fd[1], buf, sizeof(buf), 0, soon());
		if (!CHECK(n > 0))
			break;
		CHECK_EQ(nr_wrong(buf, (size_t)n, v.key, got), 0);
		got += (uint64_t)n;
	}
	/* What was sent is what it said it had sent. */
	CHECK_EQ(got, v.at);
	CHECK_EQ(roost_recv(fd[1], buf, 1, 0, roost_after(ROOST_MSEC(20))),
		 -ETIMEDOUT);
	CHECK(!atomic_load(&v.late));
	roost_close(fd[0]);
	roost_close(fd[1]);
}

/* Closing, with the number used again at once */

ACTOR_TEST(close_under_a_receive, usually(2))
{
	unsigned long left = times(500);
	struct victim v = { 0 };
	roost_pid pid;
	int fd[2];

	while (left--) {
		tcp_pair_managed(fd);
		v = (struct victim){ .fd = fd[0], .key = (uint32_t)left };
		pid = spawn(victim_main, &v);
		if (left % 2)
			roost_sleep(left % 7 * 10000);
		CHECK_EQ(roost_close(fd[0]), 0);
		join(pid);
		CHECK(v.result == -ECANCELED || v.result == -EBADF);
		/* The peer is told: nobody holds the file. */
		CHECK_EQ(roost_recv(fd[1], &pid, 1, 0, soon()), 0);
		CHECK(!atomic_load(&v.late));
		roost_close(fd[1]);
	}
}

/* Many at once */

#define CONNECTIONS	64
#define PIECE		2000

/**
 * struct side - one end of a connection, and the actor at it
 * @fd:		the socket
 * @out_key:	the stream that it sends
 * @in_key:	the stream that it receives
 * @total:	bytes of each
 * @sent, @got:	how far it is
 * @gave_up:	operations that a deadline has ended
 * @rng:	what it does next
 * @in:		what it receives into; POISON between two calls
 */
struct side {
	int fd;
	uint32_t out_key, in_key;
	uint64_t total;
	uint64_t sent, got;
	unsigned long gave_up;
	uint64_t rng;
	unsigned char in[PIECE];
};

static void side_got(struct side *s, ssize_t n)
{
	if (n > 0) {
		CHECK_EQ(nr_wrong(s->in, (size_t)n, s->in_key, s->got), 0);
		s->got += (uint64_t)n;
		memset(s->in, POISON, sizeof(s->in));
	} else if (n == -ETIMEDOUT) {
		s->gave_up++;
	} else {
		/* The end is the other side's, when it has all. */
		CHECK(n == 0 && s->got == s->total);
	}
}

static size_t less_than_left(struct side *s, uint64_t done)
{
	size_t len = 1 + random_below(&s->rng, PIECE - 1);

	return len < s->total - done ? len : s->total - done;
}

static uint64_t short_deadline(struct side *s)
{
	return roost_after(random_below(&s->rng, 1000000));
}

static void side_send(struct side *s)
{
	size_t len = less_than_left(s, s->sent);
	unsigned char out[PIECE];
	ssize_t n;

	fill_stream(out, len, s->out_key, s->sent);
	n = roost_send(s->fd, out, len, 0, short_deadline(s));
	memset(out, POISON, sizeof(out));
	if (n == -ETIMEDOUT)
		s->gave_up++;
	else if (CHECK(n > 0))
		s->sent += (uint64_t)n;
}

static void side_receive(struct side *s)
{
	size_t len = 1 + random_below(&s->rng, PIECE - 1);

	CHECK_EQ(nr_other(s->in, sizeof(s->in), POISON), 0);
	side_got(s, roost_recv(s->fd, s->in, len, 0, short_deadline(s)));
}

static void side_both(struct side *s)
{
	size_t len = less_than_left(s, s->sent), sent;
	unsigned char out[PIECE];
	ssize_t n;

	CHECK_EQ(nr_other(s->in, sizeof(s->in), POISON), 0);
	fill_stream(out, len, s->out_key, s->sent);
	n = roost_send_recv(s->fd, out, len, s->in,
			    1 + random_below(&s->rng, PIECE - 1), 0,
			    short_deadline(s), &sent);
	memset(out, POISON, sizeof(out));
	CHECK(sent == len || n < 0);
	s->sent += sent;
	side_got(s, n);
}

static void side_main(void *arg)
{
	struct side *s = arg;

	memset(s->in, POISON, sizeof(s->in));
	while (s->sent < s->total || s->got < s->total) {
		unsigned int what = random_below(&s->rng, 8);

		if (what < 4 && s->sent < s->total && s->got < s->total)
			side_both(s);
		else if (what < 6 && s->sent < s->total)
			side_send(s);
		else if (s->got < s->total)
			side_receive(s);
		if (what == 7)
			roost_yield();
	}
}

static void crowd_start(struct side *sides, roost_pid *pids, uint64_t total)
{
	uint32_t seed = (uint32_t)tap_seed(1);
	int i, end, fd[2], size = 8192;

	for (i = 0; i < CONNECTIONS; i++) {
		tcp_pair_managed(fd);
		for (end = 0; end < 2; end++) {
			struct side *s = &sides[2 * i + end];

			/* Small, so that sends are short and wait. */
			setsockopt(fd[end], SOL_SOCKET, SO_SNDBUF, &size,
				   sizeof(size));
			setsockopt(fd[end], SOL_SOCKET, SO_RCVBUF, &size,
				   sizeof(size));
			s->fd = fd[end];
			s->out_key = seed + (uint32_t)(2 * i + end);
			s->in_key = seed + (uint32_t)(2 * i + 1 - end);
			s->total = total;
			s->rng = s->out_key;
		}
	}
	for (i = 0; i < 2 * CONNECTIONS; i++)
		pids[i] = spawn(side_main, &sides[i]);
}

/* Beside the crowd: connections whose receivers are stopped all the time. */
static void stopper_main(void *arg)
{
	int fd[2];

	tcp_pair_managed(fd);
	stop_receivers(fd, *(uint32_t *)arg, times(300));
	roost_close(fd[0]);
	roost_close(fd[1]);
}

static void crowd(void)
{
	struct side *sides = calloc(2 * CONNECTIONS, sizeof(*sides));
	roost_pid pids[2 * CONNECTIONS], stoppers[2];
	uint32_t keys[2] = { 1, 2 };
	unsigned long gave_up = 0;
	int i;

	crowd_start(sides, pids, times(60000));
	for (i = 0; i < 2; i++)
		stoppers[i] = spawn(stopper_main, &keys[i]);
	for (i = 0; i < 2 * CONNECTIONS; i++) {
		CHECK_EQ(roost_join(pids[i], ROOST_FOREVER), 0);
		CHECK_EQ(sides[i].sent, sides[i].total);
		CHECK_EQ(sides[i].got, sides[i].total);
		gave_up += sides[i].gave_up;
	}
	for (i = 0; i < 2; i++)
		CHECK_EQ(roost_join(stoppers[i], ROOST_FOREVER), 0);
	for (i = 0; i < 2 * CONNECTIONS; i++)
		roost_close(sides[i].fd);
	CHECK(gave_up > 0);
	printf("# %lu operations given up\n", gave_up);
	free(sides);
}

ACTOR_TEST(crowd_of_one_worker, 1)
{
	crowd();
}

ACTOR_TEST(crowd_of_three_workers, 3)
{
	crowd();
}
