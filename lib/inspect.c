// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * inspect.c - what the actors are doing, without stopping them; and their stacks.
 *
 * An actor's state word is read before the rest and once more afterwards, and all is read
 * again if it has changed: what was read then belongs together.  That is the reading
 * side of a sequence lock, with the word as the sequence.  An actor that changes all the
 * time is described as it was at the last try.  Who runs where, the carriers tell.
 */
#include <errno.h>
#include <string.h>

#include <roost/inspect.h>

#include "account.h"
#include "inject.h"
#include "runtime.h"
#include "stack_sizes.h"
#include "visit.h"
#include "worker.h"

#define MOST_TRIES	16

static enum roost_doing doing(uint64_t word)
{
	switch (slot_word_state(word)) {
	case SLOT_PARKED:
		return ROOST_DOING_WAITING;
	case SLOT_DONE:
		return ROOST_DOING_ENDED;
	default:
		/* On one worker who is queued may be Running: see the carriers. */
		return ROOST_DOING_READY;
	}
}

static enum roost_waits_for waits_for(const struct slot *s, uint64_t word)
{
	enum roost_waits_for what;

	if (slot_word_state(word) != SLOT_PARKED)
		return ROOST_WAITS_NOT;
	if (word & SLOT_PARKING)
		return ROOST_WAITS_UNPARK;
	what = slot_waits(s);
	return what == ROOST_WAITS_NOT ? ROOST_WAITS_IO : what;
}

/* Return: false if nobody is there. */
static bool read_slot(struct runtime *rt, const struct slot *s,
		      struct roost_actor_info *info)
{
	unsigned int tries;
	uint64_t word;

	for (tries = 0; tries < MOST_TRIES; tries++) {
		word = slot_load(s);
		if (slot_word_state(word) == SLOT_VACANT)
			return false;
		inject_delay();
		memset(info, 0, sizeof(*info));
		info->pid = runtime_pid(rt, s, slot_word_generation(word));
		info->doing = doing(word);
		info->waits_for = waits_for(s, word);
		info->worker = -1;
		info->overruns = atomic_load_explicit(&s->overruns,
						      memory_order_relaxed);
		info->cycles = account_read(rt, s);
		info->stopped = !!(word & SLOT_STOP);
		slot_read_name(s, slot_word_generation(word), info->name);
		/* What was read is not older than the word below; pairs with the
		 * release of each exchange of it. */
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&s->word, memory_order_relaxed) == word)
			break;
	}
	return true;
}

static size_t read_slots(struct runtime *rt, struct roost_actor_info *list,
			 size_t size)
{
	/* Those that were ever used; who is born now may be missing. */
	uint32_t i, n = atomic_load_explicit(&rt->slot_fresh,
					     memory_order_acquire);
	struct roost_actor_info info;
	size_t found = 0;

	for (i = 0; i < n && i < rt->config.max_actors; i++) {
		if (!read_slot(rt, &rt->slots[i], &info))
			continue;
		if (found < size)
			list[found] = info;
		found++;
	}
	return found;
}

/* Of @list, in order, who lives in @s; or NULL. */
static struct roost_actor_info *find(struct runtime *rt, const struct slot *s,
				     struct roost_actor_info *list, size_t n)
{
	uint32_t wanted = pid_index(runtime_pid(rt, s, 0));
	size_t low = 0, middle;

	while (low < n) {
		middle = low + (n - low) / 2;
		if (pid_index(list[middle].pid) == wanted)
			return &list[middle];
		if (pid_index(list[middle].pid) < wanted)
			low = middle + 1;
		else
			n = middle;
	}
	return NULL;
}

struct listing {
	struct roost_actor_info *list;
	size_t n;
};

/* The actor that @c runs does, if it was not seen to wait or to have ended. */
static void note_running(struct carrier *c, void *arg)
{
	struct slot *s = __atomic_load_n(&c->current, __ATOMIC_RELAXED);
	struct worker *w = __atomic_load_n(&c->worker, __ATOMIC_RELAXED);
	struct listing *l = arg;
	struct roost_actor_info *info;

	info = s ? find(c->rt, s, l->list, l->n) : NULL;
	if (!info || !w || info->doing != ROOST_DOING_READY)
		return;
	info->doing = ROOST_DOING_RUNNING;
	info->worker = (int)w->index;
}

static ssize_t look(struct runtime *rt, struct roost_actor_info *list,
		    size_t size)
{
	size_t found = read_slots(rt, list, size);
	struct listing l = { list, found < size ? found : size };

	inject_delay();
	threads_for_each(rt, note_running, &l);
	return (ssize_t)found;
}

ssize_t roost_actors(struct roost_actor_info *list, size_t size)
{
	struct carrier *c = library_enter();

	if (!c)
		return -EPERM;
	return library_return(look(c->rt, list, size));
}

ssize_t roost_stacks(roost_pid of, struct roost_stack_info *list, size_t size)
{
	struct visit v;
	int err = visit_begin(&v, of);

	if (err)
		return err;
	return visit_end(&v, (ssize_t)stack_sizes_count(&v.rt->stacks, list, size));
}

int roost_set_name(const char *name)
{
	struct carrier *c = library_enter();

	if (!c)
		return -EPERM;
	slot_set_name(c->current, name);
	library_leave();
	return 0;
}
