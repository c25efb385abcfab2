// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * backend_kernel.c - the backend on the roost module.
 *
 * One domain a runtime, one kernel worker a worker, one timer and one I/O index a
 * slot, one poll index and one file a descriptor number.  A system call is made to sleep, to wake a
 * sleeper, and to hand over a batch.
 *
 * After fork() the child has no domain: the mappings are not there and every
 * call fails.  Actors do not run in a child.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend.h"
#include "backend_kernel.h"
#include "errno_cell.h"
#include "fd.h"
#include "log.h"

#define NEEDED (ROOST_FEAT_TIMER | ROOST_FEAT_POLL | ROOST_FEAT_MULTISHOT)

static uint32_t tick_shift(const struct roost_config *c)
{
	uint32_t shift;

	if (!c->tick_ns)
		return 0;
	shift = 63U - (uint32_t)__builtin_clzll(c->tick_ns);
	if (shift < ROOST_MIN_TICK_SHIFT)
		return ROOST_MIN_TICK_SHIFT;
	return shift > ROOST_MAX_TICK_SHIFT ? ROOST_MAX_TICK_SHIFT : shift;
}

/* What cannot be had for less is refused. */
static int check_limits(struct runtime *rt, const struct roost_info *info)
{
	if (rt->config.workers > info->max_workers) {
		log_line("workers: %u wanted, the module allows %u",
			 rt->config.workers, info->max_workers);
		return -EINVAL;
	}
	if (rt->config.max_actors > info->max_timers) {
		log_line("max_actors: %u wanted, the module allows %u (max_timers)",
			 rt->config.max_actors, info->max_timers);
		return -EINVAL;
	}
	return 0;
}

/* Once the backend is sure to run: another must not inherit the limit. */
static void lower_max_fds(struct runtime *rt, const struct roost_info *info)
{
	struct fd_table *fds = rt->fds;

	if (rt->config.max_fds <= info->max_polls)
		return;
	log_line("max_fds: %u wanted, %u used (the module's max_polls)",
		 rt->config.max_fds, info->max_polls);
	rt->config.max_fds = info->max_polls;
	fds->max_fds = info->max_polls;
}

static uint32_t at_most(uint32_t wanted, uint32_t limit)
{
	return wanted < limit ? wanted : limit;
}

/* A module without I/O in the ring, or with it turned off, serves as well. */
static int create_domain(struct runtime *rt, int dev,
			 const struct roost_info *info, struct kdomain *d)
{
	const struct roost_config *c = &rt->config;
	struct roost_domain_params p = {
		.tick_shift = tick_shift(c),
		.slack_ns = c->slack_ns,
		.nr_timers = c->max_actors,
		.nr_polls = at_most(c->max_fds, info->max_polls),
	};
	int err;

	if (info->features & ROOST_FEAT_IO) {
		p.nr_ios = at_most(c->max_actors, info->max_ios);
		p.nr_files = at_most(c->max_fds, info->max_files);
	}
	err = kapi_domain_create(dev, &p, d);
	if (!err && d->features & ROOST_FEAT_IO) {
		rt->ring_ios = p.nr_ios;
		rt->ring_files = p.nr_files;
	}
	rt->takeover = !err && d->features & ROOST_FEAT_STANDBY &&
		       c->standbys != ROOST_NO_STANDBYS;
	return err;
}

/* If nothing else will do, say why. */
static int does_not_open(const struct runtime *rt, int err)
{
	if (rt->config.backend != ROOST_BACKEND_KERNEL)
		return -ENODEV;
	if (err == -ENOENT || err == -ENODEV || err == -ENXIO)
		log_line("/dev/roost is not there: is the module loaded?");
	else
		log_line("/dev/roost does not open: %s", strerror(-err));
	return -ENODEV;
}

