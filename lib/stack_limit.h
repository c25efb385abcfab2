/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* stack_limit.h - says, once in the process, which limit has refused a stack. */
#ifndef ROOST_LIB_STACK_LIMIT_H
#define ROOST_LIB_STACK_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

/*
 * stack_limit_say() - a stack could not be had
 * @size:	its bytes
 * @space:	not even reserved
 */
void stack_limit_say(size_t size, bool space) cold;

#endif /* ROOST_LIB_STACK_LIMIT_H */
