/* SPDX-License-Identifier: GPL-2.0 */
/* What /proc/PID/fdinfo says of our descriptors. */
#ifndef _ROOST_FDINFO_H
#define _ROOST_FDINFO_H

struct file;
struct seq_file;

void roost_fdinfo_domain(struct seq_file *m, struct file *file);
void roost_fdinfo_worker(struct seq_file *m, struct file *file);

#endif /* _ROOST_FDINFO_H */
