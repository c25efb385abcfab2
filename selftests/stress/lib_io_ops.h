/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * lib_io_ops.h - what the actors of lib_io_test do: one operation at random,
 * and what it must and may have done.
 */
#ifndef ROOST_SELFTESTS_STRESS_LIB_IO_OPS_H
#define ROOST_SELFTESTS_STRESS_LIB_IO_OPS_H

#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "lib_io_conn.h"

#define MAX_PIECES	4

/* Buffers */

static inline void check_poison(const struct half *h, const unsigned char *p,
				size_t len, const char *what)
{
	size_t good = poisoned(p, len);

	if (good != len)
		bad(h, atomic_load(&h->position),
		    "poison is 0x%02x at %zu of %zu: %s", p[good], good, len,
		    what);
}

/* @len bytes somewhere in one of the buffers, which nobody has touched. */
static inline unsigned char *take_buffer(struct actor *a, struct half *h,
					 size_t len)
{
	bool near = len <= NEAR_SIZE && random_percent(&a->random, 60);
	unsigned char *p = near ? a->near : h->far;

	p += random_below(&a->random, (near ? NEAR_SIZE : FAR_SIZE) - len + 1);
	check_poison(h, p, len, near ? "stack" : "heap");
	return p;
}

/* Up to what is this actor's, now and then a few bytes. */
static inline size_t some_length(struct actor *a)
{
	bool few = random_percent(&a->random, 5);

	return 1 + random_below(&a->random, few ? 16 : a->most);
}

/* Nanoseconds of every size, up to about 2^@bits. */
static inline uint64_t some_time(uint64_t *random, unsigned int bits)
{
	return random_below(random, 1ULL << (10 + random_below(random, bits - 9)));
}

/* Let the peer wait now and then. */
static inline void some_rest(struct actor *a)
{
	if (!a->lazy || !random_percent(&a->random, a->lazy))
		return;
	roost_sleep(some_time(&a->random, 20));
}

/* Passed, now, soon, later; or never, if @never. */
static inline uint64_t some_deadline(struct actor *a, bool never)
{
	unsigned int dice = (unsigned int)random_below(&a->random, 100);

	if (a->end->conn->calm)
		return ROOST_FOREVER;
	if (dice < 5)
		return 0;
	if (dice < 10)
		return roost_now() - 1;
	if (dice < 50 && never)
		return ROOST_FOREVER;
	return roost_after(some_time(&a->random, 24));
}

/* In up to MAX_PIECES, of which some may be empty. */
static inline int cut_up(struct actor *a, unsigned char *p, size_t len,
			 struct iovec iov[MAX_PIECES])
{
	int n = 1 + (int)random_below(&a->random, MAX_PIECES), i;

	for (i = 0; i < n; i++) {
		size_t piece = i == n - 1 ? len :
					    random_below(&a->random, len + 1);

		iov[i] = (struct iovec){ .iov_base = p, .iov_len = piece };
		p += piece;
		len -= piece;
	}
	return n;
}

/* Results */

/* Why a call may have moved nothing.  Return: false if there is no going on. */
static inline bool check_error(struct half *h, ssize_t n, uint64_t deadline)
{
	struct conn *c = h->end->conn;
	bool closed = atomic_load(&h->end->closed);
	uint64_t at = atomic_load(&h->position);

	switch (-n) {
	case ETIMEDOUT:
		if (deadline == ROOST_FOREVER || roost_now() < deadline)
			bad(h, at, "timed out before %llu",
			    (unsigned long long)deadline);
		count_add(TIMED_OUT, 1);
		return true;
	case ECANCELED:
	case EBADF:
		if (closed) {
			count_add(CLOSED_UNDER, 1);
			atomic_store(&h->over, true);
		} else if (n == -EBADF || !roost_stopped()) {
			bad(h, at, "%zd, and nobody stopped or closed it", n);
		} else {
			count_add(STOPPED, 1);
		}
		return false;
	case EPIPE:
	case ECONNRESET:
		if (!atomic_load(&c->cut_begun))
			bad(h, at, "%zd of a connection that is whole", n);
		count_add(BROKEN, 1);
		atomic_store(&h->over, true);
		return false;
	default:
		bad(h, at, "unexpected result %zd", n);
	}
}

static inline void move_on(struct half *h, size_t n)
{
	atomic_fetch_add(&h->position, n);
	if (n)
		atomic_fetch_add_explicit(&h->end->conn->progress, 1,
					  memory_order_relaxed);
}

