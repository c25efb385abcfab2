// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * conn.c - one connection: read a request, answer it, again.
 *
 * The code reads as if it blocked; only its actor does.  In the steady state a
 * request costs one step: head and body of a small file leave together, in the
 * call that then waits for the next request.  All that was received is used
 * before more is asked for, and before it is, answers are sent at once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "body.h"
#include "conn.h"
#include "path.h"
#include "reply.h"
#include "request.h"

#define BUFFER		(2 * HTTP_MAX_HEAD)
#define REPLY		4096U		/* that may wait to be sent */
#define PIECE		65536U		/* of a big file, per write */
#define LINGER		ROOST_MSEC(500)	/* for the client to read the end */
#define CLOCK_ERROR	ROOST_MSEC(20)	/* of the coarse clock, amply */
#define LINGER_BYTES	(1024U * 1024)
#define MAX_REFUSING	64U
#define MAX_SINCE	64	/* no date is as long */

/**
 * struct conn - a connection
 * @next, @prev: in the server's list, under its lock
 * @server:	the server
 * @pid:	its actor
 * @fd:		its socket, open as long as it is in the list
 * @idle:	it waits for the first byte of a request
 * @start, @end: what is received and not used: buf[start..end)
 * @scanned:	of that, what the parser has looked at
 * @buf:	the receive buffer
 * @reply_len:	bytes of @reply that are to be sent before more is received
 * @reply:	head of the answer, and its body if there is room
 */
struct conn {
	struct conn *next, **prev;
	struct server *server;
	roost_pid pid;
	int fd;
	atomic_bool idle;
	size_t start, end;
	size_t scanned;
	char buf[BUFFER];
	size_t reply_len;
	char reply[REPLY];
};

/* What becomes of the connection after a request. */
enum verdict {
	KEEP,		/* another request may follow */
	FINISH,		/* close, once the client has read what was sent */
	BROKEN,		/* close now */
};

/*
 * Deadlines here are seconds away: the coarse clock is good enough, and is
 * read without a system call whatever the clock source.
 */
static uint64_t coarse_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static void conn_add(struct conn *c)
{
	struct server *s = c->server;

	pthread_mutex_lock(&s->lock);
	c->pid = roost_self();
	c->next = s->conns;
	c->prev = &s->conns;
	if (c->next)
		c->next->prev = &c->next;
	s->conns = c;
	pthread_mutex_unlock(&s->lock);
}

static void conn_remove(struct conn *c)
{
	struct server *s = c->server;

	pthread_mutex_lock(&s->lock);
	*c->prev = c->next;
	if (c->next)
		c->next->prev = c->prev;
	pthread_mutex_unlock(&s->lock);
}

/* Receive more behind what is there.  Return: bytes, 0 at the end, -errno. */
static ssize_t receive(struct conn *c, uint64_t deadline)
{
	ssize_t n;

	if (c->start == c->end) {
		c->start = 0;
		c->end = 0;
	} else if (BUFFER - c->end < BUFFER / 4) {
		memmove(c->buf, c->buf + c->start, c->end - c->start);
		c->end -= c->start;
		c->start = 0;
	}
	n = roost_recv(c->fd, c->buf + c->end, BUFFER - c->end, 0, deadline);
	if (n > 0)
		c->end += n;
	return n;
}

static bool broken(struct conn *c, ssize_t result)
{
	if (result >= 0)
		return false;
	count(result == -ETIMEDOUT ? &c->server->counters.timeouts
				   : &c->server->counters.io_errors);
	return true;
}

/*
 * Was a send saved by its last try only?  A client that takes nothing leaves
 * room in the socket for a while without ever making it writable: it would win
 * another timeout with each piece.
 */
static bool late(uint64_t deadline)
{
	return coarse_now() + CLOCK_ERROR >= deadline;
}

