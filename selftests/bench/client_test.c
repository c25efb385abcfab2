// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * client_test.c - the benchmark's client finds what servers do wrong, and its
 * quantiles are right.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include "../../tools/bench/vm/latency.h"
#include "../unit/tap.h"
#include "programs.h"

#define MESSAGE		64
#define REQUESTS	100
#define TOTAL		(REQUESTS * MESSAGE)

/* What a server does, once half of all has come. */
enum fault {
	NOTHING,
	FLIP,		/* changes one bit of one byte */
	SWAP,		/* answers two messages in the wrong order */
	TWICE,		/* answers one twice */
	LOSE,		/* forgets one */
	CLOSE,		/* hangs up */
	EXTRA,		/* sends one byte more when all is done */
};

/* Sends back what comes, @outstanding messages at a time. */
static void serve(int fd, enum fault fault, size_t outstanding)
{
	size_t size = outstanding * MESSAGE, seen = 0, n;
	char buf[8 * MESSAGE + 1];

	while (recv(fd, buf, size, MSG_WAITALL) == (ssize_t)size) {
		n = size;
		seen += size;
		if (fault == FLIP && seen == TOTAL / 2)
			buf[MESSAGE - 1] ^= 0x10;
		if (fault == SWAP && seen == TOTAL / 2) {
			memmove(buf + 2 * MESSAGE, buf, MESSAGE);
			memmove(buf, buf + MESSAGE, MESSAGE);
			memmove(buf + MESSAGE, buf + 2 * MESSAGE, MESSAGE);
		}
		if (fault == TWICE && seen == TOTAL / 2) {
			memcpy(buf + size, buf, MESSAGE);
			n += MESSAGE;
		}
		if (fault == LOSE && seen == TOTAL / 2)
			continue;
		if (fault == CLOSE && seen == TOTAL / 2)
			break;
		if (fault == EXTRA && seen == TOTAL)
			n++;
		if (send(fd, buf, n, MSG_NOSIGNAL) != (ssize_t)n)
			break;
	}
	close(fd);
}

static int listen_on(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	unlink(path);
	CHECK(bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0);
	CHECK(listen(fd, 8) == 0);
	return fd;
}

/* Run the client against such a server, and see what it says. */
static void expect(enum fault fault, size_t outstanding, int code,
		   const char *words)
{
	struct program server, client;
	char path[64], address[80], text[8];
	int listener, got;

	snprintf(path, sizeof(path), "/tmp/roost-client-test.%d", getpid());
	snprintf(address, sizeof(address), "unix:%s", path);
	snprintf(text, sizeof(text), "%zu", outstanding);
	listener = listen_on(path);
	if (program_fork(&server) == 0) {
		serve(accept(listener, NULL, NULL), fault, outstanding);
		pause();
	}
	close(listener);
	got = program_client(&client, address, server.pid, "1", text, "100");
	CHECK_MSG(got == code, "the client's code is %d, not %d: %s", got, code,
		  client.text);
	CHECK_MSG(strstr(client.text, words), "\"%s\" is not in: %s", words,
		  client.text);
	program_end(&server);
	unlink(path);
}

ROOST_TEST(right_bytes_are_counted)
{
	expect(NOTHING, 1, 0, "100\t");
	expect(NOTHING, 4, 0, "100\t");
}

ROOST_TEST(a_wrong_bit_is_found)
{
	expect(FLIP, 1, 1, "message 49 came back wrong");
}

ROOST_TEST(a_wrong_order_is_found)
{
	expect(SWAP, 2, 1, "message 48 came back wrong");
}

ROOST_TEST(an_answer_too_many_is_found)
{
	expect(TWICE, 1, 1, "came back");
}

ROOST_TEST(a_lost_message_is_found)
{
	program_patience = "1000";
	expect(LOSE, 1, 1, "1 messages did not come back");
	program_patience = "30000";
}

ROOST_TEST(a_lost_connection_is_found)
{
	expect(CLOSE, 1, 1, "connection 0: lost");
}

ROOST_TEST(a_byte_too_many_is_found)
{
	expect(EXTRA, 1, 1, "not quiet at the end");
}

ROOST_TEST(a_dead_server_is_found)
{
	struct program client;
	char path[64], address[80];
	pid_t pid = fork();
	int listener;

	if (pid == 0)
		_exit(0);
	CHECK(waitpid(pid, NULL, 0) == pid);
	snprintf(path, sizeof(path), "/tmp/roost-client-test.%d", getpid());
	snprintf(address, sizeof(address), "unix:%s", path);
	listener = listen_on(path);
	CHECK_EQ(program_client(&client, address, pid, "1", "1", "100"), 1);
	CHECK_MSG(strstr(client.text, "has died"), "%s", client.text);
	close(listener);
	unlink(path);
}

ROOST_TEST(quantiles_are_near_and_never_below)
{
	static struct latency l;
	uint64_t value, quantile;

	for (value = 1; value < 1ULL << 40; value += value / 7 + 1) {
		memset(&l, 0, sizeof(l));
		latency_add(&l, value);
		quantile = latency_quantile(&l, 0.5);
		CHECK_MSG(quantile >= value && quantile <= value + value / 32,
			  "%llu gives %llu", (unsigned long long)value,
			  (unsigned long long)quantile);
	}
}

ROOST_TEST(quantiles_count_from_below)
{
	static struct latency l;
	int i;

	for (i = 0; i < 98; i++)
		latency_add(&l, 10);
	latency_add(&l, 20);
	latency_add(&l, 30);
	CHECK_EQ(latency_quantile(&l, 0.5), 10);
	CHECK_EQ(latency_quantile(&l, 0.98), 10);
	CHECK_EQ(latency_quantile(&l, 0.99), 20);
	CHECK_EQ(latency_quantile(&l, 1), 30);
}
