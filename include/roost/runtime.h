/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* roost/runtime.h - configure a runtime, run it, look at its counters. */
#ifndef ROOST_RUNTIME_H
#define ROOST_RUNTIME_H

#include <roost/types.h>

ROOST_BEGIN_DECLS

/* Which half does the sleeping, waking, timing and watching of files. */
enum roost_backend {
	ROOST_BACKEND_AUTO,	/* kernel if /dev/roost opens, else futex */
	ROOST_BACKEND_KERNEL,	/* the roost module */
	ROOST_BACKEND_FUTEX,	/* futexes and epoll: works anywhere */
};

/*
 * What SIGSEGV, SIGBUS, SIGFPE and SIGILL do if an actor's own instruction is the cause,
 * outside of this library and of the C library.
 */
enum roost_faults {
	ROOST_FAULTS_END_ACTOR,	/* the actor ends, see struct roost_outcome */
	ROOST_FAULTS_OVERFLOW,	/* ... if its stack has overflowed; else as next */
	ROOST_FAULTS_FATAL,	/* a line names the actor, then as without roost */
	ROOST_FAULTS_IGNORE,	/* no handler is installed */
};

/*
 * How actors that are ready wait for a worker: Documentation/scheduling.rst.  With
 * one worker alone they are all the same.
 */
enum roost_runq {
	ROOST_RUNQ_DEFAULT,	/* as the library was built */
	ROOST_RUNQ_MUTEX,	/* one list under one lock */
	ROOST_RUNQ_MPMC,	/* one ring without a lock */
	ROOST_RUNQ_STRIPED,	/* a list for each worker, each under a lock */
	ROOST_RUNQ_STEAL,	/* a ring for each worker, who steals from others */
};

/*
 * Does an actor that was woken by another run next on that one's worker?
 * Documentation/scheduling.rst.
 */
enum roost_wake_slot {
	ROOST_WAKE_SLOT_DEFAULT,
	ROOST_WAKE_SLOT_ON,
	ROOST_WAKE_SLOT_OFF,
};

/**
 * struct roost_config - knobs of a runtime; zero means the default
 * @workers:	exact number of workers, 1 to 256.  Default: the CPUs that this
 *		process may use, by its affinity and by the quotas of its control
 *		groups, rounded up; within @min_workers and @max_workers.
 * @max_actors:	slots, so actors that may live at once.  Default 16,384.
 * @stack_size:	bytes of stack an actor, rounded up to pages.  Default 64 KiB,
 *		16 KiB to 1 GiB.  Beyond it lies a page that cannot be touched: an
 *		actor that does has crashed, see @faults.  More of this, and of the
 *		other three knobs, is in Documentation/stacks.rst.
 * @stack_pool:	free stacks of one size kept ready.  Default 4 a worker, at most
 *		16,777,216.
 * @max_fds:	file descriptors that actors may wait on are below this.
 *		Default: RLIMIT_NOFILE at start, at most 1,048,576.
 * @tick_ns:	tick of the timing wheel in ns, rounded to a power of two.
 *		Default 65,536.
 * @slack_ns:	so much later than its tick may a deadline be noticed when all
 *		workers sleep, so that several share one wake-up; never early.
 *		At most a second.  Default 0.
 * @backend:	see enum roost_backend.  The environment variable ROOST_BACKEND
 *		("kernel", "futex", "auto") overrides ROOST_BACKEND_AUTO.
 * @standbys:	threads that may be started besides one for each worker, so that
 *		others run while an actor is blocked outside of this library: in
 *		read(2), a page fault, for a mutex.  One is started at once, more
 *		as they are needed.  They serve with the kernel backend only,
 *		where the module does that (parameter carriers=1).  At most
 *		65,536.  Default 64; ROOST_NO_STANDBYS: none, whoever blocks keeps
 *		the worker.
 * @stack_chunk: MiB of address space that stacks are cut from at a time.  Default
 *		512, at most 65,536.
 * @stack_flags: ROOST_STACK_UNGUARDED, ROOST_STACK_MEASURED, or both
 * @faults:	see enum roost_faults and Documentation/faults.rst
 * @runq:	see enum roost_runq.  The environment variable ROOST_RUNQ ("mutex",
 *		"mpmc", "striped", "steal") overrides ROOST_RUNQ_DEFAULT.
 * @wake_slot:	see enum roost_wake_slot.  The environment variable ROOST_WAKE_SLOT
 *		("on", "off") overrides ROOST_WAKE_SLOT_DEFAULT, which is on with more
 *		than one worker.
 * @timeslice:	cycles of the CPU's counter for which an actor, and those that it
 *		wakes and that run next, have a worker while others are ready.
 *		Default 300,000; on aarch64, whose counter is slower, as many as are
 *		100 us.
 * @check_every: safepoints (see roost_check()) for which the counter is not read.
 *		Default 128.
 * @min_workers: the least that the default for @workers comes to.  Default 1.  With
 *		@workers this and the next must be 0.
 * @max_workers: the most.  Default 256.
 * @account:	ROOST_ACCOUNT_CYCLES or 0
 * @trace_events: not 0: events are recorded from the beginning, and the ring of each
 *		worker has so many, rounded up to a power of two.  At most 16,777,216.
 *		See roost/trace.h.  The environment variable ROOST_TRACE names a file that
 *		all is written to at the end of each run, in place of the run before, and
 *		makes 16,384 of a 0.
 * @reserved:	must be zero; what new members are taken from, so that the size and all
 *		offsets stay as they are
 */
