/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * backend_futex.h - what the two files of the futex backend share:
 * backend_futex.c sleeps, wakes and keeps time, backend_futex_poll.c watches
 * files with one epoll thread.
 */
#ifndef ROOST_LIB_BACKEND_FUTEX_H
#define ROOST_LIB_BACKEND_FUTEX_H

struct fd;
struct runtime;
struct worker;

/** futex_poll_start() - before any worker runs.  Return: 0 or -errno */
int futex_poll_start(struct runtime *rt);

/*
 * futex_poll_end() - after all workers have gone, before what wakes them goes;
 * joins the epoll thread, if it was not done yet
 */
void futex_poll_end(struct runtime *rt);

/* As struct backend's fd_arm and fd_disarm. */
int futex_fd_arm(struct worker *w, struct fd *f);
void futex_fd_disarm(struct worker *w, struct fd *f);

/** futex_poll_data() - where backend_futex_poll.c keeps its own pointer */
void **futex_poll_data(struct runtime *rt);

#endif /* ROOST_LIB_BACKEND_FUTEX_H */
