// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* body.c - find the end of a request's body (RFC 9112, sections 6 and 7). */
#include "body.h"

enum state {
	LENGTH,		/* @left bytes, then the end */
	SIZE_FIRST,	/* the first digit of a chunk's size */
	SIZE,		/* the others */
	EXTENSION,	/* from ';' to the line's end */
	SIZE_LF,
	DATA,		/* @left bytes of a chunk */
	DATA_CR,
	DATA_LF,
	TRAILER,	/* at the beginning of a trailer line */
	TRAILER_LINE,
	TRAILER_LF,
	LAST_LF,
	DONE,
	BAD,
};

void http_body_start(struct http_body *body, const struct http_request *req,
		     uint64_t budget)
{
	body->state = req->chunked ? SIZE_FIRST : LENGTH;
	body->left = req->chunked ? 0 : req->content_length;
	body->budget = budget;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static int size_digit(struct http_body *body, char c)
{
	int digit = hex(c);

	if (digit < 0 || body->left >> 60)
		return BAD;
	body->left = body->left << 4 | digit;
	return SIZE;
}

static int after_size(struct http_body *body, char c)
{
	if (c == ';')
		return EXTENSION;
	if (c == '\r')
		return SIZE_LF;
	return size_digit(body, c);
}

/* Text up to a CR; a bare LF or another control character is refused. */
static int text(int state, int end, char c)
{
	if (c == '\r')
		return end;
	return (unsigned char)c < 0x20 && c != '\t' ? BAD : state;
}

/* The state behind one byte of framing. */
static int step(struct http_body *body, char c)
{
	switch (body->state) {
	case SIZE_FIRST:
		return size_digit(body, c);
	case SIZE:
		return after_size(body, c);
	case EXTENSION:
		return text(EXTENSION, SIZE_LF, c);
	case SIZE_LF:
		if (c != '\n')
			return BAD;
		return body->left ? DATA : TRAILER;
	case DATA_CR:
		return c == '\r' ? DATA_LF : BAD;
	case DATA_LF:
		return c == '\n' ? SIZE_FIRST : BAD;
	case TRAILER:
		return text(TRAILER_LINE, LAST_LF, c);
	case TRAILER_LINE:
		return text(TRAILER_LINE, TRAILER_LF, c);
	case TRAILER_LF:
		return c == '\n' ? TRAILER : BAD;
	case LAST_LF:
		return c == '\n' ? DONE : BAD;
	default:
		return BAD;
	}
}

static size_t skip_data(struct http_body *body, size_t len)
{
	size_t n = body->left < len ? body->left : len;

	body->left -= n;
	if (!body->left)
		body->state = body->state == LENGTH ? DONE : DATA_CR;
	return n;
}

enum http_body_result http_body_feed(struct http_body *body, const char *buf,
				     size_t len, size_t *used)
{
	size_t n;

	*used = 0;
	if (body->state == LENGTH && body->left > body->budget)
		return HTTP_BODY_BIG;
	if (body->state == LENGTH && !body->left)
		body->state = DONE;
	while (body->state != DONE && *used < len) {
		if (body->state == LENGTH || body->state == DATA) {
			n = skip_data(body, len - *used);
		} else {
			body->state = step(body, buf[*used]);
			n = 1;
		}
		if (body->state == BAD)
			return HTTP_BODY_BAD;
		*used += n;
		if (n > body->budget)
			return HTTP_BODY_BIG;
		body->budget -= n;
	}
	return body->state == DONE ? HTTP_BODY_DONE : HTTP_BODY_MORE;
}
