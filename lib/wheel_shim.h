/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * wheel_shim.h - the timing wheel, shared with the module.
 *
 * kmod/wheel.c has no lock and no clock inside; lib/shim gives it the few kernel
 * headers that it wants.  Files that include this are built with -Ilib/shim.
 */
#ifndef ROOST_LIB_WHEEL_SHIM_H
#define ROOST_LIB_WHEEL_SHIM_H

#include "../kmod/wheel.h"

#endif /* ROOST_LIB_WHEEL_SHIM_H */
