/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The commands, and what they are told. */
#ifndef ROOSTCTL_COMMAND_H
#define ROOSTCTL_COMMAND_H

#include <stdbool.h>

#include "session.h"

/*
 * What the command line says; -1 and 0 where it says nothing.  @count: intervals
 * or events after which to end.
 */
struct options {
	bool json;
	double interval;
	unsigned long count;
	unsigned int domain;
	int worker;
};

void command_list(struct session *s, const struct options *o);
void command_show(struct session *s, const struct options *o);
void command_stat(struct session *s, const struct options *o);
void command_watch(struct session *s, const struct options *o);
void command_limits(struct session *s, const struct options *o);
void command_wake(struct session *s, const struct options *o);

/* Names of the counters by enum roost_nl_stat; NULL where there is none. */
extern const char *const stat_names[ROOST_NL_STAT_MAX + 1];

/* The counters of a message; what it lacks is 0, and *@there says so. */
struct counters {
	unsigned long long value[ROOST_NL_STAT_MAX + 1];
	bool there[ROOST_NL_STAT_MAX + 1];
};

void get_counters(struct nlattr **attrs, struct counters *c);
void json_counters(const char *key, const struct counters *c);

#endif
