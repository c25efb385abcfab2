// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * backend_futex.c - sleeping, waking and keeping time without the module.
 *
 * Parking: each worker has one word, 1 while it is asleep or just about to be.
 *
 *	worker				who has cleared the worker's idle bit
 *	parked = 1	(full barrier)	idle bit = 0	(full barrier)
 *	idle bit clear? don't sleep	exchange parked with 0: it was 1?
 *	sleep while parked is 1		then FUTEX_WAKE
 *
 * Either the worker sees the clear bit or the waker sees parked; a waker that
 * comes before costs no system call (P2, S1-01).
 *
 * Timers: each worker has a wheel under a spin lock, and beside it a snapshot
 * of when there is something to do, so that looking costs one load.  An entry
 * changes only under the lock of the wheel that wtimer.worker names; an entry
 * that is not armed may change wheels, under the lock of the old one (T4).  No
 * two of these locks are ever held.
 *
 * The timekeeper (S1-12 to S1-19): at most one worker that is idle sleeps with
 * a deadline, the earliest of all wheels plus the slack; the others sleep
 * without.  Its deadline is published before it looks at the wheels for the last
 * time, and who arms something earlier looks at it afterwards and wakes the
 * keeper.  The first worker to park takes the role; a keeper that gets an actor
 * to run gives it to an idle sibling, if there is anything to watch.  Running
 * workers look at the wheels themselves.  Model: selftests/models/keeper.pml.
 */
#define _GNU_SOURCE
#include "backend_futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <roost/actor.h>

#include "backend.h"
#include "compiler.h"
#include "idle.h"
#include "inject.h"
#include "runtime.h"
#include "timer.h"
#include "wheel_shim.h"
#include "worker.h"

/* Resumes between two looks where there is no timer to look for. */
#define COLLECT_EVERY	32

/* Expiries handled in one go, with the wheel's lock released between. */
#define BATCH	64

/**
 * struct futex_worker - a worker's half, worker.backend
 * @parked:	see above
 * @sibling:	whose wheel to look at next
 * @look_at_all: a timer may be watched by nobody, and it is not in the own
 *		wheel; only the worker itself uses it
 * @next:	when @wheel has something to do, ROOST_FOREVER: never.  Written
 *		under @lock, read by anybody.
 * @lock:	guards @wheel and the entries on it
 * @wheel:	deadlines
 */
struct futex_worker {
	_Atomic uint32_t parked;
	unsigned int sibling;
	bool look_at_all;

	_Atomic uint64_t next ____cacheline_aligned;
	struct spin lock;
	struct roost_wheel wheel;
} __attribute__((aligned(CACHELINE)));

/**
 * struct futex_domain - the runtime's half, runtime.backend_data
 * @control:	idle mask and event counter
 * @keeper:	index + 1 of the timekeeper, 0 for none, and KEEPER_ITSELF
 * @keeper_until: what the keeper sleeps until; 0 when it does not sleep
 * @poll:	backend_futex_poll.c's own
 */
struct futex_domain {
	struct roost_control control;
	_Atomic uint32_t keeper ____cacheline_aligned;
	_Atomic uint64_t keeper_until;
	void *poll;
} __attribute__((aligned(CACHELINE)));

static struct futex_domain *domain_of(struct runtime *rt)
{
	return rt->backend_data;
}

static struct futex_worker *half_of(struct worker *w)
{
	return w->backend;
}

void **futex_poll_data(struct runtime *rt)
{
	return &domain_of(rt)->poll;
}

static int futex_start(struct runtime *rt)
{
	struct futex_domain *d = aligned_alloc(CACHELINE, sizeof(*d));
	int err = 0;

	if (!d)
		return -ENOMEM;
	memset(d, 0, sizeof(*d));
	d->control.api_version = ROOST_API_VERSION;
	atomic_init(&d->keeper, 0);
	atomic_init(&d->keeper_until, 0);
	rt->backend_data = d;
	rt->control = &d->control;
	err = futex_poll_start(rt);
	if (err)
		free(d);
	return err;
}

