// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * layout_test.c - the layout of what is shared, and the numbers of the calls: an
 * agreement with programs that exist, so no line here ever changes.
 *
 * The same as kmod/layout.h, from the other side: this one is also built for
 * 32-bit processes, and says what the kernel makes of each size.
 */
#include "kselftest_harness.h"

#include "roost_test.h"

struct row {
	const char *what;
	size_t offset, size;
	size_t is_offset, is_size;
};

#define SIZE(type, size) \
	{ #type, 0, size, 0, sizeof(struct type) }
#define FIELD(type, field, offset, size) \
	{ #type "." #field, offset, size, offsetof(struct type, field), \
	  sizeof(((struct type *)NULL)->field) }

static const struct row rows[] = {
	SIZE(roost_info, 64),
	FIELD(roost_info, api_version, 0, 4),
	FIELD(roost_info, max_workers, 4, 4),
	FIELD(roost_info, features, 8, 8),
	FIELD(roost_info, max_sq_entries, 16, 4),
	FIELD(roost_info, max_cq_entries, 20, 4),
	FIELD(roost_info, max_timers, 24, 4),
	FIELD(roost_info, max_polls, 28, 4),
	FIELD(roost_info, ops, 32, 8),
	FIELD(roost_info, max_ios, 40, 4),
	FIELD(roost_info, max_files, 44, 4),
	FIELD(roost_info, reserved, 48, 16),
	SIZE(roost_domain_params, 64),
	FIELD(roost_domain_params, flags, 0, 4),
	FIELD(roost_domain_params, tick_shift, 4, 4),
	FIELD(roost_domain_params, nr_timers, 8, 4),
	FIELD(roost_domain_params, nr_polls, 12, 4),
	FIELD(roost_domain_params, features, 16, 8),
	FIELD(roost_domain_params, control_size, 24, 4),
	FIELD(roost_domain_params, events_size, 28, 4),
	FIELD(roost_domain_params, nr_ios, 32, 4),
	FIELD(roost_domain_params, nr_files, 36, 4),
	FIELD(roost_domain_params, slack_ns, 40, 8),
	FIELD(roost_domain_params, reserved, 48, 16),
	SIZE(roost_worker_params, 48),
	FIELD(roost_worker_params, flags, 0, 4),
	FIELD(roost_worker_params, sq_entries, 4, 4),
	FIELD(roost_worker_params, cq_entries, 8, 4),
	FIELD(roost_worker_params, index, 12, 4),
	FIELD(roost_worker_params, sq_offset, 16, 4),
	FIELD(roost_worker_params, cq_offset, 20, 4),
	FIELD(roost_worker_params, map_size, 24, 4),
	FIELD(roost_worker_params, reserved0, 28, 4),
	FIELD(roost_worker_params, reserved, 32, 16),
	SIZE(roost_wake, 16),
	FIELD(roost_wake, flags, 0, 4),
	FIELD(roost_wake, index, 4, 4),
	FIELD(roost_wake, reserved, 8, 8),
	SIZE(roost_attach, 16),
	FIELD(roost_attach, flags, 0, 4),
	FIELD(roost_attach, reserved0, 4, 4),
	FIELD(roost_attach, lease, 8, 8),
	SIZE(roost_standby, 32),
	FIELD(roost_standby, flags, 0, 4),
	FIELD(roost_standby, worker, 4, 4),
	FIELD(roost_standby, lease, 8, 8),
	FIELD(roost_standby, reserved, 16, 16),
	SIZE(roost_enter, 48),
	FIELD(roost_enter, flags, 0, 4),
	FIELD(roost_enter, to_submit, 4, 4),
	FIELD(roost_enter, deadline, 8, 8),
	FIELD(roost_enter, event, 16, 4),
	FIELD(roost_enter, wake, 20, 4),
	FIELD(roost_enter, submitted, 24, 4),
	FIELD(roost_enter, outcome, 28, 4),
	FIELD(roost_enter, reserved, 32, 16),
	SIZE(roost_sqe, 64),
	FIELD(roost_sqe, opcode, 0, 1),
	FIELD(roost_sqe, flags, 1, 1),
	FIELD(roost_sqe, reserved0, 2, 2),
	FIELD(roost_sqe, fd, 4, 4),
	FIELD(roost_sqe, op_id, 8, 8),
	FIELD(roost_sqe, deadline, 16, 8),
	FIELD(roost_sqe, events, 24, 4),
	FIELD(roost_sqe, worker, 28, 4),
	FIELD(roost_sqe, addr, 32, 8),
	FIELD(roost_sqe, addr2, 40, 8),
	FIELD(roost_sqe, offset, 40, 8),
	FIELD(roost_sqe, len, 48, 4),
	FIELD(roost_sqe, len2, 52, 4),
	FIELD(roost_sqe, msg_flags, 56, 4),
	FIELD(roost_sqe, file_seq, 60, 4),
	SIZE(roost_cqe, 16),
	FIELD(roost_cqe, user_data, 0, 8),
	FIELD(roost_cqe, res, 8, 4),
	FIELD(roost_cqe, flags, 12, 4),
	SIZE(roost_control, 448),
	FIELD(roost_control, api_version, 0, 4),
	FIELD(roost_control, tick_shift, 4, 4),
	FIELD(roost_control, features, 8, 8),
	FIELD(roost_control, pad0, 16, 48),
	FIELD(roost_control, event, 64, 4),
	FIELD(roost_control, pad1, 68, 60),
	FIELD(roost_control, idle, 128, 32),
	FIELD(roost_control, pad2, 160, 32),
	FIELD(roost_control, cq_ready, 192, 32),
	FIELD(roost_control, pad3, 224, 32),
	FIELD(roost_control, io_ready, 256, 4),
	FIELD(roost_control, pad4, 260, 60),
	FIELD(roost_control, on_cpu, 320, 32),
	FIELD(roost_control, blocked, 352, 32),
	FIELD(roost_control, queued, 384, 4),
	FIELD(roost_control, pad5, 388, 60),
	SIZE(roost_worker_page, 256),
	FIELD(roost_worker_page, sq_head, 0, 4),
	FIELD(roost_worker_page, pad0, 4, 60),
	FIELD(roost_worker_page, cq_tail, 64, 4),
	FIELD(roost_worker_page, cq_overflow, 68, 4),
	FIELD(roost_worker_page, lease, 72, 8),
	FIELD(roost_worker_page, parked, 80, 4),
	FIELD(roost_worker_page, pad1, 84, 44),
	FIELD(roost_worker_page, sq_tail, 128, 4),
	FIELD(roost_worker_page, in_library, 132, 4),
	FIELD(roost_worker_page, pending_min, 136, 8),
	FIELD(roost_worker_page, resumes, 144, 4),
	FIELD(roost_worker_page, preempt, 148, 4),
	FIELD(roost_worker_page, pad3, 152, 40),
	FIELD(roost_worker_page, cq_head, 192, 4),
	FIELD(roost_worker_page, pad4, 196, 60),
	SIZE(roost_domain_stat, 288),
	FIELD(roost_domain_stat, workers, 0, 4),
	FIELD(roost_domain_stat, timers_pending, 4, 4),
	FIELD(roost_domain_stat, polls_armed, 8, 4),
	FIELD(roost_domain_stat, overflow_pending, 12, 4),
	FIELD(roost_domain_stat, parked, 16, 32),
	FIELD(roost_domain_stat, parks, 48, 8),
	FIELD(roost_domain_stat, parks_refused, 56, 8),
	FIELD(roost_domain_stat, wakes, 64, 8),
	FIELD(roost_domain_stat, wakes_received, 72, 8),
	FIELD(roost_domain_stat, wakes_kernel, 80, 8),
	FIELD(roost_domain_stat, timeouts, 88, 8),
	FIELD(roost_domain_stat, signals, 96, 8),
	FIELD(roost_domain_stat, enters, 104, 8),
	FIELD(roost_domain_stat, submitted, 112, 8),
	FIELD(roost_domain_stat, completed, 120, 8),
	FIELD(roost_domain_stat, overflowed, 128, 8),
	FIELD(roost_domain_stat, timers_set, 136, 8),
	FIELD(roost_domain_stat, timers_moved, 144, 8),
	FIELD(roost_domain_stat, timers_fired, 152, 8),
	FIELD(roost_domain_stat, timers_cancelled, 160, 8),
	FIELD(roost_domain_stat, polls_added, 168, 8),
	FIELD(roost_domain_stat, polls_fired, 176, 8),
	FIELD(roost_domain_stat, polls_removed, 184, 8),
	FIELD(roost_domain_stat, hrtimer_starts, 192, 8),
	FIELD(roost_domain_stat, hrtimer_fires, 200, 8),
	FIELD(roost_domain_stat, ios_started, 208, 8),
	FIELD(roost_domain_stat, ios_waited, 216, 8),
	FIELD(roost_domain_stat, ios_done, 224, 8),
	FIELD(roost_domain_stat, ios_pending, 232, 4),
	FIELD(roost_domain_stat, files, 236, 4),
	FIELD(roost_domain_stat, blocked, 240, 8),
	FIELD(roost_domain_stat, preempted, 248, 8),
	FIELD(roost_domain_stat, taken, 256, 8),
	FIELD(roost_domain_stat, starved, 264, 8),
	FIELD(roost_domain_stat, spun, 272, 8),
	FIELD(roost_domain_stat, parks_busy, 280, 8),
};

/* C33 */
TEST(structures)
{
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		EXPECT_EQ(rows[i].is_offset, rows[i].offset)
			TH_LOG("%s", rows[i].what);
		EXPECT_EQ(rows[i].is_size, rows[i].size)
			TH_LOG("%s", rows[i].what);
	}
}

