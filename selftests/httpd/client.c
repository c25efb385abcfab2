// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* client.c - a client that can misbehave. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

unsigned int sum_of(unsigned int sum, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len--)
		sum = (sum ^ *p++) * 16777619U + 1;
	return sum;
}

long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

int dial(int port, int from)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr_in local = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + from),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (from) {
		/* The port is chosen by the connect: 4 numbers name a pair. */
		setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one,
			   sizeof(one));
		if (bind(fd, (struct sockaddr *)&local, sizeof(local)))
			goto err_close;
	}
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
err_close:
	close(fd);
	return -1;
}

bool client_open(struct client *c, int port)
{
	c->fd = dial(port, 0);
	c->len = 0;
	return c->fd >= 0;
}

bool client_send(struct client *c, const void *data, size_t len)
{
	const char *at = data;
	ssize_t n;

	while (len) {
		n = send(c->fd, at, len, MSG_NOSIGNAL);
		if (n < 0)
			return false;
		at += n;
		len -= n;
	}
	return true;
}

bool client_say(struct client *c, const char *text)
{
	return client_send(c, text, strlen(text));
}

/* Read more behind what is there: bytes, or GOT_END, _RESET or _NOTHING. */
static int fill(struct client *c, int ms)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	ssize_t n;

	if (poll(&p, 1, ms) <= 0)
		return GOT_NOTHING;
	n = recv(c->fd, c->buf + c->len, sizeof(c->buf) - c->len, 0);
	if (n < 0)
		return GOT_RESET;
	c->len += n;
	return n ? n : GOT_END;
}

static void use(struct client *c, size_t n)
{
	c->len -= n;
	memmove(c->buf, c->buf + n, c->len);
}

static bool parse_head(struct response *r)
{
	const char *length = strcasestr(r->head, "\r\nContent-Length:");
	char end;

	if (sscanf(r->head, "HTTP/1.1 %3d%c", &r->status, &end) != 2 ||
	    end != ' ')
		return false;
	r->length = length ? strtol(length + 17, NULL, 10) : -1;
	r->keep = !strcasestr(r->head, "\r\nConnection: close");
	return true;
}

static int read_head(struct client *c, struct response *r, int ms)
{
	char *end;
	size_t n;
	int got;

	while (!(end = memmem(c->buf, c->len, "\r\n\r\n", 4))) {
		if (c->len == sizeof(c->buf))
			return GOT_RUBBISH;
		got = fill(c, ms);
		if (got < 0)
			return c->len ? GOT_PART : got;
	}
	n = end + 4 - c->buf;
	if (n >= sizeof(r->head))
		return GOT_RUBBISH;
	memcpy(r->head, c->buf, n);
	r->head[n] = '\0';
	use(c, n);
	return parse_head(r) ? 0 : GOT_RUBBISH;
}

static int read_body(struct client *c, struct response *r, int ms)
{
	size_t left = r->length > 0 ? r->length : 0, kept = 0, n, room;

	while (left) {
		if (!c->len && fill(c, ms) < 0)
			return GOT_PART;
		n = c->len < left ? c->len : left;
		r->sum = sum_of(r->sum, c->buf, n);
		room = sizeof(r->body) - 1 - kept;
		memcpy(r->body + kept, c->buf, n < room ? n : room);
		kept += n < room ? n : room;
		left -= n;
		use(c, n);
	}
	r->body[kept] = '\0';
	return 0;
}

int client_read(struct client *c, struct response *r, bool head, int ms)
{
	int failed;

	memset(r, 0, sizeof(*r));
	failed = read_head(c, r, ms);
	if (!failed && !head && r->status != 304)
		failed = read_body(c, r, ms);
	if (failed)
		r->status = failed;
	return r->status;
}

bool client_at_end(struct client *c, int ms)
{
	return !c->len && fill(c, ms) == GOT_END;
}

void client_close(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

void client_reset(struct client *c)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	client_close(c);
}

int ask(int port, const char *text, struct response *r)
{
	struct client c;

	memset(r, 0, sizeof(*r));
	r->status = GOT_NOTHING;
	if (!client_open(&c, port))
		return r->status;
	/* It may answer, and close, before it has read everything. */
	client_say(&c, text);
	client_read(&c, r, !strncmp(text, "HEAD ", 5), PATIENCE);
	client_close(&c);
	return r->status;
}

int get(int port, const char *target, struct response *r)
{
	char text[8192];

	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n",
		 target);
	return ask(port, text, r);
}
