// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * sched_test.c - who runs when, on how many workers, and who is woken for it.
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "runtime.h"

#include "run.h"

static unsigned int workers_of_stats(void)
{
	struct roost_stats s;

	CHECK_EQ(roost_stats(&s), 0);
	return s.workers;
}

/* One worker: strict rotation. */
struct rotation {
	int order[400];
	int count;
};

struct rotor {
	struct rotation *all;
	int id;
};

static void rotor_main(void *arg)
{
	struct rotor *r = arg;
	int i;

	for (i = 0; i < 100; i++) {
		r->all->order[r->all->count++] = r->id;
		roost_yield();
	}
}

/* S0-39, S2-12 */
ACTOR_TEST(yield_lets_everybody_else_run_first, 1)
{
	struct rotation all = { .count = 0 };
	struct rotor r[4];
	roost_pid pid[4];
	int i;

	for (i = 0; i < 4; i++) {
		r[i] = (struct rotor){ &all, i };
		pid[i] = spawn(rotor_main, &r[i]);
	}
	for (i = 0; i < 4; i++)
		join(pid[i]);
	CHECK_EQ(all.count, 400);
	for (i = 0; i < 400; i++)
		if (!CHECK_EQ(all.order[i], i % 4))
			break;
}

/* Several workers: nobody starves. */
static _Atomic bool quit;

static void yields(void *arg)
{
	_Atomic unsigned long *n = arg;

	while (!atomic_load(&quit)) {
		atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
		roost_yield();
	}
}

ACTOR_TEST(yielding_actors_share_evenly, 3)
{
	enum { N = 16 };
	_Atomic unsigned long n[N];
	unsigned long least = ~0UL, most = 0;
	roost_pid pid[N];
	int i;

	atomic_store(&quit, false);
	for (i = 0; i < N; i++) {
		atomic_init(&n[i], 0);
		pid[i] = spawn(yields, &n[i]);
	}
	roost_sleep(ROOST_MSEC(300));
	atomic_store(&quit, true);
	for (i = 0; i < N; i++) {
		unsigned long x;

		join(pid[i]);
		x = atomic_load(&n[i]);
		least = x < least ? x : least;
		most = x > most ? x : most;
	}
	printf("# yields: %lu to %lu\n", least, most);
	CHECK(least > 0 && most < least * 4 + 1000);
}

/* Every number of workers, also beyond one word of the idle mask. */
static _Atomic int arrived;

static void works_a_little(void *arg)
{
	int i;

	for (i = 0; i < 20; i++) {
		if (i % 5 == 0)
			roost_sleep(ROOST_USEC(100) * (uint64_t)(i + 1));
		else
			roost_yield();
	}
	atomic_fetch_add((_Atomic int *)arg, 1);
}

static void all_kinds_of_work(void *arg)
{
	enum { N = 300 };
	_Atomic int done = 0;
	roost_pid pid[N];
	int i;

	CHECK_EQ(workers_of_stats(), *(unsigned int *)arg);
	for (i = 0; i < N; i++)
		pid[i] = spawn(works_a_little, &done);
	for (i = 0; i < N; i++)
		join(pid[i]);
	CHECK_EQ(atomic_load(&done), N);
}

ROOST_TEST(s0_01_any_number_of_workers)
{
	static const unsigned int numbers[] = { 1, 2, 3, 8, 63, 64, 65, 70, 256 };
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		unsigned int n = numbers[i];

		run_actors(n, all_kinds_of_work, &n);
	}
}

/*
 * The chain rule: actors that all must be on a CPU at once come to run, each on
 * a worker of its own, though each spawn wakes one worker at most (S1-18).
 */
static void meets(void *arg)
{
	uint64_t limit = roost_after(ROOST_SEC(30));

	atomic_fetch_add(&arrived, 1);
	while (atomic_load(&arrived) < *(int *)arg && roost_now() < limit)
		sched_yield();
	CHECK_EQ(atomic_load(&arrived), *(int *)arg);
}

static void all_must_meet(void *arg)
{
	int n = *(int *)arg, i, round;
	roost_pid pid[80];

	for (round = 0; round < 10; round++) {
		atomic_store(&arrived, 0);
		for (i = 0; i < n; i++)
			pid[i] = spawn(meets, &n);
		for (i = 0; i < n; i++)
			join(pid[i]);
	}
}

ROOST_TEST(s1_18_queued_work_wakes_as_many_workers_as_it_needs)
{
	static const unsigned int numbers[] = { 2, 4, 8, 70 };
	size_t i;

	for (i = 0; i < 4; i++) {
		int n = (int)numbers[i];

		run_actors(numbers[i], all_must_meet, &n);
	}
}

