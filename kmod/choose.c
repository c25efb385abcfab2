// SPDX-License-Identifier: GPL-2.0
/*
 * Which of the parked workers is woken, if not the one at home.
 *
 * What the waker has just written is in the caches of its CPU, and a worker finds the
 * rest of what it needs in those of the CPU that it has slept on.  So one is taken
 * that went to sleep in the waker's package; in the absence of such a one any, and
 * among those that are alike the one with the highest index, so that few workers stay
 * warm and the others sleep long.
 *
 * The package stands for the last level of cache: which CPUs share that the kernel
 * does not tell modules.  Where the two differ, a package has several such caches.
 *
 * All of it is advice: who is chosen may be awake by then, have been moved, or have
 * slept on a CPU that is offline now, which is in no mask.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/smp.h>
#include <linux/topology.h>

#include "choose.h"
#include "domain.h"
#include "worker.h"

/**
 * roost_choose_near() - a parked worker, if possible of given CPUs
 * @domain:	the domain
 * @near:	CPUs
 *
 * Context: any.  Return: the one with the highest index of those that went to sleep
 * on a CPU of @near, else of all; NULL if none is parked.
 */
struct roost_worker *roost_choose_near(struct roost_domain *domain,
				       const struct cpumask *near)
{
	struct roost_worker *worker, *last = NULL;
	unsigned long end = ROOST_MAX_WORKERS, bit;

	for (;;) {
		bit = find_last_bit(domain->parked, end);
		if (bit >= end)
			return last;
		worker = roost_domain_worker(domain, bit);
		if (!last)
			last = worker;
		if (worker && cpumask_test_cpu(READ_ONCE(worker->cpu), near))
			return worker;
		end = bit;
	}
}

/**
 * roost_choose_parked() - the parked worker that is best woken from here
 * @domain:	the domain
 *
 * Context: any.  Return: a worker; NULL if none is parked.
 */
struct roost_worker *roost_choose_parked(struct roost_domain *domain)
{
	const struct cpumask *near =
		topology_core_cpumask(raw_smp_processor_id());
	unsigned long bit;

	/* Mostly a machine has one package. */
	if (!cpumask_subset(cpu_online_mask, near))
		return roost_choose_near(domain, near);
	bit = find_last_bit(domain->parked, ROOST_MAX_WORKERS);
	return bit < ROOST_MAX_WORKERS ? roost_domain_worker(domain, bit) : NULL;
}