static void futex_end(struct runtime *rt)
{
	futex_poll_end(rt);
	free(rt->backend_data);
	rt->backend_data = NULL;
}

static int futex_worker_init(struct worker *w)
{
	struct futex_worker *h = aligned_alloc(CACHELINE, sizeof(*h));
	unsigned int shift;

	if (!h)
		return -ENOMEM;
	shift = (unsigned int)__builtin_ctzll(w->rt->config.tick_ns);
	atomic_init(&h->parked, 0);
	atomic_init(&h->next, ROOST_FOREVER);
	h->sibling = w->index;
	h->look_at_all = false;
	spin_init(&h->lock);
	roost_wheel_init(&h->wheel, shift, roost_now());
	w->backend = h;
	return 0;
}

static void futex_worker_fini(struct worker *w)
{
	/*
	 * The epoll thread may have claimed an idle worker that then went up by
	 * itself and out of the run, and be about to wake it only now.
	 */
	futex_poll_end(w->rt);
	free(w->backend);
	w->backend = NULL;
}

static int futex_worker_enter(struct carrier *c)
{
	(void)c;
	return 0;
}

static void futex_worker_leave(struct worker *w)
{
	(void)w;
}

/*
 * Timers.
 */

static uint64_t next_of(struct worker *w)
{
	return atomic_load_explicit(&half_of(w)->next, memory_order_relaxed);
}

/* The earliest of all wheels. */
static uint64_t next_of_all(struct runtime *rt)
{
	uint64_t least = ROOST_FOREVER;
	uint64_t next;
	unsigned int i;

	for (i = 0; i < rt->nr_workers; i++) {
		next = next_of(&rt->workers[i]);
		if (next < least)
			least = next;
	}
	return least;
}

/* Lock held, the wheel was changed. */
static void publish_next(struct futex_worker *h)
{
	atomic_store_explicit(&h->next, roost_wheel_next(&h->wheel),
			      memory_order_relaxed);
}

/* Lock the wheel that @t belongs to.  Return: that worker. */
static struct worker *lock_home(struct runtime *rt, struct wtimer *t)
{
	struct worker *w;
	uint32_t index;

	for (;;) {
		index = atomic_load_explicit(&t->worker, memory_order_relaxed);
		w = &rt->workers[index];
		inject_delay();
		spin_lock(&half_of(w)->lock);
		/*
		 * Acquire, pairs with the release in lock_wheel_for(): what was done
		 * to the entry under the lock of the wheel that it comes from.
		 */
		if (index == atomic_load_explicit(&t->worker,
						  memory_order_acquire))
			return w;
		spin_unlock(&half_of(w)->lock);
	}
}

/*
 * Lock a wheel that @t may be armed on: its own if it is armed, else @w's, where
 * it is brought.  Return: that worker; NULL if it is armed early enough already.
 */
static struct worker *lock_wheel_for(struct worker *w, struct wtimer *t,
				     uint64_t deadline)
{
	struct worker *home;

	for (;;) {
		home = lock_home(w->rt, t);
		if (atomic_load_explicit(&t->armed, memory_order_relaxed) <=
		    deadline) {
			spin_unlock(&half_of(home)->lock);
			return NULL;
		}
		if (home == w || roost_wheel_queued(&t->entry))
			return home;
		/* Release, pairs with the acquire in lock_home(). */
		atomic_store_explicit(&t->worker, w->index,
				      memory_order_release);
		spin_unlock(&half_of(home)->lock);
	}
}

/* When a sleeper must have noticed @deadline. */
static uint64_t with_slack(const struct runtime *rt, uint64_t deadline)
{
	uint64_t slack = rt->config.slack_ns;

	return deadline > ROOST_FOREVER - slack ? ROOST_FOREVER :
						  deadline + slack;
}

/* The role was taken by who has it: it parks, and knows. Else it was given. */
#define KEEPER_ITSELF	0x80000000U

static inline uint32_t keeper_index(uint32_t keeper)
{
	return (keeper & ~KEEPER_ITSELF) - 1;
}