/* The same where the scheduler itself made them ready: one expiry for all. */
static uint64_t common;

static void sleeps_then_meets(void *arg)
{
	roost_sleep_until(common);
	meets(arg);
}

static void wake_by_expiry(void *arg)
{
	int n = *(int *)arg, i, round;
	roost_pid pid[8];

	for (round = 0; round < 10; round++) {
		atomic_store(&arrived, 0);
		common = roost_after(ROOST_MSEC(20));
		for (i = 0; i < n; i++)
			pid[i] = spawn(sleeps_then_meets, &n);
		/*
		 * Without a deadline, lest the timekeeper's role, which is given
		 * on, wake those that the chain must.
		 */
		for (i = 0; i < n; i++)
			CHECK_EQ(roost_join(pid[i], ROOST_FOREVER), 0);
	}
}

ROOST_TEST(s1_18_expiries_wake_as_many_workers_as_they_need)
{
	int n = 6;

	run_actors(6, wake_by_expiry, &n);
}

/*
 * Deadlines so close that they have passed when they are handed over, by a worker
 * that then runs an actor which waits for the sleeper without giving it up: what
 * the call has found is for somebody else.
 */
struct sleeper {
	_Atomic bool ran;
	uint64_t ns;
};

static void sleeps_briefly(void *arg)
{
	struct sleeper *s = arg;

	roost_sleep(s->ns);
	atomic_store(&s->ran, true);
}

static void spins_for_sleeper(void *arg)
{
	struct sleeper *s = arg;
	uint64_t limit = roost_after(ROOST_SEC(30));

	while (!atomic_load(&s->ran) && roost_now() < limit)
		sched_yield();
	CHECK(atomic_load(&s->ran));
}

ACTOR_TEST(s1_18_what_a_busy_worker_finds_is_for_an_idle_one, several(2))
{
	unsigned long round, n = rounds(3000);
	struct sleeper s;
	uint64_t r = 1;
	roost_pid a, b;

	for (round = 0; round < n && !tap_failed(); round++) {
		atomic_store(&s.ran, false);
		s.ns = random_below(&r, ROOST_USEC(100));
		a = spawn(sleeps_briefly, &s);
		b = spawn(spins_for_sleeper, &s);
		if (random_percent(&r, 50))
			roost_sleep(ROOST_USEC(50));
		join(a);
		join(b);
	}
}

/* S1-07: each way to make an actor ready, while everybody else sleeps. */
static _Atomic uint64_t parked_pid;
static _Atomic bool parked_ran;

static void parks_then_says(void *arg unused_arg)
{
	atomic_store(&parked_pid, roost_self());
	CHECK_EQ(roost_park(ROOST_FOREVER), 0);
	atomic_store(&parked_ran, true);
}

static void *unparks_from_outside(void *arg unused_arg)
{
	roost_pid pid;

	while ((pid = atomic_load(&parked_pid)) == ROOST_PID_NONE)
		usleep(100);
	usleep(2000);
	CHECK_EQ(roost_unpark(pid), 0);
	return NULL;
}

ACTOR_TEST(s1_07_a_thread_outside_wakes_an_idle_runtime, usually(4))
{
	pthread_t t;
	int i;

	for (i = 0; i < 50; i++) {
		roost_pid pid;

		atomic_store(&parked_pid, ROOST_PID_NONE);
		atomic_store(&parked_ran, false);
		CHECK_EQ(pthread_create(&t, NULL, unparks_from_outside, NULL),
			 0);
		pid = spawn(parks_then_says, NULL);
		join(pid);
		CHECK(atomic_load(&parked_ran));
		pthread_join(t, NULL);
	}
}

static void spins_until_ran(void *arg unused_arg)
{
	uint64_t limit = roost_after(ROOST_SEC(30));

	CHECK_EQ(roost_unpark(atomic_load(&parked_pid)), 0);
	while (!atomic_load(&parked_ran) && roost_now() < limit)
		sched_yield();
	CHECK(atomic_load(&parked_ran));
}

/* The waker does not give up its worker: another one must be woken. */
ACTOR_TEST(s1_07_an_unpark_wakes_an_idle_worker, several(2))
{
	int i;

	for (i = 0; i < 50; i++) {
		roost_pid a, b;

		atomic_store(&parked_pid, ROOST_PID_NONE);
		atomic_store(&parked_ran, false);
		a = spawn(parks_then_says, NULL);
		roost_sleep(ROOST_MSEC(1));
		b = spawn(spins_until_ran, NULL);
		join(b);
		join(a);
	}
}

