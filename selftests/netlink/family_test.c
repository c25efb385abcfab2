// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* family_test.c - each command's answer, and each request that is refused. */
#include "kselftest_harness.h"

#include <dirent.h>

#include "../uapi/carrier_help.h"
#include "../uapi/crowd.h"
#include "nl_help.h"

FIXTURE(family) {
	struct nl nl;
	struct dom d;
	uint32_t id;
};

FIXTURE_SETUP(family)
{
	struct roost_domain_params params = {
		.tick_shift = 20,
		.slack_ns = 12345,
		.nr_timers = 10,
		.nr_polls = 11,
		.nr_ios = 12,
		.nr_files = 13,
	};

	ASSERT_EQ(nl_open(&self->nl), 0);
	ASSERT_EQ(dom_make_params(&self->d, &params), 0);
	self->id = id_of(&self->d);
	ASSERT_NE(self->id, 0);
}

FIXTURE_TEARDOWN(family)
{
	dom_unmap(&self->d);
	close(self->d.fd);
	close(self->nl.fd);
}

/* What DOMAIN_GET says. */
struct domain_seen {
	unsigned int messages;
	uint32_t id, pid, uid, tick_shift, workers, parked;
	uint32_t timers, polls, ios, files;
	uint64_t slack, features;
	bool dead;
	char comm[32];
};

static void keep_domain(const struct msg *m, void *arg)
{
	struct domain_seen *seen = arg;

	seen->messages++;
	seen->id = attr_u32(m->a[ROOST_NL_A_DOMAIN]);
	seen->pid = attr_u32(m->a[ROOST_NL_A_PID]);
	seen->uid = attr_u32(m->a[ROOST_NL_A_UID]);
	seen->tick_shift = attr_u32(m->a[ROOST_NL_A_TICK_SHIFT]);
	seen->slack = attr_u64(m->a[ROOST_NL_A_SLACK]);
	seen->features = attr_u64(m->a[ROOST_NL_A_FEATURES]);
	seen->timers = attr_u32(m->a[ROOST_NL_A_TIMERS]);
	seen->polls = attr_u32(m->a[ROOST_NL_A_POLLS]);
	seen->ios = attr_u32(m->a[ROOST_NL_A_IOS]);
	seen->files = attr_u32(m->a[ROOST_NL_A_FILES]);
	seen->workers = attr_u32(m->a[ROOST_NL_A_WORKERS]);
	seen->parked = attr_u32(m->a[ROOST_NL_A_NR_PARKED]);
	seen->dead = m->a[ROOST_NL_A_DEAD];
	if (m->a[ROOST_NL_A_COMM])
		snprintf(seen->comm, sizeof(seen->comm), "%s",
			 (const char *)attr_data(m->a[ROOST_NL_A_COMM]));
}

TEST_F(family, domain_get)
{
	struct domain_seen seen = { 0 };
	struct wrk w[3];
	char comm[32];
	FILE *f;
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(wrk_make(&w[i], &self->d, 8, 8), 0);
	munmap(w[1].page, w[1].params.map_size);
	close(w[1].fd);
	ASSERT_EQ(nl_command(&self->nl, ROOST_NL_CMD_DOMAIN_GET, 0, self->id,
			     keep_domain, &seen), 0);
	EXPECT_EQ(seen.messages, 1);
	EXPECT_EQ(seen.id, self->id);
	EXPECT_EQ(seen.pid, getpid());
	EXPECT_EQ(seen.uid, geteuid());
	EXPECT_EQ(seen.tick_shift, 20);
	EXPECT_EQ(seen.slack, 12345);
	EXPECT_EQ(seen.features, self->d.params.features);
	EXPECT_EQ(seen.timers, 10);
	EXPECT_EQ(seen.polls, 11);
	EXPECT_EQ(seen.ios, 12);
	EXPECT_EQ(seen.files, 13);
	EXPECT_EQ(seen.workers, 2);
	EXPECT_EQ(seen.parked, 0);
	EXPECT_FALSE(seen.dead);
	f = fopen("/proc/self/comm", "re");
	ASSERT_NE(fgets(comm, sizeof(comm), f), NULL);
	fclose(f);
	comm[strcspn(comm, "\n")] = '\0';
	EXPECT_STREQ(seen.comm, comm);
}

