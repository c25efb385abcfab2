// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * takeover_test.c - actors that block their thread do not block the others.
 *
 * ROOST_CYCLES=n is how often an actor blocks and comes back in the longest test.
 */
#include <semaphore.h>
#include <sys/prctl.h>

#include "takeover_fault.h"
#include "takeover_help.h"

/* Ways to block */

/* Until a signal, which only this thread takes, and only now. */
static void block_in_nanosleep(struct blocker *b)
{
	struct timespec ts = { .tv_sec = 1000 };
	sigset_t set;

	b->thread = pthread_self();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	atomic_store(&b->interruptible, true);
	while (atomic_load(&b->interruptible))
		clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	/* From here on the thread may end. */
	pthread_mutex_lock(&b->mutex);
	b->result = 1;
	pthread_mutex_unlock(&b->mutex);
}

static bool interrupt(struct blocker *b)
{
	bool again;

	pthread_mutex_lock(&b->mutex);
	again = b->result != 1;
	if (again)
		pthread_kill(b->thread, SIGUSR1);
	pthread_mutex_unlock(&b->mutex);
	return again;
}

/* Again and again: it may not yet have been asleep. */
static void release_nanosleep(struct blocker *b)
{
	while (!atomic_load(&b->interruptible))
		roost_yield();
	atomic_store(&b->interruptible, false);
	while (interrupt(b))
		roost_sleep(ROOST_MSEC(1));
}

static void on_signal(int sig unused_arg)
{
}

/* Held by a thread outside, which lets it go when it is told to. */
struct holder {
	struct blocker *b;
	pthread_t thread;
	sem_t held;
	sem_t let_go;
};

static void *hold(void *arg)
{
	struct holder *h = arg;

	pthread_mutex_lock(&h->b->mutex);
	sem_post(&h->held);
	sem_wait(&h->let_go);
	pthread_mutex_unlock(&h->b->mutex);
	return NULL;
}

static void block_in_mutex(struct blocker *b)
{
	pthread_mutex_lock(&b->mutex);
	pthread_mutex_unlock(&b->mutex);
	b->result = 1;
}

static void release_mutex(struct blocker *b)
{
	struct holder *h = b->arg;

	sem_post(&h->let_go);
	pthread_join(h->thread, NULL);
}

static void prepare_mutex(struct blocker *b)
{
	static struct holder holders[MAX_BLOCKERS];
	static unsigned int next;
	struct holder *h = &holders[next++ % MAX_BLOCKERS];

	b->block = block_in_mutex;
	b->release = release_mutex;
	b->arg = h;
	h->b = b;
	pthread_mutex_init(&b->mutex, NULL);
	sem_init(&h->held, 0, 0);
	sem_init(&h->let_go, 0, 0);
	CHECK_EQ(pthread_create(&h->thread, NULL, hold, h), 0);
	sem_wait(&h->held);
}

static void prepare_nanosleep(struct blocker *b)
{
	struct sigaction sa = { .sa_handler = on_signal };

	CHECK_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	pthread_mutex_init(&b->mutex, NULL);
	b->block = block_in_nanosleep;
	b->release = release_nanosleep;
}

static void prepare_read(struct blocker *b unused_arg)
{
}

/* Not blocked at all: it goes on and on. */
static void block_in_loop(struct blocker *b)
{
	while (!__atomic_load_n(&b->arg, __ATOMIC_ACQUIRE))
		;
	b->result = 1;
}

static void release_loop(struct blocker *b)
{
	__atomic_store_n(&b->arg, b, __ATOMIC_RELEASE);
}

static void prepare_loop(struct blocker *b)
{
	b->block = block_in_loop;
	b->release = release_loop;
	b->spins = true;
}

/* The others go on */

struct others {
	unsigned int blockers;
	void (*prepare)(struct blocker *b);
};

static _Atomic unsigned long yields;
static _Atomic bool enough;

static void yielder(void *arg unused_arg)
{
	while (!atomic_load(&enough)) {
		atomic_fetch_add(&yields, 1);
		roost_yield();
	}
}

static bool all_begun(const struct blocker *b, unsigned int n)
{
	while (n--)
		if (!atomic_load(&b[n].begun))
			return false;
	return true;
}

