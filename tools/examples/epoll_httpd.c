// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * epoll_httpd.c - the yardstick: one thread, one level-triggered epoll, one
 * file in memory, the same response bytes as httpd.  epoll_httpd PORT FILE
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct conn {
	int fd;
	size_t len;
	char buf[16384];
};

static char fields[256], *body, head[512];
static size_t body_len, head_len;

static const char *date(char out[32], time_t t)
{
	struct tm tm;

	strftime(out, 32, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&t, &tm));
	return out;
}

/* The head, made anew once a second. */
static void refresh_head(void)
{
	static time_t made;
	struct timespec now;
	char text[32];

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (now.tv_sec == made)
		return;
	made = now.tv_sec;
	head_len = snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\n"
			    "Server: roost\r\nDate: %s\r\n%s\r\n",
			    date(text, made), fields);
}

static void load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char text[32];

	if (fd < 0 || fstat(fd, &st) || !(body = malloc(st.st_size + 1)) ||
	    read(fd, body, st.st_size) != st.st_size) {
		perror(path);
		exit(1);
	}
	close(fd);
	body_len = st.st_size;
	snprintf(fields, sizeof(fields),
		 "Content-Type: text/html; charset=utf-8\r\n"
		 "Content-Length: %zu\r\nLast-Modified: %s\r\n",
		 body_len, date(text, st.st_mtime));
}

/* One GET that ends at @end: 0, or -1 if the connection is done with. */
static int answer(struct conn *c, const char *end)
{
	struct iovec iov[2] = { { head, head_len }, { body, body_len } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	if (end - c->buf < 16 || memcmp(c->buf, "GET ", 4))
		return -1;
	refresh_head();
	iov[0].iov_len = head_len;
	return sendmsg(c->fd, &msg, MSG_NOSIGNAL) ==
	       (ssize_t)(head_len + body_len) ? 0 : -1;
}

static int readable(struct conn *c)
{
	ssize_t n = read(c->fd, c->buf + c->len, sizeof(c->buf) - c->len);
	char *end;

	if (n <= 0)
		return n < 0 && errno == EAGAIN ? 0 : -1;
	c->len += n;
	while ((end = memmem(c->buf, c->len, "\r\n\r\n", 4))) {
		if (answer(c, end))
			return -1;
		c->len -= end + 4 - c->buf;
		memmove(c->buf, end + 4, c->len);
	}
	return c->len == sizeof(c->buf) ? -1 : 0;
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
	c->len = 0;
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
		fprintf(stderr, "usage: epoll_httpd PORT FILE (PORT: 0 to 65535)\n");
		return 2;
	}
	load(argv[2]);
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
