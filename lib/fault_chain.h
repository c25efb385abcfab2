/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * fault_chain.h - this library's handlers of SIGSEGV, SIGBUS, SIGFPE and SIGILL, and
 * what the program had installed before.
 */
#ifndef ROOST_LIB_FAULT_CHAIN_H
#define ROOST_LIB_FAULT_CHAIN_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

/**
 * fault_chain_begin() - install the handlers, with the first runtime that wants it
 * @handler:	always the same; runs on the alternate stack, if the thread has one
 *
 * Return: 0 or -errno.
 */
int fault_chain_begin(void (*handler)(int sig, siginfo_t *info, void *uc));

/* fault_chain_end() - with the last one, install again what was there before */
void fault_chain_end(void);

/* While the process forks. */
void fault_chain_lock(void);
void fault_chain_unlock(void);

/*
 * fault_chain_forget() - lock held, in the child: no runtime wants them any more
 *
 * They stay, and pass everything on, until the first run of the child is over.
 */
void fault_chain_forget(void);

/*
 * fault_is_own() - has an instruction done it, rather than somebody sent the signal?
 *
 * Nor is it memory that was found to be bad while nobody has touched it.
 */
static inline bool fault_is_own(const siginfo_t *info)
{
	return info->si_code > 0 && (info->si_signo != SIGBUS ||
				     info->si_code != BUS_MCEERR_AO);
}

/* fault_chain_is_default() - has the program no handler of its own? */
bool fault_chain_is_default(int sig);

/**
 * fault_chain_pass() - let the signal have the effect that it had without us
 * @sig:	the signal
 * @info:	as the handler has got it
 * @uc:		the same
 *
 * Called last by the handler.  It may not return, if the program's does not.
 */
void fault_chain_pass(int sig, siginfo_t *info, ucontext_t *uc);

/* fault_chain_restorer() - where signal handlers return to, all of them */
void *fault_chain_restorer(void);

#endif /* ROOST_LIB_FAULT_CHAIN_H */
