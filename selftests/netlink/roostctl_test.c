// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* roostctl_test.c - the tool: what it prints, what it ends with. */
#include "kselftest_harness.h"

#include "../uapi/crowd.h"
#include "actor.h"
#include "carrier_help.h"
#include "json.h"
#include "stat_work.h"

#define ROOSTCTL	"../../tools/roostctl/roostctl"

/* What the tool has printed (both outputs, or the first alone) and returned. */
struct run {
	char out[65536];
	int code;
};

static void run_it(struct run *r, bool errors, const char *arguments)
{
	char command[256];
	size_t n;
	FILE *f;

	snprintf(command, sizeof(command), ROOSTCTL " %s %s", arguments,
		 errors ? "2>&1" : "2>/dev/null");
	f = popen(command, "re");
	check(f);
	n = fread(r->out, 1, sizeof(r->out) - 1, f);
	r->out[n] = '\0';
	r->code = WEXITSTATUS(pclose(f));
}

/* The same, for arguments that end in a domain's number. */
static void run_on(struct run *r, const char *arguments, uint32_t id)
{
	char all[128];

	snprintf(all, sizeof(all), "%s %u", arguments, id);
	run_it(r, true, all);
}

FIXTURE(tool) {
	struct run *r;
};

FIXTURE_SETUP(tool)
{
	self->r = malloc(sizeof(*self->r));
	ASSERT_NE(self->r, NULL);
	ASSERT_EQ(access(ROOSTCTL, X_OK), 0);
}

FIXTURE_TEARDOWN(tool)
{
	free(self->r);
}

TEST_F(tool, list_and_show)
{
	struct run *r = self->r;
	char expected[96];
	struct sleeper s;
	pthread_t thread;
	struct dom d;
	struct wrk w[2];
	uint32_t id;

	ASSERT_EQ(dom_make(&d, 10, 11), 0);
	id = id_of(&d);
	ASSERT_EQ(wrk_make(&w[0], &d, 8, 16), 0);
	ASSERT_EQ(wrk_make(&w[1], &d, 8, 16), 0);
	s = (struct sleeper){ &d, &w[1] };
	ASSERT_EQ(pthread_create(&thread, NULL, sleep_for_ever, &s), 0);
	ASSERT_TRUE(wait_parked(&d, 1, now_ns() + wide(5 * SEC)));

	run_it(r, true, "list");
	EXPECT_EQ(r->code, 0);
	snprintf(expected, sizeof(expected), "%8u %8u %8u %8u %7u ", id,
		 getpid(), 0, 2, 1);
	EXPECT_NE(strstr(r->out, expected), NULL)
		TH_LOG("%s", r->out);

	run_it(r, true, "list --json");
	EXPECT_EQ(r->code, 0);
	EXPECT_TRUE(json_valid(r->out))
		TH_LOG("%s", r->out);
	snprintf(expected, sizeof(expected), "{\"domain\":%u,\"pid\":%u,", id,
		 getpid());
	EXPECT_NE(strstr(r->out, expected), NULL);

	run_on(r, "show", id);
	EXPECT_EQ(r->code, 0);
	EXPECT_NE(strstr(r->out, "10 timers, 11 polls"), NULL);
	EXPECT_NE(strstr(r->out, "       0 free            -      0 "), NULL)
		TH_LOG("%s", r->out);
	EXPECT_NE(strstr(r->out, "       1 parked "), NULL)
		TH_LOG("%s", r->out);

	run_on(r, "show --json", id);
	EXPECT_EQ(r->code, 0);
	EXPECT_TRUE(json_valid(r->out));
	EXPECT_EQ(json_number_of(r->out, "parked"), 1);
	EXPECT_EQ(json_number_of(r->out, "timers"), 10);
	EXPECT_NE(strstr(r->out, "\"worker\":1,\"state\":\"parked\",\"tid\":"),
		  NULL);
}

/* A name that is to break the output. */
TEST_F(tool, names_are_harmless)
{
	struct dom d;

	ASSERT_EQ(prctl(PR_SET_NAME, "a\"\\\n\x1b[2J\xff"), 0);
	ASSERT_EQ(dom_make(&d, 1, 1), 0);
	run_it(self->r, true, "list --json");
	EXPECT_TRUE(json_valid(self->r->out));
	EXPECT_NE(strstr(self->r->out, "a\\\"\\\\\\u000a\\u001b[2J\\u00ff"),
		  NULL);
	run_it(self->r, true, "list");
	EXPECT_EQ(strchr(self->r->out, '\x1b'), NULL);
	EXPECT_NE(strstr(self->r->out, "a\"\\??[2J?\n"), NULL);
}

