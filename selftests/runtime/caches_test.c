// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * caches_test.c - which CPUs share a last level of cache, and that one who went idle
 * there is woken first.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "caches.h"
#include "idle.h"
#include "runtime.h"

#include "run.h"

/* A folder like /sys/devices/system/cpu. */
static char root[] = "/tmp/roost-caches.XXXXXX";

static void put(unsigned int cpu, const char *folder, const char *sub,
		const char *name, const char *text)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/cpu%u", root, cpu);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/cpu%u/%s", root, cpu, folder);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/cpu%u/%s/%s", root, cpu, folder, sub);
	if (*sub)
		mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/cpu%u/%s/%s/%s", root, cpu, folder, sub,
		 name);
	f = fopen(path, "w");
	REQUIRE(f);
	fputs(text, f);
	CHECK_EQ(fclose(f), 0);
}

static void put_cache(unsigned int cpu, unsigned int index, const char *list)
{
	char sub[16];

	snprintf(sub, sizeof(sub), "index%u", index);
	put(cpu, "cache", sub, "shared_cpu_list", list);
}

static void begin(void)
{
	strcpy(root + strlen(root) - 6, "XXXXXX");
	CHECK(mkdtemp(root));
}

static void end(void)
{
	char command[80];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	CHECK_EQ(system(command), 0);
}

/* CPUs whose letters are equal share one; '-' is not known. */
static void expect(const char *text)
{
	unsigned int n = (unsigned int)strlen(text), i, k;
	struct caches c;

	caches_read(&c, root, n);
	CHECK(c.count > 1);
	for (i = 0; c.of && i < n; i++) {
		CHECK_EQ(c.of[i] == CACHE_NONE, text[i] == '-');
		for (k = 0; k < n; k++)
			if (text[i] != '-')
				CHECK_EQ(c.of[i] == c.of[k], text[i] == text[k]);
	}
	caches_free(&c);
}

static void expect_one(unsigned int nr_cpus)
{
	struct caches c;

	caches_read(&c, root, nr_cpus);
	CHECK(c.count <= 1);
	CHECK(!c.of);
	CHECK_EQ(caches_here(&c), CACHE_NONE);
	caches_free(&c);
}

ROOST_TEST(lists_of_the_third_level)
{
	unsigned int i;

	begin();
	for (i = 0; i < 8; i++) {
		put_cache(i, 2, "0-7\n");
		put_cache(i, 3, i % 4 < 2 ? "0-1,4-5\n" : "2-3,6,7\n");
	}
	expect("aabbaabb");
	end();
}

ROOST_TEST(lists_of_the_second_level_where_there_is_no_third)
{
	unsigned int i;

	begin();
	for (i = 0; i < 4; i++) {
		put_cache(i, 1, "0-3\n");
		put_cache(i, 2, i < 2 ? "0-1\n" : "2,3\n");
	}
	expect("aabb");
	end();
}

ROOST_TEST(packages_where_there_is_no_cache)
{
	begin();
	put(0, "topology", "", "package_cpus_list", "0,2\n");
	put(1, "topology", "", "package_cpus_list", "1,3\n");
	put(2, "topology", "", "package_cpus_list", "0,2\n");
	put(3, "topology", "", "package_cpus_list", "1,3\n");
	expect("abab");
	end();
}

ROOST_TEST(one_that_is_offline)
{
	begin();
	put_cache(0, 3, "0\n");
	put_cache(2, 3, "2-3\n");
	put_cache(3, 3, "2-3\n");
	expect("a-bb");
	end();
}

ROOST_TEST(one_cache_or_none_is_no_choice)
{
	begin();
	expect_one(0);
	expect_one(1);
	expect_one(4);
	put_cache(0, 3, "0-3\n");
	put_cache(1, 3, "0-3\n");
	expect_one(4);
	end();
}

/* What is not a list: it shares with nobody.  And CPUs that there are not. */
ROOST_TEST(nonsense)
{
	begin();
	put_cache(0, 3, "");
	put_cache(1, 3, "x\n");
	put_cache(2, 3, "2-4294967295\n");
	put_cache(3, 3, "3-,\n");
	expect("abcc");
	put_cache(0, 3, "7-5,0,99999999999999999999\n");
	expect("abcc");
	end();
}

ROOST_TEST(this_machine)
{
	unsigned int n = (unsigned int)sysconf(_SC_NPROCESSORS_CONF);
	struct caches c;

	caches_read(&c, "/sys/devices/system/cpu", n);
	printf("# %u CPUs, %u caches\n", n, c.count);
	CHECK(c.count <= n);
	if (c.count > 1)
		CHECK(caches_here(&c) != CACHE_NONE);
	caches_free(&c);
}

/* All others are idle, and stay so while this one does not give up its CPU. */
static void wait_idle(struct runtime *rt, unsigned int n)
{
	uint64_t limit = roost_after(ROOST_SEC(60));
	unsigned int idle;

	do {
		idle = (unsigned int)__builtin_popcountll(
			atomic_load(control_idle(rt, 0)));
	} while (idle < n && roost_now() < limit);
	CHECK_EQ(idle, n);
}

#define WORKERS	6

/* Whether they went idle in cache 1; who does so meanwhile spoils it. */
static bool are_near(struct runtime *rt, unsigned int mask)
{
	unsigned int i, me = worker_self()->index;

	for (i = 0; i < WORKERS; i++)
		if (i != me && atomic_load(&rt->workers[i].cache) != (mask >> i & 1))
			return false;
	return true;
}

/*
 * Whom an actor wakes that runs in cache 1, when those of @near went idle there; @last
 * is the reluctant one, -1 for none.
 */
static unsigned int woken(struct runtime *rt, unsigned int near, int last)
{
	unsigned int i, tries;
	struct worker *w;
	uint32_t was;
	bool spoilt;

	for (tries = 0; tries < 1000; tries++) {
		wait_idle(rt, WORKERS - 1);
		for (i = 0; i < WORKERS; i++)
			atomic_store(&rt->workers[i].cache, near >> i & 1);
		was = atomic_exchange(&rt->reluctant, (uint32_t)(last + 1));
		w = worker_claim_idle_near(rt, 1);
		atomic_store(&rt->reluctant, was);
		spoilt = !are_near(rt, near);
		if (w)
			worker_wake_claimed(rt, w);
		if (w && !spoilt)
			return w->index;
	}
	CHECK_MSG(false, "they are never idle for long");
	return WORKERS;
}

/* S1-03 */
ACTOR_TEST(who_went_idle_nearby_comes_first, WORKERS)
{
	struct runtime *rt = runtime_self();
	const unsigned int me = worker_self()->index;
	const unsigned int near = me == 1 ? 2 : 1, highest = me == 5 ? 4 : 5;

	CHECK_EQ(woken(rt, 1U << near | (me ? 1 : 0), -1), near);
	/* Nobody is: the highest. */
	CHECK_EQ(woken(rt, 0, -1), highest);
	/* Woken last, though nearby. */
	CHECK_EQ(woken(rt, 1U << near, (int)near), highest);
}
