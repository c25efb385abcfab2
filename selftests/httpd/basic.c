// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* basic.c - what a well-behaved client sees. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests.h"

#define H	"Host: x\r\n"

static void test_get(void)
{
	struct response r;

	check(get(server.port, "/", &r) == 200, "%d", r.status);
	check(!strcmp(r.body, "hello\n"), "%s", r.body);
	check(r.keep, "%s", r.head);
	check(strstr(r.head, "\r\nContent-Type: text/html"), "%s", r.head);
	check(strstr(r.head, "\r\nDate: "), "%s", r.head);
	check(strstr(r.head, "\r\nLast-Modified: "), "%s", r.head);
	check(get(server.port, "/sub/", &r) == 200, "%d", r.status);
	check(!strcmp(r.body, "sub\n"), "%s", r.body);
	check(get(server.port, "/a%20b%25.txt?query", &r) == 200, "%d",
	      r.status);
	check(!strcmp(r.body, "odd name\n"), "%s", r.body);
	check(get(server.port, "/nothing", &r) == 200 && r.length == 0,
	      "%d %ld", r.status, r.length);
	check(get(server.port, "/missing", &r) == 404, "%d", r.status);
	check(get(server.port, "/sub", &r) == 301, "%d", r.status);
	check(strstr(r.head, "\r\nLocation: /sub/\r\n"), "%s", r.head);
	check(get(server.port, "/empty/", &r) == 404, "%d", r.status);
}

static void test_head(void)
{
	struct response r;
	struct client c;

	if (!check(client_open(&c, server.port), "connect"))
		return;
	client_say(&c, "HEAD /big HTTP/1.1\r\n" H "\r\n"
		   "HEAD /missing HTTP/1.1\r\n" H "\r\n"
		   "GET / HTTP/1.1\r\n" H "\r\n");
	check(client_read(&c, &r, true, PATIENCE) == 200, "%d", r.status);
	check(r.length == 4 << 20, "%ld", r.length);
	check(client_read(&c, &r, true, PATIENCE) == 404, "%d", r.status);
	check(client_read(&c, &r, false, PATIENCE) == 200, "%d", r.status);
	check(!strcmp(r.body, "hello\n"), "%s", r.body);
	client_close(&c);
}

static unsigned int sum_of_file(const char *name)
{
	FILE *f = fopen(root_path(name), "r");
	unsigned int sum = 0;
	char buf[4096];
	size_t n;

	while (f && (n = fread(buf, 1, sizeof(buf), f)))
		sum = sum_of(sum, buf, n);
	if (f)
		fclose(f);
	return sum;
}

static void test_big(void)
{
	struct response r;

	check(get(server.port, "/big", &r) == 200, "%d", r.status);
	check(r.sum == sum_of_file("root/big"), "contents differ");
	check(get(server.port, "/middle", &r) == 200, "%d", r.status);
	check(r.sum == sum_of_file("root/middle"), "contents differ");
}

static void test_since(void)
{
	struct response r;
	char text[512], *date;

	get(server.port, "/", &r);
	date = strstr(r.head, "Last-Modified: ");
	if (!check(date, "%s", r.head))
		return;
	snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n" H
		 "If-Modified-Since: %.29s\r\n\r\n", date + 15);
	check(ask(server.port, text, &r) == 304, "%d", r.status);
	snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n" H
		 "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n");
	check(ask(server.port, text, &r) == 200, "%d", r.status);
	snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n" H
		 "If-Modified-Since: yesterday\r\n\r\n");
	check(ask(server.port, text, &r) == 200, "%d", r.status);
}

