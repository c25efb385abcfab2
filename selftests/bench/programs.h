/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * programs.h - run the benchmark's programs on this machine.
 *
 * They lie in tools/bench/vm of the tree that the test was built in.
 */
#ifndef ROOST_SELFTESTS_BENCH_PROGRAMS_H
#define ROOST_SELFTESTS_BENCH_PROGRAMS_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds after which a program that still runs is ended, which fails it. */
#define PROGRAM_LIMIT	60

/**
 * struct program - one that was started
 * @pid:	its process
 * @output:	read end of its standard output and error
 * @text:	what it has said so far
 * @length:	bytes there
 */
struct program {
	pid_t pid;
	int output;
	char text[4096];
	size_t length;
};

/* Where a program lies, beside this one's folder. */
static inline const char *program_path(const char *name)
{
	static char path[PATH_MAX];
	char self[PATH_MAX / 2];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n < 0 ? 0 : n] = '\0';
	if (strrchr(self, '/'))
		*strrchr(self, '/') = '\0';
	snprintf(path, sizeof(path), "%s/../../tools/bench/vm/%s", self, name);
	return path;
}

/* In the new process, before it runs anything. */
static inline void program_settle(int output)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	close(output);
	alarm(PROGRAM_LIMIT);
}

/**
 * program_fork() - a new process whose output this one reads
 * @p:		filled in
 *
 * Return: as fork(2).
 */
static inline pid_t program_fork(struct program *p)
{
	int ends[2];

	memset(p, 0, sizeof(*p));
	if (pipe2(ends, O_CLOEXEC))
		return -1;
	fflush(stdout);
	p->output = ends[0];
	p->pid = fork();
	if (p->pid == 0)
		program_settle(ends[1]);
	close(ends[1]);
	return p->pid;
}

/* Start @name with arguments, the last of which is NULL. */
static inline void program_start(struct program *p, const char *name,
				 char *const *args)
{
	const char *path = program_path(name);

	if (program_fork(p) == 0) {
		execv(path, args);
		printf("cannot run %s: %s\n", path, strerror(errno));
		fflush(stdout);
		_exit(127);
	}
}

/* Read on until it says @word, or nothing more.  Returns whether it did. */
static inline int program_says(struct program *p, const char *word)
{
	ssize_t n;

	while (!strstr(p->text, word) && p->length < sizeof(p->text) - 1) {
		n = read(p->output, p->text + p->length,
			 sizeof(p->text) - 1 - p->length);
		if (n <= 0)
			return 0;
		p->length += n;
	}
	return strstr(p->text, word) != NULL;
}

/* Wait for its end.  Returns its code, or minus the signal that ended it. */
static inline int program_wait(struct program *p)
{
	int status = 0;

	program_says(p, "\1");	/* never: up to the end */
	close(p->output);
	if (waitpid(p->pid, &status, 0) != p->pid)
		return 255;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* End it; what it was doing is in what it returns. */
static inline int program_end(struct program *p)
{
	kill(p->pid, SIGTERM);
	return program_wait(p);
}

/* Milliseconds that the client waits for a server that is slow, or broken. */
static const char *program_patience = "30000";

/* Run the client against the process @server. */
static inline int program_client(struct program *p, const char *address,
				 pid_t server, const char *connections,
				 const char *outstanding, const char *requests)
{
	char pid[16];
	char *args[] = {
		"client", "--address", (char *)address, "--server", pid,
		"--connections", (char *)connections, "--outstanding",
		(char *)outstanding, "--requests", (char *)requests,
		"--patience", (char *)program_patience, NULL
	};

	snprintf(pid, sizeof(pid), "%d", server);
	program_start(p, "client", args);
	return program_wait(p);
}

#endif /* ROOST_SELFTESTS_BENCH_PROGRAMS_H */
