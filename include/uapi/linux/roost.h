/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * roost: what the module and its users share.
 *
 * Objects form a tree of file descriptors:
 *
 *	/dev/roost --CREATE_DOMAIN--> domain fd --CREATE_WORKER--> worker fd
 *
 * A thread leases a worker with ATTACH on the worker fd and is then its
 * carrier.  A domain belongs to the thread group, the mm and the file table
 * that created it; a call made with any other gets -EPERM.
 *
 * Conventions that hold for every structure here:
 *  - the size in the ioctl number is the size of the structure, a shorter or
 *    longer one is accepted as long as what the other side does not know is
 *    zero (-E2BIG otherwise);
 *  - unknown flags and reserved fields that are not zero get -EINVAL;
 *  - times are absolute CLOCK_MONOTONIC nanoseconds;
 *  - a field marked "out" is written by the kernel and must be zero on entry.
 */
#ifndef _UAPI_LINUX_ROOST_H
#define _UAPI_LINUX_ROOST_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define ROOST_API_VERSION	1

/* Hard limits of the interface; the module's parameters may lower them. */
#define ROOST_MAX_WORKERS	256
#define ROOST_MASK_WORDS	(ROOST_MAX_WORKERS / 64)
#define ROOST_MAX_SQ_ENTRIES	32768
#define ROOST_MAX_CQ_ENTRIES	65536
#define ROOST_MIN_TICK_SHIFT	10
#define ROOST_MAX_TICK_SHIFT	30
#define ROOST_DEFAULT_TICK_SHIFT 16
#define ROOST_MAX_SLACK_NS	1000000000

/* "Never", as the deadline of a park.  Timers take up to ROOST_MAX_DEADLINE. */
#define ROOST_NO_DEADLINE	(~(__u64)0)
#define ROOST_MAX_DEADLINE	(~(__u64)0 >> 1)

/* Feature bits, roost_info.features and roost_domain_params.features. */
#define ROOST_FEAT_TIMER	(1ULL << 0)	/* TIMER_SET, TIMER_CANCEL */
#define ROOST_FEAT_POLL		(1ULL << 1)	/* POLL_ADD, POLL_REMOVE */
#define ROOST_FEAT_MULTISHOT	(1ULL << 2)	/* ROOST_POLL_MULTISHOT */
#define ROOST_FEAT_SYNC_WAKE	(1ULL << 3)	/* ROOST_WAKE_SYNC */
#define ROOST_FEAT_IO		(1ULL << 4)	/* RECV and the other I/O ops */
#define ROOST_FEAT_CARRIERS	(1ULL << 5)	/* on_cpu, blocked are kept */
#define ROOST_FEAT_STANDBY	(1ULL << 6)	/* ROOST_IOC_STANDBY, preempt */

/**
 * struct roost_info - what this module can do (ROOST_IOC_INFO)
 * @api_version:	out: ROOST_API_VERSION of the module
 * @max_workers:	out: workers that a domain may have
 * @features:		out: ROOST_FEAT_* bits
 * @max_sq_entries:	out: largest submission ring
 * @max_cq_entries:	out: largest completion ring
 * @max_timers:		out: largest roost_domain_params.nr_timers
 * @max_polls:		out: largest roost_domain_params.nr_polls
 * @ops:		out: bit n is set if opcode n is known
 * @max_ios:		out: largest roost_domain_params.nr_ios
 * @max_files:		out: largest roost_domain_params.nr_files
 * @reserved:		zero
 */
struct roost_info {
	__u32	api_version;
	__u32	max_workers;
	__u64	features;
	__u32	max_sq_entries;
	__u32	max_cq_entries;
	__u32	max_timers;
	__u32	max_polls;
	__u64	ops;
	__u32	max_ios;
	__u32	max_files;
	__u64	reserved[2];
};

