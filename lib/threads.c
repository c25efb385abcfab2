// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * threads.c - starting, keeping and joining the threads of a runtime.
 *
 * A thread that ends joins the one that has ended before it, so that those that come
 * and go leave nothing; the last one, and whoever is still there, is for roost_run().
 */
#define _GNU_SOURCE
#include "threads.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "carrier.h"
#include "log.h"
#include "runtime.h"

/* See threads.h. */
#define KEEP_READY	3U

/* Between two tries to stand by, if the kernel has no memory for it. */
#define RETRY_NS	10000000L

static bool gate_answer_and_wait(struct threads *t, int err)
{
	struct gate *g = &t->gate;
	bool go;

	pthread_mutex_lock(&t->lock);
	g->answers++;
	if (err)
		g->failure = err;
	pthread_cond_broadcast(&g->changed);
	while (!err && !g->open)
		pthread_cond_wait(&g->changed, &t->lock);
	go = !err && !g->refused;
	pthread_mutex_unlock(&t->lock);
	return go;
}

/* Wait for answer number @n.  Return: 0 or that thread's error. */
static int gate_ask(struct threads *t, unsigned int n)
{
	struct gate *g = &t->gate;
	int err;

	pthread_mutex_lock(&t->lock);
	while (g->answers < n)
		pthread_cond_wait(&g->changed, &t->lock);
	err = g->failure;
	g->failure = 0;
	pthread_mutex_unlock(&t->lock);
	return err;
}

