/* SPDX-License-Identifier: GPL-2.0 */
/* Carrying out submissions. */
#ifndef _ROOST_OP_H
#define _ROOST_OP_H

#include <linux/types.h>

struct roost_sqe;
struct roost_worker;

bool roost_op_execute(struct roost_worker *worker, const struct roost_sqe *sqe,
		      bool *posted);

#endif /* _ROOST_OP_H */
