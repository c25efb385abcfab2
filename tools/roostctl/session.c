// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* session.c - asking the module, by libnl. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

/* A dump that domains come and go under is asked for again so often. */
#define MAX_TRIES	20

/* What the callbacks of one request share. */
struct request {
	struct answers *answers;
	bool done;
	bool interrupted;
	int error;	/* errno */
};

void die(int code, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "roostctl: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(code);
}

void session_open(struct session *s)
{
	int ret;

	s->sock = nl_socket_alloc();
	if (!s->sock)
		die(EXIT_FAILED, "no memory");
	ret = genl_connect(s->sock);
	if (ret < 0)
		die(EXIT_FAILED, "no netlink socket: %s", nl_geterror(ret));
	s->family = genl_ctrl_resolve(s->sock, ROOST_NL_NAME);
	if (s->family == -NLE_OBJ_NOTFOUND)
		die(EXIT_NO_MODULE,
		    "the kernel does not know roost: is the module loaded?");
	if (s->family < 0)
		die(EXIT_FAILED, "no netlink family: %s",
		    nl_geterror(s->family));
}

void session_close(struct session *s)
{
	nl_socket_free(s->sock);
}

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct request *r = arg;
	struct answers *a = r->answers;
	struct nl_msg **more;

	more = realloc(a->msgs, (a->n + 1) * sizeof(*more));
	if (!more)
		die(EXIT_FAILED, "no memory");
	a->msgs = more;
	nlmsg_get(msg);
	a->msgs[a->n++] = msg;
	return NL_OK;
}

static int on_end(struct nl_msg *msg, void *arg)
{
	struct request *r = arg;

	(void)msg;
	r->done = true;
	return NL_STOP;
}

static int on_interrupted(struct nl_msg *msg, void *arg)
{
	struct request *r = arg;

	(void)msg;
	r->interrupted = true;
	return NL_OK;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *arg)
{
	struct request *r = arg;

	(void)from;
	r->error = -error->error;
	r->done = true;
	return NL_STOP;
}

static struct nl_msg *make_request(const struct session *s,
				   const struct question *q)
{
	struct nl_msg *msg = nlmsg_alloc();

	if (!msg ||
	    !genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, s->family, 0,
			 q->dump ? NLM_F_DUMP : 0, q->cmd, ROOST_NL_VERSION))
		die(EXIT_FAILED, "no memory");
	if ((q->domain && nla_put_u32(msg, ROOST_NL_A_DOMAIN, q->domain)) ||
	    (q->worker >= 0 && nla_put_u32(msg, ROOST_NL_A_WORKER, q->worker)))
		die(EXIT_FAILED, "no room in a message");
	return msg;
}

/* Send it and take what comes back. */
static void exchange(struct session *s, const struct question *q,
		     struct request *r)
{
	struct nl_msg *msg = make_request(s, q);
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int ret;

	if (!cb)
		die(EXIT_FAILED, "no memory");
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, r);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_end, r);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_end, r);
	nl_cb_set(cb, NL_CB_DUMP_INTR, NL_CB_CUSTOM, on_interrupted, r);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, r);
	ret = nl_send_auto(s->sock, msg);
	while (ret >= 0 && !r->done)
		ret = nl_recvmsgs(s->sock, cb);
	nlmsg_free(msg);
	nl_cb_put(cb);
	if (ret < 0 && !r->error)
		die(EXIT_FAILED, "netlink: %s", nl_geterror(ret));
}

/* The request was refused. */
static void refused(const struct question *q, int error)
{
	switch (error) {
	case EPERM:
		die(EXIT_PERMISSION,
		    "domain %u is somebody else's: not permitted", q->domain);
	case ENOENT:
		die(EXIT_NO_TARGET, "there is no domain %u", q->domain);
	case ESRCH:
	case ERANGE:
		die(EXIT_NO_TARGET,
		    "domain %u has no worker %d, or no thread carries it",
		    q->domain, q->worker);
	case ESHUTDOWN:
		die(EXIT_NO_TARGET, "the owner of domain %u has gone",
		    q->domain);
	default:
		die(EXIT_FAILED, "the module refuses: %s", strerror(error));
	}
}

void session_ask(struct session *s, const struct question *q,
		 struct answers *answers)
{
	struct request r;
	int tries = 0;

	answers->msgs = NULL;
	answers->n = 0;
	do {
		answers_free(answers);
		r = (struct request){ .answers = answers };
		exchange(s, q, &r);
		if (r.error)
			refused(q, r.error);
	} while (r.interrupted && ++tries < MAX_TRIES);
	if (r.interrupted)
		fprintf(stderr, "roostctl: things changed while they were listed\n");
}

void answers_free(struct answers *answers)
{
	while (answers->n)
		nlmsg_free(answers->msgs[--answers->n]);
	free(answers->msgs);
	answers->msgs = NULL;
}

void parse(struct nl_msg *msg, struct nlattr **attrs)
{
	/* Newer modules may say more than we know. */
	if (genlmsg_parse(nlmsg_hdr(msg), 0, attrs, ROOST_NL_A_MAX, NULL) < 0)
		die(EXIT_FAILED, "a message that cannot be read");
}

unsigned int get_u32(struct nlattr **attrs, int type)
{
	return attrs[type] ? nla_get_u32(attrs[type]) : 0;
}

unsigned long long get_u64(struct nlattr **attrs, int type)
{
	return attrs[type] ? nla_get_u64(attrs[type]) : 0;
}

const char *get_string(struct nlattr **attrs, int type)
{
	return attrs[type] ? nla_get_string(attrs[type]) : "";
}
