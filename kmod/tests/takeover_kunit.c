// SPDX-License-Identifier: GPL-2.0
/*
 * Taking the worker of a carrier that is stuck: who may lose it, and what that
 * changes.  Carriers and standbys are made by hand, for a thread that only waits to
 * be stopped: what the scheduler would tell of it is written by the test.
 */
#include <linux/kthread.h>
#include <linux/slab.h>

#include "../takeover.c"

#include "../park.h"
#include "fixture.h"

/* A worker whose carrier waits for a CPU, and has long run one actor. */
struct stage {
	struct task_struct *task;
	struct roost_domain *domain;
	struct roost_worker *worker;
	struct roost_carrier *carrier;
	struct roost_carrier *standbys[2];
	unsigned int nr_standbys;
	struct roost_carrier *left;	/* one of them that is not listed any more */
};

/* With a reference for the notifier that it does not have. */
static struct roost_carrier *make_carrier(struct kunit *test,
					  struct task_struct *task)
{
	struct roost_carrier *carrier = kzalloc(sizeof(*carrier), GFP_KERNEL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, carrier);
	__module_get(THIS_MODULE);
	carrier->task = task;
	carrier->cpu = -1;
	refcount_set(&carrier->ref, 2);
	raw_spin_lock_init(&carrier->lock);
	roost_takeover_setup(carrier);
	return carrier;
}

static void drop_carrier(struct roost_carrier *carrier)
{
	hrtimer_cancel(&carrier->grace);
	roost_carrier_put(carrier);
}

static struct stage set_stage(struct kunit *test)
{
	struct stage s = {
		.task = fixture_spawn(test),
		.worker = fixture_worker(test, 1, 2),
	};

	s.domain = s.worker->domain;
	s.domain->has_standbys = 1;
	s.domain->control->queued = 1;
	fixture_attach(s.worker, s.task);
	s.carrier = make_carrier(test, s.task);
	s.worker->hooked = s.carrier;
	s.carrier->worker = s.worker;
	s.carrier->lease = s.worker->lease;
	s.carrier->active = true;
	s.carrier->since = ktime_sub_ms(ktime_get(), MSEC_PER_SEC);
	return s;
}

/* Ends the lease, whoever has it, and all that was made. */
static void end_stage(struct stage *s)
{
	struct roost_carrier *standby;

	fixture_attach(s->worker, NULL);
	drop_carrier(s->carrier);
	while (s->nr_standbys) {
		standby = s->standbys[--s->nr_standbys];
		if (standby == s->left || !leave_standbys(s->domain, standby))
			roost_carrier_put(standby);
		drop_carrier(standby);
	}
	if (s->task)
		kthread_stop(s->task);
}

static struct roost_carrier *list_standby(struct kunit *test, struct stage *s)
{
	struct roost_carrier *standby = make_carrier(test, s->task);

	raw_spin_lock_irq(&s->domain->standby_lock);
	list_add(&standby->node, &s->domain->standbys);
	s->domain->nr_standbys++;
	raw_spin_unlock_irq(&s->domain->standby_lock);
	s->standbys[s->nr_standbys++] = standby;
	return standby;
}

static void block(struct roost_carrier *carrier)
{
	raw_spin_lock_irq(&carrier->lock);
	carrier->active = false;
	carrier->stuck = true;
	carrier->due = ktime_get();
	raw_spin_unlock_irq(&carrier->lock);
}

/* Its timer goes off, as from an interrupt. */
static enum hrtimer_restart go_off(struct roost_carrier *carrier)
{
	enum hrtimer_restart restart;

	local_irq_disable();
	restart = grace_over(&carrier->grace);
	local_irq_enable();
	return restart;
}

static bool bit_is_set(const struct roost_worker *worker, const __u64 *mask)
{
	return test_bit(worker->index, (const unsigned long *)mask);
}

static void expect_given(struct kunit *test, struct stage *s,
			 struct roost_carrier *standby)
{
	struct roost_worker *worker = s->worker;
	u64 lease = s->carrier->lease + 1;

