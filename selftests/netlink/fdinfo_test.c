// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* fdinfo_test.c - what /proc/PID/fdinfo says of a domain's and worker's file. */
#include "kselftest_harness.h"

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
		{ }
	});
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
