// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* accept.c - take connections, for as long as there is room. */
#include <errno.h>
#include <stdio.h>

#include "conn.h"

#define PAUSE	ROOST_MSEC(50)

/* Errors that pass when somebody gives descriptors or memory back. */
static bool passes(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOBUFS ||
	       err == -ENOMEM;
}

void accept_main(void *arg)
{
	struct server *s = arg;
	int fd;

	for (;;) {
		fd = roost_accept(s->listener, NULL, NULL, ROOST_FOREVER);
		if (fd >= 0) {
			count(&s->counters.accepted);
			if (conn_start(s, fd))
				conn_refuse(s, fd);
			continue;
		}
		if (fd == -ECANCELED)
			return;
		if (!passes(fd))
			fprintf(stderr, "httpd: accept: error %d\n", -fd);
		count(&s->counters.accept_pauses);
		if (roost_sleep(PAUSE))
			return;
	}
}
