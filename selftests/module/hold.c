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
 *	hold io		64 connections with ops that wait, and 8 whose carriers
 *			are stuck in them; half of the files registered
 */
#include "../uapi/crowd.h"
#include "../uapi/io_help.h"

static void ready(void)
{
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}

#define CONNECTIONS	64
#define STUCK		8

/* Ops in both directions on each connection, some with deadlines. */
static void arm_ops(struct wrk *w)
{
	static char in[64], out[64];
	struct roost_sqe sqe[3];
	int i, k, s[2];

	for (i = 0; i < CONNECTIONS; i++) {
		if (i & 1)
			tcp_pair(s);
		else
			unix_pair(s, SOCK_STREAM);
		if (!(i & 1))
			fill_socket(s[0]);
		sqe[0] = sqe_recv(roost_op_id(3 * i, 1), s[0], in, 64);
		sqe[1] = i & 1 ? sqe_send_recv(roost_op_id(3 * i + 1, 1), s[0],
					       out, 64, in, 64) :
				 sqe_send(roost_op_id(3 * i + 1, 1), s[0], out,
					  64);
		sqe[2] = sqe_io(ROOST_OP_READ, roost_op_id(3 * i + 2, 1), s[0],
				in, 64);
		sqe[2].deadline = now_ns() + 3600 * SEC;
		for (k = 0; k < 3; k++)
			check(submit_one(w, i & 2 ? on_file(sqe[k], 1) :
						    sqe[k]) == 1);
	}
}

/* Ops that are being carried out, and will be for ever. */
static void get_stuck(struct dom *d, struct wrk *w)
{
	static struct carrier c[STUCK];
	struct roost_sqe sqe;
	int i, s[2];

	for (i = 0; i < STUCK; i++) {
		struct hold h;

		hold_make(&h);
		unix_pair(s, SOCK_STREAM);
		check(write(s[1], "x", 1) == 1);
		check(wrk_make(&w[i], d, 8, 8) == 0);
		sqe = sqe_recv(roost_op_id(3 * CONNECTIONS + i, 1), s[0],
			       h.page, 64);
		if (i & 1)
			sqe = on_file(sqe, 1);
		push(&w[i], &sqe);
		carrier_start(&c[i], &w[i]);
		check(hold_wait(&h, wide(5 * SEC)));
	}
}

static void hold_io(void)
{
	static struct wrk w[1 + STUCK];
	struct dom d;

	check(dom_make_io(&d, 1024, 1024) == 0);
	check(wrk_make(&w[0], &d, 256, 256) == 0);
	get_stuck(&d, w + 1);
	arm_ops(&w[0]);
	check(stat_of(&d).ios_pending == 3 * CONNECTIONS + STUCK);
	check(stat_of(&d).files == CONNECTIONS / 2 + STUCK / 2);
	ready();
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
	if (!strcmp(how, "io"))
		hold_io();
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
	fprintf(stderr, "usage: hold device|mapping|parked|armed|crowd|io\n");
	return 2;
}
