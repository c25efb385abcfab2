// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* event_test.c - what the multicast group tells, whom, and where. */
#include "kselftest_harness.h"

#include "actor.h"
#include "carrier_help.h"
#include "nl_help.h"

struct event {
	uint8_t cmd;
	uint32_t domain, uid, pid, worker, tid;
	uint64_t lease;
	bool has_pid, has_worker, has_tid;
};

static void keep_event(const struct msg *m, void *arg)
{
	struct event *e = arg;

	*e = (struct event){
		.cmd = m->cmd,
		.domain = attr_u32(m->a[ROOST_NL_A_DOMAIN]),
		.uid = attr_u32(m->a[ROOST_NL_A_UID]),
		.pid = attr_u32(m->a[ROOST_NL_A_PID]),
		.worker = attr_u32(m->a[ROOST_NL_A_WORKER]),
		.tid = attr_u32(m->a[ROOST_NL_A_TID]),
		.lease = m->a[ROOST_NL_A_LEASE] ?
			 attr_u64(m->a[ROOST_NL_A_LEASE]) : 0,
		.has_pid = m->a[ROOST_NL_A_PID],
		.has_worker = m->a[ROOST_NL_A_WORKER],
		.has_tid = m->a[ROOST_NL_A_TID],
	};
}

/* The next event, or false if none comes within a while. */
static bool next_event(struct nl *nl, struct event *e, uint64_t within)
{
	struct pollfd p = { .fd = nl->fd, .events = POLLIN };

	if (poll(&p, 1, within / MSEC) != 1)
		return false;
	check(nl_receive(nl, keep_event, e, NULL) == 1);
	return true;
}

static struct event must_come(struct nl *nl)
{
	struct event e = { 0 };

	check(next_event(nl, &e, wide(5 * SEC)));
	return e;
}

/* What has been sent before we ask has arrived when we have the answer. */
static bool nothing(struct nl *nl)
{
	struct event e;

	return !next_event(nl, &e, 0);
}

FIXTURE(event) {
	struct nl nl;
};

FIXTURE_SETUP(event)
{
	ASSERT_EQ(nl_open(&self->nl), 0);
	ASSERT_EQ(nl_join(&self->nl), 0);
}

FIXTURE_TEARDOWN(event)
{
	close(self->nl.fd);
}

TEST_F(event, all_kinds_in_order)
{
	struct event e;
	struct dom d;
	struct wrk w[2];
	uint32_t id;

	ASSERT_EQ(dom_make(&d, 4, 4), 0);
	id = id_of(&d);
	e = must_come(&self->nl);
	EXPECT_EQ(e.cmd, ROOST_NL_CMD_DOMAIN_CREATED);
	EXPECT_EQ(e.domain, id);
	EXPECT_EQ(e.uid, 0);
	EXPECT_EQ(e.pid, getpid());
	EXPECT_FALSE(e.has_worker);
	EXPECT_FALSE(e.has_tid);

	ASSERT_EQ(wrk_make(&w[0], &d, 8, 8), 0);
	ASSERT_EQ(wrk_make(&w[1], &d, 8, 8), 0);
	EXPECT_TRUE(nothing(&self->nl));
	ASSERT_EQ(attach(&w[1]), 0);
	e = must_come(&self->nl);
	EXPECT_EQ(e.cmd, ROOST_NL_CMD_WORKER_ATTACHED);
	EXPECT_EQ(e.domain, id);
	EXPECT_EQ(e.worker, 1);
	EXPECT_EQ(e.pid, getpid());
	EXPECT_EQ(e.tid, gettid());

	/* What fails is nothing that happens. */
	ASSERT_EQ(attach(&w[0]), -EBUSY);
	ASSERT_EQ(detach(&w[0]), -EPERM);
	EXPECT_TRUE(nothing(&self->nl));

	ASSERT_EQ(detach(&w[1]), 0);
	e = must_come(&self->nl);
	EXPECT_EQ(e.cmd, ROOST_NL_CMD_WORKER_DETACHED);
	EXPECT_EQ(e.worker, 1);
	EXPECT_EQ(e.tid, gettid());

	/* Closing a worker's descriptor ends its lease. */
	ASSERT_EQ(attach(&w[0]), 0);
	e = must_come(&self->nl);
	EXPECT_EQ(e.cmd, ROOST_NL_CMD_WORKER_ATTACHED);
	EXPECT_EQ(e.worker, 0);
	munmap(w[0].page, w[0].params.map_size);
	close(w[0].fd);
	e = must_come(&self->nl);
	EXPECT_EQ(e.cmd, ROOST_NL_CMD_WORKER_DETACHED);
	EXPECT_EQ(e.worker, 0);

	/* The last descriptor or mapping ends the domain. */
	dom_unmap(&d);
	close(d.fd);
	munmap(w[1].page, w[1].params.map_size);
	EXPECT_TRUE(nothing(&self->nl));
	close(w[1].fd);
	e = must_come(&self->nl);
	EXPECT_EQ(e.cmd, ROOST_NL_CMD_DOMAIN_ENDED);
	EXPECT_EQ(e.domain, id);
	EXPECT_EQ(e.pid, getpid());
	EXPECT_TRUE(nothing(&self->nl));
}

