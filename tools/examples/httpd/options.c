// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* options.c - what the command line says. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <roost/actor.h>

#include "options.h"

static const char usage_text[] =
"usage: httpd [OPTION]...\n"
"Serves the files of a folder over HTTP/1.1, one actor a connection.\n"
"\n"
"  --addr A             IPv4 address to listen on (127.0.0.1)\n"
"  --port N             port; 0 takes a free one (8080)\n"
"  --root DIR           folder to serve (.)\n"
"  --workers N          workers of the runtime (one a CPU)\n"
"  --backend B          kernel, futex or auto (auto)\n"
"  --idle-timeout S     seconds that a connection may be silent (60)\n"
"  --request-timeout S  seconds for a request to arrive, and for a piece of a\n"
"                       response to be taken (10)\n"
"  --grace S            seconds for running requests after SIGTERM (5)\n"
"  --max-connections N  more than so many get 503 (16000)\n"
"  --cache N            MiB of file contents kept in memory (64)\n"
"  --max-body N         bytes of a request's body thrown away (65536)\n"
"  --stats FILE         write counters as JSON at the end and on SIGUSR1\n"
"  --walk               open paths part by part, without openat2(2)\n"
"\n"
"Seconds may have a fraction.  The address is printed once it listens.\n";

static void __attribute__((noreturn)) wrong(const char *name, const char *value)
{
	fprintf(stderr, "httpd: bad value for --%s: %s\n", name, value);
	exit(2);
}

static unsigned long number(const char *name, const char *value,
			    unsigned long least, unsigned long most)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(value, &end, 10);
	if (errno || end == value || *end || *value == '-' || n < least ||
	    n > most)
		wrong(name, value);
	return n;
}

static uint64_t seconds(const char *name, const char *value)
{
	char *end;
	double s = strtod(value, &end);

	if (end == value || *end || !(s > 0 && s <= 1e6))
		wrong(name, value);
	return (uint64_t)(s * 1e9);
}

static enum roost_backend backend(const char *value)
{
	if (!strcmp(value, "kernel"))
		return ROOST_BACKEND_KERNEL;
	if (!strcmp(value, "futex"))
		return ROOST_BACKEND_FUTEX;
	if (strcmp(value, "auto"))
		wrong("backend", value);
	return ROOST_BACKEND_AUTO;
}

enum {
	ADDR, PORT, ROOT, WORKERS, BACKEND, IDLE, REQUEST, GRACE, MAX, CACHE,
	BODY, STATS, WALK, HELP,
};

static const struct option table[] = {
	{ "addr", required_argument, NULL, ADDR },
	{ "port", required_argument, NULL, PORT },
	{ "root", required_argument, NULL, ROOT },
	{ "workers", required_argument, NULL, WORKERS },
	{ "backend", required_argument, NULL, BACKEND },
	{ "idle-timeout", required_argument, NULL, IDLE },
	{ "request-timeout", required_argument, NULL, REQUEST },
	{ "grace", required_argument, NULL, GRACE },
	{ "max-connections", required_argument, NULL, MAX },
	{ "cache", required_argument, NULL, CACHE },
	{ "max-body", required_argument, NULL, BODY },
	{ "stats", required_argument, NULL, STATS },
	{ "walk", no_argument, NULL, WALK },
	{ "help", no_argument, NULL, HELP },
	{ NULL, 0, NULL, 0 },
};

static void set(struct options *o, int option, const char *value)
{
	switch (option) {
	case ADDR:
		o->addr = value;
		break;
	case PORT:
		o->port = number("port", value, 0, 65535);
		break;
	case ROOT:
		o->root = value;
		break;
	case WORKERS:
		o->workers = number("workers", value, 1, 256);
		break;
	case BACKEND:
		o->backend = backend(value);
		break;
	case IDLE:
		o->idle_timeout = seconds("idle-timeout", value);
		break;
	case REQUEST:
		o->request_timeout = seconds("request-timeout", value);
		break;
	case GRACE:
		o->grace = seconds("grace", value);
		break;
	case MAX:
		o->max_connections = number("max-connections", value, 1,
					    1000000);
		break;
	case CACHE:
		o->cache_bytes = number("cache", value, 0, 65536) << 20;
		break;
	case BODY:
		o->max_body = number("max-body", value, 0, 1UL << 30);
		break;
	case STATS:
		o->stats = value;
		break;
	case WALK:
		o->walk = true;
		break;
	case HELP:
		fputs(usage_text, stdout);
		exit(0);
	default:
		fputs("httpd: try --help\n", stderr);
		exit(2);
	}
}

void options_parse(struct options *o, int argc, char **argv)
{
	int option;

	*o = (struct options) {
		.addr = "127.0.0.1",
		.port = 8080,
		.root = ".",
		.backend = ROOST_BACKEND_AUTO,
		.max_connections = 16000,
		.cache_bytes = 64UL << 20,
		.max_body = 65536,
		.idle_timeout = ROOST_SEC(60),
		.request_timeout = ROOST_SEC(10),
		.grace = ROOST_SEC(5),
	};
	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1)
		set(o, option, optarg);
	if (optind < argc) {
		fprintf(stderr, "httpd: unexpected argument %s\n",
			argv[optind]);
		exit(2);
	}
}
