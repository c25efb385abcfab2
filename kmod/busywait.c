// SPDX-License-Identifier: GPL-2.0
/*
 * Who parks looks for the end of the park before it gives up its CPU.
 *
 * To sleep and be woken costs two context switches, and where the CPU goes idle
 * meanwhile an interrupt to get it back, which is dear on virtual machines.  If what
 * a worker waits for mostly comes at once, it is cheaper to wait on the CPU.
 *
 * How long to look is learnt by each worker from how long its parks take, in the way
 * of KVM's halt polling (Documentation/virt/kvm/halt-polling.rst in the kernel's
 * tree): nothing at first; if a park was over soon after the look, twice as long the
 * next time; if it took longer than any look may, nothing again.  So an idle worker
 * wastes nothing.  One whose parks all end within busy_us keeps its CPU instead of
 * giving it to nobody, which is charged to its group like all that it does; what is
 * queued on other CPUs is not pulled over meanwhile.
 *
 * To everybody else the park is like any other: who ends it finds a sleeper whose
 * task is still on its CPU, and to wake that is little.
 */
#include <linux/moduleparam.h>
#include <linux/processor.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>

#include "busywait.h"
#include "timeout.h"
#include "worker.h"

/* A look of any length fits a u32, twice. */
#define MAX_BUSY_US	1000U

unsigned int roost_busy_us __read_mostly = 200;

static int set_busy(const char *text, const struct kernel_param *param)
{
	return param_set_uint_minmax(text, param, 0, MAX_BUSY_US);
}

static const struct kernel_param_ops busy_ops = {
	.set	= set_busy,
	.get	= param_get_uint,
};

module_param_cb(busy_us, &busy_ops, &roost_busy_us, 0644);
__MODULE_PARM_TYPE(busy_us, "uint");
MODULE_PARM_DESC(busy_us, "how long at most a park looks for its end before it gives up the CPU (0: never; at most 1000)");

static u32 most_ns(void)
{
	return READ_ONCE(roost_busy_us) * (u32)NSEC_PER_USEC;
}

/* Others that could run here go first, and so does what wants this task to stop. */
static bool may_look_on(const struct roost_worker *worker)
{
	/* A hint: wake_from_sleep() has the acquire that pairs with claim(). */
	return READ_ONCE(worker->asleep) && !need_resched() &&
	       single_task_running() && !signal_pending(current);
}

/*
 * Between two looks.  A pause is made for who shares a core with us; but to a hypervisor
 * it says that the CPU waits for another one that may have been taken away, and gives it
 * a reason to take this one too, which is what looking is to avoid.
 */
static void pause_a_moment(void)
{
#ifdef CONFIG_X86
	if (boot_cpu_has(X86_FEATURE_HYPERVISOR)) {
		barrier();
		return;
	}
#endif
	cpu_relax();
}

/**
 * roost_busy_end() - when to stop looking
 * @worker:	the caller is its carrier
 * @begun:	what roost_busy_begin() gave
 * @deadline:	of the park, or ROOST_NO_DEADLINE; by the owner's clock
 */
u64 roost_busy_end(const struct roost_worker *worker, u64 begun, u64 deadline)
{
	u64 end = begun + min(worker->busy_ns, most_ns());

	if (deadline == ROOST_NO_DEADLINE)
		return end;
	return min(end, roost_timeout_to_host(worker->domain, deadline));
}

/**
 * roost_busy_wait() - look for the end of the park
 * @worker:	parked, the caller is its carrier
 * @begun:	what roost_busy_begin() gave
 * @deadline:	of the park: not beyond it, for it is not set yet
 *
 * Context: task, with its state set to sleep.
 */
void roost_busy_wait(struct roost_worker *worker, u64 begun, u64 deadline)
{
	u64 end = roost_busy_end(worker, begun, deadline);

	while (may_look_on(worker) && ktime_get_ns() < end)
		pause_a_moment();
	if (!READ_ONCE(worker->asleep))
		roost_count(&worker->parks_busy);
}

/**
 * roost_busy_learn() - the park is over
 * @worker:	the caller is its carrier
 * @begun:	what roost_busy_begin() gave
 */
void roost_busy_learn(struct roost_worker *worker, u64 begun)
{
	worker->busy_ns = roost_busy_next(worker->busy_ns,
					  ktime_get_ns() - begun, most_ns());
}
