// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * device.c - calls on the device, its domains and its workers.
 *
 * The tables say what was made where; all threads use and change them without a
 * lock, and what they say may have been closed or replaced long ago.
 */
#include "fuzz.h"

#define DOMAINS		4
#define WORKERS		12

struct domain_slot {
	int fd;
	uint32_t control_size, events_size;
};

struct worker_slot {
	int fd;
	unsigned int domain;
	uint32_t sq_entries, cq_entries, sq_offset, cq_offset, map_size;
};

static struct domain_slot domains[DOMAINS];
static struct worker_slot workers[WORKERS];

/* Windows: control and events of each domain, then the workers. */
static unsigned int control_window(unsigned int d)
{
	return 2 * d;
}

static unsigned int worker_window(unsigned int w)
{
	return 2 * DOMAINS + w;
}

/* 0: none was made yet */
int any_domain_fd(struct rng *r)
{
	return domains[below(r, DOMAINS)].fd ?: any_fd(r);
}

int any_roost_fd(struct rng *r)
{
	if (one_in(r, 2))
		return any_domain_fd(r);
	return workers[below(r, WORKERS)].fd ?: any_fd(r);
}

static void map_domain(struct rng *r, unsigned int d)
{
	arena_map(r, control_window(d), domains[d].fd, domains[d].control_size,
		  ROOST_OFF_CONTROL);
	arena_map(r, control_window(d) + 1, domains[d].fd,
		  domains[d].events_size, ROOST_OFF_EVENTS);
}

/* One thing wrong with a structure. */
static void spoil(struct rng *r, void *args, size_t size)
{
	if (one_in(r, 16))
		((unsigned char *)args)[below(r, (uint32_t)size)] ^=
			(unsigned char)(1U << below(r, 8));
}

static int make_domain(struct rng *r, unsigned int d)
{
	static const uint32_t counts[] = { 0, 1, 8, 64, 64, 64, 100, 5000 };
	struct roost_domain_params params = {
		.flags = one_in(r, 16) ? ROOST_DOMAIN_NO_IO : 0,
		.tick_shift = one_in(r, 4) ? below(r, 32) : 0,
		.nr_timers = counts[below(r, 8)],
		.nr_polls = counts[below(r, 8)],
		.nr_ios = counts[below(r, 8)],
		.nr_files = counts[below(r, 8)] * 4,
		.slack_ns = one_in(r, 4) ? below(r, 10000000) : 0,
	};
	int dev = dev_open(), fd;

	if (dev < 0)
		return dev;
	if (one_in(r, 256))
		params.nr_timers = params.nr_polls = params.nr_ios =
			params.nr_files = 1U << 20;
	spoil(r, &params, sizeof(params));
	fd = call(dev, ROOST_IOC_CREATE_DOMAIN, &params);
	close(dev);
	if (fd < 0)
		return fd;
	domains[d] = (struct domain_slot){ fd, params.control_size,
					   params.events_size };
	map_domain(r, d);
	return 0;
}

int do_domain(struct rng *r)
{
	return make_domain(r, below(r, DOMAINS));
}

static int make_worker(struct rng *r, unsigned int w, unsigned int d)
{
	struct roost_worker_params params = {
		.sq_entries = 1U << below(r, one_in(r, 16) ? 16 : 8),
		.cq_entries = 2U << below(r, one_in(r, 16) ? 16 : 8),
	};
	int fd;

	spoil(r, &params, sizeof(params));
	fd = call(domains[d].fd, ROOST_IOC_CREATE_WORKER, &params);
	if (fd < 0)
		return fd;
	workers[w] = (struct worker_slot){
		fd, d, params.sq_entries, params.cq_entries, params.sq_offset,
		params.cq_offset, params.map_size,
	};
	arena_map(r, worker_window(w), fd, params.map_size, 0);
	return 0;
}

int do_worker(struct rng *r)
{
	return make_worker(r, below(r, WORKERS), below(r, DOMAINS));
}

