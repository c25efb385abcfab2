/* SPDX-License-Identifier: GPL-2.0 */
/* I/O ops: tried in ENTER, armed on their file, tried again. */
#ifndef _ROOST_IO_H
#define _ROOST_IO_H

#include <linux/types.h>
#include <linux/wait.h>

struct roost_domain;
struct roost_file;
struct roost_sqe;
struct roost_wheel_entry;
struct roost_worker;

extern unsigned int roost_max_ios;
extern bool roost_ring_io;

int roost_io_init(void);
void roost_io_exit(void);
int roost_io_table(struct roost_domain *domain, u32 nr);
void roost_io_free(struct roost_domain *domain);
void roost_io_drop(struct roost_domain *domain, struct roost_worker *worker);

int roost_io_start(struct roost_worker *worker, const struct roost_sqe *sqe,
		   bool *posted);
int roost_io_cancel(struct roost_worker *worker, const struct roost_sqe *sqe);
bool roost_io_run(struct roost_worker *worker);
void roost_io_expire(struct roost_wheel_entry *entry);
void roost_io_end_waiting(struct roost_file *file);
int roost_io_callback(struct wait_queue_entry *wait, unsigned int mode,
		      int sync, void *key);

#endif /* _ROOST_IO_H */
