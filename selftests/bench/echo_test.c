// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * echo_test.c - each of the benchmark's servers that needs no module sends back
 * what it gets, to one client and to many, and is still there afterwards.
 */
#include <arpa/inet.h>
#include <liburing.h>

#include "../unit/tap.h"
#include "programs.h"

/* Of the first line of numbers: how many requests came back. */
static unsigned long requests_of(const struct program *client)
{
	return strtoul(client->text, NULL, 10);
}

static void load(const char *address, const struct program *server,
		 const char *connections, const char *outstanding)
{
	struct program client;
	int code = program_client(&client, address, server->pid, connections,
				  outstanding, "3000");

	CHECK_MSG(code == 0, "%s connections, %s outstanding: %d, %s",
		  connections, outstanding, code, client.text);
	CHECK_EQ(requests_of(&client), 3000);
}

static void party_on(const char *name, const char *address)
{
	char *args[] = { (char *)name, (char *)address, NULL };
	struct program server;

	program_start(&server, name, args);
	if (CHECK_MSG(program_says(&server, "listening\n"), "it says: %s",
		      server.text)) {
		load(address, &server, "1", "1");
		load(address, &server, "64", "4");
		load(address, &server, "3", "200");
	}
	CHECK_EQ(program_end(&server), -SIGTERM);
	CHECK_STREQ(server.text, "listening\n");
}

/* A port that is free now; nobody else takes it in the next moment. */
static void free_port(char *address, size_t size)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&sa, &len) == 0);
	snprintf(address, size, "tcp:%u", ntohs(sa.sin_port));
	close(fd);
}

static void party(const char *name)
{
	char address[64];

	free_port(address, sizeof(address));
	party_on(name, address);
	snprintf(address, sizeof(address), "unix:/tmp/roost-echo-test.%d",
		 getpid());
	party_on(name, address);
	unlink(address + strlen("unix:"));
}

ROOST_TEST(epoll_sends_back)
{
	party("echo_epoll");
}

ROOST_TEST(handoff_sends_back)
{
	party("echo_handoff");
}

ROOST_TEST(aio_poll_sends_back)
{
	party("echo_aio_poll");
}

ROOST_TEST(roost_sends_back)
{
	setenv("ROOST_BACKEND", "futex", 1);
	party("echo_roost");
}

/* Older than 6.1, or forbidden here. */
static const char *no_uring(void)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_DEFER_TASKRUN,
	};
	struct io_uring ring;
	int ret = io_uring_queue_init_params(4, &ring, &params);

	if (ret == 0)
		io_uring_queue_exit(&ring);
	if (ret == -ENOSYS || ret == -EPERM)
		return "this machine does not allow io_uring";
	if (ret == -EINVAL)
		return "this machine's io_uring is older than Linux 6.1";
	return NULL;
}

ROOST_TEST(uring_poll_sends_back)
{
	if (no_uring())
		SKIP(no_uring());
	party("echo_uring_poll");
}

ROOST_TEST(uring_rw_sends_back)
{
	if (no_uring())
		SKIP(no_uring());
	party("echo_uring_rw");
}

ROOST_TEST(roost_insists_on_its_backend)
{
	char *args[] = {
		"echo_roost", "unix:/tmp/roost-echo-test.backend", NULL
	};
	struct program server;

	setenv("ROOST_BACKEND", "auto", 1);
	program_start(&server, "echo_roost", args);
	CHECK(!program_says(&server, "listening"));
	CHECK_EQ(program_end(&server), 1);
	CHECK_MSG(strstr(server.text, "ROOST_BACKEND is auto"), "%s",
		  server.text);
	unlink("/tmp/roost-echo-test.backend");
}
