/* SPDX-License-Identifier: GPL-2.0 */
/* A file whose readiness, wait queues and bytes are a test's to choose. */
#ifndef _ROOST_TESTS_FAKE_FILE_H
#define _ROOST_TESTS_FAKE_FILE_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/wait.h>

struct kunit;

#define FAKE_QUEUES	3

/* A wait queue that may die before its file. */
struct fake_queue {
	wait_queue_head_t head;
	struct rcu_head rcu;
};

/**
 * struct fake_file - a file of a test
 * @node:	in struct fixture
 * @file:	the test's reference
 * @nr_queues:	how many queues poll() offers, 0 to FAKE_QUEUES
 * @queues:	the queues; NULL once they died
 * @events:	what poll() says
 * @polls:	how often it was asked
 * @during_poll: called by poll() when all queues were offered, or NULL
 * @reads:	how often it was read
 * @writes:	how often it was written
 * @result:	what reads and writes say
 * @released:	the last reference is gone
 */
struct fake_file {
	struct list_head node;
	struct file *file;
	unsigned int nr_queues;
	struct fake_queue *queues[FAKE_QUEUES];
	atomic_t events;
	atomic_t polls;
	void (*during_poll)(struct fake_file *fake);
	atomic_t reads;
	atomic_t writes;
	long result;
	struct completion released;
};

struct fake_file *fake_file_make(struct kunit *test, unsigned int nr_queues);
int fake_file_fd(struct fake_file *fake);
void fake_file_wake(struct fake_file *fake, unsigned int queue, __poll_t key);
void fake_file_pollfree(struct fake_file *fake);
long fake_file_refs(struct fake_file *fake);
void fake_file_end_all(struct kunit *test, struct list_head *files);

#endif /* _ROOST_TESTS_FAKE_FILE_H */