TEST_F(tool, stat_adds_up)
{
	struct run *r = self->r;
	struct work k;
	uint32_t id;

	stat_work(&k);
	id = id_of(&k.d);
	run_on(r, "stat --json", id);
	ASSERT_EQ(r->code, 0);
	ASSERT_TRUE(json_valid(r->out));
#define SAME(field) EXPECT_EQ(json_number_of(r->out, #field), k.n.field)
	SAME(workers);
	SAME(parks);
	SAME(parks_refused);
	SAME(wakes);
	SAME(wakes_received);
	SAME(wakes_kernel);
	SAME(timeouts);
	SAME(submitted);
	SAME(overflowed);
	SAME(overflow_pending);
	SAME(timers_pending);
	SAME(timers_set);
	SAME(timers_moved);
	SAME(timers_fired);
	SAME(timers_cancelled);
	SAME(polls_armed);
	SAME(polls_added);
	SAME(polls_fired);
	SAME(polls_removed);
	SAME(ios_started);
	SAME(ios_done);
	SAME(ios_pending);
	SAME(files);
	run_on(r, "stat", id);
	EXPECT_EQ(r->code, 0);
	EXPECT_NE(strstr(r->out, "  timers_moved      3\n"), NULL)
		TH_LOG("%s", r->out);
}

/* Interval by interval, what is done meanwhile is seen once. */
TEST_F(tool, stat_by_interval)
{
	long long parks = 0, wakes = 0;
	char command[128], line[4096];
	unsigned int lines = 0;
	struct work k;
	FILE *f;

	stat_work(&k);
	drain(&k);
	snprintf(command, sizeof(command), ROOSTCTL " stat --json -i 0.1 %u",
		 id_of(&k.d));
	f = popen(command, "re");
	ASSERT_NE(f, NULL);
	while (parks < 1 && fgets(line, sizeof(line), f)) {
		/* Since the first line the tool has looked. */
		if (!lines++)
			while_parked(&k, ROOST_NO_DEADLINE, wake_by_index,
				     ROOST_OUT_WAKE);
		ASSERT_TRUE(json_valid(line))
			TH_LOG("%s", line);
		parks += json_number_of(line, "parks");
		wakes += json_number_of(line, "wakes");
		EXPECT_EQ(json_number_of(line, "timers_set"), 0);
		EXPECT_EQ(json_number_of(line, "timers_pending"),
			  k.n.timers_pending);
	}
	EXPECT_EQ(parks, 1);
	EXPECT_LE(wakes, 1);
	/* Nobody reads on: that ends it. */
	pclose(f);

	run_on(self->r, "stat --json -i 0.1 -c 3", id_of(&k.d));
	EXPECT_EQ(self->r->code, 0);
	for (lines = 0; *self->r->out; lines++)
		memmove(self->r->out, strchr(self->r->out, '\n') + 1,
			strlen(strchr(self->r->out, '\n')));
	EXPECT_EQ(lines, 3);
}

/* The next line of @f must begin like this. */
static void expect_line(struct __test_metadata *_metadata, FILE *f,
			const char *expected)
{
	char line[256] = "";

	EXPECT_NE(fgets(line, sizeof(line), f), NULL);
	EXPECT_EQ(strncmp(line, expected, strlen(expected)), 0)
		TH_LOG("'%s' instead of '%s'", line, expected);
}

