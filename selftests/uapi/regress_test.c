// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * regress_test.c - what once went wrong, each case by itself.
 *
 * Each test leads up to its case by calls alone: none waits for a race.
 */
#include "kselftest_harness.h"

#include <linux/userfaultfd.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "roost_test.h"

#define MULTI ROOST_POLL_MULTISHOT
#define PAGE 4096

/* @w[0] has the least ring that there is. */
FIXTURE(regress) {
	struct dom d;
	struct wrk w[2];
	uint64_t limit;
};

FIXTURE_SETUP(regress)
{
	ASSERT_EQ(dom_make(&self->d, 16, 16), 0);
	ASSERT_EQ(wrk_make(&self->w[0], &self->d, 8, 2), 0);
	ASSERT_EQ(wrk_make(&self->w[1], &self->d, 8, 16), 0);
	self->limit = now_ns() + wide(SEC);
}

FIXTURE_TEARDOWN(regress)
{
	close(self->d.fd);
}

/* Close a worker for good: its mapping keeps the file, too. */
static void wrk_end(struct wrk *w)
{
	check(munmap(w->page, w->params.map_size) == 0);
	check(close(w->fd) == 0);
}

static short ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	check(poll(&p, 1, 0) >= 0);
	return p.revents;
}

static void *leave_the_table(void *arg)
{
	check(unshare(CLONE_FILES) == 0);
	__atomic_store_n((pid_t *)arg, (pid_t)syscall(SYS_gettid),
			 __ATOMIC_RELEASE);
	return NULL;
}

/* A thread takes a copy of the file table with it; ours is still there. */
TEST_F(regress, thread_with_its_own_files_exits)
{
	struct wrk *w = &self->w[1];
	struct roost_cqe cqe;
	pthread_t thread;
	unsigned int i;
	pid_t tid = 0;
	int p[2];

	ASSERT_EQ(pipe(p), 0);
	ASSERT_EQ(attach(w), 0);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(submit_one(w, sqe_timer(0, 2 * i + 1,
						  now_ns() + 3600 * SEC)), 1);
		ASSERT_EQ(submit_one(w, sqe_poll(0, i + 1, p[0], POLLIN, 0)),
			  1);
		ASSERT_EQ(pthread_create(&thread, NULL, leave_the_table, &tid),
			  0);
		ASSERT_EQ(pthread_join(thread, NULL), 0);
		/* joined before it closes its files; gone after that */
		while (!syscall(SYS_tgkill, getpid(), tid, 0)) {
			ASSERT_LT(now_ns(), self->limit);
			sleep_ns(MSEC);
		}
		EXPECT_EQ(stat_of(&self->d).timers_pending, 1);
		EXPECT_EQ(stat_of(&self->d).polls_armed, 1);
		/* what was armed before is alive, and can be moved */
		ASSERT_EQ(write(p[1], "x", 1), 1);
		ASSERT_EQ(wait_pop(&self->d, w, &cqe, self->limit), 0);
		EXPECT_EQ(cqe.user_data, roost_op_id(0, i + 1));
		EXPECT_EQ(cqe.flags & ROOST_CQE_KIND, ROOST_CQE_POLL);
		ASSERT_EQ(read(p[0], &cqe, 1), 1);
		ASSERT_EQ(submit_one(w, sqe_timer(0, 2 * i + 2,
						  now_ns() + MSEC)), 1);
		ASSERT_EQ(wait_pop(&self->d, w, &cqe, self->limit), 0);
		EXPECT_EQ(cqe.user_data, roost_op_id(0, 2 * i + 2));
		EXPECT_EQ(cqe.flags & ROOST_CQE_KIND, ROOST_CQE_TIMER);
		EXPECT_EQ(cqe.res, 0);
	}
}

