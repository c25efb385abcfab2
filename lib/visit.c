// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* visit.c - the runtime that a call from wherever is about. */
#include "visit.h"

#include <errno.h>

#include "carrier.h"
#include "registry.h"
#include "runtime.h"

static int find(struct visit *v, roost_pid of)
{
	v->registered = false;
	v->rt = v->c ? v->c->rt : NULL;
	if (of == ROOST_PID_NONE)
		return v->rt ? 0 : -EPERM;
	if (v->rt && runtime_slot(v->rt, of))
		return 0;
	v->rt = registry_visit(of);
	v->registered = v->rt;
	return v->rt ? 0 : -ESRCH;
}

int visit_begin(struct visit *v, roost_pid of)
{
	int err;

	v->c = library_enter();
	err = find(v, of);
	if (err && v->c)
		library_leave();
	return err;
}

ssize_t visit_end(const struct visit *v, ssize_t result)
{
	if (v->registered)
		registry_leave(v->rt);
	if (v->c)
		library_leave();
	return result;
}
