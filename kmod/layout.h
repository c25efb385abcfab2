/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The layout of what is shared is an agreement with programs that exist: each
 * size and offset, checked where the module is built.  New fields are added here;
 * no line that is here ever changes, but for the size of what was extended.
 * selftests/uapi/layout_test.c checks the same for programs, 32-bit ones too.
 */
#ifndef _ROOST_LAYOUT_H
#define _ROOST_LAYOUT_H

#include <linux/build_bug.h>
#include <linux/stddef.h>

#include <uapi/linux/roost.h>

#define LAYOUT_SIZE(type, size) \
	static_assert(sizeof(struct type) == (size))
#define LAYOUT_AT(type, field, offset) \
	static_assert(offsetof(struct type, field) == (offset))

LAYOUT_SIZE(roost_info, 64);
LAYOUT_AT(roost_info, api_version, 0);
LAYOUT_AT(roost_info, max_workers, 4);
LAYOUT_AT(roost_info, features, 8);
LAYOUT_AT(roost_info, max_sq_entries, 16);
LAYOUT_AT(roost_info, max_cq_entries, 20);
LAYOUT_AT(roost_info, max_timers, 24);
LAYOUT_AT(roost_info, max_polls, 28);
LAYOUT_AT(roost_info, ops, 32);
LAYOUT_AT(roost_info, max_ios, 40);
LAYOUT_AT(roost_info, max_files, 44);
LAYOUT_AT(roost_info, reserved, 48);

LAYOUT_SIZE(roost_domain_params, 64);
LAYOUT_AT(roost_domain_params, flags, 0);
LAYOUT_AT(roost_domain_params, tick_shift, 4);
LAYOUT_AT(roost_domain_params, nr_timers, 8);
LAYOUT_AT(roost_domain_params, nr_polls, 12);
LAYOUT_AT(roost_domain_params, features, 16);
LAYOUT_AT(roost_domain_params, control_size, 24);
LAYOUT_AT(roost_domain_params, events_size, 28);
LAYOUT_AT(roost_domain_params, nr_ios, 32);
LAYOUT_AT(roost_domain_params, nr_files, 36);
LAYOUT_AT(roost_domain_params, slack_ns, 40);
LAYOUT_AT(roost_domain_params, reserved, 48);

LAYOUT_SIZE(roost_worker_params, 48);
LAYOUT_AT(roost_worker_params, flags, 0);
LAYOUT_AT(roost_worker_params, sq_entries, 4);
LAYOUT_AT(roost_worker_params, cq_entries, 8);
LAYOUT_AT(roost_worker_params, index, 12);
LAYOUT_AT(roost_worker_params, sq_offset, 16);
LAYOUT_AT(roost_worker_params, cq_offset, 20);
LAYOUT_AT(roost_worker_params, map_size, 24);
LAYOUT_AT(roost_worker_params, reserved0, 28);
LAYOUT_AT(roost_worker_params, reserved, 32);

LAYOUT_SIZE(roost_wake, 16);
LAYOUT_AT(roost_wake, flags, 0);
LAYOUT_AT(roost_wake, index, 4);
LAYOUT_AT(roost_wake, reserved, 8);

LAYOUT_SIZE(roost_attach, 16);
LAYOUT_AT(roost_attach, flags, 0);
LAYOUT_AT(roost_attach, reserved0, 4);
LAYOUT_AT(roost_attach, lease, 8);

LAYOUT_SIZE(roost_standby, 32);
LAYOUT_AT(roost_standby, flags, 0);
LAYOUT_AT(roost_standby, worker, 4);
LAYOUT_AT(roost_standby, lease, 8);
LAYOUT_AT(roost_standby, reserved, 16);

LAYOUT_SIZE(roost_enter, 48);
LAYOUT_AT(roost_enter, flags, 0);
LAYOUT_AT(roost_enter, to_submit, 4);
LAYOUT_AT(roost_enter, deadline, 8);
LAYOUT_AT(roost_enter, event, 16);
LAYOUT_AT(roost_enter, wake, 20);
LAYOUT_AT(roost_enter, submitted, 24);
LAYOUT_AT(roost_enter, outcome, 28);
LAYOUT_AT(roost_enter, reserved, 32);

