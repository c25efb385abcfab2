// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * lib_crowd_test.c - very many actors that are parked: what each costs, and that each
 * is woken once.
 *
 * ROOST_CROWD: how many at most, 20,000 by default.  In full it is 1,000,000, and
 * 200,000 of those with stacks of the usual size.  A million are 4.4 GB.
 */
#include "../runtime/run.h"

#define USUAL_STACK	200000L
#define SMALL_STACK	1000000L
#define DEFAULT_CROWD	20000L

/* Bytes, of an actor that has called one function: page, slot, page tables. */
#define MOST_EACH	4600

/* From here on what else the process needs does not show. */
#define ENOUGH		10000L

struct crowd {
	long count;
	roost_pid *pids;
	_Atomic unsigned char *woken;
};

static _Atomic long parked;
static _Atomic long ended;
static struct crowd crowd;

static void waits(void *arg)
{
	atomic_fetch_add(&parked, 1);
	CHECK_EQ(roost_park(ROOST_FOREVER), 0);
	atomic_fetch_add(&crowd.woken[(intptr_t)arg], 1);
	atomic_fetch_add(&ended, 1);
}

/* Resident pages and page tables of this process, in KiB. */
static long memory_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	long sum = 0, kib;
	char line[128];

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %ld kB", &kib) == 1 ||
		    sscanf(line, "VmPTE: %ld kB", &kib) == 1)
			sum += kib;
	fclose(f);
	return sum;
}

static void until(_Atomic long *counter)
{
	uint64_t limit = roost_after(ROOST_SEC(600));

	while (atomic_load(counter) < crowd.count && roost_now() < limit)
		roost_sleep(ROOST_MSEC(1));
	CHECK_EQ(atomic_load(counter), crowd.count);
}

static void spawn_all(void)
{
	long i;
	int err;

	for (i = 0; i < crowd.count; i++) {
		err = roost_spawn(waits, (void *)(intptr_t)i, &crowd.pids[i]);
		if (!CHECK_EQ(err, 0))
			crowd.count = i;
		else
			CHECK_EQ(roost_detach(crowd.pids[i]), 0);
	}
}

static void meets(void *arg unused_arg)
{
	long before = memory_kib(), each, i;

	spawn_all();
	until(&parked);
	each = (memory_kib() - before) * 1024 / crowd.count;
	printf("# %ld actors parked, %ld bytes each\n", crowd.count, each);
	if (!SANITIZED && crowd.count >= ENOUGH)
		CHECK_MSG(each > 256 && each <= MOST_EACH, "%ld bytes", each);
	for (i = 0; i < crowd.count; i++)
		CHECK_EQ(roost_unpark(crowd.pids[i]), 0);
	until(&ended);
	for (i = 0; i < crowd.count; i++)
		CHECK_EQ(crowd.woken[i], 1);
}

static long most(long full)
{
	const char *text = getenv("ROOST_CROWD");
	long n = text ? strtol(text, NULL, 0) : DEFAULT_CROWD / (long)slow();

	return n < full ? n : full;
}

static void run_crowd(long full, size_t stack_size)
{
	struct roost_config config = { .stack_size = stack_size };

	crowd.count = most(full);
	crowd.pids = calloc((size_t)crowd.count, sizeof(*crowd.pids));
	crowd.woken = calloc((size_t)crowd.count, sizeof(*crowd.woken));
	/* Touched before it is measured. */
	memset(crowd.pids, 1, (size_t)crowd.count * sizeof(*crowd.pids));
	memset((void *)crowd.woken, 0, (size_t)crowd.count);
	config.max_actors = (unsigned int)crowd.count + 1;
	atomic_store(&parked, 0);
	atomic_store(&ended, 0);
	alarm(800);
	CHECK_EQ(roost_run(&config, meets, NULL), 0);
	alarm(0);
	free(crowd.pids);
	free((void *)crowd.woken);
}

ROOST_TEST(parked_with_stacks_of_the_usual_size)
{
	run_crowd(USUAL_STACK, 0);
}

ROOST_TEST(parked_with_the_smallest_stacks)
{
	run_crowd(SMALL_STACK, 16384);
}
