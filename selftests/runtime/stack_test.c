// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * stack_test.c - guard pages, limits that are met, memory that is given back.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "bottomless.h"
#include "run.h"
#include "stack_guard.h"

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
		.faults = ROOST_FAULTS_IGNORE,
	};

	if (arg)
		install_handler();
	else
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	roost_run(&config, overflow_root, NULL);
}

/* As on a kernel without MADV_GUARD_INSTALL. */
static void overflow_child_unmarked(void *arg)
{
	stack_guard_no_markers = true;
	overflow_child(arg);
}

/* C22, S3-65, S3-66 */
ROOST_TEST(an_overflow_hits_the_guard_page_and_nobody_else)
{
	if (SANITIZED)
		SKIP("the sanitizer has its own fault handler");
	CHECK(EXITED(in_child(overflow_child, overflow_child), FOUND_GUARD));
	CHECK(EXITED(in_child(overflow_child_unmarked, overflow_child),
		     FOUND_GUARD));
}

/* C22, S3-66 */
ROOST_TEST(an_overflow_is_fatal_if_faults_are_ignored)
{
	if (SANITIZED)
		SKIP("the sanitizer has its own fault handler");
	CHECK(KILLED_BY(in_child(overflow_child, NULL), SIGSEGV));
}

/* Pages of this process: of address space, and in memory. */
static void memory_in_use(long *virtual, long *resident)
{
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	char text[128] = "";

	/* Without stdio: at the limit of mappings there is no memory for its buffer. */
	if (read(fd, text, sizeof(text) - 1) <= 0 ||
	    sscanf(text, "%ld %ld", virtual, resident) != 2)
		*virtual = *resident = -1;
	close(fd);
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
	if (emulated())
		SKIP(EMULATED_LIMITS);
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

#define MAP_COUNT	"/proc/sys/vm/max_map_count"

static long map_count;

static void set_map_count(long count)
{
	FILE *f = fopen(MAP_COUNT, "we");

	if (!f)
		return;
	fprintf(f, "%ld", count);
	fclose(f);
}

/*
 * What it is by default, or less, where that would take long; only where ROOST_BACKEND
 * says that it is a VM of the tests.
 */
static void set_usual_map_count(void)
{
	const char *name = getenv("ROOST_BACKEND");

	map_count = read_number(MAP_COUNT);
	if (name && !strcmp(name, "kernel"))
		set_map_count(slow() > 1 ? 16384 : 65530);
}

/* It is the machine's. */
static void set_map_count_back(void)
{
	if (read_number(MAP_COUNT) != map_count)
		set_map_count(map_count);
}

static void exhaust_mappings(void *arg unused_arg)
{
	struct roost_config config = {
		.workers = 1, .stack_size = 16384, .max_actors = 60000,
	};
	int want = -ENOMEM;

	stack_guard_no_markers = true;
	roost_run(&config, exhaust, &want);
}

/* C23 */
ROOST_TEST(s3_68_no_mappings_is_an_error_that_names_the_limit)
{
	char text[512];
	long limit;
	int status;

	if (SANITIZED)
		SKIP("sanitizers need mappings themselves");
	if (emulated())
		SKIP(EMULATED_LIMITS);
	set_usual_map_count();
	limit = read_number(MAP_COUNT);
	if (limit < 0 || limit > 100000)
		SKIP("vm.max_map_count cannot be met with a few actors");
	status = in_child_stderr(exhaust_mappings, NULL, text, sizeof(text));
	set_map_count_back();
	CHECK_MSG(EXITED(status, 0), "status 0x%x", status);
	CHECK_MSG(strstr(text, "vm.max_map_count"), "message: %s", text);
	CHECK_MSG(strstr(text, "had "), "message: %s", text);
}

static long mappings_in_use(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char text[1024];
	ssize_t got, i;
	long n = 0;

	while ((got = read(fd, text, sizeof(text))) > 0)
		for (i = 0; i < got; i++)
			n += text[i] == '\n';
	close(fd);
	return n;
}

/* Twice as many as have guard pages with two mappings each, nearly. */
#define CROWD	60000

static int crowd_size(void)
{
	long limit = read_number(MAP_COUNT);

	return limit > 0 && limit < CROWD ? (int)(limit / 10 * 9) : CROWD;
}

/* Is the limit so low that a crowd comes to it? */
static bool crowd_meets_map_count(void)
{
	long limit = read_number(MAP_COUNT);

	return limit >= 0 && limit <= 2 * CROWD;
}

static _Atomic int woken;

static void parks_until_woken(void *arg unused_arg)
{
	volatile char space[2048];

	space[0] = 1;
	space[sizeof(space) - 1] = 1;
	if (!roost_park(ROOST_FOREVER) && space[0] == 1)
		atomic_fetch_add(&woken, 1);
}

/* Each is woken once, and ends; else the process does. */
static void crowd_goes(const roost_pid pid[], int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (roost_unpark(pid[i]))
			_exit(2);
	for (i = 0; i < n; i++)
		if (roost_join(pid[i], roost_after(ROOST_SEC(60))))
			_exit(3);
	if (woken != n)
		_exit(4);
}

static void crowd(void *arg)
{
	roost_pid *pid = calloc(CROWD, sizeof(*pid));
	int i, n = crowd_size();

	for (i = 0; i < n; i++)
		if (roost_spawn(parks_until_woken, NULL, &pid[i]))
			_exit(1);
	*(long *)arg = mappings_in_use();
	crowd_goes(pid, n);
}

static void run_crowd(unsigned int flags, long *mappings)
{
	struct roost_config config = {
		.workers = 1, .stack_size = 16384, .max_actors = CROWD + 1,
		.stack_flags = flags, .stack_chunk = 2048,
	};

	if (roost_run(&config, crowd, mappings))
		_exit(5);
}

static void marked_child(void *arg unused_arg)
{
	long mappings;

	run_crowd(0, &mappings);
	_exit(mappings < 1000 ? 0 : 6);
}

static bool have_markers(void)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* Some that know no markers say nothing of it: can it be written to? */
	bool have = p != MAP_FAILED && !madvise(p, PAGE, 102) &&
		    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, p, 8) < 0;

	munmap(p, PAGE);
	return have;
}

