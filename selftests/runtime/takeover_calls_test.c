// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * takeover_calls_test.c - each public function, as the first one that an actor calls
 * after its thread has lost the worker; and that none was forgotten.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "arch/arch.h"
#include ARCH_HEADER(regs.h)
#include "inside.h"
#include "takeover_help.h"

/* What a call may do. */
enum kind {
	ENTERS,		/* goes into the library: the actor has a worker then */
	STAYS,		/* needs none, and leaves it as it is: see lib/carrier.h */
	ENDS,		/* the actor is over */
};

/* What of struct env is not there any more afterwards. */
enum takes {
	NOTHING,
	OTHER,
	GONE,
	SPARE,
};

/**
 * struct env - what a call has to work with
 * @b:		the actor
 * @pair:	a pair of sockets; at the first there is something to read
 * @spare:	a descriptor to close
 * @other:	an actor that is parked, with a handle
 * @gone:	one that has ended, with a handle
 */
struct env {
	struct blocker b;
	const struct call *call;
	int pair[2];
	int spare;
	roost_pid other;
	roost_pid gone;
	long result;
	bool called;
};

struct call {
	const char *name;
	enum kind kind;
	long (*make)(struct env *e);
	long expected;
	enum takes takes;
};

static void nothing(void *arg unused_arg)
{
}

static long call_accept(struct env *e)
{
	return roost_accept(e->pair[0], NULL, NULL, 0);
}

static long call_actors(struct env *e unused_arg)
{
	return roost_actors(NULL, 0) > 0;
}

static long call_after(struct env *e unused_arg)
{
	return roost_after(0) > 0;
}

static long call_calloc(struct env *e unused_arg)
{
	void *p = roost_calloc(3, 5);

	free(p);
	return p != NULL;
}

static long call_check(struct env *e unused_arg)
{
	return roost_check();
}

static long call_free(struct env *e unused_arg)
{
	roost_free(NULL);
	return 0;
}

static long call_malloc(struct env *e unused_arg)
{
	void *p = roost_malloc(7);

	free(p);
	return p != NULL;
}

static long call_preempt_disable(struct env *e unused_arg)
{
	roost_preempt_disable();
	/* It may finish its section. */
	roost_check();
	return 0;
}

static long call_preempt_enable(struct env *e unused_arg)
{
	roost_preempt_disable();
	roost_preempt_enable();
	return 0;
}

static long call_realloc(struct env *e unused_arg)
{
	void *p = roost_realloc(NULL, 7);

	free(p);
	return p != NULL;
}

static long call_close(struct env *e)
{
	return roost_close(e->spare);
}

static long call_connect(struct env *e unused_arg)
{
	struct sockaddr addr = { .sa_family = AF_UNIX };

	return roost_connect(-1, &addr, sizeof(addr), ROOST_FOREVER);
}

static long call_detach(struct env *e)
{
	return roost_detach(e->other);
}

static long call_errno(struct env *e unused_arg)
{
	return *roost_errno() == 4711;
}

static long call_exit(struct env *e unused_arg)
{
	roost_exit();
}

static long call_fd_adopt(struct env *e)
{
	return roost_fd_adopt(e->pair[1]);
}

static long call_fd_wait(struct env *e)
{
	return roost_fd_wait(e->pair[0], POLLIN, ROOST_FOREVER);
}

static long call_join(struct env *e)
{
	return roost_join(e->gone, ROOST_FOREVER);
}

static long call_join_outcome(struct env *e)
{
	struct roost_outcome outcome;
	int err = roost_join_outcome(e->gone, ROOST_FOREVER, &outcome);

	return err ? err : outcome.how == ROOST_END_RETURNED;
}

static long call_now(struct env *e unused_arg)
{
	return roost_now() > 0;
}

static long call_park(struct env *e unused_arg)
{
	return roost_park(roost_after(1));
}

static long call_pipe(struct env *e unused_arg)
{
	int p[2];
	int err = roost_pipe(p);

	if (!err) {
		roost_close(p[0]);
		roost_close(p[1]);
	}
	return err;
}