	KUNIT_EXPECT_PTR_EQ(test, s->carrier->worker, NULL);
	KUNIT_EXPECT_FALSE(test, s->carrier->stuck);
	KUNIT_EXPECT_TRUE(test, standby->given);
	KUNIT_EXPECT_TRUE(test, list_empty(&standby->node));
	KUNIT_EXPECT_PTR_EQ(test, standby->worker, worker);
	KUNIT_EXPECT_EQ(test, standby->index, worker->index);
	KUNIT_EXPECT_EQ(test, standby->lease, lease);
	KUNIT_EXPECT_PTR_EQ(test, worker->hooked, standby);
	KUNIT_EXPECT_PTR_EQ(test, worker->carrier, standby->task);
	KUNIT_EXPECT_PTR_EQ(test, worker->wait.private, (void *)standby->task);
	KUNIT_EXPECT_EQ(test, worker->page->lease, lease);
	KUNIT_EXPECT_EQ(test, worker->page->in_library, roost_outside(lease));
	KUNIT_EXPECT_EQ(test, worker->page->preempt, 0);
	KUNIT_EXPECT_FALSE(test, bit_is_set(worker, s->domain->control->on_cpu));
	KUNIT_EXPECT_FALSE(test, bit_is_set(worker, s->domain->control->blocked));
	KUNIT_EXPECT_EQ(test, worker->taken, 1);
}

static void expect_kept(struct kunit *test, struct stage *s)
{
	KUNIT_EXPECT_PTR_EQ(test, s->worker->hooked, s->carrier);
	KUNIT_EXPECT_PTR_EQ(test, s->carrier->worker, s->worker);
	KUNIT_EXPECT_EQ(test, s->worker->page->lease, s->carrier->lease);
	KUNIT_EXPECT_EQ(test, s->worker->taken, 0);
}

/* From STUCK to DISPLACED, and a standby from LISTED to RUNNING. */
static void blocked_ones_are_displaced(struct kunit *test)
{
	struct stage s = set_stage(test);
	struct roost_carrier *standby = list_standby(test, &s);

	roost_wake_index(s.domain, s.worker->index, false);
	s.worker->page->preempt = 1;
	set_bit(s.worker->index, (unsigned long *)s.domain->control->blocked);
	block(s.carrier);
	KUNIT_EXPECT_EQ(test, s.domain->nr_standbys, 1);
	KUNIT_EXPECT_EQ(test, go_off(s.carrier), HRTIMER_NORESTART);
	expect_given(test, &s, standby);
	KUNIT_EXPECT_EQ(test, s.worker->spun, 0);
	KUNIT_EXPECT_EQ(test, s.domain->nr_standbys, 0);
	/* the permit is the new one's */
	KUNIT_EXPECT_TRUE(test, s.worker->permit);
	/* its timer again: it has nothing to lose any more */
	list_standby(test, &s);
	block(s.carrier);
	go_off(s.carrier);
	KUNIT_EXPECT_EQ(test, s.worker->taken, 1);
	end_stage(&s);
}

/* From STUCK to RUNNING; too early. */
static void blocked_ones_that_are_not(struct kunit *test)
{
	struct stage s = set_stage(test);

	list_standby(test, &s);
	block(s.carrier);
	s.carrier->stuck = false;
	take(s.worker);
	expect_kept(test, &s);
	block(s.carrier);
	s.carrier->due = ktime_add_ms(ktime_get(), 60 * MSEC_PER_SEC);
	take(s.worker);
	expect_kept(test, &s);
	KUNIT_EXPECT_EQ(test, s.worker->starved, 0);
	end_stage(&s);
}

