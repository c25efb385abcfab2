// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * fuzz_test.c - everything that a process can do to the device, at random.
 *
 *	fuzz_test [--seed S] [--ops N] [--seconds N] [--procs P] [--threads T]
 *		  [--fail]
 *
 * Processes of several threads each make, use, share, close and kill whatever
 * the device offers, with arguments right and wrong, while one more thread
 * scribbles on the shared pages; they are killed at random moments and begun
 * anew.  Beside them a process with a clean domain works on, and must lose
 * nothing (fuzz/clean.c).  At the end nothing of it all may be left.
 *
 * The course of each thread follows from the seed; how the threads meet does
 * not.  --fail makes allocations and copies of the fuzzing processes fail.
 *
 *	ROOST_SEED	as --seed (1)
 *	ROOST_ROUNDS	as --ops (no limit)
 *	ROOST_SECONDS	as --seconds (20)
 *
 * Prints TAP.
 */
#include <getopt.h>
#include <sys/prctl.h>

#include "fuzz/fuzz.h"

struct shared *shared;
struct options options;
int post_office[4][2];

struct slot {
	pid_t pid;
	uint64_t generation;
	bool killed;
};

static struct slot slots[MAX_PROCS];
static pid_t clean;
static bool clean_good;
static unsigned long kills, crashes, hung;

static unsigned int failures, tests;

static void result(bool good, const char *what)
{
	failures += !good;
	printf("%sok %u - %s\n", good ? "" : "not ", ++tests, what);
}

struct rng rng_of(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
	struct rng r = { (seed + 1) * 0x9e3779b97f4a7c15ULL ^ a << 48 ^
			 b << 8 ^ c << 1 ^ 1 };
	unsigned int i;

	for (i = 0; i < 8; i++)
		rnd(&r);
	return r;
}

static pid_t born(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	check(pid >= 0);
	return pid;
}

static void spawn(unsigned int i)
{
	struct slot *s = &slots[i];

	s->generation++;
	s->killed = false;
	atomic_store(&shared->at[i][0].since, 0);
	s->pid = born();
	if (!s->pid)
		fuzz_process(i, s->generation);
}

/* Children of theirs that outlived them have become ours. */
static void reaped(pid_t pid, int status)
{
	unsigned int i;

	if (pid == clean) {
		clean = 0;
		clean_good = WIFEXITED(status) && !WEXITSTATUS(status);
		return;
	}
	for (i = 0; i < options.procs && slots[i].pid != pid; i++)
		;
	if (i == options.procs)
		return;
	slots[i].pid = 0;
	if (slots[i].killed)
		return;
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		crashes++;
		/* a copy to a signal's frame may have been made to fail */
		if (!options.fail || crashes < 4)
			printf("# process %u.%llu ended with status %#x\n", i,
			       (unsigned long long)slots[i].generation, status);
	}
}

static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
		reaped(pid, status);
}

/* Kill one that lives and has begun, at times. */
static void kill_some(struct rng *r)
{
	unsigned int i = below(r, options.procs);
	struct slot *s = &slots[i];

	if (!s->pid || !one_in(r, 24) || !atomic_load(&shared->at[i][0].since))
		return;
	s->killed = true;
	kills++;
	kill(s->pid, SIGKILL);
}

/* Enough to say that calls were made at all. */
#define LEAST_ENTERS	50

/* On a busy machine all processes may still be starting when the time is up. */
static bool over(uint64_t end)
{
	if (!atomic_load(&shared->ops_left) || !clean ||
	    atomic_load(&shared->clean.lost))
		return true;
	if (now_ns() < end)
		return false;
	return atomic_load(&shared->done[K_ENTER]) >= LEAST_ENTERS ||
	       now_ns() >= end + HANG_LIMIT;
}

static void supervise(void)
{
	struct rng r = rng_of(options.seed, MAX_PROCS, 1, 0);
	uint64_t end = now_ns() + options.seconds * SEC;
	unsigned int i;

	while (!over(end)) {
		for (i = 0; i < options.procs; i++)
			if (!slots[i].pid)
				spawn(i);
		sleep_ns(1000000 + below(&r, 100000000));
		kill_some(&r);
		reap();
	}
	atomic_store(&shared->stop, true);
}

/* Where a thread that does not come to its end is. */
static void show_stack(unsigned int slot, unsigned int thread)
{
	struct at *at = &shared->at[slot][thread];
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stack", at->tid);
	printf("# process %u thread %u (%d), kind %u, for %llu ms\n", slot,
	       thread, at->tid, at->kind, at->since ?
	       (unsigned long long)(now_ns() - at->since) / MSEC : 0ULL);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		printf("#   %s", line);
	if (f)
		fclose(f);
}

static bool any_alive(void)
{
	unsigned int i;

	for (i = 0; i < options.procs; i++)
		if (slots[i].pid)
			return true;
	return false;
}

/* All of them end, by themselves or by being killed, within the hang limit. */
static void end_fuzzing(void)
{
	uint64_t soon = now_ns() + 5 * SEC, end = now_ns() + HANG_LIMIT;
	unsigned int i, k;
	bool killed = false;

	while (any_alive() && now_ns() < end) {
		reap();
		sleep_ns(5 * MSEC);
		if (killed || now_ns() < soon)
			continue;
		killed = true;
		for (i = 0; i < options.procs; i++) {
			slots[i].killed = true;
			if (slots[i].pid)
				kill(slots[i].pid, SIGKILL);
		}
	}
	for (i = 0; i < options.procs; i++) {
		if (!slots[i].pid)
			continue;
		hung++;
		for (k = 0; k < options.threads; k++)
			show_stack(i, k);
	}
}

