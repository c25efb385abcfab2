// SPDX-License-Identifier: GPL-2.0
/*
 * What the KUnit suites share.
 *
 * A test runs in a kernel thread.  Its domain is a real one, made by the code
 * that the ioctl uses and ended by the same; it belongs to the address space of
 * who loads this module, which the thread borrows where it is needed: a domain
 * wants one, and so does what copies from user memory.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/mmu_context.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../domain.c"
#include "../worker.c"

#include "../op.h"
#include "fake_file.h"
#include "fixture.h"

/* Of who loads the module, while a suite runs. */
static struct mm_struct *loader_mm;
/* A page there. */
static unsigned long user_page;

static char *seed;
module_param(seed, charp, 0444);
MODULE_PARM_DESC(seed, "where random numbers begin, instead of anywhere");

static void exit_code(void)
{
	/* of carriers that tests have made */
	rcu_barrier();
	roost_io_exit();
	roost_file_exit();
	roost_poll_exit();
	roost_timeout_exit();
	roost_limits_exit();
}

/* Of all that module init sets up, the part without the device. */
static int __ref init_code(void)
{
	int ret;

	roost_park_init();
	roost_limits_init();
	ret = roost_timeout_init();
	if (ret)
		return ret;
	ret = roost_poll_init();
	if (ret)
		goto exit_timeout;
	ret = roost_file_init();
	if (ret)
		goto exit_poll;
	ret = roost_io_init();
	if (ret)
		goto exit_file;
	return 0;

exit_file:
	roost_file_exit();
exit_poll:
	roost_poll_exit();
exit_timeout:
	roost_timeout_exit();
	return ret;
}

/**
 * fixture_suite_init() - set up the module's code for a suite
 * @suite:	unused
 *
 * Context: who loads the module.  Return: 0 or -errno.
 */
int fixture_suite_init(struct kunit_suite *suite)
{
	int ret = init_code();

	if (ret)
		return ret;
	user_page = vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (IS_ERR_VALUE(user_page)) {
		exit_code();
		return user_page;
	}
	loader_mm = current->mm;
	mmget(loader_mm);
	return 0;
}

/**
 * fixture_suite_exit() - undo fixture_suite_init()
 * @suite:	unused
 *
 * Objects that the suite's tests have left are reported by the caches.
 */
void fixture_suite_exit(struct kunit_suite *suite)
{
	if (!loader_mm)
		return;
	vm_munmap(user_page, PAGE_SIZE);
	mmput(loader_mm);
	loader_mm = NULL;
	exit_code();
}

/**
 * fixture_use_mm() - have the address space of who loaded the module
 *
 * For code that looks at buffers in user space.  Context: a test's thread.
 */
void fixture_use_mm(void)
{
	kthread_use_mm(loader_mm);
}

/**
 * fixture_unuse_mm() - undo fixture_use_mm()
 */
void fixture_unuse_mm(void)
{
	kthread_unuse_mm(loader_mm);
}

static struct roost_domain *make_domain(void)
{
	struct roost_domain_params params = {
		.tick_shift	= ROOST_DEFAULT_TICK_SHIFT,
		.nr_timers	= FIXTURE_OPS,
		.nr_polls	= FIXTURE_OPS,
		.nr_ios		= FIXTURE_OPS,
		.nr_files	= FIXTURE_OPS,
	};
	struct roost_domain *domain;

	kthread_use_mm(loader_mm);
	domain = domain_alloc(&params);
	kthread_unuse_mm(loader_mm);
	return domain;
}

/**
 * fixture_init() - a domain for the test
 * @test:	the test
 *
 * Return: 0 or -errno.
 */
int fixture_init(struct kunit *test)
{
	struct fixture *fixture;

	fixture = kunit_kzalloc(test, sizeof(*fixture), GFP_KERNEL);
	if (!fixture)
		return -ENOMEM;
	INIT_LIST_HEAD(&fixture->files);
	fixture->domain = make_domain();
	if (IS_ERR(fixture->domain))
		return PTR_ERR(fixture->domain);
	test->priv = fixture;
	return 0;
}

/**
 * fixture_exit() - end the domain, and see that it has let go of all files
 * @test:	the test
 */
void fixture_exit(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct roost_domain *domain;
	u32 i;

	if (!fixture)
		return;
	test->priv = NULL;
	domain = fixture->domain;
	for (i = 0; i < domain->nr_workers; i++)
		fixture_attach(domain->workers[i], NULL);
	fixture_end_races(fixture);
	roost_domain_put(domain);
	fake_file_end_all(test, &fixture->files);
}

/**
 * fixture_worker() - add a worker to the test's domain
 * @test:	the test, which ends if that fails
 * @sq_entries:	size of the submission ring
 * @cq_entries:	size of the completion ring
 *
 * Return: the worker; nobody carries it.
 */
struct roost_worker *fixture_worker(struct kunit *test, u32 sq_entries,
				    u32 cq_entries)
{
	struct roost_worker_params params = {
		.sq_entries = sq_entries,
		.cq_entries = cq_entries,
	};
	struct roost_domain *domain = fixture_domain(test);
	struct roost_worker *worker;

	KUNIT_ASSERT_EQ(test, check_params(&params), 0);
	lay_out(&params);
	worker = make(domain, &params);
	KUNIT_ASSERT_FALSE(test, IS_ERR(worker));
	KUNIT_ASSERT_EQ(test, publish(domain, worker), 0);
	return worker;
}