static inline bool keeper_is(uint32_t keeper, const struct worker *w)
{
	return (keeper & ~KEEPER_ITSELF) == w->index + 1;
}

/* Something is armed at @deadline: does the keeper know? */
static void tell_keeper(struct runtime *rt, uint64_t deadline)
{
	struct futex_domain *d = domain_of(rt);
	uint32_t keeper;

	/* Pairs with the fence in keeper_prepare(): S1-14. */
	atomic_thread_fence(memory_order_seq_cst);
	if (with_slack(rt, deadline) >= atomic_load_explicit(&d->keeper_until,
						       memory_order_relaxed))
		return;
	keeper = atomic_load_explicit(&d->keeper, memory_order_relaxed);
	/* Not in the idle mask: it is on its way up and will look. */
	if (keeper && idle_take(rt, keeper_index(keeper)))
		worker_wake_claimed(rt, &rt->workers[keeper_index(keeper)]);
}

static void arm(struct worker *w, struct wtimer *t, uint64_t deadline)
{
	uint64_t now = roost_now();
	struct worker *home = lock_wheel_for(w, t, deadline);

	if (!home)
		return;
	roost_wheel_mod(&half_of(home)->wheel, &t->entry, deadline, now);
	atomic_store_explicit(&t->armed, deadline, memory_order_relaxed);
	publish_next(half_of(home));
	spin_unlock(&half_of(home)->lock);
	inject_delay();
	stat_add(&w->stats.timers_armed, 1);
	if (home != w)
		half_of(w)->look_at_all = true;
	tell_keeper(w->rt, deadline);
}

static void futex_timer_arm(struct worker *w, struct wtimer *t)
{
	w->spare = 0;
	arm(w, t, atomic_load_explicit(&t->deadline, memory_order_relaxed));
}

static void futex_timer_end(struct worker *w, struct wtimer *t)
{
	struct worker *home = lock_home(w->rt, t);

	if (roost_wheel_del(&half_of(home)->wheel, &t->entry))
		publish_next(half_of(home));
	atomic_store_explicit(&t->armed, ROOST_FOREVER, memory_order_relaxed);
	spin_unlock(&half_of(home)->lock);
}

/* Take up to BATCH expired timers off @owner's wheel. */
static unsigned int take_expired(struct worker *owner, uint64_t now,
				 struct wtimer **batch, bool *more)
{
	struct futex_worker *h = half_of(owner);
	struct roost_wheel_entry *e;
	struct list_head expired;
	struct wtimer *t;
	unsigned int n = 0;

	INIT_LIST_HEAD(&expired);
	spin_lock(&h->lock);
	*more = roost_wheel_advance(&h->wheel, now, BATCH, &expired) == BATCH;
	while (!list_empty(&expired)) {
		e = list_first_entry(&expired, struct roost_wheel_entry, node);
		list_del_init(&e->node);
		t = container_of(e, struct wtimer, entry);
		atomic_store_explicit(&t->armed, ROOST_FOREVER,
				      memory_order_relaxed);
		batch[n++] = t;
	}
	publish_next(h);
	spin_unlock(&h->lock);
	return n;
}

/* Worker @w lets time pass on @owner's wheel. */
static unsigned int expire(struct worker *w, struct worker *owner, uint64_t now)
{
	struct wtimer *batch[BATCH];
	unsigned int total = 0;
	unsigned int i, n;
	uint64_t again;
	bool more;

	do {
		n = take_expired(owner, now, batch, &more);
		for (i = 0; i < n; i++) {
			inject_delay();
			again = timer_expired(w->rt, batch[i], now);
			inject_delay();
			if (again != ROOST_FOREVER)
				arm(w, batch[i], again);
		}
		total += n;
	} while (more);
	return total;
}

static unsigned int expire_if_due(struct worker *w, struct worker *owner,
				  uint64_t *now)
{
	uint64_t next = next_of(owner);

	if (next == ROOST_FOREVER)
		return 0;
	if (!*now)
		*now = roost_now();
	return next <= *now ? expire(w, owner, *now) : 0;
}