static void find_domain(const struct msg *m, void *arg)
{
	struct domain_seen *seen = arg;

	if (attr_u32(m->a[ROOST_NL_A_DOMAIN]) == seen->id)
		keep_domain(m, arg);
}

TEST_F(family, domain_dump)
{
	struct domain_seen seen = { .id = self->id };

	ASSERT_EQ(nl_command(&self->nl, ROOST_NL_CMD_DOMAIN_GET, NLM_F_DUMP, 0,
			     find_domain, &seen), 0);
	EXPECT_EQ(seen.messages, 1);
	EXPECT_EQ(seen.pid, getpid());
	EXPECT_EQ(seen.slack, 12345);
}

/* The owner has gone, and a child still has the descriptor. */
TEST_F(family, dead_domain)
{
	struct domain_seen seen = { 0 };
	int tell[2], go[2];
	uint32_t id;
	pid_t pid;
	char c;

	ASSERT_EQ(pipe(tell), 0);
	ASSERT_EQ(pipe(go), 0);
	pid = fork();
	if (!pid) {
		struct dom d;

		check(dom_make(&d, 4, 4) == 0);
		id = id_of(&d);
		if (!fork()) {
			check(read(go[0], &c, 1) == 1);
			_exit(0);
		}
		check(write(tell[1], &id, sizeof(id)) == sizeof(id));
		_exit(0);
	}
	ASSERT_EQ(read(tell[0], &id, sizeof(id)), sizeof(id));
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	ASSERT_EQ(nl_command(&self->nl, ROOST_NL_CMD_DOMAIN_GET, 0, id,
			     keep_domain, &seen), 0);
	EXPECT_TRUE(seen.dead);
	/* No pid that another process may get. */
	EXPECT_EQ(seen.pid, 0);
	EXPECT_STREQ(seen.comm, "");
	EXPECT_EQ(nl_wake(&self->nl, id, -1), -ESHUTDOWN);
	ASSERT_EQ(write(go[1], "x", 1), 1);
}

struct workers_seen {
	unsigned int n;
	struct {
		uint32_t index, tid, sq, cq;
		uint64_t lease, parks;
		bool parked, closed, blocked, domain_stats;
	} w[8];
};

static void keep_worker(const struct msg *m, void *arg)
{
	struct nlattr *s[ROOST_NL_STAT_MAX + 1];
	struct workers_seen *seen = arg;

	check(seen->n < 8);
	parse_nest(m->a[ROOST_NL_A_STATS], s, ROOST_NL_STAT_MAX);
	seen->w[seen->n].index = attr_u32(m->a[ROOST_NL_A_WORKER]);
	seen->w[seen->n].tid = attr_u32(m->a[ROOST_NL_A_TID]);
	seen->w[seen->n].sq = attr_u32(m->a[ROOST_NL_A_SQ_ENTRIES]);
	seen->w[seen->n].cq = attr_u32(m->a[ROOST_NL_A_CQ_ENTRIES]);
	seen->w[seen->n].lease = attr_u64(m->a[ROOST_NL_A_LEASE]);
	seen->w[seen->n].parked = m->a[ROOST_NL_A_PARKED];
	seen->w[seen->n].closed = m->a[ROOST_NL_A_CLOSED];
	seen->w[seen->n].blocked = m->a[ROOST_NL_A_BLOCKED];
	seen->w[seen->n].parks = attr_u64(s[ROOST_NL_STAT_PARKS]);
	seen->w[seen->n].domain_stats = s[ROOST_NL_STAT_POLLS_ADDED];
	seen->n++;
}

