// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* paths.c - nobody gets out of the folder, nobody waits for an odd file. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests.h"

/* What each of these must not give: the file beside the root. */
static const char * const climbs[] = {
	"/../secret.txt",
	"/sub/../../secret.txt",
	"/./../secret.txt",
	"//../secret.txt",
	"/..//secret.txt",
	"/%2e%2e/secret.txt",
	"/%2E%2E/secret.txt",
	"/.%2e/secret.txt",
	"/%2e./secret.txt",
	"/..%2fsecret.txt",
	"/%2e%2e%2fsecret.txt",
	"/%2e%2e%2Fsecret.txt",
	"/sub%2f..%2f..%2fsecret.txt",
	"/%252e%252e/secret.txt",
	"/..%252fsecret.txt",
	"/..%5csecret.txt",
	"/..\\secret.txt",
	"/%c0%ae%c0%ae/secret.txt",
	"/%u002e%u002e/secret.txt",
	"/index.html/../../secret.txt",
	"/f1%00/../../secret.txt",
	"/sub/..%00/secret.txt",
	"/out",			/* a link to it */
	"/outdir/secret.txt",	/* through a link to its folder */
	"/absolute",		/* a link with its whole path */
	"http://x/../secret.txt",
};

static void climb(struct server *s)
{
	char whole[4200];
	struct response r;
	size_t i;

	for (i = 0; i < COUNT(climbs); i++) {
		get(s->port, climbs[i], &r);
		check(r.status == 400 || r.status == 404, "%s: %d", climbs[i],
		      r.status);
		check(!strstr(r.body, "secret\n"), "%s: got out", climbs[i]);
	}
	/* The same by its whole path, and what every system has. */
	get(s->port, root_path("secret.txt"), &r);
	check(r.status == 404, "whole path: %d", r.status);
	snprintf(whole, sizeof(whole), "/%s", root_path("secret.txt"));
	get(s->port, whole, &r);
	check(r.status == 404, "whole path, two slashes: %d", r.status);
	get(s->port, "/magic/etc/passwd", &r);
	check(r.status == 404, "through /proc: %d", r.status);
	get(s->port, "/loop", &r);
	check(r.status == 404, "a link to itself: %d", r.status);
	still_works(s);
}

static void test_climb(void)
{
	struct response r;

	climb(&server);
	/* Not because links never work. */
	check(get(server.port, "/link", &r) == 200, "%d", r.status);
	check(!strcmp(r.body, "hello\n"), "%s", r.body);
}

static void test_walk(void)
{
	struct response r;
	struct server s;

	server_start(&s, 0, "--walk");
	climb(&s);
	check(get(s.port, "/sub/index.html", &r) == 200, "%d", r.status);
	check(get(s.port, "/link", &r) == 404, "a link: %d", r.status);
	check(get(s.port, "/f1/index.html", &r) == 404, "%d", r.status);
	server_stop(&s, SIGKILL, PATIENCE);
}

static void test_nul(void)
{
	static const char raw[] = "GET /index.html\0.txt HTTP/1.1\r\n"
				  "Host: x\r\n\r\n";
	struct response r;
	struct client c;

	check(get(server.port, "/index.html%00", &r) == 400, "%d", r.status);
	check(get(server.port, "/index.html%00.txt", &r) == 400, "%d",
	      r.status);
	check(get(server.port, "/%", &r) == 400, "%d", r.status);
	check(get(server.port, "/%4", &r) == 400, "%d", r.status);
	check(get(server.port, "/%zz", &r) == 400, "%d", r.status);
	if (!check(client_open(&c, server.port), "connect"))
		return;
	client_send(&c, raw, sizeof(raw) - 1);
	check(client_read(&c, &r, false, PATIENCE) == 400, "%d", r.status);
	client_close(&c);
	still_works(&server);
}

static void refused_soon(const char *target, int status)
{
	long start = now_ms();
	struct response r;

	get(server.port, target, &r);
	check(r.status == status, "%s: %d", target, r.status);
	check(now_ms() - start < 5000, "%s: %ld ms", target,
	      now_ms() - start);
}

static void test_odd_files(void)
{
	/* A FIFO with a writer must not be read either. */
	refused_soon("/fifo", 403);
	refused_soon("/socket", 403);
	refused_soon("/empty/", 404);
	refused_soon("/f1/", 404);
	refused_soon("/f1/f2", 404);
	if (!mknod(root_path("root/tty"), S_IFCHR | 0644, 5 << 8)) {
		refused_soon("/tty", 403);
		unlink(root_path("root/tty"));
	} else {
		note("no device node tried: not allowed to make one");
	}
	still_works(&server);
}

static void test_long_names(void)
{
	char target[4200];
	struct response r;

	memset(target, 'a', sizeof(target));
	target[0] = '/';
	target[300] = '\0';
	check(get(server.port, target, &r) == 404, "one name: %d", r.status);
	target[300] = 'a';
	target[4190] = '\0';
	check(get(server.port, target, &r) == 414, "too long: %d", r.status);
	still_works(&server);
}

void paths_tests(void)
{
	run("no path leaves the folder", test_climb);
	run("... nor without openat2", test_walk);
	run("NUL bytes and broken encodings", test_nul);
	run("FIFO, socket, device, folder: refused at once", test_odd_files);
	run("long names", test_long_names);
}
