// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * client.c - drives one echo server and says what it took.
 *
 * Prints one line of tab-separated numbers: requests, nanoseconds for all of
 * them, latency p50, p99 and largest (ns), the server's time on CPUs (ns) and its
 * context switches.  Between the warm-up and the requests, and after them, when
 * nothing is under way, --begin and --end are run by the shell.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "load.h"
#include "server_stat.h"

struct options {
	struct load load;
	uint64_t requests;
	uint64_t warm;
	uint64_t ns;
	int server;
	const char *begin;
	const char *end;
};

static const struct option names[] = {
	{ "address", required_argument, NULL, 'a' },
	{ "connections", required_argument, NULL, 'c' },
	{ "outstanding", required_argument, NULL, 'o' },
	{ "size", required_argument, NULL, 's' },
	{ "requests", required_argument, NULL, 'n' },
	{ "seconds", required_argument, NULL, 't' },
	{ "warm", required_argument, NULL, 'w' },
	{ "server", required_argument, NULL, 'p' },
	{ "patience", required_argument, NULL, 'h' },
	{ "begin", required_argument, NULL, 'b' },
	{ "end", required_argument, NULL, 'e' },
	{ 0 }
};

static unsigned long number(const char *text, unsigned long least,
			    unsigned long most)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	errno = 0;
	if (*end || end == text || n < least || n > most)
		die("%s: not a number from %lu to %lu", text, least, most);
	return n;
}

static void set(struct options *o, int name, char *value)
{
	switch (name) {
	case 'a': o->load.address = value; break;
	case 'c': o->load.connections = number(value, 1, BENCH_MAX_CONNS); break;
	case 'o': o->load.outstanding = number(value, 1, 4096); break;
	case 's': o->load.size = number(value, 8, 65536); break;
	case 'n': o->requests = number(value, 1, 1UL << 40); break;
	case 't': o->ns = number(value, 1, 3600) * 1000000000; break;
	case 'w': o->warm = number(value, 0, 1UL << 40); break;
	case 'p': o->server = number(value, 1, 1UL << 22); break;
	case 'h': o->load.patience_ms = number(value, 1, 3600000); break;
	case 'b': o->begin = value; break;
	case 'e': o->end = value; break;
	default: die("see the top of client.c for the options");
	}
}

static void parse(struct options *o, int argc, char **argv)
{
	int name;

	while ((name = getopt_long(argc, argv, "", names, NULL)) >= 0)
		set(o, name, optarg);
	errno = 0;
	if (!o->load.address || !o->server || optind < argc)
		die("--address and --server are needed, and nothing but options");
	if (o->load.size % 8)
		die("--size: not a multiple of 8");
}

static void run(const char *command)
{
	errno = 0;
	if (command && system(command))
		die("this failed: %s", command);
}

int main(int argc, char **argv)
{
	static struct latency warm, latency;
	struct options o = {
		.load = {
			.connections = 1,
			.outstanding = 1,
			.size = 64,
			.patience_ms = 60000,
		},
		.requests = 10000,
	};
	struct server_stat before, after;
	uint64_t start, requests, ns;

	parse(&o, argc, argv);
	join_batch_class();
	load_open(&o.load);
	load_run(&o.load, o.warm, 0, &warm);

	run(o.begin);
	before = server_stat(o.server);
	start = load_now();
	requests = load_run(&o.load, o.requests, o.ns, &latency);
	ns = load_now() - start;
	after = server_stat(o.server);
	run(o.end);

	load_close(&o.load);
	printf("%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
	       "\t%" PRIu64 "\t%" PRIu64 "\n", requests, ns,
	       latency_quantile(&latency, 0.5), latency_quantile(&latency, 0.99),
	       latency_quantile(&latency, 1), after.cpu_ns - before.cpu_ns,
	       after.switches - before.switches);
	return 0;
}
