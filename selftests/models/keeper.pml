/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * keeper.pml - the timekeeper (lib/backend_futex.c).
 *
 * Two workers run three actors: two that sleep, the second one not as long as the first,
 * and one that computes until both have been woken. Of the workers that sleep one at
 * most has a deadline; it has to be the earliest, whoever arms what meanwhile, and
 * whoever gets the actor that computes.
 *
 * Time is a number that goes up. Memory: a store reaches the others later, a full
 * barrier waits for it; the idle mask is changed by atomic steps (see idle.pml).
 *
 * Left out: several wheels and their locks, slack, parking itself (park.pml).
 *
 * Faults: NO_BARRIER_TELL, NO_BARRIER_PREPARE, NO_BARRIER_FREE, NO_SECOND_LOOK, NOT_TOLD
 * (of what is armed earlier), NOBODY_APPOINTED, ROLE_KEPT (by who runs an actor)
 */
#define NEVER		9
#define COMPUTES	2
#define JOBS		3
#define CONFIRMED	4
#define OTHER(me)	(1 - me)

byte now;
byte due[2];			/* deadlines, 0 for none, as all see them */
byte fired, ended;
bool have[JOBS];		/* actors in the queue */

bool idle[2], permit[2];
byte keeper;			/* index + 1, 0 for none; CONFIRMED: by itself */
byte keeper_until;		/* the same; 0 when it does not sleep */

/* Stores under way. */
byte arming[2];
byte preparing;
bool freeing;

#define over()	(fired == 2 && ended == JOBS)

active proctype memory()
{
end:
	do
	:: atomic { arming[0] != 0 -> due[0] = arming[0]; arming[0] = 0 }
	:: atomic { arming[1] != 0 -> due[1] = arming[1]; arming[1] = 0 }
	:: atomic { preparing != 0 -> keeper_until = preparing; preparing = 0 }
	:: atomic { freeing -> keeper = 0; freeing = false }
	od
}

active proctype clock()
{
end:
	do
	:: now < 2 -> now++
	od
}

inline look_at_wheels(next)
{
	d_step {
		next = NEVER;
		if
		:: due[0] != 0 -> next = due[0]
		:: else
		fi;
		if
		:: due[1] != 0 && due[1] < next -> next = due[1]
		:: else
		fi
	}
}

inline expire(i)
{
	d_step {
		if
		:: due[i] != 0 && due[i] <= now -> due[i] = 0; fired++
		:: else
		fi
	}
}

/* Whoever finds the bit set owes the wake. */
inline wake(i)
{
	d_step {
		if
		:: idle[i] -> idle[i] = false; permit[i] = true
		:: else
		fi
	}
}

inline wake_one()
{
	if
	:: atomic { idle[0] -> idle[0] = false; permit[0] = true }
	:: atomic { idle[1] -> idle[1] = false; permit[1] = true }
	:: atomic { !idle[0] && !idle[1] -> skip }
	fi
}

active proctype outside()
{
	byte i;

	for (i : 0 .. 2) {
		have[i] = true;
		wake_one()
	}
}

/* tell_keeper() */
inline tell(deadline)
{
#ifndef NO_BARRIER_TELL
	arming[0] == 0 && arming[1] == 0;
#endif
#ifndef NOT_TOLD
	if
	:: deadline < keeper_until ->
		k = keeper;
		if
		:: k != 0 -> wake((k & ~CONFIRMED) - 1)
		:: else
		fi
	:: else
	fi
#endif
}

/*
 * futex_busy() and keeper_appoint(), before an actor is run. Only of who is in the mask
 * after it was given the role is it sure that it will look at the role before it runs
 * anything.
 */
inline busy(me)
{
	k = keeper;
	if
#ifndef ROLE_KEPT
	:: (k & ~CONFIRMED) == me + 1 ->
		atomic {
			if
			:: keeper == k -> freeing = true
			:: else
			fi
		};
#ifndef NO_BARRIER_FREE
		!freeing;
#endif
		k = 0
#endif
	:: else
	fi;
#ifndef NOBODY_APPOINTED
	if
	:: k == 0 ->
		look_at_wheels(next);
		if
		:: next != NEVER -> appoint(me)
		:: else
		fi
	:: else
	fi
#endif
}

inline appoint(me)
{
	do
	:: !idle[OTHER(me)] -> break
	:: idle[OTHER(me)] ->
#ifdef ROLE_AFTER_CLAIM
		/* the claim first */
		if
		:: atomic { idle[OTHER(me)] -> idle[OTHER(me)] = false }
		:: !idle[OTHER(me)] -> break
		fi;
		atomic {
			if
			:: keeper == 0 -> keeper = OTHER(me) + 1
			:: else
			fi
		};
		permit[OTHER(me)] = true;
		break
#else
		atomic {
			if
			:: keeper == 0 -> keeper = OTHER(me) + 1
			:: else -> break
			fi
		};
		if
		:: atomic { idle[OTHER(me)] -> idle[OTHER(me)] = false; permit[OTHER(me)] = true };
			break
		:: !idle[OTHER(me)] ->
#ifndef NOT_TAKEN_BACK
			/* It is up, and perhaps at an actor already. */
			atomic {
				if
				:: keeper == OTHER(me) + 1 -> keeper = 0
				:: else -> break
				fi
			}
#else
			break
#endif
		fi
#endif
	od
}

/* futex_park() */
inline park(me)
{
	d_step {
		if
		:: keeper == 0 || keeper == me + 1 -> keeper = (me + 1) | CONFIRMED
		:: else
		fi;
		mine = keeper == ((me + 1) | CONFIRMED)
	};
	if
	:: mine ->
		look_at_wheels(until);
		do
		:: preparing = until;
#ifndef NO_BARRIER_PREPARE
			preparing == 0;
#endif
#ifndef NO_SECOND_LOOK
			look_at_wheels(next);
			if
			:: next >= until -> break
			:: else -> until = next
			fi
#else
			break
#endif
		od
	:: else -> until = NEVER
	fi;
	if
	:: permit[me]
	:: now >= until
	fi;
	if
	:: mine -> preparing == 0; keeper_until = 0
	:: else
	fi;
	d_step {
		idle[me] = false;
		permit[me] = false
	}
}

proctype worker(byte me)
{
	byte job, k, next, until;
	bool mine;

	do
	:: over() -> break
	:: else ->
		expire(0);
		expire(1);
		d_step {
			job = JOBS;
			if
			:: have[0] -> job = 0
			:: !have[0] && have[1] -> job = 1
			:: !have[0] && !have[1] && have[COMPUTES] -> job = COMPUTES
			:: else
			fi;
			if
			:: job < JOBS -> have[job] = false
			:: else
			fi
		};
		if
		:: job < JOBS ->
			busy(me);
			if
			:: job == COMPUTES -> fired == 2
			:: job == 0 -> arming[0] = 2; tell(2)
			:: job == 1 -> arming[1] = 1; tell(1)
			fi;
			ended++;
			if
			:: over() -> wake(1 - me)
			:: else
			fi
		:: else ->
			idle[me] = true;
			/* The last look. */
			look_at_wheels(next);
			if
			:: have[0] || have[1] || have[COMPUTES] || over() || next <= now ->
				d_step { idle[me] = false; permit[me] = false }
			:: else -> park(me)
			fi
		fi
	od
}

init {
	atomic {
		run worker(0);
		run worker(1)
	}
}