static long call_read(struct env *e)
{
	char c;

	return roost_read(e->pair[0], &c, 1, ROOST_FOREVER);
}

static long call_readv(struct env *e)
{
	char c;
	struct iovec iov = { &c, 1 };

	return roost_readv(e->pair[0], &iov, 1, ROOST_FOREVER);
}

static long call_recv(struct env *e)
{
	char c;

	return roost_recv(e->pair[0], &c, 1, 0, ROOST_FOREVER);
}

static long call_run(struct env *e unused_arg)
{
	return roost_run(NULL, nothing, NULL);
}

static long call_self(struct env *e)
{
	return roost_self() == e->b.pid;
}

static long call_send(struct env *e)
{
	return roost_send(e->pair[0], "x", 1, 0, ROOST_FOREVER);
}

static long call_send_recv(struct env *e)
{
	char c;

	return roost_send_recv(e->pair[0], "x", 1, &c, 1, 0, ROOST_FOREVER,
			       NULL);
}

static long call_set_name(struct env *e unused_arg)
{
	return roost_set_name("name");
}

static long call_sleep(struct env *e unused_arg)
{
	return roost_sleep(1000);
}

static long call_sleep_until(struct env *e unused_arg)
{
	return roost_sleep_until(roost_after(1000));
}

static long call_socket(struct env *e unused_arg)
{
	int fd = roost_socket(AF_UNIX, SOCK_STREAM, 0);

	return fd < 0 ? fd : roost_close(fd);
}

static long call_spawn(struct env *e unused_arg)
{
	return roost_spawn(nothing, NULL, NULL);
}

static long call_spawn_with(struct env *e unused_arg)
{
	struct roost_spawn_options options = { .stack_size = 16384 };

	return roost_spawn_with(nothing, NULL, &options, NULL);
}

static long call_stack_used(struct env *e unused_arg)
{
	return roost_stack_used() > 0;
}

static long call_stacks(struct env *e unused_arg)
{
	return roost_stacks(ROOST_PID_NONE, NULL, 0) > 0;
}

static long call_stats(struct env *e unused_arg)
{
	struct roost_stats s;
	int err = roost_stats(&s);

	return err ? err : s.displaced > 0;
}

static long call_stop(struct env *e)
{
	return roost_stop(e->other);
}

static long call_stopped(struct env *e unused_arg)
{
	return roost_stopped();
}

static long call_trace_read(struct env *e unused_arg)
{
	uint64_t position = 0;
	struct roost_trace_event event;

	return roost_trace_read(ROOST_PID_NONE, 1000, &position, &event, 1);
}

static long call_trace_start(struct env *e unused_arg)
{
	return roost_trace_start(ROOST_PID_NONE, ~0U);
}

static long call_trace_stop(struct env *e unused_arg)
{
	return roost_trace_stop(ROOST_PID_NONE);
}

/* Nothing was recorded, but what is around it is written. */
static long call_trace_write(struct env *e unused_arg)
{
	return roost_trace_write(ROOST_PID_NONE, -1);
}

static long call_unpark(struct env *e)
{
	return roost_unpark(e->other);
}

static long call_worker_stats(struct env *e unused_arg)
{
	struct roost_worker_stats s;

	return roost_worker_stats(ROOST_PID_NONE, 0, &s);
}

static long call_workers(struct env *e unused_arg)
{
	struct roost_config config = { .workers = 7 };

	return roost_workers(&config);
}

static long call_write(struct env *e)
{
	return roost_write(e->pair[0], "x", 1, ROOST_FOREVER);
}

static long call_write_all(struct env *e)
{
	return roost_write_all(e->pair[0], "x", 1, ROOST_FOREVER);
}

static long call_writev(struct env *e)
{
	struct iovec iov = { (void *)"x", 1 };

	return roost_writev(e->pair[0], &iov, 1, ROOST_FOREVER);
}

static long call_yield(struct env *e unused_arg)
{
	roost_yield();
	return 0;
}

