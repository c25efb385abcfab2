// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* admin.c - limits, wake. */
#include <stdio.h>

#include "command.h"
#include "out.h"

static void print_limit(const struct options *o, struct nlattr *nest)
{
	struct nlattr *a[ROOST_NL_LIMIT_MAX + 1];

	if (nla_parse_nested(a, ROOST_NL_LIMIT_MAX, nest, NULL) < 0 ||
	    !a[ROOST_NL_LIMIT_NAME] || !a[ROOST_NL_LIMIT_VALUE])
		die(EXIT_FAILED, "a limit that cannot be read");
	if (o->json)
		json_number(nla_get_string(a[ROOST_NL_LIMIT_NAME]),
			    nla_get_u64(a[ROOST_NL_LIMIT_VALUE]));
	else
		printf("%-24s %llu\n", nla_get_string(a[ROOST_NL_LIMIT_NAME]),
		       (unsigned long long)nla_get_u64(a[ROOST_NL_LIMIT_VALUE]));
}

void command_limits(struct session *s, const struct options *o)
{
	struct question q = { .cmd = ROOST_NL_CMD_LIMITS_GET, .worker = -1 };
	struct answers answers;
	struct nlattr *attr;
	int left;

	session_ask(s, &q, &answers);
	if (answers.n != 1)
		die(EXIT_FAILED, "%zu answers instead of one", answers.n);
	if (o->json)
		json_open(NULL, '{');
	nlmsg_for_each_attr(attr, nlmsg_hdr(answers.msgs[0]), GENL_HDRLEN, left)
		if (nla_type(attr) == ROOST_NL_A_LIMIT)
			print_limit(o, attr);
	if (o->json)
		json_close('}');
	answers_free(&answers);
}

void command_wake(struct session *s, const struct options *o)
{
	struct question q = {
		.cmd = ROOST_NL_CMD_WAKE,
		.domain = o->domain,
		.worker = o->worker,
	};
	struct nlattr *a[ROOST_NL_A_MAX + 1];
	struct answers answers;
	unsigned int woken;

	session_ask(s, &q, &answers);
	if (answers.n != 1)
		die(EXIT_FAILED, "%zu answers instead of one", answers.n);
	parse(answers.msgs[0], a);
	woken = get_u32(a, ROOST_NL_A_WOKEN);
	answers_free(&answers);
	if (!o->json) {
		printf("%u woken\n", woken);
		return;
	}
	json_open(NULL, '{');
	json_number("domain", o->domain);
	if (o->worker >= 0)
		json_number("worker", o->worker);
	json_number("woken", woken);
	json_close('}');
}