static void watch(struct __test_metadata *_metadata, bool json)
{
	const char *format = json ? "{\"event\":\"%s\",\"domain\":%u," :
				    "%s domain %u ";
	char expected[64];
	struct dom first, d;
	struct wrk w;
	uint32_t id;
	FILE *f;

	/* One that is there, whose line says that the tool is listening. */
	ASSERT_EQ(dom_make(&first, 1, 1), 0);
	f = popen(json ? ROOSTCTL " --json watch -c 4" :
			 ROOSTCTL " watch -c 4", "re");
	ASSERT_NE(f, NULL);
	snprintf(expected, sizeof(expected), format, "present", id_of(&first));
	expect_line(_metadata, f, expected);

	ASSERT_EQ(dom_make(&d, 1, 1), 0);
	id = id_of(&d);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	ASSERT_EQ(attach(&w), 0);
	munmap(w.page, w.params.map_size);
	close(w.fd);
	dom_unmap(&d);
	close(d.fd);

	snprintf(expected, sizeof(expected), format, "created", id);
	expect_line(_metadata, f, expected);
	snprintf(expected, sizeof(expected), format, "attached", id);
	expect_line(_metadata, f, expected);
	snprintf(expected, sizeof(expected), format, "detached", id);
	expect_line(_metadata, f, expected);
	snprintf(expected, sizeof(expected), format, "ended", id);
	expect_line(_metadata, f, expected);
	/* That was four. */
	EXPECT_EQ(fgetc(f), EOF);
	EXPECT_EQ(pclose(f), 0);
	dom_unmap(&first);
	close(first.fd);
}

TEST_F(tool, watch_shows_it_come_and_go)
{
	watch(_metadata, false);
}

TEST_F(tool, watch_in_json)
{
	watch(_metadata, true);
}

static void *stand_by(void *arg)
{
	const struct dom *d = arg;
	struct roost_standby s = { 0 };

	check(call(d->fd, ROOST_IOC_STANDBY, &s) == 0);
	return NULL;
}

TEST_F(tool, watch_shows_who_is_stuck)
{
	char expected[64];
	pthread_t thread;
	struct dom d;
	struct wrk w;
	uint32_t id;
	FILE *f;

	want_carriers(true);
	ASSERT_EQ(dom_make(&d, 1, 1), 0);
	want_carriers(false);
	if (!(d.params.features & ROOST_FEAT_STANDBY))
		SKIP(return, LACKING);
	id = id_of(&d);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	ASSERT_EQ(attach(&w), 0);
	f = popen(ROOSTCTL " watch -c 4", "re");
	ASSERT_NE(f, NULL);
	snprintf(expected, sizeof(expected), "present domain %u ", id);
	expect_line(_metadata, f, expected);
	ASSERT_EQ(pthread_create(&thread, NULL, stand_by, &d), 0);
	/* reading this line is being stuck */
	snprintf(expected, sizeof(expected), "taken domain %u uid 0 pid %d worker 0 tid ",
		 id, getpid());
	expect_line(_metadata, f, expected);
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	while (attach(&w) == -EBUSY)
		sleep_ns(MSEC);
	snprintf(expected, sizeof(expected), "detached domain %u ", id);
	expect_line(_metadata, f, expected);
	snprintf(expected, sizeof(expected), "attached domain %u ", id);
	expect_line(_metadata, f, expected);
	snprintf(expected, sizeof(expected),
		 "starved domain %u uid 0 pid %d worker 0 tid %d lease 3\n", id,
		 getpid(), gettid());
	expect_line(_metadata, f, expected);
	EXPECT_EQ(pclose(f), 0);
}

/* It is stopped, and more happens than its socket can hold. */
TEST_F(tool, watch_says_that_it_missed_something)
{
	char expected[64], line[256] = "";
	struct dom d;
	struct wrk w;
	int p[2], i;
	pid_t pid;
	FILE *f;

	ASSERT_EQ(dom_make(&d, 1, 1), 0);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	ASSERT_EQ(pipe(p), 0);
	pid = fork();
	if (!pid) {
		dup2(p[1], STDOUT_FILENO);
		execl(ROOSTCTL, "roostctl", "watch", NULL);
		_exit(127);
	}
	close(p[1]);
	f = fdopen(p[0], "re");
	ASSERT_NE(f, NULL);
	snprintf(expected, sizeof(expected), "present domain %u ", id_of(&d));
	expect_line(_metadata, f, expected);
	ASSERT_EQ(kill(pid, SIGSTOP), 0);
	ASSERT_EQ(waitpid(pid, NULL, WUNTRACED), pid);
	for (i = 0; i < 2000; i++) {
		ASSERT_EQ(attach(&w), 0);
		ASSERT_EQ(detach(&w), 0);
	}
	ASSERT_EQ(kill(pid, SIGCONT), 0);
	while (fgets(line, sizeof(line), f) && strcmp(line, "lost\n"))
		;
	EXPECT_STREQ(line, "lost\n");
	kill(pid, SIGKILL);
	fclose(f);
}