/* Send head and body together; most often one call. */
static ssize_t send_parts(struct conn *c, struct iovec *iov, int n)
{
	uint64_t deadline = coarse_now() + c->server->options.request_timeout;
	ssize_t sent;

	for (;;) {
		sent = roost_writev(c->fd, iov, n, deadline);
		if (sent < 0)
			return sent;
		while (n && (size_t)sent >= iov->iov_len) {
			sent -= iov->iov_len;
			iov++;
			n--;
		}
		if (late(deadline))
			return -ETIMEDOUT;
		if (!n)
			return 0;
		iov->iov_base = (char *)iov->iov_base + sent;
		iov->iov_len -= sent;
	}
}

/* The head, @len bytes, is in c->reply. */
static ssize_t send_head(struct conn *c, size_t len, const void *body,
			 size_t body_len)
{
	struct iovec iov[2] = {
		{ c->reply, len },
		{ (void *)body, body_len },
	};

	return send_parts(c, iov, body_len ? 2 : 1);
}

/*
 * As send_head(), for a whole answer after which the connection stays: if it has
 * room and the client has asked for nothing more yet, it goes with the wait for
 * the next request.
 */
static ssize_t send_or_keep(struct conn *c, size_t len, const void *body,
			    size_t body_len)
{
	if (c->start != c->end || body_len > REPLY - len)
		return send_head(c, len, body, body_len);
	if (body_len)
		memcpy(c->reply + len, body, body_len);
	c->reply_len = len + body_len;
	return 0;
}

static ssize_t send_answer(struct conn *c, bool keep, size_t len,
			   const void *body, size_t body_len)
{
	return keep ? send_or_keep(c, len, body, body_len) :
		      send_head(c, len, body, body_len);
}

/* What is kept, at once. */
static ssize_t send_kept(struct conn *c)
{
	size_t len = c->reply_len;

	c->reply_len = 0;
	return len ? send_head(c, len, NULL, 0) : 0;
}

/*
 * Send what is kept and wait for the next request: two timeouts, one call, and
 * another one only if the shorter of them ends it after the sending.
 */
static ssize_t reply_and_receive(struct conn *c)
{
	const struct options *o = &c->server->options;
	uint64_t now = coarse_now();
	uint64_t idle = now + o->idle_timeout, deadline = idle;
	size_t len = c->reply_len, sent;
	ssize_t n;

	if (!len)
		return receive(c, idle);
	if (o->request_timeout < o->idle_timeout)
		deadline = now + o->request_timeout;
	c->reply_len = 0;
	c->start = 0;
	c->end = 0;
	n = roost_send_recv(c->fd, c->reply, len, c->buf, BUFFER, 0, deadline,
			    &sent);
	if (n == -ETIMEDOUT && sent == len && deadline != idle)
		return receive(c, idle);
	if (n > 0)
		c->end = n;
	return n;
}

/* May the connection stay after the answer that is being made? */
static bool may_keep(struct conn *c, const struct http_request *req)
{
	return req->keep_alive &&
	       !atomic_load_explicit(&c->server->stopping,
				     memory_order_relaxed);
}

static void count_answer(struct conn *c, int status)
{
	count(&c->server->counters.requests);
	if (status >= 500)
		count(&c->server->counters.server_errors);
	else if (status >= 400)
		count(&c->server->counters.client_errors);
}

/*
 * An answer whose body is its own status line.  @fields are more header lines
 * or NULL; @req is NULL if it could not be parsed: then the connection ends.
 */
static enum verdict answer_status(struct conn *c, const struct http_request *req,
				  int status, const char *fields, bool keep)
{
	char lines[REPLY_MAX_HEAD / 2], body[64];
	int body_len, len;

	body_len = snprintf(body, sizeof(body), "%d %s\n", status,
			    reply_reason(status));
	len = snprintf(lines, sizeof(lines), "Content-Type: text/plain\r\n"
		       "Content-Length: %d\r\n%s", body_len,
		       fields ? fields : "");
	if ((size_t)len >= sizeof(lines))
		len = 0;
	len = reply_head(c->reply, status, req ? req->minor : 1, keep, lines,
			 len);
	if (req && req->method == HTTP_HEAD)
		body_len = 0;
	count_answer(c, status);
	if (broken(c, send_answer(c, keep, len, body, body_len)))
		return BROKEN;
	return keep ? KEEP : FINISH;
}