#define CALL(name, kind, expected, takes) \
	{ "roost_" #name, kind, call_##name, expected, takes }

static const struct call calls[] = {
	CALL(accept, ENTERS, -EINVAL, NOTHING),
	CALL(actors, ENTERS, 1, NOTHING),
	CALL(after, STAYS, 1, NOTHING),
	CALL(calloc, ENTERS, 1, NOTHING),
	CALL(check, ENTERS, 0, NOTHING),
	CALL(close, ENTERS, 0, SPARE),
	CALL(connect, ENTERS, -EBADF, NOTHING),
	CALL(detach, ENTERS, 0, OTHER),
	CALL(errno, STAYS, 1, NOTHING),
	CALL(exit, ENDS, 0, NOTHING),
	CALL(fd_adopt, ENTERS, 0, NOTHING),
	CALL(fd_wait, ENTERS, POLLIN, NOTHING),
	CALL(free, STAYS, 0, NOTHING),
	CALL(join, ENTERS, 0, GONE),
	CALL(join_outcome, ENTERS, 1, GONE),
	CALL(malloc, ENTERS, 1, NOTHING),
	CALL(now, STAYS, 1, NOTHING),
	CALL(park, ENTERS, -ETIMEDOUT, NOTHING),
	CALL(pipe, ENTERS, 0, NOTHING),
	CALL(preempt_disable, STAYS, 0, NOTHING),
	CALL(preempt_enable, ENTERS, 0, NOTHING),
	CALL(read, ENTERS, 1, NOTHING),
	CALL(readv, ENTERS, 1, NOTHING),
	CALL(realloc, ENTERS, 1, NOTHING),
	CALL(recv, ENTERS, 1, NOTHING),
	CALL(run, STAYS, -EDEADLK, NOTHING),
	CALL(self, STAYS, 1, NOTHING),
	CALL(send, ENTERS, 1, NOTHING),
	CALL(send_recv, ENTERS, 1, NOTHING),
	CALL(set_name, ENTERS, 0, NOTHING),
	CALL(sleep, ENTERS, 0, NOTHING),
	CALL(sleep_until, ENTERS, 0, NOTHING),
	CALL(socket, ENTERS, 0, NOTHING),
	CALL(spawn, ENTERS, 0, NOTHING),
	CALL(spawn_with, ENTERS, 0, NOTHING),
	CALL(stack_used, ENTERS, 1, NOTHING),
	CALL(stacks, ENTERS, 1, NOTHING),
	CALL(stats, ENTERS, 1, NOTHING),
	CALL(stop, ENTERS, 0, NOTHING),
	CALL(stopped, STAYS, 0, NOTHING),
	CALL(trace_read, ENTERS, -EINVAL, NOTHING),
	CALL(trace_start, ENTERS, -EINVAL, NOTHING),
	CALL(trace_stop, ENTERS, 0, NOTHING),
	CALL(trace_write, ENTERS, -EBADF, NOTHING),
	CALL(unpark, ENTERS, 0, NOTHING),
	CALL(worker_stats, ENTERS, 0, NOTHING),
	CALL(workers, STAYS, 7, NOTHING),
	CALL(write, ENTERS, 1, NOTHING),
	CALL(write_all, ENTERS, 1, NOTHING),
	CALL(writev, ENTERS, 1, NOTHING),
	CALL(yield, ENTERS, 0, NOTHING),
};

static const char *const exported[] = {
#include "exported.inc"
};

static bool is_among_calls(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (!strcmp(calls[i].name, name))
			return true;
	return false;
}

/* A new one belongs into the table, and between library_enter() and _leave(). */
ROOST_TEST(each_exported_function_is_tried)
{
	size_t i;

	CHECK_EQ(ARRAY_SIZE(exported), ARRAY_SIZE(calls));
	for (i = 0; i < ARRAY_SIZE(exported); i++)
		CHECK_MSG(is_among_calls(exported[i]), "%s is not in the table",
			  exported[i]);
}

/* Outside of the library again, whatever it is: a call that forgot to leave. */
static bool is_outside(void)
{
	return !carrier_is_inside(carrier_self());
}

static void make_call(struct blocker *b)
{
	struct env *e = b->arg;
	const struct call *call = e->call;

	CHECK(is_displaced());
	errno = 4711;
	e->called = true;
	e->result = call->make(e);
	/* Its own still, or what a system call of this one has made of it. */
	CHECK_MSG(errno == 4711 || (errno > 0 && errno < 256), "%s: errno %d",
		  call->name, errno);
	CHECK_MSG(is_displaced() == (call->kind == STAYS),
		  "%s: has %s worker", call->name, is_displaced() ? "no" : "a");
	CHECK_MSG(is_outside(), "%s: is inside", call->name);
	CHECK_MSG(e->result == call->expected, "%s: %ld", call->name, e->result);
}

static void parked(void *arg unused_arg)
{
	roost_park(ROOST_FOREVER);
}

static void env_init(struct env *e, const struct call *call)
{
	memset(e, 0, sizeof(*e));
	blocker_init(&e->b);
	e->b.after = make_call;
	e->b.arg = e;
	e->call = call;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, e->pair), 0);
	CHECK_EQ(roost_fd_adopt(e->pair[0]), 0);
	CHECK_EQ(write(e->pair[1], "xx", 2), 2);
	e->spare = dup(e->pair[1]);
	e->other = spawn(parked, NULL);
	e->gone = spawn(nothing, NULL);
}

