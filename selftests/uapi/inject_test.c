// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * inject_test.c - each call, each op, each mapping, with a failure at the first
 * place where memory is wanted or user space is copied, then at the second, and
 * so on, until nothing fails any more.
 *
 * At each step the error is one that is documented for it, nothing is lost, and
 * the same call, with what the caller has of it, succeeds afterwards.  Memory
 * that is lost otherwise is for kmemleak to find, at the end of the VM.  Runs as
 * root.
 */
#include "kselftest_harness.h"

#include "inject_walk.h"
#include "inject_ops.h"

#define LIMIT	1800

static void close_fd(struct world *x, int ret)
{
	if (ret >= 0)
		close(ret);
}

/* One that is made by a call is open until its end. */
static int call_open(struct world *x)
{
	int fd = open("/dev/roost", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void fresh_arg(struct world *x, int ret)
{
	memset(&x->arg, 0, sizeof(x->arg));
}

static int call_info(struct world *x)
{
	return call(x->dev, ROOST_IOC_INFO, &x->arg.info);
}

static void after_info(struct world *x, int ret)
{
	if (!ret)
		check(x->arg.info.api_version == ROOST_API_VERSION);
}

static void before_domain(struct world *x)
{
	x->arg.domain.nr_timers = NR_TIMERS;
	x->arg.domain.nr_polls = 16;
	x->arg.domain.nr_ios = NR_IOS;
	x->arg.domain.nr_files = 16;
}

static int call_domain(struct world *x)
{
	return call(x->dev, ROOST_IOC_CREATE_DOMAIN, &x->arg.domain);
}

static void after_made(struct world *x, int ret)
{
	close_fd(x, ret);
	if (ret >= 0)
		fresh_arg(x, ret);
}

static void before_worker(struct world *x)
{
	x->arg.worker.sq_entries = 64;
	x->arg.worker.cq_entries = 256;
}

static int call_worker(struct world *x)
{
	return call(x->d.fd, ROOST_IOC_CREATE_WORKER, &x->arg.worker);
}

/*
 * A failure takes no number of the domain's, but where the caller's memory could
 * not be written to in the end.
 */
static void after_worker(struct world *x, int ret)
{
	if (ret == -EFAULT)
		x->numbers++;
	if (ret >= 0)
		check(x->arg.worker.index <= x->numbers);
	after_made(x, ret);
}

static void before_wake(struct world *x)
{
	x->arg.wake.flags = ROOST_WAKE_INDEX;
}

static int call_wake(struct world *x)
{
	return call(x->d.fd, ROOST_IOC_WAKE, &x->arg.wake);
}

/* An older or a newer program's. */
static int call_wake_sized(struct world *x)
{
	return call(x->d.fd, _IOC(_IOC_WRITE, ROOST_IOC_MAGIC, 0x11,
				  sizeof(struct roost_wake) + 8), &x->arg);
}

static int call_stat(struct world *x)
{
	return call(x->d.fd, ROOST_IOC_DOMAIN_STAT, &x->arg.stat);
}

static int call_attach(struct world *x)
{
	return call(x->w.fd, ROOST_IOC_ATTACH, &x->arg.attach);
}

static void after_attach(struct world *x, int ret)
{
	check(detach(&x->w) == (ret ? -EPERM : 0));
	if (!ret)
		fresh_arg(x, ret);
}

static void before_detach(struct world *x)
{
	check(attach(&x->w) == 0);
}

static int call_detach(struct world *x)
{
	return detach(&x->w);
}

/* Wakes its own carrier, so that the park is over at once. */
static void before_park(struct world *x)
{
	x->arg.enter.flags = ROOST_ENTER_PARK | ROOST_ENTER_WAKE;
	x->arg.enter.deadline = ROOST_NO_DEADLINE;
	x->arg.enter.event = sample(&x->d);
	set_idle(&x->d, &x->w);
}

static int call_enter(struct world *x)
{
	return enter(&x->w, &x->arg.enter);
}

static int call_enter_sized(struct world *x)
{
	return call(x->w.fd, _IOC(_IOC_READ | _IOC_WRITE, ROOST_IOC_MAGIC, 0x22,
				  sizeof(x->arg.enter) + 64), &x->arg);
}

static void after_park(struct world *x, int ret)
{
	if (!ret)
		check(x->arg.enter.outcome & ROOST_OUT_WAKE);
	fresh_arg(x, ret);
}

static int map_it(struct world *x, int fd, size_t size, uint64_t offset)
{
	x->map_size = size;
	x->map = map_fd(fd, size, offset);
	return x->map == MAP_FAILED ? -errno : 0;
}

static int map_control(struct world *x)
{
	return map_it(x, x->d.fd, x->d.params.control_size, ROOST_OFF_CONTROL);
}

static int map_events(struct world *x)
{
	return map_it(x, x->d.fd, x->d.params.events_size, ROOST_OFF_EVENTS);
}

static int map_rings(struct world *x)
{
	return map_it(x, x->w.fd, x->w.params.map_size, 0);
}

/* The whole of it is there. */
static void after_map(struct world *x, int ret)
{
	size_t at;

	if (ret)
		return;
	for (at = 0; at < x->map_size; at += 4096)
		__atomic_load_n((char *)x->map + at, __ATOMIC_RELAXED);
	munmap(x->map, x->map_size);
}

static int call_poll(struct world *x)
{
	struct pollfd p = { .fd = x->d.fd, .events = POLLIN };
	int ret = poll(&p, 1, 0);

	return ret < 0 ? -errno : ret;
}

static const struct row calls[] = {
	{ .what = "open", .level = DEVICE, .call = call_open,
	  .errors = { ENOMEM, EFAULT }, .after = close_fd },
	{ .what = "INFO", .level = DEVICE, .call = call_info,
	  .errors = { EFAULT }, .after = after_info },
	{ .what = "CREATE_DOMAIN", .level = DEVICE, .before = before_domain,
	  .call = call_domain, .errors = { ENOMEM, EFAULT },
	  .after = after_made },
	{ .what = "CREATE_WORKER", .level = DOMAIN, .before = before_worker,
	  .call = call_worker, .errors = { ENOMEM, EFAULT },
	  .after = after_worker },
	{ .what = "WAKE", .level = CARRIER, .before = before_wake,
	  .call = call_wake, .after = fresh_arg },
	{ .what = "WAKE of another size", .level = CARRIER,
	  .before = before_wake, .call = call_wake_sized,
	  .errors = { EFAULT }, .after = fresh_arg },
	{ .what = "DOMAIN_STAT", .level = DOMAIN, .call = call_stat,
	  .errors = { EFAULT }, .after = fresh_arg },
	{ .what = "ATTACH", .level = WORKER, .call = call_attach,
	  .errors = { EFAULT }, .after = after_attach },
	{ .what = "DETACH", .level = WORKER, .before = before_detach,
	  .call = call_detach },
	{ .what = "ENTER, park and wake", .level = CARRIER,
	  .before = before_park, .call = call_enter, .after = after_park },
	{ .what = "ENTER of another size", .level = CARRIER,
	  .before = before_park, .call = call_enter_sized,
	  .errors = { EFAULT }, .after = after_park },
	{ .what = "mmap of the control page", .level = DOMAIN,
	  .call = map_control, .errors = { ENOMEM }, .after = after_map },
	{ .what = "mmap of the events", .level = DOMAIN, .call = map_events,
	  .errors = { ENOMEM }, .after = after_map },
	{ .what = "mmap of the rings", .level = WORKER, .call = map_rings,
	  .errors = { ENOMEM }, .after = after_map },
	{ .what = "poll", .level = DOMAIN, .call = call_poll,
	  .errors = { EFAULT, ENOMEM } },
};

FIXTURE(inject) {
	const char *lacking;
};

FIXTURE_SETUP(inject)
{
	ASSERT_EQ(getuid(), 0);
	self->lacking = inject_begin();
}

FIXTURE_TEARDOWN(inject)
{
	if (!self->lacking)
		inject_stop();
}

#define NR(rows)	(sizeof(rows) / sizeof((rows)[0]))

static bool walk_all(const struct row *rows, unsigned int n)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < n; i++)
		wrong += !walk(&rows[i]);
	return !wrong;
}

