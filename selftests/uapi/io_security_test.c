// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * io_security_test.c - what I/O in the ring bypasses and what it does not; each
 * sentence of Documentation/security.rst is one test here, of the same name.
 *
 * Runs as root: it changes credentials and the module's parameters.
 */
#include "kselftest_harness.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

#include "io_help.h"

#define OTHER	1001

FIXTURE(security) {
	struct dom d;
	struct wrk w, y;
	uint64_t limit;
	int s[2];
	char in[64], out[64];
};

FIXTURE_SETUP(security)
{
	ASSERT_EQ(getuid(), 0);
	self->limit = now_ns() + wide(15 * SEC);
	ASSERT_EQ(dom_make_io(&self->d, 64, 1024), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 16, 32), 0);
	ASSERT_EQ(wrk_make(&self->y, &self->d, 16, 32), 0);
	unix_pair(self->s, SOCK_STREAM);
}

FIXTURE_TEARDOWN(security)
{
	close(self->w.fd);
	close(self->y.fd);
	close(self->d.fd);
}

/* A filter that kills whoever makes one of the calls that move bytes. */
static void filter_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_recvfrom, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sendto, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_pread64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
}

/* A thread under a filter sends; what it got. */
struct filtered {
	FIXTURE_DATA(security) *self;
	struct roost_sqe sqe;
	int res;
};

static void *send_filtered(void *arg)
{
	struct filtered *f = arg;

	filter_calls();
	f->res = io_now(&f->self->w, f->sqe);
	return NULL;
}

static int result_under_filter(FIXTURE_DATA(security) *self, uint32_t index)
{
	struct filtered f = {
		.self = self,
		.sqe = sqe_send(roost_op_id(index, 1), self->s[0], "x", 1),
	};
	pthread_t thread;

	check(pthread_create(&thread, NULL, send_filtered, &f) == 0);
	pthread_join(thread, NULL);
	return f.res;
}

TEST_F(security, refused_under_seccomp)
{
	unsigned int op;
	struct filtered f = { .self = self };
	pthread_t thread;

	/* every op, not only those that the filter is about */
	for (op = ROOST_OP_RECV; op <= ROOST_OP_SEND_RECV; op++) {
		f.sqe = sqe_io((uint8_t)op, roost_op_id(op, 1), self->s[0],
			       self->in, 0);
		ASSERT_EQ(pthread_create(&thread, NULL, send_filtered, &f), 0);
		pthread_join(thread, NULL);
		EXPECT_EQ(f.res, -EACCES)
			TH_LOG("op %u", op);
	}
	EXPECT_EQ(stat_of(&self->d).ios_started, 0);
	/* this thread has no filter */
	EXPECT_EQ(io_now(&self->w, sqe_send(roost_op_id(1, 1), self->s[0],
					    "x", 1)), 1);
}

/* Timers, polls, wakes and the ends of ops are as ever. */
static void *others_filtered(void *arg)
{
	FIXTURE_DATA(security) *self = arg;
	struct roost_cqe cqe;

	filter_calls();
	check(submit_one(&self->w, sqe_timer(0, 1, 1)) == 1);
	check(submit_one(&self->w, sqe_poll(0, 1, self->s[0], POLLOUT, 0)) == 1);
	check(submit_one(&self->w, sqe_cancel(roost_op_id(3, 1), 0)) == 1);
	check(pop(&self->w, &cqe));
	return NULL;
}

TEST_F(security, seccomp_leaves_other_ops_alone)
{
	pthread_t thread;
	struct roost_cqe cqe;
	unsigned int n = 1;

	ASSERT_EQ(pthread_create(&thread, NULL, others_filtered, self), 0);
	pthread_join(thread, NULL);
	while (n < 3 && now_ns() < self->limit) {
		if (!pop(&self->w, &cqe))
			continue;
		EXPECT_NE(cqe.res, -EACCES);
		n++;
	}
	EXPECT_EQ(n, 3);
}

/* What the filter forbids is done all the same: that is why it is a parameter. */
TEST_F(security, bypasses_filters_if_allowed)
{
	int was = set_parameter("ring_io_seccomp", 1);
	int res = result_under_filter(self, 1);

	set_parameter("ring_io_seccomp", was);
	EXPECT_EQ(was, 0);
	EXPECT_EQ(res, 1);
	EXPECT_EQ(result_under_filter(self, 2), -EACCES);
}

