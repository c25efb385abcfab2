// SPDX-License-Identifier: GPL-2.0
/*
 * Faults on demand, to see that the VM runner notices them. Stock kernels have
 * no such module of their own. Loading it commits the fault that the parameter
 * names; it is never loaded outside the runner's own test.
 */

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/string.h>

static char *fault = "";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "warn, oops, race or notice");

static unsigned long raced;

static int race(void *unused)
{
	unsigned int i;

	while (!kthread_should_stop()) {
		for (i = 0; i < 1000; i++)
			raced++;
		cond_resched();
	}
	return 0;
}

/* Two threads count together without a lock, for as long as a checker may need. */
static int __init race_for_long(void)
{
	struct task_struct *threads[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		threads[i] = kthread_run(race, NULL, "faults/%u", i);
		if (IS_ERR(threads[i]))
			break;
	}
	msleep(10000);
	while (i--)
		kthread_stop(threads[i]);
	pr_notice("counted to %lu\n", raced);
	return 0;
}

static int __init faults_init(void)
{
	int *volatile nowhere = NULL;

	if (!strcmp(fault, "warn"))
		WARN(1, "faults: a warning on demand\n");
	else if (!strcmp(fault, "oops"))
		*nowhere = 1;
	else if (!strcmp(fault, "race"))
		return race_for_long();
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
