// SPDX-License-Identifier: GPL-2.0
/*
 * Readiness of files, straight from their wait queues.
 *
 * A poll op (an index that user space chose) lives as long as its domain.  What
 * is hooked into a file is a poll object, one for each POLL_ADD:
 *
 *	ARMING --> ARMED --> FIRED	one-shot: readiness; both: POLLFREE
 *	   |         |
 *	   +---------+-----> ENDED	removed, replaced, failed, domain gone
 *
 * Each arrow out of ARMED is one compare-and-exchange, and who makes it posts
 * the final completion.  Callbacks run under the lock of the file's wait queue,
 * perhaps in hard interrupt context; they do atomics, post and wake.  During
 * ARMING they only note what they saw.
 *
 * op->armed points to the object that is hooked.  Who takes it out of there,
 * under op->lock, owns the object: it unhooks it, in task context, and drops the
 * file.  Unhooking takes the queue's lock, so that no callback runs afterwards.
 * A one-shot object that has fired is still hooked; its op is put on the
 * domain's reap list, and the next ENTER of any worker takes it out.  What may
 * outlive all that is a completion that waits for a place in the ring: it has a
 * reference.
 *
 * Queues that die before their file (POLLFREE): see hook.c.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "domain.h"
#include "hook.h"
#include "park.h"
#include "poll.h"
#include "ring.h"
#include "trace.h"
#include "worker.h"

unsigned int roost_max_polls = 1U << 20;
module_param_named(max_polls, roost_max_polls, uint, 0644);
MODULE_PARM_DESC(max_polls, "largest number of polls a domain may have");

/* In roost_poll.seen, beside events and ROOST_EVENT_HINT: POLLFREE came. */
#define SEEN_FREE	BIT(30)

enum poll_state {
	POLL_ARMING,
	POLL_ARMED,
	POLL_FIRED,
	POLL_ENDED,
};

/**
 * struct roost_poll_op - what a poll index stands for
 * @lock:	guards @sequence, @removed and @armed
 * @sequence:	the highest seen
 * @removed:	a REMOVE has come after the newest ADD
 * @index:	constant
 * @armed:	the object that is hooked, or NULL
 * @reap:	in the domain's reap list
 * @reaping:	bit 0: it is in that list
 * @events:	the events word; constant pointer
 */
struct roost_poll_op {
	/* Guards sequence, removed and armed. */
	raw_spinlock_t lock;
	u32 sequence;
	bool removed;
	u32 index;
	struct roost_poll *armed;
	struct llist_node reap;
	unsigned long reaping;
	atomic_t *events;
};

/**
 * struct roost_poll - one POLL_ADD
 * @completion:	completions that wait for a place; its reference count is the
 *		object's
 * @op:		whose
 * @home:	in whose ring it completes
 * @file:	a reference
 * @op_id:	of the POLL_ADD
 * @events:	what is wanted, in the kernel's notation
 * @multishot:	stay armed
 * @replaced:	completions of an older object were dropped for this one
 * @state:	enum poll_state
 * @seen:	events that came, ROOST_EVENT_HINT, SEEN_FREE
 * @hook:	in the file's wait queues
 */
struct roost_poll {
	struct roost_completion completion;
	struct roost_poll_op *op;
	struct roost_worker *home;
	struct file *file;
	u64 op_id;
	__poll_t events;
	bool multishot;
	bool replaced;
	atomic_t state;
	atomic_t seen;
	struct roost_hook hook;
};

static struct kmem_cache *poll_cache;
static struct kmem_cache *op_cache;

static void init_op(void *node, u32 index, void *arg)
{
	struct roost_domain *domain = arg;
	struct roost_poll_op *op = node;

	raw_spin_lock_init(&op->lock);
	op->index = index;
	op->events = &domain->events[index];
}

static void release_poll(struct roost_completion *completion)
{
	kmem_cache_free(poll_cache,
			container_of(completion, struct roost_poll,
				     completion));
}

static bool claim(struct roost_poll *poll, enum poll_state to)
{
	return atomic_cmpxchg(&poll->state, POLL_ARMED, to) == POLL_ARMED;
}

