// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* backend.c - which backend, decided at start. */
#include "backend.h"

#include <errno.h>
#include <string.h>

#include "log.h"
#include "runtime.h"

static int start(struct runtime *rt, const struct backend *backend)
{
	rt->backend = backend;
	return backend->start(rt);
}

/* The module, unless it does not open or does not suit; other reasons are told. */
static int start_any(struct runtime *rt)
{
	int err;

	err = start(rt, &backend_kernel);
	if (!err)
		return 0;
	if (err != -ENODEV)
		log_line("the roost module is there but cannot be used (%s): going on with futexes",
			 strerror(-err));
	err = start(rt, &backend_futex);
	return err;
}

int backend_start(struct runtime *rt)
{
	switch (rt->config.backend) {
	case ROOST_BACKEND_KERNEL:
		return start(rt, &backend_kernel);
	case ROOST_BACKEND_FUTEX:
		return start(rt, &backend_futex);
	default:
		return start_any(rt);
	}
}
