// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * io_worker_test.c - I/O ops belong to the domain: whatever worker they came
 * through, any worker's ENTER carries them out. And full rings lose nothing,
 * one call does not go on for ever, counters add up.
 */
#include "kselftest_harness.h"

#include "io_help.h"

#define IOS	4096

FIXTURE(work) {
	struct dom d;
	struct wrk w, y;
	uint64_t limit;
	int s[2];
	char in[256], out[256];
};

FIXTURE_SETUP(work)
{
	self->limit = now_ns() + wide(15 * SEC);
	ASSERT_EQ(dom_make_io(&self->d, IOS, 1024), 0);
	ASSERT_EQ(wrk_make(&self->w, &self->d, 1024, 2048), 0);
	ASSERT_EQ(wrk_make(&self->y, &self->d, 1024, 2048), 0);
	unix_pair(self->s, SOCK_STREAM);
	/* room for thousands of single bytes */
	set_option(self->s[1], SOL_SOCKET, SO_SNDBUFFORCE, 1 << 23);
}

FIXTURE_TEARDOWN(work)
{
	close(self->w.fd);
	close(self->y.fd);
	close(self->d.fd);
}

/* The ring's own carrier is gone: somebody else's call does it. */
TEST_F(work, carrier_gone)
{
	struct carrier c;
	struct roost_cqe cqe;
	struct roost_sqe sqe = sqe_recv(roost_op_id(1, 1), self->s[0], self->in,
					8);

	push(&self->w, &sqe);
	carrier_start(&c, &self->w);
	pthread_join(c.thread, NULL);
	ASSERT_EQ(c.submitted, 1);
	ASSERT_EQ(attach(&self->y), 0);
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	EXPECT_EQ(self->d.control->io_ready, 1);
	/* an ENTER without entries, and the one who came has it */
	ASSERT_EQ(submit(&self->y), 0);
	EXPECT_EQ(self->d.control->io_ready, 0);
	EXPECT_FALSE(pop(&self->w, &cqe));
	ASSERT_TRUE(pop(&self->y, &cqe));
	EXPECT_EQ(cqe.user_data, roost_op_id(1, 1));
	EXPECT_EQ(cqe.res, 3);
	EXPECT_EQ(self->d.control->cq_ready[0] >> self->y.params.index & 1, 1);
}

struct parker {
	struct dom *d;
	struct wrk *w;
	pthread_t thread;
	uint32_t outcome;
	bool got;
	struct roost_cqe cqe;
};

static void *park_once(void *arg)
{
	struct parker *p = arg;

	check(attach(p->w) == 0);
	check(park(p->d, p->w, now_ns() + wide(15 * SEC), &p->outcome) == 0);
	p->got = pop(p->w, &p->cqe);
	return NULL;
}

/* The op's own worker computes; a parked one is woken and does it. */
TEST_F(work, parked_worker_is_woken_for_another)
{
	struct parker p = { .d = &self->d, .w = &self->y };
	struct roost_sqe sqe = sqe_recv(roost_op_id(1, 1), self->s[0], self->in,
					8);
	struct roost_cqe cqe;

	ASSERT_EQ(attach(&self->w), 0);
	ASSERT_EQ(submit_one(&self->w, sqe), 1);
	ASSERT_EQ(pthread_create(&p.thread, NULL, park_once, &p), 0);
	ASSERT_TRUE(wait_parked(&self->d, self->y.params.index, self->limit));
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	/* w's carrier does nothing of the kind */
	pthread_join(p.thread, NULL);
	EXPECT_FALSE(p.outcome & ROOST_OUT_TIMEOUT);
	EXPECT_TRUE(p.outcome & ROOST_OUT_SLEPT);
	ASSERT_TRUE(p.got);
	EXPECT_EQ(p.cqe.user_data, roost_op_id(1, 1));
	EXPECT_EQ(p.cqe.res, 3);
	EXPECT_FALSE(pop(&self->w, &cqe));
	EXPECT_GE(stat_of(&self->d).wakes_kernel, 1);
}

