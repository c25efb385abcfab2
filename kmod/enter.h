/* SPDX-License-Identifier: GPL-2.0 */
/* ROOST_IOC_ENTER. */
#ifndef _ROOST_ENTER_H
#define _ROOST_ENTER_H

struct roost_worker;

int roost_enter(struct roost_worker *worker, void __user *arg);
int roost_enter_sized(struct roost_worker *worker, void __user *arg,
		      unsigned int cmd);

#endif /* _ROOST_ENTER_H */
