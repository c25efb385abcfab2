/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * fuzz.h - what the parts of fuzz_test share.
 *
 * One program, many processes: the first one supervises; some fuzz, and are
 * killed and begun anew; one keeps a clean domain at work beside them.  What
 * they tell one another lies in struct shared.
 */
#ifndef ROOST_FUZZ_H
#define ROOST_FUZZ_H

#include <stdatomic.h>

#include "../../uapi/io_help.h"

#define MAX_PROCS	16
#define MAX_THREADS	16
#define MAX_ERRNO	200

/* Longer than this nothing takes, unless it hangs. */
#define HANG_LIMIT	(300 * SEC)

/* Descriptors from here on, and so many, are anybody's to close and replace. */
#define FIRST_FD	64
#define NR_FDS		128

/* What was done, by kind; names in report.c. */
enum kind {
	K_DOMAIN, K_WORKER, K_ATTACH, K_DETACH, K_ENTER, K_PARK, K_WAKE,
	K_STAT, K_ODD, K_CLOSE, K_MAP, K_SCRIBBLE, K_FILE, K_DUP, K_POKE,
	K_PASS, K_EPOLL, K_FORK, K_EXEC, K_CLONE, NR_KINDS
};

/* What a thread is at; for who has to find out why it hangs. */
struct at {
	_Atomic uint64_t since;
	_Atomic uint32_t kind;
	_Atomic int tid;
};

/* What a call should not take. */
#define LONG_CALL	(100 * MSEC)

/* What calls took. */
struct spent {
	_Atomic uint64_t calls, over;	/* all; those of more than LONG_CALL */
	_Atomic uint64_t longest;
};

/* Figures of the clean domain; one writer each but for the maxima. */
struct clean_figures {
	_Atomic uint64_t timers, polls, multis, echoes;
	/* calls: by the clock only those that do not park */
	struct spent clock, cpu;
	_Atomic uint64_t longest_park;	/* beyond its deadline */
	_Atomic uint64_t latest_timer;
	_Atomic uint64_t early, doubled, stray, bad, lost;
};

/* Mapped by all. */
struct shared {
	_Atomic bool stop;
	_Atomic uint64_t ops_left;	/* of the fuzzing; ends at 0 */
	_Atomic uint64_t done[NR_KINDS], failed[NR_KINDS];
	struct spent cpu[NR_KINDS];
	_Atomic uint64_t errnos[MAX_ERRNO];
	_Atomic uint64_t entries[ROOST_OP_NR + 1];
	_Atomic uint64_t drained, faults;
	struct at at[MAX_PROCS][MAX_THREADS];
	struct clean_figures clean;
};

struct options {
	uint64_t seed, ops, seconds;
	unsigned int procs, threads;
	bool fail;
};

extern struct shared *shared;
extern struct options options;
/* Where descriptors are left for whoever takes them, in any process. */
extern int post_office[4][2];

/* A thread's own course. */
struct rng {
	uint64_t state;
};

static inline uint64_t rnd(struct rng *r)
{
	return random_next(&r->state);
}

static inline uint32_t below(struct rng *r, uint32_t n)
{
	return (uint32_t)(rnd(r) >> 33) % n;
}

/* True once in @n. */
static inline bool one_in(struct rng *r, uint32_t n)
{
	return !below(r, n);
}

struct rng rng_of(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);

/* report.c */
int counted(enum kind kind, int ret);
void print_figures(void);
void raise_to(_Atomic uint64_t *max, uint64_t value);
uint64_t cpu_ns(void);
void spend(struct spent *spent, uint64_t ns);

/* arena.c: memory that may be written to by anybody, in windows */
#define WINDOWS		24
#define WINDOW_SIZE	(8UL << 20)
#define BUFFERS		4
#define BUFFER_SIZE	(1UL << 20)

void arena_make(void);
void *arena_buffer(struct rng *r);
uint64_t hostile_address(struct rng *r);
uint64_t any_address(struct rng *r);
bool arena_map(struct rng *r, unsigned int window, int fd, size_t size,
	       uint64_t offset);
void arena_change(struct rng *r);
void scribble(struct rng *r);
void held_step(struct rng *r);
char *window_base(unsigned int window);
uint32_t peek32(const void *p);
bool poke32(void *p, uint32_t value);
bool poke_bytes(void *p, const void *from, size_t size);

/* files.c */
int any_fd(struct rng *r);
int make_file(struct rng *r);
int poke_file(struct rng *r);
int dup_file(struct rng *r);
int close_file(struct rng *r);
int play_epoll(struct rng *r);
int pass_fd(struct rng *r);

/* entry.c */
struct roost_sqe random_entry(struct rng *r);

/* device.c */
void device_make(struct rng *r);
bool is_roost_fd(int fd);
int do_domain(struct rng *r);
int do_worker(struct rng *r);
int do_attach(struct rng *r);
int do_detach(struct rng *r);
int do_enter(struct rng *r);
int do_park(struct rng *r);
int do_wake(struct rng *r);
int do_stat(struct rng *r);
int do_odd(struct rng *r);
int do_close(struct rng *r);
int do_map(struct rng *r);
int any_domain_fd(struct rng *r);
int any_roost_fd(struct rng *r);

/* child.c */
int do_fork(struct rng *r);
int do_exec(struct rng *r);
int do_clone(struct rng *r);

/* process.c: never return */
void fuzz_process(unsigned int slot, uint64_t generation);

/* clean.c */
void clean_process(void);

/* fault.c */
bool faults_begin(uint64_t *mask);
void faults_end(void);
void faults_here(void);

#endif /* ROOST_FUZZ_H */
