// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * stuck_bench.c - how long the others wait for an actor that blocks or spins, on the
 * clock.
 *
 * For a module with carriers=1, and a guest of two CPUs at least.  One worker.  An
 * actor blocks BENCH_CYCLES (200) times for BENCH_BLOCK_US (5,000) each, in each of
 * four ways; how long it takes until another one runs is printed as
 * stuck/WAY/others_after_*_us.  Then one spins for two seconds while another sleeps
 * to every tenth millisecond (stuck/spin/tick_*_us: from one to the next), and one
 * sleeps for 5 us, BENCH_NAPS (1,000) times, with the timer slack that threads have
 * and with none (stuck/naps*\/takeovers_per_100).
 */
#include "bench.h"

#include <linux/userfaultfd.h>
#include <semaphore.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <roost/roost.h>

#define SPIN_NS	(2 * SEC)
#define TICK_NS	(10 * MSEC)

static unsigned long cycles, naps;
static uint64_t block_ns;

/* What was measured. */
static uint64_t *taken;
static unsigned long samples;

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void report(const char *what)
{
	static const struct {
		const char *name;
		unsigned int permille;
	} at[] = { { "p50", 500 }, { "p99", 990 }, { "max", 1000 } };
	char name[80];
	unsigned int i;

	qsort(taken, samples, sizeof(*taken), by_value);
	for (i = 0; samples && i < 3; i++) {
		snprintf(name, sizeof(name), "stuck/%s_%s_us", what, at[i].name);
		bench_result(name, (double)taken[(samples - 1) * at[i].permille /
						  1000] / 1000);
	}
	samples = 0;
}

/* Ways to block: a thread outside ends each of them, @block_ns after it was told. */

static int pipe_of[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int uffd;
static char *page;
static sem_t ready, told, back;

static void block_read(void)
{
	char c;

	check(read(pipe_of[0], &c, 1) == 1);
}

static void release_read(void)
{
	check(write(pipe_of[1], "x", 1) == 1);
}

static void block_sleep(void)
{
	sleep_ns(block_ns);
}

static void release_nothing(void)
{
}

static void block_mutex(void)
{
	check(pthread_mutex_lock(&mutex) == 0);
	pthread_mutex_unlock(&mutex);
}

static void block_fault(void)
{
	check(*(volatile char *)page == 0);
}

static void release_fault(void)
{
	struct uffdio_zeropage zero = {
		.range = { .start = (uintptr_t)page, .len = 4096 },
	};

	check(ioctl(uffd, UFFDIO_ZEROPAGE, &zero) == 0);
}

static void open_fault(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(page != MAP_FAILED);
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	check(uffd >= 0 && ioctl(uffd, UFFDIO_API, &api) == 0);
	reg.range.start = (uintptr_t)page;
	reg.range.len = 4096;
	check(ioctl(uffd, UFFDIO_REGISTER, &reg) == 0);
}

static const struct way {
	const char *name;
	void (*block)(void);
	void (*release)(void);
} ways[] = {
	{ "read/others_after", block_read, release_read },
	{ "nanosleep/others_after", block_sleep, release_nothing },
	{ "mutex/others_after", block_mutex, release_nothing },
	{ "fault/others_after", block_fault, release_fault },
};

static const struct way *way;
static _Atomic uint64_t blocked_at;
static _Atomic bool over;

static void *releaser(void *arg)
{
	unsigned long i;

	for (i = 0; i < cycles; i++) {
		if (way->block == block_mutex)
			pthread_mutex_lock(&mutex);
		sem_post(&ready);
		sem_wait(&told);
		sleep_ns(block_ns);
		if (way->block == block_mutex)
			pthread_mutex_unlock(&mutex);
		way->release();
		sem_wait(&back);
	}
	return arg;
}

static void blocks(void *arg __attribute__((unused)))
{
	unsigned long i;

	for (i = 0; i < cycles; i++) {
		while (sem_trywait(&ready))
			roost_yield();
		if (way->block == block_fault)
			check(madvise(page, 4096, MADV_DONTNEED) == 0);
		sem_post(&told);
		blocked_at = now_ns();
		way->block();
		sem_post(&back);
		/* If nobody ran while we were blocked, then now. */
		while (blocked_at)
			roost_yield();
	}
	over = true;
}

static void others(void *arg __attribute__((unused)))
{
	uint64_t since;

	while (!over) {
		since = blocked_at;
		if (since) {
			taken[samples++] = now_ns() - since;
			blocked_at = 0;
		}
		roost_yield();
	}
}

static void pair(roost_fn a, roost_fn b)
{
	roost_pid pid[2];

	over = false;
	check(roost_spawn(a, NULL, &pid[0]) == 0);
	check(roost_spawn(b, NULL, &pid[1]) == 0);
	check(roost_join(pid[0], ROOST_FOREVER) == 0);
	check(roost_join(pid[1], ROOST_FOREVER) == 0);
}

static void try_way(const struct way *w)
{
	pthread_t thread;

	way = w;
	check(pthread_create(&thread, NULL, releaser, NULL) == 0);
	pair(others, blocks);
	pthread_join(thread, NULL);
	report(w->name);
}

/* Spinning */

static void spins(void *arg __attribute__((unused)))
{
	uint64_t until = now_ns() + SPIN_NS;

	while (now_ns() < until)
		;
	over = true;
}

static void ticks(void *arg __attribute__((unused)))
{
	uint64_t last = now_ns(), now;

	while (!over) {
		check(roost_sleep_until(last + TICK_NS) == 0);
		now = now_ns();
		taken[samples++] = now - last;
		last = now;
	}
}

/* Short sleeps */

static uint64_t takeovers(void)
{
	struct roost_stats stats;

	check(roost_stats(&stats) == 0);
	return stats.takeovers;
}

static void nap(unsigned long slack)
{
	unsigned long i;

	for (i = 0; i < naps; i++) {
		/* Of whatever thread it is on; 0 is the thread's default. */
		prctl(PR_SET_TIMERSLACK, slack);
		sleep_ns(5000);
		roost_yield();
	}
}

static void try_naps(const char *name, unsigned long slack)
{
	uint64_t before = takeovers();

	nap(slack);
	bench_result(name, (double)(takeovers() - before) * 100 / (double)naps);
}

static void root(void *arg __attribute__((unused)))
{
	unsigned int i;

	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (bench_wanted(ways[i].name))
			try_way(&ways[i]);
	pair(ticks, spins);
	report("spin/tick");
	try_naps("stuck/naps/takeovers_per_100", 0);
	try_naps("stuck/naps_no_slack/takeovers_per_100", 1);
}

int main(void)
{
	struct roost_config config = { .workers = 1 };

	cycles = env_number("BENCH_CYCLES", 200);
	naps = env_number("BENCH_NAPS", 1000);
	block_ns = env_number("BENCH_BLOCK_US", 5000) * 1000;
	taken = calloc(cycles + SPIN_NS / TICK_NS + 16, sizeof(*taken));
	check(taken && pipe(pipe_of) == 0);
	check(sem_init(&ready, 0, 0) == 0 && sem_init(&told, 0, 0) == 0);
	check(sem_init(&back, 0, 0) == 0);
	open_fault();
	check(roost_run(&config, root, NULL) == 0);
	free(taken);
	return 0;
}
