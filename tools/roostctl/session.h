/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Asking the module, by libnl. */
#ifndef ROOSTCTL_SESSION_H
#define ROOSTCTL_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include <netlink/attr.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include <linux/roost_netlink.h>

/* Exit codes, as the manual page has them. */
enum {
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NO_MODULE = 3,
	EXIT_PERMISSION = 4,
	EXIT_NO_TARGET = 5,
};

/* Say why on standard error, and end with @code. */
void die(int code, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

struct session {
	struct nl_sock *sock;
	int family;
};

/* What is asked for: 0 and -1 stand for nothing. */
struct question {
	enum roost_nl_cmd cmd;
	bool dump;
	unsigned int domain;
	int worker;
};

/* The messages that came back. */
struct answers {
	struct nl_msg **msgs;
	size_t n;
};

void session_open(struct session *s);
void session_close(struct session *s);

/* Ends the program if there is no answer. */
void session_ask(struct session *s, const struct question *q,
		 struct answers *answers);
void answers_free(struct answers *answers);

/* The attributes of a message; @attrs has ROOST_NL_A_MAX + 1 places. */
void parse(struct nl_msg *msg, struct nlattr **attrs);

/* Values of attributes that may be missing. */
unsigned int get_u32(struct nlattr **attrs, int type);
unsigned long long get_u64(struct nlattr **attrs, int type);
const char *get_string(struct nlattr **attrs, int type);

#endif
