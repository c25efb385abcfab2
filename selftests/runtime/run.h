/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * run.h - what the tests of the scheduler share.
 *
 * ACTOR_TEST(name, workers) is a ROOST_TEST whose body is the root actor of a
 * run; 0 workers: the default; usually(n): n, but what it tests is there with any
 * number, and ROOST_WORKERS=n in the environment says another; several(n): the same for
 * what needs two.  A test that hangs is ended by SIGALRM, and so is the program;
 * ROOST_LIMIT=n in the environment has that after n seconds.  ROOST_SLOW=n in the
 * environment divides the rounds of long loops and multiplies what is allowed for
 * lateness, for emulated machines.
 */
#ifndef ROOST_SELFTESTS_RUNTIME_RUN_H
#define ROOST_SELFTESTS_RUNTIME_RUN_H

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <roost/roost.h>

#include "compiler.h"
#include "valgrind.h"

#include "../unit/random.h"
#include "../unit/tap.h"

#define unused_arg	__attribute__((unused))

#if defined(ROOST_ASAN) || defined(ROOST_TSAN)
#define SANITIZED_BUILD	1
#else
#define SANITIZED_BUILD	0
#endif

/* Is there a tool between the test and the machine, one that is slow and minds faults? */
#define SANITIZED	(SANITIZED_BUILD || valgrind_here())

static inline bool valgrind_here(void)
{
	return valgrind_ask(VALGRIND_RUNNING, 0, 0);
}

static inline unsigned long slow(void)
{
	const char *text = getenv("ROOST_SLOW");
	unsigned long n = text ? strtoul(text, NULL, 0) : 1;

	if (SANITIZED)
		n *= 10;
	return n ? n : 1;
}

/* Seconds that a test may take; the folder's limits allow as much. */
static inline unsigned int test_limit(void)
{
	const char *text = getenv("ROOST_LIMIT");

	if (text && *text)
		return (unsigned int)strtoul(text, NULL, 0);
	return slow() < 10 ? 100 : 400;
}

#define TEST_LIMIT_S	test_limit()

/* Is this run by a user-mode emulator, whose kernel is half its own? */
static inline bool emulated(void)
{
	return getenv("ROOST_EMULATED");
}

#define EMULATED_LIMITS	"the emulator's own mappings come to the limits first, or to none"

/* Rounds of a loop; never less than a tenth of a thousand. */
static inline unsigned long rounds(unsigned long usual)
{
	unsigned long n = usual / slow();

	return n < 100 ? (usual < 100 ? usual : 100) : n;
}

static inline unsigned int usually(unsigned int workers)
{
	const char *text = getenv("ROOST_WORKERS");

	return text && *text ? (unsigned int)strtoul(text, NULL, 0) : workers;
}

static inline unsigned int several(unsigned int workers)
{
	unsigned int n = usually(workers);

	return n > 1 ? n : workers;
}

static inline void run_with(const struct roost_config *config, roost_fn root,
			    void *arg)
{
	alarm(TEST_LIMIT_S);
	CHECK_EQ(roost_run(config, root, arg), 0);
	alarm(0);
}

static inline void run_actors(unsigned int workers, roost_fn root, void *arg)
{
	struct roost_config config = { .workers = workers };

	run_with(&config, root, arg);
}

#define ACTOR_TEST(test_name, nr_workers)				\
	static void actor_##test_name(void *arg);			\
	ROOST_TEST(test_name)						\
	{								\
		run_actors(nr_workers, actor_##test_name, NULL);	\
	}								\
	static void actor_##test_name(void *arg unused_arg)

static inline roost_pid spawn(roost_fn fn, void *arg)
{
	roost_pid pid = ROOST_PID_NONE;

	CHECK_EQ(roost_spawn(fn, arg, &pid), 0);
	return pid;
}

static inline void join(roost_pid pid)
{
	CHECK_EQ(roost_join(pid, roost_after(ROOST_SEC(60))), 0);
}

/* What an emulator says of its own end is not for who reads the results. */
static inline void child_begin(void)
{
	if (emulated())
		dup2(STDERR_FILENO, STDOUT_FILENO);
	alarm(TEST_LIMIT_S);
}

/* Run @fn in a child process.  Return: its wait status. */
static inline int in_child(void (*fn)(void *arg), void *arg)
{
	int status = -1;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		child_begin();
		fn(arg);
		_exit(0);
	}
	if (child > 0)
		waitpid(child, &status, 0);
	return status;
}

/* The same, and what it wrote to standard error, as a string. */
static inline int in_child_stderr(void (*fn)(void *arg), void *arg, char *text,
				  size_t size)
{
	char rest[512];
	size_t used = 0;
	int status = -1;
	pid_t child;
	int fd[2];
	ssize_t n;

	fflush(stdout);
	if (pipe(fd))
		return -1;
	child = fork();
	if (!child) {
		dup2(fd[1], STDERR_FILENO);
		child_begin();
		close(fd[0]);
		close(fd[1]);
		fn(arg);
		_exit(0);
	}
	close(fd[1]);
	while (used + 1 < size && (n = read(fd[0], text + used,
					    size - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	/* who writes more than that must not be killed by it */
	while (read(fd[0], rest, sizeof(rest)) > 0)
		;
	close(fd[0]);
	if (child > 0)
		waitpid(child, &status, 0);
	return status;
}

/* From now on only @more bytes of address space besides what is in use. */
static inline void limit_address_space(rlim_t more)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;
	struct rlimit limit;

	if (!f || fscanf(f, "%lu", &pages) != 1)
		_exit(99);
	fclose(f);
	limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
	limit.rlim_max = limit.rlim_cur;
	setrlimit(RLIMIT_AS, &limit);
}

#define EXITED(status, code) \
	(WIFEXITED(status) && WEXITSTATUS(status) == (code))
/*
 * qemu-aarch64 7.2 takes a fault that a process sends to itself for one of its own, and
 * ends by an assertion, which it does not survive either.
 */
#define EMULATOR_DIED	127

static inline bool killed_by(int status, int sig)
{
	if (emulated() && EXITED(status, EMULATOR_DIED))
		return true;
	return WIFSIGNALED(status) && WTERMSIG(status) == sig;
}

#define KILLED_BY(status, sig)	killed_by(status, sig)

#endif /* ROOST_SELFTESTS_RUNTIME_RUN_H */
