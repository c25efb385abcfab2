// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * limits_test.c - what one user may have, as Documentation/limits.rst says.
 *
 * Runs as root: it sets the module's parameters, and becomes others.
 */
#include "kselftest_harness.h"

#include <linux/capability.h>
#include <sys/resource.h>

#include "user_help.h"

#define MIB	(1U << 20)

static struct limits limits;

FIXTURE(limits) {
	uint64_t limit;
};

FIXTURE_SETUP(limits)
{
	ASSERT_EQ(getuid(), 0);
	limits_open(&limits);
	self->limit = now_ns() + wide(10 * SEC);
}

FIXTURE_TEARDOWN(limits)
{
	limits_restore(&limits);
}

/* A domain with @n of what @which limits; a descriptor or -errno. */
static int domain_with(enum limit which, uint32_t n)
{
	struct roost_domain_params p = { 0 };

	switch (which) {
	case TIMERS:
		p.nr_timers = n;
		break;
	case POLLS:
		p.nr_polls = n;
		break;
	case IOS:
		p.nr_ios = n;
		break;
	case FILES:
		p.nr_files = n;
		break;
	case MEMORY:
		/* four bytes each, and a little more */
		p.nr_polls = n / 4;
		break;
	default:
		break;
	}
	return domain_fd(p);
}

static int worker_of(int domain, uint32_t sq, uint32_t cq)
{
	struct roost_worker_params p = { .sq_entries = sq, .cq_entries = cq };

	return call(domain, ROOST_IOC_CREATE_WORKER, &p);
}

/* The same again, which can only be had if all has been given back. */
static int twice(int (*once)(void *arg), void *arg)
{
	int ret = once(arg);

	return ret ? ret : once(arg);
}

/* Domains. */

static int fill_domains(void *arg)
{
	int a = domain_with(TIMERS, 1), b = domain_with(POLLS, 1);

	check(a >= 0 && b >= 0);
	check(domain_with(DOMAINS, 0) == -EDQUOT);
	close(a);
	a = domain_with(DOMAINS, 0);
	check(a >= 0);
	check(domain_with(DOMAINS, 0) == -EDQUOT);
	close(a);
	close(b);
	return 0;
}

static int fill_domains_twice(void *arg)
{
	return twice(fill_domains, arg);
}

TEST_F(limits, domains)
{
	limit_set(&limits, DOMAINS, 2);
	EXPECT_EQ(run_as(USER, fill_domains_twice, NULL), 0);
}

/* What a domain has room for. */

static int fill_tables(void *arg)
{
	enum limit which = *(enum limit *)arg;
	int a = domain_with(which, 60), b, c;

	check(a >= 0);
	check(domain_with(which, 41) == -EDQUOT);
	b = domain_with(which, 40);
	check(b >= 0);
	check(domain_with(which, 1) == -EDQUOT);
	/* without any, and with another kind */
	c = domain_with(which == FILES ? IOS : FILES, 1000);
	check(c >= 0);
	close(c);
	c = domain_with(DOMAINS, 0);
	check(c >= 0);
	close(c);
	close(a);
	a = domain_with(which, 60);
	check(a >= 0);
	close(a);
	close(b);
	check(domain_with(which, 101) == -EDQUOT);
	check(domain_with(which, 100) >= 0);
	/* which ends with this process */
	return 0;
}

TEST_F(limits, tables)
{
	static const enum limit kinds[] = { TIMERS, POLLS, IOS, FILES };
	enum limit which;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		which = kinds[i];
		limit_set(&limits, which, 100);
		EXPECT_EQ(run_as(USER, fill_tables, &which), 0)
			TH_LOG("kind %d", which);
		EXPECT_EQ(run_as(USER, fill_tables, &which), 0)
			TH_LOG("kind %d, again", which);
		limits_restore(&limits);
	}
}

/* Workers count until their domain ends, since their numbers do. */

static int fill_workers(void *arg)
{
	int a = domain_with(DOMAINS, 0), b = domain_with(DOMAINS, 0), w;

	check(a >= 0 && b >= 0);
	w = worker_of(a, 8, 8);
	check(w >= 0);
	check(worker_of(b, 8, 8) >= 0);
	check(worker_of(a, 8, 8) >= 0);
	check(worker_of(a, 8, 8) == -EDQUOT);
	check(worker_of(b, 8, 8) == -EDQUOT);
	close(w);
	check(worker_of(a, 8, 8) == -EDQUOT);
	return 0;
}

