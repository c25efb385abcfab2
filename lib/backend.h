/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * backend.h - what sleeps, wakes, keeps time and watches files.
 *
 * Two implementations, one contract; the code above does not know which one
 * runs.  The idle mask and the event counter are a struct roost_control in
 * both (rt->control): mapped from the module, or plain memory.
 *
 * Going idle (worker.c), rules P1 to P3: sample the event counter; set the own
 * idle bit with a full barrier; look again at everything; clear the bit if
 * something was found, else park(sample).  park() returns with the bit clear.
 *
 * Waking one (worker.c): publish the work; full barrier; read the mask
 * relaxed; choose; clear the bit; if this call found it set: wake(target).
 */
#ifndef ROOST_LIB_BACKEND_H
#define ROOST_LIB_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include <stddef.h>
#include <sys/types.h>

#include <linux/roost.h>

struct carrier;
struct fd;
struct roost_stats;
struct runtime;
struct worker;
struct wtimer;

#define IO_MAX_BYTES	0x7ffff000U

/* With the kernel's numbers, so that nobody has to translate. */
enum io_kind {
	IO_RECV = ROOST_OP_RECV,
	IO_SEND = ROOST_OP_SEND,
	IO_SEND_RECV = ROOST_OP_SEND_RECV,	/* send all, then receive */
};

/**
 * struct io_op - one operation of an actor on a socket
 * @kind:	which
 * @fd:		the descriptor number
 * @file:	which file of that number: fd_ring_file()
 * @flags:	MSG_* bits, of the sending for IO_SEND_RECV
 * @buf:	what to send; where to receive, for IO_RECV
 * @len:	bytes there
 * @in:		where to receive, for IO_SEND_RECV; else NULL
 * @in_len:	room there; else 0
 * @deadline:	absolute; in the past: it is tried once, or not at all
 *
 * Lengths are at most IO_MAX_BYTES, which is what one call moves.
 *
 * @ended:	out: the actor gave it up, for the deadline or a stop
 * @sending:	out, for IO_SEND_RECV: the result is that of the sending, not all
 *		was sent and nothing was received
 */
struct io_op {
	enum io_kind kind;
	int fd;
	uint32_t file;
	int flags;
	const void *buf;
	void *in;
	uint32_t len;
	uint32_t in_len;
	uint64_t deadline;
	bool ended;
	bool sending;
};

/**
 * struct backend - a backend's entry points; results are 0 or -errno
 * @name:	"kernel" or "futex"
 * @start:	before any worker exists; sets rt->control
 * @end:	after all workers have gone
 * @worker_init: make what a worker needs; roost_run()'s thread
 * @worker_fini: undo it
 * @worker_enter: the calling thread, @c, takes the lease of @c->worker, first of all
 * @worker_leave: its carrier gives up the lease, last of all
 * @stand_by:	wait until the calling thread, @c, is given the worker of who is stuck;
 *		sets @c->worker.  -ECANCELED after @dismiss; -EINTR: once more.  With
 *		@dismiss, NULL unless rt->takeover is set
 * @dismiss:	nobody stands by any more, from now on.  Any thread
 * @busy:	may be NULL: @w has an actor to resume now, so it cannot watch over
 *		what it watched over while idle
 * @collect:	take expiries and file events that can be seen now and hand them
 *		to timer_expired() and fd_event(); a few loads when there are
 *		none.  Called before each resume, but for those that @w->spare
 *		says, and with @idle set for the last look before a park (then it
 *		looks at every worker's queue).
 *		Returns how many were taken.
 * @settle:	hand over what is staged, and see that it is carried out; a sibling that
 *		is at it and stays away is waited for for some milliseconds
 * @park:	flush, then sleep unless the event counter is no longer @event or
 *		a wake came.  The own idle bit is clear on return.  Counts in
 *		@w->stats: parks if it slept, else parks_refused; wakes_received
 *		if somebody else had cleared the bit.
 * @wake:	wake a worker whose idle bit the caller has cleared; returns true
 *		if that took a system call.  Any thread.
 * @stats:	put in the wakes as the backend counts them, or NULL if
 *		the workers' own counts are all there is.  Any thread.
 * @timer_arm:	make sure that something fires at or before @t->deadline; the
 *		actor that owns @t calls it, on worker @w
 * @timer_end:	the actor is about to end: nothing of @t may stay armed that
 *		could hurt the slot's next tenant
 * @fd_arm:	start or refresh watching @f for @f->events, edge-triggered: a
 *		fresh arm resolves the number anew, looks at the file, and
 *		reports what is ready already.  Holding @f->lock.  Errors of the
 *		descriptor (-EBADF, -EPERM, ...) are returned here.
 * @io:		carry out @op for the calling actor, on worker @w, which parks
 *		meanwhile; only if rt->ring_ios is not 0.  The buffers are not
 *		touched after the return.  Result: bytes, 0 at the end, -errno;
 *		-ETIMEDOUT or -ECANCELED if @op->ended; -ESTALE for an older file;
 *		-ENOSYS if it could not be handed over
 * @file_remove: forget a file of @number, as fd_ring_file() names it, once it is
 *		handed over by @settle or @fd_disarm; what waits for it ends with
 *		-ECANCELED.  Holding the descriptor's lock
 * @fd_disarm:	stop watching; no event with an older @f->sequence is delivered
 *		afterwards.  Holding @f->lock.
 */
struct backend {
	const char *name;
	int (*start)(struct runtime *rt);
	void (*end)(struct runtime *rt);
	int (*worker_init)(struct worker *w);
	void (*worker_fini)(struct worker *w);
	int (*worker_enter)(struct carrier *c);
	void (*worker_leave)(struct worker *w);
	int (*stand_by)(struct carrier *c);
	void (*dismiss)(struct runtime *rt);
	void (*busy)(struct worker *w);
	unsigned int (*collect)(struct worker *w, bool idle);
	void (*settle)(struct worker *w);
	void (*park)(struct worker *w, uint32_t event);
	bool (*wake)(struct worker *target, bool sync);
	void (*stats)(struct runtime *rt, struct roost_stats *stats);
	void (*timer_arm)(struct worker *w, struct wtimer *t);
	void (*timer_end)(struct worker *w, struct wtimer *t);
	ssize_t (*io)(struct worker *w, struct io_op *op);
	void (*file_remove)(struct worker *w, uint32_t number, uint32_t file);
	int (*fd_arm)(struct worker *w, struct fd *f);
	void (*fd_disarm)(struct worker *w, struct fd *f);
};

extern const struct backend backend_kernel;
extern const struct backend backend_futex;

/** backend_start() - choose as @rt->config says, and start.  0 or -errno */
int backend_start(struct runtime *rt);

#endif /* ROOST_LIB_BACKEND_H */