/* Nobody stands by: told once each time; who comes later has it at once. */
static void starved_ones(struct kunit *test)
{
	struct stage s = set_stage(test);
	struct roost_carrier *standby;
	u32 index = s.worker->index;

	block(s.carrier);
	take(s.worker);
	take(s.worker);
	expect_kept(test, &s);
	KUNIT_EXPECT_EQ(test, s.worker->starved, 1);
	KUNIT_EXPECT_TRUE(test, test_bit(index, s.domain->starved));
	KUNIT_EXPECT_TRUE(test, test_bit(index, s.domain->told));
	/* blocked another time */
	roost_takeover_blocked(s.carrier);
	hrtimer_cancel(&s.carrier->grace);
	block(s.carrier);
	take(s.worker);
	KUNIT_EXPECT_EQ(test, s.worker->starved, 2);

	standby = list_standby(test, &s);
	take_starved(s.domain);
	expect_given(test, &s, standby);
	KUNIT_EXPECT_FALSE(test, test_bit(index, s.domain->starved));
	KUNIT_EXPECT_EQ(test, s.worker->starved, 2);
	end_stage(&s);
}

/* A standby that gives up: it has been given a worker, or gets none. */
static void standbys_that_leave(struct kunit *test)
{
	struct stage s = set_stage(test);
	struct roost_carrier *first = list_standby(test, &s);
	struct roost_carrier *last = list_standby(test, &s);

	KUNIT_EXPECT_FALSE(test, leave_standbys(s.domain, last));
	KUNIT_EXPECT_EQ(test, s.domain->nr_standbys, 1);
	block(s.carrier);
	take(s.worker);
	expect_given(test, &s, first);
	KUNIT_EXPECT_FALSE(test, last->given);
	KUNIT_EXPECT_EQ(test, s.domain->nr_standbys, 0);
	KUNIT_EXPECT_TRUE(test, leave_standbys(s.domain, first));
	KUNIT_EXPECT_EQ(test, s.domain->nr_standbys, 0);
	s.left = last;
	end_stage(&s);
}

/* What else may be true of one that has long run an actor while work waits. */
enum detail {
	NOTHING_ELSE,
	NO_QUEUE_BUT_COMPLETIONS,
	NO_QUEUE_BUT_IO,
	NO_QUEUE_BUT_STAGED,
	INTERRUPTED,
	INSIDE_FOR_ANOTHER_LEASE,
	KEPT,	/* by what follows */
	OF_ANOTHER_CPU = KEPT,
	INSIDE,
	RESUMED,
	NO_WORK,
	FRESH,
	TOO_SOON,
	NOT_ACTIVE,
	PINNED,
	TURNED_OFF,
	ENDED,
	NR_DETAILS
};

static void set_detail(struct stage *s, enum detail detail)
{
	struct roost_worker_page *page = s->worker->page;
	struct roost_control *control = s->domain->control;
	struct roost_carrier *carrier = s->carrier;

	if (detail == NO_QUEUE_BUT_COMPLETIONS || detail == NO_QUEUE_BUT_IO ||
	    detail == NO_QUEUE_BUT_STAGED || detail == NO_WORK)
		control->queued = 0;
	if (detail == NO_QUEUE_BUT_STAGED)
		page->sq_tail++;
	if (detail == NO_QUEUE_BUT_COMPLETIONS)
		control->cq_ready[ROOST_MASK_WORDS - 1] = 1ULL << 63;
	if (detail == NO_QUEUE_BUT_IO)
		s->domain->nr_ready = 1;
	if (detail == INSIDE || detail == INSIDE_FOR_ANOTHER_LEASE)
		page->in_library = roost_inside(carrier->lease +
						(detail != INSIDE));
	if (detail == RESUMED)
		page->resumes++;
	if (detail == TOO_SOON)
		carrier->since = ktime_get();
	carrier->fresh = detail == FRESH;
	carrier->active = detail != NOT_ACTIVE;
	s->worker->pinned = detail == PINNED;
	if (detail == TURNED_OFF)
		spin_us = 0;
	if (detail == ENDED) {
		kthread_stop(s->task);
		s->task = NULL;
	}
}

