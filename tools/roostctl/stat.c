// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* stat.c - stat: counters, or how they change. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "out.h"

const char *const stat_names[ROOST_NL_STAT_MAX + 1] = {
	[ROOST_NL_STAT_WORKERS]		= "workers",
	[ROOST_NL_STAT_TIMERS_PENDING]	= "timers_pending",
	[ROOST_NL_STAT_POLLS_ARMED]	= "polls_armed",
	[ROOST_NL_STAT_OVERFLOW_PENDING] = "overflow_pending",
	[ROOST_NL_STAT_PARKS]		= "parks",
	[ROOST_NL_STAT_PARKS_REFUSED]	= "parks_refused",
	[ROOST_NL_STAT_WAKES]		= "wakes",
	[ROOST_NL_STAT_WAKES_RECEIVED]	= "wakes_received",
	[ROOST_NL_STAT_WAKES_KERNEL]	= "wakes_kernel",
	[ROOST_NL_STAT_TIMEOUTS]	= "timeouts",
	[ROOST_NL_STAT_SIGNALS]		= "signals",
	[ROOST_NL_STAT_ENTERS]		= "enters",
	[ROOST_NL_STAT_SUBMITTED]	= "submitted",
	[ROOST_NL_STAT_COMPLETED]	= "completed",
	[ROOST_NL_STAT_OVERFLOWED]	= "overflowed",
	[ROOST_NL_STAT_TIMERS_SET]	= "timers_set",
	[ROOST_NL_STAT_TIMERS_MOVED]	= "timers_moved",
	[ROOST_NL_STAT_TIMERS_FIRED]	= "timers_fired",
	[ROOST_NL_STAT_TIMERS_CANCELLED] = "timers_cancelled",
	[ROOST_NL_STAT_POLLS_ADDED]	= "polls_added",
	[ROOST_NL_STAT_POLLS_FIRED]	= "polls_fired",
	[ROOST_NL_STAT_POLLS_REMOVED]	= "polls_removed",
	[ROOST_NL_STAT_HRTIMER_STARTS]	= "hrtimer_starts",
	[ROOST_NL_STAT_HRTIMER_FIRES]	= "hrtimer_fires",
	[ROOST_NL_STAT_IOS_STARTED]	= "ios_started",
	[ROOST_NL_STAT_IOS_WAITED]	= "ios_waited",
	[ROOST_NL_STAT_IOS_DONE]	= "ios_done",
	[ROOST_NL_STAT_IOS_PENDING]	= "ios_pending",
	[ROOST_NL_STAT_FILES]		= "files",
	[ROOST_NL_STAT_BLOCKED]		= "blocked",
	[ROOST_NL_STAT_PREEMPTED]	= "preempted",
	[ROOST_NL_STAT_TAKEN]		= "taken",
	[ROOST_NL_STAT_STARVED]		= "starved",
	[ROOST_NL_STAT_SPUN]		= "spun",
	[ROOST_NL_STAT_PARKS_BUSY]	= "parks_busy",
};

/* What is there now, as opposed to what has happened so far. */
static bool is_level(int stat)
{
	switch (stat) {
	case ROOST_NL_STAT_WORKERS:
	case ROOST_NL_STAT_TIMERS_PENDING:
	case ROOST_NL_STAT_POLLS_ARMED:
	case ROOST_NL_STAT_OVERFLOW_PENDING:
	case ROOST_NL_STAT_IOS_PENDING:
	case ROOST_NL_STAT_FILES:
		return true;
	default:
		return false;
	}
}

void get_counters(struct nlattr **attrs, struct counters *c)
{
	struct nlattr *stats[ROOST_NL_STAT_MAX + 1];
	int i;

	memset(c, 0, sizeof(*c));
	if (!attrs[ROOST_NL_A_STATS])
		return;
	if (nla_parse_nested(stats, ROOST_NL_STAT_MAX, attrs[ROOST_NL_A_STATS],
			     NULL) < 0)
		die(EXIT_FAILED, "counters that cannot be read");
	for (i = 0; i <= ROOST_NL_STAT_MAX; i++) {
		c->there[i] = stat_names[i] && stats[i];
		if (c->there[i])
			c->value[i] = nla_get_u64(stats[i]);
	}
}

