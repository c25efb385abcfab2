// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * runtime.c - the phases of a run, in order, and their undoing, in reverse.
 */
#define _GNU_SOURCE
#include "runtime.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "config.h"
#include "fd.h"
#include "log.h"
#include "registry.h"
#include "stats.h"

/**
 * struct gate - threads wait here until all that could be started are
 * @lock:	guards the rest
 * @changed:	any of it has
 * @answers:	threads that have said whether they could become a worker
 * @failure:	-errno of one that could not
 * @open:	go
 * @refused:	go away instead
 */
struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int answers;
	int failure;
	bool open;
	bool refused;
};

struct start {
	struct gate *gate;
	struct worker *worker;
};

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
	{ "workers", workers_alloc, workers_free },
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

static bool gate_answer_and_wait(struct gate *g, int err)
{
	bool go;

	pthread_mutex_lock(&g->lock);
	g->answers++;
	if (err)
		g->failure = err;
	pthread_cond_broadcast(&g->changed);
	while (!err && !g->open)
		pthread_cond_wait(&g->changed, &g->lock);
	go = !err && !g->refused;
	pthread_mutex_unlock(&g->lock);
	return go;
}

/* Wait for answer number @n.  Return: 0 or that thread's error. */
static int gate_ask(struct gate *g, unsigned int n)
{
	int err;

	pthread_mutex_lock(&g->lock);
	while (g->answers < n)
		pthread_cond_wait(&g->changed, &g->lock);
	err = g->failure;
	g->failure = 0;
	pthread_mutex_unlock(&g->lock);
	return err;
}

static void gate_open(struct gate *g, bool refused)
{
	pthread_mutex_lock(&g->lock);
	g->open = true;
	g->refused = refused;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

static void *worker_thread(void *arg)
{
	struct start *start = arg;
	struct worker *w = start->worker;
	struct gate *gate = start->gate;
	int err;

	free(start);
	worker_clock_start(w);
	err = w->rt->backend->worker_enter(w);
	if (gate_answer_and_wait(gate, err))
		worker_loop(w);
	if (!err)
		w->rt->backend->worker_leave(w);
	return NULL;
}

/*
 * Signals are the business of the program's own threads; only what a thread
 * does to itself stays deliverable.
 */
static void block_signals(sigset_t *old)
{
	static const int synchronous[] = {
		SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS,
	};
	sigset_t set;
	size_t i;

	sigfillset(&set);
	for (i = 0; i < ARRAY_SIZE(synchronous); i++)
		sigdelset(&set, synchronous[i]);
	pthread_sigmask(SIG_BLOCK, &set, old);
}

static int start_thread(struct worker *w, struct gate *gate)
{
	struct start *start = malloc(sizeof(*start));
	char name[16];
	int err;

	if (!start)
		return -ENOMEM;
	start->gate = gate;
	start->worker = w;
	err = pthread_create(&w->thread, NULL, worker_thread, start);
	if (err) {
		free(start);
		return -err;
	}
	snprintf(name, sizeof(name), "roost-w%u", w->index);
	pthread_setname_np(w->thread, name);
	err = gate_ask(gate, w->index);
	if (err)
		pthread_join(w->thread, NULL);
	return err;
}

/* Sets @rt->nr_workers to how many there are, this thread's included. */
static void start_threads(struct runtime *rt, struct gate *gate)
{
	unsigned int i;
	sigset_t old;
	int err = 0;

	block_signals(&old);
	for (i = 1; i < rt->nr_inited; i++) {
		err = start_thread(&rt->workers[i], gate);
		if (err)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	rt->nr_workers = i;
	if (i < rt->config.workers)
		log_line("only %u of %u workers could be started%s%s", i,
			 rt->config.workers, err ? ": " : "",
			 err ? strerror(-err) : "");
}

static void join_threads(struct runtime *rt)
{
	unsigned int i;

	for (i = 1; i < rt->nr_workers; i++)
		pthread_join(rt->workers[i].thread, NULL);
}

static int run(struct runtime *rt, roost_fn root, void *arg)
{
	struct worker *self = &rt->workers[0];
	struct gate gate = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	int err;

	worker_clock_start(self);
	err = rt->backend->worker_enter(self);
	if (err) {
		log_line("cannot start: worker 0: %s", strerror(-err));
		return -EAGAIN;
	}
	start_threads(rt, &gate);
	err = actor_spawn(rt, root, arg, &rt->root);
	gate_open(&gate, err != 0);
	if (!err)
		worker_loop(self);
	join_threads(rt);
	rt->backend->worker_leave(self);
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

	if (worker_self())
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
