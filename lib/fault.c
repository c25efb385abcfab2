// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * fault.c - an actor that overflows its stack, or makes another fault, ends alone.
 *
 * The handler runs on the carrier's alternate stack.  If it is the actor's own fault
 * it changes what was interrupted, so that the thread goes on in the scheduler, as if
 * the actor had switched to it with an intent; then it returns.  Nothing of the actor
 * is unwound.
 *
 * WHEN.  All of it must be so; else the signal has the effect that it has without this
 * library (fault_chain.c):
 *
 *  - it is an actor of this very process (not of a child) that is on the CPU, and the
 *    kernel has found the fault, nobody has sent the signal;
 *  - it is outside of the library, as the carrier's word says (carrier.h).  So it has
 *    no lock of the library, no wait is open, and nothing of the library points to its
 *    stack: an operation in the ring is over before its call returns.  What is left of
 *    the library's functions before and after the word changes touches nothing but the
 *    stack;
 *  - its stack pointer is on its stack, or in the guard page, or as little below as a
 *    compiler lets it go before it probes.  Not so in a handler that runs on the
 *    alternate stack, nor while the scheduler switches;
 *  - neither the instruction nor, if a function was called that is not there, its
 *    caller is the C library's (fault_where.c);
 *  - there is no signal handler's frame on its stack: who knows what that has
 *    interrupted.
 *
 * LOST ITS WORKER.  A carrier may have been displaced when the fault comes: it learns it
 * when it goes inside here, as at every entry.  Then another worker has to bury
 * the actor.  So it is queued as at any entry, with a new first frame at the top of its
 * stack that does nothing but end it.
 *
 * AFTERWARDS.  The handler's return restores the interrupted signal mask: here that of
 * the carrier, whatever the actor has blocked.  Floating point modes are those of a new
 * program.
 */
#define _GNU_SOURCE
#include "fault.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <roost/actor.h>

#include "arch/arch.h"
#include ARCH_HEADER(fault_frame.h)
#include "backend_kernel_io.h"
#include "compiler.h"
#include "errno_cell.h"
#include "fault_chain.h"
#include "fault_say.h"
#include "fault_unwind.h"
#include "fault_where.h"
#include "log.h"
#include "runtime.h"

/* The program's handlers run there as well. */
#define ALTERNATE_BYTES	((size_t)64 << 10)

/* Crashes that a runtime writes a line about; the others are only counted. */
#define SAID_CRASHES	10U

/* Sanitizers have handlers of their own, which tell more. */
extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));

static bool is_sanitized(void)
{
	return __asan_init || __tsan_init || __msan_init;
}

/* One that is handled; what is known of it. */
struct fault {
	struct carrier *c;
	struct slot *s;
	ucontext_t *uc;
	const siginfo_t *info;
	int reason;
};

static uintptr_t stack_top(const struct slot *s)
{
	return (uintptr_t)s->stack.low + stack_size(&s->stack);
}

static bool in_guard(const struct fault *f)
{
	uintptr_t low = (uintptr_t)f->s->stack.low;
	uintptr_t at = (uintptr_t)f->info->si_addr;

	return at < low && low - at <= f->c->rt->stacks.usual.page;
}

static int reason_of(const struct fault *f)
{
	switch (f->info->si_signo) {
	case SIGBUS:
		return ROOST_CRASH_BUS;
	case SIGFPE:
		return ROOST_CRASH_FPE;
	case SIGILL:
		return ROOST_CRASH_ILL;
	default:
		return in_guard(f) ? ROOST_CRASH_OVERFLOW : ROOST_CRASH_SEGV;
	}
}

static bool on_its_stack(const struct fault *f)
{
	uintptr_t low = (uintptr_t)f->s->stack.low - f->c->rt->stacks.usual.page;
	uintptr_t sp = frame_sp(f->uc);

	if (in_guard(f))
		low -= FRAME_PROBE;
	return sp >= low && sp < stack_top(f->s);
}

/* The words of its stack that are in use, lowest first. */
static const uintptr_t *lowest_word(const struct fault *f)
{
	uintptr_t low = (uintptr_t)f->s->stack.low;
	uintptr_t sp = frame_sp(f->uc);

	return (const uintptr_t *)(sp < low ? low : (sp + 7) & ~(uintptr_t)7);
}

