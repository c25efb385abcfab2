// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * slot_table_test.c - two threads take slots and put them back: a slot has one tenant,
 * and none is lost.
 */
#include "run.h"

#include <pthread.h>

#include "runtime.h"

#define SLOTS	8
#define MOST	3

static struct runtime rt;
static _Atomic bool taken[SLOTS];
static _Atomic bool go;

static struct slot *take_slot(void)
{
	struct slot *s = slot_alloc(&rt);

	if (CHECK(s) && CHECK(s->index < SLOTS))
		CHECK(!atomic_exchange(&taken[s->index], true));
	return s;
}

static void *takes_and_frees(void *arg unused_arg)
{
	unsigned long i, n = rounds(200000);
	struct slot *mine[MOST];
	int k;

	while (!atomic_load(&go))
		;
	for (i = 0; i < n && !tap_failed(); i++) {
		for (k = 0; k < MOST; k++)
			mine[k] = take_slot();
		for (k = 0; k < MOST && !tap_failed(); k++) {
			atomic_store(&taken[mine[k]->index], false);
			slot_free(&rt, mine[k]);
		}
	}
	return NULL;
}

ROOST_TEST(slots_put_back_by_two_have_one_tenant)
{
	pthread_t thread;
	int i;

	rt.config.max_actors = SLOTS;
	REQUIRE_EQ(slot_table_init(&rt, SLOTS), 0);
	alarm(TEST_LIMIT_S);
	REQUIRE_EQ(pthread_create(&thread, NULL, takes_and_frees, NULL), 0);
	atomic_store(&go, true);
	takes_and_frees(NULL);
	pthread_join(thread, NULL);
	alarm(0);
	for (i = 0; i < SLOTS && !tap_failed(); i++)
		take_slot();
	if (!tap_failed())
		CHECK(!slot_alloc(&rt));
	slot_table_fini(&rt);
}
