/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * JSON on standard output.  Keys are NULL in arrays and at the top.  What is open
 * is counted here, so there is one document at a time.
 */
#ifndef ROOSTCTL_OUT_H
#define ROOSTCTL_OUT_H

#include <stdbool.h>

void json_open(const char *key, char bracket);
void json_close(char bracket);
void json_number(const char *key, unsigned long long value);
void json_bool(const char *key, bool value);
void json_string(const char *key, const char *value);

#endif
