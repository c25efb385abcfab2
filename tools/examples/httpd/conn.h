/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* conn.h - one connection: its actor and its place in the list. */
#ifndef HTTPD_CONN_H
#define HTTPD_CONN_H

#include "server.h"

/**
 * conn_start() - give an accepted socket to an actor of its own
 * @server:	the server
 * @fd:		the socket, managed; taken over on success
 *
 * Return: 0, or -errno if there is no room for one more.
 */
int conn_start(struct server *server, int fd);

/**
 * conn_refuse() - tell a client that the server is full, then close
 * @fd:		the socket, managed; taken over
 */
void conn_refuse(struct server *server, int fd);

/**
 * conn_close_idle() - end the connections that wait for a request
 *
 * By closing their receiving side: a request that is there already is still
 * read and answered.
 */
void conn_close_idle(struct server *server);

/** conn_stop_all() - stop every connection's actor, whatever it does */
void conn_stop_all(struct server *server);

#endif /* HTTPD_CONN_H */
