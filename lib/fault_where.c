// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * fault_where.c - is an instruction the C library's, or the actor's?
 *
 * Who is interrupted in there may hold a lock, or have a list half changed.  A program
 * that is linked statically has it among its own instructions, and nothing is known.
 */
#define _GNU_SOURCE
#include "fault_where.h"

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "compiler.h"

#define MAX_RANGES	32U

struct range {
	uintptr_t from;
	uintptr_t to;
};

/* Only appended to: a handler may be looking.  Under @lock. */
static struct range ranges[MAX_RANGES];
static _Atomic unsigned int nr_ranges;
static _Atomic bool have_libc;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *const delicate[] = {
	"ld-", "ld.so", "ld64.", "libpthread", "linux-vdso", "libstdc++", "libc++",
	"libgcc_s", "libunwind",
};

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static bool is_libc_name(const char *name)
{
	return begins(name, "libc.so") || begins(name, "libc-") ||
	       begins(name, "ld-musl");
}

static bool has_address(const struct dl_phdr_info *o, uintptr_t address)
{
	size_t i;

	for (i = 0; i < o->dlpi_phnum; i++)
		if (o->dlpi_phdr[i].p_type == PT_LOAD &&
		    address - o->dlpi_addr - o->dlpi_phdr[i].p_vaddr <
			    o->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

static bool is_delicate(const struct dl_phdr_info *o, const char *name)
{
	/* Volatile: what it is at run time, perhaps not the C library's. */
	void *(*volatile const allocate)(size_t size) = malloc;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(delicate); i++)
		if (begins(name, delicate[i]))
			return true;
	return is_libc_name(name) || has_address(o, (uintptr_t)allocate);
}

/* Lock held. */
static void add(uintptr_t from, uintptr_t to)
{
	unsigned int n = atomic_load_explicit(&nr_ranges, memory_order_relaxed);
	unsigned int i;

	for (i = 0; i < n; i++)
		if (ranges[i].from == from && ranges[i].to == to)
			return;
	if (n == MAX_RANGES)
		return;
	ranges[n] = (struct range){ from, to };
	/* Release: the range; pairs with fault_where_is_libc(). */
	atomic_store_explicit(&nr_ranges, n + 1, memory_order_release);
}

static int look_at(struct dl_phdr_info *o, size_t size, void *first)
{
	const char *name = last_part(o->dlpi_name);
	const ElfW(Phdr) *p;
	size_t i;

	(void)size;
	/* The program itself is the first. */
	if (*(bool *)first || !is_delicate(o, name)) {
		*(bool *)first = false;
		return 0;
	}
	if (is_libc_name(name))
		atomic_store_explicit(&have_libc, true, memory_order_relaxed);
	for (i = 0; i < o->dlpi_phnum; i++) {
		p = &o->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && p->p_flags & PF_X)
			add(o->dlpi_addr + p->p_vaddr,
			    o->dlpi_addr + p->p_vaddr + p->p_memsz);
	}
	return 0;
}

void fault_where_lock(void)
{
	pthread_mutex_lock(&lock);
}

void fault_where_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void fault_where_learn(void)
{
	bool first = true;

	pthread_mutex_lock(&lock);
	dl_iterate_phdr(look_at, &first);
	pthread_mutex_unlock(&lock);
}

bool fault_where_known(void)
{
	return atomic_load_explicit(&have_libc, memory_order_relaxed);
}

bool fault_where_is_libc(uintptr_t pc)
{
	unsigned int n = atomic_load_explicit(&nr_ranges, memory_order_acquire);
	unsigned int i;

	for (i = 0; i < n; i++)
		if (pc >= ranges[i].from && pc < ranges[i].to)
			return true;
	return false;
}