TEST_F(family, worker_dump)
{
	struct workers_seen seen = { 0 };
	struct sleeper s;
	struct wrk w[4];
	pthread_t thread;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(wrk_make(&w[i], &self->d, 4 << i, 8 << i), 0);
	/* 0 is carried by us, 1 sleeps, 2 is closed, 3 has had a carrier */
	ASSERT_EQ(attach(&w[3]), 0);
	ASSERT_EQ(detach(&w[3]), 0);
	ASSERT_EQ(attach(&w[0]), 0);
	munmap(w[2].page, w[2].params.map_size);
	close(w[2].fd);
	s = (struct sleeper){ &self->d, &w[1] };
	ASSERT_EQ(pthread_create(&thread, NULL, sleep_for_ever, &s), 0);
	ASSERT_TRUE(wait_parked(&self->d, 1, now_ns() + wide(5 * SEC)));

	ASSERT_EQ(nl_command(&self->nl, ROOST_NL_CMD_WORKER_GET, NLM_F_DUMP,
			     self->id, keep_worker, &seen), 0);
	ASSERT_EQ(seen.n, 4);
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(seen.w[i].index, i);
		EXPECT_EQ(seen.w[i].sq, 4 << i);
		EXPECT_EQ(seen.w[i].cq, 8 << i);
		EXPECT_EQ(seen.w[i].parked, i == 1);
		EXPECT_EQ(seen.w[i].closed, i == 2);
		EXPECT_FALSE(seen.w[i].blocked);
		EXPECT_EQ(seen.w[i].lease, i != 2);
		EXPECT_EQ(seen.w[i].parks, i == 1);
		EXPECT_FALSE(seen.w[i].domain_stats);
	}
	EXPECT_EQ(seen.w[0].tid, gettid());
	EXPECT_NE(seen.w[1].tid, 0);
	EXPECT_NE(seen.w[1].tid, gettid());
	EXPECT_EQ(seen.w[2].tid, 0);
	EXPECT_EQ(seen.w[3].tid, 0);
}

struct reader {
	const struct wrk *w;
	int fd;
};

static void *read_for_long(void *arg)
{
	const struct reader *r = arg;
	char byte;

	check(attach(r->w) == 0);
	check(read(r->fd, &byte, 1) == 1);
	check(detach(r->w) == 0);
	return NULL;
}

/* One runs, one reads what does not come, whatever the page says of them. */
TEST_F(family, worker_dump_of_carriers)
{
	struct workers_seen seen = { 0 };
	struct reader r;
	pthread_t thread;
	struct dom d;
	struct wrk w[2];
	int i, p[2];

	want_carriers(true);
	ASSERT_EQ(dom_make(&d, 4, 4), 0);
	want_carriers(false);
	if (!has_carriers(&d))
		SKIP(return, LACKING);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(wrk_make(&w[i], &d, 8, 8), 0);
	ASSERT_EQ(pipe(p), 0);
	ASSERT_EQ(attach(&w[0]), 0);
	r = (struct reader){ &w[1], p[0] };
	ASSERT_EQ(pthread_create(&thread, NULL, read_for_long, &r), 0);
	ASSERT_TRUE(wait_for(d.control->blocked, &w[1], true));
	for (i = 0; i < 2; i++) {
		seen.n = 0;
		d.control->blocked[0] = i ? 1 : 2;
		ASSERT_EQ(nl_command(&self->nl, ROOST_NL_CMD_WORKER_GET, NLM_F_DUMP,
				     id_of(&d), keep_worker, &seen), 0);
		ASSERT_EQ(seen.n, 2);
		EXPECT_FALSE(seen.w[0].blocked);
		EXPECT_TRUE(seen.w[1].blocked);
	}
	ASSERT_EQ(write(p[1], "x", 1), 1);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(detach(&w[0]), 0);
}

/* A sleeper's outcome. */
struct nap {
	struct sleeper s;
	uint32_t outcome;
	int ret;
};

static void *nap(void *arg)
{
	struct nap *n = arg;

	check(attach(n->s.w) == 0);
	n->ret = park(n->s.d, n->s.w, ROOST_NO_DEADLINE, &n->outcome);
	return NULL;
}

