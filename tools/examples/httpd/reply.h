/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* reply.h - the head of a response.  No I/O; calls may come from any thread. */
#ifndef HTTPD_REPLY_H
#define HTTPD_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define REPLY_MAX_HEAD	1024
#define REPLY_DATE_LEN	29	/* "Sun, 06 Nov 1994 08:49:37 GMT" */

/** reply_reason() - the reason phrase of a status, "Error" if it is unknown */
const char *reply_reason(int status);

/** reply_date() - @t as a date of HTTP; REPLY_DATE_LEN bytes, not terminated */
void reply_date(char *out, time_t t);

/**
 * reply_parse_date() - a date in one of the three forms of HTTP
 *
 * Return: true, and *@t is filled in; or false.
 */
bool reply_parse_date(const char *text, size_t len, time_t *t);

/**
 * reply_head() - write the head of a response
 * @out:	REPLY_MAX_HEAD bytes
 * @status:	its status
 * @minor:	the request's HTTP/1.@minor
 * @keep:	does the connection stay?
 * @fields:	more header lines, complete with their ends
 * @len:	bytes of @fields, at most REPLY_MAX_HEAD / 2
 *
 * Return: bytes written.
 */
size_t reply_head(char *out, int status, unsigned int minor, bool keep,
		  const char *fields, size_t len);

/**
 * reply_file_fields() - the header lines that describe a file
 * @out:	FILES_MAX_FIELDS bytes
 * @path:	its path, for its type
 * @size:	bytes
 * @mtime:	last change
 *
 * Return: bytes written.
 */
size_t reply_file_fields(char *out, const char *path, uint64_t size,
			 time_t mtime);

#endif /* HTTPD_REPLY_H */