/* One that parks finds what became ready before, and does not sleep. */
TEST_F(work, found_when_parking)
{
	struct parker p = { .d = &self->d, .w = &self->y };
	struct roost_sqe sqe = sqe_recv(roost_op_id(1, 1), self->s[0], self->in,
					8);

	ASSERT_EQ(attach(&self->w), 0);
	ASSERT_EQ(submit_one(&self->w, sqe), 1);
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	ASSERT_EQ(pthread_create(&p.thread, NULL, park_once, &p), 0);
	pthread_join(p.thread, NULL);
	EXPECT_FALSE(p.outcome & ROOST_OUT_SLEPT);
	ASSERT_TRUE(p.got);
	EXPECT_EQ(p.cqe.res, 3);
}

/* Pages that are not there yet, but come when they are touched. */
static char *new_pages(size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED);
	return p;
}

/* From the ring of one of the two; the carrier of w is stuck. */
static bool pop_either(FIXTURE_DATA(work) *self, struct roost_cqe *cqe)
{
	return pop(&self->w, cqe) || pop(&self->y, cqe);
}

/* A carrier that is stuck in one op: the others are done all the same. */
TEST_F(work, stuck_carrier)
{
	char *fresh = new_pages(64 * 4096), in[64][4];
	struct hold h;
	struct carrier c;
	struct roost_sqe sqe;
	struct roost_cqe cqe;
	unsigned int i, seen = 0;
	int p[64][2];

	/*
	 * All in one go: the stuck one first, 63 more behind it. What buffers
	 * tell beforehand is the same for that and for every other one.
	 */
	hold_make(&h);
	for (i = 0; i < 64; i++) {
		char *buffer = i & 1 ? in[i] : fresh + i * 4096;

		unix_pair(p[i], SOCK_STREAM);
		ASSERT_EQ(send(p[i][1], "xyz", 3, 0), 3);
		sqe = sqe_recv(roost_op_id(i, 1), p[i][0], i ? buffer : h.page,
			       4);
		push(&self->w, &sqe);
	}
	ASSERT_EQ(attach(&self->y), 0);
	carrier_start(&c, &self->w);
	ASSERT_TRUE(hold_wait(&h, wide(5 * SEC)));
	while (seen < 63) {
		ASSERT_LT(now_ns(), self->limit);
		if (!pop_either(self, &cqe)) {
			submit(&self->y);
			continue;
		}
		EXPECT_EQ(cqe.res, 3);
		EXPECT_NE(roost_op_index(cqe.user_data), 0);
		seen++;
	}
	EXPECT_FALSE(carrier_done(&c));
	EXPECT_EQ(stat_of(&self->d).ios_pending, 1);
	hold_release(&h, 'o');
	pthread_join(c.thread, NULL);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_EQ(roost_op_index(cqe.user_data), 0);
	EXPECT_EQ(memcmp(h.page, "xyz", 3), 0);
}

/* A parked worker is woken for what is left behind by one that gets stuck. */
TEST_F(work, stuck_carrier_wakes_a_sibling)
{
	struct parker p = { .d = &self->d, .w = &self->y };
	char *fresh = new_pages(4096);
	struct roost_sqe sqe;
	struct carrier c;
	struct hold h;
	int s[2];

	hold_make(&h);
	unix_pair(s, SOCK_STREAM);
	ASSERT_EQ(send(s[1], "xyz", 3, 0), 3);
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	ASSERT_EQ(pthread_create(&p.thread, NULL, park_once, &p), 0);
	ASSERT_TRUE(wait_parked(&self->d, self->y.params.index, self->limit));
	sqe = sqe_recv(roost_op_id(1, 1), s[0], h.page, 4);
	push(&self->w, &sqe);
	/* it might get stuck as well, for all that is known */
	sqe = sqe_recv(roost_op_id(2, 1), self->s[0], fresh, 4);
	push(&self->w, &sqe);
	carrier_start(&c, &self->w);
	ASSERT_TRUE(hold_wait(&h, wide(5 * SEC)));
	pthread_join(p.thread, NULL);
	EXPECT_FALSE(p.outcome & ROOST_OUT_TIMEOUT);
	ASSERT_TRUE(p.got);
	EXPECT_EQ(p.cqe.user_data, roost_op_id(2, 1));
	EXPECT_EQ(memcmp(fresh, "xyz", 3), 0);
	EXPECT_FALSE(carrier_done(&c));
	hold_release(&h, 'o');
	pthread_join(c.thread, NULL);
}

