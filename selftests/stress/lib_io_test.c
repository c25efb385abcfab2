// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * lib_io_test.c - streams through connections, with all that may interfere.
 *
 * 64 connections, unix and TCP by turns, and each goes through rounds.  In a
 * round its two ends exchange a stream in each direction, by a sending and a
 * receiving actor at each end, or by one that does both with roost_send_recv().
 * Calls, lengths, buffers (on the stack, on the heap) and deadlines are random;
 * sockets are small, so that sends are partial and wait.  Actors are stopped in
 * the middle, and their successors go on where the stream stood, as the calls
 * have told.  Each byte that arrives is checked, and so are the buffers: see
 * lib_io_stream.h.
 *
 * In some rounds nobody has a deadline or is stopped, so each wake counts.
 *
 * Most rounds end when all has arrived, some with an end that is closed, closed
 * under its actors, or shut down: then what has arrived is the beginning of the
 * stream, and on unix sockets all that was said to be sent.  Then the files are
 * closed, and the next rounds get their numbers; but a connection that is as good
 * as new is often kept for the next round.
 *
 *	--rounds N	how many, of all connections together; ROOST_ROUNDS
 *	--seconds N	none begins after that; 0, the default: no limit
 *	--workers N	4 by default
 *	--seed N	where the random numbers start; ROOST_SEED
 *	--keep PERCENT	so many of those that can be are kept; 50 by default
 *	--bits N	streams are shorter than 2^N bytes; 17 by default, at most
 *
 * The first fault ends it, with connection, direction, offset and seed, and
 * what was last done on that connection.
 */
#define ROOST_TAP_NO_MAIN
#include <pthread.h>

#include "lib_io_files.h"
#include "lib_io_ops.h"

#define CONNS		64
#define USUAL_ROUNDS	1000
#define STUCK_S		200
#define SAY_S		300
/* With fewer rounds not everything needs to have happened. */
#define MANY_ROUNDS	500
#define VERY_MANY	20000

static struct conn conns[CONNS];
static unsigned long nr_rounds;
static unsigned long nr_seconds;
static uint64_t last_begin;
static unsigned int nr_workers = 4;
static unsigned int keep = 50;
static unsigned int max_bits = 17;
static _Atomic unsigned long next_round, rounds_done;
static _Atomic bool finished;

/* Actors */

static bool both_open(const struct end *e)
{
	return !atomic_load(&e->half[SENDS].over) &&
	       !atomic_load(&e->half[RECEIVES].over);
}

/* Who has the memory of these buffers next must not find them changed. */
static void leave(struct actor *a, struct half *h)
{
	roost_yield();
	check_poison(h, a->near, NEAR_SIZE, "stack, at the end");
	check_poison(h, h->far, FAR_SIZE, "heap, at the end");
}

static void sender_main(void *arg)
{
	unsigned char near[NEAR_SIZE];
	struct actor *a = arg;
	struct half *h = &a->end->half[SENDS];

	a->near = near;
	poison(near, sizeof(near));
	while (!atomic_load(&h->over) && a->ops-- && send_once(a, true))
		some_rest(a);
	leave(a, h);
}

static void receiver_main(void *arg)
{
	unsigned char near[NEAR_SIZE];
	struct actor *a = arg;
	struct half *h = &a->end->half[RECEIVES];

	a->near = near;
	poison(near, sizeof(near));
	while (!atomic_load(&h->over) && receive_once(a, true))
		some_rest(a);
	leave(a, h);
}

/* Always with deadlines, if the other end may do the same. */
static void both_main(void *arg)
{
	unsigned char near[NEAR_SIZE];
	struct actor *a = arg;
	bool go_on = true;

	a->near = near;
	/* More than a socket takes: the sending half shall come to wait, too. */
	a->most = FAR_SIZE;
	poison(near, sizeof(near));
	while (go_on && both_open(a->end) && a->ops--) {
		unsigned int dice = random_below(&a->random, 10);

		if (dice < 6)
			go_on = send_recv_once(a);
		else if (dice < 8)
			go_on = receive_once(a, false);
		else
			go_on = send_once(a, false);
		some_rest(a);
	}
	leave(a, &a->end->half[SENDS]);
	leave(a, &a->end->half[RECEIVES]);
}