TEST_F(limits, workers)
{
	limit_set(&limits, WORKERS, 3);
	EXPECT_EQ(run_as(USER, fill_workers, NULL), 0);
	EXPECT_EQ(run_as(USER, fill_workers, NULL), 0);
}

/* Memory. */

static int fill_memory(void *arg)
{
	int a = domain_with(MEMORY, MIB - MIB / 4), b, w;

	check(a >= 0);
	check(domain_with(MEMORY, MIB / 2) == -EDQUOT);
	b = domain_with(DOMAINS, 0);
	check(b >= 0);
	/* its rings are more than a MiB */
	check(worker_of(b, 16384, 16384) == -EDQUOT);
	w = worker_of(b, 64, 64);
	check(w >= 0);
	close(a);
	check(worker_of(b, 8192, 8192) >= 0);
	close(w);
	return 0;
}

TEST_F(limits, memory)
{
	limit_set(&limits, MEMORY, 1);
	EXPECT_EQ(run_as(USER, fill_memory, NULL), 0);
	EXPECT_EQ(run_as(USER, fill_memory, NULL), 0);
}

/* An op on each chunk of a table, which makes the chunk. */
struct touch {
	const char *what;
	struct roost_sqe sqe;
	int ok;		/* its result when there is memory */
};

/* Returns how many chunks could be made; the next op had got -EDQUOT. */
static unsigned int touch_all(const struct touch *t)
{
	struct roost_domain_params p = {
		.nr_timers = 65536, .nr_polls = 65536, .nr_ios = 65536,
		.nr_files = 65536,
	};
	struct roost_sqe sqe = t->sqe;
	struct roost_cqe cqe;
	unsigned int i;
	struct dom d;
	struct wrk w;

	check(dom_make_params(&d, &p) == 0);
	check(wrk_make(&w, &d, 8, 8) == 0);
	for (i = 0; i < 65536 / 32; i++) {
		sqe.op_id = roost_op_id(i * 32, 1);
		check(submit_one(&w, sqe) == 1);
		check(pop(&w, &cqe));
		check(cqe.user_data == sqe.op_id);
		if (cqe.res == -EDQUOT)
			break;
		check(cqe.res == t->ok);
	}
	check(i < 65536 / 32);
	/* not for this one alone, and what is there goes on to work */
	sqe.op_id = roost_op_id(65535, 1);
	check(submit_one(&w, sqe) == 1 && pop(&w, &cqe));
	check(cqe.res == -EDQUOT);
	sqe.op_id = roost_op_id(1, 1);
	check(submit_one(&w, sqe) == 1 && pop(&w, &cqe));
	check(cqe.res == t->ok);
	dom_unmap(&d);
	munmap(w.page, w.params.map_size);
	close(w.fd);
	close(d.fd);
	return i;
}

static int touch_twice(void *arg)
{
	unsigned int first = touch_all(arg);

	check(first > 10);
	/* as many as before, so all of them were given back */
	check(touch_all(arg) == first);
	return 0;
}

TEST_F(limits, memory_of_ops)
{
	const struct touch rows[] = {
		{ "TIMER_CANCEL", { .opcode = ROOST_OP_TIMER_CANCEL }, -ENOENT },
		{ "POLL_REMOVE", { .opcode = ROOST_OP_POLL_REMOVE }, -ENOENT },
		{ "CANCEL", { .opcode = ROOST_OP_CANCEL }, -ECANCELED },
		{ "FILE_REMOVE", { .opcode = ROOST_OP_FILE_REMOVE }, -ENOENT },
		{ "POLL_ADD", { .opcode = ROOST_OP_POLL_ADD, .fd = -1 },
		  -EBADF },
		{ "RECV", { .opcode = ROOST_OP_RECV, .fd = -1 }, -EBADF },
	};
	unsigned int i;

	limit_set(&limits, MEMORY, 2);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		EXPECT_EQ(run_as(USER, touch_twice, (void *)&rows[i]), 0)
			TH_LOG("row: %s", rows[i].what);
	}
}

/* The ends of a domain: after each, exactly as much can be had again. */

