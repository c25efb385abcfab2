/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * roost: the module seen from outside, by generic netlink.
 *
 * Requests, with the attributes that each takes (all others, and attributes of
 * a wrong size, are refused); "reply" is what comes back, under the command of
 * the request.
 *
 *	DOMAIN_GET	DOMAIN			reply: one domain
 *	DOMAIN_GET	none, NLM_F_DUMP	reply: a message a domain
 *	WORKER_GET	DOMAIN, NLM_F_DUMP	reply: a message a worker
 *	STATS_GET	DOMAIN			reply: DOMAIN, STATS
 *	STATS_GET	none, NLM_F_DUMP	reply: the same, a message a domain
 *	LIMITS_GET	none			reply: one LIMIT a module parameter
 *	WAKE		DOMAIN, maybe WORKER	reply: DOMAIN, WOKEN
 *
 *	one domain:	DOMAIN, UID, TICK_SHIFT, SLACK, FEATURES, TIMERS, POLLS,
 *			IOS, FILES, WORKERS, NR_PARKED; PID and COMM if the
 *			owner is there and in sight; DEAD if it has gone
 *	one worker:	DOMAIN, WORKER, SQ_ENTRIES, CQ_ENTRIES, LEASE, STATS (what
 *			is counted by worker); TID if it has a carrier in sight;
 *			PARKED, BLOCKED, CLOSED
 *
 * Who asks, and who has opened the socket, must each have the domain owner's
 * effective uid, in the same user namespace, or CAP_SYS_ADMIN over that
 * namespace.  Dumps leave out what is not for them; the rest is -EPERM.
 * LIMITS_GET is for everybody.
 *
 * A dump during which domains (or workers of the domain) came or went has
 * NLM_F_DUMP_INTR in one of its messages.
 *
 * Events go to the multicast group ROOST_NL_GROUP_EVENTS, which takes
 * CAP_SYS_ADMIN over the user namespace of the network namespace.
 *
 *	DOMAIN_CREATED	DOMAIN, UID, PID
 *	DOMAIN_ENDED	DOMAIN, UID, PID
 *	WORKER_ATTACHED	DOMAIN, UID, PID, WORKER, TID
 *	WORKER_DETACHED	DOMAIN, UID, PID, WORKER, TID
 *	WORKER_TAKEN	DOMAIN, UID, PID, WORKER, TID, LEASE
 *	WORKER_STARVED	DOMAIN, UID, PID, WORKER, TID, LEASE
 *
 * The last but one comes from the standby that has taken the worker, as soon as
 * it runs; the last comes a little late, and once for all that happened to the
 * worker meanwhile.
 *
 * They reach each network namespace whose user namespace is that of the
 * domain's owner or an ancestor of it.  UID is as that user namespace sees it;
 * PID and TID are the initial pid namespace's, and there only where the user
 * namespace is the initial one.
 */
#ifndef _UAPI_LINUX_ROOST_NETLINK_H
#define _UAPI_LINUX_ROOST_NETLINK_H

#define ROOST_NL_NAME		"roost"
#define ROOST_NL_VERSION	1
#define ROOST_NL_GROUP_EVENTS	"events"

/* 20 and 21 are kept for workers that block and resume. */
enum roost_nl_cmd {
	ROOST_NL_CMD_DOMAIN_GET		= 1,
	ROOST_NL_CMD_WORKER_GET		= 2,
	ROOST_NL_CMD_STATS_GET		= 3,
	ROOST_NL_CMD_LIMITS_GET		= 4,
	ROOST_NL_CMD_WAKE		= 5,
	ROOST_NL_CMD_DOMAIN_CREATED	= 16,
	ROOST_NL_CMD_DOMAIN_ENDED	= 17,
	ROOST_NL_CMD_WORKER_ATTACHED	= 18,
	ROOST_NL_CMD_WORKER_DETACHED	= 19,
	ROOST_NL_CMD_WORKER_TAKEN	= 22,
	ROOST_NL_CMD_WORKER_STARVED	= 23,
};

/**
 * enum roost_nl_attr - attributes
 * @ROOST_NL_A_PAD: padding
 * @ROOST_NL_A_DOMAIN: u32, a domain's number, at least 1; not given out again
 *	until 2^32 others were
 * @ROOST_NL_A_WORKER: u32, a worker's index in its domain; more than 255 is
 *	-ERANGE
 * @ROOST_NL_A_PID: u32, thread group of the owner, as the reader's pid namespace
 *	numbers it; not there if that does not see it
 * @ROOST_NL_A_COMM: string, the owner's name
 * @ROOST_NL_A_UID: u32, effective uid of the owner when it made the domain, as
 *	the reader's user namespace sees it
 * @ROOST_NL_A_DEAD: flag: the owner has gone, and somebody else still holds a
 *	descriptor or a mapping
 * @ROOST_NL_A_TICK_SHIFT: u32, as in struct roost_domain_params
 * @ROOST_NL_A_SLACK: u64, ns, as in struct roost_domain_params
 * @ROOST_NL_A_FEATURES: u64, ROOST_FEAT_* bits of the domain
 * @ROOST_NL_A_TIMERS: u32, how many timer indices there are
 * @ROOST_NL_A_POLLS: u32, how many poll indices
 * @ROOST_NL_A_IOS: u32, how many I/O indices
 * @ROOST_NL_A_FILES: u32, how many file numbers
 * @ROOST_NL_A_WORKERS: u32, workers whose descriptor is open
 * @ROOST_NL_A_NR_PARKED: u32, workers that are asleep
 * @ROOST_NL_A_TID: u32, the carrier, numbered as @ROOST_NL_A_PID
 * @ROOST_NL_A_LEASE: u64, number of the newest lease; of events: of the lease that
 *	they are about
 * @ROOST_NL_A_PARKED: flag: the carrier is asleep
 * @ROOST_NL_A_CLOSED: flag: the worker's descriptor is closed
 * @ROOST_NL_A_SQ_ENTRIES: u32
 * @ROOST_NL_A_CQ_ENTRIES: u32
 * @ROOST_NL_A_STATS: nest of enum roost_nl_stat
 * @ROOST_NL_A_LIMIT: nest of enum roost_nl_limit, repeated
 * @ROOST_NL_A_WOKEN: u32, workers that were woken or left a permit by this call
 * @ROOST_NL_A_BLOCKED: flag: the carrier is blocked (ROOST_FEAT_CARRIERS)
 */
