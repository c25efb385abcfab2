// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * client.c - drives one echo server and says what it took.
 *
 * Prints one line of tab-separated numbers: requests, nanoseconds for all of
 * them, latency p50, p99 and largest (ns), the server's time on CPUs (ns) and its
 * context switches.
 *
 * With --counted so many requests follow, and --begin and --end are run by the
 * shell before and after them.  Each of the parts (warm-up, requests, counted
 * ones) begins and ends with nothing under way.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "load.h"
#include "server_stat.h"

enum {
	CONNECTIONS, OUTSTANDING, SIZE, REQUESTS, SECONDS, WARM, COUNTED,
	SERVER, PATIENCE
};

static struct {
	const char *name;
	uint64_t value;
	uint64_t least;
	uint64_t most;
} numbers[] = {
	[CONNECTIONS] = { "--connections", 1, 1, BENCH_MAX_CONNS },
	[OUTSTANDING] = { "--outstanding", 1, 1, 4096 },
	[SIZE] = { "--size", 64, 8, 65536 },
	[REQUESTS] = { "--requests", 10000, 1, 1ULL << 40 },
	[SECONDS] = { "--seconds", 0, 1, 3600 },	/* instead of requests */
	[WARM] = { "--warm", 0, 0, 1ULL << 40 },
	[COUNTED] = { "--counted", 0, 0, 1ULL << 40 },
	[SERVER] = { "--server", 0, 1, 1ULL << 22 },	/* its process */
	[PATIENCE] = { "--patience", 60000, 1, 3600000 },	/* ms */
};

enum { ADDRESS, BEGIN, END };

static struct {
	const char *name;
	const char *value;
} texts[] = {
	[ADDRESS] = { "--address", NULL },
	[BEGIN] = { "--begin", NULL },
	[END] = { "--end", NULL },
};

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

static void set_number(size_t i, const char *text)
{
	char *end;

	numbers[i].value = strtoull(text, &end, 10);
	if (*end || end == text || numbers[i].value < numbers[i].least ||
	    numbers[i].value > numbers[i].most)
		die("%s %s: not a number from %" PRIu64 " to %" PRIu64,
		    numbers[i].name, text, numbers[i].least, numbers[i].most);
}

static void set(const char *name, const char *value)
{
	size_t i;

	for (i = 0; i < NR(numbers); i++)
		if (!strcmp(name, numbers[i].name)) {
			set_number(i, value);
			return;
		}
	for (i = 0; i < NR(texts); i++)
		if (!strcmp(name, texts[i].name)) {
			texts[i].value = value;
			return;
		}
	die("%s: no such option", name);
}

static void parse(int argc, char **argv)
{
	int i;

	errno = 0;
	for (i = 1; i < argc; i += 2) {
		if (i + 1 == argc)
			die("%s needs an argument", argv[i]);
		set(argv[i], argv[i + 1]);
	}
	if (!texts[ADDRESS].value || !numbers[SERVER].value)
		die("--address and --server are needed");
	if (numbers[SIZE].value % 8)
		die("--size: not a multiple of 8");
}

static void run(const char *command)
{
	errno = 0;
	if (command && system(command))
		die("this failed: %s", command);
}

static void report(uint64_t requests, uint64_t ns, const struct latency *latency,
		   const struct server_stat *before,
		   const struct server_stat *after)
{
	printf("%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
	       "\t%" PRIu64 "\t%" PRIu64 "\n", requests, ns,
	       latency_quantile(latency, 0.5), latency_quantile(latency, 0.99),
	       latency_quantile(latency, 1), after->cpu_ns - before->cpu_ns,
	       after->switches - before->switches);
}

int main(int argc, char **argv)
{
	static struct latency latency, ignored;
	struct server_stat before, after;
	uint64_t start, requests, ns;
	struct load load;

	parse(argc, argv);
	load = (struct load){
		.address = texts[ADDRESS].value,
		.connections = numbers[CONNECTIONS].value,
		.outstanding = numbers[OUTSTANDING].value,
		.size = numbers[SIZE].value,
		.patience_ms = numbers[PATIENCE].value,
	};
	join_batch_class();
	load_open(&load);
	load_run(&load, numbers[WARM].value, 0, &ignored);

	before = server_stat(numbers[SERVER].value);
	start = load_now();
	requests = load_run(&load, numbers[REQUESTS].value,
			    numbers[SECONDS].value * 1000000000, &latency);
	ns = load_now() - start;
	after = server_stat(numbers[SERVER].value);

	if (numbers[COUNTED].value) {
		run(texts[BEGIN].value);
		load_run(&load, numbers[COUNTED].value, 0, &ignored);
		run(texts[END].value);
	}
	load_close(&load);
	report(requests, ns, &latency, &before, &after);
	return 0;
}
