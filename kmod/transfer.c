// SPDX-License-Identifier: GPL-2.0
/*
 * One attempt to move bytes, without blocking.
 *
 * Sockets are used through sock_recvmsg() and sock_sendmsg(), other files
 * through vfs_iter_read() and vfs_iter_write(), so the hooks of security
 * modules run and file modes are checked.  MSG_DONTWAIT and MSG_NOSIGNAL are
 * forced.  Files other than sockets are used only if they know how not to block
 * (FMODE_NOWAIT), or have O_NONBLOCK set where that means something, which is
 * looked at in each attempt.
 */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <net/sock.h>

#include <uapi/linux/roost.h>

#include "compat.h"
#include "file.h"
#include "transfer.h"

#define RECV_FLAGS	(MSG_OOB | MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT | \
			 MSG_ERRQUEUE | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC)
#define SEND_FLAGS	(MSG_OOB | MSG_DONTROUTE | MSG_DONTWAIT | MSG_EOR | \
			 MSG_CONFIRM | MSG_NOSIGNAL | MSG_MORE)
/* Known, and not to be had in this way. */
#define REFUSED_FLAGS	(MSG_WAITALL | MSG_ZEROCOPY | MSG_FASTOPEN)

static bool is_recv(u8 opcode)
{
	return opcode == ROOST_OP_RECV || opcode == ROOST_OP_RECVMSG;
}

static int check_flags(const struct roost_transfer *t)
{
	u32 known = is_recv(t->opcode) ? RECV_FLAGS : SEND_FLAGS;

	if (t->msg_flags & ~(known | REFUSED_FLAGS))
		return -EINVAL;
	return t->msg_flags & REFUSED_FLAGS ? -EOPNOTSUPP : 0;
}

static bool is_disk(const struct file *f)
{
	umode_t mode = file_inode(f)->i_mode;

	return S_ISREG(mode) || S_ISBLK(mode);
}

/*
 * Can it be used without blocking at all?  What it says may change later.
 * O_NONBLOCK is nothing to regular files and disks, and O_DIRECT and O_DSYNC
 * wait for the device whatever is said besides.
 */
static bool never_blocks(const struct file *f)
{
	if (f->f_flags & (O_DIRECT | O_DSYNC) && is_disk(f))
		return false;
	return f->f_mode & FMODE_NOWAIT ||
	       (f->f_flags & O_NONBLOCK && !is_disk(f));
}

static int check_position(const struct file *f, u64 offset, fmode_t need)
{
	/*
	 * The file's own position has a lock, which may be held for long; and
	 * a disk without one would begin at 0 each time.
	 */
	if (offset == ROOST_OFFSET_NONE)
		return f->f_mode & FMODE_ATOMIC_POS || is_disk(f) ?
		       -EOPNOTSUPP : 0;
	if (offset > LLONG_MAX)
		return -EINVAL;
	return f->f_mode & need ? 0 : -ESPIPE;
}

static int check_read(const struct file *f, u64 offset)
{
	if (!(f->f_mode & FMODE_READ))
		return -EBADF;
	if (!f->f_op->read_iter || !never_blocks(f))
		return -EOPNOTSUPP;
	return check_position(f, offset, FMODE_PREAD);
}

/*
 * Pipes and terminals send signals to who writes, and that is not who is meant:
 * only what is neither.
 */
static int check_write(const struct file *f, u64 offset)
{
	umode_t mode = file_inode(f)->i_mode;

	if (!(f->f_mode & FMODE_WRITE))
		return -EBADF;
	if (!f->f_op->write_iter || !never_blocks(f) || S_ISFIFO(mode) ||
	    S_ISCHR(mode))
		return -EOPNOTSUPP;
	return check_position(f, offset, FMODE_PWRITE);
}

/**
 * roost_transfer_check_all() - roost_transfer_check(), not only what is common
 * @t:		as there
 * @file:	as there
 *
 * Context, return: as there.
 */