/* Arm index 0 on @w and let it fire; returns the peer of what it waited for. */
static int fire(struct wrk *w, uint32_t sequence, int *polled)
{
	int s[2];

	check(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	check(submit_one(w, sqe_poll(0, sequence, s[0], POLLIN, 0)) == 1);
	check(write(s[1], "x", 1) == 1);
	*polled = s[0];
	return s[1];
}

/*
 * F4: an index fires in the ring of one worker, then in that of another.  Any
 * ENTER lets both files go, though the first worker does not come back.
 */
static int fire_in_two_rings(struct dom *d, struct wrk *first,
			     struct wrk *second, bool end_first)
{
	struct roost_cqe cqe;
	uint32_t sequence;
	int peer, polled;

	peer = fire(first, 1, &polled);
	close(polled);
	if (end_first)
		wrk_end(first);
	for (sequence = 2; sequence < 5; sequence++) {
		int before = peer;

		peer = fire(second, sequence, &polled);
		/* an ADD lets go what its index had before */
		if (!(ready(before, 0) & POLLHUP))
			return 1;
		close(polled);
		if (!pop(second, &cqe) ||
		    cqe.user_data != roost_op_id(0, sequence))
			return 2;
	}
	if (submit(second) != 0)
		return 3;
	if (!(ready(peer, 0) & POLLHUP))
		return 4;
	if (stat_of(d).polls_armed)
		return 5;
	return 0;
}

TEST_F(regress, fired_is_let_go_though_its_first_home_sleeps)
{
	EXPECT_EQ(fire_in_two_rings(&self->d, &self->w[0], &self->w[1], false),
		  0);
}

TEST_F(regress, fired_is_let_go_though_its_first_home_is_closed)
{
	EXPECT_EQ(fire_in_two_rings(&self->d, &self->w[0], &self->w[1], true),
		  0);
}

/* Fired in one ring only, and another worker enters. */
TEST_F(regress, fired_is_let_go_by_any_worker)
{
	int polled, peer = fire(&self->w[0], 1, &polled);

	close(polled);
	ASSERT_EQ(submit(&self->w[1]), 0);
	EXPECT_EQ(ready(peer, 0) & POLLHUP, POLLHUP);
	EXPECT_EQ(stat_of(&self->d).polls_armed, 0);
}

/* What nobody can take any more does not make the domain readable. */
TEST_F(regress, closed_worker_with_completions)
{
	struct roost_cqe cqe;
	int p[2];

	EXPECT_EQ(ready(self->d.fd, POLLIN), 0);
	ASSERT_EQ(pipe(p), 0);
	ASSERT_EQ(submit_one(&self->w[0], sqe_poll(0, 1, p[0], POLLIN, 0)), 1);
	ASSERT_EQ(submit_one(&self->w[0], sqe_nop(1)), 1);
	ASSERT_EQ(submit_one(&self->w[0], sqe_nop(2)), 1);
	/* one that has found no place in the ring, too */
	ASSERT_EQ(write(p[1], "x", 1), 1);
	ASSERT_EQ(self->w[0].page->cq_overflow, 1);
	EXPECT_EQ(ready(self->d.fd, POLLIN), POLLIN);
	wrk_end(&self->w[0]);
	EXPECT_EQ(ready(self->d.fd, POLLIN), 0);
	/* the living are looked at as before, behind the closed one */
	ASSERT_EQ(submit_one(&self->w[1], sqe_nop(3)), 1);
	EXPECT_EQ(ready(self->d.fd, POLLIN), POLLIN);
	ASSERT_TRUE(pop(&self->w[1], &cqe));
	EXPECT_EQ(cqe.user_data, 3);
	EXPECT_EQ(ready(self->d.fd, POLLIN), 0);
}

/* Who asks for another name of readable is woken as well. */
TEST_F(regress, domain_wakes_for_rdnorm)
{
	struct epoll_event e = { .events = EPOLLRDNORM };
	int epoll = epoll_create1(0);

	ASSERT_GE(epoll, 0);
	ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, self->d.fd, &e), 0);
	ASSERT_EQ(epoll_wait(epoll, &e, 1, 0), 0);
	ASSERT_EQ(submit_one(&self->w[1], sqe_nop(1)), 1);
	ASSERT_EQ(epoll_wait(epoll, &e, 1, (int)(wide(SEC) / MSEC)), 1);
	EXPECT_EQ(e.events, EPOLLRDNORM);
}

/*
 * A multishot poll on index 0 of @w, whose ring has two places, with one
 * completion that has found none.
 */
static void overflow_with_more(struct wrk *w, int p[2])
{
	check(pipe(p) == 0);
	check(submit_one(w, sqe_poll(0, 1, p[0], POLLIN, MULTI)) == 1);
	check(submit_one(w, sqe_nop(1000)) == 1);
	check(submit_one(w, sqe_nop(1001)) == 1);
	check(write(p[1], "x", 1) == 1);
	check(w->page->cq_overflow == 1);
}

/* Drain and enter until nothing comes; returns how many were of index 0. */
static unsigned int drain(struct wrk *w, struct roost_cqe *last)
{
	unsigned int n = 0, rounds;
	struct roost_cqe cqe;

	for (rounds = 0; rounds < 4; rounds++) {
		while (pop(w, &cqe)) {
			if ((cqe.flags & ROOST_CQE_KIND) == ROOST_CQE_NOP)
				continue;
			*last = cqe;
			n++;
		}
		check(submit(w) >= 0);
	}
	check(w->page->cq_overflow == 0);
	return n;
}

