// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* log.c - messages for whoever runs the program. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void write_line(const char *format, va_list args)
{
	char line[256] = "roost: ";
	int used = 7;
	int n;

	n = vsnprintf(line + used, sizeof(line) - used - 1, format, args);
	if (n < 0)
		return;
	used += n;
	if (used > (int)sizeof(line) - 2)
		used = sizeof(line) - 2;
	line[used++] = '\n';
	if (write(STDERR_FILENO, line, used) < 0)
		return;
}

void log_line(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_line(format, args);
	va_end(args);
}

void log_fatal(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_line(format, args);
	va_end(args);
	abort();
}