static void env_end(struct env *e)
{
	const struct call *call = e->call;

	if (call->takes != SPARE)
		close(e->spare);
	roost_stop(e->other);
	if (call->takes != OTHER)
		join(e->other);
	if (call->takes != GONE)
		join(e->gone);
	roost_close(e->pair[0]);
	roost_close(e->pair[1]);
	close(e->b.pipe[0]);
	close(e->b.pipe[1]);
}

/* With one worker: this goes on only when it was taken from who blocks. */
static void try_call(const struct call *call)
{
	struct env e;

	env_init(&e, call);
	blocker_start(&e.b);
	CHECK(wait_until(atomic_load(&e.b.begun)));
	release_read(&e.b);
	join(e.b.pid);
	CHECK_MSG(e.called, "%s was not called", call->name);
	CHECK_EQ(atomic_load(&e.b.ended), call->kind != ENDS);
	env_end(&e);
}

static void try_all(void *arg unused_arg)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		try_call(&calls[i]);
}

/* S0-43 */
TAKEOVER_TEST(each_call_of_a_displaced_actor)
{
	run_actors(1, try_all, NULL);
}

/* Its function returns; nothing else is called. */
static void only_blocks(void *arg)
{
	struct blocker *b = arg;

	atomic_store(&b->begun, true);
	b->block(b);
	atomic_store(&b->displaced, is_displaced());
}

static void ends_displaced(void *arg unused_arg)
{
	struct blocker b;

	blocker_init(&b);
	b.pid = spawn(only_blocks, &b);
	CHECK(wait_until(atomic_load(&b.begun)));
	release_read(&b);
	join(b.pid);
	CHECK(atomic_load(&b.displaced));
	close(b.pipe[0]);
	close(b.pipe[1]);
}

TAKEOVER_TEST(a_displaced_actor_returns)
{
	run_actors(1, ends_displaced, NULL);
}

/* The same as the last actor of all. */
static void last(void *arg)
{
	only_blocks(arg);
	free(arg);
}

static void leaves_one_behind(void *arg unused_arg)
{
	struct blocker *b = malloc(sizeof(*b));

	REQUIRE(b);
	blocker_init(b);
	CHECK_EQ(roost_spawn(last, b, NULL), 0);
	CHECK(wait_until(atomic_load(&b->begun)));
	release_read(b);
}

TAKEOVER_TEST(a_displaced_actor_is_the_last)
{
	run_actors(1, leaves_one_behind, NULL);
	run_actors(2, leaves_one_behind, NULL);
}

static void sleeps_when_back(struct blocker *b)
{
	b->result = roost_sleep(ROOST_SEC(100));
}