static void start(struct end *e, enum way way, roost_fn fn)
{
	struct actor *a = &e->actor[way];
	bool calm = e->conn->calm;

	*a = (struct actor){
		.end = e,
		.random = random_next(&e->random),
		.firm = calm || (fn == sender_main &&
				 random_percent(&e->random, 20)),
		.ops = calm ? UINT_MAX :
			      1 + (unsigned int)random_below(&e->random, 30),
		.most = 512U << random_below(&e->random, 6),
		.lazy = random_percent(&e->random, 30) ? 20 : 0,
	};
	a->pid = spawn(fn, a);
}

static bool runs(const struct actor *a)
{
	return a->pid != ROOST_PID_NONE;
}

/* Let it work for some_time(), then stop it, unless it has ended by itself. */
static void end_it(struct actor *a, unsigned int bits)
{
	uint64_t until = ROOST_FOREVER;
	int err;

	if (!runs(a))
		return;
	if (!a->firm)
		until = roost_after(some_time(&a->end->random, bits));
	err = roost_join(a->pid, until);
	if (err == -ETIMEDOUT) {
		err = roost_stop(a->pid);
		CHECK(err == 0 || err == -ESRCH);
		err = roost_join(a->pid, ROOST_FOREVER);
	}
	CHECK_EQ(err, 0);
	a->pid = ROOST_PID_NONE;
}

/* Ends */

static bool all_over(const struct end *e)
{
	return atomic_load(&e->half[SENDS].over) &&
	       atomic_load(&e->half[RECEIVES].over);
}

static void start_if_open(struct end *e, enum way way)
{
	if (!atomic_load(&e->half[way].over))
		start(e, way, way == SENDS ? sender_main : receiver_main);
}

/* This end leaves before all has arrived.  On return it has no actor. */
static void cut_off(struct end *e)
{
	struct conn *c = e->conn;
	unsigned int way;

	atomic_store(&c->cut_begun, true);
	switch (c->cut) {
	case CUT_UNDER:
		makers_shut_out();
		atomic_store(&e->closed, true);
		CHECK_EQ(roost_close(e->fd), 0);
		break;
	case CUT_SHUTDOWN:
		CHECK(!shutdown(e->fd, SHUT_RDWR) || errno == ENOTCONN);
		/* TCP would say nothing of room that comes after that. */
		will_reset(e->fd);
		break;
	default:
		for (way = 0; way < WAYS; way++)
			if (runs(&e->actor[way]))
				roost_stop(e->actor[way].pid);
	}
	for (way = 0; way < WAYS; way++) {
		if (runs(&e->actor[way]))
			CHECK_EQ(roost_join(e->actor[way].pid, ROOST_FOREVER), 0);
		e->actor[way].pid = ROOST_PID_NONE;
		atomic_store(&e->half[way].over, true);
	}
	if (c->cut == CUT_UNDER)
		makers_let_in();
	else
		CHECK_EQ(roost_close(e->fd), 0);
	e->fd = -1;
}

/* Is it time to cut?  Then it is done. */
static bool cut_now(struct end *e)
{
	if (e->side || e->conn->cut == WHOLE || e->conn->cut_after--)
		return false;
	cut_off(e);
	return true;
}

/* Nobody who is at it is to notice. */
static void adopt_again(struct end *e)
{
	while (e->managed && random_percent(&e->random, 20)) {
		CHECK_EQ(roost_fd_adopt(e->fd), 0);
		roost_sleep(some_time(&e->random, 20));
	}
}

/*
 * A sender and a receiver, one of them replaced now and then.  As long as there
 * is a sender, which may wait for ever, there is a receiver.
 */
static void work_apart(struct end *e)
{
	unsigned int changes = (unsigned int)random_below(&e->random, 3);

	start_if_open(e, RECEIVES);
	start_if_open(e, SENDS);
	while (changes-- && !all_over(e) && !e->conn->calm) {
		enum way way = random_percent(&e->random, 50) ? SENDS : RECEIVES;

		end_it(&e->actor[way], 24);
		start_if_open(e, way);
		adopt_again(e);
		if (cut_now(e))
			return;
	}
	end_it(&e->actor[SENDS], 27);
	end_it(&e->actor[RECEIVES], 27);
}

static void work_as_one(struct end *e)
{
	start(e, SENDS, both_main);
	adopt_again(e);
	if (!cut_now(e))
		end_it(&e->actor[SENDS], 27);
}

static void end_main(void *arg)
{
	struct end *e = arg;

	/* Two that both wait for their sending to end might do so for ever. */
	bool as_one = !e->conn->calm || !e->side;

	while (!all_over(e)) {
		if (as_one && both_open(e) && random_percent(&e->random, 50))
			work_as_one(e);
		else
			work_apart(e);
	}
}

/* Rounds */

