/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * roost_test.h - the device, bare: what the tests of the interface share.
 *
 * Calls return a count or -errno.  Nothing here knows the library.  Helpers
 * that cannot fail in a healthy system end the program with a message.
 */
#ifndef ROOST_TEST_H
#define ROOST_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/roost.h>

/*
 * Seconds until a test is taken for hung, instead of the harness's 30: with checkers in
 * the kernel, on emulated CPUs that others want as well, much takes that long.
 */
#ifdef TEST_TIMEOUT_DEFAULT
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	300
#endif

#define MSEC	1000000ULL
#define SEC	1000000000ULL

/* A domain and what is mapped of it. */
struct dom {
	int fd;
	struct roost_domain_params params;
	struct roost_control *control;
	uint32_t *events;
};

/* A worker and what is mapped of it; @tail is the SQ tail published. */
struct wrk {
	int fd;
	struct roost_worker_params params;
	struct roost_worker_page *page;
	struct roost_sqe *sq;
	struct roost_cqe *cq;
	uint32_t tail;
};

#define check(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, \
				__LINE__, #condition, errno); \
			_exit(1); \
		} \
	} while (0)

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SEC + (uint64_t)ts.tv_nsec;
}

static inline void sleep_ns(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / SEC), (long)(ns % SEC) };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* A number that the environment may set. */
static inline unsigned long env_number(const char *name, unsigned long unset)
{
	const char *s = getenv(name);

	return s && *s ? strtoul(s, NULL, 0) : unset;
}

/*
 * Rounds of a loop: what the environment says, or those that are usual.  A kernel with
 * checkers does the part of the usual ones that ROOST_SLOW_KERNEL says, and never less
 * than a hundred.
 */
static inline unsigned long rounds_of(const char *name, unsigned long usual)
{
	unsigned long n = usual / env_number("ROOST_SLOW_KERNEL", 1);

	if (n < 100)
		n = usual < 100 ? usual : 100;
	return env_number(name, n);
}

/*
 * Upper limits of times are multiplied by this.  It is ROOST_TIME_FACTOR if that
 * is set; else 20 on an emulated CPU, where a virtual CPU may stand still while
 * the machine does other things, and 1 elsewhere.
 */
static inline unsigned long time_factor(void)
{
	static unsigned long factor;
	char line[256];
	FILE *f;

	if (factor)
		return factor;
	factor = env_number("ROOST_TIME_FACTOR", 0);
	if (factor)
		return factor;
	factor = 1;
	f = fopen("/proc/cpuinfo", "re");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "QEMU TCG"))
			factor = 20;
	if (f)
		fclose(f);
	return factor;
}

static inline uint64_t wide(uint64_t ns)
{
	return ns * time_factor();
}

static inline int call(int fd, unsigned long request, void *arg)
{
	int ret = ioctl(fd, request, arg);

	return ret < 0 ? -errno : ret;
}

static inline int dev_open(void)
{
	int fd = open("/dev/roost", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static inline void *map_fd(int fd, size_t size, uint64_t offset)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)offset);
}

static inline int dom_make_params(struct dom *d,
				  const struct roost_domain_params *params)
{
	int dev = dev_open();

	memset(d, 0, sizeof(*d));
	d->fd = -1;
	if (dev < 0)
		return dev;
	d->params = *params;
	d->fd = call(dev, ROOST_IOC_CREATE_DOMAIN, &d->params);
	close(dev);
	if (d->fd < 0)
		return d->fd;
	d->control = map_fd(d->fd, d->params.control_size, ROOST_OFF_CONTROL);
	if (d->control == MAP_FAILED)
		return -errno;
	if (d->params.events_size) {
		d->events = map_fd(d->fd, d->params.events_size,
				   ROOST_OFF_EVENTS);
		if (d->events == MAP_FAILED)
			return -errno;
	}
	return 0;
}

static inline int dom_make(struct dom *d, uint32_t timers, uint32_t polls)
{
	struct roost_domain_params params = {
		.nr_timers = timers,
		.nr_polls = polls,
	};

	return dom_make_params(d, &params);
}

