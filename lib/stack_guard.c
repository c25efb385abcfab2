// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* stack_guard.c - how a stack becomes accessible and the page below it does not. */
#define _GNU_SOURCE
#include "stack_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compiler.h"
#include "valgrind.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL	102
#endif

#ifndef PR_SET_VMA
#define PR_SET_VMA		0x53564d41
#define PR_SET_VMA_ANON_NAME	0
#endif

/* A limit on writable memory (RLIMIT_DATA) counts what is not used yet as well. */
#define STEP_STACKS	32U
#define STEP_BYTES	((size_t)4 << 20)

bool stack_guard_no_markers;

/*
 * An emulator may let pass what it does not know.  The kernel says whether it is so
 * without a fault: it is asked to write a signal mask there.
 */
static bool is_guarded(void *p)
{
	return syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, p, 8) &&
	       errno == EFAULT;
}

static bool try_marker(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	bool works;
	void *p;

	/* It does not know of them, and touches itself what a call is told to. */
	if (valgrind_there)
		return false;
	p = mmap(NULL, page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	works = !madvise(p, page, MADV_GUARD_INSTALL) && is_guarded(p);
	munmap(p, page);
	return works;
}

static bool have_markers(void)
{
	enum { UNKNOWN, YES, NO };
	static _Atomic int known;
	int answer = atomic_load_explicit(&known, memory_order_relaxed);

	if (stack_guard_no_markers)
		return false;
	/* Whoever asks at the same time comes to the same. */
	if (answer == UNKNOWN) {
		answer = try_marker() ? YES : NO;
		atomic_store_explicit(&known, answer, memory_order_relaxed);
	}
	return answer == YES;
}

/* A mapping that merges with no other: shared memory, which has a file of its own. */
static void keep_spare(struct stack_guard *g)
{
	void *none = NULL, *p;

	if (atomic_load_explicit(&g->spare, memory_order_relaxed))
		return;
	p = mmap(NULL, g->page, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED &&
	    !atomic_compare_exchange_strong_explicit(&g->spare, &none, p,
						     memory_order_relaxed,
						     memory_order_relaxed))
		munmap(p, g->page);
}

/* Return: true if there was one. */
static bool give_spare_up(struct stack_guard *g)
{
	void *p = atomic_exchange_explicit(&g->spare, NULL, memory_order_relaxed);

	return p && !munmap(p, g->page);
}

int stack_guard_init(struct stack_guard *g, size_t stride)
{
	size_t stacks = STEP_BYTES / stride;

	g->steps = NULL;
	atomic_init(&g->spare, NULL);
	if (!have_markers()) {
		keep_spare(g);
		return 0;
	}
	if (stacks > STEP_STACKS)
		stacks = STEP_STACKS;
	g->step = stride * (stacks ? stacks : 1);
	g->steps = calloc((size_t)(g->end - g->base) / g->step + 1,
			  sizeof(*g->steps));
	if (!g->steps)
		return -ENOMEM;
	pthread_mutex_init(&g->lock, NULL);
	return 0;
}

void stack_guard_fini(struct stack_guard *g)
{
	give_spare_up(g);
	if (!g->steps)
		return;
	pthread_mutex_destroy(&g->lock);
	free(g->steps);
}

static int allow(char *from, const char *to)
{
	return mprotect(from, (size_t)(to - from), PROT_READ | PROT_WRITE) ?
		       -ENOMEM : 0;
}

/* Lock held.  Not after any of its guards was made: this might unmake it. */
static enum stack_step open_step(struct stack_guard *g, size_t i)
{
	char *from = g->base + i * g->step;
	char *to = g->end - from > (ptrdiff_t)g->step ? from + g->step : g->end;

	return allow(from, to) ? STACK_STEP_SINGLY : STACK_STEP_OPEN;
}

static enum stack_step step_of(struct stack_guard *g, const char *low)
{
	size_t i = (size_t)(low - g->base) / g->step;
	enum stack_step step;

	/* Acquire: what the kernel has done before; pairs with the release below. */
	step = (enum stack_step)atomic_load_explicit(&g->steps[i],
						     memory_order_acquire);
	if (likely(step != STACK_STEP_CLOSED))
		return step;
	pthread_mutex_lock(&g->lock);
	step = (enum stack_step)atomic_load_explicit(&g->steps[i],
						     memory_order_relaxed);
	if (step == STACK_STEP_CLOSED) {
		step = open_step(g, i);
		atomic_store_explicit(&g->steps[i], (unsigned char)step,
				      memory_order_release);
	}
	pthread_mutex_unlock(&g->lock);
	return step;
}

static int open_with_marker(struct stack_guard *g, char *low, size_t size)
{
	if (step_of(g, low) == STACK_STEP_SINGLY &&
	    allow(low - g->page, low + size))
		return -ENOMEM;
	if (!madvise(low - g->page, g->page, MADV_GUARD_INSTALL))
		return 0;
	/* Locked memory (mlockall) can have no markers. */
	if (errno == EINVAL && !mprotect(low - g->page, g->page, PROT_NONE))
		return 0;
	return -ENOMEM;
}

/* With the page below it is one mapping with the stack below that. */
static int open_alone(struct stack_guard *g, char *low, size_t size)
{
	int err = allow(low, low + size);

	if (err && g->unguarded)
		err = allow(low - g->page, low + size);
	return err;
}

int stack_guard_open(struct stack_guard *g, char *low, size_t size)
{
	return g->steps ? open_with_marker(g, low, size) :
			 open_alone(g, low, size);
}

void stack_guard_mark(void *p, size_t bytes)
{
	/* A page is what most stacks need; a huge one would be for hundreds of them. */
	madvise(p, bytes, MADV_NOHUGEPAGE);
	/* A name in /proc/PID/maps, where the kernel can do that. */
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, p, bytes, "roost stacks");
}

static bool reserve_anew(void *p, size_t bytes)
{
	return mmap(p, bytes, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
		    0) != MAP_FAILED;
}

/*
 * Reserved anew: had they only lost their access, each would stay a mapping, since
 * those that had pages of their own do not merge.  Nothing is split, as each ends
 * where a stack does.
 *
 * mmap(2) lets a process have one mapping more than vm.max_map_count, and then lets it
 * map nothing at all, not even in place of what is there.  With the spare one gone it is
 * back at the limit, and those that are closed make room for another.
 */
bool stack_guard_close(struct stack_guard *g, char *from, const char *to)
{
	size_t bytes = (size_t)(to - from);

	if (g->steps || g->unguarded)
		return false;
	if (!reserve_anew(from, bytes) &&
	    !(give_spare_up(g) && reserve_anew(from, bytes)))
		return false;
	stack_guard_mark(from, bytes);
	keep_spare(g);
	return true;
}
