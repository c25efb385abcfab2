// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* domain.c - list, show: the domains and their workers. */
#include <stdio.h>

#include "command.h"
#include "out.h"

static void json_domain(struct nlattr **a)
{
	json_number("domain", get_u32(a, ROOST_NL_A_DOMAIN));
	if (a[ROOST_NL_A_PID]) {
		json_number("pid", get_u32(a, ROOST_NL_A_PID));
		json_string("comm", get_string(a, ROOST_NL_A_COMM));
	}
	json_number("uid", get_u32(a, ROOST_NL_A_UID));
	json_bool("dead", a[ROOST_NL_A_DEAD]);
	json_number("workers", get_u32(a, ROOST_NL_A_WORKERS));
	json_number("parked", get_u32(a, ROOST_NL_A_NR_PARKED));
	json_number("tick_shift", get_u32(a, ROOST_NL_A_TICK_SHIFT));
	json_number("slack_ns", get_u64(a, ROOST_NL_A_SLACK));
	json_number("features", get_u64(a, ROOST_NL_A_FEATURES));
	json_number("timers", get_u32(a, ROOST_NL_A_TIMERS));
	json_number("polls", get_u32(a, ROOST_NL_A_POLLS));
	json_number("ios", get_u32(a, ROOST_NL_A_IOS));
	json_number("files", get_u32(a, ROOST_NL_A_FILES));
}

static void list_json(const struct answers *answers)
{
	struct nlattr *a[ROOST_NL_A_MAX + 1];
	size_t i;

	json_open(NULL, '[');
	for (i = 0; i < answers->n; i++) {
		parse(answers->msgs[i], a);
		json_open(NULL, '{');
		json_domain(a);
		json_close('}');
	}
	json_close(']');
}

/* A name that cannot upset a terminal, nor a line. */
static void print_comm(const char *comm)
{
	for (; *comm; comm++)
		putchar(*comm > ' ' && *comm < 0x7f ? *comm : '?');
}

static void print_owner(struct nlattr **a)
{
	if (!a[ROOST_NL_A_PID]) {
		printf("-");
		return;
	}
	print_comm(get_string(a, ROOST_NL_A_COMM));
}

static void list_text(const struct answers *answers)
{
	struct nlattr *a[ROOST_NL_A_MAX + 1];
	size_t i;

	printf("%8s %8s %8s %8s %7s %s\n", "DOMAIN", "PID", "UID", "WORKERS",
	       "PARKED", "OWNER");
	for (i = 0; i < answers->n; i++) {
		parse(answers->msgs[i], a);
		printf("%8u ", get_u32(a, ROOST_NL_A_DOMAIN));
		if (a[ROOST_NL_A_PID])
			printf("%8u ", get_u32(a, ROOST_NL_A_PID));
		else
			printf("%8s ", "-");
		printf("%8u %8u %7u ", get_u32(a, ROOST_NL_A_UID),
		       get_u32(a, ROOST_NL_A_WORKERS),
		       get_u32(a, ROOST_NL_A_NR_PARKED));
		print_owner(a);
		printf("%s\n", a[ROOST_NL_A_DEAD] ? " (gone)" : "");
	}
}

void command_list(struct session *s, const struct options *o)
{
	struct question q = {
		.cmd = ROOST_NL_CMD_DOMAIN_GET,
		.dump = true,
		.worker = -1,
	};
	struct answers answers;

	session_ask(s, &q, &answers);
	if (o->json)
		list_json(&answers);
	else
		list_text(&answers);
	answers_free(&answers);
}

static const char *state_of(struct nlattr **a)
{
	if (a[ROOST_NL_A_CLOSED])
		return "closed";
	if (a[ROOST_NL_A_PARKED])
		return "parked";
	if (a[ROOST_NL_A_BLOCKED])
		return "blocked";
	return a[ROOST_NL_A_TID] ? "running" : "free";
}

static void json_worker(struct nlattr **a)
{
	struct counters c;

	json_open(NULL, '{');
	json_number("worker", get_u32(a, ROOST_NL_A_WORKER));
	json_string("state", state_of(a));
	if (a[ROOST_NL_A_TID])
		json_number("tid", get_u32(a, ROOST_NL_A_TID));
	json_number("lease", get_u64(a, ROOST_NL_A_LEASE));
	json_number("sq_entries", get_u32(a, ROOST_NL_A_SQ_ENTRIES));
	json_number("cq_entries", get_u32(a, ROOST_NL_A_CQ_ENTRIES));
	get_counters(a, &c);
	json_counters("stats", &c);
	json_close('}');
}

