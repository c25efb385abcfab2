// SPDX-License-Identifier: GPL-2.0
/* The one place where the tracepoints are made. */
#include <linux/sched.h>

#include "domain.h"
#include "worker.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