ROOST_TEST(c23_markers_need_no_mappings)
{
	int status;

	if (SANITIZED)
		SKIP("sanitizers need memory themselves");
	if (!have_markers())
		SKIP("the kernel has no MADV_GUARD_INSTALL");
	status = in_child(marked_child, NULL);
	CHECK_MSG(EXITED(status, 0), "status 0x%x", status);
}

static void unguarded_child(void *arg unused_arg)
{
	long mappings;

	stack_guard_no_markers = true;
	run_crowd(ROOST_STACK_UNGUARDED, &mappings);
	/* It is the limit that made them go without. */
	_exit(mappings > read_number(MAP_COUNT) - 100 ? 0 : 6);
}

ROOST_TEST(c23_without_mappings_it_goes_on_without_guards_if_told_so)
{
	int status;

	if (SANITIZED)
		SKIP("sanitizers need mappings themselves");
	if (emulated())
		SKIP(EMULATED_LIMITS);
	set_usual_map_count();
	if (!crowd_meets_map_count())
		SKIP("vm.max_map_count cannot be met with a few actors");
	status = in_child(unguarded_child, NULL);
	set_map_count_back();
	CHECK_MSG(EXITED(status, 0), "status 0x%x", status);
}

#define FILLERS	8

/* Mappings until there can be none; no two of them merge. */
static int fill(void *fillers[])
{
	int n;

	for (n = 0; n < FILLERS; n++) {
		fillers[n] = mmap(NULL, PAGE, n & 1 ? PROT_READ | PROT_EXEC : PROT_READ,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (fillers[n] == MAP_FAILED)
			break;
	}
	return n;
}

/* A crowd, five times: how many mappings and pages are left each time. */
static void crowds(void *arg)
{
	roost_pid *pid = calloc(CROWD, sizeof(*pid));
	long mapped, before = mappings_in_use(), resident[2], peak, ignored;
	int want = *(int *)arg, round, n, full = 0, err = 0, most = crowd_size();
	void *fillers[FILLERS];

	memset(pid, 1, CROWD * sizeof(*pid));
	memory_in_use(&ignored, &resident[0]);
	for (round = 0; round < 5; round++) {
		woken = 0;
		for (n = 0; n < most; n++) {
			err = roost_spawn(parks_until_woken, NULL, &pid[n]);
			if (err)
				break;
		}
		if (err != want || n < most / 3)
			_exit(1);
		memory_in_use(&ignored, &peak);
		if (peak < 0)
			_exit(9);
		/* What others map meanwhile may be one too many: then nothing can be. */
		if (want == -ENOMEM)
			full = fill(fillers);
		if (full == FILLERS)
			_exit(8);
		crowd_goes(pid, n);
		mapped = mappings_in_use();
		while (full)
			munmap(fillers[--full], PAGE);
		memory_in_use(&ignored, &resident[1]);
		fprintf(stderr, "%d: %ld mappings before, %ld after; %ld pages before, %ld of %ld after\n",
			n, before, mapped, resident[0], resident[1], peak);
		/* The pool, and a batch that may wait: two for each stack. */
		if (mapped > before + 300)
			_exit(6);
		if (resident[1] - resident[0] > (peak - resident[0]) / 5)
			_exit(7);
	}
	_exit(0);
}

static void crowds_child(void *arg)
{
	struct roost_config config = {
		.workers = 1, .stack_size = 16384, .max_actors = CROWD + 1,
	};

	stack_guard_no_markers = *(int *)arg == -ENOMEM;
	roost_run(&config, crowds, arg);
}

static void crowds_come_and_go(int want)
{
	char text[2048];
	int status = in_child_stderr(crowds_child, &want, text, sizeof(text));

	CHECK_MSG(EXITED(status, 0), "status 0x%x: %s", status, text);
}

ROOST_TEST(c23_crowds_come_and_go_and_leave_nothing)
{
	if (SANITIZED)
		SKIP("sanitizers need mappings themselves");
	if (emulated())
		SKIP(EMULATED_LIMITS);
	set_usual_map_count();
	if (!crowd_meets_map_count())
		SKIP("vm.max_map_count cannot be met with a few actors");
	crowds_come_and_go(-ENOMEM);
	if (have_markers())
		crowds_come_and_go(0);
	set_map_count_back();
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

/* S0-61, S1-27, S3-70 */
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

/* S3-57, S3-61 */
ACTOR_TEST(no_stack_is_handed_out_twice, usually(3))
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

static void uses_asked_for(void *arg)
{
	uses_all_of_it(arg);
	CHECK_EQ(roost_stack_used() > (ssize_t)(*(size_t *)arg - 4096), 1);
	CHECK(roost_stack_used() <= (ssize_t)*(size_t *)arg);
}

static void spawns_by_size(void *arg unused_arg)
{
	size_t sizes[] = { 16384, 65536, 1 << 20, 64 << 20, 16384 };
	struct roost_spawn_options options = { 0 };
	roost_pid pid;
	size_t i;

	for (i = 0; i < 5; i++) {
		options.stack_size = sizes[i];
		CHECK_EQ(roost_spawn_with(uses_asked_for, &sizes[i], &options,
					  &pid), 0);
		join(pid);
	}
	CHECK_EQ(roost_spawn_with(dirties, NULL, NULL, &pid), 0);
	join(pid);
	/* Rounded up. */
	options.stack_size = 20000;
	i = 32768;
	CHECK_EQ(roost_spawn_with(uses_asked_for, &i, &options, &pid), 0);
	join(pid);
}

ROOST_TEST(each_actor_may_have_a_stack_of_its_own_size)
{
	struct roost_config config = { .workers = 2, .stack_size = 40000 };

	run_with(&config, spawns_by_size, NULL);
}

ACTOR_TEST(spawn_options_out_of_range_are_refused, usually(1))
{
	struct roost_spawn_options options = { .stack_size = 16383 };
	roost_pid pid = 4711;

	CHECK_EQ(roost_spawn_with(parks, NULL, &options, &pid), -EINVAL);
	options.stack_size = ((size_t)1 << 30) + 1;
	CHECK_EQ(roost_spawn_with(parks, NULL, &options, &pid), -EINVAL);
	options.stack_size = 0;
	options.reserved[3] = 1;
	CHECK_EQ(roost_spawn_with(parks, NULL, &options, &pid), -EINVAL);
	CHECK_EQ(pid, 4711);
}

static void many_of_another_size(void *arg)
{
	struct roost_spawn_options options = { .stack_size = 32768 };
	roost_pid pid[200];
	int i, k;

	for (k = 0; k < 20; k++) {
		for (i = 0; i < 200; i++)
			CHECK_EQ(roost_spawn_with(checks_its_own, arg, &options,
						  &pid[i]), 0);
		for (i = 0; i < 200; i++)
			join(pid[i]);
	}
}

/* Each worker may be the one that makes the stacks of that size. */
ACTOR_TEST(stacks_of_another_size_from_several_workers, usually(3))
{
	roost_pid pid[3];
	intptr_t i;

	for (i = 0; i < 3; i++)
		pid[i] = spawn(many_of_another_size, (void *)i);
	for (i = 0; i < 3; i++)
		join(pid[i]);
}

static void uses(void *arg)
{
	volatile char *space = __builtin_alloca((size_t)(intptr_t)arg);

	space[0] = 1;
}

static void measures(void *arg unused_arg)
{
	struct roost_stats stats;
	size_t size;

	for (size = 40000; size >= 10000; size -= 10000) {
		roost_pid pid = spawn(uses, (void *)size);

		join(pid);
		CHECK_EQ(roost_stats(&stats), 0);
		CHECK_MSG(stats.stack_high > 40000 && stats.stack_high < 42000,
			  "%llu", (unsigned long long)stats.stack_high);
	}
}

static void measures_itself(void *arg)
{
	ssize_t used;

	uses(arg);
	used = roost_stack_used();
	CHECK_MSG(used > (ssize_t)(intptr_t)arg, "%zd", used);
	CHECK_MSG(used < (ssize_t)(intptr_t)arg + 2000, "%zd", used);
}

/* One after the other on the same stack, each less than the one before. */
static void measure_each(void *arg)
{
	intptr_t size;

	measures(arg);
	for (size = 40000; size >= 10000; size -= 10000) {
		roost_pid pid = spawn(measures_itself, (void *)size);

		join(pid);
	}
}

ROOST_TEST(what_was_used_of_a_stack_can_be_read)
{
	struct roost_config config = {
		.workers = 1, .stack_flags = ROOST_STACK_MEASURED,
	};

	if (SANITIZED)
		SKIP("frames are larger, and some lie elsewhere");
	run_with(&config, measure_each, NULL);
	CHECK_EQ(roost_stack_used(), -EPERM);
}

static struct roost_stack_info count_of(size_t size)
{
	struct roost_stack_info list[20];
	ssize_t i, n = roost_stacks(ROOST_PID_NONE, list, 20);

	CHECK(n > 0 && n <= 18);
	for (i = 0; i < n; i++) {
		CHECK(list[i].chunks > 0);
		/* a guard page below each, and one above the last */
		CHECK(list[i].address_space >=
		      (list[i].used + list[i].pooled + list[i].unused) *
		      (list[i].size + PAGE) + PAGE);
		if (list[i].size == size)
			return list[i];
	}
	CHECK_MSG(false, "no stacks of %zu bytes", size);
	return (struct roost_stack_info){ 0 };
}

static void end_it(roost_pid pid)
{
	CHECK_EQ(roost_stop(pid), 0);
	join(pid);
}

/* So many more, and then without them: what is given back is not counted. */
static struct roost_stack_info after_a_crowd(void *arg)
{
	roost_pid pid[200];
	unsigned int i;

	for (i = 0; i < 200; i++)
		pid[i] = spawn(parks, arg);
	CHECK_EQ(count_of(65536).used, 201);
	for (i = 0; i < 200; i++)
		end_it(pid[i]);
	return count_of(65536);
}

static void counts_stacks(void *arg)
{
	const struct roost_spawn_options large = { .stack_size = 200000 };
	struct roost_stack_info before, now;
	roost_pid pid[30];
	unsigned int i;

	CHECK_EQ(roost_stacks(ROOST_PID_NONE, NULL, 0), 1);
	/* ours */
	before = count_of(65536);
	CHECK_EQ(before.used, 1);
	CHECK_EQ(before.pooled, 0);
	CHECK_EQ(before.chunks, 1);
	for (i = 0; i < 30; i++)
		pid[i] = spawn(parks, arg);
	now = count_of(65536);
	CHECK_EQ(now.used, 31);
	CHECK_EQ(now.pooled, 0);
	CHECK_EQ(now.chunks, 3);
	CHECK_EQ(now.address_space, 3 * before.address_space);
	for (i = 0; i < 30; i++)
		end_it(pid[i]);
	now = count_of(65536);
	CHECK_EQ(now.used, 1);
	CHECK_EQ(now.used + now.pooled + now.unused,
		 now.chunks * (before.used + before.unused));
	/* a batch is not yet full */
	CHECK_EQ(now.pooled, 30);
	now = after_a_crowd(arg);
	CHECK_EQ(now.used, 1);
	CHECK(now.chunks < 200 / (before.used + before.unused));
	CHECK_EQ(now.used + now.pooled + now.unused,
		 now.chunks * (before.used + before.unused));
	CHECK_EQ(now.address_space, now.chunks * before.address_space);
	CHECK_EQ(roost_spawn_with(parks, arg, &large, &pid[0]), 0);
	CHECK_EQ(roost_stacks(ROOST_PID_NONE, NULL, 0), 2);
	CHECK_EQ(count_of(262144).used, 1);
	CHECK_EQ(count_of(65536).used, 1);
	end_it(pid[0]);
	CHECK_EQ(count_of(262144).used, 0);
	CHECK_EQ(count_of(262144).pooled, 1);
}

/* S3-75 */
ROOST_TEST(how_many_stacks_there_are)
{
	struct roost_config config = {
		.workers = 1, .stack_chunk = 1, .standbys = ROOST_NO_STANDBYS,
	};

	run_with(&config, counts_stacks, NULL);
	CHECK_EQ(roost_stacks(ROOST_PID_NONE, NULL, 0), -EPERM);
	CHECK_EQ(roost_stacks(0, NULL, 0), -ESRCH);
}

static void in_small_chunks(void *arg unused_arg)
{
	long virtual[2], peak, ignored;

	burst(10);
	memory_in_use(&virtual[0], &ignored);
	burst(4000);
	memory_in_use(&peak, &ignored);
	burst(10);
	memory_in_use(&virtual[1], &ignored);
	printf("# %ld pages mapped before, %ld after\n", virtual[0], virtual[1]);
	/* A batch may wait, and lie in as many chunks: 4 MiB of stacks. */
	CHECK(virtual[1] - virtual[0] < (70L << 20) / PAGE);
}

ROOST_TEST(s3_65_chunks_are_as_large_as_asked_for_and_are_given_back)
{
	struct roost_config config = {
		.workers = 1, .stack_chunk = 1, .standbys = ROOST_NO_STANDBYS,
	};

	if (SANITIZED)
		SKIP("sanitizers keep memory");
	run_with(&config, in_small_chunks, NULL);
}
