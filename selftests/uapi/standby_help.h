/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* standby_help.h - threads that stand by, and what they take. */
#ifndef ROOST_TEST_STANDBY_HELP_H
#define ROOST_TEST_STANDBY_HELP_H

#include "carrier_help.h"
#include "roost_test.h"

static inline bool has_standby(const struct dom *d)
{
	return d->params.features & ROOST_FEAT_STANDBY;
}

static inline int stand_by(const struct dom *d, struct roost_standby *s)
{
	*s = (struct roost_standby){ 0 };
	return call(d->fd, ROOST_IOC_STANDBY, s);
}

static inline uint64_t lease_of(const struct wrk *w)
{
	return __atomic_load_n(&w->page->lease, __ATOMIC_ACQUIRE);
}

/* A thread that stands by for @w, and gives it up again. */
struct spare {
	struct dom *d;
	struct wrk *w;
	pthread_t id;
	struct roost_standby s;
	volatile int entered, returned;
	int ret;
	bool saw_itself, lease_shown;
	int detached;
	volatile int keep;	/* the lease, until this is 0 */
};

static inline void *be_spare(void *arg)
{
	struct spare *s = arg;

	s->entered = 1;
	s->ret = stand_by(s->d, &s->s);
	if (!s->ret) {
		s->saw_itself = on_cpu(s->d, s->w);
		s->lease_shown = lease_of(s->w) == s->s.lease;
	}
	s->returned = 1;
	while (s->keep)
		;
	s->detached = s->ret ? 0 : detach(s->w);
	return NULL;
}

static inline void spare_start(struct spare *s, struct dom *d, struct wrk *w)
{
	*s = (struct spare){ .d = d, .w = w };
	check(pthread_create(&s->id, NULL, be_spare, s) == 0);
	while (!s->entered)
		sleep_ns(MSEC / 10);
}

static inline bool spare_returns(struct spare *s)
{
	uint64_t limit = now_ns() + wide(10 * SEC);

	while (!s->returned) {
		if (now_ns() > limit)
			return false;
		sleep_ns(MSEC / 5);
	}
	return true;
}

/* By SIGUSR1, for which there is a handler. */
static inline void spare_interrupt(struct spare *s)
{
	/* it may not yet be asleep */
	while (!s->returned) {
		check(pthread_kill(s->id, SIGUSR1) == 0);
		sleep_ns(MSEC);
	}
	check(pthread_join(s->id, NULL) == 0);
}

/* A test of what not every module can do; the fixture has a domain @d. */
#define TEST_WITH_STANDBY(fixture, name) \
	static void name(struct __test_metadata *_metadata, \
			 FIXTURE_DATA(fixture) *self); \
	TEST_F_TIMEOUT(fixture, name, 300) \
	{ \
		if (!has_standby(&self->d)) \
			SKIP(return, LACKING); \
		name(_metadata, self); \
	} \
	static void name(struct __test_metadata *_metadata, \
			 FIXTURE_DATA(fixture) *self)

#endif /* ROOST_TEST_STANDBY_HELP_H */
