/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * nl_help.h - generic netlink, bare: requests may be as wrong as one likes.
 *
 * Calls return 0 or -errno, as roost_test.h has it.
 */
#ifndef NL_HELP_H
#define NL_HELP_H

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <linux/roost_netlink.h>

#include "roost_test.h"

#ifndef SOL_NETLINK
#define SOL_NETLINK 270
#endif

/* A socket, and the module's family as it is called there. */
struct nl {
	int fd;
	uint32_t seq;
	uint16_t family;
	uint32_t group;
};

/* A request in the making. */
struct req {
	struct nlmsghdr h;
	struct genlmsghdr g;
	char attrs[1024];
};

/* What an answer consists of; attributes by number, NULL if not there. */
struct msg {
	uint8_t cmd;
	uint16_t flags;
	struct nlattr *a[ROOST_NL_A_MAX + 1];
	const struct nlmsghdr *h;
};

typedef void (*msg_fn)(const struct msg *m, void *arg);

static inline void req_init(struct req *r, uint16_t family, uint8_t cmd,
			    uint16_t flags)
{
	memset(r, 0, sizeof(*r));
	r->h.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	r->h.nlmsg_type = family;
	r->h.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	r->g.cmd = cmd;
	r->g.version = ROOST_NL_VERSION;
}

/* Bytes at the end, as they are. */
static inline void req_raw(struct req *r, const void *data, size_t size)
{
	check(r->h.nlmsg_len + size <= sizeof(*r));
	memcpy((char *)r + r->h.nlmsg_len, data, size);
	r->h.nlmsg_len += size;
}

static inline void req_put(struct req *r, uint16_t type, const void *data,
			   size_t size)
{
	struct nlattr a = { .nla_len = NLA_HDRLEN + size, .nla_type = type };
	static const char zero[NLA_ALIGNTO];

	req_raw(r, &a, sizeof(a));
	req_raw(r, data, size);
	req_raw(r, zero, NLA_ALIGN(size) - size);
}

static inline void req_u32(struct req *r, uint16_t type, uint32_t value)
{
	req_put(r, type, &value, sizeof(value));
}

/* Attributes of any kind, by type; those beyond @max are left out. */
static inline void parse_attrs(const void *data, size_t size,
			       struct nlattr **a, int max)
{
	const char *at = data;
	struct nlattr *n;
	size_t step;
	int type;

	memset(a, 0, (max + 1) * sizeof(*a));
	while (size >= NLA_HDRLEN) {
		n = (struct nlattr *)at;
		if (n->nla_len < NLA_HDRLEN || n->nla_len > size)
			break;
		type = n->nla_type & NLA_TYPE_MASK;
		if (type <= max)
			a[type] = n;
		step = NLA_ALIGN((size_t)n->nla_len);
		if (step > size)
			break;
		at += step;
		size -= step;
	}
}

static inline const void *attr_data(const struct nlattr *a)
{
	return (const char *)a + NLA_HDRLEN;
}

static inline uint32_t attr_u32(const struct nlattr *a)
{
	uint32_t value = 0;

	if (a)
		memcpy(&value, attr_data(a), sizeof(value));
	return value;
}

static inline uint64_t attr_u64(const struct nlattr *a)
{
	uint64_t value = 0;

	if (a)
		memcpy(&value, attr_data(a), sizeof(value));
	return value;
}

static inline void parse_nest(const struct nlattr *nest, struct nlattr **a,
			      int max)
{
	check(nest);
	parse_attrs(attr_data(nest), nest->nla_len - NLA_HDRLEN, a, max);
}

static inline void msg_parse(struct msg *m, const struct nlmsghdr *h)
{
	const struct genlmsghdr *g = NLMSG_DATA(h);

	m->h = h;
	m->cmd = g->cmd;
	m->flags = h->nlmsg_flags;
	parse_attrs((const char *)g + GENL_HDRLEN,
		    h->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN), m->a,
		    ROOST_NL_A_MAX);
}

static inline int nl_send(struct nl *nl, struct req *r)
{
	ssize_t n;

	r->h.nlmsg_seq = ++nl->seq;
	n = send(nl->fd, r, r->h.nlmsg_len, 0);
	return n < 0 ? -errno : 0;
}

/*
 * One datagram's messages to @fn.  Return: 1 if there is more to come; 0 at the
 * end; -errno that the kernel answered, or of recv().  *interrupted is set if a
 * message says so.
 */
