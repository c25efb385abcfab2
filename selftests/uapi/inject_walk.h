/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* inject_walk.h - what a step of inject_test.c needs, does and looks at. */
#ifndef ROOST_TEST_INJECT_WALK_H
#define ROOST_TEST_INJECT_WALK_H

#include <sys/eventfd.h>

#include "inject.h"
#include "io_help.h"

#define NR_TIMERS	16
#define NR_IOS		16
#define STEPS		400U

/* What there is for a step; made anew for each, so that all is used first. */
struct world {
	struct dom d;
	struct wrk w;
	int dev, s[2], event;
	uint32_t sequence, numbers;
	uint64_t limit;
	/* of the call at hand, kept from a failure to the call that succeeds */
	union {
		struct roost_info info;
		struct roost_domain_params domain;
		struct roost_worker_params worker;
		struct roost_wake wake;
		struct roost_domain_stat stat;
		struct roost_attach attach;
		struct {
			struct roost_enter enter;
			uint64_t more[8];
		};
	} arg;
	void *map;
	size_t map_size;
	/* buffers of ops */
	struct msghdr msg;
	struct iovec iov;
	char control[CMSG_SPACE(sizeof(int))];
	struct sockaddr_in name;
	char in[64], out[64];
};

/* The device alone, a domain, a worker, a worker with a carrier. */
enum level { DEVICE, DOMAIN, WORKER, CARRIER };

/**
 * struct row - something that may fail
 * @what:	its name
 * @level:	what it needs
 * @before:	makes that it can succeed; each time
 * @call:	the call: what it returns or -errno
 * @sqe:	instead: an op to be handed over
 * @good:	what comes when nothing fails; for descriptors and counts, the least
 * @waits:	the op is armed then, and does not complete
 * @errors:	what may come instead
 * @after:	undoes it
 */
struct row {
	const char *what;
	enum level level;
	void (*before)(struct world *x);
	int (*call)(struct world *x);
	struct roost_sqe (*sqe)(struct world *x);
	int good;
	bool waits;
	int errors[4];
	void (*after)(struct world *x, int ret);
};

static void world_make(struct world *x, enum level level)
{
	memset(x, 0, sizeof(*x));
	x->dev = x->d.fd = x->w.fd = x->s[0] = x->s[1] = x->event = -1;
	x->limit = now_ns() + wide(SEC);
	x->dev = dev_open();
	check(x->dev >= 0);
	if (level >= DOMAIN)
		check(dom_make_io(&x->d, NR_IOS, 1024) == 0);
	if (level >= WORKER)
		check(wrk_make(&x->w, &x->d, 8, 16) == 0);
	if (level >= CARRIER)
		check(attach(&x->w) == 0);
	memset(x->out, 'o', sizeof(x->out));
}