ACTOR_TEST(s1_07_a_spawn_wakes_an_idle_worker, several(2))
{
	int i;

	for (i = 0; i < 50; i++) {
		uint64_t limit = roost_after(ROOST_SEC(30));
		int one = 1;
		roost_pid pid;

		roost_sleep(ROOST_MSEC(1));
		atomic_store(&arrived, 0);
		pid = spawn(meets, &one);
		while (!atomic_load(&arrived) && roost_now() < limit)
			sched_yield();
		CHECK(atomic_load(&arrived));
		join(pid);
	}
}

/*
 * A worker goes idle just when the other one spawns: by a store to its ring, which must be
 * there before it looks at the idle mask.  When that is, is found by whether the other
 * one's bit is there when it spawns, every other time; it spawns a little earlier between.
 * Both threads keep to a CPU each, lest they take turns.
 */
struct meeting {
	cpu_set_t allowed;
	_Atomic bool came;
};

static void keep_to_cpu(int nr, const cpu_set_t *allowed)
{
	cpu_set_t one;
	int cpu;

	CPU_ZERO(&one);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed) && !nr--)
			CPU_SET(cpu, &one);
	/* There may be no second one. */
	if (CPU_COUNT(&one))
		CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
}

static void comes(void *arg)
{
	struct meeting *m = arg;

	atomic_store(&m->came, true);
}

static void comes_and_keeps_to_its_cpu(void *arg)
{
	struct meeting *m = arg;

	keep_to_cpu(1, &m->allowed);
	comes(m);
}

static void spawn_and_spin(roost_fn fn, struct meeting *m)
{
	uint64_t limit = roost_after(ROOST_SEC(30));
	unsigned int tries;

	atomic_store(&m->came, false);
	CHECK_EQ(roost_spawn(fn, m, NULL), 0);
	for (tries = 1; !atomic_load(&m->came) && roost_now() < limit; tries++)
		if (tries % 1024 == 0)
			sched_yield();
	CHECK(atomic_load(&m->came));
}

static bool sibling_is_idle(void)
{
	struct runtime *rt = runtime_self();

	return atomic_load_explicit(control_idle(rt, 0), memory_order_relaxed);
}

static void dawdle(unsigned int n)
{
	while (n--)
		__asm__ volatile("");
}

static void spawns_when_it_goes_idle(void *arg)
{
	unsigned long i, n = rounds(100000);
	struct meeting *m = arg;
	uint64_t r = tap_seed(1);
	unsigned int wait = 0;

	keep_to_cpu(0, &m->allowed);
	spawn_and_spin(comes_and_keeps_to_its_cpu, m);
	for (i = 0; i < n && !tap_failed(); i++) {
		unsigned int step = (unsigned int)random_below(&r, 1024);

		if (i % 2) {
			dawdle(wait > step ? wait - step : 0);
		} else {
			dawdle(wait);
			/* Who has lost its CPU meanwhile is late, and says nothing. */
			if (sibling_is_idle())
				wait -= wait / 16;
			else if (wait < 20000)
				wait += step / 32;
		}
		spawn_and_spin(comes, m);
	}
}

ROOST_TEST(s1_07_a_spawn_meets_who_goes_idle)
{
	struct roost_config config = {
		.workers = 2, .timeslice = ~0U, .standbys = ROOST_NO_STANDBYS,
	};
	struct meeting m;

	sched_getaffinity(0, sizeof(m.allowed), &m.allowed);
	run_with(&config, spawns_when_it_goes_idle, &m);
	/* This thread was one of the two. */
	sched_setaffinity(0, sizeof(m.allowed), &m.allowed);
}

/* S1-03: at quiet, wakes sent are wakes received. */
ACTOR_TEST(s1_03_every_wake_is_received, 4)
{
	struct roost_stats s;
	int i, n = 0;

	for (i = 0; i < 100; i++) {
		_Atomic int done = 0;
		roost_pid pid[8];
		int k;

		for (k = 0; k < 8; k++)
			pid[k] = spawn(works_a_little, &done);
		for (k = 0; k < 8; k++)
			join(pid[k]);
	}
	/* Quiet: three sleep, and this one is not in the mask. */
	do {
		roost_sleep(ROOST_MSEC(20));
		roost_stats(&s);
	} while (__builtin_popcountll(s.idle_mask[0]) != 3 && ++n < 100);
	printf("# sent %lu received %lu parks %lu refused %lu\n",
	       (unsigned long)s.wakes_sent, (unsigned long)s.wakes_received,
	       (unsigned long)s.parks, (unsigned long)s.parks_refused);
	CHECK_EQ(__builtin_popcountll(s.idle_mask[0]), 3);
	CHECK_EQ(s.wakes_sent, s.wakes_received);
}