static inline int nl_receive(struct nl *nl, msg_fn fn, void *arg,
			     bool *interrupted)
{
	/* The kernel makes parts of that size; small ones, to have several. */
	static __thread char buffer[8192] __attribute__((aligned(8)));
	const struct nlmsghdr *h = (void *)buffer;
	ssize_t n = recv(nl->fd, buffer, sizeof(buffer), 0);
	struct msg m;
	int error;

	if (n < 0)
		return -errno;
	for (; NLMSG_OK(h, (size_t)n); h = NLMSG_NEXT(h, n)) {
		if (interrupted && h->nlmsg_flags & NLM_F_DUMP_INTR)
			*interrupted = true;
		if (h->nlmsg_type == NLMSG_ERROR ||
		    h->nlmsg_type == NLMSG_DONE) {
			memcpy(&error, NLMSG_DATA(h), sizeof(error));
			return error;
		}
		msg_parse(&m, h);
		if (fn)
			fn(&m, arg);
	}
	return 1;
}

/* Ask, and take the answer to its end. */
static inline int nl_ask(struct nl *nl, struct req *r, msg_fn fn, void *arg,
			 bool *interrupted)
{
	int ret = nl_send(nl, r);

	if (interrupted)
		*interrupted = false;
	if (ret)
		return ret;
	do {
		ret = nl_receive(nl, fn, arg, interrupted);
	} while (ret == 1);
	return ret;
}

static inline void learn_family(const struct msg *m, void *arg)
{
	struct nlattr *a[CTRL_ATTR_MAX + 1], *groups[16], *group[8];
	const struct genlmsghdr *g = NLMSG_DATA(m->h);
	struct nl *nl = arg;

	parse_attrs((const char *)g + GENL_HDRLEN,
		    m->h->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN), a,
		    CTRL_ATTR_MAX);
	memcpy(&nl->family, attr_data(a[CTRL_ATTR_FAMILY_ID]),
	       sizeof(nl->family));
	parse_nest(a[CTRL_ATTR_MCAST_GROUPS], groups, 15);
	/* There is one, and its number in the list is 1. */
	parse_nest(groups[1], group, 7);
	nl->group = attr_u32(group[CTRL_ATTR_MCAST_GRP_ID]);
	check(!strcmp(attr_data(group[CTRL_ATTR_MCAST_GRP_NAME]),
		      ROOST_NL_GROUP_EVENTS));
}

static inline int nl_open(struct nl *nl)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	struct req r;

	memset(nl, 0, sizeof(*nl));
	nl->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (nl->fd < 0)
		return -errno;
	if (bind(nl->fd, (void *)&address, sizeof(address)))
		return -errno;
	req_init(&r, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	req_put(&r, CTRL_ATTR_FAMILY_NAME, ROOST_NL_NAME,
		sizeof(ROOST_NL_NAME));
	return nl_ask(nl, &r, learn_family, nl, NULL);
}

/* Receive events, too. */
static inline int nl_join(struct nl *nl)
{
	return setsockopt(nl->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP,
			  &nl->group, sizeof(nl->group)) ? -errno : 0;
}

/* One of the commands, about @domain unless that is 0. */
static inline int nl_command(struct nl *nl, uint8_t cmd, uint16_t flags,
			     uint32_t domain, msg_fn fn, void *arg)
{
	struct req r;

	req_init(&r, nl->family, cmd, flags);
	if (domain)
		req_u32(&r, ROOST_NL_A_DOMAIN, domain);
	return nl_ask(nl, &r, fn, arg, NULL);
}

static inline void keep_woken(const struct msg *m, void *arg)
{
	*(int *)arg = attr_u32(m->a[ROOST_NL_A_WOKEN]);
}

/* How many were woken, or -errno; @worker -1: all. */
static inline int nl_wake(struct nl *nl, uint32_t domain, int worker)
{
	int woken = 0, ret;
	struct req r;

	req_init(&r, nl->family, ROOST_NL_CMD_WAKE, 0);
	req_u32(&r, ROOST_NL_A_DOMAIN, domain);
	if (worker >= 0)
		req_u32(&r, ROOST_NL_A_WORKER, worker);
	ret = nl_ask(nl, &r, keep_woken, &woken, NULL);
	return ret ? ret : woken;
}

/* A line "KEY:\tVALUE" of a descriptor's fdinfo; false if there is none. */
static inline bool fdinfo(int fd, const char *key, char *value, size_t size)
{
	char path[64], line[256];
	size_t n = strlen(key), length;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	check(f);
	while (!found && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, n) || line[n] != ':')
			continue;
		length = strcspn(line + n + 2, "\n");
		check(length < size);
		memcpy(value, line + n + 2, length);
		value[length] = '\0';
		found = true;
	}
	fclose(f);
	return found;
}

/* The number by which the others know a domain of ours. */
static inline uint32_t id_of(const struct dom *d)
{
	char value[32];

	check(fdinfo(d->fd, "roost-domain", value, sizeof(value)));
	return strtoul(value, NULL, 10);
}

#endif /* NL_HELP_H */