/**
 * fixture_attach() - give a worker another carrier
 * @worker:	the worker
 * @task:	the carrier, or NULL
 */
void fixture_attach(struct roost_worker *worker, struct task_struct *task)
{
	mutex_lock(&worker->domain->mutex);
	if (worker->carrier != task)
		set_carrier(worker, task ? get_task_struct(task) : NULL);
	mutex_unlock(&worker->domain->mutex);
}

/* Have @ioctl carry out @cmd with a copy of @arg in user memory. */
static long call(long (*ioctl)(struct file *, unsigned int, unsigned long),
		 void *object, unsigned int cmd, void *arg, size_t size)
{
	void __user *user = (void __user *)user_page;
	struct file *file;
	long ret = -EFAULT;

	file = kzalloc(sizeof(*file), GFP_KERNEL);
	if (!file)
		return -ENOMEM;
	file->private_data = object;
	kthread_use_mm(loader_mm);
	if (!copy_to_user(user, arg, size)) {
		ret = ioctl(file, cmd, user_page);
		if (copy_from_user(arg, user, size))
			ret = -EFAULT;
	}
	kthread_unuse_mm(loader_mm);
	kfree(file);
	return ret;
}

/**
 * fixture_worker_ioctl() - ioctl(2) on a worker's descriptor
 * @worker:	the worker
 * @cmd:	the command
 * @arg:	its structure, copied in and out
 * @size:	bytes of @arg, at most PAGE_SIZE
 *
 * Return: what the caller would get.
 */
long fixture_worker_ioctl(struct roost_worker *worker, unsigned int cmd,
			  void *arg, size_t size)
{
	return call(worker_ioctl, worker, cmd, arg, size);
}

/**
 * fixture_domain_ioctl() - ioctl(2) on a domain's descriptor
 * @domain:	the domain
 * @cmd:	the command
 * @arg:	its structure, copied in and out
 * @size:	bytes of @arg, at most PAGE_SIZE
 *
 * Return: what the caller would get.
 */
long fixture_domain_ioctl(struct roost_domain *domain, unsigned int cmd,
			  void *arg, size_t size)
{
	return call(domain_ioctl, domain, cmd, arg, size);
}

/**
 * fixture_pin() - the first step of DETACH
 * @worker:	the worker
 *
 * Return: is the current task its carrier?
 */
bool fixture_pin(struct roost_worker *worker)
{
	return pin(worker);
}

/**
 * fixture_check_worker() - are these parameters accepted?
 * @params:	parameters of CREATE_WORKER
 *
 * Return: 0 or -EINVAL.
 */
int fixture_check_worker(const struct roost_worker_params *params)
{
	return check_params(params);
}

/**
 * fixture_seed() - where a test's random numbers begin
 * @test:	the test, in whose log it is printed
 *
 * Linux 6.1 runs the suites before it looks at the module's parameters, so this
 * one is looked for in the text.
 */
u64 fixture_seed(struct kunit *test)
{
	const char *text = strstr(THIS_MODULE->args, "seed=");
	u64 value = get_random_u64();
	char number[24];

	if (text) {
		strscpy(number, text + strlen("seed="), sizeof(number));
		number[strcspn(number, " ")] = '\0';
		if (kstrtou64(number, 0, &value))
			kunit_warn(test, "seed=%s is no number", number);
	}
	kunit_info(test, "seed=0x%llx", value);
	return value;
}

/**
 * fixture_random() - the next random number
 * @state:	begins as the seed
 *
 * A Weyl sequence, mixed as in G. Steele, D. Lea, C. Flood, "Fast Splittable
 * Pseudorandom Number Generators" (2014).
 */
u64 fixture_random(u64 *state)
{
	u64 x = *state += 0x9e3779b97f4a7c15;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

/**
 * fixture_below() - a random number from 0 on
 * @state:	as in fixture_random()
 * @limit:	one more than the largest
 */
u32 fixture_below(u64 *state, u32 limit)
{
	return (fixture_random(state) >> 32) * limit >> 32;
}

/**
 * fixture_take() - take a completion out of the ring, as the process does
 * @worker:	whose ring
 * @cqe:	it goes here
 *
 * Return: was there one?
 */
bool fixture_take(struct roost_worker *worker, struct roost_cqe *cqe)
{
	struct roost_worker_page *page = worker->page;
	u32 head = page->cq_head;

	/* Pairs with the release in cq_write(). */
	if (smp_load_acquire(&page->cq_tail) == head)
		return false;
	*cqe = worker->cqes[head & (worker->cq_entries - 1)];
	/* Pairs with the acquire in cq_free(). */
	smp_store_release(&page->cq_head, head + 1);
	return true;
}

/**
 * fixture_submit() - have an entry carried out, as ENTER does
 * @test:	the test, which ends if the completion ring is full
 * @worker:	from whose ring it comes
 * @sqe:	the entry
 *
 * Return: has something completed?
 */
bool fixture_submit(struct kunit *test, struct roost_worker *worker,
		    const struct roost_sqe *sqe)
{
	bool posted = false;

	KUNIT_ASSERT_EQ(test, roost_cq_reserve(worker, 1), 1U);
	if (!roost_op_execute(worker, sqe, &posted))
		roost_cq_unreserve(worker, 1);
	roost_timeout_program(worker);
	return posted;
}

MODULE_AUTHOR("The roost developers");
MODULE_DESCRIPTION("KUnit tests of roost's code");
MODULE_LICENSE("GPL");