static void show_json(struct nlattr **domain, const struct answers *workers)
{
	struct nlattr *a[ROOST_NL_A_MAX + 1];
	size_t i;

	json_open(NULL, '{');
	json_domain(domain);
	json_open("worker_list", '[');
	for (i = 0; i < workers->n; i++) {
		parse(workers->msgs[i], a);
		json_worker(a);
	}
	json_close(']');
	json_close('}');
}

static void print_domain(struct nlattr **a)
{
	printf("domain %u\n", get_u32(a, ROOST_NL_A_DOMAIN));
	printf("  owner     ");
	print_owner(a);
	if (a[ROOST_NL_A_PID])
		printf(", pid %u", get_u32(a, ROOST_NL_A_PID));
	printf(", uid %u%s\n", get_u32(a, ROOST_NL_A_UID),
	       a[ROOST_NL_A_DEAD] ? ", gone" : "");
	printf("  workers   %u, %u parked\n", get_u32(a, ROOST_NL_A_WORKERS),
	       get_u32(a, ROOST_NL_A_NR_PARKED));
	printf("  timing    tick 2^%u ns, slack %llu ns\n",
	       get_u32(a, ROOST_NL_A_TICK_SHIFT), get_u64(a, ROOST_NL_A_SLACK));
	printf("  features  0x%llx\n", get_u64(a, ROOST_NL_A_FEATURES));
	printf("  indices   %u timers, %u polls, %u ios, %u files\n",
	       get_u32(a, ROOST_NL_A_TIMERS), get_u32(a, ROOST_NL_A_POLLS),
	       get_u32(a, ROOST_NL_A_IOS), get_u32(a, ROOST_NL_A_FILES));
}

static void print_worker(struct nlattr **a)
{
	struct counters c;

	get_counters(a, &c);
	printf("%8u %-8s ", get_u32(a, ROOST_NL_A_WORKER), state_of(a));
	if (a[ROOST_NL_A_TID])
		printf("%8u ", get_u32(a, ROOST_NL_A_TID));
	else
		printf("%8s ", "-");
	printf("%6llu %10llu %10llu %10llu %8llu %8llu %8llu\n",
	       get_u64(a, ROOST_NL_A_LEASE), c.value[ROOST_NL_STAT_PARKS],
	       c.value[ROOST_NL_STAT_WAKES], c.value[ROOST_NL_STAT_ENTERS],
	       c.value[ROOST_NL_STAT_TIMERS_PENDING],
	       c.value[ROOST_NL_STAT_OVERFLOW_PENDING],
	       c.value[ROOST_NL_STAT_TAKEN]);
}

static void show_text(struct nlattr **domain, const struct answers *workers)
{
	struct nlattr *a[ROOST_NL_A_MAX + 1];
	size_t i;

	print_domain(domain);
	printf("%8s %-8s %8s %6s %10s %10s %10s %8s %8s %8s\n", "WORKER",
	       "STATE", "TID", "LEASE", "PARKS", "WAKES", "ENTERS", "TIMERS",
	       "OVERFLOW", "TAKEN");
	for (i = 0; i < workers->n; i++) {
		parse(workers->msgs[i], a);
		print_worker(a);
	}
}

void command_show(struct session *s, const struct options *o)
{
	struct question q = {
		.cmd = ROOST_NL_CMD_DOMAIN_GET,
		.domain = o->domain,
		.worker = -1,
	};
	struct nlattr *a[ROOST_NL_A_MAX + 1];
	struct answers domain, workers;

	session_ask(s, &q, &domain);
	q.cmd = ROOST_NL_CMD_WORKER_GET;
	q.dump = true;
	session_ask(s, &q, &workers);
	if (domain.n != 1)
		die(EXIT_FAILED, "%zu answers instead of one", domain.n);
	parse(domain.msgs[0], a);
	if (o->json)
		show_json(a, &workers);
	else
		show_text(a, &workers);
	answers_free(&domain);
	answers_free(&workers);
}