void json_counters(const char *key, const struct counters *c)
{
	int i;

	json_open(key, '{');
	for (i = 0; i <= ROOST_NL_STAT_MAX; i++)
		if (c->there[i])
			json_number(stat_names[i], c->value[i]);
	json_close('}');
}

/* The counters of several domains at one time. */
struct sample {
	unsigned int n;
	struct domain {
		unsigned int id;
		struct counters counters;
	} *domains;
};

static struct sample take_sample(struct session *s, const struct options *o)
{
	struct question q = {
		.cmd = ROOST_NL_CMD_STATS_GET,
		.dump = !o->domain,
		.domain = o->domain,
		.worker = -1,
	};
	struct nlattr *a[ROOST_NL_A_MAX + 1];
	struct answers answers;
	struct sample sample;
	unsigned int i;

	session_ask(s, &q, &answers);
	sample.n = answers.n;
	sample.domains = calloc(sample.n + 1, sizeof(*sample.domains));
	if (!sample.domains)
		die(EXIT_FAILED, "no memory");
	for (i = 0; i < sample.n; i++) {
		parse(answers.msgs[i], a);
		sample.domains[i].id = get_u32(a, ROOST_NL_A_DOMAIN);
		get_counters(a, &sample.domains[i].counters);
	}
	answers_free(&answers);
	return sample;
}

/* What was counted since; all of it, for a domain that was not there then. */
static void subtract(struct domain *d, const struct sample *then)
{
	unsigned int i;
	int k;

	for (i = 0; i < then->n; i++)
		if (then->domains[i].id == d->id)
			break;
	if (i == then->n)
		return;
	for (k = 0; k <= ROOST_NL_STAT_MAX; k++)
		if (!is_level(k))
			d->counters.value[k] -=
				then->domains[i].counters.value[k];
}

static void print_text(const struct sample *sample)
{
	unsigned int i;
	int k;

	for (i = 0; i < sample->n; i++) {
		const struct domain *d = &sample->domains[i];

		printf("domain %u\n", d->id);
		for (k = 0; k <= ROOST_NL_STAT_MAX; k++)
			if (d->counters.there[k])
				printf("  %-17s %llu\n", stat_names[k],
				       d->counters.value[k]);
	}
	fflush(stdout);
}

static void print_json(const struct sample *sample)
{
	unsigned int i;

	json_open(NULL, '[');
	for (i = 0; i < sample->n; i++) {
		json_open(NULL, '{');
		json_number("domain", sample->domains[i].id);
		json_counters("stats", &sample->domains[i].counters);
		json_close('}');
	}
	json_close(']');
}

static void print_sample(const struct sample *sample, const struct options *o)
{
	if (o->json)
		print_json(sample);
	else
		print_text(sample);
}

static void pause_for(double seconds)
{
	struct timespec ts = { .tv_sec = (time_t)seconds };

	ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* Interval by interval, until there have been as many as wanted. */
static void follow(struct session *s, const struct options *o)
{
	struct sample then = take_sample(s, o), now, delta;
	unsigned long left = o->count;
	unsigned int i;

	do {
		pause_for(o->interval);
		now = take_sample(s, o);
		delta.n = now.n;
		delta.domains = calloc(now.n + 1, sizeof(*now.domains));
		if (!delta.domains)
			die(EXIT_FAILED, "no memory");
		for (i = 0; i < now.n; i++) {
			delta.domains[i] = now.domains[i];
			subtract(&delta.domains[i], &then);
		}
		print_sample(&delta, o);
		free(delta.domains);
		free(then.domains);
		then = now;
	} while (!o->count || --left);
	free(then.domains);
}

void command_stat(struct session *s, const struct options *o)
{
	struct sample sample;

	if (o->interval > 0) {
		follow(s, o);
		return;
	}
	sample = take_sample(s, o);
	print_sample(&sample, o);
	free(sample.domains);
}
