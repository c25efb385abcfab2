/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * fault.h - an actor that overflows its stack, or makes another fault, ends alone.
 * How and when is told in fault.c.
 */
#ifndef ROOST_LIB_FAULT_H
#define ROOST_LIB_FAULT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct carrier;
struct runtime;
struct slot;

/**
 * struct crash - how an actor has ended, if by a fault
 * @reason:	enum roost_crash; ROOST_CRASH_NONE while it has made none
 * @code:	si_code
 * @address:	si_addr
 * @pc:		the instruction
 */
struct crash {
	int reason;
	int code;
	uintptr_t address;
	uintptr_t pc;
};

/**
 * struct fault_thread - what a carrier needs for it
 * @alternate:	where handlers run, NULL: on the stack that was interrupted
 * @bytes:	how large
 * @before:	what the thread had
 * @mask:	signals that it blocks while no actor has changed that
 * @blocked:	those of faults that it had blocked, and does not meanwhile: the
 *		kernel ends the process at a fault whose signal is blocked
 */
struct fault_thread {
	void *alternate;
	size_t bytes;
	stack_t before;
	sigset_t mask;
	sigset_t blocked;
};

/* fault_start() - as a phase of roost_run().  Return: 0 or -errno */
int fault_start(struct runtime *rt);
void fault_end(struct runtime *rt);

/* fault_thread_begin() - the calling thread is @c, and is to run actors */
void fault_thread_begin(struct carrier *c);
void fault_thread_end(struct carrier *c);

/* fault_bury() - scheduler context: @s has crashed, and is about to be buried */
void fault_bury(struct runtime *rt, struct slot *s);

#endif /* ROOST_LIB_FAULT_H */