/* Events as user space sees them; the other bits are beyond 16. */
static u32 to_user(u32 seen)
{
	return mangle_poll((__force __poll_t)seen);
}

static u32 cqe_flags(const struct roost_poll *poll, u32 seen)
{
	u32 flags = ROOST_CQE_POLL;

	if (seen & ROOST_EVENT_HINT)
		flags |= ROOST_CQE_HINT;
	if (poll->replaced)
		flags |= ROOST_CQE_REPLACED;
	return flags;
}

static void post(struct roost_poll *poll, u32 seen, u32 flags)
{
	struct roost_worker *home = poll->home;

	flags |= cqe_flags(poll, seen);
	atomic64_inc(&home->domain->polls_fired);
	trace_roost_poll_fire(home, poll->op_id, to_user(seen), flags);
	roost_cq_post(home, &poll->completion, poll->op_id, to_user(seen),
		      flags);
	roost_domain_event(home->domain);
	roost_wake_for(home);
}

/* Fired, or lost its queue: have a task unhook it. */
static void reap_later(struct roost_poll *poll)
{
	struct roost_poll_op *op = poll->op;

	/* Full barrier: state before bit; pairs with roost_poll_reap(). */
	if (!test_and_set_bit(0, &op->reaping))
		llist_add(&op->reap, &poll->home->domain->reap);
}

/* The end of an object that a callback has brought about. */
static void finish(struct roost_poll *poll, u32 seen)
{
	post(poll, seen, 0);
	reap_later(poll);
}

/*
 * Multishot: add to the events word; only the first to do so completes.  The
 * word is the process's: if it writes there, it gets more or fewer completions.
 * The fetch-or is a full barrier: who exchanges the word with 0 and then tries
 * the I/O either sees our events, or has come after them.
 */
static void deliver(struct roost_poll *poll, u32 seen)
{
	u32 bits = to_user(seen) | (seen & ROOST_EVENT_HINT);

	if (!atomic_fetch_or(bits, poll->op->events))
		post(poll, seen, ROOST_CQE_MORE);
}

/* The queue goes before the file; see hook.c. */
static void queue_dies(struct roost_hook_entry *entry, struct roost_poll *poll)
{
	u32 seen = (__force u32)(EPOLLHUP | EPOLLERR) | SEEN_FREE;

	roost_hook_leave(entry);
	/* Full barrier; pairs with the one in settle(). */
	atomic_fetch_or(seen, &poll->seen);
	if (claim(poll, POLL_FIRED))
		finish(poll, seen);
	/* The object may be gone after this. */
	roost_hook_let_go(entry);
}

static int poll_callback(struct wait_queue_entry *wait, unsigned int mode,
			 int sync, void *key)
{
	struct roost_hook_entry *entry = roost_hook_entry(wait);
	struct roost_poll *poll = container_of(entry->hook, struct roost_poll,
					       hook);
	__poll_t mask = key_to_poll(key);
	u32 seen;

	if (mask & POLLFREE) {
		queue_dies(entry, poll);
		return 0;
	}
	if (mask && !(mask & poll->events))
		return 0;
	seen = mask ? (__force u32)(mask & poll->events) : ROOST_EVENT_HINT;

	/* Full barrier; pairs with the one in settle(). */
	atomic_fetch_or(seen, &poll->seen);
	if (poll->multishot) {
		if (atomic_read(&poll->state) == POLL_ARMED)
			deliver(poll, seen);
	} else if (claim(poll, POLL_FIRED)) {
		finish(poll, seen);
	}
	return 0;
}

/*
 * End an object that was taken out of its op.  @drop: take back a completion
 * that was not delivered yet, even the final one; *dropped tells.  Returns true
 * if the object was still armed, so that its end is the caller's to report.
 */
