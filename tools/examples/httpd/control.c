// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * control.c - the root actor: signals, and the order of the end.
 *
 * The end, in phases: no new connections; idle ones are closed, busy ones
 * finish their response; when the grace time has passed, the rest is stopped.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn.h"

#define SWEEP	ROOST_MSEC(20)

static void watched(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGUSR1);
}

void control_block_signals(void)
{
	sigset_t set;

	watched(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Obey signals until one of them, or a failure, says to end. */
static void obey(struct server *s, int fd)
{
	struct signalfd_siginfo info;
	int events;

	for (;;) {
		events = roost_fd_wait(fd, POLLIN, ROOST_FOREVER);
		if (events < 0) {
			fprintf(stderr, "httpd: signals: error %d\n", -events);
			return;
		}
		while (read(fd, &info, sizeof(info)) == sizeof(info)) {
			if (info.ssi_signo != SIGUSR1)
				return;
			stats_write(s);
		}
	}
}

static bool all_gone(struct server *s)
{
	return !atomic_load(&s->open) && !atomic_load(&s->refusing);
}

static void wind_down(struct server *s)
{
	uint64_t end = roost_after(s->options.grace);

	/* Before the first sweep: see read_head(). */
	atomic_store(&s->stopping, true);
	roost_stop(s->acceptor);
	roost_join(s->acceptor, ROOST_FOREVER);
	roost_close(s->listener);
	while (!all_gone(s) && roost_now() < end) {
		conn_close_idle(s);
		roost_sleep(SWEEP);
	}
	while (!all_gone(s)) {
		conn_stop_all(s);
		roost_sleep(SWEEP);
	}
}

/* Now that somebody accepts; with port 0 the system has chosen one. */
static void say_where(const struct server *s)
{
	struct sockaddr_in sa = { 0 };
	socklen_t len = sizeof(sa);

	if (getsockname(s->listener, (struct sockaddr *)&sa, &len))
		return;
	printf("listening on %s:%u\n", s->options.addr, ntohs(sa.sin_port));
	fflush(stdout);
}

void control_main(void *arg)
{
	struct server *s = arg;
	sigset_t set;
	int fd, err;

	watched(&set);
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0) {
		perror("httpd: signalfd");
		return;
	}
	err = roost_fd_adopt(s->listener);
	if (!err)
		err = roost_spawn(accept_main, s, &s->acceptor);
	if (err) {
		fprintf(stderr, "httpd: cannot accept: error %d\n", -err);
	} else {
		say_where(s);
		obey(s, fd);
		wind_down(s);
	}
	stats_write(s);
	close(fd);
}