LAYOUT_SIZE(roost_sqe, 64);
LAYOUT_AT(roost_sqe, opcode, 0);
LAYOUT_AT(roost_sqe, flags, 1);
LAYOUT_AT(roost_sqe, reserved0, 2);
LAYOUT_AT(roost_sqe, fd, 4);
LAYOUT_AT(roost_sqe, op_id, 8);
LAYOUT_AT(roost_sqe, deadline, 16);
LAYOUT_AT(roost_sqe, events, 24);
LAYOUT_AT(roost_sqe, worker, 28);
LAYOUT_AT(roost_sqe, addr, 32);
LAYOUT_AT(roost_sqe, addr2, 40);
LAYOUT_AT(roost_sqe, offset, 40);
LAYOUT_AT(roost_sqe, len, 48);
LAYOUT_AT(roost_sqe, len2, 52);
LAYOUT_AT(roost_sqe, msg_flags, 56);
LAYOUT_AT(roost_sqe, file_seq, 60);

LAYOUT_SIZE(roost_cqe, 16);
LAYOUT_AT(roost_cqe, user_data, 0);
LAYOUT_AT(roost_cqe, res, 8);
LAYOUT_AT(roost_cqe, flags, 12);

LAYOUT_SIZE(roost_control, 448);
LAYOUT_AT(roost_control, api_version, 0);
LAYOUT_AT(roost_control, tick_shift, 4);
LAYOUT_AT(roost_control, features, 8);
LAYOUT_AT(roost_control, pad0, 16);
LAYOUT_AT(roost_control, event, 64);
LAYOUT_AT(roost_control, pad1, 68);
LAYOUT_AT(roost_control, idle, 128);
LAYOUT_AT(roost_control, pad2, 160);
LAYOUT_AT(roost_control, cq_ready, 192);
LAYOUT_AT(roost_control, pad3, 224);
LAYOUT_AT(roost_control, io_ready, 256);
LAYOUT_AT(roost_control, pad4, 260);
LAYOUT_AT(roost_control, on_cpu, 320);
LAYOUT_AT(roost_control, blocked, 352);
LAYOUT_AT(roost_control, queued, 384);
LAYOUT_AT(roost_control, pad5, 388);

LAYOUT_SIZE(roost_worker_page, 256);
LAYOUT_AT(roost_worker_page, sq_head, 0);
LAYOUT_AT(roost_worker_page, pad0, 4);
LAYOUT_AT(roost_worker_page, cq_tail, 64);
LAYOUT_AT(roost_worker_page, cq_overflow, 68);
LAYOUT_AT(roost_worker_page, lease, 72);
LAYOUT_AT(roost_worker_page, parked, 80);
LAYOUT_AT(roost_worker_page, pad1, 84);
LAYOUT_AT(roost_worker_page, sq_tail, 128);
LAYOUT_AT(roost_worker_page, in_library, 132);
LAYOUT_AT(roost_worker_page, pending_min, 136);
LAYOUT_AT(roost_worker_page, resumes, 144);
LAYOUT_AT(roost_worker_page, preempt, 148);
LAYOUT_AT(roost_worker_page, pad3, 152);
LAYOUT_AT(roost_worker_page, cq_head, 192);
LAYOUT_AT(roost_worker_page, pad4, 196);

