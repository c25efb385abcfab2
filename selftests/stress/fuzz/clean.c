// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * clean.c - a domain of somebody else, at work beside all that.
 *
 * Two carriers keep a fixed set of units going: timers, one-shot and multishot
 * polls of eventfds, and echoes, a RECV at one end of a connection and a SEND at
 * the other.  Each unit has one thing to wait for at a time, under a number of its
 * own; every completion is accounted for.  What was begun and does not end
 * within the hang limit is lost.
 */
#include "fuzz.h"

#define TIMERS		24
#define POLLS		12
#define MULTIS		8
#define ECHOES		16
#define UNITS		(TIMERS + POLLS + MULTIS + ECHOES)
#define CARRIERS	2

enum unit_kind { TIMER, POLL, MULTI, ECHO };

/*
 * Belongs to who begins it, and then to who takes its last completion.  @owed:
 * completions that have to come; @due: somebody has to make its file ready.
 */
struct unit {
	enum unit_kind kind;
	uint32_t index, sequence;
	_Atomic int owed;
	_Atomic bool due;
	_Atomic uint64_t since;
	uint64_t deadline;
	int fd, peer;
	uint64_t in, out, round;
};

struct carrier_of {
	struct wrk w;
	pthread_t thread;
	struct rng r;
};

static struct dom d;
static struct unit units[UNITS];
static struct carrier_of carriers[CARRIERS];
static _Atomic unsigned int active;	/* units that owe something */

static uint32_t io_index(const struct unit *u, bool sending)
{
	return 2 * u->index + sending;
}

static void begin_timer(struct carrier_of *c, struct unit *u)
{
	struct roost_sqe sqe;

	u->deadline = now_ns() + below(&c->r, 20 * MSEC);
	sqe = sqe_timer(u->index, u->sequence, u->deadline);
	push(&c->w, &sqe);
}

/* At times somebody may look before the file is ready, and at times after. */
static void begin_poll(struct carrier_of *c, struct unit *u)
{
	struct roost_sqe sqe = sqe_poll(u->index, u->sequence, u->fd, POLLIN, 0);

	push(&c->w, &sqe);
	atomic_store(&u->due, true);
}

/* Armed once; afterwards it has only to be made ready. */
static void begin_multi(struct carrier_of *c, struct unit *u)
{
	struct roost_sqe sqe = sqe_poll(u->index, 1, u->fd, POLLIN,
					ROOST_POLL_MULTISHOT);

	if (u->sequence == 1)
		push(&c->w, &sqe);
	atomic_store(&u->due, true);
}

static void begin_echo(struct carrier_of *c, struct unit *u)
{
	struct roost_sqe recv, send;

	u->out = ++u->round * 0x9e3779b97f4a7c15ULL;
	u->in = 0;
	recv = sqe_recv(roost_op_id(io_index(u, false), u->sequence), u->fd,
			&u->in, sizeof(u->in));
	send = sqe_send(roost_op_id(io_index(u, true), u->sequence), u->peer,
			&u->out, sizeof(u->out));
	if (u->index & 2) {
		recv = on_file(recv, 1);
		send = on_file(send, 1);
	}
	/* the one that has to wait comes first, mostly */
	if (one_in(&c->r, 4)) {
		push(&c->w, &send);
		push(&c->w, &recv);
	} else {
		push(&c->w, &recv);
		push(&c->w, &send);
	}
}

static void begin(struct carrier_of *c, struct unit *u)
{
	static void (*const how[])(struct carrier_of *c, struct unit *u) = {
		[TIMER] = begin_timer, [POLL] = begin_poll,
		[MULTI] = begin_multi, [ECHO] = begin_echo,
	};

	if (atomic_load(&shared->stop))
		return;
	atomic_fetch_add(&active, 1);
	u->sequence++;
	atomic_store(&u->since, now_ns());
	atomic_store(&u->owed, u->kind == ECHO ? 2 : 1);
	how[u->kind](c, u);
}