/* F2: removed through another ring; the end is the last that is heard of it. */
TEST_F(regress, no_more_after_removal)
{
	struct roost_cqe cqe;
	int p[2];

	overflow_with_more(&self->w[0], p);
	ASSERT_EQ(submit_one(&self->w[1], sqe_poll_remove(0, 2, 0)), 1);
	ASSERT_TRUE(pop(&self->w[1], &cqe));
	EXPECT_EQ(cqe.user_data, roost_op_id(0, 1));
	EXPECT_EQ(cqe.res, -ECANCELED);
	EXPECT_FALSE(cqe.flags & ROOST_CQE_MORE);
	EXPECT_TRUE(cqe.flags & ROOST_CQE_REPLACED);
	EXPECT_FALSE(pop(&self->w[1], &cqe));
	EXPECT_EQ(self->w[0].page->cq_overflow, 0);
	ASSERT_EQ(write(p[1], "x", 1), 1);
	EXPECT_EQ(drain(&self->w[0], &cqe), 0);
}

/* Through its own ring: what waited may come, but before the end. */
TEST_F(regress, no_more_after_removal_in_the_same_ring)
{
	struct wrk *w = &self->w[0];
	struct roost_cqe cqe = { 0 };
	int p[2];

	overflow_with_more(w, p);
	/* no place for its result: not consumed, and then behind the other */
	ASSERT_EQ(submit_one(w, sqe_poll_remove(0, 2, 0)), 0);
	EXPECT_EQ(drain(w, &cqe), 2);
	EXPECT_EQ(staged(w), 0);
	EXPECT_EQ(cqe.user_data, roost_op_id(0, 1));
	EXPECT_EQ(cqe.res, -ECANCELED);
	EXPECT_FALSE(cqe.flags & ROOST_CQE_MORE);
	ASSERT_EQ(write(p[1], "x", 1), 1);
	EXPECT_EQ(drain(w, &cqe), 0);
}

/* Quiet, but for the event that it has taken back. */
TEST_F(regress, no_more_after_quiet_removal)
{
	struct roost_cqe cqe;
	int p[2];

	overflow_with_more(&self->w[0], p);
	ASSERT_EQ(submit_one(&self->w[1], sqe_poll_remove(0, 2,
							  ROOST_SQE_QUIET)), 1);
	ASSERT_EQ(drain(&self->w[1], &cqe), 1);
	EXPECT_EQ(cqe.user_data, roost_op_id(0, 1));
	EXPECT_EQ(cqe.res, -ECANCELED);
	EXPECT_TRUE(cqe.flags & ROOST_CQE_REPLACED);
	EXPECT_EQ(drain(&self->w[0], &cqe), 0);
}

/* The new poll says that something of the old one fell. */
TEST_F(regress, no_more_after_replacement)
{
	struct roost_cqe cqe;
	int p[2];

	overflow_with_more(&self->w[0], p);
	ASSERT_EQ(submit_one(&self->w[1], sqe_poll(0, 2, p[0], POLLIN, 0)), 1);
	ASSERT_EQ(drain(&self->w[1], &cqe), 1);
	EXPECT_EQ(cqe.user_data, roost_op_id(0, 2));
	EXPECT_FALSE(cqe.flags & ROOST_CQE_MORE);
	EXPECT_TRUE(cqe.flags & ROOST_CQE_REPLACED);
	EXPECT_EQ(drain(&self->w[0], &cqe), 0);
}

static void *page_of(int protection)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(page != MAP_FAILED);
	memset(page, 0, PAGE);
	check(mprotect(page, PAGE, protection) == 0);
	return page;
}

static void *attach_detach(void *arg)
{
	int ret = attach(arg);

	return (void *)(long)(ret ? ret : detach(arg));
}

/* Neither an unreadable nor an unwritable argument leaves a lease behind. */
TEST_F(regress, attach_that_faults_takes_no_lease)
{
	int protection[] = { PROT_NONE, PROT_READ };
	struct wrk *w = &self->w[0];
	pthread_t thread;
	unsigned int i;
	void *ret;

	for (i = 0; i < 2; i++) {
		EXPECT_EQ(call(w->fd, ROOST_IOC_ATTACH, page_of(protection[i])),
			  -EFAULT);
		EXPECT_EQ(w->page->lease, 0);
		EXPECT_EQ(detach(w), -EPERM);
		EXPECT_EQ(wake(&self->d, ROOST_WAKE_INDEX, w->params.index),
			  -ESRCH);
		/* another thread may have it, and we another one */
		ASSERT_EQ(pthread_create(&thread, NULL, attach_detach, w), 0);
		ASSERT_EQ(pthread_join(thread, &ret), 0);
		EXPECT_EQ((long)ret, 0);
		EXPECT_EQ((long)attach_detach(&self->w[1]), 0);
	}
}