/*
 * The page that is missing need not be the first of the buffer, nor one of an
 * array: what is behind a stuck op is found by whoever parks later.
 */
TEST_F(work, stuck_in_the_middle_of_a_buffer)
{
	char *pages = new_pages(3 * 4096);
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	struct parker p = { .d = &self->d, .w = &self->y };
	struct hold h = { .size = 4096, .page = pages + 4096 };
	char data[3 * 4096];
	struct roost_sqe sqe;
	struct roost_cqe cqe;
	struct carrier c;
	int s[2];

	pages[0] = pages[8192] = 0;
	h.fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	ASSERT_GE(h.fd, 0);
	ASSERT_EQ(ioctl(h.fd, UFFDIO_API, &api), 0);
	reg.range.start = (uintptr_t)h.page;
	reg.range.len = h.size;
	ASSERT_EQ(ioctl(h.fd, UFFDIO_REGISTER, &reg), 0);
	memset(data, 'd', sizeof(data));
	unix_pair(s, SOCK_STREAM);
	ASSERT_EQ(send(s[1], data, sizeof(data), 0), sizeof(data));
	ASSERT_EQ(send(self->s[1], "xyz", 3, 0), 3);
	sqe = sqe_recv(roost_op_id(1, 1), s[0], pages, sizeof(data));
	push(&self->w, &sqe);
	sqe = sqe_recv(roost_op_id(2, 1), self->s[0], self->in, 4);
	push(&self->w, &sqe);
	carrier_start(&c, &self->w);
	ASSERT_TRUE(hold_wait(&h, wide(5 * SEC)));
	/* the second is done already, or left to whoever comes now */
	if (!pop(&self->w, &cqe)) {
		ASSERT_EQ(pthread_create(&p.thread, NULL, park_once, &p), 0);
		pthread_join(p.thread, NULL);
		ASSERT_TRUE(p.got);
		cqe = p.cqe;
	}
	EXPECT_EQ(cqe.user_data, roost_op_id(2, 1));
	EXPECT_EQ(cqe.res, 3);
	EXPECT_FALSE(carrier_done(&c));
	hold_release(&h, 'o');
	pthread_join(c.thread, NULL);
	ASSERT_TRUE(pop(&self->w, &cqe));
	EXPECT_GT(cqe.res, 4096);
	EXPECT_EQ(memcmp(pages, data, (size_t)cqe.res), 0);
}

/* A ring that is full: completions wait, and none is lost. */
TEST_F(work, full_ring)
{
	bool seen[512] = { false };
	unsigned int i, count = 0;
	struct roost_sqe sqe;
	struct roost_cqe cqe;
	struct wrk small;
	char in[512];
	int sent = 0;

	ASSERT_EQ(wrk_make(&small, &self->d, 8, 8), 0);
	for (i = 0; i < 512; i++) {
		sqe = on_file(sqe_recv(roost_op_id(i, 1), self->s[0], in + i,
				       1), 1);
		ASSERT_EQ(submit_one(&self->w, sqe), 1);
	}
	for (i = 0; i < 512; i++)
		sent += (int)send(self->s[1], "x", 1, MSG_DONTWAIT);
	ASSERT_EQ(sent, 512);
	/* all by the one with the small ring */
	while (stat_of(&self->d).ios_pending) {
		ASSERT_LT(now_ns(), self->limit);
		ASSERT_GE(submit(&small), 0);
	}
	EXPECT_EQ(small.page->cq_overflow, 504);
	EXPECT_EQ(stat_of(&self->d).overflow_pending, 504);
	EXPECT_GE(stat_of(&self->d).overflowed, 504);
	while (count < 512) {
		ASSERT_LT(now_ns(), self->limit);
		if (!pop(&small, &cqe)) {
			submit(&small);
			continue;
		}
		ASSERT_LT(roost_op_index(cqe.user_data), 512);
		EXPECT_FALSE(seen[roost_op_index(cqe.user_data)]);
		seen[roost_op_index(cqe.user_data)] = true;
		EXPECT_EQ(cqe.res, 1);
		count++;
	}
	EXPECT_EQ(small.page->cq_overflow, 0);
	EXPECT_FALSE(pop(&self->w, &cqe));
}