/**
 * struct roost_domain_params - a new domain (ROOST_IOC_CREATE_DOMAIN)
 * @flags:	ROOST_DOMAIN_* bits
 * @tick_shift:	log2 of the timing wheel's tick in ns; 0: the default of 16
 * @nr_timers:	timer indices are 0 .. nr_timers - 1
 * @nr_polls:	poll indices are 0 .. nr_polls - 1
 * @features:	out: ROOST_FEAT_* bits of this domain
 * @control_size: out: bytes to map at ROOST_OFF_CONTROL of the domain fd
 * @events_size: out: bytes to map at ROOST_OFF_EVENTS, 0 without polls
 * @nr_ios:	I/O indices are 0 .. nr_ios - 1
 * @nr_files:	files are registered under the numbers 0 .. nr_files - 1
 * @slack_ns:	so much later than its tick may a deadline, of a timer or of a
 *		park, be noticed, so that several share one interrupt; at most
 *		ROOST_MAX_SLACK_NS
 * @reserved:	zero
 *
 * The ioctl returns the domain's file descriptor, close-on-exec.  @features
 * lacks ROOST_FEAT_IO if I/O in the ring is turned off, by
 * ROOST_DOMAIN_NO_IO or for all domains (the module's parameter ring_io);
 * every I/O op is refused with -EACCES then.
 */
struct roost_domain_params {
	__u32	flags;
	__u32	tick_shift;
	__u32	nr_timers;
	__u32	nr_polls;
	__u64	features;
	__u32	control_size;
	__u32	events_size;
	__u32	nr_ios;
	__u32	nr_files;
	__u64	slack_ns;
	__u64	reserved[2];
};

#define ROOST_DOMAIN_NO_IO	(1U << 0)	/* refuse I/O in the ring */

/**
 * struct roost_worker_params - a new worker (ROOST_IOC_CREATE_WORKER)
 * @flags:	zero
 * @sq_entries:	submission ring entries, a power of two
 * @cq_entries:	completion ring entries, a power of two, at least 2
 * @index:	out: the worker's number in its domain, its bit in every mask
 * @sq_offset:	out: where the SQ stands in the mapping
 * @cq_offset:	out: where the CQ stands in the mapping
 * @map_size:	out: bytes to map at offset 0 of the worker fd
 * @reserved0:	zero
 * @reserved:	zero
 *
 * The ioctl returns the worker's file descriptor, close-on-exec.
 */
struct roost_worker_params {
	__u32	flags;
	__u32	sq_entries;
	__u32	cq_entries;
	__u32	index;
	__u32	sq_offset;
	__u32	cq_offset;
	__u32	map_size;
	__u32	reserved0;
	__u64	reserved[2];
};

/* What to map from a domain fd. */
#define ROOST_OFF_CONTROL	0x00000000ULL
#define ROOST_OFF_EVENTS	0x10000000ULL

/**
 * struct roost_wake - wake workers (ROOST_IOC_WAKE on the domain fd)
 * @flags:	one of ROOST_WAKE_ONE, _INDEX, _ALL, perhaps with _SYNC; or
 *		ROOST_WAKE_DISMISS
 * @index:	the worker, for ROOST_WAKE_INDEX; zero otherwise
 * @reserved:	zero
 *
 * The ioctl returns how many workers were woken or given a permit by it: a
 * worker that is not parked keeps one permit, which ends its next park at
 * once, and a second wake before that adds nothing and counts as none.
 * ROOST_WAKE_ONE wakes a parked worker, and none if nobody is parked: of those that
 * went to sleep in the package of the caller's CPU, else of all, the one with the
 * highest index.  ROOST_WAKE_INDEX of a worker without a carrier is -ESRCH.
 * ROOST_WAKE_DISMISS returns how many threads stood by; -EOPNOTSUPP without
 * ROOST_FEAT_STANDBY.
 */
struct roost_wake {
	__u32	flags;
	__u32	index;
	__u64	reserved;
};

#define ROOST_WAKE_ONE		(1U << 0)
#define ROOST_WAKE_INDEX	(1U << 1)
#define ROOST_WAKE_ALL		(1U << 2)
/* The caller is about to sleep: hand it the CPU.  Not with ROOST_WAKE_ALL. */
#define ROOST_WAKE_SYNC		(1U << 3)
/* Alone: each ROOST_IOC_STANDBY returns, also those that are called later, for good. */
#define ROOST_WAKE_DISMISS	(1U << 4)

