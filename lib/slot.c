// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * slot.c - the state word's less frequent transitions and the slot table.
 */
#include "slot.h"

#include <errno.h>
#include <sys/mman.h>

#include "log.h"
#include "runtime.h"

_Static_assert(sizeof(struct slot) % 128 == 0, "slots share no cache line");
_Static_assert(offsetof(struct slot, stack) % CACHELINE == 0,
	       "the hot fields stand apart");
#if !defined(ROOST_ASAN) && !defined(ROOST_TSAN)
_Static_assert(offsetof(struct slot, stack) == CACHELINE, "in one cache line");
_Static_assert(sizeof(struct slot) == 256, "what an actor costs beside its stack");
#endif

static const char *const state_names[] = {
	[SLOT_VACANT] = "Vacant",
	[SLOT_QUEUED] = "Queued",
	[SLOT_RUNNING] = "Running",
	[SLOT_NOTIFIED] = "RunningNotified",
	[SLOT_PARKED] = "Parked",
	[SLOT_DONE] = "Done",
};

static const char *state_name(enum slot_state state)
{
	return state < ARRAY_SIZE(state_names) ? state_names[state] : "?";
}

void slot_illegal(const struct slot *s, uint64_t word, enum slot_state to)
{
	log_fatal("slot %u generation %u: no way from %s to %s", s->index,
		  slot_word_generation(word), state_name(slot_word_state(word)),
		  state_name(to));
}

void slot_install(struct slot *s)
{
	uint64_t word = slot_load(s);
	uint64_t new;

	do {
		if (slot_word_state(word) != SLOT_VACANT)
			slot_illegal(s, word, SLOT_QUEUED);
		new = slot_with_wait_over(word, 0);
		new &= ~(uint64_t)(SLOT_PERMIT | SLOT_STOP);
		new = slot_with_state(new, SLOT_QUEUED);
	} while (!slot_replace(s, &word, new));
}

void slot_finish(struct slot *s)
{
	uint64_t word = slot_load(s);

	do {
		switch (slot_word_state(word)) {
		case SLOT_RUNNING:
		case SLOT_NOTIFIED:
			break;
		default:
			slot_illegal(s, word, SLOT_DONE);
		}
	} while (!slot_replace(s, &word, slot_with_state(word, SLOT_DONE)));
}

void slot_reclaim(struct slot *s)
{
	uint64_t word = slot_load(s);
	uint64_t new;

	do {
		if (slot_word_state(word) != SLOT_DONE)
			slot_illegal(s, word, SLOT_VACANT);
		new = slot_with_state(word, SLOT_VACANT);
		new += 1ULL << SLOT_GENERATION_SHIFT;
	} while (!slot_replace(s, &word, new));
}

enum slot_outcome slot_wait_retire(struct slot *s)
{
	uint64_t word = slot_load(s);
	uint64_t new;

	do {
		if (slot_word_state(word) != SLOT_RUNNING &&
		    slot_word_state(word) != SLOT_NOTIFIED)
			slot_illegal(s, word, SLOT_RUNNING);
		new = word;
		if (slot_outcome_of(s, word) == SLOT_NOT_ENDED)
			new = slot_with_wait_over(word, SLOT_WOKEN);
		new = slot_with_state(new, SLOT_RUNNING);
	} while (!slot_replace(s, &word, new));
	return slot_outcome_of(s, word);
}

bool slot_timeout(struct slot *s, uint64_t *word, enum slot_effect *effect)
{
	uint64_t new;

	*effect = slot_end_wait(*word, SLOT_TIMED_OUT, &new);
	return *effect == SLOT_NO_EFFECT || slot_replace(s, word, new);
}

static bool names_living(uint64_t word, uint32_t generation)
{
	return slot_word_generation(word) == generation &&
	       slot_word_state(word) != SLOT_VACANT &&
	       slot_word_state(word) != SLOT_DONE;
}

enum slot_effect slot_unpark(struct slot *s, uint32_t generation)
{
	uint64_t word = slot_load(s);
	enum slot_effect effect;
	uint64_t new;