static void others_go_on(void *arg)
{
	const struct others *o = arg;
	struct blocker b[MAX_BLOCKERS];
	unsigned long before;
	roost_pid other;
	unsigned int i, displaced = 0;

	CHECK(runtime_self()->takeover);
	atomic_store(&enough, false);
	for (i = 0; i < o->blockers; i++) {
		blocker_init(&b[i]);
		o->prepare(&b[i]);
		blocker_start(&b[i]);
	}
	other = spawn(yielder, NULL);
	CHECK(wait_until(all_begun(b, o->blockers)));
	before = atomic_load(&yields);
	CHECK(wait_until(atomic_load(&yields) > before + 100));
	for (i = 0; i < o->blockers; i++) {
		CHECK_EQ(b[i].result, -1);
		b[i].release(&b[i]);
	}
	for (i = 0; i < o->blockers; i++) {
		blocker_end(&b[i]);
		CHECK_EQ(b[i].result, 1);
		displaced += atomic_load(&b[i].displaced);
	}
	atomic_store(&enough, true);
	join(other);
	/* When the others ran, all but so many had lost their worker. */
	CHECK(displaced + runtime_self()->nr_workers > o->blockers);
	CHECK(stats_now().takeovers >= displaced);
	CHECK(stats_now().displaced >= displaced);
}

static void go_on_while(void (*prepare)(struct blocker *b))
{
	struct others one = { .blockers = 1, .prepare = prepare };
	struct others six = { .blockers = 6, .prepare = prepare };

	run_actors(1, others_go_on, &one);
	run_actors(1, others_go_on, &six);
	run_actors(3, others_go_on, &six);
}

TAKEOVER_TEST(others_go_on_while_one_reads)
{
	go_on_while(prepare_read);
}

/* S3-51 */
TAKEOVER_TEST(others_go_on_while_one_sleeps)
{
	go_on_while(prepare_nanosleep);
}

TAKEOVER_TEST(others_go_on_while_one_waits_for_a_mutex)
{
	go_on_while(prepare_mutex);
}

TAKEOVER_TEST(others_go_on_while_one_faults)
{
	go_on_while(prepare_fault);
}

/* S3-50 */
TAKEOVER_TEST(others_go_on_while_one_computes)
{
	struct others one = { .blockers = 1, .prepare = prepare_loop };
	struct others two = { .blockers = 2, .prepare = prepare_loop };

	set_parameter("spin_us", USUAL_SPIN_US);
	run_actors(1, others_go_on, &one);
	run_actors(2, others_go_on, &two);
}

static void ticks(void *arg)
{
	_Atomic unsigned int *n = arg;

	while (atomic_load(n) < 10) {
		roost_sleep(ROOST_MSEC(5));
		atomic_fetch_add(n, 1);
	}
}

/* Its timer is not even known to the module when the other one begins. */
static void computes_while_another_sleeps(void *arg unused_arg)
{
	uint64_t limit = roost_after(ROOST_SEC(60));
	_Atomic unsigned int n = 0;
	roost_pid pid = spawn(ticks, (void *)&n);

	roost_yield();
	while (atomic_load(&n) < 10 && roost_now() < limit)
		;
	CHECK_EQ(atomic_load(&n), 10);
	join(pid);
}

TAKEOVER_TEST(timers_go_off_while_one_computes)
{
	set_parameter("spin_us", USUAL_SPIN_US);
	run_actors(1, computes_while_another_sleeps, NULL);
}

/* Numbers */

static unsigned int running(struct runtime *rt)
{
	struct threads *t = &rt->threads;
	struct list_head *node;
	unsigned int n = 1;

	pthread_mutex_lock(&t->lock);
	for (node = t->all.next; node != &t->all; node = node->next)
		n++;
	n -= t->ready;
	pthread_mutex_unlock(&t->lock);
	return n;
}

#define MAX_CROWD	4U

/**
 * struct crowd - actors that block, one more than there are workers, and their root
 * @n:		how many
 * @turns:	how often each blocks
 * @tell:	a byte is written there when the first has lost its worker, if not -1
 * @running:	actors that have a worker just now, and are not blocked
 * @too_many:	how often these were more than there are workers
 */
struct crowd {
	unsigned int n;
	unsigned long turns;
	int tell;
	_Atomic unsigned int running;
	_Atomic unsigned int too_many;
	struct member {
		struct crowd *crowd;
		int pipe[2];
		_Atomic unsigned long blocked;
	} member[MAX_CROWD];
};

/* Nobody loses the worker in here: it does not block. */
static void be_counted(struct crowd *crowd)
{
	unsigned int i;

	if (atomic_fetch_add(&crowd->running, 1) >= runtime_self()->nr_workers)
		atomic_fetch_add(&crowd->too_many, 1);
	for (i = 0; i < 50; i++)
		cpu_relax();
	atomic_fetch_sub(&crowd->running, 1);
}

