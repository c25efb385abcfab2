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

#include "actor.h"
#include "config.h"
#include "fd.h"
#include "log.h"
#include "registry.h"
#include "threads.h"

static int slots_init(struct runtime *rt)
{
	return slot_table_init(rt, rt->config.max_actors);
}

static int stacks_start(struct runtime *rt)
{
	return stacks_init(&rt->stacks, rt->config.stack_size,
			   rt->config.stack_pool);
}

static void stacks_end(struct runtime *rt)
{
	stacks_fini(&rt->stacks);
}

static int runq_start(struct runtime *rt)
{
	rt->runq = runq_create(rt);
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
	{ "threads", threads_init, threads_fini },
	{ "backend", backend_start, backend_end },
	{ "workers' backends", workers_init, workers_fini },
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
	err = actor_spawn(rt, root, arg, &rt->root);
	threads_run(rt, err);
	return err;
}

static void init_counters(struct runtime *rt)
{
	rt->root = ROOST_PID_NONE;
	atomic_init(&rt->live, 0);
	atomic_init(&rt->root_gone, false);
	atomic_init(&rt->full_said, false);
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