/**
 * struct roost_attach - lease a worker (ROOST_IOC_ATTACH on the worker fd)
 * @flags:	zero
 * @reserved0:	zero
 * @lease:	out: number of this lease, also in roost_worker_page.lease
 *
 * The calling thread becomes the worker's carrier.  -EBUSY if a living thread
 * is, or if the caller already carries another worker of the domain.
 * ROOST_IOC_DETACH ends the lease; so does the end of the thread as soon as
 * somebody else attaches.
 */
struct roost_attach {
	__u32	flags;
	__u32	reserved0;
	__u64	lease;
};

/**
 * struct roost_standby - wait for a worker (ROOST_IOC_STANDBY on the domain fd)
 * @flags:	zero
 * @worker:	out: index of the worker that the caller now carries
 * @lease:	out: number of this lease, also in roost_worker_page.lease
 * @reserved:	zero
 *
 * The calling thread sleeps until some worker's carrier is stuck outside the
 * library (roost_worker_page.in_library).  Then the lease is the caller's.  Of
 * several standbys the one that came last is taken.  Stuck is who
 *  - has been blocked (see roost_control.blocked) for the grace time, the module's
 *    parameter grace_us;
 *  - or runs, or waits for a CPU, and has resumed nothing else
 *    (roost_worker_page.resumes) for the time spin_us, while there was work that
 *    waited (roost_control.queued, or what it has staged itself).  Noticed by a tick
 *    of half that time.
 *
 * The former carrier is displaced.  It goes on, and learns of it when it next goes
 * inside the library; whatever needs the lease gets -EPERM, or -ESTALE if it was
 * lost during the call.  A displaced carrier may attach to a free worker, or be a
 * standby.
 *
 * -EBUSY if the caller carries a worker of this domain, or of 16 others; -EOPNOTSUPP without
 * ROOST_FEAT_STANDBY, -EINTR for a signal, -ECANCELED after ROOST_WAKE_DISMISS: then
 * it has no lease.
 */
struct roost_standby {
	__u32	flags;
	__u32	worker;
	__u64	lease;
	__u64	reserved[2];
};

/**
 * struct roost_enter - submit, wake, park (ROOST_IOC_ENTER on the worker fd)
 * @flags:	ROOST_ENTER_* bits
 * @to_submit:	consume at most so many SQ entries of this worker
 * @deadline:	with ROOST_ENTER_PARK: sleep no longer than until then;
 *		ROOST_NO_DEADLINE: no limit.  Zero without ROOST_ENTER_PARK.
 * @event:	with ROOST_ENTER_PARK: the event counter as it was before the
 *		caller looked for work for the last time
 * @wake:	with ROOST_ENTER_WAKE: this worker is woken first, as by
 *		ROOST_WAKE_INDEX | ROOST_WAKE_SYNC; zero without
 * @submitted:	out: SQ entries consumed
 * @outcome:	out: ROOST_OUT_* bits
 * @reserved:	zero
 *
 * Any thread of the domain may submit from any worker's ring; only the
 * worker's carrier may park on it (-EPERM; -ESTALE if it lost the lease during
 * the call, which has done all but park, @submitted and @outcome are valid then
 * too).  Completions that found no place
 * in the CQ are moved there first.  Fewer entries than asked for are consumed
 * when the CQ has no place for the completions that they may need
 * (ROOST_OUT_CQ_FULL), and a call does a bounded amount of work.
 * ROOST_ENTER_PARK does not sleep unless all that was asked for is consumed.
 * Who parks has set its bit in the idle mask before: a bit found clear counts
 * as a wake received, and the call returns at once.
 * -EINTR: a signal, and nothing else, ended the park; @submitted and @outcome
 * are valid then too.
 */
struct roost_enter {
	__u32	flags;
	__u32	to_submit;
	__u64	deadline;
	__u32	event;
	__u32	wake;
	__u32	submitted;
	__u32	outcome;
	__u64	reserved[2];
};

#define ROOST_ENTER_PARK	(1U << 0)
#define ROOST_ENTER_WAKE	(1U << 1)