TEST_F_TIMEOUT(inject, calls, LIMIT)
{
	if (self->lacking)
		SKIP(return, "%s", self->lacking);
	EXPECT_TRUE(walk_all(calls, NR(calls)));
}

TEST_F_TIMEOUT(inject, ops, LIMIT)
{
	if (self->lacking)
		SKIP(return, "%s", self->lacking);
	EXPECT_TRUE(walk_all(ops, NR(ops)));
}

/*
 * Memory is short for as long as the call lasts: no second attempt helps.  False
 * also if a kind of shortage made nothing fail.
 */
static bool walk_without_memory(const struct row *rows, unsigned int n)
{
	bool good = true;

	for (inject_kind = inject_kinds; inject_kind < inject_kinds + MEMORY_KINDS;
	     inject_kind++) {
		all_failed = 0;
		good &= walk_all(rows, n);
		good &= all_failed > 0;
	}
	return good;
}

TEST_F_TIMEOUT(inject, calls_without_memory, LIMIT)
{
	if (self->lacking)
		SKIP(return, "%s", self->lacking);
	EXPECT_TRUE(walk_without_memory(calls, NR(calls)));
}

TEST_F_TIMEOUT(inject, ops_without_memory, LIMIT)
{
	if (self->lacking)
		SKIP(return, "%s", self->lacking);
	EXPECT_TRUE(walk_without_memory(ops, NR(ops)));
}

/* After all of that a user may have as much as before. */
TEST_F_TIMEOUT(inject, nothing_is_charged, LIMIT)
{
	struct limits l;
	struct world x;
	int status;
	pid_t pid;

	if (self->lacking)
		SKIP(return, "%s", self->lacking);
	limits_open(&l);
	limit_set(&l, DOMAINS, 1);
	limit_set(&l, WORKERS, 1);
	limit_set(&l, TIMERS, NR_TIMERS);
	limit_set(&l, IOS, NR_IOS);
	/* its end must not leave the limits to those who come after us */
	pid = fork();
	if (!pid) {
		world_make(&x, WORKER);
		world_end(&x);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	limits_restore(&l);
	EXPECT_EQ(status, 0);
}

TEST_HARNESS_MAIN