static void unset_detail(struct stage *s)
{
	struct roost_control *control = s->domain->control;

	control->cq_ready[ROOST_MASK_WORDS - 1] = 0;
	s->domain->nr_ready = 0;
	s->worker->pinned = false;
	spin_us = 10000;
}

static void spinning_ones(struct kunit *test)
{
	struct roost_carrier *standby;
	enum detail detail;
	struct stage s;

	for (detail = 0; detail < NR_DETAILS && !fixture_failed(test); detail++) {
		s = set_stage(test);
		standby = list_standby(test, &s);
		/* long enough for TOO_SOON, whatever the machine does */
		spin_us = 500000;
		set_detail(&s, detail);
		get_cpu();
		if (detail == INTERRUPTED || detail == OF_ANOTHER_CPU)
			s.carrier->cpu = smp_processor_id() +
					 (detail == OF_ANOTHER_CPU);
		take(s.worker);
		put_cpu();
		if (detail < KEPT) {
			expect_given(test, &s, standby);
			KUNIT_EXPECT_EQ(test, s.worker->spun, 1);
		} else {
			expect_kept(test, &s);
		}
		unset_detail(&s);
		end_stage(&s);
		/* a line for each would be more than KUnit keeps of a case */
		if (fixture_failed(test))
			kunit_info(test, "detail %d\n", detail);
	}
}

static enum verdict judge_at(struct stage *s, ktime_t now)
{
	enum verdict verdict;

	raw_spin_lock_irq(&s->worker->lock);
	raw_spin_lock(&s->carrier->lock);
	verdict = judge(s->worker, s->carrier, now);
	raw_spin_unlock(&s->carrier->lock);
	raw_spin_unlock_irq(&s->worker->lock);
	return verdict;
}

/* Tick by tick: when a yield is asked for, and what is done at last. */
static void what_the_tick_thinks(struct kunit *test)
{
	struct stage s = set_stage(test);
	struct roost_worker_page *page = s.worker->page;
	ktime_t begin = ktime_get();

	s.carrier->fresh = true;
	KUNIT_EXPECT_EQ(test, judge_at(&s, begin), VERDICT_GO_ON);
	KUNIT_EXPECT_EQ(test, s.carrier->since, begin);
	KUNIT_EXPECT_EQ(test, page->preempt, 0);
	page->resumes = 7;
	KUNIT_EXPECT_EQ(test, judge_at(&s, begin + 1), VERDICT_GO_ON);
	KUNIT_EXPECT_EQ(test, s.carrier->since, begin + 1);
	KUNIT_EXPECT_EQ(test, page->preempt, 0);
	/* it has parked, and need not have left its CPU for that */
	s.worker->parks++;
	KUNIT_EXPECT_EQ(test, judge_at(&s, begin + 2), VERDICT_GO_ON);
	KUNIT_EXPECT_EQ(test, s.carrier->since, begin + 2);
	s.worker->pinned = true;
	KUNIT_EXPECT_EQ(test, judge_at(&s, begin + 3), VERDICT_GO_ON);
	KUNIT_EXPECT_EQ(test, s.carrier->since, begin + 3);
	s.worker->pinned = false;
	KUNIT_EXPECT_EQ(test, page->preempt, 0);
	s.domain->control->queued = 0;
	KUNIT_EXPECT_EQ(test, judge_at(&s, begin), VERDICT_GO_ON);
	KUNIT_EXPECT_EQ(test, s.carrier->since, begin);
	KUNIT_EXPECT_EQ(test, page->preempt, 0);
	s.domain->control->queued = 1;

	KUNIT_EXPECT_EQ(test, judge_at(&s, begin + 5 * NSEC_PER_MSEC),
			VERDICT_GO_ON);
	KUNIT_EXPECT_EQ(test, page->preempt, 1);
	KUNIT_EXPECT_EQ(test, s.carrier->since, begin);
	/* nobody stands by: that is told once */
	begin += 10 * NSEC_PER_MSEC;
	KUNIT_EXPECT_EQ(test, judge_at(&s, begin), VERDICT_TAKE);
	/* by the clock that take() looks at */
	s.carrier->since = ktime_sub_ms(ktime_get(), MSEC_PER_SEC);
	take(s.worker);
	KUNIT_EXPECT_EQ(test, s.worker->starved, 1);
	KUNIT_EXPECT_EQ(test, judge_at(&s, begin), VERDICT_GO_ON);
	list_standby(test, &s);
	KUNIT_EXPECT_EQ(test, judge_at(&s, begin), VERDICT_TAKE);
	s.carrier->cpu = 0;
	KUNIT_EXPECT_EQ(test, judge_at(&s, begin), VERDICT_POKE);
	page->in_library = roost_inside(s.carrier->lease);
	KUNIT_EXPECT_EQ(test, judge_at(&s, begin), VERDICT_GO_ON);
	s.carrier->active = false;
	KUNIT_EXPECT_EQ(test, judge_at(&s, begin), VERDICT_IDLE);
	end_stage(&s);
}

