// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* dump_test.c - dumps in several parts, and what comes and goes meanwhile. */
#include "kselftest_harness.h"

#include <sys/resource.h>

#include "nl_help.h"

#define MANY	300

FIXTURE(dump) {
	struct nl nl;
	struct dom d[MANY];
	uint32_t id[MANY];
};

FIXTURE_SETUP(dump)
{
	struct rlimit files = { 4096, 4096 };
	int i;

	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
	ASSERT_EQ(nl_open(&self->nl), 0);
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(dom_make(&self->d[i], 1, 0), 0);
		self->id[i] = id_of(&self->d[i]);
	}
}

static void dom_close(struct dom *d)
{
	dom_unmap(d);
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

FIXTURE_TEARDOWN(dump)
{
	int i;

	for (i = 0; i < MANY; i++)
		dom_close(&self->d[i]);
	close(self->nl.fd);
}

/* How often each domain of the fixture is listed, and in what order. */
struct census {
	const uint32_t *id;
	unsigned int times[MANY];
	unsigned int others;
	uint32_t last;
	bool unordered;
};

static void tally(const struct msg *m, void *arg)
{
	uint32_t id = attr_u32(m->a[ROOST_NL_A_DOMAIN]);
	struct census *c = arg;
	int i;

	c->unordered |= id <= c->last;
	c->last = id;
	for (i = 0; i < MANY; i++)
		if (c->id[i] == id)
			break;
	if (i < MANY)
		c->times[i]++;
	else
		c->others++;
}

/* Send the request and take the first part, so that @fn has seen some. */
static int begin(struct nl *nl, uint8_t cmd, uint32_t domain, msg_fn fn,
		 void *arg, bool *interrupted)
{
	struct req r;

	*interrupted = false;
	req_init(&r, nl->family, cmd, NLM_F_DUMP);
	if (domain)
		req_u32(&r, ROOST_NL_A_DOMAIN, domain);
	check(nl_send(nl, &r) == 0);
	return nl_receive(nl, fn, arg, interrupted);
}

/* The rest; how many parts that was, or -errno. */
static int finish(struct nl *nl, msg_fn fn, void *arg, bool *interrupted)
{
	int ret, parts = 0;

	while ((ret = nl_receive(nl, fn, arg, interrupted)) == 1)
		parts++;
	return ret ? ret : parts;
}

TEST_F(dump, in_parts)
{
	const uint8_t cmds[] = { ROOST_NL_CMD_DOMAIN_GET,
				 ROOST_NL_CMD_STATS_GET };
	bool interrupted;
	unsigned int k;
	int i;

	for (k = 0; k < 2; k++) {
		struct census c = { .id = self->id };

		ASSERT_EQ(begin(&self->nl, cmds[k], 0, tally, &c, &interrupted),
			  1);
		EXPECT_GT(finish(&self->nl, tally, &c, &interrupted), 1);
		EXPECT_FALSE(interrupted);
		EXPECT_FALSE(c.unordered);
		for (i = 0; i < MANY; i++) {
			EXPECT_EQ(c.times[i], 1)
				TH_LOG("domain %u", self->id[i]);
		}
	}
}

/* The last one listed so far. */
static int place_of(const struct census *c)
{
	int i;

	for (i = 0; i < MANY; i++)
		if (c->id[i] == c->last)
			return i;
	check(false);
	return -1;
}

TEST_F(dump, one_more_meanwhile)
{
	struct census c = { .id = self->id };
	bool interrupted;
	struct dom d;
	int i;

	ASSERT_EQ(begin(&self->nl, ROOST_NL_CMD_DOMAIN_GET, 0, tally, &c,
			&interrupted), 1);
	ASSERT_FALSE(interrupted);
	ASSERT_EQ(dom_make(&d, 1, 0), 0);
	ASSERT_GT(finish(&self->nl, tally, &c, &interrupted), 0);
	EXPECT_TRUE(interrupted);
	EXPECT_FALSE(c.unordered);
	for (i = 0; i < MANY; i++)
		EXPECT_EQ(c.times[i], 1);
	/* And then one without a disturbance. */
	EXPECT_EQ(nl_command(&self->nl, ROOST_NL_CMD_DOMAIN_GET, NLM_F_DUMP, 0,
			     NULL, NULL), 0);
	dom_close(&d);
}

/* The very one that comes next goes, and all but the last after it. */
TEST_F(dump, where_to_go_on_has_gone)
{
	struct census c = { .id = self->id };
	bool interrupted;
	int at, i;

	ASSERT_EQ(begin(&self->nl, ROOST_NL_CMD_DOMAIN_GET, 0, tally, &c,
			&interrupted), 1);
	at = place_of(&c);
	/* What one part more may have been made of already, is listed. */
	for (i = at + 1; i < MANY - 1; i++)
		dom_close(&self->d[i]);
	ASSERT_GE(finish(&self->nl, tally, &c, &interrupted), 0);
	EXPECT_TRUE(interrupted);
	EXPECT_FALSE(c.unordered);
	for (i = 0; i <= at; i++)
		EXPECT_EQ(c.times[i], 1);
	EXPECT_EQ(c.times[MANY - 1], 1);
	EXPECT_EQ(c.times[MANY - 2], 0);
}

/* A dump that nobody goes on reading holds no domain. */
TEST_F(dump, left_lying)
{
	struct census c = { .id = self->id };
	bool interrupted;
	struct nl other;
	int i;

	ASSERT_EQ(begin(&self->nl, ROOST_NL_CMD_DOMAIN_GET, 0, tally, &c,
			&interrupted), 1);
	ASSERT_EQ(nl_open(&other), 0);
	for (i = 0; i < MANY; i++)
		dom_close(&self->d[i]);
	for (i = 0; i < MANY; i++)
		EXPECT_EQ(nl_command(&other, ROOST_NL_CMD_DOMAIN_GET, 0,
				     self->id[i], NULL, NULL), -ENOENT);
}

struct workers {
	unsigned int times[ROOST_MAX_WORKERS];
	unsigned int n;
};

static void tally_worker(const struct msg *m, void *arg)
{
	uint32_t i = attr_u32(m->a[ROOST_NL_A_WORKER]);
	struct workers *w = arg;

	check(i < ROOST_MAX_WORKERS);
	w->times[i]++;
	w->n++;
}

TEST_F(dump, workers_in_parts)
{
	struct workers seen = { 0 };
	bool interrupted;
	struct wrk w;
	int i;

	for (i = 0; i < ROOST_MAX_WORKERS; i++)
		ASSERT_EQ(wrk_make(&w, &self->d[0], 1, 2), 0);
	ASSERT_EQ(begin(&self->nl, ROOST_NL_CMD_WORKER_GET, self->id[0],
			tally_worker, &seen, &interrupted), 1);
	EXPECT_GT(finish(&self->nl, tally_worker, &seen, &interrupted), 1);
	EXPECT_FALSE(interrupted);
	for (i = 0; i < ROOST_MAX_WORKERS; i++)
		EXPECT_EQ(seen.times[i], 1);
}

TEST_F(dump, worker_added_meanwhile)
{
	struct workers seen = { 0 };
	bool interrupted;
	struct wrk w;
	int i;

	for (i = 0; i < ROOST_MAX_WORKERS - 1; i++)
		ASSERT_EQ(wrk_make(&w, &self->d[0], 1, 2), 0);
	ASSERT_EQ(begin(&self->nl, ROOST_NL_CMD_WORKER_GET, self->id[0],
			tally_worker, &seen, &interrupted), 1);
	ASSERT_EQ(wrk_make(&w, &self->d[0], 1, 2), 0);
	ASSERT_GT(finish(&self->nl, tally_worker, &seen, &interrupted), 0);
	EXPECT_TRUE(interrupted);
	EXPECT_EQ(seen.n, ROOST_MAX_WORKERS);
}

/* Other domains do not disturb a dump of one domain's workers; its end does. */
TEST_F(dump, domain_ended_meanwhile)
{
	struct wrk w[ROOST_MAX_WORKERS];
	struct workers seen = { 0 };
	bool interrupted;
	int i;

	for (i = 0; i < ROOST_MAX_WORKERS; i++)
		ASSERT_EQ(wrk_make(&w[i], &self->d[0], 1, 2), 0);
	ASSERT_EQ(begin(&self->nl, ROOST_NL_CMD_WORKER_GET, self->id[0],
			tally_worker, &seen, &interrupted), 1);
	dom_close(&self->d[1]);
	ASSERT_EQ(nl_receive(&self->nl, tally_worker, &seen, &interrupted), 1);
	EXPECT_FALSE(interrupted);
	for (i = 0; i < ROOST_MAX_WORKERS; i++) {
		munmap(w[i].page, w[i].params.map_size);
		close(w[i].fd);
	}
	dom_close(&self->d[0]);
	ASSERT_GE(finish(&self->nl, tally_worker, &seen, &interrupted), 0);
	EXPECT_TRUE(interrupted);
	EXPECT_LT(seen.n, ROOST_MAX_WORKERS);
}

/* Several threads make and end domains, several dump, ask and wake. */
struct storm {
	bool stop;
	const uint32_t *id;
	unsigned int made, dumps, interrupted, wrong;
};

static void *make_and_end(void *arg)
{
	struct storm *s = arg;
	struct dom d;
	struct wrk w;

	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		check(dom_make(&d, 4, 4) == 0);
		check(wrk_make(&w, &d, 1, 2) == 0);
		check(attach(&w) == 0);
		munmap(w.page, w.params.map_size);
		if (random() & 1) {
			close(w.fd);
			dom_close(&d);
		} else {
			dom_close(&d);
			close(w.fd);
		}
		__atomic_add_fetch(&s->made, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* What is asked about may have gone: that is the only thing that may be wrong. */
static bool gone(int ret)
{
	return ret == -ENOENT || ret == -ESRCH;
}

static void *dump_and_ask(void *arg)
{
	struct storm *s = arg;
	struct census c;
	bool interrupted;
	struct nl nl;
	int ret, i;

	check(nl_open(&nl) == 0);
	while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
		c = (struct census){ .id = s->id };
		ret = begin(&nl, ROOST_NL_CMD_DOMAIN_GET, 0, tally, &c,
			    &interrupted);
		check(ret == 1);
		check(finish(&nl, tally, &c, &interrupted) >= 0);
		for (i = 0; i < MANY; i++)
			if (c.times[i] != 1 || c.unordered)
				__atomic_add_fetch(&s->wrong, 1,
						   __ATOMIC_RELAXED);
		__atomic_add_fetch(&s->dumps, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&s->interrupted, interrupted,
				   __ATOMIC_RELAXED);
		/* The newest ones, which come and go. */
		for (i = 0; i < 8; i++) {
			ret = nl_command(&nl, ROOST_NL_CMD_WORKER_GET,
					 NLM_F_DUMP, c.last + i, NULL, NULL);
			check(!ret || gone(ret));
			ret = nl_wake(&nl, c.last + i, i & 1 ? 0 : -1);
			check(ret >= 0 || gone(ret));
		}
	}
	close(nl.fd);
	return NULL;
}

TEST_F_TIMEOUT(dump, storm, 500)
{
	unsigned long rounds = rounds_of("ROOST_ROUNDS", 300);
	uint64_t end = now_ns() + wide(20 * SEC);
	struct storm s = { .id = self->id };
	pthread_t thread[5];
	unsigned int i;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(pthread_create(&thread[i], NULL, i < 3 ? make_and_end :
					 dump_and_ask, &s), 0);
	while ((__atomic_load_n(&s.made, __ATOMIC_RELAXED) < rounds ||
		__atomic_load_n(&s.dumps, __ATOMIC_RELAXED) < 10) &&
	       now_ns() < end)
		sleep_ns(10 * MSEC);
	__atomic_store_n(&s.stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(pthread_join(thread[i], NULL), 0);
	printf("# %u domains came and went, %u dumps, %u interrupted\n",
	       s.made, s.dumps, s.interrupted);
	EXPECT_GE(s.made, rounds);
	EXPECT_GE(s.dumps, 10);
	EXPECT_EQ(s.wrong, 0);
}

TEST_HARNESS_MAIN