TEST_F(family, wake)
{
	struct wrk w[3];
	struct nap n[2];
	pthread_t thread[2];
	uint32_t outcome;
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(wrk_make(&w[i], &self->d, 8, 8), 0);
	/* One that sleeps, by its number. */
	n[0] = (struct nap){ .s = { &self->d, &w[0] } };
	ASSERT_EQ(pthread_create(&thread[0], NULL, nap, &n[0]), 0);
	ASSERT_TRUE(wait_parked(&self->d, 0, now_ns() + wide(5 * SEC)));
	EXPECT_EQ(nl_wake(&self->nl, self->id, 0), 1);
	ASSERT_EQ(pthread_join(thread[0], NULL), 0);
	EXPECT_EQ(n[0].ret, 0);
	EXPECT_EQ(n[0].outcome, ROOST_OUT_WAKE | ROOST_OUT_SLEPT);
	/* One that is awake keeps one permit. */
	ASSERT_EQ(attach(&w[2]), 0);
	EXPECT_EQ(nl_wake(&self->nl, self->id, 2), 1);
	EXPECT_EQ(nl_wake(&self->nl, self->id, 2), 0);
	ASSERT_EQ(park(&self->d, &w[2], ROOST_NO_DEADLINE, &outcome), 0);
	EXPECT_EQ(outcome, ROOST_OUT_WAKE);
	/* One that nobody carries, and one that is not there. */
	EXPECT_EQ(nl_wake(&self->nl, self->id, 0), -ESRCH);
	EXPECT_EQ(nl_wake(&self->nl, self->id, 3), -ESRCH);
	EXPECT_EQ(nl_wake(&self->nl, self->id, 255), -ESRCH);
	/* All: two that sleep, and we. */
	for (i = 0; i < 2; i++) {
		n[i] = (struct nap){ .s = { &self->d, &w[i] } };
		ASSERT_EQ(pthread_create(&thread[i], NULL, nap, &n[i]), 0);
		ASSERT_TRUE(wait_parked(&self->d, i, now_ns() + wide(5 * SEC)));
	}
	EXPECT_EQ(nl_wake(&self->nl, self->id, -1), 3);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(pthread_join(thread[i], NULL), 0);
		EXPECT_TRUE(n[i].outcome & ROOST_OUT_WAKE);
	}
}

/* Each parameter that sysfs shows, and no other. */
static void check_limits(const struct msg *m, void *arg)
{
	const char *at = (const char *)NLMSG_DATA(m->h) + GENL_HDRLEN;
	const char *end = (const char *)m->h + m->h->nlmsg_len;
	struct nlattr *a[ROOST_NL_LIMIT_MAX + 1];
	char path[300], text[64];
	unsigned int *n = arg;
	uint64_t value;
	FILE *f;

	for (; at < end; at += NLA_ALIGN(((struct nlattr *)at)->nla_len)) {
		parse_nest((struct nlattr *)at, a, ROOST_NL_LIMIT_MAX);
		snprintf(path, sizeof(path), "/sys/module/roost/parameters/%s",
			 (const char *)attr_data(a[ROOST_NL_LIMIT_NAME]));
		f = fopen(path, "re");
		check(f && fgets(text, sizeof(text), f));
		fclose(f);
		value = text[0] == 'Y' || text[0] == 'N' ? text[0] == 'Y' :
							   strtoull(text, NULL, 10);
		check(attr_u64(a[ROOST_NL_LIMIT_VALUE]) == value);
		(*n)++;
	}
}

TEST_F(family, limits_get)
{
	DIR *dir = opendir("/sys/module/roost/parameters");
	unsigned int seen = 0, there = 0;
	const struct dirent *entry;

	ASSERT_NE(dir, NULL);
	while ((entry = readdir(dir)))
		there += entry->d_name[0] != '.';
	closedir(dir);
	ASSERT_GE(there, 6);
	ASSERT_EQ(nl_command(&self->nl, ROOST_NL_CMD_LIMITS_GET, 0, 0,
			     check_limits, &seen), 0);
	EXPECT_EQ(seen, there);
}