static bool in_libc(const struct fault *f)
{
	uintptr_t pc = frame_pc(f->uc);

	if (fault_where_is_libc(pc))
		return true;
	/* A call of what is not there: who has called? */
	return pc == (uintptr_t)f->info->si_addr &&
	       fault_where_is_libc(frame_caller(f->uc,
						(uintptr_t)f->s->stack.low));
}

/*
 * Signal frames are looked for on the stack.  One that is over may still lie there, where
 * no function has written since; so if one is found, functions are followed from the
 * fault on.  Those that cannot be followed are taken to be called by a handler.
 */
static bool in_handler(const struct fault *f)
{
	struct fault_walk walk = {
		.low = (uintptr_t)f->s->stack.low -
		       f->c->rt->stacks.usual.page - FRAME_PROBE,
		.high = stack_top(f->s),
	};
	const uintptr_t *low = lowest_word(f), *p;
	const void *restorer = fault_chain_restorer();

	for (p = low; (uintptr_t)p < walk.high; p++) {
		if (!frame_is_at(p, restorer, (uintptr_t)low, walk.high))
			continue;
		if (!walk.upto)
			fault_unwind(&walk);
		if (walk.in_handler || (uintptr_t)p >= walk.upto)
			return true;
	}
	return false;
}

/* Return: why it does not end alone; NULL: it does. */
static const char *objection(const struct fault *f)
{
	const struct runtime *rt = f->c->rt;

	if (!fault_is_own(f->info))
		return "somebody has sent the signal";
	if (rt->config.faults == ROOST_FAULTS_FATAL)
		return "so configured";
	if (rt->config.faults == ROOST_FAULTS_OVERFLOW &&
	    f->reason != ROOST_CRASH_OVERFLOW)
		return "so configured";
	if (getpid() != rt->process)
		return "in a child process";
	if (carrier_is_inside(f->c))
		return "inside of this library";
	if (!on_its_stack(f))
		return "not on the actor's stack";
	if (!fault_where_known())
		return "the C library cannot be told from the program";
	if (in_libc(f))
		return "inside of the C library";
	if (in_handler(f))
		return "in a signal handler";
	return NULL;
}

/* What is left of a displaced one, on another worker. */
static void crash_main(void *arg)
{
	struct slot *s = arg;

	ctx_entered(&s->ctx);
	worker_crash_actor();
}

static void end_alone(const struct fault *f)
{
	struct carrier *c = f->c;
	struct slot *s = f->s;

	s->crash = (struct crash){
		.reason = f->reason,
		.code = f->info->si_code,
		.address = (uintptr_t)f->info->si_addr,
		.pc = frame_pc(f->uc),
	};
	if (carrier_go_inside(c)) {
		c->intent = INTENT_CRASHED;
		s->ctx.modes = CTX_MODES_DEFAULT;
	} else {
		c->intent = INTENT_CRASHED_DISPLACED;
		ctx_make(&s->ctx, s->stack.low, stack_size(&s->stack),
			 crash_main, s);
	}
	frame_jump(f->uc, &c->ctx.words);
	/* The kernel's is shorter. */
	memcpy(&f->uc->uc_sigmask, &c->fault.mask, 8);
}

static void say(const struct fault *f, const char *why)
{
	const struct slot *s = f->s;

	if (fault_is_own(f->info) && getpid() == f->c->rt->process &&
	    fault_chain_is_default(f->info->si_signo))
		fault_say(runtime_pid(f->c->rt, s, slot_word_generation(slot_load(s))),
			  f->reason, (uintptr_t)f->info->si_addr,
			  frame_pc(f->uc), why);
}

static void on_fault(int sig, siginfo_t *info, void *uc)
{
	struct fault f = { .c = carrier_self(), .uc = uc, .info = info };
	int saved = errno_get();
	const char *why = NULL;

	f.s = f.c->current;
	/* The handlers may be there for another runtime. */
	if (f.s && f.c->rt->config.faults != ROOST_FAULTS_IGNORE) {
		f.reason = reason_of(&f);
		why = objection(&f);
		if (!why) {
			end_alone(&f);
			return;
		}
		say(&f, why);
	}
	errno_set(saved);
	fault_chain_pass(sig, info, uc);
}