static void gate_open(struct threads *t, bool refused)
{
	pthread_mutex_lock(&t->lock);
	t->gate.open = true;
	t->gate.refused = refused;
	pthread_cond_broadcast(&t->gate.changed);
	pthread_mutex_unlock(&t->lock);
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static uint64_t busy_ns(const struct carrier *c)
{
	uint64_t now = read_clock(c->clock);

	return now > c->clock_start ? now - c->clock_start : 0;
}

void threads_for_each(struct runtime *rt, void (*fn)(struct carrier *c, void *arg),
		      void *arg)
{
	struct threads *t = &rt->threads;
	struct carrier *c;

	pthread_mutex_lock(&t->list_lock);
	fn(t->first, arg);
	list_for_each_entry(c, &t->all, node)
		fn(c, arg);
	pthread_mutex_unlock(&t->list_lock);
}

uint64_t threads_busy_ns(struct runtime *rt)
{
	struct threads *t = &rt->threads;
	struct carrier *c;
	uint64_t sum;

	pthread_mutex_lock(&t->list_lock);
	sum = busy_ns(t->first) + t->ended_ns;
	list_for_each_entry(c, &t->all, node)
		sum += busy_ns(c);
	pthread_mutex_unlock(&t->list_lock);
	return sum;
}

static struct carrier *carrier_make(struct runtime *rt, struct worker *w)
{
	struct carrier *c = aligned_alloc(_Alignof(struct carrier), sizeof(*c));

	if (!c)
		return NULL;
	memset(c, 0, sizeof(*c));
	carrier_unshare(c);
	c->rt = rt;
	carrier_set_worker(c, w);
	return c;
}

static void join(struct carrier *c)
{
	if (!c)
		return;
	pthread_join(c->thread, NULL);
	free(c);
}

/* The last thing that a thread does, but for the first. */
static void retire(struct carrier *c)
{
	struct threads *t = &c->rt->threads;
	struct carrier *before = NULL;

	/* Not before whoever has started it is done with that. */
	pthread_mutex_lock(&t->lock);
	pthread_mutex_lock(&t->list_lock);
	t->ended_ns += busy_ns(c);
	if (!c->awaited)
		list_del_init(&c->node);
	pthread_mutex_unlock(&t->list_lock);
	if (!c->awaited) {
		before = t->ended;
		t->ended = c;
	}
	pthread_mutex_unlock(&t->lock);
	join(before);
}

static struct carrier *next_to_join(struct threads *t)
{
	struct carrier *c;

	pthread_mutex_lock(&t->lock);
	c = t->ended;
	t->ended = NULL;
	if (!c && !list_empty(&t->all)) {
		c = list_first_entry(&t->all, struct carrier, node);
		pthread_mutex_lock(&t->list_lock);
		list_del_init(&c->node);
		pthread_mutex_unlock(&t->list_lock);
		c->awaited = true;
	}
	pthread_mutex_unlock(&t->lock);
	return c;
}

/* Also those that are started meanwhile: who starts one has not ended. */
static void join_all(struct runtime *rt)
{
	struct carrier *c;

	while ((c = next_to_join(&rt->threads)))
		join(c);
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
	/* Also if who starts it, perhaps an actor, has those blocked. */
	pthread_sigmask(SIG_SETMASK, &set, old);
}

/* Lock held: it has its number before it, or who joins it, can go on. */
static int start(struct carrier *c, void *(*main)(void *arg), void *arg)
{
	struct threads *t = &c->rt->threads;
	sigset_t old;
	int err;

	block_signals(&old);
	err = pthread_create(&c->thread, NULL, main, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return -err;
	if (pthread_getcpuclockid(c->thread, &c->clock))
		c->clock = CLOCK_THREAD_CPUTIME_ID;
	pthread_mutex_lock(&t->list_lock);
	list_add_tail(&c->node, &t->all);
	pthread_mutex_unlock(&t->list_lock);
	return 0;
}

/* Workers */

static void *worker_thread(void *arg)
{
	struct carrier *c = arg;
	int err = c->rt->backend->worker_enter(c);

	if (gate_answer_and_wait(&c->rt->threads, err))
		worker_loop(c);
	else if (!err)
		c->rt->backend->worker_leave(c->worker);
	retire(c);
	return NULL;
}

static int start_worker(struct runtime *rt, unsigned int index)
{
	struct threads *t = &rt->threads;
	struct carrier *c = carrier_make(rt, &rt->workers[index]);
	char name[24];
	int err;

	if (!c)
		return -ENOMEM;
	pthread_mutex_lock(&t->lock);
	err = start(c, worker_thread, c);
	if (!err) {
		snprintf(name, sizeof(name), "roost-w%u", index);
		pthread_setname_np(c->thread, name);
	}
	pthread_mutex_unlock(&t->lock);
	if (err) {
		free(c);
		return err;
	}
	return gate_ask(t, index);
}

static void start_workers(struct runtime *rt)
{
	unsigned int i;
	int err = 0;

	for (i = 1; i < rt->nr_inited; i++) {
		err = start_worker(rt, i);
		if (err)
			break;
	}
	rt->nr_workers = i;
	if (i < rt->config.workers)
		log_line("only %u of %u workers could be started%s%s", i,
			 rt->config.workers, err ? ": " : "",
			 err ? strerror(-err) : "");
}

/* Standbys */

static void *standby_thread(void *arg)
{
	struct carrier *c = arg;

	pthread_setname_np(pthread_self(), "roost-standby");
	worker_loop(c);
	retire(c);
	return NULL;
}

/* Lock held. */
static void start_standby(struct runtime *rt)
{
	struct threads *t = &rt->threads;
	struct carrier *c = carrier_make(rt, NULL);
	int err = -ENOMEM;

	if (c) {
		c->counted = true;
		err = start(c, standby_thread, c);
	}
	if (!err) {
		t->more++;
		t->ready++;
		return;
	}
	free(c);
	if (!t->said_failed)
		log_line("no thread to stand by: %s: who blocks keeps its worker",
			 strerror(-err));
	t->said_failed = true;
}

/* Lock held.  Somebody is to stand by, unless there are too many already. */
static void see_to_standby(struct runtime *rt)
{
	struct threads *t = &rt->threads;

	if (t->ready)
		return;
	if (t->more < rt->config.standbys) {
		start_standby(rt);
		return;
	}
	if (!t->said_full)
		log_line("all %u standbys are in use: who blocks now keeps its worker; set standbys higher",
			 rt->config.standbys);
	t->said_full = true;
}

/* Return: false if enough others stand by. */
static bool may_stand_by(struct carrier *c)
{
	struct runtime *rt = c->rt;
	struct threads *t = &rt->threads;
	bool may = true;

	pthread_mutex_lock(&t->lock);
	if (c->counted) {
		c->counted = false;
	} else if (c != t->first && t->ready >= rt->nr_workers + KEEP_READY) {
		t->more--;
		may = false;
	} else {
		t->ready++;
	}
	pthread_mutex_unlock(&t->lock);
	return may;
}

/* Lock held. */
static void say_cannot(struct threads *t, int err)
{
	if (!t->said_failed)
		log_line("cannot stand by: %s", strerror(-err));
	t->said_failed = true;
}

/* That may pass.  Return: false if nobody is to stand by any more. */
static bool wait_for_memory(struct threads *t)
{
	const struct timespec ts = { .tv_nsec = RETRY_NS };
	bool dismissed;

	pthread_mutex_lock(&t->lock);
	say_cannot(t, -ENOMEM);
	dismissed = t->dismissed;
	pthread_mutex_unlock(&t->lock);
	if (!dismissed)
		nanosleep(&ts, NULL);
	return !dismissed;
}

/* It is among @ready all the while: nobody else could, either. */
static int stand_by(struct carrier *c)
{
	struct runtime *rt = c->rt;
	int err;

	do {
		err = rt->backend->stand_by(c);
		if (err == -ENOMEM && !wait_for_memory(&rt->threads))
			return -ECANCELED;
		/* Only the thread that called roost_run() may get signals. */
	} while (err == -EINTR || err == -ENOMEM);
	return err;
}

bool threads_stand_by(struct carrier *c)
{
	struct runtime *rt = c->rt;
	struct threads *t = &rt->threads;
	int err;

	if (!may_stand_by(c))
		return false;
	err = stand_by(c);
	/* It has a worker: a call of the library was not left as it was entered. */
	if (err == -EBUSY)
		log_fatal("a carrier that was not displaced stands by");
	pthread_mutex_lock(&t->lock);
	t->ready--;
	if (!err) {
		see_to_standby(rt);
	} else if (err != -ECANCELED) {
		/* It ends, and its place may be another's. */
		t->more--;
		say_cannot(t, err);
	}
	pthread_mutex_unlock(&t->lock);
	return !err;
}

void threads_dismiss(struct runtime *rt)
{
	struct threads *t = &rt->threads;

	if (!rt->takeover)
		return;
	pthread_mutex_lock(&t->lock);
	t->dismissed = true;
	pthread_mutex_unlock(&t->lock);
	rt->backend->dismiss(rt);
}

/* The whole */

int threads_init(struct runtime *rt)
{
	struct threads *t = &rt->threads;

	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_init(&t->list_lock, NULL);
	pthread_cond_init(&t->gate.changed, NULL);
	INIT_LIST_HEAD(&t->all);
	t->first = carrier_make(rt, NULL);
	return t->first ? 0 : -ENOMEM;
}

void threads_fini(struct runtime *rt)
{
	free(rt->threads.first);
	pthread_cond_destroy(&rt->threads.gate.changed);
	pthread_mutex_destroy(&rt->threads.list_lock);
	pthread_mutex_destroy(&rt->threads.lock);
}

int threads_begin(struct runtime *rt)
{
	struct threads *t = &rt->threads;
	struct carrier *c = t->first;
	int err;

	carrier_set_worker(c, &rt->workers[0]);
	if (pthread_getcpuclockid(pthread_self(), &c->clock))
		c->clock = CLOCK_THREAD_CPUTIME_ID;
	c->clock_start = read_clock(c->clock);
	err = rt->backend->worker_enter(c);
	if (err)
		return err;
	start_workers(rt);
	slot_watch_begin(rt);
	if (rt->takeover) {
		pthread_mutex_lock(&t->lock);
		see_to_standby(rt);
		pthread_mutex_unlock(&t->lock);
	}
	return 0;
}

void threads_run(struct runtime *rt, int err)
{
	gate_open(&rt->threads, err != 0);
	if (err) {
		threads_dismiss(rt);
		rt->backend->worker_leave(&rt->workers[0]);
	} else {
		worker_loop(rt->threads.first);
	}
	join_all(rt);
	slot_watch_end(rt);
}