TEST_F(regress, enter_that_faults)
{
	struct wrk *w = &self->w[0];
	struct roost_sqe nop = sqe_nop(7);
	struct roost_enter *e;
	struct roost_cqe cqe;

	ASSERT_EQ(attach(w), 0);
	push(w, &nop);
	/* unreadable: nothing is done */
	EXPECT_EQ(call(w->fd, ROOST_IOC_ENTER, page_of(PROT_NONE)), -EFAULT);
	EXPECT_EQ(staged(w), 1);
	EXPECT_FALSE(pop(w, &cqe));
	/* unwritable: it is done, once */
	e = page_of(PROT_READ | PROT_WRITE);
	e->to_submit = 1;
	ASSERT_EQ(mprotect(e, PAGE, PROT_READ), 0);
	EXPECT_EQ(call(w->fd, ROOST_IOC_ENTER, e), -EFAULT);
	EXPECT_EQ(staged(w), 0);
	EXPECT_EQ(submit(w), 0);
	ASSERT_TRUE(pop(w, &cqe));
	EXPECT_EQ(cqe.user_data, 7);
	EXPECT_FALSE(pop(w, &cqe));
	/* the lease is as it was */
	EXPECT_EQ(detach(w), 0);
}

struct held {
	struct wrk *w;
	void *page;
	int done;
	long result;
};

static void *attach_into_held(void *arg)
{
	struct held *x = arg;

	return (void *)(long)call(x->w->fd, ROOST_IOC_ATTACH, x->page);
}

