// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* out.c - JSON on standard output. */
#include <stdio.h>

#include "out.h"

static int depth;
static bool first = true;

static void print_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		unsigned char c = *s;

		/* A process may be called anything; not all of that is UTF-8. */
		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void begin(const char *key)
{
	if (!first)
		putchar(',');
	first = false;
	if (key) {
		print_string(key);
		putchar(':');
	}
}

void json_open(const char *key, char bracket)
{
	begin(key);
	putchar(bracket);
	depth++;
	first = true;
}

void json_close(char bracket)
{
	putchar(bracket);
	first = false;
	if (--depth)
		return;
	/* Each document a line, at once. */
	putchar('\n');
	fflush(stdout);
	first = true;
}

void json_number(const char *key, unsigned long long value)
{
	begin(key);
	printf("%llu", value);
}

void json_bool(const char *key, bool value)
{
	begin(key);
	printf("%s", value ? "true" : "false");
}

void json_string(const char *key, const char *value)
{
	begin(key);
	print_string(value);
}