/* Why a call with ROOST_ENTER_PARK came back, and what else it met. */
#define ROOST_OUT_WAKE		(1U << 0)	/* one wake was received */
#define ROOST_OUT_EVENT		(1U << 1)	/* something happened: look */
#define ROOST_OUT_TIMEOUT	(1U << 2)	/* the deadline has passed */
#define ROOST_OUT_SIGNAL	(1U << 3)	/* with -EINTR */
#define ROOST_OUT_SLEPT		(1U << 4)	/* the carrier was parked */
#define ROOST_OUT_CQ_FULL	(1U << 5)	/* drain the CQ, call again */
#define ROOST_OUT_NO_TARGET	(1U << 6)	/* @wake has no carrier */

/*
 * Operations.  An op is named by its op id: the index in its class (timers,
 * polls, I/O ops, files) in the low half, a sequence number in the high half.
 * For each index the kernel keeps the highest sequence it has seen, by wrapping
 * difference: SET and ADD want a higher one, CANCEL and REMOVE a higher one or
 * the same, and anything older completes with -ESTALE, so that two rings cannot
 * reorder them.  A new index starts below sequence 1.
 */
#define ROOST_OP_NOP		0	/* completes with res 0 */
#define ROOST_OP_SKIP		1	/* an entry taken back: no completion */
#define ROOST_OP_TIMER_SET	2	/* arm, or move what is armed */
#define ROOST_OP_TIMER_CANCEL	3
#define ROOST_OP_POLL_ADD	4	/* arm, or replace what is armed */
#define ROOST_OP_POLL_REMOVE	5
#define ROOST_OP_WAKE		6	/* wake the worker in @worker */
#define ROOST_OP_RECV		7	/* recv(2) */
#define ROOST_OP_SEND		8	/* send(2) */
#define ROOST_OP_RECVMSG	9	/* recvmsg(2), @addr is a struct msghdr */
#define ROOST_OP_SENDMSG	10	/* sendmsg(2), @addr is a struct msghdr */
#define ROOST_OP_READ		11	/* read(2), pread(2) */
#define ROOST_OP_WRITE		12	/* write(2), pwrite(2) */
#define ROOST_OP_SEND_RECV	13	/* send all of one buffer, then receive */
#define ROOST_OP_CANCEL		14	/* end an I/O op */
#define ROOST_OP_FILE_REMOVE	15	/* forget a registered file */
#define ROOST_OP_NR		16
/* Never used: a module cannot call the security hooks of these. */
#define ROOST_OP_ACCEPT_RESERVED	62
#define ROOST_OP_CONNECT_RESERVED	63