static bool end(struct roost_poll *poll, bool drop, bool *dropped)
{
	struct roost_domain *domain = poll->home->domain;
	bool was_armed = claim(poll, POLL_ENDED);

	*dropped = false;
	if (was_armed)
		atomic64_inc(&domain->polls_removed);
	atomic_dec(&domain->polls_armed);
	/* No callback posts from here on, but one may be about to unhook. */
	roost_hook_del(&poll->hook);
	/* A completion with MORE must not come after the end is reported. */
	if (was_armed || drop)
		*dropped = roost_cq_take_back(poll->home, &poll->completion);
	fput(poll->file);
	roost_completion_put(&poll->completion);
	return was_armed;
}

/**
 * roost_poll_reap() - unhook one-shot polls that have fired
 * @domain:	whose
 *
 * Context: task, may sleep.
 */
void roost_poll_reap(struct roost_domain *domain)
{
	struct roost_poll_op *op, *next;
	struct llist_node *list;
	struct roost_poll *poll;
	bool dropped;

	if (llist_empty(&domain->reap))
		return;
	list = llist_del_all(&domain->reap);
	llist_for_each_entry_safe(op, next, list, reap) {
		/*
		 * Bit before state: who fires from now on adds the op again,
		 * and who fired before is seen.  Pairs with the
		 * test_and_set_bit() in reap_later().
		 */
		clear_bit(0, &op->reaping);
		smp_mb__after_atomic(); /* see above */
		raw_spin_lock_irq(&op->lock);
		poll = op->armed;
		if (poll && atomic_read(&poll->state) == POLL_FIRED)
			op->armed = NULL;
		else
			poll = NULL;
		raw_spin_unlock_irq(&op->lock);
		if (poll)
			end(poll, false, &dropped);
		/* One wake-up of a file may have fired all polls there are. */
		cond_resched();
	}
}

static struct file *get_pollable(int fd)
{
	struct file *file = fget(fd);
	int ret = 0;

	if (!file)
		return ERR_PTR(-EBADF);
	if (roost_hook_nests(file))
		ret = -ELOOP;
	else if (!file_can_poll(file))
		ret = -EPERM;
	if (!ret)
		return file;
	fput(file);
	return ERR_PTR(ret);
}

static struct roost_poll *make_poll(struct roost_worker *worker,
				    struct roost_poll_op *op,
				    const struct roost_sqe *sqe)
{
	struct roost_poll *poll;
	struct file *file;

	file = get_pollable(sqe->fd);
	if (IS_ERR(file))
		return ERR_CAST(file);
	poll = kmem_cache_alloc(poll_cache, GFP_KERNEL_ACCOUNT);
	if (!poll) {
		fput(file);
		return ERR_PTR(-ENOMEM);
	}
	memset(poll, 0, sizeof(*poll));
	roost_completion_init(&poll->completion, release_poll);
	poll->op = op;
	poll->home = worker;
	poll->file = file;
	poll->op_id = sqe->op_id;
	poll->events = demangle_poll(sqe->events) | EPOLLERR | EPOLLHUP;
	poll->multishot = sqe->flags & ROOST_POLL_MULTISHOT;
	atomic_set(&poll->state, POLL_ARMING);
	roost_hook_init(&poll->hook, poll_callback);
	return poll;
}

/*
 * Hook it into the file; the events that are there in *mask.  Return: 0; -EINVAL
 * for too many queues; -EPERM if there is neither an event nor a queue to wait in.
 */
static int hook(struct roost_poll *poll, u32 *mask)
{
	__poll_t found;
	int ret = roost_hook_add(&poll->hook, poll->file, poll->events, &found);

	*mask = (__force u32)found;
	if (!ret && !poll->hook.nr && !*mask)
		return -EPERM;
	return ret;
}

/*
 * From ARMING to ARMED, with what callbacks have noted meanwhile added to
 * *mask.  Returns true if that is the end of the object.
 */
static bool settle(struct roost_poll *poll, u32 *mask)
{
	atomic_set(&poll->state, POLL_ARMED);
	/*
	 * State before seen.  Pairs with the callbacks' fetch-or before they
	 * look at the state: either they find ARMED, or we find their bits.
	 */
	smp_mb();
	*mask |= atomic_read(&poll->seen);
	if (!*mask)
		return false;
	/* Without a queue nothing would come any more. */
	if (!poll->multishot || !poll->hook.nr || (*mask & SEEN_FREE))
		return claim(poll, POLL_FIRED);
	deliver(poll, *mask);
	return false;
}