static int kernel_start(struct runtime *rt)
{
	struct kbackend *kb;
	struct roost_info info;
	int dev, err;

	dev = kapi_open();
	if (dev < 0)
		return does_not_open(rt, dev);
	err = kapi_info(dev, &info, NEEDED);
	if (err < 0) {
		log_line("the module speaks another version or lacks a feature");
		err = -ENODEV;
		goto close_dev;
	}
	err = check_limits(rt, &info);
	if (err < 0)
		goto close_dev;

	kb = aligned_alloc(_Alignof(struct kbackend), sizeof(*kb));
	if (!kb) {
		err = -ENOMEM;
		goto close_dev;
	}
	memset(kb, 0, sizeof(*kb));
	err = create_domain(rt, dev, &info, &kb->domain);
	if (err < 0) {
		free(kb);
		goto close_dev;
	}
	spin_init(&kb->refused_lock);
	atomic_init(&kb->retry_at, ROOST_NO_DEADLINE);
	rt->backend_data = kb;
	rt->control = kb->domain.control;
	lower_max_fds(rt, &info);
	err = 0;
close_dev:
	close(dev);
	return err;
}

static void kernel_end(struct runtime *rt)
{
	struct kbackend *kb = kernel_of(rt);

	rt->control = NULL;
	rt->backend_data = NULL;
	kapi_domain_destroy(&kb->domain);
	free(kb);
}

