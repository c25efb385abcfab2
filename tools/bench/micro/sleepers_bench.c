// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * sleepers_bench.c - very many actors that sleep 1 to 100 ms, on the clock.
 *
 * Not for a guest that counts instructions: what is looked at is how late they
 * are.  BENCH_SLEEPERS (100,000) actors sleep BENCH_NAPS (3 at least) times each;
 * the first of each does not count, since it begins while the others are started,
 * nor does the last, during which others end.
 * They sleep between BENCH_LEAST_US (1,000) and BENCH_MOST_US (100,000).  Prints
 * for slack 0, 50 us and 1 ms: early ones, lateness, and on the kernel backend
 * hardware timers started and gone off for a thousand timers fired.
 */
#include "bench.h"

#include <roost/roost.h>

#include "backend_kernel.h"
#include "runtime.h"

struct napper {
	uint64_t seed;
	uint64_t until;
};

static unsigned long nappers, naps;
static uint64_t least, most;
static uint64_t *late;
static _Atomic unsigned long nr_late, early;

static void nap(struct napper *n, bool counts)
{
	uint64_t until = roost_after(least +
				     random_next(&n->seed) % (most - least));
	uint64_t now;

	check(roost_sleep_until(until) == 0);
	now = roost_now();
	if (now < until)
		early++;
	else if (counts)
		late[nr_late++] = now - until;
}

static void napper_main(void *arg)
{
	unsigned long i;

	for (i = 0; i < naps; i++)
		nap(arg, i && i + 1 < naps);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void report(uint64_t slack)
{
	const unsigned long n = nr_late;
	struct roost_domain_stat stat;
	char name[64];
	unsigned int i;
	static const struct {
		const char *name;
		unsigned int permille;
	} at[] = { { "p50", 500 }, { "p99", 990 }, { "max", 1000 } };

	qsort(late, n, sizeof(*late), by_value);
	snprintf(name, sizeof(name), "sleepers/slack_%lu/early",
		 (unsigned long)slack / 1000);
	bench_result(name, (double)early);
	for (i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "sleepers/slack_%lu/late_%s_us",
			 (unsigned long)slack / 1000, at[i].name);
		bench_result(name,
			     (double)late[(n - 1) * at[i].permille / 1000] / 1000);
	}
	if (runtime_self()->backend != &backend_kernel ||
	    kapi_stat(&kernel_of(runtime_self())->domain, &stat) < 0)
		return;
	snprintf(name, sizeof(name), "sleepers/slack_%lu/starts_per_1000",
		 (unsigned long)slack / 1000);
	bench_result(name, (double)stat.hrtimer_starts * 1000 /
			   (double)stat.timers_fired);
	snprintf(name, sizeof(name), "sleepers/slack_%lu/fires_per_1000",
		 (unsigned long)slack / 1000);
	bench_result(name, (double)stat.hrtimer_fires * 1000 /
			   (double)stat.timers_fired);
}

static void root(void *arg)
{
	struct napper *n = calloc(nappers, sizeof(*n));
	roost_pid *pid = calloc(nappers, sizeof(*pid));
	unsigned long i;

	check(n && pid);
	nr_late = 0;
	early = 0;
	for (i = 0; i < nappers; i++) {
		n[i].seed = i + 1;
		check(roost_spawn(napper_main, &n[i], &pid[i]) == 0);
	}
	for (i = 0; i < nappers; i++)
		roost_join(pid[i], ROOST_FOREVER);
	report(*(uint64_t *)arg);
	free(pid);
	free(n);
}

int main(void)
{
	uint64_t slack[] = { 0, 50000, MSEC };
	struct roost_config config = {
		.workers = (unsigned int)env_number("BENCH_WORKERS", 1),
		.stack_size = 16384,
	};
	unsigned int i;

	nappers = env_number("BENCH_SLEEPERS", 100000);
	naps = env_number("BENCH_NAPS", 3);
	least = env_number("BENCH_LEAST_US", 1000) * 1000;
	most = env_number("BENCH_MOST_US", 100000) * 1000;
	check(least < most && naps > 2);
	config.max_actors = (unsigned int)nappers + 16;
	late = calloc(nappers * naps, sizeof(*late));
	check(late);
	for (i = 0; i < 3; i++) {
		config.slack_ns = slack[i];
		check(roost_run(&config, root, &slack[i]) == 0);
	}
	free(late);
	return 0;
}
