// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * refused_timer_test.c - timers that the module refuses to arm: its memory is at the
 * user's limit.  They are late, not lost, and nobody spins until then.
 */
#include <linux/capability.h>
#include <sys/syscall.h>

#include "run.h"

#define PARAMETER	"/sys/module/roost/parameters/max_user_memory"
#define SLEEPERS	8
#define NAP		ROOST_MSEC(200)

/* Return: what it was, in MiB; -1 without the module. */
static long set_limit(long value)
{
	FILE *f = fopen(PARAMETER, "r+");
	long was = -1;

	if (!f)
		return -1;
	CHECK_EQ(fscanf(f, "%ld", &was), 1);
	rewind(f);
	CHECK(fprintf(f, "%ld", value) > 0);
	CHECK_EQ(fclose(f), 0);
	return was;
}

/* Who has this capability may have more than the limits. */
static void drop_sys_resource(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	CHECK_EQ(syscall(SYS_capget, &header, data), 0);
	data[0].effective &= ~(1U << CAP_SYS_RESOURCE);
	data[0].permitted &= ~(1U << CAP_SYS_RESOURCE);
	CHECK_EQ(syscall(SYS_capset, &header, data), 0);
}

static void nap_main(void *arg)
{
	uint64_t until = roost_after(NAP);
	_Atomic int *good = arg;

	if (roost_sleep_until(until) == 0 && roost_now() >= until)
		atomic_fetch_add(good, 1);
}

/* How often timers were handed over to be armed. */
static uint64_t armed(void)
{
	struct roost_stats stats;

	CHECK_EQ(roost_stats(&stats), 0);
	return stats.timers_armed;
}

static void nap_all(void)
{
	roost_pid pid[SLEEPERS];
	_Atomic int good = 0;
	int i;

	for (i = 0; i < SLEEPERS; i++)
		pid[i] = spawn(nap_main, &good);
	for (i = 0; i < SLEEPERS; i++)
		join(pid[i]);
	CHECK_EQ(atomic_load(&good), SLEEPERS);
}

static void refused_main(void *arg)
{
	uint64_t before, start, n, ms;
	long was;

	/* Before anybody has had a timer: those that are there stay. */
	was = set_limit(0);
	*(long *)arg = was;
	start = roost_now();
	before = armed();
	nap_all();
	n = armed() - before;
	ms = (roost_now() - start) / ROOST_MSEC(1);
	set_limit(was);
	printf("# %d timers are refused, %lu times in %lu ms\n", SLEEPERS,
	       (unsigned long)n, (unsigned long)ms);
	/* Each of them, and that of who waits for them, once a millisecond. */
	CHECK(n > 2 * SLEEPERS);
	CHECK(n <= (SLEEPERS + 1) * (2 * ms + 10));

	/* Now they can be had. */
	before = armed();
	nap_all();
	CHECK(armed() - before <= 2 * SLEEPERS + 2);
}

/*
 * One naps, and its timer is refused; who runs next on its worker computes until the
 * other is back.  With a spinner, the second worker has something to do until then;
 * else it sleeps, without a deadline.
 */
struct computing {
	_Atomic bool refused, back;
	uint64_t before;
};

#define LIMIT	ROOST_SEC(30)

/* As long as all this may take on a machine that stands still at times. */
static void spin_until(_Atomic bool *flag)
{
	uint64_t end = roost_now() + LIMIT;

	while (!atomic_load(flag) && roost_now() < end)
		;
	CHECK(atomic_load(flag));
}

static void spinner_main(void *arg)
{
	struct computing *c = arg;

	spin_until(&c->refused);
}

static void compute_main(void *arg)
{
	struct computing *c = arg;
	int i;

	while (armed() == c->before)
		roost_yield();
	/* and is known to be refused */
	for (i = 0; i < 200; i++)
		roost_yield();
	atomic_store(&c->refused, true);
	spin_until(&c->back);
}

static void back_main(void *arg)
{
	struct computing *c = arg;

	CHECK_EQ(roost_sleep_until(roost_after(NAP)), 0);
	atomic_store(&c->back, true);
}

static void nap_beside(bool spinner)
{
	struct computing c = { .before = armed() };
	roost_pid pid[3] = { ROOST_PID_NONE, ROOST_PID_NONE, ROOST_PID_NONE };
	int i;

	if (spinner)
		pid[0] = spawn(spinner_main, &c);
	pid[1] = spawn(back_main, &c);
	pid[2] = spawn(compute_main, &c);
	/* without a timer of its own */
	for (i = !spinner; i < 3; i++)
		CHECK_EQ(roost_join(pid[i], ROOST_FOREVER), 0);
}

static void computing_main(void *arg)
{
	long was = set_limit(0);
	int i;

	*(long *)arg = was;
	for (i = 0; i < 4; i++) {
		nap_beside(true);
		nap_beside(false);
	}
	set_limit(was);
}

static void beside_who_computes(void *arg unused_arg)
{
	struct roost_config config = { .workers = 2 };
	static long was = -1;

	drop_sys_resource();
	CHECK_EQ(roost_run(&config, computing_main, &was), 0);
	CHECK(was > 0);
	fflush(stdout);
	_exit(atomic_load(&tap_failures) ? 1 : 0);
}

static void refused(void *arg)
{
	struct roost_config config = { .workers = *(unsigned int *)arg };
	static long was = -1;

	drop_sys_resource();
	CHECK_EQ(roost_run(&config, refused_main, &was), 0);
	CHECK(was > 0);
	fflush(stdout);
	_exit(atomic_load(&tap_failures) ? 1 : 0);
}

static void with_module(void (*fn)(void *arg), void *arg)
{
	const char *backend = getenv("ROOST_BACKEND");

	if (!backend || strcmp(backend, "kernel"))
		SKIP("no module, whose limits are meant");
	CHECK(EXITED(in_child(fn, arg), 0));
}

static void with_workers(unsigned int n)
{
	with_module(refused, &n);
}

ROOST_TEST(late_and_not_lost)
{
	with_workers(1);
}

ROOST_TEST(late_and_not_lost_by_several_workers)
{
	with_workers(3);
}

ROOST_TEST(not_lost_beside_who_computes)
{
	with_module(beside_who_computes, NULL);
}
