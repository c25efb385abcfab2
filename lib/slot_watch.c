// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * slot_watch.c - a thread that frees who is stuck in a wake slot.
 *
 * Filling a wake slot wakes no worker, for mostly the waker is about to wait.  If it
 * computes instead, or blocks, and all other workers sleep, nobody would come.  This
 * thread looks at the slots every NAP_NS, and queues who was there at the look before,
 * too, with no newer one put in since; then somebody idle is woken as for all that is
 * queued.
 *
 * It sleeps for good when no slot was filled for NAPS_IN_VAIN looks, so a run that has
 * nothing to do does nothing.  Who fills a slot then wakes it:
 *
 *	filling				going to sleep
 *	fill (full barrier)		word = ASLEEP
 *	word is ASLEEP?			full barrier		(W)
 *	  then AWAKE, FUTEX_WAKE	a slot filled since?  then AWAKE
 *
 * Either the one sees the other's word, or this that a slot was filled: that is counted
 * before the exchange which fills it.
 */
#define _GNU_SOURCE
#include "slot_watch.h"

#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "errno_cell.h"
#include "inject.h"
#include "log.h"
#include "runtime.h"
#include "wakeslot.h"

#define NAP_NS		1000000L
#define NAPS_IN_VAIN	4

static uint64_t puts_of(const struct worker *w)
{
	return atomic_load_explicit(&w->slot_puts, memory_order_relaxed);
}

/* Was any filled since the last look? */
static bool any_filled(const struct runtime *rt)
{
	unsigned int i;

	for (i = 0; i < rt->nr_workers; i++)
		if (puts_of(&rt->workers[i]) != rt->workers[i].slot_seen)
			return true;
	return false;
}

/* Who was there before is queued.  Return: a slot is in use. */
static bool look_at(struct worker *w)
{
	uint64_t puts = puts_of(w);
	bool same = puts == w->slot_seen;
	struct slot *s;

	w->slot_seen = puts;
	if (!same)
		return true;
	inject_delay();
	s = wakeslot_take(w);
	if (!s)
		return false;
	trace(w->rt, ROOST_TRACE_SLOT_POP, s, 0, 0);
	runtime_queue(w->rt, NULL, s);
	worker_wake_one(w->rt);
	return true;
}

static bool look(struct runtime *rt)
{
	bool busy = false;
	unsigned int i;

	for (i = 0; i < rt->nr_workers; i++)
		busy |= look_at(&rt->workers[i]);
	return busy;
}

static long futex(_Atomic uint32_t *word, int op, uint32_t value,
		  const struct timespec *limit)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, limit,
		       NULL, 0);
}

/* Return: false if the run is over. */
static bool nap(struct runtime *rt)
{
	const struct timespec ts = { .tv_nsec = NAP_NS };

	futex(&rt->watch.word, FUTEX_WAIT, WATCH_AWAKE, &ts);
	return atomic_load_explicit(&rt->watch.word, memory_order_acquire) !=
	       WATCH_OVER;
}

/* Return: false if the run is over. */
static bool sleep_until_told(struct runtime *rt)
{
	_Atomic uint32_t *word = &rt->watch.word;
	uint32_t awake = WATCH_AWAKE;

	inject_delay();
	atomic_compare_exchange_strong(word, &awake, WATCH_ASLEEP);
	/* (W), pairs with the one in slot_watch_tell(). */
	atomic_thread_fence(memory_order_seq_cst);
	inject_delay();
	if (any_filled(rt)) {
		uint32_t asleep = WATCH_ASLEEP;

		atomic_compare_exchange_strong(word, &asleep, WATCH_AWAKE);
	}
	while (atomic_load_explicit(word, memory_order_acquire) == WATCH_ASLEEP)
		futex(word, FUTEX_WAIT, WATCH_ASLEEP, NULL);
	return atomic_load_explicit(word, memory_order_acquire) != WATCH_OVER;
}

static void *watch(void *arg)
{
	struct runtime *rt = arg;
	int vain = NAPS_IN_VAIN;

	pthread_setname_np(pthread_self(), "roost-slots");
	for (;;) {
		if (vain == NAPS_IN_VAIN) {
			if (!sleep_until_told(rt))
				return NULL;
			vain = 0;
		}
		if (!nap(rt))
			return NULL;
		vain = look(rt) ? 0 : vain + 1;
	}
}

void slot_watch_begin(struct runtime *rt)
{
	sigset_t all, old;
	int err;

	if (!rt->wake_slot || rt->nr_workers == 1)
		return;
	atomic_init(&rt->watch.word, WATCH_AWAKE);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	err = pthread_create(&rt->watch.thread, NULL, watch, rt);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	rt->watch.started = !err;
	rt->wake_slot = !err;
	if (err)
		log_line("no thread for the wake slots: %s: the run has none",
			 strerror(err));
}

static void set_word(struct runtime *rt, uint32_t value)
{
	atomic_store_explicit(&rt->watch.word, value, memory_order_release);
	futex(&rt->watch.word, FUTEX_WAKE, 1, NULL);
}

void slot_watch_end(struct runtime *rt)
{
	if (!rt->watch.started)
		return;
	set_word(rt, WATCH_OVER);
	pthread_join(rt->watch.thread, NULL);
	rt->watch.started = false;
}

noinline void slot_watch_wake(struct runtime *rt)
{
	uint32_t asleep = WATCH_ASLEEP;
	int saved;

	if (!atomic_compare_exchange_strong(&rt->watch.word, &asleep, WATCH_AWAKE))
		return;
	saved = errno_get();
	futex(&rt->watch.word, FUTEX_WAKE, 1, NULL);
	errno_set(saved);
}