static void begin_half(struct conn *c, struct end *e, enum way way,
		       uint64_t length)
{
	struct half *h = &e->half[way];

	h->end = e;
	h->way = way;
	h->key = stream_mix(seed + c->round * 2 + direction(h));
	h->key ^= (uint64_t)c->number << 32;
	h->length = length;
	atomic_store(&h->position, 0);
	h->unknown = 0;
	atomic_store(&h->over, false);
	h->nr_past = 0;
	check_poison(h, h->far, FAR_SIZE, "heap, from the round before");
}

static void begin(struct conn *c)
{
	unsigned int side, way;

	c->random = stream_mix(seed * 3 + c->round);
	c->calm = random_percent(&c->random, 25);
	c->shuts = random_percent(&c->random, 50);
	c->cut = c->calm || random_percent(&c->random, 75) ? WHOLE :
		 1 + (enum cut)random_below(&c->random, CUTS - 1);
	c->cut_after = (unsigned int)random_below(&c->random, 4);
	atomic_store(&c->cut_begun, false);
	if (!c->kept)
		make_files(c);
	for (side = 0; side < 2; side++) {
		struct end *e = &c->end[side];
		unsigned int bits = c->calm && max_bits > 14 ? 14 : max_bits;
		uint64_t length = 1 + random_magnitude(&c->random, bits);

		e->random = random_next(&c->random);
		e->actor[SENDS].pid = ROOST_PID_NONE;
		e->actor[RECEIVES].pid = ROOST_PID_NONE;
		atomic_store(&e->closed, false);
		for (way = 0; way < WAYS; way++)
			begin_half(c, &c->end[side ^ way], way, length);
	}
}

/* What came is what was sent, and no byte more. */
static void check_whole(const struct half *from, const struct half *to)
{
	char extra;

	if (atomic_load(&to->position) != to->length)
		bad(to, atomic_load(&to->position), "over, and not all is here");
	if (atomic_load(&from->position) != from->length)
		bad(from, atomic_load(&from->position), "over, and not all sent");
	if (recv(to->end->fd, &extra, 1, MSG_DONTWAIT) > 0)
		bad(to, to->length, "0x%02x after the end",
		    (unsigned char)extra);
}

/* After a cut: the beginning came, on unix sockets all from who has left. */
static void check_cut(const struct half *from, const struct half *to)
{
	uint64_t sent = atomic_load(&from->position);
	uint64_t came = atomic_load(&to->position);

	if (came > sent + from->unknown)
		bad(to, came, "only %llu were sent", (unsigned long long)sent);
	if (!from->end->conn->tcp && !from->end->side && came < sent)
		bad(to, came, "%llu were sent before the end left",
		    (unsigned long long)sent);
}

static void close_both(struct conn *c)
{
	close_end(c, &c->end[0]);
	close_end(c, &c->end[1]);
}

static void one_round(struct conn *c)
{
	unsigned int side;
	roost_pid other;

	begin(c);
	other = spawn(end_main, &c->end[1]);
	end_main(&c->end[0]);
	CHECK_EQ(roost_join(other, ROOST_FOREVER), 0);
	for (side = 0; side < 2; side++) {
		const struct half *from = &c->end[side].half[SENDS];
		const struct half *to = &c->end[!side].half[RECEIVES];

		if (atomic_load(&c->cut_begun))
			check_cut(from, to);
		else
			check_whole(from, to);
	}
	c->kept = !c->shuts && !atomic_load(&c->cut_begun) &&
		  random_percent(&c->random, keep);
	if (c->kept)
		count_add(KEPT, 1);
	else
		close_both(c);
}

static bool take_round(struct conn *c)
{
	if (roost_now() >= last_begin)
		return false;
	c->round = atomic_fetch_add(&next_round, 1);
	if (c->round >= nr_rounds)
		return false;
	atomic_fetch_add(&rounds_done, 1);
	return true;
}

static void conn_main(void *arg)
{
	struct conn *c = arg;
	unsigned int i;

	c->number = (unsigned int)(c - conns);
	c->tcp = c->number % 2;
	if (c->tcp)
		c->listener = listen_somewhere();
	for (i = 0; i < 2 * WAYS; i++) {
		struct half *h = &c->end[i / 2].half[i % 2];

		c->end[i / 2].conn = c;
		c->end[i / 2].side = i / 2;
		h->far = malloc(FAR_SIZE);
		poison(h->far, FAR_SIZE);
	}
	while (!tap_failed() && take_round(c))
		one_round(c);
	if (c->kept)
		close_both(c);
	atomic_store(&c->progress, ULONG_MAX);
	for (i = 0; i < 2 * WAYS; i++)
		free(c->end[i / 2].half[i % 2].far);
	if (c->tcp)
		CHECK_EQ(roost_close(c->listener), 0);
}

