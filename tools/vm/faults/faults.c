// SPDX-License-Identifier: GPL-2.0
/*
 * Faults on demand, to see that the VM runner notices them. Stock kernels have
 * no such module of their own. Loading it commits the fault that the parameter
 * names; it is never loaded outside the runner's own test.
 */

#include <linux/module.h>
#include <linux/printk.h>
#include <linux/string.h>

static char *fault = "";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "warn, oops or notice");

static int __init faults_init(void)
{
	int *volatile nowhere = NULL;

	if (!strcmp(fault, "warn"))
		WARN(1, "faults: a warning on demand\n");
	else if (!strcmp(fault, "oops"))
		*nowhere = 1;
	else if (!strcmp(fault, "notice"))
		pr_notice("nothing but a notice\n");
	else
		return -EINVAL;
	return 0;
}

static void __exit faults_exit(void)
{
}

module_init(faults_init);
module_exit(faults_exit);

MODULE_DESCRIPTION("Faults on demand for the VM runner's test");
MODULE_LICENSE("GPL");
