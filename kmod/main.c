// SPDX-License-Identifier: GPL-2.0
/*
 * Module init and exit: a table of what has to be set up, undone in reverse.
 */
#include <linux/init.h>
#include <linux/mmu_notifier.h>
#include <linux/module.h>
#include <linux/rcupdate.h>

#include <uapi/linux/roost.h>

#include "carrier.h"
#include "dev.h"
#include "file.h"
#include "io.h"
#include "layout.h"
#include "limits.h"
#include "netlink.h"
#include "park.h"
#include "poll.h"
#include "timeout.h"

static int __init roost_init(void)
{
	int ret;

	roost_park_init();
	roost_limits_init();
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
	ret = roost_netlink_init();
	if (ret)
		goto exit_io;
	ret = roost_dev_init();
	if (ret)
		goto exit_netlink;
	return 0;

exit_netlink:
	roost_netlink_exit();
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
	roost_carrier_exit();
	roost_netlink_exit();
	roost_io_exit();
	roost_file_exit();
	roost_poll_exit();
	roost_timeout_exit();
	roost_limits_exit();
}

module_init(roost_init);
module_exit(roost_exit);

MODULE_AUTHOR("The roost developers");
MODULE_DESCRIPTION("Sleep, wake, time and readiness for very many actors");
MODULE_VERSION(ROOST_VERSION);
MODULE_LICENSE("GPL");