/* Make the file of one unit ready, if it is its turn. */
static void stimulate(struct unit *u)
{
	uint64_t one = 1;

	if (atomic_exchange(&u->due, false))
		check(write(u->peer, &one, sizeof(one)) == sizeof(one));
}

static struct unit *unit_of(const struct roost_cqe *cqe)
{
	uint32_t index = roost_op_index(cqe->user_data), base = 0, n = TIMERS;

	switch (cqe_kind(cqe)) {
	case ROOST_CQE_TIMER:
		break;
	case ROOST_CQE_POLL:
		base = TIMERS;
		n = POLLS + MULTIS;
		break;
	case ROOST_CQE_IO:
		base = TIMERS + POLLS + MULTIS;
		n = ECHOES;
		index /= 2;
		break;
	default:
		return NULL;
	}
	return index < n ? &units[base + index] : NULL;
}

static void empty(struct unit *u)
{
	uint64_t n;

	if (read(u->fd, &n, sizeof(n)) != sizeof(n))
		shared->clean.bad++;
}

/* Is the result of this completion what it should be? */
static bool good_result(struct unit *u, const struct roost_cqe *cqe)
{
	switch (u->kind) {
	case TIMER:
		if (now_ns() < u->deadline)
			shared->clean.early++;
		raise_to(&shared->clean.latest_timer, now_ns() - u->deadline);
		return !cqe->res;
	case POLL:
		return cqe->res == POLLIN && !(cqe->flags & ROOST_CQE_MORE);
	case MULTI:
		return cqe->flags & ROOST_CQE_MORE;
	default:
		return cqe->res == sizeof(u->in);
	}
}

static void finished(struct carrier_of *c, struct unit *u)
{
	struct clean_figures *f = &shared->clean;
	_Atomic uint64_t *const counts[] = {
		[TIMER] = &f->timers, [POLL] = &f->polls, [MULTI] = &f->multis,
		[ECHO] = &f->echoes,
	};

	if (u->kind == ECHO && u->in != u->out)
		f->bad++;
	if (u->kind == POLL)
		empty(u);
	atomic_fetch_add(counts[u->kind], 1);
	atomic_fetch_sub(&active, 1);
	begin(c, u);
}

/*
 * The events word is exchanged before the file is read, as the header says.  A
 * wake-up that came just before has its completion with the next one: the word
 * was 0 then, or it was not and there is one less.
 */
static bool multi_is_ready(struct unit *u)
{
	uint64_t n;

	__atomic_exchange_n(&d.events[u->index], 0, __ATOMIC_SEQ_CST);
	return read(u->fd, &n, sizeof(n)) == sizeof(n);
}

static void completed(struct carrier_of *c, const struct roost_cqe *cqe)
{
	struct unit *u = unit_of(cqe);
	uint32_t sequence = roost_op_sequence(cqe->user_data);
	int owed;

	if (!u || sequence != (u->kind == MULTI ? 1 : u->sequence)) {
		shared->clean.stray++;
		return;
	}
	if (!good_result(u, cqe)) {
		printf("# clean: kind %d index %u: result %d, flags %#x\n",
		       u->kind, u->index, cqe->res, cqe->flags);
		shared->clean.bad++;
	}
	if (u->kind == MULTI && !multi_is_ready(u))
		return;
	owed = atomic_fetch_sub(&u->owed, 1);
	if (owed < 1)
		shared->clean.doubled++;
	else if (owed == 1)
		finished(c, u);
}

/* Nothing may be owed for so long. */
static void look_for_lost(void)
{
	uint64_t now = now_ns(), since;
	unsigned int i;

	for (i = 0; i < UNITS; i++) {
		since = atomic_load(&units[i].since);
		if (atomic_load(&units[i].owed) < 1 || since + HANG_LIMIT > now)
			continue;
		printf("# clean: kind %d index %u sequence %u is lost\n",
		       units[i].kind, units[i].index, units[i].sequence);
		shared->clean.lost++;
		atomic_store(&units[i].since, now);
	}
}

