// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* What roost_worker_stats() says of each worker, from wherever it is asked. */
#include <pthread.h>

#include "run.h"

#define WORKERS	3U
#define LOAD	40

static struct roost_worker_stats of_worker(unsigned int worker)
{
	struct roost_worker_stats s;

	memset(&s, 0x5a, sizeof(s));
	CHECK_EQ(roost_worker_stats(ROOST_PID_NONE, worker, &s), 0);
	return s;
}

static void parks(void *arg unused_arg)
{
	while (roost_park(ROOST_FOREVER) != -ECANCELED)
		;
}

static void end(roost_pid pid)
{
	CHECK_EQ(roost_stop(pid), 0);
	join(pid);
}

/* Sums */

/* All counters that both structures have. */
#define COUNTERS(X) \
	X(spawned) X(resumes) X(parks) X(parks_refused) X(wake_calls) X(enters) \
	X(timers_armed) X(timers_fired) X(fd_arms) X(fd_events) X(ring_ios) \
	X(displaced) X(crashed) X(slot_hits) X(slot_displaced) X(overruns)

static void add(struct roost_worker_stats *sum, unsigned int worker)
{
	struct roost_worker_stats s = of_worker(worker);

#define X(name) sum->name += s.name;
	COUNTERS(X)
#undef X
	sum->wakes_sent += s.wakes_sent;
	sum->wakes_received += s.wakes_received;
}

static struct roost_worker_stats sum_of_all(unsigned int workers)
{
	struct roost_worker_stats sum = { 0 };
	unsigned int i;

	for (i = 0; i < workers; i++)
		add(&sum, i);
	add(&sum, ROOST_NO_WORKER);
	return sum;
}

static void check_between(const char *name, uint64_t before, uint64_t all,
			  uint64_t after)
{
	CHECK_MSG(before <= all && all <= after, "%s: %llu, then %llu, then %llu",
		  name, (unsigned long long)before, (unsigned long long)all,
		  (unsigned long long)after);
}

/* Counters only grow: what was read before is not more, what is read after not less. */
static void check_sums(void)
{
	struct roost_worker_stats before, after;
	struct roost_stats all;

	CHECK_EQ(roost_stats(&all), 0);
	before = sum_of_all(all.workers);
	CHECK_EQ(roost_stats(&all), 0);
	after = sum_of_all(all.workers);
#define X(name) check_between(#name, before.name, all.name, after.name);
	COUNTERS(X)
#undef X
	if (all.backend[0] == 'k')
		return;
	check_between("wakes_sent", before.wakes_sent, all.wakes_sent,
		      after.wakes_sent);
	check_between("wakes_received", before.wakes_received,
		      all.wakes_received, after.wakes_received);
}

static void works(void *arg unused_arg)
{
	int i;

	for (i = 0; i < 20; i++) {
		roost_yield();
		roost_sleep(1000);
	}
}

static void *unparks(void *arg)
{
	CHECK_EQ(roost_unpark(*(roost_pid *)arg), 0);
	return NULL;
}

/* S0-83 */
ACTOR_TEST(sums_are_those_of_the_runtime, WORKERS)
{
	roost_pid pid[LOAD], parked = spawn(parks, NULL);
	struct roost_worker_stats sum;
	pthread_t outside;
	unsigned int i;

	for (i = 0; i < LOAD; i++)
		pid[i] = spawn(works, NULL);
	CHECK_EQ(pthread_create(&outside, NULL, unparks, &parked), 0);
	for (i = 0; i < LOAD; i++) {
		check_sums();
		join(pid[i]);
	}
	pthread_join(outside, NULL);
	check_sums();
	sum = sum_of_all(WORKERS);
	/* also the root, and who parks */
	CHECK_EQ(sum.spawned, LOAD + 2);
	CHECK(sum.resumes > LOAD * 20);
	CHECK_EQ(sum.timers_fired, LOAD * 20);
	end(parked);
}

/* Places */

static _Atomic int spinning;

static void spins(void *arg unused_arg)
{
	atomic_fetch_add(&spinning, 1);
	while (atomic_load(&spinning) > 0)
		;
}

static int worker_of(roost_pid pid)
{
	int found = -1;
	unsigned int i;

	for (i = 0; i < WORKERS; i++) {
		if (of_worker(i).running != pid)
			continue;
		CHECK_EQ(found, -1);
		found = (int)i;
	}
	return found;
}

/* S0-83: each is on a worker of its own */
ACTOR_TEST(who_runs_on_which, WORKERS)
{
	roost_pid pid[WORKERS] = { roost_self() };
	unsigned int i, mask = 0;
	int at;

	atomic_store(&spinning, 0);
	for (i = 1; i < WORKERS; i++)
		pid[i] = spawn(spins, NULL);
	while (atomic_load(&spinning) < (int)WORKERS - 1)
		roost_yield();
	for (i = 0; i < WORKERS; i++) {
		at = worker_of(pid[i]);
		REQUIRE(at >= 0);
		CHECK_EQ(of_worker((unsigned int)at).idle, 0);
		mask |= 1U << at;
	}
	CHECK_EQ(mask, (1U << WORKERS) - 1);
	atomic_store(&spinning, -1);
	for (i = 1; i < WORKERS; i++)
		join(pid[i]);
}

/* S0-83: with nothing to do it is seen to sleep, and that nobody is on it */
ACTOR_TEST(who_has_nothing_to_do, 2)
{
	struct roost_worker_stats s;
	unsigned int other;

	do {
		roost_yield();
		other = of_worker(0).running == roost_self() ? 1 : 0;
		s = of_worker(other);
	} while (!s.idle);
	CHECK_EQ(s.running, ROOST_PID_NONE);
	CHECK_EQ(s.next, ROOST_PID_NONE);
	CHECK_EQ(s.queued, 0);
}

