// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * ctx_test.c - what a switch keeps: registers, floating point modes, errno; and
 * that a stack has an end for who walks it.
 */
#include <execinfo.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include ARCH_HEADER(regs.h)
#include "ctx.h"

#include "run.h"

/* Never inlined: the address of errno must not be kept over a switch. */
static noinline int errno_here(void)
{
	return errno;
}

static noinline void set_errno_here(int value)
{
	errno = value;
}

static noinline pid_t gettid_here(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static struct ctx main_ctx, side_ctx;
static char side_stack[262144] __attribute__((aligned(16)));
static unsigned int side_wrong;
static bool side_aligned;

static void side_main(void *arg)
{
	ctx_entered(&side_ctx);
	side_aligned = !((uintptr_t)__builtin_frame_address(0) % 16);
	CHECK(arg == &side_wrong);
	side_wrong = fill_switch_compare(&side_ctx, &main_ctx,
					 0x1111000000000000);
	ctx_leave(&side_ctx, &main_ctx);
}

ROOST_TEST(callee_saved_registers_survive_a_switch)
{
	side_wrong = 99;
	ctx_init_thread(&main_ctx);
	ctx_make(&side_ctx, side_stack, sizeof(side_stack), side_main,
		 &side_wrong);
	CHECK_EQ(fill_switch_compare(&main_ctx, &side_ctx, 0x2222000000000000),
		 0);
	CHECK_EQ(side_wrong, 99);
	ctx_switch(&main_ctx, &side_ctx);
	CHECK_EQ(side_wrong, 0);
	CHECK(side_aligned);
	ctx_destroy(&side_ctx);
}

static void ends_at_once(void *arg unused_arg)
{
}

/* Floating point modes (C47). */

static noinline double third(void)
{
	volatile double one = 1.0, three = 3.0;

	return one / three;
}

static void has_default_modes(void *arg)
{
	CHECK_EQ(fp_modes(), FP_MODES_DEFAULT);
	CHECK(third() == *(double *)arg);
	roost_yield();
	CHECK_EQ(fp_modes(), FP_MODES_DEFAULT);
	CHECK(third() == *(double *)arg);
}

static void has_own_modes(void *arg)
{
	double up, usual = *(double *)arg;
	roost_pid child;
	int i;

	fp_modes_set(FP_MODES_OTHER);
	up = third();
	CHECK(up != usual);
	for (i = 0; i < 100; i++) {
		child = spawn(has_default_modes, &usual);
		roost_yield();
		CHECK_EQ(fp_modes(), FP_MODES_OTHER);
		CHECK(third() == up);
		join(child);
		roost_sleep(ROOST_USEC(10));
		CHECK_EQ(fp_modes(), FP_MODES_OTHER);
	}
}

static void floating_point_modes(void *arg unused_arg)
{
	double usual = third();
	roost_pid a = spawn(has_own_modes, &usual);
	roost_pid b = spawn(has_default_modes, &usual);

	join(a);
	join(b);
	CHECK_EQ(fp_modes(), FP_MODES_DEFAULT);
}

#define NO_MODES	"valgrind does not have these floating point modes"

ROOST_TEST(c47_each_actor_has_its_own_floating_point_modes)
{
	if (valgrind_here())
		SKIP(NO_MODES);
	run_actors(1, floating_point_modes, NULL);
	run_actors(3, floating_point_modes, NULL);
}

/* The thread that calls roost_run() may have any modes. */
ROOST_TEST(c47_a_threads_own_modes_do_not_leak_in_or_out)
{
	double usual = third();

	if (valgrind_here())
		SKIP(NO_MODES);
	fp_modes_set(FP_MODES_OTHER);
	run_actors(1, has_default_modes, &usual);
	CHECK_EQ(fp_modes(), FP_MODES_OTHER);
	fp_modes_set(FP_MODES_DEFAULT);
}

/* errno belongs to the actor, whatever thread it runs on. */
static void keeps_errno(void *arg)
{
	int mine = (int)(intptr_t)arg, i;

	CHECK_EQ(errno_here(), 0);
	set_errno_here(mine);
	for (i = 0; i < 300; i++) {
		if (i % 3)
			roost_yield();
		else
			roost_sleep(ROOST_USEC(20));
		if (!CHECK_EQ(errno_here(), mine))
			break;
	}
}

ACTOR_TEST(errno_is_the_actors_own, usually(3))
{
	enum { N = 20 };
	roost_pid pid[N];
	intptr_t i;

	for (i = 0; i < N; i++)
		pid[i] = spawn(keeps_errno, (void *)(i + 1));
	for (i = 0; i < N; i++)
		join(pid[i]);
}

/* What library calls come to inside of them is told by what they return. */
static bool leaves_errno(const char *call)
{
	bool kept = errno_here() == 4711;

	CHECK_MSG(kept, "%s has left errno %d", call, errno_here());
	set_errno_here(4711);
	return kept;
}

#define LEAVES_ERRNO(call) do {						\
	(void)(call);							\
	leaves_errno(#call);						\
} while (0)

static void calls_for_life(void)
{
	struct roost_outcome outcome;
	struct roost_stats stats;
	roost_pid pid;

	LEAVES_ERRNO(roost_spawn(ends_at_once, NULL, &pid));
	LEAVES_ERRNO(roost_join_outcome(pid, ROOST_FOREVER, &outcome));
	LEAVES_ERRNO(roost_spawn(ends_at_once, NULL, &pid));
	LEAVES_ERRNO(roost_stop(pid));
	LEAVES_ERRNO(roost_join(pid, roost_after(0)));
	LEAVES_ERRNO(roost_detach(pid));
	LEAVES_ERRNO(roost_unpark(pid));
	LEAVES_ERRNO(roost_stats(&stats));
	LEAVES_ERRNO(roost_stack_used());
	LEAVES_ERRNO(roost_self());
	LEAVES_ERRNO(roost_check());
	LEAVES_ERRNO((roost_yield(), 0));
	LEAVES_ERRNO(roost_sleep(ROOST_USEC(10)));
	LEAVES_ERRNO(roost_park(roost_after(ROOST_USEC(10))));
}

/* Each comes to an error that errno would be set for. */
static void calls_for_files(int empty[2])
{
	char c = 0;
	int fd;

	LEAVES_ERRNO(fd = roost_socket(-1, SOCK_STREAM, 0));
	LEAVES_ERRNO(fd = roost_socket(AF_UNIX, SOCK_STREAM, 0));
	LEAVES_ERRNO(roost_accept(fd, NULL, NULL, ROOST_FOREVER));
	LEAVES_ERRNO(roost_recv(fd, &c, 1, 0, roost_after(ROOST_USEC(10))));
	LEAVES_ERRNO(roost_close(fd));
	LEAVES_ERRNO(roost_close(-1));
	LEAVES_ERRNO(roost_close(fd));
	LEAVES_ERRNO(roost_fd_wait(fd, POLLIN, roost_after(ROOST_USEC(10))));
	LEAVES_ERRNO(roost_read(-1, &c, 1, ROOST_FOREVER));
	LEAVES_ERRNO(roost_write(-1, &c, 1, ROOST_FOREVER));
	LEAVES_ERRNO(roost_read(empty[0], &c, 1, roost_after(ROOST_USEC(10))));
	LEAVES_ERRNO(roost_fd_adopt(empty[0]));
	LEAVES_ERRNO(roost_read(empty[0], &c, 1, roost_after(ROOST_USEC(10))));
	LEAVES_ERRNO(roost_write(empty[0], &c, 1, roost_after(ROOST_USEC(10))));
}

ACTOR_TEST(calls_leave_errno_as_it_is, usually(2))
{
	int empty[2], i;

	for (i = 0; i < 20; i++) {
		REQUIRE_EQ(pipe(empty), 0);
		set_errno_here(4711);
		calls_for_life();
		calls_for_files(empty);
		roost_close(empty[0]);
		close(empty[1]);
	}
}

/* Actors do move between threads; else the test above says little. */
static void notes_threads(void *arg)
{
	pid_t first = gettid_here();
	int i;

	for (i = 0; i < 20000; i++) {
		roost_yield();
		if (gettid_here() != first) {
			atomic_store((_Atomic bool *)arg, true);
			break;
		}
	}
}

/* S0-26 */
ACTOR_TEST(actors_move_between_threads, several(3))
{
	enum { N = 6 };
	_Atomic bool moved = false;
	roost_pid pid[N];
	int i;

	for (i = 0; i < N; i++)
		pid[i] = spawn(notes_threads, &moved);
	for (i = 0; i < N; i++)
		join(pid[i]);
	CHECK(atomic_load(&moved));
}

static noinline int depth_from(int levels)
{
	void *frames[64];
	volatile int n;

	if (levels)
		n = depth_from(levels - 1);
	else
		n = backtrace(frames, 64);
	return n;
}

ACTOR_TEST(a_backtrace_ends_at_the_actors_first_frame, usually(1))
{
	int a = depth_from(0), b = depth_from(10);

	CHECK(a > 0 && a < 15);
	CHECK_EQ(b - a, 10);
}