struct roost_config {
	unsigned int workers;
	unsigned int max_actors;
	size_t stack_size;
	unsigned int stack_pool;
	unsigned int max_fds;
	uint64_t tick_ns;
	uint64_t slack_ns;
	enum roost_backend backend;
	unsigned int standbys;
	unsigned int stack_chunk;
	unsigned int stack_flags;
	enum roost_faults faults;
	enum roost_runq runq;
	enum roost_wake_slot wake_slot;
	unsigned int timeslice;
	unsigned int check_every;
	unsigned int min_workers;
	unsigned int max_workers;
	unsigned int account;
	unsigned int trace_events;
	unsigned int reserved[9];
};

#define ROOST_NO_STANDBYS	(~0U)

/*
 * Where vm.max_map_count is reached: go on without guard pages rather than refuse to
 * spawn, until the chunk is used up.  What then overflows writes to another's stack.
 */
#define ROOST_STACK_UNGUARDED	1U

/*
 * Stacks come without what former actors have left, so that roost_stack_used() is
 * exact, and the most of all is in struct roost_stats.  It costs a system call each
 * time that an actor ends, and its pages.
 */
#define ROOST_STACK_MEASURED	2U

/*
 * Count the cycles that each actor uses, for roost_actors().  The CPU's counter is read
 * twice each time that an actor is resumed, and eight bytes are needed for each.
 */
#define ROOST_ACCOUNT_CYCLES	1U

/**
 * roost_run() - run a runtime until its last actor has ended
 * @config:	knobs, or NULL for the defaults
 * @root:	what the first actor runs
 * @arg:	handed to @root
 *
 * The calling thread becomes worker 0; the others are started and joined by
 * this call.  When the root actor has ended and what remains is parked with
 * nothing that could ever wake it, the remainder is stopped.  Can be called
 * again when it has returned, and by several threads at once (each call is a
 * runtime of its own), but not from an actor (-EDEADLK).  So it can be by the child of
 * a thread that is no actor, whatever its parent's runtimes were at.
 *
 * Return: 0; -EINVAL for a knob out of range (a line on standard error names
 * it); -ENOMEM; -EAGAIN if not even one worker could start; -ENODEV if the
 * kernel backend was asked for and /dev/roost does not open.
 */
int roost_run(const struct roost_config *config, roost_fn root, void *arg);

/**
 * roost_workers() - how many workers a run would have
 * @config:	knobs, or NULL for the defaults
 *
 * As things are now: affinity and quotas may be others when roost_run() is called, and
 * if threads cannot be started there are fewer.  Callable anywhere but in signal handlers;
 * it takes some 12 KiB of the caller's stack.
 *
 * Return: how many; -EINVAL for a knob out of range, as for roost_run().
 */
int roost_workers(const struct roost_config *config);

/**
 * struct roost_stats - counters of the runtime of the calling actor
 * @backend:	"kernel" or "futex"
 * @workers:	that run
 * @live:	actors that have not ended
 * @spawned:	actors started
 * @resumes:	switches into an actor
 * @parks:	times a worker went to sleep
 * @parks_refused: times it found a reason not to
 * @wakes_sent:	wakes of idle workers; two that meet in one park may be one
 * @wakes_received: parks ended by such a wake
 * @wake_calls:	wakes that took a system call
 * @enters:	system calls that hand over a batch, sleep, or both
 * @timers_armed: deadlines handed over to a wheel
 * @timers_fired: expiries that ended a wait
 * @fd_arms:	registrations of files
 * @fd_events:	deliveries to files
 * @ring_ios:	sends and receives made as operations in the ring
 * @takeovers:	workers given to another thread because an actor was blocked
 * @displaced:	such actors that have come back, and went on elsewhere
 * @starved:	times that no thread stood by to be given one
 * @slot_hits:	actors that ran next because an actor had woken them: the wake slot
 * @slot_displaced: actors that were queued since another was woken after them
 * @overruns:	times that an actor had to give way at a safepoint
 * @busy_ns:	CPU time of the runtime's threads
 * @idle_mask:	workers idle now
 * @crashed:	actors that have ended by a fault
 * @stack_high:	with ROOST_STACK_MEASURED: the most stack, in bytes, that one of the
 *		actors that have ended had used
 * @reserved:	zero; as in struct roost_config
 *
 * Counters sum over the workers since the start of the run; they are read
 * without stopping anything, so they are a snapshot only when all is quiet.
 */
struct roost_stats {
	const char *backend;
	unsigned int workers;
	unsigned int live;
	uint64_t spawned;
	uint64_t resumes;
	uint64_t parks;
	uint64_t parks_refused;
	uint64_t wakes_sent;
	uint64_t wakes_received;
	uint64_t wake_calls;
	uint64_t enters;
	uint64_t timers_armed;
	uint64_t timers_fired;
	uint64_t fd_arms;
	uint64_t fd_events;
	uint64_t busy_ns;
	uint64_t idle_mask[4];
	uint64_t ring_ios;
	uint64_t takeovers;
	uint64_t displaced;
	uint64_t starved;
	uint64_t stack_high;
	uint64_t crashed;
	uint64_t slot_hits;
	uint64_t slot_displaced;
	uint64_t overruns;
	uint64_t reserved[20];
};

/**
 * roost_stats() - read the counters
 * @stats:	filled in
 *
 * Return: 0, or -EPERM outside of an actor.
 */
int roost_stats(struct roost_stats *stats);

ROOST_END_DECLS

#endif /* ROOST_RUNTIME_H */