static void *only_attach(void *arg)
{
	uint32_t tid = gettid();

	check(attach(arg) == 0);
	return (void *)(uintptr_t)tid;
}

/* A thread that has ended is detached when the next one comes. */
TEST_F(event, takeover_of_a_dead_carriers_worker)
{
	pthread_t thread;
	struct event e;
	struct dom d;
	struct wrk w;
	void *tid;

	ASSERT_EQ(dom_make(&d, 4, 4), 0);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	must_come(&self->nl);
	ASSERT_EQ(pthread_create(&thread, NULL, only_attach, &w), 0);
	ASSERT_EQ(pthread_join(thread, &tid), 0);
	e = must_come(&self->nl);
	EXPECT_EQ(e.tid, (uintptr_t)tid);
	EXPECT_TRUE(nothing(&self->nl));
	/* The kernel is not done with it as soon as it can be joined. */
	while (attach(&w) == -EBUSY)
		sleep_ns(MSEC);
	e = must_come(&self->nl);
	EXPECT_EQ(e.cmd, ROOST_NL_CMD_WORKER_DETACHED);
	EXPECT_EQ(e.worker, 0);
	e = must_come(&self->nl);
	EXPECT_EQ(e.cmd, ROOST_NL_CMD_WORKER_ATTACHED);
	EXPECT_EQ(e.tid, gettid());
}

static void *stand_by(void *arg)
{
	const struct dom *d = arg;
	struct roost_standby s = { 0 };
	uint32_t tid = gettid();

	check(call(d->fd, ROOST_IOC_STANDBY, &s) == 0);
	return (void *)(uintptr_t)tid;
}

/*
 * The next one that does not tell of an earlier lease that its carrier was in the way:
 * on a slow kernel a thread that begins or ends is, for long enough.
 */
static struct event of_lease(struct nl *nl, uint64_t lease)
{
	struct event e;

	do {
		e = must_come(nl);
	} while (e.cmd == ROOST_NL_CMD_WORKER_STARVED && e.lease < lease);
	return e;
}