/* @n bytes were sent.  All: over. */
static inline void has_sent(struct half *h, size_t n, size_t len)
{
	if (n > len)
		bad(h, atomic_load(&h->position), "%zu of %zu sent", n, len);
	if (n && n < len)
		count_add(PARTIAL, 1);
	move_on(h, n);
	if (atomic_load(&h->position) != h->length)
		return;
	atomic_store(&h->over, true);
	if (h->end->conn->shuts && shutdown(h->end->fd, SHUT_WR) &&
	    !atomic_load(&h->end->conn->cut_begun))
		bad(h, h->length, "shutdown: %d", errno);
}

/* @n bytes have come to @p, where there was room for @len. */
static inline void has_received(struct half *h, const unsigned char *p,
				size_t n, size_t len, bool peek)
{
	uint64_t at = atomic_load(&h->position);
	size_t right;

	if (n > len || n > h->length - at)
		bad(h, at, "%zu bytes received of %zu, %llu left", n, len,
		    (unsigned long long)(h->length - at));
	right = stream_right(h->key, at, p, n);
	if (right != n)
		bad(h, at + right, "0x%02x received, wrong at %zu of %zu",
		    p[right], right, n);
	if (peek) {
		count_add(PEEKED, 1);
		return;
	}
	count_add(BYTES, n);
	move_on(h, n);
	/* The end of the file is waited for, too. */
	if (at + n == h->length && !h->end->conn->shuts)
		atomic_store(&h->over, true);
}

static inline void has_ended(struct half *h)
{
	uint64_t at = atomic_load(&h->position);

	if (!atomic_load(&h->end->conn->cut_begun) && at != h->length)
		bad(h, at, "end of file");
	atomic_store(&h->over, true);
}

/* Sending */

static inline ssize_t call_send(struct actor *a, struct half *h,
				unsigned char *p, size_t len,
				uint64_t *deadline, const char **name)
{
	struct iovec iov[MAX_PIECES];
	int fd = a->end->fd, got;

	if (a->firm && random_percent(&a->random, 30)) {
		*name = "write_all";
		*deadline = ROOST_FOREVER;
		h->unknown = len;
		return roost_write_all(fd, p, len, *deadline);
	}
	switch (random_below(&a->random, 6)) {
	case 0:
		*name = "write";
		return roost_write(fd, p, len, *deadline);
	case 1:
		*name = "writev";
		return roost_writev(fd, iov, cut_up(a, p, len, iov), *deadline);
	case 2:
		*name = "send, not waiting";
		*deadline = 0;
		return roost_send(fd, p, len, MSG_DONTWAIT, ROOST_FOREVER);
	case 3:
		*name = "send after a wait";
		got = roost_fd_wait(fd, POLLOUT, *deadline);
		if (got <= 0)
			return got ? got : -ETIMEDOUT;
		*deadline = 0;
		return roost_send(fd, p, len, 0, 0);
	default:
		*name = "send";
		return roost_send(fd, p, len, MSG_NOSIGNAL, *deadline);
	}
}

/* Return: false when this actor has nothing more to do here. */
static inline bool send_once(struct actor *a, bool never)
{
	struct half *h = &a->end->half[SENDS];
	uint64_t at = atomic_load(&h->position);
	uint64_t deadline = some_deadline(a, never);
	size_t len = some_length(a);
	const char *name = NULL;
	unsigned char *p;
	ssize_t n;

	if (len > h->length - at)
		len = h->length - at;
	p = take_buffer(a, h, len);
	stream_fill(h->key, at, p, len);
	n = call_send(a, h, p, len, &deadline, &name);
	poison(p, len);
	note(h, name, len, n, 0, deadline);
	if (n < 0)
		return check_error(h, n, deadline);
	if (!n || (h->unknown && (size_t)n < len))
		bad(h, at, "%zd of %zu sent, and no error", n, len);
	h->unknown = 0;
	has_sent(h, (size_t)n, len);
	return !atomic_load(&h->over);
}

/* Receiving */

static inline ssize_t recv_after_wait(struct half *h, int fd, unsigned char *p,
				      size_t len, uint64_t *deadline)
{
	int got = roost_fd_wait(fd, POLLIN, *deadline);
	ssize_t n;

	if (got <= 0)
		return got ? got : -ETIMEDOUT;
	*deadline = 0;
	n = roost_recv(fd, p, len, 0, 0);
	/* Nobody else reads here. */
	if (n == -ETIMEDOUT && got & POLLIN)
		bad(h, atomic_load(&h->position), "readable, and nothing came");
	return n;
}