/* It goes on while a carrier is active, and lapses. */
static void the_tick_lapses(struct kunit *test)
{
	struct stage s = set_stage(test);
	struct hrtimer *timer = &s.domain->tick;

	s.domain->ticking = 1;
	s.domain->control->queued = 0;
	local_irq_disable();
	KUNIT_EXPECT_EQ(test, tick(timer), HRTIMER_RESTART);
	local_irq_enable();
	KUNIT_EXPECT_EQ(test, s.domain->ticking, 1);
	s.carrier->active = false;
	local_irq_disable();
	KUNIT_EXPECT_EQ(test, tick(timer), HRTIMER_NORESTART);
	local_irq_enable();
	KUNIT_EXPECT_EQ(test, s.domain->ticking, 0);
	/* a carrier becomes active */
	spin_us = MAX_SPIN_US;
	roost_takeover_tick(s.domain);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(timer));
	KUNIT_EXPECT_EQ(test, s.domain->ticking, 1);
	hrtimer_cancel(timer);
	/* and is seen not to be one any more when that is turned off */
	spin_us = 0;
	s.carrier->active = true;
	local_irq_disable();
	KUNIT_EXPECT_EQ(test, tick(timer), HRTIMER_NORESTART);
	local_irq_enable();
	KUNIT_EXPECT_EQ(test, s.domain->ticking, 0);
	roost_takeover_tick(s.domain);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(timer));
	spin_us = 10000;
	end_stage(&s);
}

/* An interrupt that comes: from the tick, to this CPU. */
static void who_spins_is_interrupted(struct kunit *test)
{
	struct stage s = set_stage(test);
	struct roost_carrier *standby = list_standby(test, &s);
	unsigned int left = 1;

	s.carrier->resumes = s.worker->page->resumes;
	get_cpu();
	local_irq_disable();
	s.carrier->cpu = smp_processor_id();
	KUNIT_EXPECT_TRUE(test, look_at(s.worker, ktime_get(), &left));
	local_irq_enable();
	put_cpu();
	expect_given(test, &s, standby);
	KUNIT_EXPECT_EQ(test, s.worker->spun, 1);
	KUNIT_EXPECT_EQ(test, left, 0);
	/* that of the interrupt has gone, and that of the lease */
	KUNIT_EXPECT_EQ(test, refcount_read(&s.carrier->ref), 1);
	end_stage(&s);
}

/* Of very many that spin, a tick takes some; the next ones the others. */
static void a_tick_is_bounded(struct kunit *test)
{
	enum { MANY = 2 * TICK_BATCH + 3 };
	struct stage *s = kunit_kcalloc(test, MANY, sizeof(*s), GFP_KERNEL);
	unsigned int i, round, n;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < MANY; i++)
		s[i] = set_stage(test);
	/* with nobody to take them: it is told of each, once */
	for (round = 1; round <= 4; round++) {
		local_irq_disable();
		tick(&s->domain->tick);
		local_irq_enable();
		for (n = 0, i = 0; i < MANY; i++)
			n += s[i].worker->starved;
		KUNIT_EXPECT_EQ(test, n, min_t(unsigned int, MANY,
					       round * TICK_BATCH));
	}
	for (i = 0; i < MANY; i++)
		end_stage(&s[i]);
}