/* We are stuck: first there is a standby, which then ends, and then there is none. */
TEST_F(event, taken_and_starved)
{
	pthread_t thread;
	struct event e;
	struct dom d;
	struct wrk w;
	void *tid;
	int i;

	want_carriers(true);
	ASSERT_EQ(dom_make(&d, 4, 4), 0);
	want_carriers(false);
	if (!(d.params.features & ROOST_FEAT_STANDBY))
		SKIP(return, LACKING);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	must_come(&self->nl);
	ASSERT_EQ(attach(&w), 0);
	must_come(&self->nl);
	ASSERT_EQ(pthread_create(&thread, NULL, stand_by, &d), 0);
	e = of_lease(&self->nl, 2);
	EXPECT_EQ(e.cmd, ROOST_NL_CMD_WORKER_TAKEN);
	EXPECT_EQ(e.domain, id_of(&d));
	EXPECT_EQ(e.worker, 0);
	EXPECT_EQ(e.lease, 2);
	EXPECT_EQ(e.pid, getpid());
	ASSERT_EQ(pthread_join(thread, &tid), 0);
	EXPECT_EQ(e.tid, (uintptr_t)tid);

	while (attach(&w) == -EBUSY)
		sleep_ns(MSEC);
	e = of_lease(&self->nl, 3);
	EXPECT_EQ(e.cmd, ROOST_NL_CMD_WORKER_DETACHED);
	EXPECT_EQ(e.tid, (uintptr_t)tid);
	EXPECT_EQ(of_lease(&self->nl, 3).cmd, ROOST_NL_CMD_WORKER_ATTACHED);
	/* often, which is told seldom */
	for (i = 0; i < 100; i++)
		sleep_ns(MSEC);
	e = of_lease(&self->nl, 3);
	EXPECT_EQ(e.cmd, ROOST_NL_CMD_WORKER_STARVED);
	EXPECT_EQ(e.worker, 0);
	EXPECT_EQ(e.lease, 3);
	EXPECT_EQ(e.tid, gettid());
	ASSERT_EQ(detach(&w), 0);
	for (i = 0; next_event(&self->nl, &e, 200 * MSEC);)
		i += e.cmd == ROOST_NL_CMD_WORKER_STARVED;
	EXPECT_LT((unsigned int)i, stat_of(&d).starved / 4);
}

TEST_F(event, a_killed_owner)
{
	const struct actor user = { "user", 1000, 0 };
	struct owner o = owner_start(&user, id_of);
	struct event e;

	e = must_come(&self->nl);
	EXPECT_EQ(e.cmd, ROOST_NL_CMD_DOMAIN_CREATED);
	EXPECT_EQ(e.domain, o.id);
	EXPECT_EQ(e.uid, 1000);
	EXPECT_EQ(e.pid, o.pid);
	e = must_come(&self->nl);
	EXPECT_EQ(e.cmd, ROOST_NL_CMD_WORKER_ATTACHED);
	owner_end(&o);
	e = must_come(&self->nl);
	EXPECT_EQ(e.cmd, ROOST_NL_CMD_WORKER_DETACHED);
	EXPECT_EQ(e.pid, o.pid);
	e = must_come(&self->nl);
	EXPECT_EQ(e.cmd, ROOST_NL_CMD_DOMAIN_ENDED);
	EXPECT_EQ(e.domain, o.id);
	EXPECT_EQ(e.uid, 1000);
}

/* A request of the socket's own does not get in the way, nor does a wake. */
TEST_F(event, requests_on_the_same_socket)
{
	struct event e;
	struct dom d;

	ASSERT_EQ(nl_command(&self->nl, ROOST_NL_CMD_LIMITS_GET, 0, 0, NULL,
			     NULL), 0);
	ASSERT_EQ(dom_make(&d, 4, 4), 0);
	e = must_come(&self->nl);
	EXPECT_EQ(e.cmd, ROOST_NL_CMD_DOMAIN_CREATED);
}

/* Who does not read finds out that it has missed something. */
TEST_F(event, overrun)
{
	int size = 1, i;
	struct event e;
	struct dom d;
	struct wrk w;
	int ret;

	ASSERT_EQ(setsockopt(self->nl.fd, SOL_SOCKET, SO_RCVBUF, &size,
			     sizeof(size)), 0);
	ASSERT_EQ(dom_make(&d, 4, 4), 0);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(attach(&w), 0);
		ASSERT_EQ(detach(&w), 0);
	}
	do {
		ret = nl_receive(&self->nl, keep_event, &e, NULL);
	} while (ret == 1);
	EXPECT_EQ(ret, -ENOBUFS);
}

/* Who may listen */

static int join_result(void *arg)
{
	struct nl nl;

	check(nl_open(&nl) == 0);
	return nl_join(&nl);
}

