/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * park.pml - sleeping on a futex, and waking (lib/backend_futex.c).
 *
 * A worker whose bit is in the idle mask says that it parks, looks whether the bit is
 * still there, and sleeps. Wakers take the bit, and wake who had said so. Each wake is
 * waited for by nobody else: if one is lost the worker sleeps for ever.
 *
 * Memory: a store reaches the others later, a full barrier waits for it.
 *
 * Faults: NO_BARRIER (of who parks), NO_SECOND_LOOK, WAKE_WITHOUT_EXCHANGE (who wakes
 * leaves the word), NO_COMPARE (the kernel does not look at the word once more)
 */
#define ROUNDS	3

bool idle;
bool parked;			/* the word, as all see it */
bool parking;			/* the store under way */
bool asleep;			/* in the kernel's queue */
byte wakes;			/* that were owed and given */

active proctype memory()
{
end:
	do
	:: atomic { parking -> parked = true; parking = false }
	od
}

active proctype worker()
{
	byte n;

	do
	:: n < ROUNDS ->
		n++;
		idle = true;
		parking = true;
#ifndef NO_BARRIER
		!parking;
#endif
#ifndef NO_SECOND_LOOK
		if
		:: !idle -> goto up
		:: else
		fi;
#endif
		/* FUTEX_WAIT compares and queues in one step. */
		do
#ifndef NO_COMPARE
		:: atomic { parked || parking -> asleep = true }
#else
		:: asleep = true
#endif
			!asleep
		:: !parked && !parking -> break
		od;
up:
		!parking;
		parked = false;
		/* Each round is ended by a wake of its own, or by who has the bit. */
		!idle
	:: else -> break
	od
}

active proctype waker()
{
	bool was;

end:
	do
	:: atomic { idle -> idle = false };
		wakes++;
		d_step {
			was = parked;
#ifndef WAKE_WITHOUT_EXCHANGE
			parked = false
#endif
		}
		if
		:: was -> asleep = false
		:: else
		fi
	od
}
