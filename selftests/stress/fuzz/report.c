// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* report.c - counts what was done, and prints it. */
#include "fuzz.h"

static const char *const kind_names[NR_KINDS] = {
	[K_DOMAIN] = "domain", [K_WORKER] = "worker", [K_ATTACH] = "attach",
	[K_DETACH] = "detach", [K_ENTER] = "enter", [K_PARK] = "park",
	[K_WAKE] = "wake", [K_STAT] = "stat", [K_ODD] = "odd ioctl",
	[K_CLOSE] = "close", [K_MAP] = "map", [K_SCRIBBLE] = "scribble",
	[K_FILE] = "make file", [K_DUP] = "dup", [K_POKE] = "use file",
	[K_PASS] = "pass fd", [K_EPOLL] = "epoll", [K_FORK] = "fork",
	[K_EXEC] = "exec", [K_CLONE] = "clone",
};

static const char *const op_names[ROOST_OP_NR + 1] = {
	"nop", "skip", "timer_set", "timer_cancel", "poll_add", "poll_remove",
	"wake", "recv", "send", "recvmsg", "sendmsg", "read", "write",
	"send_recv", "cancel", "file_remove", "unknown",
};

/* One thing done with result @ret, a count or -errno, which is returned. */
int counted(enum kind kind, int ret)
{
	atomic_fetch_add(&shared->done[kind], 1);
	if (ret < 0) {
		atomic_fetch_add(&shared->failed[kind], 1);
		if (ret > -MAX_ERRNO)
			atomic_fetch_add(&shared->errnos[-ret], 1);
	}
	return ret;
}

void raise_to(_Atomic uint64_t *max, uint64_t value)
{
	uint64_t old = atomic_load(max);

	while (old < value && !atomic_compare_exchange_weak(max, &old, value))
		;
}

/*
 * What the calling thread has used of a CPU, in ns.  Not how long it slept or waited
 * for a CPU; but whatever interrupted it, and in a VM also what the machine below
 * did meanwhile, so that what is said to be short has been.
 */
uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * SEC + (uint64_t)ts.tv_nsec;
}

/* Count a call that took @ns. */
void spend(struct spent *spent, uint64_t ns)
{
	atomic_fetch_add(&spent->calls, 1);
	if (ns > LONG_CALL)
		atomic_fetch_add(&spent->over, 1);
	raise_to(&spent->longest, ns);
}

/* Columns: how often, refused, more than 100 ms of CPU time, and the longest, in us. */
static void print_kinds(void)
{
	unsigned long long done = 0, over = 0;
	unsigned int i;

	printf("# %-12s %10s %10s %10s %10s\n", "kind", "done", "failed",
	       "over100ms", "longest");
	for (i = 0; i < NR_KINDS; i++) {
		struct spent *cpu = &shared->cpu[i];

		printf("# %-12s %10llu %10llu %10llu %10llu\n", kind_names[i],
		       (unsigned long long)shared->done[i],
		       (unsigned long long)shared->failed[i],
		       (unsigned long long)cpu->over,
		       (unsigned long long)cpu->longest / 1000);
		done += shared->done[i];
		over += cpu->over;
	}
	printf("# %-12s %10llu %10s %10llu\n", "all", done, "", over);
	printf("# operations without the scribbling: %llu\n",
	       done - shared->done[K_SCRIBBLE]);
}

/* Of the clean domain. */
static void print_spent(const char *what, const struct spent *spent)
{
	printf("# %s: %llu, over 100 ms %llu, longest %llu us\n", what,
	       (unsigned long long)spent->calls,
	       (unsigned long long)spent->over,
	       (unsigned long long)spent->longest / 1000);
}

/* So many pairs a line. */
static void print_pair(const char *name, uint64_t n, unsigned int *column)
{
	if (!n)
		return;
	printf("%s%s %llu", *column % 6 ? ", " : *column ? "\n#   " : "#   ",
	       name, (unsigned long long)n);
	++*column;
}

void print_figures(void)
{
	struct clean_figures *c = &shared->clean;
	unsigned int i, column = 0;

	print_kinds();
	printf("# entries published:\n");
	for (i = 0; i <= ROOST_OP_NR; i++)
		print_pair(op_names[i], shared->entries[i], &column);
	printf("\n# completions drained: %llu\n# errors:\n",
	       (unsigned long long)shared->drained);
	for (i = column = 0; i < MAX_ERRNO; i++)
		print_pair(strerrorname_np((int)i) ?: "?", shared->errnos[i],
			   &column);
	printf("\n# accesses that faulted: %llu\n",
	       (unsigned long long)shared->faults);
	printf("# clean domain: %llu timers, %llu polls, %llu multishot, %llu echoes\n",
	       (unsigned long long)c->timers, (unsigned long long)c->polls,
	       (unsigned long long)c->multis, (unsigned long long)c->echoes);
	print_spent("its calls that do not park, by the clock", &c->clock);
	print_spent("all its calls, CPU time", &c->cpu);
	printf("# longest park late %llu us, timer late %llu us\n",
	       (unsigned long long)c->longest_park / 1000,
	       (unsigned long long)c->latest_timer / 1000);
}