/* Each field is accounted for: a row follows where the one before has ended. */
TEST(no_hole)
{
	size_t end = 0, total = 0;
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!strchr(rows[i].what, '.')) {
			EXPECT_EQ(end, total)
				TH_LOG("before %s", rows[i].what);
			total = rows[i].size;
			end = 0;
			continue;
		}
		/* the second member of a union begins where the first did */
		if (rows[i].offset + rows[i].size == end)
			continue;
		EXPECT_EQ(rows[i].offset, end)
			TH_LOG("%s", rows[i].what);
		end = rows[i].offset + rows[i].size;
	}
	EXPECT_EQ(end, total);
}

TEST(numbers)
{
	EXPECT_EQ(ROOST_IOC_INFO, 0xc040bd00U);
	EXPECT_EQ(ROOST_IOC_CREATE_DOMAIN, 0xc040bd01U);
	EXPECT_EQ(ROOST_IOC_CREATE_WORKER, 0xc030bd10U);
	EXPECT_EQ(ROOST_IOC_WAKE, 0x4010bd11U);
	EXPECT_EQ(ROOST_IOC_DOMAIN_STAT, 0xc120bd12U);
	EXPECT_EQ(ROOST_IOC_STANDBY, 0xc020bd13U);
	EXPECT_EQ(ROOST_IOC_ATTACH, 0xc010bd20U);
	EXPECT_EQ(ROOST_IOC_DETACH, 0x0000bd21U);
	EXPECT_EQ(ROOST_IOC_ENTER, 0xc030bd22U);
}

