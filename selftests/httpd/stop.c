// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* stop.c - the server is asked to end. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests.h"

#define H	"Host: x\r\n"

static void test_idle(void)
{
	struct client c[50];
	struct response r;
	struct server s;
	long start;
	size_t i;

	server_start(&s, 0, "--grace 15 --workers 2");
	for (i = 0; i < COUNT(c); i++) {
		client_open(&c[i], s.port);
		if (!(i & 1))
			continue;
		client_say(&c[i], "GET / HTTP/1.1\r\n" H "\r\n");
		check(client_read(&c[i], &r, false, PATIENCE) == 200, "%d",
		      r.status);
	}
	wait_open(&s, COUNT(c));
	start = now_ms();
	check(server_stop(&s, SIGTERM, PATIENCE) == 0, "exit code");
	check(now_ms() - start < 10000, "waited for idle connections: %ld ms",
	      now_ms() - start);
	for (i = 0; i < COUNT(c); i++) {
		check(client_at_end(&c[i], PATIENCE), "%zu: reset", i);
		client_close(&c[i]);
	}
}

static struct load {
	struct server *s;
	atomic_int started, answers, parts;
} load;

/* Ask for what takes several writes until the server is gone. */
static void *ask_on(void *arg)
{
	struct client *c = malloc(sizeof(*c));
	struct response r;

	(void)arg;
	load.started++;
	while (client_open(c, load.s->port)) {
		do {
			client_say(c, "GET /middle HTTP/1.1\r\n" H "\r\n");
			client_read(c, &r, false, PATIENCE);
			/* Once it has begun it must arrive whole. */
			if (r.status == 200)
				load.answers++;
			else if (r.status == GOT_PART ||
				 r.status == GOT_NOTHING)
				load.parts++;
		} while (r.status == 200 && r.keep);
		client_close(c);
	}
	free(c);
	return NULL;
}

static void test_load(void)
{
	pthread_t thread[16];
	struct server s;
	size_t i;
	int code;

	server_start(&s, 0, "--grace 15 --workers 2");
	load = (struct load) { .s = &s };
	for (i = 0; i < COUNT(thread); i++)
		pthread_create(&thread[i], NULL, ask_on, NULL);
	while (load.answers < 200)
		sleep_ms(10);
	code = server_stop(&s, SIGTERM, PATIENCE);
	check(code == 0, "exit code %d", code);
	for (i = 0; i < COUNT(thread); i++)
		pthread_join(thread[i], NULL);
	check(load.parts == 0, "%d responses were cut off", load.parts);
	check(server_stat_at_end("requests") >= load.answers,
	      "%ld counted, %d answered", server_stat_at_end("requests"),
	      load.answers);
	check(server_stat_at_end("open") == 0, "%ld open",
	      server_stat_at_end("open"));
}

static void test_stuck(void)
{
	struct client c[3];
	struct server s;
	long start;
	size_t i, k;

	server_start(&s, 0, "--grace 0.5 --request-timeout 100");
	/* One does not read, one does not send on, one sits in a body. */
	for (i = 0; i < COUNT(c); i++)
		client_open(&c[i], s.port);
	for (k = 0; k < 16; k++)
		client_say(&c[0], "GET /big HTTP/1.1\r\n" H "\r\n");
	client_say(&c[1], "GET / HT");
	client_say(&c[2], "POST / HTTP/1.1\r\n" H "Content-Length: 9\r\n\r\n");
	wait_open(&s, COUNT(c));
	start = now_ms();
	check(server_stop(&s, SIGTERM, PATIENCE) == 0, "exit code");
	check(now_ms() - start >= 450, "no grace: %ld ms", now_ms() - start);
	for (i = 0; i < COUNT(c); i++)
		client_close(&c[i]);
}

static void test_signals(void)
{
	struct server s;

	server_start(&s, 0, "");
	still_works(&s);
	check(server_stop(&s, SIGINT, PATIENCE) == 0, "SIGINT");
	check(server_stat_at_end("requests") == 1, "%ld requests",
	      server_stat_at_end("requests"));
}

void stop_tests(void)
{
	run("SIGTERM with idle connections", test_idle);
	run("SIGTERM under load: no response is cut off", test_load);
	run("SIGTERM with stuck clients", test_stuck);
	run("SIGINT at once", test_signals);
}