static void blocks_often(void *arg)
{
	struct member *m = arg;
	unsigned long i;
	char c;

	for (i = 0; i < m->crowd->turns; i++) {
		be_counted(m->crowd);
		atomic_store(&m->blocked, i + 1);
		if (read(m->pipe[0], &c, 1) != 1)
			break;
		/* Whoever comes back has to find that it is displaced. */
		roost_stopped();
		roost_yield();
	}
	CHECK_EQ(i, m->crowd->turns);
}

/* All are blocked for time number @turn, or about to be. */
static bool all_blocked(struct crowd *crowd, unsigned long turn)
{
	unsigned int i;

	be_counted(crowd);
	for (i = 0; i < crowd->n; i++)
		if (atomic_load(&crowd->member[i].blocked) < turn)
			return false;
	return true;
}

static void crowd_tell(struct crowd *crowd)
{
	if (crowd->tell < 0 || !stats_now().takeovers)
		return;
	CHECK_EQ(write(crowd->tell, "x", 1), 1);
	crowd->tell = -1;
}

static void lead(struct crowd *crowd)
{
	struct runtime *rt = runtime_self();
	unsigned long turn;
	unsigned int i;

	for (turn = 1; turn <= crowd->turns; turn++) {
		if (!CHECK(wait_until(all_blocked(crowd, turn))))
			break;
		crowd_tell(crowd);
		for (i = 0; i < crowd->n; i++)
			CHECK_EQ(write(crowd->member[i].pipe[1], "x", 1), 1);
		CHECK(rt->threads.more <= rt->config.standbys);
		/* To be counted again: writing may have blocked. */
		roost_yield();
	}
}

static void block_and_come_back(void *arg)
{
	struct crowd *crowd = arg;
	struct runtime *rt = runtime_self();
	const unsigned int others = rt->nr_workers - 1;
	roost_pid pid[MAX_CROWD];
	struct roost_stats s;
	unsigned int i;

	crowd->n = rt->nr_workers + 1;
	for (i = 0; i < crowd->n; i++) {
		crowd->member[i].crowd = crowd;
		CHECK_EQ(pipe(crowd->member[i].pipe), 0);
		pid[i] = spawn(blocks_often, &crowd->member[i]);
	}
	lead(crowd);
	for (i = 0; i < crowd->n; i++)
		close(crowd->member[i].pipe[1]);
	for (i = 0; i < crowd->n; i++) {
		join(pid[i]);
		close(crowd->member[i].pipe[0]);
	}
	CHECK(wait_until(running(rt) == rt->nr_workers));
	s = stats_now();
	printf("# %u workers: %lu times blocked, %llu takeovers, %llu displaced, %llu starved, %u more threads\n",
	       rt->nr_workers, crowd->n * crowd->turns,
	       (unsigned long long)s.takeovers, (unsigned long long)s.displaced,
	       (unsigned long long)s.starved, rt->threads.more);
	/* When all were blocked, we ran: so many at the most had a worker, too. */
	CHECK(s.takeovers >= crowd->turns * (crowd->n - others));
	CHECK_EQ(atomic_load(&crowd->too_many), 0);
}

/* S3-51 */
TAKEOVER_TEST(as_many_run_as_there_are_workers)
{
	const char *text = getenv("ROOST_CYCLES");
	struct crowd crowd;
	unsigned int workers;

	set_parameter("grace_us", USUAL_GRACE_US);
	for (workers = 1; workers < MAX_CROWD; workers++) {
		crowd = (struct crowd){
			.turns = text ? strtoul(text, NULL, 0) : rounds(1000),
			.tell = -1,
		};
		run_actors(workers, block_and_come_back, &crowd);
	}
}

static void naps(void *arg unused_arg)
{
	struct timespec ts = { .tv_nsec = 5000 };
	unsigned int i;

	for (i = 0; i < 200; i++) {
		/* Of whatever thread it is on. */
		prctl(PR_SET_TIMERSLACK, 1);
		nanosleep(&ts, NULL);
		roost_yield();
	}
	CHECK_EQ(i, 200);
}

static void nap_often(void *arg unused_arg)
{
	roost_pid pid[2] = { spawn(naps, NULL), spawn(naps, NULL) };

	join(pid[0]);
	join(pid[1]);
}

/* Who is back within the grace time keeps its worker. */
static void nap_within_grace(void *arg)
{
	nap_often(arg);
	CHECK_EQ(stats_now().takeovers, 0);
	CHECK_EQ(stats_now().displaced, 0);
	CHECK_EQ(stats_now().starved, 0);
}

static void nap_and_print(void *arg)
{
	nap_often(arg);
	printf("# 400 sleeps of 5 us: %llu takeovers\n",
	       (unsigned long long)stats_now().takeovers);
}

