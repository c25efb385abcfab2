// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * httpd_test.c - what clients do to servers, done to httpd.
 *
 * The server is $HTTPD, or stands at its place in the tree; its backend is
 * $ROOST_BACKEND.  $ONLY chooses tests by a part of their name.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tests.h"

struct server server;

void still_works(struct server *s)
{
	struct response r;
	int status = get(s->port, "/", &r);

	check(status == 200, "an ordinary request afterwards: %d", status);
	check(server_lives(s), "the server is gone");
}

bool wait_open(struct server *s, long n)
{
	/* An emulated machine may take its time to close 10,000 sockets. */
	long end = now_ms() + 3 * PATIENCE, open;

	while ((open = server_stat(s, "open")) != n) {
		if (now_ms() > end) {
			note("%ld connections open", open);
			return false;
		}
		sleep_ms(20);
	}
	return true;
}

long raise_nofile(void)
{
	struct rlimit r, more;

	getrlimit(RLIMIT_NOFILE, &r);
	/* The hard limit too, for the server, where we may. */
	more.rlim_cur = more.rlim_max = 30000;
	if (r.rlim_max < more.rlim_max && !setrlimit(RLIMIT_NOFILE, &more))
		return more.rlim_cur;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	return r.rlim_cur;
}

static void test_end(void)
{
	int code = server_stop(&server, SIGTERM, PATIENCE);

	check(code == 0, "%d", code);
}

int main(int argc, char **argv)
{
	(void)argc;
	signal(SIGPIPE, SIG_IGN);
	raise_nofile();
	server_find(argv[0]);
	root_make();
	server_start(&server, 0, "--workers 3 --request-timeout 2");
	basic_tests();
	paths_tests();
	hostile_tests();
	run("after all that, SIGTERM: exit code 0", test_end);
	limits_tests();
	stop_tests();
	root_remove();
	return tap_end();
}
