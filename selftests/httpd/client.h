/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* client.h - a client that can misbehave. */
#ifndef SELFTESTS_HTTPD_CLIENT_H
#define SELFTESTS_HTTPD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#define PATIENCE	20000	/* ms; virtual machines may be slow */
#define CLIENT_BUFFER	16384

/**
 * struct client - a connection to the server
 * @fd:		its socket, or -1
 * @len:	bytes received and not used yet
 * @buf:	these
 */
struct client {
	int fd;
	size_t len;
	char buf[CLIENT_BUFFER];
};

/* Why there is no response. */
enum {
	GOT_END = -1,		/* the server closed before its first byte */
	GOT_RESET = -2,		/* it broke the connection before that */
	GOT_NOTHING = -3,	/* it did not answer in time */
	GOT_PART = -4,		/* the response ends too early, however */
	GOT_RUBBISH = -5,	/* not HTTP */
};

/**
 * struct response - what the server said
 * @status:	of HTTP, or GOT_*
 * @keep:	the connection stays
 * @length:	Content-Length, -1 without one
 * @head:	status line and header lines, terminated
 * @body:	the beginning of the body, terminated
 * @sum:	checksum over the whole body, see sum_of()
 */
struct response {
	int status;
	bool keep;
	long length;
	char head[2048];
	char body[4096];
	unsigned int sum;
};

/** sum_of() - continue a checksum (start with 0) over @len bytes at @data */
unsigned int sum_of(unsigned int sum, const void *data, size_t len);

/** now_ms() - a steady clock */
long now_ms(void);

/** sleep_ms() - wait */
void sleep_ms(long ms);

/**
 * client_open() - connect to 127.0.0.1
 * @c:		filled in
 * @port:	of the server
 *
 * Return: whether that worked.
 */
bool client_open(struct client *c, int port);

/** dial() - only the socket, from 127.0.0.@from unless 0.  Return: fd or -1 */
int dial(int port, int from);

/** client_send() - send all of it.  Return: whether that worked */
bool client_send(struct client *c, const void *data, size_t len);

/** client_say() - send a text */
bool client_say(struct client *c, const char *text);

/**
 * client_read() - read one response
 * @c:		the connection
 * @r:		filled in
 * @head:	it answers a HEAD: no body follows
 * @ms:		patience for each piece
 *
 * Return: its status, or GOT_*.
 */
int client_read(struct client *c, struct response *r, bool head, int ms);

/** client_at_end() - does the server close within @ms, without saying more? */
bool client_at_end(struct client *c, int ms);

/** client_close() - close */
void client_close(struct client *c);

/** client_reset() - close so that the server gets a reset */
void client_reset(struct client *c);

/** ask() - connect, send @text, read one response, close.  Return: status */
int ask(int port, const char *text, struct response *r);

/** get() - ask() for a target, HTTP/1.1, keep-alive */
int get(int port, const char *target, struct response *r);

#endif /* SELFTESTS_HTTPD_CLIENT_H */
