// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* config.c - from the user's knobs to resolved ones. */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <linux/roost.h>

#include "arch/arch.h"
#include ARCH_HEADER(cycles.h)
#include "compiler.h"
#include "cpus.h"
#include "log.h"
#include "runq.h"
#include "stack_sizes.h"
#include "trace.h"

/* The Makefile says which. */
#ifndef RUNQ_BUILT_IN
#define RUNQ_BUILT_IN	"steal"
#endif

#define DEFAULT_ACTORS		16384U
#define DEFAULT_STACK		((size_t)64 << 10)
#define DEFAULT_CHUNK_MIB	512U
#define MAX_CHUNK_MIB		65536U
#define DEFAULT_POOL_PER_WORKER	4U
#define MAX_POOL		16777216U
#define MAX_FDS			1048576U
#define MIN_TICK		(1ULL << ROOST_MIN_TICK_SHIFT)
#define MAX_TICK		(1ULL << ROOST_MAX_TICK_SHIFT)
#define DEFAULT_STANDBYS	64U
#define DEFAULT_CHECK_EVERY	128U
#define MAX_STANDBYS		65536U
#define STACK_FLAGS		(ROOST_STACK_UNGUARDED | ROOST_STACK_MEASURED)
/* The largest slot index is the half of ROOST_PID_NONE. */
#define MAX_ACTORS		(~0U - 1)

/* As many workers as CPUs, within the range; the caller checks that. */
static unsigned int default_workers(const struct roost_config *c)
{
	unsigned int n = cpus_available();

	if (n < c->min_workers)
		n = c->min_workers;
	return n > c->max_workers ? c->max_workers : n;
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

static int choose_runq(enum roost_runq *runq)
{
	const char *name = getenv("ROOST_RUNQ");

	if (*runq != ROOST_RUNQ_DEFAULT)
		return 0;
	if (!name || !*name || !strcmp(name, "default"))
		name = RUNQ_BUILT_IN;
	*runq = runq_number_of(name);
	if (*runq != ROOST_RUNQ_DEFAULT)
		return 0;
	log_line("environment: ROOST_RUNQ is \"%s\", must be mutex, mpmc, striped, steal or default",
		 name);
	return -EINVAL;
}

/* With one worker alone it costs more than it saves. */
static int choose_wake_slot(enum roost_wake_slot *slot, unsigned int workers)
{
	const char *name = getenv("ROOST_WAKE_SLOT");

	if (*slot != ROOST_WAKE_SLOT_DEFAULT)
		return 0;
	*slot = workers > 1 ? ROOST_WAKE_SLOT_ON : ROOST_WAKE_SLOT_OFF;
	if (!name || !*name || !strcmp(name, "default"))
		return 0;
	*slot = strcmp(name, "off") ? ROOST_WAKE_SLOT_ON : ROOST_WAKE_SLOT_OFF;
	if (!strcmp(name, "off") || !strcmp(name, "on"))
		return 0;
	log_line("environment: ROOST_WAKE_SLOT is \"%s\", must be on, off or default",
		 name);
	return -EINVAL;
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
	if (!c->stack_chunk)
		c->stack_chunk = DEFAULT_CHUNK_MIB;
	if (!c->timeslice)
		c->timeslice = cycles_usual_slice();
	if (!c->check_every)
		c->check_every = DEFAULT_CHECK_EVERY;
}

/* Either an exact number, or a range for the default. */
static int choose_workers(struct roost_config *c)
{
	int err;

	if (c->workers && (c->min_workers || c->max_workers)) {
		log_line("configuration: workers is %u, so %s must be 0", c->workers,
			 c->min_workers ? "min_workers" : "max_workers");
		return -EINVAL;
	}
	if (c->workers)
		return check("workers", c->workers, 1, ROOST_MAX_WORKERS);
	if (!c->min_workers)
		c->min_workers = 1;
	if (!c->max_workers)
		c->max_workers = ROOST_MAX_WORKERS;
	err = check("max_workers", c->max_workers, 1, ROOST_MAX_WORKERS);
	if (!err)
		err = check("min_workers", c->min_workers, 1, c->max_workers);
	if (!err)
		c->workers = default_workers(c);
	return err;
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
		err = choose_workers(out);
	if (!err)
		err = check("max_actors", out->max_actors, 1, MAX_ACTORS);
	if (!err)
		err = check("stack_size", out->stack_size, STACK_MIN, STACK_MAX);
	if (!err)
		err = check("stack_chunk", out->stack_chunk, 1, MAX_CHUNK_MIB);
	if (!err)
		err = check("stack_pool", out->stack_pool, 0, MAX_POOL);
	if (!err)
		err = check("stack_flags", out->stack_flags, 0, STACK_FLAGS);
	if (!err)
		err = check("faults", (unsigned int)out->faults,
			    ROOST_FAULTS_END_ACTOR, ROOST_FAULTS_IGNORE);
	if (!err)
		err = check("account", out->account, 0, ROOST_ACCOUNT_CYCLES);
	if (!err)
		err = check("trace_events", out->trace_events, 0,
			    TRACE_MOST_EVENTS);
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
	if (!err)
		err = check("runq", (unsigned int)out->runq, ROOST_RUNQ_DEFAULT,
			    ROOST_RUNQ_STEAL);
	if (!err)
		err = choose_runq(&out->runq);
	if (!err)
		err = check("wake_slot", (unsigned int)out->wake_slot,
			    ROOST_WAKE_SLOT_DEFAULT, ROOST_WAKE_SLOT_OFF);
	if (!err)
		err = choose_wake_slot(&out->wake_slot, out->workers);
	if (err)
		return err;
	if (!out->stack_pool)
		out->stack_pool = DEFAULT_POOL_PER_WORKER * out->workers;
	out->tick_ns = round_tick(out->tick_ns);
	return 0;
}
