// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* stats.c - the counters as one JSON object, replaced as a whole. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

static void field(FILE *f, const char *name, uint64_t value)
{
	fprintf(f, ",\n  \"%s\": %" PRIu64, name, value);
}

static void field_of(FILE *f, const char *name, _Atomic uint64_t *counter)
{
	field(f, name, atomic_load_explicit(counter, memory_order_relaxed));
}

static void write_counters(FILE *f, struct server *s,
			   const struct roost_stats *r)
{
	struct counters *c = &s->counters;

	fprintf(f, "{\n  \"backend\": \"%s\"", r->backend);
	field(f, "workers", r->workers);
	field_of(f, "requests", &c->requests);
	field(f, "open", atomic_load(&s->open));
	field_of(f, "accepted", &c->accepted);
	field_of(f, "refused", &c->refused);
	field_of(f, "client_errors", &c->client_errors);
	field_of(f, "server_errors", &c->server_errors);
	field_of(f, "timeouts", &c->timeouts);
	field_of(f, "io_errors", &c->io_errors);
	field_of(f, "accept_pauses", &c->accept_pauses);
	field(f, "live", r->live);
	field(f, "spawned", r->spawned);
	field(f, "resumes", r->resumes);
	field(f, "parks", r->parks);
	field(f, "parks_refused", r->parks_refused);
	field(f, "wakes_sent", r->wakes_sent);
	field(f, "wakes_received", r->wakes_received);
	field(f, "wake_calls", r->wake_calls);
	field(f, "enters", r->enters);
	field(f, "timers_armed", r->timers_armed);
	field(f, "timers_fired", r->timers_fired);
	field(f, "fd_arms", r->fd_arms);
	field(f, "fd_events", r->fd_events);
	field(f, "busy_ns", r->busy_ns);
	fputs("\n}\n", f);
}

void stats_write(struct server *s)
{
	const char *path = s->options.stats;
	struct roost_stats r;
	size_t len;
	char *temp;
	FILE *f;

	if (!path || roost_stats(&r))
		return;
	/* A reader sees the old file or the new one, never a part. */
	len = strlen(path) + sizeof(".new");
	temp = malloc(len);
	if (!temp)
		return;
	snprintf(temp, len, "%s.new", path);
	f = fopen(temp, "we");
	if (!f) {
		perror(temp);
		free(temp);
		return;
	}
	write_counters(f, s, &r);
	if (fclose(f) || rename(temp, path))
		perror(path);
	free(temp);
}
