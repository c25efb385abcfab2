/* SPDX-License-Identifier: GPL-2.0 */
/* What the KUnit suites share: a domain for each test, and its workers. */
#ifndef _ROOST_TESTS_FIXTURE_H
#define _ROOST_TESTS_FIXTURE_H

#include <kunit/test.h>
#include <linux/list.h>
#include <linux/sched.h>

#include <uapi/linux/roost.h>

#include "../compat.h"
#include "../domain.h"
#include "../worker.h"

/* Indices of each class that a test's domain has. */
#define FIXTURE_OPS	64

/* A generous limit for what comes soon, in jiffies. */
#define FIXTURE_LIMIT	(20 * HZ)

/* Threads of fixture_race() at most. */
#define FIXTURE_RACERS	4

struct racer;

/**
 * struct fixture - what each test begins with: test->priv
 * @domain:	a domain without workers
 * @files:	struct fake_file list, see fake_file.h
 * @racers:	threads of fixture_race() that there are
 */
struct fixture {
	struct roost_domain *domain;
	struct list_head files;
	struct racer *racers[FIXTURE_RACERS];
};

int fixture_suite_init(struct kunit_suite *suite);
void fixture_suite_exit(struct kunit_suite *suite);
void fixture_use_mm(void);
void fixture_unuse_mm(void);
int fixture_init(struct kunit *test);
void fixture_exit(struct kunit *test);

struct roost_worker *fixture_worker(struct kunit *test, u32 sq_entries,
				    u32 cq_entries);
void fixture_attach(struct roost_worker *worker, struct task_struct *task);
long fixture_worker_ioctl(struct roost_worker *worker, unsigned int cmd,
			  void *arg, size_t size);
long fixture_domain_ioctl(struct roost_domain *domain, unsigned int cmd,
			  void *arg, size_t size);
bool fixture_pin(struct roost_worker *worker);
int fixture_check_worker(const struct roost_worker_params *params);

u64 fixture_seed(struct kunit *test);
u64 fixture_random(u64 *state);
u32 fixture_below(u64 *state, u32 limit);

bool fixture_take(struct roost_worker *worker, struct roost_cqe *cqe);
bool fixture_submit(struct kunit *test, struct roost_worker *worker,
		    const struct roost_sqe *sqe);
void fixture_race(struct kunit *test, int (*fn)(void *arg), void **args,
		  unsigned int n);
void fixture_end_races(struct fixture *fixture);
struct task_struct *fixture_spawn(struct kunit *test);

/* For loops that should not go on once something is wrong. */
static inline bool fixture_failed(struct kunit *test)
{
	return READ_ONCE(test->status) == KUNIT_FAILURE;
}

static inline struct roost_domain *fixture_domain(struct kunit *test)
{
	struct fixture *fixture = test->priv;

	return fixture->domain;
}

/* One suite a file; each calls functions that are __init. */
#define FIXTURE_SUITE(suite_name, cases)				\
	FIXTURE_SUITE_INIT(suite_name, cases, fixture_init)

/* With an init function that calls fixture_init(). */
#define FIXTURE_SUITE_INIT(suite_name, cases, init_fn)			\
	static struct kunit_suite suite_name##_suite = {		\
		.name = "roost_" #suite_name,				\
		.suite_init = fixture_suite_init,			\
		.suite_exit = fixture_suite_exit,			\
		.init = init_fn,						\
		.exit = fixture_exit,					\
		.test_cases = cases,					\
	};								\
	kunit_test_init_section_suites(&suite_name##_suite)

#endif /* _ROOST_TESTS_FIXTURE_H */
