// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * fd_wait.c - roost_fd_wait(): any descriptor, any events.
 *
 * The order of looks: poll(2) first, so that what is ready costs no
 * registration (S3-35) and a deadline of zero never makes one (S3-31); then
 * the wait proper, and poll(2) again.  Readiness is reported only where poll(2)
 * has seen it (S3-30), for an event is no proof: it may be older than the last
 * read, a hint says nothing at all, and what a wake-up in the kernel says is
 * rounded up (data on any socket is announced as urgent data, too).
 */
#include <errno.h>
#include <poll.h>

#include <roost/actor.h>
#include <roost/io.h>

#include "fd.h"
#include "io_sys.h"
#include "runtime.h"

#define WAITABLE	(POLLIN | POLLOUT | POLLPRI | POLLRDHUP)

int fd_probe(int number, uint32_t events)
{
	int got = sys_poll_now(number, (short)events);

	return got & POLLNVAL && got > 0 ? -EBADF : got;
}

int fd_pollable(const struct fd_table *table, int number)
{
	int err = sys_epoll_known(table->scratch, number);

	return err == -EPERM || err == -EBADF ? err : 0;
}

/*
 * What cannot be polled looks ready for reading and writing, and for nothing
 * else, and so it does to poll(2).
 */
static bool may_be_unpollable(int got)
{
	return !(got & ~(POLLIN | POLLOUT));
}

static bool passed(uint64_t deadline)
{
	return deadline != ROOST_FOREVER &&
	       (deadline == 0 || deadline <= roost_now());
}

static int wait_for(const struct fd_table *table, struct fd *f, uint32_t want,
		    uint64_t deadline)
{
	const uint64_t ring = fd_ring_load(f);
	uint64_t before;
	int err, got;

	for (;;) {
		before = fd_ready_load(f);
		got = fd_probe(f->number, want);
		if (got < 0)
			return got;
		if (got && may_be_unpollable(got)) {
			err = fd_pollable(table, f->number);
			if (err)
				return err;
		}
		if (got || passed(deadline))
			return got;

		err = fd_wait_ready(f, want, 0, before, deadline);
		/* Closed when the wait was over, and before we ran. */
		if (unlikely(!fd_ring_same_file(f, ring)))
			return -ECANCELED;
		if (err == -ETIMEDOUT)
			return 0;
		if (err < 0)
			return err;
	}
}

int fd_wait(int fd, unsigned int events, uint64_t deadline)
{
	struct runtime *rt = runtime_self();
	uint32_t want = events;
	struct fd *f;
	int err;

	if (!events || events & ~(unsigned int)WAITABLE)
		return -EINVAL;
	if (roost_stopped())
		return -ECANCELED;
	err = fd_get(rt->fds, fd, &f);
	if (err)
		return err;

	/* Who asks for urgent data knows of marks in the stream: see io.c. */
	if (events & POLLPRI)
		fd_distrust_short(f);
	/* Both count as readable (S3-40). */
	if (events & POLLIN)
		want |= POLLPRI | POLLRDHUP;
	return wait_for(rt->fds, f, want, deadline);
}

int roost_fd_wait(int fd, unsigned int events, uint64_t deadline)
{
	if (!library_enter())
		return -EPERM;
	return (int)library_return(fd_wait(fd, events, deadline));
}