static void exactly_one_fits(void)
{
	limit_set(&limits, DOMAINS, 1);
	limit_set(&limits, WORKERS, 2);
	limit_set(&limits, TIMERS, 64);
	limit_set(&limits, POLLS, 64);
	limit_set(&limits, IOS, 64);
	limit_set(&limits, FILES, 64);
	limit_set(&limits, MEMORY, 1);
}

static const struct roost_domain_params fitting = {
	.nr_timers = 64, .nr_polls = 64, .nr_ios = 64, .nr_files = 64,
};

/* A domain in use, or -errno. */
static int use_up(struct dom *d, struct wrk w[2])
{
	int ret = dom_make_params(d, &fitting), i, p[2];
	struct roost_cqe cqe;

	if (ret)
		return ret;
	check(pipe(p) == 0);
	for (i = 0; i < 2; i++)
		check(wrk_make(&w[i], d, 1024, 1024) == 0);
	check(submit_one(&w[0], sqe_timer(0, 1, now_ns() + 3600 * SEC)) == 1);
	check(submit_one(&w[0], sqe_poll(0, 1, p[0], POLLIN, 0)) == 1);
	check(submit_one(&w[1], (struct roost_sqe){
		.opcode = ROOST_OP_READ, .fd = -1,
		.op_id = roost_op_id(0, 1),
	}) == 1);
	check(pop(&w[1], &cqe) && cqe.res == -EBADF);
	close(p[0]);
	close(p[1]);
	return 0;
}

static int use_up_and_end(void *arg)
{
	uint64_t limit = now_ns() + wide(10 * SEC);
	const char *how = arg;
	struct wrk w[2];
	struct dom d;
	pid_t pid;
	int ret;

	/* the end before may still be under way, but not for long */
	while ((ret = use_up(&d, w)) == -EDQUOT && now_ns() < limit)
		sleep_ns(MSEC);
	check(ret == 0);
	check(domain_fd(fitting) == -EDQUOT);
	if (!strcmp(how, "close")) {
		dom_unmap(&d);
		munmap(w[0].page, w[0].params.map_size);
		munmap(w[1].page, w[1].params.map_size);
		close(w[0].fd);
		close(w[1].fd);
		close(d.fd);
		/* at once */
		check(use_up(&d, w) == 0);
	} else if (!strcmp(how, "exit")) {
		_exit(0);
	} else if (!strcmp(how, "kill")) {
		kill(getpid(), SIGKILL);
	} else if (!strcmp(how, "exec")) {
		execl("/proc/self/exe", "limits_test", "--nothing", NULL);
		check(0);
	} else if (!strcmp(how, "mapped")) {
		close(w[0].fd);
		close(w[1].fd);
		close(d.fd);
		/* the memory is there, so it counts */
		check(domain_fd(fitting) == -EDQUOT);
	} else if (!strcmp(how, "child keeps it")) {
		pid = fork();
		if (!pid) {
			sleep_ns(20 * MSEC);
			_exit(0);
		}
	}
	return 0;
}

TEST_F(limits, ends_give_all_back)
{
	static const char *const ways[] = {
		"close", "exit", "kill", "exec", "mapped", "child keeps it",
	};
	unsigned int i, k;
	int ret;

	exactly_one_fits();
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		for (k = 0; k < 3; k++) {
			ret = run_as(USER, use_up_and_end, (void *)ways[i]);
			EXPECT_EQ(ret, strcmp(ways[i], "kill") ? 0 : 128)
				TH_LOG("%s: %d", ways[i], ret);
		}
	}
	EXPECT_EQ(run_as(USER, use_up_and_end, "exit"), 0);
}

