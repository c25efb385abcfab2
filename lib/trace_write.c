// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * trace_write.c - events as JSON, for Perfetto and Chrome.
 *
 * The format is Chrome's: "Trace Event Format", D. Sinclair and N. Duca, 2016; of it
 * duration events (B, E), instant events (i) and metadata (M).
 *
 * What there is is copied while others go on, and sorted by time; within one ring that
 * is its order.  Then it is written, outside of the library, for write(2) may block.
 * Slices of one track do not overlap: who is resumed while another one is there ends
 * that one's, whose thread has lost the worker.  What has no beginning, because that
 * was overwritten, is left out; what has no end yet ends with the trace.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <roost/actor.h>

#include "errno_cell.h"
#include "runtime.h"
#include "trace.h"
#include "visit.h"
#include "worker.h"

/* On the stack, which may be small. */
#define READ_BATCH	32
#define BUFFER_SIZE	65536U
/* What one event, or one track, takes at most. */
#define LINE_SIZE	512

/* Copying */

/**
 * struct shot - an event and what belongs to it
 * @event:	it
 * @order:	of those with the same time, in the order of their rings
 * @ring:	whose
 * @name:	of the actor, where there is one
 */
struct shot {
	struct roost_trace_event event;
	uint64_t order;
	unsigned int ring;
	char name[ROOST_NAME_SIZE];
};

/**
 * struct picture - all events at some moment
 * @shots:	sorted
 * @count:	how many
 * @rings:	how many there were
 * @until:	ns: when slices end that have no end
 */
struct picture {
	struct shot *shots;
	size_t count;
	unsigned int rings;
	uint64_t until;
};

static uint64_t next_of(const struct trace_rings *t, unsigned int ring)
{
	return atomic_load_explicit(&t->ring[ring].next, memory_order_acquire);
}

static uint64_t first_of(const struct trace_rings *t, uint64_t next)
{
	return next > t->size ? next - t->size : 0;
}

/* Also of one that has ended, as long as its slot has no other tenant. */
static void read_name(const struct runtime *rt, roost_pid pid, char *name)
{
	const struct slot *s = &rt->slots[pid_index(pid) - rt->base];
	uint32_t generation = pid_generation(pid);

	slot_read_name(s, generation, name);
	/* The name before the word; pairs with the release of each exchange of that. */
	atomic_thread_fence(memory_order_acquire);
	if (slot_word_generation(slot_load(s)) - generation > 1)
		name[0] = '\0';
}

static void add_shot(struct runtime *rt, struct picture *p, unsigned int ring,
		     const struct roost_trace_event *e)
{
	struct shot *shot = &p->shots[p->count];

	memset(shot, 0, sizeof(*shot));
	shot->event = *e;
	shot->order = p->count++;
	shot->ring = ring;
	if (e->kind == ROOST_TRACE_RESUME)
		read_name(rt, e->pid, shot->name);
}

/* As many as there were before @end at most: so many find room. */
static void copy_ring(struct runtime *rt, const struct trace_rings *t,
		      unsigned int ring, uint64_t end, struct picture *p)
{
	struct roost_trace_event list[READ_BATCH];
	uint64_t position = first_of(t, end);
	size_t i, n;

	while (position < end) {
		n = end - position < READ_BATCH ? end - position : READ_BATCH;
		n = trace_read(t, ring, &position, list, n);
		for (i = 0; i < n; i++)
			add_shot(rt, p, ring, &list[i]);
	}
}

/* Of all rings, up to where each was at the beginning: no ring grows at another's cost. */
static int copy_rings(struct runtime *rt, const struct trace_rings *t,
		      struct picture *p)
{
	uint64_t *end = malloc(t->count * sizeof(*end));
	size_t room = 0;
	unsigned int i;

	if (!end)
		return -ENOMEM;
	for (i = 0; i < t->count; i++) {
		end[i] = next_of(t, i);
		room += end[i] - first_of(t, end[i]);
	}
	p->shots = malloc((room + 1) * sizeof(*p->shots));
	if (p->shots)
		for (i = 0; i < t->count; i++)
			copy_ring(rt, t, i, end[i], p);
	free(end);
	return p->shots ? 0 : -ENOMEM;
}