/**
 * struct roost_sqe - one submission
 * @opcode:	ROOST_OP_*
 * @flags:	ROOST_SQE_* bits
 * @reserved0:	zero
 * @fd:		POLL_ADD and I/O: the file; zero otherwise
 * @op_id:	index and sequence; NOP and WAKE: any value, handed back
 * @deadline:	TIMER_SET: when, at most ROOST_MAX_DEADLINE (-EINVAL beyond).
 *		I/O: the op ends with -ETIMEDOUT then; 0: no deadline
 * @events:	POLL_ADD: POLL* bits wanted (HUP and ERR always are), -EINVAL
 *		for bits that poll(2) does not know, and for POLLNVAL
 * @worker:	WAKE: the worker's index
 * @addr:	I/O: the buffer, or the struct msghdr
 * @addr2:	SEND_RECV: the buffer to receive into
 * @offset:	READ, WRITE: where in the file; ROOST_OFFSET_NONE for files
 *		without positions
 * @len:	I/O: bytes at @addr; zero for RECVMSG and SENDMSG
 * @len2:	SEND_RECV: bytes at @addr2
 * @msg_flags:	I/O on sockets: MSG_* bits; SEND_RECV: for the sending
 * @file_seq:	I/O with ROOST_SQE_FILE: which file of that number is meant
 *
 * TIMER_SET on an armed index moves the timer: one completion comes, with the
 * newest sequence.  The timer never fires early, and at most one tick and
 * roost_domain_params.slack_ns late plus what the interrupt takes, counted from
 * its hand-over.
 *
 * TIMER_CANCEL and POLL_REMOVE end what is armed; the target then completes
 * with -ECANCELED under its own op id, and that is the only completion.  What
 * is not armed any more gives -ENOENT under the op id given, with kind
 * ROOST_CQE_CANCEL.  ROOST_SQE_QUIET suppresses both, but not for a REMOVE that has
 * taken back an event which was not delivered yet (ROOST_CQE_REPLACED).
 *
 * POLL_ADD looks at the file once armed, so what is ready already completes at
 * once.  One-shot unless ROOST_POLL_MULTISHOT is among @flags.
 *
 * I/O ops are tried without blocking, whatever the state of the file's
 * O_NONBLOCK, and are tried again whenever the file says that it is worth it,
 * by the ENTER of any worker, until there is a result: bytes, perhaps fewer
 * than asked for, 0 at the end, or -errno.  MSG_NOSIGNAL is implied.  With
 * MSG_DONTWAIT in @msg_flags, MSG_OOB or MSG_ERRQUEUE, and where no event would
 * tell when to try again, an op is tried once, and -EAGAIN is a result.  The
 * buffers belong to the op until its completion, and
 * are not touched afterwards.  Each op that is accepted completes once, under
 * its op id with kind ROOST_CQE_IO, in the ring of the worker that tried it
 * last.  Refused, in the same way:
 *  - -EBUSY: the index has an op that is not done, or whose completion was not
 *    delivered yet;
 *  - -EACCES: I/O in the ring is turned off, or the caller is under seccomp;
 *  - -EOPNOTSUPP: this file or these flags cannot be used in this way: neither
 *    a socket nor a file that knows how not to block (O_NONBLOCK is nothing to
 *    regular files, O_DIRECT and O_DSYNC do block), a pipe or terminal to
 *    write to (SIGPIPE), MSG_WAITALL, MSG_ZEROCOPY, MSG_FASTOPEN, positions
 *    where ROOST_OFFSET_NONE was given;
 *  - -ELOOP: a roost, epoll or io_uring file;
 *  - -ENOTSOCK: no socket, for an op that needs one.
 * No order is promised between ops.
 *
 * SEND_RECV sends all of @addr and then receives into @addr2.  Its result is
 * that of the receiving.  ROOST_CQE_SEND says that it came to an end before all
 * was sent, so that nothing was received: because sending failed, or could not
 * go on after a part (the result is the number of bytes then), or the op was
 * refused, cancelled or too late.  A CANCEL that completes an op which has not
 * been seen sets it, too.
 *
 * CANCEL ends the I/O op with that op id, which then completes with -ECANCELED,
 * or with what came first.  One that has not been seen yet (it waits in another
 * ring) completes with -ECANCELED at once, and with -ESTALE when it comes.  One
 * that is done gives -ENOENT with kind ROOST_CQE_CANCEL, unless
 * ROOST_SQE_QUIET.
 *
 * ROOST_SQE_FILE: the file is looked up under its number when an op first comes
 * with a @file_seq higher than those before it (by wrapping difference), and
 * then stays registered and watched until FILE_REMOVE, whatever becomes of the
 * descriptor.  An op with an older @file_seq, or with that of a file that was
 * removed, gets -ESTALE.  FILE_REMOVE takes number and sequence as op id, ends
 * the ops that wait for the file with -ECANCELED, and completes with kind
 * ROOST_CQE_FILE, unless ROOST_SQE_QUIET.
 */
struct roost_sqe {
	__u8	opcode;
	__u8	flags;
	__u16	reserved0;
	__s32	fd;
	__u64	op_id;
	__u64	deadline;
	__u32	events;
	__u32	worker;
	__u64	addr;
	union {
		__u64	addr2;
		__u64	offset;
	};
	__u32	len;
	__u32	len2;
	__u32	msg_flags;
	__u32	file_seq;
};

#define ROOST_OFFSET_NONE	(~(__u64)0)

#define ROOST_SQE_QUIET		(1U << 0)	/* CANCEL and REMOVE only */
#define ROOST_SQE_FILE		(1U << 2)	/* I/O only: registered file */
/*
 * POLL_ADD only: stay armed.  Each wake-up ORs its events into the op's word
 * of the events array (ROOST_OFF_EVENTS, indexed like the polls) and completes
 * with ROOST_CQE_MORE only if that word was 0.  The user exchanges the word
 * with 0 before it tries the I/O.
 */
#define ROOST_POLL_MULTISHOT	(1U << 1)