/* The clean domain ends what it has begun; then the orphans, which are few. */
static void end_others(void)
{
	uint64_t end = now_ns() + HANG_LIMIT;
	int status;
	pid_t pid;

	while (clean && now_ns() < end) {
		reap();
		sleep_ns(5 * MSEC);
	}
	if (clean) {
		printf("# the clean domain does not come to its end\n");
		kill(clean, SIGKILL);
	}
	while (now_ns() < end) {
		pid = waitpid(-1, &status, WNOHANG | __WALL);
		if (pid < 0)
			return;
		if (!pid)
			sleep_ns(5 * MSEC);
	}
	hung++;
	printf("# a child is left that does not end\n");
}

/*
 * Objects in the module's caches; -1 if that cannot be known.  Free ones in a
 * CPU's own slabs count until the cache is shrunk.
 */
static long objects(void)
{
	static const char *const names[] = {
		"roost_timer", "roost_poll_op", "roost_poll", "roost_io",
		"roost_file_slot", "roost_file",
	};
	char line[512], name[64];
	unsigned int i;
	long sum = -1, n;
	FILE *f;
	int fd;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(line, sizeof(line), "/sys/kernel/slab/%s/shrink",
			 names[i]);
		fd = open(line, O_WRONLY | O_CLOEXEC);
		if (fd >= 0 && write(fd, "1", 1) != 1)
			printf("# %s cannot be shrunk\n", names[i]);
		close(fd);
	}
	f = fopen("/proc/slabinfo", "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "roost_", 6) ||
		    sscanf(line, "%63s %ld", name, &n) != 2)
			continue;
		sum = (sum < 0 ? 0 : sum) + n;
	}
	if (f)
		fclose(f);
	return sum;
}

/* What is freed late, by RCU and by delayed closing, is given time. */
static void check_leaks(void)
{
	uint64_t end = now_ns() + wide(10 * SEC);
	long n = objects();

	while (n > 0 && now_ns() < end) {
		sleep_ns(100 * MSEC);
		n = objects();
	}
	if (n < 0) {
		printf("ok %u - no object is left # SKIP no slabinfo of the module\n",
		       ++tests);
		return;
	}
	if (n)
		printf("# %ld objects are left in the module's caches\n", n);
	result(!n, "no object of the module is left");
}

static unsigned long tainted(void)
{
	unsigned long value = 0;
	FILE *f = fopen("/proc/sys/kernel/tainted", "re");

	if (f && fscanf(f, "%lu", &value) != 1)
		value = 0;
	if (f)
		fclose(f);
	return value;
}

static void parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "ops", required_argument, NULL, 'o' },
		{ "seconds", required_argument, NULL, 't' },
		{ "procs", required_argument, NULL, 'p' },
		{ "threads", required_argument, NULL, 'n' },
		{ "fail", no_argument, NULL, 'f' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	options.seed = env_number("ROOST_SEED", 1);
	options.ops = env_number("ROOST_ROUNDS", 0);
	options.seconds = env_number("ROOST_SECONDS", 0);
	options.procs = 3;
	options.threads = 3;
	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		unsigned long n = optarg ? strtoul(optarg, NULL, 0) : 0;

		switch (c) {
		case 's':	options.seed = n; break;
		case 'o':	options.ops = n; break;
		case 't':	options.seconds = n; break;
		case 'p':	options.procs = (unsigned int)n; break;
		case 'n':	options.threads = (unsigned int)n; break;
		case 'f':	options.fail = true; break;
		default:	exit(2);
		}
	}
	/* a number of operations alone is run to its end */
	if (!options.seconds)
		options.seconds = options.ops ? 1000000 : 20;
	if (!options.ops)
		options.ops = ~0ULL;
	check(options.procs >= 1 && options.procs <= MAX_PROCS);
	check(options.threads >= 1 && options.threads <= MAX_THREADS);
}

static void prepare(void)
{
	unsigned int i;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(shared != MAP_FAILED);
	shared->ops_left = options.ops;
	for (i = 0; i < 4; i++)
		check(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK |
				 SOCK_CLOEXEC, 0, post_office[i]) == 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

int main(int argc, char **argv)
{
	struct clean_figures *c;
	unsigned long taint;
	uint64_t mask = 0;
	unsigned int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	parse(argc, argv);
	prepare();
	printf("TAP version 13\n1..7\n# seed %llu, %u processes of %u threads\n",
	       (unsigned long long)options.seed, options.procs,
	       options.threads);
	taint = tainted();
	if (options.fail)
		faults_begin(&mask);
	clean = born();
	if (!clean)
		clean_process();
	supervise();
	end_fuzzing();
	end_others();
	if (options.fail)
		faults_end();
	/* descriptors that nobody has fetched */
	for (i = 0; i < 4; i++) {
		close(post_office[i][0]);
		close(post_office[i][1]);
	}
	print_figures();
	printf("# processes killed: %lu, ended otherwise: %lu\n", kills, crashes);
	c = &shared->clean;
	result(clean_good && !c->lost && c->echoes,
	       "the clean domain loses nothing");
	result(!c->early && !c->doubled && !c->stray && !c->bad,
	       "nor does it get anything wrong");
	result(shared->done[K_ENTER] >= LEAST_ENTERS ||
	       options.ops < 10 * LEAST_ENTERS, "calls were made");
	result(!hung, "every process comes to its end");
	result(options.fail || !crashes, "no process dies of itself");
	result(tainted() == taint, "the kernel has nothing to complain of");
	check_leaks();
	if (failures)
		printf("# again: fuzz_test --seed %llu --procs %u --threads %u%s\n",
		       (unsigned long long)options.seed, options.procs,
		       options.threads, options.fail ? " --fail" : "");
	return failures != 0;
}