static void world_end(struct world *x)
{
	const int fds[] = { x->dev, x->w.fd, x->s[0], x->s[1], x->event, x->d.fd };
	unsigned int i;

	if (x->w.page)
		munmap(x->w.page, x->w.params.map_size);
	dom_unmap(&x->d);
	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* Everything that was made is still good for something. */
static const char *damage(struct world *x, enum level level)
{
	struct roost_domain_stat s;
	struct roost_cqe cqe;

	if (level >= WORKER) {
		if (submit_one(&x->w, sqe_nop(77)) != 1 || !pop(&x->w, &cqe) ||
		    cqe.user_data != 77 || cqe.res)
			return "a NOP does not come back";
	}
	if (level >= DOMAIN) {
		s = stat_of(&x->d);
		if (s.workers != (level >= WORKER))
			return "workers";
		if (s.timers_pending || s.polls_armed || s.ios_pending ||
		    s.overflow_pending)
			return "something is armed";
		if (s.files)
			return "a file is registered";
	}
	return NULL;
}

static unsigned long nr_armed(const struct world *x)
{
	struct roost_domain_stat s = stat_of(&x->d);

	return s.timers_pending + s.polls_armed + s.ios_pending;
}

/*
 * The op, and its completion; @row->good if it is armed and should be, -ECHILD if
 * it is neither armed nor complete.
 */
static int call_op(struct world *x, const struct row *row, unsigned int nth,
		   bool *came)
{
	struct roost_sqe sqe = row->sqe(x);
	struct roost_enter e = { .to_submit = 1 };
	struct roost_cqe cqe;
	int ret;

	sqe.op_id = roost_op_id(sqe.op_id, ++x->sequence);
	push(&x->w, &sqe);
	inject_set(nth);
	ret = enter(&x->w, &e);
	*came = inject_end();
	/* ENTER has nothing that can fail; what it hands over has */
	if (ret || e.submitted != 1)
		return -EPROTO;
	if (pop(&x->w, &cqe))
		return cqe.user_data == sqe.op_id ? cqe.res : -EBADMSG;
	if (row->waits)
		return nr_armed(x) == 1 ? row->good : -ECHILD;
	if (sqe.opcode == ROOST_OP_SKIP)
		return row->good;
	ret = wait_pop(&x->d, &x->w, &cqe, x->limit);
	return ret ?: cqe.res;
}

static int attempt(struct world *x, const struct row *row, unsigned int nth,
		   bool *came)
{
	int ret;

	if (row->before)
		row->before(x);
	if (row->sqe)
		return call_op(x, row, nth, came);
	inject_set(nth);
	ret = row->call(x);
	*came = inject_end();
	return ret;
}

static bool good(const struct row *row, int ret)
{
	return row->call ? ret >= row->good : ret == row->good;
}

static bool documented(const struct row *row, int ret)
{
	unsigned int i;

	for (i = 0; i < 4 && row->errors[i]; i++)
		if (ret == -row->errors[i])
			return true;
	return false;
}

/* References go soon after the last descriptor. */
static long refs_settled(long expected)
{
	uint64_t limit = now_ns() + wide(5 * SEC);
	long n;

	while ((n = module_refs()) != expected && now_ns() < limit)
		sleep_ns(MSEC);
	return n;
}

/* One step: what was wrong, or NULL. */
static const char *step(const struct row *row, unsigned int nth, int *ret,
			bool *came)
{
	static char text[128];
	const char *wrong;
	struct world x;
	bool none;
	int fd;

	world_make(&x, row->level);
	fd = lowest_free_fd();
	*ret = attempt(&x, row, nth, came);
	if (!good(row, *ret) && !(*came && documented(row, *ret))) {
		snprintf(text, sizeof(text), "result %d%s", *ret,
			 *came ? "" : ", and nothing was injected");
		return text;
	}
	if (row->after)
		row->after(&x, *ret);
	wrong = damage(&x, row->level);
	if (wrong)
		return wrong;
	if (!good(row, *ret)) {
		int again = attempt(&x, row, 0, &none);

		if (!good(row, again)) {
			snprintf(text, sizeof(text), "then again: %d", again);
			return text;
		}
		if (row->after)
			row->after(&x, again);
		wrong = damage(&x, row->level);
		if (wrong)
			return wrong;
	}
	if (x.s[0] < 0 && x.event < 0 && lowest_free_fd() != fd)
		return "a descriptor was lost";
	world_end(&x);
	return NULL;
}

/* Calls of all rows that failed as they were made to. */
static unsigned long all_failed;

/*
 * The walk of a row; false if anything was wrong.  With ROOST_SHORT memory is short
 * from every fifth point on only; that one thing fails is never left out.
 */
static bool walk(const struct row *row)
{
	unsigned int stride = inject_kind && env_number("ROOST_SHORT", 0) ? 5 : 1;
	long refs = module_refs(), objects, left;
	unsigned int nth, at = 0, injected = 0, failed = 0;
	const char *wrong;
	bool came;
	int ret;

	/* what the first one makes for good, for this process */
	wrong = step(row, 0, &ret, &came);
	objects = module_objects();
	for (nth = 1; !wrong && nth < STEPS; nth += stride) {
		at = nth;
		wrong = step(row, nth, &ret, &came);
		injected += came;
		failed += !good(row, ret);
		left = refs_settled(refs);
		if (!wrong && left != refs)
			wrong = "the module is held";
		if (!came)
			break;
	}
	if (!wrong && module_objects() > objects)
		wrong = "objects in the module's caches";
	if (!wrong && nth >= STEPS)
		wrong = "it does not come to an end";
	if (!wrong && !inject_kind && row->errors[0] && !failed)
		wrong = "nothing ever failed";
	printf("# %s, %s: %u steps with failures, %u calls failed\n",
	       inject_kind ? inject_kind->name : "one", row->what, injected,
	       failed);
	if (wrong)
		printf("# %s, failure %u: %s\n", row->what, at, wrong);
	all_failed += failed;
	return !wrong;
}

#endif /* ROOST_TEST_INJECT_WALK_H */