/* In the events word: woken without events, look (as ROOST_CQE_HINT). */
#define ROOST_EVENT_HINT	(1U << 31)

/**
 * struct roost_cqe - one completion
 * @user_data:	the op id
 * @res:	0, bytes or poll events; or -errno
 * @flags:	kind in the low byte, then ROOST_CQE_* bits
 */
struct roost_cqe {
	__u64	user_data;
	__s32	res;
	__u32	flags;
};

#define ROOST_CQE_KIND		0xffU
#define ROOST_CQE_NOP		0U
#define ROOST_CQE_TIMER		1U
#define ROOST_CQE_POLL		2U
#define ROOST_CQE_CANCEL	3U	/* a cancel that found nothing to end */
#define ROOST_CQE_WAKE		4U
#define ROOST_CQE_IO		5U
#define ROOST_CQE_FILE		6U

#define ROOST_CQE_MORE		(1U << 8)	/* the op is still armed */
#define ROOST_CQE_HINT		(1U << 9)	/* woken without events: look */
#define ROOST_CQE_REPLACED	(1U << 10)	/* an older undelivered one fell */
#define ROOST_CQE_SEND		(1U << 11)	/* SEND_RECV: not all was sent */
#define ROOST_CQE_TRUNC		(1U << 12)	/* a datagram was cut off */

static inline __u64 roost_op_id(__u32 index, __u32 sequence)
{
	return (__u64)sequence << 32 | index;
}

static inline __u32 roost_op_index(__u64 op_id)
{
	return (__u32)op_id;
}

static inline __u32 roost_op_sequence(__u64 op_id)
{
	return (__u32)(op_id >> 32);
}

/**
 * struct roost_control - the domain's shared page (ROOST_OFF_CONTROL)
 * @api_version: constant
 * @tick_shift:	constant
 * @features:	constant
 * @event:	event counter.  Kernel: atomic increment for each completion
 *		and for ROOST_WAKE_ONE and _ALL, before it looks for a worker to
 *		wake.  A wake by index concerns that worker alone.  Users: read
 *		only, with acquire, before the last look for work.
 * @idle:	idle mask.  A carrier sets its worker's bit with a full barrier
 *		before the last look for work; a waker clears it with an atomic
 *		fetch-and, and only the one who found it set wakes; the kernel
 *		clears it on every return from a park.
 * @cq_ready:	one bit a worker.  Kernel: set after a completion was posted to
 *		that worker's CQ.  Users: cleared with an atomic fetch-and
 *		before the CQ is drained.
 * @io_ready:	kernel: how many I/O ops wait for an ENTER of some worker to
 *		carry them out
 * @on_cpu:	one bit a worker.  Kernel: set while its carrier is on a CPU
 * @blocked:	one bit a worker.  Kernel: set while its carrier sleeps
 *		elsewhere than in a park: in a system call, a page fault, for
 *		a lock.  Not set while it is stopped, traced or frozen.
 * @queued:	users: not 0 while something is queued that any worker could
 *		resume.  Advice: who queues sets it if it is 0, who finds all
 *		queues empty clears it and looks again.  Beside it, completions
 *		that wait (@cq_ready, @io_ready) are work that waits.
 *
 * With ROOST_FEAT_CARRIERS alone are @on_cpu and @blocked kept; zero without.
 * Both bits clear: nobody carries the worker, or the carrier waits for a CPU, or
 * has parked.  A look at them is old at once: good for a guess, such as whether
 * spinning for a lock may pay.
 *
 * The kernel trusts none of this: a process that scribbles here can lose its
 * own wake-ups and nothing else.
 */
struct roost_control {
	__u32	api_version;
	__u32	tick_shift;
	__u64	features;
	/* private: */
	__u64	pad0[6];
	/* public: */

	__u32	event;
	/* private: */
	__u32	pad1[15];
	/* public: */

	__u64	idle[ROOST_MASK_WORDS];
	/* private: */
	__u64	pad2[8 - ROOST_MASK_WORDS];
	/* public: */

	__u64	cq_ready[ROOST_MASK_WORDS];
	/* private: */
	__u64	pad3[8 - ROOST_MASK_WORDS];
	/* public: */

