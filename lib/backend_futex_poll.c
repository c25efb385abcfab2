// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * backend_futex_poll.c - the futex backend's watch over files: one epoll set,
 * one thread.
 *
 * Registrations are edge-triggered and carry the descriptor's number and the
 * sequence of the arm, never a pointer (S3-39).  epoll knows a registration by
 * number and open file.  So when a number was closed and reused while the old
 * file lives on through a duplicate, the old registration stays in the set, and
 * nobody can name it any more; it reports with an old sequence and is dropped.
 * Since it is edge-triggered, it costs one wake-up of the thread for each thing
 * that really happens to the old file and cannot make it spin.
 *
 * A file that is not managed stays in the set when nobody waits for it any
 * more: the next wait then takes one call, not two.  The first event that
 * nobody asked for takes it out.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "backend_futex.h"
#include "fd.h"
#include "io_sys.h"
#include "log.h"
#include "runtime.h"

#define BATCH	64

/* data.u64 of the eventfd: no descriptor has this number. */
#define TAG_END	(~(uint64_t)0)

/**
 * struct poller - the epoll thread of a runtime
 * @rt:		whose
 * @set:	the epoll descriptor
 * @end:	eventfd, readable when the thread is to end
 * @thread:	the thread
 */
struct poller {
	struct runtime *rt;
	int set;
	int end;
	pthread_t thread;
};

static struct poller *poller_of(struct runtime *rt)
{
	return *futex_poll_data(rt);
}

static uint64_t tag_make(const struct fd *f)
{
	return (uint64_t)f->sequence << 32 | (uint32_t)f->number;
}

static uint32_t tag_number(uint64_t tag)
{
	return (uint32_t)tag;
}

static uint32_t tag_sequence(uint64_t tag)
{
	return (uint32_t)(tag >> 32);
}

/*
 * Nobody asked for this event.  If nobody wants any of that number, take it
 * out; under the lock, so that it is not an arm just made that is undone.  The
 * number may be closed or be another file's by now: then there is nothing to
 * take out, and no error worth a word (S3-41).
 */
static void let_go(struct poller *p, uint32_t number)
{
	struct fd *f = fd_find(p->rt->fds, number);

	if (!f)
		return;
	spin_lock(&f->lock);
	if (!f->armed) {
		sys_epoll_change(p->set, EPOLL_CTL_DEL, f->number, NULL);
		f->worker = 0;
	}
	spin_unlock(&f->lock);
}

static void *poller_main(void *arg)
{
	struct epoll_event events[BATCH];
	struct poller *p = arg;
	int i, n;

	for (;;) {
		n = epoll_wait(p->set, events, BATCH, -1);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			log_fatal("epoll_wait: %s", strerror(errno));
		}
		for (i = 0; i < n; i++) {
			uint64_t tag = events[i].data.u64;

			if (tag == TAG_END)
				return NULL;
			if (!fd_event(p->rt, tag_number(tag), tag_sequence(tag),
				      events[i].events))
				let_go(p, tag_number(tag));
		}
	}
}

/* Signals are for the program's own threads. */
static int thread_start(struct poller *p)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&p->thread, NULL, poller_main, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return -err;
	pthread_setname_np(p->thread, "roost-poll");
	return 0;
}

int futex_poll_start(struct runtime *rt)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = TAG_END };
	struct poller *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->rt = rt;
	p->set = epoll_create1(EPOLL_CLOEXEC);
	if (p->set < 0) {
		err = -errno;
		goto err_free;
	}
	p->end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->end < 0) {
		err = -errno;
		goto err_close_set;
	}
	if (epoll_ctl(p->set, EPOLL_CTL_ADD, p->end, &ev)) {
		err = -errno;
		goto err_close_end;
	}
	*futex_poll_data(rt) = p;
	err = thread_start(p);
	if (err)
		goto err_close_end;
	return 0;

err_close_end:
	*futex_poll_data(rt) = NULL;
	close(p->end);
err_close_set:
	close(p->set);
err_free:
	free(p);
	return err;
}

void futex_poll_end(struct runtime *rt)
{
	struct poller *p = poller_of(rt);
	uint64_t one = 1;

	if (!p)
		return;
	/* Cannot fail: the counter is 0, and the call does not block. */
	if (write(p->end, &one, sizeof(one)) != (ssize_t)sizeof(one))
		log_fatal("eventfd: %s", strerror(errno));
	pthread_join(p->thread, NULL);
	*futex_poll_data(rt) = NULL;
	close(p->end);
	close(p->set);
	free(p);
}

/*
 * Modifying looks at the file again, as adding does, so either is a fresh arm.
 * Which one it must be is a guess: the number may have been closed and reused.
 * Both being wrong means that this happened just now, so try again.
 */
int futex_fd_arm(struct worker *w, struct fd *f)
{
	struct poller *p = poller_of(w->rt);
	struct epoll_event ev = {
		.events = f->events | EPOLLET,
		.data.u64 = tag_make(f),
	};
	int op = f->worker ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	int err;

	f->worker = 0;
	while ((err = sys_epoll_change(p->set, op, f->number, &ev))) {
		if (op == EPOLL_CTL_MOD && err == -ENOENT)
			op = EPOLL_CTL_ADD;
		else if (op == EPOLL_CTL_ADD && err == -EEXIST)
			op = EPOLL_CTL_MOD;
		else
			return err;
	}
	f->worker = 1;
	return 0;
}

/*
 * What is managed, or has waiters left, is about to be closed: take it out, a
 * duplicate may keep the file.  Else leave it to let_go().
 */
void futex_fd_disarm(struct worker *w, struct fd *f)
{
	if (!f->managed && list_empty(&f->waiters))
		return;
	sys_epoll_change(poller_of(w->rt)->set, EPOLL_CTL_DEL, f->number, NULL);
	f->worker = 0;
}
