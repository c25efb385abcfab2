// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * thrift_test.c - what the scheduler does not do where there is no need: take a
 * lock, hold one while somebody is woken or a system call made, read the clock,
 * look at idle workers, wake anybody.
 *
 * The program is linked with --wrap, so that what the library's files call in one
 * another, and in the C library, comes by here.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include "actor.h"
#include "fd.h"
#include "idle.h"
#include "runtime.h"
#include "wait.h"
#include "worker.h"

#include "inside.h"
#include "io_help.h"

/* What is counted, and only between watch() and unwatch(). */
static _Atomic bool watching;
static struct runtime *_Atomic watched;		/* whose locks are looked at */
static _Atomic unsigned long clock_reads;
static _Atomic unsigned long idle_looks;
static _Atomic unsigned long wakes_of_all;
static _Atomic unsigned long wakes;
static _Atomic unsigned long wakes_under_a_lock;
static _Atomic unsigned long calls;
static _Atomic unsigned long calls_under_a_lock;
static struct fd *_Atomic watched_fd;

static void count(_Atomic unsigned long *n)
{
	if (atomic_load(&watching))
		atomic_fetch_add(n, 1);
}

/* With @rt, which must be there for so long, its locks are looked at as well. */
static void watch(struct runtime *rt)
{
	atomic_store(&clock_reads, 0);
	atomic_store(&idle_looks, 0);
	atomic_store(&wakes_of_all, 0);
	atomic_store(&wakes, 0);
	atomic_store(&wakes_under_a_lock, 0);
	atomic_store(&calls, 0);
	atomic_store(&calls_under_a_lock, 0);
	atomic_store(&watched, rt);
	atomic_store(&watching, true);
}

static void unwatch(void)
{
	atomic_store(&watching, false);
	atomic_store(&watched, NULL);
}

static bool held(struct spin *s)
{
	return atomic_load(&s->word) != 0;
}

/* In a run of one worker these are nobody's but the caller's. */
static bool holds_a_lock(struct runtime *rt)
{
	uint32_t used = atomic_load(&rt->slot_fresh), i;
	struct fd *f = atomic_load(&watched_fd);

	for (i = 0; i < used; i++)
		if (held(&rt->slots[i].lock))
			return true;
	return held(&rt->slot_lock) || held(&rt->stacks.usual.lock) ||
	       held(&rt->sweep_lock) || (f && held(&f->lock));
}

static void look_at_locks(_Atomic unsigned long *all, _Atomic unsigned long *bad)
{
	struct runtime *rt = atomic_load(&watched);

	count(all);
	if (rt && holds_a_lock(rt))
		count(bad);
}

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
void __real_idle_set(struct worker *w);
void __wrap_idle_set(struct worker *w);
void __real_worker_wake_all(struct runtime *rt);
void __wrap_worker_wake_all(struct runtime *rt);
bool __real_wait_wake(struct runtime *rt, struct wait_ref ref);
bool __wrap_wait_wake(struct runtime *rt, struct wait_ref ref);
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
int __real_munmap(void *at, size_t n);
int __wrap_munmap(void *at, size_t n);
int __real_mprotect(void *at, size_t n, int prot);
int __wrap_mprotect(void *at, size_t n, int prot);
int __real_madvise(void *at, size_t n, int advice);
int __wrap_madvise(void *at, size_t n, int advice);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	count(&clock_reads);
	return __real_clock_gettime(clock, ts);
}

void __wrap_idle_set(struct worker *w)
{
	count(&idle_looks);
	__real_idle_set(w);
}

void __wrap_worker_wake_all(struct runtime *rt)
{
	count(&wakes_of_all);
	__real_worker_wake_all(rt);
}

bool __wrap_wait_wake(struct runtime *rt, struct wait_ref ref)
{
	look_at_locks(&wakes, &wakes_under_a_lock);
	return __real_wait_wake(rt, ref);
}

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
	look_at_locks(&calls, &calls_under_a_lock);
	return __real_mmap(at, n, prot, flags, fd, from);
}

int __wrap_munmap(void *at, size_t n)
{
	look_at_locks(&calls, &calls_under_a_lock);
	return __real_munmap(at, n);
}

int __wrap_mprotect(void *at, size_t n, int prot)
{
	look_at_locks(&calls, &calls_under_a_lock);
	return __real_mprotect(at, n, prot);
}

int __wrap_madvise(void *at, size_t n, int advice)
{
	look_at_locks(&calls, &calls_under_a_lock);
	return __real_madvise(at, n, advice);
}