/* Threads of the runtime have a name, and take no signals. */
struct thread_look {
	_Atomic int named;
	_Atomic int open_signals;
};

static void looks_at_its_thread(void *arg)
{
	struct thread_look *l = arg;
	int i;

	for (i = 0; i < 200; i++) {
		char name[17] = "";
		sigset_t set;

		prctl(PR_GET_NAME, name);
		if (!strncmp(name, "roost-w", 7)) {
			pthread_sigmask(SIG_SETMASK, NULL, &set);
			atomic_fetch_add(&l->named, 1);
			if (!sigismember(&set, SIGTERM) ||
			    !sigismember(&set, SIGALRM) ||
			    sigismember(&set, SIGSEGV))
				atomic_fetch_add(&l->open_signals, 1);
		}
		roost_sleep(ROOST_USEC(100));
	}
}

/* S0-88 */
ACTOR_TEST(worker_threads_have_names_and_block_signals, several(3))
{
	struct thread_look l = { .named = 0 };
	roost_pid pid[6];
	int i;

	for (i = 0; i < 6; i++)
		pid[i] = spawn(looks_at_its_thread, &l);
	for (i = 0; i < 6; i++)
		join(pid[i]);
	CHECK(atomic_load(&l.named) > 0);
	CHECK_EQ(atomic_load(&l.open_signals), 0);
}

/* A signal that lands on a parked worker 0 ends nothing. */
static volatile sig_atomic_t signals;

static void on_signal(int sig unused_arg)
{
	signals = signals + 1;
}

struct pest {
	pid_t tid;
	_Atomic bool quit;
};

static void *sends_signals(void *arg)
{
	struct pest *p = arg;

	while (!atomic_load(&p->quit)) {
		syscall(SYS_tgkill, getpid(), p->tid, SIGUSR1);
		usleep(200);
	}
	return NULL;
}

static void sleeps_under_signals(void *arg unused_arg)
{
	int i;

	for (i = 0; i < 100; i++) {
		uint64_t until = roost_after(ROOST_MSEC(2));

		CHECK_EQ(roost_sleep_until(until), 0);
		CHECK(roost_now() >= until);
	}
}

/* S2-10, S3-47, C11 */
ROOST_TEST(signals_do_not_disturb_a_parked_worker)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct pest p = { .tid = (pid_t)syscall(SYS_gettid) };
	pthread_t t;

	sigaction(SIGUSR1, &sa, NULL);
	CHECK_EQ(pthread_create(&t, NULL, sends_signals, &p), 0);
	run_actors(1, sleeps_under_signals, NULL);
	run_actors(2, sleeps_under_signals, NULL);
	atomic_store(&p.quit, true);
	pthread_join(t, NULL);
	CHECK(signals > 0);
}

/* S2-04: the threads of a run are moved from CPU to CPU all the time. */
struct mover {
	_Atomic bool quit;
	unsigned long moves;
	int cpus[2];
};

static void move_all_to(struct mover *m, int cpu)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	while (tasks && (entry = readdir(tasks))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		/* One that has ended meanwhile is no fault. */
		if (tid > 0 && !sched_setaffinity(tid, sizeof(set), &set))
			m->moves++;
	}
	if (tasks)
		closedir(tasks);
}

static void *moves_threads(void *arg)
{
	struct mover *m = arg;
	unsigned int i;

	for (i = 0; !atomic_load(&m->quit); i++) {
		move_all_to(m, m->cpus[i % 2]);
		usleep(200);
	}
	return NULL;
}

ROOST_TEST(s2_04_threads_may_be_moved_at_any_time)
{
	struct mover m = { .moves = 0 };
	unsigned int n, round;
	int cpu, found = 0;
	cpu_set_t old;
	pthread_t t;

	CHECK_EQ(sched_getaffinity(0, sizeof(old), &old), 0);
	for (cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET(cpu, &old))
			m.cpus[found++] = cpu;
	if (found < 2)
		SKIP("there is one CPU");
	CHECK_EQ(pthread_create(&t, NULL, moves_threads, &m), 0);
	for (round = 0; round < 3; round++)
		for (n = 1; n <= 4; n++)
			run_actors(n, all_kinds_of_work, &n);
	atomic_store(&m.quit, true);
	pthread_join(t, NULL);
	CHECK_EQ(sched_setaffinity(0, sizeof(old), &old), 0);
	CHECK(m.moves > 20);
}
