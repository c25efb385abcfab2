/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* roost/roost.h - everything a program needs. */
#ifndef ROOST_ROOST_H
#define ROOST_ROOST_H

#include <roost/actor.h>
#include <roost/alloc.h>
#include <roost/inspect.h>
#include <roost/io.h>
#include <roost/runtime.h>
#include <roost/trace.h>
#include <roost/types.h>

#endif /* ROOST_ROOST_H */
