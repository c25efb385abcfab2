// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* request.c - the head of an HTTP/1.x request (RFC 9110, RFC 9112). */
#include <string.h>

#include "request.h"

/* What has been seen of the fields that may come once, or must agree. */
struct fields {
	unsigned int count;
	unsigned int hosts;
	unsigned int codings;
	bool has_length;
	bool close;
	bool keep_alive;
};

static bool is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alnum(unsigned char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_token(unsigned char c)
{
	return is_alnum(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static unsigned char lower(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

/* Control characters that no part of a head may contain. */
static bool is_bad_control(unsigned char c)
{
	return (c < 0x20 && c != '\t') || c == 0x7f;
}

bool http_str_is(struct http_str s, const char *word)
{
	size_t i;

	for (i = 0; i < s.len; i++)
		if (!word[i] || lower(s.at[i]) != lower(word[i]))
			return false;
	return !word[i];
}

static struct http_str trim(struct http_str s)
{
	while (s.len && (s.at[0] == ' ' || s.at[0] == '\t')) {
		s.at++;
		s.len--;
	}
	while (s.len && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t'))
		s.len--;
	return s;
}

/* Cut @rest at the first @sep: what stands before it, or all of it. */
static struct http_str cut(struct http_str *rest, char sep)
{
	const char *at = rest->len ? memchr(rest->at, sep, rest->len) : NULL;
	struct http_str part = *rest;

	if (at) {
		part.len = at - rest->at;
		rest->at = at + 1;
		rest->len -= part.len + 1;
	} else {
		rest->at += rest->len;
		rest->len = 0;
	}
	return part;
}

static int parse_method(struct http_request *req, struct http_str name)
{
	static const char * const known[] = {
		"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT",
	};
	size_t i;

	if (!name.len)
		return 400;
	for (i = 0; i < name.len; i++)
		if (!is_token(name.at[i]))
			return 400;
	req->method = HTTP_UNKNOWN;
	/* Methods are case-sensitive. */
	if (name.len == 3 && !memcmp(name.at, "GET", 3))
		req->method = HTTP_GET;
	else if (name.len == 4 && !memcmp(name.at, "HEAD", 4))
		req->method = HTTP_HEAD;
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (name.len == strlen(known[i]) &&
		    !memcmp(name.at, known[i], name.len))
			req->method = HTTP_KNOWN;
	return 0;
}

static int parse_version(struct http_request *req, struct http_str v)
{
	if (v.len != 8 || memcmp(v.at, "HTTP/", 5) || v.at[6] != '.' ||
	    !is_digit(v.at[5]) || !is_digit(v.at[7]))
		return 400;
	if (v.at[5] != '1')
		return 505;
	req->minor = v.at[7] - '0';
	return 0;
}

/* An absolute URI is taken as the path in it: there is one host only. */
static int parse_target(struct http_request *req, struct http_str t)
{
	static const char scheme[] = "http://";
	struct http_str head = { t.at, sizeof(scheme) - 1 };
	size_t i;

	if (!t.len)
		return 400;
	if (t.len > HTTP_MAX_TARGET)
		return 414;
	for (i = 0; i < t.len; i++)
		if ((unsigned char)t.at[i] <= ' ' ||
		    (unsigned char)t.at[i] >= 0x7f || t.at[i] == '#')
			return 400;
	if (t.len > head.len && http_str_is(head, scheme)) {
		const char *slash;

		t.at += head.len;
		t.len -= head.len;
		slash = memchr(t.at, '/', t.len);
		if (!slash || slash == t.at)
			return 400;
		t.len -= slash - t.at;
		t.at = slash;
	}
	/* "*" and an authority belong to methods that get 405 anyway. */
	if (t.at[0] != '/' && req->method != HTTP_KNOWN &&
	    req->method != HTTP_UNKNOWN)
		return 400;
	req->target = t;
	return 0;
}

static int parse_request_line(struct http_request *req, struct http_str line)
{
	struct http_str method, target;
	int status;

	if (line.len && !memchr(line.at, ' ', line.len))
		return 400;
	method = cut(&line, ' ');
	target = cut(&line, ' ');
	status = parse_method(req, method);
	if (!status)
		status = parse_version(req, line);
	if (!status)
		status = parse_target(req, target);
	return status;
}

static int parse_length(struct http_request *req, struct fields *f,
			struct http_str value)
{
	uint64_t n = 0;
	size_t i;

	if (!value.len)
		return 400;
	for (i = 0; i < value.len; i++) {
		unsigned int digit = (unsigned char)value.at[i] - '0';

		if (digit > 9)
			return 400;
		if (n > (UINT64_MAX - digit) / 10)
			n = UINT64_MAX;
		else
			n = n * 10 + digit;
	}
	if (f->has_length && n != req->content_length)
		return 400;
	f->has_length = true;
	req->content_length = n;
	return 0;
}

static int parse_coding(struct http_request *req, struct fields *f,
			struct http_str value)
{
	/* One coding, in one line; what else is correct is not supported. */
	if (f->codings++ || !value.len)
		return 400;
	if (!http_str_is(value, "chunked"))
		return 501;
	req->chunked = true;
	return 0;
}

static int parse_host(struct fields *f, struct http_str value)
{
	size_t i;

	if (f->hosts++)
		return 400;
	for (i = 0; i < value.len; i++)
		if (!is_alnum(value.at[i]) && !strchr("-._~%!$&'()*+,;=:[]",
						      value.at[i]))
			return 400;
	return 0;
}

static void parse_connection(struct fields *f, struct http_str value)
{
	while (value.len) {
		struct http_str option = trim(cut(&value, ','));

		if (http_str_is(option, "close"))
			f->close = true;
		else if (http_str_is(option, "keep-alive"))
			f->keep_alive = true;
	}
}

static int parse_field(struct http_request *req, struct fields *f,
		       struct http_str line)
{
	struct http_str name;
	size_t i;

	if (++f->count > HTTP_MAX_FIELDS)
		return 431;
	if (!memchr(line.at, ':', line.len))
		return 400;
	name = cut(&line, ':');
	/* Also refuses a folded line and a blank before the colon. */
	if (!name.len)
		return 400;
	for (i = 0; i < name.len; i++)
		if (!is_token(name.at[i]))
			return 400;
	for (i = 0; i < line.len; i++)
		if (is_bad_control(line.at[i]))
			return 400;
	line = trim(line);
	if (http_str_is(name, "Content-Length"))
		return parse_length(req, f, line);
	if (http_str_is(name, "Transfer-Encoding"))
		return parse_coding(req, f, line);
	if (http_str_is(name, "Host"))
		return parse_host(f, line);
	if (http_str_is(name, "Connection"))
		parse_connection(f, line);
	else if (http_str_is(name, "If-Modified-Since"))
		req->since = line;
	else if (http_str_is(name, "Expect")) {
		if (!http_str_is(line, "100-continue"))
			return 417;
		req->expect = true;
	}
	return 0;
}

/* What one field alone cannot tell. */
static int check_fields(struct http_request *req, const struct fields *f)
{
	if (req->minor >= 1 && f->hosts != 1)
		return 400;
	/* The two ways to give a length, together, are an attack. */
	if (req->chunked && (f->has_length || req->minor == 0))
		return 400;
	if (req->minor == 0)
		req->expect = false;
	req->keep_alive = !f->close && (req->minor >= 1 || f->keep_alive);
	return 0;
}

/*
 * The next line of the head, without its end.  *@at is moved behind it.
 * Return: 1; 0 if its end has not come; or a status.
 */
static int next_line(const char *buf, size_t len, size_t *at, size_t from,
		     struct http_str *line)
{
	const char *end = from < len ? memchr(buf + from, '\n', len - from)
				     : NULL;

	if (!end)
		return 0;
	if (end == buf + *at || end[-1] != '\r')
		return 400;
	line->at = buf + *at;
	line->len = end - 1 - line->at;
	if (memchr(line->at, '\r', line->len))
		return 400;
	*at = end + 1 - buf;
	return 1;
}

/* Refuse early what is no HTTP at all, instead of waiting for its line's end */
static bool has_bad_control(const char *buf, size_t from, size_t to)
{
	for (; from < to; from++)
		if (is_bad_control(buf[from]) && buf[from] != '\r' &&
		    buf[from] != '\n')
			return true;
	return false;
}

/* Where the head ends: its length, 0 if that has not come; or -status. */
static long find_end(const char *buf, size_t len, size_t *scanned)
{
	size_t limit = len < HTTP_MAX_HEAD ? len : HTTP_MAX_HEAD;
	size_t from = *scanned, at;

	for (at = from; at < limit; at++) {
		if (buf[at] != '\n' || at < 1)
			continue;
		/* Blank lines before a request are skipped by the caller. */
		if (at >= 3 && !memcmp(buf + at - 3, "\r\n\r\n", 4))
			return at + 1;
		if (buf[at - 1] == '\n')
			return -400;
	}
	if (has_bad_control(buf, from, limit))
		return -400;
	*scanned = limit;
	if (limit < HTTP_MAX_HEAD)
		return 0;
	return memchr(buf, '\n', limit) ? -431 : -414;
}

/* Blank lines that some clients send behind a body: not part of the head. */
static size_t skip_blank(const char *buf, size_t len)
{
	size_t at = 0;

	while (len - at >= 2 && buf[at] == '\r' && buf[at + 1] == '\n')
		at += 2;
	return at;
}

static int parse_head(struct http_request *req, const char *buf, size_t len)
{
	struct fields f = { 0 };
	struct http_str line;
	size_t at = 0;
	int status;

	status = next_line(buf, len, &at, at, &line);
	if (status != 1)
		return 400;
	status = parse_request_line(req, line);
	if (status)
		return status;
	for (;;) {
		if (next_line(buf, len, &at, at, &line) != 1)
			return 400;
		if (!line.len)
			break;
		status = parse_field(req, &f, line);
		if (status)
			return status;
	}
	if (at != len)
		return 400;
	status = check_fields(req, &f);
	return status ? status : HTTP_COMPLETE;
}

int http_request_parse(struct http_request *req, const char *buf, size_t len,
		       size_t *scanned)
{
	size_t blank = skip_blank(buf, len);
	size_t done = *scanned > blank ? *scanned - blank : 0;
	long end;
	int status;

	if (blank >= HTTP_MAX_HEAD)
		return 431;
	end = find_end(buf + blank, len - blank, &done);
	*scanned = blank + done;
	if (end < 0)
		return -end;
	if (!end)
		return HTTP_INCOMPLETE;
	*req = (struct http_request){ 0 };
	status = parse_head(req, buf + blank, end);
	req->head_len = blank + end;
	return status;
}