/* What fails on its way takes nothing. */
static int fail_to_create(void *arg)
{
	static const struct roost_worker_params wp = { .sq_entries = 8,
						       .cq_entries = 8 };
	struct roost_domain_params *p, q = fitting;
	struct rlimit files = { 3, 3 }, was;
	int dev = dev_open(), fd, i;

	check(dev >= 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(p != MAP_FAILED);
	*p = fitting;
	check(mprotect(p, 4096, PROT_READ) == 0);
	for (i = 0; i < 3; i++)
		check(call(dev, ROOST_IOC_CREATE_DOMAIN, p) == -EFAULT);
	check(getrlimit(RLIMIT_NOFILE, &was) == 0);
	files.rlim_max = was.rlim_max;
	check(setrlimit(RLIMIT_NOFILE, &files) == 0);
	for (i = 0; i < 3; i++)
		check(call(dev, ROOST_IOC_CREATE_DOMAIN, &q) == -EMFILE);
	check(setrlimit(RLIMIT_NOFILE, &was) == 0);
	q.tick_shift = 63;
	check(call(dev, ROOST_IOC_CREATE_DOMAIN, &q) == -EINVAL);
	q = fitting;
	fd = call(dev, ROOST_IOC_CREATE_DOMAIN, &q);
	check(fd >= 0);
	/* a worker too many for the memory takes no number and no place */
	for (i = 0; i < 3; i++)
		check(worker_of(fd, 32768, 65536) == -EDQUOT);
	check(mprotect(p, 4096, PROT_READ | PROT_WRITE) == 0);
	memcpy(p, &wp, sizeof(wp));
	check(call(fd, ROOST_IOC_CREATE_WORKER, p) >= 0);
	check(((struct roost_worker_params *)p)->index == 0);
	check(worker_of(fd, 8, 8) >= 0);
	check(worker_of(fd, 8, 8) == -EDQUOT);
	return 0;
}

TEST_F(limits, failures_take_nothing)
{
	exactly_one_fits();
	EXPECT_EQ(run_as(USER, fail_to_create, NULL), 0);
	EXPECT_EQ(run_as(USER, fail_to_create, NULL), 0);
}

/* A limit that is lowered takes nothing away. */
static int lower(void *arg)
{
	int a = domain_with(TIMERS, 100), b = domain_with(DOMAINS, 0), w;

	check(a >= 0 && b >= 0);
	limit_set(&limits, TIMERS, 10);
	limit_set(&limits, DOMAINS, 3);
	check(domain_with(TIMERS, 1) == -EDQUOT);
	w = worker_of(a, 8, 8);
	check(w >= 0);
	/* none of what there is too much of */
	check(domain_with(POLLS, 10) >= 0);
	close(w);
	close(a);
	check(domain_with(TIMERS, 11) == -EDQUOT);
	limit_set(&limits, DOMAINS, 4);
	check(domain_with(TIMERS, 10) >= 0);
	limit_set(&limits, TIMERS, 0);
	limit_set(&limits, DOMAINS, 0);
	check(domain_with(DOMAINS, 0) == -EDQUOT);
	return 0;
}

TEST_F(limits, lowered)
{
	EXPECT_EQ(run_as(USER, lower, NULL), 0);
}

/* Whose limits. */

/* A pal that creates a domain for each number, and keeps it; 0 or -errno. */
static int create_one(int number)
{
	int fd = domain_with(DOMAINS, 0);

	return fd < 0 ? fd : 0;
}

TEST_F(limits, processes_share_users_do_not)
{
	struct pal a, b, c;

	limit_set(&limits, DOMAINS, 2);
	a = pal_start(USER, create_one);
	b = pal_start(USER, create_one);
	c = pal_start(OTHER, create_one);
	EXPECT_EQ(pal_tell(&a, 1), 0);
	EXPECT_EQ(pal_tell(&b, 1), 0);
	EXPECT_EQ(pal_tell(&a, 2), -EDQUOT);
	EXPECT_EQ(pal_tell(&b, 2), -EDQUOT);
	EXPECT_EQ(pal_tell(&c, 1), 0);
	EXPECT_EQ(pal_tell(&c, 2), 0);
	EXPECT_EQ(pal_tell(&c, 3), -EDQUOT);
	EXPECT_EQ(pal_end(&b), 0);
	EXPECT_EQ(pal_tell(&a, 3), 0);
	EXPECT_EQ(pal_end(&a), 0);
	EXPECT_EQ(pal_end(&c), 0);
}

static void drop_capability(int which)
{
	struct __user_cap_header_struct h = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	check(syscall(SYS_capget, &h, data) == 0);
	data[which / 32].effective &= ~(1U << (which % 32));
	data[which / 32].permitted &= ~(1U << (which % 32));
	check(syscall(SYS_capset, &h, data) == 0);
}

/* CAP_SYS_RESOURCE: counted, never refused, until it is dropped. */
static int privileged(int number)
{
	if (number == 2)
		drop_capability(CAP_SYS_RESOURCE);
	return create_one(number);
}

TEST_F(limits, privileged_are_counted_and_not_refused)
{
	struct pal p;

	limit_set(&limits, DOMAINS, 2);
	p = pal_start(0, privileged);
	EXPECT_EQ(pal_tell(&p, 1), 0);
	EXPECT_EQ(pal_tell(&p, 1), 0);
	EXPECT_EQ(pal_tell(&p, 1), 0);
	EXPECT_EQ(pal_tell(&p, 2), -EDQUOT);
	EXPECT_EQ(pal_end(&p), 0);
	p = pal_start(0, privileged);
	EXPECT_EQ(pal_tell(&p, 2), 0);
	EXPECT_EQ(pal_tell(&p, 3), 0);
	EXPECT_EQ(pal_tell(&p, 3), -EDQUOT);
	EXPECT_EQ(pal_end(&p), 0);
}

/* The user is the one at creation, whoever the process becomes. */
static int change_later(void *arg)
{
	int a, w;

	limit_set(&limits, WORKERS, 1);
	check(seteuid(USER) == 0);
	a = domain_with(DOMAINS, 0);
	check(a >= 0);
	check(seteuid(0) == 0);
	drop_capability(CAP_SYS_RESOURCE);
	/* root's own worker, and the user's */
	w = domain_with(DOMAINS, 0);
	check(w >= 0 && worker_of(w, 8, 8) >= 0);
	check(worker_of(w, 8, 8) == -EDQUOT);
	check(worker_of(a, 8, 8) >= 0);
	check(worker_of(a, 8, 8) == -EDQUOT);
	return 0;
}

TEST_F(limits, user_of_a_domain_stays_the_same)
{
	pid_t pid = fork();

	if (!pid)
		_exit(change_later(NULL));
	EXPECT_EQ(exit_code(pid), 0);
}

/* User namespaces. */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	check(fd >= 0);
	check(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* A namespace in which one is root, and nobody else is anybody. */
static int in_its_own_namespace(int number)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[32];

	if (number == 2) {
		check(unshare(CLONE_NEWUSER) == 0);
		snprintf(map, sizeof(map), "0 %u 1\n", uid);
		write_file("/proc/self/uid_map", map);
		write_file("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "0 %u 1\n", gid);
		write_file("/proc/self/gid_map", map);
	}
	return create_one(number);
}

/* Who makes a namespace has all capabilities there, and the limits of before. */
TEST_F(limits, namespace_is_no_way_out)
{
	struct pal p, q;

	limit_set(&limits, DOMAINS, 2);
	p = pal_start(USER, in_its_own_namespace);
	q = pal_start(USER, in_its_own_namespace);
	EXPECT_EQ(pal_tell(&p, 1), 0);
	EXPECT_EQ(pal_tell(&p, 2), 0);
	EXPECT_EQ(pal_tell(&p, 3), -EDQUOT);
	/* one namespace in another, and a second one beside it */
	EXPECT_EQ(pal_tell(&p, 2), -EDQUOT);
	EXPECT_EQ(pal_tell(&q, 2), -EDQUOT);
	EXPECT_EQ(pal_end(&p), 0);
	EXPECT_EQ(pal_tell(&q, 3), 0);
	EXPECT_EQ(pal_tell(&q, 3), 0);
	EXPECT_EQ(pal_tell(&q, 3), -EDQUOT);
	EXPECT_EQ(pal_end(&q), 0);
}

/* In a namespace with several users: be the one of that number. */
static int be_mapped(int number)
{
	if (number == 0)
		return unshare(CLONE_NEWUSER) ? -errno : 0;
	if (number < 100) {
		check(setresuid((uid_t)number, (uid_t)number, (uid_t)number) ==
		      0);
		return 0;
	}
	return create_one(number);
}

/* Of whoever made the namespace, which has the uids from @first on. */
static struct pal mapped_pal(uid_t maker, unsigned int first,
			     unsigned int number)
{
	struct pal p = pal_start(maker, be_mapped);
	char path[64], map[64];

	check(pal_tell(&p, 0) == 0);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", p.pid);
	snprintf(map, sizeof(map), "0 %u 10\n", first);
	write_file(path, map);
	check(pal_tell(&p, (int)number) == 0);
	return p;
}

TEST_F(limits, users_of_a_namespace_count_for_its_maker)
{
	struct pal a, b, c;

	limit_set(&limits, DOMAINS, 2);
	a = mapped_pal(USER, 200000, 1);
	b = mapped_pal(USER, 200000, 2);
	c = pal_start(USER, create_one);
	EXPECT_EQ(pal_tell(&a, 100), 0);
	EXPECT_EQ(pal_tell(&b, 100), 0);
	EXPECT_EQ(pal_tell(&a, 100), -EDQUOT);
	EXPECT_EQ(pal_tell(&b, 100), -EDQUOT);
	EXPECT_EQ(pal_tell(&c, 100), -EDQUOT);
	EXPECT_EQ(pal_end(&a), 0);
	EXPECT_EQ(pal_tell(&c, 100), 0);
	EXPECT_EQ(pal_end(&b), 0);
	EXPECT_EQ(pal_end(&c), 0);
}

TEST_F(limits, users_that_root_has_mapped_are_their_own)
{
	struct pal a, b, c;

	limit_set(&limits, DOMAINS, 2);
	a = mapped_pal(0, 200000, 1);
	b = mapped_pal(0, 200000, 2);
	c = pal_start(0, privileged);
	EXPECT_EQ(pal_tell(&a, 100), 0);
	EXPECT_EQ(pal_tell(&a, 100), 0);
	EXPECT_EQ(pal_tell(&a, 100), -EDQUOT);
	EXPECT_EQ(pal_tell(&b, 100), 0);
	EXPECT_EQ(pal_tell(&b, 100), 0);
	EXPECT_EQ(pal_tell(&b, 100), -EDQUOT);
	/* and none of it is root's, though root be without privilege */
	EXPECT_EQ(pal_tell(&c, 2), 0);
	EXPECT_EQ(pal_tell(&c, 3), 0);
	EXPECT_EQ(pal_tell(&c, 3), -EDQUOT);
	EXPECT_EQ(pal_end(&a), 0);
	EXPECT_EQ(pal_end(&b), 0);
	EXPECT_EQ(pal_end(&c), 0);
}

/* Many at once: never more than the limit, and in the end nothing is left. */
struct crowd {
	int now, most, got, refused;
};

static int come_and_go(void *arg)
{
	struct crowd *c = arg;
	int i, fd, n, most;

	for (i = 0; i < 300; i++) {
		fd = domain_with(TIMERS, 10);
		if (fd == -EDQUOT) {
			__atomic_fetch_add(&c->refused, 1, __ATOMIC_SEQ_CST);
			continue;
		}
		check(fd >= 0);
		n = __atomic_add_fetch(&c->now, 1, __ATOMIC_SEQ_CST);
		most = __atomic_load_n(&c->most, __ATOMIC_SEQ_CST);
		while (n > most &&
		       !__atomic_compare_exchange_n(&c->most, &most, n, false,
						    __ATOMIC_SEQ_CST,
						    __ATOMIC_SEQ_CST))
			;
		__atomic_fetch_add(&c->got, 1, __ATOMIC_SEQ_CST);
		sleep_ns(MSEC / 5);
		__atomic_fetch_sub(&c->now, 1, __ATOMIC_SEQ_CST);
		close(fd);
	}
	return 0;
}

TEST_F(limits, many_at_once)
{
	struct crowd *c = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[8];
	int i;

	ASSERT_NE(c, MAP_FAILED);
	limit_set(&limits, DOMAINS, 3);
	limit_set(&limits, TIMERS, 30);
	for (i = 0; i < 8; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			become(USER);
			_exit(come_and_go(c));
		}
	}
	for (i = 0; i < 8; i++)
		EXPECT_EQ(exit_code(pids[i]), 0);
	TH_LOG("%d created, %d refused, %d at once", c->got, c->refused,
	       c->most);
	EXPECT_GT(c->got, 0);
	EXPECT_LE(c->most, 3);
	limit_set(&limits, DOMAINS, 2);
	limit_set(&limits, TIMERS, 100);
	EXPECT_EQ(run_as(USER, fill_domains, NULL), 0);
	munmap(c, 4096);
}

/* What the exec test runs; glibc hands a constructor the arguments. */
static void __attribute__((constructor)) run_nothing(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--nothing"))
		_exit(0);
}

TEST_HARNESS_MAIN
