// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* spin.c - the contended half of spin.h. */
#include "spin.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compiler.h"
#include "errno_cell.h"

#define SPINS_BEFORE_SLEEP	100

static long futex(_Atomic uint32_t *word, int op, uint32_t value)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL,
		       NULL, 0);
}

noinline void spin_lock_slow(struct spin *s)
{
	int saved;
	int i;

	for (i = 0; i < SPINS_BEFORE_SLEEP; i++) {
		if (!atomic_load_explicit(&s->word, memory_order_relaxed) &&
		    spin_trylock(s))
			return;
		cpu_relax();
	}
	/*
	 * Who takes it here must write 2: it cannot know whether others sleep.
	 * The surplus wake that this may cost is harmless.
	 */
	saved = errno_get();
	while (atomic_exchange_explicit(&s->word, 2, memory_order_acquire))
		futex(&s->word, FUTEX_WAIT, 2);
	errno_set(saved);
}

noinline void spin_unlock_slow(struct spin *s)
{
	int saved = errno_get();

	futex(&s->word, FUTEX_WAKE, 1);
	errno_set(saved);
}
