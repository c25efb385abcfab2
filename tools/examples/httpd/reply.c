// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* reply.c - the head of a response (RFC 9110, RFC 9112). */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "files.h"
#include "reply.h"

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{ 200, "OK" },
	{ 301, "Moved Permanently" },
	{ 304, "Not Modified" },
	{ 400, "Bad Request" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 408, "Request Timeout" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 417, "Expectation Failed" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 503, "Service Unavailable" },
	{ 505, "HTTP Version Not Supported" },
};

const char *reply_reason(int status)
{
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Error";
}

static void two_digits(char *out, int n)
{
	out[0] = '0' + n / 10 % 10;
	out[1] = '0' + n % 10;
}

void reply_date(char *out, time_t t)
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct tm tm;

	/* Outside of the years that four digits can say, say the epoch. */
	if (!gmtime_r(&t, &tm) || tm.tm_year < -1900 || tm.tm_year > 8099) {
		t = 0;
		gmtime_r(&t, &tm);
	}
	memcpy(out, "???, ?? ??? ???? ??:??:?? GMT", REPLY_DATE_LEN);
	memcpy(out, days + 3 * tm.tm_wday, 3);
	two_digits(out + 5, tm.tm_mday);
	memcpy(out + 8, months + 3 * tm.tm_mon, 3);
	two_digits(out + 12, (tm.tm_year + 1900) / 100);
	two_digits(out + 14, (tm.tm_year + 1900) % 100);
	two_digits(out + 17, tm.tm_hour);
	two_digits(out + 20, tm.tm_min);
	two_digits(out + 23, tm.tm_sec);
}

bool reply_parse_date(const char *text, size_t len, time_t *t)
{
	static const char * const forms[] = {
		"%a, %d %b %Y %H:%M:%S GMT",
		"%A, %d-%b-%y %H:%M:%S GMT",
		"%a %b %d %H:%M:%S %Y",
	};
	char copy[64];
	size_t i;

	if (!len || len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm tm = { 0 };
		const char *end = strptime(copy, forms[i], &tm);

		if (!end || *end)
			continue;
		*t = timegm(&tm);
		return true;
	}
	return false;
}

/*
 * The Date line of the current second, made once for all threads.
 *
 * A sequence lock: odd while a thread writes.  The text lies in atomic words,
 * so that a reader that meets the writer reads rubbish, not undefined; it then
 * makes its own.  No reader waits.
 */
#define DATE_WORDS	4	/* REPLY_DATE_LEN in words of 8 bytes, rounded up */

static struct {
	atomic_uint seq;
	_Atomic int64_t second;
	_Atomic uint64_t word[DATE_WORDS];
} date_cache;

static bool cached_date(char *out, time_t now)
{
	uint64_t word[DATE_WORDS];
	unsigned int seq;
	int64_t second;
	int i;

	/* acquire: pairs with the release that ends publish_date(). */
	seq = atomic_load_explicit(&date_cache.seq, memory_order_acquire);
	second = atomic_load_explicit(&date_cache.second, memory_order_acquire);
	/*
	 * acquire: pairs with the release stores of publish_date(): who has
	 * read a new word reads the new sequence below.
	 */
	for (i = 0; i < DATE_WORDS; i++)
		word[i] = atomic_load_explicit(&date_cache.word[i],
					       memory_order_acquire);
	if ((seq & 1) || second != now ||
	    seq != atomic_load_explicit(&date_cache.seq, memory_order_relaxed))
		return false;
	memcpy(out, word, REPLY_DATE_LEN);
	return true;
}

static void publish_date(const char *date, time_t now)
{
	unsigned int seq = atomic_load_explicit(&date_cache.seq,
						memory_order_relaxed);
	uint64_t word[DATE_WORDS] = { 0 };
	int i;

	memcpy(word, date, REPLY_DATE_LEN);
	/* Odd already, or lost: somebody else is publishing. */
	if ((seq & 1) ||
	    !atomic_compare_exchange_strong_explicit(&date_cache.seq, &seq,
						     seq + 1,
						     memory_order_relaxed,
						     memory_order_relaxed))
		return;
	/* release: the odd sequence before the words; see cached_date(). */
	atomic_store_explicit(&date_cache.second, now, memory_order_release);
	for (i = 0; i < DATE_WORDS; i++)
		atomic_store_explicit(&date_cache.word[i], word[i],
				      memory_order_release);
	/* release: the words before the even sequence. */
	atomic_store_explicit(&date_cache.seq, seq + 2, memory_order_release);
}

static void current_date(char *out)
{
	struct timespec now;

	/* The coarse clock is read without a system call on any clock source */
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (cached_date(out, now.tv_sec))
		return;
	reply_date(out, now.tv_sec);
	publish_date(out, now.tv_sec);
}

static char *put(char *out, const char *text, size_t len)
{
	memcpy(out, text, len);
	return out + len;
}

#define put_text(out, text)	put(out, text, sizeof(text) - 1)

size_t reply_head(char *out, int status, unsigned int minor, bool keep,
		  const char *fields, size_t len)
{
	const char *reason = reply_reason(status);
	char *at = out;

	at = put_text(at, "HTTP/1.1 ");
	*at++ = '0' + status / 100 % 10;
	two_digits(at, status % 100);
	at += 2;
	*at++ = ' ';
	at = put(at, reason, strlen(reason));
	at = put_text(at, "\r\nServer: roost\r\nDate: ");
	current_date(at);
	at += REPLY_DATE_LEN;
	at = put_text(at, "\r\n");
	if (!keep)
		at = put_text(at, "Connection: close\r\n");
	else if (minor == 0)
		at = put_text(at, "Connection: keep-alive\r\n");
	at = put(at, fields, len);
	at = put_text(at, "\r\n");
	return at - out;
}

static const char *type_of(const char *path)
{
	static const struct {
		const char *suffix, *type;
	} types[] = {
		{ "html", "text/html; charset=utf-8" },
		{ "htm", "text/html; charset=utf-8" },
		{ "txt", "text/plain; charset=utf-8" },
		{ "css", "text/css" },
		{ "js", "text/javascript" },
		{ "json", "application/json" },
		{ "xml", "application/xml" },
		{ "svg", "image/svg+xml" },
		{ "png", "image/png" },
		{ "jpg", "image/jpeg" },
		{ "jpeg", "image/jpeg" },
		{ "gif", "image/gif" },
		{ "ico", "image/x-icon" },
		{ "pdf", "application/pdf" },
		{ "wasm", "application/wasm" },
		{ "woff2", "font/woff2" },
	};
	const char *name = strrchr(path, '/');
	const char *dot = strrchr(name ? name : path, '.');
	size_t i;

	for (i = 0; dot && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcasecmp(dot + 1, types[i].suffix))
			return types[i].type;
	return "application/octet-stream";
}

size_t reply_file_fields(char *out, const char *path, uint64_t size,
			 time_t mtime)
{
	char date[REPLY_DATE_LEN];

	reply_date(date, mtime);
	return snprintf(out, FILES_MAX_FIELDS,
			"Content-Type: %s\r\nContent-Length: %llu\r\n"
			"Last-Modified: %.*s\r\n",
			type_of(path), (unsigned long long)size,
			REPLY_DATE_LEN, date);
}
