// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* fdinfo_test.c - what /proc/PID/fdinfo says of a domain's and worker's file. */
#include "kselftest_harness.h"

#include "carrier_help.h"
#include "stat_work.h"

struct line {
	const char *key;
	const char *value;
};

static void expect_lines(struct __test_metadata *_metadata, int fd,
			 const struct line *lines)
{
	char value[128];

	for (; lines->key; lines++) {
		EXPECT_TRUE(fdinfo(fd, lines->key, value, sizeof(value)))
			TH_LOG("no %s", lines->key);
		EXPECT_STREQ(value, lines->value)
			TH_LOG("%s", lines->key);
	}
}

TEST(domain)
{
	static const char nobody[] = "00000000,00000000,00000000,00000000,"
				     "00000000,00000000,00000000,00000000";
	char id[16];
	struct work k;

	stat_work(&k);
	snprintf(id, sizeof(id), "%u", id_of(&k.d));
	expect_lines(_metadata, k.d.fd, (struct line []){
		{ "roost-domain", id },
		{ "roost-dead", "0" },
		{ "roost-workers", "2" },
		{ "roost-parked", nobody },
		{ "roost-timers", "3/32" },
		{ "roost-polls", "2/32" },
		{ "roost-ios", "1/8" },
		{ "roost-files", "1/256" },
		{ "roost-overflow", "4" },
		{ "roost-standbys", "0" },
		{ }
	});
}

static void *stand_by(void *arg)
{
	const struct dom *d = arg;
	struct roost_standby s = { 0 };

	check(call(d->fd, ROOST_IOC_STANDBY, &s) == 0);
	return NULL;
}

static bool shows(int fd, const char *key, const char *expected)
{
	char value[128];

	check(fdinfo(fd, key, value, sizeof(value)));
	return !strcmp(value, expected);
}

TEST(standbys)
{
	pthread_t thread[2];
	struct dom d;
	struct wrk w;
	int i;

	want_carriers(true);
	ASSERT_EQ(dom_make(&d, 4, 4), 0);
	want_carriers(false);
	if (!(d.params.features & ROOST_FEAT_STANDBY))
		SKIP(return, LACKING);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(pthread_create(&thread[i], NULL, stand_by, &d), 0);
	while (!shows(d.fd, "roost-standbys", "2"))
		sleep_ns(MSEC);
	EXPECT_TRUE(shows(w.fd, "roost-taken", "0"));
	for (i = 0; i < 2; i++) {
		/* that of a thread which has ended is free a little later */
		while (attach(&w) == -EBUSY)
			sleep_ns(MSEC);
		while (!shows(w.fd, "roost-taken", i ? "2" : "1"))
			sleep_ns(MSEC);
		EXPECT_TRUE(shows(d.fd, "roost-standbys", i ? "0" : "1"));
	}
	for (i = 0; i < 2; i++)
		ASSERT_EQ(pthread_join(thread[i], NULL), 0);
}

static void look_while_parked(struct work *k)
{
	char value[128];

	check(fdinfo(k->d.fd, "roost-parked", value, sizeof(value)));
	check(!strcmp(value + strlen(value) - 9, ",00000002"));
	check(fdinfo(k->w[1].fd, "roost-parked", value, sizeof(value)));
	check(!strcmp(value, "1"));
	check(fdinfo(k->w[0].fd, "roost-parked", value, sizeof(value)));
	check(!strcmp(value, "0"));
	check(wake(&k->d, ROOST_WAKE_INDEX, 1) == 1);
}

/* S2-32 */
TEST(worker)
{
	char id[16], tid[16];
	struct roost_sqe sqe;
	struct work k;

	stat_work(&k);
	snprintf(id, sizeof(id), "%u", id_of(&k.d));
	snprintf(tid, sizeof(tid), "%d", gettid());
	sqe = sqe_nop(1);
	push(&k.w[0], &sqe);
	push(&k.w[0], &sqe);
	expect_lines(_metadata, k.w[0].fd, (struct line []){
		{ "roost-domain", id },
		{ "roost-worker", "0" },
		{ "roost-carrier", tid },
		{ "roost-lease", "1" },
		{ "roost-parked", "0" },
		{ "roost-sq", "2/32" },
		{ "roost-cq", "0/32" },
		{ "roost-overflow", "0" },
		{ "roost-timers", "3" },
		{ "roost-parks", "0" },
		{ "roost-wakes", "2" },
		{ "roost-taken", "0" },
		{ }
	});
	expect_lines(_metadata, k.w[1].fd, (struct line []){
		{ "roost-domain", id },
		{ "roost-worker", "1" },
		{ "roost-carrier", "0" },
		{ "roost-lease", "4" },
		{ "roost-sq", "0/32" },
		{ "roost-cq", "8/8" },
		{ "roost-overflow", "4" },
		{ "roost-timers", "0" },
		{ "roost-parks", "4" },
		{ "roost-wakes", "2" },
		{ "roost-taken", "0" },
		{ }
	});
	drain(&k);
	while_parked(&k, ROOST_NO_DEADLINE, look_while_parked, ROOST_OUT_WAKE);
}

/* A process that writes nonsense to its rings gets nonsense, within bounds. */
TEST(forged_indices)
{
	char value[32];
	struct dom d;
	struct wrk w;

	ASSERT_EQ(dom_make(&d, 4, 4), 0);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	w.page->sq_tail = 1U << 31;
	w.page->cq_head = 77;
	ASSERT_TRUE(fdinfo(w.fd, "roost-sq", value, sizeof(value)));
	EXPECT_STREQ(value, "0/8");
	ASSERT_TRUE(fdinfo(w.fd, "roost-cq", value, sizeof(value)));
	EXPECT_STREQ(value, "8/8");
}

TEST_HARNESS_MAIN