/*
 * Before a resume the own wheel and one other, in turn, so that the timers of a
 * worker whose actor runs for long are not late; before a park all.  One worker alone
 * without a timer need not come back soon: what arms one says so.
 */
static unsigned int futex_collect(struct worker *w, bool idle)
{
	struct futex_worker *h = half_of(w);
	struct runtime *rt = w->rt;
	unsigned int taken = 0;
	uint64_t now = 0;
	unsigned int i;

	if (idle) {
		for (i = 0; i < rt->nr_workers; i++)
			taken += expire_if_due(w, &rt->workers[i], &now);
		return taken;
	}
	taken = expire_if_due(w, w, &now);
	if (++h->sibling >= rt->nr_workers)
		h->sibling = 0;
	if (h->sibling != w->index)
		taken += expire_if_due(w, &rt->workers[h->sibling], &now);
	else if (rt->nr_workers == 1 && next_of(w) == ROOST_FOREVER)
		w->spare = COLLECT_EVERY - 1;
	return taken;
}

/*
 * The timekeeper.
 */

static bool keeper_become(struct worker *w)
{
	struct futex_domain *d = domain_of(w->rt);
	uint32_t keeper = atomic_load_explicit(&d->keeper, memory_order_relaxed);

	/* What was given may be taken back until it is taken. */
	do {
		if (keeper && !keeper_is(keeper, w))
			return false;
		if (keeper & KEEPER_ITSELF)
			return true;
	} while (!atomic_compare_exchange_weak(&d->keeper, &keeper,
					       (w->index + 1) | KEEPER_ITSELF));
	/* Woken last, so that the role need not be given on so often. */
	atomic_store_explicit(&w->rt->reluctant, w->index + 1,
			      memory_order_relaxed);
	return true;
}

/* Publish what the keeper will sleep until. */
static uint64_t keeper_prepare(struct worker *w)
{
	struct futex_domain *d = domain_of(w->rt);
	uint64_t until = with_slack(w->rt, next_of_all(w->rt));
	uint64_t next;

	for (;;) {
		inject_delay();
		atomic_store_explicit(&d->keeper_until, until,
				      memory_order_relaxed);
		/* Pairs with the fence in tell_keeper(). */
		atomic_thread_fence(memory_order_seq_cst);
		next = with_slack(w->rt, next_of_all(w->rt));
		if (next >= until)
			return until;
		until = next;
	}
}

/*
 * Give the role, which is free, to @target.  Only who is in the idle mask afterwards is
 * sure to look whether it has the role before it runs an actor; another one may be at
 * an actor already, for long, and would keep the role from who parks next.  Return:
 * true if somebody has the role.
 */
static bool keeper_give(struct runtime *rt, struct worker *target)
{
	struct futex_domain *d = domain_of(rt);
	uint32_t given = target->index + 1, none = 0;

	if (!atomic_compare_exchange_strong(&d->keeper, &none, given))
		return true;
	inject_delay();
	/* Sequentially consistent, as the exchange above: pairs with idle_clear(). */
	if (!idle_take(rt, target->index))
		return !atomic_compare_exchange_strong(&d->keeper, &given, 0);
	atomic_store_explicit(&rt->reluctant, target->index + 1,
			      memory_order_relaxed);
	worker_wake_claimed(rt, target);
	return true;
}

/* The role is free and there may be something to watch: give it on (S1-19). */
static void keeper_appoint(struct worker *w)
{
	struct worker *target;

	if (next_of_all(w->rt) == ROOST_FOREVER)
		return;
	do {
		target = worker_choose_idle(w->rt);
		inject_delay();
	} while (target && !keeper_give(w->rt, target));
}

