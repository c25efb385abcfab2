// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * traced.c - actors of which something can be recorded.
 *
 *	traced plain			they run; nothing is said of recording
 *	traced write SIZE FILE		recorded in rings of SIZE events, and written while
 *					others run
 *	traced outside SIZE FILE	the same by a thread that is no actor, several times
 *	traced stopped SIZE FILE	written after it was stopped
 *	traced names SIZE FILE		written again and again by a thread that is no actor, to
 *					FILE.0, FILE.1 ..., while actors in one slot are born,
 *					each called like its number
 *	traced twice			two runs that end at about the same time
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <roost/roost.h>

#define WORKERS	3
#define PAIRS	4
#define SNAPSHOTS	1000

static const char *how, *path;
static unsigned int size;

static void must(long result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "traced: %s\n", strerror((int)-result));
	exit(2);
}

static _Atomic roost_pid peers[2 * PAIRS];

static void plays(void *arg)
{
	size_t me = (size_t)arg, i;

	while (!atomic_load(&peers[me ^ 1]))
		roost_yield();
	for (i = 0; i < 30; i++) {
		roost_unpark(atomic_load(&peers[me ^ 1]));
		roost_park(roost_after(ROOST_MSEC(1)));
	}
}

static void sleeps(void *arg)
{
	(void)arg;
	roost_set_name("sl\"ee\\p\n\xc3\xa9");
	roost_yield();
	roost_sleep(ROOST_MSEC(2));
}

static void receives(void *arg)
{
	char byte;

	while (roost_read(*(int *)arg, &byte, 1, ROOST_FOREVER) == 1)
		;
}

static _Atomic int runs_on;

/* Runs while it is written, so that its slice has no end. */
static void spins(void *arg)
{
	(void)arg;
	atomic_store(&runs_on, 1);
	while (atomic_load(&runs_on) < 2)
		;
}

static void write_to(roost_pid of, const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	must(fd < 0 ? -1 : 0);
	must(roost_trace_write(of, fd));
	close(fd);
}

static void write_now(roost_pid of)
{
	write_to(of, path);
}

static void *writes(void *arg)
{
	roost_pid of = *(roost_pid *)arg;
	int i;

	for (i = 0; i < 5; i++)
		write_now(of);
	return NULL;
}

static void play(void)
{
	const struct roost_spawn_options named = { .name = "player" };
	roost_pid pid[2 * PAIRS], sleeper[5], reader;
	int p[2];
	size_t i;

	must(roost_pipe(p));
	must(roost_spawn(receives, &p[0], &reader));
	for (i = 0; i < 2 * PAIRS; i++) {
		must(roost_spawn_with(plays, (void *)i, &named, &pid[i]));
		atomic_store(&peers[i], pid[i]);
	}
	for (i = 0; i < 5; i++) {
		must(roost_spawn(sleeps, NULL, &sleeper[i]));
		must(roost_write(p[1], "x", 1, ROOST_FOREVER));
	}
	for (i = 0; i < 5; i++)
		must(roost_join(sleeper[i], ROOST_FOREVER));
	for (i = 0; i < 2 * PAIRS; i++)
		must(roost_join(pid[i], ROOST_FOREVER));
	must(roost_close(p[1]));
	must(roost_join(reader, ROOST_FOREVER));
	must(roost_close(p[0]));
}

static void ends(void *arg)
{
	(void)arg;
}

static _Atomic int written;

static void *writes_many(void *arg)
{
	roost_pid of = *(roost_pid *)arg;
	char name[4096];
	int i;

	for (i = 0; i < SNAPSHOTS; i++) {
		snprintf(name, sizeof(name), "%s.%d", path, i);
		write_to(of, name);
	}
	atomic_store(&written, 1);
	return NULL;
}

/* There is room for one beside the root. */
static void names(void *arg)
{
	roost_pid self = roost_self(), pid;
	struct roost_spawn_options named = { 0 };
	unsigned int number = 0;
	pthread_t thread;
	char text[16];

	(void)arg;
	must(roost_trace_start(ROOST_PID_NONE, size));
	must(-pthread_create(&thread, NULL, writes_many, &self));
	named.name = text;
	for (; !atomic_load(&written); number++) {
		snprintf(text, sizeof(text), "number %08u", number);
		must(roost_spawn_with(ends, NULL, &named, &pid));
		must(roost_join(pid, ROOST_FOREVER));
	}
	pthread_join(thread, NULL);
}

static pthread_barrier_t both;

static void yields(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 3000; i++)
		roost_yield();
}

static void *runs(void *arg)
{
	struct roost_config config = { .workers = 1 };

	pthread_barrier_wait(&both);
	must(roost_run(&config, yields, NULL));
	return arg;
}

static void twice(void)
{
	pthread_t thread;

	pthread_barrier_init(&both, NULL, 2);
	must(-pthread_create(&thread, NULL, runs, NULL));
	runs(NULL);
	pthread_join(thread, NULL);
}

static void root(void *arg)
{
	roost_pid self = roost_self(), spinner;
	pthread_t thread;

	(void)arg;
	if (!strcmp(how, "plain")) {
		play();
		return;
	}
	must(roost_trace_start(ROOST_PID_NONE, size));
	must(roost_spawn(spins, NULL, &spinner));
	while (!atomic_load(&runs_on))
		roost_yield();
	if (!strcmp(how, "outside"))
		must(-pthread_create(&thread, NULL, writes, &self));
	play();
	if (!strcmp(how, "outside")) {
		pthread_join(thread, NULL);
		writes(&self);
	}
	if (!strcmp(how, "stopped"))
		must(roost_trace_stop(ROOST_PID_NONE));
	if (strcmp(how, "outside"))
		write_now(ROOST_PID_NONE);
	atomic_store(&runs_on, 2);
	must(roost_join(spinner, ROOST_FOREVER));
}

int main(int argc, char **argv)
{
	struct roost_config config = { .workers = WORKERS };

	if (argc < 2)
		return 2;
	how = argv[1];
	size = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 0) : 0;
	path = argc > 3 ? argv[3] : NULL;
	if (!strcmp(how, "twice")) {
		twice();
		return 0;
	}
	if (!strcmp(how, "names")) {
		config.workers = 1;
		config.max_actors = 2;
	}
	must(roost_run(&config, strcmp(how, "names") ? root : names, NULL));
	return 0;
}
