// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * carrier_test.c - the word that says whether a carrier is inside of the library.
 *
 * Two carriers are at one word, as in a worker's page: the one that has the lease, and
 * one that was displaced and comes back on another CPU.
 */
#include <pthread.h>

#include "carrier.h"

#include <linux/roost.h>

#include "run.h"

#define LATE	7U	/* a lease */
#define NEXT	8U	/* the one after it */

/**
 * struct page - the word, and who is at it
 * @words:	from in_library on, as in struct roost_worker_page
 * @late:	has lost the lease
 * @went_inside: @late has, how often
 * @tries:	of @late
 * @enough:	@late is to end
 */
struct page {
	_Atomic uint32_t words[5];
	struct carrier late;
	unsigned long went_inside;
	_Atomic unsigned long tries;
	_Atomic bool enough;
};

static void carrier_of(struct carrier *c, struct page *p, uint32_t lease)
{
	memset(c, 0, sizeof(*c));
	carrier_unshare(c);
	/* As the kernel does it. */
	atomic_store(&p->words[0], roost_outside(lease));
	CHECK(carrier_share(c, p->words, roost_outside(lease),
			    roost_inside(lease)));
	CHECK(carrier_is_inside(c));
	carrier_go_outside(c);
	CHECK(!carrier_is_inside(c));
}

/* It does not know. */
static void *come_back(void *arg)
{
	struct page *p = arg;

	while (!atomic_load_explicit(&p->enough, memory_order_relaxed)) {
		if (carrier_go_inside(&p->late))
			p->went_inside++;
		atomic_fetch_add_explicit(&p->tries, 1, memory_order_relaxed);
	}
	return NULL;
}

static bool says(const struct carrier *c, uint32_t value)
{
	return atomic_load_explicit(c->word, memory_order_relaxed) == value;
}

/* Return: how often the word was not as @c has left it. */
static unsigned long go_in_and_out(struct carrier *c, unsigned long n)
{
	unsigned long wrong = 0;

	while (n--) {
		if (!carrier_go_inside(c) || !says(c, c->inside))
			wrong++;
		/* Also if it is not, so that it goes on. */
		carrier_go_outside(c);
		if (!says(c, c->outside))
			wrong++;
	}
	return wrong;
}

ROOST_TEST(who_comes_late_spoils_nothing)
{
	unsigned long n = rounds(1000000), wrong = 0, done = 0;
	struct page p = { .enough = false };
	struct carrier next;
	pthread_t thread;

	carrier_of(&p.late, &p, LATE);
	carrier_of(&next, &p, NEXT);
	CHECK_EQ(pthread_create(&thread, NULL, come_back, &p), 0);
	/* For long enough that both run at the same time. */
	while (atomic_load(&p.tries) < n || done < n) {
		wrong += go_in_and_out(&next, 1000);
		done += 1000;
	}
	atomic_store(&p.enough, true);
	pthread_join(thread, NULL);
	printf("# %lu times in and out, %lu tries to go inside late\n", done,
	       atomic_load(&p.tries));
	CHECK_EQ(wrong, 0);
	CHECK_EQ(p.went_inside, 0);
}

/* The same thread has a word of its own, then that of a page, then its own again. */
ROOST_TEST(which_word_it_is)
{
	struct page p = { .enough = false };
	struct carrier *c = &p.late;

	memset(c, 0, sizeof(*c));
	carrier_unshare(c);
	CHECK(carrier_is_inside(c));
	CHECK(!carrier_go_inside(c));
	carrier_go_outside(c);
	CHECK(!carrier_is_inside(c));
	CHECK(carrier_go_inside(c));
	carrier_go_outside(c);

	atomic_store(&p.words[0], roost_outside(LATE));
	CHECK(carrier_share(c, p.words, roost_outside(LATE), roost_inside(LATE)));
	CHECK_EQ(atomic_load(&p.words[0]), roost_inside(LATE));
	CHECK(!carrier_go_inside(c));
	carrier_go_outside(c);
	CHECK_EQ(atomic_load(&p.words[0]), roost_outside(LATE));

	/* Displaced: nothing of its own may let it in. */
	atomic_store(&p.words[0], roost_outside(NEXT));
	CHECK(!carrier_go_inside(c));
	CHECK_EQ(atomic_load(&p.words[0]), roost_outside(NEXT));
	carrier_unshare(c);
	CHECK(carrier_is_inside(c));
	/* Too late for the lease that it was given. */
	CHECK(!carrier_share(c, p.words, roost_outside(LATE),
			     roost_inside(LATE)));
	CHECK_EQ(atomic_load(&p.words[0]), roost_outside(NEXT));
}