TAKEOVER_TEST(short_sleeps)
{
	/* As long as can be. */
	set_parameter("grace_us", 1000000);
	run_actors(2, nap_within_grace, NULL);
	set_parameter("grace_us", USUAL_GRACE_US);
	run_actors(2, nap_and_print, NULL);
}

/* Limits */

/* Outside: when a worker is stuck for want of a standby, let the first one go. */
static void *rescue(void *arg)
{
	struct blocker *b = arg;
	struct roost_domain_stat stat = { 0 };
	struct runtime *rt = b->arg;

	while (!stat.starved)
		if (kapi_stat(&kernel_of(rt)->domain, &stat) < 0)
			break;
	CHECK(stat.starved >= 1);
	release_read(b);
	return NULL;
}

static void at_the_cap(void *arg unused_arg)
{
	struct blocker b[2];
	pthread_t t;

	blocker_init(&b[0]);
	blocker_init(&b[1]);
	b[0].arg = runtime_self();
	CHECK_EQ(pthread_create(&t, NULL, rescue, &b[0]), 0);
	blocker_start(&b[0]);
	blocker_start(&b[1]);
	/* Now nobody runs; until the first is rescued, and its thread stands by. */
	roost_yield();
	roost_yield();
	blocker_end(&b[0]);
	CHECK_EQ(b[1].result, -1);
	release_read(&b[1]);
	blocker_end(&b[1]);
	pthread_join(t, NULL);
	CHECK(stats_now().starved >= 1);
	CHECK_EQ(runtime_self()->threads.more, 1);
}

static void one_standby(void *arg unused_arg)
{
	struct roost_config config = { .workers = 1, .standbys = 1 };

	CHECK_EQ(roost_run(&config, at_the_cap, NULL), 0);
	_exit(tap_failed());
}

/* S3-51 */
TAKEOVER_TEST(standbys_at_the_cap)
{
	char text[512];
	int status = in_child_stderr(one_standby, NULL, text, sizeof(text));

	CHECK_MSG(EXITED(status, 0), "status 0x%x", status);
	CHECK_MSG(strstr(text, "all 1 standbys are in use"), "message: %s", text);
	/* Said once. */
	CHECK_MSG(strchr(text, '\n') == strrchr(text, '\n'), "message: %s", text);
}

/* The kernel refuses so many calls to stand by, in this way. */
static struct backend refusing;
static _Atomic int refusals;
static int refused_with;

static int refuse_to_stand_by(struct carrier *c)
{
	if (atomic_fetch_sub(&refusals, 1) > 0)
		return refused_with;
	return backend_kernel.stand_by(c);
}

static void refuse(int n, int error)
{
	atomic_store(&refusals, n);
	refused_with = error;
	refusing = backend_kernel;
	refusing.stand_by = refuse_to_stand_by;
	runtime_self()->backend = &refusing;
}

/* The second standby has no memory at first; the first one stands by already. */
static void short_of_memory(void *arg unused_arg)
{
	struct blocker b[2];
	unsigned int i;

	refuse(3, -ENOMEM);
	for (i = 0; i < 2; i++) {
		blocker_init(&b[i]);
		blocker_start(&b[i]);
	}
	CHECK(wait_until(all_begun(b, 2)));
	CHECK(atomic_load(&refusals) <= 0);
	CHECK_EQ(runtime_self()->threads.more, 2);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(b[i].result, -1);
		release_read(&b[i]);
		blocker_end(&b[i]);
	}
}

static unsigned int more_threads(void)
{
	struct threads *t = &runtime_self()->threads;
	unsigned int more;

	pthread_mutex_lock(&t->lock);
	more = t->more;
	pthread_mutex_unlock(&t->lock);
	return more;
}

/* Whoever comes back ends, since it cannot stand by; another may be started. */
static void not_permitted(void *arg unused_arg)
{
	struct blocker b;

	blocker_init(&b);
	blocker_start(&b);
	CHECK(wait_until(atomic_load(&b.begun)));
	CHECK_EQ(more_threads(), 1);
	refuse(1, -EPERM);
	release_read(&b);
	blocker_end(&b);
	CHECK(wait_until(!more_threads()));
}

struct refused {
	roost_fn root;
	unsigned int standbys;
};

static void run_refused(void *arg)
{
	const struct refused *r = arg;
	struct roost_config config = { .workers = 1, .standbys = r->standbys };

	CHECK_EQ(roost_run(&config, r->root, NULL), 0);
	_exit(tap_failed());
}

