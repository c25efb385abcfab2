// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * watch.c - watch: what comes and goes, as it happens.
 *
 * First what is there already, then the events; the group is joined before, so
 * that nothing is missed in between, though a domain may be seen twice.
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/genetlink.h>

#include "command.h"
#include "out.h"

struct watch {
	const struct options *o;
	int family;
	unsigned long seen;
};

static void print_event(const struct options *o, const char *name,
			struct nlattr **a)
{
	if (o->json) {
		json_open(NULL, '{');
		json_string("event", name);
		json_number("domain", get_u32(a, ROOST_NL_A_DOMAIN));
		json_number("uid", get_u32(a, ROOST_NL_A_UID));
		if (a[ROOST_NL_A_PID])
			json_number("pid", get_u32(a, ROOST_NL_A_PID));
		if (a[ROOST_NL_A_WORKER])
			json_number("worker", get_u32(a, ROOST_NL_A_WORKER));
		if (a[ROOST_NL_A_TID])
			json_number("tid", get_u32(a, ROOST_NL_A_TID));
		if (a[ROOST_NL_A_LEASE])
			json_number("lease", get_u64(a, ROOST_NL_A_LEASE));
		json_close('}');
		return;
	}
	printf("%s domain %u uid %u", name, get_u32(a, ROOST_NL_A_DOMAIN),
	       get_u32(a, ROOST_NL_A_UID));
	if (a[ROOST_NL_A_PID])
		printf(" pid %u", get_u32(a, ROOST_NL_A_PID));
	if (a[ROOST_NL_A_WORKER])
		printf(" worker %u", get_u32(a, ROOST_NL_A_WORKER));
	if (a[ROOST_NL_A_TID])
		printf(" tid %u", get_u32(a, ROOST_NL_A_TID));
	if (a[ROOST_NL_A_LEASE])
		printf(" lease %llu", get_u64(a, ROOST_NL_A_LEASE));
	printf("\n");
	fflush(stdout);
}

static void print_lost(const struct options *o)
{
	if (o->json) {
		json_open(NULL, '{');
		json_string("event", "lost");
		json_close('}');
	} else {
		printf("lost\n");
		fflush(stdout);
	}
}

static const char *name_of(int cmd)
{
	switch (cmd) {
	case ROOST_NL_CMD_DOMAIN_CREATED:
		return "created";
	case ROOST_NL_CMD_DOMAIN_ENDED:
		return "ended";
	case ROOST_NL_CMD_WORKER_ATTACHED:
		return "attached";
	case ROOST_NL_CMD_WORKER_DETACHED:
		return "detached";
	case ROOST_NL_CMD_WORKER_TAKEN:
		return "taken";
	case ROOST_NL_CMD_WORKER_STARVED:
		return "starved";
	default:
		/* from a newer module */
		return "unknown";
	}
}

/* Has our family gone? */
static void on_control(const struct watch *w, struct nlmsghdr *header)
{
	struct nlattr *a[CTRL_ATTR_MAX + 1];
	struct genlmsghdr *g = genlmsg_hdr(header);

	if (g->cmd != CTRL_CMD_DELFAMILY ||
	    genlmsg_parse(header, 0, a, CTRL_ATTR_MAX, NULL) < 0 ||
	    !a[CTRL_ATTR_FAMILY_ID] ||
	    nla_get_u16(a[CTRL_ATTR_FAMILY_ID]) != w->family)
		return;
	die(EXIT_NO_MODULE, "the module was removed");
}

static int on_event(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *header = nlmsg_hdr(msg);
	struct nlattr *a[ROOST_NL_A_MAX + 1];
	struct watch *w = arg;

	if (header->nlmsg_type == GENL_ID_CTRL) {
		on_control(w, header);
		return NL_OK;
	}
	if (header->nlmsg_type != w->family)
		return NL_OK;
	parse(msg, a);
	print_event(w->o, name_of(genlmsg_hdr(header)->cmd), a);
	w->seen++;
	return w->seen == w->o->count ? NL_STOP : NL_OK;
}

static void join(struct nl_sock *sock, const char *family, const char *group)
{
	int id = genl_ctrl_resolve_grp(sock, family, group);
	int ret = id < 0 ? id : nl_socket_add_membership(sock, id);

	if (ret == -NLE_PERM)
		die(EXIT_PERMISSION,
		    "watching takes CAP_SYS_ADMIN: not permitted");
	if (ret < 0)
		die(EXIT_FAILED, "no group %s of %s: %s", group, family,
		    nl_geterror(ret));
}

static struct nl_sock *open_events(struct watch *w)
{
	struct nl_sock *sock = nl_socket_alloc();

	if (!sock || genl_connect(sock) < 0)
		die(EXIT_FAILED, "no netlink socket");
	nl_socket_disable_seq_check(sock);
	join(sock, ROOST_NL_NAME, ROOST_NL_GROUP_EVENTS);
	/* That the module goes we would not notice otherwise. */
	join(sock, "nlctrl", "notify");
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_event, w);
	return sock;
}

static void print_present(struct session *s, const struct options *o)
{
	struct question q = {
		.cmd = ROOST_NL_CMD_DOMAIN_GET,
		.dump = true,
		.worker = -1,
	};
	struct nlattr *a[ROOST_NL_A_MAX + 1];
	struct answers answers;
	size_t i;

	session_ask(s, &q, &answers);
	for (i = 0; i < answers.n; i++) {
		parse(answers.msgs[i], a);
		print_event(o, "present", a);
	}
	answers_free(&answers);
}

void command_watch(struct session *s, const struct options *o)
{
	struct watch w = { .o = o, .family = s->family };
	struct nl_sock *sock = open_events(&w);
	int ret;

	print_present(s, o);
	while (!o->count || w.seen < o->count) {
		ret = nl_recvmsgs_default(sock);
		/* libnl's name for ENOBUFS: the socket's buffer was full. */
		if (ret == -NLE_NOMEM)
			print_lost(o);
		else if (ret < 0)
			die(EXIT_FAILED, "netlink: %s", nl_geterror(ret));
	}
	nl_socket_free(sock);
}
