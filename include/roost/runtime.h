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

/**
 * struct roost_config - knobs of a runtime; zero means the default
 * @workers:	exact number of workers, 1 to 256.  Default: the CPUs that this
 *		process may run on.
 * @max_actors:	slots, so actors that may live at once.  Default 16,384.
 * @stack_size:	bytes of stack an actor, rounded up to pages.  Default 64 KiB,
 *		at least 16 KiB.  Beyond it lies a page that cannot be touched:
 *		a stack that overflows ends the process with SIGSEGV.
 * @stack_pool:	free stacks kept ready.  Default 4 a worker.
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
 * @reserved:	must be zero
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
	unsigned int reserved[5];
};

#define ROOST_NO_STANDBYS	(~0U)

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
 * runtime of its own), but not from an actor (-EDEADLK).
 *
 * Return: 0; -EINVAL for a knob out of range (a line on standard error names
 * it); -ENOMEM; -EAGAIN if not even one worker could start; -ENODEV if the
 * kernel backend was asked for and /dev/roost does not open.
 */
int roost_run(const struct roost_config *config, roost_fn root, void *arg);

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
 * @busy_ns:	CPU time of the runtime's threads
 * @idle_mask:	workers idle now
 * @reserved:	zero
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
	uint64_t reserved[4];
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
