/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * takeover_help.h - actors that block outside of the library, and the others.
 *
 * A struct blocker blocks its thread until it is released from elsewhere.  With as
 * many of them as there are workers, whoever runs then does so on a thread that has
 * taken over a worker.
 */
#ifndef ROOST_SELFTESTS_RUNTIME_TAKEOVER_HELP_H
#define ROOST_SELFTESTS_RUNTIME_TAKEOVER_HELP_H

#include <pthread.h>

#include "backend_kernel.h"
#include "carrier.h"
#include "runtime.h"

#include "run.h"

#define LACKING	"no ROOST_FEAT_STANDBY: no module, or a kernel without CONFIG_PREEMPT_NOTIFIERS"
#define PARAMETERS "/sys/module/roost/parameters/"

/* What they are by default. */
#define USUAL_GRACE_US	200
#define USUAL_SPIN_US	10000

/*
 * From now on, if there is a module; carriers: for the runs that begin later.
 * Return: what it was before, -1 if there is none.
 */
static inline int set_parameter(const char *name, int value)
{
	char path[128], text[16] = "";
	int before;
	FILE *f;

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	f = fopen(path, "r+e");
	if (!f)
		return -1;
	CHECK(fgets(text, sizeof(text), f));
	before = *text == 'Y' ? 1 : atoi(text);
	rewind(f);
	fprintf(f, "%d", value);
	CHECK_EQ(fclose(f), 0);
	return before;
}

struct parameters {
	int carriers;
	int grace_us;
	int spin_us;
};

/*
 * Such that only those lose their worker who are meant to: nobody for running, since
 * a virtual CPU that stands still for a while looks the same; and not for being
 * blocked for a moment, by a lock in the kernel, say.
 */
static inline struct parameters parameters_begin(void)
{
	return (struct parameters){
		.carriers = set_parameter("carriers", 1),
		.grace_us = set_parameter("grace_us", 20000),
		.spin_us = set_parameter("spin_us", 0),
	};
}

static inline void parameters_end(const struct parameters *before)
{
	if (before->carriers < 0)
		return;
	set_parameter("carriers", before->carriers);
	set_parameter("grace_us", before->grace_us);
	set_parameter("spin_us", before->spin_us);
}

/* As the module itself says. */
static inline bool module_takes_over(void)
{
	const char *name = getenv("ROOST_BACKEND");
	struct roost_info info;
	int dev, err;

	if (name && !strcmp(name, "futex"))
		return false;
	dev = kapi_open();
	if (dev < 0)
		return false;
	err = kapi_info(dev, &info, 0);
	close(dev);
	return !err && info.features & ROOST_FEAT_STANDBY;
}

/* ROOST_TAKEOVER=must: it is known to be there. */
static inline bool must_take_over(void)
{
	const char *text = getenv("ROOST_TAKEOVER");

	return text && !strcmp(text, "must");
}

/* A test that is nothing without the module's part. */
#define TAKEOVER_TEST(test_name)					\
	static void takeover_##test_name(void);				\
	ROOST_TEST(test_name)						\
	{								\
		struct parameters before = parameters_begin();		\
		bool able = module_takes_over();			\
									\
		if (able)						\
			takeover_##test_name();				\
		parameters_end(&before);				\
		if (able)						\
			return;						\
		if (CHECK_MSG(!must_take_over(), "%s", LACKING))	\
			SKIP(LACKING);					\
	}								\
	static void takeover_##test_name(void)

/* Is the calling actor's thread without a worker, and has not yet noticed? */
static inline bool is_displaced(void)
{
	const struct carrier *c = carrier_self();

	return atomic_load(c->word) != c->outside;
}

/* Until @cond, and no longer than anything can take. */
#define wait_until(cond) ({						\
	uint64_t limit_ = roost_after(ROOST_SEC(60));			\
									\
	while (!(cond) && roost_now() < limit_)				\
		roost_yield();						\
	(cond);								\
})

struct blocker {
	void (*block)(struct blocker *b);
	void (*release)(struct blocker *b);
	void (*after)(struct blocker *b);
	void *arg;
	int pipe[2];
	pthread_mutex_t mutex;
	volatile int result;
	pthread_t thread;
	roost_pid pid;
	_Atomic bool interruptible;
	bool spins;		/* and so does who is slow: anybody is displaced */
	_Atomic bool begun;
	_Atomic bool displaced;
	_Atomic bool ended;
};

static inline void block_in_read(struct blocker *b)
{
	char c = 0;

	b->result = (int)read(b->pipe[0], &c, 1);
}

static inline void release_read(struct blocker *b)
{
	CHECK_EQ(write(b->pipe[1], "x", 1), 1);
}

static inline void blocker_main(void *arg)
{
	struct blocker *b = arg;

	atomic_store(&b->begun, true);
	b->block(b);
	atomic_store(&b->displaced, is_displaced());
	if (b->after)
		b->after(b);
	roost_yield();
	CHECK(b->spins || !is_displaced());
	atomic_store(&b->ended, true);
}

/* One that reads from a pipe; change @b before blocker_start() for another. */
static inline void blocker_init(struct blocker *b)
{
	memset(b, 0, sizeof(*b));
	b->block = block_in_read;
	b->release = release_read;
	b->result = -1;
	CHECK_EQ(pipe(b->pipe), 0);
}

static inline void blocker_start(struct blocker *b)
{
	b->pid = spawn(blocker_main, b);
}

static inline void blocker_end(struct blocker *b)
{
	join(b->pid);
	CHECK(atomic_load(&b->ended));
	close(b->pipe[0]);
	close(b->pipe[1]);
}

static inline struct roost_stats stats_now(void)
{
	struct roost_stats s;

	CHECK_EQ(roost_stats(&s), 0);
	return s;
}

#endif /* ROOST_SELFTESTS_RUNTIME_TAKEOVER_HELP_H */
