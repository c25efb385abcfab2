/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* cgroup_help.h - for tests that put processes into a group of the unified hierarchy. */
#ifndef ROOST_TEST_CGROUP_HELP_H
#define ROOST_TEST_CGROUP_HELP_H

#include "roost_test.h"

/* 0 or -errno. */
static inline int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

#endif /* ROOST_TEST_CGROUP_HELP_H */
