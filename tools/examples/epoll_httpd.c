// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * epoll_httpd.c - the yardstick: one thread, one level-triggered epoll, and of httpd all
 * that is HTTP: its parser, its paths, its files and its replies. What differs is how
 * one waits, and who goes on.  epoll_httpd PORT ROOT
 *
 * Whoever asks for anything but a file that is there is cut off.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "httpd/files.h"
#include "httpd/path.h"
#include "httpd/reply.h"
#include "httpd/request.h"

#define CACHE	(16U * 1024 * 1024)	/* bytes of files */

struct conn {
	int fd;
	size_t start, end;	/* what is received and not used: buf[start..end) */
	size_t scanned;		/* of that, what the parser has looked at */
	char buf[2 * HTTP_MAX_HEAD];
};

static struct files *files;

/* Head and body in one call: 0, or -1 if the connection is done with. */
static int send_file(struct conn *c, const struct http_request *req, struct file *file)
{
	char head[REPLY_MAX_HEAD];
	size_t len = reply_head(head, 200, req->minor, req->keep_alive, file->fields,
				file->fields_len);
	struct iovec iov[2] = { { head, len }, { file->body, file->size } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	if (!file->body)
		return -1;
	return sendmsg(c->fd, &msg, MSG_NOSIGNAL) == (ssize_t)(len + file->size) &&
	       req->keep_alive ? 0 : -1;
}

static int answer(struct conn *c, const struct http_request *req)
{
	char path[HTTP_MAX_PATH];
	struct timespec now;
	struct file *file;
	int result;

	if (req->method != HTTP_GET || req->chunked || req->content_length ||
	    http_path_decode(path, req->target))
		return -1;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (files_get(files, path, now.tv_sec, &file))
		return -1;
	result = send_file(c, req, file);
	files_put(file);
	return result;
}

/* All that is whole is answered: 0, or -1 if the connection is done with. */
static int answer_all(struct conn *c)
{
	struct http_request req;
	int status;

	while (c->start < c->end) {
		status = http_request_parse(&req, c->buf + c->start, c->end - c->start,
					    &c->scanned);
		if (status == HTTP_INCOMPLETE)
			return 0;
		if (status != HTTP_COMPLETE || answer(c, &req))
			return -1;
		c->start += req.head_len;
		c->scanned = 0;
	}
	return 0;
}

static int readable(struct conn *c)
{
	ssize_t n;

	if (c->start) {
		memmove(c->buf, c->buf + c->start, c->end - c->start);
		c->end -= c->start;
		c->start = 0;
	}
	n = read(c->fd, c->buf + c->end, sizeof(c->buf) - c->end);
	if (n <= 0)
		return n < 0 && errno == EAGAIN ? 0 : -1;
	c->end += n;
	return answer_all(c);
}

static void accept_one(int ep, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct conn *c = fd < 0 ? NULL : malloc(sizeof(*c));
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = c };

	if (!c || epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev)) {
		free(c);
		if (fd >= 0)
			close(fd);
		return;
	}
	c->fd = fd;
	c->start = 0;
	c->end = 0;
	c->scanned = 0;
}

/* A port number, or a negative number. */
static int port_of(const char *text)
{
	char *end;
	long port = strtol(text, &end, 10);

	return *text && !*end && port >= 0 && port <= 65535 ? (int)port : -1;
}

int main(int argc, char **argv)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	int ep = epoll_create1(EPOLL_CLOEXEC), one = 1, i, n;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct epoll_event ev[256] = { { .events = EPOLLIN } };

	if (argc != 3 || port_of(argv[1]) < 0) {
		fprintf(stderr, "usage: epoll_httpd PORT ROOT (PORT: 0 to 65535)\n");
		return 2;
	}
	files = files_open_root(argv[2], CACHE, false);
	if (!files) {
		perror(argv[2]);
		return 1;
	}
	sa.sin_port = htons(port_of(argv[1]));
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (bind(fd, (void *)&sa, sizeof(sa)) || listen(fd, 4096) ||
	    epoll_ctl(ep, EPOLL_CTL_ADD, fd, ev)) {
		perror("epoll_httpd");
		return 1;
	}
	printf("listening on 127.0.0.1:%s\n", argv[1]);
	fflush(stdout);
	while ((n = epoll_wait(ep, ev, 256, -1)) >= 0 || errno == EINTR) {
		for (i = 0; i < n; i++) {
			struct conn *c = ev[i].data.ptr;

			if (!c) {
				accept_one(ep, fd);
			} else if (readable(c)) {
				close(c->fd);
				free(c);
			}
		}
	}
	perror("epoll_wait");
	return 1;
}
