// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * sched_test.c - sched.sh compares run with run, says which peer is not there, and does not
 * take a run that said nothing for one; the peers measure what it asks them for.
 */
#include "../unit/tap.h"
#include "programs.h"

#define SCRIPT	"../micro/sched.sh"

/* Run sched.sh on what is in @runs.  Returns its code. */
static int table_of(struct program *p, const char *runs)
{
	char path[64];
	char *args[] = { "sched.sh", "--from", path, NULL };
	FILE *f;
	int code;

	snprintf(path, sizeof(path), "/tmp/roost-sched-test.%d", getpid());
	f = fopen(path, "w");
	if (!CHECK(f))
		return -1;
	fputs(runs, f);
	fclose(f);
	program_start(p, SCRIPT, args);
	code = program_wait(p);
	unlink(path);
	return code;
}

/* Is there a line of these words, whatever is between them? */
static bool has_line(const struct program *p, const char *words)
{
	char line[256], *at, *end, *text = strdup(p->text);
	bool found = false;

	for (at = text; at && !found; at = end) {
		const char *from = at;
		size_t n = 0;

		end = strchr(at, '\n');
		if (end)
			*end++ = '\0';
		for (; *from && n < sizeof(line) - 1; from++)
			if (*from != ' ' || (n && line[n - 1] != ' '))
				line[n++] = *from;
		line[n] = '\0';
		found = !strcmp(line, words);
	}
	free(text);
	return found;
}

static const char three_runs[] =
	"jump\t10.0\tboost/jump\t5.0\t1\n"
	"jump\t20.0\tboost/jump\t40.0\t1\n"
	"jump\t30.0\tboost/jump\t20.0\t1\n"
	"instructions\tjump\t12.5\n";

/* Of the medians it would be 1. */
ROOST_TEST(a_ratio_is_the_median_of_those_of_the_runs)
{
	struct program p;

	CHECK_EQ(table_of(&p, three_runs), 0);
	CHECK(has_line(&p, "jump 20.0 10.0 30.0 3 12.5 1.500 0.500 2.000 boost/jump 1 no"));
	CHECK(has_line(&p, "peer boost/jump 20.0 5.0 40.0 3 - - - - - - -"));
}

ROOST_TEST(a_goal_that_is_just_met_is_met)
{
	struct program p;

	CHECK_EQ(table_of(&p, "spawn\t1.0\tgo/spawn\t4.0\t0.25\n"), 0);
	CHECK(has_line(&p, "spawn 1.0 1.0 1.0 1 - 0.250 0.250 0.250 go/spawn 0.25 yes"));
}

ROOST_TEST(a_peer_that_is_not_there_is_named)
{
	static const char line[] = "# peer_go could not be built: go: not found\n";
	struct program p;
	char runs[512];

	snprintf(runs, sizeof(runs), "%s%s", line, three_runs);
	CHECK_EQ(table_of(&p, runs), 0);
	CHECK(strstr(p.text, line));
	CHECK(!strstr(p.text, "go/"));
}

ROOST_TEST(a_run_that_said_nothing_is_an_error)
{
	static const char *const runs[] = {
		"jump\t\tboost/jump\t5.0\t1\n",
		"jump\t10.0\tboost/jump\t\t1\n",
		"jump\t10.0\tboost/jump\t0.0\t1\n",
	};
	struct program p;
	size_t i;

	for (i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		CHECK_EQ(table_of(&p, runs[i]), 125);
		CHECK(strstr(p.text, "a run said nothing"));
	}
}

static bool is_there(const char *program)
{
	return !access(program_path(program), X_OK);
}

/* Its output, with two runs of those names. */
static void run_peer(struct program *p, const char *program, const char *only)
{
	char *args[] = { "peer", NULL };

	setenv("BENCH_RUNS", "2", 1);
	setenv("BENCH_OPS", "64000", 1);
	setenv("BENCH_ONLY", only, 1);
	program_start(p, program, args);
	CHECK_EQ(program_wait(p), 0);
	unsetenv("BENCH_ONLY");
}

/* Is that a line of @name, with a number above 0? */
static bool is_line_of(const char *line, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(line, name, n) && line[n] == '\t' && strtod(line + n + 1, NULL) > 0;
}

/* Two lines each, of the clock and of CPU time, and nothing else. */
static void check_two_runs(struct program *p, const char *name)
{
	int clocks = 0, cpus = 0;
	char *line;

	for (line = strtok(p->text, "\n"); line; line = strtok(NULL, "\n")) {
		if (!strncmp(line, "cpu/", 4))
			cpus += CHECK(is_line_of(line + 4, name));
		else
			clocks += CHECK(is_line_of(line, name));
	}
	CHECK_EQ(clocks, 2);
	CHECK_EQ(cpus, 2);
}

ROOST_TEST(boost_is_asked_for_a_jump)
{
	struct program p;

	if (!is_there("../micro/peer_boost"))
		SKIP("not built: libboost-context-dev is not installed");
	run_peer(&p, "../micro/peer_boost", "boost/jump$");
	check_two_runs(&p, "boost/jump");
}

ROOST_TEST(go_is_asked_for_what_is_compared)
{
	static const char *const names[] = {
		"go/yield2/1", "go/yield/1", "go/yield/2", "go/spawn/1", "go/spawn/2",
	};
	struct program p;
	char only[32];
	size_t i;

	if (!is_there("../micro/peer_go"))
		SKIP("not built: golang-go is not installed");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(only, sizeof(only), "%s$", names[i]);
		run_peer(&p, "../micro/peer_go", only);
		check_two_runs(&p, names[i]);
	}
}
