// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * process.c - a fuzzing process: threads that do one random thing after the
 * other, and one that scribbles, sends signals and reaps children.
 */
#include <sys/prctl.h>
#include <sys/resource.h>

#include "fuzz.h"

/* What is done, how often in proportion, and where it is counted. */
static const struct {
	int (*run)(struct rng *r);
	unsigned int weight;
} actions[NR_KINDS] = {
	[K_DOMAIN]	= { do_domain, 6 },
	[K_WORKER]	= { do_worker, 12 },
	[K_ATTACH]	= { do_attach, 10 },
	[K_DETACH]	= { do_detach, 6 },
	[K_ENTER]	= { do_enter, 400 },
	[K_PARK]	= { do_park, 60 },
	[K_WAKE]	= { do_wake, 40 },
	[K_STAT]	= { do_stat, 5 },
	[K_ODD]		= { do_odd, 15 },
	[K_CLOSE]	= { do_close, 60 },
	[K_MAP]		= { do_map, 10 },
	[K_FILE]	= { make_file, 60 },
	[K_DUP]		= { dup_file, 12 },
	[K_POKE]	= { poke_file, 120 },
	[K_PASS]	= { pass_fd, 8 },
	[K_EPOLL]	= { play_epoll, 15 },
	[K_FORK]	= { do_fork, 1 },
	[K_EXEC]	= { do_exec, 1 },
	[K_CLONE]	= { do_clone, 1 },
};

static unsigned int my_slot;
static uint64_t my_generation;

static enum kind choose(struct rng *r)
{
	static unsigned int total;
	unsigned int i, sum = 0, dice;

	for (i = 0; !total && i < NR_KINDS; i++)
		sum += actions[i].weight;
	if (!total)
		total = sum;
	dice = below(r, total);
	for (i = 0; dice >= actions[i].weight; i++)
		dice -= actions[i].weight;
	return i;
}

/* One of the operations that are left; false: there are none. */
static bool take_op(void)
{
	uint64_t left = atomic_load(&shared->ops_left);

	if (atomic_load(&shared->stop))
		return false;
	while (left)
		if (atomic_compare_exchange_weak(&shared->ops_left, &left,
						 left - 1))
			return true;
	return false;
}

static struct at *at_of(unsigned int thread)
{
	return &shared->at[my_slot][thread];
}

static void *fuzz_main(void *arg)
{
	unsigned int thread = (unsigned int)(uintptr_t)arg;
	struct rng r = rng_of(options.seed, my_slot, my_generation, thread);
	struct at *at = at_of(thread);
	enum kind kind;
	uint64_t cpu;

	atomic_store(&at->tid, (int)syscall(SYS_gettid));
	if (options.fail)
		faults_here();
	while (take_op()) {
		kind = choose(&r);
		atomic_store(&at->kind, kind);
		atomic_store(&at->since, now_ns());
		cpu = cpu_ns();
		counted(kind, actions[kind].run(&r));
		spend(&shared->cpu[kind], cpu_ns() - cpu);
		/* its own file table, and back to nothing: not an owner any more */
		if (one_in(&r, 50000))
			unshare(CLONE_FILES);
	}
	atomic_store(&at->since, 0);
	return NULL;
}

static void on_signal(int signal)
{
}

/* Bursts of nonsense with pauses, so that something valid happens as well. */
static void scribble_burst(struct rng *r)
{
	unsigned int n = below(r, 4) ? 0 : below(r, 200);

	while (n--) {
		scribble(r);
		atomic_fetch_add(&shared->done[K_SCRIBBLE], 1);
	}
}

/* Nobody sleeps for ever, whatever was written over what would wake him. */
static void disturb(struct rng *r)
{
	struct at *at = at_of(below(r, options.threads));
	int tid = atomic_load(&at->tid);

	if (tid)
		syscall(SYS_tgkill, getpid(), tid, SIGUSR1);
}

static void scribbler(struct rng *r, pthread_t *threads)
{
	unsigned int running = options.threads, i;
	bool joined[MAX_THREADS] = { false };

	while (running) {
		scribble_burst(r);
		held_step(r);
		disturb(r);
		while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
			;
		sleep_ns(200000 + below(r, 3000000));
		for (i = 0; i < options.threads; i++) {
			if (joined[i] || pthread_tryjoin_np(threads[i], NULL))
				continue;
			joined[i] = true;
			running--;
		}
	}
}

/* What must not be closed lies below FIRST_FD, and nothing else does. */
static void fill_low_numbers(void)
{
	struct rlimit limit = { FIRST_FD + NR_FDS, FIRST_FD + NR_FDS };
	int fd;

	check(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd < FIRST_FD);
}

static void set_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t set;

	/* no SA_RESTART: it is there to interrupt */
	sigaction(SIGUSR1, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGIO, SIG_IGN);
	signal(SIGURG, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/*
 * Lives until all operations are done, or the supervisor kills it.  A child that
 * shares its memory or its files may outlive it.
 */
void fuzz_process(unsigned int slot, uint64_t generation)
{
	struct rng r = rng_of(options.seed, slot, generation, MAX_THREADS);
	pthread_t threads[MAX_THREADS];
	unsigned int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	my_slot = slot;
	my_generation = generation;
	set_signals();
	arena_make();
	fill_low_numbers();
	device_make(&r);
	for (i = 0; i < options.threads; i++) {
		atomic_store(&at_of(i)->tid, 0);
		check(pthread_create(&threads[i], NULL, fuzz_main,
				     (void *)(uintptr_t)i) == 0);
	}
	scribbler(&r, threads);
	_exit(0);
}
