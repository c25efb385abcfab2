/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * inject.h - calls in which allocations, or copies from or to user space, fail:
 * one of them, the first that this thread comes to, then the second, and so on;
 * or all of one kind, from a certain one on.
 *
 * Needs a kernel with CONFIG_FAULT_INJECTION, and debugfs at its usual place.
 */
#ifndef ROOST_TEST_INJECT_H
#define ROOST_TEST_INJECT_H

#include "roost_test.h"
#include "user_help.h"

#define DEBUGFS		"/sys/kernel/debug/"
#define KINDS		3
/* Of these it can be short for long. */
#define MEMORY_KINDS	2
#define MANY		1000000

/**
 * struct inject_kind - what can fail
 * @name:	in debugfs
 * @unit:	so much more of it succeeds with each step: bytes, pages, copies
 */
static const struct inject_kind {
	const char *name;
	unsigned int unit;
} inject_kinds[KINDS] = {
	{ "failslab", 256 }, { "fail_page_alloc", 1 }, { "fail_usercopy", 0 },
};

/* This thread's fail-nth, and its make-it-fail. */
static int inject_fd = -1, inject_task_fd = -1;

/* Everything of this kind fails, from some point on; NULL: one thing does. */
static const struct inject_kind *inject_kind;

static inline bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good;

	if (fd < 0)
		return false;
	good = write(fd, text, strlen(text)) > 0;
	close(fd);
	return good;
}

static inline bool knob(const char *kind, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", kind, name);
	return write_text(path, value);
}

static inline int open_of_thread(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/%s",
		 syscall(SYS_gettid), name);
	return open(path, O_RDWR | O_CLOEXEC);
}

/*
 * Have all kinds fail that there are, allocations that may sleep and single pages
 * included, and without a stack trace for each.  What the kernel's checkers say
 * of their own lack of memory stays in its buffer: printing it takes locks that
 * another checker does not like there.  Returns NULL, or why there is no injection
 * here; a kernel that has it must have all of it.
 */
static inline const char *inject_begin(void)
{
	const char *name;
	int i;

	inject_fd = open_of_thread("fail-nth");
	inject_task_fd = open_of_thread("make-it-fail");
	if (inject_fd < 0 || inject_task_fd < 0)
		return "no fail-nth in /proc: the kernel lacks CONFIG_FAULT_INJECTION";
	for (i = 0; i < KINDS; i++) {
		name = inject_kinds[i].name;
		check(knob(name, "verbose", "0"));
		check(knob(name, "probability", "0"));
		check(knob(name, "task-filter", "Y"));
		check(knob(name, "interval", "1"));
	}
	check(knob("failslab", "ignore-gfp-wait", "N"));
	check(knob("fail_page_alloc", "ignore-gfp-wait", "N"));
	check(knob("fail_page_alloc", "min-order", "0"));
	check(write_text("/proc/sys/kernel/printk", "1"));
	return NULL;
}

static inline void inject_stop(void)
{
	write_text("/proc/sys/kernel/printk", "8");
}

static inline void knob_number(const char *name, unsigned int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	check(knob(inject_kind->name, name, text));
}

/* How many more may fail. */
static inline unsigned int times_left(void)
{
	char path[64], text[16] = { 0 };
	int fd;

	snprintf(path, sizeof(path), DEBUGFS "%s/times", inject_kind->name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	check(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return (unsigned int)atoi(text);
}

/*
 * All of the kind that this thread comes to, but for the first ones.  The file is
 * open, so that nothing is wanted of memory to have an end of it; copies are not
 * for this, since writing is one.
 */
static inline void starve_set(unsigned int nth)
{
	if (!nth)
		return;
	knob_number("space", (nth - 1) * inject_kind->unit);
	knob_number("times", MANY);
	knob_number("probability", 100);
	check(pwrite(inject_task_fd, "1", 1, 0) == 1);
}

static inline void inject_set(unsigned int nth)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%u", nth);

	if (inject_kind) {
		starve_set(nth);
		return;
	}
	/* what is still to come may hit this very write */
	while (pwrite(inject_fd, text, (size_t)n, 0) != n)
		check(errno == EFAULT || errno == ENOMEM);
}

/* No more of it.  Did a failure come?  What comes of the asking is none. */
static inline bool inject_end(void)
{
	char text[16] = { 0 };
	bool came;

	if (inject_kind) {
		check(pwrite(inject_task_fd, "0", 1, 0) == 1);
		came = times_left() < MANY;
		knob_number("probability", 0);
		return came;
	}
	came = pread(inject_fd, text, sizeof(text) - 1, 0) > 0 &&
	       atoi(text) == 0;
	inject_set(0);
	return came;
}

/* What of the module is held: descriptors and mappings, of anybody. */
static inline long module_refs(void)
{
	FILE *f = fopen("/sys/module/roost/refcnt", "re");
	long n = -1;

	check(f && fscanf(f, "%ld", &n) == 1);
	fclose(f);
	return n;
}

/* Objects in the module's caches: files, polls, chunks of tables. */
static inline long module_objects(void)
{
	FILE *f = fopen("/proc/slabinfo", "re");
	static const char *const caches[] = {
		"timer", "poll", "poll_op", "io", "file", "file_slot",
	};
	char line[512], name[64];
	long n, sum = 0;
	unsigned int i;

	/* those that lie free in a CPU's own slabs would count */
	for (i = 0; i < sizeof(caches) / sizeof(caches[0]); i++) {
		snprintf(line, sizeof(line), "/sys/kernel/slab/roost_%s/shrink",
			 caches[i]);
		write_text(line, "1");
	}
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %ld", name, &n) == 2 &&
		    !strncmp(name, "roost_", 6))
			sum += n;
	fclose(f);
	return sum;
}

/* The lowest descriptor that is free, which one that was lost is not. */
static inline int lowest_free_fd(void)
{
	int fd = dup(0);

	check(fd >= 0);
	close(fd);
	return fd;
}

#endif /* ROOST_TEST_INJECT_H */
