// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* permission_test.c - who may ask about whose domain. */
#include "kselftest_harness.h"

#include "actor.h"
#include "nl_help.h"

/* Who has a domain. */
static const struct actor root = { "root", 0, 0 };
static const struct actor user = { "user", 1000, 0 };
static const struct actor user_inside = {
	"user in a user namespace", 1000, ACTOR_USER_NS,
};

enum expected {
	SEES,
	REFUSED,
};

/* Who asks, and whether root's, user's and user_inside's domain is for him. */
static const struct row {
	struct actor who;
	enum expected of_root, of_user, of_inside;
} rows[] = {
	{ { "root", 0, 0 }, SEES, SEES, SEES },
	{ { "root without capabilities", 0, ACTOR_NO_CAPS },
	  SEES, REFUSED, REFUSED },
	{ { "user", 1000, 0 }, REFUSED, SEES,
	  /* he has made that namespace, and so rules it */ SEES },
	{ { "other", 1001, 0 }, REFUSED, REFUSED, REFUSED },
	{ { "effectively user", 1000, ACTOR_EUID_ONLY | ACTOR_NO_CAPS },
	  REFUSED, SEES, SEES },
	{ { "effectively other", 1001, ACTOR_EUID_ONLY | ACTOR_NO_CAPS },
	  REFUSED, REFUSED, REFUSED },
	/* the same uid, in another namespace than those two domains */
	{ { "user in another user namespace", 1000, ACTOR_USER_NS },
	  REFUSED, REFUSED, REFUSED },
	{ { "other in a user namespace", 1001, ACTOR_USER_NS },
	  REFUSED, REFUSED, REFUSED },
	{ { "root in a user namespace", 0, ACTOR_USER_NS },
	  REFUSED, REFUSED, REFUSED },
	/* another network namespace changes nothing */
	{ { "root in a network namespace", 0, ACTOR_NET_NS },
	  SEES, SEES, SEES },
	{ { "root in both", 0, ACTOR_USER_NS | ACTOR_NET_NS },
	  REFUSED, REFUSED, REFUSED },
	{ { "user in both", 1000, ACTOR_USER_NS | ACTOR_NET_NS },
	  REFUSED, REFUSED, REFUSED },
};

static void find_id(const struct msg *m, void *arg)
{
	uint32_t *id = arg;

	if (attr_u32(m->a[ROOST_NL_A_DOMAIN]) == id[0])
		id[1]++;
}

/* Is the domain left out of a dump, once in it, or is that an error? */
static int in_dump(struct nl *nl, uint8_t cmd, uint32_t domain)
{
	uint32_t id[2] = { domain, 0 };
	int ret = nl_command(nl, cmd, NLM_F_DUMP, 0, find_id, id);

	return ret ? ret : (int)id[1];
}

/* A wake gives 1, or 0 because another has left the permit already. */
static int zero_or_error(int ret)
{
	return ret > 0 ? 0 : ret;
}

/* What all commands say to the current process about a domain. */
static int try_all(struct nl *nl, uint32_t domain)
{
	struct answer {
		const char *what;
		int value, sees, refused;
	} answers[] = {
		{ "DOMAIN_GET",
		  nl_command(nl, ROOST_NL_CMD_DOMAIN_GET, 0, domain, NULL, NULL),
		  0, -EPERM },
		{ "STATS_GET",
		  nl_command(nl, ROOST_NL_CMD_STATS_GET, 0, domain, NULL, NULL),
		  0, -EPERM },
		{ "WORKER_GET",
		  nl_command(nl, ROOST_NL_CMD_WORKER_GET, NLM_F_DUMP, domain,
			     NULL, NULL), 0, -EPERM },
		{ "a dump of domains",
		  in_dump(nl, ROOST_NL_CMD_DOMAIN_GET, domain), 1, 0 },
		{ "a dump of counters",
		  in_dump(nl, ROOST_NL_CMD_STATS_GET, domain), 1, 0 },
		{ "WAKE", zero_or_error(nl_wake(nl, domain, 0)), 0, -EPERM },
		{ "WAKE of all", zero_or_error(nl_wake(nl, domain, -1)),
		  0, -EPERM },
	};
	unsigned int i, n = sizeof(answers) / sizeof(answers[0]);
	unsigned int sees = 0, refused = 0;

	check(nl_command(nl, ROOST_NL_CMD_LIMITS_GET, 0, 0, NULL, NULL) == 0);
	for (i = 0; i < n; i++) {
		sees += answers[i].value == answers[i].sees;
		refused += answers[i].value == answers[i].refused;
	}
	if (sees == n)
		return SEES;
	if (refused == n)
		return REFUSED;
	for (i = 0; i < n; i++)
		printf("# %s: %d\n", answers[i].what, answers[i].value);
	fflush(stdout);
	return -1;
}

static int ask_all(void *arg)
{
	struct nl nl;

	check(nl_open(&nl) == 0);
	return try_all(&nl, *(uint32_t *)arg);
}