/* A call that found no worker of ours any more: most of the time, a new one. */
static int replace_if_gone(struct rng *r, unsigned int w, int ret)
{
	unsigned int d = below(r, DOMAINS);
	int made;

	if (ret != -EBADF && ret != -ENOTTY && ret != -EPERM &&
	    ret != -ESHUTDOWN)
		return ret;
	/* not being its carrier is no reason */
	if (ret == -EPERM && !one_in(r, 16))
		return ret;
	if (one_in(r, 8))
		return ret;
	made = make_worker(r, w, d);
	if (made == -EBADF || made == -ENOTTY || made == -ENOSPC ||
	    made == -EPERM || made == -ESHUTDOWN)
		make_domain(r, d);
	return ret;
}

/* Something to begin with. */
void device_make(struct rng *r)
{
	unsigned int i;

	for (i = 0; i < DOMAINS; i++)
		make_domain(r, i);
	for (i = 0; i < WORKERS; i++)
		make_worker(r, i, i % DOMAINS);
}

/* Is this number one of those that are worth keeping? */
bool is_roost_fd(int fd)
{
	unsigned int i;

	for (i = 0; i < DOMAINS; i++)
		if (domains[i].fd == fd)
			return true;
	for (i = 0; i < WORKERS; i++)
		if (workers[i].fd == fd)
			return true;
	return false;
}

/* A few entries into the ring, and its tail to where it belongs. */
static uint32_t publish(struct rng *r, unsigned int w)
{
	struct worker_slot *slot = &workers[w];
	char *base = window_base(worker_window(w));
	struct roost_worker_page *page = (void *)base;
	uint32_t n = below(r, one_in(r, 8) ? 64 : 6), i, head;
	uint32_t entries = slot->sq_entries, offset = slot->sq_offset;
	struct roost_sqe sqe;

	if (!entries)
		return 0;
	head = peek32(&page->sq_head);
	if (n > entries)
		n = entries;
	for (i = 0; i < n; i++) {
		sqe = random_entry(r);
		if (!poke_bytes(base + offset + (uint64_t)((head + i) % entries) *
				sizeof(sqe), &sqe, sizeof(sqe)))
			return 0;
	}
	poke32(&page->sq_tail, head + n);
	return n;
}

static void drain(unsigned int w)
{
	struct roost_worker_page *page = (void *)window_base(worker_window(w));
	uint32_t tail = peek32(&page->cq_tail);
	uint32_t n = tail - peek32(&page->cq_head);

	/* either may be nonsense */
	if (n <= ROOST_MAX_CQ_ENTRIES)
		atomic_fetch_add(&shared->drained, n);
	poke32(&page->cq_head, tail);
}

/* Where a call finds its structure: here, or where it may change, or nowhere. */
static void *place(struct rng *r, void *args, size_t size)
{
	void *where;

	if (!one_in(r, 16))
		return args;
	if (one_in(r, 4))
		return (void *)(uintptr_t)hostile_address(r);
	where = arena_buffer(r);
	poke_bytes(where, args, size);
	return where;
}

static int enter_with(struct rng *r, unsigned int w, struct roost_enter *e)
{
	spoil(r, e, sizeof(*e));
	return call(workers[w].fd, ROOST_IOC_ENTER, place(r, e, sizeof(*e)));
}

int do_enter(struct rng *r)
{
	unsigned int w = below(r, WORKERS);
	struct roost_enter e = { .to_submit = publish(r, w) };
	int ret;

	if (one_in(r, 16))
		e.to_submit = (uint32_t)rnd(r);
	if (one_in(r, 8)) {
		e.flags = ROOST_ENTER_WAKE;
		e.wake = below(r, 8);
	}
	ret = enter_with(r, w, &e);
	if (one_in(r, 2))
		drain(w);
	return replace_if_gone(r, w, ret);
}