/* Checked for who submits: the op is not stopped when a filter comes later. */
TEST_F(security, decided_at_submission)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct roost_cqe cqe;
		struct dom d;
		struct wrk w;

		check(dom_make_io(&d, 8, 0) == 0);
		check(wrk_make(&w, &d, 8, 8) == 0);
		check(submit_one(&w, sqe_recv(roost_op_id(1, 1), self->s[0],
					      self->in, 8)) == 1);
		filter_calls();
		check(write(self->s[1], "xyz", 3) == 3);
		check(submit(&w) == 0);
		check(pop(&w, &cqe) && cqe.res == 3);
		/* and no new one */
		check(io_now(&w, sqe_recv(roost_op_id(1, 2), self->s[0],
					  self->in, 8)) == -EACCES);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
}

/* A tracer that stops at each system call sees the ENTER, not the receive. */
TEST_F(security, invisible_to_tracers)
{
	unsigned int enters = 0, receives = 0;
	struct __ptrace_syscall_info info;
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct dom d;
		struct wrk w;

		check(dom_make_io(&d, 8, 0) == 0);
		check(wrk_make(&w, &d, 8, 8) == 0);
		check(write(self->s[1], "xyz", 3) == 3);
		check(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
		raise(SIGSTOP);
		check(io_now(&w, sqe_recv(roost_op_id(1, 1), self->s[0],
					  self->in, 8)) == 3);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_EQ(ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD), 0);
	for (;;) {
		ASSERT_EQ(ptrace(PTRACE_SYSCALL, pid, 0, 0), 0);
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status))
			break;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <=
		    0 || info.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		enters += info.entry.nr == __NR_ioctl &&
			  (info.entry.args[1] & 0xffff) ==
			  (ROOST_IOC_ENTER & 0xffff);
		receives += info.entry.nr == __NR_recvfrom ||
			    info.entry.nr == __NR_recvmsg ||
			    info.entry.nr == __NR_read;
	}
	EXPECT_EQ(WEXITSTATUS(status), 0);
	EXPECT_EQ(enters, 1);
	EXPECT_EQ(receives, 0);
}

/* The switches */

TEST_F(security, domain_without_io)
{
	struct roost_domain_params p = {
		.flags = ROOST_DOMAIN_NO_IO, .nr_ios = 8, .nr_files = 8,
	};
	struct roost_cqe cqe;
	struct dom d;
	struct wrk w;
	unsigned int op;

	ASSERT_EQ(dom_make_params(&d, &p), 0);
	EXPECT_EQ(d.params.features & ROOST_FEAT_IO, 0);
	EXPECT_EQ(d.control->features & ROOST_FEAT_IO, 0);
	EXPECT_EQ(d.control->features, d.params.features);
	ASSERT_EQ(wrk_make(&w, &d, 8, 8), 0);
	for (op = ROOST_OP_RECV; op <= ROOST_OP_SEND_RECV; op++)
		EXPECT_EQ(io_now(&w, sqe_io((uint8_t)op, roost_op_id(1, op),
					    self->s[0], self->in, 0)), -EACCES)
			TH_LOG("op %u", op);
	/* the rest works */
	ASSERT_EQ(submit_one(&w, sqe_nop(1)), 1);
	ASSERT_TRUE(pop(&w, &cqe));
	/* and the other domain does */
	EXPECT_TRUE(self->d.params.features & ROOST_FEAT_IO);
	EXPECT_EQ(io_now(&self->w, sqe_send(roost_op_id(1, 1), self->s[0],
					    "x", 1)), 1);
}