FIXTURE(permission) {
	struct owner root, user, inside;
};

FIXTURE_SETUP(permission)
{
	self->root = owner_start(&root, id_of);
	self->user = owner_start(&user, id_of);
	self->inside = owner_start(&user_inside, id_of);
}

FIXTURE_TEARDOWN(permission)
{
	owner_end(&self->root);
	owner_end(&self->user);
	owner_end(&self->inside);
}

TEST_F(permission, rows)
{
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];

		EXPECT_EQ(act(&r->who, ask_all, &self->root.id), r->of_root)
			TH_LOG("%s, of root's", r->who.name);
		EXPECT_EQ(act(&r->who, ask_all, &self->user.id), r->of_user)
			TH_LOG("%s, of user's", r->who.name);
		EXPECT_EQ(act(&r->who, ask_all, &self->inside.id), r->of_inside)
			TH_LOG("%s, of user_inside's", r->who.name);
	}
}

/* Who has opened the socket counts as well as who uses it. */
struct borrowed {
	struct nl nl;
	uint32_t id;
};

static int ask_borrowed(void *arg)
{
	struct borrowed *b = arg;

	return try_all(&b->nl, b->id);
}

TEST_F(permission, roots_socket_helps_nobody)
{
	const struct actor other = { "other", 1001, 0 };
	struct borrowed b = { .id = self->user.id };

	ASSERT_EQ(nl_open(&b.nl), 0);
	EXPECT_EQ(try_all(&b.nl, b.id), SEES);
	EXPECT_EQ(act(&other, ask_borrowed, &b), REFUSED);
	/* root may, and so may user */
	EXPECT_EQ(act(&user, ask_borrowed, &b), SEES);
}

/* A socket that was opened with fewer rights than ours. */
TEST_F(permission, an_inherited_socket_borrows_nothing)
{
	struct borrowed b = { .id = self->user.id };

	ASSERT_EQ(setresuid(-1, 1001, -1), 0);
	ASSERT_EQ(nl_open(&b.nl), 0);
	ASSERT_EQ(setresuid(-1, 0, -1), 0);
	EXPECT_EQ(try_all(&b.nl, b.id), REFUSED);
	b.id = self->root.id;
	EXPECT_EQ(try_all(&b.nl, b.id), REFUSED);
}

static void count(const struct msg *m, void *arg)
{
	(*(unsigned int *)arg)++;
}

struct rest {
	struct nl nl;
	unsigned int seen;
	bool interrupted;
};

static int read_rest(void *arg)
{
	struct rest *r = arg;

	while (nl_receive(&r->nl, count, &r->seen, &r->interrupted) == 1)
		;
	return r->interrupted ? (int)r->seen : -1;
}

/* Who reads on with fewer rights than who has asked. */
TEST_F(permission, each_part_of_a_dump_is_asked_for)
{
	const struct actor other = { "other", 1001, 0 };
	struct rest rest = { .seen = 0 };
	unsigned int i;
	int seen;
	struct wrk w;
	struct dom d;
	struct req r;

	ASSERT_EQ(nl_open(&rest.nl), 0);
	ASSERT_EQ(dom_make(&d, 4, 4), 0);
	for (i = 0; i < ROOST_MAX_WORKERS; i++)
		ASSERT_EQ(wrk_make(&w, &d, 1, 2), 0);
	req_init(&r, rest.nl.family, ROOST_NL_CMD_WORKER_GET, NLM_F_DUMP);
	req_u32(&r, ROOST_NL_A_DOMAIN, id_of(&d));
	/* This makes the first part, and reading it the next ones. */
	ASSERT_EQ(nl_send(&rest.nl, &r), 0);
	seen = act(&other, read_rest, &rest);
	EXPECT_GT(seen, 0);
	EXPECT_LT(seen, ROOST_MAX_WORKERS);
}

/* What is seen of a uid from another namespace. */
static void keep_uid(const struct msg *m, void *arg)
{
	*(uint32_t *)arg = attr_u32(m->a[ROOST_NL_A_UID]);
}

static int own_uid(void *arg)
{
	uint32_t uid = ~0;
	struct nl nl;
	struct dom d;

	check(nl_open(&nl) == 0);
	check(dom_make(&d, 4, 4) == 0);
	check(nl_command(&nl, ROOST_NL_CMD_DOMAIN_GET, 0, id_of(&d), keep_uid,
			 &uid) == 0);
	return uid;
}

TEST_F(permission, uid_as_the_reader_sees_it)
{
	uint32_t uid = 0;
	struct nl nl;

	EXPECT_EQ(act(&user_inside, own_uid, NULL), 0);
	EXPECT_EQ(act(&user, own_uid, NULL), 1000);
	ASSERT_EQ(nl_open(&nl), 0);
	ASSERT_EQ(nl_command(&nl, ROOST_NL_CMD_DOMAIN_GET, 0, self->inside.id,
			     keep_uid, &uid), 0);
	EXPECT_EQ(uid, 1000);
}

TEST_HARNESS_MAIN