/* An attribute of a row; -1 as size stands for a u32. */
struct bad_attr {
	int type;
	int size;
	uint64_t value;
};

#define OURS	~0ULL	/* the fixture's domain */
#define DUMP	NLM_F_DUMP

static const struct row {
	const char *what;
	uint8_t cmd;
	uint16_t flags;
	struct bad_attr a[2];
	int expected;
} rows[] = {
#define ROW(cmd, flags, expected, what, ...) \
	{ #cmd ": " what, ROOST_NL_CMD_##cmd, flags, { __VA_ARGS__ }, expected }
	/* DOMAIN, everywhere where it has to be */
	ROW(DOMAIN_GET, 0, -EINVAL, "no domain"),
	ROW(STATS_GET, 0, -EINVAL, "no domain"),
	ROW(WAKE, 0, -EINVAL, "no domain"),
	ROW(WAKE, 0, -EINVAL, "a worker alone", { ROOST_NL_A_WORKER, -1, 0 }),
	ROW(WORKER_GET, DUMP, -EINVAL, "no domain"),
	ROW(DOMAIN_GET, 0, -ERANGE, "domain 0", { ROOST_NL_A_DOMAIN, -1, 0 }),
	ROW(STATS_GET, 0, -ERANGE, "domain 0", { ROOST_NL_A_DOMAIN, -1, 0 }),
	ROW(WAKE, 0, -ERANGE, "domain 0", { ROOST_NL_A_DOMAIN, -1, 0 }),
	ROW(WORKER_GET, DUMP, -ERANGE, "domain 0",
	    { ROOST_NL_A_DOMAIN, -1, 0 }),
	ROW(DOMAIN_GET, 0, -ENOENT, "no such domain",
	    { ROOST_NL_A_DOMAIN, -1, UINT32_MAX }),
	ROW(STATS_GET, 0, -ENOENT, "no such domain",
	    { ROOST_NL_A_DOMAIN, -1, UINT32_MAX }),
	ROW(WAKE, 0, -ENOENT, "no such domain",
	    { ROOST_NL_A_DOMAIN, -1, UINT32_MAX }),
	ROW(WORKER_GET, DUMP, -ENOENT, "no such domain",
	    { ROOST_NL_A_DOMAIN, -1, UINT32_MAX }),
	/* its size */
	ROW(DOMAIN_GET, 0, -EINVAL, "empty", { ROOST_NL_A_DOMAIN, 0, 0 }),
	ROW(DOMAIN_GET, 0, -EINVAL, "u8", { ROOST_NL_A_DOMAIN, 1, OURS }),
	ROW(DOMAIN_GET, 0, -EINVAL, "u16", { ROOST_NL_A_DOMAIN, 2, OURS }),
	ROW(DOMAIN_GET, 0, -EINVAL, "u64", { ROOST_NL_A_DOMAIN, 8, OURS }),
	ROW(STATS_GET, 0, -EINVAL, "u64", { ROOST_NL_A_DOMAIN, 8, OURS }),
	ROW(WAKE, 0, -EINVAL, "u64", { ROOST_NL_A_DOMAIN, 8, OURS }),
	ROW(WORKER_GET, DUMP, -EINVAL, "u16", { ROOST_NL_A_DOMAIN, 2, OURS }),
	ROW(WORKER_GET, DUMP, -EINVAL, "u64", { ROOST_NL_A_DOMAIN, 8, OURS }),
	ROW(DOMAIN_GET, 0, -EINVAL, "a nest",
	    { ROOST_NL_A_DOMAIN | NLA_F_NESTED, -1, OURS }),
	/* where it must not be */
	ROW(DOMAIN_GET, DUMP, -EINVAL, "a dump of one",
	    { ROOST_NL_A_DOMAIN, -1, OURS }),
	ROW(STATS_GET, DUMP, -EINVAL, "a dump of one",
	    { ROOST_NL_A_DOMAIN, -1, OURS }),
	ROW(LIMITS_GET, 0, -EINVAL, "a domain",
	    { ROOST_NL_A_DOMAIN, -1, OURS }),
	/* WORKER */
	ROW(DOMAIN_GET, 0, -EINVAL, "a worker",
	    { ROOST_NL_A_DOMAIN, -1, OURS }, { ROOST_NL_A_WORKER, -1, 0 }),
	ROW(DOMAIN_GET, DUMP, -EINVAL, "a worker",
	    { ROOST_NL_A_WORKER, -1, 0 }),
	ROW(STATS_GET, 0, -EINVAL, "a worker",
	    { ROOST_NL_A_DOMAIN, -1, OURS }, { ROOST_NL_A_WORKER, -1, 0 }),
	ROW(STATS_GET, DUMP, -EINVAL, "a worker",
	    { ROOST_NL_A_WORKER, -1, 0 }),
	ROW(WORKER_GET, DUMP, -EINVAL, "a worker",
	    { ROOST_NL_A_DOMAIN, -1, OURS }, { ROOST_NL_A_WORKER, -1, 0 }),
	ROW(LIMITS_GET, 0, -EINVAL, "a worker", { ROOST_NL_A_WORKER, -1, 0 }),
	ROW(WAKE, 0, -ERANGE, "worker 256",
	    { ROOST_NL_A_DOMAIN, -1, OURS }, { ROOST_NL_A_WORKER, -1, 256 }),
	ROW(WAKE, 0, -ERANGE, "worker 2^32-1",
	    { ROOST_NL_A_DOMAIN, -1, OURS },
	    { ROOST_NL_A_WORKER, -1, UINT32_MAX }),
	ROW(WAKE, 0, -EINVAL, "worker as u8",
	    { ROOST_NL_A_DOMAIN, -1, OURS }, { ROOST_NL_A_WORKER, 1, 0 }),
	ROW(WAKE, 0, -EINVAL, "worker as u64",
	    { ROOST_NL_A_DOMAIN, -1, OURS }, { ROOST_NL_A_WORKER, 8, 0 }),
	ROW(WAKE, 0, -ESRCH, "no such worker",
	    { ROOST_NL_A_DOMAIN, -1, OURS }, { ROOST_NL_A_WORKER, -1, 0 }),
	/* attributes of answers, unknown ones, none */
	ROW(DOMAIN_GET, 0, -EINVAL, "a pid",
	    { ROOST_NL_A_DOMAIN, -1, OURS }, { ROOST_NL_A_PID, -1, 1 }),
	ROW(DOMAIN_GET, DUMP, -EINVAL, "a pid", { ROOST_NL_A_PID, -1, 1 }),
	ROW(STATS_GET, 0, -EINVAL, "counters",
	    { ROOST_NL_A_DOMAIN, -1, OURS }, { ROOST_NL_A_STATS, -1, 1 }),
	ROW(WAKE, 0, -EINVAL, "attribute 26",
	    { ROOST_NL_A_DOMAIN, -1, OURS }, { 26, -1, 1 }),
	ROW(WORKER_GET, DUMP, -EINVAL, "attribute 26",
	    { ROOST_NL_A_DOMAIN, -1, OURS }, { 26, -1, 1 }),
	ROW(LIMITS_GET, 0, -EINVAL, "attribute 26", { 26, -1, 1 }),
	ROW(DOMAIN_GET, 0, -EINVAL, "attribute 16383",
	    { ROOST_NL_A_DOMAIN, -1, OURS }, { 16383, -1, 1 }),
	ROW(DOMAIN_GET, 0, -EINVAL, "attribute 0",
	    { ROOST_NL_A_DOMAIN, -1, OURS }, { 0, -1, 1 }),
	/* commands in a form that they do not have */
	ROW(WORKER_GET, 0, -EOPNOTSUPP, "not a dump",
	    { ROOST_NL_A_DOMAIN, -1, OURS }),
	ROW(LIMITS_GET, DUMP, -EOPNOTSUPP, "a dump"),
	ROW(WAKE, DUMP, -EOPNOTSUPP, "a dump",
	    { ROOST_NL_A_DOMAIN, -1, OURS }),
	ROW(DOMAIN_CREATED, 0, -EOPNOTSUPP, "an event"),
	ROW(WORKER_DETACHED, 0, -EOPNOTSUPP, "an event"),
	ROW(WORKER_TAKEN, 0, -EOPNOTSUPP, "an event"),
	ROW(WORKER_STARVED, 0, -EOPNOTSUPP, "an event"),
	/* flags of the message that mean nothing here */
	ROW(DOMAIN_GET, NLM_F_CREATE, -EINVAL, "a flag",
	    { ROOST_NL_A_DOMAIN, -1, OURS }),
	ROW(WAKE, NLM_F_REPLACE, -EINVAL, "a flag",
	    { ROOST_NL_A_DOMAIN, -1, OURS }),
	{ "command 0", 0, 0, { { 0 } }, -EOPNOTSUPP },
	{ "command 6", 6, 0, { { 0 } }, -EOPNOTSUPP },
	{ "command 255", 255, 0, { { 0 } }, -EOPNOTSUPP },
};

static void put_bad(struct req *r, const struct bad_attr *a, uint32_t ours)
{
	uint64_t value = a->value == OURS ? ours : a->value;

	if (a->type || a->size)
		req_put(r, a->type, &value, a->size < 0 ? 4 : a->size);
}

static void count(const struct msg *m, void *arg)
{
	(*(unsigned int *)arg)++;
}

TEST_F(family, refused)
{
	unsigned int i, k, answers;
	struct req r;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		answers = 0;
		req_init(&r, self->nl.family, rows[i].cmd, rows[i].flags);
		for (k = 0; k < 2; k++)
			put_bad(&r, &rows[i].a[k], self->id);
		EXPECT_EQ(nl_ask(&self->nl, &r, count, &answers, NULL),
			  rows[i].expected)
			TH_LOG("row: %s", rows[i].what);
		EXPECT_EQ(answers, 0)
			TH_LOG("row: %s", rows[i].what);
	}
}

