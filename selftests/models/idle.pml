/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * idle.pml - the idle mask, the chain, and the end of a run (lib/idle.c, lib/worker.c).
 *
 * Workers take actors from one queue and sleep when there is none. Somebody who is no
 * worker queues two of them and wakes one worker, as the handling of several events
 * does; the first actor computes until the second has run, so that a worker that takes
 * one has to see to the other. When the last has ended everybody is to end.
 *
 * Memory: what a CPU stores reaches the others later. Each process has one store of its
 * own under way at a time; a full barrier waits for it.
 *
 * Left out: the wake slot, stealing, the reluctant worker, parking itself (a wake that
 * comes before the sleep is a permit; see park.pml).
 *
 * Faults: NO_BARRIER_A, NO_BARRIER_B, NO_SECOND_LOOK, NO_CHAIN, NO_LAST_WAKE
 */
#define WORKERS	2
#define ACTORS	2

byte queued;			/* actors in the queue, as all see them */
byte live = ACTORS;		/* that have not ended */
bool second_ran;
bool idle[WORKERS];		/* the mask, as all see it */
bool permit[WORKERS];		/* of each worker: it was woken */

/* Stores under way. */
byte pushing;
bool idling[WORKERS];

#define pushed()	(pushing == 0)
#define is_idle(w)	(!idling[w])

/* One atomic fetch-and for each: who finds the bit set owes the wake. */
inline wake_one()
{
	if
	:: atomic { idle[1] -> idle[1] = false; permit[1] = true }
	:: atomic { !idle[1] && idle[0] -> idle[0] = false; permit[0] = true }
	:: atomic { !idle[1] && !idle[0] -> skip }
	fi
}

inline wake_all()
{
	d_step {
		if
		:: idle[0] -> idle[0] = false; permit[0] = true
		:: else
		fi;
		if
		:: idle[1] -> idle[1] = false; permit[1] = true
		:: else
		fi
	}
}

/* What is under way arrives, some time. */
active proctype memory()
{
end:
	do
	:: atomic { pushing > 0 -> queued = queued + pushing; pushing = 0 }
	:: atomic { idling[0] -> idle[0] = true; idling[0] = false }
	:: atomic { idling[1] -> idle[1] = true; idling[1] = false }
	od
}

active proctype outside()
{
	pushing = ACTORS;
#ifndef NO_BARRIER_B
	pushed();
#endif
	wake_one()
}

proctype worker(byte me)
{
	bool first;

	do
	:: atomic { queued > 0 ->
		first = queued == ACTORS;
		queued-- }
		/* The chain rule. */
#ifndef NO_CHAIN
		if
		:: queued > 0 -> wake_one()
		:: else
		fi;
#endif
		/* The actor runs. */
		if
		:: first -> second_ran
		:: else -> second_ran = true
		fi;
		d_step {
			assert(live > 0);
			live--
		}
#ifndef NO_LAST_WAKE
		if
		:: live == 0 -> wake_all()
		:: else
		fi
#endif
	:: queued == 0 ->
		if
		:: live == 0 -> break
		:: else
		fi;
		idling[me] = true;
#ifndef NO_BARRIER_A
		is_idle(me);
#endif
#ifndef NO_SECOND_LOOK
		if
		:: queued > 0 || live == 0 ->
			/* idle_clear(): a barrier too */
			is_idle(me);
			idle[me] = false
		:: else -> permit[me]; permit[me] = false
		fi
#else
		permit[me];
		permit[me] = false
#endif
	od;
	assert(queued == 0)
}

init {
	atomic {
		run worker(0);
		run worker(1)
	}
}
