// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* trace_test.c - tracepoints: as many events as things were done. */
#include "kselftest_harness.h"

#include <dirent.h>
#include <sys/mount.h>

#include "carrier_help.h"
#include "stat_work.h"

#define TRACING	"/sys/kernel/tracing"

/* A buffer of our own, so that nobody else's events are in it. */
FIXTURE(trace) {
	char dir[128];
};

static void write_to(const char *dir, const char *file, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC);
	check(fd >= 0);
	check(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

FIXTURE_SETUP(trace)
{
	mount("tracefs", TRACING, "tracefs", 0, NULL);
	snprintf(self->dir, sizeof(self->dir), TRACING "/instances/roost-%d",
		 getpid());
	ASSERT_EQ(mkdir(self->dir, 0700), 0);
	write_to(self->dir, "events/roost/enable", "1");
}

FIXTURE_TEARDOWN(trace)
{
	write_to(self->dir, "events/roost/enable", "0");
	EXPECT_EQ(rmdir(self->dir), 0);
}

/* How many lines of the trace have this event, of this domain, and @with. */
static unsigned int count(const char *dir, const char *event, uint32_t id,
			  const char *with)
{
	char path[256], line[512], name[64], domain[32];
	unsigned int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/trace", dir);
	snprintf(name, sizeof(name), " %s: ", event);
	snprintf(domain, sizeof(domain), "domain=%u ", id);
	f = fopen(path, "re");
	check(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, name) && strstr(line, domain) &&
		     (!with || strstr(line, with));
	fclose(f);
	return n;
}

static void work_close(struct work *k)
{
	int i;

	for (i = 0; i < 2; i++) {
		munmap(k->w[i].page, k->w[i].params.map_size);
		close(k->w[i].fd);
	}
	dom_unmap(&k->d);
	close(k->d.fd);
	/* Closing has detached who was still attached. */
	k->n.detached++;
}

TEST_F(trace, as_many_as_were_done)
{
	struct work k;
	uint32_t id;

	stat_work(&k);
	id = id_of(&k.d);
	work_close(&k);
	const struct {
		const char *event, *with;
		unsigned int expected;
	} rows[] = {
		{ "roost_domain_create", NULL, 1 },
		{ "roost_domain_end", NULL, 1 },
		{ "roost_worker_attach", NULL, k.n.attached },
		{ "roost_worker_detach", NULL, k.n.detached },
		{ "roost_park", NULL, k.n.parks + k.n.parks_refused },
		{ "roost_park", "sleeps=1", k.n.parks },
		{ "roost_unpark", NULL, k.n.parks + k.n.parks_refused },
		{ "roost_unpark", "slept", k.n.parks },
		{ "roost_unpark", "=wake", k.n.wakes_received },
		{ "roost_unpark", "timeout", k.n.timeouts },
		{ "roost_wake", NULL, k.n.wakes + k.n.event + k.n.timeout },
		{ "roost_wake", "kind=call", k.n.call },
		{ "roost_wake", "kind=permit", k.n.permit },
		{ "roost_wake", "kind=bit", k.n.bit },
		{ "roost_wake", "kind=event", k.n.event },
		{ "roost_wake", "kind=timeout", k.n.timeout },
		{ "roost_timer_set", "moved=0", k.n.timers_set },
		{ "roost_timer_set", "moved=1", k.n.timers_moved },
		{ "roost_timer_fire", NULL, k.n.timers_fired },
		{ "roost_timer_cancel", NULL, k.n.timers_cancelled },
		{ "roost_poll_arm", NULL, k.n.polls_added },
		{ "roost_poll_arm", "multishot=1", 1 },
		{ "roost_poll_fire", NULL, k.n.polls_fired },
		{ "roost_io_submit", NULL, k.n.ios_started },
		{ "roost_io_complete", NULL, k.n.ios_done },
		{ "roost_overflow", NULL, k.n.overflowed },
	};
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		EXPECT_GT(rows[i].expected, 0);
		EXPECT_EQ(count(self->dir, rows[i].event, id, rows[i].with),
			  rows[i].expected)
			TH_LOG("%s %s", rows[i].event,
			       rows[i].with ? rows[i].with : "");
	}
}