int roost_transfer_check_all(const struct roost_transfer *t,
			     const struct roost_file *file)
{
	bool rw = t->opcode == ROOST_OP_READ || t->opcode == ROOST_OP_WRITE;
	int ret;

	if (!rw)
		return file->sock ? check_flags(t) : -ENOTSOCK;
	if (t->msg_flags)
		return -EINVAL;
	if (file->sock)
		return t->addr2 == ROOST_OFFSET_NONE ? 0 : -ESPIPE;
	if (t->opcode == ROOST_OP_READ)
		ret = check_read(file->file, t->addr2);
	else
		ret = check_write(file->file, t->addr2);
	return ret;
}

static int import(struct iov_iter *iter, unsigned int direction, u64 addr,
		  u32 len)
{
	void __user *buf = u64_to_user_ptr(addr);
	size_t n = min_t(size_t, len, MAX_RW_COUNT);

	if (!access_ok(buf, n))
		return -EFAULT;
	iov_iter_ubuf(iter, direction, buf, n);
	return 0;
}

/*
 * Is there nothing more to receive, and will an event tell when there is?  The
 * file's ready bit was cleared before the attempt, so what comes later sets it.
 */
static __always_inline bool sock_drained(struct socket *sock, const struct msghdr *msg)
{
	struct sock *sk = sock->sk;

	/* An end that is there already says nothing more. */
	if (READ_ONCE(sk->sk_err) || READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN)
		return false;
	if (msg->msg_inq >= 0)
		return !msg->msg_inq;
	/* A unix stream has one queue, unless somebody has put another in. */
	return sk->sk_family == AF_UNIX && sk->sk_type == SOCK_STREAM &&
	       !READ_ONCE(sk->sk_user_data) &&
	       skb_queue_empty_lockless(&sk->sk_receive_queue);
}

/**
 * roost_transfer_peeks_ahead() - may MSG_PEEK find nothing though data is there?
 * @file:	a socket
 *
 * Context: any.
 */
bool roost_transfer_peeks_ahead(const struct roost_file *file)
{
	/* SO_PEEK_OFF */
	return READ_ONCE(file->sock->sk->sk_peek_off) >= 0;
}

/**
 * roost_transfer_deaf() - may room come without an event for who has sent?
 * @file:	a socket
 *
 * A datagram socket tells of room at the peer that it is connected to, not of
 * room at who is named in a message; it depends on the message which that is.
 *
 * Context: any.
 */
bool roost_transfer_deaf(const struct roost_file *file)
{
	const struct sock *sk = file->sock->sk;

	return (sk->sk_family == AF_UNIX && sk->sk_type == SOCK_DGRAM) ||
	       sk->sk_family == AF_NETLINK;
}

/* A datagram socket that was shut down says nothing of it to who does not wait. */
static bool shut_down(const struct sock *sk)
{
	return READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN &&
	       skb_queue_empty_lockless(&sk->sk_receive_queue);
}

static __always_inline ssize_t do_recv(struct socket *sock, struct msghdr *msg,
				       int flags, struct roost_transfer *t)
{
	ssize_t n;

	msg->msg_get_inq = 1;
	msg->msg_inq = -1;
	n = sock_recvmsg(sock, msg, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n >= 0 && unlikely(msg->msg_flags & MSG_TRUNC))
		t->cqe_flags |= ROOST_CQE_TRUNC;
	t->drained = n > 0 && sock_drained(sock, msg);
	if (n == -EAGAIN && !(flags & (MSG_OOB | MSG_ERRQUEUE)) &&
	    shut_down(sock->sk))
		n = 0;
	return n;
}

static __always_inline ssize_t recv_plain(struct socket *sock, u64 addr, u32 len,
					  int flags, struct roost_transfer *t)
{
	struct msghdr msg = { 0 };
	int ret = import(&msg.msg_iter, ITER_DEST, addr, len);

	if (ret)
		return ret;
	return do_recv(sock, &msg, flags, t);
}

static __always_inline ssize_t send_plain(struct socket *sock, u64 addr, u32 len,
					  int flags)
{
	struct msghdr msg = {
		.msg_flags = flags | MSG_DONTWAIT | MSG_NOSIGNAL,
	};
	int ret = import(&msg.msg_iter, ITER_SOURCE, addr, len);

	return ret ? ret : sock_sendmsg(sock, &msg);
}

