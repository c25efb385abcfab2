/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * storm_load.h - a process whose workers do a bit of everything, all the time, while
 * its parent does to it, or to the machine, what it likes.
 *
 * The workers stand in a ring.  In a round each arms a timer and a poll of its
 * eventfd, gives its neighbour a token through that one's eventfd, wakes anybody, and
 * parks until both ops have completed.  So a completion that is lost stops the ring;
 * and each token and each timer is seen once.  The tally is in memory that the
 * parent shares.
 */
#ifndef ROOST_TEST_STORM_LOAD_H
#define ROOST_TEST_STORM_LOAD_H

#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include "roost_test.h"

#define STORM_WORKERS	4

struct storm_tally {
	_Atomic unsigned long rounds[STORM_WORKERS];
	_Atomic unsigned long early, strange, lost, timeouts;
	_Atomic bool stop;
};

struct storm_worker {
	struct wrk w;
	pthread_t thread;
	int tokens;
	unsigned int index;
};

struct storm_load {
	struct dom d;
	struct storm_worker worker[STORM_WORKERS];
	struct storm_tally *tally;
};

static struct storm_load storm_load;

static inline void storm_give(unsigned int to)
{
	uint64_t one = 1;

	check(write(storm_load.worker[to % STORM_WORKERS].tokens, &one,
		    sizeof(one)) == sizeof(one));
}

/* Wait for the timer and the token of round @round: false if one does not come. */
static inline bool storm_both(struct storm_worker *s, uint32_t round,
			      uint64_t deadline)
{
	uint64_t id = roost_op_id(s->index, round), token;
	struct storm_tally *t = storm_load.tally;
	unsigned int timers = 0, polls = 0;
	struct roost_cqe cqe;

	while (!timers || !polls) {
		if (wait_pop(&storm_load.d, &s->w, &cqe,
			     now_ns() + wide(30 * SEC))) {
			t->lost++;
			return false;
		}
		switch (cqe.flags & ROOST_CQE_KIND) {
		case ROOST_CQE_TIMER:
			timers++;
			t->early += now_ns() < deadline;
			break;
		case ROOST_CQE_POLL:
			polls++;
			break;
		default:
			t->strange++;
		}
		t->strange += cqe.user_data != id || cqe.res < 0;
	}
	t->strange += timers != 1 || polls != 1 ||
		      read(s->tokens, &token, sizeof(token)) != sizeof(token);
	return true;
}

/* A park that nobody has to end. */
static inline void storm_nap(struct storm_worker *s)
{
	uint64_t deadline = now_ns() + MSEC / 2;
	struct storm_tally *t = storm_load.tally;
	uint32_t outcome;
	int ret = park(&storm_load.d, &s->w, deadline, &outcome);

	t->strange += ret < 0 && ret != -EINTR;
	if (ret == 0 && outcome & ROOST_OUT_TIMEOUT) {
		t->timeouts++;
		t->early += now_ns() < deadline;
	}
}

static inline void *storm_worker_main(void *arg)
{
	struct storm_worker *s = arg;
	uint64_t seed = 99 + s->index, deadline;
	struct storm_tally *t = storm_load.tally;
	uint32_t round;

	check(attach(&s->w) == 0);
	for (round = 1; !t->stop; round++) {
		struct roost_sqe poll = sqe_poll(s->index, round, s->tokens,
						 POLLIN, 0);
		struct roost_sqe timer;

		deadline = now_ns() + random_next(&seed) % (2 * MSEC);
		timer = sqe_timer(s->index, round, deadline);
		push(&s->w, &timer);
		push(&s->w, &poll);
		storm_give(s->index + 1);
		check(wake(&storm_load.d, ROOST_WAKE_ONE, 0) >= 0);
		if (!storm_both(s, round, deadline))
			break;
		if (random_next(&seed) % 4 == 0)
			storm_nap(s);
		t->rounds[s->index]++;
	}
	/* the neighbour may be in the round after our last */
	storm_give(s->index + 1);
	check(detach(&s->w) == 0);
	return NULL;
}

/* What all of them have left behind is nothing, after an ENTER that unhooks. */
static inline bool storm_is_clean(void)
{
	struct roost_domain_stat s;

	check(submit(&storm_load.worker[0].w) == 0);
	s = stat_of(&storm_load.d);
	if (s.timers_pending || s.polls_armed)
		fprintf(stderr, "# %llu timers pending, %llu polls armed\n",
			(unsigned long long)s.timers_pending,
			(unsigned long long)s.polls_armed);
	return !s.timers_pending && !s.polls_armed;
}

static inline int storm_run(struct storm_tally *tally)
{
	struct storm_load *l = &storm_load;
	struct storm_worker *s;
	unsigned int i;

	l->tally = tally;
	check(dom_make(&l->d, STORM_WORKERS, STORM_WORKERS) == 0);
	for (i = 0; i < STORM_WORKERS; i++) {
		s = &l->worker[i];
		s->index = i;
		s->tokens = eventfd(0, EFD_SEMAPHORE);
		check(s->tokens >= 0);
		check(wrk_make(&s->w, &l->d, 8, 64) == 0);
	}
	for (i = 0; i < STORM_WORKERS; i++)
		check(pthread_create(&l->worker[i].thread, NULL,
				     storm_worker_main, &l->worker[i]) == 0);
	for (i = 0; i < STORM_WORKERS; i++)
		pthread_join(l->worker[i].thread, NULL);
	return storm_is_clean() ? 0 : 1;
}

/* The process: gone with its parent, so that nothing is left of a test that fails. */
static inline pid_t storm_begin(struct storm_tally **tally)
{
	pid_t pid;

	*tally = mmap(NULL, sizeof(**tally), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(*tally != MAP_FAILED);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(storm_run(*tally));
}

/* Have all workers done @n rounds more, each? */
static inline bool storm_goes_on(struct storm_tally *t, unsigned long n)
{
	uint64_t limit = now_ns() + wide(10 * SEC);
	unsigned long goal[STORM_WORKERS];
	unsigned int i;

	for (i = 0; i < STORM_WORKERS; i++)
		goal[i] = t->rounds[i] + n;
	for (i = 0; i < STORM_WORKERS; i++)
		while (t->rounds[i] < goal[i]) {
			if (now_ns() > limit)
				return false;
			sleep_ns(MSEC);
		}
	return true;
}

static inline unsigned long storm_rounds(struct storm_tally *t)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < STORM_WORKERS; i++)
		sum += t->rounds[i];
	return sum;
}

#endif /* ROOST_TEST_STORM_LOAD_H */
