// SPDX-License-Identifier: GPL-2.0
/*
 * A file whose readiness, wait queues and bytes are a test's to choose.
 *
 * Each is released before its test ends, or the test fails: whoever has kept a
 * reference is found that way.
 */
#include <kunit/test.h>
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "fake_file.h"
#include "fixture.h"

static __poll_t fake_poll(struct file *file, poll_table *table)
{
	struct fake_file *fake = file->private_data;
	unsigned int i;

	atomic_inc(&fake->polls);
	for (i = 0; i < fake->nr_queues; i++)
		if (fake->queues[i])
			poll_wait(file, &fake->queues[i]->head, table);
	if (fake->during_poll)
		fake->during_poll(fake);
	return (__force __poll_t)atomic_read(&fake->events);
}

static ssize_t fake_read(struct kiocb *iocb, struct iov_iter *to)
{
	struct fake_file *fake = iocb->ki_filp->private_data;

	atomic_inc(&fake->reads);
	return READ_ONCE(fake->result);
}

static ssize_t fake_write(struct kiocb *iocb, struct iov_iter *from)
{
	struct fake_file *fake = iocb->ki_filp->private_data;

	atomic_inc(&fake->writes);
	return READ_ONCE(fake->result);
}

static int fake_release(struct inode *inode, struct file *file)
{
	struct fake_file *fake = file->private_data;

	complete(&fake->released);
	return 0;
}

static const struct file_operations fake_fops = {
	.owner		= THIS_MODULE,
	.poll		= fake_poll,
	.read_iter	= fake_read,
	.write_iter	= fake_write,
	.release	= fake_release,
};

static void free_fake(struct fake_file *fake)
{
	unsigned int i;

	for (i = 0; i < FAKE_QUEUES; i++)
		kfree(fake->queues[i]);
	kfree(fake);
}

static bool make_queues(struct fake_file *fake)
{
	unsigned int i;

	for (i = 0; i < FAKE_QUEUES; i++) {
		fake->queues[i] = kzalloc(sizeof(*fake->queues[i]), GFP_KERNEL);
		if (!fake->queues[i])
			return false;
		init_waitqueue_head(&fake->queues[i]->head);
	}
	return true;
}

/**
 * fake_file_make() - make a file
 * @test:	the test, which ends if that fails
 * @nr_queues:	how many wait queues it has, at most FAKE_QUEUES
 *
 * It is never ready, knows how not to block, and says -EAGAIN.
 */
struct fake_file *fake_file_make(struct kunit *test, unsigned int nr_queues)
{
	struct fixture *fixture = test->priv;
	struct fake_file *fake;

	fake = kzalloc(sizeof(*fake), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, fake);
	fake->nr_queues = nr_queues;
	fake->result = -EAGAIN;
	init_completion(&fake->released);
	if (make_queues(fake))
		fake->file = anon_inode_getfile("[roost-fake]", &fake_fops,
						fake, O_RDWR);
	if (IS_ERR_OR_NULL(fake->file)) {
		free_fake(fake);
		fake = NULL;
	}
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, fake);
	fake->file->f_mode |= FMODE_NOWAIT;
	list_add(&fake->node, &fixture->files);
	return fake;
}

/**
 * fake_file_fd() - a descriptor of the file, for close_fd()
 * @fake:	the file
 *
 * In the table that all kernel threads share.  Return: the number or -errno.
 */
int fake_file_fd(struct fake_file *fake)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);

	if (fd >= 0)
		fd_install(fd, get_file(fake->file));
	return fd;
}

/**
 * fake_file_wake() - wake who waits in a queue
 * @fake:	the file
 * @queue:	which queue; one that died is left alone
 * @key:	the events, 0 for a wake-up that does not say
 */
void fake_file_wake(struct fake_file *fake, unsigned int queue, __poll_t key)
{
	struct fake_queue *q;

	rcu_read_lock();
	q = READ_ONCE(fake->queues[queue]);
	if (q)
		__wake_up(&q->head, TASK_NORMAL, 1, poll_to_key(key));
	rcu_read_unlock();
}

/**
 * fake_file_pollfree() - all queues die before their file
 * @fake:	the file; nobody is in its poll operation
 *
 * As signalfd and binder do it.  The memory goes after a grace period.
 */
void fake_file_pollfree(struct fake_file *fake)
{
	struct fake_queue *q;
	unsigned int i;

	for (i = 0; i < FAKE_QUEUES; i++) {
		q = xchg(&fake->queues[i], NULL);
		if (!q)
			continue;
		__wake_up(&q->head, TASK_NORMAL, 0,
			  poll_to_key(EPOLLHUP | POLLFREE));
		/* Nobody can join any more. */
		WARN_ON_ONCE(waitqueue_active(&q->head));
		kfree_rcu(q, rcu);
	}
}

/**
 * fake_file_refs() - how many references there are
 * @fake:	the file
 */
long fake_file_refs(struct fake_file *fake)
{
	return file_count(fake->file);
}

/**
 * fake_file_end_all() - the test's references go, and with them the files
 * @test:	the test
 * @files:	its files
 */
void fake_file_end_all(struct kunit *test, struct list_head *files)
{
	struct fake_file *fake, *next;

	list_for_each_entry_safe(fake, next, files, node) {
		fput(fake->file);
		/*
		 * After an assertion failed this is the loading process, which
		 * releases files when it returns from its system call.
		 */
		if (!(current->flags & PF_KTHREAD))
			continue;
		flush_delayed_fput();
		if (wait_for_completion_timeout(&fake->released,
						FIXTURE_LIMIT))
			free_fake(fake);
		else
			KUNIT_FAIL(test, "a file is still in use");
	}
}