/* The layout of another ABI is for the system call itself. */
static int copy_msghdr(struct user_msghdr *user, u64 addr)
{
	if (in_compat_syscall())
		return -EOPNOTSUPP;
	if (copy_from_user(user, u64_to_user_ptr(addr), sizeof(*user)))
		return -EFAULT;
	if (user->msg_name && user->msg_namelen < 0)
		return -EINVAL;
	return user->msg_iovlen > UIO_MAXIOV ? -EMSGSIZE : 0;
}

/* What recvmsg(2) writes back. */
static int put_msghdr(struct user_msghdr __user *to,
		      const struct user_msghdr *user, const struct msghdr *msg)
{
	size_t control = msg->msg_control_user - user->msg_control;
	int room = min(user->msg_namelen, msg->msg_namelen);

	if (user->msg_name) {
		if (copy_to_user(user->msg_name, msg->msg_name, room) ||
		    put_user(msg->msg_namelen, &to->msg_namelen))
			return -EFAULT;
	}
	if (put_user(msg->msg_flags & ~MSG_CMSG_COMPAT, &to->msg_flags) ||
	    put_user(control, &to->msg_controllen))
		return -EFAULT;
	return 0;
}

static noinline ssize_t recv_msg(struct socket *sock, struct roost_transfer *t)
{
	struct iovec fast[UIO_FASTIOV], *iov = fast;
	struct sockaddr_storage name;
	struct msghdr msg = { .msg_name = &name };
	struct user_msghdr user;
	ssize_t n;
	int ret;

	ret = copy_msghdr(&user, t->addr);
	if (ret)
		return ret;
	n = import_iovec(ITER_DEST, user.msg_iov, user.msg_iovlen, UIO_FASTIOV,
			 &iov, &msg.msg_iter);
	if (n < 0)
		return n;
	msg.msg_control_is_user = true;
	msg.msg_control_user = user.msg_control;
	msg.msg_controllen = user.msg_controllen;
	msg.msg_flags = t->msg_flags & MSG_CMSG_CLOEXEC;
	n = do_recv(sock, &msg, t->msg_flags, t);
	if (n >= 0) {
		ret = put_msghdr(u64_to_user_ptr(t->addr), &user, &msg);
		if (ret)
			n = ret;
	}
	kfree(iov);
	return n;
}

/* The control data, copied: to be freed by sock_kfree_s() if there is any. */
static int get_control(struct sock *sk, const struct user_msghdr *user,
		       struct msghdr *msg)
{
	void *control;

	if (!user->msg_controllen)
		return 0;
	if (user->msg_controllen > INT_MAX)
		return -ENOBUFS;
	control = sock_kmalloc(sk, user->msg_controllen, GFP_KERNEL);
	if (!control)
		return -ENOBUFS;
	if (copy_from_user(control, user->msg_control, user->msg_controllen)) {
		sock_kfree_s(sk, control, user->msg_controllen);
		return -EFAULT;
	}
	msg->msg_control = control;
	msg->msg_controllen = user->msg_controllen;
	return 0;
}

static int get_name(const struct user_msghdr *user, struct msghdr *msg,
		    struct sockaddr_storage *name)
{
	if (!user->msg_name || !user->msg_namelen)
		return 0;
	/* As sendmsg(2) does. */
	msg->msg_namelen = min_t(size_t, user->msg_namelen, sizeof(*name));
	if (copy_from_user(name, user->msg_name, msg->msg_namelen))
		return -EFAULT;
	msg->msg_name = name;
	return 0;
}