/* S2-11: One call carries out so many, and then lets go. */
TEST_F(work, bounded_work)
{
	unsigned int i, calls = 0, done = 0, most = 0;
	struct roost_sqe sqe;
	struct roost_cqe cqe;
	unsigned int n;
	char in[2048];

	ASSERT_EQ(wrk_make(&self->y, &self->d, 2048, 8192), 0);
	for (i = 0; i < 2048; i++) {
		sqe = on_file(sqe_recv(roost_op_id(i, 1), self->s[0], in + i,
				       1), 1);
		push(&self->y, &sqe);
	}
	/* they come armed, and become ready one by another */
	ASSERT_EQ(submit(&self->y), 2048);
	for (i = 0; i < 2048; i++) {
		ASSERT_EQ(send(self->s[1], "x", 1, MSG_DONTWAIT), 1);
	}
	while (done < 2048) {
		ASSERT_LT(now_ns(), self->limit);
		ASSERT_EQ(submit(&self->y), 0);
		for (n = 0; pop(&self->y, &cqe); n++)
			EXPECT_EQ(cqe.res, 1);
		done += n;
		most = n > most ? n : most;
		calls++;
	}
	TH_LOG("%u calls, at most %u by one", calls, most);
	EXPECT_GE(calls, 2);
	EXPECT_LT(most, 2048);
}

/* S2-13: A park does not sleep over what a bounded call has left. */
TEST_F(work, park_finishes_what_is_left)
{
	unsigned int i, done = 0;
	struct roost_sqe sqe;
	struct roost_cqe cqe;
	char in[1024];

	ASSERT_EQ(attach(&self->w), 0);
	ASSERT_EQ(fcntl(self->s[1], F_SETFL, O_NONBLOCK), 0);
	for (i = 0; i < 1024; i++) {
		sqe = on_file(sqe_recv(roost_op_id(i, 1), self->s[0], in + i,
				       1), 1);
		push(&self->w, &sqe);
	}
	ASSERT_EQ(submit(&self->w), 1024);
	for (i = 0; i < 1024; i += 2) {
		ASSERT_EQ(write(self->s[1], "xy", 2), 2);
	}
	while (done < 1024) {
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		done++;
	}
	EXPECT_EQ(stat_of(&self->d).timeouts, 0);
}

