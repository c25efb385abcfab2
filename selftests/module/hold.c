// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * hold.c - hold the module in one of the ways in which it can be held, until
 * killed.  Prints "ready" once it does.
 *
 *	hold device	an open descriptor of the device
 *	hold mapping	a mapped ring, all descriptors closed
 *	hold parked	a parked worker
 *	hold armed	an armed timer and a pending file wait
 *	hold crowd	64 parked workers, 10,000 polls, 10,000 timers
 */
#include "../uapi/crowd.h"

static void ready(void)
{
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	const char *how = argc == 2 ? argv[1] : "";
	static struct sleeper s;
	static struct dom d;
	static struct wrk w;
	pthread_t thread;
	int p[2];

	if (!strcmp(how, "crowd")) {
		check(pipe(p) == 0);
		if (!fork())
			crowd(p[1], 10000, 10000);
		close(p[1]);
		check(read(p[0], &s, 1) == 1);
		ready();
	}
	if (!strcmp(how, "device")) {
		check(dev_open() >= 0);
		ready();
	}
	check(dom_make(&d, 4, 4) == 0);
	check(wrk_make(&w, &d, 8, 8) == 0);
	if (!strcmp(how, "mapping")) {
		dom_unmap(&d);
		close(w.fd);
		close(d.fd);
		ready();
	}
	if (!strcmp(how, "parked")) {
		s = (struct sleeper){ &d, &w };
		check(pthread_create(&thread, NULL, sleep_for_ever, &s) == 0);
		check(wait_parked(&d, 0, now_ns() + wide(5 * SEC)));
		ready();
	}
	if (!strcmp(how, "armed")) {
		check(pipe(p) == 0);
		check(submit_one(&w, sqe_timer(0, 1, now_ns() + 3600 * SEC)) ==
		      1);
		check(submit_one(&w, sqe_poll(0, 1, p[0], POLLIN,
					      ROOST_POLL_MULTISHOT)) == 1);
		ready();
	}
	fprintf(stderr, "usage: hold device|mapping|parked|armed|crowd\n");
	return 2;
}