TEST_F(security, turned_off_for_all)
{
	struct roost_info info = { 0 };
	struct roost_cqe cqe;
	uint64_t features;
	int was, dev = dev_open(), ret, res, pending;
	struct dom d;

	/* one that waits from before */
	ASSERT_EQ(submit_one(&self->w, sqe_recv(roost_op_id(2, 1), self->s[0],
						self->in, 8)), 1);
	was = set_parameter("ring_io", 0);
	ret = call(dev, ROOST_IOC_INFO, &info);
	features = dom_make_io(&d, 8, 8) ? ROOST_FEAT_IO : d.params.features;
	res = io_now(&self->w, sqe_send(roost_op_id(1, 1), self->s[0], "x", 1));
	pending = (int)stat_of(&self->d).ios_pending;
	set_parameter("ring_io", was);
	EXPECT_EQ(was, 1);
	EXPECT_EQ(ret, 0);
	EXPECT_EQ(info.features & ROOST_FEAT_IO, 0);
	EXPECT_EQ(features & ROOST_FEAT_IO, 0);
	EXPECT_EQ(res, -EACCES);
	/* what had been accepted goes on */
	EXPECT_EQ(pending, 1);
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	ASSERT_EQ(submit(&self->w), 0);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(cqe.res, 3);
	EXPECT_EQ(io_now(&self->w, sqe_send(roost_op_id(1, 2), self->s[0], "x",
					    1)), 1);
}

/* The parameters are for root to change. */
TEST_F(security, parameters_are_roots)
{
	static const char *const names[] = { "ring_io", "ring_io_seccomp" };
	char path[128];
	struct stat st;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/sys/module/roost/parameters/%s",
			 names[i]);
		ASSERT_EQ(stat(path, &st), 0);
		EXPECT_EQ(st.st_uid, 0);
		EXPECT_EQ(st.st_mode & 0022, 0);
	}
}

/* What it does not bypass */

TEST_F(security, file_modes_hold)
{
	int fd = open("/dev/zero", O_WRONLY), p[2];

	ASSERT_EQ(pipe(p), 0);
	EXPECT_EQ(io_now(&self->w, sqe_io(ROOST_OP_READ, roost_op_id(1, 1), p[1],
					  self->in, 8)), -EBADF);
	EXPECT_EQ(io_now(&self->w, sqe_io(ROOST_OP_READ, roost_op_id(1, 2), fd,
					  self->in, 8)), -EBADF);
	EXPECT_EQ(io_now(&self->w, sqe_io(ROOST_OP_READ, roost_op_id(1, 3),
					  open("/", O_PATH), self->in, 8)),
		  -EBADF);
}