/* What each field says, once. */
TEST_F(trace, fields)
{
	char attached[96], set[128], wake_line[64];
	uint64_t deadline = now_ns() + 3600 * SEC;
	int fd = eventfd(1, EFD_CLOEXEC);
	struct roost_sqe sqe;
	struct dom d;
	struct wrk w[2];
	uint32_t id;

	ASSERT_EQ(dom_make_io(&d, 8, 8), 0);
	id = id_of(&d);
	ASSERT_EQ(wrk_make(&w[0], &d, 8, 8), 0);
	ASSERT_EQ(wrk_make(&w[1], &d, 8, 8), 0);
	ASSERT_EQ(attach(&w[1]), 0);
	ASSERT_EQ(wake(&d, ROOST_WAKE_INDEX, 1), 1);
	ASSERT_EQ(submit_one(&w[1], sqe_timer(5, 9, deadline)), 1);
	ASSERT_EQ(submit_one(&w[1], sqe_timer_cancel(5, 10, 0)), 1);
	ASSERT_EQ(submit_one(&w[1], sqe_poll(3, 4, fd, POLLIN, 0)), 1);
	sqe = (struct roost_sqe){
		.opcode = ROOST_OP_READ, .fd = fd, .op_id = roost_op_id(2, 6),
		.addr = (uintptr_t)&deadline, .len = 8,
		.offset = ROOST_OFFSET_NONE,
	};
	ASSERT_EQ(submit_one(&w[1], sqe), 1);

	snprintf(attached, sizeof(attached), "worker=1 tid=%d lease=1\n",
		 gettid());
	snprintf(set, sizeof(set), "worker=1 index=5 sequence=9 deadline=");
	snprintf(wake_line, sizeof(wake_line), "worker=1 kind=permit\n");
	EXPECT_EQ(count(self->dir, "roost_worker_attach", id, attached), 1);
	EXPECT_EQ(count(self->dir, "roost_wake", id, wake_line), 1);
	EXPECT_EQ(count(self->dir, "roost_timer_set", id, set), 1);
	EXPECT_EQ(count(self->dir, "roost_timer_cancel", id, set), 1);
	EXPECT_EQ(count(self->dir, "roost_poll_arm", id,
			"worker=1 index=3 sequence=4 events=0x19 multishot=0\n"),
		  1);
	EXPECT_EQ(count(self->dir, "roost_poll_fire", id,
			"worker=1 index=3 sequence=4 res=1 flags=0x2\n"), 1);
	EXPECT_EQ(count(self->dir, "roost_io_submit", id,
			"worker=1 index=2 sequence=6 opcode=11 fd="), 1);
	EXPECT_EQ(count(self->dir, "roost_io_complete", id,
			"worker=1 index=2 sequence=6 res=8 flags=0x5\n"), 1);
}

static void *stand_by(void *arg)
{
	const struct dom *d = arg;
	struct roost_standby s = { 0 };

	return (void *)(long)call(d->fd, ROOST_IOC_STANDBY, &s);
}

/* We are stuck: once with a standby, which then ends, and then without one. */
TEST_F(trace, takeover)
{
	struct dom d;
	struct wrk w;
	pthread_t thread;
	void *ret;
	uint32_t id;

	want_carriers(true);
	ASSERT_EQ(dom_make(&d, 4, 4), 0);
	want_carriers(false);
	if (!(d.params.features & ROOST_FEAT_STANDBY))
		SKIP(return, LACKING);
	id = id_of(&d);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	ASSERT_EQ(attach(&w), 0);
	ASSERT_EQ(pthread_create(&thread, NULL, stand_by, &d), 0);
	while (__atomic_load_n(&w.page->lease, __ATOMIC_ACQUIRE) == 1)
		sleep_ns(MSEC);
	ASSERT_EQ(pthread_join(thread, &ret), 0);
	EXPECT_EQ(ret, NULL);
	EXPECT_EQ(stat_of(&d).taken, 1);
	EXPECT_EQ(count(self->dir, "roost_takeover", id, "lease=2\n"), 1);
	ASSERT_EQ(attach(&w), 0);
	while (!stat_of(&d).starved)
		sleep_ns(MSEC);
	EXPECT_EQ(detach(&w), 0);
	EXPECT_EQ(count(self->dir, "roost_starved", id, "lease="),
		  stat_of(&d).starved);
	EXPECT_EQ(count(self->dir, "roost_takeover", id, NULL), 1);
	close(w.fd);
	close(d.fd);
}

/* Each event that there is, is one that the tests above know. */
TEST_F(trace, no_other_events)
{
	static const char *const known[] = {
		"domain_create", "domain_end", "worker_attach", "worker_detach",
		"park", "unpark", "wake", "timer_set", "timer_fire",
		"timer_cancel", "poll_arm", "poll_fire", "io_submit",
		"io_complete", "overflow", "takeover", "starved",
	};
	DIR *dir = opendir(TRACING "/events/roost");
	const struct dirent *entry;
	unsigned int i, n = 0;

	ASSERT_NE(dir, NULL);
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, "roost_", 6))
			continue;
		n++;
		for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (!strcmp(known[i], entry->d_name + 6))
				break;
		EXPECT_LT(i, sizeof(known) / sizeof(known[0]))
			TH_LOG("%s", entry->d_name);
	}
	closedir(dir);
	EXPECT_EQ(n, sizeof(known) / sizeof(known[0]));
}

TEST_HARNESS_MAIN
