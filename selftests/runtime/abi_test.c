// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * abi_test.c - structures that programs share with the library are as they were, for
 * programs that were compiled before.
 *
 * A new member takes from @reserved, whose offset changes here and nothing else does.
 */
#include <stddef.h>

#include "run.h"

struct member {
	const char *name;
	size_t is, was;
};

#define AT(type, member, offset) \
	{ #type "." #member, offsetof(struct type, member), offset }

static const struct member members[] = {
	AT(roost_config, workers, 0),
	AT(roost_config, max_actors, 4),
	AT(roost_config, stack_size, 8),
	AT(roost_config, stack_pool, 16),
	AT(roost_config, max_fds, 20),
	AT(roost_config, tick_ns, 24),
	AT(roost_config, slack_ns, 32),
	AT(roost_config, backend, 40),
	AT(roost_config, standbys, 44),
	AT(roost_config, stack_chunk, 48),
	AT(roost_config, stack_flags, 52),
	AT(roost_config, faults, 56),
	AT(roost_config, runq, 60),
	AT(roost_config, wake_slot, 64),
	AT(roost_config, timeslice, 68),
	AT(roost_config, check_every, 72),
	AT(roost_config, min_workers, 76),
	AT(roost_config, max_workers, 80),
	AT(roost_config, account, 84),
	AT(roost_config, trace_events, 88),
	AT(roost_config, reserved, 92),
	AT(roost_stats, backend, 0),
	AT(roost_stats, workers, 8),
	AT(roost_stats, live, 12),
	AT(roost_stats, spawned, 16),
	AT(roost_stats, resumes, 24),
	AT(roost_stats, parks, 32),
	AT(roost_stats, parks_refused, 40),
	AT(roost_stats, wakes_sent, 48),
	AT(roost_stats, wakes_received, 56),
	AT(roost_stats, wake_calls, 64),
	AT(roost_stats, enters, 72),
	AT(roost_stats, timers_armed, 80),
	AT(roost_stats, timers_fired, 88),
	AT(roost_stats, fd_arms, 96),
	AT(roost_stats, fd_events, 104),
	AT(roost_stats, busy_ns, 112),
	AT(roost_stats, idle_mask, 120),
	AT(roost_stats, ring_ios, 152),
	AT(roost_stats, takeovers, 160),
	AT(roost_stats, displaced, 168),
	AT(roost_stats, starved, 176),
	AT(roost_stats, stack_high, 184),
	AT(roost_stats, crashed, 192),
	AT(roost_stats, slot_hits, 200),
	AT(roost_stats, slot_displaced, 208),
	AT(roost_stats, overruns, 216),
	AT(roost_stats, reserved, 224),
	AT(roost_spawn_options, stack_size, 0),
	AT(roost_spawn_options, name, 8),
	AT(roost_spawn_options, reserved, 16),
	AT(roost_outcome, pid, 0),
	AT(roost_outcome, how, 8),
	AT(roost_outcome, reason, 12),
	AT(roost_outcome, code, 16),
	AT(roost_outcome, address, 24),
	AT(roost_outcome, pc, 32),
	AT(roost_outcome, reserved, 40),
	AT(roost_actor_info, pid, 0),
	AT(roost_actor_info, doing, 8),
	AT(roost_actor_info, waits_for, 12),
	AT(roost_actor_info, worker, 16),
	AT(roost_actor_info, overruns, 20),
	AT(roost_actor_info, stopped, 24),
	AT(roost_actor_info, name, 28),
	AT(roost_actor_info, reserved0, 44),
	AT(roost_actor_info, cycles, 48),
	AT(roost_actor_info, reserved, 56),
	AT(roost_worker_stats, running, 0),
	AT(roost_worker_stats, next, 8),
	AT(roost_worker_stats, queued, 16),
	AT(roost_worker_stats, idle, 20),
	AT(roost_worker_stats, reserved0, 24),
	AT(roost_worker_stats, spawned, 32),
	AT(roost_worker_stats, resumes, 40),
	AT(roost_worker_stats, parks, 48),
	AT(roost_worker_stats, parks_refused, 56),
	AT(roost_worker_stats, wakes_sent, 64),
	AT(roost_worker_stats, wakes_received, 72),
	AT(roost_worker_stats, wake_calls, 80),
	AT(roost_worker_stats, enters, 88),
	AT(roost_worker_stats, timers_armed, 96),
	AT(roost_worker_stats, timers_fired, 104),
	AT(roost_worker_stats, fd_arms, 112),
	AT(roost_worker_stats, fd_events, 120),
	AT(roost_worker_stats, ring_ios, 128),
	AT(roost_worker_stats, displaced, 136),
	AT(roost_worker_stats, crashed, 144),
	AT(roost_worker_stats, slot_hits, 152),
	AT(roost_worker_stats, slot_displaced, 160),
	AT(roost_worker_stats, overruns, 168),
	AT(roost_worker_stats, reserved, 176),
	AT(roost_stack_info, size, 0),
	AT(roost_stack_info, address_space, 8),
	AT(roost_stack_info, used, 16),
	AT(roost_stack_info, pooled, 24),
	AT(roost_stack_info, unused, 32),
	AT(roost_stack_info, chunks, 40),
	AT(roost_stack_info, reserved, 44),
	AT(roost_trace_event, time, 0),
	AT(roost_trace_event, pid, 8),
	AT(roost_trace_event, value, 16),
	AT(roost_trace_event, kind, 24),
	AT(roost_trace_event, detail, 28),
};

ROOST_TEST(members_are_where_they_were)
{
	const struct member *m;
	size_t i;

	for (i = 0; i < sizeof(members) / sizeof(*members); i++) {
		m = &members[i];
		CHECK_MSG(m->is == m->was, "%s is at %zu, was at %zu", m->name,
			  m->is, m->was);
	}
}

ROOST_TEST(structures_are_as_large_as_they_were)
{
	CHECK_EQ(sizeof(struct roost_config), 128);
	CHECK_EQ(sizeof(struct roost_stats), 384);
	CHECK_EQ(sizeof(struct roost_spawn_options), 32);
	CHECK_EQ(sizeof(struct roost_outcome), 64);
	CHECK_EQ(sizeof(struct roost_actor_info), 72);
	CHECK_EQ(sizeof(struct roost_worker_stats), 256);
	CHECK_EQ(sizeof(struct roost_stack_info), 64);
	CHECK_EQ(sizeof(struct roost_trace_event), 32);
}