enum roost_nl_attr {
	ROOST_NL_A_PAD		= 0,
	ROOST_NL_A_DOMAIN	= 1,
	ROOST_NL_A_WORKER	= 2,
	ROOST_NL_A_PID		= 3,
	ROOST_NL_A_COMM		= 4,
	ROOST_NL_A_UID		= 5,
	ROOST_NL_A_DEAD		= 6,
	ROOST_NL_A_TICK_SHIFT	= 7,
	ROOST_NL_A_SLACK	= 8,
	ROOST_NL_A_FEATURES	= 9,
	ROOST_NL_A_TIMERS	= 10,
	ROOST_NL_A_POLLS	= 11,
	ROOST_NL_A_IOS		= 12,
	ROOST_NL_A_FILES	= 13,
	ROOST_NL_A_WORKERS	= 14,
	ROOST_NL_A_NR_PARKED	= 15,
	ROOST_NL_A_TID		= 16,
	ROOST_NL_A_LEASE	= 17,
	ROOST_NL_A_PARKED	= 18,
	ROOST_NL_A_CLOSED	= 19,
	ROOST_NL_A_SQ_ENTRIES	= 20,
	ROOST_NL_A_CQ_ENTRIES	= 21,
	ROOST_NL_A_STATS	= 22,
	ROOST_NL_A_LIMIT	= 23,
	ROOST_NL_A_WOKEN	= 24,
	ROOST_NL_A_BLOCKED	= 25,
};

#define ROOST_NL_A_MAX		ROOST_NL_A_BLOCKED

/*
 * Counters, each a u64, named like the fields of struct roost_domain_stat,
 * where they are explained.  Those marked "domain" are not counted by worker.
 */
enum roost_nl_stat {
	ROOST_NL_STAT_PAD		= 0,
	ROOST_NL_STAT_WORKERS		= 1,	/* domain */
	ROOST_NL_STAT_TIMERS_PENDING	= 2,
	ROOST_NL_STAT_POLLS_ARMED	= 3,	/* domain */
	ROOST_NL_STAT_OVERFLOW_PENDING	= 4,
	ROOST_NL_STAT_PARKS		= 5,
	ROOST_NL_STAT_PARKS_REFUSED	= 6,
	ROOST_NL_STAT_WAKES		= 7,
	ROOST_NL_STAT_WAKES_RECEIVED	= 8,
	ROOST_NL_STAT_WAKES_KERNEL	= 9,
	ROOST_NL_STAT_TIMEOUTS		= 10,
	ROOST_NL_STAT_SIGNALS		= 11,
	ROOST_NL_STAT_ENTERS		= 12,
	ROOST_NL_STAT_SUBMITTED		= 13,
	ROOST_NL_STAT_COMPLETED		= 14,
	ROOST_NL_STAT_OVERFLOWED	= 15,
	ROOST_NL_STAT_TIMERS_SET	= 16,
	ROOST_NL_STAT_TIMERS_MOVED	= 17,
	ROOST_NL_STAT_TIMERS_FIRED	= 18,
	ROOST_NL_STAT_TIMERS_CANCELLED	= 19,
	ROOST_NL_STAT_POLLS_ADDED	= 20,	/* domain */
	ROOST_NL_STAT_POLLS_FIRED	= 21,	/* domain */
	ROOST_NL_STAT_POLLS_REMOVED	= 22,	/* domain */
	ROOST_NL_STAT_HRTIMER_STARTS	= 23,
	ROOST_NL_STAT_HRTIMER_FIRES	= 24,
	ROOST_NL_STAT_IOS_STARTED	= 25,
	ROOST_NL_STAT_IOS_WAITED	= 26,
	ROOST_NL_STAT_IOS_DONE		= 27,
	ROOST_NL_STAT_IOS_PENDING	= 28,	/* domain */
	ROOST_NL_STAT_FILES		= 29,	/* domain */
	ROOST_NL_STAT_BLOCKED		= 30,
	ROOST_NL_STAT_PREEMPTED		= 31,
	ROOST_NL_STAT_TAKEN		= 32,
	ROOST_NL_STAT_STARVED		= 33,
	ROOST_NL_STAT_SPUN		= 34,
	ROOST_NL_STAT_PARKS_BUSY	= 35,
};

#define ROOST_NL_STAT_MAX	ROOST_NL_STAT_PARKS_BUSY

/**
 * enum roost_nl_limit - a module parameter
 * @ROOST_NL_LIMIT_PAD: padding
 * @ROOST_NL_LIMIT_NAME: string, as in /sys/module/roost/parameters
 * @ROOST_NL_LIMIT_VALUE: u64; 0 or 1 of a switch
 */
enum roost_nl_limit {
	ROOST_NL_LIMIT_PAD	= 0,
	ROOST_NL_LIMIT_NAME	= 1,
	ROOST_NL_LIMIT_VALUE	= 2,
};

#define ROOST_NL_LIMIT_MAX	ROOST_NL_LIMIT_VALUE

#endif /* _UAPI_LINUX_ROOST_NETLINK_H */