static void test_versions(void)
{
	struct response r;
	struct client c;

	if (!check(client_open(&c, server.port), "connect"))
		return;
	client_say(&c, "GET / HTTP/1.0\r\n\r\n");
	check(client_read(&c, &r, false, PATIENCE) == 200, "%d", r.status);
	check(!r.keep && client_at_end(&c, PATIENCE), "1.0 stays open");
	client_close(&c);

	client_open(&c, server.port);
	client_say(&c, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	check(client_read(&c, &r, false, PATIENCE) == 200, "%d", r.status);
	check(strstr(r.head, "\r\nConnection: keep-alive\r\n"), "%s", r.head);
	client_say(&c, "GET / HTTP/1.1\r\n" H "Connection: close\r\n\r\n");
	check(client_read(&c, &r, false, PATIENCE) == 200, "%d", r.status);
	check(!r.keep && client_at_end(&c, PATIENCE), "not closed");
	client_close(&c);
}

static void test_methods(void)
{
	struct response r;

	check(ask(server.port, "DELETE / HTTP/1.1\r\n" H "\r\n", &r) == 405,
	      "%d", r.status);
	check(strstr(r.head, "\r\nAllow: GET, HEAD\r\n") && r.keep, "%s",
	      r.head);
	check(ask(server.port, "OPTIONS * HTTP/1.1\r\n" H "\r\n", &r) == 405,
	      "%d", r.status);
	check(ask(server.port, "BREW / HTTP/1.1\r\n" H "\r\n", &r) == 501,
	      "%d", r.status);
}

static void expect_pair(const char *text, int first)
{
	struct response r;
	struct client c;

	if (!check(client_open(&c, server.port), "connect"))
		return;
	client_say(&c, text);
	check(client_read(&c, &r, false, PATIENCE) == first, "%s: %d", text,
	      r.status);
	check(client_read(&c, &r, false, PATIENCE) == 200, "%s: then %d", text,
	      r.status);
	check(!strcmp(r.body, "file 7\n"), "%s", r.body);
	client_close(&c);
}

static void expect_last(const char *text, int status)
{
	struct response r;
	struct client c;

	if (!check(client_open(&c, server.port), "connect"))
		return;
	client_say(&c, text);
	check(client_read(&c, &r, false, PATIENCE) == status, "%s: %d", text,
	      r.status);
	check(!r.keep, "%s: stays open", text);
	check(client_at_end(&c, PATIENCE), "%s: more follows", text);
	client_close(&c);
}

static void test_bodies(void)
{
	static const char next[] = "GET /f7 HTTP/1.1\r\n" H "\r\n";
	char *text = malloc(200000);

	/* A body that looks like a request must not be taken for one. */
	sprintf(text, "POST / HTTP/1.1\r\n" H "Content-Length: 29\r\n\r\n"
		"GET /f1 HTTP/1.1\r\nHost: x\r\n\r\n%s", next);
	expect_pair(text, 405);
	sprintf(text, "GET / HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello%s",
		next);
	expect_pair(text, 200);
	sprintf(text, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n"
		"\r\n5;x\r\nhello\r\n0\r\nA: b\r\n\r\n%s", next);
	expect_pair(text, 405);

	/* The end of these is unknown, or too far away: nothing may follow. */
	sprintf(text, "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n"
		"\r\n5\r\nhelloX\r\n0\r\n\r\n%s", next);
	expect_last(text, 400);
	sprintf(text, "POST / HTTP/1.1\r\n" H "Content-Length: 65537\r\n\r\n%s",
		next);
	expect_last(text, 413);
	sprintf(text, "POST / HTTP/1.1\r\n" H "Content-Length: 99999999999999"
		"99999999999999\r\n\r\n%s", next);
	expect_last(text, 413);
	sprintf(text, "POST / HTTP/1.1\r\n" H "Content-Length: 100\r\n"
		"Expect: 100-continue\r\n\r\n");
	expect_last(text, 405);
	free(text);
}

/* What comes behind the head, and later, must not become part of it. */
static void test_late_body(void)
{
	struct response r;
	struct client c;

	if (!check(client_open(&c, server.port), "connect"))
		return;
	client_say(&c, "GET /f1 HTTP/1.1\r\n" H "Content-Length: 24\r\n\r\n");
	sleep_ms(50);
	client_say(&c, "GET /f2 HTTP/1.1\r\nA: b\r\n");
	check(client_read(&c, &r, false, PATIENCE) == 200, "%d", r.status);
	check(!strcmp(r.body, "file 1\n"), "%s", r.body);
	client_say(&c, "GET /f7 HTTP/1.1\r\n" H "\r\n");
	check(client_read(&c, &r, false, PATIENCE) == 200, "%d", r.status);
	client_close(&c);
}

static void test_big_body(void)
{
	static const char head[] =
		"POST / HTTP/1.1\r\n" H "Content-Length: 65536\r\n\r\n";
	static char body[65536];
	struct response r;
	struct client c;

	if (!check(client_open(&c, server.port), "connect"))
		return;
	memset(body, '\n', sizeof(body));
	client_say(&c, head);
	client_send(&c, body, sizeof(body));
	client_say(&c, "GET /f7 HTTP/1.1\r\n" H "\r\n");
	check(client_read(&c, &r, false, PATIENCE) == 405, "%d", r.status);
	check(client_read(&c, &r, false, PATIENCE) == 200, "%d", r.status);
	client_close(&c);
}

static void test_changes(void)
{
	long end = now_ms() + PATIENCE;
	struct response r;

	root_write("root/changing", "one");
	check(get(server.port, "/changing", &r) == 200, "%d", r.status);
	check(!strcmp(r.body, "one"), "%s", r.body);
	root_write("root/changing", "two");
	do {
		get(server.port, "/changing", &r);
		sleep_ms(50);
	} while (strcmp(r.body, "two") && now_ms() < end);
	check(!strcmp(r.body, "two"), "%s", r.body);
	unlink(root_path("root/changing"));
	do {
		get(server.port, "/changing", &r);
		sleep_ms(50);
	} while (r.status == 200 && now_ms() < end);
	check(r.status == 404, "%d", r.status);
}

static void test_stats(void)
{
	long before = server_stat(&server, "requests");
	struct response r;
	int i;

	check(before > 0, "%ld", before);
	for (i = 0; i < 10; i++)
		get(server.port, i & 1 ? "/" : "/missing", &r);
	check(server_stat(&server, "requests") == before + 10, "%ld and %ld",
	      before, server_stat(&server, "requests"));
	check(server_stat(&server, "client_errors") > 0, "no errors counted");
	check(server_stat(&server, "resumes") > 0, "no counters of the library");
}

void basic_tests(void)
{
	run("GET", test_get);
	run("HEAD", test_head);
	run("big files arrive whole", test_big);
	run("If-Modified-Since", test_since);
	run("HTTP/1.0 and 1.1 keep and close", test_versions);
	run("other methods", test_methods);
	run("bodies are skipped and requests stay in step", test_bodies);
	run("a body that comes after its head", test_late_body);
	run("the biggest body that is skipped", test_big_body);
	run("a changed file is seen", test_changes);
	run("counters by SIGUSR1", test_stats);
}