static void *use_another(void *arg)
{
	struct held *x = arg;

	x->result = (long)attach_detach(x->w);
	__atomic_store_n(&x->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static int set_protected(int uffd, void *page, bool on)
{
	struct uffdio_writeprotect wp = {
		.range = { (uintptr_t)page, PAGE },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	return ioctl(uffd, UFFDIO_WRITEPROTECT, &wp);
}

/* A page whose first write waits until we allow it; -1 without that. */
static int hold_page(void *page)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP,
	};
	struct uffdio_register reg = {
		.range = { (uintptr_t)page, PAGE },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		return -1;
	check(ioctl(fd, UFFDIO_REGISTER, &reg) == 0);
	check(set_protected(fd, page, true) == 0);
	return fd;
}

/* The domain goes on while the result of an ATTACH cannot be written yet. */
TEST_F(regress, attach_that_waits_for_its_page_holds_up_nobody)
{
	struct held slow = { .w = &self->w[0] }, other = { .w = &self->w[1] };
	pthread_t threads[2];
	struct uffd_msg msg;
	bool went_on;
	void *ret;
	int uffd;

	slow.page = page_of(PROT_READ | PROT_WRITE);
	uffd = hold_page(slow.page);
	if (uffd < 0)
		SKIP(return, "this kernel cannot hold a write to a page");
	ASSERT_EQ(pthread_create(&threads[0], NULL, attach_into_held, &slow),
		  0);
	/* returns once the thread stands in its fault */
	ASSERT_EQ(read(uffd, &msg, sizeof(msg)), sizeof(msg));
	ASSERT_EQ(msg.event, UFFD_EVENT_PAGEFAULT);
	ASSERT_EQ(pthread_create(&threads[1], NULL, use_another, &other), 0);
	do {
		went_on = __atomic_load_n(&other.done, __ATOMIC_ACQUIRE);
		sleep_ns(MSEC);
	} while (!went_on && now_ns() < self->limit);
	ASSERT_EQ(set_protected(uffd, slow.page, false), 0);
	ASSERT_EQ(pthread_join(threads[0], &ret), 0);
	ASSERT_EQ(pthread_join(threads[1], NULL), 0);
	EXPECT_TRUE(went_on);
	EXPECT_EQ(other.result, 0);
	EXPECT_EQ((long)ret, 0);
	EXPECT_NE(((struct roost_attach *)slow.page)->lease, 0);
}

/* F3: nothing wakes for a terminal that was hung up, so the first is the last. */
TEST_F(regress, multishot_without_a_queue_ends)
{
	int number, zero = 0, master, slave;
	struct wrk *w = &self->w[1];
	struct roost_cqe cqe;
	char name[32];

	master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	if (master < 0)
		SKIP(return, "no terminals here");
	ASSERT_EQ(ioctl(master, TIOCSPTLCK, &zero), 0);
	ASSERT_EQ(ioctl(master, TIOCGPTN, &number), 0);
	snprintf(name, sizeof(name), "/dev/pts/%d", number);
	slave = open(name, O_RDWR | O_NOCTTY);
	if (slave < 0)
		SKIP(return, "no terminals here");
	close(master);
	ASSERT_EQ(submit_one(w, sqe_poll(0, 1, slave, POLLIN, MULTI)), 1);
	ASSERT_TRUE(pop(w, &cqe));
	EXPECT_EQ(cqe.res & POLLHUP, POLLHUP);
	EXPECT_FALSE(cqe.flags & ROOST_CQE_MORE);
	EXPECT_FALSE(pop(w, &cqe));
	submit(w);
	EXPECT_EQ(stat_of(&self->d).polls_armed, 0);
}

/* In a time namespace of its own: 0, or the line that went wrong. */
static int timer_in_namespace(void)
{
	uint64_t deadline;
	struct roost_cqe cqe;
	uint32_t outcome;
	struct dom d;
	struct wrk w;

	check(dom_make(&d, 1, 1) == 0);
	check(wrk_make(&w, &d, 8, 8) == 0);
	check(attach(&w) == 0);
	deadline = now_ns() + 20 * MSEC;
	check(submit_one(&w, sqe_timer(0, 1, deadline)) == 1);
	while (!pop(&w, &cqe)) {
		if (now_ns() > deadline + wide(SEC))
			return 1;
		sleep_ns(MSEC);
	}
	if (now_ns() < deadline)
		return 2;
	/* and the deadline of a park */
	deadline = now_ns() + 20 * MSEC;
	check(submit_one(&w, sqe_timer(0, 2, now_ns() + wide(2 * SEC))) == 1);
	while (now_ns() < deadline) {
		check(park(&d, &w, deadline, &outcome) == 0);
		if (outcome & ROOST_OUT_TIMEOUT)
			break;
	}
	if (now_ns() < deadline)
		return 3;
	return pop(&w, &cqe) ? 4 : 0;
}

/* T1: deadlines are in the time that the process reads. */
TEST_F(regress, time_namespace)
{
	/* behind by no more than the machine has run: it may not be negative */
	const char *offsets[] = { "monotonic 864000 0\n", "monotonic -1 0\n" };
	unsigned int i;
	int status, fd;
	pid_t pid;

	if (access("/proc/self/timens_offsets", W_OK))
		SKIP(return, "no time namespaces here");
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(unshare(CLONE_NEWTIME), 0);
		fd = open("/proc/self/timens_offsets", O_WRONLY);
		ASSERT_GE(fd, 0);
		ASSERT_EQ(write(fd, offsets[i], strlen(offsets[i])),
			  (ssize_t)strlen(offsets[i]));
		close(fd);
		pid = fork();
		if (!pid)
			_exit(timer_in_namespace());
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT_EQ(status, 0) TH_LOG("offset: %s", offsets[i]);
	}
}

struct pest {
	pid_t victim;
	_Atomic bool stop;
};

static void ignore(int sig)
{
	(void)sig;
}

static void *send_signals(void *arg)
{
	struct pest *pest = arg;

	while (!pest->stop) {
		syscall(SYS_tgkill, getpid(), pest->victim, SIGUSR1);
		usleep(200);
	}
	return NULL;
}

/*
 * Creation gives up if a signal is pending.  Who is hit by one every now and
 * then, and tries again each time, must get there: also where the domain is so
 * large that making it takes longer than that.
 */
TEST_F(regress, large_domain_under_signals)
{
	struct sigaction sa = { .sa_handler = ignore };
	struct pest pest = { .victim = (pid_t)syscall(SYS_gettid) };
	unsigned int tries = 0, i;
	pthread_t thread;
	struct dom d;
	int ret;

	ASSERT_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	ASSERT_EQ(pthread_create(&thread, NULL, send_signals, &pest), 0);
	for (i = 0; i < 5; i++) {
		do {
			ret = dom_make(&d, 16384, 1U << 20);
		} while (ret == -EINTR && ++tries < 500);
		ASSERT_EQ(ret, 0)
			TH_LOG("domain %u, %u tries", i, tries);
		munmap(d.control, d.params.control_size);
		munmap(d.events, d.params.events_size);
		close(d.fd);
	}
	pest.stop = true;
	pthread_join(thread, NULL);
	EXPECT_LT(tries, 100);
}

TEST_HARNESS_MAIN