/* Who is not in the way any more, or not yet, is not said to starve others. */
static void nobody_starves_for_nothing(struct kunit *test)
{
	struct stage s = set_stage(test);

	block(s.carrier);
	s.carrier->stuck = false;
	take(s.worker);
	KUNIT_EXPECT_EQ(test, s.worker->starved, 0);
	block(s.carrier);
	s.carrier->due = ktime_add_ms(ktime_get(), 60 * MSEC_PER_SEC);
	take(s.worker);
	KUNIT_EXPECT_EQ(test, s.worker->starved, 0);
	s.carrier->stuck = false;
	s.carrier->active = true;
	s.worker->page->in_library = roost_inside(s.carrier->lease);
	take(s.worker);
	KUNIT_EXPECT_EQ(test, s.worker->starved, 0);
	KUNIT_EXPECT_FALSE(test, test_bit(s.worker->index, s.domain->told));
	end_stage(&s);
}

/*
 * Between the two halves: neither does the one before take itself for the carrier, nor
 * the next one find that it has a worker which it does not carry.
 */
static void never_without_a_carrier(struct kunit *test)
{
	struct stage s = set_stage(test);
	struct roost_carrier *standby = list_standby(test, &s);
	bool before, between, given, old;

	standby->task = current;
	before = roost_worker_carried(s.domain);
	block(s.carrier);
	raw_spin_lock_irq(&s.worker->lock);
	raw_spin_lock(&s.domain->standby_lock);
	between = displace(s.worker, s.carrier, standby) &&
		  roost_worker_carried(s.domain);
	old = s.worker->carrier == s.task;
	given = standby->given;
	give(s.worker, standby);
	raw_spin_unlock(&s.domain->standby_lock);
	raw_spin_unlock_irq(&s.worker->lock);
	put_task_struct(s.task);
	roost_carrier_put(s.carrier);
	/* It has no notifier that could be unhooked. */
	standby->task = s.task;
	KUNIT_EXPECT_FALSE(test, before);
	KUNIT_EXPECT_TRUE(test, between);
	KUNIT_EXPECT_FALSE(test, old);
	KUNIT_EXPECT_FALSE(test, given);
	KUNIT_EXPECT_TRUE(test, standby->given);
	end_stage(&s);
}

/* Between the two steps of DETACH: what it is about to end is not another one's yet. */
static void who_detaches_keeps_its_lease(struct kunit *test)
{
	struct stage s = set_stage(test);
	struct roost_carrier *standby = list_standby(test, &s);

	KUNIT_EXPECT_FALSE(test, fixture_pin(s.worker));
	KUNIT_EXPECT_FALSE(test, s.worker->pinned);
	/* without a reference, which is the thread's that has it */
	WRITE_ONCE(s.worker->carrier, current);
	KUNIT_EXPECT_TRUE(test, fixture_pin(s.worker));
	take(s.worker);
	WRITE_ONCE(s.worker->carrier, s.task);
	expect_kept(test, &s);
	KUNIT_EXPECT_FALSE(test, standby->given);
	/* it is the pin, and nothing else */
	s.worker->pinned = false;
	take(s.worker);
	expect_given(test, &s, standby);
	end_stage(&s);
}

