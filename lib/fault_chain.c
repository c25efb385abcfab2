// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * fault_chain.c - the program's own handlers of faults, kept behind this library's.
 *
 * What is passed on is to find what it would have found without this library:
 *
 *  - its signal mask, and SA_NODEFER.  Nothing is put back afterwards: the kernel does
 *    it when the handler returns, and who leaves it by siglongjmp() does it itself.
 *    So there is nothing that could stay behind when a handler does not return.
 *  - SA_RESETHAND: called once, and the default effect from then on.
 *  - without SA_ONSTACK it runs on the stack that was interrupted, though ours runs on
 *    the alternate one: a frame as the kernel makes it is put there, and the thread
 *    goes on at the handler when ours has returned (arch/.../fault_frame.h).  Calling
 *    it from here on the other stack would not do, for another fault in it would begin
 *    at the top of the alternate stack and overwrite ours.  If there is no room for the
 *    frame the effect is that of the kernel then: SIGSEGV, and its default.
 *  - the default effect, and a signal that is ignored: the signal is sent again, with
 *    all that is known of it, and comes when this handler has returned.
 *
 * LOCKING: @lock for beginning and ending; handlers take none.  A record is never
 * changed after it was published, but for @spent, nor freed, since a handler may be
 * looking at it; it is used again when the same comes back.
 */
#define _GNU_SOURCE
#include "fault_chain.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include ARCH_HEADER(fault_frame.h)
#include "compiler.h"
#include "log.h"

static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };

/**
 * struct record - what the program had
 * @action:	constant
 * @older:	constant
 * @spent:	SA_RESETHAND, and it was called
 */
struct record {
	struct sigaction action;
	struct record *older;
	_Atomic bool spent;
};

/**
 * struct chain - of one signal
 * @before:	newest first; the first is what the signal is passed on to
 * @below:	the program has installed another one over ours, which may call ours
 */
struct chain {
	struct record *_Atomic before;
	bool below;
};

typedef void (*fault_handler)(int sig, siginfo_t *info, void *uc);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int users;
static struct chain chains[ARRAY_SIZE(signals)];
static fault_handler ours;
static void *_Atomic restorer;

static struct record *current_record(int sig)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		/* Pairs with publish(). */
		if (signals[i] == sig)
			return atomic_load_explicit(&chains[i].before,
						    memory_order_acquire);
	return NULL;
}

/* The kernel's signal masks are shorter than the C library's, which leaves the rest. */
#define MASK_BYTES	8

static bool same(const struct sigaction *a, const struct sigaction *b)
{
	return a->sa_sigaction == b->sa_sigaction &&
	       a->sa_flags == b->sa_flags &&
	       !memcmp(&a->sa_mask, &b->sa_mask, MASK_BYTES);
}

static bool is_ours(const struct sigaction *a)
{
	return a->sa_flags & SA_SIGINFO && a->sa_sigaction == ours;
}

static bool is_handler(const struct sigaction *a)
{
	return a->sa_flags & SA_SIGINFO ||
	       (a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN);
}

/* Lock held.  @before is what it is passed on to from now on. */
static int publish(struct chain *chain, const struct sigaction *before)
{
	struct record *newest = atomic_load_explicit(&chain->before,
						     memory_order_relaxed);
	struct record *r;

	if (newest && same(&newest->action, before) &&
	    !atomic_load_explicit(&newest->spent, memory_order_relaxed))
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->action = *before;
	r->older = newest;
	/* Release: what is in it. */
	atomic_store_explicit(&chain->before, r, memory_order_release);
	return 0;
}

void *fault_chain_restorer(void)
{
	return atomic_load_explicit(&restorer, memory_order_relaxed);
}

/* Lock held. */
static int install(int sig, struct chain *chain)
{
	struct sigaction sa = {
		.sa_sigaction = ours,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};
	struct sigaction before;
	int err;

	sigaction(sig, NULL, &before);
	if (is_ours(&before) || (chain->below && is_handler(&before)))
		return 0;
	chain->below = false;
	/* Before ours can be called. */
	err = publish(chain, &before);
	if (err)
		return err;
	sigemptyset(&sa.sa_mask);
	sigaction(sig, &sa, NULL);
	atomic_store_explicit(&restorer, frame_restorer(sig),
			      memory_order_relaxed);
	return 0;
}

/* Lock held. */
static void uninstall(int sig, struct chain *chain)
{
	struct record *r = atomic_load_explicit(&chain->before,
						memory_order_relaxed);
	struct sigaction now, def = { .sa_handler = SIG_DFL };

	sigaction(sig, NULL, &now);
	if (!is_ours(&now)) {
		chain->below = is_handler(&now);
		return;
	}
	if (r && !atomic_load_explicit(&r->spent, memory_order_relaxed))
		sigaction(sig, &r->action, NULL);
	else
		sigaction(sig, &def, NULL);
}

