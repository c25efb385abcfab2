// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * child.c - processes that have our descriptors, and perhaps our memory or our
 * file table, without being the owner.
 *
 * They come from a process with many threads, so they make system calls and
 * nothing else.  Each ends by itself, soon.
 */
#include "fuzz.h"

#define STACK_SIZE	16384

/* What a child may try with what it has inherited: all of it is refused. */
struct visit {
	struct roost_enter enter;
	struct roost_attach attach;
	struct roost_wake wake;
	int fd[4];
	struct timespec stay;
	char *window;
	bool exec;
};

static void plan(struct rng *r, struct visit *v)
{
	unsigned int i;

	memset(v, 0, sizeof(*v));
	for (i = 0; i < 4; i++)
		v->fd[i] = any_roost_fd(r);
	v->wake.flags = ROOST_WAKE_ALL;
	v->enter.to_submit = 64;
	v->stay.tv_nsec = one_in(r, 2) ? (long)below(r, 5000000) : 0;
	v->window = window_base(below(r, WINDOWS));
}

static void visit(struct visit *v)
{
	static const char *const none[] = { NULL };
	static const char *const argv[] = { "true", NULL };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		syscall(SYS_ioctl, v->fd[i], ROOST_IOC_ENTER, &v->enter);
		syscall(SYS_ioctl, v->fd[i], ROOST_IOC_ATTACH, &v->attach);
		syscall(SYS_ioctl, v->fd[i], ROOST_IOC_WAKE, &v->wake);
		syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_SHARED, v->fd[i], 0);
	}
	/* inherited after MADV_DOFORK, or shared */
	syscall(SYS_process_vm_writev, syscall(SYS_getpid),
		&(struct iovec){ &v->wake, 4 }, 1,
		&(struct iovec){ v->window + 64, 4 }, 1, 0);
	syscall(SYS_nanosleep, &v->stay, NULL);
	syscall(SYS_close, v->fd[0]);
	if (v->exec)
		syscall(SYS_execve, "/bin/true", argv, none);
	syscall(SYS_exit_group, 0);
}

static int start(struct rng *r, bool exec)
{
	struct visit v;
	long pid;

	plan(r, &v);
	v.exec = exec;
	pid = syscall(SYS_fork);
	if (!pid)
		visit(&v);
	return pid < 0 ? -errno : 0;
}

int do_fork(struct rng *r)
{
	return start(r, false);
}

int do_exec(struct rng *r)
{
	return start(r, true);
}

/* With a stack for each thread of ours; in use until the child has gone. */
static __thread char stack[STACK_SIZE] __attribute__((aligned(16)));
static __thread struct visit planned;

static int clone_main(void *arg)
{
	visit(arg);
	return 0;
}

/*
 * It shares our memory, and waits in vfork() style, or the thread waits for it:
 * its stack is ours.  Its errno is, too, and signals are kept from it.
 */
int do_clone(struct rng *r)
{
	static const int flags[] = {
		CLONE_VM, CLONE_VM | CLONE_FILES, CLONE_VM | CLONE_VFORK,
		CLONE_FILES, CLONE_VM | CLONE_FILES | CLONE_VFORK,
	};
	int how = flags[below(r, 5)], ret = 0;
	sigset_t all, old;
	pid_t pid;

	plan(r, &planned);
	planned.exec = one_in(r, 4);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid = clone(clone_main, stack + STACK_SIZE, how | SIGCHLD, &planned);
	if (pid < 0)
		ret = -errno;
	else
		waitpid(pid, NULL, 0);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ret;
}