/* The body of a big file, piece by piece. */
static enum verdict send_file(struct conn *c, struct file *file)
{
	char *piece = malloc(PIECE);
	struct iovec iov;
	uint64_t at = 0;
	ssize_t n;

	while (piece && at < file->size) {
		size_t want = file->size - at < PIECE ? file->size - at : PIECE;

		n = pread(file->fd, piece, want, at);
		/* Shorter than promised: only a broken connection says so. */
		if (n <= 0)
			break;
		iov = (struct iovec) { piece, n };
		if (broken(c, send_parts(c, &iov, 1)))
			break;
		at += n;
	}
	free(piece);
	return at == file->size ? KEEP : BROKEN;
}

static enum verdict answer_file(struct conn *c, const struct http_request *req,
				struct file *file)
{
	bool keep = may_keep(c, req);
	bool body = req->method == HTTP_GET;
	enum verdict verdict = KEEP;
	int status = 200;
	time_t since;
	size_t len;

	if (req->since.len &&
	    reply_parse_date(req->since.at, req->since.len, &since) &&
	    file->mtime <= since) {
		status = 304;
		body = false;
	}
	len = reply_head(c->reply, status, req->minor, keep, file->fields,
			 file->fields_len);
	count_answer(c, status);
	if (broken(c, send_answer(c, keep && (file->body || !body), len,
				  file->body,
				  body && file->body ? file->size : 0)))
		return BROKEN;
	if (body && !file->body)
		verdict = send_file(c, file);
	if (verdict == KEEP && !keep)
		verdict = FINISH;
	return verdict;
}

static enum verdict redirect(struct conn *c, const struct http_request *req,
			     const char *path)
{
	char line[REPLY_MAX_HEAD / 4] = "Location: ";
	size_t n = strlen(line), len;

	len = http_path_encode(line + n, sizeof(line) - n - 2, path);
	if (!len)
		return answer_status(c, req, 404, NULL, may_keep(c, req));
	memcpy(line + n + len, "\r\n", 3);
	return answer_status(c, req, 301, line, may_keep(c, req));
}

static int status_of(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENOTDIR:
	case -EXDEV:		/* it would leave the root */
	case -ELOOP:
	case -ENAMETOOLONG:
		return 404;
	case -EACCES:
	case -EPERM:
	case -ENXIO:		/* a socket */
	case -ENODEV:
		return 403;
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
		return 503;
	default:
		return 500;
	}
}

static enum verdict answer(struct conn *c, const struct http_request *req)
{
	char path[HTTP_MAX_PATH];
	enum verdict verdict;
	struct file *file;
	int status, err;

	if (req->method == HTTP_UNKNOWN)
		return answer_status(c, req, 501, NULL, may_keep(c, req));
	if (req->method == HTTP_KNOWN)
		return answer_status(c, req, 405, "Allow: GET, HEAD\r\n",
				     may_keep(c, req));
	status = http_path_decode(path, req->target);
	if (status)
		return answer_status(c, req, status, NULL, may_keep(c, req));
	err = files_get(c->server->files, path, coarse_now() / 1000000000,
			&file);
	if (err == -EISDIR)
		return redirect(c, req, path);
	if (err)
		return answer_status(c, req, status_of(err), NULL,
				     may_keep(c, req));
	verdict = answer_file(c, req, file);
	files_put(file);
	return verdict;
}

/* A request that ends the connection; nothing is known of what follows it. */
static enum verdict refuse(struct conn *c, const struct http_request *req,
			   int status)
{
	return answer_status(c, req, status, NULL, false);
}

