// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* hostile.c - bytes and timing that no good client would send. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests.h"

#define H	"Host: x\r\n"

static const struct {
	const char *text;
	int status;
} bad[] = {
	{ "GARBAGE\r\n\r\n", 400 },
	{ "GET /\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\n" H H "\r\n", 400 },
	{ "GET  / HTTP/1.1\r\n" H "\r\n", 400 },
	{ "GET index.html HTTP/1.1\r\n" H "\r\n", 400 },
	{ "GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\n" H "A: b\r\n c\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\n" H "no colon\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\n" "Host: x\n\n", 400 },
	{ "POST / HTTP/1.1\r\n" H "Content-Length: 5\r\n"
	  "Content-Length: 6\r\n\r\nhello!", 400 },
	{ "POST / HTTP/1.1\r\n" H "Content-Length: 5\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" H "Content-Length: +5\r\n\r\nhello", 400 },
	{ "POST / HTTP/1.1\r\n" H "Content-Length: 5 5\r\n\r\nhello", 400 },
	{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
	  "z\r\n", 400 },
	{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip\r\n\r\n", 501 },
	{ "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
	{ "GET / HTTP/1.1\r\n" H "Expect: tea\r\n\r\n", 417 },
	{ "GET / HTTP/2.0\r\n" H "\r\n", 505 },
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505 },
	{ "\x16\x03\x01\x02\x01\x01", 400 },
};

/* One request, one refusal, then the end: what follows is not served. */
static void refused(const char *text, size_t len, int status)
{
	struct response r;
	struct client c;

	if (!check(client_open(&c, server.port), "connect"))
		return;
	client_send(&c, text, len);
	client_say(&c, "GET /f1 HTTP/1.1\r\n" H "\r\n");
	check(client_read(&c, &r, false, PATIENCE) == status, "%.40s: %d", text,
	      r.status);
	check(!r.keep && client_at_end(&c, PATIENCE), "%.40s: goes on", text);
	client_close(&c);
}

static void test_bad(void)
{
	size_t i;

	for (i = 0; i < COUNT(bad); i++)
		refused(bad[i].text, strlen(bad[i].text), bad[i].status);
	still_works(&server);
}

static void test_too_large(void)
{
	size_t size = 1 << 20, i, n;
	char *text = malloc(size);

	memset(text, 'a', size);
	memcpy(text, "GET / HTTP/1.1\r\n" H "A: ", 28);
	refused(text, 9000, 431);
	refused(text, size, 431);
	memset(text, 'a', size);
	memcpy(text, "GET /", 5);
	refused(text, 9000, 414);
	refused(text, size, 414);
	n = sprintf(text, "GET / HTTP/1.1\r\n" H);
	for (i = 0; i < 200; i++)
		n += sprintf(text + n, "A%zu: b\r\n", i);
	refused(text, n, 431);
	free(text);
	still_works(&server);
}

static void test_garbage(void)
{
	unsigned int seed = 1;
	struct client c;
	char junk[600];
	size_t i, n;

	note("rand_r() from seed %u", seed);
	for (i = 0; i < 300; i++) {
		for (n = 0; n < sizeof(junk); n++)
			junk[n] = rand_r(&seed) >> 8;
		if (!check(client_open(&c, server.port), "connect"))
			return;
		if (i & 1)
			client_say(&c, "GET / HTTP/1.1\r\n" H "A: ");
		client_send(&c, junk, 1 + rand_r(&seed) % sizeof(junk));
		if (i & 2)
			client_reset(&c);
		else
			client_close(&c);
	}
	check(wait_open(&server, 0), "connections remain");
	still_works(&server);
}

static void read_in_order(struct client *c, int n)
{
	struct response r;
	char want[32];
	int i;

	for (i = 0; i < n; i++) {
		snprintf(want, sizeof(want), "file %d\n", i);
		client_read(c, &r, false, PATIENCE);
		if (!check(r.status == 200 && !strcmp(r.body, want),
			   "number %d: %d %s", i, r.status, r.body))
			return;
	}
}

static size_t pipeline(char *text, int n)
{
	size_t len = 0;
	int i;

	for (i = 0; i < n; i++)
		len += sprintf(text + len, "GET /f%d HTTP/1.1\r\n" H "\r\n", i);
	return len;
}

static void test_pipeline(void)
{
	char text[8192];
	size_t len = pipeline(text, 100), at;
	struct client c;

	if (!check(client_open(&c, server.port), "connect"))
		return;
	client_send(&c, text, len);
	read_in_order(&c, 100);
	/* The same connection again, cut in odd places. */
	for (at = 0; at < len; at += 777) {
		client_send(&c, text + at, len - at < 777 ? len - at : 777);
		sleep_ms(5);
	}
	read_in_order(&c, 100);
	client_close(&c);
	/* Far more than any buffer, sent before anything is read. */
	if (!check(client_open(&c, server.port), "connect"))
		return;
	for (at = 0; at < 20; at++)
		client_send(&c, text, len);
	for (at = 0; at < 20; at++)
		read_in_order(&c, 100);
	client_close(&c);
	still_works(&server);
}

static void test_split(void)
{
	char text[256];
	size_t len = pipeline(text, 3), cut;
	struct client c;

	for (cut = 1; cut < len; cut++) {
		if (!check(client_open(&c, server.port), "connect"))
			return;
		client_send(&c, text, cut);
		sleep_ms(3);
		client_send(&c, text + cut, len - cut);
		read_in_order(&c, 3);
		client_close(&c);
	}
	if (!check(client_open(&c, server.port), "connect"))
		return;
	for (cut = 0; cut < len; cut++) {
		client_send(&c, text + cut, 1);
		sleep_ms(1);
	}
	read_in_order(&c, 3);
	client_close(&c);
	still_works(&server);
}

static void test_half_sent(void)
{
	static struct client c[200];
	static const char text[] = "GET / HTTP/1.1\r\n" H "A: b\r\n";
	struct response r;
	size_t i, told = 0;

	for (i = 0; i < COUNT(c); i++) {
		if (!check(client_open(&c[i], server.port), "connect"))
			return;
		client_send(&c[i], text, 1 + i % (sizeof(text) - 1));
	}
	still_works(&server);
	/* Half of them go away, the others wait for what the server does. */
	for (i = 0; i < COUNT(c); i += 2)
		client_close(&c[i]);
	for (i = 1; i < COUNT(c); i += 2) {
		told += client_read(&c[i], &r, false, PATIENCE) == 408;
		check(client_at_end(&c[i], PATIENCE), "number %zu", i);
		client_close(&c[i]);
	}
	check(told == COUNT(c) / 2, "%zu were told 408", told);
	check(wait_open(&server, 0), "connections remain");
	still_works(&server);
}

static void test_slow(void)
{
	static const char text[] = "GET / HTTP/1.1\r\n" H "A: bbbbbbbbbbbbbbbb"
				   "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
	long before = server_stat(&server, "timeouts"), start = now_ms();
	struct response r;
	struct client c;
	size_t i;

	/* A byte now and then does not win more time. */
	if (!check(client_open(&c, server.port), "connect"))
		return;
	for (i = 0; i < sizeof(text) - 1; i++) {
		if (!client_send(&c, text + i, 1))
			break;
		if (client_read(&c, &r, false, 150) != GOT_NOTHING &&
		    r.status != GOT_PART)
			break;
	}
	check(r.status == 408, "%d after %zu bytes", r.status, i);
	check(now_ms() - start >= 1900, "too early: %ld ms",
	      now_ms() - start);
	check(i < sizeof(text) - 1, "not before the last byte");
	client_close(&c);
	check(server_stat(&server, "timeouts") == before + 1, "not counted");

	/* The same inside of a body. */
	if (!check(client_open(&c, server.port), "connect"))
		return;
	client_say(&c, "POST / HTTP/1.1\r\n" H "Content-Length: 100\r\n\r\nh");
	check(client_read(&c, &r, false, PATIENCE) == 408, "%d", r.status);
	client_close(&c);
	still_works(&server);
}

static void test_slow_reader(void)
{
	long before = server_stat(&server, "timeouts"), start = now_ms();
	struct client c[8];
	char text[2048];
	size_t i, n = 0;

	/* More than the sockets' buffers hold, and nobody reads it. */
	for (i = 0; i < 16; i++)
		n += sprintf(text + n, "GET /big HTTP/1.1\r\n" H "\r\n");
	for (i = 0; i < COUNT(c); i++) {
		if (!check(client_open(&c[i], server.port), "connect"))
			return;
		client_send(&c[i], text, n);
	}
	still_works(&server);
	check(wait_open(&server, 0), "connections remain");
	/* One timeout, and not one for each piece that a buffer takes. */
	check(now_ms() - start < 8000, "%ld ms", now_ms() - start);
	check(server_stat(&server, "timeouts") == before + (long)COUNT(c),
	      "%ld timeouts", server_stat(&server, "timeouts") - before);
	for (i = 0; i < COUNT(c); i++)
		client_close(&c[i]);
	still_works(&server);
}

static void test_resets(void)
{
	long broken = server_stat(&server, "io_errors");
	struct client c;
	char some[100];
	size_t i;

	for (i = 0; i < 200; i++) {
		if (!check(client_open(&c, server.port), "connect"))
			return;
		client_say(&c, "GET /big HTTP/1.1\r\n" H "\r\n");
		if (recv(c.fd, some, sizeof(some), MSG_WAITALL) !=
		    sizeof(some))
			check(false, "no response before the reset");
		client_reset(&c);
	}
	check(wait_open(&server, 0), "connections remain");
	check(server_stat(&server, "io_errors") - broken > 100,
	      "only %ld met the server in a response",
	      server_stat(&server, "io_errors") - broken);
	/* Before a word was said, and with requests unanswered. */
	for (i = 0; i < 500; i++) {
		if (!check(client_open(&c, server.port), "connect"))
			return;
		if (i & 1)
			client_say(&c, "GET / HTTP/1.1\r\n" H "\r\n"
				   "GET / HTTP/1.1\r\n" H "\r\n");
		client_reset(&c);
	}
	check(wait_open(&server, 0), "connections remain");
	still_works(&server);
}

static void test_half_close(void)
{
	struct response r;
	struct client c;

	/* A client that says it will send no more still gets its answers. */
	if (!check(client_open(&c, server.port), "connect"))
		return;
	client_say(&c, "GET /middle HTTP/1.1\r\n" H "\r\n"
		   "GET /f0 HTTP/1.1\r\n" H "\r\n");
	shutdown(c.fd, SHUT_WR);
	check(client_read(&c, &r, false, PATIENCE) == 200, "%d", r.status);
	check(client_read(&c, &r, false, PATIENCE) == 200, "%d", r.status);
	check(client_at_end(&c, PATIENCE), "not closed");
	client_close(&c);
}

void hostile_tests(void)
{
	run("malformed requests: refused, connection ended", test_bad);
	run("too large heads: 431 and 414", test_too_large);
	run("random bytes", test_garbage);
	run("100 pipelined requests, in order", test_pipeline);
	run("requests cut at every byte", test_split);
	run("half-sent heads", test_half_sent);
	run("slow senders: 408", test_slow);
	run("clients that do not read", test_slow_reader);
	run("resets in the middle of a response", test_resets);
	run("half-closed connections", test_half_close);
}
