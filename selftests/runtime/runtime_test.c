// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * runtime_test.c - configuration, how a run begins and how it ends.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include "run.h"

static void nothing(void *arg unused_arg)
{
}

/* Each knob out of range is refused by name. */
static void try_config(void *arg)
{
	_exit(roost_run(arg, nothing, NULL) == -EINVAL ? 7 : 1);
}

static void refused(struct roost_config config, const char *knob)
{
	char text[512];
	int status = in_child_stderr(try_config, &config, text, sizeof(text));

	CHECK_MSG(EXITED(status, 7), "%s: status 0x%x", knob, status);
	CHECK_MSG(strstr(text, knob), "message for %s: %s", knob, text);
}

/* S0-01, S0-07 */
ROOST_TEST(knobs_out_of_range_are_refused_by_name)
{
	struct roost_config reserved = { .workers = 1 };

	refused((struct roost_config){ .workers = 257 }, "workers");
	refused((struct roost_config){ .max_actors = ~0U }, "max_actors");
	refused((struct roost_config){ .stack_size = 1 }, "stack_size");
	refused((struct roost_config){ .stack_size = 16383 }, "stack_size");
	refused((struct roost_config){ .stack_size = ~(size_t)0 }, "stack_size");
	refused((struct roost_config){ .stack_chunk = 65537 }, "stack_chunk");
	refused((struct roost_config){ .stack_pool = (1U << 24) + 1 },
		"stack_pool");
	refused((struct roost_config){ .stack_pool = ~0U }, "stack_pool");
	refused((struct roost_config){ .stack_flags = 4 }, "stack_flags");
	refused((struct roost_config){ .max_fds = 1048577 }, "max_fds");
	refused((struct roost_config){ .tick_ns = 1 }, "tick_ns");
	refused((struct roost_config){ .tick_ns = 1ULL << 31 }, "tick_ns");
	refused((struct roost_config){ .slack_ns = 1000000001 }, "slack_ns");
	refused((struct roost_config){ .slack_ns = ~0ULL }, "slack_ns");
	refused((struct roost_config){ .backend = (enum roost_backend)3 },
		"backend");
	refused((struct roost_config){ .standbys = 65537 }, "standbys");
	reserved.reserved[sizeof(reserved.reserved) / sizeof(int) - 1] = 1;
	refused(reserved, "reserved");
	setenv("ROOST_BACKEND_SAVED", getenv("ROOST_BACKEND") ? : "", 1);
	setenv("ROOST_BACKEND", "bogus", 1);
	refused((struct roost_config){ .workers = 1 }, "ROOST_BACKEND");
	setenv("ROOST_BACKEND", getenv("ROOST_BACKEND_SAVED"), 1);
}

static void counts_workers(void *arg)
{
	struct roost_stats s;

	CHECK_EQ(roost_stats(&s), 0);
	CHECK_EQ(s.workers, *(unsigned int *)arg);
}

/* C34 */
ROOST_TEST(s0_03_the_default_is_the_cpus_we_may_use)
{
	cpu_set_t old, one;
	unsigned int n;
	int cpu;

	CHECK_EQ(sched_getaffinity(0, sizeof(old), &old), 0);
	n = (unsigned int)CPU_COUNT(&old);
	run_actors(0, counts_workers, &n);
	for (cpu = 0; !CPU_ISSET(cpu, &old); cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	n = 1;
	run_actors(0, counts_workers, &n);
	CHECK_EQ(sched_setaffinity(0, sizeof(old), &old), 0);
}

/* Nobody says how many there are: that is what the program is linked for. */
static bool no_affinity, no_number;

int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
long __real_sysconf(int name);
long __wrap_sysconf(int name);

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	if (!no_affinity)
		return __real_sched_getaffinity(pid, size, set);
	errno = EINVAL;
	return -1;
}

long __wrap_sysconf(int name)
{
	if (no_number && name == _SC_NPROCESSORS_ONLN)
		return -1;
	return __real_sysconf(name);
}

/* C34 */
ROOST_TEST(s0_03_a_number_that_cannot_be_had_is_one)
{
	unsigned int n = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);

	no_affinity = true;
	run_actors(0, counts_workers, &n);
	no_number = true;
	n = 1;
	run_actors(0, counts_workers, &n);
	no_affinity = false;
	no_number = false;
}

static void stats_backend(void *arg)
{
	struct roost_stats s;

	CHECK_EQ(roost_stats(&s), 0);
	CHECK_STREQ(s.backend, (const char *)arg);
}

