/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints; Documentation/tracing.rst has each field, and which counter each
 * event goes with.
 *
 * A tracepoint stands beside the counter of what it reports, so that there are as
 * many events as the counters say.  Most run under a raw lock, perhaps in a hard
 * interrupt.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM roost

#if !defined(_ROOST_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _ROOST_TRACE_H

#include <linux/tracepoint.h>

#ifndef _ROOST_TRACE_KINDS
#define _ROOST_TRACE_KINDS

struct roost_domain;
struct roost_worker;
struct task_struct;

/* What a wake is. */
enum roost_wake_kind {
	ROOST_TRACE_WAKE_CALL,		/* a call met a sleeper */
	ROOST_TRACE_WAKE_PERMIT,	/* a call left a permit */
	ROOST_TRACE_WAKE_BIT,		/* somebody had cleared the idle bit */
	ROOST_TRACE_WAKE_EVENT,		/* a completion met a sleeper */
	ROOST_TRACE_WAKE_TIMEOUT,	/* the deadline met a sleeper */
};

#endif

TRACE_DEFINE_ENUM(ROOST_TRACE_WAKE_CALL);
TRACE_DEFINE_ENUM(ROOST_TRACE_WAKE_PERMIT);
TRACE_DEFINE_ENUM(ROOST_TRACE_WAKE_BIT);
TRACE_DEFINE_ENUM(ROOST_TRACE_WAKE_EVENT);
TRACE_DEFINE_ENUM(ROOST_TRACE_WAKE_TIMEOUT);

#define show_wake_kind(kind) \
	__print_symbolic(kind, \
			 { ROOST_TRACE_WAKE_CALL,	"call" }, \
			 { ROOST_TRACE_WAKE_PERMIT,	"permit" }, \
			 { ROOST_TRACE_WAKE_BIT,	"bit" }, \
			 { ROOST_TRACE_WAKE_EVENT,	"event" }, \
			 { ROOST_TRACE_WAKE_TIMEOUT,	"timeout" })

/* The bits of struct roost_enter.outcome, which is interface. */
#define show_outcome(outcome) \
	__print_flags(outcome, "|", \
		      { 0x01, "wake" }, \
		      { 0x02, "event" }, \
		      { 0x04, "timeout" }, \
		      { 0x08, "signal" }, \
		      { 0x10, "slept" })

DECLARE_EVENT_CLASS(roost_domain,
		    TP_PROTO(const struct roost_domain *domain),
		    TP_ARGS(domain),
		    TP_STRUCT__entry(__field(u32, domain)
				     __field(u32, pid)),
		    TP_fast_assign(__entry->domain = domain->id;
				   __entry->pid = pid_nr(domain->tgid);),
		    TP_printk("domain=%u pid=%u", __entry->domain,
			      __entry->pid));

DEFINE_EVENT(roost_domain, roost_domain_create,
	     TP_PROTO(const struct roost_domain *domain),
	     TP_ARGS(domain));

DEFINE_EVENT(roost_domain, roost_domain_end,
	     TP_PROTO(const struct roost_domain *domain),
	     TP_ARGS(domain));

DECLARE_EVENT_CLASS(roost_carrier,
		    TP_PROTO(const struct roost_worker *worker,
			     struct task_struct *task),
		    TP_ARGS(worker, task),
		    TP_STRUCT__entry(__field(u32, domain)
				     __field(u32, worker)
				     __field(u32, tid)
				     __field(u64, lease)),
		    TP_fast_assign(__entry->domain = worker->domain->id;
				   __entry->worker = worker->index;
				   __entry->tid = task_pid_nr(task);
				   __entry->lease = worker->lease;),
		    TP_printk("domain=%u worker=%u tid=%u lease=%llu",
			      __entry->domain, __entry->worker, __entry->tid,
			      __entry->lease));

DEFINE_EVENT(roost_carrier, roost_worker_attach,
	     TP_PROTO(const struct roost_worker *worker,
		      struct task_struct *task),
	     TP_ARGS(worker, task));

