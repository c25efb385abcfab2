/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * stack_guard.h - how a stack becomes accessible and the page below it does not.
 *
 * Where the kernel has MADV_GUARD_INSTALL (Linux 6.13), many stacks at a time become
 * accessible with the pages between them, which then is one mapping for all that do,
 * and a marker in the page table makes the page below a stack a guard.  So
 * vm.max_map_count is no limit.
 *
 * Elsewhere each stack becomes accessible by itself, and the page below stays as it
 * was reserved: two mappings a stack.
 */
#ifndef ROOST_LIB_STACK_GUARD_H
#define ROOST_LIB_STACK_GUARD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Of the stacks that become accessible together with markers. */
enum stack_step {
	STACK_STEP_CLOSED,
	STACK_STEP_OPEN,	/* all of them are */
	STACK_STEP_SINGLY,	/* each by itself, since a limit was met */
};

/**
 * struct stack_guard - for one chunk
 * @lock:	held by who opens a step; with markers
 * @steps:	enum stack_step of each; NULL without markers.  Written under @lock
 * @base:	the first guard page; constant, as is all below
 * @end:	where the last one begins
 * @page:	page size
 * @step:	bytes that become accessible at once with markers
 * @unguarded:	do without guard pages where they would be a mapping too many
 * @spare:	without markers: a mapping to be given up when there is one too many,
 *		or NULL; see stack_guard_close()
 */
struct stack_guard {
	pthread_mutex_t lock;
	_Atomic unsigned char *steps;
	char *base;
	char *end;
	size_t page;
	size_t step;
	bool unguarded;
	_Atomic(void *) spare;
};

/* For tests: as if the kernel had no MADV_GUARD_INSTALL. */
extern bool stack_guard_no_markers;

/**
 * stack_guard_init() - for a chunk that was just reserved
 * @g:		@base, @end, @page and @unguarded are set
 * @stride:	bytes from one stack to the next
 *
 * Return: 0 or -ENOMEM.
 */
int stack_guard_init(struct stack_guard *g, size_t stride);
void stack_guard_fini(struct stack_guard *g);

/**
 * stack_guard_open() - make a stack accessible, and guard it
 * @g:		its chunk's
 * @low:	the stack, above its guard page; nobody else opens it
 * @size:	bytes
 *
 * Safe against others that open theirs.  Return: 0 or -ENOMEM.
 */
int stack_guard_open(struct stack_guard *g, char *low, size_t size);

/** stack_guard_mark() - what all mappings of stacks are to be, so that they merge */
void stack_guard_mark(void *p, size_t bytes);

/**
 * stack_guard_close() - stacks that nobody uses need not be mappings of their own
 * @g:		their chunk's
 * @from:	the first of them
 * @to:		the end of the last; all between is theirs
 *
 * Return: true if they have no pages any more, and have to be opened again before they
 * are used; false if nothing was done.
 */
bool stack_guard_close(struct stack_guard *g, char *from, const char *to);

#endif /* ROOST_LIB_STACK_GUARD_H */