TEST(constants)
{
	EXPECT_EQ(ROOST_API_VERSION, 1U);
	EXPECT_EQ(ROOST_MAX_WORKERS, 256U);
	EXPECT_EQ(ROOST_MASK_WORDS, 4U);
	EXPECT_EQ(ROOST_MAX_SQ_ENTRIES, 0x8000U);
	EXPECT_EQ(ROOST_MAX_CQ_ENTRIES, 0x10000U);
	EXPECT_EQ(ROOST_MIN_TICK_SHIFT, 10U);
	EXPECT_EQ(ROOST_MAX_TICK_SHIFT, 30U);
	EXPECT_EQ(ROOST_DEFAULT_TICK_SHIFT, 16U);
	EXPECT_EQ(ROOST_MAX_SLACK_NS, 0x3b9aca00U);
	EXPECT_EQ(ROOST_NO_DEADLINE, 0xffffffffffffffffULL);
	EXPECT_EQ(ROOST_MAX_DEADLINE, 0x7fffffffffffffffULL);
	EXPECT_EQ(ROOST_FEAT_TIMER, 1U);
	EXPECT_EQ(ROOST_FEAT_POLL, 2U);
	EXPECT_EQ(ROOST_FEAT_MULTISHOT, 4U);
	EXPECT_EQ(ROOST_FEAT_SYNC_WAKE, 8U);
	EXPECT_EQ(ROOST_FEAT_IO, 16U);
	EXPECT_EQ(ROOST_FEAT_CARRIERS, 32U);
	EXPECT_EQ(ROOST_FEAT_STANDBY, 64U);
	EXPECT_EQ(ROOST_DOMAIN_NO_IO, 1U);
	EXPECT_EQ(ROOST_OFF_CONTROL, 0U);
	EXPECT_EQ(ROOST_OFF_EVENTS, 0x10000000U);
	EXPECT_EQ(ROOST_WAKE_ONE, 1U);
	EXPECT_EQ(ROOST_WAKE_INDEX, 2U);
	EXPECT_EQ(ROOST_WAKE_ALL, 4U);
	EXPECT_EQ(ROOST_WAKE_SYNC, 8U);
	EXPECT_EQ(ROOST_ENTER_PARK, 1U);
	EXPECT_EQ(ROOST_ENTER_WAKE, 2U);
	EXPECT_EQ(ROOST_OUT_WAKE, 1U);
	EXPECT_EQ(ROOST_OUT_EVENT, 2U);
	EXPECT_EQ(ROOST_OUT_TIMEOUT, 4U);
	EXPECT_EQ(ROOST_OUT_SIGNAL, 8U);
	EXPECT_EQ(ROOST_OUT_SLEPT, 16U);
	EXPECT_EQ(ROOST_OUT_CQ_FULL, 32U);
	EXPECT_EQ(ROOST_OUT_NO_TARGET, 64U);
	EXPECT_EQ(ROOST_OP_NOP, 0U);
	EXPECT_EQ(ROOST_OP_SKIP, 1U);
	EXPECT_EQ(ROOST_OP_TIMER_SET, 2U);
	EXPECT_EQ(ROOST_OP_TIMER_CANCEL, 3U);
	EXPECT_EQ(ROOST_OP_POLL_ADD, 4U);
	EXPECT_EQ(ROOST_OP_POLL_REMOVE, 5U);
	EXPECT_EQ(ROOST_OP_WAKE, 6U);
	EXPECT_EQ(ROOST_OP_RECV, 7U);
	EXPECT_EQ(ROOST_OP_SEND, 8U);
	EXPECT_EQ(ROOST_OP_RECVMSG, 9U);
	EXPECT_EQ(ROOST_OP_SENDMSG, 10U);
	EXPECT_EQ(ROOST_OP_READ, 11U);
	EXPECT_EQ(ROOST_OP_WRITE, 12U);
	EXPECT_EQ(ROOST_OP_SEND_RECV, 13U);
	EXPECT_EQ(ROOST_OP_CANCEL, 14U);
	EXPECT_EQ(ROOST_OP_FILE_REMOVE, 15U);
	EXPECT_EQ(ROOST_OP_ACCEPT_RESERVED, 62U);
	EXPECT_EQ(ROOST_OP_CONNECT_RESERVED, 63U);
	EXPECT_EQ(ROOST_OFFSET_NONE, 0xffffffffffffffffULL);
	EXPECT_EQ(ROOST_SQE_QUIET, 1U);
	EXPECT_EQ(ROOST_SQE_FILE, 4U);
	EXPECT_EQ(ROOST_POLL_MULTISHOT, 2U);
	EXPECT_EQ(ROOST_EVENT_HINT, 0x80000000U);
	EXPECT_EQ(ROOST_CQE_KIND, 255U);
	EXPECT_EQ(ROOST_CQE_NOP, 0U);
	EXPECT_EQ(ROOST_CQE_TIMER, 1U);
	EXPECT_EQ(ROOST_CQE_POLL, 2U);
	EXPECT_EQ(ROOST_CQE_CANCEL, 3U);
	EXPECT_EQ(ROOST_CQE_WAKE, 4U);
	EXPECT_EQ(ROOST_CQE_IO, 5U);
	EXPECT_EQ(ROOST_CQE_FILE, 6U);
	EXPECT_EQ(ROOST_CQE_MORE, 256U);
	EXPECT_EQ(ROOST_CQE_HINT, 512U);
	EXPECT_EQ(ROOST_CQE_REPLACED, 0x400U);
	EXPECT_EQ(ROOST_CQE_SEND, 0x800U);
	EXPECT_EQ(ROOST_CQE_TRUNC, 0x1000U);
	EXPECT_EQ(ROOST_INFO_SIZE_VER0, 48U);
	EXPECT_EQ(ROOST_DOMAIN_PARAMS_SIZE_VER0, 48U);
	EXPECT_EQ(ROOST_WORKER_PARAMS_SIZE_VER0, 32U);
	EXPECT_EQ(ROOST_WAKE_SIZE_VER0, 8U);
	EXPECT_EQ(ROOST_ATTACH_SIZE_VER0, 16U);
	EXPECT_EQ(ROOST_ENTER_SIZE_VER0, 32U);
	EXPECT_EQ(ROOST_DOMAIN_STAT_SIZE_VER0, 240U);
}

TEST_HARNESS_MAIN
