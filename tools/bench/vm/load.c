// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* load.c - a closed loop of requests over many connections; see load.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "load.h"

#define BATCH		512

/**
 * struct load_conn - one connection
 * @fd:		the socket
 * @number:	its place, part of every message
 * @sent:	messages sent, all told
 * @received:	messages that came back
 * @have:	bytes of the next ones, in @in
 * @in:		what came back
 * @out:	what is about to be sent
 * @started:	when each message under way was sent, by its number
 */
struct load_conn {
	int fd;
	uint32_t number;
	uint64_t sent;
	uint64_t received;
	size_t have;
	char *in;
	char *out;
	uint64_t *started;
};

uint64_t load_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void *room(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		die("calloc");
	return p;
}

/* Messages: words that follow from connection, number and place. */

static uint64_t first_word(const struct load_conn *c, uint64_t number)
{
	return ((uint64_t)c->number << 48 ^ number) * 0x9e3779b97f4a7c15 + 1;
}

static void fill(char *message, unsigned int size, uint64_t word)
{
	unsigned int i;

	for (i = 0; i < size; i += sizeof(word), word += word << 7 | 1)
		memcpy(message + i, &word, sizeof(word));
}

static bool is_right(const char *message, unsigned int size, uint64_t word)
{
	uint64_t got, wrong = 0;
	unsigned int i;

	for (i = 0; i < size; i += sizeof(word), word += word << 7 | 1) {
		memcpy(&got, message + i, sizeof(got));
		wrong |= got ^ word;
	}
	return !wrong;
}

static void send_whole(struct load_conn *c, size_t len)
{
	ssize_t n = send(c->fd, c->out, len, MSG_NOSIGNAL);

	/* The buffers are to be larger than all that is ever under way. */
	if (n < 0 || (size_t)n < len)
		die("connection %u: sent %zd of %zu", c->number, n, len);
}

/* Send up to @n more, as far as there is something left to send. */
static void request(struct load *l, struct load_conn *c, uint64_t n, uint64_t now)
{
	uint64_t i;

	if (l->until)
		l->left = now < l->until ? n : 0;
	if (n > l->left)
		n = l->left;
	for (i = 0; i < n; i++, c->sent++) {
		fill(c->out + i * l->size, l->size, first_word(c, c->sent));
		c->started[c->sent % l->outstanding] = now;
	}
	l->left -= n;
	l->sent += n;
	if (n)
		send_whole(c, n * l->size);
}

/* Check the whole messages at the beginning of @in; returns how many. */
static uint64_t verify(struct load *l, struct load_conn *c, uint64_t now)
{
	uint64_t n = c->have / l->size, i;

	if (c->received + n > c->sent)
		die("connection %u: more came back than was sent", c->number);
	for (i = 0; i < n; i++, c->received++) {
		if (!is_right(c->in + i * l->size, l->size,
			      first_word(c, c->received)))
			die("connection %u: message %llu came back wrong",
			    c->number, (unsigned long long)c->received);
		latency_add(l->latency,
			    now - c->started[c->received % l->outstanding]);
	}
	c->have -= n * l->size;
	memmove(c->in, c->in + n * l->size, c->have);
	l->received += n;
	return n;
}

static void readable(struct load *l, struct load_conn *c)
{
	size_t space = (size_t)l->outstanding * l->size;
	ssize_t n = recv(c->fd, c->in + c->have, space - c->have, 0);
	uint64_t now;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0)
		die("connection %u: lost%s", c->number, n ? "" : " (closed)");
	c->have += n;
	now = load_now();
	request(l, c, verify(l, c, now), now);
}

static void connect_one(struct load *l, struct load_conn *c, uint32_t number)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = c };

	c->number = number;
	c->in = room(l->outstanding, l->size);
	c->out = room(l->outstanding, l->size);
	c->started = room(l->outstanding, sizeof(*c->started));
	c->fd = net_connect(l->address);
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &ev))
		die("epoll_ctl");
}

void load_open(struct load *l)
{
	unsigned int i;

	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0)
		die("epoll_create1");
	l->conns = room(l->connections, sizeof(*l->conns));
	for (i = 0; i < l->connections; i++)
		connect_one(l, &l->conns[i], i);
}

uint64_t load_run(struct load *l, uint64_t requests, uint64_t ns,
		  struct latency *latency)
{
	uint64_t now = load_now(), before = l->received;
	struct epoll_event ev[BATCH];
	unsigned int i;
	int n, k;

	l->latency = latency;
	l->left = requests;
	l->until = ns ? now + ns : 0;
	for (i = 0; i < l->connections; i++)
		request(l, &l->conns[i], l->outstanding, now);
	while (l->received < l->sent) {
		n = epoll_wait(l->epoll, ev, BATCH, l->patience_ms);
		if (n < 0)
			die("epoll_wait");
		errno = 0;
		if (!n)
			die("%llu messages did not come back",
			    (unsigned long long)(l->sent - l->received));
		for (k = 0; k < n; k++)
			readable(l, ev[k].data.ptr);
	}
	return l->received - before;
}

void load_close(struct load *l)
{
	unsigned int i;
	char byte;

	for (i = 0; i < l->connections; i++) {
		struct load_conn *c = &l->conns[i];

		if (c->have || recv(c->fd, &byte, 1, 0) >= 0 || errno != EAGAIN)
			die("connection %u: not quiet at the end", c->number);
		close(c->fd);
		free(c->in);
		free(c->out);
		free(c->started);
	}
	close(l->epoll);
	free(l->conns);
}