/* A domain for I/O, and a few timers and polls beside it. */
static inline int dom_make_io(struct dom *d, uint32_t ios, uint32_t files)
{
	struct roost_domain_params params = {
		.nr_timers = 16,
		.nr_polls = 16,
		.nr_ios = ios,
		.nr_files = files,
	};

	return dom_make_params(d, &params);
}

static inline void dom_unmap(struct dom *d)
{
	if (d->control && d->control != MAP_FAILED)
		munmap(d->control, d->params.control_size);
	if (d->events && d->events != MAP_FAILED)
		munmap(d->events, d->params.events_size);
	d->control = NULL;
	d->events = NULL;
}

static inline int wrk_make(struct wrk *w, const struct dom *d, uint32_t sq,
			   uint32_t cq)
{
	char *map;

	memset(w, 0, sizeof(*w));
	w->params.sq_entries = sq;
	w->params.cq_entries = cq;
	w->fd = call(d->fd, ROOST_IOC_CREATE_WORKER, &w->params);
	if (w->fd < 0)
		return w->fd;
	map = map_fd(w->fd, w->params.map_size, 0);
	if (map == MAP_FAILED)
		return -errno;
	w->page = (void *)map;
	w->sq = (void *)(map + w->params.sq_offset);
	w->cq = (void *)(map + w->params.cq_offset);
	w->tail = w->page->sq_tail;
	return 0;
}

static inline int attach(const struct wrk *w)
{
	struct roost_attach a = { 0 };

	return call(w->fd, ROOST_IOC_ATTACH, &a);
}

static inline int detach(const struct wrk *w)
{
	return call(w->fd, ROOST_IOC_DETACH, NULL);
}

/* Publish an entry; the ring must have room. */
static inline void push(struct wrk *w, const struct roost_sqe *sqe)
{
	uint32_t head = __atomic_load_n(&w->page->sq_head, __ATOMIC_ACQUIRE);

	check(w->tail - head < w->params.sq_entries);
	w->sq[w->tail % w->params.sq_entries] = *sqe;
	__atomic_store_n(&w->page->sq_tail, ++w->tail, __ATOMIC_RELEASE);
}

static inline uint32_t staged(const struct wrk *w)
{
	return w->tail - __atomic_load_n(&w->page->sq_head, __ATOMIC_ACQUIRE);
}

static inline int enter(const struct wrk *w, struct roost_enter *e)
{
	return call(w->fd, ROOST_IOC_ENTER, e);
}

/* Hand over what is published; returns how many entries were consumed. */
static inline int submit(struct wrk *w)
{
	struct roost_enter e = { .to_submit = staged(w) };
	int ret = enter(w, &e);

	return ret < 0 ? ret : (int)e.submitted;
}

/* Take one completion, if there is one. */
static inline bool pop(struct wrk *w, struct roost_cqe *cqe)
{
	uint32_t head = w->page->cq_head;

	if (head == __atomic_load_n(&w->page->cq_tail, __ATOMIC_ACQUIRE))
		return false;
	*cqe = w->cq[head % w->params.cq_entries];
	__atomic_store_n(&w->page->cq_head, head + 1, __ATOMIC_RELEASE);
	return true;
}

static inline uint32_t sample(const struct dom *d)
{
	return __atomic_load_n(&d->control->event, __ATOMIC_ACQUIRE);
}

/* The byte of the idle mask that has the bit: atomic in 32-bit processes, too. */
static inline uint8_t *idle_byte(const struct dom *d, const struct wrk *w)
{
	return (uint8_t *)d->control->idle + w->params.index / 8;
}

static inline uint8_t idle_bit_of(const struct wrk *w)
{
	return (uint8_t)(1U << (w->params.index % 8));
}

static inline bool idle_bit(const struct dom *d, const struct wrk *w)
{
	return __atomic_load_n(idle_byte(d, w), __ATOMIC_ACQUIRE) &
	       idle_bit_of(w);
}

static inline void set_idle(const struct dom *d, const struct wrk *w)
{
	__atomic_fetch_or(idle_byte(d, w), idle_bit_of(w), __ATOMIC_SEQ_CST);
}

static inline bool clear_idle(const struct dom *d, const struct wrk *w)
{
	return __atomic_fetch_and(idle_byte(d, w), (uint8_t)~idle_bit_of(w),
				  __ATOMIC_SEQ_CST) & idle_bit_of(w);
}

