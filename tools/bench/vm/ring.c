// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* ring.c - one worker of /dev/roost, for one thread; see ring.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "bench.h"
#include "ring.h"

static void *map(int fd, size_t size, off_t offset)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       offset);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

void ring_open(struct ring *r, uint32_t polls, uint32_t ios, uint32_t entries)
{
	int device = open("/dev/roost", O_RDWR | O_CLOEXEC);
	struct roost_attach lease = { 0 };
	char *p;

	memset(r, 0, sizeof(*r));
	r->domain_params.nr_polls = polls;
	r->domain_params.nr_ios = ios;
	r->domain_params.nr_files = ios;
	r->params.sq_entries = entries;
	r->params.cq_entries = 4 * entries;
	if (device < 0)
		die("/dev/roost");
	r->domain = ioctl(device, ROOST_IOC_CREATE_DOMAIN, &r->domain_params);
	if (r->domain < 0)
		die("CREATE_DOMAIN");
	r->worker = ioctl(r->domain, ROOST_IOC_CREATE_WORKER, &r->params);
	if (r->worker < 0)
		die("CREATE_WORKER");
	r->control = map(r->domain, r->domain_params.control_size,
			 ROOST_OFF_CONTROL);
	r->events = map(r->domain, r->domain_params.events_size,
			ROOST_OFF_EVENTS);
	p = map(r->worker, r->params.map_size, 0);
	r->page = (void *)p;
	r->sq = (void *)(p + r->params.sq_offset);
	r->cq = (void *)(p + r->params.cq_offset);
	r->sq_tail = r->page->sq_tail;
	r->cq_head = r->page->cq_head;
	if (ioctl(r->worker, ROOST_IOC_ATTACH, &lease))
		die("ATTACH");
}

static uint32_t staged(const struct ring *r)
{
	/* Pairs with the kernel's release once entries are consumed. */
	return r->sq_tail - __atomic_load_n(&r->page->sq_head, __ATOMIC_ACQUIRE);
}

static bool ready(const struct ring *r)
{
	/* Pairs with the kernel's release of the tail. */
	return r->cq_head != __atomic_load_n(&r->page->cq_tail, __ATOMIC_ACQUIRE);
}

/* Publish the entries and hand them over. */
static void enter(struct ring *r, struct roost_enter *e)
{
	/* Release: the entries first; pairs with the kernel's acquire. */
	__atomic_store_n(&r->page->sq_tail, r->sq_tail, __ATOMIC_RELEASE);
	e->to_submit = staged(r);
	if (ioctl(r->worker, ROOST_IOC_ENTER, e) && errno != EINTR)
		die("ENTER");
}

struct roost_sqe *ring_sqe(struct ring *r)
{
	struct roost_enter e = { 0 };
	struct roost_sqe *sqe;

	if (staged(r) == r->params.sq_entries) {
		enter(r, &e);
		if (!e.submitted)
			die("no room for a submission");
	}
	sqe = &r->sq[r->sq_tail++ % r->params.sq_entries];
	memset(sqe, 0, sizeof(*sqe));
	return sqe;
}

/*
 * The event counter and the idle bit come before the last look, so that what
 * comes after it ends the park.
 */
static void park(struct ring *r)
{
	struct roost_enter e = {
		.flags = ROOST_ENTER_PARK,
		.deadline = ROOST_NO_DEADLINE,
	};
	__u64 *idle = &r->control->idle[r->params.index / 64];
	uint64_t bit = 1ULL << r->params.index % 64;

	/* Pairs with the kernel's increment after it has posted. */
	e.event = __atomic_load_n(&r->control->event, __ATOMIC_ACQUIRE);
	/* Full: the bit before the look; pairs with a waker's fetch-and. */
	__atomic_fetch_or(idle, bit, __ATOMIC_SEQ_CST);
	if (ready(r)) {
		__atomic_fetch_and(idle, ~bit, __ATOMIC_SEQ_CST);
		return;
	}
	enter(r, &e);
}

void ring_wait(struct ring *r)
{
	struct roost_enter e = { 0 };

	if (staged(r) && ready(r))
		enter(r, &e);
	while (!ready(r))
		park(r);
}

bool ring_next(struct ring *r, struct roost_cqe *cqe)
{
	if (!ready(r))
		return false;
	*cqe = r->cq[r->cq_head++ % r->params.cq_entries];
	/* Release: the copy first; pairs with the kernel's acquire. */
	__atomic_store_n(&r->page->cq_head, r->cq_head, __ATOMIC_RELEASE);
	return true;
}
