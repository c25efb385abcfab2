/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * word.pml - the state word of an actor and the epochs of its waits (lib/slot.c,
 * lib/wait.c).
 *
 * An actor waits several times. Each wait opens an epoch and hands it to a waker; some
 * are retired before the actor sleeps, so that their wakers come late, or never find it.
 * Somebody else may stop the actor at any time. Each step on the word is one
 * compare-and-swap.
 *
 * Left out: generations (a slot's next tenant), wakes of several for one wait.
 *
 * Faults: NO_EPOCH (a wake ends any wait), PARK_FORGETS (who parks does not see that it
 * was notified), RETIRE_KEEPS (a retired wait leaves its notification), WAKE_QUEUES
 * (who is queued is queued again)
 */
#define WAITS	3
#define NOBODY	0

mtype = { Running, Notified, Parked, Queued };

mtype state = Running;
byte epoch;
byte in_queue;			/* how often the actor is queued */
byte woken_for;			/* the wake that ended the last wait, by its epoch */
bool stopping;
bool over;

chan wakes = [WAITS] of { byte };

inline queue()
{
	in_queue++;
	assert(in_queue == 1)
}

/* A wake for the wait @e; 0 for the one that is unconditional. */
inline wake(e)
{
	atomic {
		if
#ifndef NO_EPOCH
		:: e != NOBODY && e != epoch -> skip
		:: else ->
#else
		:: true ->
#endif
			if
			:: state == Running -> state = Notified; woken_for = e
			:: state == Parked -> state = Queued; woken_for = e; queue()
#ifdef WAKE_QUEUES
			:: state == Queued -> queue()
#else
			:: state == Queued -> skip
#endif
			:: state == Notified -> skip
			fi
		fi
	}
}

active proctype waker()
{
	byte e;

end:
	do
	:: wakes ? e -> wake(e)
	od
}

active proctype stopper()
{
	if
	:: stopping = true; wake(NOBODY)
	:: skip
	fi
}

/* A worker: who is queued is run. */
active proctype worker()
{
end:
	do
	:: atomic { in_queue > 0 -> in_queue--; assert(state == Queued); state = Running }
	od
}

active proctype actor()
{
	byte n;

	do
	:: n < WAITS && !stopping ->
		n++;
		/* begin_wait(): what was meant for an older wait is nobody's. */
		d_step { epoch++; woken_for = NOBODY };
		wakes ! epoch;
		if
		:: /* sleep */
			if
			:: stopping -> goto ended
			:: else
			fi;
			atomic {
				if
				:: state == Running -> state = Parked
#ifdef PARK_FORGETS
				:: state == Notified -> state = Parked
#else
				:: state == Notified -> state = Running
#endif
				fi
			};
			state == Running || state == Notified;
			/* Nobody but its own waker, or who stops, has ended the wait. */
			assert(woken_for == epoch || stopping)
		:: /* retire it: it was over before */
			d_step {
				epoch++;
#ifndef RETIRE_KEEPS
				if
				:: state == Notified -> state = Running
				:: else
				fi
#endif
			}
		fi
	:: else -> break
	od;
ended:
	over = true
}