/* Park with the sample @event; the idle bit was published before. */
static inline int park_published(struct wrk *w, uint32_t event,
				 uint64_t deadline, uint32_t *outcome)
{
	struct roost_enter e = {
		.flags = ROOST_ENTER_PARK,
		.to_submit = staged(w),
		.deadline = deadline,
		.event = event,
	};
	int ret = enter(w, &e);

	*outcome = e.outcome;
	return ret;
}

/* Publish the idle bit and park, for who has nothing more to look at. */
static inline int park_with(const struct dom *d, struct wrk *w, uint32_t event,
			    uint64_t deadline, uint32_t *outcome)
{
	set_idle(d, w);
	return park_published(w, event, deadline, outcome);
}

static inline int park(const struct dom *d, struct wrk *w, uint64_t deadline,
		       uint32_t *outcome)
{
	return park_with(d, w, sample(d), deadline, outcome);
}

/*
 * Take one completion, parking until there is one.  Returns 0; -ETIMEDOUT once
 * @deadline has passed; -errno of ENTER.
 */
static inline int wait_pop(const struct dom *d, struct wrk *w,
			   struct roost_cqe *cqe, uint64_t deadline)
{
	uint32_t event, outcome;
	int ret;

	for (;;) {
		event = sample(d);
		if (pop(w, cqe))
			return 0;
		if (now_ns() >= deadline)
			return -ETIMEDOUT;
		ret = park_with(d, w, event, deadline, &outcome);
		if (ret < 0 && ret != -EINTR)
			return ret;
	}
}

static inline int wake(const struct dom *d, uint32_t flags, uint32_t index)
{
	struct roost_wake w = { .flags = flags, .index = index };

	return call(d->fd, ROOST_IOC_WAKE, &w);
}

static inline struct roost_domain_stat stat_of(const struct dom *d)
{
	struct roost_domain_stat s = { 0 };

	check(call(d->fd, ROOST_IOC_DOMAIN_STAT, &s) == 0);
	return s;
}

/* Entries that are often used. */
static inline struct roost_sqe sqe_nop(uint64_t id)
{
	return (struct roost_sqe){ .opcode = ROOST_OP_NOP, .op_id = id };
}

static inline struct roost_sqe sqe_timer(uint32_t index, uint32_t sequence,
					 uint64_t deadline)
{
	return (struct roost_sqe){
		.opcode = ROOST_OP_TIMER_SET,
		.op_id = roost_op_id(index, sequence),
		.deadline = deadline,
	};
}

static inline struct roost_sqe sqe_timer_cancel(uint32_t index,
						uint32_t sequence,
						uint8_t flags)
{
	return (struct roost_sqe){
		.opcode = ROOST_OP_TIMER_CANCEL,
		.flags = flags,
		.op_id = roost_op_id(index, sequence),
	};
}

static inline struct roost_sqe sqe_poll(uint32_t index, uint32_t sequence,
					int fd, uint32_t events, uint8_t flags)
{
	return (struct roost_sqe){
		.opcode = ROOST_OP_POLL_ADD,
		.flags = flags,
		.fd = fd,
		.op_id = roost_op_id(index, sequence),
		.events = events,
	};
}

static inline struct roost_sqe sqe_poll_remove(uint32_t index,
					       uint32_t sequence,
					       uint8_t flags)
{
	return (struct roost_sqe){
		.opcode = ROOST_OP_POLL_REMOVE,
		.flags = flags,
		.op_id = roost_op_id(index, sequence),
	};
}

/* Push one and hand it over; 1 if it was consumed. */
static inline int submit_one(struct wrk *w, struct roost_sqe sqe)
{
	push(w, &sqe);
	return submit(w);
}

/* Wait until the worker's carrier sleeps in the kernel. */
static inline bool wait_parked(const struct dom *d, uint32_t index,
			       uint64_t deadline)
{
	struct roost_domain_stat s;

	do {
		s = stat_of(d);
		if (s.parked[index / 64] >> (index % 64) & 1)
			return true;
		sleep_ns(MSEC / 5);
	} while (now_ns() < deadline);
	return false;
}

static inline uint64_t random_next(uint64_t *state)
{
	/* xorshift64*, S. Vigna (2016) */
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

#endif /* ROOST_TEST_H */