static void check_refused(struct refused r, const char *message)
{
	char text[512];
	int status = in_child_stderr(run_refused, &r, text, sizeof(text));

	CHECK_MSG(EXITED(status, 0), "status 0x%x: %s", status, text);
	CHECK_MSG(strstr(text, message), "message: %s", text);
}

/* S3-52 */
TAKEOVER_TEST(memory_for_a_standby_is_waited_for)
{
	check_refused((struct refused){ short_of_memory, 2 },
		      "cannot stand by: Cannot allocate memory\n");
}

TAKEOVER_TEST(who_cannot_stand_by_makes_room)
{
	check_refused((struct refused){ not_permitted, 1 },
		      "cannot stand by: Operation not permitted\n");
}

static void *release_soon(void *arg)
{
	usleep(100000);
	release_read(arg);
	return NULL;
}

static void keeps_its_worker(void *arg unused_arg)
{
	struct blocker b;
	pthread_t t;

	CHECK(!runtime_self()->takeover);
	blocker_init(&b);
	CHECK_EQ(pthread_create(&t, NULL, release_soon, &b), 0);
	blocker_start(&b);
	roost_yield();
	/* Not before it has come back. */
	CHECK_EQ(b.result, 1);
	blocker_end(&b);
	pthread_join(t, NULL);
	CHECK_EQ(stats_now().takeovers, 0);
	CHECK_EQ(stats_now().starved, 0);
}

TAKEOVER_TEST(no_standbys_if_so_configured)
{
	struct roost_config config = {
		.workers = 1, .standbys = ROOST_NO_STANDBYS,
	};

	run_with(&config, keeps_its_worker, NULL);
}

static void blocks_for_nothing(void *arg unused_arg)
{
	struct blocker b;
	pthread_t t;
	pthread_attr_t attr;

	blocker_init(&b);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 20);
	CHECK_EQ(pthread_create(&t, &attr, release_soon, &b), 0);
	blocker_start(&b);
	roost_yield();
	CHECK_EQ(b.result, 1);
	blocker_end(&b);
	pthread_join(t, NULL);
}

/* No thread with a stack like this. */
static void no_thread_to_be_had(void *arg unused_arg)
{
	struct roost_config config = { .workers = 1 };
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	CHECK_EQ(pthread_attr_setstacksize(&attr, (size_t)1 << 47), 0);
	CHECK_EQ(pthread_setattr_default_np(&attr), 0);
	CHECK_EQ(roost_run(&config, blocks_for_nothing, NULL), 0);
	_exit(tap_failed());
}

/* S3-52 */
TAKEOVER_TEST(without_a_thread_it_works_as_before)
{
	char text[512];
	int status = in_child_stderr(no_thread_to_be_had, NULL, text,
				     sizeof(text));

	CHECK_MSG(EXITED(status, 0), "status 0x%x: %s", status, text);
	CHECK_MSG(strstr(text, "no thread to stand by"), "message: %s", text);
}

/* The process */

/* S3-55 */
TAKEOVER_TEST(again_and_again)
{
	struct others o = { .blockers = 2, .prepare = prepare_read };
	unsigned int i;

	for (i = 0; i < 20; i++)
		run_actors(1 + i % 2, others_go_on, &o);
}

static pid_t start_for_ever(int tell)
{
	struct crowd crowd = { .turns = ~0UL, .tell = tell };
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		run_actors(2, block_and_come_back, &crowd);
		_exit(1);
	}
	return pid;
}

TAKEOVER_TEST(killed_in_the_middle)
{
	struct others o = { .blockers = 1, .prepare = prepare_read };
	unsigned int i;
	int p[2], status;
	pid_t pid;
	char c;

	set_parameter("grace_us", USUAL_GRACE_US);
	for (i = 0; i < 10; i++) {
		CHECK_EQ(pipe(p), 0);
		pid = start_for_ever(p[1]);
		close(p[1]);
		/* Workers have been taken away. */
		CHECK_EQ(read(p[0], &c, 1), 1);
		usleep(i * 1000);
		CHECK_EQ(kill(pid, SIGKILL), 0);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(KILLED_BY(status, SIGKILL));
		close(p[0]);
	}
	set_parameter("grace_us", 20000);
	run_actors(1, others_go_on, &o);
}

static void fork_in_an_actor(void *arg unused_arg)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(roost_unpark(roost_self()) || roost_stopped());
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_MSG(EXITED(status, 0), "status 0x%x", status);
	CHECK_EQ(roost_sleep(1), 0);
}

TAKEOVER_TEST(a_child_can_call_what_needs_no_module)
{
	run_actors(1, fork_in_an_actor, NULL);
}
