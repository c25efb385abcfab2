// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* config.c - from the user's knobs to resolved ones. */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <linux/roost.h>

#include "compiler.h"
#include "log.h"

#define DEFAULT_ACTORS		16384U
#define DEFAULT_STACK		((size_t)64 << 10)
#define MIN_STACK		((size_t)16 << 10)
#define MAX_STACK		((size_t)1 << 30)
#define DEFAULT_POOL_PER_WORKER	4U
#define MAX_FDS			1048576U
#define MIN_TICK		(1ULL << ROOST_MIN_TICK_SHIFT)
#define MAX_TICK		(1ULL << ROOST_MAX_TICK_SHIFT)
#define DEFAULT_STANDBYS	64U
#define MAX_STANDBYS		65536U
/* The largest slot index is the half of ROOST_PID_NONE. */
#define MAX_ACTORS		(~0U - 1)

/* The CPUs that this process may run on; an unknown number counts as 1. */
static unsigned int available_cpus(void)
{
	long online;
	cpu_set_t set;
	int n;

	if (!sched_getaffinity(0, sizeof(set), &set)) {
		n = CPU_COUNT(&set);
	} else {
		online = sysconf(_SC_NPROCESSORS_ONLN);
		n = online > 0 ? (int)online : 1;
	}
	if (n < 1)
		n = 1;
	return n > ROOST_MAX_WORKERS ? ROOST_MAX_WORKERS : (unsigned int)n;
}

static unsigned int default_fds(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > MAX_FDS)
		return MAX_FDS;
	return limit.rlim_cur ? (unsigned int)limit.rlim_cur : 1;
}

static int check(const char *knob, uint64_t value, uint64_t min, uint64_t max)
{
	if (value >= min && value <= max)
		return 0;
	log_line("configuration: %s is %llu, must be %llu to %llu", knob,
		 (unsigned long long)value, (unsigned long long)min,
		 (unsigned long long)max);
	return -EINVAL;
}

static int check_reserved(const struct roost_config *c)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(c->reserved); i++) {
		if (c->reserved[i]) {
			log_line("configuration: reserved[%zu] is not zero", i);
			return -EINVAL;
		}
	}
	return 0;
}

static int backend_from_environment(enum roost_backend *backend)
{
	const char *name = getenv("ROOST_BACKEND");

	if (*backend != ROOST_BACKEND_AUTO || !name || !*name)
		return 0;
	if (!strcmp(name, "kernel")) {
		*backend = ROOST_BACKEND_KERNEL;
	} else if (!strcmp(name, "futex")) {
		*backend = ROOST_BACKEND_FUTEX;
	} else if (strcmp(name, "auto")) {
		log_line("environment: ROOST_BACKEND is \"%s\", must be kernel, futex or auto",
			 name);
		return -EINVAL;
	}
	return 0;
}

/* The nearest power of two that is not less. */
static uint64_t round_tick(uint64_t ns)
{
	uint64_t tick = MIN_TICK;

	while (tick < ns)
		tick <<= 1;
	return tick;
}

static void put_defaults(struct roost_config *c)
{
	if (!c->workers)
		c->workers = available_cpus();
	if (!c->max_actors)
		c->max_actors = DEFAULT_ACTORS;
	if (!c->stack_size)
		c->stack_size = DEFAULT_STACK;
	if (!c->max_fds)
		c->max_fds = default_fds();
	if (!c->tick_ns)
		c->tick_ns = 1ULL << ROOST_DEFAULT_TICK_SHIFT;
	if (!c->standbys)
		c->standbys = DEFAULT_STANDBYS;
}

int config_resolve(const struct roost_config *in, struct roost_config *out)
{
	int err;

	memset(out, 0, sizeof(*out));
	if (in)
		*out = *in;
	put_defaults(out);
	err = check_reserved(out);
	if (!err)
		err = check("workers", out->workers, 1, ROOST_MAX_WORKERS);
	if (!err)
		err = check("max_actors", out->max_actors, 1, MAX_ACTORS);
	if (!err)
		err = check("stack_size", out->stack_size, MIN_STACK, MAX_STACK);
	if (!err)
		err = check("max_fds", out->max_fds, 1, MAX_FDS);
	if (!err)
		err = check("tick_ns", out->tick_ns, MIN_TICK, MAX_TICK);
	if (!err)
		err = check("slack_ns", out->slack_ns, 0, ROOST_MAX_SLACK_NS);
	if (!err && out->standbys != ROOST_NO_STANDBYS)
		err = check("standbys", out->standbys, 1, MAX_STANDBYS);
	if (!err)
		err = check("backend", (unsigned int)out->backend,
			    ROOST_BACKEND_AUTO, ROOST_BACKEND_FUTEX);
	if (!err)
		err = backend_from_environment(&out->backend);
	if (err)
		return err;
	if (!out->stack_pool)
		out->stack_pool = DEFAULT_POOL_PER_WORKER * out->workers;
	out->tick_ns = round_tick(out->tick_ns);
	return 0;
}
