// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/roost: says what the module can do, and makes domains.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>

#include <uapi/linux/roost.h>

#include "args.h"
#include "dev.h"
#include "domain.h"
#include "file.h"
#include "io.h"
#include "poll.h"
#include "timeout.h"
#include "wheel.h"

/*
 * Who may open it at all, as the node is made; where udev runs, its rules come
 * later.  The limits of users hold whatever this is.
 */
static ushort dev_mode = 0666;
module_param(dev_mode, ushort, 0444);
MODULE_PARM_DESC(dev_mode, "mode of /dev/roost (0666)");

static int query_info(void __user *arg, unsigned int cmd)
{
	struct roost_info info;
	u32 i;
	int ret;

	ret = roost_args_get(&info, sizeof(info), arg, cmd,
			     ROOST_INFO_SIZE_VER0);
	if (ret)
		return ret;
	if (memchr_inv(&info, 0, sizeof(info)))
		return -EINVAL;

	info.api_version = ROOST_API_VERSION;
	info.max_workers = ROOST_MAX_WORKERS;
	info.features = roost_features();
	info.max_sq_entries = ROOST_MAX_SQ_ENTRIES;
	info.max_cq_entries = ROOST_MAX_CQ_ENTRIES;
	info.max_timers = roost_max_timers;
	info.max_polls = roost_max_polls;
	info.max_ios = roost_max_ios;
	info.max_files = roost_max_files;
	for (i = 0; i < ROOST_OP_NR; i++)
		info.ops |= BIT_ULL(i);
	return roost_args_put(arg, &info, sizeof(info), cmd);
}

/* A module parameter may be anything. */
static bool exceeds(u32 nr, unsigned int max)
{
	return nr > min(max, ROOST_TABLE_MAX);
}

static int check_domain_params(struct roost_domain_params *params)
{
	if (params->flags & ~ROOST_DOMAIN_NO_IO || params->features ||
	    params->control_size || params->events_size ||
	    memchr_inv(params->reserved, 0, sizeof(params->reserved)))
		return -EINVAL;
	if (params->slack_ns > ROOST_MAX_SLACK_NS)
		return -EINVAL;
	if (!params->tick_shift)
		params->tick_shift = ROOST_DEFAULT_TICK_SHIFT;
	if (params->tick_shift < ROOST_MIN_TICK_SHIFT ||
	    params->tick_shift > ROOST_MAX_TICK_SHIFT)
		return -EINVAL;
	if (exceeds(params->nr_timers, roost_max_timers) ||
	    exceeds(params->nr_polls, roost_max_polls) ||
	    exceeds(params->nr_ios, roost_max_ios) ||
	    exceeds(params->nr_files, roost_max_files))
		return -EINVAL;
	return 0;
}

static int create_domain(void __user *arg, unsigned int cmd)
{
	struct roost_domain_params params;
	int ret;

	ret = roost_args_get(&params, sizeof(params), arg, cmd,
			     ROOST_DOMAIN_PARAMS_SIZE_VER0);
	if (ret)
		return ret;
	ret = check_domain_params(&params);
	if (ret)
		return ret;
	return roost_domain_create(&params, arg, cmd);
}

static long dev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (ROOST_CMD(cmd)) {
	case ROOST_CMD(ROOST_IOC_INFO):
		return query_info((void __user *)arg, cmd);
	case ROOST_CMD(ROOST_IOC_CREATE_DOMAIN):
		return create_domain((void __user *)arg, cmd);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations dev_fops = {
	.owner		= THIS_MODULE,
	.open		= nonseekable_open,
	.unlocked_ioctl	= dev_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static struct miscdevice dev_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "roost",
	.fops	= &dev_fops,
};

/**
 * roost_dev_file() - is this file /dev/roost?
 * @file:	any file
 */
bool roost_dev_file(const struct file *file)
{
	return file->f_op == &dev_fops;
}

/**
 * roost_dev_init() - make the device appear
 *
 * Return: 0; -EINVAL for a mode that no device has; other -errno.
 */
int __init roost_dev_init(void)
{
	if (dev_mode & ~0666)
		return -EINVAL;
	dev_misc.mode = dev_mode;
	return misc_register(&dev_misc);
}

/**
 * roost_dev_exit() - make the device go
 */
void roost_dev_exit(void)
{
	misc_deregister(&dev_misc);
}
