/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * body.h - find the end of a request's body, to throw the body away.
 *
 * Pure, as request.h.  A server that takes no bodies must still know where
 * they end: the next request stands behind them.
 */
#ifndef HTTPD_BODY_H
#define HTTPD_BODY_H

#include "request.h"

/**
 * struct http_body - a body on its way
 * @state:	private
 * @left:	private: bytes to come of the body or of the chunk
 * @budget:	bytes that may still be thrown away
 */
struct http_body {
	int state;
	uint64_t left;
	uint64_t budget;
};

enum http_body_result {
	HTTP_BODY_MORE,		/* all was taken, and there is more to come */
	HTTP_BODY_DONE,
	HTTP_BODY_BAD,		/* no correct chunk: the end cannot be known */
	HTTP_BODY_BIG,		/* more than the budget */
};

/**
 * http_body_start() - expect the body that @req announces
 * @body:	filled in
 * @req:	the head
 * @budget:	most bytes to throw away, framing included
 */
void http_body_start(struct http_body *body, const struct http_request *req,
		     uint64_t budget);

/**
 * http_body_feed() - throw away what belongs to the body
 * @body:	the body
 * @buf:	bytes received behind the head or behind the last feed
 * @len:	how many
 * @used:	out: how many belonged to the body
 */
enum http_body_result http_body_feed(struct http_body *body, const char *buf,
				     size_t len, size_t *used);

#endif /* HTTPD_BODY_H */
