// SPDX-License-Identifier: GPL-2.0
/*
 * Callbacks in the wait queues of files: when they run, when they do not any
 * more, and queues that die before their file.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/slab.h>

#include "../hook.h"
#include "fake_file.h"
#include "fixture.h"

/* What a hook belongs to.  A new one for each use, so that KASAN watches. */
struct owner {
	struct roost_hook hook;
	atomic_t calls;
	atomic_t frees;
	__poll_t last;
};

static int callback(struct wait_queue_entry *wait, unsigned int mode, int sync,
		    void *key)
{
	struct roost_hook_entry *entry = roost_hook_entry(wait);
	struct owner *owner = container_of(entry->hook, struct owner, hook);

	if (key_to_poll(key) & POLLFREE) {
		atomic_inc(&owner->frees);
		roost_hook_leave(entry);
		roost_hook_let_go(entry);
		return 0;
	}
	owner->last = key_to_poll(key);
	atomic_inc(&owner->calls);
	return 0;
}

static struct owner *make_owner(struct kunit *test)
{
	struct owner *owner = kzalloc(sizeof(*owner), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, owner);
	roost_hook_init(&owner->hook, callback);
	return owner;
}

static bool waits(struct fake_file *fake, u32 queue)
{
	/* Nobody else joins or leaves meanwhile. */
	return waitqueue_active(&fake->queues[queue]->head);
}

static void add_and_del(struct kunit *test)
{
	static const __poll_t keys[] = { EPOLLIN, EPOLLPRI, EPOLLOUT };
	unsigned int queues, i, round;
	struct fake_file *fake;
	struct owner *owner;
	__poll_t mask;

	for (queues = 0; queues <= ROOST_HOOK_QUEUES; queues++) {
		fake = fake_file_make(test, queues);
		owner = make_owner(test);
		atomic_set(&fake->events, (__force int)(EPOLLIN | EPOLLOUT));
		KUNIT_EXPECT_EQ(test, roost_hook_add(&owner->hook, fake->file,
						     EPOLLIN, &mask), 0);
		/* What is of interest alone, and each queue once. */
		KUNIT_EXPECT_TRUE(test, mask == EPOLLIN);
		KUNIT_EXPECT_EQ(test, owner->hook.nr, queues);
		for (i = 0; i < FAKE_QUEUES; i++) {
			KUNIT_EXPECT_EQ(test, waits(fake, i), i < queues);
			fake_file_wake(fake, i, keys[i]);
			if (i < queues)
				KUNIT_EXPECT_TRUE(test, owner->last == keys[i]);
		}
		KUNIT_EXPECT_EQ(test, atomic_read(&owner->calls), queues);
		/* As often as one likes. */
		for (round = 0; round < 2; round++) {
			roost_hook_del(&owner->hook);
			for (i = 0; i < FAKE_QUEUES; i++) {
				KUNIT_EXPECT_FALSE(test, waits(fake, i));
				fake_file_wake(fake, i, EPOLLIN);
			}
		}
		KUNIT_EXPECT_EQ(test, atomic_read(&owner->calls), queues);
		kfree(owner);
	}
}

/* A third queue is refused; what was joined until then is left by del. */
static void too_many_queues(struct kunit *test)
{
	struct fake_file *fake = fake_file_make(test, ROOST_HOOK_QUEUES + 1);
	struct owner *owner = make_owner(test);
	__poll_t mask;
	u32 i;

	KUNIT_EXPECT_EQ(test, roost_hook_add(&owner->hook, fake->file, EPOLLIN,
					     &mask), -EINVAL);
	for (i = 0; i < FAKE_QUEUES; i++)
		KUNIT_EXPECT_EQ(test, waits(fake, i), i < ROOST_HOOK_QUEUES);
	roost_hook_del(&owner->hook);
	for (i = 0; i < FAKE_QUEUES; i++)
		KUNIT_EXPECT_FALSE(test, waits(fake, i));
	kfree(owner);
}

static void wake_first(struct fake_file *fake)
{
	fake_file_wake(fake, 0, EPOLLOUT);
}

