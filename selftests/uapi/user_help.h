/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * user_help.h - ordinary users and the limits that they have; for tests that
 * run as root.
 */
#ifndef ROOST_TEST_USER_HELP_H
#define ROOST_TEST_USER_HELP_H

#include <grp.h>
#include <sys/prctl.h>

#include "roost_test.h"

#define USER	1000
#define OTHER	1001

/* The limits, in the order of the names below. */
enum limit { DOMAINS, WORKERS, TIMERS, POLLS, IOS, FILES, MEMORY, NR_LIMITS };

/*
 * Their parameters: open, so that they can be set by who is not root any more,
 * and as they were.
 */
struct limits {
	int fd[NR_LIMITS];
	char was[NR_LIMITS][32];
};

static inline void limits_open(struct limits *l)
{
	static const char *const names[NR_LIMITS] = {
		"domains", "workers", "timers", "polls", "ios", "files",
		"memory",
	};
	char path[128];
	int i;

	for (i = 0; i < NR_LIMITS; i++) {
		snprintf(path, sizeof(path),
			 "/sys/module/roost/parameters/max_user_%s", names[i]);
		l->fd[i] = open(path, O_RDWR | O_CLOEXEC);
		check(l->fd[i] >= 0);
		memset(l->was[i], 0, sizeof(l->was[i]));
		check(read(l->fd[i], l->was[i], sizeof(l->was[i]) - 1) > 0);
	}
}

static inline void limit_set(const struct limits *l, enum limit which,
			     unsigned int value)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%u", value);

	check(pwrite(l->fd[which], text, (size_t)n, 0) == n);
}

static inline void limits_restore(const struct limits *l)
{
	int i;

	for (i = 0; i < NR_LIMITS; i++)
		check(pwrite(l->fd[i], l->was[i], strlen(l->was[i]), 0) > 0);
}

/* Be somebody who has no capability, and can still use its own /proc files. */
static inline void become(uid_t uid)
{
	check(setgroups(0, NULL) == 0);
	check(setresgid(uid, uid, uid) == 0);
	check(setresuid(uid, uid, uid) == 0);
	check(prctl(PR_SET_DUMPABLE, 1) == 0);
}

static inline int exit_code(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, __WALL) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* Runs @fn(@arg) in a process of that user; what it returned, 0 to 127. */
static inline int run_as(uid_t uid, int (*fn)(void *arg), void *arg)
{
	pid_t pid = fork();

	check(pid >= 0);
	if (!pid) {
		become(uid);
		_exit(fn(arg));
	}
	return exit_code(pid);
}

/* A process of a user that goes on until it is told; see pal_tell(). */
#define PAL_END	(-1000000)

struct pal {
	pid_t pid;
	int ask, answer;
};

/* The pal calls @fn with each number that it is told, and answers. */
static inline struct pal pal_start(uid_t uid, int (*fn)(int number))
{
	int ask[2], answer[2], number, ret;
	struct pal p;

	check(pipe2(ask, O_CLOEXEC) == 0 && pipe2(answer, O_CLOEXEC) == 0);
	p.pid = fork();
	check(p.pid >= 0);
	if (!p.pid) {
		close(ask[1]);
		close(answer[0]);
		if (uid)
			become(uid);
		while (read(ask[0], &number, sizeof(number)) ==
		       sizeof(number) && number != PAL_END) {
			ret = fn(number);
			check(write(answer[1], &ret, sizeof(ret)) ==
			      sizeof(ret));
		}
		_exit(0);
	}
	close(ask[0]);
	close(answer[1]);
	p.ask = ask[1];
	p.answer = answer[0];
	return p;
}

static inline int pal_tell(const struct pal *p, int number)
{
	int ret = -1;

	check(write(p->ask, &number, sizeof(number)) == sizeof(number));
	check(read(p->answer, &ret, sizeof(ret)) == sizeof(ret));
	return ret;
}

static inline int pal_end(struct pal *p)
{
	int number = PAL_END;

	check(write(p->ask, &number, sizeof(number)) == sizeof(number));
	close(p->ask);
	close(p->answer);
	return exit_code(p->pid);
}

/* Create a domain that has nothing mapped; a descriptor or -errno. */
static inline int domain_fd(struct roost_domain_params params)
{
	int dev = dev_open(), fd;

	check(dev >= 0);
	fd = call(dev, ROOST_IOC_CREATE_DOMAIN, &params);
	close(dev);
	return fd;
}

#endif /* ROOST_TEST_USER_HELP_H */