int fault_start(struct runtime *rt)
{
	rt->process = getpid();
	if (is_sanitized())
		rt->config.faults = ROOST_FAULTS_IGNORE;
	if (rt->config.faults == ROOST_FAULTS_IGNORE)
		return 0;
	fault_where_learn();
	return fault_chain_begin(on_fault);
}

void fault_end(struct runtime *rt)
{
	if (rt->config.faults != ROOST_FAULTS_IGNORE)
		fault_chain_end();
}

static void *map_alternate(size_t bytes, size_t guard)
{
	char *p = mmap(NULL, bytes + guard, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	mprotect(p, guard, PROT_NONE);
	return p + guard;
}

/*
 * Frames have become larger with registers; there is room for some of them.  And no
 * less than the program has given its own handlers.
 */
static size_t alternate_bytes(size_t page, const stack_t *before)
{
	long least = sysconf(_SC_SIGSTKSZ);
	size_t bytes = ALTERNATE_BYTES;

	if (least > 0 && (size_t)least > bytes)
		bytes = (size_t)least;
	if (!(before->ss_flags & SS_DISABLE) && before->ss_size > bytes)
		bytes = before->ss_size;
	return (bytes + page - 1) & ~(page - 1);
}

/* A thread may have been started by one that has them blocked, or wants them so. */
static void unblock(struct fault_thread *t)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	sigset_t before, faults;
	size_t i;

	sigemptyset(&faults);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&faults, signals[i]);
	pthread_sigmask(SIG_UNBLOCK, &faults, &before);
	pthread_sigmask(SIG_SETMASK, NULL, &t->mask);
	sigandset(&t->blocked, &before, &faults);
}

void fault_thread_begin(struct carrier *c)
{
	struct fault_thread *t = &c->fault;
	size_t page = c->rt->stacks.usual.page;
	stack_t alternate = { 0 };

	t->alternate = NULL;
	if (c->rt->config.faults == ROOST_FAULTS_IGNORE)
		return;
	unblock(t);
	sigaltstack(NULL, &t->before);
	t->bytes = alternate_bytes(page, &t->before);
	t->alternate = map_alternate(t->bytes, page);
	alternate.ss_sp = t->alternate;
	alternate.ss_size = t->bytes;
	if (t->alternate && !sigaltstack(&alternate, NULL))
		return;
	if (!atomic_exchange(&c->rt->signals_said, true))
		log_line("no stack for signals: an actor that overflows its own ends the process, on threads that have none");
	if (t->alternate)
		munmap((char *)t->alternate - page, t->bytes + page);
	t->alternate = NULL;
}

void fault_thread_end(struct carrier *c)
{
	struct fault_thread *t = &c->fault;
	size_t page = c->rt->stacks.usual.page;

	if (c->rt->config.faults == ROOST_FAULTS_IGNORE)
		return;
	pthread_sigmask(SIG_BLOCK, &t->blocked, NULL);
	if (!t->alternate)
		return;
	sigaltstack(&t->before, NULL);
	munmap((char *)t->alternate - page, t->bytes + page);
	t->alternate = NULL;
}

void fault_bury(struct runtime *rt, struct slot *s)
{
	const struct crash *crash = &s->crash;
	uint32_t said;

	if (kernel_io_pending(kernel_io_load(s)))
		log_fatal("an actor has crashed with I/O in flight");
	stat_count(rt, STAT(crashed), 1);
	said = atomic_fetch_add_explicit(&rt->crashes_said, 1,
					 memory_order_relaxed);
	if (said >= SAID_CRASHES)
		return;
	log_line("actor 0x%llx: %s at 0x%llx, instruction at 0x%llx; has ended alone%s",
		 (unsigned long long)runtime_pid(rt, s, slot_word_generation(slot_load(s))),
		 fault_name(crash->reason), (unsigned long long)crash->address,
		 (unsigned long long)crash->pc,
		 said + 1 == SAID_CRASHES ? "; no more of these lines" : "");
}
