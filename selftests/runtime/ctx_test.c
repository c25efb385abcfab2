// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * ctx_test.c - what a switch keeps: registers, floating point modes, errno; and
 * that a stack has an end for who walks it.
 */
#include <execinfo.h>
#include <sys/syscall.h>

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


/*
 * unsigned int fill_switch_compare(struct ctx *from, struct ctx *to, u64 mark):
 * fills the callee-saved registers with values made from @mark, switches, and
 * returns how many are different afterwards.
 */
unsigned int fill_switch_compare(struct ctx *from, struct ctx *to,
				 uint64_t mark);

__asm__(".text\n"
	".type fill_switch_compare, @function\n"
	"fill_switch_compare:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	pushq %rdx\n"
	"	leaq 1(%rdx), %rbx\n"
	"	leaq 2(%rdx), %r12\n"
	"	leaq 3(%rdx), %r13\n"
	"	leaq 4(%rdx), %r14\n"
	"	leaq 5(%rdx), %r15\n"
	"	leaq 6(%rdx), %rbp\n"
	"	call ctx_switch\n"
	"	popq %rdx\n"
	"	xorl %eax, %eax\n"
	"	subq %rdx, %rbx\n	cmpq $1, %rbx\n	setne %cl\n"
	"	movzbl %cl, %ecx\n	addl %ecx, %eax\n"
	"	subq %rdx, %r12\n	cmpq $2, %r12\n	setne %cl\n"
	"	movzbl %cl, %ecx\n	addl %ecx, %eax\n"
	"	subq %rdx, %r13\n	cmpq $3, %r13\n	setne %cl\n"
	"	movzbl %cl, %ecx\n	addl %ecx, %eax\n"
	"	subq %rdx, %r14\n	cmpq $4, %r14\n	setne %cl\n"
	"	movzbl %cl, %ecx\n	addl %ecx, %eax\n"
	"	subq %rdx, %r15\n	cmpq $5, %r15\n	setne %cl\n"
	"	movzbl %cl, %ecx\n	addl %ecx, %eax\n"
	"	subq %rdx, %rbp\n	cmpq $6, %rbp\n	setne %cl\n"
	"	movzbl %cl, %ecx\n	addl %ecx, %eax\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size fill_switch_compare, . - fill_switch_compare\n");

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

/* Floating point modes: x87 and SSE (C47). */

#define FLUSH_TO_ZERO	0x8000U
#define ROUND_DOWN	0x2000U
#define MXCSR_DEFAULT	0x1f80U
#define X87_DEFAULT	0x037fU

static unsigned int mxcsr(void)
{
	return __builtin_ia32_stmxcsr() & 0xffc0U;
}

static unsigned int x87(void)
{
	uint16_t word;

	__asm__ volatile("fnstcw %0" : "=m"(word));
	return word;
}

static void set_x87(unsigned int value)
{
	uint16_t word = (uint16_t)value;

	__asm__ volatile("fldcw %0" : : "m"(word));
}

static noinline double third(void)
{
	volatile double one = 1.0, three = 3.0;

	return one / three;
}

static void has_default_modes(void *arg)
{
	CHECK_EQ(mxcsr(), MXCSR_DEFAULT);
	CHECK_EQ(x87(), X87_DEFAULT);
	CHECK(third() == *(double *)arg);
	roost_yield();
	CHECK_EQ(mxcsr(), MXCSR_DEFAULT);
	CHECK_EQ(x87(), X87_DEFAULT);
	CHECK(third() == *(double *)arg);
}

static void has_own_modes(void *arg)
{
	double down, usual = *(double *)arg;
	roost_pid child;
	int i;

	__builtin_ia32_ldmxcsr(MXCSR_DEFAULT | FLUSH_TO_ZERO | ROUND_DOWN);
	set_x87(X87_DEFAULT & ~0x0300U);
	down = third();
	for (i = 0; i < 100; i++) {
		child = spawn(has_default_modes, &usual);
		roost_yield();
		CHECK_EQ(mxcsr(), MXCSR_DEFAULT | FLUSH_TO_ZERO | ROUND_DOWN);
		CHECK_EQ(x87(), X87_DEFAULT & ~0x0300U);
		CHECK(third() == down);
		join(child);
		roost_sleep(ROOST_USEC(10));
		CHECK_EQ(mxcsr(), MXCSR_DEFAULT | FLUSH_TO_ZERO | ROUND_DOWN);
		CHECK_EQ(x87(), X87_DEFAULT & ~0x0300U);
	}
}

static void floating_point_modes(void *arg unused_arg)
{
	double usual = third();
	roost_pid a = spawn(has_own_modes, &usual);
	roost_pid b = spawn(has_default_modes, &usual);

	join(a);
	join(b);
	CHECK_EQ(mxcsr(), MXCSR_DEFAULT);
	CHECK_EQ(x87(), X87_DEFAULT);
}

ROOST_TEST(c47_each_actor_has_its_own_floating_point_modes)
{
	run_actors(1, floating_point_modes, NULL);
	run_actors(3, floating_point_modes, NULL);
}

/* The thread that calls roost_run() may have any modes. */
ROOST_TEST(c47_a_threads_own_modes_do_not_leak_in_or_out)
{
	double usual = third();

	__builtin_ia32_ldmxcsr(MXCSR_DEFAULT | FLUSH_TO_ZERO | ROUND_DOWN);
	run_actors(1, has_default_modes, &usual);
	CHECK_EQ(mxcsr(), MXCSR_DEFAULT | FLUSH_TO_ZERO | ROUND_DOWN);
	__builtin_ia32_ldmxcsr(MXCSR_DEFAULT);
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

ACTOR_TEST(errno_is_the_actors_own, 3)
{
	enum { N = 20 };
	roost_pid pid[N];
	intptr_t i;

	for (i = 0; i < N; i++)
		pid[i] = spawn(keeps_errno, (void *)(i + 1));
	for (i = 0; i < N; i++)
		join(pid[i]);
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

ACTOR_TEST(actors_move_between_threads, 3)
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

ACTOR_TEST(a_backtrace_ends_at_the_actors_first_frame, 1)
{
	int a = depth_from(0), b = depth_from(10);

	CHECK(a > 0 && a < 15);
	CHECK_EQ(b - a, 10);
}
