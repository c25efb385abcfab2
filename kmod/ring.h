/* SPDX-License-Identifier: GPL-2.0 */
/* Submission and completion rings. */
#ifndef _ROOST_RING_H
#define _ROOST_RING_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/types.h>

struct roost_sqe;
struct roost_worker;

/**
 * struct roost_completion - a completion that can wait for a place in the CQ
 * @node:	in worker->overflow while it waits
 * @queued:	it waits
 * @user_data:	as in struct roost_cqe
 * @res:	as in struct roost_cqe
 * @flags:	as in struct roost_cqe
 * @ref:	references to the memory around this, one of them while @queued;
 *		unused without @release
 * @release:	frees that memory, in task context and without a lock; NULL if
 *		it lives as long as the domain
 *
 * All but @ref and @release under the worker's cq_lock.  Embedded in whatever
 * is armed, so that nothing is allocated when it completes.
 */
struct roost_completion {
	struct list_head node;
	bool queued;
	u64 user_data;
	s32 res;
	u32 flags;
	refcount_t ref;
	void (*release)(struct roost_completion *completion);
};

void roost_completion_init(struct roost_completion *completion,
			   void (*release)(struct roost_completion *completion));
void roost_completion_put(struct roost_completion *completion);

/**
 * roost_completion_queued() - does it wait for a place?
 * @completion:	one that nobody is posting
 *
 * Context: any.
 */
static inline bool
roost_completion_queued(const struct roost_completion *completion)
{
	/* Pairs with the release in overflow_del(). */
	return smp_load_acquire(&completion->queued);
}

bool roost_cq_post(struct roost_worker *worker,
		   struct roost_completion *completion,
		   u64 user_data, s32 res, u32 flags);
void roost_cq_post_last(struct roost_worker *worker,
			struct roost_completion *completion, u64 user_data,
			s32 res, u32 flags, atomic64_t *word, u64 free);
bool roost_cq_take_back(struct roost_worker *worker,
			struct roost_completion *completion);
u32 roost_cq_reserve(struct roost_worker *worker, u32 want);
void roost_cq_unreserve(struct roost_worker *worker, u32 n);
void roost_cq_post_reserved(struct roost_worker *worker, u64 user_data,
			    s32 res, u32 flags);
bool roost_cq_flush(struct roost_worker *worker);
void roost_cq_close(struct roost_worker *worker);

u32 roost_sq_fetch(struct roost_worker *worker, struct roost_sqe *sqes,
		   u32 max, u32 *reserved);
bool roost_sq_pending(struct roost_worker *worker);

#endif /* _ROOST_RING_H */
