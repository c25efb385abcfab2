// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* stat_test.c - counters, as netlink has them, say what was done. */
#include "kselftest_harness.h"

#include "carrier_help.h"
#include "stat_work.h"

static void keep_stats(const struct msg *m, void *arg)
{
	struct nlattr *a[ROOST_NL_STAT_MAX + 1];
	uint64_t *value = arg;
	int i;

	parse_nest(m->a[ROOST_NL_A_STATS], a, ROOST_NL_STAT_MAX);
	value[0]++;
	for (i = 1; i <= ROOST_NL_STAT_MAX; i++) {
		check(a[i]);
		value[i] = attr_u64(a[i]);
	}
}

TEST(add_up_to_what_was_done)
{
	uint64_t v[ROOST_NL_STAT_MAX + 1] = { 0 };
	struct work k;
	struct nl nl;

	stat_work(&k);
	ASSERT_EQ(nl_open(&nl), 0);
	ASSERT_EQ(nl_command(&nl, ROOST_NL_CMD_STATS_GET, 0, id_of(&k.d),
			     keep_stats, v), 0);
	EXPECT_EQ(v[0], 1);
#define SAME(attr, field) EXPECT_EQ(v[ROOST_NL_STAT_##attr], k.n.field)
	SAME(WORKERS, workers);
	SAME(TIMERS_PENDING, timers_pending);
	SAME(POLLS_ARMED, polls_armed);
	SAME(OVERFLOW_PENDING, overflow_pending);
	SAME(PARKS, parks);
	SAME(PARKS_REFUSED, parks_refused);
	SAME(WAKES, wakes);
	SAME(WAKES_RECEIVED, wakes_received);
	SAME(WAKES_KERNEL, wakes_kernel);
	SAME(TIMEOUTS, timeouts);
	SAME(SUBMITTED, submitted);
	SAME(OVERFLOWED, overflowed);
	SAME(TIMERS_SET, timers_set);
	SAME(TIMERS_MOVED, timers_moved);
	SAME(TIMERS_FIRED, timers_fired);
	SAME(TIMERS_CANCELLED, timers_cancelled);
	SAME(POLLS_ADDED, polls_added);
	SAME(POLLS_FIRED, polls_fired);
	SAME(POLLS_REMOVED, polls_removed);
	SAME(IOS_STARTED, ios_started);
	SAME(IOS_DONE, ios_done);
	SAME(IOS_PENDING, ios_pending);
	SAME(FILES, files);
	EXPECT_EQ(v[ROOST_NL_STAT_TAKEN], 0);
	EXPECT_EQ(v[ROOST_NL_STAT_STARVED], 0);
	EXPECT_EQ(v[ROOST_NL_STAT_SPUN], 0);
	EXPECT_EQ(v[ROOST_NL_STAT_SIGNALS], 0);
	EXPECT_GE(v[ROOST_NL_STAT_IOS_WAITED], 1);
	EXPECT_GE(v[ROOST_NL_STAT_HRTIMER_STARTS], 1);
	EXPECT_GE(v[ROOST_NL_STAT_HRTIMER_FIRES], 1);
}

/* Field by field what the owner's ioctl says: none is mixed up with another. */
TEST(the_same_as_by_ioctl)
{
	uint64_t v[ROOST_NL_STAT_MAX + 1] = { 0 };
	struct roost_domain_stat s;
	struct work k;
	struct nl nl;

	stat_work(&k);
	ASSERT_EQ(nl_open(&nl), 0);
	ASSERT_EQ(nl_command(&nl, ROOST_NL_CMD_STATS_GET, 0, id_of(&k.d),
			     keep_stats, v), 0);
	s = stat_of(&k.d);
#undef SAME
#define SAME(attr, field) EXPECT_EQ(v[ROOST_NL_STAT_##attr], s.field)
	SAME(WORKERS, workers);
	SAME(TIMERS_PENDING, timers_pending);
	SAME(POLLS_ARMED, polls_armed);
	SAME(OVERFLOW_PENDING, overflow_pending);
	SAME(PARKS, parks);
	SAME(PARKS_BUSY, parks_busy);
	SAME(PARKS_REFUSED, parks_refused);
	SAME(WAKES, wakes);
	SAME(WAKES_RECEIVED, wakes_received);
	SAME(WAKES_KERNEL, wakes_kernel);
	SAME(TIMEOUTS, timeouts);
	SAME(SIGNALS, signals);
	SAME(ENTERS, enters);
	SAME(SUBMITTED, submitted);
	SAME(COMPLETED, completed);
	SAME(OVERFLOWED, overflowed);
	SAME(TIMERS_SET, timers_set);
	SAME(TIMERS_MOVED, timers_moved);
	SAME(TIMERS_FIRED, timers_fired);
	SAME(TIMERS_CANCELLED, timers_cancelled);
	SAME(POLLS_ADDED, polls_added);
	SAME(POLLS_FIRED, polls_fired);
	SAME(POLLS_REMOVED, polls_removed);
	SAME(HRTIMER_STARTS, hrtimer_starts);
	SAME(HRTIMER_FIRES, hrtimer_fires);
	SAME(IOS_STARTED, ios_started);
	SAME(IOS_WAITED, ios_waited);
	SAME(IOS_DONE, ios_done);
	SAME(IOS_PENDING, ios_pending);
	SAME(FILES, files);
	SAME(TAKEN, taken);
	SAME(STARVED, starved);
	SAME(SPUN, spun);
	/* we go on being switched */
	EXPECT_LE(v[ROOST_NL_STAT_BLOCKED], s.blocked);
	EXPECT_LE(v[ROOST_NL_STAT_PREEMPTED], s.preempted);
}