static int kernel_worker_init(struct worker *w)
{
	struct kring *r = aligned_alloc(_Alignof(struct kring), sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	*r = (struct kring){ .pending_min = ROOST_NO_DEADLINE };
	err = kapi_worker_create(&kernel_of(w->rt)->domain, KRING_SQ_ENTRIES,
				 KRING_CQ_ENTRIES, &r->k);
	/* One number names a worker on both sides. */
	if (!err && r->k.index != w->index) {
		kapi_worker_destroy(&r->k);
		err = -EIO;
	}
	if (err) {
		free(r);
		return err;
	}
	r->sq_tail = shared_relaxed(&r->k.page->sq_tail);
	w->backend = r;
	w->hand_to = (_Atomic uint32_t *)&r->k.page->sq_tail;
	return 0;
}

static void kernel_worker_fini(struct worker *w)
{
	struct kring *r = ring_of(w);

	w->backend = NULL;
	kapi_worker_destroy(&r->k);
	free(r->stash);
	free(r);
}

_Static_assert(offsetof(struct roost_worker_page, resumes) ==
	       offsetof(struct roost_worker_page, in_library) +
	       CARRIER_RESUMES * sizeof(uint32_t), "as in carrier.h");
_Static_assert(offsetof(struct roost_worker_page, preempt) ==
	       offsetof(struct roost_worker_page, in_library) +
	       CARRIER_PREEMPT * sizeof(uint32_t), "as in carrier.h");

/* The calling thread has got that lease of @w. */
static bool carry(struct carrier *c, struct worker *w, uint64_t lease)
{
	_Atomic uint32_t *word =
		(_Atomic uint32_t *)&ring_of(w)->k.page->in_library;

	carrier_set_worker(c, w);
	return carrier_share(c, word, roost_outside(lease), roost_inside(lease));
}

static int kernel_worker_enter(struct carrier *c)
{
	struct worker *w = c->worker;
	uint64_t lease;
	int err = kapi_attach(&ring_of(w)->k, &lease);

	/* Nobody stands by before all workers have a carrier. */
	if (!err && w->rt->takeover && !carry(c, w, lease))
		err = -ESTALE;
	return err;
}

static void kernel_worker_leave(struct worker *w)
{
	kring_flush(w);
	kapi_detach(&ring_of(w)->k);
}

static int kernel_stand_by(struct carrier *c)
{
	struct runtime *rt = c->rt;
	unsigned int index;
	uint64_t lease;
	int err;

	err = kapi_standby(&kernel_of(rt)->domain, &index, &lease);
	if (err)
		return err;
	if (index >= rt->nr_workers)
		log_fatal("was given worker %u of %u", index, rt->nr_workers);
	if (!carry(c, &rt->workers[index], lease)) {
		/* Displaced before it was inside: nothing was begun. */
		carrier_set_worker(c, NULL);
		carrier_unshare(c);
		return -EINTR;
	}
	kring_look_soon(c->worker);
	return 0;
}

static void kernel_dismiss(struct runtime *rt)
{
	kapi_wake(&kernel_of(rt)->domain, ROOST_WAKE_DISMISS, 0);
}

/* The kernel has cleared the own bit; but a call may have failed before. */
static void clear_own_bit(struct worker *w)
{
	_Atomic uint64_t *word = control_idle(w->rt, w->index / 64);
	uint64_t bit = 1ULL << (w->index % 64);

	if (unlikely(atomic_load_explicit(word, memory_order_relaxed) & bit))
		atomic_fetch_and_explicit(word, ~bit, memory_order_acq_rel);
}

static void kernel_park(struct worker *w, uint32_t event)
{
	uint32_t outcome;
	int err;

	err = kring_enter(w, ROOST_ENTER_PARK, event, &outcome);
	clear_own_bit(w);
	if (err < 0 && err != -EINTR)
		log_fatal("worker %u cannot park: error %d", w->index, -err);
	if (outcome & ROOST_OUT_SLEPT)
		stat_add(&w->stats.parks, 1);
	else
		stat_add(&w->stats.parks_refused, 1);
	kring_look_soon(w);
	/* CQ_FULL: the next collect() makes room. */
}

/*
 * The caller has taken @target's idle bit.  Who has not yet gone to sleep finds
 * that bit clear and does not (the kernel looks after it has set @parked).
 */
static bool kernel_wake(struct worker *target, bool sync)
{
	struct kring *r = ring_of(target);
	struct kdomain *d = &kernel_of(target->rt)->domain;
	_Atomic uint32_t *parked = (_Atomic uint32_t *)&r->k.page->parked;
	uint32_t flags = ROOST_WAKE_INDEX | (sync ? ROOST_WAKE_SYNC : 0);

	/* Full barrier, pairs with the one between the kernel's store of
	 * parked and its look at the idle bit. */
	if (!atomic_load_explicit(parked, memory_order_seq_cst) ||
	    !atomic_exchange_explicit(parked, 0, memory_order_seq_cst))
		return false;
	/* It has no carrier any more: what it was to do falls to the others. */
	if (kapi_wake(d, flags, r->k.index) == -ESRCH)
		kapi_wake(d, ROOST_WAKE_ALL, 0);
	return true;
}

/*
 * What a wake came to is known to the kernel alone: two may meet in one park,
 * and are then one; a call that comes late is the wake of a later park.  So the
 * kernel's counts are the ones, for what it saw.  What it did not see are bits
 * that a worker found cleared before it went to park: each a wake, received.
 */
static void kernel_stats(struct runtime *rt, struct roost_stats *stats)
{
	struct roost_domain_stat stat;

	if (kapi_stat(&kernel_of(rt)->domain, &stat) < 0)
		return;
	stats->wakes_sent = stats->wakes_received + stat.wakes;
	stats->wakes_received += stat.wakes_received;
	stats->takeovers = stat.taken;
	stats->starved = stat.starved;
}

const struct backend backend_kernel = {
	.name = "kernel",
	.start = kernel_start,
	.end = kernel_end,
	.worker_init = kernel_worker_init,
	.worker_fini = kernel_worker_fini,
	.worker_enter = kernel_worker_enter,
	.worker_leave = kernel_worker_leave,
	.stand_by = kernel_stand_by,
	.dismiss = kernel_dismiss,
	.collect = kernel_collect,
	.settle = kring_settle,
	.park = kernel_park,
	.wake = kernel_wake,
	.stats = kernel_stats,
	.timer_arm = kernel_timer_arm,
	.timer_end = kernel_timer_end,
	.io = kernel_io,
	.file_remove = kernel_file_remove,
	.fd_arm = kernel_fd_arm,
	.fd_disarm = kernel_fd_disarm,
};
