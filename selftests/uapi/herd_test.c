// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * herd_test.c - as many wake up as there is work for (C05), and a sleeper does
 * not miss what was published just before (C41).
 */
#include "kselftest_harness.h"

#include <sys/eventfd.h>

#include "roost_test.h"

#define WORKERS	16

struct herd {
	struct dom d;
	struct wrk w[WORKERS];
	_Atomic unsigned int items;	/* posted and not taken */
	_Atomic unsigned long taken;
	_Atomic unsigned long left_park;	/* having slept */
	_Atomic unsigned long returned;		/* slept or not */
	_Atomic bool stop;
};

struct member {
	struct herd *h;
	struct wrk *w;
	pthread_t thread;
};

static bool take_item(struct herd *h)
{
	unsigned int n = h->items;

	while (n)
		if (__atomic_compare_exchange_n((unsigned int *)&h->items, &n,
						n - 1, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return true;
	return false;
}

static void *member_main(void *arg)
{
	struct member *m = arg;
	struct herd *h = m->h;
	uint32_t event, outcome;

	check(attach(m->w) == 0);
	while (!h->stop) {
		if (take_item(h)) {
			h->taken++;
			continue;
		}
		event = sample(&h->d);
		set_idle(&h->d, m->w);
		if (h->items || h->stop) {
			clear_idle(&h->d, m->w);
			continue;
		}
		park_published(m->w, event, ROOST_NO_DEADLINE, &outcome);
		if (outcome & ROOST_OUT_SLEPT)
			h->left_park++;
		h->returned++;
	}
	check(detach(m->w) == 0);
	return NULL;
}

/* P2: the library's way to wake one. */
static void wake_one(struct herd *h)
{
	uint64_t idle;
	int i;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (;;) {
		idle = __atomic_load_n(&h->d.control->idle[0], __ATOMIC_RELAXED);
		if (!idle)
			return;
		i = 63 - __builtin_clzll(idle);
		if (!clear_idle(&h->d, &h->w[i]))
			continue;
		if (__atomic_exchange_n(&h->w[i].page->parked, 0,
					__ATOMIC_SEQ_CST))
			wake(&h->d, ROOST_WAKE_INDEX, (uint32_t)i);
		return;
	}
}

FIXTURE(herd) {
	struct herd *h;
	struct member m[WORKERS];
};

FIXTURE_SETUP(herd)
{
	unsigned int i;

	self->h = calloc(1, sizeof(*self->h));
	ASSERT_NE(self->h, NULL);
	ASSERT_EQ(dom_make(&self->h->d, 16, 16), 0);
	for (i = 0; i < WORKERS; i++)
		ASSERT_EQ(wrk_make(&self->h->w[i], &self->h->d, 8, 64), 0);
	for (i = 0; i < WORKERS; i++) {
		self->m[i] = (struct member){ self->h, &self->h->w[i], 0 };
		ASSERT_EQ(pthread_create(&self->m[i].thread, NULL, member_main,
					 &self->m[i]), 0);
	}
	for (i = 0; i < WORKERS; i++)
		ASSERT_TRUE(wait_parked(&self->h->d, i,
					now_ns() + wide(5 * SEC)));
}

FIXTURE_TEARDOWN(herd)
{
	unsigned int i;

	self->h->stop = true;
	wake(&self->h->d, ROOST_WAKE_ALL, 0);
	for (i = 0; i < WORKERS; i++)
		pthread_join(self->m[i].thread, NULL);
	free(self->h);
}

/* S1-22, C05 */
TEST_F_TIMEOUT(herd, one_item_wakes_one, 300)
{
	const unsigned long rounds = rounds_of("ROOST_ROUNDS", 10000);
	uint64_t limit;
	unsigned long i;

	for (i = 0; i < rounds; i++) {
		self->h->items++;
		if (i & 1)
			wake_one(self->h);
		else
			ASSERT_LE(wake(&self->h->d, ROOST_WAKE_ONE, 0), 1);
		limit = now_ns() + wide(SEC);
		while (self->h->taken <= i && now_ns() < limit)
			;
		ASSERT_GT(self->h->taken + 0, i)
			TH_LOG("the wake of round %lu was lost", i);
	}
	TH_LOG("%lu items, %lu left park", rounds, self->h->left_park);
	EXPECT_LE(self->h->left_park + 0, rounds + rounds / 5);
	/* some take the next item before they sleep again, but not all */
	EXPECT_GT(self->h->left_park + 0, 0);
}

/* C05: A completion that nobody in particular waits for wakes one worker. */
TEST_F_TIMEOUT(herd, one_event_wakes_one, 300)
{
	const unsigned long rounds = rounds_of("ROOST_ROUNDS", 2000);
	struct roost_cqe cqe;
	uint64_t one = 1, limit;
	unsigned long i, before;
	int fd = eventfd(0, EFD_NONBLOCK);
	struct wrk home;

	/* a ring whose worker nobody carries */
	ASSERT_EQ(wrk_make(&home, &self->h->d, 8, 8), 0);
	ASSERT_EQ(submit_one(&home, sqe_poll(0, 1, fd, POLLIN,
					     ROOST_POLL_MULTISHOT)), 1);
	for (i = 0; i < rounds; i++) {
		before = self->h->returned;
		ASSERT_EQ(write(fd, &one, sizeof(one)), sizeof(one));
		limit = now_ns() + wide(SEC);
		while (!pop(&home, &cqe) && now_ns() < limit)
			;
		/*
		 * No round wakes nobody.  Who was about to sleep and is kept
		 * from it counts: it looks again.
		 */
		while (self->h->returned == before && now_ns() < limit)
			;
		ASSERT_GT(self->h->returned + 0, before)
			TH_LOG("round %lu woke nobody", i);
		__atomic_exchange_n(&self->h->d.events[0], 0, __ATOMIC_SEQ_CST);
		ASSERT_EQ(read(fd, &one, sizeof(one)), sizeof(one));
	}
	TH_LOG("%lu events, %lu left park", rounds, self->h->left_park);
	EXPECT_LE(self->h->left_park + 0, rounds + rounds / 5);
}

struct relay {
	struct dom d;
	struct wrk w;
	_Atomic uint32_t head, tail;
	unsigned long rounds;
	uint64_t longest;
};

static void *consumer_main(void *arg)
{
	struct relay *r = arg;
	uint32_t event, outcome;
	uint64_t start;

	check(attach(&r->w) == 0);
	while (r->head != r->rounds) {
		event = sample(&r->d);
		set_idle(&r->d, &r->w);
		if (r->head == r->tail) {
			start = now_ns();
			park_published(&r->w, event, start + wide(SEC),
				       &outcome);
			if (r->head == r->tail && outcome & ROOST_OUT_TIMEOUT)
				r->longest = ~0ULL;
			else if (outcome & ROOST_OUT_TIMEOUT &&
				 now_ns() - start > r->longest)
				/* there was an entry and no wake came */
				r->longest = now_ns() - start;
		} else {
			clear_idle(&r->d, &r->w);
		}
		if (r->head != r->tail)
			r->head++;
	}
	check(detach(&r->w) == 0);
	return NULL;
}

FIXTURE(relay) {
	int unused;
};

FIXTURE_SETUP(relay)
{
	self->unused = 0;
}

FIXTURE_TEARDOWN(relay)
{
}

/*
 * C41, S1-02, S1-05: publish, full barrier, look at the mask; against set,
 * look, sleep.
 */
TEST_F_TIMEOUT(relay, needs_wake_flag, 300)
{
	struct relay *r = calloc(1, sizeof(*r));
	pthread_t thread;
	uint32_t i;

	ASSERT_NE(r, NULL);
	r->rounds = rounds_of("ROOST_ROUNDS", 200000);
	ASSERT_EQ(dom_make(&r->d, 1, 1), 0);
	ASSERT_EQ(wrk_make(&r->w, &r->d, 8, 8), 0);
	ASSERT_EQ(pthread_create(&thread, NULL, consumer_main, r), 0);
	for (i = 0; i < r->rounds; i++) {
		r->tail = i + 1;	/* sequentially consistent: the barrier */
		if (idle_bit(&r->d, &r->w) && clear_idle(&r->d, &r->w) &&
		    __atomic_exchange_n(&r->w.page->parked, 0,
					__ATOMIC_SEQ_CST))
			ASSERT_EQ(wake(&r->d, ROOST_WAKE_INDEX, 0), 1);
		if (i % 3 == 0)
			while (r->head != r->tail)
				sched_yield();
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(r->head + 0, r->rounds);
	EXPECT_EQ(r->longest, 0);
	EXPECT_EQ(stat_of(&r->d).timeouts, 0);
	/* the last one may have found the consumer at its end */
	EXPECT_LE(stat_of(&r->d).wakes - stat_of(&r->d).wakes_received, 1);
}

TEST_HARNESS_MAIN
