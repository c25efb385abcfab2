/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* tests.h - the groups of tests, and what they share. */
#ifndef SELFTESTS_HTTPD_TESTS_H
#define SELFTESTS_HTTPD_TESTS_H

#include "client.h"
#include "server.h"
#include "tap.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* The server that most tests use, one after the other. */
extern struct server server;

/**
 * still_works() - whatever was done to @s, an ordinary request is answered
 *
 * Part of every hostile test.
 */
void still_works(struct server *s);

/** wait_open() - wait until the server has @n connections.  Return: if so */
bool wait_open(struct server *s, long n);

/** raise_nofile() - allow as many descriptors as we may.  Return: how many */
long raise_nofile(void);

void basic_tests(void);
void paths_tests(void);
void hostile_tests(void);
void limits_tests(void);
void stop_tests(void);

#endif /* SELFTESTS_HTTPD_TESTS_H */
