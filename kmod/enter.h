/* SPDX-License-Identifier: GPL-2.0 */
/* ROOST_IOC_ENTER. */
#ifndef _ROOST_ENTER_H
#define _ROOST_ENTER_H

struct roost_worker;

long roost_enter(struct roost_worker *worker, void __user *arg);
long roost_enter_sized(struct roost_worker *worker, void __user *arg,
		       unsigned int cmd);

#endif /* _ROOST_ENTER_H */