TEST_F(tool, limits)
{
	unsigned int timers;
	FILE *f;

	f = fopen("/sys/module/roost/parameters/max_timers", "re");
	ASSERT_NE(f, NULL);
	ASSERT_EQ(fscanf(f, "%u", &timers), 1);
	fclose(f);
	run_it(self->r, true, "limits --json");
	EXPECT_EQ(self->r->code, 0);
	EXPECT_TRUE(json_valid(self->r->out));
	EXPECT_EQ(json_number_of(self->r->out, "max_timers"), timers);
	EXPECT_EQ(json_number_of(self->r->out, "ring_io"), 1);
	run_it(self->r, true, "limits");
	EXPECT_EQ(self->r->code, 0);
	EXPECT_NE(strstr(self->r->out, "max_timers  "), NULL);
}

TEST_F(tool, wake)
{
	struct run *r = self->r;
	uint32_t outcome;
	struct dom d;
	struct wrk w;
	char all[64];

	ASSERT_EQ(dom_make(&d, 1, 1), 0);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	ASSERT_EQ(attach(&w), 0);
	snprintf(all, sizeof(all), "wake %u 0", id_of(&d));
	run_it(r, true, all);
	EXPECT_EQ(r->code, 0);
	EXPECT_STREQ(r->out, "1 woken\n");
	ASSERT_EQ(park(&d, &w, ROOST_NO_DEADLINE, &outcome), 0);
	EXPECT_EQ(outcome, ROOST_OUT_WAKE);
	run_on(r, "wake --json", id_of(&d));
	EXPECT_EQ(r->code, 0);
	EXPECT_TRUE(json_valid(r->out));
	EXPECT_EQ(json_number_of(r->out, "woken"), 1);
	snprintf(all, sizeof(all), "wake %u 1", id_of(&d));
	run_it(r, true, all);
	EXPECT_EQ(r->code, 5);
	EXPECT_NE(strstr(r->out, "has no worker 1"), NULL);
}

TEST_F(tool, exit_codes)
{
	const struct {
		const char *arguments;
		int code;
	} rows[] = {
		{ "", 2 },
		{ "--help", 0 },
		{ "-h", 0 },
		{ "nonsense", 2 },
		{ "list", 0 },
		{ "list 1", 2 },
		{ "list -i 1", 2 },
		{ "list --nonsense", 2 },
		{ "show", 2 },
		{ "show x", 2 },
		{ "show -1", 2 },
		{ "show 1x", 2 },
		{ "show 99999999999", 2 },
		{ "show 0", 5 },
		{ "show 4294967295", 5 },
		{ "show 1 2", 2 },
		{ "stat 4294967295", 5 },
		{ "stat -i 0", 2 },
		{ "stat -i x", 2 },
		{ "stat -c 1", 2 },
		{ "watch 1", 2 },
		{ "watch -c x", 2 },
		{ "limits 1", 2 },
		{ "wake", 2 },
		{ "wake 4294967295", 5 },
		{ "wake 1 2 3", 2 },
		{ "list >/dev/full", 1 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		run_it(self->r, false, rows[i].arguments);
		EXPECT_EQ(self->r->code, rows[i].code)
			TH_LOG("roostctl %s", rows[i].arguments);
	}
}

static int run_as(void *arg)
{
	struct run *r = malloc(sizeof(*r));

	check(r);
	run_it(r, true, arg);
	if (r->code == 4 && !strstr(r->out, "not permitted"))
		return -1;
	return r->code;
}

TEST_F(tool, permission)
{
	const struct actor user = { "user", 1000, 0 };
	char show[32], stat[32], wake[32];
	struct dom d;

	ASSERT_EQ(dom_make(&d, 1, 1), 0);
	snprintf(show, sizeof(show), "show %u", id_of(&d));
	snprintf(stat, sizeof(stat), "stat %u", id_of(&d));
	snprintf(wake, sizeof(wake), "wake %u", id_of(&d));
	EXPECT_EQ(act(&user, run_as, show), 4);
	EXPECT_EQ(act(&user, run_as, stat), 4);
	EXPECT_EQ(act(&user, run_as, wake), 4);
	EXPECT_EQ(act(&user, run_as, "watch -c 1"), 4);
	EXPECT_EQ(act(&user, run_as, "list"), 0);
	EXPECT_EQ(act(&user, run_as, "limits"), 0);
}

TEST_HARNESS_MAIN