/* Throw away the body, so that the next request is found.  KEEP: done. */
static enum verdict skip_body(struct conn *c, const struct http_request *req,
			      uint64_t deadline)
{
	enum http_body_result result;
	struct http_body body;
	size_t used;
	ssize_t n;

	if (!req->chunked && !req->content_length)
		return KEEP;
	/* It waits to be told to send what nobody wants: answer at once. */
	if (req->expect)
		return refuse(c, req, req->method == HTTP_KNOWN ? 405 : 413);
	http_body_start(&body, req, c->server->options.max_body);
	for (;;) {
		result = http_body_feed(&body, c->buf + c->start,
					c->end - c->start, &used);
		c->start += used;
		if (result == HTTP_BODY_DONE)
			return KEEP;
		if (result == HTTP_BODY_BAD)
			return refuse(c, req, 400);
		if (result == HTTP_BODY_BIG)
			return refuse(c, req, 413);
		n = receive(c, deadline);
		if (n == -ETIMEDOUT) {
			broken(c, n);
			return refuse(c, req, 408);
		}
		if (n <= 0)
			return BROKEN;
	}
}

/*
 * Wait for a request's head.  KEEP: it is in @req, and @deadline is when the
 * rest of the request must have come.
 */
static enum verdict read_head(struct conn *c, struct http_request *req,
			      uint64_t *deadline)
{
	const struct options *o = &c->server->options;
	bool replied = false;
	ssize_t n;
	int status;

	*deadline = 0;
	c->scanned = 0;
	for (;;) {
		size_t have = c->end - c->start;
		bool idle = !have;

		status = have ? http_request_parse(req, c->buf + c->start, have,
						   &c->scanned)
			      : HTTP_INCOMPLETE;
		if (!*deadline && have)
			*deadline = coarse_now() + o->request_timeout;
		if (status == HTTP_COMPLETE) {
			c->start += req->head_len;
			return KEEP;
		}
		if (status != HTTP_INCOMPLETE)
			return refuse(c, NULL, status);
		if (idle) {
			/*
			 * Seen by conn_close_idle() after it has seen, or has
			 * been preceded by, the server's stopping: one of the
			 * two sides notices (both sequentially consistent).
			 */
			atomic_store(&c->idle, true);
			if (atomic_load(&c->server->stopping))
				return broken(c, send_kept(c)) ? BROKEN : FINISH;
			replied = c->reply_len;
			n = reply_and_receive(c);
			atomic_store_explicit(&c->idle, false,
					      memory_order_relaxed);
		} else {
			n = receive(c, *deadline);
		}
		if (n > 0)
			continue;
		/*
		 * Whoever sends no more has read what it wanted; but if it is
		 * conn_close_idle() that ends it, perhaps not yet.
		 */
		if (n == 0)
			return replied && atomic_load(&c->server->stopping) ?
			       FINISH : BROKEN;
		broken(c, n);
		return n == -ETIMEDOUT && !idle ? refuse(c, NULL, 408) : BROKEN;
	}
}

/*
 * Close so that the client can read the last answer: a close with something
 * unread in the socket would make it a reset, and the answer might be lost.
 */
static void linger(int fd)
{
	uint64_t deadline = coarse_now() + LINGER;
	size_t budget = LINGER_BYTES;
	char rest[4096];
	ssize_t n;

	if (shutdown(fd, SHUT_WR))
		return;
	do {
		n = roost_recv(fd, rest, sizeof(rest), 0, deadline);
		if (n > 0)
			budget -= (size_t)n < budget ? (size_t)n : budget;
	} while (n > 0 && budget);
}

/* What the answer needs of the head: receiving a body may overwrite it. */
struct kept {
	char target[HTTP_MAX_TARGET];
	char since[MAX_SINCE];
};

