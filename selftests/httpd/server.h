/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* server.h - a folder of files, and the server that is tested on it. */
#ifndef SELFTESTS_HTTPD_SERVER_H
#define SELFTESTS_HTTPD_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * struct server - a running httpd
 * @pid:	its process
 * @port:	where it listens
 */
struct server {
	pid_t pid;
	int port;
};

/** server_find() - where httpd is, from our own path; ends us if nowhere */
void server_find(const char *self);

/** root_make() - make the folder; ends us if that fails */
void root_make(void);

/** root_remove() - and remove it */
void root_remove(void);

/** root_path() - the path of @name beside the root; "root" is the root */
const char *root_path(const char *name);

/** root_write() - make or replace the file @name (as for root_path()) */
void root_write(const char *name, const char *text);

/**
 * server_start() - run httpd on the folder
 * @s:		filled in
 * @nofile:	its hard limit of descriptors, 0: ours
 * @options:	more options, separated by blanks
 *
 * Ends us if it does not come up.
 */
void server_start(struct server *s, int nofile, const char *options);

/** server_lives() - is it still running? */
bool server_lives(struct server *s);

/**
 * server_stop() - send a signal, wait for the end
 * @s:		the server
 * @sig:	the signal
 * @ms:		patience; then it is killed
 *
 * Return: its exit code; 128 + n if a signal killed it, -1 if we had to.
 */
int server_stop(struct server *s, int sig, int ms);

/** server_stat() - one number of its counters, by SIGUSR1; -1 without it */
long server_stat(struct server *s, const char *name);

/** server_stat_at_end() - the same from what it left behind */
long server_stat_at_end(const char *name);

#endif /* SELFTESTS_HTTPD_SERVER_H */