static void ends(void *arg unused_arg)
{
}

/* One worker, and nobody else runs between two calls, however long they take. */
static void run_alone(enum roost_wake_slot slot, roost_fn root)
{
	struct roost_config config = {
		.workers = 1, .wake_slot = slot, .standbys = ROOST_NO_STANDBYS,
	};

	run_with(&config, root, NULL);
}

static void counts_who_waits(void *arg unused_arg)
{
	struct roost_worker_stats s;
	roost_pid pid[5];
	unsigned int i;

	roost_preempt_disable();
	CHECK_EQ(of_worker(0).queued, 0);
	for (i = 0; i < 5; i++)
		pid[i] = spawn(ends, NULL);
	s = of_worker(0);
	CHECK_EQ(s.queued, 5);
	CHECK_EQ(s.running, roost_self());
	CHECK_EQ(s.idle, 0);
	for (i = 0; i < 5; i++)
		join(pid[i]);
	CHECK_EQ(of_worker(0).queued, 0);
	roost_preempt_enable();
}

/* S0-83 */
ROOST_TEST(how_many_wait_for_it)
{
	run_alone(ROOST_WAKE_SLOT_OFF, counts_who_waits);
}

static void look_at_slot(void *arg unused_arg)
{
	struct roost_worker_stats before, s;
	roost_pid first, second;

	roost_preempt_disable();
	first = spawn(parks, NULL);
	second = spawn(parks, NULL);
	roost_yield();
	before = of_worker(0);
	CHECK_EQ(before.next, ROOST_PID_NONE);
	CHECK_EQ(roost_unpark(first), 0);
	CHECK_EQ(of_worker(0).next, first);
	CHECK_EQ(roost_unpark(second), 0);
	s = of_worker(0);
	CHECK_EQ(s.next, second);
	CHECK_EQ(s.slot_displaced, before.slot_displaced + 1);
	CHECK_EQ(s.queued, 1);
	roost_yield();
	s = of_worker(0);
	CHECK_EQ(s.next, ROOST_PID_NONE);
	CHECK_EQ(s.slot_hits, before.slot_hits + 1);
	roost_preempt_enable();
	end(first);
	end(second);
}

/* S0-83 */
ROOST_TEST(who_is_in_the_wake_slot)
{
	run_alone(ROOST_WAKE_SLOT_ON, look_at_slot);
}

/* From outside */

static void *looks(void *arg)
{
	roost_pid of = *(roost_pid *)arg;
	struct roost_worker_stats s;
	unsigned int i, running = 0;

	errno = 4711;
	CHECK_EQ(roost_worker_stats(ROOST_PID_NONE, 0, &s), -EPERM);
	for (i = 0; i < WORKERS; i++) {
		CHECK_EQ(roost_worker_stats(of, i, &s), 0);
		running += s.running == of;
	}
	CHECK_EQ(running, 1);
	CHECK_EQ(roost_worker_stats(of, WORKERS, &s), -EINVAL);
	CHECK_EQ(roost_worker_stats(of, ROOST_NO_WORKER, &s), 0);
	CHECK_EQ(s.running, ROOST_PID_NONE);
	CHECK_EQ(errno, 4711);
	return NULL;
}

static roost_pid gone;

static void asks_outside(void *arg unused_arg)
{
	struct roost_worker_stats s;
	pthread_t thread;

	gone = roost_self();
	CHECK_EQ(pthread_create(&thread, NULL, looks, &gone), 0);
	pthread_join(thread, NULL);
	CHECK_EQ(roost_worker_stats(gone, WORKERS - 1, &s), 0);
	CHECK_EQ(roost_worker_stats(ROOST_PID_NONE, WORKERS, &s), -EINVAL);
	/* no runtime has that many actors */
	CHECK_EQ(roost_worker_stats(ROOST_PID_NONE - 1, 0, &s), -ESRCH);
}

/* S0-83 */
ROOST_TEST(any_thread_may_ask)
{
	struct roost_worker_stats s;

	run_actors(WORKERS, asks_outside, NULL);
	CHECK_EQ(roost_worker_stats(gone, 0, &s), -ESRCH);
	CHECK_EQ(roost_worker_stats(ROOST_PID_NONE, 0, &s), -EPERM);
}

static _Atomic bool over;
static _Atomic roost_pid named;

static void *looks_all_the_time(void *arg unused_arg)
{
	struct roost_worker_stats s;
	unsigned long n = 0;
	unsigned int i = 0;

	while (!atomic_load(&over)) {
		i = (i + 1) % WORKERS;
		if (roost_worker_stats(atomic_load(&named), i, &s))
			continue;
		CHECK(s.idle <= 1);
		n++;
	}
	CHECK(n > 0);
	return NULL;
}

static void is_looked_at(void *arg unused_arg)
{
	unsigned long i, n = rounds(2000);

	atomic_store(&named, roost_self());
	for (i = 0; i < n; i++)
		CHECK_EQ(roost_spawn(works, NULL, NULL), 0);
	roost_sleep(1000);
}

static void nothing(void *arg unused_arg)
{
}

/* Somebody looks while actors come and go, and while the runtime does. */
ROOST_TEST(looked_at_from_the_beginning_to_the_end)
{
	pthread_t thread;
	int i;

	atomic_store(&over, false);
	atomic_store(&named, 0);
	CHECK_EQ(pthread_create(&thread, NULL, looks_all_the_time, NULL), 0);
	run_actors(WORKERS, is_looked_at, NULL);
	for (i = 0; i < 20; i++)
		run_actors(1, nothing, NULL);
	atomic_store(&over, true);
	pthread_join(thread, NULL);
}