/*
 * Take over the index for a sequence: nothing older may follow.  A REMOVE takes
 * the sequence of its ADD, too, and may come while that is still being armed.
 */
static int take_over(struct roost_poll_op *op, u32 sequence, bool remove,
		     struct roost_poll **old)
{
	s32 least = remove ? 0 : 1;
	int ret = -ESTALE;

	raw_spin_lock_irq(&op->lock);
	if ((s32)(sequence - op->sequence) >= least) {
		op->sequence = sequence;
		op->removed = remove;
		*old = op->armed;
		op->armed = NULL;
		ret = 0;
	}
	raw_spin_unlock_irq(&op->lock);
	return ret;
}

/* Make the object known under its op, unless a newer call has come. */
static bool publish(struct roost_poll *poll)
{
	struct roost_poll_op *op = poll->op;
	bool newest;

	raw_spin_lock_irq(&op->lock);
	newest = op->sequence == roost_op_sequence(poll->op_id) && !op->removed;
	if (newest)
		op->armed = poll;
	raw_spin_unlock_irq(&op->lock);
	return newest;
}

/* Take the object out of its op again, if it is still there. */
static bool unpublish(struct roost_poll *poll)
{
	struct roost_poll_op *op = poll->op;
	bool mine;

	raw_spin_lock_irq(&op->lock);
	mine = op->armed == poll;
	if (mine)
		op->armed = NULL;
	raw_spin_unlock_irq(&op->lock);
	return mine;
}

/*
 * What the old file left there must not hide the first event; but a newer call
 * may have armed already, and that one's must not be lost.
 */
static void forget_events(struct roost_poll_op *op, u32 sequence)
{
	raw_spin_lock_irq(&op->lock);
	if (op->sequence == sequence && !op->removed)
		atomic_set(op->events, 0);
	raw_spin_unlock_irq(&op->lock);
}

/*
 * Arm a new object, whose reference count the caller has raised by one.
 * Returns true if *res is the final result; false if it is armed, or has
 * completed through a callback.
 */
static bool arm(struct roost_poll *poll, s32 *res, u32 *flags)
{
	struct roost_domain *domain = poll->home->domain;
	bool dropped;
	u32 mask;

	*res = hook(poll, &mask);
	atomic_inc(&domain->polls_armed);
	if (*res) {
		end(poll, true, &dropped);
		return true;
	}
	atomic64_inc(&domain->polls_added);
	trace_roost_poll_arm(poll->home, poll->op_id,
			     to_user((__force u32)poll->events),
			     poll->multishot);
	if (settle(poll, &mask)) {
		*res = to_user(mask);
		*flags = cqe_flags(poll, mask);
		atomic64_inc(&domain->polls_fired);
		trace_roost_poll_fire(poll->home, poll->op_id, *res, *flags);
		/* A callback may have posted with MORE since we were armed. */
		end(poll, true, &dropped);
		return true;
	}
	if (!publish(poll)) {
		*res = -ECANCELED;
		return end(poll, false, &dropped);
	}
	/* A reap that came before we were known has missed it. */
	if (atomic_read(&poll->state) == POLL_FIRED && unpublish(poll))
		end(poll, false, &dropped);
	return false;
}

/**
 * roost_poll_add() - ROOST_OP_POLL_ADD
 * @worker:	from whose ring it came
 * @sqe:	the entry, checked
 * @res:	set to the result if it is known at once
 * @flags:	flags of that completion
 *
 * Context: task, may sleep as long as the file's poll operation does.
 * Return: true if *@res is the (only) completion.
 */
