/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * slot_watch.h - a thread that frees who is stuck in a wake slot.
 */
#ifndef ROOST_LIB_SLOT_WATCH_H
#define ROOST_LIB_SLOT_WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

struct runtime;

/**
 * struct slot_watch - the thread
 * @started:	there is one; set before the workers run
 * @thread:	it
 * @word:	WATCH_*, and the futex that it sleeps on
 */
struct slot_watch {
	bool started;
	pthread_t thread;
	_Atomic uint32_t word;
};

#define WATCH_ASLEEP	0U
#define WATCH_AWAKE	1U
#define WATCH_OVER	2U

/*
 * slot_watch_begin() - start it if the run has wake slots and siblings that could take
 *	from them
 *
 * Without a thread the run has no wake slots.
 */
void slot_watch_begin(struct runtime *rt);

/** slot_watch_end() - end it */
void slot_watch_end(struct runtime *rt);

void slot_watch_wake(struct runtime *rt);

#endif /* ROOST_LIB_SLOT_WATCH_H */