static int compare(const void *a, const void *b)
{
	const struct shot *x = a, *y = b;

	if (x->event.time != y->event.time)
		return x->event.time < y->event.time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int take_picture(struct runtime *rt, struct picture *p)
{
	const struct trace_rings *t = trace_rings_of(&rt->trace);

	memset(p, 0, sizeof(*p));
	if (!t)
		return 0;
	p->rings = t->count;
	if (copy_rings(rt, t, p))
		return -ENOMEM;
	p->until = atomic_load_explicit(&rt->trace.stopped, memory_order_relaxed);
	if (!p->until)
		p->until = roost_now();
	return 0;
}

/* Writing */

/**
 * struct out - where it goes
 * @fd:		the file
 * @err:	0, or the first -errno
 * @buffer:	what is not yet written; BUFFER_SIZE
 * @used:	bytes of it
 * @lines:	how many there were
 */
struct out {
	int fd;
	int err;
	char *buffer;
	size_t used;
	size_t lines;
};

/* Of a descriptor that does not block: an error is for the next write to tell. */
static void wait_for_room(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	poll(&p, 1, -1);
}

static void flush(struct out *o)
{
	size_t done = 0;
	ssize_t n;

	while (!o->err && done < o->used) {
		n = write(o->fd, o->buffer + done, o->used - done);
		if (n > 0)
			done += (size_t)n;
		else if (!n)
			o->err = -EIO;
		else if (errno == EAGAIN)
			wait_for_room(o->fd);
		else if (errno != EINTR)
			o->err = -errno;
	}
	o->used = 0;
}

static void out(struct out *o, const char *format, ...) printf_like(2, 3);

static void out(struct out *o, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(o->buffer + o->used, BUFFER_SIZE - o->used, format, args);
	va_end(args);
	if (n > 0)
		o->used += (size_t)n;
}

/* An object of the list, up to its "args". */
static void begin_line(struct out *o, char ph, unsigned int ring, uint64_t time)
{
	if (BUFFER_SIZE - o->used < LINE_SIZE)
		flush(o);
	out(o, "%s\n{\"ph\":\"%c\",\"pid\":%d,\"tid\":%u,\"ts\":%" PRIu64 ".%03u",
	    o->lines++ ? "," : "", ph, (int)getpid(), ring + 1, time / 1000,
	    (unsigned int)(time % 1000));
}

static void end_line(struct out *o)
{
	out(o, "}");
}

/* Any bytes, as a string: what is not plain ASCII by its number. */
static void out_string(struct out *o, const char *text)
{
	const unsigned char *c = (const unsigned char *)text;

	out(o, "\"");
	for (; *c; c++)
		out(o, *c < 0x20 || *c > 0x7e || *c == '"' || *c == '\\' ?
		    "\\u%04x" : "%c", *c);
	out(o, "\"");
}

static void out_pid(struct out *o, const char *key, roost_pid pid)
{
	if (pid != ROOST_PID_NONE)
		out(o, "\"%s\":\"%#" PRIx64 "\"", key, pid);
	else
		out(o, "\"%s\":null", key);
}

/* Words for the numbers in events */

static const char *const kinds[] = {
	[ROOST_TRACE_SPAWN] = "spawn",
	[ROOST_TRACE_ENQUEUE] = "enqueue",
	[ROOST_TRACE_DEQUEUE] = "dequeue",
	[ROOST_TRACE_SLOT_PUSH] = "slot push",
	[ROOST_TRACE_SLOT_POP] = "slot pop",
	[ROOST_TRACE_RESUME] = "resume",
	[ROOST_TRACE_YIELD] = "yield",
	[ROOST_TRACE_PARK] = "park",
	[ROOST_TRACE_DONE] = "done",
	[ROOST_TRACE_DISPLACED] = "displaced",
	[ROOST_TRACE_WAKE] = "wake",
	[ROOST_TRACE_WAKE_EARLY] = "early wake",
	[ROOST_TRACE_NOT_PARKED] = "not parked",
	[ROOST_TRACE_TIMER] = "timer",
	[ROOST_TRACE_IO_BEGIN] = "I/O begins",
	[ROOST_TRACE_IO_END] = "I/O ends",
	[ROOST_TRACE_FILE_WAIT] = "waits for file",
	[ROOST_TRACE_FILE_READY] = "file is ready",
	[ROOST_TRACE_SLEEP] = "sleeps",
	[ROOST_TRACE_AWAKE] = "awake",
};

static const char *const waits[] = {
	[ROOST_WAITS_NOT] = "unknown",
	[ROOST_WAITS_UNPARK] = "unpark",
	[ROOST_WAITS_TIME] = "time",
	[ROOST_WAITS_END] = "end",
	[ROOST_WAITS_FILE] = "file",
	[ROOST_WAITS_IO] = "I/O",
	[ROOST_TRACE_STOPPED] = "stop",
};

static const char *const ends[] = {
	[ROOST_END_RETURNED] = "returned",
	[ROOST_END_STOPPED] = "stopped",
	[ROOST_END_CRASHED] = "crashed",
};

static const char *word_of(const char *const *words, size_t count, unsigned int n)
{
	return n < count && words[n] ? words[n] : "?";
}

#define WORD(words, n)	word_of(words, ARRAY_SIZE(words), n)

static void out_details(struct out *o, const struct roost_trace_event *e)
{
	switch (e->kind) {
	case ROOST_TRACE_SPAWN:
		out(o, ",");
		out_pid(o, "by", e->value);
		break;
	case ROOST_TRACE_YIELD:
		out(o, ",\"had to\":%s", e->detail ? "true" : "false");
		break;
	case ROOST_TRACE_PARK:
		out(o, ",\"for\":\"%s\"", WORD(waits, e->detail));
		break;
	case ROOST_TRACE_DONE:
		out(o, ",\"how\":\"%s\"", WORD(ends, e->detail));
		break;
	case ROOST_TRACE_WAKE:
	case ROOST_TRACE_WAKE_EARLY:
		out(o, ",\"what\":\"%s\",", WORD(waits, e->detail));
		out_pid(o, "by", e->value);
		break;
	case ROOST_TRACE_TIMER:
		out(o, ",\"deadline\":%" PRIu64, e->value);
		break;
	case ROOST_TRACE_IO_BEGIN:
		out(o, ",\"fd\":%u,\"bytes\":%" PRIu64, e->detail, e->value);
		break;
	case ROOST_TRACE_IO_END:
		out(o, ",\"fd\":%u,\"result\":%" PRId64, e->detail,
		    (int64_t)e->value);
		break;
	case ROOST_TRACE_FILE_WAIT:
	case ROOST_TRACE_FILE_READY:
		out(o, ",\"fd\":%u,\"events\":%" PRIu64, e->detail, e->value);
		break;
	}
}

/* Tracks */

static void name_of(struct out *o, unsigned int ring, const char *what)
{
	if (BUFFER_SIZE - o->used < LINE_SIZE)
		flush(o);
	out(o, "%s\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"name\":\"%s\",\"args\":{\"name\":",
	    o->lines++ ? "," : "", (int)getpid(), ring + 1, what);
}

static void write_names(struct out *o, const struct picture *p)
{
	unsigned int i;

	for (i = 0; i < p->rings; i++) {
		name_of(o, i, "thread_name");
		if (i < p->rings - 1)
			out(o, "\"roost-w%u\"}}", i);
		else
			out(o, "\"others\"}}");
	}
	if (p->rings) {
		name_of(o, 0, "process_name");
		out(o, "\"roost\"}}");
	}
}

/* What stands open on a track: 1 + the kind of the event that has opened it. */
typedef unsigned char open_slice;

static void begin_slice(struct out *o, const struct shot *s)
{
	const struct roost_trace_event *e = &s->event;
	char number[32];

	begin_line(o, 'B', s->ring, e->time);
	out(o, ",\"name\":");
	if (e->kind == ROOST_TRACE_SLEEP) {
		out_string(o, WORD(kinds, e->kind));
	} else {
		snprintf(number, sizeof(number), "actor %#" PRIx64, e->pid);
		out_string(o, s->name[0] ? s->name : number);
		out(o, ",\"args\":{");
		out_pid(o, "actor", e->pid);
		out(o, "}");
	}
	end_line(o);
}

static void end_slice(struct out *o, unsigned int ring, uint64_t time,
		      const struct roost_trace_event *e)
{
	begin_line(o, 'E', ring, time);
	if (e && e->kind != ROOST_TRACE_AWAKE) {
		out(o, ",\"args\":{\"left\":\"%s\"", WORD(kinds, e->kind));
		out_details(o, e);
		out(o, "}");
	}
	end_line(o);
}

static void write_instant(struct out *o, const struct shot *s)
{
	const struct roost_trace_event *e = &s->event;

	begin_line(o, 'i', s->ring, e->time);
	out(o, ",\"s\":\"t\",\"name\":\"%s\",\"args\":{", WORD(kinds, e->kind));
	out_pid(o, "actor", e->pid);
	out_details(o, e);
	out(o, "}");
	end_line(o);
}

static void write_shot(struct out *o, const struct shot *s, open_slice *open)
{
	const struct roost_trace_event *e = &s->event;

	switch (e->kind) {
	case ROOST_TRACE_RESUME:
	case ROOST_TRACE_SLEEP:
		if (*open)
			end_slice(o, s->ring, e->time, NULL);
		begin_slice(o, s);
		*open = e->kind + 1;
		break;
	case ROOST_TRACE_YIELD:
	case ROOST_TRACE_PARK:
	case ROOST_TRACE_DONE:
		if (*open == ROOST_TRACE_RESUME + 1)
			end_slice(o, s->ring, e->time, e);
		else if (e->kind == ROOST_TRACE_DONE)
			write_instant(o, s);
		if (*open == ROOST_TRACE_RESUME + 1)
			*open = 0;
		break;
	case ROOST_TRACE_AWAKE:
		if (*open == ROOST_TRACE_SLEEP + 1) {
			end_slice(o, s->ring, e->time, e);
			*open = 0;
		}
		break;
	default:
		write_instant(o, s);
	}
}

static void write_shots(struct out *o, const struct picture *p, open_slice *open)
{
	uint64_t until = p->until;
	unsigned int ring;
	size_t i;

	for (i = 0; i < p->count; i++)
		write_shot(o, &p->shots[i], &open[p->shots[i].ring]);
	/* Who was about to record something when it was stopped may have. */
	if (p->count && p->shots[p->count - 1].event.time > until)
		until = p->shots[p->count - 1].event.time;
	for (ring = 0; ring < p->rings; ring++)
		if (open[ring])
			end_slice(o, ring, until, NULL);
}

static int write_picture(struct picture *p, int fd)
{
	struct out o = { .fd = fd, .buffer = malloc(BUFFER_SIZE) };
	open_slice *open = calloc(p->rings + 1, sizeof(*open));

	if (!o.buffer || !open) {
		free(o.buffer);
		free(open);
		return -ENOMEM;
	}
	if (p->count)
		qsort(p->shots, p->count, sizeof(*p->shots), compare);
	out(&o, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	write_names(&o, p);
	write_shots(&o, p, open);
	out(&o, "\n]}\n");
	flush(&o);
	free(o.buffer);
	free(open);
	return o.err;
}

/* @flags: of open(2) */
static int write_file(struct picture *p, const char *path, int flags)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, 0666);
	int err;

	if (fd < 0)
		return -errno;
	err = write_picture(p, fd);
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* There at once and as a whole: other runs, also of other processes, may end now. */
static int replace_file(struct picture *p, const char *path)
{
	static _Atomic unsigned int counter;
	char *new;
	int err;

	if (asprintf(&new, "%s.%d.%u", path, (int)getpid(),
		     atomic_fetch_add(&counter, 1)) < 0)
		return -ENOMEM;
	err = write_file(p, new, O_CREAT | O_EXCL);
	if (!err && rename(new, path))
		err = -errno;
	if (err && err != -EEXIST)
		unlink(new);
	free(new);
	return err;
}

int trace_save(struct runtime *rt, const char *path)
{
	struct picture p;
	struct stat st;
	int err;

	err = take_picture(rt, &p);
	if (err)
		return err;
	/* A terminal or a pipe is written to as it is; nobody waits for its reader. */
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		err = write_file(&p, path, O_NONBLOCK);
	else
		err = replace_file(&p, path);
	free(p.shots);
	return err;
}

int roost_trace_write(roost_pid of, int fd)
{
	struct picture p;
	struct visit v;
	int err, saved;

	err = visit_begin(&v, of);
	if (err)
		return err;
	err = (int)visit_end(&v, take_picture(v.rt, &p));
	if (err)
		return err;
	saved = errno_get();
	err = write_picture(&p, fd);
	free(p.shots);
	errno_set(saved);
	return err;
}