/* A connection on which nothing moves for long hangs. */
static void *watchdog_main(void *arg unused_arg)
{
	unsigned long last[CONNS] = { 0 }, now;
	unsigned int stuck[CONNS] = { 0 }, seconds = 0, i;
	bool hangs = false;

	while (!atomic_load(&finished) && !hangs) {
		sleep(1);
		if (++seconds % SAY_S == 0)
			printf("# %lu rounds in %u s\n",
			       atomic_load(&rounds_done), seconds);
		for (i = 0; i < CONNS; i++) {
			now = atomic_load(&conns[i].progress);
			stuck[i] = now == last[i] && now != ULONG_MAX ?
				   stuck[i] + 1 : 0;
			last[i] = now;
			hangs |= stuck[i] == STUCK_S;
		}
	}
	for (i = 0; hangs && i < CONNS; i++) {
		if (stuck[i] < STUCK_S / 2)
			continue;
		printf("# nothing has moved for %u s:\n", stuck[i]);
		tell_conn(&conns[i]);
	}
	if (hangs)
		end_badly();
	return NULL;
}

static void check_counts(const struct roost_stats *s)
{
	unsigned int i;

	printf("# %s, %u workers, %llu operations in the ring, %llu parks\n",
	       s->backend, s->workers, (unsigned long long)s->ring_ios,
	       (unsigned long long)s->parks);
	for (i = 0; i < COUNTS; i++)
		printf("# %s: %lu\n", count_names[i], atomic_load(&counts[i]));
	if (atomic_load(&rounds_done) < MANY_ROUNDS)
		return;
	for (i = 0; i < COUNTS; i++)
		CHECK_MSG(atomic_load(&counts[i]) ||
			  ((i == PART_STOPPED || i == PART_TIMED_OUT) &&
			   atomic_load(&rounds_done) < VERY_MANY),
			  "none %s", count_names[i]);
	if (!strcmp(s->backend, "kernel"))
		CHECK(s->ring_ios > 0);
}

static void root_main(void *arg unused_arg)
{
	struct roost_stats stats;
	roost_pid pid[CONNS];
	unsigned int i;

	for (i = 0; i < CONNS; i++)
		pid[i] = spawn(conn_main, &conns[i]);
	for (i = 0; i < CONNS; i++)
		CHECK_EQ(roost_join(pid[i], ROOST_FOREVER), 0);
	CHECK_EQ(roost_stats(&stats), 0);
	check_counts(&stats);
}

ROOST_TEST(streams_arrive_whole)
{
	struct roost_config config = {
		.workers = nr_workers,
		/* Stacks go from one to the next as they are. */
		.stack_pool = CONNS * 8,
	};
	uint64_t begun = roost_now();
	pthread_t watchdog;

	seed = tap_seed(seed);
	last_begin = nr_seconds ? roost_after(ROOST_SEC(nr_seconds)) :
				  ROOST_FOREVER;
	pthread_create(&watchdog, NULL, watchdog_main, NULL);
	CHECK_EQ(roost_run(&config, root_main, NULL), 0);
	CHECK(atomic_load(&rounds_done) == nr_rounds || nr_seconds);
	printf("# %lu rounds in %lu ms\n", atomic_load(&rounds_done),
	       (unsigned long)((roost_now() - begun) / 1000000));
	atomic_store(&finished, true);
	pthread_join(watchdog, NULL);
}

int main(int argc, char **argv)
{
	const char *text = getenv("ROOST_ROUNDS");
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	seed = 1;
	nr_rounds = text ? strtoul(text, NULL, 0) : USUAL_ROUNDS / slow();
	for (i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--rounds"))
			nr_rounds = strtoul(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--seconds"))
			nr_seconds = strtoul(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--workers"))
			nr_workers = (unsigned int)strtoul(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--keep"))
			keep = (unsigned int)strtoul(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--bits"))
			max_bits = (unsigned int)strtoul(argv[i + 1], NULL, 0);
		else
			break;
	}
	if (i < argc || max_bits < 1 || max_bits > 17) {
		fprintf(stderr,
			"usage: %s [--rounds N] [--seconds N] [--workers N] [--seed N]"
			" [--keep PERCENT] [--bits 1-17]\n", argv[0]);
		return 2;
	}
	return tap_main(1, argv);
}
