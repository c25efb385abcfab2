/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ROOST_DEV_H
#define _ROOST_DEV_H

struct file;

int roost_dev_init(void);
void roost_dev_exit(void);
bool roost_dev_file(const struct file *file);

#endif /* _ROOST_DEV_H */
