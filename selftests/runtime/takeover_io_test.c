// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * takeover_io_test.c - calls of the library that block as the system's do, outside.
 *
 * Each with one worker: the root runs only if it was taken from who blocks.
 */
#include <limits.h>

#include "io_help.h"
#include "takeover_fault.h"
#include "takeover_help.h"

/* Start @b, and wait until it has lost its worker, or has come back. */
static void let_it_block(struct blocker *b)
{
	blocker_start(b);
	CHECK(wait_until(atomic_load(&b->begun)));
	CHECK_EQ(b->result, -1);
	CHECK(stats_now().takeovers >= 1);
}

static void block_and_end(void *arg)
{
	struct blocker *b = arg;

	let_it_block(b);
	b->release(b);
	blocker_end(b);
	CHECK_EQ(b->result, 1);
}

/* Does the kernel know how not to block there?  A byte is moved if it does. */
static bool knows_nowait(int fd, bool out)
{
	char c = 0;
	struct iovec iov = { .iov_base = &c, .iov_len = 1 };
	ssize_t n = out ? pwritev2(fd, &iov, 1, -1, RWF_NOWAIT) :
			  preadv2(fd, &iov, 1, -1, RWF_NOWAIT);

	return n >= 0 || errno != EOPNOTSUPP;
}

/* Reading a file that cannot be polled, into memory that is not there */

#define PLAIN_FILE	"/proc/self/status"

static void block_in_plain_read(struct blocker *b)
{
	struct missing *m = b->arg;
	int fd = open(PLAIN_FILE, O_RDONLY | O_CLOEXEC);

	b->result = (int)roost_read(fd, m->page, 1, ROOST_FOREVER);
	close(fd);
}

TAKEOVER_TEST(a_plain_read_of_a_file_is_outside)
{
	int fd = open(PLAIN_FILE, O_RDONLY | O_CLOEXEC);
	struct blocker b;
	bool nowait;

	REQUIRE(fd >= 0);
	nowait = knows_nowait(fd, false);
	close(fd);
	if (nowait)
		SKIP(PLAIN_FILE " knows RWF_NOWAIT");
	blocker_init(&b);
	prepare_fault(&b);
	b.block = block_in_plain_read;
	run_actors(1, block_and_end, &b);
}

/* Writing a lot to a pipe, whose file does not know RWF_NOWAIT */

static void block_in_a_little(struct blocker *b)
{
	struct missing *m = b->arg;

	b->result = roost_write(b->pipe[1], m->page, 2 * PIPE_BUF,
				ROOST_FOREVER) == PIPE_BUF;
}

/* Opened by its name, as a FIFO is. */
static void open_again(int *fd)
{
	char path[64];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
	again = open(path, O_WRONLY | O_CLOEXEC);
	CHECK(again >= 0);
	close(*fd);
	*fd = again;
}

TAKEOVER_TEST(a_little_written_is_outside)
{
	struct blocker b;

	blocker_init(&b);
	open_again(&b.pipe[1]);
	prepare_fault(&b);
	b.block = block_in_a_little;
	if (knows_nowait(b.pipe[1], true))
		SKIP("a pipe that is opened again knows RWF_NOWAIT");
	run_actors(1, block_and_end, &b);
}

/* close(2) of a socket with SO_LINGER, whose peer does not read */

static void block_in_close(struct blocker *b)
{
	int *fd = b->arg;

	b->result = roost_close(fd[0]) == 0;
}

static void release_close(struct blocker *b)
{
	int *fd = b->arg;
	static char sink[65536];

	while (roost_read(fd[1], sink, sizeof(sink), ROOST_FOREVER) > 0)
		;
	CHECK_EQ(roost_close(fd[1]), 0);
}

static void close_lingering(void *arg)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 30 };
	struct blocker *b = arg;
	int fd[2];

	tcp_pair_managed(fd);
	CHECK_EQ(setsockopt(fd[0], SOL_SOCKET, SO_LINGER, &linger,
			    sizeof(linger)), 0);
	CHECK(fill(fd[0]) > 0);
	b->arg = fd;
	block_and_end(b);
}

TAKEOVER_TEST(close_is_outside)
{
	struct blocker b;

	blocker_init(&b);
	b.block = block_in_close;
	b.release = release_close;
	run_actors(1, close_lingering, &b);
}
