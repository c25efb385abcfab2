/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* timer_want.h - the actor's side of timer.h. */
#ifndef ROOST_LIB_TIMER_WANT_H
#define ROOST_LIB_TIMER_WANT_H

#include <stdint.h>

struct slot;
struct worker;

/** timer_want() - the running actor's open wait shall end at @deadline */
void timer_want(struct worker *w, struct slot *s, uint64_t deadline);

/** timer_unwant() - that wait is over; what is armed may stay */
void timer_unwant(struct slot *s);

#endif /* ROOST_LIB_TIMER_WANT_H */