DEFINE_EVENT(roost_carrier, roost_worker_detach,
	     TP_PROTO(const struct roost_worker *worker,
		      struct task_struct *task),
	     TP_ARGS(worker, task));

DEFINE_EVENT(roost_carrier, roost_takeover,
	     TP_PROTO(const struct roost_worker *worker,
		      struct task_struct *task),
	     TP_ARGS(worker, task));

DEFINE_EVENT(roost_carrier, roost_starved,
	     TP_PROTO(const struct roost_worker *worker,
		      struct task_struct *task),
	     TP_ARGS(worker, task));

TRACE_EVENT(roost_park,
	    TP_PROTO(const struct roost_worker *worker, u64 deadline,
		     bool sleeps),
	    TP_ARGS(worker, deadline, sleeps),
	    TP_STRUCT__entry(__field(u32, domain)
			     __field(u32, worker)
			     __field(u64, deadline)
			     __field(bool, sleeps)),
	    TP_fast_assign(__entry->domain = worker->domain->id;
			   __entry->worker = worker->index;
			   __entry->deadline = deadline;
			   __entry->sleeps = sleeps;),
	    TP_printk("domain=%u worker=%u deadline=%llu sleeps=%d",
		      __entry->domain, __entry->worker, __entry->deadline,
		      __entry->sleeps));

TRACE_EVENT(roost_unpark,
	    TP_PROTO(const struct roost_worker *worker, u32 outcome),
	    TP_ARGS(worker, outcome),
	    TP_STRUCT__entry(__field(u32, domain)
			     __field(u32, worker)
			     __field(u32, outcome)),
	    TP_fast_assign(__entry->domain = worker->domain->id;
			   __entry->worker = worker->index;
			   __entry->outcome = outcome;),
	    TP_printk("domain=%u worker=%u outcome=%s", __entry->domain,
		      __entry->worker, show_outcome(__entry->outcome)));

TRACE_EVENT(roost_wake,
	    TP_PROTO(const struct roost_worker *worker,
		     enum roost_wake_kind kind),
	    TP_ARGS(worker, kind),
	    TP_STRUCT__entry(__field(u32, domain)
			     __field(u32, worker)
			     __field(u32, kind)),
	    TP_fast_assign(__entry->domain = worker->domain->id;
			   __entry->worker = worker->index;
			   __entry->kind = kind;),
	    TP_printk("domain=%u worker=%u kind=%s", __entry->domain,
		      __entry->worker, show_wake_kind(__entry->kind)));

TRACE_EVENT(roost_timer_set,
	    TP_PROTO(const struct roost_worker *worker, u32 index,
		     u32 sequence, u64 deadline, bool moved),
	    TP_ARGS(worker, index, sequence, deadline, moved),
	    TP_STRUCT__entry(__field(u32, domain)
			     __field(u32, worker)
			     __field(u32, index)
			     __field(u32, sequence)
			     __field(u64, deadline)
			     __field(bool, moved)),
	    TP_fast_assign(__entry->domain = worker->domain->id;
			   __entry->worker = worker->index;
			   __entry->index = index;
			   __entry->sequence = sequence;
			   __entry->deadline = deadline;
			   __entry->moved = moved;),
	    TP_printk("domain=%u worker=%u index=%u sequence=%u deadline=%llu moved=%d",
		      __entry->domain, __entry->worker, __entry->index,
		      __entry->sequence, __entry->deadline, __entry->moved));

DECLARE_EVENT_CLASS(roost_timer,
		    TP_PROTO(const struct roost_worker *worker, u32 index,
			     u32 sequence, u64 deadline),
		    TP_ARGS(worker, index, sequence, deadline),
		    TP_STRUCT__entry(__field(u32, domain)
				     __field(u32, worker)
				     __field(u32, index)
				     __field(u32, sequence)
				     __field(u64, deadline)),
		    TP_fast_assign(__entry->domain = worker->domain->id;
				   __entry->worker = worker->index;
				   __entry->index = index;
				   __entry->sequence = sequence;
				   __entry->deadline = deadline;),
		    TP_printk("domain=%u worker=%u index=%u sequence=%u deadline=%llu",
			      __entry->domain, __entry->worker,
			      __entry->index, __entry->sequence,
			      __entry->deadline));

