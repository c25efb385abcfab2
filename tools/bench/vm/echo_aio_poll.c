// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * echo_aio_poll.c - Linux aio tells what is ready (one-shot polls, armed again in
 * a batch); recv(2) and send(2) do the I/O.
 */
#include <errno.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server.h"

#define BATCH	256

static aio_context_t context;
static struct iocb polls[BENCH_MAX_FDS];

/* To be armed by the next submit(). */
static struct iocb *staged[BENCH_MAX_FDS];
static long nr_staged;

static void watch(int fd)
{
	polls[fd] = (struct iocb){
		.aio_data = fd,
		.aio_lio_opcode = IOCB_CMD_POLL,
		.aio_fildes = fd,
		.aio_buf = POLLIN,
	};
	staged[nr_staged++] = &polls[fd];
}

static void submit(void)
{
	long done = 0, n;

	while (done < nr_staged) {
		n = syscall(SYS_io_submit, context, nr_staged - done,
			    staged + done);
		if (n <= 0)
			die("io_submit");
		done += n;
	}
	nr_staged = 0;
}

static void handle(int listener, const struct io_event *event)
{
	int fd = event->data;

	if (event->res < 0) {
		errno = -event->res;
		die("poll of descriptor %d", fd);
	}
	if (fd == listener) {
		while ((fd = server_accept(listener)) >= 0)
			watch(fd);
		watch(listener);
	} else if (server_echo(fd, false) == SERVER_CLOSED) {
		close(fd);
	} else {
		watch(fd);
	}
}

int main(int argc, char **argv)
{
	int listener = server_listen(argc, argv);
	struct io_event event[BATCH];
	long n, i;

	if (syscall(SYS_io_setup, BENCH_MAX_FDS, &context))
		die("io_setup");
	watch(listener);
	server_ready();
	for (;;) {
		submit();
		n = syscall(SYS_io_getevents, context, 1, BATCH, event, NULL);
		if (n < 0 && errno != EINTR)
			die("io_getevents");
		for (i = 0; i < n; i++)
			handle(listener, &event[i]);
	}
}
