// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * stack_test.c - guard pages, limits that are met, memory that is given back.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "run.h"

#define PAGE		4096U
#define STACK_SIZE	((size_t)64 << 10)

/*
 * The overflow runs in a child process whose SIGSEGV handler, on a stack of its
 * own, tells by the exit status what it found.
 */
#define FOUND_GUARD	42
#define FOUND_OTHER	43
#define FOUND_DAMAGE	44

static unsigned char *neighbour;
static char *victim;

#define PATTERN_SIZE	40000

static void on_segv(int sig unused_arg, siginfo_t *info,
		    void *context unused_arg)
{
	char *at = info->si_addr;
	size_t i;

	/* The guard page is below the victim's stack. */
	if (at > victim || victim - at > (ptrdiff_t)(STACK_SIZE + PAGE))
		_exit(FOUND_OTHER);
	for (i = 0; i < PATTERN_SIZE; i++)
		if (neighbour[i] != (unsigned char)(i * 7))
			_exit(FOUND_DAMAGE);
	_exit(FOUND_GUARD);
}

static void install_handler(void)
{
	static char stack[65536];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = {
		.sa_sigaction = on_segv,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};

	sigaltstack(&alt, NULL);
	sigaction(SIGSEGV, &sa, NULL);
}

static void quiet_neighbour(void *arg unused_arg)
{
	unsigned char pattern[PATTERN_SIZE];
	size_t i;

	for (i = 0; i < sizeof(pattern); i++)
		pattern[i] = (unsigned char)(i * 7);
	__asm__ volatile("" : : "r"(pattern) : "memory");
	neighbour = pattern;
	roost_park(ROOST_FOREVER);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winfinite-recursion"
static __attribute__((noinline)) int bottomless(int n)
{
	volatile char frame[512];

	frame[0] = (char)n;
	return bottomless(n + 1) + frame[0];
}
#pragma GCC diagnostic pop

static void overflows(void *arg unused_arg)
{
	char here;

	victim = &here;
	__asm__ volatile("" : "+m"(victim));
	_exit(bottomless(0) & 1);
}

/* The neighbour's stack lies below the victim's: the overflow goes towards it. */
static void overflow_root(void *arg unused_arg)
{
	spawn(quiet_neighbour, NULL);
	roost_yield();
	roost_yield();
	spawn(overflows, NULL);
	roost_park(ROOST_FOREVER);
}

static void overflow_child(void *arg)
{
	struct roost_config config = {
		.workers = 1, .stack_size = STACK_SIZE,
	};

	if (arg)
		install_handler();
	else
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	roost_run(&config, overflow_root, NULL);
}

ROOST_TEST(an_overflow_hits_the_guard_page_and_nobody_else)
{
	if (SANITIZED)
		SKIP("the sanitizer has its own fault handler");
	CHECK(EXITED(in_child(overflow_child, overflow_child), FOUND_GUARD));
}

ROOST_TEST(an_overflow_is_fatal_by_default)
{
	if (SANITIZED)
		SKIP("the sanitizer has its own fault handler");
	CHECK(KILLED_BY(in_child(overflow_child, NULL), SIGSEGV));
}

/* Pages of this process: of address space, and in memory. */
static void memory_in_use(long *virtual, long *resident)
{
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%ld %ld", virtual, resident) != 2)
		*virtual = *resident = -1;
	if (f)
		fclose(f);
}

static void parks(void *arg unused_arg)
{
	roost_park(ROOST_FOREVER);
}

/* Spawn until it fails, give up a few, spawn as many: all must go well. */
static void exhaust(void *arg)
{
	int want = *(int *)arg, err, more, i;
	long mapped[2], ignored;
	roost_pid *pid = calloc(200000, sizeof(*pid));
	int n = 0;

	while (!(err = roost_spawn(parks, NULL, &pid[n])))
		n++;
	if (err != want || n < 100)
		_exit(1);
	for (i = 0; i < 50; i++) {
		if (roost_stop(pid[i]) ||
		    roost_join(pid[i], roost_after(ROOST_SEC(20))))
			_exit(2);
	}
	/* A failure that used up a slot or a stack would show here (S3-68). */
	for (more = 0; more < 50; more++)
		if (roost_spawn(parks, NULL, &pid[more]))
			_exit(3);
	memory_in_use(&mapped[0], &ignored);
	for (i = 0; i < 3 * 16384; i++)
		if (roost_spawn(parks, NULL, NULL) != want)
			_exit(4);
	memory_in_use(&mapped[1], &ignored);
	if (mapped[1] - mapped[0] > (100L << 20) / PAGE)
		_exit(5);
	fprintf(stderr, "had %d\n", n);
	_exit(0);
}

static void exhaust_address_space(void *arg unused_arg)
{
	struct roost_config config = {
		.workers = 1, .stack_size = STACK_SIZE, .max_actors = 20000,
	};
	int want = -ENOMEM;

	limit_address_space((rlim_t)300 << 20);
	roost_run(&config, exhaust, &want);
}

ROOST_TEST(s3_68_no_address_space_is_an_error_and_costs_no_slot)
{
	char text[512];
	int status;

	if (SANITIZED)
		SKIP("sanitizers need address space themselves");
	status = in_child_stderr(exhaust_address_space, NULL, text,
				 sizeof(text));
	CHECK_MSG(EXITED(status, 0), "status 0x%x", status);
	CHECK_MSG(strstr(text, "RLIMIT_AS"), "message: %s", text);
}

static long read_number(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strtol(text, NULL, 10);
}

static void exhaust_mappings(void *arg unused_arg)
{
	struct roost_config config = {
		.workers = 1, .stack_size = 16384, .max_actors = 60000,
	};
	int want = -ENOMEM;

	roost_run(&config, exhaust, &want);
}

ROOST_TEST(s3_68_no_mappings_is_an_error_that_names_the_limit)
{
	long limit = read_number("/proc/sys/vm/max_map_count");
	char text[512];
	int status;

	if (SANITIZED)
		SKIP("sanitizers need mappings themselves");
	if (limit < 0 || limit > 100000)
		SKIP("vm.max_map_count cannot be met with a few actors");
	status = in_child_stderr(exhaust_mappings, NULL, text, sizeof(text));
	CHECK_MSG(EXITED(status, 0), "status 0x%x", status);
	CHECK_MSG(strstr(text, "vm.max_map_count"), "message: %s", text);
	CHECK_MSG(strstr(text, "had "), "message: %s", text);
}

static _Atomic int standing;

static void touches_its_stack(void *arg)
{
	volatile char space[32768];
	size_t i;

	for (i = 0; i < sizeof(space); i += 512)
		space[i] = 1;
	atomic_fetch_add(&standing, 1);
	while (atomic_load(&standing) < *(int *)arg)
		roost_yield();
}

static void burst(int n)
{
	roost_pid *pid = calloc((size_t)n, sizeof(*pid));
	int i;

	atomic_store(&standing, 0);
	for (i = 0; i < n; i++)
		pid[i] = spawn(touches_its_stack, &n);
	for (i = 0; i < n; i++)
		join(pid[i]);
	free(pid);
}

static void memory_comes_back(void *arg unused_arg)
{
	long virtual[2], resident[2], peak, ignored;
	int n = 10000 / (int)(slow() > 4 ? 4 : 1);

	burst(10);
	memory_in_use(&virtual[0], &resident[0]);
	burst(n);
	memory_in_use(&ignored, &peak);
	burst(10);
	memory_in_use(&virtual[1], &resident[1]);
	printf("# %d stacks: %ld pages resident before, %ld after; %ld and %ld mapped\n",
	       n, resident[0], resident[1], virtual[0], virtual[1]);
	/* Each touched 9 pages; a tenth of one may stay, for tables. */
	CHECK(resident[1] - resident[0] < n / 2);
	/* One chunk of 512 MiB may stay besides. */
	CHECK(virtual[1] - virtual[0] < (520L << 20) / PAGE);
}

ROOST_TEST(s0_06_memory_of_ended_actors_is_given_back)
{
	/* The stacks and heaps of other threads would count as well. */
	struct roost_config config = {
		.workers = 1, .stack_size = STACK_SIZE,
		.standbys = ROOST_NO_STANDBYS,
	};

	if (SANITIZED)
		SKIP("sanitizers keep memory");
	run_with(&config, memory_comes_back, NULL);
}

static void uses_all_of_it(void *arg)
{
	size_t size = *(size_t *)arg - 4096;
	volatile char *space = __builtin_alloca(size);
	size_t i;

	for (i = 0; i < size; i += 64)
		space[i] = 1;
}

ROOST_TEST(stacks_are_as_large_as_asked_for)
{
	static const size_t sizes[] = { 16384, 20000, 1 << 20, 64 << 20 };
	size_t i;

	for (i = 0; i < 4; i++) {
		struct roost_config config = {
			.workers = 1, .stack_size = sizes[i],
		};
		size_t size = sizes[i];

		run_with(&config, uses_all_of_it, &size);
	}
}

static void dirties(void *arg unused_arg)
{
	volatile char space[8192];
	size_t i;

	for (i = 0; i < sizeof(space); i++)
		space[i] = 0x55;
}

/* Stacks come and go from several threads; each is one actor's alone. */
static void checks_its_own(void *arg)
{
	volatile uintptr_t space[512];
	size_t i, bad = 0;

	for (i = 0; i < 512; i++)
		space[i] = (uintptr_t)arg + i;
	roost_yield();
	for (i = 0; i < 512; i++)
		if (space[i] != (uintptr_t)arg + i)
			bad++;
	CHECK_EQ(bad, 0);
}

ACTOR_TEST(no_stack_is_handed_out_twice, 3)
{
	enum { N = 64 };
	unsigned long k, n = rounds(300);
	roost_pid pid[N];
	uintptr_t i;

	for (k = 0; k < n; k++) {
		for (i = 0; i < N; i++)
			pid[i] = spawn(i % 4 ? checks_its_own : dirties,
				       (void *)(i << 20));
		for (i = 0; i < N; i++)
			join(pid[i]);
	}
}
