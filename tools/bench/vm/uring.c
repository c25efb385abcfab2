// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* uring.c - what the servers on io_uring share; see uring.h. */
#include <errno.h>

#include "bench.h"
#include "uring.h"

#define SQ_ENTRIES	1024
#define CQ_ENTRIES	4096

void uring_open(struct io_uring *ring)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE,
		.cq_entries = CQ_ENTRIES,
	};
	int ret = io_uring_queue_init_params(SQ_ENTRIES, ring, &params);

	if (!ret && io_uring_register_ring_fd(ring) != 1)
		ret = -EIO;
	errno = -ret;
	if (ret)
		die("io_uring");
}

struct io_uring_sqe *uring_sqe(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	int ret;

	while (!sqe) {
		ret = io_uring_submit(ring);
		errno = ret < 0 ? -ret : 0;
		if (ret <= 0)
			die("io_uring_submit");
		sqe = io_uring_get_sqe(ring);
	}
	return sqe;
}

void uring_wait(struct io_uring *ring, unsigned int completions)
{
	int ret = io_uring_submit_and_wait(ring, completions);

	errno = ret < 0 ? -ret : 0;
	if (ret < 0 && ret != -EINTR)
		die("io_uring_submit_and_wait");
}
