/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * path.h - from a request target to an open file, never outside the root.
 *
 * Two fences, each enough alone: http_path_decode() (pure) leaves no ".." in
 * the path, and path_open() lets the kernel resolve it beneath the root
 * folder, so that no symbolic link leads out either.
 */
#ifndef HTTPD_PATH_H
#define HTTPD_PATH_H

#include "request.h"

#define HTTP_MAX_PATH	HTTP_MAX_TARGET	/* decoded, its end included */

/**
 * http_path_decode() - the file that a target names
 * @path:	filled in: relative, without empty, "." and ".." parts; index.html
 *		is added behind a final slash
 * @target:	path and perhaps query, percent-encoded
 *
 * Decodes once.  A ".." takes back the part before it, as text; an encoded
 * slash is a slash.
 *
 * Return: 0; 400 if the encoding is wrong, decodes to a NUL, or the path
 * climbs above the root; 414 if it is too long.
 */
int http_path_decode(char path[HTTP_MAX_PATH], struct http_str target);

/**
 * http_path_encode() - a path as the value of a Location field
 * @out:	filled in: "/", @path and "/", terminated
 * @size:	bytes of @out
 * @path:	as http_path_decode() gave it
 *
 * Return: bytes before the end, or 0 if @out is too small.
 */
size_t http_path_encode(char *out, size_t size, const char *path);

/**
 * path_probe() - can the kernel resolve paths beneath a folder?
 * @root:	a folder
 */
bool path_probe(int root);

/**
 * path_open() - open what stands at a path, for reading
 * @root:	the folder that is never left
 * @path:	relative to it, from http_path_decode()
 * @beneath:	what path_probe() said; if false every part is opened by itself
 *		and symbolic links are refused
 *
 * Does not wait, neither for a FIFO's writer nor for a terminal.  What was
 * opened can be anything: the caller looks with fstat(2).
 *
 * Return: a file descriptor, or -errno.
 */
int path_open(int root, const char *path, bool beneath);

#endif /* HTTPD_PATH_H */