/* S3-49 */
ROOST_TEST(the_backend_asked_for_is_the_one_that_runs)
{
	struct roost_config config = {
		.workers = 1, .backend = ROOST_BACKEND_FUTEX,
	};
	bool module = access("/dev/roost", R_OK | W_OK) == 0;
	int err;

	run_with(&config, stats_backend, (void *)"futex");
	config.backend = ROOST_BACKEND_KERNEL;
	err = roost_run(&config, stats_backend, (void *)"kernel");
	CHECK_EQ(err, module ? 0 : -ENODEV);
}

/* With one descriptor left, which the table of descriptors takes. */
static void run_short_of_files(void *arg)
{
	int spare = dup(0);
	struct rlimit limit = { .rlim_cur = (rlim_t)spare + 1,
				.rlim_max = (rlim_t)spare + 1 };

	close(spare);
	if (setrlimit(RLIMIT_NOFILE, &limit))
		_exit(2);
	_exit(roost_run(arg, nothing, NULL) == -ENODEV ? 7 : 1);
}

ROOST_TEST(why_the_module_does_not_open_is_said)
{
	struct roost_config config = {
		.workers = 1, .backend = ROOST_BACKEND_KERNEL,
	};
	char text[512];
	int status;

	if (valgrind_here())
		SKIP("valgrind has a limit of files of its own");
	status = in_child_stderr(run_short_of_files, &config, text, sizeof(text));
	CHECK(EXITED(status, 7));
	CHECK_MSG(strstr(text, "/dev/roost does not open: Too many open files"),
		  "%s", text);
}

static void runs_within(void *arg unused_arg)
{
	CHECK_EQ(roost_run(NULL, nothing, NULL), -EDEADLK);
}

ROOST_TEST(s0_82_a_run_within_a_run_is_refused)
{
	run_actors(2, runs_within, NULL);
}

static void sleeps_a_little(void *arg)
{
	roost_sleep(ROOST_USEC(100));
	if (arg)
		atomic_fetch_add((_Atomic int *)arg, 1);
}

static void small_run(void *arg)
{
	roost_pid pid[5];
	int i;

	CHECK_EQ((uint32_t)roost_self(), 0);
	CHECK_EQ(roost_self() >> 32, 0);
	for (i = 0; i < 5; i++)
		pid[i] = spawn(sleeps_a_little, arg);
	for (i = 0; i < 5; i++)
		join(pid[i]);
}

static int open_descriptors(void)
{
	int n = 0, fd;

	for (fd = 0; fd < 1024; fd++)
		if (lseek(fd, 0, SEEK_CUR) >= 0 || errno != EBADF)
			n++;
	return n;
}

/* S0-75, S0-81 */
ROOST_TEST(s0_82_a_hundred_runs_in_a_row)
{
	int i, before = open_descriptors();
	_Atomic int n = 0;

	for (i = 0; i < 100; i++)
		run_actors(1 + (unsigned int)i % 4, small_run, &n);
	CHECK_EQ(atomic_load(&n), 500);
	CHECK_EQ(open_descriptors(), before);
}

/* The root's end is not the run's. */
static _Atomic int outlived;

static void outlives_root(void *arg unused_arg)
{
	int i;

	for (i = 0; i < 10; i++) {
		CHECK_EQ(roost_sleep(ROOST_MSEC(2)), 0);
		roost_yield();
	}
	atomic_fetch_add(&outlived, 1);
}

static void root_ends_first(void *arg unused_arg)
{
	int i;

	for (i = 0; i < 20; i++)
		CHECK_EQ(roost_spawn(outlives_root, NULL, NULL), 0);
}

/* S1-11 */
ROOST_TEST(s0_76_the_run_goes_on_while_actors_live)
{
	unsigned int w;

	for (w = 1; w <= 4; w++) {
		atomic_store(&outlived, 0);
		run_actors(w, root_ends_first, NULL);
		CHECK_EQ(atomic_load(&outlived), 20);
	}
}

/* What nobody can wake any more is stopped. */
static _Atomic int remainder_stopped;

static void parks_as_remainder(void *arg unused_arg)
{
	CHECK_EQ(roost_park(ROOST_FOREVER), -ECANCELED);
	atomic_fetch_add(&remainder_stopped, 1);
}

