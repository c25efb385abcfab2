// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * kapi.c - the module's system calls and mappings.
 *
 * errno is saved and restored around each call: it may be read by an actor
 * that continues on another thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kapi.h"

static int call(int fd, unsigned long request, void *arg)
{
	int saved = errno;
	int ret = ioctl(fd, request, arg);

	if (ret < 0) {
		ret = -errno;
		errno = saved;
	}
	return ret;
}

/* For what a signal may end before it has done anything. */
static int call_again(int fd, unsigned long request, void *arg)
{
	int ret;

	do {
		ret = call(fd, request, arg);
	} while (ret == -EINTR);
	return ret;
}

static int map(int fd, size_t size, off_t offset, void *where)
{
	int saved = errno;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       offset);
	int err;

	if (p == MAP_FAILED) {
		err = -errno;
		errno = saved;
		return err;
	}
	memcpy(where, &p, sizeof(p));
	return 0;
}

static void close_quietly(int fd)
{
	int saved = errno;

	if (fd >= 0)
		close(fd);
	errno = saved;
}

static void unmap_quietly(void *p, size_t size)
{
	int saved = errno;

	if (p)
		munmap(p, size);
	errno = saved;
}

int kapi_open(void)
{
	int saved = errno;
	int fd = open("/dev/roost", O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		fd = -errno;
		errno = saved;
	}
	return fd;
}

int kapi_info(int dev, struct roost_info *info, uint64_t features)
{
	int err;

	memset(info, 0, sizeof(*info));
	err = call(dev, ROOST_IOC_INFO, info);
	if (err < 0)
		return err;
	if (info->api_version != ROOST_API_VERSION ||
	    (info->features & features) != features)
		return -EPROTO;
	return 0;
}

int kapi_domain_create(int dev, struct roost_domain_params *p,
		       struct kdomain *d)
{
	int err;

	memset(d, 0, sizeof(*d));
	d->fd = call_again(dev, ROOST_IOC_CREATE_DOMAIN, p);
	if (d->fd < 0) {
		err = d->fd;
		d->fd = -1;
		return err;
	}
	d->features = p->features;
	d->control_size = p->control_size;
	d->events_size = p->events_size;
	err = map(d->fd, d->control_size, ROOST_OFF_CONTROL, &d->control);
	if (!err && d->events_size)
		err = map(d->fd, d->events_size, ROOST_OFF_EVENTS, &d->events);
	if (err)
		kapi_domain_destroy(d);
	return err;
}

void kapi_domain_destroy(struct kdomain *d)
{
	unmap_quietly(d->events, d->events_size);
	unmap_quietly(d->control, d->control_size);
	close_quietly(d->fd);
	memset(d, 0, sizeof(*d));
	d->fd = -1;
}

int kapi_worker_create(const struct kdomain *d, uint32_t sq_entries,
		       uint32_t cq_entries, struct kworker *k)
{
	struct roost_worker_params p = {
		.sq_entries = sq_entries,
		.cq_entries = cq_entries,
	};
	int err;

	memset(k, 0, sizeof(*k));
	k->fd = call_again(d->fd, ROOST_IOC_CREATE_WORKER, &p);
	if (k->fd < 0) {
		err = k->fd;
		k->fd = -1;
		return err;
	}
	k->index = p.index;
	k->map_size = p.map_size;
	err = map(k->fd, k->map_size, 0, &k->page);
	if (err) {
		kapi_worker_destroy(k);
		return err;
	}
	k->sq = (void *)((char *)k->page + p.sq_offset);
	k->cq = (void *)((char *)k->page + p.cq_offset);
	k->sq_mask = p.sq_entries - 1;
	k->cq_mask = p.cq_entries - 1;
	return 0;
}

void kapi_worker_destroy(struct kworker *k)
{
	unmap_quietly(k->page, k->map_size);
	close_quietly(k->fd);
	memset(k, 0, sizeof(*k));
	k->fd = -1;
}

int kapi_attach(const struct kworker *k, uint64_t *lease)
{
	struct roost_attach a = { 0 };
	int err = call_again(k->fd, ROOST_IOC_ATTACH, &a);

	*lease = a.lease;
	return err;
}

int kapi_detach(const struct kworker *k)
{
	return call_again(k->fd, ROOST_IOC_DETACH, NULL);
}

int kapi_enter(const struct kworker *k, struct roost_enter *enter)
{
	return call(k->fd, ROOST_IOC_ENTER, enter);
}

int kapi_wake(const struct kdomain *d, uint32_t flags, uint32_t index)
{
	struct roost_wake w = { .flags = flags, .index = index };

	return call(d->fd, ROOST_IOC_WAKE, &w);
}

int kapi_standby(const struct kdomain *d, uint32_t *index, uint64_t *lease)
{
	struct roost_standby s = { 0 };
	int err = call(d->fd, ROOST_IOC_STANDBY, &s);

	*index = s.worker;
	*lease = s.lease;
	return err;
}

int kapi_stat(const struct kdomain *d, struct roost_domain_stat *stat)
{
	memset(stat, 0, sizeof(*stat));
	return call(d->fd, ROOST_IOC_DOMAIN_STAT, stat);
}
