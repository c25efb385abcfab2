// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* limits.c - very many connections, and no descriptors. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests.h"

#define SILENT	10000
#define CROWD	1000

static void test_silent(void)
{
	long room = raise_nofile() - 100, start, n, i;
	int *fd = calloc(SILENT, sizeof(*fd));
	struct server s;

	server_start(&s, 0, "--idle-timeout 120");
	n = room < SILENT ? room : SILENT;
	if (n < SILENT)
		note("only %ld connections: the limit of descriptors", n);
	for (i = 0; i < n; i++) {
		/* Several addresses, for there are only so many ports. */
		fd[i] = dial(s.port, 1 + i % 4);
		if (!check(fd[i] >= 0, "connection %ld", i))
			break;
	}
	check(wait_open(&s, i), "not all are there");
	still_works(&s);
	start = now_ms();
	while (i)
		close(fd[--i]);
	check(wait_open(&s, 0), "connections remain");
	note("%ld connections gone after %ld ms", n, now_ms() - start);
	still_works(&s);
	check(server_stop(&s, SIGTERM, PATIENCE) == 0, "exit code");
	free(fd);
}

/* @n connections that have all sent before the first answer is read. */
static void crowd(struct server *s, struct client *c, int n)
{
	int i, good = 0;
	struct response r;

	for (i = 0; i < n; i++)
		if (!check(client_open(&c[i], s->port), "connection %d", i))
			return;
	for (i = 0; i < n; i++)
		client_say(&c[i], "GET /f1 HTTP/1.1\r\nHost: x\r\n\r\n");
	for (i = 0; i < n; i++)
		good += client_read(&c[i], &r, false, PATIENCE) == 200 &&
			!strcmp(r.body, "file 1\n");
	check(good == n, "%d of %d served", good, n);
	for (i = 0; i < n; i++)
		client_say(&c[i], "GET /f2 HTTP/1.1\r\nHost: x\r\n\r\n");
	for (i = n, good = 0; i--;)
		good += client_read(&c[i], &r, false, PATIENCE) == 200 &&
			!strcmp(r.body, "file 2\n");
	check(good == n, "%d of %d served again", good, n);
	for (i = 0; i < n; i++)
		client_close(&c[i]);
}

static void test_crowd(void)
{
	struct client *c = calloc(CROWD, sizeof(*c));
	struct server s;

	server_start(&s, 0, "--workers 2");
	crowd(&s, c, CROWD);
	check(wait_open(&s, 0), "connections remain");
	crowd(&s, c, CROWD);
	check(server_stat(&s, "io_errors") == 0, "%ld broke",
	      server_stat(&s, "io_errors"));
	check(server_stat(&s, "refused") == 0, "%ld refused",
	      server_stat(&s, "refused"));
	still_works(&s);
	check(server_stop(&s, SIGTERM, PATIENCE) == 0, "exit code");
	free(c);
}

static void test_cap(void)
{
	struct client c[4], more;
	struct response r;
	struct server s;
	int i;

	server_start(&s, 0, "--max-connections 4 --workers 1");
	for (i = 0; i < 4; i++) {
		client_open(&c[i], s.port);
		client_say(&c[i], "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
		check(client_read(&c[i], &r, false, PATIENCE) == 200, "%d",
		      r.status);
	}
	check(client_open(&more, s.port), "connect");
	client_say(&more, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	check(client_read(&more, &r, false, PATIENCE) == 503, "%d", r.status);
	check(!r.keep && client_at_end(&more, PATIENCE), "%s", r.head);
	client_close(&more);
	client_say(&c[3], "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	check(client_read(&c[3], &r, false, PATIENCE) == 200, "%d", r.status);
	for (i = 0; i < 4; i++)
		client_close(&c[i]);
	check(wait_open(&s, 0), "connections remain");
	still_works(&s);
	check(server_stop(&s, SIGTERM, PATIENCE) == 0, "exit code");
}

static void test_descriptors(void)
{
	struct client *c = calloc(100, sizeof(*c));
	long pauses = 0, end = now_ms() + PATIENCE;
	struct response r;
	struct server s;
	int i;

	/* The kernel completes all connects; the server can accept few. */
	server_start(&s, 40, "--workers 1");
	for (i = 0; i < 100; i++)
		if (!check(client_open(&c[i], s.port), "connection %d", i))
			return;
	/* Its counters cannot be asked for: that takes a descriptor. */
	sleep_ms(500);
	check(server_lives(&s), "the server is gone");
	for (i = 0; i < 80; i++)
		client_close(&c[i]);
	/* Those that waited are served now. */
	for (i = 80; i < 100; i++) {
		client_say(&c[i], "GET /f3 HTTP/1.1\r\nHost: x\r\n\r\n");
		check(client_read(&c[i], &r, false, PATIENCE) == 200,
		      "number %d: %d", i, r.status);
		client_close(&c[i]);
	}
	still_works(&s);
	do
		pauses = server_stat(&s, "accept_pauses");
	while (pauses < 1 && now_ms() < end);
	check(pauses > 0, "it never ran out of descriptors");
	/* It waits for them, it does not spin. */
	check(pauses < 500, "%ld pauses", pauses);
	check(server_stop(&s, SIGTERM, PATIENCE) == 0, "exit code");
	free(c);
}

static void test_idle(void)
{
	struct response r;
	struct client c[2];
	struct server s;
	long start;

	server_start(&s, 0, "--idle-timeout 0.5");
	start = now_ms();
	client_open(&c[0], s.port);
	client_open(&c[1], s.port);
	client_say(&c[1], "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
	check(client_read(&c[1], &r, false, PATIENCE) == 200, "%d", r.status);
	check(client_at_end(&c[0], PATIENCE), "the silent one stays");
	check(client_at_end(&c[1], PATIENCE), "the served one stays");
	check(now_ms() - start >= 480, "too early: %ld ms", now_ms() - start);
	client_close(&c[0]);
	client_close(&c[1]);
	check(server_stat(&s, "timeouts") == 2, "%ld",
	      server_stat(&s, "timeouts"));
	check(server_stop(&s, SIGTERM, PATIENCE) == 0, "exit code");
}

void limits_tests(void)
{
	run("10000 connections that say nothing", test_silent);
	run("1000 connections at once, all served", test_crowd);
	run("more connections than allowed: 503", test_cap);
	run("no descriptors left: goes on when there are some",
	    test_descriptors);
	run("idle connections are closed", test_idle);
}