	__u32	io_ready;
	/* private: */
	__u32	pad4[15];
	/* public: */

	__u64	on_cpu[ROOST_MASK_WORDS];
	__u64	blocked[ROOST_MASK_WORDS];

	__u32	queued;
	/* private: */
	__u32	pad5[15];
	/* public: */
};

/**
 * struct roost_worker_page - head of a worker's mapping
 * @sq_head:	kernel: entries consumed (release); users: acquire
 * @cq_tail:	kernel: entries posted (release); users: acquire
 * @cq_overflow: kernel: completions that wait for a place in the CQ; an ENTER
 *		moves them there
 * @lease:	kernel: number of the lease in force, 0 for none
 * @parked:	1 while the carrier is asleep in the kernel.  A waker that has
 *		cleared the idle bit exchanges this with 0: only if it was 1 is
 *		a ROOST_WAKE_INDEX needed.
 * @sq_tail:	carrier: entries published (release); kernel: acquire
 * @in_library:	roost_inside() of the lease while its carrier must not lose it,
 *		however long it is blocked or runs.  Kernel: roost_outside() when
 *		a lease begins.  Carrier: see below.
 * @pending_min: carrier: earliest deadline among the TIMER_SET entries that
 *		are published and not consumed, ROOST_NO_DEADLINE for none
 * @resumes:	carrier: another value each time that it resumes an actor
 * @preempt:	kernel: set to 1 while work waits and @resumes has not changed
 *		for half of the time after which the carrier is stuck.  Carrier:
 *		cleared when it resumes an actor.  Not without a standby: kept
 *		from the first call of ROOST_IOC_STANDBY in the domain on.
 * @cq_head:	who drains: entries taken (release); kernel: acquire.  A value
 *		that cannot be counts as a full ring.
 *
 * A carrier goes inside by a compare-and-exchange of @in_library, from
 * roost_outside() to roost_inside() of its own lease.  If that fails it has been
 * displaced, and writes nothing to this page any more.  It goes outside by a plain
 * store, after all that it did inside.  The exchange must be atomic among CPUs (on
 * x86: with the lock prefix).  One that fails may write back what it has read, and
 * the next carrier may change the word on another CPU meanwhile.
 */
struct roost_worker_page {
	__u32	sq_head;
	/* private: */
	__u32	pad0[15];
	/* public: */

	__u32	cq_tail;
	__u32	cq_overflow;
	__u64	lease;
	__u32	parked;
	/* private: */
	__u32	pad1[11];
	/* public: */

	__u32	sq_tail;
	__u32	in_library;
	__u64	pending_min;
	__u32	resumes;
	__u32	preempt;
	/* private: */
	__u64	pad3[5];
	/* public: */

	__u32	cq_head;
	/* private: */
	__u32	pad4[15];
	/* public: */
};

/* For roost_worker_page.in_library. */
static inline __u32 roost_outside(__u64 lease)
{
	return (__u32)lease << 1;
}

static inline __u32 roost_inside(__u64 lease)
{
	return roost_outside(lease) | 1;
}

/**
 * struct roost_domain_stat - counters (ROOST_IOC_DOMAIN_STAT on the domain fd)
 * @workers:		out: workers that exist
 * @timers_pending:	out: timers armed now
 * @polls_armed:	out: polls armed now
 * @overflow_pending:	out: completions now waiting for a place
 * @parked:		out: mask of the workers asleep now
 * @parks:		out: calls of ENTER that were parked
 * @parks_refused:	out: calls that came to sleep and did not
 * @wakes:		out: wakes that woke a worker or left a permit
 * @wakes_received:	out: parks ended by a wake (ROOST_OUT_WAKE)
 * @wakes_kernel:	out: workers woken because a completion was posted
 * @timeouts:		out: parks ended by their deadline
 * @signals:		out: parks ended by a signal
 * @enters:		out: calls of ENTER
 * @submitted:		out: entries consumed
 * @completed:		out: completions posted
 * @overflowed:		out: completions that found the CQ full
 * @timers_set:		out: TIMER_SET that armed
 * @timers_moved:	out: TIMER_SET that moved
 * @timers_fired:	out: expiries
 * @timers_cancelled:	out: timers ended by TIMER_CANCEL
 * @polls_added:	out: POLL_ADD that armed
 * @polls_fired:	out: poll completions from a wait queue
 * @polls_removed:	out: polls ended by POLL_REMOVE or replaced
 * @hrtimer_starts:	out: times that a hardware timer was programmed
 * @hrtimer_fires:	out: times that it went off
 * @ios_started:	out: I/O ops accepted
 * @ios_waited:		out: times that an I/O op had to wait for its file
 * @ios_done:		out: I/O ops that completed
 * @ios_pending:	out: I/O ops that are not done now
 * @files:		out: registered files now
 * @blocked:		out: times that a carrier blocked (ROOST_FEAT_CARRIERS)
 * @preempted:		out: times that a carrier lost its CPU and could have
 *			gone on (ROOST_FEAT_CARRIERS)
 * @taken:		out: leases that went to a standby
 * @starved:		out: times that one would have, but there was no standby
 * @spun:		out: those of @taken whose carrier was not blocked
 * @parks_busy:		out: those of @parks whose end the carrier saw, looking for it
 *			instead of sleeping
 */
