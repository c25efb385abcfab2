/* SPDX-License-Identifier: GPL-2.0 */
/* One attempt to move bytes, without blocking. */
#ifndef _ROOST_TRANSFER_H
#define _ROOST_TRANSFER_H

#include <linux/types.h>

struct roost_file;

/**
 * struct roost_transfer - what to move; a private copy of what the user said
 * @opcode:	ROOST_OP_RECV to ROOST_OP_SEND_RECV
 * @addr:	buffer or struct msghdr
 * @addr2:	SEND_RECV: the second buffer; READ, WRITE: offset
 * @len:	bytes at @addr
 * @len2:	bytes at @addr2
 * @msg_flags:	MSG_* bits, checked
 */
struct roost_transfer {
	u8 opcode;
	u64 addr;
	u64 addr2;
	u32 len;
	u32 len2;
	u32 msg_flags;
};

bool roost_transfer_deaf(const struct roost_file *file);
bool roost_transfer_peeks_ahead(const struct roost_file *file);
int roost_transfer_check(const struct roost_transfer *t,
			 const struct roost_file *file);
ssize_t roost_transfer_try(const struct roost_transfer *t, bool sending,
			   const struct roost_file *file, u32 *flags,
			   bool *drained);

#endif /* _ROOST_TRANSFER_H */