bool roost_poll_add(struct roost_worker *worker, const struct roost_sqe *sqe,
		    s32 *res, u32 *flags)
{
	struct roost_poll *poll, *old = NULL;
	struct roost_poll_op *op;
	bool dropped = false, final;

	*flags = ROOST_CQE_POLL;
	op = roost_table_get(&worker->domain->polls,
			     roost_op_index(sqe->op_id));
	if (IS_ERR(op)) {
		*res = PTR_ERR(op);
		return true;
	}
	*res = take_over(op, roost_op_sequence(sqe->op_id), false, &old);
	if (*res)
		return true;
	if (old)
		end(old, true, &dropped);
	forget_events(op, roost_op_sequence(sqe->op_id));

	poll = make_poll(worker, op, sqe);
	if (IS_ERR(poll)) {
		*res = PTR_ERR(poll);
		return true;
	}
	poll->replaced = dropped;
	refcount_inc(&poll->completion.ref);
	final = arm(poll, res, flags);
	roost_completion_put(&poll->completion);
	return final;
}

/**
 * roost_poll_remove() - ROOST_OP_POLL_REMOVE
 * @worker:	from whose ring it came
 * @sqe:	the entry, checked
 * @target:	set to the op id of what was ended
 * @flags:	flags of its completion
 *
 * The file is let go before this returns, also if the op had fired already.
 *
 * Context: task, may sleep.  Return: 0; -ENOENT if nothing is armed; -ESTALE;
 * -EINVAL; -ENOMEM.
 */
int roost_poll_remove(struct roost_worker *worker,
		      const struct roost_sqe *sqe, u64 *target, u32 *flags)
{
	struct roost_poll *old = NULL;
	struct roost_poll_op *op;
	bool dropped;
	int ret;

	op = roost_table_get(&worker->domain->polls,
			     roost_op_index(sqe->op_id));
	if (IS_ERR(op))
		return PTR_ERR(op);
	ret = take_over(op, roost_op_sequence(sqe->op_id), true, &old);
	if (ret)
		return ret;
	if (!old)
		return -ENOENT;
	*target = old->op_id;
	if (!end(old, false, &dropped))
		return -ENOENT;
	*flags = ROOST_CQE_POLL | (dropped ? ROOST_CQE_REPLACED : 0);
	return 0;
}

static void drop_op(void *node, void *worker)
{
	struct roost_poll_op *op = node;
	struct roost_poll *poll;
	bool dropped;

	raw_spin_lock_irq(&op->lock);
	poll = op->armed;
	if (poll && worker && poll->home != worker)
		poll = NULL;
	if (poll)
		op->armed = NULL;
	raw_spin_unlock_irq(&op->lock);
	if (poll)
		end(poll, true, &dropped);
}

/**
 * roost_poll_drop() - end polls without a completion
 * @domain:	whose
 * @worker:	only those whose home is this one; NULL for all
 *
 * Context: task, may sleep.
 */
void roost_poll_drop(struct roost_domain *domain, struct roost_worker *worker)
{
	roost_table_walk(&domain->polls, drop_op, worker);
}

/**
 * roost_poll_table() - set up a domain's poll ops
 * @domain:	whose
 * @nr:		how many
 *
 * Return: 0 or -ENOMEM.
 */
int roost_poll_table(struct roost_domain *domain, u32 nr)
{
	struct roost_table *table = &domain->polls;

	table->nr = nr;
	table->size = sizeof(struct roost_poll_op);
	table->armed = sizeof(struct roost_poll);
	table->cache = op_cache;
	table->init = init_op;
	table->init_arg = domain;
	return roost_table_alloc(table);
}

/**
 * roost_poll_init() - module init
 *
 * Return: 0 or -ENOMEM.
 */
int __init roost_poll_init(void)
{
	op_cache = roost_cache_create("roost_poll_op",
				      ROOST_TABLE_CHUNK *
				      sizeof(struct roost_poll_op));
	if (!op_cache)
		return -ENOMEM;
	poll_cache = roost_cache_create("roost_poll", sizeof(struct roost_poll));
	if (!poll_cache) {
		kmem_cache_destroy(op_cache);
		return -ENOMEM;
	}
	return 0;
}

/**
 * roost_poll_exit() - module exit
 */
void roost_poll_exit(void)
{
	kmem_cache_destroy(poll_cache);
	kmem_cache_destroy(op_cache);
}