static void keep_head(struct kept *kept, struct http_request *req)
{
	memcpy(kept->target, req->target.at, req->target.len);
	req->target.at = kept->target;
	if (req->since.len > MAX_SINCE)
		req->since.len = 0;
	if (req->since.len)
		memcpy(kept->since, req->since.at, req->since.len);
	req->since.at = kept->since;
}

static enum verdict serve_one(struct conn *c)
{
	struct http_request req;
	enum verdict verdict;
	struct kept kept;
	uint64_t deadline;

	verdict = read_head(c, &req, &deadline);
	if (verdict != KEEP)
		return verdict;
	if (req.chunked || req.content_length)
		keep_head(&kept, &req);
	verdict = skip_body(c, &req, deadline);
	if (verdict != KEEP)
		return verdict;
	return answer(c, &req);
}

static void conn_main(void *arg)
{
	struct conn *c = arg;
	struct server *s = c->server;
	enum verdict verdict;

	conn_add(c);
	do
		verdict = serve_one(c);
	while (verdict == KEEP);
	if (verdict == FINISH)
		linger(c->fd);
	conn_remove(c);
	roost_close(c->fd);
	free(c);
	atomic_fetch_sub(&s->open, 1);
}

int conn_start(struct server *server, int fd)
{
	struct conn *c;
	int err = -EAGAIN;

	if (atomic_fetch_add(&server->open, 1) >=
	    server->options.max_connections)
		goto err_count;
	/* The buffer is not touched before it is used: no calloc. */
	err = -ENOMEM;
	c = malloc(sizeof(*c));
	if (!c)
		goto err_count;
	c->server = server;
	c->fd = fd;
	c->start = 0;
	c->end = 0;
	c->reply_len = 0;
	atomic_init(&c->idle, false);
	err = roost_spawn(conn_main, c, NULL);
	if (!err)
		return 0;
	free(c);
err_count:
	atomic_fetch_sub(&server->open, 1);
	return err;
}

struct refusal {
	struct server *server;
	int fd;
};

static void refuse_main(void *arg)
{
	struct refusal *r = arg;
	char head[REPLY_MAX_HEAD];
	static const char fields[] = "Retry-After: 1\r\nContent-Length: 0\r\n";
	size_t len = reply_head(head, 503, 1, false, fields,
				sizeof(fields) - 1);

	count(&r->server->counters.server_errors);
	if (roost_write_all(r->fd, head, len, coarse_now() + LINGER) > 0)
		linger(r->fd);
	roost_close(r->fd);
	atomic_fetch_sub(&r->server->refusing, 1);
	free(r);
}

void conn_refuse(struct server *server, int fd)
{
	struct refusal *r = NULL;

	count(&server->counters.refused);
	if (atomic_fetch_add(&server->refusing, 1) < MAX_REFUSING)
		r = malloc(sizeof(*r));
	if (r) {
		r->server = server;
		r->fd = fd;
		if (!roost_spawn(refuse_main, r, NULL))
			return;
		free(r);
	}
	atomic_fetch_sub(&server->refusing, 1);
	roost_close(fd);
}

void conn_close_idle(struct server *server)
{
	struct conn *c;

	pthread_mutex_lock(&server->lock);
	for (c = server->conns; c; c = c->next)
		if (atomic_load(&c->idle))
			shutdown(c->fd, SHUT_RD);
	pthread_mutex_unlock(&server->lock);
}

void conn_stop_all(struct server *server)
{
	size_t n = 0, room = atomic_load(&server->open);
	roost_pid *pids = calloc(room + 1, sizeof(*pids));
	struct conn *c;

	if (!pids)
		return;
	/* A pid names its actor only, even when that has ended meanwhile. */
	pthread_mutex_lock(&server->lock);
	for (c = server->conns; c && n < room; c = c->next)
		pids[n++] = c->pid;
	pthread_mutex_unlock(&server->lock);
	while (n)
		roost_stop(pids[--n]);
	free(pids);
}