/* Threads that take over would come and go in between. */
static void run_without_standbys(unsigned int workers, roost_fn root)
{
	struct roost_config config = {
		.workers = workers, .standbys = ROOST_NO_STANDBYS,
	};

	run_with(&config, root, NULL);
	unwatch();
}

#define THRIFT_TEST(test_name, nr_workers)				\
	static void thrift_##test_name(void *arg);			\
	ROOST_TEST(test_name)						\
	{								\
		run_without_standbys(nr_workers, thrift_##test_name);	\
	}								\
	static void thrift_##test_name(void *arg unused_arg)

/* S0-15, S1-23 */
ROOST_TEST(what_is_written_shares_no_line)
{
	CHECK_EQ(_Alignof(struct slot) % 128, 0);
	CHECK_EQ(sizeof(struct slot) % 128, 0);
	CHECK_EQ(_Alignof(struct worker) % 128, 0);
	CHECK_EQ(sizeof(struct worker) % 128, 0);
	CHECK_EQ(offsetof(struct worker, stats) % CACHELINE, 0);
	CHECK(offsetof(struct worker, hand) / CACHELINE !=
	      offsetof(struct worker, backend) / CACHELINE);
	CHECK(offsetof(struct worker, stats) / CACHELINE !=
	      (offsetof(struct worker, own) + sizeof(struct runq_batch) - 1) /
	      CACHELINE);
	/* Counters of threads that are no workers, and what is only read. */
	CHECK_EQ(offsetof(struct runtime, outside) % CACHELINE, 0);
	CHECK(offsetof(struct runtime, runq) / CACHELINE <
	      offsetof(struct runtime, slot_lock) / CACHELINE);
	CHECK(offsetof(struct runtime, live) / CACHELINE !=
	      offsetof(struct runtime, slot_lock) / CACHELINE);
}

static void nothing(void *arg unused_arg)
{
}

static void sets(void *arg)
{
	atomic_store((_Atomic bool *)arg, true);
}

/* Pids of actors that have ended are put in front of one that is ready. */
static void stale_before_ready(struct runtime *rt)
{
	_Atomic bool ran = false;
	roost_pid old[5], pid;
	int i;

	for (i = 0; i < 5; i++)
		old[i] = spawn(nothing, NULL);
	for (i = 0; i < 5; i++)
		join(old[i]);
	/* Its slot is that of the last one that has ended. */
	pid = spawn(sets, &ran);
	roost_yield();
	CHECK(atomic_load(&ran));
	CHECK_EQ((uint32_t)pid, (uint32_t)old[4]);

	watch(rt);
	for (i = 0; i < 5; i++) {
		INSIDE(runtime_queue(rt, worker_self(), runtime_slot(rt, old[i])));
		if (i < 4)
			roost_yield();
	}
	roost_yield();
	CHECK_EQ(atomic_load(&idle_looks), 0);
	unwatch();
	CHECK_EQ(runq_length(rt->runq), 0);
	join(pid);
}

/* S0-27: ... and dropped one after the other, without a look at going idle. */
THRIFT_TEST(what_is_stale_is_dropped_and_the_next_is_taken, 1)
{
	int i;

	for (i = 0; i < 10; i++)
		stale_before_ready(runtime_self());
}

static _Atomic bool hogged, released;

static void hog(void *arg unused_arg)
{
	uint64_t limit = roost_after(ROOST_SEC(30));

	atomic_store(&hogged, true);
	while (!atomic_load(&released) && roost_now() < limit)
		sched_yield();
	CHECK(atomic_load(&released));
}

/* S0-27: the same where others take as well; one that does not, being busy. */
THRIFT_TEST(what_is_stale_is_dropped_among_several, 2)
{
	roost_pid pid;
	int i;

	atomic_store(&hogged, false);
	atomic_store(&released, false);
	pid = spawn(hog, NULL);
	while (!atomic_load(&hogged))
		roost_yield();
	for (i = 0; i < 10; i++)
		stale_before_ready(runtime_self());
	atomic_store(&released, true);
	join(pid);
}

static void parks(void *arg)
{
	unsigned long i, n = *(unsigned long *)arg;

	for (i = 0; i < n; i++)
		CHECK_EQ(roost_park(ROOST_FOREVER), 0);
}

/* Spawn, yield, park and unpark, join: all that needs no deadline. */
static void work_without_deadlines(unsigned long n)
{
	roost_pid pid = ROOST_PID_NONE;
	unsigned long i;

	CHECK_EQ(roost_spawn(parks, &n, &pid), 0);
	for (i = 0; i < n; i++) {
		roost_yield();
		CHECK_EQ(roost_unpark(pid), 0);
		roost_yield();
	}
	CHECK_EQ(roost_join(pid, ROOST_FOREVER), 0);
}

/* S0-69: a sleep does, which shows that reading it is noticed. */
THRIFT_TEST(without_a_deadline_the_clock_is_not_read, 1)
{
	unsigned long without;

	watch(runtime_self());
	work_without_deadlines(1000);
	without = atomic_load(&clock_reads);
	CHECK_EQ(roost_sleep(ROOST_USEC(100)), 0);
	CHECK(atomic_load(&clock_reads) > 0);
	unwatch();
	CHECK_EQ(without, 0);
}

static void sleeps(void *arg unused_arg)
{
	CHECK_EQ(roost_sleep(ROOST_USEC(300)), 0);
}

static _Atomic unsigned long before_the_end;

static void all_kinds_of_wakes(void *arg unused_arg)
{
	unsigned long once = 1;
	roost_pid pid[20];
	struct waiter w;
	int p[2], i;

	/* To the end of the run, so without a look into it. */
	watch(NULL);
	for (i = 0; i < 20; i++)
		pid[i] = spawn(sleeps, NULL);
	for (i = 0; i < 100; i++) {
		roost_pid parker = spawn(parks, &once);

		CHECK_EQ(roost_unpark(parker), 0);
		join(parker);
	}
	for (i = 0; i < 20; i++)
		join(pid[i]);
	CHECK_EQ(pipe(p), 0);
	waiter_start(&w, p[0], POLLIN, soon());
	settle();
	CHECK_EQ(write(p[1], "x", 1), 1);
	CHECK_EQ(waiter_join(&w), POLLIN);
	close(p[0]);
	close(p[1]);
	CHECK(atomic_load(&wakes) > 0);
	atomic_store(&before_the_end, atomic_load(&wakes_of_all));
}

/* S1-04 */
ROOST_TEST(all_are_woken_once_at_the_end)
{
	unsigned int w;

	for (w = 1; w <= 4; w++) {
		run_actors(w, all_kinds_of_wakes, NULL);
		CHECK_EQ(atomic_load(&before_the_end), 0);
		CHECK_EQ(atomic_load(&wakes_of_all), 1);
		unwatch();
	}
}

/* S1-06, S2-17 */
THRIFT_TEST(while_nobody_is_idle_no_wake_is_sent, 1)
{
	struct roost_stats before, after;

	CHECK_EQ(roost_stats(&before), 0);
	work_without_deadlines(10000);
	CHECK_EQ(roost_stats(&after), 0);
	CHECK(after.resumes - before.resumes >= 20000);
	CHECK_EQ(after.wakes_sent, before.wakes_sent);
	CHECK_EQ(after.wake_calls, before.wake_calls);
	CHECK_EQ(after.enters, before.enters);
	CHECK_EQ(after.parks + after.parks_refused,
		 before.parks + before.parks_refused);
}

/* A thread outside that has locks until others have got on without them. */
struct holder {
	struct runtime *rt;
	struct slot *slots[2];
	_Atomic unsigned long turns;
	_Atomic bool held;
	_Atomic bool done;
	bool got_on;
};

#define TURNS	1000

static void *holds_locks(void *arg)
{
	struct holder *h = arg;
	struct runtime *rt = h->rt;
	uint64_t limit = roost_after(ROOST_SEC(30));
	unsigned long start;
	int i;

	for (i = 0; i < 2; i++)
		spin_lock(&h->slots[i]->lock);
	spin_lock(&rt->slot_lock);
	spin_lock(&rt->stacks.usual.lock);
	spin_lock(&rt->sweep_lock);
	pthread_mutex_lock(&rt->threads.lock);
	pthread_mutex_lock(&rt->threads.list_lock);
	atomic_store(&h->held, true);
	start = atomic_load(&h->turns);
	while (atomic_load(&h->turns) < start + TURNS && roost_now() < limit)
		sched_yield();
	h->got_on = atomic_load(&h->turns) >= start + TURNS;
	pthread_mutex_unlock(&rt->threads.list_lock);
	pthread_mutex_unlock(&rt->threads.lock);
	spin_unlock(&rt->sweep_lock);
	spin_unlock(&rt->stacks.usual.lock);
	spin_unlock(&rt->slot_lock);
	for (i = 0; i < 2; i++)
		spin_unlock(&h->slots[i]->lock);
	atomic_store(&h->done, true);
	return NULL;
}

static void takes_turns(void *arg)
{
	struct holder *h = arg;

	while (!atomic_load(&h->done)) {
		atomic_fetch_add(&h->turns, 1);
		roost_yield();
	}
}

static void resumes_without(void *arg unused_arg)
{
	struct holder h = { .rt = runtime_self() };
	roost_pid pid[2];
	pthread_t t;
	int i;

	for (i = 0; i < 2; i++) {
		pid[i] = spawn(takes_turns, &h);
		h.slots[i] = runtime_slot(h.rt, pid[i]);
	}
	CHECK_EQ(pthread_create(&t, NULL, holds_locks, &h), 0);
	while (!atomic_load(&h.done))
		roost_yield();
	pthread_join(t, NULL);
	CHECK(atomic_load(&h.held));
	CHECK(h.got_on);
	for (i = 0; i < 2; i++)
		join(pid[i]);
}

/* S1-25: whatever else there is is held by somebody who waits for the resumes. */
ROOST_TEST(a_resume_takes_no_lock_but_the_queues)
{
	run_without_standbys(1, resumes_without);
	run_without_standbys(2, resumes_without);
}

static void touches(void *arg unused_arg)
{
	volatile char space[8192];
	size_t i;

	for (i = 0; i < sizeof(space); i += 1024)
		space[i] = 1;
	roost_yield();
}

/* More than the pool keeps, and a batch that is given back. */
#define CROWD	150

/* S1-26: stacks made, opened, given back, beyond what the pool keeps. */
THRIFT_TEST(no_lock_is_held_over_a_call_for_a_stack, 1)
{
	roost_pid pid[CROWD];
	int i;

	watch(runtime_self());
	for (i = 0; i < CROWD; i++)
		pid[i] = spawn(touches, NULL);
	CHECK(atomic_load(&calls) > 0);
	for (i = 0; i < CROWD; i++)
		join(pid[i]);
	unwatch();
	CHECK(atomic_load(&calls) >= CROWD);
	CHECK_EQ(atomic_load(&calls_under_a_lock), 0);
}

static void joins_it(void *arg)
{
	CHECK_EQ(roost_join(*(roost_pid *)arg, ROOST_FOREVER), 0);
}

/* S0-59: several that wait for one end, each told by itself. */
THRIFT_TEST(the_dead_wake_without_a_lock, 1)
{
	roost_pid parked, pid[5];
	unsigned long n = 1;
	int i;

	parked = spawn(parks, &n);
	pid[0] = spawn(joins_it, &parked);
	roost_yield();
	watch(runtime_self());
	CHECK_EQ(roost_unpark(parked), 0);
	join(pid[0]);
	unwatch();
	/* Of who joined it, and of us. */
	CHECK_EQ(atomic_load(&wakes), 2);
	CHECK_EQ(atomic_load(&wakes_under_a_lock), 0);

	watch(runtime_self());
	for (i = 0; i < 5; i++)
		pid[i] = spawn(i ? nothing : sleeps, NULL);
	for (i = 0; i < 5; i++)
		join(pid[i]);
	unwatch();
	CHECK(atomic_load(&wakes) > 0);
	CHECK_EQ(atomic_load(&wakes_under_a_lock), 0);
}

/* S3-34: twenty waiters of one file, so more than one batch, told of an event. */
THRIFT_TEST(an_event_wakes_without_a_lock, 1)
{
	static struct waiter w[20];
	struct runtime *rt = runtime_self();
	int p[2], i;

	REQUIRE_EQ(pipe(p), 0);
	for (i = 0; i < 20; i++)
		waiter_start(&w[i], p[0], POLLIN, soon());
	settle();
	watch(rt);
	atomic_store(&watched_fd, fd_find(rt->fds, (unsigned int)p[0]));
	/* Here, where nobody else has any business with these locks. */
	INSIDE(fd_event(rt, (unsigned int)p[0],
			atomic_load(&watched_fd)->sequence, POLLIN));
	unwatch();
	atomic_store(&watched_fd, NULL);
	CHECK_EQ(atomic_load(&wakes), 20);
	CHECK_EQ(atomic_load(&wakes_under_a_lock), 0);

	CHECK_EQ(write(p[1], "x", 1), 1);
	for (i = 0; i < 20; i++)
		CHECK_EQ(waiter_join(&w[i]), POLLIN);
	close(p[0]);
	close(p[1]);
}
