// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* path.c - from a request target to an open file, never outside the root. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "path.h"

#define OPEN_FLAGS	(O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
#define OPEN_TRIES	8	/* against renames elsewhere in the tree */

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

/* The byte at @i of @t, decoded; *@i moves behind it.  -1: wrong. */
static int decode_byte(struct http_str t, size_t *i)
{
	int high, low;

	if (t.at[*i] != '%')
		return (unsigned char)t.at[(*i)++];
	if (t.len - *i < 3)
		return -1;
	high = hex(t.at[*i + 1]);
	low = hex(t.at[*i + 2]);
	*i += 3;
	/* A NUL would end the path early for the kernel. */
	return high < 0 || low < 0 || !(high | low) ? -1 : high << 4 | low;
}

/* The part that ends at @end is whole: drop it if it is empty or dots. */
static int close_part(char *path, size_t *end)
{
	size_t start = *end;

	while (start && path[start - 1] != '/')
		start--;
	if (*end - start == 1 && path[start] == '.')
		*end = start;
	if (*end - start == 2 && path[start] == '.' && path[start + 1] == '.') {
		if (!start)
			return -1;
		do
			start--;
		while (start && path[start - 1] != '/');
		*end = start;
	}
	return 0;
}

int http_path_decode(char path[HTTP_MAX_PATH], struct http_str target)
{
	static const char index[] = "index.html";
	size_t end = 0, i = 0;
	int c;

	while (i < target.len && target.at[i] != '?') {
		c = decode_byte(target, &i);
		if (c < 0)
			return 400;
		if (c == '/') {
			if (close_part(path, &end))
				return 400;
			if (!end || path[end - 1] == '/')
				continue;
		}
		if (end >= HTTP_MAX_PATH - sizeof(index))
			return 414;
		path[end++] = c;
	}
	if (close_part(path, &end))
		return 400;
	if (!end || path[end - 1] == '/') {
		memcpy(path + end, index, sizeof(index) - 1);
		end += sizeof(index) - 1;
	}
	path[end] = '\0';
	return 0;
}

static bool is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("-._~/", c));
}

size_t http_path_encode(char *out, size_t size, const char *path)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t n = 0;

	if (size < 3)
		return 0;
	out[n++] = '/';
	for (; *path; path++) {
		unsigned char c = *path;

		if (n + 5 > size)
			return 0;
		if (is_plain(c)) {
			out[n++] = c;
		} else {
			out[n++] = '%';
			out[n++] = digits[c >> 4];
			out[n++] = digits[c & 15];
		}
	}
	out[n++] = '/';
	out[n] = '\0';
	return n;
}

static int open_beneath(int root, const char *path, unsigned int flags)
{
	struct open_how how = {
		.flags = flags,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

bool path_probe(int root)
{
	int fd = open_beneath(root, ".", O_PATH | O_CLOEXEC);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* Part by part, links refused: what a kernel without openat2 allows. */
static int open_walk(int root, const char *path)
{
	char part[HTTP_MAX_PATH];
	int at = root, fd;
	size_t n;

	for (;;) {
		n = strcspn(path, "/");
		memcpy(part, path, n);
		part[n] = '\0';
		if (!path[n])
			fd = openat(at, part, OPEN_FLAGS | O_NOFOLLOW);
		else
			fd = openat(at, part, O_PATH | O_DIRECTORY |
				    O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
		if (at != root)
			close(at);
		if (fd < 0 || !path[n])
			return fd;
		path += n + 1;
		at = fd;
	}
}

int path_open(int root, const char *path, bool beneath)
{
	int fd, tries;

	if (!beneath)
		return open_walk(root, path);
	/* EAGAIN: something was renamed meanwhile and "beneath" is unsure. */
	for (tries = 0; tries < OPEN_TRIES; tries++) {
		fd = open_beneath(root, path, OPEN_FLAGS);
		if (fd != -EAGAIN && fd != -EINTR)
			return fd;
	}
	return -ENOENT;
}