static void enter_or_park(struct carrier_of *c, uint32_t event, bool park)
{
	struct roost_enter e = { .to_submit = staged(&c->w) };
	uint64_t start = now_ns(), cpu = cpu_ns(), end;
	int ret;

	if (park) {
		e.flags = ROOST_ENTER_PARK;
		e.event = event;
		e.deadline = start + below(&c->r, 5 * MSEC);
		set_idle(&d, &c->w);
	}
	ret = enter(&c->w, &e);
	check(ret == 0 || ret == -EINTR);
	end = now_ns();
	spend(&shared->clean.cpu, cpu_ns() - cpu);
	if (!park)
		spend(&shared->clean.clock, end - start);
	else if (end > e.deadline)
		raise_to(&shared->clean.longest_park, end - e.deadline);
}

static void *carrier_of_main(void *arg)
{
	struct carrier_of *c = arg;
	struct roost_cqe cqe;
	uint32_t event;
	bool any;

	check(attach(&c->w) == 0);
	while (atomic_load(&active) && !shared->clean.lost) {
		event = sample(&d);
		any = false;
		while (pop(&c->w, &cqe)) {
			completed(c, &cqe);
			any = true;
		}
		stimulate(&units[TIMERS + below(&c->r, POLLS + MULTIS)]);
		enter_or_park(c, event, !any && !one_in(&c->r, 4));
		look_for_lost();
	}
	check(detach(&c->w) == 0);
	return NULL;
}

static void make_units(void)
{
	unsigned int i;
	int s[2];

	for (i = 0; i < UNITS; i++) {
		struct unit *u = &units[i];

		u->index = i;
		if (i < TIMERS)
			continue;
		u->index -= TIMERS;
		u->kind = u->index < POLLS ? POLL : MULTI;
		if (i < TIMERS + POLLS + MULTIS) {
			u->fd = u->peer = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
			check(u->fd >= 0);
			continue;
		}
		u->index -= POLLS + MULTIS;
		u->kind = ECHO;
		if (u->index & 1)
			tcp_pair(s);
		else
			unix_pair(s, SOCK_STREAM);
		u->fd = s[0];
		u->peer = s[1];
	}
}

/* Begun by the first thread, in turn through both rings. */
static void begin_all(void)
{
	unsigned int i;

	for (i = 0; i < UNITS; i++)
		begin(&carriers[i % CARRIERS], &units[i]);
}

/* Ends with 0 once the supervisor says stop and all that was begun has ended. */
void clean_process(void)
{
	struct roost_domain_params params = {
		.nr_timers = TIMERS,
		.nr_polls = POLLS + MULTIS,
		.nr_ios = 2 * ECHOES,
		.nr_files = 1024,
	};
	struct roost_domain_stat st;
	unsigned int i;

	check(dom_make_params(&d, &params) == 0);
	make_units();
	for (i = 0; i < CARRIERS; i++) {
		check(wrk_make(&carriers[i].w, &d, 256, 256) == 0);
		carriers[i].r = rng_of(options.seed, MAX_PROCS, 0, i);
	}
	begin_all();
	for (i = 0; i < CARRIERS; i++)
		check(pthread_create(&carriers[i].thread, NULL, carrier_of_main,
				     &carriers[i]) == 0);
	for (i = 0; i < CARRIERS; i++)
		pthread_join(carriers[i].thread, NULL);
	st = stat_of(&d);
	/* of the polls those stay that are multishot */
	if (st.timers_pending || st.ios_pending || st.polls_armed > MULTIS ||
	    st.overflow_pending) {
		printf("# clean: %u timers, %u polls, %u ops are left\n",
		       st.timers_pending, st.polls_armed, st.ios_pending);
		shared->clean.stray++;
	}
	_exit(0);
}