/* Its own worker, if it has one; to have one, it attaches. */
int do_park(struct rng *r)
{
	unsigned int w = below(r, WORKERS);
	struct roost_control *control =
		(void *)window_base(control_window(workers[w].domain));
	struct roost_enter e = { .flags = ROOST_ENTER_PARK };
	struct roost_attach a = { 0 };
	uint32_t word;
	bool mine;
	int ret;

	mine = call(workers[w].fd, ROOST_IOC_ATTACH, &a) == 0;
	e.event = peek32(&control->event);
	e.to_submit = publish(r, w);
	e.deadline = one_in(r, 8) ? ROOST_NO_DEADLINE :
				    now_ns() + below(r, 5000000);
	if (one_in(r, 4)) {
		e.flags |= ROOST_ENTER_WAKE;
		e.wake = below(r, 8);
	}
	/* the low half of the first word is enough for us */
	word = peek32(&control->idle[0]);
	if (!one_in(r, 16))
		poke32(&control->idle[0], word | 1U << w);
	if (!one_in(r, 8))
		poke32(&control->idle[0], ~0U);
	ret = enter_with(r, w, &e);
	if (one_in(r, 2))
		drain(w);
	if (mine && !one_in(r, 8))
		call(workers[w].fd, ROOST_IOC_DETACH, NULL);
	return replace_if_gone(r, w, ret);
}

int do_attach(struct rng *r)
{
	struct roost_attach a = { 0 };

	spoil(r, &a, sizeof(a));
	return call(workers[below(r, WORKERS)].fd, ROOST_IOC_ATTACH,
		    place(r, &a, sizeof(a)));
}

int do_detach(struct rng *r)
{
	return call(workers[below(r, WORKERS)].fd, ROOST_IOC_DETACH, NULL);
}

int do_wake(struct rng *r)
{
	static const uint32_t flags[] = {
		ROOST_WAKE_ONE, ROOST_WAKE_INDEX, ROOST_WAKE_ALL,
		ROOST_WAKE_ONE | ROOST_WAKE_SYNC,
		ROOST_WAKE_INDEX | ROOST_WAKE_SYNC,
	};
	struct roost_wake wake = { .flags = flags[below(r, 5)] };

	if (wake.flags & ROOST_WAKE_INDEX)
		wake.index = one_in(r, 16) ? (uint32_t)rnd(r) : below(r, 8);
	spoil(r, &wake, sizeof(wake));
	return call(any_domain_fd(r), ROOST_IOC_WAKE,
		    place(r, &wake, sizeof(wake)));
}

int do_stat(struct rng *r)
{
	struct roost_domain_stat stat = { 0 };

	spoil(r, &stat, sizeof(stat));
	return call(any_domain_fd(r), ROOST_IOC_DOMAIN_STAT,
		    place(r, &stat, sizeof(stat)));
}

/* Any number, any size, any file, any structure. */
int do_odd(struct rng *r)
{
	static const unsigned long numbers[] = {
		ROOST_IOC_INFO, ROOST_IOC_CREATE_DOMAIN, ROOST_IOC_CREATE_WORKER,
		ROOST_IOC_WAKE, ROOST_IOC_DOMAIN_STAT, ROOST_IOC_ATTACH,
		ROOST_IOC_DETACH, ROOST_IOC_ENTER,
	};
	unsigned long number = numbers[below(r, 8)];
	char args[16384] = { 0 };
	unsigned int n = one_in(r, 2) ? below(r, 4) : 0;

	if (one_in(r, 8))
		number ^= 1UL << below(r, 32);
	if (one_in(r, 2))
		number = (number & ~((unsigned long)_IOC_SIZEMASK << _IOC_SIZESHIFT)) |
			 (unsigned long)below(r, one_in(r, 2) ? 512 : 16384) <<
			 _IOC_SIZESHIFT;
	while (n--)
		args[below(r, 300)] = (char)rnd(r);
	return call(one_in(r, 8) ? any_fd(r) : any_roost_fd(r), number,
		    place(r, args, sizeof(args)));
}

/* One of ours, or a mapping, whatever still hangs on it. */
int do_close(struct rng *r)
{
	int fd = any_roost_fd(r);

	if (!one_in(r, 6))
		return close_file(r);
	if (one_in(r, 4))
		arena_change(r);
	if (fd < FIRST_FD)
		return -EBADF;
	return close(fd) ? -errno : 0;
}

int do_map(struct rng *r)
{
	unsigned int w = below(r, WORKERS);

	if (one_in(r, 2)) {
		arena_change(r);
		return 0;
	}
	if (one_in(r, 3)) {
		map_domain(r, below(r, DOMAINS));
		return 0;
	}
	return arena_map(r, worker_window(w), workers[w].fd, workers[w].map_size,
			 0) ? 0 : -errno;
}
