// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * stack_guard_test.c - what of the address space around a stack can be used, to the
 * byte, and what /proc says of it.
 *
 * Whether an address can be read is asked from the kernel: a write(2) from there
 * fails with EFAULT instead of ending the process.
 */
#include <sys/mman.h>
#include <sys/prctl.h>

#include "runtime.h"
#include "slot.h"

#include "run.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA		0x53564d41
#define PR_SET_VMA_ANON_NAME	0
#endif

#define ACTORS	8
/* And that of who starts them, which is the first one that there is. */
#define STACKS	(ACTORS + 1)

static int probe[2];

static bool readable(const char *at)
{
	char c;

	if (write(probe[1], at, 1) == 1)
		return read(probe[0], &c, 1) == 1;
	CHECK_EQ(errno, EFAULT);
	return false;
}

static bool any_readable(const char *at, size_t n, size_t page)
{
	size_t i;

	for (i = 0; i < n; i += page)
		if (readable(at + i) || readable(at + i + page - 1))
			return true;
	return false;
}

static bool all_readable(const char *at, size_t n, size_t page)
{
	size_t i;

	for (i = 0; i < n; i += page)
		if (!readable(at + i) || !readable(at + i + page - 1))
			return false;
	return true;
}

static void stands(void *arg)
{
	*(char **)arg = __builtin_frame_address(0);
	roost_park(ROOST_FOREVER);
}

struct wish {
	size_t size;
	char *low[STACKS];
	size_t got;
	void (*look)(struct wish *w, size_t page);
};

static void with_actors(void *arg)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct runtime *rt = runtime_self();
	roost_pid pid[ACTORS];
	struct wish *w = arg;
	char *here[ACTORS];
	int i;

	for (i = 0; i < ACTORS; i++)
		pid[i] = spawn(stands, &here[i]);
	roost_yield();
	w->got = rt->stacks.usual.size;
	w->low[ACTORS] = worker_actor()->stack.low;
	for (i = 0; i < ACTORS; i++) {
		w->low[i] = runtime_slot(rt, pid[i])->stack.low;
		CHECK(here[i] >= w->low[i] && here[i] < w->low[i] + w->got);
	}
	w->look(w, page);
	for (i = 0; i < ACTORS; i++) {
		CHECK_EQ(roost_stop(pid[i]), 0);
		join(pid[i]);
	}
}

static void with_stacks(size_t size, void (*look)(struct wish *w, size_t page))
{
	struct wish w = { .size = size, .look = look };
	struct roost_config config = {
		.workers = 1, .stack_size = size, .standbys = ROOST_NO_STANDBYS,
	};

	CHECK_EQ(pipe(probe), 0);
	run_with(&config, with_actors, &w);
	close(probe[0]);
	close(probe[1]);
}

static void has_guards(struct wish *w, size_t page)
{
	int i;

	CHECK(w->got >= w->size && w->got < w->size + page);
	CHECK_EQ(w->got % page, 0);
	for (i = 0; i < STACKS; i++) {
		CHECK_EQ((uintptr_t)w->low[i] % page, 0);
		CHECK(all_readable(w->low[i], w->got, page));
		/* The page below, to its last byte. */
		CHECK(!any_readable(w->low[i] - page, page, page));
	}
}

/* S3-65, S3-71: also if what was asked for is no number of pages. */
ROOST_TEST(a_guard_below_every_stack)
{
	static const size_t sizes[] = { 16384, 16385, 20001, 65535, 65536 };
	size_t i;

	if (SANITIZED)
		SKIP("the sanitizer takes what the kernel is told to read for its own");
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		with_stacks(sizes[i], has_guards);
}

/* So many, and no more, become accessible together: see lib/stack_guard.h. */
#define FAR	64

static void is_not_yet_open(struct wish *w, size_t page)
{
	char *highest = w->low[0];
	int i;

	for (i = 1; i < STACKS; i++)
		if (w->low[i] > highest)
			highest = w->low[i];
	CHECK(!any_readable(highest + FAR * (w->got + page), w->got, page));
}

/* S3-66 */
ROOST_TEST(stacks_that_nobody_had_are_closed)
{
	if (SANITIZED)
		SKIP("the sanitizer takes what the kernel is told to read for its own");
	with_stacks(65536, is_not_yet_open);
}

static bool kernel_knows_names(void)
{
	void *p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool known = !prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, p, 4096, "roost test");

	munmap(p, 4096);
	return known;
}

/* What the library has asked to be called so. */
static struct {
	char *at;
	size_t size;
} named[4];

static unsigned int nr_named;

int __real_prctl(int what, ...);
int __wrap_prctl(int what, unsigned long a, unsigned long b, unsigned long c,
		 const char *name);

int __wrap_prctl(int what, unsigned long a, unsigned long b, unsigned long c,
		 const char *name)
{
	if (what == PR_SET_VMA && a == PR_SET_VMA_ANON_NAME &&
	    !strcmp(name, "roost stacks") && nr_named < 4) {
		named[nr_named].at = (char *)b;
		named[nr_named++].size = c;
	}
	return __real_prctl(what, a, b, c, name);
}

static bool was_asked_for(const char *at)
{
	unsigned int i;

	for (i = 0; i < nr_named; i++)
		if (at >= named[i].at && at < named[i].at + named[i].size)
			return true;
	return false;
}

/* Is @at in a mapping whose line ends with @name? */
static bool is_named(const char *at, const char *name)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long from, to;
	bool named = false;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 &&
		    (uintptr_t)at >= from && (uintptr_t)at < to)
			named = strstr(line, name);
	}
	if (f)
		fclose(f);
	return named;
}

static void has_a_name(struct wish *w, size_t page)
{
	int i;

	for (i = 0; i < STACKS; i++) {
		CHECK(was_asked_for(w->low[i]));
		CHECK(was_asked_for(w->low[i] - page));
		CHECK(was_asked_for(w->low[i] + w->got - 1));
	}
	if (!kernel_knows_names())
		return;
	for (i = 0; i < STACKS; i++) {
		CHECK(is_named(w->low[i], "[anon:roost stacks]"));
		CHECK(is_named(w->low[i] - page, "[anon:roost stacks]"));
	}
	CHECK(!is_named((char *)probe, "[anon:roost stacks]"));
}

/* S3-74: asked for everywhere, and to be seen where the kernel can do that. */
ROOST_TEST(stacks_have_a_name)
{
	nr_named = 0;
	with_stacks(65536, has_a_name);
}
