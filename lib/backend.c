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

/* Nothing else will do: say what is missing. */
static int start_kernel(struct runtime *rt)
{
	int err = start(rt, &backend_kernel);

	if (err == -ENODEV || err == -ENOENT)
		log_line("/dev/roost is not there: is the module loaded?");
	return err;
}

/* The module unless it is not there or not for us; other reasons are told. */
static int start_any(struct runtime *rt)
{
	int err;

	err = start(rt, &backend_kernel);
	if (!err)
		return 0;
	if (err != -ENODEV && err != -ENOENT)
		log_line("the roost module is there but cannot be used (%s): going on with futexes",
			 strerror(-err));
	err = start(rt, &backend_futex);
	return err;
}

int backend_start(struct runtime *rt)
{
	switch (rt->config.backend) {
	case ROOST_BACKEND_KERNEL:
		return start_kernel(rt);
	case ROOST_BACKEND_FUTEX:
		return start(rt, &backend_futex);
	default:
		return start_any(rt);
	}
}
