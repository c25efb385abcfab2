/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* fault_help.h - actors that crash, each in its own way. */
#ifndef ROOST_SELFTESTS_RUNTIME_FAULT_HELP_H
#define ROOST_SELFTESTS_RUNTIME_FAULT_HELP_H

#include <sys/mman.h>

#include "bottomless.h"
#include "run.h"

#define PAGE	4096U

#define NO_FAULTS	"a sanitizer has its own handlers of faults"

/* Where it is that nothing is. */
static int *volatile nowhere = (int *)8;

static inline void overflows(void *arg unused_arg)
{
	_exit(bottomless(0) & 1);
}

static inline void writes_nowhere(void *arg unused_arg)
{
	*nowhere = 1;
}

static inline struct roost_outcome outcome_of(roost_fn fn, void *arg)
{
	struct roost_outcome o = { .how = (enum roost_end)-1 };
	roost_pid pid = spawn(fn, arg);

	CHECK_EQ(roost_join_outcome(pid, roost_after(ROOST_SEC(60)), &o), 0);
	CHECK_EQ(o.pid, pid);
	return o;
}

static inline void must_crash(roost_fn fn, void *arg, enum roost_crash reason)
{
	struct roost_outcome o = outcome_of(fn, arg);

	CHECK_EQ(o.how, ROOST_END_CRASHED);
	CHECK_EQ(o.reason, reason);
}

#endif /* ROOST_SELFTESTS_RUNTIME_FAULT_HELP_H */
