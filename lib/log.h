/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* log.h - messages for whoever runs the program. */
#ifndef ROOST_LIB_LOG_H
#define ROOST_LIB_LOG_H

#include "compiler.h"

/** log_line() - one line, "roost: ...", to standard error, in one write */
void log_line(const char *format, ...) printf_like(1, 2) cold;

/** log_fatal() - the same, then abort(): a bug in the library was found */
void log_fatal(const char *format, ...) printf_like(1, 2)
	__attribute__((noreturn)) cold;

#endif /* ROOST_LIB_LOG_H */