struct roost_domain_stat {
	__u32	workers;
	__u32	timers_pending;
	__u32	polls_armed;
	__u32	overflow_pending;
	__u64	parked[ROOST_MASK_WORDS];
	__u64	parks;
	__u64	parks_refused;
	__u64	wakes;
	__u64	wakes_received;
	__u64	wakes_kernel;
	__u64	timeouts;
	__u64	signals;
	__u64	enters;
	__u64	submitted;
	__u64	completed;
	__u64	overflowed;
	__u64	timers_set;
	__u64	timers_moved;
	__u64	timers_fired;
	__u64	timers_cancelled;
	__u64	polls_added;
	__u64	polls_fired;
	__u64	polls_removed;
	__u64	hrtimer_starts;
	__u64	hrtimer_fires;
	__u64	ios_started;
	__u64	ios_waited;
	__u64	ios_done;
	__u32	ios_pending;
	__u32	files;
	__u64	blocked;
	__u64	preempted;
	__u64	taken;
	__u64	starved;
	__u64	spun;
	__u64	parks_busy;
};

/*
 * Sizes of the structures as first published, without what was reserved at their
 * end: the least that a caller may know.
 */
#define ROOST_INFO_SIZE_VER0		48
#define ROOST_DOMAIN_PARAMS_SIZE_VER0	48
#define ROOST_WORKER_PARAMS_SIZE_VER0	32
#define ROOST_WAKE_SIZE_VER0		8
#define ROOST_ATTACH_SIZE_VER0		16
#define ROOST_STANDBY_SIZE_VER0		16
#define ROOST_ENTER_SIZE_VER0		32
#define ROOST_DOMAIN_STAT_SIZE_VER0	240

#define ROOST_IOC_MAGIC		0xBD

/* On /dev/roost. */
#define ROOST_IOC_INFO		_IOWR(ROOST_IOC_MAGIC, 0x00, struct roost_info)
#define ROOST_IOC_CREATE_DOMAIN	\
	_IOWR(ROOST_IOC_MAGIC, 0x01, struct roost_domain_params)

/* On a domain fd. */
#define ROOST_IOC_CREATE_WORKER	\
	_IOWR(ROOST_IOC_MAGIC, 0x10, struct roost_worker_params)
#define ROOST_IOC_WAKE		_IOW(ROOST_IOC_MAGIC, 0x11, struct roost_wake)
#define ROOST_IOC_DOMAIN_STAT	\
	_IOWR(ROOST_IOC_MAGIC, 0x12, struct roost_domain_stat)
#define ROOST_IOC_STANDBY	\
	_IOWR(ROOST_IOC_MAGIC, 0x13, struct roost_standby)

/* On a worker fd. */
#define ROOST_IOC_ATTACH	\
	_IOWR(ROOST_IOC_MAGIC, 0x20, struct roost_attach)
#define ROOST_IOC_DETACH	_IO(ROOST_IOC_MAGIC, 0x21)
#define ROOST_IOC_ENTER		\
	_IOWR(ROOST_IOC_MAGIC, 0x22, struct roost_enter)

#endif /* _UAPI_LINUX_ROOST_H */
