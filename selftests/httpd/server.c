// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* server.c - a folder of files, and the server that is tested on it. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "server.h"
#include "tap.h"

#define MAX_ARGS	32

static char program[PATH_MAX];
static char base[PATH_MAX];

static void __attribute__((noreturn)) give_up(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	if (*base)
		root_remove();
	exit(1);
}

void server_find(const char *self)
{
	const char *given = getenv("HTTPD");
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", self);
	if (given)
		snprintf(program, sizeof(program), "%s", given);
	else
		snprintf(program, sizeof(program),
			 "%.2000s/../../tools/examples/httpd/httpd",
			 dirname(copy));
	if (access(program, X_OK))
		give_up(program);
}

const char *root_path(const char *name)
{
	static __thread char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", base, name);
	return path;
}

/* By rename, so that no reader sees a part. */
void root_write(const char *name, const char *text)
{
	char temp[2 * PATH_MAX];
	FILE *f;

	snprintf(temp, sizeof(temp), "%s/new", base);
	f = fopen(temp, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) ||
	    rename(temp, root_path(name)))
		give_up(name);
}

static void big_file(const char *name, size_t size)
{
	FILE *f = fopen(root_path(name), "w");
	unsigned int x = 1;

	if (!f)
		give_up(name);
	for (; size; size--) {
		x = x * 1664525U + 1013904223U;
		putc(x >> 24, f);
	}
	if (fclose(f))
		give_up(name);
}

static void links(void)
{
	char target[2 * PATH_MAX];

	snprintf(target, sizeof(target), "%s/secret.txt", base);
	if (symlink("index.html", root_path("root/link")) ||
	    symlink("../secret.txt", root_path("root/out")) ||
	    symlink("..", root_path("root/outdir")) ||
	    symlink(target, root_path("root/absolute")) ||
	    symlink("/proc/self/root", root_path("root/magic")) ||
	    symlink("loop", root_path("root/loop")))
		give_up("symlink");
}

static void oddities(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%.90s",
		 root_path("root/socket"));
	if (mkfifo(root_path("root/fifo"), 0644) ||
	    bind(fd, (struct sockaddr *)&sa, sizeof(sa)))
		give_up("fifo or socket");
	close(fd);
}

void root_make(void)
{
	const char *temp = getenv("TMPDIR");
	char name[64], text[64];
	int i;

	snprintf(base, sizeof(base), "%s/httpd_test.XXXXXX",
		 temp ? temp : "/tmp");
	if (!mkdtemp(base)) {
		*base = '\0';
		give_up("mkdtemp");
	}
	if (mkdir(root_path("root"), 0755) ||
	    mkdir(root_path("root/sub"), 0755) ||
	    mkdir(root_path("root/empty"), 0755))
		give_up("mkdir");
	root_write("secret.txt", "secret\n");
	root_write("root/index.html", "hello\n");
	root_write("root/sub/index.html", "sub\n");
	root_write("root/a b%.txt", "odd name\n");
	root_write("root/nothing", "");
	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "root/f%d", i);
		snprintf(text, sizeof(text), "file %d\n", i);
		root_write(name, text);
	}
	big_file("root/big", 4 << 20);
	big_file("root/middle", 300 << 10);
	links();
	oddities();
}

static int remove_one(const char *path, const struct stat *st, int flag,
		      struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

void root_remove(void)
{
	nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void __attribute__((noreturn)) child(int out, int nofile,
					    const char *options)
{
	char *argv[MAX_ARGS], words[512], *word;
	struct rlimit r = { nofile, nofile };
	int n = 0;

	/* It must not outlive us, nor inherit the state of our signals. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	dup2(out, STDOUT_FILENO);
	if (nofile)
		setrlimit(RLIMIT_NOFILE, &r);
	argv[n++] = program;
	argv[n++] = "--port=0";
	argv[n++] = "--root";
	argv[n++] = strdup(root_path("root"));
	argv[n++] = "--stats";
	argv[n++] = strdup(root_path("stats"));
	snprintf(words, sizeof(words), "%s", options);
	for (word = strtok(words, " "); word && n < MAX_ARGS - 1;
	     word = strtok(NULL, " "))
		argv[n++] = word;
	argv[n] = NULL;
	execv(program, argv);
	_exit(127);
}

void server_start(struct server *s, int nofile, const char *options)
{
	int out[2], port;
	FILE *f;

	unlink(root_path("stats"));
	fflush(stdout);
	if (pipe2(out, O_CLOEXEC))
		give_up("pipe");
	s->pid = fork();
	if (s->pid < 0)
		give_up("fork");
	if (!s->pid)
		child(out[1], nofile, options);
	close(out[1]);
	f = fdopen(out[0], "r");
	if (!f || fscanf(f, "listening on 127.0.0.1:%d", &port) != 1) {
		errno = 0;
		give_up("httpd does not come up");
	}
	s->port = port;
	fclose(f);
}

bool server_lives(struct server *s)
{
	return waitpid(s->pid, NULL, WNOHANG) == 0;
}

int server_stop(struct server *s, int sig, int ms)
{
	long end = now_ms() + ms;
	int status;

	kill(s->pid, sig);
	while (waitpid(s->pid, &status, WNOHANG) == 0) {
		if (now_ms() > end) {
			kill(s->pid, SIGKILL);
			waitpid(s->pid, &status, 0);
			return -1;
		}
		sleep_ms(5);
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

static long number_in(const char *text, const char *name)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof(key), "\"%s\": ", name);
	at = strstr(text, key);
	return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

long server_stat_at_end(const char *name)
{
	FILE *f = fopen(root_path("stats"), "r");
	char text[4096];
	size_t n;

	if (!f)
		return -1;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return number_in(text, name);
}

long server_stat(struct server *s, const char *name)
{
	long end = now_ms() + 3 * PATIENCE;

	unlink(root_path("stats"));
	kill(s->pid, SIGUSR1);
	while (access(root_path("stats"), R_OK)) {
		if (now_ms() > end)
			return -1;
		sleep_ms(2);
	}
	return server_stat_at_end(name);
}