/* Messages whose bytes are wrong. */
TEST_F(family, malformed)
{
	const struct nlattr short_header = { .nla_len = 2 };
	const struct nlattr too_long = { .nla_len = 40,
					 .nla_type = ROOST_NL_A_DOMAIN };
	struct req r;

	req_init(&r, self->nl.family, ROOST_NL_CMD_DOMAIN_GET, 0);
	req_u32(&r, ROOST_NL_A_DOMAIN, self->id);
	EXPECT_EQ(nl_ask(&self->nl, &r, NULL, NULL, NULL), 0);
	/* three bytes more */
	req_raw(&r, "abc", 3);
	EXPECT_EQ(nl_ask(&self->nl, &r, NULL, NULL, NULL), -EINVAL);

	req_init(&r, self->nl.family, ROOST_NL_CMD_DOMAIN_GET, 0);
	req_u32(&r, ROOST_NL_A_DOMAIN, self->id);
	req_raw(&r, &short_header, sizeof(short_header));
	EXPECT_EQ(nl_ask(&self->nl, &r, NULL, NULL, NULL), -EINVAL);

	req_init(&r, self->nl.family, ROOST_NL_CMD_DOMAIN_GET, 0);
	req_raw(&r, &too_long, sizeof(too_long));
	EXPECT_EQ(nl_ask(&self->nl, &r, NULL, NULL, NULL), -EINVAL);

	req_init(&r, self->nl.family, ROOST_NL_CMD_LIMITS_GET, 0);
	r.g.reserved = 1;
	EXPECT_EQ(nl_ask(&self->nl, &r, NULL, NULL, NULL), -EINVAL);

	/* no generic header at all */
	req_init(&r, self->nl.family, ROOST_NL_CMD_LIMITS_GET, 0);
	r.h.nlmsg_len = NLMSG_LENGTH(0);
	EXPECT_EQ(nl_ask(&self->nl, &r, NULL, NULL, NULL), -EINVAL);
}

TEST_HARNESS_MAIN