/* The end of the one that it joins may come before its own stop. */
static void joins_remainder(void *arg)
{
	roost_pid pid = spawn(parks_as_remainder, NULL);
	int err;

	if (arg)
		CHECK_EQ(roost_sleep(ROOST_MSEC(20)), 0);
	err = roost_join(pid, ROOST_FOREVER);
	CHECK(err == 0 || err == -ECANCELED);
	if (!err)
		CHECK_EQ(roost_park(ROOST_FOREVER), -ECANCELED);
	atomic_fetch_add(&remainder_stopped, 1);
}

static void ignores_stop(void *arg unused_arg)
{
	int i;

	CHECK_EQ(roost_sleep(ROOST_FOREVER), -ECANCELED);
	for (i = 0; i < 100; i++) {
		CHECK_EQ(roost_park(ROOST_FOREVER), -ECANCELED);
		roost_yield();
	}
	atomic_fetch_add(&remainder_stopped, 1);
}

static void leaves_remainder(void *arg)
{
	int i;

	for (i = 0; i < 10; i++) {
		CHECK_EQ(roost_spawn(parks_as_remainder, NULL, NULL), 0);
		CHECK_EQ(roost_spawn(joins_remainder, arg, NULL), 0);
		CHECK_EQ(roost_spawn(ignores_stop, NULL, NULL), 0);
	}
}

ROOST_TEST(s0_80_the_remainder_is_stopped_when_the_root_is_gone)
{
	unsigned int w;

	for (w = 1; w <= 4; w++) {
		atomic_store(&remainder_stopped, 0);
		run_actors(w, leaves_remainder, NULL);
		CHECK_EQ(atomic_load(&remainder_stopped), 40);
		/* And with timers that must be waited for. */
		atomic_store(&remainder_stopped, 0);
		run_actors(w, leaves_remainder, &remainder_stopped);
		CHECK_EQ(atomic_load(&remainder_stopped), 40);
	}
}

/* But not what a sleeper may still wake. */
static roost_pid parked_one;
static _Atomic bool was_woken;

static void parks_until_woken(void *arg unused_arg)
{
	atomic_store(&was_woken, roost_park(ROOST_FOREVER) == 0);
}

static void wakes_later(void *arg unused_arg)
{
	CHECK_EQ(roost_sleep(ROOST_MSEC(50)), 0);
	CHECK_EQ(roost_unpark(parked_one), 0);
}

static void leaves_both(void *arg unused_arg)
{
	CHECK_EQ(roost_spawn(parks_until_woken, NULL, &parked_one), 0);
	CHECK_EQ(roost_spawn(wakes_later, NULL, NULL), 0);
}

ROOST_TEST(s0_80_a_sleeper_keeps_the_remainder_alive)
{
	int i;

	for (i = 0; i < 10; i++) {
		atomic_store(&was_woken, false);
		run_actors(1 + (unsigned int)i % 3, leaves_both, NULL);
		CHECK(atomic_load(&was_woken));
	}
}

/* While the root lives, nothing is stopped behind its back. */
static void stays_parked(void *arg unused_arg)
{
	CHECK_EQ(roost_park(ROOST_FOREVER), 0);
}

static void root_parks_too(void *arg unused_arg)
{
	roost_pid pid = spawn(stays_parked, NULL);

	CHECK_EQ(roost_sleep(ROOST_MSEC(50)), 0);
	CHECK_EQ(roost_unpark(pid), 0);
	join(pid);
}

ROOST_TEST(s0_80_nothing_is_stopped_while_the_root_lives)
{
	run_actors(3, root_parks_too, NULL);
}

/* S0-79: the last actor ends while all other workers are asleep. */
ROOST_TEST(s0_79_the_last_end_wakes_all_workers)
{
	int i;

	for (i = 0; i < 100; i++)
		run_actors(8, sleeps_a_little, NULL);
}

/* The last end and a worker that is just going idle meet at all distances. */
static noinline void spin_for(uint64_t n)
{
	while (n--)
		__asm__ volatile("");
}

static void spins(void *arg)
{
	spin_for((uint64_t)(uintptr_t)arg);
}

static void ends_near_others(void *arg)
{
	uint64_t *r = arg;

	CHECK_EQ(roost_spawn(spins, (void *)(uintptr_t)random_below(r, 3000),
			     NULL), 0);
	spin_for(random_below(r, 3000));
}

/* S3-62 */
ROOST_TEST(s0_78_every_worker_reaches_the_verdict)
{
	unsigned long n = rounds(2000), i;
	uint64_t r = tap_seed(2);

	for (i = 0; i < n; i++)
		run_actors(2 + (unsigned int)i % 2, ends_near_others, &r);
}

