// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* main.c - roostctl: the command line. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* Operands that a command takes, and whether it must have the first. */
struct command {
	const char *name;
	void (*run)(struct session *s, const struct options *o);
	int operands;
	bool needs_domain;
	const char *options;
	const char *help;
};

static const struct command commands[] = {
	{ "list", command_list, 0, false, "j",
	  "list                     the domains there are" },
	{ "show", command_show, 1, true, "j",
	  "show DOMAIN              one domain and its workers" },
	{ "stat", command_stat, 1, false, "jic",
	  "stat [-i SEC [-c N]] [DOMAIN]\n"
	  "                           counters, or how they change" },
	{ "watch", command_watch, 0, false, "jc",
	  "watch [-c N]             what comes and goes, as it happens" },
	{ "limits", command_limits, 0, false, "j",
	  "limits                   the module's parameters" },
	{ "wake", command_wake, 2, true, "j",
	  "wake DOMAIN [WORKER]     wake a worker, or all" },
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *to)
{
	unsigned int i;

	fprintf(to, "usage: roostctl COMMAND [--json] ...\n\n");
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(to, "  %s\n", commands[i].help);
	fprintf(to, "\nSee roostctl(8).\n");
}

static unsigned long number(const char *text, unsigned long most,
			    const char *what)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value > most)
		die(EXIT_USAGE, "'%s' is no %s", text, what);
	return value;
}

static double seconds(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value > 0 && value <= 1e6))
		die(EXIT_USAGE, "'%s' is no number of seconds", text);
	return value;
}

static const struct command *find(const char *name)
{
	unsigned int i;

	for (i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	die(EXIT_USAGE, "no command '%s'; roostctl --help lists them", name);
}

static void get_options(const struct command *c, struct options *o, int argc,
			char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "interval", required_argument, NULL, 'i' },
		{ "count", required_argument, NULL, 'c' },
		{ }
	};
	int option;

	while ((option = getopt_long(argc, argv, "ji:c:", longs, NULL)) != -1) {
		if (option == '?')
			exit(EXIT_USAGE);
		if (!strchr(c->options, option))
			die(EXIT_USAGE, "%s has no option -%c", c->name, option);
		switch (option) {
		case 'j':
			o->json = true;
			break;
		case 'i':
			o->interval = seconds(optarg);
			break;
		case 'c':
			o->count = number(optarg, ULONG_MAX, "count");
			break;
		}
	}
	if (o->count && !o->interval && c->run == command_stat)
		die(EXIT_USAGE, "stat takes -c with -i only");
}

static void get_operands(const struct command *c, struct options *o, int n,
			 char **operands)
{
	if (n > c->operands)
		die(EXIT_USAGE, "%s: too many operands", c->name);
	if (c->needs_domain && !n)
		die(EXIT_USAGE, "%s needs a domain's number", c->name);
	if (n > 0) {
		o->domain = number(operands[0], UINT_MAX, "domain's number");
		if (!o->domain)
			die(EXIT_NO_TARGET, "there is no domain 0");
	}
	if (n > 1)
		o->worker = number(operands[1], INT_MAX, "worker's number");
}

int main(int argc, char **argv)
{
	struct options o = { .worker = -1 };
	const struct command *c;
	struct session s;

	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		usage(stdout);
		return 0;
	}
	/* --json may also stand before the command. */
	while (argc > 2 && !strcmp(argv[1], "--json")) {
		o.json = true;
		argv++;
		argc--;
	}
	c = find(argv[1]);
	get_options(c, &o, argc - 1, argv + 1);
	get_operands(c, &o, argc - 1 - optind, argv + 1 + optind);

	session_open(&s);
	c->run(&s, &o);
	session_close(&s);
	if (fflush(stdout) || ferror(stdout))
		die(EXIT_FAILED, "standard output: %s", strerror(errno));
	return 0;
}
