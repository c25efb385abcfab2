// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * fault_say.c - a line about a fault that ends the process, from its handler.
 *
 * printf() and its kin may be what the signal has interrupted.
 */
#include "fault_say.h"

#include <string.h>
#include <unistd.h>

#include <roost/actor.h>

#include "compiler.h"

struct line {
	char text[256];
	size_t used;
};

static const char *const names[] = {
	[ROOST_CRASH_OVERFLOW] = "stack overflow",
	[ROOST_CRASH_SEGV] = "bad address",
	[ROOST_CRASH_BUS] = "bus error",
	[ROOST_CRASH_FPE] = "arithmetic error",
	[ROOST_CRASH_ILL] = "illegal instruction",
};

const char *fault_name(int reason)
{
	return reason > 0 && (size_t)reason < ARRAY_SIZE(names) ? names[reason] :
								   "?";
}

static void put(struct line *l, const char *text)
{
	while (*text && l->used < sizeof(l->text) - 1)
		l->text[l->used++] = *text++;
}

static void put_hex(struct line *l, uint64_t value)
{
	char digits[17] = "";
	int i = 16;

	do {
		digits[--i] = "0123456789abcdef"[value % 16];
		value /= 16;
	} while (value);
	put(l, "0x");
	put(l, digits + i);
}

void fault_say(uint64_t pid, int reason, uintptr_t address, uintptr_t pc,
	       const char *why)
{
	struct line l = { .used = 0 };

	put(&l, "roost: actor ");
	put_hex(&l, pid);
	put(&l, ": ");
	put(&l, fault_name(reason));
	put(&l, " at ");
	put_hex(&l, address);
	put(&l, ", instruction at ");
	put_hex(&l, pc);
	put(&l, "; ends the process: ");
	put(&l, why);
	l.text[l.used++] = '\n';
	if (write(STDERR_FILENO, l.text, l.used) < 0)
		return;
}