/* Very many standbys are sent away in parts; so are those that are left. */
static void all_are_dismissed(struct kunit *test)
{
	struct stage s = set_stage(test);
	unsigned int i;

	s.domain->carriers = true;
	for (i = 0; i < 2; i++)
		list_standby(test, &s);
	KUNIT_EXPECT_EQ(test, roost_takeover_dismiss(s.domain), 2);
	KUNIT_EXPECT_EQ(test, s.domain->nr_standbys, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&s.domain->standbys));
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_TRUE(test, is_told(s.domain, s.standbys[i]));
		KUNIT_EXPECT_FALSE(test, leave_standbys(s.domain, s.standbys[i]));
	}
	KUNIT_EXPECT_EQ(test, s.domain->nr_standbys, 0);
	KUNIT_EXPECT_EQ(test, roost_takeover_dismiss(s.domain), 0);
	/* nobody to take it any more */
	block(s.carrier);
	take(s.worker);
	expect_kept(test, &s);
	KUNIT_EXPECT_EQ(test, s.worker->starved, 1);
	s.domain->carriers = false;
	KUNIT_EXPECT_EQ(test, roost_takeover_dismiss(s.domain), -EOPNOTSUPP);
	end_stage(&s);
}

/* Races */

enum { TAKES = 200, RACES = 20 };

struct racing {
	struct stage *stage;
	bool ends;
};

/* Take the worker again and again; or end the lease, whoever has it. */
static int take_or_end(void *arg)
{
	struct racing *r = arg;
	int i;

	for (i = 0; i < TAKES && !r->ends; i++)
		take(r->stage->worker);
	if (r->ends)
		fixture_attach(r->stage->worker, NULL);
	return 0;
}

static void race(struct kunit *test, bool ends)
{
	struct stage s;
	struct racing r[3] = { { &s }, { &s }, { &s, ends } };
	void *args[3] = { &r[0], &r[1], &r[2] };
	bool first, last;
	int i;

	for (i = 0; i < RACES; i++) {
		s = set_stage(test);
		list_standby(test, &s);
		list_standby(test, &s);
		block(s.carrier);
		fixture_race(test, take_or_end, args, 3);
		first = s.standbys[0]->given;
		last = s.standbys[1]->given;
		/* the newest, and only one; perhaps the end came first */
		KUNIT_EXPECT_FALSE(test, first);
		KUNIT_EXPECT_EQ(test, s.domain->nr_standbys, 2 - last);
		KUNIT_EXPECT_EQ(test, s.worker->taken, last);
		KUNIT_EXPECT_PTR_EQ(test, s.carrier->worker, NULL);
		if (ends) {
			KUNIT_EXPECT_PTR_EQ(test, s.worker->hooked, NULL);
			KUNIT_EXPECT_PTR_EQ(test, s.worker->carrier, NULL);
			KUNIT_EXPECT_PTR_EQ(test, s.standbys[1]->worker, NULL);
			KUNIT_EXPECT_EQ(test, s.worker->page->lease, 0);
			KUNIT_EXPECT_EQ(test, s.worker->page->in_library, 0);
		} else {
			expect_given(test, &s, s.standbys[1]);
		}
		end_stage(&s);
	}
}

static void takers(struct kunit *test)
{
	race(test, false);
}

static void takers_and_the_end_of_the_lease(struct kunit *test)
{
	race(test, true);
}

static struct kunit_case takeover_cases[] = {
	KUNIT_CASE(blocked_ones_are_displaced),
	KUNIT_CASE(blocked_ones_that_are_not),
	KUNIT_CASE(starved_ones),
	KUNIT_CASE(standbys_that_leave),
	KUNIT_CASE(spinning_ones),
	KUNIT_CASE(what_the_tick_thinks),
	KUNIT_CASE(the_tick_lapses),
	KUNIT_CASE(who_spins_is_interrupted),
	KUNIT_CASE(a_tick_is_bounded),
	KUNIT_CASE(nobody_starves_for_nothing),
	KUNIT_CASE(never_without_a_carrier),
	KUNIT_CASE(who_detaches_keeps_its_lease),
	KUNIT_CASE(all_are_dismissed),
	KUNIT_CASE(takers),
	KUNIT_CASE(takers_and_the_end_of_the_lease),
	{}
};

FIXTURE_SUITE(takeover, takeover_cases);