	/*
	 * Also when the permit is there already: the exchange publishes what
	 * this caller wrote before to whoever takes the permit.
	 */
	do {
		if (!names_living(word, generation))
			return SLOT_NO_EFFECT;
		new = word;
		effect = SLOT_NO_EFFECT;
		if (word & SLOT_PARKING)
			effect = slot_end_wait(word, SLOT_WOKEN, &new);
		if (effect == SLOT_NO_EFFECT)
			effect = SLOT_MARKED;
		new |= SLOT_PERMIT;
	} while (!slot_replace(s, &word, new));
	return effect;
}

bool slot_take_permit(struct slot *s)
{
	uint64_t word = slot_load(s);

	do {
		if (!(word & SLOT_PERMIT))
			return false;
	} while (!slot_replace(s, &word, word & ~(uint64_t)SLOT_PERMIT));
	return true;
}

enum slot_effect slot_stop(struct slot *s, uint32_t generation)
{
	uint64_t word = slot_load(s);
	enum slot_effect effect;
	uint64_t new;

	do {
		if (!names_living(word, generation))
			return SLOT_NO_EFFECT;
		new = word;
		effect = slot_end_wait(word, SLOT_STOPPED, &new);
		if (effect == SLOT_NO_EFFECT)
			effect = SLOT_MARKED;
		new |= SLOT_STOP;
	} while (!slot_replace(s, &word, new));
	return effect;
}

enum slot_effect slot_stop_endless(struct slot *s)
{
	uint64_t word = slot_load(s);
	uint64_t new;

	do {
		if (slot_word_state(word) != SLOT_PARKED ||
		    !(word & SLOT_ENDLESS))
			return SLOT_NO_EFFECT;
		slot_end_wait(word, SLOT_STOPPED, &new);
		new |= SLOT_STOP;
	} while (!slot_replace(s, &word, new));
	return SLOT_MADE_READY;
}

static size_t table_bytes(uint32_t count)
{
	return (size_t)count * sizeof(struct slot);
}

int slot_table_init(struct runtime *rt, uint32_t count)
{
	void *p;

	p = mmap(NULL, table_bytes(count), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	rt->slots = p;
	spin_init(&rt->slot_lock);
	atomic_init(&rt->slot_fresh, 0);
	rt->slot_free = 0;
	return 0;
}

void slot_table_fini(struct runtime *rt)
{
	munmap(rt->slots, table_bytes(rt->config.max_actors));
	rt->slots = NULL;
}

/* The page is zero: generation 0, Vacant.  Only what zero does not say. */
static void slot_first_use(struct slot *s, uint32_t index)
{
	s->index = index;
	INIT_LIST_HEAD(&s->joiners);
	s->timer.slot = index;
	atomic_init(&s->timer.deadline, ROOST_FOREVER);
	atomic_init(&s->timer.armed, ROOST_FOREVER);
	roost_wheel_entry_init(&s->timer.entry);
}

struct slot *slot_alloc(struct runtime *rt)
{
	struct slot *s = NULL;
	uint32_t fresh;

	spin_lock(&rt->slot_lock);
	fresh = atomic_load_explicit(&rt->slot_fresh, memory_order_relaxed);
	if (rt->slot_free) {
		s = &rt->slots[rt->slot_free - 1];
		rt->slot_free = s->free_next;
	} else if (fresh < rt->config.max_actors) {
		s = &rt->slots[fresh];
		slot_first_use(s, fresh);
		/* Pairs with the acquire of who walks over all slots. */
		atomic_store_explicit(&rt->slot_fresh, fresh + 1,
				      memory_order_release);
	}
	spin_unlock(&rt->slot_lock);
	return s;
}

void slot_free(struct runtime *rt, struct slot *s)
{
	spin_lock(&rt->slot_lock);
	s->free_next = rt->slot_free;
	rt->slot_free = s->index + 1;
	spin_unlock(&rt->slot_lock);
}