/* Only files of the caller's own table can be named. */
TEST_F(security, descriptors_of_the_owner_only)
{
	struct roost_enter e = { 0 };
	pid_t pid = fork();
	int status;

	if (!pid) {
		/* a child has the descriptors, and no right to the domain */
		check(enter(&self->w, &e) == -EPERM);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
}

/* Kernel memory is no buffer. */
TEST_F(security, no_kernel_addresses)
{
	static const uint64_t bad[] = {
		0xffff888000000000ULL, 0xffffffff81000000ULL,
		0xffffffffffffff00ULL, 0x8000000000000000ULL,
	};
	struct iovec v = { NULL, 8 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	uint32_t sequence = 0;
	struct roost_sqe sqe;
	unsigned int i;

	ASSERT_EQ(send(self->s[1], "12345678", 8, 0), 8);
	for (i = 0; i < 4; i++) {
		void *p = (void *)bad[i];

		EXPECT_EQ(io_now(&self->w, sqe_recv(roost_op_id(1, ++sequence),
						    self->s[0], p, 8)),
			  -EFAULT);
		EXPECT_EQ(io_now(&self->w, sqe_send(roost_op_id(1, ++sequence),
						    self->s[0], p, 8)),
			  -EFAULT);
		EXPECT_EQ(io_now(&self->w, sqe_msg(ROOST_OP_RECVMSG,
						   roost_op_id(1, ++sequence),
						   self->s[0], p)), -EFAULT);
		v.iov_base = p;
		EXPECT_EQ(io_now(&self->w, sqe_msg(ROOST_OP_RECVMSG,
						   roost_op_id(1, ++sequence),
						   self->s[0], &m)), -EFAULT);
		EXPECT_EQ(io_now(&self->w, sqe_msg(ROOST_OP_SENDMSG,
						   roost_op_id(1, ++sequence),
						   self->s[0], &m)), -EFAULT);
		/* it wraps into user space */
		sqe = sqe_recv(roost_op_id(1, ++sequence), self->s[0], p,
			       ~0U);
		EXPECT_EQ(io_now(&self->w, sqe), -EFAULT);
	}
	EXPECT_EQ(drain_socket(self->s[1]), 0);
}

/* Hooks of security modules, counted by probes in front of them. */
#define TRACING	"/sys/kernel/tracing/"

static void put_line(const char *path, int flags, const char *line)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	ssize_t n = (ssize_t)strlen(line);

	check(fd >= 0);
	check(write(fd, line, (size_t)n) == n);
	close(fd);
}

/* How often the event was met while it was on. */
static unsigned int count_events(const char *event)
{
	FILE *f = fopen(TRACING "trace", "re");
	unsigned int n = 0;
	char line[512];

	check(f);
	while (fgets(line, sizeof(line), f))
		n += !!strstr(line, event);
	fclose(f);
	return n;
}

static unsigned int events_of(FIXTURE_DATA(security) *self,
			      const struct roost_sqe *sqe)
{
	put_line(TRACING "trace", O_TRUNC, "\n");
	put_line(TRACING "tracing_on", 0, "1");
	if (sqe)
		check(io_now(&self->w, *sqe) > 0);
	put_line(TRACING "tracing_on", 0, "0");
	return count_events("roost_hook:");
}

TEST_F(security, security_hooks_run)
{
	int p[2];
	struct {
		const char *hook;
		struct roost_sqe sqe;
	} rows[3];
	unsigned int i, without, with;
	char line[128];

	if (access(TRACING "kprobe_events", W_OK) && errno == ENOENT)
		SKIP(return, "the kernel has no probes");
	ASSERT_EQ(pipe2(p, O_NONBLOCK), 0);
	ASSERT_EQ(write(p[1], "x", 1), 1);
	ASSERT_EQ(send(self->s[1], "x", 1, 0), 1);
	rows[0].hook = "security_socket_recvmsg";
	rows[0].sqe = sqe_recv(roost_op_id(1, 1), self->s[0], self->in, 8);
	rows[1].hook = "security_socket_sendmsg";
	rows[1].sqe = sqe_send(roost_op_id(2, 1), self->s[0], self->out, 8);
	rows[2].hook = "security_file_permission";
	rows[2].sqe = sqe_io(ROOST_OP_READ, roost_op_id(3, 1), p[0], self->in,
			     8);
	for (i = 0; i < 3; i++) {
		snprintf(line, sizeof(line), "p:roost_test/roost_hook %s\n",
			 rows[i].hook);
		put_line(TRACING "kprobe_events", O_APPEND, line);
		snprintf(line, sizeof(line), "common_pid == %d\n", getpid());
		put_line(TRACING "events/roost_test/filter", 0, line);
		put_line(TRACING "events/roost_test/enable", 0, "1");
		/* opening and writing the switch has hooks of its own */
		without = events_of(self, NULL);
		with = events_of(self, &rows[i].sqe);
		put_line(TRACING "events/roost_test/enable", 0, "0");
		put_line(TRACING "kprobe_events", O_APPEND,
			 "-:roost_test/roost_hook\n");
		EXPECT_EQ(with, without + 1)
			TH_LOG("%s", rows[i].hook);
	}
}

/* Credentials: those of the thread that submitted, whoever carries it out. */

/* A message that claims to be from @uid. */
struct claim {
	struct iovec v;
	struct msghdr m;
	char control[CMSG_SPACE(sizeof(struct ucred))];
};

static void claim_uid(struct claim *c, uid_t uid)
{
	struct ucred cred = { .pid = getpid(), .uid = uid, .gid = 0 };
	struct cmsghdr *h;

	memset(c, 0, sizeof(*c));
	c->v = (struct iovec){ "x", 1 };
	c->m = (struct msghdr){ .msg_iov = &c->v, .msg_iovlen = 1,
				.msg_control = c->control,
				.msg_controllen = sizeof(c->control) };
	h = CMSG_FIRSTHDR(&c->m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_CREDENTIALS;
	h->cmsg_len = CMSG_LEN(sizeof(cred));
	memcpy(CMSG_DATA(h), &cred, sizeof(cred));
}

/* Of this thread alone, unlike setresuid(3). */
static void become(uid_t uid)
{
	check(syscall(SYS_setresuid, -1, uid, -1) == 0);
}

struct submitter {
	FIXTURE_DATA(security) *self;
	struct roost_sqe sqe;
	uid_t uid;
};

static void *submit_as(void *arg)
{
	struct submitter *s = arg;

	become(s->uid);
	check(submit_one(&s->self->w, s->sqe) == 1);
	return NULL;
}

/* Fill our end as registered, and have that known: the next op just waits. */
static void fill_known(FIXTURE_DATA(security) *self, uint64_t op_id)
{
	struct roost_cqe cqe;

	fill_socket(self->s[0]);
	check(submit_one(&self->w, on_file(sqe_send(op_id, self->s[0], "x", 1),
					   1)) == 1);
	check(submit_one(&self->w, sqe_cancel(op_id, 0)) == 1);
	check(pop(&self->w, &cqe) && cqe.res == -ECANCELED);
}

/* Armed by a thread with the rights of @submits, done by one of @executes. */
static int send_claim(FIXTURE_DATA(security) *self, uint32_t index,
		      uid_t submits, uid_t executes)
{
	struct submitter s = { .self = self, .uid = submits };
	struct roost_cqe cqe;
	struct claim c;
	pthread_t thread;

	claim_uid(&c, 4711);
	s.sqe = on_file(sqe_msg(ROOST_OP_SENDMSG, roost_op_id(index, 2),
				self->s[0], &c.m), 1);
	fill_known(self, roost_op_id(index, 1));
	check(pthread_create(&thread, NULL, submit_as, &s) == 0);
	pthread_join(thread, NULL);
	check(stat_of(&self->d).ios_pending == 1);
	become(executes);
	drain_socket(self->s[1]);
	check(submit(&self->y) == 0);
	check(pop(&self->y, &cqe));
	become(0);
	check(cqe.user_data == s.sqe.op_id);
	return cqe.res;
}

TEST_F(security, rights_of_the_submitter)
{
	/* claims another uid: that takes CAP_SETUID */
	EXPECT_EQ(send_claim(self, 1, 0, 0), 1);
	EXPECT_EQ(send_claim(self, 2, OTHER, OTHER), -EPERM);
	/* root's thread does not lend its rights by carrying it out */
	EXPECT_EQ(send_claim(self, 3, OTHER, 0), -EPERM);
	/* nor does who has none take them from the op */
	EXPECT_EQ(send_claim(self, 4, 0, OTHER), 1);
	/* and the executing thread has its own again */
	EXPECT_EQ(geteuid(), 0);
}

/* The limits of the process: files received are descriptors like others. */
TEST_F(security, limits_hold)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec v = { "x", 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	struct rlimit files;

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &(int){ 0 }, sizeof(int));
	ASSERT_EQ(sendmsg(self->s[1], &m, 0), 1);
	/* no descriptor may come: the message does, the file does not */
	files = (struct rlimit){ 3, 3 };
	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
	v.iov_base = self->in;
	m.msg_controllen = sizeof(control);
	EXPECT_EQ(io_now(&self->w, sqe_msg(ROOST_OP_RECVMSG, roost_op_id(1, 1),
					   self->s[0], &m)), 1);
	EXPECT_EQ(m.msg_flags & MSG_CTRUNC, MSG_CTRUNC);
	EXPECT_EQ(m.msg_controllen, 0);
}

/* A file that stays registered stays open: revoking is FILE_REMOVE. */
TEST_F(security, registered_files_stay_open)
{
	int fd = self->s[0];

	ASSERT_EQ(send(self->s[1], "x", 1, 0), 1);
	EXPECT_EQ(io_now(&self->w, on_file(sqe_recv(roost_op_id(1, 1), fd,
						    self->in, 8), 1)), 1);
	close(fd);
	EXPECT_FALSE(sees_end(self->s[1], 20 * MSEC));
	EXPECT_EQ(io_now(&self->w, on_file(sqe_send(roost_op_id(1, 2), fd, "y",
						    1), 1)), 1);
	ASSERT_EQ(submit_one(&self->w, sqe_file_remove(fd, 1, ROOST_SQE_QUIET)),
		  1);
	EXPECT_TRUE(sees_end(self->s[1], wide(SEC)));
}

TEST_HARNESS_MAIN
