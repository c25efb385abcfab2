/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* config.h - from the user's knobs to resolved ones. */
#ifndef ROOST_LIB_CONFIG_H
#define ROOST_LIB_CONFIG_H

#include <roost/runtime.h>

/**
 * config_resolve() - check the knobs and put in the defaults
 * @in:		the user's, or NULL
 * @out:	resolved: nothing is 0 where 0 means the default
 *
 * Return: 0; -EINVAL, after a line on standard error that names the knob.
 */
int config_resolve(const struct roost_config *in, struct roost_config *out);

#endif /* ROOST_LIB_CONFIG_H */