static noinline ssize_t send_msg(struct socket *sock, u64 addr, int flags)
{
	struct iovec fast[UIO_FASTIOV], *iov = fast;
	struct sockaddr_storage name;
	struct user_msghdr user;
	struct msghdr msg = {
		.msg_flags = flags | MSG_DONTWAIT | MSG_NOSIGNAL,
	};
	ssize_t n;

	n = copy_msghdr(&user, addr);
	if (!n)
		n = get_name(&user, &msg, &name);
	if (n)
		return n;
	n = import_iovec(ITER_SOURCE, user.msg_iov, user.msg_iovlen,
			 UIO_FASTIOV, &iov, &msg.msg_iter);
	if (n < 0)
		return n;
	n = get_control(sock->sk, &user, &msg);
	if (!n) {
		/* Sending moves the pointer and the length: keep ours. */
		void *control = msg.msg_control;

		n = sock_sendmsg(sock, &msg);
		if (control)
			sock_kfree_s(sock->sk, control, user.msg_controllen);
	}
	kfree(iov);
	return n;
}

/* The buffer, and flags for a call that does not block; or -errno. */
static int import_nowait(struct iov_iter *iter, unsigned int direction,
			 const struct file *f, u64 addr, u32 len)
{
	int ret;

	if (!never_blocks(f))
		return -EOPNOTSUPP;
	ret = import(iter, direction, addr, len);
	if (ret)
		return ret;
	return f->f_mode & FMODE_NOWAIT ? (__force int)RWF_NOWAIT : 0;
}

static noinline ssize_t read_file(struct file *f, u64 addr, u32 len, u64 offset)
{
	loff_t pos = offset;
	struct iov_iter iter;
	int flags = import_nowait(&iter, ITER_DEST, f, addr, len);

	if (flags < 0)
		return flags;
	return vfs_iter_read(f, &iter, offset == ROOST_OFFSET_NONE ? NULL : &pos,
			     (__force rwf_t)flags);
}

/* Beyond RLIMIT_FSIZE?  That is a signal to who writes: not to whom it is for. */
static bool beyond_limit(const struct file *f, u64 offset)
{
	const struct inode *inode = file_inode(f);

	if (!S_ISREG(inode->i_mode))
		return false;
	if (f->f_flags & O_APPEND)
		offset = i_size_read(inode);
	return offset >= rlimit(RLIMIT_FSIZE);
}

static noinline ssize_t write_file(struct file *f, u64 addr, u32 len, u64 offset)
{
	loff_t pos = offset;
	struct iov_iter iter;
	int flags = import_nowait(&iter, ITER_SOURCE, f, addr, len);

	if (flags < 0)
		return flags;
	if (len && beyond_limit(f, offset))
		return -EFBIG;
	return roost_iter_write(f, &iter,
				offset == ROOST_OFFSET_NONE ? NULL : &pos,
				(__force rwf_t)flags);
}

/**
 * roost_transfer_send() - one attempt to send or write
 * @t:		what; roost_transfer_check() has passed it
 * @file:	with which file
 *
 * Context: task, may sleep for memory, for page faults, and as long as others
 * hold the file's own locks.  Return: bytes; -EAGAIN; other -errno.
 */
ssize_t roost_transfer_send(const struct roost_transfer *t,
			    const struct roost_file *file)
{
	if (t->opcode == ROOST_OP_SENDMSG)
		return send_msg(file->sock, t->addr, t->msg_flags);
	if (t->opcode == ROOST_OP_WRITE && !file->sock)
		return write_file(file->file, t->addr, t->len, t->addr2);
	return send_plain(file->sock, t->addr, t->len, t->msg_flags);
}

/**
 * roost_transfer_recv() - one attempt to receive or read
 * @t:		what; roost_transfer_check() has passed it
 * @file:	with which file
 *
 * Context, return: as for roost_transfer_send().
 */
ssize_t roost_transfer_recv(struct roost_transfer *t,
			    const struct roost_file *file)
{
	u64 addr = t->addr;
	u32 len = t->len, flags = t->msg_flags;

	t->drained = false;
	if (likely(t->opcode == ROOST_OP_SEND_RECV)) {
		addr = t->addr2;
		len = t->len2;
		flags = 0;
	} else if (t->opcode == ROOST_OP_RECVMSG) {
		return recv_msg(file->sock, t);
	} else if (t->opcode == ROOST_OP_READ && !file->sock) {
		return read_file(file->file, addr, len, t->addr2);
	}
	return recv_plain(file->sock, addr, len, flags, t);
}