/* From the moment at which it is in the queue; poll() is still running. */
static void callbacks_during_add(struct kunit *test)
{
	struct fake_file *fake = fake_file_make(test, 1);
	struct owner *owner = make_owner(test);
	__poll_t mask;

	fake->during_poll = wake_first;
	KUNIT_EXPECT_EQ(test, roost_hook_add(&owner->hook, fake->file, EPOLLIN,
					     &mask), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&owner->calls), 1);
	KUNIT_EXPECT_TRUE(test, owner->last == EPOLLOUT);
	KUNIT_EXPECT_TRUE(test, !mask);
	roost_hook_del(&owner->hook);
	kfree(owner);
}

/* The queues die; del finds that, and touches neither them nor their memory. */
static void queues_that_die(struct kunit *test)
{
	unsigned int queues;
	struct fake_file *fake;
	struct owner *owner;
	__poll_t mask;

	for (queues = 1; queues <= ROOST_HOOK_QUEUES; queues++) {
		fake = fake_file_make(test, queues);
		owner = make_owner(test);
		KUNIT_EXPECT_EQ(test, roost_hook_add(&owner->hook, fake->file,
						     EPOLLIN, &mask), 0);
		fake_file_pollfree(fake);
		KUNIT_EXPECT_EQ(test, atomic_read(&owner->frees), queues);
		KUNIT_EXPECT_NULL(test, owner->hook.entries[0].head);
		/* Until their memory is gone. */
		synchronize_rcu();
		rcu_barrier();
		roost_hook_del(&owner->hook);
		KUNIT_EXPECT_EQ(test, atomic_read(&owner->calls), 0);
		kfree(owner);
	}
}

/* Del against wake-ups and against a queue that dies, at the same time. */
enum role { DELETES, WAKES, FREES };

struct runner {
	enum role kind;
	struct fake_file *fake;
	struct owner *owner;
	u32 delay;
};

static int run_role(void *arg)
{
	struct runner *runner = arg;
	u32 i;

	for (i = 0; i < runner->delay; i++)
		cpu_relax();
	switch (runner->kind) {
	case DELETES:
		roost_hook_del(&runner->owner->hook);
		/* No callback runs any more: use after free if one does. */
		kfree(runner->owner);
		break;
	case WAKES:
		for (i = 0; i < 20; i++)
			fake_file_wake(runner->fake, i & 1, EPOLLIN);
		break;
	case FREES:
		fake_file_pollfree(runner->fake);
		break;
	}
	return 0;
}

static void del_races(struct kunit *test)
{
	u64 state = fixture_seed(test);
	struct runner runners[3];
	struct fake_file *fake;
	struct owner *owner;
	u32 i, k, delay;
	void *args[3];
	__poll_t mask;

	for (i = 0; i < 100 && !fixture_failed(test); i++) {
		fake = fake_file_make(test, 1 + (i & 1));
		owner = make_owner(test);
		KUNIT_EXPECT_EQ(test, roost_hook_add(&owner->hook, fake->file,
						     EPOLLIN, &mask), 0);
		for (k = 0; k < 3; k++) {
			delay = fixture_below(&state, 500);
			runners[k] = (struct runner){ k, fake, owner, delay };
			args[k] = &runners[k];
		}
		fixture_race(test, run_role, args, i % 3 ? 3 : 2);
	}
}

/* Our own kind, and the two that are known by name. */
static void files_that_nest(struct kunit *test)
{
	static const struct {
		const char *name;
		bool nests;
	} rows[] = {
		{ "[eventpoll]", true }, { "[io_uring]", true },
		{ "[eventfd]", false }, { "[timerfd]", false },
		{ "[eventpoll]2", false }, { "[eventpol", false },
	};
	static const struct file_operations none = { .owner = THIS_MODULE };
	struct file *file;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		file = anon_inode_getfile(rows[i].name, &none, NULL, O_RDWR);
		KUNIT_ASSERT_FALSE(test, IS_ERR(file));
		KUNIT_EXPECT_EQ_MSG(test, roost_hook_nests(file), rows[i].nests,
				    "%s", rows[i].name);
		fput(file);
	}
	flush_delayed_fput();
}

static struct kunit_case hook_cases[] = {
	KUNIT_CASE(add_and_del),
	KUNIT_CASE(too_many_queues),
	KUNIT_CASE(callbacks_during_add),
	KUNIT_CASE(queues_that_die),
	KUNIT_CASE(del_races),
	KUNIT_CASE(files_that_nest),
	{}
};

FIXTURE_SUITE(hook, hook_cases);