int fault_chain_begin(fault_handler handler)
{
	size_t i;
	int err = 0;

	pthread_mutex_lock(&lock);
	ours = handler;
	for (i = 0; !users && !err && i < ARRAY_SIZE(signals); i++)
		err = install(signals[i], &chains[i]);
	if (!err)
		users++;
	else
		while (--i)
			uninstall(signals[i - 1], &chains[i - 1]);
	pthread_mutex_unlock(&lock);
	return err;
}

void fault_chain_end(void)
{
	size_t i;

	pthread_mutex_lock(&lock);
	if (!--users)
		for (i = 0; i < ARRAY_SIZE(signals); i++)
			uninstall(signals[i], &chains[i]);
	pthread_mutex_unlock(&lock);
}

void fault_chain_lock(void)
{
	pthread_mutex_lock(&lock);
}

void fault_chain_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void fault_chain_forget(void)
{
	users = 0;
}

bool fault_chain_is_default(int sig)
{
	struct record *r = current_record(sig);

	return !r || !is_handler(&r->action) ||
	       atomic_load_explicit(&r->spent, memory_order_relaxed);
}

/* The rest is what comes after the handler has returned. */
static void send_again(int sig, const siginfo_t *info, ucontext_t *uc)
{
	struct sigaction def = { .sa_handler = SIG_DFL };

	sigaction(sig, &def, NULL);
	sigdelset(&uc->uc_sigmask, sig);
	syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), sig, info);
}

static void have_no_handler(int sig, const siginfo_t *info, ucontext_t *uc,
			    const struct record *r)
{
	bool ignored = r && !is_handler(&r->action) &&
		       r->action.sa_handler == SIG_IGN;

	/* The kernel ignores no faults. */
	if (!ignored || fault_is_own(info))
		send_again(sig, info, uc);
}

static bool on_alternate(const ucontext_t *uc, uintptr_t sp)
{
	uintptr_t low = (uintptr_t)uc->uc_stack.ss_sp;

	return !(uc->uc_stack.ss_flags & SS_DISABLE) && sp >= low &&
	       sp - low < uc->uc_stack.ss_size;
}

/* Has this handler left the stack that was interrupted, where that one would not? */
static bool is_elsewhere(const struct sigaction *a, const ucontext_t *uc)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	return !(a->sa_flags & SA_ONSTACK) && on_alternate(uc, here) &&
	       !on_alternate(uc, frame_sp(uc));
}

/* The kernel says so without a fault: it is asked to write a signal mask there. */
static bool is_writable(uintptr_t from, uintptr_t to)
{
	const uintptr_t page = 4096;
	uintptr_t p;

	for (p = from & ~(page - 1); p < to; p += page)
		if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL,
			    p < from ? (from + 7) & ~(uintptr_t)7 : p,
			    MASK_BYTES))
			return false;
	return true;
}

/* What is blocked while that handler runs. */
static void mask_for(const struct sigaction *a, int sig, const ucontext_t *uc,
		     sigset_t *mask)
{
	sigemptyset(mask);
	memcpy(mask, &uc->uc_sigmask, MASK_BYTES);
	sigorset(mask, mask, &a->sa_mask);
	if (!(a->sa_flags & SA_NODEFER))
		sigaddset(mask, sig);
}

static void interrupt(const struct sigaction *a, int sig, siginfo_t *info,
		      ucontext_t *uc)
{
	struct frame_places at = frame_places(uc);
	sigset_t mask;

	if (!is_writable(at.frame, at.end)) {
		if (sig != SIGSEGV)
			*info = (siginfo_t){ .si_signo = SIGSEGV,
					     .si_code = SI_KERNEL };
		send_again(SIGSEGV, info, uc);
		return;
	}
	mask_for(a, sig, uc, &mask);
	frame_interrupt(uc, &at, sig, info, (const void *)a->sa_sigaction,
			fault_chain_restorer());
	memcpy(&uc->uc_sigmask, &mask, MASK_BYTES);
}

static void call(const struct sigaction *a, int sig, siginfo_t *info,
		 ucontext_t *uc)
{
	sigset_t mask;

	mask_for(a, sig, uc, &mask);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (a->sa_flags & SA_SIGINFO)
		a->sa_sigaction(sig, info, uc);
	else
		a->sa_handler(sig);
}

void fault_chain_pass(int sig, siginfo_t *info, ucontext_t *uc)
{
	struct record *r = current_record(sig);

	if (!r || !is_handler(&r->action) ||
	    (r->action.sa_flags & SA_RESETHAND &&
	     atomic_exchange_explicit(&r->spent, true, memory_order_relaxed)))
		have_no_handler(sig, info, uc, r);
	else if (is_elsewhere(&r->action, uc))
		interrupt(&r->action, sig, info, uc);
	else
		call(&r->action, sig, info, uc);
}
