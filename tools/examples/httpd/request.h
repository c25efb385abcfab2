/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * request.h - the head of an HTTP/1.x request.
 *
 * Pure: no I/O, no allocation, no state but what the caller holds.  What is
 * ambiguous is refused, not repaired: two readers of one byte stream that
 * repair it differently disagree about where a request ends.
 */
#ifndef HTTPD_REQUEST_H
#define HTTPD_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_MAX_HEAD	8192	/* bytes of a head, its empty line included */
#define HTTP_MAX_TARGET	4096	/* bytes of a request target */
#define HTTP_MAX_FIELDS	100	/* header lines */

/* Bytes of the head that stand somewhere else; not terminated. */
struct http_str {
	const char *at;
	size_t len;
};

enum http_method {
	HTTP_GET,
	HTTP_HEAD,
	HTTP_KNOWN,	/* one that is registered but not served here: 405 */
	HTTP_UNKNOWN,	/* any other token: 501 */
};

/**
 * struct http_request - a parsed head
 * @method:	what is asked for
 * @target:	path and query; of an absolute URI, that part of it
 * @since:	value of If-Modified-Since, @len 0 without one
 * @content_length: body bytes that follow, saturating at UINT64_MAX
 * @head_len:	bytes of the head in the buffer
 * @minor:	HTTP/1.@minor
 * @keep_alive:	the client wants the connection to stay
 * @chunked:	a chunked body follows
 * @expect:	the client waits for 100 (Continue) before it sends the body
 *
 * Strings point into the buffer that was parsed.
 */
struct http_request {
	enum http_method method;
	struct http_str target;
	struct http_str since;
	uint64_t content_length;
	size_t head_len;
	unsigned int minor;
	bool keep_alive;
	bool chunked;
	bool expect;
};

#define HTTP_INCOMPLETE	0
#define HTTP_COMPLETE	1

/**
 * http_request_parse() - parse a head, once it is whole
 * @req:	filled in when it is
 * @buf:	what has been received of it
 * @len:	bytes of that
 * @scanned:	0 for a new head; then handed in as it was left, with more bytes
 *		behind the same ones
 *
 * Return: HTTP_INCOMPLETE, HTTP_COMPLETE, or the status that refuses it (400,
 * 414, 417, 431, 501, 505); where the next request begins is unknown then.
 */
int http_request_parse(struct http_request *req, const char *buf, size_t len,
		       size_t *scanned);

/**
 * http_str_is() - does @s equal @word, but for the case of letters?
 */
bool http_str_is(struct http_str s, const char *word);

#endif /* HTTPD_REQUEST_H */
