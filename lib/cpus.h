/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* cpus.h - how many CPUs this process may use. */
#ifndef ROOST_LIB_CPUS_H
#define ROOST_LIB_CPUS_H

/**
 * cpus_available() - by the affinity of the calling thread and the quotas of its
 * control groups
 *
 * Return: at least 1; what cannot be found out is no limit.
 */
unsigned int cpus_available(void);

/**
 * cpus_quota() - what the quotas of the process's control groups come to
 * @top: in front of each path that is read; "" but in tests
 *
 * Return: CPUs, rounded up; 0: there is no quota, or it cannot be read.
 */
unsigned int cpus_quota(const char *top);

#endif /* ROOST_LIB_CPUS_H */
