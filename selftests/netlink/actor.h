/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * actor.h - processes with other rights than ours.
 *
 * An actor is a child that has changed to what it is to be; it carries out a
 * function and hands back a number.
 */
#ifndef NL_ACTOR_H
#define NL_ACTOR_H

#include <linux/capability.h>
#include <sys/prctl.h>

#include "roost_test.h"

/* What an actor is, beginning as root in the first namespaces. */
enum {
	ACTOR_NO_CAPS	= 1,	/* and without any capability */
	ACTOR_EUID_ONLY	= 2,	/* root's real uid stays */
	ACTOR_USER_NS	= 4,	/* then root in a user namespace of its own */
	ACTOR_NET_NS	= 8,	/* and in a network namespace of its own */
};

struct actor {
	const char *name;
	unsigned int uid;
	int what;
};

static inline void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	check(fd >= 0);
	check(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static inline void drop_caps(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = { { 0 } };

	check(syscall(SYS_capset, &header, data) == 0);
}

static inline void enter_user_ns(unsigned int uid)
{
	char map[64];

	check(unshare(CLONE_NEWUSER) == 0);
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file("/proc/self/uid_map", map);
}

static inline void become(const struct actor *a)
{
	if (a->what & ACTOR_EUID_ONLY) {
		check(setresuid(-1, a->uid, -1) == 0);
	} else if (a->uid) {
		check(setresgid(a->uid, a->uid, a->uid) == 0);
		check(setresuid(a->uid, a->uid, a->uid) == 0);
	}
	/* Else /proc/self belongs to root. */
	check(prctl(PR_SET_DUMPABLE, 1) == 0);
	if (a->what & ACTOR_NO_CAPS)
		drop_caps();
	if (a->what & ACTOR_USER_NS)
		enter_user_ns(a->uid);
	if (a->what & ACTOR_NET_NS)
		check(unshare(CLONE_NEWNET) == 0);
}

/* As that actor, what @fn returns (a number, not too large). */
static inline int act(const struct actor *a, int (*fn)(void *arg), void *arg)
{
	int result, p[2];
	pid_t pid;

	check(pipe(p) == 0);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		close(p[0]);
		become(a);
		result = fn(arg);
		check(write(p[1], &result, sizeof(result)) == sizeof(result));
		_exit(0);
	}
	close(p[1]);
	check(read(p[0], &result, sizeof(result)) == sizeof(result));
	close(p[0]);
	check(waitpid(pid, NULL, 0) == pid);
	return result;
}

/* A process that has a domain with a carried worker, until it is ended. */
struct owner {
	pid_t pid;
	uint32_t id;
};

/* @id_of_domain as in nl_help.h, which this file can do without. */
static inline struct owner owner_start(const struct actor *a,
				       uint32_t (*id_of_domain)(const struct dom *d))
{
	struct owner o;
	int p[2];

	check(pipe(p) == 0);
	o.pid = fork();
	check(o.pid >= 0);
	if (!o.pid) {
		struct dom d;
		struct wrk w;

		become(a);
		check(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
		check(dom_make(&d, 4, 4) == 0);
		check(wrk_make(&w, &d, 8, 8) == 0);
		check(attach(&w) == 0);
		o.id = id_of_domain(&d);
		check(write(p[1], &o.id, sizeof(o.id)) == sizeof(o.id));
		for (;;)
			pause();
	}
	close(p[1]);
	check(read(p[0], &o.id, sizeof(o.id)) == sizeof(o.id));
	close(p[0]);
	return o;
}

static inline void owner_end(const struct owner *o)
{
	kill(o->pid, SIGKILL);
	check(waitpid(o->pid, NULL, 0) == o->pid);
}

#endif /* NL_ACTOR_H */
