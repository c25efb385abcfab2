/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* json.h - is a text JSON, and what does a key in it say? */
#ifndef NL_JSON_H
#define NL_JSON_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline const char *json_skip(const char *s);

static inline const char *json_blank(const char *s)
{
	return s + strspn(s, " \t\r\n");
}

static inline const char *json_skip_string(const char *s)
{
	if (*s++ != '"')
		return NULL;
	for (; *s != '"'; s++) {
		if ((unsigned char)*s < 0x20)
			return NULL;
		if (*s != '\\')
			continue;
		s++;
		if (*s == 'u') {
			if (strspn(s + 1, "0123456789abcdefABCDEF") < 4)
				return NULL;
			s += 4;
		} else if (!*s || !strchr("\"\\/bfnrt", *s)) {
			return NULL;
		}
	}
	return s + 1;
}

/* The inside of an array or, with @keys, of an object; after its bracket. */
static inline const char *json_skip_list(const char *s, char end, bool keys)
{
	s = json_blank(s);
	if (*s == end)
		return s + 1;
	for (;;) {
		if (keys) {
			s = json_skip_string(json_blank(s));
			if (!s || *(s = json_blank(s)) != ':')
				return NULL;
			s++;
		}
		s = json_skip(s);
		if (!s)
			return NULL;
		s = json_blank(s);
		if (*s == end)
			return s + 1;
		if (*s++ != ',')
			return NULL;
	}
}

/* Past one value, or NULL if there is none. */
static inline const char *json_skip(const char *s)
{
	static const char *const words[] = { "true", "false", "null" };
	unsigned int i;

	s = json_blank(s);
	if (*s == '{')
		return json_skip_list(s + 1, '}', true);
	if (*s == '[')
		return json_skip_list(s + 1, ']', false);
	if (*s == '"')
		return json_skip_string(s);
	for (i = 0; i < 3; i++)
		if (!strncmp(s, words[i], strlen(words[i])))
			return s + strlen(words[i]);
	/* Whole numbers are all that we write; no zero goes before. */
	if (!isdigit((unsigned char)*s) || (*s == '0' && isdigit((unsigned char)s[1])))
		return NULL;
	return s + strspn(s, "0123456789");
}

/* One document and nothing else? */
static inline bool json_valid(const char *s)
{
	s = json_skip(s);
	return s && !*json_blank(s);
}

/* The number behind the first such key, -1 if there is none. */
static inline long long json_number_of(const char *s, const char *key)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = strstr(s, quoted);
	return at ? strtoll(at + strlen(quoted), NULL, 10) : -1;
}

#endif /* NL_JSON_H */