static void stopped_while_blocked(void *arg unused_arg)
{
	struct blocker b;

	blocker_init(&b);
	b.after = sleeps_when_back;
	blocker_start(&b);
	CHECK(wait_until(atomic_load(&b.begun)));
	CHECK_EQ(roost_stop(b.pid), 0);
	release_read(&b);
	blocker_end(&b);
	CHECK(atomic_load(&b.displaced));
	CHECK_EQ(b.result, -ECANCELED);
}

TAKEOVER_TEST(stopped_while_blocked_it_hears_of_it)
{
	run_actors(1, stopped_while_blocked, NULL);
}

/* errno and rounding go where the actor goes. */
static void keeps_what_is_its_own(struct blocker *b)
{
	fp_modes_set(FP_MODES_OTHER);
	errno = 123;
	roost_unpark(roost_self());
	CHECK_EQ(errno, 123);
	CHECK_EQ(fp_modes(), FP_MODES_OTHER);
	fp_modes_set(FP_MODES_DEFAULT);
	(void)b;
}

static void own_things(void *arg unused_arg)
{
	struct blocker b;

	blocker_init(&b);
	b.after = keeps_what_is_its_own;
	blocker_start(&b);
	CHECK(wait_until(atomic_load(&b.begun)));
	errno = 7;
	release_read(&b);
	blocker_end(&b);
	CHECK(atomic_load(&b.displaced));
	CHECK_EQ(errno, 7);
	CHECK_EQ(fp_modes(), FP_MODES_DEFAULT);
}

/* C47 */
TAKEOVER_TEST(errno_and_rounding_move_along)
{
	run_actors(1, own_things, NULL);
}

/* Signal handlers */

static void on_signal_yield(int sig unused_arg)
{
	roost_yield();
}

/* One that interrupts the library. */
static void raise_inside(void *arg unused_arg)
{
	INSIDE(raise(SIGUSR1));
}

static void call_inside(void *arg)
{
	struct sigaction sa = { .sa_handler = on_signal_yield };
	struct roost_config config = {
		.workers = 1, .backend = *(enum roost_backend *)arg,
	};

	sigaction(SIGUSR1, &sa, NULL);
	roost_run(&config, raise_inside, NULL);
}

static void is_told(enum roost_backend backend)
{
	char text[512];
	int status = in_child_stderr(call_inside, &backend, text, sizeof(text));

	CHECK_MSG(KILLED_BY(status, SIGABRT), "status 0x%x", status);
	CHECK_MSG(strstr(text, "called from inside of it"), "message: %s", text);
}

ROOST_TEST(a_call_from_inside_is_told)
{
	int before = set_parameter("carriers", 1);

	is_told(ROOST_BACKEND_AUTO);
	is_told(ROOST_BACKEND_FUTEX);
	if (before < 0)
		return;
	set_parameter("carriers", 0);
	is_told(ROOST_BACKEND_AUTO);
	set_parameter("carriers", before);
}

static _Atomic roost_pid waiting;
static _Atomic int unparked;

static void on_signal_unpark(int sig unused_arg)
{
	atomic_store(&unparked, roost_unpark(atomic_load(&waiting)));
}

static void *raise_outside(void *arg unused_arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(SIGUSR1);
	return NULL;
}

/* One on a thread that carries no actors may call this, as ever. */
ACTOR_TEST(a_handler_outside_may_unpark, 1)
{
	struct sigaction sa = { .sa_handler = on_signal_unpark }, old;
	pthread_t t;

	atomic_store(&waiting, roost_self());
	atomic_store(&unparked, 1);
	CHECK_EQ(sigaction(SIGUSR1, &sa, &old), 0);
	CHECK_EQ(pthread_create(&t, NULL, raise_outside, NULL), 0);
	CHECK_EQ(roost_park(roost_after(ROOST_SEC(60))), 0);
	pthread_join(t, NULL);
	CHECK_EQ(atomic_load(&unparked), 0);
	sigaction(SIGUSR1, &old, NULL);
}
