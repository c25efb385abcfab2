// SPDX-License-Identifier: GPL-2.0
/*
 * Module init and exit: a table of what has to be set up, undone in reverse.
 */
#include <linux/init.h>
#include <linux/mmu_notifier.h>
#include <linux/module.h>
#include <linux/rcupdate.h>

#include <uapi/linux/roost.h>

#include "dev.h"
#include "file.h"
#include "io.h"
#include "park.h"
#include "poll.h"
#include "timeout.h"

/*
 * The layout is an agreement with binaries that exist: every size and the
 * first offset of each group.
 */
static void __init check_layout(void)
{
	BUILD_BUG_ON(sizeof(struct roost_info) != 64);
	BUILD_BUG_ON(sizeof(struct roost_domain_params) != 64);
	BUILD_BUG_ON(sizeof(struct roost_worker_params) != 48);
	BUILD_BUG_ON(sizeof(struct roost_wake) != 16);
	BUILD_BUG_ON(sizeof(struct roost_attach) != 16);
	BUILD_BUG_ON(sizeof(struct roost_enter) != 48);
	BUILD_BUG_ON(sizeof(struct roost_domain_stat) != 264);
	BUILD_BUG_ON(sizeof(struct roost_sqe) != 64);
	BUILD_BUG_ON(offsetof(struct roost_sqe, op_id) != 8);
	BUILD_BUG_ON(offsetof(struct roost_sqe, deadline) != 16);
	BUILD_BUG_ON(offsetof(struct roost_sqe, events) != 24);
	BUILD_BUG_ON(offsetof(struct roost_sqe, addr) != 32);
	BUILD_BUG_ON(offsetof(struct roost_sqe, len) != 48);
	BUILD_BUG_ON(sizeof(struct roost_cqe) != 16);
	BUILD_BUG_ON(sizeof(struct roost_control) != 320);
	BUILD_BUG_ON(offsetof(struct roost_control, event) != 64);
	BUILD_BUG_ON(offsetof(struct roost_control, idle) != 128);
	BUILD_BUG_ON(offsetof(struct roost_control, cq_ready) != 192);
	BUILD_BUG_ON(offsetof(struct roost_control, io_ready) != 256);
	BUILD_BUG_ON(sizeof(struct roost_worker_page) != 256);
	BUILD_BUG_ON(offsetof(struct roost_worker_page, cq_tail) != 64);
	BUILD_BUG_ON(offsetof(struct roost_worker_page, parked) != 80);
	BUILD_BUG_ON(offsetof(struct roost_worker_page, sq_tail) != 128);
	BUILD_BUG_ON(offsetof(struct roost_worker_page, cq_head) != 192);
}

static int __init roost_init(void)
{
	int ret;

	check_layout();
	roost_park_init();
	ret = roost_timeout_init();
	if (ret)
		return ret;
	ret = roost_poll_init();
	if (ret)
		goto exit_timeout;
	ret = roost_file_init();
	if (ret)
		goto exit_poll;
	ret = roost_io_init();
	if (ret)
		goto exit_file;
	ret = roost_dev_init();
	if (ret)
		goto exit_io;
	return 0;

exit_io:
	roost_io_exit();
exit_file:
	roost_file_exit();
exit_poll:
	roost_poll_exit();
exit_timeout:
	roost_timeout_exit();
	return ret;
}

static void __exit roost_exit(void)
{
	roost_dev_exit();
	/*
	 * No file of ours is open, so no domain exists and no hrtimer is
	 * queued.  What may still run is the end of notifier calls.
	 */
	mmu_notifier_synchronize();
	roost_io_exit();
	roost_file_exit();
	roost_poll_exit();
	roost_timeout_exit();
}

module_init(roost_init);
module_exit(roost_exit);

MODULE_AUTHOR("The roost developers");
MODULE_DESCRIPTION("Sleep, wake, time and readiness for very many actors");
MODULE_LICENSE("GPL");
