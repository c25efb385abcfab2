// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * fault_unwind.c - which of the signal frames on a stack are in use.
 *
 * The unwinder that comes with the compiler says of each function that it comes to
 * whether it was interrupted rather than that it has called.  It starts in the handler of
 * the fault, on the alternate stack; so the first that was interrupted is who has made
 * the fault, and a second one on the same stack means that this was a handler.
 */
#include "fault_unwind.h"

#include <stddef.h>
#include <unwind.h>

#define MOST_CALLS	1000000UL

struct state {
	struct fault_walk *walk;
	unsigned long calls;
	bool at_fault;
};

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *arg)
{
	struct state *s = arg;
	struct fault_walk *walk = s->walk;
	uintptr_t sp = _Unwind_GetCFA(context);
	int interrupted = 0;

	if (++s->calls > MOST_CALLS)
		return _URC_END_OF_STACK;
	_Unwind_GetIPInfo(context, &interrupted);
	if (sp < walk->low || sp >= walk->high) {
		/* Still in the handler, or nowhere. */
		return s->at_fault ? _URC_END_OF_STACK : _URC_NO_REASON;
	}
	if (interrupted && s->at_fault) {
		walk->in_handler = true;
		return _URC_END_OF_STACK;
	}
	s->at_fault = true;
	walk->upto = sp;
	return _URC_NO_REASON;
}

void fault_unwind(struct fault_walk *walk)
{
	struct state s = { .walk = walk };

	walk->upto = walk->low;
	walk->in_handler = false;
	_Unwind_Backtrace(look, &s);
}