static void cancels_and_goes(void *arg unused_arg)
{
	roost_unpark(roost_self());
	CHECK_EQ(roost_park(roost_after(ROOST_SEC(3600))), 0);
}

/* S0-70 */
ROOST_TEST(s0_79_a_left_over_timer_does_not_keep_the_run)
{
	uint64_t start = roost_now();

	run_actors(2, cancels_and_goes, NULL);
	CHECK(roost_now() - start < ROOST_SEC(30));
}

/* Two runtimes at once, and pids that tell which. */
struct side {
	_Atomic uint64_t pid;
	_Atomic bool woken;
	struct side *other;
	pthread_barrier_t *together;
};

static void side_root(void *arg)
{
	struct side *s = arg;
	roost_pid other;

	atomic_store(&s->pid, roost_self());
	while ((other = atomic_load(&s->other->pid)) == ROOST_PID_NONE)
		roost_sleep(ROOST_USEC(50));
	CHECK(other != roost_self());
	CHECK_EQ(roost_join(other, 0), -ESRCH);
	CHECK_EQ(roost_stop(other), -ESRCH);
	CHECK_EQ(roost_unpark(other), 0);
	CHECK_EQ(roost_park(roost_after(ROOST_SEC(30))), 0);
	atomic_store(&s->woken, true);
	while (!atomic_load(&s->other->woken))
		roost_sleep(ROOST_USEC(50));
}

static void *side_thread(void *arg)
{
	struct side *s = arg;
	struct roost_config config = { .workers = 2 };

	pthread_barrier_wait(s->together);
	CHECK_EQ(roost_run(&config, side_root, s), 0);
	return NULL;
}

/* S0-82 */
ROOST_TEST(two_runtimes_at_once)
{
	int i;

	alarm(TEST_LIMIT_S);
	for (i = 0; i < 20; i++) {
		pthread_barrier_t together;
		struct side s[2];
		pthread_t t[2];
		int k;

		pthread_barrier_init(&together, NULL, 2);
		for (k = 0; k < 2; k++) {
			s[k] = (struct side){
				.pid = ROOST_PID_NONE,
				.other = &s[1 - k],
				.together = &together,
			};
		}
		for (k = 0; k < 2; k++)
			pthread_create(&t[k], NULL, side_thread, &s[k]);
		for (k = 0; k < 2; k++) {
			pthread_join(t[k], NULL);
			CHECK(atomic_load(&s[k].woken));
		}
		pthread_barrier_destroy(&together);
	}
	alarm(0);
}

/* Fewer threads than asked for will do. */
static void still_works(void *arg unused_arg)
{
	struct roost_stats s;
	_Atomic int n = 0;

	if (roost_stats(&s) || s.workers < 1 || s.workers >= 70)
		_exit(2);
	small_run(&n);
	if (atomic_load(&n) != 5 || tap_failed())
		_exit(3);
	fprintf(stderr, "ran with %u\n", s.workers);
}

static void starts_too_many(void *arg unused_arg)
{
	struct roost_config config = { .workers = 70, .max_actors = 64 };

	limit_address_space((rlim_t)200 << 20);
	if (roost_run(&config, still_works, NULL))
		_exit(1);
}

/* S0-88, C24 */
ROOST_TEST(fewer_threads_than_asked_for_will_do)
{
	char text[512];
	int status;

	if (SANITIZED)
		SKIP("sanitizers need address space themselves");
	if (emulated())
		SKIP(EMULATED_LIMITS);
	status = in_child_stderr(starts_too_many, NULL, text, sizeof(text));
	CHECK_MSG(EXITED(status, 0), "status 0x%x", status);
	CHECK_MSG(strstr(text, "of 70 workers"), "message: %s", text);
	/* what each of them would say is said once */
	CHECK_MSG(strlen(text) < sizeof(text) - 1, "message: %s", text);
}

static void spawns_counted(void *arg unused_arg)
{
	struct roost_stats before, after;
	int i;

	roost_stats(&before);
	for (i = 0; i < 10; i++)
		join(spawn(nothing, NULL));
	roost_stats(&after);
	CHECK_EQ(before.live, 1);
	CHECK_EQ(after.spawned - before.spawned, 10);
	CHECK(after.resumes - before.resumes >= 10);
	CHECK(after.busy_ns >= before.busy_ns);
}

ROOST_TEST(counters_count)
{
	struct roost_stats s;

	CHECK_EQ(roost_stats(&s), -EPERM);
	run_actors(1, spawns_counted, NULL);
}