TEST_F(work, counters)
{
	struct roost_domain_stat st, before;
	struct roost_sqe sqe;
	struct roost_cqe cqe;
	unsigned int i, waits = 0;
	uint64_t seed = 7;

	ASSERT_EQ(attach(&self->w), 0);
	before = stat_of(&self->d);
	EXPECT_EQ(before.ios_started, 0);
	for (i = 1; i <= 500; i++) {
		bool early = random_next(&seed) & 1;

		sqe = sqe_recv(roost_op_id(i, 1), self->s[0], self->in, 8);
		if (random_next(&seed) & 1)
			sqe = on_file(sqe, 1);
		if (early) {
			ASSERT_EQ(send(self->s[1], "x", 1, 0), 1);
		}
		ASSERT_EQ(submit_one(&self->w, sqe), 1);
		waits += !early;
		st = stat_of(&self->d);
		EXPECT_EQ(st.ios_started, i);
		EXPECT_EQ(st.ios_done, i - !early);
		EXPECT_EQ(st.ios_pending, !early);
		if (!early) {
			ASSERT_EQ(send(self->s[1], "x", 1, 0), 1);
		}
		ASSERT_EQ(wait_pop(&self->d, &self->w, &cqe, self->limit), 0);
		ASSERT_EQ(cqe.res, 1);
	}
	st = stat_of(&self->d);
	EXPECT_EQ(st.ios_started, 500);
	EXPECT_EQ(st.ios_done, 500);
	EXPECT_EQ(st.ios_pending, 0);
	EXPECT_GE(st.ios_waited, waits);
	EXPECT_EQ(st.files, 1);
	EXPECT_EQ(st.submitted, 500);
	EXPECT_EQ(st.completed, 500);
	/* what is refused was not accepted */
	EXPECT_EQ(io_now(&self->w, sqe_recv(roost_op_id(1, 2), 999, self->in,
					    1)), -EBADF);
	EXPECT_EQ(stat_of(&self->d).ios_started, 500);
	EXPECT_EQ(self->d.control->io_ready, 0);
}

/*
 * One index, and two threads that submit its next op without waiting for the
 * completion of the last; rings so small that completions wait. What is
 * accepted completes once.
 */
#define HAMMERS	20000

struct hammer {
	struct wrk w;
	pthread_t thread;
	unsigned int accepted, done, refused, received;
};

static struct {
	uint32_t sequence;
	unsigned int running;
	int fd;
} hammered;

static void count_all(struct hammer *h)
{
	struct roost_cqe cqe;

	while (pop(&h->w, &cqe)) {
		check(cqe_kind(&cqe) == ROOST_CQE_IO);
		if (cqe.res == -EBUSY || cqe.res == -ESTALE)
			h->refused++;
		else
			h->done++;
		h->received += cqe.res == 1;
	}
}

static void *hammer_main(void *arg)
{
	struct hammer *h = arg;
	struct roost_sqe sqe;
	static char byte;
	unsigned int i;

	check(attach(&h->w) == 0);
	for (i = 0; i < HAMMERS; i++) {
		sqe = sqe_recv(roost_op_id(1, __atomic_add_fetch(
					&hammered.sequence, 1,
					__ATOMIC_RELAXED)),
			       hammered.fd, &byte, 1);
		sqe.msg_flags = MSG_PEEK;
		push(&h->w, &sqe);
		while (submit(&h->w) != 1)
			count_all(h);
		/* now and then, so that the ring is full most of the time */
		if (i % 5 == 0)
			count_all(h);
	}
	__atomic_fetch_sub(&hammered.running, 1, __ATOMIC_SEQ_CST);
	/* none may hang in the other's ring for ever */
	while (__atomic_load_n(&hammered.running, __ATOMIC_SEQ_CST) ||
	       __atomic_load_n(&h->w.page->cq_overflow, __ATOMIC_ACQUIRE)) {
		submit(&h->w);
		count_all(h);
	}
	submit(&h->w);
	count_all(h);
	return NULL;
}

TEST_F(work, index_hammered)
{
	struct hammer h[2] = { 0 };
	unsigned int i;

	ASSERT_EQ(send(self->s[1], "x", 1, 0), 1);
	hammered.fd = self->s[0];
	hammered.running = 2;
	for (i = 0; i < 2; i++)
		ASSERT_EQ(wrk_make(&h[i].w, &self->d, 2, 2), 0);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(pthread_create(&h[i].thread, NULL, hammer_main,
					 &h[i]), 0);
	for (i = 0; i < 2; i++)
		pthread_join(h[i].thread, NULL);
	TH_LOG("%u done, %u refused", h[0].done + h[1].done,
	       h[0].refused + h[1].refused);
	EXPECT_EQ(h[0].done + h[1].done, stat_of(&self->d).ios_started);
	EXPECT_EQ(h[0].done + h[1].done + h[0].refused + h[1].refused,
		  2 * HAMMERS);
}

TEST_HARNESS_MAIN
