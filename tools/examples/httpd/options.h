/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* options.h - what the command line says. */
#ifndef HTTPD_OPTIONS_H
#define HTTPD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/runtime.h>

/**
 * struct options - the command line; times are nanoseconds
 * @addr:		IPv4 address to listen on
 * @port:		and port; 0: any that is free
 * @root:		folder to serve
 * @stats:		file for the counters, or NULL
 * @workers:		of the runtime, 0: its default
 * @backend:		of the runtime
 * @max_connections:	at once; more get 503
 * @cache_bytes:	of file contents to keep in memory
 * @max_body:		bytes of a request's body to read and throw away
 * @idle_timeout:	between requests
 * @request_timeout:	from a request's first byte to its last, and for each
 *			piece of a response to be taken by the client
 * @grace:		for running requests, once asked to stop
 * @walk:		do without openat2(2)
 */
struct options {
	const char *addr;
	unsigned int port;
	const char *root;
	const char *stats;
	unsigned int workers;
	enum roost_backend backend;
	unsigned int max_connections;
	size_t cache_bytes;
	size_t max_body;
	uint64_t idle_timeout;
	uint64_t request_timeout;
	uint64_t grace;
	bool walk;
};

/**
 * options_parse() - read the command line
 *
 * Prints and ends the program for --help and for what is wrong (exit code 2).
 */
void options_parse(struct options *o, int argc, char **argv);

#endif /* HTTPD_OPTIONS_H */