static void *stand_by(void *arg)
{
	const struct dom *d = arg;
	struct roost_standby s = { 0 };

	check(call(d->fd, ROOST_IOC_STANDBY, &s) == 0);
	return NULL;
}

/* Those of carriers. */
TEST(of_carriers)
{
	uint64_t v[ROOST_NL_STAT_MAX + 1] = { 0 };
	struct roost_domain_stat s;
	pthread_t thread;
	struct dom d;
	struct wrk w;
	struct nl nl;
	int i;

	want_carriers(true);
	ASSERT_EQ(dom_make(&d, 4, 4), 0);
	want_carriers(false);
	if (!(d.params.features & ROOST_FEAT_STANDBY))
		SKIP(return, LACKING);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	d.control->queued = 1;
	/* twice by sleeping, once by spinning */
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(attach(&w), 0);
		ASSERT_EQ(pthread_create(&thread, NULL, stand_by, &d), 0);
		while (stat_of(&d).taken == (unsigned int)i)
			if (i < 2)
				sleep_ns(MSEC);
		ASSERT_EQ(pthread_join(thread, NULL), 0);
	}
	/* and then in vain, until the two differ: one for the other would be seen */
	do {
		ASSERT_EQ(attach(&w), 0);
		do {
			sleep_ns(MSEC);
		} while (stat_of(&d).starved < 5);
		ASSERT_EQ(detach(&w), 0);
		s = stat_of(&d);
	} while (s.blocked == s.preempted);
	ASSERT_EQ(nl_open(&nl), 0);
	ASSERT_EQ(nl_command(&nl, ROOST_NL_CMD_STATS_GET, 0, id_of(&d),
			     keep_stats, v), 0);
	s = stat_of(&d);
	EXPECT_EQ(s.taken, 3);
	EXPECT_GE(s.spun, 1);
	SAME(BLOCKED, blocked);
	SAME(PREEMPTED, preempted);
	SAME(TAKEN, taken);
	SAME(STARVED, starved);
	SAME(SPUN, spun);
}

/* The workers' counters are the domain's, taken apart. */
static void add_stats(const struct msg *m, void *arg)
{
	struct nlattr *a[ROOST_NL_STAT_MAX + 1];
	uint64_t *value = arg;
	int i;

	parse_nest(m->a[ROOST_NL_A_STATS], a, ROOST_NL_STAT_MAX);
	value[0]++;
	for (i = 1; i <= ROOST_NL_STAT_MAX; i++)
		value[i] += attr_u64(a[i]);
}

TEST(workers_add_up_to_the_domain)
{
	uint64_t v[ROOST_NL_STAT_MAX + 1] = { 0 };
	uint64_t sum[ROOST_NL_STAT_MAX + 1] = { 0 };
	unsigned int compared = 0;
	struct work k;
	struct nl nl;
	int i;

	stat_work(&k);
	ASSERT_EQ(nl_open(&nl), 0);
	ASSERT_EQ(nl_command(&nl, ROOST_NL_CMD_STATS_GET, 0, id_of(&k.d),
			     keep_stats, v), 0);
	ASSERT_EQ(nl_command(&nl, ROOST_NL_CMD_WORKER_GET, NLM_F_DUMP,
			     id_of(&k.d), add_stats, sum), 0);
	EXPECT_EQ(sum[0], 2);
	for (i = 1; i <= ROOST_NL_STAT_MAX; i++) {
		switch (i) {
		case ROOST_NL_STAT_WORKERS:
		case ROOST_NL_STAT_POLLS_ARMED:
		case ROOST_NL_STAT_POLLS_ADDED:
		case ROOST_NL_STAT_POLLS_FIRED:
		case ROOST_NL_STAT_POLLS_REMOVED:
		case ROOST_NL_STAT_IOS_PENDING:
		case ROOST_NL_STAT_FILES:
			/* not counted by worker */
			EXPECT_EQ(sum[i], 0);
			break;
		case ROOST_NL_STAT_BLOCKED:
		case ROOST_NL_STAT_PREEMPTED:
			/* we go on being switched */
			EXPECT_GE(sum[i], v[i]);
			break;
		default:
			EXPECT_EQ(sum[i], v[i])
				TH_LOG("counter %d", i);
			compared += v[i] != 0;
		}
	}
	EXPECT_GE(compared, 18);
}

TEST_HARNESS_MAIN
