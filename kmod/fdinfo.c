// SPDX-License-Identifier: GPL-2.0
/*
 * What /proc/PID/fdinfo says of our descriptors; Documentation/tracing.rst has
 * each line.  /proc lets in who may trace the process.
 */
#include <linux/fs.h>
#include <linux/seq_file.h>

#include "domain.h"
#include "fdinfo.h"
#include "ring_index.h"
#include "worker.h"

/**
 * roost_fdinfo_domain() - show_fdinfo of a domain's file
 * @m:		where to
 * @file:	the file
 */
void roost_fdinfo_domain(struct seq_file *m, struct file *file)
{
	struct roost_domain *domain = file->private_data;
	struct roost_domain_stat stat = { 0 };

	roost_domain_stat(domain, &stat);
	seq_printf(m, "roost-domain:\t%u\n", domain->id);
	seq_printf(m, "roost-dead:\t%u\n", READ_ONCE(domain->dead));
	seq_printf(m, "roost-workers:\t%u\n", stat.workers);
	seq_printf(m, "roost-parked:\t%*pb\n", ROOST_MAX_WORKERS,
		   domain->parked);
	seq_printf(m, "roost-timers:\t%u/%u\n", stat.timers_pending,
		   domain->timers.nr);
	seq_printf(m, "roost-polls:\t%u/%u\n", stat.polls_armed,
		   domain->polls.nr);
	seq_printf(m, "roost-ios:\t%u/%u\n", stat.ios_pending,
		   domain->ios.nr);
	seq_printf(m, "roost-files:\t%u/%u\n", stat.files,
		   domain->files_table.nr);
	seq_printf(m, "roost-overflow:\t%u\n", stat.overflow_pending);
	seq_printf(m, "roost-standbys:\t%u\n", READ_ONCE(domain->nr_standbys));
}

static u32 sq_used(const struct roost_worker *worker)
{
	return roost_ring_ready(READ_ONCE(worker->sq_head),
				READ_ONCE(worker->page->sq_tail),
				worker->sq_entries);
}

static u32 cq_used(const struct roost_worker *worker)
{
	return roost_ring_used(READ_ONCE(worker->page->cq_head),
			       READ_ONCE(worker->cq_tail), worker->cq_entries);
}

/**
 * roost_fdinfo_worker() - show_fdinfo of a worker's file
 * @m:		where to
 * @file:	the file
 */
void roost_fdinfo_worker(struct seq_file *m, struct file *file)
{
	struct roost_worker *worker = file->private_data;
	struct roost_domain *domain = worker->domain;
	struct roost_domain_stat stat = { 0 };
	pid_t tid;
	u64 lease;

	tid = roost_worker_tid(worker, &lease);
	roost_worker_stat(worker, &stat);
	seq_printf(m, "roost-domain:\t%u\n", domain->id);
	seq_printf(m, "roost-worker:\t%u\n", worker->index);
	seq_printf(m, "roost-carrier:\t%d\n", tid);
	seq_printf(m, "roost-lease:\t%llu\n", lease);
	seq_printf(m, "roost-parked:\t%d\n",
		   test_bit(worker->index, domain->parked));
	seq_printf(m, "roost-sq:\t%u/%u\n", sq_used(worker),
		   worker->sq_entries);
	seq_printf(m, "roost-cq:\t%u/%u\n", cq_used(worker),
		   worker->cq_entries);
	seq_printf(m, "roost-overflow:\t%u\n", stat.overflow_pending);
	seq_printf(m, "roost-timers:\t%u\n", stat.timers_pending);
	seq_printf(m, "roost-parks:\t%llu\n", stat.parks);
	seq_printf(m, "roost-wakes:\t%llu\n", stat.wakes);
	seq_printf(m, "roost-taken:\t%llu\n", stat.taken);
}