DEFINE_EVENT(roost_timer, roost_timer_fire,
	     TP_PROTO(const struct roost_worker *worker, u32 index,
		      u32 sequence, u64 deadline),
	     TP_ARGS(worker, index, sequence, deadline));

DEFINE_EVENT(roost_timer, roost_timer_cancel,
	     TP_PROTO(const struct roost_worker *worker, u32 index,
		      u32 sequence, u64 deadline),
	     TP_ARGS(worker, index, sequence, deadline));

TRACE_EVENT(roost_poll_arm,
	    TP_PROTO(const struct roost_worker *worker, u64 op_id, u32 events,
		     bool multishot),
	    TP_ARGS(worker, op_id, events, multishot),
	    TP_STRUCT__entry(__field(u32, domain)
			     __field(u32, worker)
			     __field(u32, index)
			     __field(u32, sequence)
			     __field(u32, events)
			     __field(bool, multishot)),
	    TP_fast_assign(__entry->domain = worker->domain->id;
			   __entry->worker = worker->index;
			   __entry->index = (u32)op_id;
			   __entry->sequence = op_id >> 32;
			   __entry->events = events;
			   __entry->multishot = multishot;),
	    TP_printk("domain=%u worker=%u index=%u sequence=%u events=0x%x multishot=%d",
		      __entry->domain, __entry->worker, __entry->index,
		      __entry->sequence, __entry->events, __entry->multishot));

DECLARE_EVENT_CLASS(roost_completion,
		    TP_PROTO(const struct roost_worker *worker, u64 op_id,
			     s32 res, u32 flags),
		    TP_ARGS(worker, op_id, res, flags),
		    TP_STRUCT__entry(__field(u32, domain)
				     __field(u32, worker)
				     __field(u32, index)
				     __field(u32, sequence)
				     __field(s32, res)
				     __field(u32, flags)),
		    TP_fast_assign(__entry->domain = worker->domain->id;
				   __entry->worker = worker->index;
				   __entry->index = (u32)op_id;
				   __entry->sequence = op_id >> 32;
				   __entry->res = res;
				   __entry->flags = flags;),
		    TP_printk("domain=%u worker=%u index=%u sequence=%u res=%d flags=0x%x",
			      __entry->domain, __entry->worker,
			      __entry->index, __entry->sequence, __entry->res,
			      __entry->flags));

DEFINE_EVENT(roost_completion, roost_poll_fire,
	     TP_PROTO(const struct roost_worker *worker, u64 op_id, s32 res,
		      u32 flags),
	     TP_ARGS(worker, op_id, res, flags));

DEFINE_EVENT(roost_completion, roost_io_complete,
	     TP_PROTO(const struct roost_worker *worker, u64 op_id, s32 res,
		      u32 flags),
	     TP_ARGS(worker, op_id, res, flags));

DEFINE_EVENT(roost_completion, roost_overflow,
	     TP_PROTO(const struct roost_worker *worker, u64 op_id, s32 res,
		      u32 flags),
	     TP_ARGS(worker, op_id, res, flags));

TRACE_EVENT(roost_io_submit,
	    TP_PROTO(const struct roost_worker *worker, u64 op_id, u32 opcode,
		     s32 fd),
	    TP_ARGS(worker, op_id, opcode, fd),
	    TP_STRUCT__entry(__field(u32, domain)
			     __field(u32, worker)
			     __field(u32, index)
			     __field(u32, sequence)
			     __field(u32, opcode)
			     __field(s32, fd)),
	    TP_fast_assign(__entry->domain = worker->domain->id;
			   __entry->worker = worker->index;
			   __entry->index = (u32)op_id;
			   __entry->sequence = op_id >> 32;
			   __entry->opcode = opcode;
			   __entry->fd = fd;),
	    TP_printk("domain=%u worker=%u index=%u sequence=%u opcode=%u fd=%d",
		      __entry->domain, __entry->worker, __entry->index,
		      __entry->sequence, __entry->opcode, __entry->fd));

#endif /* _ROOST_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