static inline ssize_t call_recv(struct actor *a, struct half *h,
				unsigned char *p, size_t *len,
				uint64_t *deadline, const char **name,
				bool *peek)
{
	uint64_t left = h->length - atomic_load(&h->position);
	struct iovec iov[MAX_PIECES];
	int fd = a->end->fd;

	switch (random_below(&a->random, 10)) {
	case 0:
	case 1:
		*name = "read";
		return roost_read(fd, p, *len, *deadline);
	case 2:
		*name = "readv";
		return roost_readv(fd, iov, cut_up(a, p, *len, iov), *deadline);
	case 3:
		*name = "recv, not waiting";
		*deadline = 0;
		return roost_recv(fd, p, *len, MSG_DONTWAIT, ROOST_FOREVER);
	case 4:
		*name = "peek";
		*peek = true;
		return roost_recv(fd, p, *len, MSG_PEEK, *deadline);
	case 5:
		/* For no more than ever comes. */
		*name = "recv all";
		if (*len > left && left)
			*len = left;
		return roost_recv(fd, p, *len, MSG_WAITALL, *deadline);
	case 6:
		*name = "recv after a wait";
		return recv_after_wait(h, fd, p, *len, deadline);
	case 7:
		*name = "send nothing and recv";
		return roost_send_recv(fd, NULL, 0, p, *len, 0, *deadline, NULL);
	default:
		*name = "recv";
		return roost_recv(fd, p, *len, 0, *deadline);
	}
}

/* As send_once(). */
static inline bool receive_once(struct actor *a, bool never)
{
	struct half *h = &a->end->half[RECEIVES];
	uint64_t deadline = some_deadline(a, never);
	size_t room = some_length(a), len = room;
	unsigned char *p = take_buffer(a, h, room);
	const char *name = NULL;
	bool peek = false;
	ssize_t n;

	n = call_recv(a, h, p, &len, &deadline, &name, &peek);
	note(h, name, len, n, 0, deadline);
	if (n > 0) {
		has_received(h, p, (size_t)n, len, peek);
		poison(p, (size_t)n);
	}
	check_poison(h, p, room, "what a receive did not fill");
	if (n < 0)
		return check_error(h, n, deadline);
	if (!n)
		has_ended(h);
	return !atomic_load(&h->over);
}

/* Both */

/* As send_once(), for both halves. */
static inline bool send_recv_once(struct actor *a)
{
	struct half *out = &a->end->half[SENDS], *in = &a->end->half[RECEIVES];
	uint64_t at = atomic_load(&out->position);
	uint64_t deadline = some_deadline(a, false);
	size_t len = some_length(a), room = some_length(a), sent = SIZE_MAX;
	bool same = random_percent(&a->random, 25);
	unsigned char *p, *q;
	ssize_t n;

	if (len > out->length - at)
		len = out->length - at;
	if (same)
		room = len;
	p = take_buffer(a, out, len);
	/* Each half has a heap buffer, but on the stack there is one. */
	q = same ? p : in->far + random_below(&a->random, FAR_SIZE - room + 1);
	check_poison(in, q, same ? 0 : room, "heap");
	stream_fill(out->key, at, p, len);
	n = roost_send_recv(a->end->fd, p, len, q, room, 0, deadline, &sent);
	note(out, "send_recv, sends", len, n, sent, deadline);
	note(in, "send_recv, receives", room, n, sent, deadline);
	count_add(SEND_RECVS, 1);
	if (sent > len || (sent < len && n >= 0))
		bad(out, at, "send_recv: %zd, %zu of %zu sent", n, sent, len);
	if (n > 0) {
		has_received(in, q, (size_t)n, room, false);
		poison(q, (size_t)n);
	}
	if (!same) {
		check_poison(in, q, room, "what send_recv did not fill");
	} else if (n < (ssize_t)len) {
		size_t from = n > 0 ? (size_t)n : 0;

		if (stream_right(out->key, at + from, p + from, len - from) !=
		    len - from)
			bad(out, at, "send_recv has changed what it sent");
	}
	poison(p, len);
	if (sent && sent < len && n == -ETIMEDOUT)
		count_add(PART_TIMED_OUT, 1);
	if (sent && sent < len && n == -ECANCELED)
		count_add(PART_STOPPED, 1);
	has_sent(out, sent, len);
	if (n < 0)
		return check_error(sent < len ? out : in, n, deadline);
	if (!n)
		has_ended(in);
	return true;
}

#endif /* ROOST_SELFTESTS_STRESS_LIB_IO_OPS_H */