TEST(who_may_join)
{
	const struct {
		struct actor who;
		int expected;
	} rows[] = {
		{ { "root", 0, 0 }, 0 },
		{ { "root without capabilities", 0, ACTOR_NO_CAPS }, -EPERM },
		{ { "user", 1000, 0 }, -EPERM },
		{ { "user in a user namespace", 1000, ACTOR_USER_NS }, -EPERM },
		{ { "root in a network namespace", 0, ACTOR_NET_NS }, 0 },
		{ { "user in both", 1000, ACTOR_USER_NS | ACTOR_NET_NS }, 0 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		EXPECT_EQ(act(&rows[i].who, join_result, NULL), rows[i].expected)
			TH_LOG("%s", rows[i].who.name);
	}
}

/*
 * What is heard in a network namespace.  An owner outside makes a domain, then
 * the listener itself does; the first event tells which it was.
 */
struct listening {
	const struct actor *owner;
	int go[2], done[2];
};

#define HEARD_OWN	1
#define HEARD_OTHER	2
#define HEARD_PID	4

static int listen_in_there(void *arg)
{
	struct listening *l = arg;
	int heard = 0, i;
	struct event e;
	struct nl nl;
	struct dom d;
	uint32_t id;
	char c;

	check(nl_open(&nl) == 0 && nl_join(&nl) == 0);
	check(write(l->go[1], "x", 1) == 1);
	check(read(l->done[0], &c, 1) == 1);
	check(dom_make(&d, 4, 4) == 0);
	id = id_of(&d);
	for (i = 0; i < 10 && !(heard & HEARD_OWN); i++) {
		e = must_come(&nl);
		heard |= e.domain == id ? HEARD_OWN : HEARD_OTHER;
		if (e.has_pid)
			heard |= HEARD_PID;
		check(e.domain != id || e.has_pid || e.uid == 0);
	}
	return heard;
}

static void *own_outside(void *arg)
{
	struct listening *l = arg;
	struct owner o;
	char c;

	check(read(l->go[0], &c, 1) == 1);
	o = owner_start(l->owner, id_of);
	owner_end(&o);
	check(write(l->done[1], "x", 1) == 1);
	return NULL;
}

TEST(where_it_is_heard)
{
	const struct actor root = { "root", 0, 0 };
	const struct actor user = { "user", 1000, 0 };
	const struct actor inside = { "inside", 1000, ACTOR_USER_NS };
	const struct actor net = { "net", 0, ACTOR_NET_NS };
	const struct actor both = { "both", 1000,
				    ACTOR_USER_NS | ACTOR_NET_NS };
	const struct {
		const char *what;
		const struct actor *listener, *owner;
		int expected;
	} rows[] = {
		{ "root hears a user", &root, &user,
		  HEARD_OWN | HEARD_OTHER | HEARD_PID },
		{ "root hears a user namespace", &root, &inside,
		  HEARD_OWN | HEARD_OTHER | HEARD_PID },
		{ "root hears other network namespaces", &root, &both,
		  HEARD_OWN | HEARD_OTHER | HEARD_PID },
		{ "so does another network namespace of root's", &net, &user,
		  HEARD_OWN | HEARD_OTHER | HEARD_PID },
		{ "a user namespace does not hear root", &both, &root,
		  HEARD_OWN },
		{ "nor who has made it, outside", &both, &user, HEARD_OWN },
		{ "nor its neighbour", &both, &inside, HEARD_OWN },
	};
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct listening l = { .owner = rows[i].owner };
		pthread_t thread;

		ASSERT_EQ(pipe(l.go), 0);
		ASSERT_EQ(pipe(l.done), 0);
		ASSERT_EQ(pthread_create(&thread, NULL, own_outside, &l), 0);
		EXPECT_EQ(act(rows[i].listener, listen_in_there, &l),
			  rows[i].expected)
			TH_LOG("row: %s", rows[i].what);
		ASSERT_EQ(pthread_join(thread, NULL), 0);
	}
}

TEST_HARNESS_MAIN