LAYOUT_SIZE(roost_domain_stat, 288);
LAYOUT_AT(roost_domain_stat, workers, 0);
LAYOUT_AT(roost_domain_stat, timers_pending, 4);
LAYOUT_AT(roost_domain_stat, polls_armed, 8);
LAYOUT_AT(roost_domain_stat, overflow_pending, 12);
LAYOUT_AT(roost_domain_stat, parked, 16);
LAYOUT_AT(roost_domain_stat, parks, 48);
LAYOUT_AT(roost_domain_stat, parks_refused, 56);
LAYOUT_AT(roost_domain_stat, wakes, 64);
LAYOUT_AT(roost_domain_stat, wakes_received, 72);
LAYOUT_AT(roost_domain_stat, wakes_kernel, 80);
LAYOUT_AT(roost_domain_stat, timeouts, 88);
LAYOUT_AT(roost_domain_stat, signals, 96);
LAYOUT_AT(roost_domain_stat, enters, 104);
LAYOUT_AT(roost_domain_stat, submitted, 112);
LAYOUT_AT(roost_domain_stat, completed, 120);
LAYOUT_AT(roost_domain_stat, overflowed, 128);
LAYOUT_AT(roost_domain_stat, timers_set, 136);
LAYOUT_AT(roost_domain_stat, timers_moved, 144);
LAYOUT_AT(roost_domain_stat, timers_fired, 152);
LAYOUT_AT(roost_domain_stat, timers_cancelled, 160);
LAYOUT_AT(roost_domain_stat, polls_added, 168);
LAYOUT_AT(roost_domain_stat, polls_fired, 176);
LAYOUT_AT(roost_domain_stat, polls_removed, 184);
LAYOUT_AT(roost_domain_stat, hrtimer_starts, 192);
LAYOUT_AT(roost_domain_stat, hrtimer_fires, 200);
LAYOUT_AT(roost_domain_stat, ios_started, 208);
LAYOUT_AT(roost_domain_stat, ios_waited, 216);
LAYOUT_AT(roost_domain_stat, ios_done, 224);
LAYOUT_AT(roost_domain_stat, ios_pending, 232);
LAYOUT_AT(roost_domain_stat, files, 236);
LAYOUT_AT(roost_domain_stat, blocked, 240);
LAYOUT_AT(roost_domain_stat, preempted, 248);
LAYOUT_AT(roost_domain_stat, taken, 256);
LAYOUT_AT(roost_domain_stat, starved, 264);
LAYOUT_AT(roost_domain_stat, spun, 272);
LAYOUT_AT(roost_domain_stat, parks_busy, 280);

/* Sizes are part of the ioctl numbers, which are known by their whole value. */
static_assert(ROOST_IOC_INFO == 0xc040bd00);
static_assert(ROOST_IOC_CREATE_DOMAIN == 0xc040bd01);
static_assert(ROOST_IOC_CREATE_WORKER == 0xc030bd10);
static_assert(ROOST_IOC_WAKE == 0x4010bd11);
static_assert(ROOST_IOC_DOMAIN_STAT == 0xc120bd12);
static_assert(ROOST_IOC_STANDBY == 0xc020bd13);
static_assert(ROOST_IOC_ATTACH == 0xc010bd20);
static_assert(ROOST_IOC_DETACH == 0x0000bd21);
static_assert(ROOST_IOC_ENTER == 0xc030bd22);

/* The shortest that is accepted ends before what was reserved from the start. */
static_assert(offsetof(struct roost_info, reserved) == ROOST_INFO_SIZE_VER0);
static_assert(offsetof(struct roost_domain_params, reserved) ==
	      ROOST_DOMAIN_PARAMS_SIZE_VER0);
static_assert(offsetof(struct roost_worker_params, reserved) ==
	      ROOST_WORKER_PARAMS_SIZE_VER0);
static_assert(offsetof(struct roost_wake, reserved) == ROOST_WAKE_SIZE_VER0);
static_assert(sizeof(struct roost_attach) == ROOST_ATTACH_SIZE_VER0);
static_assert(offsetof(struct roost_enter, reserved) == ROOST_ENTER_SIZE_VER0);
static_assert(offsetof(struct roost_standby, reserved) ==
	      ROOST_STANDBY_SIZE_VER0);
static_assert(offsetof(struct roost_domain_stat, blocked) ==
	      ROOST_DOMAIN_STAT_SIZE_VER0);

#endif /* _ROOST_LAYOUT_H */
