// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * runtime.c - the phases of a run, in order, and their undoing, in reverse.
 */
#define _GNU_SOURCE
#include "runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "account.h"
#include "actor.h"
#include "config.h"
#include "errno_cell.h"
#include "fault.h"
#include "fd.h"
#include "fork.h"
#include "log.h"
#include "registry.h"
#include "threads.h"

static int slots_init(struct runtime *rt)
{
	return slot_table_init(rt, rt->config.max_actors);
}

static int stacks_start(struct runtime *rt)
{
	const struct stack_rules rules = {
		.chunk_size = (size_t)rt->config.stack_chunk << 20,
		.pool_cap = rt->config.stack_pool,
		.flags = rt->config.stack_flags,
	};

	return stack_sizes_init(&rt->stacks, rt->config.stack_size, &rules);
}

static void stacks_end(struct runtime *rt)
{
	stack_sizes_fini(&rt->stacks);
}

static int runq_start(struct runtime *rt)
{
	rt->runq = runq_create(runq_kind_of(rt->config.runq), rt->slots,
			       rt->config.max_actors, rt->config.workers);
	rt->wake_slot = rt->config.wake_slot == ROOST_WAKE_SLOT_ON;
	return rt->runq ? 0 : -ENOMEM;
}

static void runq_end(struct runtime *rt)
{
	runq_destroy(rt->runq);
}

static int caches_start(struct runtime *rt)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	caches_read(&rt->caches, "/sys/devices/system/cpu",
		    cpus > 0 ? (unsigned int)cpus : 0);
	return 0;
}

static void caches_end(struct runtime *rt)
{
	caches_free(&rt->caches);
}

static int workers_alloc(struct runtime *rt)
{
	size_t bytes = rt->config.workers * sizeof(*rt->workers);
	unsigned int i;

	rt->workers = aligned_alloc(_Alignof(struct worker), bytes);
	if (!rt->workers)
		return -ENOMEM;
	memset(rt->workers, 0, bytes);
	for (i = 0; i < rt->config.workers; i++) {
		rt->workers[i].rt = rt;
		rt->workers[i].index = i;
	}
	return 0;
}

static void workers_free(struct runtime *rt)
{
	free(rt->workers);
}

static void backend_end(struct runtime *rt)
{
	rt->backend->end(rt);
}

/* Fewer workers than asked for will do. */
static int workers_init(struct runtime *rt)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < rt->config.workers; i++) {
		err = rt->backend->worker_init(&rt->workers[i]);
		if (err)
			break;
	}
	rt->nr_workers = i;
	rt->nr_inited = i;
	return i ? 0 : err;
}

static void workers_fini(struct runtime *rt)
{
	unsigned int i;

	for (i = 0; i < rt->nr_inited; i++)
		rt->backend->worker_fini(&rt->workers[i]);
}

/* What was decided by the phases before. */
static int extra_init(struct runtime *rt)
{
	uint32_t extra = (rt->takeover ? EXTRA_TAKEOVER : 0) |
			 (rt->cycles ? EXTRA_CYCLES : 0);

	atomic_init(&rt->extra, extra);
	return 0;
}

static void extra_fini(struct runtime *rt)
{
	(void)rt;
}

static const struct phase {
	const char *name;
	int (*init)(struct runtime *rt);
	void (*fini)(struct runtime *rt);
} phases[] = {
	{ "slots", slots_init, slot_table_fini },
	{ "stacks", stacks_start, stacks_end },
	{ "run queue", runq_start, runq_end },
	{ "files", fd_table_init, fd_table_fini },
	{ "caches", caches_start, caches_end },
	{ "workers", workers_alloc, workers_free },
	{ "faults", fault_start, fault_end },
	{ "threads", threads_init, threads_fini },
	{ "trace's memory", trace_memory_init, trace_memory_fini },
	{ "backend", backend_start, backend_end },
	{ "workers' backends", workers_init, workers_fini },
	{ "accounts", account_init, account_fini },
	{ "extra", extra_init, extra_fini },
	{ "trace", trace_init, trace_fini },
	{ "registry", registry_add, registry_remove },
};

static void phases_undo(struct runtime *rt, size_t n)
{
	while (n--)
		phases[n].fini(rt);
}

static int phases_do(struct runtime *rt)
{
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(phases); i++) {
		err = phases[i].init(rt);
		if (err) {
			log_line("cannot start: %s: %s", phases[i].name,
				 strerror(-err));
			phases_undo(rt, i);
			return err;
		}
	}
	return 0;
}

static int run(struct runtime *rt, roost_fn root, void *arg)
{
	int err = threads_begin(rt);

	if (err) {
		log_line("cannot start: worker 0: %s", strerror(-err));
		return -EAGAIN;
	}
	err = actor_spawn(rt, root, arg, NULL, &rt->root);
	threads_run(rt, err);
	return err;
}

int roost_workers(const struct roost_config *config)
{
	struct roost_config resolved;
	int saved = errno_get();
	int err = config_resolve(config, &resolved);

	errno_set(saved);
	return err ? err : (int)resolved.workers;
}

static void init_counters(struct runtime *rt)
{
	rt->root = ROOST_PID_NONE;
	atomic_init(&rt->live, 0);
	atomic_init(&rt->root_gone, false);
	atomic_init(&rt->full_said, false);
	atomic_init(&rt->signals_said, false);
	atomic_init(&rt->crashes_said, 0);
	atomic_init(&rt->reluctant, 0);
	atomic_init(&rt->sweep_hint, 0);
	spin_init(&rt->sweep_lock);
}

int roost_run(const struct roost_config *config, roost_fn root, void *arg)
{
	struct runtime *rt;
	int err;

	if (runtime_self())
		return -EDEADLK;
	fork_watch();
	rt = aligned_alloc(_Alignof(struct runtime), sizeof(*rt));
	if (!rt)
		return -ENOMEM;
	memset(rt, 0, sizeof(*rt));
	init_counters(rt);
	err = config_resolve(config, &rt->config);
	if (err)
		goto out;
	err = phases_do(rt);
	if (err)
		goto out;
	err = run(rt, root, arg);
	phases_undo(rt, ARRAY_SIZE(phases));
out:
	free(rt);
	return err;
}
