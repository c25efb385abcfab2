/* SPDX-License-Identifier: GPL-2.0 */
/* One attempt to move bytes, without blocking. */
#ifndef _ROOST_TRANSFER_H
#define _ROOST_TRANSFER_H

#include <linux/types.h>

#include <uapi/linux/roost.h>

#include "file.h"

/**
 * struct roost_transfer - what to move; a private copy of what the user said
 * @addr:	buffer or struct msghdr
 * @addr2:	SEND_RECV: the second buffer; READ, WRITE: offset
 * @len:	bytes at @addr
 * @len2:	bytes at @addr2
 * @msg_flags:	MSG_* bits, checked
 * @opcode:	ROOST_OP_RECV to ROOST_OP_SEND_RECV
 * @drained:	out: nothing is left to be received, and an event will come
 * @cqe_flags:	out: ROOST_CQE_* bits
 */
struct roost_transfer {
	u64 addr;
	u64 addr2;
	u32 len;
	u32 len2;
	u32 msg_flags;
	u8 opcode;
	bool drained;
	u32 cqe_flags;
};

bool roost_transfer_deaf(const struct roost_file *file);
bool roost_transfer_peeks_ahead(const struct roost_file *file);
int roost_transfer_check_all(const struct roost_transfer *t,
			     const struct roost_file *file);
ssize_t roost_transfer_send(const struct roost_transfer *t,
			    const struct roost_file *file);
ssize_t roost_transfer_recv(struct roost_transfer *t,
			    const struct roost_file *file);

/**
 * roost_transfer_check() - can this be done in this way?
 * @t:		what is wanted
 * @file:	with which file
 *
 * Context: task.  Return: 0; -EINVAL; -EOPNOTSUPP; -ENOTSOCK; -EBADF if the
 * file is not open for it; -ESPIPE.
 */
static inline int roost_transfer_check(const struct roost_transfer *t,
				       const struct roost_file *file)
{
	if (likely(t->opcode == ROOST_OP_SEND_RECV && file->sock &&
		   !t->msg_flags))
		return 0;
	return roost_transfer_check_all(t, file);
}

#endif /* _ROOST_TRANSFER_H */