static void futex_busy(struct worker *w)
{
	struct futex_domain *d = domain_of(w->rt);
	struct futex_worker *h = half_of(w);
	uint32_t keeper = atomic_load_explicit(&d->keeper,
					       memory_order_relaxed);

	if (keeper_is(keeper, w)) {
		atomic_store_explicit(&w->rt->reluctant, 0,
				      memory_order_relaxed);
		/* Who has given it may take it back just now. */
		atomic_compare_exchange_strong(&d->keeper, &keeper, 0);
		/*
		 * Pairs with the barrier in idle_set(): who parks now sees the
		 * free role, or is seen in the mask below.
		 */
		atomic_thread_fence(memory_order_seq_cst);
		h->look_at_all = true;
		inject_delay();
	} else if (keeper) {
		return;
	}
	if (!h->look_at_all && next_of(w) == ROOST_FOREVER)
		return;
	h->look_at_all = false;
	if (idle_any(w->rt))
		keeper_appoint(w);
}

/*
 * Parking.
 */

static long futex(_Atomic uint32_t *word, int op, uint32_t value,
		  const struct timespec *until)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, until,
		       NULL, FUTEX_BITSET_MATCH_ANY);
}

static bool reason_to_stay_up(struct worker *w, uint32_t event)
{
	uint64_t bit = 1ULL << (w->index % 64);
	uint64_t mask;

	mask = atomic_load_explicit(control_idle(w->rt, w->index / 64),
				    memory_order_relaxed);
	return !(mask & bit) ||
	       atomic_load_explicit(control_event(w->rt),
				    memory_order_acquire) != event;
}

static void sleep_until_woken(struct futex_worker *h, uint64_t until)
{
	struct timespec ts = {
		.tv_sec = (time_t)(until / 1000000000U),
		.tv_nsec = (long)(until % 1000000000U),
	};
	bool limited = until <= ROOST_MAX_DEADLINE;

	while (atomic_load_explicit(&h->parked, memory_order_acquire)) {
		if (futex(&h->parked, FUTEX_WAIT_BITSET, 1,
			  limited ? &ts : NULL) &&
		    errno == ETIMEDOUT)
			break;
	}
}

/* Say that @w parks.  Return: false if it was woken meanwhile, and is not to sleep. */
static inline bool parks(struct worker *w, uint32_t event)
{
	/* Full barrier: pairs with the exchange in futex_wake(). */
	atomic_exchange_explicit(&half_of(w)->parked, 1, memory_order_seq_cst);
	atomic_thread_fence(memory_order_seq_cst);
	inject_delay();
	return !reason_to_stay_up(w, event);
}

static void futex_park(struct worker *w, uint32_t event)
{
	struct futex_domain *d = domain_of(w->rt);
	struct futex_worker *h = half_of(w);
	uint64_t until = ROOST_FOREVER;
	bool keeper = keeper_become(w);

	if (keeper)
		until = keeper_prepare(w);
	if (parks(w, event)) {
		inject_delay();
		stat_add(&w->stats.parks, 1);
		sleep_until_woken(h, until);
	} else {
		stat_add(&w->stats.parks_refused, 1);
	}
	atomic_store_explicit(&h->parked, 0, memory_order_relaxed);
	if (keeper)
		atomic_store_explicit(&d->keeper_until, 0,
				      memory_order_relaxed);
	idle_clear(w);
}

static bool futex_wake(struct worker *target, bool sync)
{
	struct futex_worker *h = half_of(target);

	(void)sync;
	/*
	 * The caller's clearing of the idle bit comes before this, as a full
	 * barrier; pairs with the one in parks().
	 */
	if (!atomic_exchange_explicit(&h->parked, 0, memory_order_seq_cst))
		return false;
	futex(&h->parked, FUTEX_WAKE, 1, NULL);
	return true;
}

static void futex_settle(struct worker *w)
{
	/* Nothing is ever staged: arming takes effect at once. */
	(void)w;
}

const struct backend backend_futex = {
	.name = "futex",
	.start = futex_start,
	.end = futex_end,
	.worker_init = futex_worker_init,
	.worker_fini = futex_worker_fini,
	.worker_enter = futex_worker_enter,
	.worker_leave = futex_worker_leave,
	.busy = futex_busy,
	.collect = futex_collect,
	.settle = futex_settle,
	.park = futex_park,
	.wake = futex_wake,
	.timer_arm = futex_timer_arm,
	.timer_end = futex_timer_end,
	.fd_arm = futex_fd_arm,
	.fd_disarm = futex_fd_disarm,
};
